"""A pass over chunks that many workers read at once, with the result of one pass in order.

A chunk is reduced to a state without regularisation. Merged in order, these give the exact model just before each
chunk, and from there its rows are predicted as one long pass would have. Only states travel, never rows.

So rows are read twice where predictions or scores are wanted. The chunks at the front need no state of what is before
them: one worker predicts them straight away while the others reduce the rest. With W workers the work is
(2W − 1)/W² of one pass, and exactly one pass for W = 1. Without scores it is 1/W: the states are merged as a tree.
"""

import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from onward.core.inference import PLAIN, Inference
from onward.core.known import Known, Method
from onward.progressive.checkpoints import described, digest_of
from onward.progressive.coefficient_intervals import known_names
from onward.progressive.contrasts import check_contrasts
from onward.progressive.fitting import (
    check_clock,
    check_target_of,
    checked_known,
    checked_model,
    described_known,
    nothing_learned,
    prepare_inference,
)
from onward.progressive.frame_writers import open_writer
from onward.progressive.outputs import Outputs, check_outputs, is_folder
from onward.progressive.results import Fit
from onward.progressive.running_scores import MEAN, ROWS, SQUARED, WEIGHT, new_totals, scores
from onward.progressive.target_intervals import checked_method
from onward.regression import AutoRegressor, ForwardRegressor, OnlineRegressor
from onward.scale.chunk_cache import ChunkCache
from onward.scale.chunk_results import Predicted, check_levels
from onward.scale.chunks import Chunk, chunks_of
from onward.scale.early_scales import scales_of_first_rows, take_scales
from onward.scale.engine import Engine, Workers
from onward.scale.scan import Tree, prefixes
from onward.scale.summary import Summary
from onward.scale.tasks import PARTS, Predict, Predicting, Reading, Reduce, do, part
from onward.tables import DataError, Stream, Table
from onward.tables.prefetch import prefetched
from onward.tables.sources import Frame, Source, find_files, name_files
from onward.tables.table import as_table

Advance = Callable[[str, int, int], None]
"""Called with what is being done, how many chunks are done, and how many there are."""


def fit(
    source: Source | Sequence[Source],
    table: Table | str,
    model: OnlineRegressor | None = None,
    *,
    engine: Engine | None = None,
    known: Known | None = None,
    intervals: Method = "conformal",
    inference: Inference = PLAIN,
    with_scores: bool = True,
    chunk_rows: int | None = None,
    advance: Advance = lambda what, done, total: None,
    **outputs: Unpack[Outputs],
) -> Fit:
    """`onward.progressive.fit`, with chunks of the data shared out over an engine's workers.

    Model, predictions, scores and information gain are those of the pass in order, up to rounding. Intervals are not:
    calibrated ones know, in a chunk, the errors of the first chunks, which one worker does in order, and the chunk's
    own, and the model is left with those of the last chunk; sets and states are taken anew where a chunk begins. Chunks
    are files, and row groups of Parquet files:
    workers must be able to read them, and to write beside `predictions`, under the same paths. Data frames are chunks,
    too; they travel to the workers.

    Args:
        source: files, folders of them, or data frames.
        table: which columns are used; or the name of the target alone.
        model: a `ForwardRegressor` or `RidgeRegressor`; None for forward at its defaults.
        engine: where the work is done; None for the processes of this machine, as many as it has processors.
        with_scores: False to learn only: one read instead of two, and no online scores.
        chunk_rows: about so many rows of a Parquet file in a chunk; None for 262,144, or more where there would be more
            than 16,384 chunks.
        advance: called as chunks are done.
        known, intervals, inference: those of `onward.progressive.fit`.
        outputs: `save`, `predictions`, `checkpoint_every` and `resume` of `onward.progressive.fit`. With
            `checkpoint_every`, whatever its number, what each chunk came to is cached beside `save`, and with `resume`
            it is not computed again.

    Returns:
        The model, with how it did while it learned.

    Raises:
        DataError: if the data cannot be read.
        EngineError: if the engine fails.
        ValueError: if a setting is out of its range, or what it asks for needs one pass in order.

    Example:
        >>> import numpy as np
        >>> import polars as pl
        >>> from onward import ForwardRegressor, fit, scale
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal(200)
        >>> rows = pl.DataFrame({"x": x, "y": x + rng.standard_normal(200)})
        >>> parts = scale.fit([rows[:100], rows[100:]], "y", engine=scale.Engine(jobs=1))
        >>> one = fit(rows, "y", ForwardRegressor())
        >>> round(parts.scores.rmse, 9) == round(one.scores.rmse, 9)
        True
    """
    begun = time.perf_counter()
    table, known, method = as_table(table), checked_known(known), checked_method(intervals)
    predictions, save = outputs.get("predictions"), outputs.get("save")
    if table.target is None:
        raise ValueError("expected a table with a target, got none")
    if predictions is not None and not with_scores:
        raise ValueError("predictions are scored as they are made: expected with_scores=True")
    if outputs.get("save_every") is not None or outputs.get("follow") is not None:
        raise ValueError("save_every and follow go along one pass: expected neither with workers")
    check_outputs(source, table.format, outputs)
    model = checked_model(model, ForwardRegressor)
    if isinstance(model, AutoRegressor):
        raise ValueError(
            f"{type(model).__name__} weighs its learners row by row, so workers cannot share the pass: expected a "
            "ForwardRegressor or RidgeRegressor"
        )
    if model.prior_mean is not None or np.any(model.prior_intercept):
        raise ValueError("parts that are learned apart know of no prior: expected a model without prior_mean")
    if model.units == "own":
        raise ValueError("parts that are learned apart cannot have a λ in own units: expected units='raw' for workers")
    if model.window is not None:
        raise ValueError("which rows a window holds is known only in order: expected no window with several workers")
    if inference.robust:
        raise ValueError("robust intervals go along one pass: expected robust=False with workers")
    table = prepare_inference(model, table, inference)
    check_target_of(model, table)
    check_clock(model, table)
    files = find_files(source, table.format)
    if any(file.comes_once for file in files):
        raise ValueError("standard input comes in one order and once: expected files for several workers")
    with Stream(files, table, recipe=model.recipe_, known=known_names(model)) as rows:
        if rows.recipe.lags:
            raise ValueError(
                f"chunks that are read apart know no rows before their own, as {next(iter(rows.recipe.lags))} needs: "
                "expected no lags with several workers"
            )
        rows.find_first_levels()
        check_contrasts(rows.recipe, inference.contrasts)
        recipe, notes = rows.recipe, rows.notes
    model.recipe_ = recipe
    early = scales_of_first_rows(files, table, model, known, inference)
    reading = Reading(recipe, table, bool(model.fit_intercept), model.half_life)
    chunks = chunks_of(files, chunk_rows)
    about = {
        "files": described(files),
        "chunks": [chunk.name for chunk in chunks],
        "recipe": recipe.to_record(),
        "model": [type(model).__name__, repr(model.get_params(deep=False)), known_names(model), digest_of(model)],
        "table": vars(table),
        "known": described_known(known),
        "intervals": method,
        "scores": with_scores,
        "predictions": str(predictions),
    }
    resume = outputs.get("resume", False)
    caches = resume or outputs.get("checkpoint_every") is not None
    if caches and any(isinstance(file, Frame) for file in files):
        raise ValueError("data frames cannot be told from others like them: expected files to resume")
    with ExitStack() as stack:
        workers = stack.enter_context((engine or Engine()).started())
        cache = ChunkCache(_beside(save) if caches else None, about, resume)
        job = _Job(workers, cache, chunks, reading, advance)
        folder = None
        if with_scores:
            if predictions is not None:
                folder = _part_folder(predictions, cache, stack)
            done = job.predicted(model, Predicting(known, method, folder))
        else:
            done = job.learned(model)
        if not (done.totals[ROWS] and done.means[0] > 0):
            raise DataError(nothing_learned(files, done.read, done.skipped))
        check_levels(done.model, table.max_levels)
        if predictions is not None and folder is not None:
            parts = [part(folder, place) for place in range(len(chunks))]
            if is_folder(predictions):
                _move_parts(Path(predictions), parts)
            else:
                _join_parts(Path(predictions), parts)
    take_scales(done.model, early, known, inference)
    if save is not None:
        done.model.save(save)
    cache.remove()
    return Fit(
        done.model,
        name_files(files),
        recipe.target,
        known,
        done.read,
        scores(done.totals),
        dict(done.skipped),
        dict(done.filled),
        time.perf_counter() - begun,
        notes=notes,
        method=method,
        inference=inference,
    )


class _Job:
    """The chunks of one fit, and who works on them."""

    def __init__(
        self, workers: Workers, cache: ChunkCache, chunks: Sequence[Chunk], reading: Reading, advance: Advance
    ) -> None:
        self._workers, self._cache, self._chunks = workers, cache, list(chunks)
        self._reading, self._advance = reading, advance

    def learned(self, model: OnlineRegressor) -> Predicted:
        """The model alone: every chunk reduced, and the states merged as a tree."""
        merged = Tree(len(self._chunks), Summary.merge)
        tasks = dict(enumerate(Reduce(chunk, self._reading) for chunk in self._chunks))
        for place, result in self._run(tasks, "learning"):
            assert isinstance(result, Summary)
            try:
                merged.put(place, result)
            except ValueError as error:
                raise DataError(f"{self._chunks[place].name}: {error}") from error
        total = merged.whole()
        seen = 0
        if total.model is not None:
            seen = total.model.n_seen_
            try:
                model.merge_part(total.model)
            except ValueError as error:
                raise DataError(f"{self._chunks[0].name}: {error}") from error
        totals = new_totals()
        totals[ROWS], totals[WEIGHT:MEAN] = seen, np.nan
        return Predicted(len(self._chunks), totals, total.read, total.skipped, total.filled, model, total.means)

    def predicted(self, model: OnlineRegressor, predicting: Predicting) -> Predicted:
        """Model and scores: the front predicted and the rest reduced at once, then the rest predicted."""
        front = self._cache.front(self._front(), len(self._chunks))
        began = float(model.online_loss_) if _seen(model) else 0.0
        known, means = _seen(model), np.zeros(2)
        tasks: dict[int, Reduce | Predict] = {
            0: Predict(
                tuple(self._chunks[:front]), 0, self._reading, predicting, model, means, 0, known, self._cache.lead
            )
        }
        tasks |= {place: Reduce(self._chunks[place], self._reading) for place in range(front, len(self._chunks))}
        first = dict(self._run(tasks, "reducing"))
        lead = first[0]
        assert isinstance(lead, Predicted)
        rest = [_summary(first[place]) for place in range(front, len(self._chunks))]
        models = prefixes(lead.model, rest, [chunk.name for chunk in self._chunks[front:]])
        later: dict[int, Reduce | Predict] = {}
        read, means = lead.read, lead.means
        for place, summary, before in zip(range(front, len(self._chunks)), rest, models, strict=False):
            chunk = (self._chunks[place],)
            later[place] = Predict(chunk, place, self._reading, predicting, before, means, read, known)
            read, means = read + summary.read, means + summary.means
        seconds = dict(self._run(later, "predicting"))
        done = lead
        for place in range(front, len(self._chunks)):
            after = seconds[place]
            assert isinstance(after, Predicted)
            done = replace(
                after,
                chunks=done.chunks + after.chunks,
                totals=done.totals + after.totals,
                read=done.read + after.read,
                skipped=done.skipped + after.skipped,
                filled=done.filled + after.filled,
            )
        if _seen(done.model):
            done.model.restate_online_loss(began + float(done.totals[SQUARED]))
        return done

    def _front(self) -> int:
        """How many chunks one worker predicts at once while the others reduce the rest: about its share."""
        sizes = np.cumsum([chunk.size for chunk in self._chunks])
        return max(1, int(np.searchsorted(sizes, sizes[-1] / self._workers.count * (1 + 1e-9), side="right")))

    def _run(self, tasks: Mapping[int, Reduce | Predict], saying: str) -> Iterator[tuple[int, Summary | Predicted]]:
        """What came of the tasks, by place: first those that were kept, then the others as they come in."""
        left: dict[int, Reduce | Predict] = {}
        done = 0
        self._advance(saying, done, len(tasks))
        for place, task in tasks.items():
            if isinstance(task, Predict):
                earlier: Summary | Predicted | None = self._cache.predicted(place, task.parts)
            else:
                earlier = self._cache.reduced(place)
            if earlier is None:
                left[place] = task
                continue
            yield place, earlier
            done += 1
        if done:
            self._advance(saying, done, len(tasks))
        places = list(left)
        for number, result in self._workers.run(do, list(left.values())):
            self._cache.put(places[number], result)
            yield places[number], result
            done += 1
            self._advance(saying, done, len(tasks))


def _summary(result: Summary | Predicted) -> Summary:
    assert isinstance(result, Summary)
    return result


def _seen(model: OnlineRegressor) -> int:
    return model.n_seen_ if model.__sklearn_is_fitted__() else 0


def _beside(save: str | os.PathLike[str] | None) -> Path | None:
    return None if save is None else Path(save).with_name(f"{Path(save).name}.chunks")


def _part_folder(predictions: str | os.PathLike[str], cache: ChunkCache, stack: ExitStack) -> Path:
    """Where workers put the predictions of chunks: with the cache, or beside the file or folder that they will make."""
    if cache.folder is None:
        path = Path(predictions).resolve()
        folder = path.with_name(f".{path.name}.parts")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    else:
        folder = cache.folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _move_parts(folder: Path, parts: Sequence[Path]) -> None:
    """The parts as the result: a folder that holds them and nothing of an earlier result."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(PARTS):
        old.unlink()
    for each in parts:
        os.replace(each, folder / each.name)


def _join_parts(path: Path, parts: Sequence[Path]) -> None:
    """One file of all parts, row group by row group; it takes its name when it is whole."""
    with open_writer(path) as write, closing(prefetched(_frames(parts))) as frames:  # to compress takes longer
        for frame in frames:
            if frame is not None:
                write(frame)


def _frames(parts: Sequence[Path]) -> Generator[pl.DataFrame, None, None]:
    for each in parts:
        with pq.ParquetFile(each) as file:
            for group in range(file.num_row_groups):
                frame = pl.DataFrame(pl.from_arrow(file.read_row_group(group)))
                if len(frame):  # a chunk without rows knows nothing of the columns that others keep
                    yield frame
