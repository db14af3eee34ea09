"""From columns to features: rows of numbers with names, a target and a weight, and what is done where a value lacks."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector
from onward.tables.errors import DataError
from onward.tables.readers import Piece
from onward.tables.recipe import Recipe
from onward.tables.rows import NamedRows

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Block(NamedRows):
    """Some rows of a stream, ready to be learned: a learner's `learn_many` and `predict_many` take it as it is.

    Attributes:
        X: features (n, k), float64.
        names: of the features.
        y: targets (n,); None where a stream has no target.
        weight: (n,).
        rows: (n,) the number of each row in the stream, from 0; numbers that are left out were skipped.
        first, stop: the rows of the stream that this block stands for, the skipped ones included.
    """

    X: Matrix
    names: list[Hashable]
    y: Vector | None
    weight: Vector
    rows: NDArray[np.int64]
    first: int
    stop: int

    def part(self, start: int, stop: int) -> "Block":
        """Rows start … stop − 1 of the block, as a block; skipped rows belong to the row that follows them."""
        n = len(self.rows)
        return Block(
            self.X[start:stop],
            self.names,
            None if self.y is None else self.y[start:stop],
            self.weight[start:stop],
            self.rows[start:stop],
            self.first if start == 0 else int(self.rows[start - 1]) + 1,
            self.stop if stop >= n else int(self.rows[stop - 1]) + 1,
        )


class Encoder:
    """Makes blocks of pieces by a recipe, and keeps what must be known from one piece to the next.

    Attributes:
        levels: (column, level) of every level seen so far, in order, with its place among them.
        skipped: reason → rows that were left out.  filled: column → missing values that counted as 0.
        read: rows so far.
    """

    def __init__(
        self,
        recipe: Recipe,
        levels: Sequence[tuple[str, str]] = (),
        *,
        with_target: bool = True,
        max_levels: int = 1000,
        read: int = 0,
    ) -> None:
        self.recipe = recipe
        self.levels = {each: place for place, each in enumerate(levels)}
        self.skipped: Counter[str] = Counter()
        self.filled: Counter[str] = Counter()
        self.read = read
        self._with_target = with_target
        self._max_levels = max_levels
        self._plain = [column.name for column in recipe.plain]
        self._names: list[Hashable] = [*self._plain, *(f"{column}={level}" for column, level in levels)]

    @property
    def names(self) -> list[Hashable]:
        """Of the features so far."""
        return list(self._names)

    def blocks(self, piece: Piece) -> Iterator[Block]:
        """The piece's rows as blocks: one, or more where levels are first seen, each of which begins a block.

        So a feature is always born at the row in which it first appears, whatever the pieces are.
        """
        frame, n = piece.frame, len(piece.frame)
        kept = np.ones(n, dtype=np.bool_)
        y = self._required(self.recipe.target, piece, kept) if self._with_target else None
        weight = np.ones(n)
        if self._with_target and self.recipe.weight is not None:
            weight = self._required(self.recipe.weight, piece, kept)
            if (weight[kept] < 0).any():
                row = int(np.flatnonzero(kept & (weight < 0))[0])
                raise DataError(
                    f"{piece.where(row)}, column {self.recipe.weight!r}: got {weight[row]:g}, "
                    "expected a weight that is not negative"
                )
        plain = self._numbers(piece, kept)
        born = self._new_levels(piece, kept)
        first, self.read = self.read, self.read + n
        places = [self._places(frame[column]) for column in self.recipe.categories]
        if self.recipe.categories and self.recipe.missing == "zero":
            for column, place in zip(self.recipe.categories, places, strict=True):
                self.filled[column] += int(np.count_nonzero(place[kept] < 0))
        for start, stop, width in self._cuts(born, n):
            inside = np.flatnonzero(kept[start:stop]) + start
            whole = len(inside) == stop - start
            rows = slice(start, stop) if whole else inside
            X = np.zeros((len(inside), width)) if places else plain[rows]
            if places:
                X[:, : len(self._plain)] = plain[rows]
                for place in places:
                    here = place[rows]
                    known = np.flatnonzero(here >= 0)
                    X[known, len(self._plain) + here[known]] = 1.0
            yield Block(
                np.require(X, requirements=["C", "W"]),
                self._names[:width],
                None if y is None else np.require(y[rows], requirements=["C", "W"]),
                np.require(weight[rows], requirements=["C", "W"]),
                first + inside,
                first + start,
                first + stop,
            )

    # Missing values

    def _required(self, column: str, piece: Piece, kept: Flags) -> Vector:
        """A column that cannot be made up: where it lacks, the row is left out, or the data refused."""
        values = piece.frame[column].to_numpy().astype(np.float64, copy=False)
        self._unusable(column, values, piece, kept, fill=False)
        return values

    def _numbers(self, piece: Piece, kept: Flags) -> Matrix:
        """The columns that make one feature each, (n, k)."""
        if not self._plain:
            return np.zeros((len(piece.frame), 0))
        X = piece.frame.select(self._plain).to_numpy(order="c", writable=True)
        if not np.isfinite(sum_of_squares(X)):
            for j, column in enumerate(self._plain):
                if not np.isfinite(X[:, j]).all():
                    values = X[:, j].copy()
                    self._unusable(column, values, piece, kept, fill=self.recipe.missing == "zero")
                    X[:, j] = values
        return X

    def _unusable(self, column: str, values: Vector, piece: Piece, kept: Flags, *, fill: bool) -> None:
        """See to what is missing or infinite in a column: rows that are no longer `kept`, or 0 in `values`."""
        infinite = kept & np.isinf(values)
        if infinite.any() and self.recipe.missing != "skip":
            row = int(np.flatnonzero(infinite)[0])
            raise DataError(f"{piece.where(row)}, column {column!r}: got {values[row]}, expected a finite number")
        missing = kept & np.isnan(values)
        if missing.any() and self.recipe.missing == "error":
            row = int(np.flatnonzero(missing)[0])
            raise DataError(
                f"{piece.where(row)}, column {column!r}: the value is missing, expected a number; choose what to do "
                "with missing values: skip the row, or count them as zero"
            )
        if fill:
            self.filled[column] += int(np.count_nonzero(missing))
            values[missing] = 0.0
            return
        for what, rows in (("missing", missing), ("infinite", infinite)):
            if rows.any():
                self.skipped[f"{column} is {what}"] += int(np.count_nonzero(rows))
        kept &= ~(missing | infinite)

    # Categories

    def _new_levels(self, piece: Piece, kept: Flags) -> list[int]:
        """Take in the levels that the piece is first to have: the rows in which they appear, in order."""
        found: list[tuple[int, int, str, str]] = []
        for column in self.recipe.categories:
            values = piece.frame[column]
            if values.null_count():
                missing = kept & values.is_null().to_numpy()
                if missing.any() and self.recipe.missing == "error":
                    raise DataError(
                        f"{piece.where(int(np.flatnonzero(missing)[0]))}, column {column!r}: the value is missing, "
                        "expected a category; choose what to do with missing values: skip the row, or count them as "
                        "zero"
                    )
                if self.recipe.missing == "skip" and missing.any():
                    self.skipped[f"{column} is missing"] += int(np.count_nonzero(missing))
                    kept &= ~missing
        for number, column in enumerate(self.recipe.categories):
            # Rows that are left out bring no levels.
            seen = pl.DataFrame({"level": piece.frame[column], "row": np.arange(len(kept)), "kept": kept})
            firsts = seen.filter(pl.col("kept") & pl.col("level").is_not_null()).group_by("level").agg(pl.min("row"))
            for level, row in firsts.select("level", "row").iter_rows():
                if (column, level) not in self.levels:
                    found.append((row, number, column, level))
        found.sort()
        for row, _, column, level in found:
            if sum(owner == column for owner, _ in self.levels) >= self._max_levels and self._with_target:
                raise DataError(
                    f"{piece.where(row)}, column {column!r}: more than {self._max_levels:,} levels; is it a category? "
                    "Allow more levels, or leave the column out"
                )
            self.levels[column, level] = len(self.levels)
            self._names.append(f"{column}={level}")
        return [row for row, *_ in found]

    def _places(self, values: pl.Series) -> NDArray[np.int64]:
        """The place of each row's level among the levels; −1 where the value is missing."""
        mapping = {level: place for (column, level), place in self.levels.items() if column == values.name}
        places = values.replace_strict(mapping, default=-1, return_dtype=pl.Int64).fill_null(-1)
        return places.to_numpy().astype(np.int64)

    def _cuts(self, born: list[int], n: int) -> Iterator[tuple[int, int, int]]:
        """Start, stop and number of features of each block: a new one begins where a level is first seen."""
        starts = sorted({0, *born})
        total = len(self._names)
        for start, stop in zip(starts, [*starts[1:], n], strict=True):
            yield start, stop, total - sum(row > start for row in born)
