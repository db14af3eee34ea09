"""Worlds for linear bandits: the reward of arm x in round t is xᵀθ_t + ε_t.

A world is put together from arms, θ and noise; a seed begins a run of it:

    world = LinearWorld(
        BoxArms(50, 2),
        Abrupt([(1, 0), (-1, 0), (0, 1), (0, -1)], change_points=(1000, 2000, 3000)),
        Gaussian(1.0),
    )
    run = world.start(np.random.SeedSequence(0))
    for _ in range(6000):
        actions = run.offer()
        i = policy.choose(actions)
        policy.learn(actions[i], run.reward(i))

Any object with `start`, whose runs have `offer`, `means` and `reward`, is a world as well. One whose arms tire of
being played:

    class Tiring:
        def start(self, seed):
            return TiringRun(np.random.default_rng(seed))

    class TiringRun:
        def __init__(self, rng):
            self.rng, self.played = rng, np.zeros(3)

        def offer(self):
            return np.eye(3)

        def means(self):
            return np.array([0.9, 0.5, 0.4]) * 0.99**self.played

        def reward(self, chosen):
            reward = self.means()[chosen] + self.rng.normal(scale=0.1)
            self.played[chosen] += 1
            return reward
"""

import numbers
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from onward.bandits.arms import Arms, BallArms, BoxArms, GivenArms, SphereArms, UniformNormArms
from onward.bandits.drift import Abrupt, Drift, RandomTheta, RandomWalk, Rotating, Stationary
from onward.bandits.noise import Bounded, Gaussian, Noise, Rademacher
from onward.bandits.world_parts import Part
from onward.core.checks import whole
from onward.core.compile import unlocked
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

__all__ = [
    "Abrupt",
    "Arms",
    "BallArms",
    "Block",
    "Bounded",
    "BoxArms",
    "Drift",
    "Environment",
    "EnvironmentRun",
    "Gaussian",
    "GivenArms",
    "LinearRun",
    "LinearWorld",
    "Noise",
    "Rademacher",
    "RandomTheta",
    "RandomWalk",
    "Rotating",
    "SphereArms",
    "Stationary",
    "UniformNormArms",
]

_ARMS, _THETA, _NOISE = 0, 1, 2  # the streams of a run: what the seed's spawn key is lengthened by
_AHEAD = 256  # rounds that stepping draws at once ...
_AHEAD_NUMBERS = 1 << 17  # ... unless their arms would be more numbers than this


class EnvironmentRun(Protocol):
    """One run of a world, played round by round. `reward` ends the round; `offer` and `means` only look at it.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import EnvironmentRun, Gaussian, GivenArms, LinearWorld, Stationary
        >>> world = LinearWorld(GivenArms([[1.0, 0.0], [0.0, 1.0]]), Stationary([0.5, 0.2]), None)
        >>> run: EnvironmentRun = world.start(0)
        >>> run.offer().shape, run.means().tolist(), run.reward(0)
        ((2, 2), [0.5, 0.2], 0.5)
    """

    def offer(self) -> Matrix:
        """The actions of the current round, (k, d)."""

    def means(self) -> Vector:
        """The expected reward of each, (k,): for the regret, not for the policy."""

    def reward(self, chosen: int) -> float:
        """The reward of the action with the number `chosen`; the next round begins."""


class Environment(Protocol):
    """A world: something that begins runs. The same seed must begin the same run.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Environment, Gaussian, LinearWorld, SphereArms, Stationary
        >>> world: Environment = LinearWorld(SphereArms(10, 3), Stationary.random(3), Gaussian(0.3))
        >>> first, second = (world.start(np.random.SeedSequence(7)) for _ in range(2))
        >>> first.reward(4) == second.reward(4)
        True
    """

    def start(self, seed: SeedSequence) -> EnvironmentRun:
        """Begin a run. All that is random in it comes from the seed, which is left as it was."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rounds of a run, in order. The reward of arm i in round t is means[t, i] + noise[t].

    Attributes:
        actions: the arms, (count, k, d). One entry, (1, k, d), if they are the same in all rounds of the run: all its
            blocks share it.
        means: the expected reward of each arm, (count, k).
        noise: of each round, (count,).
        thetas: θ of each round, (count, d).

    Example:
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
        >>> block = LinearWorld(SphereArms(10, 3, fresh=False), Stationary.random(3), Gaussian(0.3)).start(0).rounds(50)
        >>> block.actions.shape, block.means.shape, block.noise.shape, block.thetas.shape
        ((1, 10, 3), (50, 10), (50,), (50, 3))
    """

    actions: Matrix
    means: Matrix
    noise: Vector
    thetas: Matrix

    def _between(self, first: int, last: int) -> "Block":
        actions = self.actions if len(self.actions) == 1 else self.actions[first:last]
        return Block(actions, self.means[first:last], self.noise[first:last], self.thetas[first:last])


class LinearWorld(Part):
    """Rewards xᵀθ_t + ε_t.

    Args:
        arms: what is offered: `GivenArms`, `SphereArms`, `BallArms`, `UniformNormArms` or `BoxArms`.
        theta: `Stationary`, `Abrupt`, `Rotating` or `RandomWalk`.
        noise: `Gaussian`, `Rademacher` or `Bounded`; None for none, which is `Gaussian(0.0)`.

    Raises:
        ValueError: if something is no part of a world, or arms and θ differ in dimension.

    Example:
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
        >>> world = LinearWorld(SphereArms(10, 3), Stationary([0.6, 0.0, -0.8]), Gaussian(0.3))
        >>> world.n_arms, world.dimension, world.action_bound
        (10, 3, 1.0)
    """

    def __init__(self, arms: Arms, theta: Drift, noise: Noise | None) -> None:
        self.arms, self.theta, self.noise = arms, theta, Gaussian(0.0) if noise is None else noise
        for name, part, example in (
            ("arms", self.arms, "SphereArms(10, 5)"),
            ("theta", self.theta, "Stationary([1.0, 0.0])"),
            ("noise", self.noise, "Gaussian(1.0)"),
        ):
            if not hasattr(part, "draw"):
                raise ValueError(f"{name} must be a part of a world, such as {example}, got {brief(part)}")
        if arms.dimension != theta.dimension:
            raise ValueError(f"theta has dimension {theta.dimension}, but the arms have {arms.dimension}")

    @property
    def n_arms(self) -> int:
        """How many arms are offered, k."""
        return self.arms.n_arms

    @property
    def dimension(self) -> int:
        """Numbers in each arm, d."""
        return self.arms.dimension

    @property
    def action_bound(self) -> float:
        """No arm's norm is larger, up to rounding."""
        return self.arms.bound

    def start(self, seed: SeedSequence | int) -> "LinearRun":
        """Begin a run. The same seed begins the same run; the seed is left as it was.

        Arms, θ and noise come from generators of their own, with the spawn keys (*key, 0), (*key, 1) and (*key, 2).
        What else is drawn for the same seed should have another key.
        """
        return LinearRun(self, seed if isinstance(seed, SeedSequence) else SeedSequence(whole("seed", seed, 0)))

    def _settings(self) -> dict[str, Any]:
        return {"arms": self.arms, "theta": self.theta, "noise": self.noise}

    def __repr__(self) -> str:
        return f"LinearWorld({self.arms!r}, {self.theta!r}, {self.noise!r})"


class LinearRun:
    """One run of a `LinearWorld`. Blocks of any size and single steps, mixed as you like, give the same rounds.

    Args:
        world: what is run.
        seed: of all that is random in it.

    Example:
        >>> import numpy as np
        >>> from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
        >>> world = LinearWorld(SphereArms(10, 3), Stationary.random(3), Gaussian(0.3))
        >>> whole, steps = world.start(0).rounds(2), world.start(0)
        >>> [steps.reward(4) for _ in range(2)] == (whole.means[:, 4] + whole.noise).tolist()
        True
    """

    def __init__(self, world: LinearWorld, seed: SeedSequence) -> None:
        self.world = world
        self._arms, self._theta, self._noise = (_stream(seed, key) for key in (_ARMS, _THETA, _NOISE))
        self._fixed = None if world.arms.fresh else world.arms.draw(self._arms, 1)
        self._drawn = 0  # rounds so far ...
        self._last: Vector | None = None  # ... and the last one's θ
        self._ahead: Block | None = None  # rounds drawn for stepping ...
        self._at = 0  # ... and how many of them were played
        self._step = max(1, min(_AHEAD, _AHEAD_NUMBERS // (world.n_arms * world.dimension)))

    def rounds(self, count: int) -> Block:
        """The next `count` rounds. They count as played."""
        missing = whole("count", count)
        blocks = []
        if self._ahead is not None:
            last = min(self._at + count, len(self._ahead.noise))
            blocks.append(self._ahead._between(self._at, last))
            missing -= last - self._at
            self._at = last
            if last == len(self._ahead.noise):
                self._ahead = None
        if missing:
            blocks.append(self._draw(missing))
        return blocks[0] if len(blocks) == 1 else _joined(*blocks)

    def offer(self) -> Matrix:
        """The actions of the current round, (k, d), in an array of your own."""
        block = self._current()
        actions: Matrix = block.actions[self._at if self._fixed is None else 0]
        return actions.copy()

    def means(self) -> Vector:
        """The expected reward of each, (k,), in an array of your own."""
        means: Vector = self._current().means[self._at]
        return means.copy()

    def reward(self, chosen: int) -> float:
        """The reward of the action with the number `chosen`; the next round begins."""
        k = self.world.n_arms
        if not isinstance(chosen, numbers.Integral) or not 0 <= chosen < k:
            raise ValueError(f"chosen must be a whole number from 0 to {k - 1}, got {brief(chosen)}")
        block = self._current()
        reward = float(block.means[self._at, chosen] + block.noise[self._at])
        self._at += 1
        if self._at == len(block.noise):
            self._ahead = None
        return reward

    def _current(self) -> Block:
        """The block that the current round is in, at `_at`."""
        if self._ahead is None:
            self._ahead, self._at = self._draw(self._step), 0
        return self._ahead

    def _draw(self, count: int) -> Block:
        world = self.world
        actions = world.arms.draw(self._arms, count) if self._fixed is None else self._fixed
        thetas = world.theta.draw(self._theta, self._drawn, count, self._last)
        noise = world.noise.draw(self._noise, count)
        means = np.empty((count, world.n_arms))
        _fill_means(actions, thetas, self._fixed is None, means)
        self._drawn += count
        self._last = thetas[-1].copy()
        return Block(actions, means, noise, thetas)


def _stream(seed: SeedSequence, key: int) -> Generator:
    """A generator of its own. Not by `seed.spawn`, which would change the seed."""
    child = SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, key), pool_size=seed.pool_size)
    return Generator(SFC64(child))  # the quickest of NumPy's


def _joined(first: Block, second: Block) -> Block:
    actions = first.actions if first.actions is second.actions else np.concatenate([first.actions, second.actions])
    return Block(
        actions,
        np.concatenate([first.means, second.means]),
        np.concatenate([first.noise, second.noise]),
        np.concatenate([first.thetas, second.thetas]),
    )


@unlocked
def _fill_means(actions: Matrix, thetas: Matrix, fresh: bool, out: Matrix) -> None:
    """Fill out, (count, k), with xᵀθ. Four sums, always in this order: quick, and the same bits in whatever block."""
    count, k = out.shape
    d = thetas.shape[1]
    fours = d - d % 4
    for t in range(count):
        a = t if fresh else 0
        for i in range(k):
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for j in range(0, fours, 4):
                s0 += actions[a, i, j] * thetas[t, j]
                s1 += actions[a, i, j + 1] * thetas[t, j + 1]
                s2 += actions[a, i, j + 2] * thetas[t, j + 2]
                s3 += actions[a, i, j + 3] * thetas[t, j + 3]
            for j in range(fours, d):
                s0 += actions[a, i, j] * thetas[t, j]
            out[t, i] = (s0 + s1) + (s2 + s3)
