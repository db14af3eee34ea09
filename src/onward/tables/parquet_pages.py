"""How much memory the pages of a Parquet file take once they are decompressed, without decompressing them.

A column chunk is a sequence of pages, each behind a header that says how long the page is on disk and in memory: a
Thrift struct in the compact protocol. [Parquet Format, PageHeader]
"""

import io
import mmap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MOST_PAGES = 100_000  # of a column chunk: more are only there to keep a reader busy
_DICTIONARY = 2  # of PageType
_TYPE, _DECOMPRESSED, _COMPRESSED = 1, 2, 3  # fields of PageHeader
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)  # compact types
_DEEPEST = 8


class PagesError(ValueError):
    """Headers that cannot be read: what is wrong with them is told when the pages are."""


def largest_decompressed(path: Path, metadata: Any, groups: Iterable[int], columns: Sequence[str]) -> tuple[int, int]:
    """Bytes of the pages that these columns hold in memory at once, at most, in one of the row groups; and the most
    pages of a chunk, of which no more than `MOST_PAGES` + 1 are counted.

    A column holds one page and its dictionary. Pages that do not grow are bounded by the file, and do not count.
    (Whether a chunk is compressed is not asked: pyarrow ends the process where it does not know the codec.)
    """
    largest = most = 0
    with path.open("rb") as file:
        for chunks in chunks_of(metadata, groups, columns):
            total = 0
            # What was looked at takes memory as long as it is mapped, some 64 kB around each header.
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                for chunk in chunks:
                    size, pages = _measure_chunk(data, chunk)
                    total, most = total + size, max(most, pages)
            largest = max(largest, total)
    return largest, most


def check_chunks(metadata: Any, size: int, groups: Iterable[int], columns: Sequence[str]) -> None:
    """An error of pyarrow's, if what row groups say of these columns contradicts itself, in a file of `size` bytes.

    Asked for it by `row_group(…).column(…)`, pyarrow ends the process there. So it begins to read each row group of a
    file that has no contents: to be asked for them, it must have come by all that is said of the columns.
    """
    contents = _NoContents(size)
    with pq.ParquetFile(pa.PythonFile(contents, mode="r"), metadata=metadata, pre_buffer=False, buffer_size=1) as file:
        for group in groups:
            contents.asked = False
            try:
                next(file.iter_batches(1, row_groups=[group], columns=list(columns), use_threads=False), None)
            except OSError:
                if not contents.asked:
                    raise


class _NoContents(io.RawIOBase):
    """A file of so many bytes, none of which can be read; `asked` says whether they were wanted."""

    def __init__(self, size: int) -> None:
        self._size, self._place = size, 0
        self.asked = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        self.asked = True
        raise OSError("there is nothing to read")


def chunks_of(metadata: Any, groups: Iterable[int], columns: Sequence[str]) -> Iterator[list[Any]]:
    """What each of these row groups says of these columns.

    They are found by their places, as they are read: a row group repeats the names, but may say anything there.
    """
    wanted, schema = set(columns), metadata.schema
    places = [place for place in range(metadata.num_columns) if schema.column(place).path in wanted]
    for group in map(metadata.row_group, groups):
        yield [group.column(place) for place in places if place < group.num_columns]


def _measure_chunk(data: Any, chunk: Any) -> tuple[int, int]:
    """Bytes of a chunk's dictionary and its largest other page, and how many pages there are."""
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page and (chunk.dictionary_page_offset or 0) > 0:
        starts.append(chunk.dictionary_page_offset)
    place = min(starts)
    end = min(place + chunk.total_compressed_size, len(data))
    dictionary = page = pages = 0
    while 0 <= place < end and pages <= MOST_PAGES:
        header = _Header(data, place)
        fields = header.page()
        compressed, size = fields.get(_COMPRESSED, -1), fields.get(_DECOMPRESSED, -1)
        if compressed < 0 or size < 0:
            raise PagesError("sizes of a page that are none")
        if size <= compressed:
            size = 0
        if fields.get(_TYPE) == _DICTIONARY:
            dictionary = max(dictionary, size)
        else:
            page = max(page, size)
        place = header.place + compressed
        pages += 1
    return dictionary + page, pages


class _Header:
    """A struct in the compact protocol, read from a place on; `place` is behind what was read."""

    def __init__(self, data: Any, place: int) -> None:
        self.data, self.place = data, place

    def page(self) -> dict[int, int]:
        """The whole numbers among the fields of the struct that begins here."""
        found: dict[int, int] = {}
        number = 0
        while True:
            head = self._byte()
            kind = head & 15
            if head == 0:
                return found
            number = number + (head >> 4) if head >> 4 else self._whole()
            if kind in (_I16, _I32, _I64):
                found[number] = self._whole()
            else:
                self._skip(kind, 0)

    def _byte(self) -> int:
        if self.place >= len(self.data):
            raise PagesError("a header that has no end")
        self.place += 1
        return int(self.data[self.place - 1])

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise PagesError("a number of too many bytes")

    def _whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int, depth: int) -> None:
        """Go behind a value of this type."""
        if depth > _DEEPEST:
            raise PagesError("a header that is nested too deeply")
        if kind == _BYTE:
            self.place += 1
        elif kind in (_I16, _I32, _I64):
            self._varint()
        elif kind == _DOUBLE:
            self.place += 8
        elif kind == _BINARY:
            length = self._varint()  # which goes on to the text itself
            self.place += length
        elif kind in (_LIST, _SET):
            head = self._byte()
            for _ in range(self._bounded(head >> 4 if head >> 4 < 15 else self._varint())):
                self._skip_element(head & 15, depth)
        elif kind == _MAP:
            count = self._bounded(self._varint())
            kinds = self._byte() if count else 0
            for _ in range(count):
                self._skip_element(kinds >> 4, depth)
                self._skip_element(kinds & 15, depth)
        elif kind == _STRUCT:
            while (head := self._byte()) != 0:
                if not head >> 4:
                    self._varint()
                self._skip(head & 15, depth + 1)
        elif kind not in (_TRUE, _FALSE):
            raise PagesError(f"a type of {kind}, which there is not")

    def _skip_element(self, kind: int, depth: int) -> None:
        """Go behind an element of a list or map, of which truths take a byte, too."""
        self._skip(_BYTE if kind in (_TRUE, _FALSE) else kind, depth + 1)

    def _bounded(self, count: int) -> int:
        if count > len(self.data) - self.place:
            raise PagesError("a list that is longer than the file")
        return count
