"""Runs experiments piece by piece, in parallel, and can be stopped at any moment: what is done is on disk."""

import functools
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

import onward
from onward.experiments.base import Experiment, Piece, settings_of
from onward.scale import Engine
from onward.scale.engine import Workers
from onward.storage import replacing

_REGRESSION, _BANDITS = ("regression_data", "tidy"), ("bandit_games",)
COMPUTING = {
    "figure1": ("figure1", *_REGRESSION),
    "figure2": ("figure2", *_REGRESSION),
    "figure3": ("figure3", *_BANDITS),
    "figure4a": ("figure4a", "changing_worlds", *_BANDITS),
    "figure4b": ("figure4b", "changing_worlds", *_BANDITS),
}
"""Modules of this package whose code decides what a figure's pieces hold."""

Advance = Callable[[str, int, int], None]
"""Called with the experiment's name, how many pieces are done, and how many there are."""


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment: its frame, and the seconds of work behind it, over all runs that took part."""

    name: str
    config: Any
    frame: pl.DataFrame
    seconds: float


def run(
    experiments: Mapping[str, Experiment],
    configs: Mapping[str, Any],
    folder: Path,
    engine: Engine | None = None,
    advance: Advance = lambda name, done, total: None,
) -> dict[str, Outcome]:
    """Run what is missing and return everything.

    Pieces are kept in the folder under a digest of the settings, each written whole or not at all. So a run that was
    stopped goes on where it was, and a finished one is only read. The result does not depend on the engine, nor on the
    number of its workers; they must see the folder under the same path.
    """
    outcomes = {}
    with (engine or Engine()).started() as workers:
        for name, experiment in experiments.items():
            outcomes[name] = _run_one(name, experiment, configs[name], folder.resolve(), workers, advance)
    return outcomes


def _run_one(
    name: str, experiment: Experiment, config: Any, folder: Path, workers: Workers, advance: Advance
) -> Outcome:
    pieces = experiment.pieces(config)
    kept = folder / f"{name}-{digest(name, config, pieces)}"
    kept.mkdir(parents=True, exist_ok=True)
    missing = [piece for piece in pieces if not _is_whole(_path(kept, piece))]
    done = len(pieces) - len(missing)
    advance(name, done, len(pieces))
    tasks = [_Task(experiment.compute, config, piece, _path(kept, piece)) for piece in missing]
    for _ in workers.run(_do, tasks):
        done += 1
        advance(name, done, len(pieces))
    frames, seconds = [], 0.0
    for piece in pieces:
        frame, took = _read(_path(kept, piece))
        frames.append(frame)
        seconds += took
    return Outcome(name, config, pl.concat(frames), seconds)


@dataclass(frozen=True)
class _Task:
    compute: Callable[[Any, Piece], pl.DataFrame]
    config: Any
    piece: Piece
    path: Path


def _do(task: _Task) -> str:
    began = time.perf_counter()
    frame = task.compute(task.config, task.piece)
    write_frame(task.path, frame, {"seconds": repr(time.perf_counter() - began)})
    return task.piece.name


def digest(name: str, config: Any, pieces: Sequence[Piece]) -> str:
    """Of all that decides the result: the settings, how they are cut into pieces, the sources and what they run on."""
    about = {
        "settings": settings_of(config),
        "pieces": [[piece.name, dict(piece.about)] for piece in pieces],
        "sources": _sources(name),
        "versions": {library: metadata.version(library) for library in ("numpy", "numba", "scipy")},
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:12]


@functools.cache
def _sources(name: str) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in computing_files(name))).hexdigest()


def computing_files(name: str) -> list[Path]:
    """The code that computes a figure: not that which judges, draws or reports."""
    package = Path(onward.__file__).parent
    files = [path for room in ("core", "confidence", "bounds", "bandits") for path in (package / room).rglob("*.py")]
    return sorted(files + [package / "experiments" / f"{module}.py" for module in COMPUTING.get(name, ())])


def _is_whole(path: Path) -> bool:
    """Whether a piece is there and can be read; what cannot is done again."""
    if not path.exists():
        return False
    try:
        pl.read_parquet_schema(path)
        _read(path)
    except (OSError, pl.exceptions.PolarsError):
        path.unlink(missing_ok=True)
        return False
    return True


def _path(folder: Path, piece: Piece) -> Path:
    return folder / f"{piece.name}.parquet"


def write_frame(path: Path, frame: pl.DataFrame, metadata: dict[str, str] | None = None) -> None:
    """Write a parquet file wholly or not at all."""
    try:
        with replacing(path) as temporary:
            frame.write_parquet(temporary, metadata=metadata)
    except pl.exceptions.PolarsError as error:
        raise OSError(f"cannot write {path}: {error}") from error


def _read(path: Path) -> tuple[pl.DataFrame, float]:
    return pl.read_parquet(path), float(pl.read_parquet_metadata(path).get("seconds", "0"))
