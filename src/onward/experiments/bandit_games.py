"""What figures 3 and 4 share: games between policies, as pieces of work and as tidy frames."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from onward.bandits import play
from onward.bandits.environments import LinearWorld
from onward.bandits.policy import Policy
from onward.core.types import Matrix


def batches(repeats: int, size: int) -> list[tuple[int, int]]:
    """The repeats in batches: the first of each, and how many."""
    return [(first, min(size, repeats - first)) for first in range(0, repeats, size)]


def kept_rounds(horizon: int, count: int, log: bool) -> NDArray[np.int64]:
    """About so many rounds to keep, spread evenly or by ratios, with the first and the last."""
    points = np.geomspace(1, horizon, count) if log else np.linspace(horizon / count, horizon, count)
    return np.unique(np.concatenate([[1], np.maximum(1, np.round(points)).astype(np.int64), [horizon]]))


def regrets(
    policies: Mapping[str, Policy],
    world: LinearWorld,
    horizon: int,
    first: int,
    count: int,
    seed: int,
    keep: NDArray[np.int64],
    **labels: str,
) -> pl.DataFrame:
    """A batch of repeats: policy, repeat, round and regret, and the labels."""
    runs = play(policies, world, horizon, count, seed, keep=keep, first_repeat=first, progress=False)
    if not runs.complete:
        raise KeyboardInterrupt
    frame: pl.DataFrame = runs.to_frame(repeats=True)
    return frame.select(
        *(pl.lit(value).alias(name) for name, value in labels.items()),
        "policy",
        pl.col("repeat").cast(pl.Int64),
        pl.col("round").cast(pl.Int64),
        pl.col("regret").cast(pl.Float64),
    )


def of(frame: pl.DataFrame, policy: str, **labels: str) -> Matrix:
    """A policy's regret, (repeat, kept round), in the order of both."""
    chosen = frame.filter(pl.col("policy") == policy, *(pl.col(name) == value for name, value in labels.items()))
    chosen = chosen.sort("repeat", "round")
    return chosen["regret"].to_numpy().reshape(chosen["repeat"].n_unique(), -1)


def rounds_of(frame: pl.DataFrame) -> NDArray[np.int64]:
    """The rounds that were kept."""
    return frame["round"].unique().sort().to_numpy()
