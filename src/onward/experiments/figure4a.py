"""Figure 4a: a world that changes abruptly."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from onward.bandits.environments import Abrupt, BoxArms, Gaussian, LinearWorld
from onward.experiments.base import Claim
from onward.experiments.changing_worlds import ChangingWorld, Settings, better, on_par

Config = Settings


class Abruptly(ChangingWorld):
    """θ* jumps three times."""

    NAME = "figure4a"
    TITLE = "Figure 4a: a world that changes abruptly"

    def world(self, config: Settings) -> LinearWorld:
        """θ* = (1,0), (−1,0), (0,1), (0,−1), changing after a sixth, a third and a half of the rounds."""
        points = [config.horizon * i // 6 for i in (1, 2, 3)]
        thetas = np.zeros((4, config.d))
        thetas[0, 0], thetas[1, 0], thetas[2, 1], thetas[3, 1] = 1.0, -1.0, 1.0, -1.0
        return LinearWorld(BoxArms(config.n_arms, config.d), Abrupt(thetas, points), Gaussian(config.sigma))

    def claims(self, config: Settings, frame: pl.DataFrame) -> Sequence[Claim]:
        """On par, and the window is better where changes are abrupt."""
        says = "SW-LinUCB is better suited to abrupt changes than D-LinUCB."
        return [on_par(self.NAME, frame), better("SW-LinUCB", "D-LinUCB", says, frame)]


NAME, TITLE = Abruptly.NAME, Abruptly.TITLE
_figure = Abruptly()
pieces, compute, claims, draw = _figure.pieces, _figure.compute, _figure.claims, _figure.draw
