"""A model's predictions against the targets of other rows; nothing is learned."""

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onward.core.known import Known, Method
from onward.core.types import Vector
from onward.progressive.fitting import nothing_learned
from onward.progressive.target_intervals import interval_reader
from onward.regression import OnlineRegressor
from onward.tables import DataError, Table, stream
from onward.tables.recipe import Missing
from onward.tables.sources import Source, name_files


@dataclass(frozen=True)
class ModelScores:
    """How well a model predicts rows that it does not learn. Means are weighted by the rows' weights."""

    source: str  # what was read, as a person would name it
    target: str
    known: Known  # what its intervals rely on
    read: int  # rows in the data
    rows: int  # of these, scored
    rmse: float
    mae: float
    r2: float  # 1 − Σ w (ŷ − y)² / Σ w (y − ȳ)²
    inside: int | None  # rows whose target lay in its interval; None where there are no intervals
    open: int | None  # rows whose interval was infinite on a side, so that it could hardly miss
    skipped: Mapping[str, int]  # reason → rows
    filled: Mapping[str, int]  # column → missing values that were counted as 0
    unknown: Counter[str]  # level that the model does not know → rows
    method: Method | None = "uniform"  # how intervals were made; None where there are none

    @property
    def coverage(self) -> float | None:
        """The share of rows whose target lay in its interval; 1 − δ was promised, for each or of all: see `Method`."""
        return None if self.inside is None else self.inside / self.rows


def score(
    model: OnlineRegressor,
    source: Source | Sequence[Source],
    table: Table | None = None,
    *,
    known: Known | None = None,
    intervals: Method | None = None,
    missing: Missing | None = None,
) -> ModelScores:
    """Predict the rows of files as `predict` does, and compare with their targets.

    The table says how files are written; which columns are used, and how, the model knows. `missing` is the model's own
    rule unless given; a row without a target is skipped, or refused, with it. `intervals` is as in `predict`.
    """
    if model.recipe_ is None:
        raise ValueError("the model does not know its target; expected a model that has learned from a table")
    known, recipe = known or Known(), model.recipe_
    recipe = recipe if missing is None else replace(recipe, missing=missing)
    names = [str(name) for name in model.feature_names_in_]
    method, reader = interval_reader(model, known, intervals)
    sums, unknown = _Sums(), Counter[str]()
    how = replace(table or Table(), target=recipe.target, max_levels=sys.maxsize)
    with stream(source, how, recipe=recipe, known=names, latest=model.latest_time, in_order=False) as rows:
        for block in rows:
            assert block.y is not None
            times = None if model.half_life is None else block.times
            predictions, leverage = model.predict_many(block, times=times, return_leverage=True)
            sums.add(predictions, block.y, block.weight, reader.read(block, predictions, leverage)[0])
            for place in range(len(names), len(block.names)):
                if count := int(np.count_nonzero(block.X[:, place])):
                    unknown[str(block.names[place])] += count
    if not sums.weight > 0:
        raise DataError(nothing_learned(rows.files, rows.read, rows.skipped, "scored"))
    return ModelScores(
        name_files(rows.files),
        recipe.target,
        known,
        rows.read,
        sums.rows,
        math.sqrt(sums.squared / sums.weight),
        sums.absolute / sums.weight,
        sums.r2,
        None if method is None else sums.inside,
        None if method is None else sums.open,
        dict(rows.skipped),
        dict(rows.filled),
        unknown,
        method,
    )


class _Sums:
    """What is added up from block to block."""

    def __init__(self) -> None:
        self.rows = self.inside = self.open = 0
        self.weight = self.squared = self.absolute = 0.0
        self.mean = self.spread = 0.0  # of the targets: ȳ and Σ w (y − ȳ)²

    def add(self, predictions: Vector, y: Vector, w: Vector, ends: Any) -> None:
        """Take in a block."""
        self.rows += len(y)
        self.squared += float(w @ (predictions - y) ** 2)
        self.absolute += float(w @ np.abs(predictions - y))
        self.inside += int(np.count_nonzero((ends[:, 0] <= y) & (y <= ends[:, 1])))
        self.open += int(np.count_nonzero(np.isinf(ends).any(axis=1)))
        weight = float(w.sum())
        if weight > 0:  # means of parts, as Chan, Golub and LeVeque add them: nothing cancels
            mean = float(w @ y) / weight
            total, apart = self.weight + weight, mean - self.mean
            self.spread += float(w @ (y - mean) ** 2) + apart * apart * (self.weight / total) * weight
            self.mean += apart * (weight / total)
            self.weight = total

    @property
    def r2(self) -> float:
        """Against the mean of the targets; where these are all one, 1 for perfect predictions and 0 for others."""
        return 1.0 - self.squared / self.spread if self.spread > 0 else float(self.squared == 0)
