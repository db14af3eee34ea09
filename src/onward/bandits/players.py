"""Who plays: a policy that is asked round by round in Python, or one of this library in a compiled game."""

import copy
import math
import numbers
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from onward.bandits.buffers import grown, refusal, usual_lam
from onward.bandits.environments import Block
from onward.bandits.game import play_rounds
from onward.bandits.meta import MetaOFUL
from onward.bandits.policy import Policy
from onward.bandits.randomness import own_generator
from onward.bandits.settings import Status
from onward.bandits.task_game import TaskGame
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

P = TypeVar("P", bound="Player")


class Player(Protocol):
    """What a policy of one's own must do to play. It is copied for each repeat, as it is when `play` is called.

    If it has a method `reseed(seed)`, that is called with a `numpy.random.SeedSequence` at the start of each repeat.
    """

    def choose(self, actions: Matrix) -> int:
        """The number of the action to play."""

    def learn(self, action: Vector, reward: float) -> None:
        """Learn from its reward."""


def is_compiled(policy: Player) -> bool:
    """Whether the compiled loop plays as this policy does: one of this library, and nothing of it was changed."""
    return isinstance(policy, Policy) and all(
        getattr(type(policy), name) is getattr(Policy, name) for name in ("choose", "learn", "index")
    )


def copied(policy: P, seed: np.random.SeedSequence) -> P:
    """A copy for one repeat, with random numbers of its own: the same ones for every policy."""
    player = copy.deepcopy(policy)
    reseed = getattr(player, "reseed", None)
    if callable(reseed):
        reseed(seed)
    return player


class Steps:
    """A policy that is asked round by round, in Python."""

    def __init__(self, name: str, player: Player) -> None:
        self._name, self._player, self._lost, self._round = name, player, 0.0, 0

    def play(self, block: Block) -> tuple[Vector, NDArray[np.int32]]:
        """Rounds that come in a block."""
        regret, choices = np.empty(len(block.means)), np.empty(len(block.means), dtype=np.int32)
        fixed = len(block.actions) == 1
        for i, (means, noise) in enumerate(zip(block.means, block.noise, strict=True)):
            # A copy: whatever the policy does to it, others see the actions as they are.
            actions = block.actions[0 if fixed else i].copy()
            best = self._choice(actions)
            self._player.learn(actions[best], float(means[best] + noise))
            regret[i], choices[i] = self._loss(means, best), best
        return regret, choices

    def _choice(self, actions: Matrix) -> int:
        self._round += 1
        best = self._player.choose(actions)
        if not isinstance(best, numbers.Integral) or not 0 <= int(best) < len(actions):
            raise ValueError(
                f"policy {self._name!r} must choose a whole number from 0 to {len(actions) - 1} "
                f"in round {self._round}, got {brief(best)}"
            )
        return int(best)

    def _loss(self, means: Vector, best: int) -> float:
        self._lost += float(means.max() - means[best])
        if not math.isfinite(self._lost):
            raise ValueError(f"the world's means must be finite numbers, got {means} in round {self._round}")
        return self._lost


class CompiledGame:
    """A policy of this library, on its own memory; in the span of the arms, if these are fixed and it is smaller."""

    def __init__(self, policy: Policy, seed: np.random.SeedSequence) -> None:
        self._policy, self._rng = policy, own_generator(seed)
        self._buffer: Vector = np.empty(0)
        self._lost = 0.0
        self._arms: NDArray[np.float64] | None = None  # in their span

    def play(self, block: Block) -> tuple[Vector, NDArray[np.int32]]:
        """Rounds that come in a block."""
        if not len(self._buffer):
            self._begin(block)
        actions = block.actions if self._arms is None else self._arms
        n = len(block.means)
        regret, choices, done = np.empty(n), np.empty(n, dtype=np.int32), 0
        while True:
            lost = regret[done - 1] if done else self._lost
            done, status = play_rounds(
                self._buffer, self._rng, actions, block.means, block.noise, done, lost, regret, choices
            )
            if done == n:
                break
            if status != Status.FULL:
                offered = block.actions[0 if len(block.actions) == 1 else done]
                raise refusal(status, offered, self._policy.known.action_bound)
            self._buffer = grown(self._policy.memory, self._buffer)
        self._lost = float(regret[-1])
        return regret, choices

    def _begin(self, block: Block) -> None:
        policy, d = self._policy, block.actions.shape[2]
        # With a λ or a prior for each feature, features are not all the same: they stay as they are.
        alike = not isinstance(policy.lam, tuple) and policy.prior_mean is None
        alike = alike and (policy.lam is not None or isinstance(usual_lam(block.actions[0]), float))
        if policy.dimension is None and alike and len(block.actions) == 1:
            arms = in_their_span(block.actions[0])
            if arms is not None:
                self._arms = arms[None]
                self._buffer = policy.buffer_for(arms, given=d)
                return
        policy.checked_table(block.actions[0])
        self._buffer = policy.buffer_for(block.actions[0]).copy()


def new_player(name: str, policy: Player, seed: np.random.SeedSequence) -> Steps | CompiledGame | TaskGame:
    """Who plays this policy's rounds of a repeat."""
    if isinstance(policy, Policy) and is_compiled(policy):
        return CompiledGame(policy, seed)
    if type(policy) is MetaOFUL:
        return TaskGame(copied(policy, seed))
    return Steps(name, copied(policy, seed))


def in_their_span(arms: Matrix) -> Matrix | None:
    """The arms in coordinates of an orthonormal basis of their span; None if that is no smaller.

    Everything that a policy computes depends on the arms' inner products only, and on the number of their features,
    which it is told.
    """
    left, sizes, _ = np.linalg.svd(arms, full_matrices=False)
    rank = max(1, int(np.sum(sizes > sizes[0] * max(arms.shape) * np.finfo(float).eps)))
    return np.ascontiguousarray(left[:, :rank] * sizes[:rank]) if rank < arms.shape[1] else None
