"""What a worker does with a chunk: reduce it to a summary, or predict its rows from the model just before it."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa

from onward.core.types import Vector
from onward.progressive.fit import Pass, names_of
from onward.progressive.intervals import Noise
from onward.progressive.marks import next_reading
from onward.progressive.predictions import Spool
from onward.progressive.tally import MEAN, ROWS, WEIGHT, new_totals
from onward.regression import OnlineRegressor
from onward.scale import records
from onward.scale.chunks import Chunk
from onward.scale.records import Predicted
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

    `place` is the first chunk's among all chunks, `before` the number of rows before it, `known` how many rows the
    model had learned before the first of all chunks. If `kept` is given, how far
    it is is kept there after each chunk, and whoever does the task again goes on from there.
    """

    chunks: tuple[Chunk, ...]
    place: int
    reading: Reading
    predicting: Predicting
    model: OnlineRegressor
    means: Vector
    before: int
    known: int = 0
    kept: Path | None = None

    @property
    def parts(self) -> list[Path]:
        """The files of the chunks' predictions, if there are to be any."""
        folder = self.predicting.folder
        return [] if folder is None else [part(folder, self.place + number) for number in range(len(self.chunks))]

    def __call__(self) -> Predicted:
        """Predict each row, then learn it, as in one pass over everything."""
        done = None if self.kept is None else records.read(self.kept, Predicted)
        if done is None or not all(path.exists() for path in self.parts[: done.chunks]):
            done = Predicted(0, new_totals(), 0, Counter(), Counter(), self.model, self.means)
        for number in range(done.chunks, len(self.chunks)):
            done = self._one(self.chunks[number], self.place + number, done)
            if self.kept is not None:
                records.write(self.kept, done)
        return done

    def _one(self, chunk: Chunk, place: int, done: Predicted) -> Predicted:
        model, folder = done.model, self.predicting.folder
        with self.reading.stream(chunk, names_of(model)) as rows:
            work = Pass(model, rows, self.predicting.delta, self.predicting.noise, folder is not None, history=False)
            if work.intervals is not None and names_of(model):
                work.intervals.refresh(model)  # an earlier pass's sets are not at hand: these are newer
            # As far along as one pass would be: it takes intervals anew ever more rarely.
            learned = (model.n_seen_ if names_of(model) else 0) - self.known
            if learned:
                work.next_reading = next_reading(learned, model.n_features_in_)
            weight = float(done.means[0])
            work.totals[ROWS], work.totals[WEIGHT] = learned, weight
            work.totals[MEAN] = done.means[1] / weight if weight > 0 else 0.0
            whole = aside = None
            if folder is not None:
                # Under a name of its own: a worker that was given up for dead may be writing the same chunk.
                whole = part(folder, place)
                aside = whole.with_name(f"{whole.name}.{uuid4().hex}")
                work.spool = Spool(aside)
            try:
                for block in rows:
                    work.learn(block, None)
                if work.spool is not None and whole is not None and aside is not None:
                    work.spool.finish(rows.read, self.before + done.read, "none")  # it is compressed when joined
                    os.replace(aside, whole)
            finally:
                if work.spool is not None:
                    work.spool.discard()
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
