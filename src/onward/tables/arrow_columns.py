"""Columns of Arrow batches as what they should hold: their types, and pieces made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import cast

import polars as pl
import pyarrow as pa
import pyarrow.types as kind_of

from onward.core.shown import brief
from onward.tables.errors import DataError
from onward.tables.kinds import Content, as_numbers, as_texts, read_texts, without
from onward.tables.notation import Notation
from onward.tables.readers import EXPECTED, Piece, expected
from onward.tables.recipe import KINDS, Kind
from onward.tables.text_hints import advice_on

_FLOAT64 = pa.float64()
_IN_MILLISECONDS = {pa.timestamp("s"): pa.timestamp("ms"), pa.duration("s"): pa.duration("ms")}


def contents_of(schema: pa.Schema) -> Mapping[str, Content]:
    """What each column of a schema holds."""
    return {name: _declared(schema.field(index).type) for index, name in enumerate(schema.names)}


def _declared(dtype: pa.DataType) -> Content:
    """What a column of an Arrow type holds; a dictionary of texts says that it stands for categories."""
    content = content_of(dtype)
    return "category" if isinstance(dtype, pa.DictionaryType) and content == "text" else content


def content_of(dtype: pa.DataType) -> Content:
    """What a column of an Arrow type holds."""
    if isinstance(dtype, pa.DictionaryType):
        return content_of(dtype.value_type)
    tests: dict[Content, tuple[bool, ...]] = {
        "number": (
            kind_of.is_integer(dtype),
            kind_of.is_floating(dtype),
            kind_of.is_decimal(dtype) and not kind_of.is_decimal256(dtype),  # of which polars panics
            kind_of.is_null(dtype),
        ),
        "boolean": (kind_of.is_boolean(dtype),),
        "time": (kind_of.is_date(dtype), kind_of.is_timestamp(dtype)),
        "duration": (kind_of.is_time(dtype), kind_of.is_duration(dtype)),
        "text": (kind_of.is_string(dtype), kind_of.is_large_string(dtype), kind_of.is_string_view(dtype)),
    }
    return next((content for content, fits in tests.items() if any(fits)), str(dtype))


def check_kinds(name: str, schema: pa.Schema, wanted: Mapping[str, Kind], *, texts: bool = False) -> None:
    """DataError if a column's type is not what it should be; with `texts`, numbers and times may be written as text."""
    for column, kind in wanted.items():
        dtype = schema.field(column).type
        content = content_of(dtype)
        fits = content in (*KINDS, "text") if kind == "category" else content == kind or (texts and content == "text")
        alike = (content, kind) == ("boolean", "number") or (texts and (content, kind) == ("number", "boolean"))
        if not (fits or alike or kind_of.is_null(dtype)):
            raise DataError(f"{name}: column {brief(column)} holds {dtype}, expected {EXPECTED[kind]} in each row")


def pieces_of(
    name: str,
    batches: Iterator[pa.RecordBatch],
    wanted: Mapping[str, Kind],
    keep: Sequence[str],
    together: Sequence[str],
    first: int,
    start: int,
    notation: Notation,
) -> Iterator[Piece]:
    """The batches, the first of which begins at row `first` of the file, from row `start` on."""
    for batch in batches:
        if first + batch.num_rows > start:
            skip = max(0, start - first)
            rest, here = batch.slice(skip), first + skip
            where = partial(_where, name, here)
            kept = pl.DataFrame({column: _as_it_is(name, column, rest.column(column)) for column in keep})
            yield Piece(_frame_of(name, rest, wanted, notation, where), here, where, kept).gathered(together)
        first += batch.num_rows


def _frame_of(
    name: str, batch: pa.RecordBatch, wanted: Mapping[str, Kind], notation: Notation, where: Callable[[int], str]
) -> pl.DataFrame:
    """The columns as what they should hold. Those of plain numbers are taken all at once, as they are."""
    ready = [column for column, kind in wanted.items() if kind == "number" and not notation.na]
    ready = [column for column in ready if batch.schema.field(column).type.equals(_FLOAT64)]
    frame = pl.DataFrame()
    if ready:
        try:
            # Made anew without what is said about the columns: polars ends in a panic where that is no UTF-8.
            numbers = pa.RecordBatch.from_arrays([batch.column(column) for column in ready], ready)
            numbers.validate(full=True)
            frame = cast(pl.DataFrame, pl.from_arrow(numbers))
        except (pa.ArrowException, pl.exceptions.PolarsError):
            frame = pl.DataFrame()  # one by one, so that the error names the column
    if frame.columns == list(wanted):
        return frame
    columns = {
        column: frame[column]
        if column in frame.columns
        else converted(name, column, batch.column(column), kind, notation, where)
        for column, kind in wanted.items()
    }
    return pl.DataFrame(columns)


def _where(name: str, first: int, row: int) -> str:
    return f"{name}, row {first + row + 1}"


def _as_it_is(name: str, column: str, array: pa.Array) -> pl.Series:
    """A column to keep, with its own type; categories as text."""
    if content_of(array.type) not in (*KINDS, "text"):
        raise DataError(f"{name}: column {brief(column)} holds {array.type}, which cannot be kept")
    try:
        array.validate(full=True)
        values = pl.Series(column, pl.from_arrow(array))
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{name}: column {brief(column)} holds {array.type} that cannot be read ({first_line(error)})"
        ) from error
    return values.cast(pl.String) if content_of(array.type) == "text" else values


def converted(
    name: str, column: str, array: pa.Array, kind: Kind, notation: Notation, where: Callable[[int], str]
) -> pl.Series:
    """A column as what it should hold: Float64, or String for a category; null where a value is missing."""
    try:
        # Sizes, places and letters as they should be: files are read as they are, and nothing else looks.
        array.validate(full=True)
        if isinstance(array, pa.DictionaryArray) and content_of(array.type) != "text":
            array = array.dictionary_decode()
        if isinstance(array.type, pa.TimestampType) and array.type.tz is not None:
            array = array.cast(pa.timestamp(array.type.unit))  # the moment in UTC; polars does not know every zone
        if array.type in _IN_MILLISECONDS:  # as polars has them; what is too large would become another number there
            array = array.cast(_IN_MILLISECONDS[array.type])
        is_text = content_of(array.type) == "text"
        values = pl.Series(column, pl.from_arrow(array))
        if kind == "category":
            texts = as_texts(values)
            return texts.set(texts.is_in(list(notation.na)), None) if notation.na else texts
        if kind == "boolean" and not is_text:
            return _truths(as_numbers(values), where)
        if not is_text:
            return without(as_numbers(values), notation.na if kind == "number" else ())
        texts = values.cast(pl.String)
        numbers, wrong = read_texts(texts, kind, notation)
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{name}: column {brief(column)} holds {array.type} that cannot be read as {EXPECTED[kind]} "
            f"({first_line(error)})"
        ) from error
    if wrong is not None:
        wanted = expected(kind, notation) + advice_on(texts[wrong], kind)
        raise DataError(f"{where(wrong)}, column {brief(column)}: got {brief(texts[wrong])}, expected {wanted}")
    return numbers


def _truths(values: pl.Series, where: Callable[[int], str]) -> pl.Series:
    """Numbers that stand for true and false; DataError if one is neither 0 nor 1."""
    wrong = (values.is_not_nan() & ~values.is_in([0.0, 1.0])).fill_null(False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise DataError(
            f"{where(row)}, column {brief(values.name)}: got {values[row]:g}, expected {EXPECTED['boolean']}"
        )
    return values


def first_line(error: BaseException) -> str:
    """What an error says, without what follows its first line."""
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
