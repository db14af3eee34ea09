"""A model's predictions for the rows of files, with intervals; nothing is learned."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from onward.core.known import Known, Method
from onward.core.words import counted
from onward.progressive.frame_writers import Write
from onward.progressive.prediction_files import with_kept
from onward.progressive.target_intervals import Reader, interval_reader
from onward.regression import OnlineRegressor
from onward.tables import Block, Column, DataError, Recipe, Table, stream
from onward.tables.recipe import Missing
from onward.tables.sources import Source

COLUMNS = ("prediction", "lower", "upper", "leverage")


@dataclass
class Notes:
    """What a reader of the predictions should know: rows that were skipped, by reason, and rows with levels that the
    model does not know, by level; of these it says little, and their intervals are open.
    """

    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)


def predict(
    model: OnlineRegressor,
    source: Source | Sequence[Source],
    write: Write,
    table: Table | None = None,
    *,
    known: Known | None = None,
    of: Literal["observation", "mean"] = "observation",
    intervals: Method | None = None,
    missing: Missing | None = None,
) -> Notes:
    """Hand frames of row, prediction, lower, upper and leverage, and columns to keep, to `write`, as rows are read.

    The table says how files are written, and what to keep; which columns are used, and how, the model knows. A row that
    is skipped has nulls. `missing` is the model's own rule unless given. Lags go on after the last row learned. Of a
    model with a half-life in time, rows are predicted at their times, if the column is there; none may be before the
    latest that was learned.

    `intervals` says how those for targets are made, see `onward.core.known.Method`. None: `uniform` if σ is known, else
    `conformal`, for models that were calibrated as they learned, else `t`. Those for means are `uniform`. A model that
    forgets, or is auto, has `conformal` ones alone: nulls, if it was not calibrated.
    """
    if model.n_targets_ > 1:
        raise ValueError(f"expected a model of one target, got one of {model.n_targets_}")
    known, recipe = known or Known(), recipe_of(model)
    if missing is not None:
        recipe = replace(recipe, missing=missing)
    names = [str(name) for name in model.feature_names_in_]
    _, reader = interval_reader(model, known, intervals, of)
    written, notes = 0, Notes()
    how = replace(table or Table(), target=None)
    with stream(source, how, recipe=recipe, known=names, latest=model.latest_time) as rows:
        for block in rows:
            write(_frame(model, block, reader))
            for place in range(len(names), len(block.names)):
                notes.unknown[str(block.names[place])] += int(np.count_nonzero(block.X[:, place]))
            written = block.stop
        if rows.read > written:  # skipped rows belong to the block after them, and there is none
            write(with_kept(_numbered(written, rows.read), rows.kept_after, written + 1))
        if not rows.read:
            raise DataError(f"{rows.files[0].name}: there are no rows")
    notes.skipped.update(rows.skipped)
    return notes


def recipe_of(model: OnlineRegressor) -> Recipe:
    """How the model reads a table; its features as columns of numbers where it was not told."""
    if model.recipe_ is not None:
        return model.recipe_
    if model.n_features_in_ and not hasattr(model, "feature_names_in_"):
        raise ValueError(
            f"the model was fitted to {counted(model.n_features_in_, 'feature')} without names, so columns cannot be "
            "found; expected a model that was fitted to a table with named columns"
        )
    return Recipe("", tuple(Column(str(name), "number") for name in model.feature_names_in_))


def _frame(model: OnlineRegressor, block: Block, intervals: Reader) -> pl.DataFrame:
    times = None if model.half_life is None else block.times
    predictions, leverage = model.predict_many(block, times=times, return_leverage=True)
    columns = np.column_stack([predictions, intervals.read(block, predictions, leverage)[0], leverage])
    made = pl.DataFrame({"row": block.rows + 1} | {name: columns[:, j] for j, name in enumerate(COLUMNS)})
    made = made.with_columns(pl.col("lower", "upper").fill_nan(None))
    if block.kept.width:
        return with_kept(made, block.kept, block.first + 1)
    if len(made) == block.stop - block.first:
        return made
    return _numbered(block.first, block.stop).select("row").join(made, on="row", how="left", maintain_order="left")


def _numbered(first: int, stop: int) -> pl.DataFrame:
    """Rows of nothing but their numbers."""
    frame = pl.DataFrame({"row": np.arange(first + 1, stop + 1)})
    return frame.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in COLUMNS)
