"""CSV, TSV and their relatives.

Polars parses a few megabytes at a time, straight to numbers. What it does not take at once (other marks for missing
values, blank lines, dates) is looked at again with more patience; what is wrong is found with Python's own csv module,
which knows the line.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

import polars as pl

from onward.tables.errors import DataError
from onward.tables.kinds import MISSING, Content, guess, read_texts
from onward.tables.lines import Chunk, TextFile
from onward.tables.readers import EXPECTED, Piece, check_columns, check_names
from onward.tables.recipe import Kind
from onward.tables.sources import File

_SEPARATORS = ",;\t|"
_BOM = b"\xef\xbb\xbf"
SAMPLE = 1 << 18  # bytes that are looked at to tell what columns hold


class DelimitedReader:
    """A file with a header and one record on each line."""

    def __init__(
        self, file: File, separator: str | None = None, na: Sequence[str] = (), text: TextFile | None = None
    ) -> None:
        self.name = file.name
        self._text = text or TextFile(file)
        self._na = list(na)
        self._patient = bool(na)  # whether texts for missing values are about, so that they are looked for at once
        header, self._body = self._header()
        self.separator = separator or ("\t" if file.format == "tsv" else _likely_separator(header))
        try:
            self._columns = [name.strip() for name in next(csv.reader([header], delimiter=self.separator))]
        except (csv.Error, StopIteration) as error:
            raise DataError(f"{self.name}, line 1: cannot be read as a header ({error})") from error
        check_names(self.name, self._columns)

    def _header(self) -> tuple[str, int]:
        """The header's text, and where the records begin."""
        data = self._text.head()
        while b"\n" not in data:
            longer = self._text.more_head()
            if len(longer) == len(data):
                break
            data = longer
        if not data.removeprefix(_BOM).strip():
            raise DataError(f"{self.name}: the file is empty, expected a header with the names of the columns")
        blank = len(data) - len(data.removeprefix(_BOM).lstrip(b"\r\n"))
        end = _record_end(data, blank)
        try:
            text = data[blank:end].decode("utf-8").strip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(f"{self.name}, line 1: the header is not UTF-8 text ({error.reason})") from error
        return text, end

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each column holds, going by the first rows."""
        data = self._text.head()
        while not _whole(data[self._body :]):
            longer = self._text.more_head()
            if len(longer) == len(data):
                break
            data = longer
        body = data[self._body :]
        sample = body[: _whole(body[:SAMPLE]) or _whole(body) or len(body)]
        if not sample.strip():
            raise DataError(f"{self.name}: there are no rows below the header")
        frame = self._texts(Chunk(sample, self._body, data.count(b"\n", 0, self._body)))
        return {name: guess(frame[name], self._na) for name in self._columns}

    def pieces(self, wanted: Mapping[str, Kind], start: int = 0) -> Iterator[Piece]:
        """As in `Reader`; `start` counts bytes."""
        check_columns(self.name, self._columns, wanted)
        for chunk in self._text.chunks(max(start, self._body), _whole):
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

    # A chunk of lines

    def _parsed(self, chunk: Chunk, wanted: Mapping[str, Kind]) -> pl.DataFrame:
        try:
            if not self._patient:
                return self._quickly(chunk.data, wanted, None)
        except pl.exceptions.PolarsError:
            self._patient = True
        try:
            return self._quickly(chunk.data, wanted, [*MISSING, *self._na])
        except pl.exceptions.PolarsError:
            return self._patiently(chunk, wanted)

    def _quickly(self, data: bytes, wanted: Mapping[str, Kind], missing: list[str] | None) -> pl.DataFrame:
        """Numbers as numbers, the rest as texts; an error of polars if that cannot be."""
        types = {name: pl.Float64 if wanted.get(name) == "number" else pl.String for name in self._columns}
        frame = pl.read_csv(
            data,
            has_header=False,
            schema=types,
            separator=self.separator,
            null_values=missing,
            raise_if_empty=False,
        )
        last = self._columns[-1]
        if frame[last].null_count() and data.count(self.separator.encode()) != len(frame) * (len(types) - 1):
            raise pl.exceptions.ComputeError("a line may be blank or too short, and polars fills it up")
        return self._converted(frame.select(list(wanted)), wanted, None)

    def _patiently(self, chunk: Chunk, wanted: Mapping[str, Kind]) -> pl.DataFrame:
        return self._converted(self._texts(chunk).select(list(wanted)), wanted, chunk)

    def _converted(self, frame: pl.DataFrame, wanted: Mapping[str, Kind], chunk: Chunk | None) -> pl.DataFrame:
        """Texts as what they stand for. With the chunk at hand, what is wrong is named; else polars' error is raised."""
        done = {}
        for name, kind in wanted.items():
            column = frame[name]
            if column.dtype == pl.String:
                done[name], wrong = read_texts(column, kind, self._na)
                if wrong is not None and chunk is None:
                    raise pl.exceptions.ComputeError(f"{column[wrong]!r} in {name!r}")
                if wrong is not None and chunk is not None:
                    place = f"{self._where(chunk, wrong)}, column {name!r}"
                    raise DataError(f"{place}: got {column[wrong]!r}, expected {EXPECTED[kind]}")
            else:
                done[name] = column
        return pl.DataFrame(done)

    def _texts(self, chunk: Chunk) -> pl.DataFrame:
        """All columns as texts; blank lines are left out, and what is no record is named."""
        records = [record for _, record in self._records(chunk)]
        columns = zip(*records, strict=True) if records else [[] for _ in self._columns]
        return pl.DataFrame(
            [pl.Series(name, values, dtype=pl.String) for name, values in zip(self._columns, columns, strict=True)]
        )

    def _records(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        """Each record with the line, within the chunk, on which it ends."""
        width = len(self._columns)
        try:
            text = chunk.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self._line(chunk, chunk.data.count(b"\n", 0, error.start) + 1)
            raise DataError(
                f"{self.name}, line {line}: not UTF-8 text ({error.reason}: byte 0x{chunk.data[error.start]:02x})"
            ) from error
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.separator, strict=True)
        try:
            for record in reader:
                if not record or (width > 1 and len(record) == 1 and not record[0].strip()):
                    continue
                if len(record) != width:
                    raise DataError(
                        f"{self.name}, line {self._line(chunk, reader.line_num)}: got {len(record)} fields, "
                        f"expected {width} as in the header"
                    )
                yield reader.line_num, record
        except csv.Error as error:
            line = self._line(chunk, reader.line_num)
            raise DataError(f"{self.name}, line {line}: cannot be read as a record ({error})") from error

    def _where(self, chunk: Chunk, row: int) -> str:
        for number, (line, _) in enumerate(self._records(chunk)):
            if number == row:
                return f"{self.name}, line {self._line(chunk, line)}"
        return self.name

    def _line(self, chunk: Chunk, line: int) -> int:
        return self._text.lines_before(chunk) + line


def _likely_separator(header: str) -> str:
    """The one that the header has most of, outside of quotes; a comma if it has none."""
    bare = "".join(header.split('"')[::2])
    return max(_SEPARATORS, key=lambda each: (bare.count(each), each == ","))


def _record_end(data: bytes, start: int) -> int:
    """Where the first record ends, its line's end included."""
    end = data.find(b"\n", start)
    while end >= 0 and data.count(b'"', start, end) % 2:
        end = data.find(b"\n", end + 1)
    return len(data) if end < 0 else end + 1


def _whole(data: bytes) -> int:
    """How many bytes from the start are whole records: up to the last line's end that is not inside quotes."""
    end = data.rfind(b"\n")
    odd = data.count(b'"', 0, max(end, 0)) % 2
    while odd and end >= 0:
        before = data.rfind(b"\n", 0, end)
        odd ^= data.count(b'"', max(before, 0), end) % 2
        end = before
    return end + 1
