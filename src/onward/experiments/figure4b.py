"""Figure 4b: a world that changes slowly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from onward.bandits.environments import BoxArms, Gaussian, LinearWorld, Rotating
from onward.experiments.base import Claim
from onward.experiments.changing_worlds import ChangingWorld, Settings, better, on_par


@dataclass(frozen=True)
class Config(Settings):
    """Settings; those that the paper gives are its own."""

    variation: float = 1.5703  # B_T


class Slowly(ChangingWorld):
    """θ* goes round a quarter of the circle."""

    NAME = "figure4b"
    TITLE = "Figure 4b: a world that changes slowly"

    def world(self, config: Settings) -> LinearWorld:
        """θ* from (1,0) to (0,1) along the circle in the first half of the rounds."""
        start, end = np.eye(config.d)[:2]
        path = Rotating(start, end, steps=config.horizon // 2)
        return LinearWorld(BoxArms(config.n_arms, config.d), path, Gaussian(config.sigma))

    def claims(self, config: Settings, frame: pl.DataFrame) -> Sequence[Claim]:
        """On par, and discounting is better where changes are slow."""
        says = "D-LinUCB is better suited to slow changes than SW-LinUCB."
        return [on_par(self.NAME, frame), better("D-LinUCB", "SW-LinUCB", says, frame)]


NAME, TITLE = Slowly.NAME, Slowly.TITLE
_figure = Slowly()
pieces, compute, claims, draw = _figure.pieces, _figure.compute, _figure.claims, _figure.draw
