"""JSON lines: an object on each line. Polars parses them; what it does not take is found with Python's json."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from math import isfinite
from typing import Any

import numpy as np
import polars as pl

from onward.core.shown import brief
from onward.tables.errors import DataError
from onward.tables.json_depth import is_deep
from onward.tables.kinds import TOLD_BY, UNKNOWN, Content, guess, read_texts, read_wider, without
from onward.tables.lines import Chunk, TextFile
from onward.tables.notation import Notation
from onward.tables.readers import Piece, check_columns, expected, parsed_ahead, parsed_pieces
from onward.tables.recipe import Kind
from onward.tables.sources import File
from onward.tables.text_hints import advice_on

SAMPLE = 1 << 18  # bytes that are looked at to tell what the names stand for
MOST_VALUES = (
    1 << 24
)  # that rows are read as at once: an object need not have all names, so they take more than its text
_NESTED = "a list or an object"


class JsonLinesReader:
    """A file with a JSON object on each line. A name that an object lacks is a missing value."""

    def __init__(self, file: File, notation: Notation | None = None, text: TextFile | None = None) -> None:
        self.name = file.name
        self._text = text or TextFile(file)
        self._notation = notation or Notation()
        self._unknown: set[str] = set()  # names of which only missing values have been seen
        self._way = 0  # how chunks are read, going by those before: see `_parsed`
        self._formats: dict[str, str] = {}

    @cached_property
    def _sample(self) -> list[dict[str, Any]]:
        sample = self._text.sample(_whole, 0, SAMPLE)
        records, errors = [], []
        for number, line in _lines(sample):
            try:
                records.append(self._record(sample, number, line))
            except DataError as error:  # rows that can be read tell what names stand for
                errors.append(error)
        if errors and not records:
            raise errors[0]
        return records

    @property
    def columns(self) -> list[str]:
        """The names in the first rows."""
        return list(dict.fromkeys(name for record in self._sample for name in record))

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each name stands for, going by the first rows; nothing if there are none."""
        values: dict[str, list[Any]] = {}  # those that are given: there may be as many names as rows
        for record in self._sample:
            for name, value in record.items():
                given = values.setdefault(name, [])
                if value is not None:
                    given.append(value)
        found = {name: self._content(given) for name, given in values.items()}
        self._unknown = {name for name, content in found.items() if content == UNKNOWN}
        return found

    def _content(self, given: list[Any]) -> Content:
        """What the values of a name stand for."""
        if all(isinstance(value, bool) for value in given) and given:
            return "boolean"
        if any(isinstance(value, list | dict) for value in given):
            return _NESTED
        if given and not self._notation.na and all(type(value) is float and isfinite(value) for value in given):
            return "number"
        column = pl.Series("", [self._written(value) for value in given], dtype=pl.String)
        # Numbers in quotes are numbers, too: many programs write them so.
        missing = len(self._sample) - len(given)
        return guess(column, self._notation, "few" if self._text.arrives else "many", missing)

    def _written(self, value: Any) -> str | None:
        """A JSON value as a text in the notation of the texts: numbers have theirs, whatever the others have."""
        text = _text(value)
        is_number = text is not None and isinstance(value, float)
        return text.replace(".", self._notation.decimal) if text is not None and is_number else text

    def _level(self, value: Any) -> str | None:
        """A JSON value as a level: −0.0 is 0, as in files of typed columns."""
        return self._written(0.0 if isinstance(value, float) and value == 0 else value)

    def pieces(
        self, wanted: dict[str, Kind], start: int = 0, keep: Sequence[str] = (), together: Sequence[str] = ()
    ) -> Iterator[Piece]:
        """As in `Reader`; `start` counts bytes."""
        if start == 0 and self._sample and not self._text.arrives:  # else too few rows may be known to tell
            check_columns(self.name, self.columns, [*wanted, *keep])
        parse = partial(self._piece, wanted, keep, together)
        yield from parsed_ahead(
            self._text.chunks(start, _whole),
            lambda chunk: parsed_pieces(chunk, parse, self._where, _whole),
            self._text.parsers,
        )

    def _piece(self, wanted: dict[str, Kind], keep: Sequence[str], together: Sequence[str], chunk: Chunk) -> Piece:
        frame, kept = self._parsed(wanted, chunk), self._as_they_are(chunk, keep) if keep else pl.DataFrame()
        return Piece(frame, chunk.start, partial(self._where, chunk), kept).gathered(together)

    def _as_they_are(self, chunk: Chunk, keep: Sequence[str]) -> pl.DataFrame:
        records = [record for _, record in self._records(chunk)]
        return pl.DataFrame({name: pl.Series([_text(r.get(name)) for r in records], dtype=pl.String) for name in keep})

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far."""
        return self._text.done

    def close(self) -> None:
        """Let go of the file."""
        self._text.close()

    # A chunk of lines

    def _parsed(self, wanted: dict[str, Kind], chunk: Chunk) -> pl.DataFrame:
        """The chunk as what it should hold; then by way of texts; then line by line."""
        self._text.check_nulls(chunk)
        if (rows := chunk.data.count(b"\n")) > 1 and rows * len(wanted) > MOST_VALUES:
            raise DataError(f"{self.name}: rows of {len(wanted):,} names are read fewer at a time")  # it is halved
        if is_deep(chunk.data):
            return self._patiently(wanted, chunk)
        for way in range(self._way, 1 if self._notation.is_local else 2):  # polars would write numbers as programs do
            try:
                frame = self._quickly(chunk.data, wanted, way)
            except pl.exceptions.PolarsError:
                continue
            self._way = way
            return frame
        return self._patiently(wanted, chunk)

    def _quickly(self, data: bytes, wanted: Mapping[str, Kind], way: int) -> pl.DataFrame:
        """The chunk as polars reads it; an error of polars if that cannot be."""
        kinds = {"number": pl.Float64, "boolean": pl.Boolean} if way == 0 else {}
        frame = pl.read_ndjson(data, schema={name: kinds.get(kind, pl.String) for name, kind in wanted.items()})
        frame = frame.with_columns(pl.col(pl.Boolean).cast(pl.Float64))
        texts = [name for name, kind in frame.schema.items() if kind == pl.String]
        if self._notation.na:
            texts = frame.columns
        return frame.with_columns([self._converted(frame[name], wanted[name]) for name in texts])

    def _converted(self, column: pl.Series, kind: Kind) -> pl.Series:
        if column.dtype != pl.String:
            return without(column.cast(pl.Float64), self._notation.na if kind == "number" else ())
        values, wrong = read_texts(column, kind, self._notation, self._formats)
        # Polars takes a list or an object for its text, and writes -0.0 with its sign.
        if wrong is not None or (kind == "category" and column.str.contains(r"^(?:\s*[\[{]|-0$)").any()):
            raise pl.exceptions.ComputeError(f"wrong in {column.name!r}")
        return values

    def _told_by(self, name: str) -> TOLD_BY:
        """How many rows may have told what a name stands for."""
        return "none" if name in self._unknown else "few" if self._text.arrives else "many"

    def _patiently(self, wanted: dict[str, Kind], chunk: Chunk) -> pl.DataFrame:
        records = [record for _, record in self._records(chunk)]
        done = {}
        for name, kind in list(wanted.items()):
            column = [record.get(name) for record in records]
            written = self._level if kind == "category" else self._written
            texts = pl.Series(name, map(written, column), dtype=pl.String)
            done[name], wrong = read_texts(texts, kind, self._notation, self._formats)
            if wrong is not None and (wider := read_wider(texts, kind, self._told_by(name), self._notation)):
                wanted[name], (done[name], wrong) = wider
            nested = (row for row, value in enumerate(column) if isinstance(value, list | dict))
            if kind == "category":
                wrong = next(nested, None)
            if wrong is not None:
                value = column[wrong]
                got, advice = repr(value), advice_on(value, kind) if isinstance(value, str) else ""
                raise DataError(
                    f"{self._where(chunk, wrong)}, column {brief(name)}: got {got[:60] + '…' * (len(got) > 60)}, "
                    f"expected {expected(kind, self._notation)}{advice}"
                )
            if done[name].null_count() < len(texts):
                self._unknown.discard(name)
        return pl.DataFrame(done)

    def _records(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each object with its line within the chunk."""
        for number, line in _lines(chunk):
            yield number, self._record(chunk, number, line)

    def _record(self, chunk: Chunk, number: int, line: bytes) -> dict[str, Any]:
        try:
            record = json.loads(line.decode("utf-8"), object_pairs_hook=_first_of_each)
        except UnicodeDecodeError as error:
            place = self._line(chunk, number)
            raise DataError(f"{place}: not UTF-8 text ({error.reason}: byte 0x{line[error.start]:02x})") from error
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, json.JSONDecodeError) else _odd(error)
            raise DataError(f"{self._line(chunk, number)}: not a JSON object ({why})") from error
        if rb"\u" in line and not _is_unicode(record):
            raise DataError(f"{self._line(chunk, number)}: half of a pair of surrogates, expected Unicode text")
        if not isinstance(record, dict):
            raise DataError(f"{self._line(chunk, number)}: expected a JSON object, got {str(record)[:40]}")
        return record

    def _where(self, chunk: Chunk, row: int) -> str:
        lines = [number for number, _ in self._records(chunk)]
        return self._line(chunk, lines[row])

    def _line(self, chunk: Chunk, number: int) -> str:
        return f"{self.name}, line {self._text.lines_before(chunk) + number}"


def _text(value: Any) -> str | None:
    """A JSON value as a text, as polars would write it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return np.format_float_positional(value, trim="-")
    return json.dumps(value)  # whole numbers, true, false; NaN and Infinity as Python's json reads them


def _is_unicode(record: Any) -> bool:
    """Whether all texts of a JSON value can be written: an escape may stand for half a letter."""
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of values with one name, the first counts, as for polars."""
    record = dict(pairs)
    return record if len(record) == len(pairs) else dict(pairs[::-1])


def _odd(error: Exception) -> str:
    """Why a line of JSON is not taken, though it may be right."""
    return "nested too deeply" if isinstance(error, RecursionError) else "a whole number of too many digits"


def _lines(chunk: Chunk) -> Iterator[tuple[int, bytes]]:
    """The lines of a chunk that are not blank, with their numbers in it, from 1."""
    for number, line in enumerate(chunk.data.split(b"\n"), start=1):
        if chunk.start == 0 and number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield number, line


def _whole(data: bytes) -> int:
    return data.rfind(b"\n") + 1
