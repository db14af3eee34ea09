"""What a worker does with a chunk: reduce it to a summary, or predict its rows from the model just before it."""

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from onward.core.known import Known, Method
from onward.core.types import Vector
from onward.progressive.coefficient_intervals import known_names
from onward.progressive.learning_pass import Pass
from onward.progressive.prediction_files import DirectFile
from onward.progressive.running_scores import MEAN, ROWS, WEIGHT, new_totals
from onward.progressive.schedule import next_reading
from onward.regression import OnlineRegressor
from onward.regression.half_life import HalfLife
from onward.scale import chunk_results
from onward.scale.chunk_results import Predicted
from onward.scale.chunks import Chunk
from onward.scale.summary import Summary
from onward.tables import Recipe, Stream, Table


@dataclass(frozen=True)
class Reading:
    """How chunks are read: what all workers must know."""

    recipe: Recipe
    table: Table
    intercept: bool
    half_life: HalfLife | None = None

    def stream(self, chunk: Chunk, known: list[str], latest: float = math.nan) -> Stream:
        """The rows of a chunk; none may be before the latest time of those before."""
        how, groups = self.table, chunk.groups
        return Stream([chunk.file], how, recipe=self.recipe, known=known, groups=groups, apart=True, latest=latest)


@dataclass(frozen=True)
class Predicting:
    """What is made of the rows' predictions: scores, and a file of them if a folder is given."""

    known: Known
    method: Method
    folder: Path | None


@dataclass(frozen=True)
class Reduce:
    """A chunk to reduce."""

    chunk: Chunk
    reading: Reading

    def __call__(self) -> Summary:
        """Learn the chunk's rows from nothing."""
        with self.reading.stream(self.chunk, []) as rows:
            summary = Summary.of(rows, self.reading.intercept, self.reading.half_life)
            summary.read = rows.read
            summary.skipped, summary.filled = Counter(rows.skipped), Counter(rows.filled)
        return summary


@dataclass(frozen=True)
class Predict:
    """Chunks in a row to predict, from the model just before them and Σw, Σwy of the rows before.

    `place` is the first chunk's among all chunks, `before` the number of rows before it, `known` how many rows the
    model had learned before the first of all chunks. If `cached` is given, the result so far is written there after
    each chunk, and whoever does the task again goes on from there.
    """

    chunks: tuple[Chunk, ...]
    place: int
    reading: Reading
    predicting: Predicting
    model: OnlineRegressor
    means: Vector
    before: int
    known: int = 0
    cached: Path | None = None

    @property
    def parts(self) -> list[Path]:
        """The files of the chunks' predictions, if there are to be any."""
        folder = self.predicting.folder
        return [] if folder is None else [part(folder, self.place + number) for number in range(len(self.chunks))]

    def __call__(self) -> Predicted:
        """Predict each row, then learn it, as in one pass over everything."""
        done = None if self.cached is None else chunk_results.read(self.cached, Predicted)
        if done is None or not all(path.exists() for path in self.parts[: done.chunks]):
            done = Predicted(0, new_totals(), 0, Counter(), Counter(), self.model, self.means)
        for number in range(done.chunks, len(self.chunks)):
            done = self._one(self.chunks[number], self.place + number, done)
            if self.cached is not None:
                chunk_results.write(self.cached, done)
        return done

    def _one(self, chunk: Chunk, place: int, done: Predicted) -> Predicted:
        model, folder = done.model, self.predicting.folder
        with self.reading.stream(chunk, known_names(model), model.latest_time) as rows:
            before = self.before + done.read
            how, known = self.predicting.method, self.predicting.known
            work = Pass(model, rows, known, predicts=folder is not None, before=before, method=how)
            if work.intervals is not None and known_names(model):
                work.intervals.refresh(model)  # an earlier pass's sets are not at hand: these are newer
            # As far along as one pass would be: it takes intervals anew ever more rarely.
            learned = (model.n_seen_ if known_names(model) else 0) - self.known
            if learned:
                work.next_reading = next_reading(learned, model.n_features_in_)
            weight = float(done.means[0])
            work.totals[ROWS], work.totals[WEIGHT] = learned, weight
            work.totals[MEAN] = done.means[1] / weight if weight > 0 else 0.0
            if folder is not None:
                work.predictions = DirectFile(part(folder, place), first=before + 1)
            try:
                for block in rows:
                    work.learn(block, None)
                work.finish_predictions()
            finally:
                if work.predictions is not None:
                    work.predictions.close()
            means = np.array([work.totals[WEIGHT], work.totals[WEIGHT] * work.totals[MEAN]])
            work.totals[ROWS] -= learned
            work.totals[WEIGHT] -= weight
            work.totals[MEAN] = 0.0
            return Predicted(
                done.chunks + 1,
                done.totals + work.totals,
                done.read + rows.read,
                done.skipped + Counter(rows.skipped),
                done.filled + Counter(rows.filled),
                model,
                means,
            )


PARTS = "part-*.parquet"


def part(folder: Path, place: int) -> Path:
    """The file of a chunk's predictions."""
    return folder / f"part-{place:06d}.parquet"


def do(task: Reduce | Predict) -> Summary | Predicted:
    """Do a task. A worker has one processor, so what reads files gets one thread."""
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        return task()
    finally:
        pa.set_cpu_count(threads)  # this may be the caller's own process
