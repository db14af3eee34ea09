"""Worlds by name, with the few settings that most people change, and labelled files as worlds."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from onward.bandits.arms import BallArms, SphereArms
from onward.bandits.drift import Abrupt, RandomWalk, Stationary
from onward.bandits.environments import LinearWorld
from onward.bandits.labelled_world import LabelledWorld, Scaling
from onward.bandits.log_tables import checked_kind
from onward.bandits.noise import Gaussian
from onward.core.shown import brief

Maker = Callable[[int, int, float, int], LinearWorld]


def _sphere(arms: int, d: int, sigma: float, rounds: int) -> LinearWorld:
    """new arms of length 1 every round, θ fixed"""
    return LinearWorld(SphereArms(arms, d, fresh=True), Stationary.random(d), Gaussian(sigma))


def _ball(arms: int, d: int, sigma: float, rounds: int) -> LinearWorld:
    """the same arms all the time, of any length up to 1, θ fixed"""
    return LinearWorld(BallArms(arms, d, fresh=False), Stationary.random(d), Gaussian(sigma))


def _jump(arms: int, d: int, sigma: float, rounds: int) -> LinearWorld:
    """new arms every round, θ turns into its opposite half way"""
    first = np.eye(d)[0]
    return LinearWorld(
        SphereArms(arms, d, fresh=True), Abrupt([first, -first], (max(1, rounds // 2),)), Gaussian(sigma)
    )


def _drift(arms: int, d: int, sigma: float, rounds: int) -> LinearWorld:
    """new arms every round, θ wanders at random"""
    return LinearWorld(SphereArms(arms, d, fresh=True), RandomWalk(np.eye(d)[0], 0.03), Gaussian(sigma))


NAMED_WORLDS: dict[str, Maker] = {"sphere": _sphere, "ball": _ball, "jump": _jump, "drift": _drift}
"""Makers by name, of the number of arms, their features, the noise's deviation and the number of rounds."""


def named_world(name: str, arms: int, features: int, sigma: float, rounds: int) -> LinearWorld:
    """The world of this name."""
    if name not in NAMED_WORLDS:
        raise ValueError(f"there is no world {name!r}; expected one of {', '.join(NAMED_WORLDS)}")
    return NAMED_WORLDS[name](arms, features, sigma, rounds)


def labelled_file(
    path: Path, label: str, features: Sequence[str] | None = None, scaling: Scaling | None = "beforehand"
) -> LabelledWorld:
    """A CSV, JSON lines or Parquet file as a world: the column `label` holds the classes.

    Columns of text or of truth values become one of 0 and 1 for each of their values; rows with a missing value are
    refused.
    """
    import polars as pl  # here, so that what reads no file does not wait for it

    from onward.tables.json_depth import check_depth

    kind = checked_kind(path)
    if kind == "jsonl":
        check_depth(path)
    try:
        if kind == "csv":
            frame = pl.read_csv(path, infer_schema_length=None)
        else:
            frame = pl.read_ndjson(path, infer_schema_length=None) if kind == "jsonl" else pl.read_parquet(path)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: cannot be read as {kind} ({error})") from error
    names = [name for name in frame.columns if name != label] if features is None else list(features)
    for name in [label, *names]:
        if name not in frame.columns:
            raise ValueError(f"{path}: there is no column {brief(name)}, expected it among {frame.columns}")
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise ValueError(f"{path}: column {brief(name)} holds nothing in row {row}, expected a value")
    if not names:
        raise ValueError(f"{path}: expected at least one column beside {label!r}, got none")
    table = frame.select(names)
    texts = [name for name in names if not table[name].dtype.is_numeric()]
    table = table.to_dummies(texts) if texts else table
    try:
        return LabelledWorld(table.to_numpy(), frame[label].to_numpy(), scaling, True)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
