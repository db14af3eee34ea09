"""Figure 4a: a world that changes abruptly."""

import numpy as np

from onward.bandits.environments import Abrupt, BoxArms, Gaussian, LinearWorld
from onward.experiments.changing_worlds import ChangingConfig, ChangingWorld


class Figure4a(ChangingWorld):
    """θ* jumps three times."""

    name = "figure4a"
    title = "Figure 4a: a world that changes abruptly"
    better, worse, changes = "SW-LinUCB", "D-LinUCB", "abrupt"

    def make_world(self, config: ChangingConfig) -> LinearWorld:
        """θ* = (1,0), (−1,0), (0,1), (0,−1), changing after a sixth, a third and a half of the rounds."""
        points = [config.horizon * i // 6 for i in (1, 2, 3)]
        thetas = np.zeros((4, config.d))
        thetas[0, 0], thetas[1, 0], thetas[2, 1], thetas[3, 1] = 1.0, -1.0, 1.0, -1.0
        return LinearWorld(BoxArms(config.n_arms, config.d), Abrupt(thetas, points), Gaussian(config.sigma))


FIGURE_4A = Figure4a()
