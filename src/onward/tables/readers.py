"""What every kind of file is read as: pieces of a table, each a data frame of the columns that are wanted."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from itertools import chain, islice
from typing import Protocol

import numpy as np
import polars as pl

from onward.core.shown import brief
from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector
from onward.tables.errors import DataError
from onward.tables.kinds import Content
from onward.tables.lines import Chunk, Cut, halves
from onward.tables.notation import Notation
from onward.tables.recipe import Kind


@dataclass(frozen=True)
class Piece:
    """Some rows of a file, in order.

    `frame` holds the wanted columns: Float64, or String for a category; null where a value is missing. Those that are
    wanted `together` are columns of `X` instead: NaN where a value is missing; `squares` is the sum of squares of X,
    finite where all are. `start` says where the piece begins, as its file counts (bytes or rows): reading can go on
    from there. `where(row)` names a row for a person. `kept` holds the same rows of the columns that are kept, as they
    are: texts of text files, else their own types. A row that could not be read is a piece of its own, with the error
    and an empty frame.
    """

    frame: pl.DataFrame
    start: int
    where: Callable[[int], str]
    kept: pl.DataFrame = field(default_factory=pl.DataFrame)
    error: DataError | None = None
    together: tuple[str, ...] = ()
    X: Matrix = field(default_factory=lambda: np.zeros((0, 0)))  # (n, together)
    squares: float = 0.0

    def __len__(self) -> int:
        return len(self.X) if self.together else len(self.frame)

    def part(self, start: int, stop: int) -> "Piece":
        """Rows start … stop − 1, as a piece."""
        where, rows = self.where, slice(start, stop)
        return replace(
            self,
            frame=self.frame[rows],
            where=lambda row: where(start + row),
            kept=self.kept[rows],
            X=self.X[rows],
            squares=sum_of_squares(self.X[rows]),
        )

    def gathered(self, together: Sequence[str]) -> "Piece":
        """The same rows, of which these columns of numbers are in one matrix."""
        if not together:
            return self
        X = self.frame[list(together)].to_numpy(order="c", writable=True)
        return self.with_rows(self.frame.drop(together), together, X)

    def with_rows(self, frame: pl.DataFrame, together: Sequence[str], X: Matrix) -> "Piece":
        """The same piece, with these columns of numbers in one matrix, and the others in a frame."""
        return replace(self, frame=frame, together=tuple(together), X=X, squares=sum_of_squares(X))

    def has(self, column: str) -> bool:
        """Whether a column is among those that were read."""
        return column in self.together or column in self.frame.columns

    def lacks(self, column: str) -> bool:
        """Whether a column has no value at all."""
        if column in self.together or self.frame[column].dtype == pl.Float64:
            return bool(np.isnan(self.values(column)).all())
        return self.frame[column].null_count() == len(self)

    def values(self, column: str) -> Vector:
        """A column of numbers; NaN where one is missing."""
        if column in self.together:
            return np.ascontiguousarray(self.X[:, self.together.index(column)])
        return self.frame[column].to_numpy().astype(np.float64, copy=False)

    def rows_of(self, columns: Sequence[str]) -> tuple[Matrix, float]:
        """Columns of numbers as rows (n, columns), NaN where one is missing; and the sum of their squares."""
        if not columns:
            return np.zeros((len(self), 0)), 0.0
        if self.together == tuple(columns):
            return self.X, self.squares
        X = np.stack([self.values(column) for column in columns], axis=1)
        return X, sum_of_squares(X)

    def shown(self, column: str, row: int) -> str:
        """A value for a person."""
        value = self.values(column)[row] if column in self.together else self.frame[column][row]
        return str(None if value != value else value)


class Reader(Protocol):
    """A file that is read as pieces."""

    name: str

    @property
    def columns(self) -> Sequence[str]:
        """Their names, in order."""

    @property
    def contents(self) -> Mapping[str, Content]:
        """What each of its columns holds, as far as can be told before reading; nothing if there are no rows."""

    def pieces(
        self, wanted: dict[str, Kind], start: int = 0, keep: Sequence[str] = (), together: Sequence[str] = ()
    ) -> Iterator[Piece]:
        """The wanted columns from `start` on, and those to keep; DataError if the file cannot be read so.

        Of those that are wanted, some columns of numbers may be wanted `together`, as rows of one matrix. Where rows
        show that a column holds more than the first ones told, its kind in `wanted` is widened.
        """

    @property
    def done(self) -> float:
        """Bytes on disk that were read so far, about."""

    def close(self) -> None:
        """Let go of the file."""


def parsed_pieces(
    chunk: Chunk,
    parse: Callable[[Chunk], Piece],
    where: Callable[[Chunk, int], str],
    cut: Cut,
) -> Iterator[Piece]:
    """The rows of a chunk of text; where it cannot be parsed, it is halved until the row is found that cannot be."""
    try:
        piece = parse(chunk)
    except DataError as error:
        parts = halves(chunk, cut)
        line = chunk.data.find(b"\n") + 1
        if parts is None and cut(chunk.data) == 0 and 0 < line < len(chunk.data):
            # A quote is left open: the line in which it stands is given up, and not all that come after it.
            rest = Chunk(chunk.data[line:], chunk.start + line, chunk.line + 1)
            yield Piece(pl.DataFrame(), chunk.start, partial(where, chunk), error=error)
            yield from parsed_pieces(rest, parse, where, cut)
            return
        if parts is None:
            yield Piece(pl.DataFrame(), chunk.start, partial(where, chunk), error=error)
        for part in parts or ():
            yield from parsed_pieces(part, parse, where, cut)
        return
    if len(piece):
        yield piece


def parsed_ahead(chunks: Iterator[Chunk], parse: Callable[[Chunk], Iterator[Piece]], parsers: int) -> Iterator[Piece]:
    """The pieces of chunks, in order, of which so many are parsed at the same time.

    Of a chunk that is halved, all but the first piece are parsed as they are asked for: mostly they are not.
    """
    if parsers == 1:
        for chunk in chunks:
            yield from parse(chunk)
        return
    with ThreadPoolExecutor(parsers, thread_name_prefix="onward-parser") as pool:
        waiting: deque[Future[Iterator[Piece]]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(lambda each: _first_made(parse(each)), chunk))
            if len(waiting) > parsers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _first_made(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same pieces, of which the first is made already.

    Mostly it is the only one. A chunk of more had a row that cannot be read, or rows that take much memory.
    """
    made = list(islice(pieces, 1))
    return chain(made, pieces)


def check_columns(name: str, columns: Sequence[str], wanted: Iterable[str]) -> None:
    """DataError if a wanted column is not there."""
    missing = [column for column in wanted if column not in columns]
    if missing:
        raise missing_column(name, missing[0], columns)


def missing_column(name: str, column: str, columns: Sequence[str]) -> DataError:
    """The error for a column that is not there, with the one that was perhaps meant."""
    lower = {each.lower(): each for each in columns}
    close = get_close_matches(column.lower(), lower, n=1)
    meant = f"; did you mean {lower[close[0]]!r}?" if close else f", expected it among {shown(columns)}"
    if not close and any("." in each and each.replace(".", "", 1).isdecimal() for each in columns):
        meant += "; if the first line holds values, there is no line of names (--no-header)"
    return DataError(f"{name}: there is no column {brief(column)}{meant}")


def check_names(name: str, columns: Sequence[str]) -> None:
    """DataError if two columns have one name."""
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise DataError(f"{name}: two columns are called {column!r}; expected different names")
        seen.add(column)


MOST_SHOWN = 20  # names in a message


def shown(names: Sequence[str], most: int = MOST_SHOWN) -> str:
    """Names for a message, not too many."""
    listed = ", ".join(map(repr, names[:most]))
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")


def expected(kind: Kind, notation: Notation) -> str:
    """What a text should have been, for a message."""
    if kind == "time" and notation.date_format is not None:
        return f"a date as in {notation.date_format}"
    if kind == "number" and notation.is_local:
        return f"a number such as 1{notation.thousands or ''}234{notation.decimal}5"
    return EXPECTED[kind]


EXPECTED: dict[str, str] = {
    "number": "a number",
    "boolean": "true or false",
    "time": "a date or time such as 2026-01-31 or 2026-01-31T12:00:00",
    "duration": "a number of days or a time of day such as 12:00:00",
    "category": "text",
}
