"""Data frames and single rows in memory, by a model's recipe: the same features as those of a stream of the same rows.

Where a table has the recipe's columns, they are encoded, and other columns are ignored. A table that lacks one but has
exactly the features (`city=Rome`) is taken as it is.
"""

import sys
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from onward.core.shown import brief
from onward.core.types import Vector
from onward.tables.columnar import FrameReader
from onward.tables.encode import Block, Encoder
from onward.tables.errors import DataError
from onward.tables.kinds import Content
from onward.tables.levels import level_name
from onward.tables.readers import EXPECTED, missing_column
from onward.tables.recipe import Column, Kind, Recipe
from onward.tables.single_values import ABSENT, as_level, as_number, as_plain
from onward.tables.sources import Frame
from onward.tables.times import Times, microseconds_of

_ROW = "the row"  # what messages call a single row


def has_columns(recipe: Recipe, names: Sequence[Hashable], given: Collection[Hashable], called: str) -> bool:
    """Whether a table has the recipe's columns; False if it has exactly the features. DataError if neither."""
    lacking = next((column for column in recipe.kinds if column not in given), None)
    if lacking is None:
        return True
    if set(given) == set(names):
        return False
    raise missing_column(called, lacking, [str(each) for each in given])


def encode_frame(recipe: Recipe, names: Sequence[Hashable], frame: Any) -> Block:
    """The features of a data frame's rows; rows that the recipe skips are left out.

    Features come in the order of `names`; levels that are not among them stand at the end.
    """
    made = list(encode_blocks(recipe, names, frame))
    plain = [column.name for column in recipe.plain]
    every = dict.fromkeys([*names, *plain, *(name for block in made for name in block.names)])
    places = {name: place for place, name in enumerate(every)}
    X = np.zeros((sum(len(block.X) for block in made), len(every)))
    start = 0
    for block in made:
        X[start : start + len(block.X), [places[name] for name in block.names]] = block.X
        start += len(block.X)
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *(block.rows for block in made)])
    return Block(X, list(every), None, np.ones(len(X)), rows, 0, made[-1].stop if made else 0)


def encode_blocks(
    recipe: Recipe,
    names: Sequence[Hashable],
    frame: Any,
    *,
    learning: bool = False,
    y: Vector | None = None,
    weight: Vector | None = None,
    times: Times | None = None,
    latest: float = np.nan,
    remember: Callable[[Recipe], None] | None = None,
) -> Iterator[Block]:
    """The rows of a data frame as a stream of it has them, in blocks.

    For `learning`, targets are y (n,), or the recipe's target column without it; weights are `weight` (n,), or the
    recipe's weight column, if it has one; so are `times`, which must not fall, nor be before `latest`. A level that is
    first seen begins a block then, and is a feature from there on; otherwise levels that are not among the names stand
    at the end of the block that has them. At the end, `remember` is called with the recipe, and what further rows need
    of these.
    """
    reader = FrameReader(Frame(None, None, frame=frame), recipe.notation)
    full, recipe = recipe, recipe if weight is None else replace(recipe, weight=None)
    recipe = recipe if times is None else replace(recipe, time=None)
    wanted: dict[str, Kind] = recipe.kinds
    looks_back = recipe.looks_back_to_target and recipe.target in reader.columns
    if (learning and y is None) or (not learning and looks_back):
        wanted[recipe.target] = target_kind(reader.contents, recipe)
    if learning and recipe.weight is not None:
        wanted[recipe.weight] = "number"
    if recipe.time is not None and (learning or recipe.time.name in reader.columns):
        wanted[recipe.time.name] = recipe.time.kind
    # How many levels there may be was the business of the table that was read first.
    levels, most = recipe.levels(names), sys.maxsize
    encoder = Encoder(recipe, levels, with_target=learning, max_levels=most, latest=latest, in_order=learning)
    for piece in reader.pieces(wanted, together=[column.name for column in recipe.plain]):
        if learning and y is not None:
            targets = pl.Series(recipe.target, y[piece.start : piece.start + len(piece)])
            piece = replace(piece, frame=piece.frame.with_columns(targets))
        for block in encoder.blocks(piece):
            if weight is not None:
                block = replace(block, weight=np.ascontiguousarray(weight[block.rows]))
            yield block if times is None else replace(block, times=times.part(block.rows))
    if remember is not None:
        remember(replace(full, memory=encoder.memory))


def target_kind(contents: Mapping[str, Content], recipe: Recipe) -> Kind:
    """As what the target is read: true and false count as 1 and 0."""
    return "boolean" if contents.get(recipe.target) == "boolean" else "number"


def encode_row(recipe: Recipe, names: Sequence[Hashable], row: Mapping[str, Any]) -> dict[str, float] | None:
    """The features of one row that are not 0 for lack of their level; None if the recipe skips it.

    Values are those that data frames hold (numbers, True and False, dates, times, spans, texts), or texts as files
    have them. A row that has exactly the features is given back as it is.
    """
    if (recipe.terms or recipe.drop_first) and has_columns(recipe, names, row.keys(), _ROW):
        return _encode_terms(recipe, names, row)
    features: dict[str, float] = {}
    levels: list[str] = []
    skipped, notation = False, recipe.notation
    for column in recipe.columns:
        value = row.get(column.name, ABSENT)
        if value is ABSENT:
            has_columns(recipe, names, row.keys(), _ROW)
            return dict(row)
        if column.kind == "category":
            level = as_level(value, notation)
            if level is None:
                skipped |= _skips(recipe, column, "missing")
            else:
                levels.append(level_name(column.name, level))
            continue
        number = value if type(value) is float and not notation.na else as_number(value, column.kind, notation)
        if number is None:
            raise DataError(
                f"{_ROW}, column {brief(column.name)}: got {_shown(value)}, expected {EXPECTED[column.kind]}"
            )
        if number - number != 0.0:  # NaN or infinite
            skipped |= _skips(recipe, column, "missing" if number != number else f"{number}")
            number = 0.0
        features[column.name] = number
    for level in levels:
        features[level] = 1.0
    return None if skipped else features


def _encode_terms(recipe: Recipe, names: Sequence[Hashable], row: Mapping[str, Any]) -> dict[str, float] | None:
    """The features of one row, of which some are made of several columns: it goes the way of tables."""
    wanted = [*recipe.kinds, *([recipe.target] if recipe.looks_back_to_target and recipe.target in row else [])]
    block = encode_frame(recipe, names, pl.DataFrame({name: [as_plain(row[name])] for name in wanted}, strict=False))
    if not len(block.X):
        return None
    return {str(name): float(value) for name, value in zip(block.names, block.X[0], strict=True)}


def row_weight(recipe: Recipe, row: Mapping[str, Any]) -> float | None:
    """The weight of a row by the recipe, 1 if it says nothing of weights; None if the recipe skips it."""
    if recipe.weight is None:
        return 1.0
    if recipe.weight not in row:
        raise missing_column(_ROW, recipe.weight, [str(each) for each in row])
    value = row[recipe.weight]
    weight = as_number(value, "number", recipe.notation)
    if weight is None or weight < 0:
        raise DataError(
            f"{_ROW}, column {brief(recipe.weight)}: got {_shown(value)}, expected a weight that is not negative"
        )
    if weight - weight == 0.0:
        return weight
    _skips(recipe, Column(recipe.weight, "number"), "missing" if weight != weight else f"{weight}")
    return None  # a weight cannot be made up


def row_time(recipe: Recipe, row: Mapping[str, Any], *, learning: bool) -> Times | None:
    """The time of a row by the recipe; None if it has none, which is an error in `learning`."""
    column = recipe.time
    if column is None or (column.name not in row and not learning):
        return None
    if column.name not in row:
        raise missing_column(_ROW, column.name, [str(each) for each in row])
    value = row[column.name]
    number = as_number(value, column.kind, recipe.notation)
    if number is None or number - number != 0.0:
        raise DataError(f"{_ROW}, column {brief(column.name)}: got {_shown(value)}, expected {EXPECTED[column.kind]}")
    values = np.array([number])
    return Times(microseconds_of(values), True) if column.kind == "time" else Times(values, False)


def _skips(recipe: Recipe, column: Column, what: str) -> bool:
    """Whether a row is skipped for a value that is missing or infinite; DataError where that is refused."""
    if recipe.missing == "skip":
        return True
    if what != "missing":
        raise DataError(f"{_ROW}, column {brief(column.name)}: got {what}, expected a finite number")
    if recipe.missing == "error":
        raise DataError(
            f"{_ROW}, column {column.name!r}: the value is missing, expected {EXPECTED[column.kind]}; the model was "
            "fitted to refuse missing values: with missing='skip' or 'zero' in its table it would take them"
        )
    return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text[:60] + "…" * (len(text) > 60)
