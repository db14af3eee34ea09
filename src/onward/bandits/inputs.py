"""Actions, masks and rewards as the loops take them, or one error that says what came instead."""

import math
import numbers
from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.core.factor import ORDINARY
from onward.core.types import Matrix, Vector
from onward.tables import as_rows


def as_actions(actions: Any) -> Matrix:
    """A row for each action: an array, nested lists, or a data frame."""
    if not isinstance(actions, np.ndarray) and isinstance(actions, Sized) and len(actions) == 0:
        raise ValueError("no action given: expected at least one row, got none")
    if isinstance(actions, np.ndarray) and actions.ndim != 2:
        raise ValueError(f"actions must be a table, a row for each action, got an array of shape {actions.shape}")
    try:
        rows = as_rows(np.asarray(actions) if isinstance(actions, list | tuple) else actions)
        return np.require(rows.block(0, rows.shape[0]), dtype=np.float64, requirements=["C", "A", "W"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"actions must be a table of numbers, a row for each action: {error}") from error


def as_mask(available: Any, count: int) -> NDArray[np.bool_]:
    """Whether each action may be played; at least one must be."""
    mask = np.asarray(available)
    if mask.shape != (count,):
        raise ValueError(f"available must have shape ({count},) as there are {count} actions, got {mask.shape}")
    if mask.dtype != np.bool_ and not (mask.dtype.kind in "iuf" and np.isin(mask, (0, 1)).all()):
        raise ValueError(f"available must hold true or false for each action, got {available!r}")
    if not mask.any():
        raise ValueError(f"no action is available: expected at least one of {count}, got none")
    return np.require(mask, dtype=np.bool_, requirements=["C", "A", "W"])


def as_reward(reward: Any) -> float:
    """A finite number."""
    if isinstance(reward, numbers.Real) or (isinstance(reward, np.ndarray) and reward.ndim == 0):
        number = float(reward)
        if math.isfinite(number) and abs(number) < ORDINARY:
            return number
    raise ValueError(f"reward must be a finite number below {ORDINARY:g}, got {reward!r}")


def as_rewards(rewards: Any, count: int) -> Vector:
    """So many finite numbers."""
    if hasattr(rewards, "to_numpy"):
        rewards = rewards.to_numpy()
    column = np.asarray(rewards)
    if column.dtype.kind not in "biuf" or column.shape != (count,):
        raise ValueError(f"rewards must be {count} numbers, one for each action, got {column.dtype} of {column.shape}")
    wrong = ~(np.abs(column) < ORDINARY)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"rewards must be finite numbers below {ORDINARY:g}, got {column[i]} in position {i}")
    return np.require(column, dtype=np.float64, requirements=["C", "A", "W"])
