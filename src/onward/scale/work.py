"""What a worker does with a chunk: reduce it to a summary, or predict its rows from the model just before it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from onward import storage
from onward.core.types import Vector
from onward.progressive.fit import Pass, names_of
from onward.progressive.intervals import Noise
from onward.progressive.predictions import Spool
from onward.progressive.tally import MEAN, WEIGHT, new_totals
from onward.regression import ForwardRegressor, OnlineRegressor, RidgeRegressor
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
            apart=True,
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
    """Chunks in a row to predict, from the model just before them and Σw, Σwy of the rows before.

    `place` is the first chunk's among all chunks, `before` the number of rows before it.
    """

    chunks: tuple[Chunk, ...]
    place: int
    reading: Reading
    predicting: Predicting
    model: OnlineRegressor
    means: Vector
    before: int

    def __call__(self) -> "Predicted":
        """Predict each row, then learn it, as in one pass over everything."""
        done = Predicted(new_totals(), 0, Counter(), Counter(), self.model, self.means)
        for place, chunk in enumerate(self.chunks, start=self.place):
            done = self._one(chunk, place, done)
        return done

    def _one(self, chunk: Chunk, place: int, done: "Predicted") -> "Predicted":
        model, folder = done.model, self.predicting.folder
        with self.reading.stream(chunk, names_of(model)) as rows:
            work = Pass(model, rows, self.predicting.delta, self.predicting.noise, folder is not None, history=False)
            if work.intervals is not None and names_of(model):
                work.intervals.refresh(model)  # an earlier pass's sets are not at hand: these are newer
            weight = float(done.means[0])
            work.totals[WEIGHT] = weight
            work.totals[MEAN] = done.means[1] / weight if weight > 0 else 0.0
            if folder is not None:
                work.spool = Spool(part(folder, place))
            try:
                for block in rows:
                    work.learn(block, None)
                if work.spool is not None:
                    work.spool.finish(rows.read, self.before + done.read)
            finally:
                if work.spool is not None:
                    work.spool.discard()
            means = np.array([work.totals[WEIGHT], work.totals[WEIGHT] * work.totals[MEAN]])
            work.totals[WEIGHT] -= weight
            work.totals[MEAN] = 0.0
            return Predicted(
                done.totals + work.totals,
                done.read + rows.read,
                done.skipped + Counter(rows.skipped),
                done.filled + Counter(rows.filled),
                model,
                means,
            )


@dataclass(frozen=True)
class Predicted:
    """What came of predicting chunks: totals of their losses, counts, and the model, Σw and Σwy after them."""

    totals: Vector
    read: int
    skipped: Counter[str]
    filled: Counter[str]
    model: OnlineRegressor
    means: Vector

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a file."""
        settings: dict[str, Any] = {
            "read": self.read,
            "skipped": dict(self.skipped),
            "filled": dict(self.filled),
            "learner": "forward" if isinstance(self.model, ForwardRegressor) else "ridge",
            "model": None,
        }
        arrays = {"totals": self.totals, "means": self.means}
        if self.model.__sklearn_is_fitted__():
            settings["model"], own = self.model.to_record()
            arrays |= {f"model: {name}": value for name, value in own.items()}
        else:
            settings["new"] = {"lam": self.model.lam, "fit_intercept": bool(self.model.fit_intercept)}
        return settings, arrays

    @classmethod
    def from_record(cls, settings: Mapping[str, Any], arrays: storage.Arrays) -> Self:
        """What `to_record` gave."""
        learner = ForwardRegressor if settings["learner"] == "forward" else RidgeRegressor
        model: OnlineRegressor
        if settings["model"] is None:
            model = learner(**settings["new"])
        else:
            own = {n.removeprefix("model: "): value for n, value in arrays.items() if n.startswith("model: ")}
            model = learner.from_record(settings["model"], own)
        counts = Counter(settings["skipped"]), Counter(settings["filled"])
        return cls(arrays["totals"], settings["read"], *counts, model, arrays["means"])


def part(folder: Path, place: int) -> Path:
    """The file of a chunk's predictions."""
    return folder / f"part-{place:06d}.parquet"


def do(task: Reduce | Predict) -> Summary | Predicted:
    """Do a task. A worker has one processor, so what reads files gets one thread."""
    pa.set_cpu_count(1)
    return task()
