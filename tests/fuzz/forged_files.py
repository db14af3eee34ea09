"""Load files that lie, in a child process with limits on time and memory, and use what comes out.

    python -m tests.fuzz.forged_files --minutes 20
    python -m tests.fuzz.forged_files --cases 500 --seed 7

File i of a run is the same on every machine. A finding is a crash, more than 2 s of work, more than 1 GB, an exception
other than `StorageError` while loading (of one short line) and `ValueError` in use, a result that is NaN, or a model
that cannot be saved and loaded again.
"""

import multiprocessing
import random
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from onward import storage
from onward.progressive import checkpoints
from onward.scale import chunk_results
from onward.scale.chunk_results import Predicted
from onward.scale.summary import Summary
from tests.fuzz import children
from tests.fuzz.children import SECONDS, Case, Harness, finding
from tests.fuzz.forging import forge
from tests.fuzz.sample_files import resume, sample_files
from tests.fuzz.using import use

LONGEST = 1000  # characters of a StorageError
THREADED = {"named", "auto named", "pipeline", "Runs", "checkpoint"}  # what starts threads, which a fork must not have
RESUMED = 0.02  # the share of passes among what is done with a checkpoint: each takes long


def outcome_of(name: str, data: bytes, resumes: bool) -> str:
    """What becomes of one file: "refused", "used", or "finding: …"."""
    with tempfile.TemporaryDirectory() as folder:
        try:
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


def _forged(seed: int, samples: Mapping[str, bytes]) -> tuple[str, bytes, bool]:
    """The file of that number, its name, and whether a pass goes on from it. Those below 0 are real."""
    if seed < 0:
        name = sorted(samples)[seed]
        return name, samples[name], name == "checkpoint"
    rng = random.Random(seed)
    name = rng.choice(sorted(samples))
    return name, forge(rng, samples, name), name == "checkpoint" and rng.random() < RESUMED * len(samples)


def _warm(samples: Mapping[str, bytes], names: Iterable[str]) -> None:
    """Do real files without limits, so that what they use is compiled, or read from numba's cache."""
    for name in names:
        outcome_of(name, samples[name], resumes=False)


def harness() -> Harness:
    """The harness, with everything compiled that real files use."""
    with multiprocessing.get_context("fork").Pool(1) as pool:  # making some of them starts threads
        samples = pool.apply(sample_files)
    _warm(samples, sorted(samples.keys() - THREADED))

    def case(seed: int) -> Case:
        name, data, resumes = _forged(seed, samples)
        return Case(name, lambda: outcome_of(name, data, resumes), SECONDS * (5 if resumes else 1))

    return Harness(
        "forged files", "tests.fuzz.forged_files", case, lambda: _warm(samples, sorted(THREADED)), real=len(samples)
    )


if __name__ == "__main__":
    sys.exit(children.main(harness()))
