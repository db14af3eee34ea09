"""Worlds with a context in each round and the same arms: for `Disjoint`, and for policies with one θ for all.

A run offers the context, (d,), to a `Disjoint` policy. To another it offers an action for each arm: the context at the
arm's place among k blocks, (k, kd), so that one θ holds those of all arms.
"""

import numbers
from itertools import repeat
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike

from onward.bandits.environments import Gaussian, Noise
from onward.bandits.world_parts import Part, finite_matrix
from onward.core.checks import whole
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

_ROWS, _NOISE = 0, 1  # the streams of a run


def _stream(seed: SeedSequence | int, key: int) -> Generator:
    given = seed if isinstance(seed, SeedSequence) else SeedSequence(whole("seed", seed, 0))
    return np.random.default_rng(SeedSequence(given.entropy, spawn_key=(*given.spawn_key, key)))


class ContextRun:
    """One run of a world with contexts. `reward` ends the round; the rest only looks at it."""

    def __init__(self, rows: Any, noise: Any) -> None:
        self._rows, self._noise = rows, noise  # what gives the next context with its means, and the next noise
        self._context: Vector
        self._means: Vector
        self._context, self._means = next(rows)

    def context(self) -> Vector:
        """The context of the current round, (d,), in an array of your own."""
        return self._context.copy()

    def means(self) -> Vector:
        """The expected reward of each arm, (k,), in an array of your own."""
        return self._means.copy()

    def offer(self) -> Matrix:
        """An action for each arm, (k, kd): the context at the arm's place."""
        k, d = len(self._means), len(self._context)
        actions = np.zeros((k, k, d))
        actions[np.arange(k), np.arange(k)] = self._context
        return actions.reshape(k, k * d)

    def reward(self, chosen: int) -> float:
        """The reward of the arm with this number; the next round begins."""
        if not isinstance(chosen, numbers.Integral) or not 0 <= chosen < len(self._means):
            raise ValueError(f"chosen must be a whole number from 0 to {len(self._means) - 1}, got {brief(chosen)}")
        reward = float(self._means[chosen] + next(self._noise))
        self._context, self._means = next(self._rows)
        return reward


class ContextWorld(Part):
    """Contexts drawn from a standard normal distribution, and scaled to norm 1; arm i pays xᵀθ_i + ε.

    Args:
        thetas: those of the arms, (k, d).
        noise: `Gaussian`, `Rademacher` or `Bounded`; None for none.
        intercept: whether the first coordinate of each context is 1, and the rest has norm 1.

    Raises:
        ValueError: if thetas are not finite numbers in rows, or leave nothing beside an intercept.

    Example:
        >>> from onward.bandits import ContextWorld, Disjoint, LinUCB, play
        >>> world = ContextWorld([[1.0, 0.0], [0.0, 1.0]])
        >>> runs = play({"linucb": Disjoint(LinUCB(), 2)}, world, horizon=50, progress=False)
        >>> float(runs.final[0, 0]) < 20.0
        True
    """

    def __init__(self, thetas: ArrayLike, noise: Noise | None = None, *, intercept: bool = False) -> None:
        self.thetas = finite_matrix("thetas", thetas, "(k, d)")
        self.noise = Gaussian(0.0) if noise is None else noise
        self.intercept = bool(intercept)
        if self.intercept and self.thetas.shape[1] < 2:
            raise ValueError(f"thetas must have 2 columns or more beside an intercept, got {self.thetas.shape[1]}")

    n_arms = property(lambda self: len(self.thetas), doc="How many arms there are, k.")

    def _settings(self) -> dict[str, Any]:
        return {"thetas": self.thetas, "noise": self.noise, "intercept": self.intercept}

    def start(self, seed: SeedSequence | int) -> ContextRun:
        """Begin a run. The same seed begins the same run; the seed is left as it was."""
        rows, noise = _stream(seed, _ROWS), _stream(seed, _NOISE)
        return ContextRun(self._rows(rows), self._values(noise))

    def _rows(self, rng: Generator) -> Any:
        first = int(self.intercept)
        while True:
            for x in rng.standard_normal((256, self.thetas.shape[1])):
                x[first:] /= np.linalg.norm(x[first:])
                x[:first] = 1.0
                yield x, self.thetas @ x

    def _values(self, rng: Generator) -> Any:
        while True:
            yield from self.noise.draw(rng, 256)


class TableWorld(Part):
    """A table as a world: each row is a round, with a context and what every arm would have paid.

    The regret is against the best arm of each row. In each repeat the rows come in another order, or in the table's if
    `shuffled` is False; after the last row, in another order again.

    Args:
        contexts: (n, d).
        rewards: of each arm in each row, (n, k).
        shuffled: whether the rows are drawn without replacement.

    Raises:
        ValueError: if contexts and rewards are not finite, or differ in rows.

    Example:
        >>> from onward.bandits import Disjoint, LinUCB, TableWorld, play
        >>> contexts = [[1.0, 0.0], [0.0, 1.0]] * 25
        >>> rewards = [[1.0, 0.0], [0.0, 1.0]] * 25  # what each of two arms would have paid
        >>> runs = play({"linucb": Disjoint(LinUCB(), 2)}, TableWorld(contexts, rewards), horizon=50, progress=False)
        >>> float(runs.final[0, 0]) < 20.0
        True
    """

    def __init__(self, contexts: ArrayLike, rewards: ArrayLike, *, shuffled: bool = True) -> None:
        self.contexts = finite_matrix("contexts", contexts, "(n, d)")
        self.rewards = finite_matrix("rewards", rewards, "(n, k)")
        self.shuffled = bool(shuffled)
        if len(self.contexts) != len(self.rewards):
            raise ValueError(
                f"rewards must have a row for each of {len(self.contexts)} contexts, got {len(self.rewards)}"
            )

    n_arms = property(lambda self: self.rewards.shape[1], doc="How many arms there are, k.")

    def _settings(self) -> dict[str, Any]:
        return {"contexts": self.contexts, "rewards": self.rewards, "shuffled": self.shuffled}

    def start(self, seed: SeedSequence | int) -> ContextRun:
        """Begin a run. The same seed begins the same run; the seed is left as it was."""
        return ContextRun(self._rows(_stream(seed, _ROWS)), repeat(0.0))

    def _rows(self, rng: Generator) -> Any:
        n = len(self.contexts)
        while True:
            for i in rng.permutation(n) if self.shuffled else range(n):
                yield self.contexts[i], self.rewards[i]
