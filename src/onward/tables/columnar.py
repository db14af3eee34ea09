"""Parquet and Arrow IPC files, a few thousand rows at a time, whatever the size of their row groups."""

from collections.abc import Iterator, Mapping
from functools import cached_property, partial

import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from onward.tables.errors import DataError
from onward.tables.kinds import Content, as_numbers, content_of
from onward.tables.readers import EXPECTED, Piece, check_columns, check_names
from onward.tables.recipe import Kind
from onward.tables.sources import File

VALUES = 1 << 19  # in a piece: 4 MB of numbers


class ParquetReader:
    """A Parquet file; `start` counts rows."""

    def __init__(self, file: File, groups: range | None = None) -> None:
        self.name = file.name
        self._size = file.size or 0
        self._read = 0
        try:
            # Without buffering ahead, memory stays at a few pages of each column however large a row group is.
            self._file = pq.ParquetFile(file.path, pre_buffer=False, buffer_size=1 << 16)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read as Parquet ({_first_line(error)})") from error
        self.rows = int(self._file.metadata.num_rows)
        self._groups = range(self._file.num_row_groups) if groups is None else groups
        check_names(self.name, self._file.schema_arrow.names)

    @property
    def row_groups(self) -> list[int]:
        """How many rows each row group has."""
        metadata = self._file.metadata
        return [int(metadata.row_group(index).num_rows) for index in range(metadata.num_row_groups)]

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each column holds."""
        return _contents(self._file.schema_arrow)

    def pieces(self, wanted: Mapping[str, Kind], start: int = 0) -> Iterator[Piece]:
        """As in `Reader`; `start` counts rows of the file."""
        check_columns(self.name, self._file.schema_arrow.names, wanted)
        # Row groups that lie before the start as a whole are not read.
        sizes, first = self.row_groups, sum(self.row_groups[: self._groups.start])
        groups = list(self._groups)
        while groups and first + sizes[groups[0]] <= start:
            first += sizes[groups.pop(0)]
        batches = self._file.iter_batches(
            batch_size=max(1, VALUES // max(1, len(wanted))), row_groups=groups, columns=list(wanted)
        )
        yield from _pieces(self.name, self._batches(batches), wanted, first, start)

    def _batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                self._read += batch.num_rows
                yield batch
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read on as Parquet ({_first_line(error)})") from error

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far, going by the rows."""
        return self._size * self._read / max(1, self.rows)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class IpcReader:
    """An Arrow IPC file or stream; `start` counts rows."""

    def __init__(self, file: File) -> None:
        self.name = file.name
        self._source = pa.OSFile(str(file.path))
        self._schema = self._open().schema
        check_names(self.name, self._schema.names)

    def _open(self) -> pa.RecordBatchReader | ipc.RecordBatchFileReader:
        try:
            self._source.seek(0)
            magic = self._source.read(6) == b"ARROW1"
            self._source.seek(0)
            return ipc.open_file(self._source) if magic else ipc.open_stream(self._source)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read as Arrow IPC ({_first_line(error)})") from error

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each column holds."""
        return _contents(self._schema)

    def pieces(self, wanted: Mapping[str, Kind], start: int = 0) -> Iterator[Piece]:
        """As in `Reader`; `start` counts rows."""
        check_columns(self.name, self._schema.names, wanted)
        yield from _pieces(self.name, self._batches(list(wanted)), wanted, 0, start)

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        size = max(1, VALUES // max(1, len(columns)))
        reader = self._open()
        try:
            for batch in _all_batches(reader):
                chosen = batch.select(columns)
                for first in range(0, chosen.num_rows, size):
                    yield chosen.slice(first, size)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read on as Arrow IPC ({_first_line(error)})") from error

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far."""
        return float(self._source.tell())

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


def _all_batches(reader: pa.RecordBatchReader | ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, ipc.RecordBatchFileReader):
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)
    else:
        yield from reader


def _contents(schema: pa.Schema) -> Mapping[str, Content]:
    empty = pl.from_arrow(schema.empty_table())
    assert isinstance(empty, pl.DataFrame)
    return {name: content_of(dtype) for name, dtype in empty.schema.items()}


def _pieces(
    name: str, batches: Iterator[pa.RecordBatch], wanted: Mapping[str, Kind], first: int, start: int
) -> Iterator[Piece]:
    """The batches, the first of which begins at row `first` of the file, from row `start` on."""
    for batch in batches:
        if first + batch.num_rows > start:
            skip = max(0, start - first)
            frame = pl.from_arrow(batch.slice(skip))
            assert isinstance(frame, pl.DataFrame)
            here = first + skip
            if len(frame):
                yield Piece(
                    pl.DataFrame([_converted(name, frame[column], kind) for column, kind in wanted.items()]),
                    here,
                    partial(_where, name, here),
                )
        first += batch.num_rows


def _where(name: str, first: int, row: int) -> str:
    return f"{name}, row {first + row + 1}"


def _converted(name: str, column: pl.Series, kind: Kind) -> pl.Series:
    if kind == "category":
        try:
            return column.cast(pl.String)
        except pl.exceptions.PolarsError as error:
            raise DataError(f"{name}: column {column.name!r} holds {column.dtype}, expected categories") from error
    content = content_of(column.dtype)
    if column.dtype != pl.Null and content != kind and (content, kind) != ("boolean", "number"):
        raise DataError(f"{name}: column {column.name!r} holds {column.dtype}, expected {EXPECTED[kind]} in each row")
    return as_numbers(column)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
