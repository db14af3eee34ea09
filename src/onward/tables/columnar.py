"""Parquet and Arrow IPC files, a few thousand rows at a time, whatever the size of their row groups."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from onward.core.checks import is_deep
from onward.core.shown import brief
from onward.tables import parquet_pages
from onward.tables.arrow_columns import check_kinds, content_of, contents_of, first_line, pieces_of
from onward.tables.arrow_messages import largest_decompressed
from onward.tables.arrow_texts import names_of, unreadable_name, with_texts
from onward.tables.errors import DataError
from onward.tables.kinds import Content
from onward.tables.notation import Notation
from onward.tables.readers import Piece, check_columns, check_names
from onward.tables.recipe import Kind
from onward.tables.sources import File, Frame

VALUES = 1 << 18  # in a piece: 2 MB of numbers
TOGETHER = 1 << 24  # bytes of small row groups that are read together
TEXT = 1 << 23  # bytes of text in a piece, if a single row does not have more
LARGEST_BATCH = 1 << 30  # bytes of a compressed batch, once decompressed: Arrow holds it as a whole
LARGEST_PAGES = 1 << 30  # bytes of the pages that all columns of a Parquet file hold at once, once decompressed


class ParquetReader:
    """A Parquet file; `start` counts rows."""

    def __init__(self, file: File, notation: Notation | None = None, groups: range | None = None) -> None:
        self.name = file.name
        self._notation = notation or Notation()
        self._path, self._size = file.path, file.size or 0
        self._read = 0
        try:
            self._file = self._open()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read as Parquet ({first_line(error)})") from error
        except UnicodeDecodeError as error:
            raise unreadable_name(self.name, error) from error
        self.rows = int(self._file.metadata.num_rows)
        self.columns = names_of(self.name, self._file.schema_arrow)
        self._groups = range(self._file.num_row_groups) if groups is None else groups
        check_names(self.name, self.columns)

    @property
    def row_groups(self) -> list[int]:
        """How many rows each row group has."""
        metadata = self._file.metadata
        return [int(metadata.row_group(index).num_rows) for index in range(metadata.num_row_groups)]

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each column holds."""
        return contents_of(self._file.schema_arrow)

    def pieces(
        self, wanted: dict[str, Kind], start: int = 0, keep: Sequence[str] = (), together: Sequence[str] = ()
    ) -> Iterator[Piece]:
        """As in `Reader`; `start` counts rows of the file."""
        check_columns(self.name, self.columns, [*wanted, *keep])
        check_kinds(self.name, self._file.schema_arrow, wanted)
        if start > self.rows:
            raise DataError(f"{self.name}: expected at least {start:,} rows to go on; has the file changed?")
        # Row groups that lie before the start as a whole are not read.
        sizes = self.row_groups
        first = sum(sizes[: self._groups.start])
        groups = list(self._groups)
        while groups and first + sizes[groups[0]] <= start:
            first += sizes[groups.pop(0)]
        self._read = first
        if groups:
            # One thread: there is another that learns meanwhile, and each of more would keep memory of its own.
            columns = list(dict.fromkeys([*wanted, *keep]))
            self._check_chunks(groups, columns)
            self._check_pages(groups, columns)
            texts = [name for name in columns if content_of(self._file.schema_arrow.field(name).type) == "text"]
            size = max(1, min(VALUES // max(1, len(wanted)), TEXT // self._text_in_a_row(texts, groups)))
            with self._open(texts) as file:
                # Arrow lets go of what it read of row groups only when it is done with all that it was asked for.
                batches = (
                    batch
                    for some in self._few_at_a_time(groups, columns)
                    for batch in file.iter_batches(size, row_groups=some, columns=columns, use_threads=False)
                )
                yield from pieces_of(
                    self.name, self._batches(batches), wanted, keep, together, first, start, self._notation
                )

    def _few_at_a_time(self, groups: Sequence[int], columns: Sequence[str]) -> Iterator[list[int]]:
        """Row groups in order: one by one, or small ones together."""
        some, taken = list[int](), 0
        for group, chunks in zip(groups, parquet_pages.chunks_of(self._file.metadata, groups, columns), strict=True):
            size = sum(each.total_uncompressed_size for each in chunks)
            if some and taken + size > TOGETHER:
                yield some
                some, taken = [], 0
            some.append(group)
            taken += size
        yield some

    def _open(self, texts: Sequence[str] = ()) -> pq.ParquetFile:
        """The file. Of columns of text, each different value is read once, however often it comes: it may be long."""
        # Without buffering ahead, memory stays at a few pages of each column however large a row group is.
        return pq.ParquetFile(self._path, pre_buffer=False, buffer_size=1 << 16, read_dictionary=list(texts) or None)

    def _check_chunks(self, groups: Sequence[int], columns: Sequence[str]) -> None:
        try:
            parquet_pages.check_chunks(self._file.metadata, self._size, groups, columns)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read on as Parquet ({first_line(error)})") from error

    def _check_pages(self, groups: Sequence[int], columns: Sequence[str]) -> None:
        """DataError if pages are so large, once decompressed, that memory would not hold them, or are countless."""
        if self._path is None:
            return
        try:
            size, pages = parquet_pages.largest_decompressed(self._path, self._file.metadata, groups, columns)
        except (parquet_pages.PagesError, pa.ArrowException, OSError):
            return  # what is wrong with it is told when it is read
        if size > LARGEST_PAGES:
            raise DataError(
                f"{self.name}: compressed pages of the columns take {size:,} bytes of memory, expected at most "
                f"{LARGEST_PAGES:,}; write smaller pages, or without compression"
            )
        if pages > parquet_pages.MOST_PAGES:
            raise DataError(f"{self.name}: a column has more than {parquet_pages.MOST_PAGES:,} pages in a row group")

    def _text_in_a_row(self, texts: Sequence[str], groups: Sequence[int]) -> int:
        """Bytes of text that a row has on average, going by what the file says of itself, in the longest row group."""
        metadata, largest = self._file.metadata, 1
        groups = groups if texts else ()
        for group, chunks in zip(groups, parquet_pages.chunks_of(metadata, groups, texts), strict=True):
            total = sum(each.total_uncompressed_size for each in chunks)
            largest = max(largest, total // max(1, metadata.row_group(group).num_rows))
        return largest

    def _batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                self._read += batch.num_rows
                yield from with_texts(batch, TEXT)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read on as Parquet ({first_line(error)})") from error

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far, going by the rows."""
        return self._size * self._read / max(1, self.rows)

    def close(self) -> None:
        """Let go of the file, and of the memory that its pages took."""
        self._file.close()
        pa.default_memory_pool().release_unused()


class IpcReader:
    """An Arrow IPC file or stream; `start` counts rows.

    The file is mapped, not read: a batch may be the whole table, and so it takes no memory but that of its slices.
    """

    def __init__(self, file: File, notation: Notation | None = None) -> None:
        self.name = file.name
        self._notation = notation or Notation()
        self._size = file.size or 0
        self._share = 0.0
        try:
            self._source = pa.memory_map(str(file.path))
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be opened as Arrow IPC ({first_line(error)})") from error
        self._check_size()
        self._schema = self._open().schema
        self.columns = names_of(self.name, self._schema)
        check_names(self.name, self.columns)

    def _check_size(self) -> None:
        try:
            size = largest_decompressed(self._source)
        except (pa.ArrowException, OSError, struct.error, IndexError):
            return  # what is wrong with it is told when it is read
        if size > LARGEST_BATCH:
            raise DataError(
                f"{self.name}: a compressed batch takes {size:,} bytes of memory, expected at most {LARGEST_BATCH:,}; "
                "write smaller batches, or without compression"
            )

    def _open(self) -> pa.RecordBatchReader | ipc.RecordBatchFileReader:
        try:
            self._source.seek(0)
            magic = self._source.read(6) == b"ARROW1"
            self._source.seek(0)
            return ipc.open_file(self._source) if magic else ipc.open_stream(self._source)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read as Arrow IPC ({first_line(error)})") from error

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each column holds."""
        return contents_of(self._schema)

    def pieces(
        self, wanted: dict[str, Kind], start: int = 0, keep: Sequence[str] = (), together: Sequence[str] = ()
    ) -> Iterator[Piece]:
        """As in `Reader`; `start` counts rows."""
        check_columns(self.name, self.columns, [*wanted, *keep])
        check_kinds(self.name, self._schema, wanted)
        batches = self._batches(list(dict.fromkeys([*wanted, *keep])), start)
        yield from pieces_of(self.name, batches, wanted, keep, together, 0, start, self._notation)

    def _batches(self, columns: list[str], start: int) -> Iterator[pa.RecordBatch]:
        size = max(1, VALUES // max(1, len(columns)))
        reader = self._open()
        rows = 0
        try:
            for batch in self._all_batches(reader):
                chosen = batch.select(columns)
                rows += batch.num_rows
                for first in range(0, chosen.num_rows, size):
                    yield chosen.slice(first, size)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name}: cannot be read on as Arrow IPC ({first_line(error)})") from error
        if rows < start:
            raise DataError(f"{self.name}: expected at least {start:,} rows to go on; has the file changed?")

    def _all_batches(self, reader: pa.RecordBatchReader | ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
        if isinstance(reader, ipc.RecordBatchFileReader):
            for index in range(reader.num_record_batches):
                yield reader.get_batch(index)
                self._share = (index + 1) / reader.num_record_batches
        else:
            for batch in reader:
                yield batch
                self._share = self._source.tell() / max(1, self._size)
        self._share = 1.0

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far."""
        return self._share * self._size

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


class FrameReader:
    """A data frame in memory; `start` counts rows."""

    def __init__(self, file: Frame, notation: Notation | None = None) -> None:
        self.name = file.name
        self._notation, self._size = notation or Notation(), file.size
        self._read = 0
        import narwhals.stable.v2 as nw  # here, so that files do not wait for it

        _check_nesting(self.name, file.frame)
        if hasattr(file.frame, "iloc"):  # of libraries, pandas alone lets columns share a name, and is told of it late
            check_names(self.name, [str(column) for column in file.frame.columns])
        try:
            self._table = nw.from_native(file.frame, eager_only=True).to_arrow()
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(f"{self.name}: cannot be read as a table ({first_line(error)})") from error
        self.columns = list(self._table.column_names)
        check_names(self.name, self.columns)

    @cached_property
    def contents(self) -> Mapping[str, Content]:
        """What each column holds; nothing if there are no rows."""
        return contents_of(self._table.schema) if self._table.num_rows else {}

    def pieces(
        self, wanted: dict[str, Kind], start: int = 0, keep: Sequence[str] = (), together: Sequence[str] = ()
    ) -> Iterator[Piece]:
        """As in `Reader`; `start` counts rows."""
        check_columns(self.name, self.columns, [*wanted, *keep])
        check_kinds(self.name, self._table.schema, wanted, texts=True)
        size = max(1, VALUES // max(1, len(wanted)))
        batches = self._table.select(list(dict.fromkeys([*wanted, *keep]))).to_batches(max_chunksize=size)
        for piece in pieces_of(self.name, iter(batches), wanted, keep, together, 0, start, self._notation):
            self._read = piece.start + len(piece)
            yield piece

    @property
    def done(self) -> float:
        """Bytes read so far, going by the rows."""
        return self._size * self._read / max(1, int(self._table.num_rows))

    def close(self) -> None:
        """There is nothing to let go of."""


def _check_nesting(name: str, frame: Any) -> None:
    """DataError if a column of Python's objects holds lists in lists that go deeper than Arrow can follow."""
    if hasattr(frame, "iloc"):  # what is no frame of pandas has no such columns
        for place, dtype in enumerate(frame.dtypes):
            if getattr(dtype, "kind", None) == "O" and is_deep(frame.iloc[:, place]):
                raise DataError(f"{name}: column {brief(frame.columns[place])} holds lists nested too deeply")
