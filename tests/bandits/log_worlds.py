"""A small world in which the value of every policy is known exactly, and logs of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from onward.bandits.logs import LoggedData
from onward.core.types import Matrix, Vector

K, D = 3, 2
_rng = np.random.default_rng(7)
SETS = _rng.standard_normal((4, K, D))  # the action sets that there are, each offered as often as its chance says
CHANCES = np.array([0.4, 0.3, 0.2, 0.1])
THETA = np.array([1.0, -0.5])
MEANS = 1.0 + SETS @ THETA  # what each action earns in the mean
NOISE = 0.5


def softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


LOGGING = 0.7 * softmax(SETS @ np.array([-0.6, 0.9])) + 0.1  # far from uniform, and never below 0.1
UNIFORM = np.full((4, K), 1 / K)


def log(rng: np.random.Generator, n: int, chances: Matrix = LOGGING) -> LoggedData:
    which = rng.choice(len(SETS), n, p=CHANCES)
    taken = (rng.random(n)[:, None] > np.cumsum(chances[which], axis=1)).sum(axis=1).clip(max=K - 1)
    reward = MEANS[which, taken] + NOISE * rng.standard_normal(n)
    return LoggedData(SETS[which], taken, chances[which, taken], reward)


@dataclass
class Softmax:
    """A policy that does not learn, and knows its probabilities."""

    theta: Vector

    def choose(self, actions: Matrix, available: Any = None) -> int:
        return int(np.argmax(self.probabilities(actions)))

    def learn(self, action: Vector, reward: float) -> None:
        """Learn nothing."""

    def probabilities(self, actions: Matrix, available: Any = None) -> Vector:
        powers = np.exp(actions @ self.theta)
        return np.asarray(powers / powers.sum())

    def value(self) -> float:
        return float(CHANCES @ (softmax(SETS @ self.theta) * MEANS).sum(axis=1))


@dataclass
class Fixed:
    """A policy that does not learn, does not say its probabilities, and always takes what scores highest."""

    theta: Vector

    def choose(self, actions: Matrix, available: Any = None) -> int:
        return int(np.argmax(actions @ self.theta))

    def learn(self, action: Vector, reward: float) -> None:
        """Learn nothing."""

    def value(self) -> float:
        best = np.argmax(SETS @ self.theta, axis=1)
        return float(CHANCES @ MEANS[np.arange(len(SETS)), best])


class Learning:
    """Greedy least squares that tries something else one time in ten, slowly: so what it has learned shows."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.G, self.b = 5.0 * np.eye(D), np.array([-3.0, 3.0])  # it begins with what is wrong
        self.learned = 0

    def choose(self, actions: Matrix, available: Any = None) -> int:
        if self.rng.random() < 0.1:
            return int(self.rng.integers(len(actions)))
        return int(np.argmax(actions @ np.linalg.solve(self.G, self.b)))

    def learn(self, action: Vector, reward: float) -> None:
        self.G += np.outer(action, action)
        self.b += (reward - 1.0) * action
        self.learned += 1

    def play(self, rng: np.random.Generator, rounds: int) -> float:
        """What it earns a round when it really plays."""
        total = 0.0
        for which in rng.choice(len(SETS), rounds, p=CHANCES):
            a = self.choose(SETS[which])
            reward = MEANS[which, a] + NOISE * rng.standard_normal()
            self.learn(SETS[which, a], reward)
            total += reward
        return total / rounds
