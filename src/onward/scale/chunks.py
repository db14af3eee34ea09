"""How data are cut into chunks that workers read for themselves: files, and row groups of Parquet files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from onward.tables.columnar import ParquetReader
from onward.tables.sources import File

ROWS = 1 << 18  # about so many rows in a chunk of a Parquet file: few enough that workers end at about the same time
MOST = 1 << 14  # chunks; where there would be more of them they are larger, as each costs the driver some time


@dataclass(frozen=True)
class Chunk:
    """A file, or some row groups of a Parquet file.

    Args:
        file: which.
        groups: its row groups; None for all of the file.
        size: bytes, about: its share of the work.

    Example:
        >>> import polars as pl
        >>> from onward.scale import chunks_of
        >>> from onward.tables import find_files
        >>> pl.DataFrame({"x": range(300), "y": range(300)}).write_parquet("rows.parquet", row_group_size=100)
        >>> chunks = chunks_of(find_files("rows.parquet"), rows=200)
        >>> [chunk.groups for chunk in chunks]
        [range(0, 2), range(2, 3)]
    """

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


def chunks_of(files: Sequence[File], rows: int | None = None) -> list[Chunk]:
    """The files in order, Parquet files cut where row groups end so that a chunk has about `rows` rows.

    Paths are made absolute: a worker may have been started in another folder.

    Args:
        files: as `onward.tables.find_files` gives them.
        rows: about so many in a chunk; None for 262,144, or more where there would be more than 16,384 chunks.

    Returns:
        The chunks, in order.

    Raises:
        DataError: if a Parquet file cannot be read.

    Example:
        >>> import polars as pl
        >>> from onward.scale import chunks_of
        >>> from onward.tables import find_files
        >>> pl.DataFrame({"x": range(300), "y": range(300)}).write_parquet("rows.parquet", row_group_size=100)
        >>> chunks = chunks_of(find_files("rows.parquet"), rows=200)
        >>> [chunk.name for chunk in chunks]
        ['...rows.parquet, row groups 1 to 2', '...rows.parquet, row group 3']
    """
    there = [file if file.path is None else replace(file, path=file.path.absolute()) for file in files]
    sizes = [_row_groups(file) if file.format == "parquet" else [] for file in there]
    if rows is None:
        rows = max(ROWS, sum(map(sum, sizes)) // MOST)
    return [chunk for file, groups in zip(there, sizes, strict=True) for chunk in _cut_file(file, groups, rows)]


def _row_groups(file: File) -> list[int]:
    reader = ParquetReader(file)
    try:
        return reader.row_groups
    finally:
        reader.close()


def _cut_file(file: File, sizes: list[int], rows: int) -> Iterator[Chunk]:
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


STARTING = 2.0  # seconds until a worker process has loaded what it needs
SPEED = 400e6  # bytes of text or Parquet that one pass reads and learns in a second, of few features
ALONE = 1.4  # times as long for a worker, who reads and learns in turns: one pass does so on two processors


def why_workers_do_not_pay(chunks: Sequence[Chunk], workers: int, *, with_scores: bool) -> str | None:
    """Why new processes would take longer than one pass, in words; None if they may be worth it.

    With W workers the work is (2W − 1)/W² of that of one, or 1/W without scores; starting them comes on top. Sizes and
    speeds are rough: the reason is told only where it is clear.

    Args:
        chunks: the work.
        workers: how many.
        with_scores: whether online scores are wanted, for which rows are read twice.

    Returns:
        The reason, or None.

    Example:
        >>> import polars as pl
        >>> from onward.scale import chunks_of, why_workers_do_not_pay
        >>> from onward.tables import find_files
        >>> pl.DataFrame({"x": range(300), "y": range(300)}).write_parquet("rows.parquet", row_group_size=100)
        >>> chunks = chunks_of(find_files("rows.parquet"), rows=200)
        >>> why_workers_do_not_pay(chunks, 4, with_scores=True)
        'one pass takes about 0.0 s, workers about 2 s to start alone'
    """
    if len(chunks) < 2:
        return "all rows are in one chunk (a text file, or one row group), which workers cannot share"
    share = (2 * workers - 1) / workers**2 if with_scores else 1 / workers
    seconds = sum(chunk.size for chunk in chunks) / SPEED
    if workers > 1 and ALONE * share >= 1 and seconds > STARTING:
        return f"one pass takes about {seconds:.0f} s, and {workers} workers, which read most rows twice, no less"
    if workers < 2 or 2 * seconds * (1 - ALONE * share) < STARTING:
        return f"one pass takes about {seconds:.1f} s, workers about {STARTING:g} s to start alone"
    return None
