"""What a worker does with a chunk: reduce it to a summary, or predict its rows from the model just before it."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from onward.core.types import Vector
from onward.progressive.fit import Pass
from onward.progressive.intervals import Noise
from onward.progressive.predictions import Spool
from onward.progressive.tally import MEAN, WEIGHT
from onward.regression import OnlineRegressor
from onward.scale.chunks import Chunk
from onward.scale.summary import Summary
from onward.tables import Recipe
from onward.tables.streams import Stream


@dataclass(frozen=True)
class Reading:
    """How chunks are read: what all workers must know."""

    recipe: Recipe
    separator: str | None
    max_levels: int
    intercept: bool

    def stream(self, chunk: Chunk, known: list[str]) -> Stream:
        """The rows of a chunk."""
        return Stream(
            [chunk.file],
            self.recipe.target,
            recipe=self.recipe,
            separator=self.separator,
            max_levels=self.max_levels,
            known=known,
            groups=chunk.groups,
            ahead=0,
        )


@dataclass(frozen=True)
class Predicting:
    """What is made of the rows' predictions: scores, and a file of them if a folder is given."""

    delta: float
    noise: Noise
    folder: Path | None


@dataclass(frozen=True)
class Reduce:
    """A chunk to reduce."""

    chunk: Chunk
    reading: Reading

    def __call__(self) -> Summary:
        """Learn the chunk's rows from nothing."""
        with self.reading.stream(self.chunk, []) as rows:
            summary = Summary.of(rows, self.reading.intercept)
            summary.read = rows.read
            summary.skipped, summary.filled = Counter(rows.skipped), Counter(rows.filled)
        return summary


@dataclass(frozen=True)
class Predict:
    """A chunk to predict, from the model just before it and Σw, Σwy of the rows before it; `first` is its first row."""

    chunk: Chunk
    reading: Reading
    predicting: Predicting
    place: int
    model: OnlineRegressor
    means: Vector
    first: int

    def __call__(self) -> "Predicted":
        """Predict each row, then learn it, as in one pass over everything."""
        model = self.model
        fitted = model.__sklearn_is_fitted__()
        known = [str(name) for name in model.feature_names_in_] if fitted else []
        with self.reading.stream(self.chunk, known) as rows:
            keep = self.predicting.folder is not None
            work = Pass(model, rows, self.predicting.delta, self.predicting.noise, keep, history=False)
            if work.intervals is not None and fitted:
                work.intervals.refresh(model)
            weight = float(self.means[0])
            work.totals[WEIGHT] = weight
            work.totals[MEAN] = self.means[1] / weight if weight > 0 else 0.0
            spool = None
            if self.predicting.folder is not None:
                spool = work.spool = Spool(part(self.predicting.folder, self.place))
            try:
                for block in rows:
                    work.learn(block, None)
                if spool is not None:
                    spool.finish(rows.read, self.first)
            finally:
                if spool is not None:
                    spool.discard()
            totals = work.totals.copy()
            totals[WEIGHT] -= weight
            return Predicted(totals, rows.read, Counter(rows.skipped), Counter(rows.filled), model, work.means())


@dataclass(frozen=True)
class Predicted:
    """What came of predicting a chunk: totals of its losses, counts, and the model after it."""

    totals: Vector
    read: int
    skipped: Counter[str]
    filled: Counter[str]
    model: OnlineRegressor
    means: Vector


def part(folder: Path, place: int) -> Path:
    """The file of a chunk's predictions."""
    return folder / f"part-{place:06d}.parquet"


def do(task: Reduce | Predict) -> "Summary | Predicted":
    """Do a task. A worker has one processor: its libraries get one thread."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    return task()
