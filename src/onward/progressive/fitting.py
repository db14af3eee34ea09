"""One pass over the data: predict each row, then learn it. A stream that is stopped is saved."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from onward.core.interrupts import interrupts_deferred
from onward.core.known import Known
from onward.core.stopping import StoppedError, StopSignals
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.progressive import checkpoints
from onward.progressive.frame_writers import Write
from onward.progressive.outputs import Outputs, check_outputs, is_folder
from onward.progressive.prediction_files import COLUMNS, DirectFile, PredictionFile, Spool, prediction_frame, with_kept
from onward.progressive.recorder import Recorder
from onward.progressive.results import Fit, Scores, known_names
from onward.progressive.running_scores import ROWS, SQUARED, WEIGHT, count_all, new_totals, scores
from onward.progressive.schedule import Alarm, Every, next_power, next_reading
from onward.progressive.target_intervals import Intervals
from onward.regression import ForwardRegressor, OnlineRegressor
from onward.tables import Block, DataError, Position, Stream, Table, stream
from onward.tables.sources import Source, find_files, name_files
from onward.tables.table import as_table

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


def fit(
    source: Source | Sequence[Source],
    table: Table | str,
    model: OnlineRegressor | None = None,
    *,
    known: Known | None = None,
    with_scores: bool = True,
    history: bool = False,
    watch: Watch | None = None,
    **outputs: Unpack[Outputs],
) -> Fit:
    """Learn the rows of files in order, predicting each before its target is seen.

    Args:
        source: what to read, as `onward.tables.stream` takes it.
        table: which columns are used, and how the files are written; or the name of the target alone.
        model: what learns; None for the forward algorithm at its defaults. It is changed. One that has learned from a
            table goes on as it has read that one: of this one it takes the target and how files are written.
        known: what is known of the noise and of θ*, for intervals.
        with_scores: False to learn only, without online scores.
        history: record readings along the way, for a report.
        watch: called now and then with how far it is.
        outputs: what is written, and where: see `Outputs`.

    Standard input and named pipes are read as rows arrive. There Ctrl-C, SIGTERM, SIGHUP, the end of the pipe and a row
    that cannot be read are an end: all that was read before is learned and saved (`Fit.stopped` has the signal).

    Raises:
        DataError: if the data cannot be read. Of files, nothing is saved then, and what was saved before stays.
    """
    begun = time.perf_counter()
    table, known = as_table(table), known or Known()
    if table.target is None:
        raise ValueError("expected a table with a target, got none")
    check_outputs(source, table.format, outputs)
    if outputs.get("predictions") is not None and is_folder(outputs["predictions"] or ""):
        raise ValueError("one pass writes its predictions to one file: expected a name that does not end in /")
    model = ForwardRegressor() if model is None else model
    model._check_settings()
    check_target_of(model, table)
    files = find_files(source, table.format)
    save = outputs.get("save")
    place = None if save is None else checkpoints.beside(Path(save))
    earlier = checkpoints.read(place) if outputs.get("resume") and place is not None and place.exists() else None
    about = {
        "settings": {
            "table": {name: value for name, value in vars(table).items() if name != "max_levels"},
            "model": [type(model).__name__, repr(model.get_params(deep=False))],
            "known": vars(known),
            "predictions": None if outputs.get("predictions") is None else str(outputs["predictions"]),
            "history": history,
            "scores": with_scores,
            "started from": checkpoints.digest_of(model),
        },
        "files": checkpoints.described(files),
    }
    position = None
    if earlier is not None and place is not None:
        checkpoints.check_same(place, earlier.settings, about, files)
        model, position = earlier.models["model"], Position.from_record(earlier.settings["position"])
    with ExitStack() as stack:
        live = any(file.comes_once for file in files)
        stop = stack.enter_context(StopSignals()) if live else None
        if live:
            _warm_up(model, known, predicts=_predicts(outputs))
        try:
            opened = Stream(
                files,
                table,
                recipe=model.recipe_,
                known=known_names(model),
                start=position,
                stop=None if stop is None else stop.descriptor,
            )
        except DataError as error:
            if stop is not None and stop.number is not None:
                raise StoppedError(stop.number) from error
            raise
        rows = stack.enter_context(opened)
        model.recipe_ = rows.recipe
        work = Pass(model, rows, known, with_scores=with_scores, predicts=_predicts(outputs), history=history)
        work.follow = outputs.get("follow")
        spooled = work.restore(earlier) if earlier is not None else 0
        work.predictions = _open_predictions(outputs, spooled, stack)
        saving = _Saving(work, outputs, place, about)
        try:
            for block in rows.blocks(saving.wait):
                if block is not None:
                    work.learn(block, watch)
                    model.recipe_ = rows.recipe
                saving.after(block)
            model.recipe_ = rows.recipe  # which has seen rows that were skipped after the latest block
        except Exception:
            if live and work.learned:  # the rows are gone from where they came: what was learned must not be
                with interrupts_deferred():
                    saving.save()
            raise
        with interrupts_deferred():
            if not work.totals[WEIGHT] > 0:
                if stop is not None and stop.number is not None:
                    raise StoppedError(stop.number)
                raise DataError(nothing_learned(files, rows.read, rows.skipped))
            result = work.result(time.perf_counter() - begun, None if stop is None else stop.number)
            saving.finish()
    return result


def _warm_up(model: OnlineRegressor, known: Known, *, predicts: bool) -> None:
    """Load, or compile, what the first row needs before it comes, so that it waits no longer than any other.

    Made-up rows are learned by a new model of the same kind: few features and many, which compiled code tells apart.
    """
    for width in (2, 20):
        columns = {f"x{j}": [str((row * 7 + j * 3) % 5) for row in range(12)] for j in range(width)}
        text = pl.DataFrame({**columns, "level": ["a", "b"] * 6, "y": ["1", "2"] * 6}).write_csv()
        read = pl.read_csv(text.encode())  # the parser is loaded, too
        with stream(read, Table("y", categorical=("level",))) as rows:
            work = Pass(type(model)(), rows, known, predicts=predicts)
            for block in rows:
                work.learn(block, None)


def check_target_of(model: OnlineRegressor, table: Table) -> None:
    """DataError if the model was made for another target."""
    if model.recipe_ is not None and model.recipe_.target != table.target:
        raise DataError(f"the model was made to predict {model.recipe_.target!r}, not {table.target!r}")


def _predicts(outputs: Outputs) -> bool:
    return outputs.get("predictions") is not None or outputs.get("follow") is not None


def _open_predictions(outputs: Outputs, spooled: int, stack: ExitStack) -> PredictionFile | None:
    """Where predictions go: straight to their file, or aside first where the pass can be resumed."""
    path = outputs.get("predictions")
    if path is None:
        return None
    resumable = outputs.get("checkpoint_every") is not None or outputs.get("resume")
    made: PredictionFile = Spool(path, spooled) if resumable else DirectFile(path)
    stack.callback(made.close)
    return made


class _Saving:
    """What is written along a pass, and at its end."""

    def __init__(self, work: "Pass", outputs: Outputs, place: Path | None, about: dict[str, Any]) -> None:
        self._work, self._save, self._place, self._about = work, outputs.get("save"), place, about
        self._model_due = Alarm(Every.parse("save_every", outputs.get("save_every")), work.learned)
        self._checkpoint_due = Alarm(Every.parse("checkpoint_every", outputs.get("checkpoint_every")), work.learned)

    def wait(self) -> float | None:
        """Seconds after which something may have to be saved, if no row comes; None if nothing will."""
        return self._model_due.left

    def after(self, block: Block | None) -> None:
        """Save what is due after a block, or after none came for a while."""
        work = self._work
        if self._model_due.is_due(work.learned):
            with interrupts_deferred():
                self.save()
            self._model_due.reset(work.learned)
        at_end = block is not None and block.stop == work.rows.read  # of a piece: from there a file can be read on
        if at_end and self._place is not None and self._checkpoint_due.is_due(work.learned):
            with interrupts_deferred():
                work.checkpoint(self._place, self._about)
            self._checkpoint_due.reset(work.learned)

    def save(self) -> None:
        """Write the model, if it has a place."""
        if self._save is not None:
            self._work.model.save(self._save)

    def finish(self) -> None:
        """Write everything; what is only needed to go on goes last of all."""
        predictions = self._work.predictions
        self._work.finish_predictions()
        self.save()
        if self._place is not None:
            checkpoints.remove(self._place)
        if isinstance(predictions, Spool):
            predictions.discard()


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
        levels = sorted({known.delta, *(LEVELS if history else ())}, reverse=True)
        self.own = levels.index(known.delta)
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
        try:
            predictions, leverage = self.model.learn_block(part.X, part.y, part.weight, part.names)
        except ValueError as error:
            raise DataError(f"rows {part.rows[0] + 1:,} to {part.rows[-1] + 1:,} of the data: {error}") from error
        if self.with_scores:
            count_all(predictions, part.y, part.weight, self.totals)
        else:
            self.totals[ROWS] += len(part.y)
            self.totals[WEIGHT] += part.weight.sum()
        if ends is not None:
            self._record(part, part.y, predictions, leverage, ends)
        return float(part.y[-1]), float(predictions[-1])

    def _record(self, part: Block, y: Vector, predictions: Vector, leverage: Vector, ends: Matrix) -> None:
        columns = (y, predictions, ends[self.own, :, 0], ends[self.own, :, 1], leverage)
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

    def finish_predictions(self) -> None:
        """All rows are predicted: those that were skipped last are written down, too."""
        if self.predictions is None:
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


def nothing_learned(files: Sequence[Any], read: int, skipped: dict[str, int], done: str = "learned") -> str:
    """Why no row could be learned, or whatever else should be done with it."""
    name = name_files(files)
    if read == 0:
        return f"{name}: there are no rows"
    if sum(skipped.values()) < read:
        return f"{name}: every row has weight 0, so nothing was {done}"
    reasons = ", ".join(f"{count:,} where {reason}" for reason, count in skipped.items())
    return f"{name}: none of the {counted(read, 'row')} could be {done}: {reasons}"
