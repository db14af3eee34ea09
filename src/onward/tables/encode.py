"""From columns to features: rows of numbers with names, a target and a weight, and what is done where a value lacks."""

import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector
from onward.tables.errors import RowError
from onward.tables.readers import Piece
from onward.tables.recipe import Recipe
from onward.tables.rows import CheckedRows

VALUES = 1 << 19  # in a block with levels: 4 MB of numbers
UNKNOWN = 256  # rows of a block that may have levels of its own

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

_Found = tuple[int, int, str, str]
"""A level: the row in which it first appears, the number and the name of its column, and the level itself."""


@dataclass(frozen=True)
class Block(CheckedRows):
    """Some rows of a stream, ready to be learned: a learner's `learn_many` and `predict_many` take it as it is.

    Attributes:
        X, names: as in `CheckedRows`.
        y: targets (n,); None where a stream has no target.
        weight: (n,).
        rows: (n,) the number of each row in the stream, from 0; numbers that are left out were skipped.
        first, stop: the rows of the stream that this block stands for, the skipped ones included.
    """

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
        skips_bad: bool = False,
    ) -> None:
        """`skips_bad`: a row that would be refused is left out instead."""
        self._skips_bad = skips_bad
        self.recipe = recipe
        self.levels = {each: place for place, each in enumerate(levels)}
        self.skipped: Counter[str] = Counter()
        self.filled: Counter[str] = Counter()
        self.read = read
        self._handed = read  # rows that stand in a block, or before one
        self._with_target = with_target
        self._max_levels = max_levels
        self._plain = [column.name for column in recipe.plain]
        self._names: list[Hashable] = [*self._plain, *(level_name(*each) for each in levels)]
        self._counts = Counter(column for column, _ in levels)

    @property
    def names(self) -> list[Hashable]:
        """Of the features so far."""
        return list(self._names)

    def blocks(self, piece: Piece) -> Iterator[Block]:
        """The piece's rows as blocks: one, or more where levels are first seen, each of which begins a block.

        So a feature is always born at the row in which it first appears, whatever the pieces are. Without a target
        nothing is learned: levels that are not known are named in the block that has them, and forgotten. Skipped rows
        belong to the block that follows them; no block is without rows.
        """
        n = len(piece.frame)
        kept = np.ones(n, dtype=np.bool_)
        y = self._required(self.recipe.target, piece, kept) if self._with_target else None
        weight = np.ones(n)
        if self._with_target and self.recipe.weight is not None:
            weight = self._required(self.recipe.weight, piece, kept)
            negative = kept & (weight < 0)
            if negative.any():
                row = int(np.flatnonzero(negative)[0])
                self._refuse(
                    f"{piece.where(row)}, column {self.recipe.weight!r}: got {weight[row]:g}, "
                    "expected a weight that is not negative",
                    row,
                )
                self._leave_out(f"{self.recipe.weight} is negative", negative, kept)
        plain = self._numbers(piece, kept)
        self._missing_levels(piece, kept)
        found = self._new_levels(piece, kept)
        if self._with_target:
            self._take_in(found, piece)
        first, self.read = self.read, self.read + n
        born = [row for row, *_ in found] if self._with_target else []
        unknown = bool(found) and not self._with_target
        places = [self._places(piece.frame[column]) for column in self.recipe.categories]
        for start, stop, width in self._spans(born, n, UNKNOWN if unknown else sys.maxsize):
            inside = np.flatnonzero(kept[start:stop]) + start
            if not len(inside):
                continue
            rows = slice(start, stop) if len(inside) == stop - start else inside
            names, X = self._names[:width], plain[rows]
            if places:
                here = [place[rows] for place in places]
                if unknown:
                    names = self._with_unknown(piece.frame[start:stop].filter(kept[start:stop]), here)
                X = np.zeros((len(inside), len(names)))
                X[:, : len(self._plain)] = plain[rows]
                for place in here:
                    known = np.flatnonzero(place >= 0)
                    X[known, len(self._plain) + place[known]] = 1.0
            begin, self._handed = self._handed, first + stop
            yield Block(
                np.require(X, requirements=["C", "W"]),
                names,
                None if y is None else np.require(y[rows], requirements=["C", "W"]),
                np.require(weight[rows], requirements=["C", "W"]),
                first + inside,
                begin,
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
            self._refuse(f"{piece.where(row)}, column {column!r}: got {values[row]}, expected a finite number", row)
        missing = kept & np.isnan(values)
        if missing.any() and self.recipe.missing == "error":
            row = int(np.flatnonzero(missing)[0])
            self._refuse(
                f"{piece.where(row)}, column {column!r}: the value is missing, expected a number; choose what to do "
                "with missing values (--missing): skip the row, or count them as zero",
                row,
            )
        if fill:
            self.filled[column] += int(np.count_nonzero(missing))
            values[missing] = 0.0
            return
        for what, rows in (("missing", missing), ("infinite", infinite)):
            if rows.any():
                self._leave_out(f"{column} is {what}", rows, kept)

    def _refuse(self, message: str, row: int) -> None:
        """RowError for a row of a piece, unless such rows are left out."""
        if not self._skips_bad:
            raise RowError(message, row)

    def _leave_out(self, reason: str, rows: Flags, kept: Flags) -> None:
        self.skipped[reason] += int(np.count_nonzero(rows))
        kept &= ~rows

    def skip_rows(self, reason: str, rows: int) -> None:
        """Pass over rows that could not be read."""
        self.skipped[reason] += rows
        self.read += rows

    # Categories

    def _missing_levels(self, piece: Piece, kept: Flags) -> None:
        for column in self.recipe.categories:
            missing = kept & piece.frame[column].is_null().to_numpy()
            if not missing.any():
                continue
            if self.recipe.missing == "error":
                row = int(np.flatnonzero(missing)[0])
                self._refuse(
                    f"{piece.where(row)}, column {column!r}: the value is missing, expected a category; choose what to "
                    "do with missing values (--missing): skip the row, or count them as zero",
                    row,
                )
            if self.recipe.missing != "zero":
                self._leave_out(f"{column} is missing", missing, kept)
            else:
                self.filled[column] += int(np.count_nonzero(missing))

    def _new_levels(self, piece: Piece, kept: Flags) -> list[_Found]:
        """The levels that the piece is first to have, in order. Rows that are left out bring none."""
        found: list[_Found] = []
        for number, column in enumerate(self.recipe.categories):
            seen = pl.DataFrame({"level": piece.frame[column], "row": np.arange(len(kept)), "kept": kept})
            firsts = seen.filter(pl.col("kept") & pl.col("level").is_not_null()).group_by("level").agg(pl.min("row"))
            found += [
                (row, number, column, level)
                for level, row in firsts.select("level", "row").iter_rows()
                if (column, level) not in self.levels
            ]
        return sorted(found)

    def _take_in(self, found: Sequence[_Found], piece: Piece) -> None:
        if not found:
            return
        taken, counts = set(self._names), self._counts.copy()
        for row, _, column, level in found:
            if counts[column] >= self._max_levels:
                raise RowError(
                    f"{piece.where(row)}, column {column!r}: more than {self._max_levels:,} levels; is it a category? "
                    "Allow more levels, or leave the column out",
                    row,
                )
            name = level_name(column, level)
            if name in taken:
                raise RowError(
                    f"{piece.where(row)}, column {column!r}: its level {level!r} would be a second feature called "
                    f"{name!r}; rename a column",
                    row,
                )
            taken.add(name)
            counts[column] += 1
        for _, _, column, level in found:  # all of them, or none
            self.levels[column, level] = len(self.levels)
            self._names.append(level_name(column, level))
        self._counts = counts

    def _with_unknown(self, frame: pl.DataFrame, places: Sequence[Places]) -> list[Hashable]:
        """The names of the features and of the levels in some rows that are not known, which are given places here."""
        names = dict.fromkeys(self._names, -1)
        for column, place in zip(self.recipe.categories, places, strict=True):
            levels = frame[column]
            for row in np.flatnonzero((place < 0) & levels.is_not_null().to_numpy()):
                place[row] = names.setdefault(level_name(column, levels[int(row)]), len(names) - len(self._plain))
        return list(names)

    def _places(self, values: pl.Series) -> Places:
        """The place of each row's level among the levels; −1 where the value is missing or not known."""
        mapping = {level: place for (column, level), place in self.levels.items() if column == values.name}
        places = values.replace_strict(mapping, default=-1, return_dtype=pl.Int64).fill_null(-1)
        return np.array(places.to_numpy(), dtype=np.int64)

    def _spans(self, born: list[int], n: int, most: int) -> Iterator[tuple[int, int, int]]:
        """Start, stop and number of features of each block: a new one begins where a level is first seen.

        One with many levels is kept short, so that it takes no more memory than others.
        """
        starts = sorted({0, *born})
        features = len(self._names) - len(born) + np.searchsorted(born, starts, side="right")
        for start, stop, width in zip(starts, [*starts[1:], n], features.tolist(), strict=True):
            size = min(most, max(1, VALUES // max(1, width))) if self.recipe.categories else n
            for begin in range(start, stop, size):
                yield begin, min(stop, begin + size), width


def level_name(column: str, level: str) -> str:
    """What the feature is called that stands for a level."""
    return f"{column}={level}"
