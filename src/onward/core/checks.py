"""Parameters in their range, or one error that names the parameter, its range and what came."""

import math
import numbers
from collections.abc import Callable

from onward.core.shown import brief

LARGEST_BOUND = 1e100
"""The largest σ or S: their squares, times what rows come to, are numbers."""


def _checked(name: str, value: object, expected: str, holds: Callable[[float], bool]) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(f"{name} must be {expected}, got a whole number beyond 1e308") from None
        if math.isfinite(number) and holds(number):
            return number
    raise ValueError(f"{name} must be {expected}, got {brief(value)}")


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
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= least and (most is None or number <= most):
            return number
    expected = f">= {least}" if most is None else f"from {least} to {most:,}"
    raise ValueError(f"{name} must be a whole number {expected}, got {brief(value)}")
