"""A model's predictions against the targets of other rows; nothing is learned."""

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from onward.core.known import Known, Method
from onward.core.shown_html import html_values
from onward.core.types import Vector
from onward.progressive.fitting import nothing_learned
from onward.progressive.target_intervals import interval_reader
from onward.regression import OnlineRegressor
from onward.tables import DataError, Table, stream
from onward.tables.recipe import Missing
from onward.tables.sources import Source, name_files


@dataclass(frozen=True)
class ModelScores:
    """How well a model predicts rows that it does not learn, as `score` gives it. Means are weighted by the rows'
    weights.

    Attributes:
        source: what was read, as a person would name it.
        target: the column that was predicted.
        known: what the intervals rely on.
        read: rows in the data.
        rows: of these, scored.
        rmse: the root of the mean squared error.
        mae: the mean absolute error.
        r2: 1 − Σ w (ŷ − y)² / Σ w (y − ȳ)².
        inside: rows whose target lay in its interval; None where there are no intervals.
        open: rows whose interval was infinite on a side, so that it could hardly miss.
        skipped: reason → rows.
        filled: column → missing values that were counted as 0.
        unknown: level that the model does not know → rows.
        method: how intervals were made; None where there are none.

    Example:
        >>> import polars as pl
        >>> from onward import Table, fit
        >>> from onward.progressive import score
        >>> done = fit(pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}), Table("y"))
        >>> told = score(done.model, pl.DataFrame({"x": [4.0, 5.0], "y": [8.0, 10.0]}))
        >>> told.target, told.rows, told.skipped
        ('y', 2, {})
    """

    source: str
    target: str
    known: Known
    read: int
    rows: int
    rmse: float
    mae: float
    r2: float
    inside: int | None
    open: int | None
    skipped: Mapping[str, int]
    filled: Mapping[str, int]
    unknown: Counter[str]
    method: Method | None = "uniform"

    @property
    def coverage(self) -> float | None:
        """The share of rows whose target lay in its interval; 1 − δ was promised, for each or of all: see `Method`."""
        return None if self.inside is None else self.inside / self.rows

    def _repr_html_(self) -> str:
        shown = {"rows": f"{self.rows:,} of {self.read:,}", "RMSE": f"{self.rmse:.4g}", "MAE": f"{self.mae:.4g}"}
        shown["R²"] = f"{self.r2:.4g}"
        if self.coverage is not None:
            promised = 1.0 - self.known.delta
            shown["targets in their intervals"] = f"{self.coverage:.1%} ({promised:.4g} promised, {self.method})"
        return html_values(f"Scores of {self.target} in {self.source}; nothing was learned", shown)


def score(
    model: OnlineRegressor,
    source: Source | Sequence[Source],
    table: Table | None = None,
    *,
    known: Known | None = None,
    intervals: Method | None = None,
    missing: Missing | None = None,
) -> ModelScores:
    """Predict the rows of files as `onward predict` does, and compare with their targets. Nothing is learned.

    Args:
        model: one that has learned from a table.
        source: files, patterns, folders or data frames.
        table: how files are written; which columns are used, and how, the model knows.
        known: what intervals rely on.
        intervals: how they are made; by default as the model has calibrated them.
        missing: what a missing value does; by default the model's own rule. A row without a target is skipped, or
            refused, with it.

    Returns:
        Errors, R², and how often intervals held.

    Raises:
        ValueError: if the model has not learned from a table, or intervals cannot be made so.
        DataError: if the data cannot be read, or no row can be scored.

    Example:
        >>> import polars as pl
        >>> from onward import Table, fit
        >>> from onward.progressive import score
        >>> done = fit(pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}), Table("y"))
        >>> score(done.model, pl.DataFrame({"x": [4.0, 5.0], "y": [8.0, 10.0]})).rows
        2
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
