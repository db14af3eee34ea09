"""One pass over the data: predict each row, then learn it. With checkpoints, it can be stopped at any moment."""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from onward.core.checks import whole
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Vector
from onward.progressive import checkpoints
from onward.progressive.intervals import Intervals, Noise, check_noise
from onward.progressive.marks import next_power, next_reading
from onward.progressive.outputs import check_outputs
from onward.progressive.predictions import Spool, check_name
from onward.progressive.readings import Readings
from onward.progressive.results import Fit, Scores
from onward.progressive.tally import ROWS, WEIGHT, count_all, new_totals, scores
from onward.regression import ForwardRegressor, OnlineRegressor, RidgeRegressor
from onward.tables import Block, DataError, Position, Stream, stream
from onward.tables.recipe import Missing
from onward.tables.sources import Format, Source

LEVELS = (0.5, 0.2, 0.1, 0.05, 0.01)  # at which a report judges the intervals


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
    target: str,
    *,
    learner: Literal["forward", "ridge"] = "forward",
    lam: float = 1.0,
    fit_intercept: bool = True,
    start: OnlineRegressor | None = None,
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    categorical: Sequence[str] = (),
    weight: str | None = None,
    missing: Missing = "error",
    na: Sequence[str] = (),
    format: Format | None = None,
    separator: str | None = None,
    max_levels: int = 1000,
    delta: float = 0.05,
    sigma: float | None = None,
    theta_bound: float | None = None,
    save: str | os.PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
    predictions: str | os.PathLike[str] | None = None,
    history: bool = False,
    watch: Watch | None = None,
) -> Fit:
    """Learn the rows of files in order, predicting each before its target is seen.

    Args:
        source, target, features, exclude, categorical, weight, missing, na, format, separator, max_levels: what to
            read, as `onward.tables.stream` takes it.
        learner, lam, fit_intercept: the model.
        start: a model to go on with, instead of a new one; it is changed. Its own settings hold.
        delta, sigma, theta_bound: for intervals, as `confidence_set` takes them.
        save: where to write the model in the end.
        checkpoint_every: rows after which a checkpoint is written beside `save`, when the next few megabytes are done.
        resume: go on from that checkpoint, if there is one; the result is the same, to the last bit, as without a stop.
        predictions: a Parquet file for row, target, prediction, lower, upper and leverage of each row. The interval
            is for the target and holds with probability 1 − delta for each row.
        history: keep readings along the way, for a report.
        watch: called now and then with how far it is.

    Raises:
        DataError: if the data cannot be read; nothing is saved then, and what was saved before stays.
    """
    begun = time.perf_counter()
    check_noise(delta, sigma, theta_bound)
    if checkpoint_every is not None:
        whole("checkpoint_every", checkpoint_every)
    if (checkpoint_every is not None or resume) and save is None:
        raise ValueError("checkpoints lie beside the saved model: expected save, too")
    check_outputs(source, {"save": save, "predictions": predictions}, format)
    if predictions is not None:
        check_name(predictions)
    noise = Noise(sigma, theta_bound)
    place = None if save is None else checkpoints.beside(Path(save))
    earlier = checkpoints.read(place) if resume and place is not None and place.exists() else None

    model = new_model(learner, lam, fit_intercept) if start is None else start
    if model.recipe_ is not None and model.recipe_.target != target:
        raise DataError(f"the model was made to predict {model.recipe_.target!r}, not {target!r}")
    asked = {
        "learner": learner,
        "lam": lam,
        "fit_intercept": fit_intercept,
        "target": target,
        "features": None if features is None else list(features),
        "exclude": list(exclude),
        "categorical": list(categorical),
        "weight": weight,
        "missing": missing,
        "na": list(na),
        "separator": separator,
        "delta": delta,
        "sigma": sigma,
        "theta_bound": theta_bound,
        "predictions": None if predictions is None else str(predictions),
        "history": history,
    }
    started = None if start is None else digest_of(start)
    recipe, known, position = model.recipe_, names_of(model), None
    if earlier is not None:
        model = earlier.models["model"]
        recipe, known = model.recipe_, names_of(model)
        position = Position.from_record(earlier.settings["position"])
    opened = stream(
        source,
        target,
        features=features,
        exclude=exclude,
        categorical=categorical,
        weight=weight,
        missing=missing,
        na=na,
        format=format,
        separator=separator,
        max_levels=max_levels,
        recipe=recipe,
        known=known,
        start=position,
    )
    with opened as rows, ExitStack() as stack:
        model.recipe_ = rows.recipe
        about = {
            "settings": asked | {"started from": started},
            "files": checkpoints.described(rows.files),
        }
        work = Pass(model, rows, delta, noise, predictions is not None, history)
        keep = 0
        if earlier is not None and place is not None:
            _check_same(place, earlier.settings, about, rows)
            keep = work.restore(earlier)
        if predictions is not None:
            work.spool = Spool(predictions, keep)
            stack.callback(work.spool.close if checkpoint_every is not None or resume else work.spool.discard)
        every, due = checkpoint_every, work.learned + (checkpoint_every or 0)
        try:
            for block in rows:
                work.learn(block, watch)
                if every is not None and place is not None and work.learned >= due and block.stop == rows.read:
                    with interrupts_deferred():
                        work.checkpoint(place, about)
                    due = work.learned + every
        except KeyboardInterrupt:
            if rows.size is not None:  # a file can be gone on with; a stream is over when its reader says so
                raise
        if work.learned == 0:
            raise DataError(nothing_learned(rows))
        check_weight(work.totals, rows)
        result = work.result(time.perf_counter() - begun)
        if work.spool is not None:
            work.spool.finish(rows.read)
        if save is not None:
            model.save(save)
        if place is not None:
            checkpoints.remove(place)
        if work.spool is not None:  # last of all: as long as there is a checkpoint, it may be needed
            work.spool.discard()
    return result


def new_model(learner: Literal["forward", "ridge"], lam: float, fit_intercept: bool) -> OnlineRegressor:
    """A model that has learned nothing; ValueError if there can be none such."""
    model = (ForwardRegressor if learner == "forward" else RidgeRegressor)(lam, fit_intercept=fit_intercept)
    model._check_settings()
    return model


class Pass:
    """What is carried from block to block."""

    def __init__(
        self, model: OnlineRegressor, rows: Stream, delta: float, noise: Noise, predicts: bool, history: bool
    ) -> None:
        self.model, self.rows = model, rows
        self.delta, self.noise = delta, noise
        self.totals = new_totals()
        self.spool: Spool | None = None
        levels = sorted({delta, *(LEVELS if history else ())}, reverse=True)
        self.own = levels.index(delta)
        self.readings = Readings(levels) if history else None
        self.intervals = Intervals(levels, noise) if predicts or history else None
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
                last = self._learn_part(block.part(start, stop))
            if watch is not None:
                mark = self.learned & (self.learned - 1) == 0
                if mark or stop == n:
                    watch(Progress(scores(self.totals), self.rows.read, self.rows.done, self.rows.size, mark, *last))
            start = stop

    def _learn_part(self, part: Block) -> tuple[float, float]:
        assert part.y is not None
        ends = None if self.intervals is None else self.intervals.ends(part.X, part.weight)
        try:
            predictions, leverage = self.model.learn_many(part, part.y, part.weight, return_leverage=True)
        except ValueError as error:
            raise DataError(f"rows {part.rows[0] + 1:,} to {part.rows[-1] + 1:,} of the data: {error}") from error
        count_all(predictions, part.y, part.weight, self.totals)
        if ends is not None:
            self._note(part, part.y, predictions, leverage, ends)
        return float(part.y[-1]), float(predictions[-1])

    def _note(self, part: Block, y: Vector, predictions: Vector, leverage: Vector, ends: Any) -> None:
        assert self.intervals is not None
        columns = np.column_stack([y, predictions, ends[self.own], leverage])
        if self.spool is not None:
            self.spool.write(part.rows.astype(np.float64), columns)
        if self.readings is not None:
            self.readings.judge(y, ends)
            self.readings.sample.add(np.column_stack([part.rows, columns]))
        if self.learned >= self.next_reading:
            self._read_off()

    def _read_off(self) -> None:
        assert self.intervals is not None
        self.intervals.refresh(self.model)
        if self.readings is not None:
            self.readings.take(self.model, self.totals, self.delta, self.noise)
        self.next_reading = next_reading(self.learned, self.model.n_features_in_)

    def result(self, seconds: float) -> Fit:
        """What came of it."""
        history = None
        if self.readings is not None:
            if self.readings.latest < self.learned:
                self.readings.take(self.model, self.totals, self.delta, self.noise)
            constant = ["(intercept)"] if self.model.fit_intercept else []
            history = self.readings.history([*constant, *names_of(self.model)])
        return Fit(
            self.model,
            called(self.rows),
            self.rows.recipe.target,
            self.delta,
            self.noise.sigma,
            self.noise.theta_bound,
            self.rows.read,
            scores(self.totals),
            dict(self.rows.skipped),
            dict(self.rows.filled),
            seconds,
            history,
        )

    # Checkpoints

    def checkpoint(self, path: Path, about: dict[str, Any]) -> None:
        """Write down everything that is needed to go on."""
        settings: dict[str, Any] = about | {
            "position": self.rows.position(self.rows.read).to_record(),
            "skipped": dict(self.rows.skipped),
            "filled": dict(self.rows.filled),
            "next_reading": self.next_reading,
            "spooled": 0 if self.spool is None else self.spool.settle(),
        }
        arrays = {"pass": self.totals}
        models = {"model": self.model}
        if self.intervals is not None and self.intervals.model is not None:
            models["sets"] = self.intervals.model
        if self.readings is not None:
            settings["readings"], more = self.readings.to_record()
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
        if self.readings is not None:
            self.readings.restore(earlier.settings["readings"], earlier.arrays)
        return int(earlier.settings["spooled"])


def _check_same(place: Path, before: Any, about: dict[str, Any], rows: Stream) -> None:
    for name, value in about["settings"].items():
        if before["settings"][name] != value:
            raise ValueError(
                f"{place}: cannot go on with other settings: {name} was {before['settings'][name]!r}, "
                f"now it is {value!r}; start without resuming"
            )
    difference = checkpoints.changed(before["files"], rows.files)
    if difference is not None:
        raise ValueError(f"{place}: cannot go on with other data: {difference}; start without resuming")


def names_of(model: OnlineRegressor) -> list[str]:
    """The names of a model's features, none before it has learned anything."""
    return [str(name) for name in model.feature_names_in_] if model.__sklearn_is_fitted__() else []


def called(rows: Stream) -> str:
    """What is read, as a person would name it."""
    files = rows.files
    return files[0].name if len(files) == 1 else f"{files[0].name} … {files[-1].name} ({len(files)} files)"


def digest_of(model: OnlineRegressor) -> str:
    """What a model knows, in a few letters."""
    _, arrays = model.to_record() if model.__sklearn_is_fitted__() else model.parameters_to_record()
    if not arrays:
        return "nothing"
    return hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()[:16]


def check_weight(totals: Vector, rows: Stream) -> None:
    """DataError if no row had a weight, so that there is nothing to score."""
    if not totals[WEIGHT] > 0:
        raise DataError(f"{called(rows)}: every row has weight 0, so nothing was learned")


def nothing_learned(rows: Stream) -> str:
    """Why no row could be learned."""
    if rows.read == 0:
        return f"{called(rows)}: there are no rows"
    reasons = ", ".join(f"{count:,} where {reason}" for reason, count in rows.skipped.items())
    return f"{called(rows)}: none of the {rows.read:,} rows could be learned: {reasons}"
