"""How data are cut into chunks that workers read for themselves: files, and row groups of Parquet files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onward.tables.columnar import ParquetReader
from onward.tables.sources import File

ROWS = 1 << 20  # about so many rows in a chunk of a Parquet file


@dataclass(frozen=True)
class Chunk:
    """A file, or some row groups of a Parquet file."""

    file: File
    groups: range | None = None
    size: int = 0  # bytes, about: its share of the work

    @property
    def name(self) -> str:
        """As a person would call it."""
        if self.groups is None:
            return self.file.name
        first, last = self.groups.start + 1, self.groups.stop
        return f"{self.file.name}, row group{'s' if last > first else ''} {first}" + (
            f" to {last}" if last > first else ""
        )


def chunks_of(files: Sequence[File], rows: int = ROWS) -> list[Chunk]:
    """The files in order, Parquet files cut where row groups end so that a chunk has about `rows` rows."""
    return [chunk for file in files for chunk in _of_file(file, rows)]


def _of_file(file: File, rows: int) -> Iterator[Chunk]:
    if file.format != "parquet":
        yield Chunk(file, size=file.size or 1)
        return
    reader = ParquetReader(file)
    try:
        sizes = reader.row_groups
    finally:
        reader.close()
    share = (file.size or 1) / max(1, sum(sizes))  # bytes a row
    if sum(sizes) <= rows:
        yield Chunk(file, size=file.size or 1)
        return
    first, total = 0, 0
    for group, size in enumerate(sizes):
        if total and total + size > rows:
            yield Chunk(file, range(first, group), round(total * share))
            first, total = group, 0
        total += size
    yield Chunk(file, range(first, len(sizes)), round(total * share))
