"""Worlds with structure that a policy can use: rewards that are smooth on a graph, and tasks around a common mean."""

import math
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from onward.bandits.arms import BallArms, GivenArms, SphereArms
from onward.bandits.drift import RandomTheta, Stationary
from onward.bandits.environments import LinearWorld
from onward.bandits.noise import Noise
from onward.bandits.spectral_basis import SpectralBasis
from onward.bandits.world_parts import Part, finite_vector
from onward.core.checks import not_negative, positive, whole
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

__all__ = ["SmoothTheta", "Tasks", "graph_world"]


class SmoothTheta(RandomTheta):
    """Rewards on the nodes of a graph that every run draws for itself: a random sum of the smoothest eigenvectors.

    Args:
        basis: of the graph.
        components: how many eigenvectors take part, with coefficients uniform on a sphere.
        level: the root mean square of the rewards over all nodes.

    Raises:
        ValueError: if the basis is none, has fewer eigenvectors than components, or a number is out of its range.

    Example:
        >>> from onward.bandits import SpectralBasis
        >>> from onward.bandits.graphs import random_geometric
        >>> from onward.bandits.structured_worlds import SmoothTheta
        >>> rewards = SmoothTheta(SpectralBasis.of(random_geometric(50, seed=1)), components=3)
        >>> rewards.dimension, round(rewards.bound, 2)
        (50, 7.07)
    """

    def __init__(self, basis: SpectralBasis, components: int = 5, level: float = 1.0) -> None:
        if not isinstance(basis, SpectralBasis):
            raise ValueError(f"basis must be a SpectralBasis, such as SpectralBasis.of(edges), got {brief(basis)}")
        self.basis, self.components, self.level = basis, whole("components", components), positive("level", level)
        if self.components > len(basis.eigenvalues):
            raise ValueError(f"components must be at most {len(basis.eigenvalues)}, got {components}")
        self.dimension, self.bound = len(basis.eigenvalues), self.level * math.sqrt(len(basis.nodes))
        self._sphere = SphereArms(1, self.components, self.bound)

    def smoothness(self, lam: float) -> float:
        """C: ‖α‖_Λ is never larger, Λ being the eigenvalues plus `lam`."""
        return self.bound * math.sqrt(self.basis.eigenvalues[self.components - 1] + positive("lam", lam))

    def draw(self, rng: Generator) -> Vector:
        """One of them, drawn from `rng`, as coordinates α."""
        alpha = np.zeros(self.dimension)
        alpha[: self.components] = self._sphere.draw(rng, 1)[0, 0]
        return alpha

    def _settings(self) -> dict[str, Any]:
        basis = {"eigenvalues": self.basis.eigenvalues, "rows": self.basis.rows}
        return {**basis, "components": self.components, "level": self.level}


def graph_world(rewards: SmoothTheta, noise: Noise | None) -> LinearWorld:
    """The world of smooth rewards on a graph: its arms are the nodes, as rows of the basis.

    Args:
        rewards: what the nodes pay.
        noise: of the rewards; None for none.

    Returns:
        The world.

    Example:
        >>> from onward.bandits import SpectralBasis
        >>> from onward.bandits.environments import Gaussian
        >>> from onward.bandits.graphs import random_geometric
        >>> from onward.bandits.structured_worlds import SmoothTheta, graph_world
        >>> graph_world(SmoothTheta(SpectralBasis.of(random_geometric(50, seed=1))), Gaussian(0.1)).n_arms
        50
    """
    return LinearWorld(GivenArms(rewards.basis.rows), Stationary(rewards), noise)


class Tasks(Part):
    """One task after the other, each with a θ of its own: around a common mean, at a random place.

    Args:
        mean: of all tasks, (d,).
        spread: how far from it a task's θ is: just so far with law="sphere", at most so far with "ball".
        rounds: of each task.
        n_tasks: how many; the last one goes on for ever.
        law: of θ − mean.

    Raises:
        ValueError: if the law is neither, or a number is out of its range.

    Example:
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms
        >>> from onward.bandits.structured_worlds import Tasks
        >>> tasks = Tasks([0.5, 0.0, 0.0], spread=0.2, rounds=100, n_tasks=3)
        >>> tasks.change_points
        (100, 200)
        >>> LinearWorld(SphereArms(10, 3), tasks, Gaussian(0.3)).dimension
        3
    """

    def __init__(
        self,
        mean: ArrayLike,
        spread: float,
        rounds: int,
        n_tasks: int,
        law: Literal["sphere", "ball"] = "sphere",
    ) -> None:
        self.mean, self.spread = finite_vector("mean", mean), not_negative("spread", spread)
        self.rounds, self.n_tasks = whole("rounds", rounds), whole("n_tasks", n_tasks)
        if law not in ("sphere", "ball"):
            raise ValueError(f"law must be 'sphere' or 'ball', got {brief(law)}")
        self.law, self.dimension = law, len(self.mean)
        self.bound = float(np.linalg.norm(self.mean)) + self.spread
        self.change_points = tuple(self.rounds * task for task in range(1, self.n_tasks))
        self._one = (SphereArms if law == "sphere" else BallArms)(1, self.dimension)

    def variation(self, horizon: int) -> float:
        """Differs from run to run, so there is none to tell up to a `horizon`: take it from a run's `thetas`."""
        raise ValueError(
            "expected a theta whose path is known beforehand, got Tasks, which are drawn anew in each run; sum the "
            "norms of the differences of a block's thetas instead"
        )

    def draw(self, rng: Generator, t: int, count: int, previous: Vector | None) -> Matrix:
        """θ of the rounds t, …, t + count − 1: `previous` until a task begins, with a θ from `rng`."""
        out = np.empty((count, self.dimension))
        theta = previous
        for s in range(count):
            task, within = divmod(t + s, self.rounds)
            if theta is None or (within == 0 and task < self.n_tasks):
                theta = self.mean + self.spread * self._one.draw(rng, 1)[0, 0]
            out[s] = theta
        return out

    def _settings(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "spread": self.spread,
            "rounds": self.rounds,
            "n_tasks": self.n_tasks,
            "law": self.law,
        }
