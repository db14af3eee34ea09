"""One pass over the data: predict each row, then learn it. A stream that is stopped is saved."""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from onward import storage
from onward.core.inference import PLAIN, Inference
from onward.core.interrupts import interrupts_deferred
from onward.core.known import Known, Method
from onward.core.stopping import StoppedError, StopSignals
from onward.core.words import counted
from onward.progressive import checkpoints
from onward.progressive.changes import OnChange, checked_on_change, describe_changes
from onward.progressive.coefficient_intervals import known_names
from onward.progressive.contrasts import check_contrasts, with_contrast_terms
from onward.progressive.learning_pass import Pass, Watch, fix_scales
from onward.progressive.outputs import Outputs, check_outputs, is_folder
from onward.progressive.prediction_files import DirectFile, PredictionFile, Spool
from onward.progressive.results import Fit
from onward.progressive.running_scores import WEIGHT
from onward.progressive.schedule import Alarm, Every
from onward.progressive.target_intervals import checked_method
from onward.regression import AutoRegressor, OnlineRegressor
from onward.regression.half_life import AUTO_BY_ROWS, memory_of
from onward.tables import Block, DataError, Position, Stream, Table, stream
from onward.tables.sources import Source, find_files, name_files
from onward.tables.table import as_table


def fit(
    source: Source | Sequence[Source],
    table: Table | str,
    model: OnlineRegressor | None = None,
    *,
    known: Known | None = None,
    intervals: Method = "conformal",
    inference: Inference = PLAIN,
    with_scores: bool = True,
    history: bool = False,
    on_change: OnChange = "warn",
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda remark: None,
    **outputs: Unpack[Outputs],
) -> Fit:
    """Learn the rows of files in order, predicting each before its target is seen.

    Args:
        source: what to read, as `onward.tables.stream` takes it.
        table: which columns are used, and how the files are written; or the name of the target alone.
        model: what learns; None for `AutoRegressor()`, with nothing to choose. It is changed. One that has learned from
            a table goes on as it has read that one: of this one it takes the target and how files are written.
        known: what is known of the noise and of θ*, for intervals.
        intervals: how those for targets are made: `conformal`, `t` or `uniform`, see `onward.core.known.Method`.
            Whatever it is, the model is calibrated on the way, so that it can give `conformal` ones later.
        inference: contrasts that are asked for, and how intervals for coefficients are made. The features' scale in
            them is fixed at the end; or, if one can look on the way (a stream, `follow`, `save_every`, `history`), from
            64 rows on. Contrasts are what `follow` then gets, after every few rows.
        with_scores: False to learn only, without online scores and calibration.
        history: record readings along the way, for a report.
        on_change: what to do when the relation of the features to the target changes, as `ChangeAlarm` sees it at the
            δ of what is known: "warn", as `Fit.changes` says and, of a stream, a remark; "restart", so that the model
            also forgets everything and goes on with the next row; "ignore", nobody looks.
        watch: called now and then with how far it is.
        tell: called with remarks for a person as they arise: rows that are skipped as they cannot be read, what many
            levels cost, a save that failed on the way (`Fit.notes` has those on the data); of a stream, changes.
        outputs: what is written, and where: see `Outputs`.

    Standard input and named pipes are read as rows arrive. There Ctrl-C, SIGTERM, SIGHUP, the end of the pipe and a row
    that cannot be read are an end: all that was read before is learned and saved (`Fit.stopped` has the signal).

    Returns:
        The model, with how it did while it learned.

    Raises:
        DataError: if the data cannot be read. Of files, nothing is saved then, and what was saved before stays.
        ValueError: if a setting is out of its range.

    Example:
        >>> import numpy as np
        >>> import polars as pl
        >>> from onward import Table, fit
        >>> rng = np.random.default_rng(0)
        >>> trips = pl.DataFrame({"km": rng.uniform(1, 9, 300), "city": rng.choice(["Oslo", "Rome"], 300)})
        >>> trips = trips.with_columns(fare=3 + 2 * pl.col("km") + 4 * (pl.col("city") == "Oslo"))
        >>> done = fit(trips, Table("fare", categorical=["city"], drop_first=True))
        >>> round(done.model.predict_one({"km": 5.0, "city": "Rome"}), 1)
        13.0
        >>> done.scores.rmse < done.scores.mean_rmse
        True
    """
    begun = time.perf_counter()
    table, known, method = as_table(table), checked_known(known), checked_method(intervals)
    if table.target is None:
        raise ValueError("expected a table with a target, got none")
    check_outputs(source, table.format, outputs)
    if outputs.get("predictions") is not None and is_folder(outputs["predictions"] or ""):
        raise ValueError("one pass writes its predictions to one file: expected a name that does not end in /")
    model, on_change = checked_model(model), checked_on_change(on_change)
    if method != "conformal" and not model._has_sets:
        raise ValueError(f"intervals must be conformal here, got {method!r}: {model._why_no_sets}")
    table = prepare_inference(model, table, inference)
    check_target_of(model, table)
    check_clock(model, table)
    files = find_files(source, table.format)
    save = outputs.get("save")
    place = None if save is None else checkpoints.beside(Path(save))
    earlier = checkpoints.read(place) if outputs.get("resume") and place is not None and place.exists() else None
    about = {
        "settings": {
            "table": described_table(table),
            "model": [type(model).__name__, repr(described_model(model))],
            "known": described_known(known),
            **({} if inference == PLAIN else {"inference": vars(inference)}),
            "intervals": method,
            "predictions": None if outputs.get("predictions") is None else str(outputs["predictions"]),
            "history": history,
            "scores": with_scores,
            "on_change": on_change,
            "started from": checkpoints.digest_of(model),
        },
        "files": checkpoints.described(files),
    }
    position = None
    if earlier is not None and place is not None:
        checkpoints.check_same(place, earlier.settings, about, files)
        model = earlier.models["model"]
        try:
            position = Position.from_record(earlier.settings["position"])
        except Exception as error:
            raise storage.misfit(place, checkpoints.KIND, error) from error
    with ExitStack() as stack:
        live = any(file.comes_once for file in files)
        stop = stack.enter_context(StopSignals()) if live else None
        if live:
            _warm_up(model, known, method, on_change, predicts=_predicts(outputs))
        try:
            opened = Stream(
                files,
                table,
                recipe=model.recipe_,
                known=known_names(model),
                start=position,
                stop=None if stop is None else stop.descriptor,
                latest=model.latest_time,
            )
        except DataError as error:
            if stop is not None and stop.number is not None:
                raise StoppedError(stop.number) from error
            raise
        rows = stack.enter_context(opened)
        check_contrasts(rows.recipe, inference.contrasts)
        model.recipe_ = rows.recipe
        predicts = _predicts(outputs)
        work = Pass(
            model,
            rows,
            known,
            with_scores=with_scores,
            predicts=predicts,
            history=history,
            method=method,
            on_change=on_change,
            inference=inference,
        )
        work.follow = outputs.get("follow")
        spooled = 0
        if earlier is not None:
            try:
                spooled = work.restore(earlier)
            except Exception as error:
                raise storage.misfit(place, checkpoints.KIND, error) from error
        work.predictions = _open_predictions(outputs, spooled, stack)
        saving, told, seen = _Saving(work, outputs, place, about, tell), 0, len(work.changes)
        try:
            for block in rows.blocks(saving.wait):
                if block is not None:
                    work.learn(block, watch)
                    model.recipe_ = rows.recipe
                saving.after(block)
                while len(rows.notes) > told:
                    tell(rows.notes[told])
                    told += 1
                if live or outputs.get("follow") is not None:  # else a summary will say so
                    for change in work.changes[seen:]:
                        tell(describe_changes([change], known.delta, on_change))
                    seen = len(work.changes)
            model.recipe_ = rows.recipe  # which has seen rows that were skipped after the latest block
        except Exception:
            if live and work.learned:  # the rows are gone from where they came: what was learned must not be
                with interrupts_deferred():
                    saving.save()
                    with suppress(OSError):  # which may be what has ended it
                        work.finish_predictions(early=True)
                if (saved := outputs.get("save")) is not None:
                    tell(f"learned {counted(work.learned, 'row')} before this, the model is in {saved}:")
            raise
        with interrupts_deferred():
            if not work.totals[WEIGHT] > 0:
                if stop is not None and stop.number is not None:
                    raise StoppedError(stop.number)
                raise DataError(nothing_learned(files, rows.read, rows.skipped))
            fix_scales(model, known, inference)
            result = work.result(time.perf_counter() - begun, None if stop is None else stop.number)
            saving.finish()
    return result


def _warm_up(model: OnlineRegressor, known: Known, method: Method, on_change: OnChange, *, predicts: bool) -> None:
    """Load, or compile, what the first row needs before it comes, so that it waits no longer than any other.

    Made-up rows are learned by a new model of the same kind: few features and many, which compiled code tells apart.
    """
    for width in (2, 20):
        columns = {f"x{j}": [str((row * 7 + j * 3) % 5) for row in range(12)] for j in range(width)}
        text = pl.DataFrame({**columns, "level": ["a", "b"] * 6, "y": ["1", "2"] * 6}).write_csv()
        read = pl.read_csv(text.encode())  # the parser is loaded, too
        with stream(read, Table("y", categorical=("level",))) as rows:
            work = Pass(_untaught(model), rows, known, predicts=predicts, method=method, on_change=on_change)
            for block in rows:
                work.learn(block, None)


def _untaught(model: OnlineRegressor) -> OnlineRegressor:
    """A new model that runs through the same code."""
    if isinstance(model, AutoRegressor) or not model.forgets:
        return type(model)()
    return type(model)(window=3) if model.half_life is None else type(model)(half_life=3)


def checked_known(known: Known | None) -> Known:
    """What is known; TypeError if it is something else."""
    if known is not None and not isinstance(known, Known):
        raise TypeError(f"known must be a Known, such as Known(sigma=1.0), got {known!r}")
    return known or Known()


def checked_model(model: OnlineRegressor | None, default: type[OnlineRegressor] = AutoRegressor) -> OnlineRegressor:
    """The model that learns, a new `default` for None; TypeError if it is none, ValueError for its settings."""
    if model is not None and not isinstance(model, OnlineRegressor):
        raise TypeError(f"model must be a learner, such as RidgeRegressor(), got {model!r}")
    model = default() if model is None else model
    model._check_settings()
    return model


def prepare_inference(model: OnlineRegressor, table: Table, inference: Inference) -> Table:
    """The table with the terms that contrasts need; the model keeps what it will be asked for from now on.

    ValueError if it cannot be asked for.
    """
    if not isinstance(inference, Inference):
        raise TypeError(f"inference must be an Inference, such as Inference(contrasts=['b']), got {inference!r}")
    if (inference.contrasts or inference.robust) and not model._has_contrasts:
        raise ValueError(f"contrasts and robust intervals are not to be had here: {model._why_no_sets}")
    if inference.robust and not model._tracks_sandwich:
        model.track_sandwich()
    return with_contrast_terms(table, inference.contrasts) if model.recipe_ is None else table


def described_known(known: Known) -> dict[str, Any]:
    """What a checkpoint remembers of what is known; see `described_table`."""
    return {name: value for name, value in vars(known).items() if (name, value) != ("bounds", None)}


def check_target_of(model: OnlineRegressor, table: Table) -> None:
    """DataError if the model was made for another target."""
    if model.recipe_ is not None and model.recipe_.target != table.target:
        raise DataError(f"the model was made to predict {model.recipe_.target!r}, not {table.target!r}")


def check_clock(model: OnlineRegressor, table: Table) -> None:
    """ValueError if the model needs times and the table has none, or if it goes by none."""
    if isinstance(model, AutoRegressor) and table.time is not None:
        raise ValueError(AUTO_BY_ROWS)
    memory = memory_of(model.half_life, model.window)
    named = table.time is not None or (model.recipe_ is not None and model.recipe_.time is not None)
    if memory is not None and memory.clock == "dates" and not named:
        raise ValueError(
            f"half_life={model.half_life!r} is one of time: expected the column of the rows' dates too, time=… in the "
            "table (--time), or a number of rows"
        )


def described_table(table: Table) -> dict[str, Any]:
    """What a checkpoint remembers of a table. What earlier versions did not have is left out where it is not used."""
    return {
        name: value for name, value in vars(table).items() if name != "max_levels" and (name, value) != ("time", None)
    }


def described_model(model: OnlineRegressor) -> dict[str, Any]:
    """What a checkpoint remembers of a model's parameters; see `described_table`."""
    parameters = model.get_params(deep=False)
    return {n: value for n, value in parameters.items() if n not in ("half_life", "window") or value is not None}


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

    def __init__(
        self, work: Pass, outputs: Outputs, place: Path | None, about: dict[str, Any], tell: Callable[[str], None]
    ) -> None:
        self._tell = tell
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
            try:
                with interrupts_deferred():
                    self.save()
            except OSError as error:  # a disk may be full for a while: what was learned is not lost for that
                self._tell(f"{self._save}: not saved, as {error.strerror or error}; it is tried again")
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


def nothing_learned(files: Sequence[Any], read: int, skipped: dict[str, int], done: str = "learned") -> str:
    """Why no row could be learned, or whatever else should be done with it."""
    name = name_files(files)
    if read == 0:
        return f"{name}: there are no rows"
    if sum(skipped.values()) < read:
        return f"{name}: every row has weight 0, so nothing was {done}"
    reasons = ", ".join(f"{count:,} where {reason}" for reason, count in skipped.items())
    return f"{name}: none of the {counted(read, 'row')} could be {done}: {reasons}"
