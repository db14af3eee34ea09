"""Figure 4b: a world that changes slowly."""

from dataclasses import dataclass

import numpy as np

from onward.bandits.environments import BoxArms, Gaussian, LinearWorld, Rotating
from onward.experiments.changing_worlds import ChangingConfig, ChangingWorld


@dataclass(frozen=True)
class Figure4bConfig(ChangingConfig):
    """Settings; those that the paper gives are its own."""

    variation: float = 1.5703  # B_T


class Figure4b(ChangingWorld):
    """θ* goes round a quarter of the circle."""

    name = "figure4b"
    title = "Figure 4b: a world that changes slowly"
    Config = Figure4bConfig
    better, worse, changes = "D-LinUCB", "SW-LinUCB", "slow"

    def make_world(self, config: ChangingConfig) -> LinearWorld:
        """θ* from (1,0) to (0,1) along the circle in the first half of the rounds."""
        start, end = np.eye(config.d)[:2]
        path = Rotating(start, end, steps=config.horizon // 2)
        return LinearWorld(BoxArms(config.n_arms, config.d), path, Gaussian(config.sigma))

    def remarks(self, config: ChangingConfig) -> list[str]:
        """Those of both figures, and which policy is not here."""
        derived, *others = super().remarks(config)
        return [derived, "LinUCB-OR is not here: there are no change points to tell it.", *others]


FIGURE_4B = Figure4b()
