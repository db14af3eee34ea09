"""What runs are made of, checked."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.core.shown import brief

Whole = NDArray[Any]  # whole numbers, of whatever size they came in
T = TypeVar("T", bound=np.generic)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Different names of policies."""
    if isinstance(names, str) or not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"names must be at least one policy's name, each some text, got {brief(names)}")
    if len(set(names)) < len(names):
        raise ValueError(f"names must be different, got {list(names)}")
    return tuple(names)


def checked_trace(name: str, values: ArrayLike, shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """What was traced, a number for each choice."""
    array = np.array(values, dtype=np.float64, order="C")
    if array.shape != shape:
        raise ValueError(f"trace {name!r} must have shape {shape} (policies, repeats, horizon), got {array.shape}")
    return fixed(array)


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
    return fixed(array)


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


def fixed(array: NDArray[T]) -> NDArray[T]:
    """The array, which nobody can change from now on."""
    array.flags.writeable = False
    return array
