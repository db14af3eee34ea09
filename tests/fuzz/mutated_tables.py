"""Read tables that were altered, in chunks of different sizes and by `fit`, beside a reference reader.

    python -m tests.fuzz.mutated_tables --minutes 20
    python -m tests.fuzz.mutated_tables --cases 500 --seed 7

Table i of a run is the same on every machine. Either it is refused, in one line of bounded length that begins with the
file; or its rows are those that Python's csv or json, or pyarrow, read. A finding is a crash, more than 2 s of work,
more than 1 GB, another exception, rows that differ, plain numbers that are refused, or a result that depends on the
size of chunks.
"""

import contextlib
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import onward
from onward import RidgeRegressor
from onward.core import TooExtremeError
from onward.tables import DataError, Recipe, Table, columnar, encode, lines, stream, streams
from tests.fuzz import children, reference_reader
from tests.fuzz.children import Case, Harness, finding
from tests.fuzz.mutations import Mutated, mutated
from tests.fuzz.reference_reader import BeyondPython, NoTable, Records, Rows

LONGEST = 1000  # characters of a DataError
REAL = 40  # tables to which nothing was done
FITTED = 0.06  # the share of tables that are learned, too
CUT = 0.3  # the share of tables that are read in small chunks, too
THREADED = 0.1  # the share of tables that are read ahead by threads, as users read them: they take twice the time
_TOO_LARGE = "bytes of memory, expected at most"
_EXTREME = "the rows cannot be learned in double precision"
_NULLS = "null_count value"  # of a column that lies about how many values it lacks: slices of it count anew


class Settings(NamedTuple):
    """How a table is read, and in chunks of how many bytes and values."""

    table: Table
    bytes: int
    values: int
    cuts: bool
    fits: bool
    threads: bool


class Outcome(NamedTuple):
    """Rows, with the recipe by which they were read; or an error's words."""

    rows: Rows | None
    recipe: Recipe | None
    error: str = ""


@contextlib.contextmanager
def _in_chunks(size: int, values: int) -> Iterator[None]:
    with (
        mock.patch.object(lines, "CHUNK", size),
        mock.patch.object(columnar, "VALUES", values),
        mock.patch.object(encode, "VALUES", values),
    ):
        yield


@contextlib.contextmanager
def _without_threads() -> Iterator[None]:
    """Read what is asked for, when it is asked for."""
    with (
        mock.patch.object(streams, "prefetched", lambda pieces, wait=None: pieces),
        mock.patch.object(lines, "PARSERS", 1),
    ):
        yield


def _read(path: Path, table: Table, learns: bool = False) -> tuple[Outcome, RidgeRegressor]:
    """What a stream gives, and what a model learns of it."""
    model = RidgeRegressor()
    blocks: list[Any] = []
    try:
        with stream(path, table) as opened:
            for block in opened:
                blocks.append(block)
                if learns:
                    model.learn_many(block, block.y, block.weight)
            names, recipe, read = opened.names, opened.recipe, opened.read
    except (DataError, TooExtremeError) as error:
        return Outcome(None, None, str(error)), model
    n = sum(len(block.rows) for block in blocks)
    features = {name: np.zeros(n) for name in names}
    first = 0
    for block in blocks:
        for place, name in enumerate(block.names):
            features[name][first : first + len(block.rows)] = block.X[:, place]
        first += len(block.rows)
    y, numbers = (np.concatenate([np.empty(0), *(getattr(block, each) for block in blocks)]) for each in ("y", "rows"))
    return Outcome(Rows(features, y, numbers.astype(np.int64), read), recipe), model


def _may_have_several_faults(file: Mutated, reference: Records | NoTable | BeyondPython) -> bool:
    """Whether it may depend on chunks which of them is told.

    Of a file that is no table to the reference reader, either, it is what is met first; and a JSON file is looked
    through for its columns first.
    """
    return isinstance(reference, NoTable) or file.ending.startswith("jsonl")


def _differs(one: Outcome, other: Outcome, damaged: bool) -> str | None:
    """In what two readings of one file differ."""
    if one.rows is None and other.rows is None:
        # Of a damaged file, and of columns of which several values are wrong, what is met first is told in brackets.
        same = one.error.split(" (")[0] == other.error.split(" (")[0]
        same = same or (_EXTREME in one.error and _EXTREME in other.error)  # of other rows at once
        return None if same or damaged else f"{one.error!r} and {other.error!r}"
    if one.rows is None or other.rows is None:
        slices_are_right = _NULLS in one.error + other.error
        return None if slices_are_right else f"{one.error or 'rows'!r} and {other.error or 'rows'!r}"
    same = (
        one.recipe == other.recipe
        and list(one.rows.features) == list(other.rows.features)
        and one.rows.y.tobytes() == other.rows.y.tobytes()
        and one.rows.numbers.tobytes() == other.rows.numbers.tobytes()
        and all(one.rows.features[each].tobytes() == other.rows.features[each].tobytes() for each in one.rows.features)
    )
    return None if same else "other rows"


def _fitted(path: Path, settings: Settings, outcome: Outcome, model: RidgeRegressor, damaged: bool) -> str | None:
    """What is wrong with a pass over the file; None if nothing is."""
    try:
        with _in_chunks(settings.bytes, settings.values):
            done = onward.fit(path, settings.table, RidgeRegressor(), with_scores=False, on_change="ignore")
    except (DataError, TooExtremeError) as error:  # learned in other blocks, another row may be too extreme
        if outcome.rows is not None and not len(outcome.rows.y) and "could be learned" in str(error):
            return None
        # Of a damaged file, what is met first is told in brackets.
        same = str(error).split(" (")[0] == outcome.error.split(" (")[0]
        same = same or (damaged and outcome.error != "") or (_EXTREME in str(error) and _EXTREME in outcome.error)
        skipped = settings.table.bad_rows == "skip" and "could be learned" in str(error)  # rows that are too extreme
        same = same or (skipped and _EXTREME in outcome.error)
        return None if same else f"fit says {str(error)!r}, the stream {outcome.error!r}"
    if _EXTREME in outcome.error and settings.table.bad_rows == "skip":  # which skips the rows that are too extreme
        return None
    if outcome.rows is None:
        return f"fit learns what the stream refuses: {outcome.error!r}"
    if not len(outcome.rows.y):
        return None
    if not np.isfinite(done.model.coef_).all():
        return "coefficients that are not finite"
    return None if done.model.coef_.tobytes() == model.coef_.tobytes() else "fit learns something else than the rows"


def outcome_of(file: Mutated, settings: Settings) -> str:
    """What becomes of one file: "refused", "read", or "finding: …"."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{file.ending}"
        path.write_bytes(file.data)
        try:
            with contextlib.nullcontext() if settings.threads else _without_threads():
                words = _judged(path, file, settings)
        except BaseException as error:
            words = finding("read", error)
        return words.replace(folder, "")


def _referenced(path: Path, file: Mutated) -> Records | NoTable | BeyondPython:
    try:
        return reference_reader.read(path, file)
    except (NoTable, BeyondPython) as error:
        return error


def _judged(path: Path, file: Mutated, settings: Settings) -> str:
    outcome, model = _read(path, settings.table, settings.fits)
    if outcome.error:
        words = outcome.error
        placed = words.startswith((str(path), _EXTREME))
        if len(words) > LONGEST + len(str(path)) or not words.isprintable() or not placed:
            return f"finding: an error of {len(words):,} characters: {words[:300]!r}"
    differs, reference = None, _referenced(path, file)
    damaged = _may_have_several_faults(file, reference)
    if settings.cuts:
        with _in_chunks(settings.bytes, settings.values):
            again, _ = _read(path, settings.table, settings.fits)
        differs = _differs(outcome, again, damaged)
    if differs is not None:
        return f"finding: chunks of {settings.bytes} bytes: {differs}"
    if settings.fits:
        wrong = _fitted(path, settings, outcome, model, damaged)
        if wrong is not None:
            return f"finding: {wrong}"
    return _compared(settings.table, outcome, reference)


def _compared(table: Table, outcome: Outcome, records: Records | NoTable | BeyondPython) -> str:
    """The outcome beside that of the reference reader."""
    skips = table.bad_rows == "skip"
    if isinstance(records, NoTable):
        ours = f"refused: {outcome.error}" if outcome.error else "read"
        return ours if outcome.error or skips else f"finding: read, but by the reference it is no table: {records}"
    if isinstance(records, BeyondPython):
        return f"refused: {outcome.error}" if outcome.error else "read"
    if outcome.rows is None or outcome.recipe is None:
        # A buffer that says it is too large is refused, whether or not Arrow has a use for it.
        may_be = _EXTREME in outcome.error or _TOO_LARGE in outcome.error
        may_be = may_be or not {*table.categorical} <= {*records.names}  # a column that was told is not there
        if not may_be and reference_reader.is_plain(records, str(table.target)):
            return f"finding: refused, but by the reference all are plain numbers: {outcome.error}"
        return f"refused: {outcome.error}"
    if skips:
        return "read"
    differs = reference_reader.difference(records, outcome.recipe, outcome.rows, table.missing)
    return "read" if differs is None else f"finding: {differs}"


def case(seed: int) -> Case:
    """The table of that number. Those below 0 are as they should be."""
    rng = random.Random(seed)
    file = mutated(rng, alters=seed >= 0)
    table = Table(
        "y",
        missing=rng.choice(("error", "skip", "skip", "zero")),
        bad_rows="skip" if seed >= 0 and rng.random() < 0.2 else "error",
        categorical=file.words if seed < 0 or rng.random() < 0.8 else (),
    )
    size = max(rng.choice((7, 40, 100, 700)), file.size // 12)  # each chunk takes its time
    settings = Settings(
        table, size, rng.choice((1, 6, 50)), *(rng.random() < share for share in (CUT, FITTED, THREADED))
    )
    return Case(file.ending, lambda: outcome_of(file, settings))


def begin() -> None:
    """Read a few tables, so that everything is compiled and its threads are there."""
    for seed in range(-20, 0):
        case(seed).outcome()


def harness() -> Harness:
    """The harness."""
    return Harness("mutated tables", "tests.fuzz.mutated_tables", case, begin, real=REAL)


if __name__ == "__main__":
    sys.exit(children.main(harness()))
