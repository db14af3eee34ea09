"""A stream of rows from files, folders or standard input: in order, once, in a memory that does not grow."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Self

from onward.tables.columnar import FrameReader, IpcReader, ParquetReader
from onward.tables.delimited import DelimitedReader
from onward.tables.encode import Block, Encoder
from onward.tables.errors import DataError
from onward.tables.json_lines import JsonLinesReader
from onward.tables.kinds import Content
from onward.tables.lines import TextFile
from onward.tables.prefetch import prefetched
from onward.tables.readers import Piece, Reader, shown
from onward.tables.recipe import KINDS, RULES, Column, Kind, Missing, Recipe
from onward.tables.sources import File, Format, Frame, Source, files_of


@dataclass(frozen=True)
class Position:
    """A place in a stream from which it can be read on: a file, where a piece of it begins, and rows to pass over."""

    file: int = 0
    start: int = 0
    skip: int = 0
    read: int = 0  # rows of the stream before this place

    def to_record(self) -> dict[str, int]:
        """Plain values, for a file."""
        return {"file": self.file, "start": self.start, "skip": self.skip, "read": self.read}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record` described."""
        return cls(*(int(record[name]) for name in ("file", "start", "skip", "read")))


def stream(
    source: Source | Sequence[Source],
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weight: str | None = None,
    missing: Missing = "error",
    na: Sequence[str] = (),
    format: Format | None = None,
    separator: str | None = None,
    max_levels: int = 1000,
    recipe: Recipe | None = None,
    known: Sequence[object] = (),
    start: Position | None = None,
) -> "Stream":
    """Rows of files, in order, as blocks of numbers.

    Args:
        source: a path, a pattern, a folder, several of these, or "-" for standard input (csv, tsv or JSON lines). CSV,
            TSV and JSON lines may be compressed (.gz, .zst); Parquet and Arrow IPC files are read as they are. Or a
            data frame, or several.
        target: the column to predict. May be left out if a recipe is given: then the stream has features only.
        features: the columns to use, patterns such as "x*" among them; None for all others.
        exclude: columns, or patterns, not to use.
        categorical: columns that stand for categories: a feature for each level, born when it is first seen.
        weight: the column with the rows' weights.
        missing: what to do with missing values: "error", "skip" the row, or count them as "zero".
        na: texts that stand for missing values, beside the usual ones (empty, NA, NaN, null, …).
        format: "csv", "tsv", "jsonl", "parquet" or "ipc"; None to go by the names.
        separator: between the fields of a CSV file; None to go by its header.
        max_levels: the most levels that a category may have.
        recipe: how a model reads its columns, instead of the choices above.
        known: the names of the features that a model has, so that levels keep their places.
        start: where to go on, as `Stream.position` said.

    Files without rows are fine as long as one has some. What columns hold is told by the first rows (256 KB); what came
    so far, for standard input.

    Raises:
        DataError: if the data cannot be read so, in one line that says where and what was expected.
    """
    return Stream(
        files_of(source, format),
        target,
        features=features,
        exclude=exclude,
        categorical=categorical,
        weight=weight,
        missing=missing,
        na=na,
        separator=separator,
        max_levels=max_levels,
        recipe=recipe,
        known=known,
        start=start,
    )


def check_separator(separator: str | None) -> None:
    """ValueError if it cannot stand between fields."""
    if separator is not None and (len(separator.encode()) != 1 or separator in '"\r\n'):
        raise ValueError(f"separator must be one plain character, got {separator!r}")


class Stream:
    """See `stream`. Iterating gives the blocks, once; `close`, or leaving a `with`, lets go of the file before that.

    Attributes:
        recipe: how columns become features.
        skipped, filled: what was left out and what was counted as 0 so far, as the `Encoder` counts.
    """

    def __init__(
        self,
        files: list[File],
        target: str | None,
        *,
        features: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        categorical: Sequence[str] = (),
        weight: str | None = None,
        missing: Missing = "error",
        na: Sequence[str] = (),
        separator: str | None = None,
        max_levels: int = 1000,
        recipe: Recipe | None = None,
        known: Sequence[object] = (),
        start: Position | None = None,
        groups: range | None = None,
        apart: bool = False,
    ) -> None:
        """Beside what `stream` takes: the row groups to read, of one Parquet file; and whether this is one of several
        parts that are read apart: it may then be empty, and leaves other processors to the others.
        """
        if missing not in RULES:
            raise ValueError(f"missing must be one of {', '.join(RULES)}, got {missing!r}")
        check_separator(separator)
        if target is None and recipe is None:
            raise ValueError("expected a target or a recipe, got neither")
        if recipe is not None and target not in (None, recipe.target):
            raise ValueError(f"target must be {recipe.target!r} as in the recipe, got {target!r}")
        self.files = files
        self._groups, self._apart = groups, apart
        self._separator = separator
        self._na = list(na if recipe is None else recipe.na)
        self._with_target = target is not None
        self._begin = start or Position()
        self._begun = False
        self._finished = 0.0  # bytes of the files before the one that is being read
        if self._begin.file >= len(files):
            raise DataError(
                f"{files[-1].name}: expected {self._begin.file + 1} files or more to go on, got {len(files)}"
            )
        self._reader = self._open(files[self._begin.file])
        try:
            contents = self._first_contents() if target is not None else {}
            if recipe is None:
                name = self.files[0].name
                if not contents:
                    raise DataError(f"{name}: there are no rows" + f", nor in {len(files) - 1} more" * (len(files) > 1))
                recipe = chosen(name, contents, str(target), features, exclude, categorical, weight, missing, na)
            self.recipe = recipe
            self._wanted: dict[str, Kind] = {column.name: column.kind for column in recipe.columns}
            if self._with_target:
                self._wanted[recipe.target] = "boolean" if contents.get(recipe.target) == "boolean" else "number"
                if recipe.weight is not None:
                    self._wanted[recipe.weight] = "number"
            levels = recipe.levels(known)
        except BaseException:
            self.close()
            raise
        self._encoder = Encoder(
            recipe, levels, with_target=self._with_target, max_levels=max_levels, read=self._begin.read
        )
        self.skipped, self.filled = self._encoder.skipped, self._encoder.filled
        # First row, rows, file and start of the pieces that the latest block, and skipped rows before it, come from.
        self._pieces = [(self._begin.read - self._begin.skip, self._begin.skip, self._begin.file, self._begin.start)]

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

    @property
    def names(self) -> list[str]:
        """The features so far."""
        return [str(name) for name in self._encoder.names]

    @property
    def read(self) -> int:
        """Rows so far, the skipped ones included."""
        return self._encoder.read

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
                return Position(file, start, row - first, row)
        last = first + rows
        raise ValueError(f"expected a row from {self._pieces[0][0]} to {last}, which were read last, got {row}")

    def __iter__(self) -> Iterator[Block]:
        if self._begun:
            raise ValueError("expected a stream to be read once; open it again")
        self._begun = True
        return self._blocks()

    def _blocks(self) -> Iterator[Block]:
        skip, fresh = self._begin.skip, True
        with closing(self._all_pieces() if self._apart else prefetched(self._all_pieces())) as pieces:
            for file, piece in pieces:
                frame = piece.frame
                if fresh:
                    self._pieces = []
                self._pieces.append((self._encoder.read - skip, len(frame), file, piece.start))
                fresh = False
                if skip:
                    passed = min(skip, len(frame))
                    skip -= passed
                    piece = Piece(frame[passed:], piece.start, partial(_shifted, piece, passed))
                    if not len(piece.frame):
                        continue
                for block in self._encoder.blocks(piece):
                    fresh = True
                    yield block
        if self._with_target and not self.read and not self._apart:
            raise DataError(f"{self.files[0].name}: there are no rows")

    def _all_pieces(self) -> Generator[tuple[int, Piece], None, None]:
        try:
            for number in range(self._begin.file, len(self.files)):
                first = number == self._begin.file
                if not first:
                    self._reader.close()
                    self._finished += self.files[number - 1].size or 0
                    self._reader = self._open(self.files[number])
                for piece in self._reader.pieces(self._wanted, self._begin.start if first else 0):
                    yield number, piece
        finally:
            self._reader.close()

    def close(self) -> None:
        """Let go of the file; for a stream that is not read to its end."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        if not self._begun:
            self.close()

    def _open(self, file: File) -> Reader:
        if isinstance(file, Frame):
            return FrameReader(file, self._na)
        match file.format:
            case "parquet":
                return ParquetReader(file, self._na, self._groups)
            case "ipc":
                return IpcReader(file, self._na)
            case "jsonl":
                return JsonLinesReader(file, self._na)
            case "csv" | "tsv":
                return DelimitedReader(file, self._separator, self._na)
        text = TextFile(file)  # standard input, of which nothing is known: an object begins with a brace
        if text.head(_after_space, 1).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            return JsonLinesReader(file, self._na, text)
        return DelimitedReader(file, self._separator, self._na, text)


def chosen(
    name: str,
    contents: Mapping[str, Content],
    target: str,
    features: Sequence[str] | None,
    exclude: Sequence[str],
    categorical: Sequence[str],
    weight: str | None,
    missing: Missing,
    na: Sequence[str],
) -> Recipe:
    """The recipe for the columns that were chosen among those of a file; DataError if that cannot be."""
    columns = list(contents)
    if weight == target:
        raise DataError(f"{name}: column {target!r} cannot be both the target and the weight")
    for column in (target, *([] if weight is None else [weight])):
        if column not in contents:
            raise DataError(f"{name}: there is no column {column!r}, expected it among {shown(columns)}")
        if contents[column] not in ("number", "boolean"):
            raise DataError(f"{name}: column {column!r} holds {contents[column]}, expected numbers")
    for pattern in (*(features or ()), *exclude, *categorical):
        if not _fitting(pattern, columns):
            raise DataError(f"{name}: there is no column {pattern!r}, expected it among {shown(columns)}")
    special = {target, weight}
    taken = columns if features is None else [each for pattern in features for each in _fitting(pattern, columns)]
    categories = {each for pattern in categorical for each in _fitting(pattern, columns)}
    left_out = {each for pattern in exclude for each in _fitting(pattern, columns)}
    wrong = [each for each in (*categorical, *(features or ())) if each in special]
    if wrong:
        raise DataError(f"{name}: column {wrong[0]!r} is the target or the weight, so it cannot be a feature")
    if features is not None:  # a column that is named as a category is meant to be used
        taken = [*taken, *(each for each in columns if each in categories)]
    used = [each for each in dict.fromkeys(taken) if each not in special | left_out]
    if "" in used and features is None:
        raise DataError(f"{name}: column {columns.index('') + 1} has no name; exclude '', or give it a name")
    texts = [each for each in used if contents[each] == "text" and each not in categories]
    if texts:
        raise DataError(
            f"{name}: expected numbers, but {shown(texts)} {'holds' if len(texts) == 1 else 'hold'} text; "
            "name such columns as categorical (--categorical), or exclude them (--exclude)"
        )
    odd = [each for each in used if contents[each] not in (*KINDS, "text")]
    if odd:
        raise DataError(f"{name}: column {odd[0]!r} holds {contents[odd[0]]}, expected numbers; exclude it")
    if not used:
        raise DataError(f"{name}: no column is left to be a feature beside {target!r}")
    for one in categories & set(used):
        for other in used:
            if other.startswith(f"{one}="):
                raise DataError(f"{name}: a level of {one!r} and column {other!r} may get one name; rename a column")
    kinds = {each: "category" if each in categories else contents[each] for each in used}
    return Recipe(
        target,
        _columns(kinds),
        weight,
        missing,
        tuple(na),
    )


def _shifted(piece: Piece, passed: int, row: int) -> str:
    return piece.where(row + passed)


def _after_space(data: bytes) -> int:
    """Not 0 as soon as it can be told what a text begins with."""
    return len(data.removeprefix(b"\xef\xbb\xbf").lstrip()) if len(data) > 3 else 0


def _columns(kinds: Mapping[str, str]) -> tuple[Column, ...]:
    checked: dict[str, Kind] = {
        "number": "number",
        "boolean": "boolean",
        "time": "time",
        "duration": "duration",
        "category": "category",
    }
    return tuple(Column(name, checked[kind]) for name, kind in kinds.items())


def _fitting(pattern: str, columns: Sequence[str]) -> list[str]:
    """The columns of that name; if there is none, those that fit it as a pattern."""
    return [pattern] if pattern in columns else [each for each in columns if fnmatchcase(each, pattern)]
