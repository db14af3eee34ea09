"""Load files that lie, in a child process with limits on time and memory, and use what comes out.

    python -m tests.fuzz.forged_files --minutes 20
    python -m tests.fuzz.forged_files --cases 500 --seed 7

File i of a run is the same on every machine. A finding is a crash, more than 2 s of work, more than 1 GB, an exception
other than `StorageError` while loading (of one short line) and `ValueError` in use, a result that is NaN, or a model
that cannot be saved and loaded again.
"""

import math
import multiprocessing
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from onward import storage
from onward.progressive import checkpoints
from onward.progressive.running_scores import new_totals, scores
from onward.scale import chunk_results
from onward.scale.chunk_results import Predicted
from onward.scale.summary import Summary
from onward.service import Loop, Model
from tests.fuzz import children
from tests.fuzz.children import SECONDS, Case, Harness, finding
from tests.fuzz.forging import forge
from tests.fuzz.merges import merged
from tests.fuzz.other_files import (
    forged_front,
    forged_journal,
    forged_log,
    journals,
    logs,
    use_front,
    use_journal,
    use_log,
)
from tests.fuzz.sample_files import resume, sample_files
from tests.fuzz.service_files import forged_snapshot, service_snapshots, use_snapshot
from tests.fuzz.service_logs import forged_service_log, service_logs, use_service_log
from tests.fuzz.using import Lie, use

LONGEST = 1000  # characters of a StorageError
OTHERS: dict[str, tuple[str, Callable[[Path], list[str]]]] = {
    "journal": ("", use_journal),
    "journal of arms": ("", use_journal),
    "log": (".jsonl", lambda path: use_log(path, len(path.read_bytes()))),
    "log of arms": (".jsonl", lambda path: use_log(path, len(path.read_bytes()))),
    "front": ("", use_front),
    "merge": ("", lambda path: merged(int(path.read_bytes()))),
    "service log": ("", use_service_log),
    "service log of rewards at once": ("", use_service_log),
    "service log of a model": ("", use_service_log),
    "snapshot": ("", use_snapshot(Loop)),
    "snapshot of a model": ("", use_snapshot(Model)),
}
_RECIPES = {"recipe", "recipe first levels", "recipe in time", "recipe auto"}
THREADED = {
    "named",
    "auto named",
    "pipeline",
    "Runs",
    "checkpoint",
    "log",
    "log of arms",
    "service log",
    "service log of rewards at once",
    "service log of a model",
    "snapshot",
    "snapshot of a model",
} | _RECIPES  # what starts threads, which a fork must not have
RESUMED = 0.02  # the share of passes among what is done with a checkpoint: each takes long


def outcome_of(name: str, data: bytes, resumes: bool) -> str:
    """What becomes of one file: "refused", "used", or "finding: …"."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            if name in OTHERS:
                path = Path(folder) / f"file{OTHERS[name][0]}"
                path.write_bytes(data)
                return "used" + "".join(f"\n{words[:300]}" for words in OTHERS[name][1](path))
            things = _loaded(name, data, Path(folder), resumes)
        except storage.StorageError as error:
            words = str(error).replace(folder, "")
            if len(words) > LONGEST or not words.isprintable():
                return f"finding: a StorageError of {len(words)} characters: {words[:200]!r}"
            if "MemoryError" in words:
                return f"finding: an allocation that is too large: {words[:200]!r}"
            return f"refused: {words}"
        except BaseException as error:
            return finding("load", error)
        try:
            refusals = [words for thing in things for words in use(thing)]
        except BaseException as error:
            return finding("use", error)
    return "used" + "".join(f"\n{words[:300]}" for words in refusals)


def _loaded(name: str, data: bytes, folder: Path, resumes: bool) -> list[Any]:
    path = folder / "file"
    path.write_bytes(data)
    if name.startswith("chunk"):
        kind: Any = Summary if name.endswith("reduced") else Predicted
        result = chunk_results.read(path, kind)
        if result is None:
            raise storage.StorageError("a damaged chunk: it is done again")
        _add_up(result)
        model = result.model
        return [] if model is None or not model.__sklearn_is_fitted__() else [model]
    if name == "checkpoint":
        if resumes:
            try:
                resume(folder, data)
            except storage.StorageError:
                raise
            except ValueError as error:  # of other settings, or other data
                raise storage.StorageError(str(error)) from error
        return list(checkpoints.read(path).models.values())
    return [storage.load(path)]


def _add_up(result: Summary | Predicted) -> None:
    """Do with the result of a chunk what a pass does, beside its model."""
    counts = Counter(result.skipped) + Counter(result.filled)
    sums = [result.read + 1, float(result.means.sum()), sum(counts.values())]
    if isinstance(result, Predicted):
        told = scores(result.totals + new_totals())
        sums += [result.chunks + 1, told.rows, result.means[0] + result.means[1]]
    if not all(math.isfinite(value) and (value >= 0 or place) for place, value in enumerate(sums)):
        raise Lie(f"sums of a chunk: {sums}")


def _forged(seed: int, samples: Mapping[str, bytes]) -> tuple[str, bytes, bool]:
    """The file of that number, its name, and whether a pass goes on from it. Those below 0 are real."""
    if seed < 0:
        name = sorted(samples)[seed]
        return name, samples[name], name == "checkpoint"
    rng = random.Random(seed)
    name = rng.choice(sorted(samples))
    if name.startswith("journal"):
        return name, forged_journal(rng, samples[name]), False
    if name.startswith("log"):
        return name, forged_log(rng, samples[name]), False
    if name == "front":
        return name, forged_front(rng), False
    if name.startswith("service log"):
        return name, forged_service_log(rng, samples[name]), False
    if name.startswith("snapshot"):
        return name, forged_snapshot(rng, samples[name]), False
    if name == "merge":
        return name, str(seed).encode(), False
    return name, forge(rng, samples, name), name == "checkpoint" and rng.random() < RESUMED * len(samples)


def _warm(samples: Mapping[str, bytes], names: Iterable[str]) -> None:
    """Do real files without limits, so that what they use is compiled, or read from numba's cache."""
    for name in names:
        outcome_of(name, samples[name], resumes=False)


def harness() -> Harness:
    """The harness, with everything compiled that real files use."""
    with multiprocessing.get_context("fork").Pool(1) as pool:  # making some of them starts threads
        samples = (
            pool.apply(sample_files) | pool.apply(journals) | pool.apply(service_snapshots) | pool.apply(service_logs)
        )
    samples |= logs() | {"front": b"3", "merge": b"0"}
    _warm(samples, sorted(samples.keys() - THREADED))

    def case(seed: int) -> Case:
        name, data, resumes = _forged(seed, samples)
        return Case(name, lambda: outcome_of(name, data, resumes), SECONDS * (5 if resumes else 1))

    return Harness(
        "forged files", "tests.fuzz.forged_files", case, lambda: _warm(samples, sorted(THREADED)), real=len(samples)
    )


if __name__ == "__main__":
    sys.exit(children.main(harness()))
