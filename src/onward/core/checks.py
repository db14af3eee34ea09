"""Parameters in their range, or one error that names the parameter, its range and what came."""

import math
import numbers
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from onward.core.shown import brief

LARGEST_BOUND = 1e100
"""The largest σ or S: their squares, times what rows come to, are numbers."""


def is_real(value: object) -> TypeGuard[Any]:
    """Whether a value is a real number, and neither true or false nor a duration, which NumPy counts among them."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64)


def is_whole(value: object) -> TypeGuard[Any]:
    """Whether a value is a whole number by its type, and neither true or false nor a duration."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)


def is_hashable(value: object) -> bool:
    """Whether a value can be looked up: of some types, as tuples and records, only each value tells."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file: it has no half of a pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked(name: str, value: object, expected: str, holds: Callable[[float], bool]) -> float:
    if is_real(value):
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(f"{name} must be {expected}, got a whole number beyond 1e308") from None
        if math.isfinite(number) and holds(number):
            return number
    raise ValueError(f"{name} must be {expected}, got {brief(value)}")


def finite(name: str, value: object) -> float:
    """A finite number."""
    return _checked(name, value, "a finite number", lambda v: True)


def positive(name: str, value: object, most: float = math.inf) -> float:
    """A finite number > 0, and at most so large."""
    return _at_most(name, _checked(name, value, "a number > 0", lambda v: v > 0), most)


def not_negative(name: str, value: object, most: float = math.inf) -> float:
    """A finite number ≥ 0, and at most so large."""
    return _at_most(name, _checked(name, value, "a number >= 0", lambda v: v >= 0), most)


def _at_most(name: str, number: float, most: float) -> float:
    if number > most:
        raise ValueError(f"{name} must be a number of at most {most:g}, got {number!r}")
    return number


def probability(name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    return _checked(name, value, "a number strictly between 0 and 1", lambda v: 0 < v < 1)


def fraction(name: str, value: object) -> float:
    """A number from 0 to 1, both included."""
    return _checked(name, value, "a number from 0 to 1", lambda v: 0 <= v <= 1)


def whole(name: str, value: object, least: int = 1, most: int | None = None) -> int:
    """A whole number that is at least so large, and at most."""
    if is_whole(value):
        number = int(value)
        if number >= least and (most is None or number <= most):
            return number
    expected = f">= {least}" if most is None else f"from {least} to {most:,}"
    raise ValueError(f"{name} must be a whole number {expected}, got {brief(value)}")
