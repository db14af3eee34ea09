"""Arrays of numbers from whatever came, or one error that says what it was instead."""

import numbers
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.core.shown import brief, came

_TEXTS = {"U": "text", "S": "bytes", "M": "dates", "m": "durations", "V": "records", "T": "text"}


class NoNumberError(ValueError, TypeError):
    """A value that is no number: a ValueError here, and what scikit-learn calls a TypeError."""


def is_sparse(values: Any) -> bool:
    """Whether these are a sparse matrix or array of SciPy, or what behaves like one."""
    return hasattr(values, "tocsr") and hasattr(values, "toarray") and getattr(values, "ndim", 0) == 2


def is_number(value: Any) -> bool:
    """Whether a value is a real number, of whichever type."""
    return isinstance(value, numbers.Real | np.bool_) and not isinstance(value, np.timedelta64)


def refuse_masked(values: Any, name: str) -> None:
    """ValueError if these are a masked array with a value masked: NumPy would take what is behind the mask for data."""
    if isinstance(values, np.ndarray) and hasattr(values, "mask") and np.ma.is_masked(values):
        place = tuple(int(each) for each in np.argwhere(np.ma.getmaskarray(values))[0])
        where = f" in {'row' if len(place) > 1 else 'position'} {place[0]}" if place else ""
        raise ValueError(f"{name} must hold finite numbers, got a masked value{where}")


def as_array(values: Any, name: str, expected: str) -> NDArray[Any]:
    """What NumPy makes of the values; ValueError for what holds none, such as text, a dict or a ragged list."""
    refuse_masked(values, name)
    holds = not isinstance(values, str | bytes | bytearray | Mapping | Set | np.matrix | None)
    if holds and not hasattr(values, "tocsr"):
        try:
            array = np.asarray(values)
        except (TypeError, ValueError, OverflowError) as error:
            kind = "rows of different lengths" if "inhomogeneous" in str(error) else came(values)
            raise ValueError(f"{name} must be {expected}, got {kind}") from error
        if array.ndim or not array.dtype.hasobject or is_number(array.item()):
            return array
    more = ", which is sparse" if hasattr(values, "tocsr") else "; np.asarray makes an array of it"
    known = hasattr(values, "tocsr") or isinstance(values, np.matrix)
    raise ValueError(f"{name} must be {expected}, got {came(values)}{more if known else ''}")


def numbers_in(array: Any, name: str, names: Sequence[Hashable] | None = None) -> Any:
    """An array, or a sparse matrix, of real numbers; NoNumberError, a ValueError, with the first value that is none.

    None among the objects of a table is a missing number, NaN. `names` are those of the values of one row.
    """
    kind = array.dtype.kind
    if kind in "biuf":
        return array
    if kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers, got complex ones")
    if kind != "O":
        raise ValueError(f"{name} must hold numbers, got {_TEXTS.get(kind, str(array.dtype))}")
    for place, value in enumerate(array.ravel().tolist()):
        if not is_number(value) and (value is not None or array.ndim == 1):
            raise NoNumberError(
                f"{name} must hold numbers, got {brief(value)} in {_where(array.shape, place, names)}: an argument "
                "must be no string and no object, but a number"
            )
    try:
        return array.astype(np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers below 1e308, got a larger whole number") from error


def as_numbers(values: Any, name: str, expected: str) -> NDArray[np.float64]:
    """The values as an array of floats; ValueError that says what was `expected` if they are no numbers."""
    given = values.to_numpy() if hasattr(values, "to_numpy") else values
    return np.asarray(numbers_in(as_array(given, name, expected), name), dtype=np.float64)


def _where(shape: tuple[int, ...], place: int, names: Sequence[Hashable] | None) -> str:
    if len(shape) == 2:
        row, column = divmod(place, shape[1])
        return f"row {row}, column {column}"
    return f"position {place}" if names is None else f"feature {brief(names[place])}"
