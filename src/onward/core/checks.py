"""Parameters in their range, or one error that names the parameter, its range and what came."""

import math
import numbers


def _number(name: str, value: object, expected: str) -> float:
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return float(value)


def positive(name: str, value: object) -> float:
    """A finite number > 0."""
    expected = "a number > 0"
    if _number(name, value, expected) <= 0:
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return _number(name, value, expected)


def not_negative(name: str, value: object) -> float:
    """A finite number ≥ 0."""
    expected = "a number >= 0"
    if _number(name, value, expected) < 0:
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return _number(name, value, expected)


def probability(name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    expected = "a number strictly between 0 and 1"
    if not 0 < _number(name, value, expected) < 1:
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return _number(name, value, expected)
