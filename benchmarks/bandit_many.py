"""OFUL among very many arms: the time of a round from Python, and whether it is still the best arm that is chosen.

All arms are on the unit sphere and share one θ. They are new each round, or always the same; new ones come from a few
sets that are drawn beforehand and take turns, because one set is some megabytes. Ours and NumPy take turns too, a block
of rounds each, and go on from where they stopped. Between the blocks, outside the clock, our choice is compared with
the largest of all the indices.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from benchmarks import bandit_blas
from benchmarks.timing import clock, one_thread
from onward.bandits import OFUL
from onward.core.types import Matrix, Vector

D, ARMS, SETS = 50, 10_000, 4
NOISE = 0.5
ESTIMATORS: tuple[Literal["ridge", "forward"], ...] = ("ridge", "forward")
Round = tuple[Matrix, list[float]]
"""The arms, and what each of them would pay."""


@dataclass(frozen=True)
class Size:
    d: int = D
    arms: int = ARMS
    rounds: int = 300
    block: int = 20  # rounds in a block


@dataclass
class Blocks:
    """Microseconds a round, for each block, and how the choices were."""

    title: str
    arms: str  # "new" or "fixed"
    ours: bool
    microseconds: list[float] = field(default_factory=list)
    checked: int = 0  # choices that were compared with the largest index
    worse: int = 0  # of these, those that were not it

    @property
    def mean(self) -> float:
        return sum(self.microseconds) / len(self.microseconds)

    @property
    def worst(self) -> float:
        return max(self.microseconds)

    def record(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "arms": self.arms,
            "ours": self.ours,
            "mean_us": self.mean,
            "worst_block_us": self.worst,
            "block_us": self.microseconds,
            "checked": self.checked,
            "worse": self.worse,
        }


@dataclass(frozen=True)
class World:
    """Sets of arms, what each of them pays on average, and the noise of each round."""

    sets: list[Matrix]
    means: Matrix
    noise: Vector

    def rounds(self, first: int, count: int) -> list[Round]:
        turns = [(t, t % len(self.sets)) for t in range(first, min(first + count, len(self.noise)))]
        return [(self.sets[at], (self.means[at] + self.noise[t]).tolist()) for t, at in turns]


def draw(sets: int, size: Size, seed: int) -> World:
    rng = np.random.default_rng([seed, size.d, size.arms, sets])
    theta = rng.standard_normal(size.d)
    theta /= np.linalg.norm(theta)
    arms = rng.standard_normal((sets, size.arms, size.d))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    return World(list(arms), arms @ theta, NOISE * rng.standard_normal(size.rounds))


class Ours:
    def __init__(self, policy: OFUL) -> None:
        self.policy = policy

    def run(self, rounds: list[Round]) -> None:
        policy = self.policy
        for actions, rewards in rounds:
            i = policy.choose(actions)
            policy.learn(actions[i], rewards[i])

    def worse(self, actions: Matrix) -> bool:
        """Whether another arm has a larger index than the one it chooses."""
        index = self.policy.index(actions)
        return bool(index[self.policy.choose(actions)] < index.max())


class Theirs:
    def __init__(self, loop: bandit_blas.Loop) -> None:
        self.loop = loop

    def run(self, rounds: list[Round]) -> None:
        play = self.loop.play
        for actions, rewards in rounds:
            play(actions, rewards)


def compare(size: Size, seed: int = 0) -> list[Blocks]:
    found = []
    for arms, sets in (("new", SETS), ("fixed", 1)):
        world = draw(sets, size, seed)
        with one_thread():
            found += _take_turns(arms, world, size)
    return found


def _take_turns(arms: str, world: World, size: Size) -> list[Blocks]:
    players: list[tuple[Blocks, Ours | Theirs]] = [
        (
            Blocks("onward OFUL^f" if estimator == "forward" else "onward OFUL", arms, ours=True),
            Ours(OFUL(estimator=estimator, bias="tight", radius="sum", seed=0)),
        )
        for estimator in ESTIMATORS
    ]
    for title, loop in _loops(arms, world, size):
        players.append((Blocks(f"best NumPy {title}", arms, ours=False), Theirs(loop)))
    for _, player in players:
        player.run(world.rounds(0, 1))  # for what is compiled or loaded at first use
    for first in range(1, size.rounds, size.block):
        rounds = world.rounds(first, size.block)
        for blocks, player in players:
            blocks.microseconds.append(1e6 * clock(_call(player, rounds)) / len(rounds))
            if isinstance(player, Ours):
                blocks.checked += 1
                blocks.worse += player.worse(rounds[-1][0])
    return [blocks for blocks, _ in players]


def _call(player: Ours | Theirs, rounds: list[Round]) -> Callable[[], None]:
    return lambda: player.run(rounds)


def _loops(arms: str, world: World, size: Size) -> list[tuple[str, bandit_blas.Loop]]:
    if arms == "fixed":
        return [("OFUL, kept up to date", bandit_blas.FixedOFUL(world.sets[0]))]
    return [
        ("OFUL", bandit_blas.OFUL(size.d, size.arms)),
        ("OFUL^f", bandit_blas.ForwardOFUL(size.d, size.arms)),
    ]
