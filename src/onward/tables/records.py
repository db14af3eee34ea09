"""Delimited text record by record: slowly, but knowing the line, and what is wrong with it."""

import csv
import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl

from onward.tables.errors import DataError
from onward.tables.lines import LONGEST, Chunk, TextFile

_LIMIT = threading.Lock()


class Records:
    """Chunks of a file as records of texts, by Python's csv module."""

    def __init__(self, name: str, columns: Sequence[str], separator: str, text: TextFile) -> None:
        self._name, self._columns, self._separator, self._text = name, columns, separator, text

    def texts(self, chunk: Chunk) -> pl.DataFrame:
        """All columns as texts; blank lines are left out, and what is no record is named."""
        records = [record for _, record in self._records(chunk)]
        columns = zip(*records, strict=True) if records else [[] for _ in self._columns]
        return pl.DataFrame(
            {name: pl.Series(values, dtype=pl.String) for name, values in zip(self._columns, columns, strict=True)}
        )

    def _records(self, chunk: Chunk) -> list[tuple[int, list[str]]]:
        """Each record with the line, within the chunk, on which it begins."""
        width = len(self._columns)
        try:
            text = chunk.data.decode("utf-8")
        except UnicodeDecodeError as error:
            place = self._line(chunk, chunk.data.count(b"\n", 0, error.start) + 1)
            raise DataError(
                f"{place}: not UTF-8 text ({error.reason}: byte 0x{chunk.data[error.start]:02x}); name its encoding "
                "(--encoding), such as latin-1"
            ) from error
        reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=self._separator, strict=True)
        found, line = [], 1
        with field_limit():
            try:
                for record in reader:
                    if len(record) == width and (width > 1 or not record[0].isspace()):
                        found.append((line, record))
                    elif len(record) > 1 or (record and record[0].strip()):
                        raise DataError(
                            f"{self._line(chunk, line)}: got {len(record)} field{'s' * (len(record) > 1)}, "
                            f"expected {width} as in the header"
                        )
                    line = reader.line_num + 1
            except csv.Error as error:
                raise DataError(
                    f"{self._line(chunk, line)}: cannot be read as a record ({csv_reason(error)})"
                ) from error
        return found

    def where(self, chunk: Chunk, row: int) -> str:
        """The line of a row of a chunk, for a person."""
        return self._line(chunk, self._records(chunk)[row][0])

    def _line(self, chunk: Chunk, line: int) -> str:
        return f"{self._name}, line {self._text.lines_before(chunk) + line}"


@contextmanager
def field_limit() -> Iterator[None]:
    """Fields as long as records may be, for the csv module: its limit is for all who use it, so it is put back."""
    with _LIMIT:
        limit = csv.field_size_limit(LONGEST)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def csv_reason(error: Exception) -> str:
    """What the csv module says, where that can be understood."""
    if "new-line character" in str(error):  # its advice hangs on the version of Python
        return "a return without a line feed, outside of quotes; write the file with line feeds at the ends of lines"
    return str(error)


def short_text(value: str) -> str:
    """A value for a message."""
    return repr(value if len(value) <= 60 else value[:60] + "…")
