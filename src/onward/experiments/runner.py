"""Runs experiments piece by piece, in parallel, and can be stopped at any moment: what is done is on disk."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from onward.atomic_files import replacing
from onward.experiments.figure import Figure, Piece, Progress, Settings, settings_values
from onward.scale import Engine
from onward.scale.engine import Workers

Advance = Callable[[str, int, int], None]
"""Called with the experiment's name, how many pieces are done, and how many there are."""


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment: its frame, and the seconds of work behind it, over all runs that took part."""

    frame: pl.DataFrame
    seconds: float
    added: Mapping[str, tuple[int, int]]  # of groups that have grown: repeats at first, and now


def run_figures(
    figures: Sequence[Figure[Any]],
    configs: Mapping[str, Settings],
    folder: Path,
    engine: Engine | None = None,
    advance: Advance = lambda name, done, total: None,
) -> dict[str, Outcome]:
    """Run what is missing and return everything, by the figure's name.

    Pieces are kept in the folder under a digest of the settings, each written whole or not at all. So a run that was
    stopped goes on where it was, and a finished one is only read. Where a verdict is undecided repeats are added, up to
    the settings' limit. The result does not depend on the engine, nor on the
    number of its workers; they must see the folder under the same path.
    """
    with (engine or Engine()).started() as workers:
        return {
            each.name: _run_figure(each, configs[each.name], folder.resolve(), workers, advance) for each in figures
        }


def _run_figure(figure: Figure[Any], config: Settings, folder: Path, workers: Workers, advance: Advance) -> Outcome:
    progress = Progress.begin(figure, config)
    cache = folder / f"{figure.name}-{digest(figure, config, progress.pieces)}"
    cache.mkdir(parents=True, exist_ok=True)
    frames: list[pl.DataFrame] = []
    seconds = 0.0
    while len(frames) < len(progress.pieces):
        new = progress.pieces[len(frames) :]
        total, missing = len(progress.pieces), [piece for piece in new if not _is_whole(_piece_path(cache, piece))]
        done = total - len(missing)
        advance(figure.name, done, total)
        tasks = [_Task(figure, config, piece, _piece_path(cache, piece)) for piece in missing]
        for _ in workers.run(_compute_piece, tasks):
            done += 1
            advance(figure.name, done, total)
        for piece in new:
            frame, spent = _read(_piece_path(cache, piece))
            frames.append(frame)
            seconds += spent
        progress = progress.extend(pl.concat(frames))
    return Outcome(pl.concat(frames), seconds, progress.added())


@dataclass(frozen=True)
class _Task:
    figure: Figure[Any]
    config: Settings
    piece: Piece
    path: Path


def _compute_piece(task: _Task) -> str:
    began = time.perf_counter()
    frame = task.figure.compute(task.config, task.piece)
    write_frame(task.path, frame, {"seconds": repr(time.perf_counter() - began)})
    return task.piece.name


def digest(figure: Figure[Any], config: Settings, pieces: Sequence[Piece]) -> str:
    """Of all that decides the pieces: the settings, how they are cut, the sources and what they run on.

    How many repeats may be added is no part of it: a higher limit goes on from what is there.
    """
    about = {
        "settings": {key: value for key, value in settings_values(config).items() if key != "undecided_times"},
        "pieces": [[piece.name, dict(piece.about)] for piece in pieces],
        "sources": hashlib.sha256(b"".join(path.read_bytes() for path in figure.source_files())).hexdigest(),
        "versions": {library: metadata.version(library) for library in ("numpy", "numba", "scipy")},
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:12]


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


def _piece_path(folder: Path, piece: Piece) -> Path:
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
