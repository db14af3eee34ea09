"""Data frames and single rows as a model's features, by its recipe: with the code, and to the bits, of a stream."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from onward.core.types import Vector
from onward.tables.columnar import FrameReader, check_kinds, converted
from onward.tables.encode import Encoder
from onward.tables.errors import DataError
from onward.tables.levels import joined_level, level_name
from onward.tables.missing_values import MissingValues
from onward.tables.readers import Piece, missing_column
from onward.tables.recipe import Kind, Recipe
from onward.tables.rows import CheckedRows
from onward.tables.sources import Frame
from onward.tables.term_values import LagValues, Values, feature_names, feature_values, product_values


def encode_frame(recipe: Recipe, names: Sequence[object], frame: Any) -> CheckedRows:
    """The rows of a data frame as features.

    Args:
        recipe: how the model reads a table.
        names: the model's features, whose order is kept; levels that it does not know come after them.
        frame: of any library that narwhals knows; texts are read as in a text file.

    A row for each of the frame's: where a value is missing, it counts as 0 if the recipe says so. Lags go on after the
    last row learned, with the frame's own targets where it has them.

    Raises:
        DataError: if a column or a value is missing, or cannot be read as the recipe says.
    """
    recipe = _without_skipping(recipe)
    reader = FrameReader(Frame(None, None, frame=frame), recipe.notation)
    encoder = Encoder(recipe, recipe.levels(names), with_target=False)
    blocks = [block for piece in reader.pieces(_wanted(recipe, reader.columns)) for block in encoder.blocks(piece)]
    for reason, rows in encoder.skipped.items():
        raise DataError(f"{reader.name}: {reason} in {rows:,} of its rows, expected a value for each")
    if not blocks:
        return CheckedRows(np.zeros((0, len(encoder.names))), encoder.names)
    places: dict[Hashable, int] = {}
    for block in blocks:
        for name in block.names:
            places.setdefault(name, len(places))
    X = np.zeros((encoder.read, len(places)))
    for block in blocks:
        X[block.first : block.stop, [places[name] for name in block.names]] = block.X
    return CheckedRows(X, list(places))


def encode_row(recipe: Recipe, names: Sequence[object], row: Mapping[str, Any]) -> tuple[list[Hashable], Vector]:
    """The names and values of the features of one row, as `encode_frame` gives them; other keys are ignored."""
    return RowEncoder(recipe, names).encode(row)


class RowEncoder:
    """`encode_row` for many rows, one at a time, by one recipe and for one list of features."""

    def __init__(self, recipe: Recipe, names: Sequence[object]) -> None:
        self._recipe = recipe = _without_skipping(recipe)
        self._notation = recipe.notation
        self._missing = MissingValues(recipe.missing)
        self._kinds = recipe.kinds
        self._plain = [column.name for column in recipe.plain]
        self._terms, self._groups = recipe.fixed_terms, recipe.level_groups
        self._lags = {text: lag.rows for text, lag in recipe.lags.items()}
        fixed = [*self._plain, *(name for term in self._terms for name in feature_names(term))]
        self._names: list[Hashable] = [*fixed, *(level_name(*each) for each in recipe.levels(names))]
        self._places = {name: place for place, name in enumerate(self._names)}

    def encode(self, row: Mapping[str, Any]) -> tuple[list[Hashable], Vector]:
        """The names and values of a row's features."""
        read = {column: self._value(row, column, kind) for column, kind in self._kinds.items()}
        numbers: dict[str, float] = {name: value for name, value in read.items() if isinstance(value, float)}
        values = [self._number(column, numbers[column]) for column in self._plain]
        names = self._names
        if self._terms or self._groups:
            values, names = self._with_terms(row, read, numbers, values)
        return list(names), np.array(values)

    def _with_terms(
        self, row: Mapping[str, Any], read: Mapping[str, Any], numbers: dict[str, float], values: list[float]
    ) -> tuple[list[float], list[Hashable]]:
        target = self._recipe.target
        if self._recipe.looks_back_to_target and target in row and target not in numbers:
            value = self._value(row, target, "number")
            numbers[target] = value if isinstance(value, float) else np.nan
        lags = LagValues(self._lags, self._recipe.memory, 0)

        def value_of(column: str) -> Values:
            known = column in numbers
            return Values(np.array([numbers.get(column, np.nan)]), None if known else np.array([True]))

        def usable(term: str, made: np.ndarray[Any, Any], unknown: np.ndarray[Any, Any] | None) -> list[float]:
            if not np.isfinite(made).all():
                self._missing.fill_term(term, made, unknown, self._piece(read), kept := np.array([True]))
                if not kept[0]:
                    raise DataError(f"the row: {term} is not known yet, expected a value")
            return [float(each) for each in made[0]]

        for term in self._terms:
            made, unknown = feature_values(term, value_of, lags)
            values += usable(term.text, made, unknown)
        names, first_levels = self._names, self._recipe.memory.first_levels
        values += [0.0] * (len(names) - len(values))
        for group in self._groups:
            factor = 1.0
            if group.factors:
                made, unknown = product_values(group.factors, value_of, lags)
                factor = usable(group.name, made[:, None], unknown)[0]
            levels = [read[column] for column in group.categories]
            if any(
                level is None or level == first_levels.get(c) for c, level in zip(group.categories, levels, strict=True)
            ):
                continue
            name = level_name(group.name, levels[0] if len(levels) == 1 else joined_level(levels))
            place = self._places.get(name)
            if place is not None:
                values[place] = factor
            else:
                names = [*names, name]
                values.append(factor)
        return values, names

    def _number(self, column: str, value: float) -> float:
        if math.isfinite(value):
            return value
        numbers = np.array([value])
        self._missing.fill(column, numbers, self._piece({column: value}), np.array([True]))
        return float(numbers[0])

    def _value(self, row: Mapping[str, Any], column: str, kind: Kind) -> float | str | None:
        """A value as the recipe says: a number, NaN where it is missing; of a category a text, or None."""
        try:
            value = row[column]
        except KeyError as error:
            raise missing_column("the row", column, [str(each) for each in row]) from error
        if kind == "number" and isinstance(value, float | int) and not self._notation.na:
            try:
                return float(value)
            except OverflowError:
                return float("inf")
        if kind == "category" and type(value) is str and not self._notation.na:
            return value
        if value is None or type(value).__name__ == "NAType" or value != value:
            array = pa.array([None])
        else:
            try:
                array = pa.array(np.array([value]) if isinstance(value, np.generic) else [value])
            except (pa.ArrowException, TypeError) as error:
                raise DataError(f"the row, column {column!r}: got {value!r}, which is no plain value") from error
        check_kinds("the row", pa.schema([(column, array.type)]), {column: kind}, texts=True)
        read = converted("the row", column, array, kind, self._notation, lambda _: "the row")[0]
        if kind == "category" and read is None:
            self._missing.check_levels(column, self._piece({column: None}), np.array([True]))
        return read if kind == "category" else float("nan") if read is None else float(read)

    @staticmethod
    def _piece(values: Mapping[str, Any]) -> Piece:
        """The row as a piece, for a message."""
        return Piece(pl.DataFrame({name: [value] for name, value in values.items()}), 0, lambda _: "the row")


def _without_skipping(recipe: Recipe) -> Recipe:
    """Nothing can be left out of an answer: a row that would be skipped is an error."""
    return replace(recipe, missing="error") if recipe.missing == "skip" else recipe


def _wanted(recipe: Recipe, columns: Sequence[str]) -> dict[str, Kind]:
    back: dict[str, Kind] = {recipe.target: "number"} if recipe.looks_back_to_target else {}
    return recipe.kinds | {name: kind for name, kind in back.items() if name in columns}
