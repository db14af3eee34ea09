"""What is carried from block to block of a pass: each row is predicted, learned, scored and written down."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onward.confidence import DELTAS, Change, ChangeAlarm
from onward.core.checks import not_negative, whole
from onward.core.inference import PLAIN, Inference
from onward.core.interrupts import interrupts_deferred
from onward.core.known import Known, Method
from onward.core.types import Matrix, Vector
from onward.progressive import checkpoints
from onward.progressive.changes import OnChange, forget
from onward.progressive.checkpoint_checks import checked_counts
from onward.progressive.coefficient_intervals import coefficient_columns, known_names
from onward.progressive.contrasts import MOST_COLUMNS, contrast_frame, find_contrasts
from onward.progressive.frame_writers import Write
from onward.progressive.prediction_files import COLUMNS, PredictionFile, Spool, prediction_frame, with_kept
from onward.progressive.recorder import Recorder
from onward.progressive.results import Fit, Scores
from onward.progressive.running_scores import MEAN, ROWS, SQUARED, WEIGHT, count_all, new_totals, scores
from onward.progressive.schedule import next_power, next_reading
from onward.progressive.target_intervals import Intervals, calibration_of
from onward.regression import OnlineRegressor
from onward.tables import Block, DataError, Stream
from onward.tables.sources import name_files

FIRST_LOOK = 64  # rows after which the features' scale is fixed, in intervals for coefficients
_ALARM = "alarm "  # before the names of its arrays in a checkpoint


def fix_scales(model: OnlineRegressor, known: Known, inference: Inference) -> None:
    """Fix the features' scale in intervals for coefficients and contrasts, as far as they are known by now.

    A pass does so at row 64 and, for what was not known then, wherever the rows have doubled, and at its end: so that
    a file, a stream of its rows, and a pass over the file when it has grown have the same scale.
    """
    if model._has_contrasts and model.n_seen_:
        if len(model._coordinate_names()) <= MOST_COLUMNS:
            model.note_scales(inference.tuned_for)
        find_contrasts(model, known, inference)


@dataclass(frozen=True)
class Progress:
    """How far a pass is. `mark` tells that the number of rows is a power of two.

    Attributes:
        scores: so far.
        read: rows so far.
        done: bytes so far, about.
        size: bytes in all; None for standard input.
        target, prediction: of the latest row.

    Example:
        >>> import polars as pl
        >>> from onward import fit
        >>> seen = []
        >>> data = pl.DataFrame({"x": [float(i) for i in range(100)], "y": [2.0 * i for i in range(100)]})
        >>> done = fit(data, "y", watch=lambda progress: seen.append(progress.read))
        >>> seen[-1]
        100
    """

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
        method: Method = "conformal",
        on_change: OnChange = "ignore",
        inference: Inference = PLAIN,
    ) -> None:
        """`predicts`: intervals are wanted for each row; `before`: rows of the data before the stream's first."""
        self.inference = inference
        self.model, self.rows, self.known = model, rows, known
        self.totals = new_totals()
        self.with_scores = with_scores
        if not with_scores:
            self.totals[SQUARED:] = np.nan
        self.predictions: PredictionFile | None = None
        self.follow: Write | None = None
        self.before = before
        self.reached = 0  # rows of the stream until the latest that was learned
        deltas = sorted({known.delta, *(DELTAS if history else ())}, reverse=True)
        self.own = deltas.index(known.delta)
        self.recorder = Recorder(deltas) if history else None
        self.method: Method = method if model._has_sets else "conformal"
        # The model is calibrated whatever is asked for here, so that intervals can be asked of it later.
        self.records = predicts or history
        self.calibration = calibration_of(model, deltas) if with_scores or self.records else None
        self.places = None if self.calibration is None else [self.calibration.place(delta) for delta in deltas]
        self.intervals: Intervals | None = None
        if history or (predicts and self.method != "conformal"):
            self.intervals = Intervals(deltas, known, None if self.method == "conformal" else self.method)
        self.next_reading = 1
        self.on_change = on_change
        self.alarm = None if on_change == "ignore" else ChangeAlarm(known.delta)
        self.forgotten, self.forgotten_weight = 0, 0.0  # rows that were learned, and Σ w, before the latest restart

    @property
    def learned(self) -> int:
        """Rows that were learned."""
        return int(self.totals[ROWS])

    @property
    def changes(self) -> list[Change]:
        """The changes that were noticed."""
        return [] if self.alarm is None else self.alarm.changes_

    def learn(self, block: Block, watch: Watch | None) -> None:
        """Predict and learn a block's rows; DataError if a target is outside of the bounds that are known."""
        self._check_bounds(block)
        start, n = 0, block.shape[0]
        while start < n:
            # Cut where something is to be read off, so that it does not depend on how the rows were batched.
            until = next_power(self.learned)
            if self.intervals is not None:
                until = min(until, self.next_reading)
            stop = min(n, start + until - self.learned)
            with interrupts_deferred():
                part, change = self._until_change(block if (start, stop) == (0, n) else block.part(start, stop))
                last = self._learn_part(part)
                if change is not None and self.on_change == "restart":
                    self._restart(part)
            stop = start + part.shape[0]
            mark = self.learned & (self.learned - 1) == 0
            if mark and self.learned >= FIRST_LOOK:
                fix_scales(self.model, self.known, self.inference)
            if watch is not None and (mark or stop == n):
                watch(Progress(scores(self.totals), self.rows.read, self.rows.done, self.rows.size, mark, *last))
            start = stop
        if self.follow is not None and self.inference.contrasts:
            with self._frozen_scales():
                found = find_contrasts(self.model, self.known, self.inference)
            self.follow(contrast_frame(found, self.before + block.stop))

    def _check_bounds(self, block: Block) -> None:
        if self.known.bounds is not None:
            assert block.y is not None
            low, high = self.known.bounds
            outside = np.flatnonzero((block.y < low) | (block.y > high))
            if len(outside):
                row, y = self.before + int(block.rows[outside[0]]) + 1, block.y[outside[0]]
                raise DataError(f"row {row:,} of the data: expected a target within [{low:g}, {high:g}], got {y:g}")
            heavy = np.flatnonzero(block.weight > 1)
            if len(heavy):  # it counts as one whose noise is smaller, which bounds say nothing of
                row, w = self.before + int(block.rows[heavy[0]]) + 1, block.weight[heavy[0]]
                raise DataError(f"row {row:,} of the data: expected weights up to 1 beside bounds, got {w:g}")

    def _until_change(self, part: Block) -> tuple[Block, Change | None]:
        """The rows until a change is noticed, that one included; or all of them."""
        if self.alarm is None:
            return part, None
        assert part.y is not None
        rows = (part.rows + (self.before + 1)).astype(np.float64)
        taken, change = self.alarm.learn_until_change(part.X, part.y, part.weight, rows)
        return (part if taken == part.shape[0] else part.part(0, taken)), change

    def _restart(self, part: Block) -> None:
        """Forget all that was learned but the row that gave the alarm, or the next prediction would be 0.

        What comes of intervals and readings is as at the beginning.
        """
        latest = part.part(part.shape[0] - 1, part.shape[0])
        assert latest.y is not None
        forget(self.model, part.names)
        times = None if self.model.half_life is None else latest.times
        self.model.learn_block(latest.X, latest.y, latest.weight, latest.names, times)
        self.forgotten = self.learned - 1
        self.forgotten_weight = float(self.totals[WEIGHT]) - float(latest.weight[0])
        if self.intervals is not None:
            self.intervals.forget()
            self.next_reading = self.learned + 1

    def _learn_part(self, part: Block) -> tuple[float, float]:
        assert part.y is not None
        times = None if self.model.half_life is None else part.times
        try:
            block = part.X, part.y, part.weight, part.names
            predictions, leverage = self.model.learn_block(*block, times, part.squares)
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
        ends = self._track(part, part.y, predictions, leverage)
        if self.records:
            self._record(part, part.y, predictions, leverage, ends)
        return float(part.y[-1]), float(predictions[-1])

    def _track(self, part: Block, y: Vector, predictions: Vector, leverage: Vector) -> Matrix:
        """Intervals (δ, n, 2) as of before the rows were learned; the calibration then learns their errors."""
        ends: Matrix = np.empty((0, 0, 0))
        if self.calibration is not None:
            calibrated = self.calibration.track_block(predictions, leverage, y, part.weight)
            if self.records and self.method == "conformal":
                ends = np.stack([each.T[self.places] for each in calibrated], axis=-1)
        if self.records and self.method != "conformal":
            assert self.intervals is not None
            ends = self.intervals.ends(part.X, part.weight)  # of a state from before them
        return ends

    def _record(self, part: Block, y: Vector, predictions: Vector, leverage: Vector, ends: Matrix) -> None:
        columns = (y, predictions, ends[self.own, :, 0], ends[self.own, :, 1], leverage)
        if self.predictions is not None or self.follow is not None:
            frame = prediction_frame(part.rows + (self.before + 1), *columns)
            frame = with_kept(frame, part.kept, self.before + part.first + 1)
            if self.predictions is not None:
                self.predictions.write(frame)
            if self.follow is not None and not self.inference.contrasts:
                self.follow(frame.drop_nulls("prediction"))
        if self.recorder is not None:
            self.recorder.count_misses(y, ends)
            self.recorder.sample.add(np.column_stack([part.rows, *columns]))
            self.recorder.course.add(part.rows, y, predictions, ends)
        if self.intervals is not None and self.learned >= self.next_reading:
            self._read_off(self.intervals)

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

    def _read_off(self, intervals: Intervals) -> None:
        intervals.refresh(self.model)
        width = self.model.n_features_in_
        # After a restart intervals are soon made anew, but readings are no denser than without one.
        anew = self.recorder is not None and self.forgotten > 0
        if self.recorder is not None and not (anew and self.learned < next_reading(self.recorder.latest, width)):
            self.recorder.take(self.model, self.totals, self._columns())
        own = self.learned - self.forgotten
        self.next_reading = self.forgotten + next_reading(own, width)

    def _columns(self) -> dict[str, Any]:
        if self.known.sigma is None and self.model._has_contrasts and not len(self.model._anchors()):
            return {}  # no interval has a scale yet, and each is open: of many columns that is dear to find out
        with self._frozen_scales():
            return coefficient_columns(self.model, self.known, self.inference)

    @contextmanager
    def _frozen_scales(self) -> Generator[None]:
        """A look that fixes no scale: where a block ends, or a reading is taken, must not matter."""
        anchors = self.model._anchors()
        anchors.frozen = True
        try:
            yield
        finally:
            anchors.frozen = False

    def result(self, seconds: float, stopped: int | None = None) -> Fit:
        """What came of it."""
        history = None
        if self.recorder is not None:
            if self.recorder.latest < self.learned:
                self.recorder.take(self.model, self.totals, self._columns())
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
            self.method,
            None if self.alarm is None else tuple(self.changes),
            self.on_change,
            self.forgotten_weight,
            self.inference,
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
        if self.alarm is not None:
            settings["alarm"], own = self.alarm.to_record()
            settings["forgotten"] = [self.forgotten, self.forgotten_weight]
            arrays |= {f"{_ALARM}{name}": array for name, array in own.items()}
        models = {"model": self.model}
        if self.intervals is not None and self.intervals.model is not None:
            models["sets"] = self.intervals.model
        if self.recorder is not None:
            settings["recorder"], more = self.recorder.to_record()
            arrays |= more
        checkpoints.write(path, checkpoints.Checkpoint(settings, arrays, models))

    def restore(self, earlier: checkpoints.Checkpoint) -> int:
        """Go on from a checkpoint; how many bytes of the predictions it knows of."""
        totals = earlier.arrays["pass"]
        fits = totals.shape == self.totals.shape and np.array_equal(np.isnan(totals), np.isnan(self.totals))
        if not fits or np.isinf(totals).any() or (totals[:MEAN] < 0).any() or totals[ROWS] % 1:
            raise ValueError(f"totals of a pass must be {len(self.totals)} numbers, not negative, got {totals}")
        self.totals = totals.copy()
        self.rows.skipped.update(checked_counts("skipped", earlier.settings["skipped"]))
        self.rows.filled.update(checked_counts("filled", earlier.settings["filled"]))
        self.next_reading = whole("next_reading", earlier.settings["next_reading"], 0)
        if self.alarm is not None:
            own = {name.removeprefix(_ALARM): each for name, each in earlier.arrays.items() if name.startswith(_ALARM)}
            self.alarm = ChangeAlarm.from_record(earlier.settings["alarm"], own)
            rows, weight = earlier.settings["forgotten"]
            self.forgotten, self.forgotten_weight = whole("forgotten", rows, 0), not_negative("forgotten", weight)
        if self.intervals is not None and "sets" in earlier.models:
            self.intervals.refresh(earlier.models["sets"])
        if self.recorder is not None:
            self.recorder.restore(earlier.settings["recorder"], earlier.arrays)
        return whole("spooled", earlier.settings["spooled"], 0)
