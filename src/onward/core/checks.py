"""Parameters in their range, or one error that names the parameter, its range and what came."""

import math
import numbers
from collections.abc import Callable


def _checked(name: str, value: object, expected: str, holds: Callable[[float], bool]) -> float:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and holds(number):
            return number
    raise ValueError(f"{name} must be {expected}, got {value!r}")


def positive(name: str, value: object) -> float:
    """A finite number > 0."""
    return _checked(name, value, "a number > 0", lambda v: v > 0)


def not_negative(name: str, value: object) -> float:
    """A finite number ≥ 0."""
    return _checked(name, value, "a number >= 0", lambda v: v >= 0)


def probability(name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    return _checked(name, value, "a number strictly between 0 and 1", lambda v: 0 < v < 1)


def fraction(name: str, value: object) -> float:
    """A number from 0 to 1, both included."""
    return _checked(name, value, "a number from 0 to 1", lambda v: 0 <= v <= 1)


def whole(name: str, value: object, least: int = 1) -> int:
    """A whole number that is at least so large."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= least:
        return int(value)
    raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
