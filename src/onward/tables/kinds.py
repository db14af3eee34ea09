"""What a column holds, and how it becomes numbers."""

import re
from collections.abc import MutableMapping, Sequence
from typing import Literal

import polars as pl

from onward.tables.missing_texts import MISSING
from onward.tables.notation import Notation
from onward.tables.recipe import Kind

Content = Kind | str
"""The kind of a column, "text", "nothing", or the name of a type that cannot become numbers."""
UNKNOWN = "nothing"  # what a column holds as long as all of its values are missing: it is read as numbers

DAY = 86_400_000_000  # µs
# Polars divides by a number as it multiplies by its reciprocal; said so here, single values get the same bits.
YEAR = 365.2425 * DAY
YEARS, DAYS, CLOCK_DAYS = 1 / YEAR, 1 / DAY, 1 / (1000 * DAY)
WHOLE = 1e15  # below which floats that are whole numbers are written as such
ORIGIN = 10_957 * DAY  # 2000-01-01 in µs since 1970

# What ISO 8601 and databases write. Days before months, or months before days, is not for us to guess.
_TIMES = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S",  # read faster than with a fraction
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M:%S%.f%#z",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%Y/%m/%d",
    "%Y/%m/%d %H:%M:%S%.f",
)
_NUMERIC: tuple[Kind, Kind] = ("number", "boolean")
_TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "t": 1.0, "f": 0.0, "1": 1.0, "0": 0.0}


def as_numbers(column: pl.Series) -> pl.Series:
    """A typed column as Float64, null where a value is missing: true is 1, times are years since 2000, spans days."""
    if column.dtype in (pl.Date, pl.Datetime):
        # Moments with a time zone are kept in UTC, so this is the same moment wherever it was written.
        return (_microseconds(column, pl.Datetime("us")) - ORIGIN).cast(pl.Float64) * YEARS
    if column.dtype == pl.Duration:
        return _microseconds(column, pl.Duration("us")).cast(pl.Float64) * DAYS
    if column.dtype == pl.Time:
        return column.to_physical().cast(pl.Float64) * CLOCK_DAYS
    return column.cast(pl.Float64)


def _microseconds(column: pl.Series, dtype: pl.Datetime | pl.Duration) -> pl.Series:
    """Times or spans as whole µs; polars' ComputeError where 64 bits do not hold one.

    A strict cast would refuse it, too, but panics where it shows a date beyond the calendar.
    """
    cast = column.cast(dtype, strict=False)
    if cast.null_count() > column.null_count():
        raise pl.exceptions.ComputeError("a value is beyond 290,000 years")
    return cast.to_physical()


def as_texts(column: pl.Series) -> pl.Series:
    """The levels of a category as texts, null where a value is missing.

    A whole number is written without a point: pandas turns whole numbers into 1.0 where one is missing.
    """
    if not column.dtype.is_float():
        return column.cast(pl.String)
    given = column.cast(pl.Float64).fill_nan(None)
    whole = ((given == given.floor()) & (given.abs() < WHOLE)).fill_null(False)
    return given.set(~whole, 0.0).cast(pl.Int64).cast(pl.String).zip_with(whole, given.cast(pl.String))


def without(column: pl.Series, na: Sequence[str]) -> pl.Series:
    """Numbers without those that stand for missing values."""
    if not na:
        return column
    sentinels = pl.Series(list(na), dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    return column.set(column.is_in(sentinels.to_list()), None) if len(sentinels) else column


Formats = MutableMapping[str, str]
"""The format in which the dates of a column were written last, by its name: tried first the next time."""


def read_texts(
    column: pl.Series, kind: Kind, notation: Notation | None = None, formats: Formats | None = None
) -> tuple[pl.Series, int | None]:
    """Texts as what they stand for: Float64, or String for a category; and the first row that is no such thing.

    What stands for a missing value becomes null.
    """
    notation = notation or Notation()
    formats = {} if formats is None else formats
    if kind == "time" and not notation.na and column.name in formats:  # mostly all is well, and there is no more to do
        direct = _parse_format(column, formats[column.name])
        if direct.null_count() == column.null_count():
            return direct, None
    texts = column.str.strip_chars()
    texts = texts.set(texts.is_in([*MISSING, *notation.na]), None)
    match kind:
        case "category":
            return texts, None
        case "number":
            values = _parse_numbers(texts, notation)
        case "boolean":
            values = _parse_truths(texts)
        case "time":
            values = _parse_times(texts, notation.date_format, formats)
        case "duration":
            values = _parse_spans(texts, notation)
    if values.null_count() == texts.null_count():
        return values, None
    return values, (values.is_null() & texts.is_not_null()).arg_max()


TOLD_BY = Literal["none", "few", "many"]
"""How many rows may have told what a column holds: none that had a value; few, as in a stream; or many."""


def guess(column: pl.Series, notation: Notation | None = None, told_by: TOLD_BY = "many", missing: int = 0) -> Content:
    """What a column of texts holds: what all of them can be read as, or most of them as numbers or times; else "text".

    So many more rows have no value.
    """
    if read_texts(column, "category", notation)[0].null_count() == len(column):
        return UNKNOWN
    kinds: tuple[Kind, ...] = ("number", "boolean", "time")
    if notation is not None and notation.date_format is not None and column.count():
        kinds = ("time", "number", "boolean")  # such as 20260131, which could be a number
    readable: dict[Kind, int] = {}
    for kind in kinds:
        values, wrong = read_texts(column, kind, notation)
        readable[kind] = values.count()
        if wrong is None and (kind != "time" or readable[kind]):
            return kind
    if told_by == "few" and _numbers_and_truths(column, notation or Notation()) is not None:
        return "number"
    # A stray word among numbers or dates is an error to be told of, with its line, rather than a column of texts.
    mostly: tuple[Kind, ...] = ("number", "time")
    return next((kind for kind in mostly if 2 * readable[kind] > len(column) + missing), "text")


def guess_each(frame: pl.DataFrame, notation: Notation, told_by: TOLD_BY) -> dict[str, Content]:
    """What each column of texts holds, as `guess` tells: all columns of plain numbers at once, as there may be many."""
    plain: set[str] = set()
    if not (notation.is_local or notation.na or notation.date_format) and len(frame):
        numbers = frame.select(pl.all().str.strip_chars().cast(pl.Float64, strict=False))
        whole = numbers.select(pl.all().is_not_null().all() & pl.all().is_not_nan().all())
        plain = {name for name, value in whole.row(0, named=True).items() if value}
    return {name: "number" if name in plain else guess(frame[name], notation, told_by) for name in frame.columns}


def read_wider(
    column: pl.Series, kind: Kind, told_by: TOLD_BY, notation: Notation
) -> tuple[Kind, tuple[pl.Series, int | None]] | None:
    """A column that holds texts which are not of its kind, as what it can be read after all; None if as nothing.

    If none of the rows so far had a value, it can be anything. If few have told its kind, truths and numbers can stand
    in one column of numbers.
    """
    if told_by == "none":
        kinds: dict[Content, Kind] = {"boolean": "boolean", "time": "time"}
        guessed = kinds.get(guess(column, notation))
        return None if guessed is None else (guessed, read_texts(column, guessed, notation))
    if told_by == "few" and kind in ("boolean", "number"):
        values = _numbers_and_truths(column, notation)
        return None if values is None else ("number", (values, None))
    return None


def _numbers_and_truths(column: pl.Series, notation: Notation) -> pl.Series | None:
    """A column each of whose values is a number or a truth; None if one is neither."""
    numbers, truths = (read_texts(column, kind, notation)[0] for kind in _NUMERIC)
    values = numbers.zip_with(numbers.is_not_null(), truths)
    missing = read_texts(column, "category", notation)[0].null_count()
    return values if values.null_count() == missing else None


def _parse_numbers(texts: pl.Series, notation: Notation) -> pl.Series:
    if notation.thousands is not None:
        mark = re.escape(notation.thousands)
        # 1,23 is no number of this kind: it would be taken for 123. India writes 12,34,567.
        whole = rf"^[+-]?\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}(?:{re.escape(notation.decimal)}\d*)?$"
        grouped = texts.str.contains(whole) & texts.is_not_null()
        bare = texts.str.replace_all(notation.thousands, "", literal=True)
        texts = bare.zip_with(grouped, texts)
    if notation.decimal != ".":
        strange = texts.str.contains(".", literal=True).fill_null(False)
        swapped = texts.str.replace(notation.decimal, ".", literal=True)
        texts = swapped.set(strange, "no number")
    return texts.cast(pl.Float64, strict=False)


def _parse_truths(texts: pl.Series) -> pl.Series:
    return texts.str.to_lowercase().replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)


def _parse_times(texts: pl.Series, own: str | None, formats: Formats) -> pl.Series:
    given, best = texts.count(), None
    if own is None and not texts.str.contains(r"\d").any():  # words: no need to try each of many formats
        return pl.Series(texts.name, [None], dtype=pl.Float64).new_from_index(0, len(texts))
    if own is not None:
        tried: tuple[str, ...] = (own.replace(".%f", "%.f"),)
    else:
        latest = formats.get(texts.name, _TIMES[0])
        tried = (latest, *(each for each in _TIMES if each != latest))
    for format in tried:
        parsed = _parse_format(texts, format)
        best = parsed if best is None else best.zip_with(best.is_not_null(), parsed)
        if best.count() == given:
            if parsed.count():
                formats[texts.name] = format
            break
    assert best is not None
    return best


def _parse_format(texts: pl.Series, format: str) -> pl.Series:
    return as_numbers(texts.str.to_datetime(format, time_unit="us", strict=False, cache=False))


def _parse_spans(texts: pl.Series, notation: Notation) -> pl.Series:
    """A time of day as a share of the day, or days as a number."""
    clock = as_numbers(texts.str.to_time("%H:%M:%S%.f", strict=False))
    return clock.zip_with(clock.is_not_null(), _parse_numbers(texts, notation))
