"""Actions, masks and rewards as the loops take them, or one error that says what came instead."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from onward.core.checks import is_real
from onward.core.factor import ORDINARY
from onward.core.shown import came, several
from onward.core.types import Matrix, Vector
from onward.tables import as_mapping, as_rows, frame_columns
from onward.tables.number_arrays import as_array, numbers_in

Columns = list[Hashable] | None
"""The names of a table's columns, in order; None if it has none."""


def in_order(actions: Any, columns: Columns) -> tuple[Any, Columns]:
    """Actions with their columns in the order of `columns`, if both have names; and the names in that order."""
    if isinstance(actions, np.ndarray | list | tuple):
        if not isinstance(actions, np.ndarray) and any(isinstance(row, Mapping) for row in actions):
            raise ValueError(
                "actions are dicts: expected a table of numbers, or a policy that knows names, Named(policy)"
            )
        return actions, columns
    names = frame_columns(actions)
    if names is None or columns is None or names == columns:
        return actions, columns or names
    _check_names(names, columns)
    import narwhals.stable.v2 as nw

    return nw.from_native(actions, eager_only=True).select(columns).to_native(), columns


def row_in_order(action: Any, columns: Columns) -> Any:
    """The numbers of a dict or a named series in the order of `columns`, if there are any; whatever else, unchanged."""
    named = as_mapping(action)
    if not isinstance(named, Mapping) or (columns is None and named is not action):
        return action
    if columns is None:
        raise ValueError("the action is a dict: expected an array, or a policy that knows names, Named(policy)")
    _check_names(list(named), columns)
    return [named[name] for name in columns]


def series_names(action: Any) -> Columns:
    """The names of a series that has text for an index; None of whatever else."""
    named = as_mapping(action)
    if not isinstance(named, Mapping) or not all(isinstance(name, str) for name in named):
        return None
    return list(named)


def _check_names(names: Sequence[Hashable], columns: Sequence[Hashable]) -> None:
    if len(names) != len(columns) or set(names) != set(columns):
        raise ValueError(f"actions have columns {several(names)}, but this policy knows {several(columns)}")


def as_actions(actions: Any) -> Matrix:
    """A row for each action: an array, nested lists, or a data frame."""
    expected = "actions must be a table of numbers, a row for each action"
    if isinstance(actions, list | tuple) and len(actions) == 0:
        raise ValueError("no action given: expected at least one row, got none")
    if isinstance(actions, str | bytes | Mapping | None) or hasattr(actions, "tocsr"):
        sparse = ", which is sparse" if hasattr(actions, "tocsr") else ""
        raise ValueError(f"{expected}, got {came(actions)}{sparse}")
    if isinstance(actions, np.ndarray) and actions.ndim != 2:
        raise ValueError(f"actions must be a table, a row for each action, got an array of shape {actions.shape}")
    rows = as_rows(actions, name="actions")
    return np.require(rows.block(0, rows.shape[0]), dtype=np.float64, requirements=["C", "A", "W"])


def as_mask(available: Any, count: int) -> NDArray[np.bool_]:
    """Whether each action may be played; at least one must be."""
    mask = as_array(available, "available", f"true or false for each of {count} actions")
    if mask.shape != (count,):
        raise ValueError(f"available must have shape ({count},) as there are {count} actions, got {mask.shape}")
    if mask.dtype != np.bool_ and not (mask.dtype.kind in "iuf" and np.isin(mask, (0, 1)).all()):
        raise ValueError(f"available must hold true or false for each action, got {came(available)}")
    if not mask.any():
        raise ValueError(f"no action is available: expected at least one of {count}, got none")
    return np.require(mask, dtype=np.bool_, requirements=["C", "A", "W"])


def as_reward(reward: Any) -> float:
    """A finite number."""
    if isinstance(reward, np.ndarray) and reward.ndim == 0:
        reward = reward.item()
    if isinstance(reward, bool) or is_real(reward):
        try:
            number = float(reward)
        except OverflowError:
            raise ValueError(f"reward must be a finite number below {ORDINARY:g}, got one beyond 1e308") from None
        if math.isfinite(number) and abs(number) < ORDINARY:
            return number
    raise ValueError(f"reward must be a finite number below {ORDINARY:g}, got {came(reward)}")


def weighed_reward(reward: float, root: float) -> float:
    """A reward times the root of its weight; ValueError if that is more than loops take."""
    paid = reward * root
    if not abs(paid) < ORDINARY:
        raise ValueError(f"reward times the root of its weight must be below {ORDINARY:g}, got {reward:g} × {root:g}")
    return paid


def as_rewards(rewards: Any, count: int) -> Vector:
    """So many finite numbers."""
    column = _column("rewards", rewards, count, "action")
    wrong = ~(np.abs(column) < ORDINARY)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"rewards must be finite numbers below {ORDINARY:g}, got {column[i]} in position {i}")
    return np.require(column, dtype=np.float64, requirements=["C", "A", "W"])


def _column(name: str, values: Any, count: int, each: str) -> NDArray[Any]:
    expected = f"{count} numbers, one for each {each}"
    column = as_array(values.to_numpy() if hasattr(values, "to_numpy") else values, name, expected)
    if column.shape != (count,):
        raise ValueError(f"{name} must be {expected}, got {came(values)}")
    return cast(NDArray[Any], numbers_in(column, name))


def as_weights(weights: Any, count: int) -> Vector:
    """So many numbers > 0; all are 1 if None."""
    if weights is None:
        return np.ones(count)
    column = _column("weights", weights, count, "reward")
    wrong = ~((column > 0) & (column < ORDINARY))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"weights must be finite numbers > 0, got {column[i]} in position {i}")
    return np.require(column, dtype=np.float64, requirements=["C", "A", "W"])
