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
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from onward.progressive.checkpoints import described
from onward.progressive.fit import digest_of, names_of, new_model
from onward.progressive.intervals import Noise, check_noise
from onward.progressive.outputs import check_outputs
from onward.progressive.predictions import check_name
from onward.progressive.results import Fit
from onward.progressive.tally import MEAN, ROWS, SQUARED, WEIGHT, new_totals, scores
from onward.regression import OnlineRegressor
from onward.scale.chunks import Chunk, called, chunks_of
from onward.scale.engine import Engine, Workers
from onward.scale.kept import Kept
from onward.scale.records import Predicted
from onward.scale.scan import Tree, prefixes
from onward.scale.summary import Summary
from onward.scale.work import Predict, Predicting, Reading, Reduce, do, part
from onward.storage import replacing
from onward.tables import DataError, stream
from onward.tables.prefetch import prefetched
from onward.tables.recipe import Missing
from onward.tables.sources import File, Format, Frame, Source, files_of

Advance = Callable[[str, int, int], None]
"""Called with what is being done, how many chunks are done, and how many there are."""


def fit(
    source: Source | Sequence[Source],
    target: str,
    *,
    engine: Engine | None = None,
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
    with_scores: bool = True,
    save: str | os.PathLike[str] | None = None,
    resume: bool | None = None,
    predictions: str | os.PathLike[str] | None = None,
    chunk_rows: int | None = None,
    advance: Advance = lambda what, done, total: None,
) -> Fit:
    """`onward.progressive.fit`, with chunks of the data shared out over an engine's workers.

    Model, predictions, scores and information gain are those of the pass in order, up to rounding. Intervals are taken
    anew where a chunk begins, so that they may differ a little. Chunks are files, and row groups of Parquet files:
    workers must be able to read them, and to write beside `predictions`, under the same paths. Data frames are chunks,
    too; they travel to the workers.

    Args:
        engine: where the work is done; None for the processes of this machine, as many as it has processors.
        with_scores: False to learn only: one read instead of two, and no online scores.
        resume: True keeps what each chunk came to beside `save` and goes on from what is there; False keeps it and
            starts anew; None keeps nothing.
        chunk_rows: about so many rows of a Parquet file in a chunk; None for 262,144, or more where there would be more
            than 16,384 chunks.
        advance: called as chunks are done.
        The others are those of `onward.progressive.fit`.
    """
    begun = time.perf_counter()
    check_noise(delta, sigma, theta_bound)
    if resume is not None and save is None:
        raise ValueError("checkpoints lie beside the saved model: expected save, too")
    if predictions is not None and not with_scores:
        raise ValueError("predictions are scored as they are made: expected with_scores=True")
    check_outputs(source, {"save": save, "predictions": predictions}, format)
    if predictions is not None:
        check_name(predictions)
    model = start if start is not None else new_model(learner, lam, fit_intercept)
    if model.prior_mean is not None or np.any(model.prior_intercept):
        raise ValueError("parts that are learned apart know of no prior: expected a model without prior_mean")
    if model.recipe_ is not None and model.recipe_.target != target:
        raise DataError(f"the model was made to predict {model.recipe_.target!r}, not {target!r}")
    files = files_of(source, format)
    if any(file.comes_once for file in files):
        raise ValueError("standard input comes in one order and once: expected files for several workers")
    with stream(
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
        recipe=model.recipe_,
        known=names_of(model),
    ) as rows:
        recipe = rows.recipe
    model.recipe_ = recipe
    reading = Reading(recipe, separator, max_levels, bool(model.fit_intercept))
    chunks = chunks_of(files, chunk_rows)
    noise = Noise(sigma, theta_bound)
    about = {
        "files": described(files),
        "chunks": [chunk.name for chunk in chunks],
        "recipe": recipe.to_record(),
        "model": [type(model).__name__, repr(model.get_params(deep=False)), names_of(model), digest_of(model)],
        "reading": [separator, max_levels],
        "delta": delta,
        "noise": repr(noise),
        "scores": with_scores,
        "predictions": str(predictions),
    }
    if resume is not None and any(isinstance(file, Frame) for file in files):
        raise ValueError("data frames cannot be told from others like them: expected files to resume")
    with ExitStack() as stack:
        workers = stack.enter_context((engine or Engine()).started())
        kept = Kept(_beside(save) if resume is not None else None, about, bool(resume))
        job = _Job(workers, kept, chunks, reading, advance)
        if with_scores:
            folder = None
            if predictions is not None:
                folder = _parts(Path(predictions), kept)
                if kept.folder is None:
                    stack.callback(shutil.rmtree, folder, ignore_errors=True)
            done = job.predicted(model, Predicting(delta, noise, folder))
        else:
            folder, done = None, job.learned(model)
        if not done.totals[ROWS]:
            raise DataError(_nothing(files, done))
        _check_levels(done.model, max_levels)
        if predictions is not None and folder is not None:
            _joined(Path(predictions), [part(folder, place) for place in range(len(chunks))])
    if save is not None:
        done.model.save(save)
    kept.remove()
    return Fit(
        done.model,
        called(files),
        target,
        delta,
        sigma,
        theta_bound,
        done.read,
        scores(done.totals),
        dict(done.skipped),
        dict(done.filled),
        time.perf_counter() - begun,
    )


class _Job:
    """The chunks of one fit, and who works on them."""

    def __init__(
        self, workers: Workers, kept: Kept, chunks: Sequence[Chunk], reading: Reading, advance: Advance
    ) -> None:
        self._workers, self._kept, self._chunks = workers, kept, list(chunks)
        self._reading, self._advance = reading, advance

    def learned(self, model: OnlineRegressor) -> Predicted:
        """The model alone: every chunk reduced, and the states merged as a tree."""
        merged = Tree(len(self._chunks), Summary.merge)
        tasks = dict(enumerate(Reduce(chunk, self._reading) for chunk in self._chunks))
        for place, result in self._run(tasks, "learning"):
            assert isinstance(result, Summary)
            merged.put(place, result)
        total = merged.whole()
        seen = 0
        if total.model is not None:
            seen = total.model.n_seen_
            model.merge_part(total.model)
        totals = new_totals()
        totals[ROWS], totals[WEIGHT:MEAN] = seen, np.nan
        return Predicted(len(self._chunks), totals, total.read, total.skipped, total.filled, model, total.means)

    def predicted(self, model: OnlineRegressor, predicting: Predicting) -> Predicted:
        """Model and scores: the front predicted and the rest reduced at once, then the rest predicted."""
        front = self._kept.front(self._front())
        began = float(model.online_loss_) if _seen(model) else 0.0
        known, means = _seen(model), np.zeros(2)
        tasks: dict[int, Reduce | Predict] = {
            0: Predict(
                tuple(self._chunks[:front]), 0, self._reading, predicting, model, means, 0, known, self._kept.lead
            )
        }
        tasks |= {place: Reduce(self._chunks[place], self._reading) for place in range(front, len(self._chunks))}
        first = dict(self._run(tasks, "reducing"))
        lead = first[0]
        assert isinstance(lead, Predicted)
        rest = [_summary(first[place]) for place in range(front, len(self._chunks))]
        models = prefixes(lead.model, rest)
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
                earlier: Summary | Predicted | None = self._kept.predicted(place, task.parts)
            else:
                earlier = self._kept.reduced(place)
            if earlier is None:
                left[place] = task
                continue
            yield place, earlier
            done += 1
        if done:
            self._advance(saying, done, len(tasks))
        places = list(left)
        for number, result in self._workers.run(do, list(left.values())):
            self._kept.put(places[number], result)
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


def _parts(predictions: Path, kept: Kept) -> Path:
    """Where workers put the predictions of chunks: with what is kept, or beside the file that they will make."""
    folder = predictions.resolve().with_name(f".{predictions.name}.parts") if kept.folder is None else kept.folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _joined(path: Path, parts: Sequence[Path]) -> None:
    """One Parquet file of all parts, row group by row group; it takes its name when it is whole."""
    with replacing(path) as temporary, ExitStack() as stack:
        writer: pq.ParquetWriter | None = None
        # Read ahead: to compress what was read takes longer.
        for table in stack.enter_context(closing(prefetched(_tables(parts)))):
            if writer is None:
                writer = stack.enter_context(pq.ParquetWriter(temporary, table.schema, compression="zstd"))
            writer.write_table(table)


def _tables(parts: Sequence[Path]) -> Generator[pa.Table, None, None]:
    for each in parts:
        with pq.ParquetFile(each) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)


def _check_levels(model: OnlineRegressor, most: int) -> None:
    """The limit on levels holds for all chunks together."""
    recipe = model.recipe_
    assert recipe is not None
    owners = [owner for owner, _ in recipe.levels(names_of(model))]
    for column in recipe.categories:
        if owners.count(column) > most:
            raise DataError(
                f"column {column!r}: {owners.count(column):,} levels, expected at most {most:,}; is it a category? "
                "Allow more levels, or leave the column out"
            )


def _nothing(files: Sequence[File], done: Predicted) -> str:
    if done.read == 0:
        return f"{called(files)}: there are no rows"
    reasons = ", ".join(f"{count:,} where {reason}" for reason, count in done.skipped.items())
    return f"{called(files)}: none of the {done.read:,} rows could be learned: {reasons}"
