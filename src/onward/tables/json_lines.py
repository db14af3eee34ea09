"""JSON lines: an object on each line. Polars parses them; what it does not take is found with Python's json."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import polars as pl

from onward.tables.errors import DataError
from onward.tables.kinds import Content, guess, read_texts
from onward.tables.lines import Chunk, TextFile
from onward.tables.readers import EXPECTED, Piece, check_columns
from onward.tables.recipe import Kind
from onward.tables.sources import File

SAMPLE = 1 << 18  # bytes that are looked at to tell what the names stand for


class JsonLinesReader:
    """A file with a JSON object on each line. A name that an object lacks is a missing value."""

    def __init__(self, file: File, na: Sequence[str] = (), text: TextFile | None = None) -> None:
        self.name = file.name
        self._text = text or TextFile(file)
        self._na = list(na)
        if not self._text.head().strip():
            raise DataError(f"{self.name}: the file is empty, expected a JSON object on each line")

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each name stands for, going by the first rows."""
        data = self._text.head()
        while not _whole(data):
            longer = self._text.more_head()
            if len(longer) == len(data):
                break
            data = longer
        sample = data[: _whole(data[:SAMPLE]) or _whole(data) or len(data)]
        records = list(self._records(Chunk(sample, 0, 0)))
        names = list(dict.fromkeys(name for _, record in records for name in record))
        return {name: self._content([record.get(name) for _, record in records]) for name in names}

    def _content(self, values: list[Any]) -> Content:
        given = [value for value in values if value is not None]
        if all(isinstance(value, bool) for value in given) and given:
            return "boolean"
        if any(isinstance(value, list | dict) for value in given):
            return "a list or an object"
        column = pl.Series("", [_text(value) for value in values], dtype=pl.String)
        # Numbers in quotes are numbers, too: many programs write them so.
        return guess(column, self._na)

    def pieces(self, wanted: Mapping[str, Kind], start: int = 0) -> Iterator[Piece]:
        """As in `Reader`; `start` counts bytes."""
        if start == 0:
            check_columns(self.name, list(self.contents), wanted)
        for chunk in self._text.chunks(start, _whole):
            frame = self._parsed(chunk, wanted)
            if len(frame):
                yield Piece(frame, chunk.start, partial(self._where, chunk))

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far."""
        return self._text.done

    def close(self) -> None:
        """Let go of the file."""
        self._text.close()

    def _parsed(self, chunk: Chunk, wanted: Mapping[str, Kind]) -> pl.DataFrame:
        if all(kind == "number" for kind in wanted.values()):
            try:
                types = dict.fromkeys(wanted, pl.Float64)
                frame = pl.read_ndjson(chunk.data, schema=types)
                if frame.schema == types:
                    return frame
            except pl.exceptions.PolarsError:
                pass
        return self._patiently(chunk, wanted)

    def _patiently(self, chunk: Chunk, wanted: Mapping[str, Kind]) -> pl.DataFrame:
        records = [record for _, record in self._records(chunk)]
        done = {}
        for name, kind in wanted.items():
            texts = pl.Series(name, [_text(record.get(name)) for record in records], dtype=pl.String)
            done[name], wrong = read_texts(texts, kind, self._na)
            if wrong is not None:
                raise DataError(
                    f"{self._where(chunk, wrong)}, column {name!r}: got {records[wrong][name]!r}, "
                    f"expected {EXPECTED[kind]}"
                )
        return pl.DataFrame(done)

    def _records(self, chunk: Chunk) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each object with its line within the chunk."""
        for number, line in enumerate(chunk.data.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
            except UnicodeDecodeError as error:
                raise DataError(f"{self._line(chunk, number)}: not UTF-8 text ({error.reason})") from error
            except ValueError as error:
                raise DataError(f"{self._line(chunk, number)}: not a JSON object ({error})") from error
            if not isinstance(record, dict):
                raise DataError(f"{self._line(chunk, number)}: expected a JSON object, got {str(record)[:40]}")
            yield number, record

    def _where(self, chunk: Chunk, row: int) -> str:
        lines = [number for number, _ in self._records(chunk)]
        return self._line(chunk, lines[row])

    def _line(self, chunk: Chunk, number: int) -> str:
        return f"{self.name}, line {self._text.lines_before(chunk) + number}"


def _text(value: Any) -> str | None:
    """A JSON value as the text that a CSV file would have for it."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)  # numbers, true, false; NaN and Infinity as Python's json reads them


def _whole(data: bytes) -> int:
    return data.rfind(b"\n") + 1
