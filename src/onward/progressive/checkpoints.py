"""Checkpoints: everything that a pass needs to go on as if it had never stopped."""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from onward import storage
from onward.core.shown import several
from onward.progressive.checkpoint_checks import check_about
from onward.regression import LEARNERS, OnlineRegressor, learner_name
from onward.tables.sources import File

KIND = "checkpoint"
_HEAD = 1 << 16  # bytes of a file that must not have changed


@dataclass(frozen=True)
class Checkpoint:
    """Settings and arrays of a pass, and the models in it by name: `model` is the one that learns."""

    settings: Mapping[str, Any]
    arrays: storage.Arrays
    models: Mapping[str, OnlineRegressor]

    @classmethod
    def from_file(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """What `write` put into a file; KeyError, TypeError or ValueError if it does not fit together."""
        check_about(settings)
        models: dict[str, OnlineRegressor] = {}
        for name, described in settings["models"].items():
            prefix = f"{name}: "
            own = {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
            models[name] = LEARNERS[described["learner"]].from_record(described["settings"], own)
        if "model" not in models:
            raise ValueError(f"a checkpoint must hold the model that learns, got {several(models)}")
        rest = {key: value for key, value in arrays.items() if not key.startswith(tuple(f"{n}: " for n in models))}
        return cls(settings, rest, models)


@storage.kind(KIND)
class CheckpointModel:
    """A checkpoint as a model: `onward.load` gives the model that a pass had learned by then."""

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Any:
        """The model in a checkpoint."""
        return Checkpoint.from_file(settings, arrays).models["model"]


def beside(path: Path) -> Path:
    """Where the checkpoint of a pass that will save its model to `path` lies."""
    return path.with_name(f"{path.name}.checkpoint")


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write it, wholly or not at all."""
    settings, arrays = dict(checkpoint.settings), dict(checkpoint.arrays)
    models = {}
    for name, model in checkpoint.models.items():
        record, own = model.to_record()
        models[name] = {"learner": learner_name(model), "settings": record}
        arrays |= {f"{name}: {key}": value for key, value in own.items()}
    storage.save(path, KIND, settings | {"models": models}, arrays)


def read(path: Path) -> Checkpoint:
    """What `write` wrote; StorageError if the file is damaged or something else."""
    kind, settings, arrays = storage.read(path)
    if kind != KIND:
        raise storage.StorageError(f"{path}: holds a {storage.brief(repr(kind))}, expected a checkpoint")
    try:
        return Checkpoint.from_file(settings, arrays)
    except Exception as error:
        raise storage.misfit(path, KIND, error) from error


def remove(path: Path) -> None:
    """Remove a checkpoint that has served."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def described(files: list[File]) -> list[dict[str, Any]]:
    """The files as a checkpoint remembers them: names, sizes, and how they begin. Nothing can be said of a pipe."""
    return [
        {
            "name": file.name,
            "size": file.size,
            # To look into a pipe would be to take from it.
            "ends": None if file.path is None or file.comes_once else _digest(file.path),
        }
        for file in files
    ]


def check_same(place: Path, before: Mapping[str, Any], about: Mapping[str, Any], files: list[File]) -> None:
    """ValueError if a checkpoint was written by a pass with other settings, or over other data."""
    written = json.loads(json.dumps(about["settings"], default=str))
    for name, value in written.items():
        if before["settings"].get(name) != value:
            raise ValueError(
                f"{place}: cannot go on with other settings: {_difference(name, before['settings'].get(name), value)}; "
                "start without resuming"
            )
    difference = changed(before["files"], files)
    if difference is not None:
        raise ValueError(f"{place}: cannot go on with other data: {difference}; start without resuming")


def _difference(name: str, before: Any, now: Any) -> str:
    """What a setting was and what it is; of a group of settings, the first that differs."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in now:
            if before.get(key) != now[key]:
                return f"{key} was {storage.brief(repr(before.get(key)))}, now it is {storage.brief(repr(now[key]))}"
    return f"{name} was {storage.brief(repr(before))}, now it is {storage.brief(repr(now))}"


def digest_of(model: OnlineRegressor) -> str:
    """What a model has learned, in a few letters."""
    _, arrays = model.to_record() if model.__sklearn_is_fitted__() else model.parameters_to_record()
    if not arrays:
        return "nothing"
    return hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()[:16]


def changed(before: list[dict[str, Any]], files: list[File]) -> str | None:
    """What is no longer as it was, in words; None if nothing is."""
    now = described(files)
    if [each["name"] for each in before] != [each["name"] for each in now]:
        was, made = ([each["name"] for each in described] for described in (before, now))
        return f"it was made of {several(was, 300)}, not of {several(made, 300)}"
    for old, new in zip(before, now, strict=True):
        if old["size"] != new["size"]:
            sizes = ["an unknown number of" if size is None else f"{size:,}" for size in (old["size"], new["size"])]
            return f"{new['name']} had {sizes[0]} bytes then and has {sizes[1]} now"
        if old["ends"] != new["ends"]:
            return f"{new['name']} begins or ends otherwise than it did then"
    return None


def _digest(path: Path) -> str:
    """Of how a file begins and ends: Parquet says at its end what it holds."""
    with open(path, "rb") as file:
        start = file.read(_HEAD)
        file.seek(max(0, path.stat().st_size - _HEAD))
        return hashlib.sha256(start + file.read(_HEAD)).hexdigest()
