"""What a column holds, and how it becomes numbers."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from onward.tables.recipe import Kind

Content = Kind | str
"""The kind of a column, "text", "nothing", or the name of a type that cannot become numbers."""
UNKNOWN = "nothing"  # what a column holds as long as all of its values are missing: it is read as numbers

# What stands for a missing value in text files, as R, pandas, databases and spreadsheets write it.
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "<NA>", "?", ".")

DAY = 86_400_000_000  # µs
# Polars divides by a number as it multiplies by its reciprocal; said so here, single values get the same bits.
YEARS, DAYS, CLOCK_DAYS = 1 / (365.2425 * DAY), 1 / DAY, 1 / (1000 * DAY)
ORIGIN = 10_957 * DAY  # 2000-01-01 in µs since 1970

# What ISO 8601 and databases write. Days before months, or months before days, is not for us to guess.
_TIMES = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S%.f",
)
_TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "t": 1.0, "f": 0.0, "1": 1.0, "0": 0.0}


def as_numbers(column: pl.Series) -> pl.Series:
    """A typed column as Float64, null where a value is missing: true is 1, times are years since 2000, spans days."""
    if column.dtype in (pl.Date, pl.Datetime):
        # Moments with a time zone are kept in UTC, so this is the same moment wherever it was written.
        return (column.cast(pl.Datetime("us")).to_physical() - ORIGIN).cast(pl.Float64) * YEARS
    if column.dtype == pl.Duration:
        return column.cast(pl.Duration("us")).to_physical().cast(pl.Float64) * DAYS
    if column.dtype == pl.Time:
        return column.to_physical().cast(pl.Float64) * CLOCK_DAYS
    return column.cast(pl.Float64)


def without(column: pl.Series, na: Sequence[str]) -> pl.Series:
    """Numbers without those that stand for missing values."""
    if not na:
        return column
    sentinels = pl.Series(list(na), dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    return column.set(column.is_in(sentinels.to_list()), None) if len(sentinels) else column


def read_texts(column: pl.Series, kind: Kind, na: Sequence[str] = ()) -> tuple[pl.Series, int | None]:
    """Texts as what they stand for: Float64, or String for a category; and the first row that is no such thing.

    What stands for a missing value becomes null.
    """
    texts = column.str.strip_chars()
    texts = texts.set(texts.is_in([*MISSING, *na]), None)
    if kind == "category":
        return texts, None
    values = _PARSERS[kind](texts)
    wrong = (values.is_null() & texts.is_not_null()).arg_max()
    return values, wrong if wrong is not None and values[wrong] is None and texts[wrong] is not None else None


def guess(column: pl.Series, na: Sequence[str] = ()) -> Content:
    """What a column of texts holds: what all of them can be read as, or most of them as numbers; else "text"."""
    if read_texts(column, "category", na)[0].null_count() == len(column):
        return UNKNOWN
    kinds: tuple[Kind, ...] = ("number", "boolean", "time")
    for kind in kinds:
        if read_texts(column, kind, na)[1] is None:
            return kind
    numbers = read_texts(column, "number", na)[0]
    # A stray word among numbers is an error to be told of, with its line, rather than a column of texts.
    return "number" if 2 * numbers.count() > len(column) else "text"


def widen_kind(
    kind: Kind, told_by: Literal["none", "few", "many"], column: pl.Series, na: Sequence[str]
) -> Kind | None:
    """As what a column can be read that holds texts which are not of its kind; None if as nothing.

    Its kind was told by the rows that came first. If `none` of these had a value, it can become anything; if there may
    have been but `few` of them, as in a stream, a column of truths can become one of numbers.
    """
    if told_by == "none":
        kinds: dict[Content, Kind] = {"boolean": "boolean", "time": "time"}
        return kinds.get(guess(column, na))
    if told_by == "few" and kind == "boolean" and read_texts(column, "number", na)[1] is None:
        return "number"
    return None


def _parse_numbers(texts: pl.Series) -> pl.Series:
    return texts.cast(pl.Float64, strict=False)


def _parse_truths(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)


def _parse_times(texts: pl.Series) -> pl.Series:
    given = texts.count()
    best = pl.Series(texts.name, [None] * len(texts), dtype=pl.Float64)
    for format in _TIMES:
        parsed = as_numbers(texts.str.to_datetime(format, time_unit="us", strict=False))
        best = best.zip_with(best.is_not_null(), parsed)
        if best.count() == given:
            break
    return best


def _parse_spans(texts: pl.Series) -> pl.Series:
    """A time of day as a share of the day, or days as a number."""
    clock = as_numbers(texts.str.to_time("%H:%M:%S%.f", strict=False))
    return clock.zip_with(clock.is_not_null(), _parse_numbers(texts))


_PARSERS = {"number": _parse_numbers, "boolean": _parse_truths, "time": _parse_times, "duration": _parse_spans}
