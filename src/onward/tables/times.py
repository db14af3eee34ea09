"""The times of rows: numbers in any unit, or dates, which become microseconds since 2000."""

import numbers
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.core.checks import is_deep, is_many
from onward.core.durations import show_time
from onward.core.shown import brief, came
from onward.core.types import Vector
from onward.core.words import counted


class Times(NamedTuple):
    """A time for each row."""

    values: Vector  # (n,) finite
    dated: bool  # whether they are µs since 2000

    def part(self, chosen: slice | NDArray[Any]) -> "Times":
        """The times of some of the rows."""
        return Times(np.ascontiguousarray(self.values[chosen]), self.dated)


def microseconds_of(years: Vector) -> Vector:
    """Dates that are years since 2000, as `kinds.as_numbers` has them, in µs: whole ones, as they were."""
    from onward.tables.kinds import YEAR

    return np.rint(years * YEAR)


def as_times(times: Any, n_rows: int) -> Times:
    """Numbers or dates, one for each row; ValueError that names the row if one is missing or something else."""
    if type(times) is np.ndarray and times.dtype.kind in "iuf":
        made = Times(times.astype(np.float64), dated=False)
    else:
        made = _from_series(times)
    if made.values.shape != (n_rows,):
        raise ValueError(
            f"times must have shape ({n_rows},) as X has {counted(n_rows, 'row')}, got {made.values.shape}"
        )
    if not np.isfinite(made.values).all():
        row = int(np.argmin(np.isfinite(made.values)))
        what = "none" if np.isnan(made.values[row]) else f"{made.values[row]}"
        raise ValueError(f"times must be finite numbers or dates, one for each row, got {what} in row {row}")
    return made


def _from_series(times: Any) -> Times:
    """What is no plain array of numbers: as a series of Polars, NaN where a value is missing."""
    import narwhals.stable.v2 as nw
    import polars as pl

    from onward.tables.kinds import as_numbers
    from onward.tables.rows import wrapped

    if isinstance(times, str | bytes) or not is_many(times):
        raise ValueError(f"times must be numbers or dates, one for each row, got {came(times)}")
    native = wrapped(times, "times")
    try:
        if isinstance(native, nw.Series):
            if hasattr(times, "iloc") and getattr(times.dtype, "kind", None) == "O" and is_deep(times):
                raise ValueError("got lists nested too deeply")
            series = native.to_polars()
        elif isinstance(times, np.ndarray) and times.dtype.kind != "O" and times.ndim == 1:
            times = np.asarray(times)
            series = pl.Series(times.astype("datetime64[us]") if times.dtype.kind == "M" else times)
        else:
            values = [_plain_date(row, each) for row, each in enumerate(times)]
            series = pl.Series(values, dtype=pl.Float64 if all(map(_is_number, values)) else None, strict=False)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise ValueError(f"times must be numbers, or dates, of one kind: {error}") from error
    if series.dtype in (pl.Date, pl.Datetime):
        try:
            years = as_numbers(series)
        except pl.exceptions.ComputeError as error:
            raise ValueError(f"times: {error}") from error
        return Times(microseconds_of(_plain(years)), dated=True)
    if series.dtype.is_numeric() or series.dtype == pl.Null:
        return Times(_plain(as_numbers(series)), dated=False)
    raise ValueError(f"times must be numbers or dates, got {series.dtype}")


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, numbers.Real)


def _plain_date(row: int, value: Any) -> Any:
    """A date of NumPy as one of Python; what else a time can be, or is told apart later, unchanged.

    A list is refused here: Polars follows it as deep as it goes, and one that holds itself has no end.
    """
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    if value is None or isinstance(value, numbers.Real | Decimal | str | date | np.generic):
        return value
    raise ValueError(f"got {brief(value)} in row {row}")


def _plain(series: Any) -> Vector:
    values: Vector = series.to_numpy().astype(np.float64)
    return values


def check_order(times: Times, latest: float) -> None:
    """ValueError, with the row, if a time is before the one before it; `latest` is before the first, NaN for none."""
    before = np.concatenate([[latest], times.values[:-1]])
    falls = times.values < before
    if falls.any():
        row = int(np.argmax(falls))
        came, expected = (show_time(float(each[row]), times.dated) for each in (times.values, before))
        after = "the latest row that was learned has" if row == 0 else f"row {row - 1} has"
        raise ValueError(f"times must not fall: row {row} has {came}, but {after} {expected}; expected rows in order")
