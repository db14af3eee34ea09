"""The settings of tasks in sequence, and what is played there."""

import itertools
from dataclasses import dataclass

import numpy as np

from onward.bandits.environments import Gaussian, LinearWorld, SphereArms
from onward.bandits.structured_worlds import Tasks
from onward.core.checks import not_negative, positive, probability, whole
from onward.core.types import Vector
from onward.experiments.figure import Settings

STARTS = {
    "zero": "from 0",
    "learned": "from the learned mean",
    "proven": "from the learned mean, as far as proven",
    "oracle": "from the true mean",
}
ESTIMATORS = ("ridge", "forward")


@dataclass(frozen=True)
class TaskConfig(Settings):
    """Settings; Cella et al. leave most of them open."""

    repeats: int = 100
    undecided_times: int = 2
    n_tasks: int = 20
    rounds: int = 100  # of each task
    d: int = 5
    n_arms: int = 10
    mean_norm: float = 1.0  # of the common mean
    spreads: tuple[float, ...] = (0.1, 0.3, 1.0)  # how far from it tasks lie
    sigmas: tuple[float, ...] = (0.1, 0.5)
    lam: float = 0.1
    delta: float = 0.01

    def __post_init__(self) -> None:
        for name in ("repeats", "rounds", "d", "n_arms"):
            whole(name, getattr(self, name))
        whole("n_tasks", self.n_tasks, 2)
        for name in ("lam", "mean_norm"):
            positive(name, getattr(self, name))
        for sigma in self.sigmas:
            positive("each of sigmas", sigma)
        for spread in self.spreads:
            not_negative("each of spreads", spread)
        if len(self.spreads) < 2 or list(self.spreads) != sorted(set(self.spreads)):
            raise ValueError(f"spreads must be at least two numbers that increase, got {self.spreads}")
        probability("delta", self.delta)

    @property
    def worlds(self) -> dict[str, tuple[float, float]]:
        """σ and the spread of each world, by its name, which is that of its group of repeats."""
        places = itertools.product(self.sigmas, self.spreads)
        return {f"sigma{sigma:g}-spread{spread:g}": (sigma, spread) for sigma, spread in places}

    @property
    def mean(self) -> Vector:
        """The common mean: arms have no direction of their own, so any will do."""
        mean = np.zeros(self.d)
        mean[0] = self.mean_norm
        return mean

    def make_world(self, sigma: float, spread: float) -> LinearWorld:
        """Fresh arms each round, and a θ for each task."""
        drift = Tasks(self.mean, spread, self.rounds, self.n_tasks)
        return LinearWorld(SphereArms(self.n_arms, self.d), drift, Gaussian(sigma))
