"""Parameters in their range, or one error that names the parameter, its range and what came."""

import math
import numbers
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeGuard

from onward.core.shown import brief

LARGEST_BOUND = 1e100
"""The largest σ or S: their squares, times what rows come to, are numbers."""
_FAR = 2**31
_DEEPEST = 32  # levels of lists in lists


def _is_duration(value: object) -> bool:
    # Asked of the value, so that the command line's help need not import NumPy.
    return getattr(getattr(value, "dtype", None), "kind", None) == "m"


def is_real(value: object) -> TypeGuard[Any]:
    """Whether a value is a real number, and neither true or false nor a duration, which NumPy counts among them."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not _is_duration(value)


def plain_number(value: object) -> Any:
    """A float of NumPy, or a fraction, as Python's own: a short one cannot be compared with 1e300."""
    return float(value) if isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral) else value


def is_whole(value: object) -> TypeGuard[Any]:
    """Whether a value is a whole number by its type, and neither true or false nor a duration."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and not _is_duration(value)


def is_hashable(value: object) -> bool:
    """Whether a value can be looked up: of some types, as tuples and records, only each value tells."""
    if isinstance(value, tuple | frozenset) and is_deep(value):  # Python follows it until the stack is full
        return False
    try:
        hash(value)
    except (TypeError, ValueError):  # the latter of a view of memory that can be written to
        return False
    return True


def is_iterable(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value gives values one after the other.

    An array without axes does not, nor does a view of memory that is a table, or of records.
    """
    if isinstance(value, memoryview):
        try:
            next(iter(value), None)
        except (NotImplementedError, TypeError, ValueError):
            return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def is_many(value: object) -> bool:
    """Whether a value holds values."""
    return isinstance(value, Collection) and is_iterable(value)


def is_deep(values: object) -> bool:
    """Whether lists stand in lists, or what else holds values, more deeply than Python, Arrow and Polars are given.

    They follow them until the stack is full, and the process ends.
    """
    level = [values]
    for _ in range(_DEEPEST):
        inner = (each for value in level for each in (value.values() if isinstance(value, dict) else value))  # type: ignore[attr-defined]
        level = list({id(each): each for each in inner if _holds_values(each)}.values())
        if not level:
            return False
    return True


def _holds_values(value: object) -> bool:
    if isinstance(value, str | float | int):  # most are
        return False
    if isinstance(value, list | tuple | dict | set | frozenset):
        return True
    return getattr(getattr(value, "dtype", None), "kind", None) == "O" and bool(getattr(value, "shape", ()))


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
    number = int(value) if is_whole(value) else None
    if number is not None and number >= least and (most is None or number <= most):
        return number
    # A limit that only memory or float64 sets is named to those alone who pass it.
    is_plain = most is None or (most >= _FAR and (number is None or number < least))
    expected = f">= {least}" if is_plain else f"from {least} to {most:,}"
    raise ValueError(f"{name} must be a whole number {expected}, got {brief(value)}")
