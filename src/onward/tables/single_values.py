"""Single values in plain Python as the numbers and levels that columns of such values become."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from onward.tables.kinds import CLOCK_DAYS, DAY, DAYS, ORIGIN, YEARS, as_numbers, as_texts, read_texts
from onward.tables.notation import Notation
from onward.tables.recipe import Kind

ABSENT = object()
"""In the place of a value that a row does not have."""

_EPOCH, _EPOCH_DAY = datetime(1970, 1, 1), date(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def as_number(value: Any, kind: Kind, notation: Notation) -> float | None:
    """The number that a value stands for; NaN where it stands for a missing one, None if it is no such thing."""
    if is_missing(value):
        return math.nan
    if isinstance(value, str):
        return _read_text(value, kind, notation)
    number = _CONVERSIONS[kind](value)
    is_mark = kind == "number" and number is not None and notation.na and number in _sentinels(tuple(notation.na))
    return math.nan if is_mark else number


def as_level(value: Any, notation: Notation) -> str | None:
    """The level that a value in a category stands for; None where it is missing."""
    if type(value) is not str:
        if is_missing(value):
            return None
        value = _level_text(value)
    return None if value in notation.na else str(value)


def as_plain(value: Any) -> Any:
    """A value as plain Python has it, None where it is missing: what any column can be made of."""
    if is_missing(value):
        return None
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value.astype("datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]").item()
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    """Whether it is None, or NaN, NaT or NA of some library."""
    if value is None:
        return True
    different = value != value
    return different is True or different is np.True_ or type(different).__name__ == "NAType"


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float | np.number | np.bool_):
        return _by_column(value) if type(value).__name__ == "Decimal" else None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _truth(value: Any) -> float | None:
    return float(value) if isinstance(value, bool | np.bool_ | int | float | np.number) and value in (0, 1) else None


def _moment(value: Any) -> float | None:
    """Years since 2000. Moments with a time zone are taken in UTC."""
    if isinstance(value, np.datetime64):
        micros = int(value.astype("datetime64[us]").astype(np.int64))
    elif isinstance(value, datetime):
        plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        micros = (plain - _EPOCH) // _MICROSECOND
    elif isinstance(value, date):
        micros = (value - _EPOCH_DAY).days * DAY
    else:
        return None
    return float(micros - ORIGIN) * YEARS


def _span(value: Any) -> float | None:
    """Days."""
    if isinstance(value, np.timedelta64):
        return float(value.astype("timedelta64[us]").astype(np.int64)) * DAYS
    if isinstance(value, timedelta):
        return float(value // _MICROSECOND) * DAYS
    if isinstance(value, time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return float(1000 * (seconds * 1_000_000 + value.microsecond)) * CLOCK_DAYS
    return None


_CONVERSIONS: dict[Kind, Callable[[Any], float | None]] = {
    "number": _number,
    "boolean": _truth,
    "time": _moment,
    "duration": _span,
}


# What is rare, or written in texts, goes the way of whole columns; the same few values come again and again.


@lru_cache(maxsize=4096)
def _read_text(text: str, kind: Kind, notation: Notation) -> float | None:
    values, wrong = read_texts(pl.Series([text]), kind, notation)
    return None if wrong is not None else math.nan if values[0] is None else float(values[0])


@lru_cache(maxsize=4096, typed=True)
def _level_text(value: Any) -> str:
    return str(as_texts(pl.Series([value]))[0])


def _by_column(value: Any) -> float:
    return float(as_numbers(pl.Series([value]))[0])


@lru_cache(maxsize=64)
def _sentinels(na: tuple[str, ...]) -> frozenset[float]:
    numbers = pl.Series(list(na), dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    return frozenset(numbers.to_list())
