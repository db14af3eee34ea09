"""From columns to features: rows of numbers with names, a target and a weight, and what is done where a value lacks."""

import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from onward.core.durations import show_time
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.tables.errors import DataError, RowError
from onward.tables.levels import Flags, Levels, check_size, level_texts
from onward.tables.missing_values import MissingValues
from onward.tables.readers import Piece
from onward.tables.recipe import Recipe
from onward.tables.recipe_memory import Memory
from onward.tables.rows import CheckedRows
from onward.tables.term_values import LagValues, Values, feature_names, feature_values, product_values
from onward.tables.times import Times, microseconds_of

VALUES = 1 << 19  # in a block with levels: 4 MB of numbers
UNKNOWN = 256  # rows of a block that may have levels of its own


@dataclass(frozen=True)
class Block(CheckedRows):
    """Some rows of a stream, ready to be learned: a learner's `learn_many` and `predict_many` take it as it is.

    Attributes:
        X, names: as in `CheckedRows`.
        y: targets (n,); None where a stream has no target.
        weight: (n,).
        rows: (n,) the number of each row in the stream, from 0; numbers that are left out were skipped.
        first, stop: the rows of the stream that this block stands for, the skipped ones included.
        kept: the columns that are carried along, of rows first … stop − 1; without columns where there are none.
        times: of the rows; None where the recipe has no such column.
        squares: the sum of the squares of X, where it is known.

    Example:
        >>> import polars as pl
        >>> from onward import stream
        >>> [block] = stream(pl.DataFrame({"km": [1.0, 3.0], "fare": [5.0, 9.0]}), "fare")
        >>> block.names, block.X.tolist(), block.y.tolist()
        (['km'], [[1.0], [3.0]], [5.0, 9.0])
    """

    y: Vector | None
    weight: Vector
    rows: NDArray[np.int64]
    first: int
    stop: int
    kept: pl.DataFrame = field(default_factory=pl.DataFrame)
    times: Times | None = None
    squares: float | None = None

    def part(self, start: int, stop: int) -> "Block":
        """Rows start … stop − 1 of the block, as a block; skipped rows belong to the row that follows them."""
        n = len(self.rows)
        begin = self.first if start == 0 else int(self.rows[start - 1]) + 1
        end = self.stop if stop >= n else int(self.rows[stop - 1]) + 1
        return Block(
            self.X[start:stop],
            self.names,
            None if self.y is None else self.y[start:stop],
            self.weight[start:stop],
            self.rows[start:stop],
            begin,
            end,
            self.kept[begin - self.first : end - self.first],
            None if self.times is None else self.times.part(slice(start, stop)),
        )


class Encoder:
    """Makes blocks of pieces by a recipe, and keeps what must be known from one piece to the next.

    Attributes:
        skipped: reason → rows that were left out.  filled: column or term → missing values that counted as 0.
        read: rows so far.
        left: the columns that are carried along, of the rows after the latest block.
    """

    def __init__(
        self,
        recipe: Recipe,
        levels: Sequence[tuple[str, str]] = (),
        *,
        with_target: bool = True,
        max_levels: int = 1000,
        read: int = 0,
        memory: Memory | None = None,
        notes: list[str] | None = None,
        skips_bad: bool = False,
        latest: float = np.nan,
        in_order: bool = True,
        comes_once: bool = True,
    ) -> None:
        """`memory` is of the rows before the first, instead of the recipe's; remarks for a person go to `notes`.

        `skips_bad`: a row that would be refused is left out instead. `latest`: no row's time may be before it, nor
        `in_order` before that of a row above. `comes_once`: whether rows cannot be read again.
        """
        memory = recipe.memory if memory is None else memory
        self.recipe = recipe
        self._missing = MissingValues(recipe.missing, skips_bad=skips_bad)
        self.skipped, self.filled = self._missing.skipped, self._missing.filled
        self.read = read
        self.left = pl.DataFrame()
        self._handed = read  # rows that stand in a block, or before one
        self._remembered = read  # rows that stand in a block, or in a piece that is done
        self._yields = False  # whether the latest piece made a block
        self._types: pl.Schema | None = None  # of the columns that are carried along
        self._with_target = with_target
        self._plain = [column.name for column in recipe.plain]
        self._terms = recipe.fixed_terms
        self._groups = recipe.level_groups
        self._categories = [name for name, kind in recipe.kinds.items() if kind == "category"]
        fixed = [*self._plain, *(name for term in self._terms for name in feature_names(term))]
        self._fixed = len(fixed)
        self._levels = Levels(fixed, levels, max_levels, notes, comes_once)
        if with_target:
            check_size(self._fixed)
        self._latest, self._in_order = latest, in_order
        self._first_levels = dict(memory.first_levels)
        self._lags = LagValues({text: lag.rows for text, lag in recipe.lags.items()}, memory, read)

    @property
    def names(self) -> list[Hashable]:
        """Of the features so far."""
        return list(self._levels.names)

    @property
    def memory(self) -> Memory:
        """What the rows after the latest block need of those before; at the end of a piece, after it."""
        return self.memory_at(self._remembered)

    def memory_at(self, row: int) -> Memory:
        """What a row of the latest block, or the one after it, needs of those before."""
        return Memory(self._lags.before(row), dict(self._first_levels))

    def blocks(self, piece: Piece) -> Iterator[Block]:
        """The piece's rows as blocks: one, or more where levels are first seen, each of which begins a block.

        So a feature is always born at the row in which it first appears, whatever the pieces are. Without a target
        nothing is learned: levels that are not known are named in the block that has them, and forgotten. Skipped rows
        belong to the block that follows them; no block is without rows.
        """
        keep, self._yields = not self._yields, False
        n = len(piece)
        # Terms may make many features of few columns: no more of them at a time than of others.
        size = max(1, VALUES // self._fixed) if self._terms else max(1, n)
        for start in range(0, n, size):
            self._lags.begin_piece(self.read, keep=keep or start > 0)
            yield from self._usable_blocks(piece if size >= n else piece.part(start, start + size))

    def _usable_blocks(self, piece: Piece) -> Iterator[Block]:
        """The blocks of a piece; where a row of it cannot be used, those of the rows before it, and then the error."""
        counts, first_levels = (self.skipped.copy(), self.filled.copy()), dict(self._first_levels)
        latest = self._latest
        try:
            yield from self._blocks(piece)
        except RowError as error:  # which comes before the first block
            for counter, before in zip((self.skipped, self.filled), counts, strict=True):
                counter.clear()
                counter.update(before)
            self._first_levels, self._latest = first_levels, latest
            self._lags.reset_piece()
            if error.row:
                yield from self._usable_blocks(piece.part(0, error.row))
            raise

    def _blocks(self, piece: Piece) -> Iterator[Block]:
        n = len(piece)
        kept = np.ones(n, dtype=np.bool_)
        if piece.error is not None:
            self._missing.leave_out("the row cannot be read", kept.copy(), kept)
        y = self._required(self.recipe.target, piece, kept) if self._with_target else None
        weight = np.ones(n)
        if self._with_target and self.recipe.weight is not None:
            weight = self._required(self.recipe.weight, piece, kept)
            negative = kept & (weight < 0)
            if negative.any():
                row = int(np.flatnonzero(negative)[0])
                self._missing.refuse(
                    f"{piece.where(row)}, column {brief(self.recipe.weight)}: got {weight[row]:g}, "
                    "expected a weight that is not negative",
                    row,
                )
                self._missing.leave_out(f"{self.recipe.weight} is negative", negative, kept)
        times = self._times(piece, kept)
        fixed, squares = self._numbers(piece, kept)
        factors = self._factors(piece, kept)
        for column in self._categories:
            self._missing.check_levels(column, piece, kept)
        if self._with_target and self.recipe.drop_first:
            self._find_first_levels(piece, kept)
        if times is not None:
            self._check_times(times, piece, kept)
        texts = [level_texts(group, piece.frame, self._first_levels) for group in self._groups]
        found = self._levels.find_new(self._groups, texts, kept)
        if self._with_target:
            self._levels.take_in(found, piece)
        first, self.read = self.read, self.read + n
        if piece.kept.width:
            self.left = self._carry(piece)
        born = [row for row, *_ in found] if self._with_target else []
        unknown = bool(found) and not self._with_target
        places = [self._levels.places(group, each) for group, each in zip(self._groups, texts, strict=True)]
        for start, stop, width in self._spans(born, n, UNKNOWN if unknown else sys.maxsize):
            inside = np.flatnonzero(kept[start:stop]) + start
            if not len(inside):
                continue
            rows = slice(start, stop) if len(inside) == stop - start else inside
            names, X = self._levels.names[:width], fixed[rows]
            every = squares if len(inside) == n else None
            if places:
                every = None
                here = [place[rows] for place in places]
                if unknown:
                    shown = [each[start:stop].filter(pl.Series(kept[start:stop])) for each in texts]
                    names = self._levels.with_unknown(self._groups, shown, here)
                X = np.zeros((len(inside), len(names)))
                X[:, : self._fixed] = fixed[rows]
                for place, factor in zip(here, factors, strict=True):
                    known = np.flatnonzero(place >= 0)
                    X[known, self._fixed + place[known]] = 1.0 if factor is None else factor[rows][known]
            begin, self._handed = self._handed, first + stop
            self._remembered, self._yields = first + stop, True
            carried, self.left = self.left[: first + stop - begin], self.left[first + stop - begin :]
            yield Block(
                np.require(X, requirements=["C", "W"]),
                names,
                None if y is None else np.require(y[rows], requirements=["C", "W"]),
                np.require(weight[rows], requirements=["C", "W"]),
                first + inside,
                begin,
                first + stop,
                carried,
                None if times is None else times.part(rows),
                every,
            )
        self._remembered = self.read

    def _carry(self, piece: Piece) -> pl.DataFrame:
        """The rows to carry along that are in no block yet, all of the types that the first had."""
        self._types = self._types or piece.kept.schema
        try:
            kept = piece.kept.cast(self._types)
        except pl.exceptions.PolarsError as error:
            types = [", ".join(map(str, each.values())) for each in (piece.kept.schema, self._types)]
            raise DataError(
                f"{piece.where(0)}: the columns to keep hold {types[0]}, expected {types[1]} as in the rows before"
            ) from error
        return pl.concat([self.left, kept]) if len(self.left) else kept

    # Values

    def _required(self, column: str, piece: Piece, kept: Flags) -> Vector:
        """A column that cannot be made up: where it lacks, the row is left out, or the data refused."""
        values = piece.values(column)
        self._missing.require(column, values, piece, kept)
        return values

    def _times(self, piece: Piece, kept: Flags) -> Times | None:
        """The times of the rows; None where there are none to be had, as there need not be to predict."""
        column = self.recipe.time
        if column is None or (not self._with_target and not piece.has(column.name)):
            return None
        values, dated = self._required(column.name, piece, kept), column.kind == "time"
        return Times(microseconds_of(values) if dated else values, dated)

    def _check_times(self, times: Times, piece: Piece, kept: Flags) -> None:
        """Rows that come before one that was learned are refused, or left out."""
        assert self.recipe.time is not None
        least = np.full(len(kept), self._latest)
        if self._in_order:
            came = np.where(kept, times.values, -np.inf)
            least = np.fmax.accumulate(np.concatenate([[self._latest], came]))[:-1]
        early = kept & (times.values < least)
        if early.any():
            row = int(np.flatnonzero(early)[0])
            got, expected = (show_time(float(each[row]), times.dated) for each in (times.values, least))
            self._missing.refuse(
                f"{piece.where(row)}, column {self.recipe.time.name!r}: got {got}, expected no time before {expected}, "
                "which was learned",
                row,
            )
            self._missing.leave_out(f"{self.recipe.time.name} falls", early, kept)
        if self._in_order and kept.any():
            self._latest = float(np.fmax(self._latest, times.values[kept].max()))

    def _numbers(self, piece: Piece, kept: Flags) -> tuple[Matrix, float | None]:
        """The columns that make one feature each, and the terms without categories, (n, k); their squares, if known."""
        X, squares = piece.rows_of(self._plain)
        known = np.isfinite(squares)
        if not known:
            X = X.copy()  # the rows may be needed once more, as they are
            for j, column in enumerate(self._plain):
                if not np.isfinite(X[:, j]).all():
                    values = X[:, j].copy()
                    self._missing.fill(column, values, piece, kept)
                    X[:, j] = values
        if not self._terms:
            return X, squares if known else None
        parts = [X]
        for term in self._terms:
            values, unknown = feature_values(term, lambda column: _values(column, piece), self._lags)
            self._missing.fill_term(term.text, values, unknown, piece, kept)
            parts.append(values)
        return np.concatenate(parts, axis=1), None

    def _factors(self, piece: Piece, kept: Flags) -> list[Vector | None]:
        """What the levels of each group are multiplied with; None for nothing."""
        made: list[Vector | None] = []
        for group in self._groups:
            if group.factors:
                values, unknown = product_values(group.factors, lambda column: _values(column, piece), self._lags)
                self._missing.fill_term(group.name, values[:, None], unknown, piece, kept)
                made.append(values)
            else:
                made.append(None)
        return made

    def _find_first_levels(self, piece: Piece, kept: Flags) -> None:
        for column in self._categories:
            if column not in self._first_levels:
                levels = piece.frame[column].filter(pl.Series(kept)).drop_nulls()
                if len(levels):
                    self._first_levels[column] = levels[0]

    def _spans(self, born: list[int], n: int, most: int) -> Iterator[tuple[int, int, int]]:
        """Start, stop and number of features of each block: a new one begins where a level is first seen.

        One with many levels is kept short, so that it takes no more memory than others.
        """
        starts = sorted({0, *born})
        features = len(self._levels.names) - len(born) + np.searchsorted(born, starts, side="right")
        for start, stop, width in zip(starts, [*starts[1:], n], features.tolist(), strict=True):
            size = min(most, max(1, VALUES // max(1, width))) if self._groups else n
            for begin in range(start, stop, size):
                yield begin, min(stop, begin + size), width


def _values(column: str, piece: Piece) -> Values:
    """A column for terms. Targets that are not at hand are not known."""
    if not piece.has(column):
        return Values(np.full(len(piece), np.nan), np.ones(len(piece), dtype=np.bool_))
    return Values(np.array(piece.values(column)))  # a copy, in which missing values can be filled
