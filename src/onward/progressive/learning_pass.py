"""What is carried from block to block of a pass: each row is predicted, learned, scored and written down."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onward.core.interrupts import interrupts_deferred
from onward.core.known import Known
from onward.core.types import Matrix, Vector
from onward.progressive import checkpoints
from onward.progressive.frame_writers import Write
from onward.progressive.prediction_files import COLUMNS, PredictionFile, Spool, prediction_frame, with_kept
from onward.progressive.recorder import Recorder
from onward.progressive.results import Fit, Scores, known_names
from onward.progressive.running_scores import ROWS, SQUARED, WEIGHT, count_all, new_totals, scores
from onward.progressive.schedule import next_power, next_reading
from onward.progressive.target_intervals import Intervals
from onward.regression import OnlineRegressor
from onward.tables import Block, DataError, Stream
from onward.tables.sources import name_files

LEVELS = (0.5, 0.2, 0.1, 0.05, 0.01)  # at which a report checks the intervals


@dataclass(frozen=True)
class Progress:
    """How far a pass is. `mark` tells that the number of rows is a power of two."""

    scores: Scores
    read: int
    done: float  # bytes, about
    size: int | None  # of all files; None for standard input
    mark: bool
    target: float  # the last one
    prediction: float


Watch = Callable[[Progress], None]


class Pass:
    """What is carried from block to block."""

    def __init__(
        self,
        model: OnlineRegressor,
        rows: Stream,
        known: Known,
        *,
        with_scores: bool = True,
        predicts: bool = False,
        history: bool = False,
        before: int = 0,
    ) -> None:
        """`predicts`: intervals are wanted for each row; `before`: rows of the data before the stream's first."""
        self.model, self.rows, self.known = model, rows, known
        self.totals = new_totals()
        self.with_scores = with_scores
        if not with_scores:
            self.totals[SQUARED:] = np.nan
        self.predictions: PredictionFile | None = None
        self.follow: Write | None = None
        self.before = before
        self.reached = 0  # rows of the stream until the latest that was learned
        levels = [] if model.forgets else sorted({known.delta, *(LEVELS if history else ())}, reverse=True)
        self.own = levels.index(known.delta) if levels else None
        self.recorder = Recorder(levels) if history else None
        self.intervals = Intervals(levels, known) if predicts or history else None
        self.next_reading = 1

    @property
    def learned(self) -> int:
        """Rows that were learned."""
        return int(self.totals[ROWS])

    def learn(self, block: Block, watch: Watch | None) -> None:
        """Predict and learn a block's rows."""
        start, n = 0, block.shape[0]
        while start < n:
            # Cut where something is to be read off, so that it does not depend on how the rows were batched.
            until = next_power(self.learned)
            if self.intervals is not None:
                until = min(until, self.next_reading)
            stop = min(n, start + until - self.learned)
            with interrupts_deferred():
                last = self._learn_part(block if (start, stop) == (0, n) else block.part(start, stop))
            if watch is not None:
                mark = self.learned & (self.learned - 1) == 0
                if mark or stop == n:
                    watch(Progress(scores(self.totals), self.rows.read, self.rows.done, self.rows.size, mark, *last))
            start = stop

    def _learn_part(self, part: Block) -> tuple[float, float]:
        assert part.y is not None
        ends = None if self.intervals is None else self.intervals.ends(part.X, part.weight)
        times = None if self.model.half_life is None else part.times
        try:
            predictions, leverage = self.model.learn_block(part.X, part.y, part.weight, part.names, times)
        except ValueError as error:
            n = part.shape[0]
            if n > 1:  # the row that cannot be learned is looked for, and those before it are learned
                self._learn_part(part.part(0, n // 2))
                return self._learn_part(part.part(n // 2, n))
            message = f"row {part.rows[0] + 1:,} of the data: {error}"
            if not self.rows.skips_bad_rows:
                raise DataError(message) from error
            self.rows.skip_row("its numbers are too large", message)
            return float(part.y[-1]), float("nan")
        if self.with_scores:
            count_all(predictions, part.y, part.weight, self.totals)
        else:
            self.totals[ROWS] += len(part.y)
            self.totals[WEIGHT] += part.weight.sum()
        self.reached = int(part.rows[-1]) + 1
        if ends is not None:
            self._record(part, part.y, predictions, leverage, ends)
        return float(part.y[-1]), float(predictions[-1])

    def _record(self, part: Block, y: Vector, predictions: Vector, leverage: Vector, ends: Matrix) -> None:
        lower, upper = (np.full(len(y), np.nan),) * 2 if self.own is None else ends[self.own].T
        columns = (y, predictions, lower, upper, leverage)
        if self.predictions is not None or self.follow is not None:
            frame = prediction_frame(part.rows + (self.before + 1), *columns)
            frame = with_kept(frame, part.kept, self.before + part.first + 1)
            if self.predictions is not None:
                self.predictions.write(frame)
            if self.follow is not None:
                self.follow(frame.drop_nulls("prediction"))
        if self.recorder is not None:
            self.recorder.count_misses(y, ends)
            self.recorder.sample.add(np.column_stack([part.rows, *columns]))
        if self.learned >= self.next_reading:
            self._read_off()

    def finish_predictions(self, *, early: bool = False) -> None:
        """All rows are predicted: those that were skipped last are written down, too, unless it is an `early` end."""
        if self.predictions is None:
            return
        if early:
            self.predictions.finish(self.before + self.reached + 1)
            return
        left = self.rows.kept_after
        if len(left):
            none = prediction_frame(np.zeros(0, dtype=np.int64), *np.zeros((len(COLUMNS), 0)))
            self.predictions.write(with_kept(none, left, self.before + self.rows.read - len(left) + 1))
        self.predictions.finish(self.before + self.rows.read + 1)

    def _read_off(self) -> None:
        assert self.intervals is not None
        self.intervals.refresh(self.model)
        if self.recorder is not None:
            self.recorder.take(self.model, self.totals, self.intervals.region)
        self.next_reading = next_reading(self.learned, self.model.n_features_in_)

    def result(self, seconds: float, stopped: int | None = None) -> Fit:
        """What came of it."""
        history = None
        if self.recorder is not None:
            if self.recorder.latest < self.learned:
                assert self.intervals is not None
                self.intervals.refresh(self.model)
                self.recorder.take(self.model, self.totals, self.intervals.region)
            constant = ["(intercept)"] if self.model.fit_intercept else []
            history = self.recorder.history([*constant, *known_names(self.model)])
        return Fit(
            self.model,
            name_files(self.rows.files),
            self.rows.recipe.target,
            self.known,
            self.rows.read,
            scores(self.totals),
            dict(self.rows.skipped),
            dict(self.rows.filled),
            seconds,
            history,
            self.rows.notes,
            stopped,
        )

    # Checkpoints

    def checkpoint(self, path: Path, about: dict[str, Any]) -> None:
        """Write down everything that is needed to go on."""
        settings: dict[str, Any] = about | {
            "position": self.rows.position(self.rows.read).to_record(),
            "skipped": dict(self.rows.skipped),
            "filled": dict(self.rows.filled),
            "next_reading": self.next_reading,
            "spooled": self.predictions.settle() if isinstance(self.predictions, Spool) else 0,
        }
        arrays = {"pass": self.totals}
        models = {"model": self.model}
        if self.intervals is not None and self.intervals.model is not None:
            models["sets"] = self.intervals.model
        if self.recorder is not None:
            settings["recorder"], more = self.recorder.to_record()
            arrays |= more
        checkpoints.write(path, checkpoints.Checkpoint(settings, arrays, models))

    def restore(self, earlier: checkpoints.Checkpoint) -> int:
        """Go on from a checkpoint; how many bytes of the predictions it knows of."""
        self.totals = earlier.arrays["pass"].copy()
        self.rows.skipped.update(earlier.settings["skipped"])
        self.rows.filled.update(earlier.settings["filled"])
        self.next_reading = earlier.settings["next_reading"]
        if self.intervals is not None and "sets" in earlier.models:
            self.intervals.refresh(earlier.models["sets"])
        if self.recorder is not None:
            self.recorder.restore(earlier.settings["recorder"], earlier.arrays)
        return int(earlier.settings["spooled"])
