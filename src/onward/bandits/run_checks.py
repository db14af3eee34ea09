"""What runs are made of, checked."""

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits.failures import Failure
from onward.core.read_only import read_only
from onward.core.shown import brief

Whole = NDArray[Any]  # whole numbers, of whatever size they came in


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Different names of policies."""
    if isinstance(names, str) or not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"names must be at least one policy's name, each some text, got {brief(names)}")
    if len(set(names)) < len(names):
        raise ValueError(f"names must be different, got {list(names)}")
    return tuple(names)


def checked_regret(regret: ArrayLike, policies: int) -> NDArray[np.float64]:
    """Regrets of so many policies, (policy, repeat, kept round)."""
    values = np.array(regret, dtype=np.float64, order="C")
    if values.ndim != 3 or 0 in values.shape or len(values) != policies:
        raise ValueError(
            f"regret must have shape (policies, repeats, kept rounds) with {policies} policies, at least one "
            f"repeat and one round, got {values.shape}"
        )
    return values


def checked_rounds(given: ArrayLike | None, horizon: int | None, kept: int) -> tuple[NDArray[np.int64], int]:
    """Which rounds were kept, all if it is not said, and the horizon, the last of them if it is not said."""
    rounds = np.arange(1, kept + 1) if given is None else np.array(given)
    horizon = int(rounds[-1]) if horizon is None and rounds.shape == (kept,) else horizon
    if isinstance(horizon, bool) or not isinstance(horizon, numbers.Integral) or horizon < 1:
        raise ValueError(f"horizon must be a whole number >= 1, got {brief(horizon)}")
    if rounds.shape != (kept,) or rounds.dtype.kind not in "iu":
        raise ValueError(f"rounds must be {kept} whole numbers, one for each kept round, got {brief(rounds)}")
    if rounds[0] < 1 or rounds[-1] > horizon or (np.diff(rounds) <= 0).any():
        raise ValueError(f"rounds must increase from 1 or more to {horizon} (the horizon) or less, got {rounds}")
    return rounds.astype(np.int64), int(horizon)


def checked_repeats(given: Sequence[int] | None, repeats: int) -> tuple[int, ...]:
    """The numbers of so many repeats, from 0 if it is not said."""
    numbered = tuple(range(repeats)) if given is None else tuple(int(i) for i in given)
    if len(numbered) != repeats or len(set(numbered)) < repeats or min(numbered) < 0:
        raise ValueError(f"repeat_numbers must be {repeats} different whole numbers >= 0, got {numbered}")
    return numbered


def check_failed(
    regret: NDArray[np.float64], names: Sequence[str], numbered: Sequence[int], failures: Sequence[Failure]
) -> None:
    """ValueError if a regret is no finite number, though its policy has not failed."""
    failed = {(failure.policy, failure.repeat) for failure in failures}
    for policy, repeat, _ in np.argwhere(~np.isfinite(regret)):
        if (names[policy], numbered[repeat]) not in failed:
            raise ValueError(f"regret must hold finite numbers, got another for {names[policy]!r} in repeat {repeat}")


def checked_trace(name: str, values: ArrayLike, shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """What was traced, a number for each choice."""
    array = np.array(values, dtype=np.float64, order="C")
    if array.shape != shape:
        raise ValueError(f"trace {name!r} must have shape {shape} (policies, repeats, horizon), got {array.shape}")
    return read_only(array)


def checked_choices(chosen: ArrayLike, shape: tuple[int, int, int], least: int) -> Whole:
    """Which actions were chosen; `least` is −1 if a policy failed."""
    array = np.array(chosen, order="C")
    if array.dtype.kind not in "iu" or array.shape != shape:
        raise ValueError(
            f"chosen must be whole numbers of shape {shape} (policies, repeats, horizon), "
            f"got {array.dtype} of shape {array.shape}"
        )
    if array.size and array.min() < least:
        raise ValueError(f"chosen must hold positions of actions, >= {least}, got {array.min()}")
    return read_only(array)


def checked_seconds(seconds: Mapping[str, float] | None, names: tuple[str, ...]) -> dict[str, float]:
    """How long each policy took."""
    taken = {name: float(value) for name, value in (seconds or {}).items()}
    if not set(taken) <= set(names) or not all(0 <= value < math.inf for value in taken.values()):
        raise ValueError(f"seconds must be numbers >= 0 for some of {', '.join(names)}, got {brief(seconds)}")
    return taken


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as they come back from a file."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(settings), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"settings must be plain text, finite numbers, lists and dicts of these ({error})") from error
    return plain
