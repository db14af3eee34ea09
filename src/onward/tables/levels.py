"""Levels of categories as features: which were seen, in which order, and how many there may be."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from onward.core.shown import brief
from onward.tables.errors import DataError, RowError
from onward.tables.readers import Piece
from onward.tables.recipe import LevelGroup

MOST_BYTES = 2_000_000_000  # of a model's state: 8 d² bytes for d features
MANY = 2_000  # features, from which on a person should know what they cost
SPEED = 6e9  # entries of a state that are updated in a second, about

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

Found = tuple[int, int, str, str]
"""A level: the row in which it first appears, the number and the name of its group, and the level itself."""


def level_name(group: str, level: str) -> str:
    """What the feature is called that stands for a level."""
    return f"{group}={level}"


def level_texts(group: LevelGroup, frame: pl.DataFrame, first_levels: Mapping[str, str]) -> pl.Series:
    """The level of each row, null where there is none: a value is missing, or a first level makes no feature."""
    if len(group.categories) == 1:
        texts = frame[group.categories[0]]
    else:
        parts = [
            pl.col(each).str.replace_all("\\", "\\\\", literal=True).str.replace_all(":", "\\:", literal=True)
            for each in group.categories
        ]
        texts = frame.select(pl.concat_str(parts, separator=":")).to_series()
    for column in group.categories:
        if column in first_levels:
            texts = texts.set((frame[column] == first_levels[column]).fill_null(False), None)
    return texts


class Levels:
    """The levels seen so far, with their places among each other, behind the features that were there before them.

    Attributes:
        names: of all features so far.
        notes: remarks for a person.
    """

    def __init__(
        self,
        fixed: Sequence[str],
        known: Sequence[tuple[str, str]],
        max_levels: int,
        notes: list[str] | None = None,
        comes_once: bool = True,
    ) -> None:
        """`fixed` are the features that are no levels, `known` the (group, level) of those that a model has.

        Of rows that do not come once, those before one level too many are not handed out: they can be read again, and
        to learn a feature for each of so many levels, only to refuse the data then, would take long.
        """
        self.names: list[Hashable] = [*fixed, *(level_name(*each) for each in known)]
        self.notes = [] if notes is None else notes
        self._fixed = len(fixed)
        self._places = {each: place for place, each in enumerate(known)}
        self._counts = Counter(group for group, _ in known)
        self._max_levels, self._comes_once = max_levels, comes_once
        self._is_told = len(self.names) > MANY

    def find_new(self, groups: Sequence[LevelGroup], texts: Sequence[pl.Series], kept: Flags) -> list[Found]:
        """The levels that some rows are first to have, in order. Rows that are left out bring none."""
        found: list[Found] = []
        for number, (group, levels) in enumerate(zip(groups, texts, strict=True)):
            seen = pl.DataFrame({"level": levels, "row": np.arange(len(kept)), "kept": kept})
            firsts = seen.filter(pl.col("kept") & pl.col("level").is_not_null()).group_by("level").agg(pl.min("row"))
            found += [
                (row, number, group.name, level)
                for level, row in firsts.select("level", "row").iter_rows()
                if (group.name, level) not in self._places
            ]
        return sorted(found)

    def take_in(self, found: Sequence[Found], piece: Piece) -> None:
        """Make features of new levels; DataError if there would be too many, or two of one name."""
        if not found:
            return
        taken, counts = set(self.names), self._counts.copy()
        for row, _, group, level in found:
            if counts[group] >= self._max_levels:
                message = (
                    f"{piece.where(row)}, column {group!r}: more than {self._max_levels:,} levels; is it a category? "
                    "Allow more levels, or leave the column out"
                )
                raise RowError(message, row) if self._comes_once else DataError(message)
            name = level_name(group, level)
            if name in taken:
                raise RowError(
                    f"{piece.where(row)}, column {brief(group)}: its level {level!r} would be a second feature called "
                    f"{name!r}; rename a column",
                    row,
                )
            taken.add(name)
            counts[group] += 1
        group, most = counts.most_common(1)[0]
        check_size(len(taken), f"{piece.where(found[-1][0])}: column {brief(group)} has {most:,} levels so far; ")
        for _, _, group, level in found:  # all of them, or none
            self._places[group, level] = len(self._places)
            self.names.append(level_name(group, level))
        self._counts = counts
        if len(self.names) > MANY and not self._is_told:
            self._is_told = True
            self.notes.append(describe_size(len(self.names)))

    def places(self, group: LevelGroup, texts: pl.Series) -> Places:
        """The place of each row's level among the levels; −1 where there is none, or it is not known."""
        mapping = {level: place for (owner, level), place in self._places.items() if owner == group.name}
        places = texts.replace_strict(mapping, default=-1, return_dtype=pl.Int64).fill_null(-1)
        return np.array(places.to_numpy(), dtype=np.int64)

    def with_unknown(
        self, groups: Sequence[LevelGroup], texts: Sequence[pl.Series], places: Sequence[Places]
    ) -> list[Hashable]:
        """The names of the features and of the levels in some rows that are not known, which are given places here."""
        names = dict.fromkeys(self.names, -1)
        for group, levels, place in zip(groups, texts, places, strict=True):
            for row in np.flatnonzero((place < 0) & levels.is_not_null().to_numpy()):
                place[row] = names.setdefault(level_name(group.name, levels[int(row)]), len(names) - self._fixed)
        return list(names)


def check_size(features: int, where: str = "") -> None:
    """DataError if a model of so many features would not fit into memory."""
    if 8 * features**2 > MOST_BYTES:
        raise DataError(
            f"{where}with {features:,} features a model needs {8 * features**2 / 1e9:,.1f} GB, expected at most "
            f"{MOST_BYTES / 1e9:g} GB; leave out columns with many levels, or join rare levels"
        )


def describe_size(features: int) -> str:
    """What so many features cost, for a person."""
    return (
        f"{features:,} features so far: the model takes {8 * features**2 / 1e6:,.0f} MB, and about "
        f"{max(1, round(SPEED / features**2, -1)):,.0f} rows are learned in a second, fewer while new levels come"
    )
