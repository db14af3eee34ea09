"""What figures 3 and 4 share: games between policies, as frames of regrets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from onward.bandits import play, players
from onward.bandits.environments import LinearWorld
from onward.bandits.policy import Policy
from onward.core.types import Matrix
from onward.experiments.figure import Piece
from onward.experiments.repeat_frame import value_matrix


@dataclass(frozen=True)
class Player:
    """A policy with what tells it apart from others: columns of the frame, such as its name, its index and its λ."""

    policy: Policy
    labels: Mapping[str, str | float]


class Entrant(Protocol):
    """What plays a game: a `Player`, or one whose policy is no `Policy`."""

    @property
    def policy(self) -> players.Player:
        """Who plays."""

    @property
    def labels(self) -> Mapping[str, str | float]:
        """What tells it apart from others."""


def spaced_rounds(horizon: int, count: int, log: bool) -> NDArray[np.int64]:
    """About so many rounds to keep, spread evenly or by ratios, with the first and the last."""
    points = np.geomspace(1, horizon, count) if log else np.linspace(horizon / count, horizon, count)
    return np.unique(np.concatenate([[1], np.maximum(1, np.round(points)).astype(np.int64), [horizon]]))


def play_piece(
    entrants: Sequence[Entrant],
    world: LinearWorld,
    horizon: int,
    seed: int,
    piece: Piece,
    rounds: NDArray[np.int64],
    **labels: str,
) -> pl.DataFrame:
    """The regret of each entrant in a piece's repeats: the labels, repeat, round and regret."""
    start, stop = piece.about["start"], piece.about["stop"]
    policies = {str(place): entrant.policy for place, entrant in enumerate(entrants)}
    runs = play(policies, world, horizon, stop - start, seed, keep=rounds, first_repeat=start, progress=False)
    if not runs.complete:
        raise KeyboardInterrupt
    frame: pl.DataFrame = runs.to_frame(repeats=True)
    parts = frame.partition_by("policy", as_dict=True)
    return pl.concat(
        parts[(place,)].select(
            *(pl.lit(value).alias(name) for name, value in (labels | dict(entrant.labels)).items()),
            pl.col("repeat").cast(pl.Int64),
            pl.col("round").cast(pl.Int64),
            pl.col("regret").cast(pl.Float64),
        )
        for place, entrant in zip(policies, entrants, strict=True)
    )


def regret_matrix(frame: pl.DataFrame, **where: str | float) -> Matrix:
    """The regrets that match, (repeat, kept round), in the order of both."""
    return value_matrix(frame, "regret", **where)


def kept_rounds(frame: pl.DataFrame) -> NDArray[np.int64]:
    """The rounds that were kept."""
    return frame["round"].unique().sort().to_numpy()
