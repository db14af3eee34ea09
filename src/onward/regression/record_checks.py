"""Whether what a file says of a learner's state can be one: compiled code takes it as it is."""

import numbers
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from onward import storage
from onward.core import Information
from onward.core.row_memory import RowMemory
from onward.core.shown import brief, several
from onward.core.simd import padded
from onward.core.squares import weighted_squares
from onward.core.types import Vector
from onward.core.words import counted

_MOST_COUNT = 2.0**53
_SLACK = 1e-6  # of all that was explained: by so much may rounding take a loss below 0


def check_record(settings: storage.Settings, arrays: storage.Arrays) -> tuple[int, int]:
    """How many coordinates and targets there are; ValueError unless all arrays are of these, before a state is made."""
    if arrays["c"].ndim != 2:
        raise ValueError(f"array c must have a column for each target, got shape {arrays['c'].shape}")
    d, m = arrays["c"].shape
    for name in ("intercept", "open", "flat"):
        if not isinstance(settings[name], bool):
            raise ValueError(f"{name} must be True or False, got {brief(settings[name])}")
    if m < 1 or (settings["flat"] and m != 1) or d < settings["intercept"]:
        raise ValueError(f"{d} coordinates and {counted(m, 'target')} do not fit {settings['flat']=}")
    shapes: dict[str, tuple[int, ...]] = {"U": (d, padded(d)), "D": (d,), "loss": (m,), "online_loss": (m,)}
    optional = {"prior": (d, m), "own_lam": (d,), "varied": (d,)}
    for name, shape in (shapes | {"c": (d, m), "tally": (3,)} | optional).items():
        if name in optional and name not in arrays:
            continue
        if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
            raise ValueError(f"array {name} must be finite and of shape {shape}, got shape {arrays[name].shape}")
    if arrays["U"][:, d:].any():
        raise ValueError(f"behind the {d} columns of array U there must be zeros")
    rows, learned, peak = arrays["tally"].tolist()
    if not (0 <= learned <= rows < _MOST_COUNT and rows == int(rows) and learned == int(learned) and peak >= 0):
        raise ValueError(f"the tally of a state must be counts of rows and a square, got {arrays['tally']}")
    if (arrays["online_loss"] < 0).any():
        raise ValueError(f"online_loss must not be negative, got {arrays['online_loss']}")
    if "varied" in arrays and not np.isin(arrays["varied"], (0.0, 1.0)).all():
        raise ValueError("array varied must be 0 or 1 for each coordinate")
    if "own_lam" in arrays and not ((arrays["own_lam"][1:] > 0).all() and (arrays["own_lam"][:1] == 0).all()):
        raise ValueError("own_lam must be 0 for the constant and above 0 for each feature")
    return d, m


def check_pivots(state: Information) -> None:
    """ValueError if pivots are not positive where λ is, G overflows, or a loss is negative beyond rounding."""
    if not (state.D >= 0).all() or not (state.D[state.lam > 0] > 0).all():
        raise ValueError(f"pivots must be positive where lam is, got {state.D} with lam {state.lam}")
    explained, squares = weighted_squares(state.D, state.c), weighted_squares(state.D, state.triangle())
    if not np.isfinite(squares).all():  # the diagonal of G, and sums of squares: no rows have them
        raise ValueError("the triangle of a state must be of numbers whose squares double precision can hold")
    with np.errstate(over="ignore"):
        most = state.lam + state.counted * state.peak
    if (squares > 2.0 * most).any():  # loops tell by the peak whether a triangle is within bounds
        raise ValueError(
            f"the triangle of a state must be of rows whose squares are at most the peak {state.peak:g} of its tally, "
            f"got {squares.max():g} from {counted(state.counted, 'row')}"
        )
    if (state.loss < -_SLACK * explained).any():
        raise ValueError(f"the loss of a state must not be negative, got {state.loss}")


def check_moments(memory: RowMemory, moments: Vector) -> None:
    """ValueError if these cannot be the time of the first row, that of the latest, and the sum of weights."""
    if moments.shape != (3,):
        raise ValueError(f"moments of a state that forgets are 3 numbers, got shape {moments.shape}")
    first, latest, weight = moments.tolist()
    timed = memory.clock != "rows"
    if not 0 <= weight < np.inf or np.isinf(moments).any() or not (np.isnan(first) == np.isnan(latest)):
        raise ValueError(f"moments of a state that forgets must be two times and a sum of weights, got {moments}")
    if timed and not np.isnan(latest) and not first <= latest:
        raise ValueError(f"the latest row cannot be of {latest}, with the first of {first}")


def names_to_record(names: Sequence[Hashable] | None) -> list[Any] | None:
    """Names of features as a file holds them; ValueError if it cannot hold them."""
    if names is None:
        return None
    plain = [int(name) if isinstance(name, numbers.Integral) else name for name in names]
    if not all(isinstance(name, str | int) for name in plain):
        raise ValueError(f"cannot save: feature names must be text or whole numbers, got {several(names)}")
    return plain


def check_names(names: Any, n_features: int) -> None:
    """ValueError unless features have different names, one each, or none at all."""
    if names is None:
        return
    if not isinstance(names, list) or not all(isinstance(n, str | int) and not isinstance(n, bool) for n in names):
        raise ValueError(f"names of features must be text or whole numbers in a list, got {brief(names)}")
    if not len(names) == len(set(names)) == n_features:
        raise ValueError(f"{counted(len(set(names)), 'different name')} for {counted(n_features, 'feature')}")
