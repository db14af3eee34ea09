"""A stream of rows from files, folders or standard input: in order, once, in a memory that does not grow."""

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import polars as pl

from onward.core.checks import whole
from onward.core.shown import brief
from onward.tables.choose_columns import choose_columns, choose_kept, count_used
from onward.tables.delimited import DelimitedReader
from onward.tables.encode import Block, Encoder
from onward.tables.errors import DataError
from onward.tables.json_lines import JsonLinesReader
from onward.tables.kinds import Content
from onward.tables.levels import check_size
from onward.tables.lines import TextFile
from onward.tables.prefetch import Wait, prefetched
from onward.tables.readers import Piece, Reader
from onward.tables.recipe import Kind, Recipe
from onward.tables.recipe_memory import Memory
from onward.tables.sources import File, Frame, Source, find_files
from onward.tables.table import Table, as_table

REUSED = 1 << 20  # numbers, untouched: 8 MB, some times as much as a block
_SEEN = 1000  # rows that are looked at for what an error says of texts
SHOWN = 10  # rows that were skipped because they cannot be read, and are told of


@dataclass(frozen=True)
class Position:
    """A place in a stream from which it can be read on: a file, where a piece of it begins, and rows to pass over.

    Attributes:
        file: the number of the file.
        start: where a piece of it begins, in bytes or row groups.
        skip: rows of the piece to pass over.
        read: rows of the stream before.
        memory: what the next rows need of those before.

    Example:
        >>> import polars as pl
        >>> from onward import stream
        >>> rows = stream(pl.DataFrame({"km": [1.0, 3.0], "fare": [5.0, 9.0]}), "fare")
        >>> [block] = rows
        >>> rows.position(1).read
        1
    """

    file: int = 0
    start: int = 0
    skip: int = 0
    read: int = 0  # rows of the stream before this place
    memory: Memory = field(default_factory=Memory, hash=False)  # what the rows from here on need of those before

    def to_record(self) -> dict[str, Any]:
        """Plain values, for a file."""
        place = {"file": self.file, "start": self.start, "skip": self.skip, "read": self.read}
        return place | {"memory": self.memory.to_record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record` described.

        Args:
            record: plain values.
        """
        file, start, skip, read = (whole(name, record[name], 0) for name in ("file", "start", "skip", "read"))
        return cls(file, start, skip, read, Memory.from_record(record["memory"]))


def stream(
    source: Source | Sequence[Source],
    table: Table | str | None,
    *,
    recipe: Recipe | None = None,
    known: Sequence[object] = (),
    start: Position | None = None,
    latest: float = math.nan,
    in_order: bool = True,
) -> "Stream":
    """Rows of files, in order, as blocks of numbers.

    Args:
        source: a path, a pattern, a folder, several of these, or "-" for standard input (csv, tsv or JSON lines). CSV,
            TSV and JSON lines may be compressed (.gz, .zst); Parquet and Arrow IPC files are read as they are. Or a
            data frame, or several.
        table: which columns are used, and how the files are written; or the name of the target alone.
        recipe: how a model reads its columns, instead of what the table says of them. A table without a target then
            reads features only.
        known: the names of the features that a model has, so that levels keep their places.
        start: where to go on, as `Stream.position` said.
        latest: the time of the latest row that a model has learned, as its blocks have it: none may be before it.
        in_order: whether times must not fall, where rows have a target.

    Files without rows are fine as long as one has some. What columns hold is told by the first rows (256 KB); what came
    so far, for standard input.

    Returns:
        A `Stream`, to be iterated over.

    Raises:
        DataError: if the data cannot be read so, in one line that says where and what was expected.

    Example:
        >>> import polars as pl
        >>> from onward import Table, stream
        >>> pl.DataFrame({"km": [1, 3], "city": ["Rome", "Oslo"], "fare": [5, 9]}).write_csv("trips.csv")
        >>> for block in stream("trips.csv", Table("fare", categorical=["city"])):
        ...     print(block.names, block.X.tolist(), block.y.tolist())
        ['km', 'city=Rome'] [[1.0, 1.0]] [5.0]
        ['km', 'city=Rome', 'city=Oslo'] [[3.0, 0.0, 1.0]] [9.0]
    """
    table = as_table(table)
    return Stream(
        find_files(source, table.format),
        table,
        recipe=recipe,
        known=known,
        start=start,
        latest=latest,
        in_order=in_order,
    )


class Stream:
    """What `stream` gives. Iterating gives the blocks, once; `close`, or leaving a `with`, lets go of the file earlier.

    Attributes:
        files: what is read, in order.
        recipe: how columns become features, with what the rows after the latest block need of those before.
        notes: remarks for a person on how the columns were chosen, and what they cost.
        skipped, filled: what was left out and what was counted as 0 so far, as the `Encoder` counts.

    Args:
        table, recipe, known, start, latest, in_order: as of `stream`.
        stop: a descriptor that becomes readable when no more is to be read of what arrives.
        groups: the row groups to read, of one Parquet file.
        apart: whether this is one of several parts that are read apart.

    Raises:
        ValueError: if there is neither a target nor a recipe, or they differ.
        DataError: if the files hold no rows, or cannot be read.

    Example:
        >>> import polars as pl
        >>> from onward import stream
        >>> with stream(pl.DataFrame({"km": [1.0, None, 3.0], "fare": [5.0, 7.0, 9.0]}), "fare") as rows:
        ...     print(rows.names)
        ['km']
    """

    def __init__(
        self,
        files: list[File],
        table: Table,
        *,
        recipe: Recipe | None = None,
        known: Sequence[object] = (),
        start: Position | None = None,
        stop: int | None = None,
        groups: range | None = None,
        apart: bool = False,
        latest: float = math.nan,
        in_order: bool = True,
    ) -> None:
        """Beside what `stream` takes: a descriptor that becomes readable when no more is to be read of what arrives;
        the row groups to read, of one Parquet file; whether this is one of several parts that are read apart: it may
        then be empty, and leaves other processors to the others; and the latest time that a model has learned.
        """
        if table.target is None and recipe is None:
            raise ValueError("expected a target or a recipe, got neither")
        if recipe is not None and table.target not in (None, recipe.target):
            raise ValueError(f"target must be {recipe.target!r} as in the recipe, got {brief(table.target)}")
        self.files = files
        self.notes: list[str] = []
        self._n_shown = 0  # rows that were skipped as they cannot be read
        self._table, self._stop, self._groups, self._apart = table, stop, groups, apart
        self._notation = table.notation if recipe is None else recipe.notation
        self._with_target = table.target is not None
        self._begin = start or Position()
        self._begun = False
        self._finished = 0.0  # bytes of the files before the one that is being read
        if self._begin.file >= len(files):
            raise DataError(
                f"{files[-1].name}: expected {self._begin.file + 1} files or more to go on, got {len(files)}"
            )
        self._reader = self._open(files[self._begin.file])
        try:
            if self._with_target and recipe is None:  # before anything is done with each of many columns
                check_size(count_used(self._reader.columns, table), f"{files[self._begin.file].name}: ")
            contents = self._first_contents() if self._with_target else {}
            if recipe is None:
                if not contents:
                    more = f", nor in {len(files) - 1} more" * (len(files) > 1)
                    raise DataError(f"{self.files[0].name}: there are no rows{more}")
                recipe, self.notes = choose_columns(self.files[0].name, contents, table, self._first_texts)
            self.recipe = recipe
            self._wanted: dict[str, Kind] = recipe.kinds
            if self._with_target and recipe.weight is not None:
                self._wanted[recipe.weight] = "number"
            if recipe.time is not None and (self._with_target or recipe.time.name in self._reader.columns):
                self._wanted[recipe.time.name] = recipe.time.kind
            at_hand = not self._with_target and recipe.looks_back_to_target and recipe.target in self._reader.columns
            if at_hand:
                contents = self._reader.contents
            if self._with_target or at_hand:
                held = table.schema.get(recipe.target) or contents.get(recipe.target)
                self._wanted[recipe.target] = "boolean" if held == "boolean" else "number"
            levels = recipe.levels(known)
            self._keep = choose_kept(files[0].name, self._reader.columns, table.keep) if table.keep else []
            self._encoder = Encoder(
                recipe,
                levels,
                with_target=self._with_target,
                max_levels=table.max_levels,
                read=self._begin.read,
                memory=None if start is None else start.memory,
                notes=self.notes,
                skips_bad=table.bad_rows == "skip",
                latest=latest,
                in_order=in_order and self._with_target,
                comes_once=any(file.comes_once for file in files),
            )
        except BaseException:
            self.close()
            raise
        self.skipped, self.filled = self._encoder.skipped, self._encoder.filled
        # First row, rows, file and start of the pieces that the latest block, and skipped rows before it, come from.
        self._pieces = [(self._begin.read - self._begin.skip, self._begin.skip, self._begin.file, self._begin.start)]

    def __repr__(self) -> str:
        names = [each.name for each in self.files]
        return f"Stream({brief(names)}, {self.read:,} rows read so far)"

    def _first_contents(self) -> Mapping[str, Content]:
        """What the columns hold, by the first file that has rows: so it is the same wherever a stream goes on."""
        for number, file in enumerate(self.files):
            reader = self._reader if number == self._begin.file else self._open(file)
            try:
                if contents := reader.contents:
                    return contents
            finally:
                if reader is not self._reader:
                    reader.close()
        return {}

    def _first_texts(self, columns: Sequence[str]) -> Mapping[str, pl.Series]:
        """The texts of columns in the first rows of the file; nothing where these cannot be read."""
        found, rows = [], 0
        try:
            for piece in self._reader.pieces(dict.fromkeys(columns, "category")):
                if piece.error is None:
                    found.append(piece.frame[: _SEEN - rows])
                    rows += len(found[-1])
                if rows >= _SEEN or self.files[self._begin.file].comes_once:  # no more may have come yet
                    break
        except DataError:  # there is another one to tell of
            pass
        return {column.name: column for column in pl.concat(found)} if found else {}

    @property
    def names(self) -> list[str]:
        """The features so far."""
        return [str(name) for name in self._encoder.names]

    @property
    def read(self) -> int:
        """Rows so far, the skipped ones included."""
        return self._encoder.read

    @property
    def kept_after(self) -> pl.DataFrame:
        """The columns that are kept, of the rows after the latest block; without columns where there are none."""
        return self._encoder.left

    @property
    def size(self) -> int | None:
        """Bytes of all files; None for standard input."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def done(self) -> float:
        """Bytes read so far, about."""
        return self._finished + self._reader.done

    def position(self, row: int) -> Position:
        """The place before a row of the latest block, or just after it."""
        for first, rows, file, start in self._pieces:
            if first <= row <= first + rows:
                return Position(file, start, row - first, row, self._encoder.memory_at(row))
        last = first + rows
        raise ValueError(f"expected a row from {self._pieces[0][0]} to {last}, which were read last, got {row}")

    def __iter__(self) -> Iterator[Block]:
        return (block for block in self.blocks() if block is not None)

    def blocks(self, wait: Wait | None = None) -> Iterator[Block | None]:
        """The blocks; and None each time that no row came for the seconds that `wait` says."""
        if self._begun:
            raise ValueError("expected a stream to be read once; open it again")
        self._begun = True
        return self._blocks(wait)

    def _blocks(self, wait: Wait | None) -> Iterator[Block | None]:
        # The system's allocator gives back what is freed, and takes it anew page by page, but for sizes once freed.
        np.empty(REUSED)
        skip, fresh = self._begin.skip, True
        with closing(self._all_pieces() if self._apart else prefetched(self._all_pieces(), wait=wait)) as pieces:
            for item in pieces:
                if item is None:
                    yield None
                    continue
                file, piece = item
                if piece.error is not None:
                    piece = self._blank(piece, piece.error)
                self._widen()
                rows = len(piece)
                if fresh:
                    self._pieces = []
                self._pieces.append((self._encoder.read - skip, rows, file, piece.start))
                fresh = False
                if skip:
                    passed = min(skip, rows)
                    skip -= passed
                    piece = piece.part(passed, rows)
                    if not len(piece):
                        continue
                for block in self._encoder.blocks(piece):
                    fresh = True
                    self._remember()
                    yield block
                self._remember()
        if self._with_target and not self.read and not self._apart:
            raise DataError(f"{self.files[0].name}: there are no rows")

    def _blank(self, piece: Piece, error: DataError) -> Piece:
        """A row that could not be read, as one of which nothing is known; the error itself, if that is the rule."""
        if self._table.bad_rows == "error":
            raise error
        self._note_skipped(str(error))
        types = {name: pl.String if kind == "category" else pl.Float64 for name, kind in self._wanted.items()}
        frame, kept = (
            pl.DataFrame({name: [None] for name in schema}, schema=schema)
            for schema in (types, dict.fromkeys(self._keep, pl.String))
        )
        return Piece(frame, piece.start, piece.where, kept, error)

    def _note_skipped(self, message: str) -> None:
        self._n_shown += 1
        if self._n_shown <= SHOWN:
            self.notes.append(f"skipped: {message}")
        elif self._n_shown == SHOWN + 1:
            self.notes.append("more rows are skipped, and only counted from here on")

    @property
    def skips_bad_rows(self) -> bool:
        """Whether rows that cannot be read, or learned, are left out."""
        return self._table.bad_rows == "skip"

    def skip_row(self, reason: str, message: str) -> None:
        """Count a row that was read but could not be learned.

        Args:
            reason: why, in a word or two.
            message: what is told.
        """
        self.skipped[reason] += 1
        self._note_skipped(message)

    def _widen(self) -> None:
        """Take over what rows have shown of columns since the recipe was made."""
        groups = (self.recipe.columns, self.recipe.inputs)
        if any(column.kind != self._wanted[column.name] for group in groups for column in group):
            columns, inputs = (tuple(replace(c, kind=self._wanted[c.name]) for c in group) for group in groups)
            self.recipe = replace(self.recipe, columns=columns, inputs=inputs)

    def _remember(self) -> None:
        if self.recipe.lags or self.recipe.drop_first:
            self.recipe = replace(self.recipe, memory=self._encoder.memory)

    def _all_pieces(self) -> Generator[tuple[int, Piece] | None, None, None]:
        try:
            for number in range(self._begin.file, len(self.files)):
                first = number == self._begin.file
                if not first:
                    self._reader.close()
                    self._finished += self.files[number - 1].size or 0
                    self._reader = self._open(self.files[number])
                start, together = self._begin.start if first else 0, [column.name for column in self.recipe.plain]
                for piece in self._reader.pieces(self._wanted, start, self._keep, together):
                    yield number, piece
        finally:
            self._reader.close()

    def find_first_levels(self) -> None:
        """Read on until the first level of every category is known, where it makes no feature; for the recipe."""
        recipe = self.recipe
        wanted = [name for name, kind in recipe.kinds.items() if kind == "category"] if recipe.drop_first else []
        if any(name not in recipe.memory.first_levels for name in wanted):
            for _ in self:
                if all(name in self.recipe.memory.first_levels for name in wanted):
                    break

    def close(self) -> None:
        """Let go of the file; for a stream that is not read to its end."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        if not self._begun:
            self.close()

    def _open(self, file: File) -> Reader:
        if isinstance(file, Frame) or file.format in ("parquet", "ipc"):
            from onward.tables import columnar  # here: it loads pyarrow, which text does without

            if isinstance(file, Frame):
                return columnar.FrameReader(file, self._notation)
            if file.format == "parquet":
                return columnar.ParquetReader(file, self._notation, self._groups)
            return columnar.IpcReader(file, self._notation)
        text = TextFile(file, self._stop, self._table.encoding, alone=not self._apart)
        is_json = file.format == "jsonl"
        if file.format is None:  # standard input, of which nothing is known: an object begins with a brace
            is_json = text.head(_after_space, 1).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
        if is_json:
            return JsonLinesReader(file, self._notation, text)
        return DelimitedReader(file, self._table.separator, self._notation, text, self._table.header)


def _after_space(data: bytes) -> int:
    """Not 0 as soon as it can be told what a text begins with."""
    return len(data.removeprefix(b"\xef\xbb\xbf").lstrip()) if len(data) > 3 else 0
