"""What policies lose at their defaults, beside the best of a range of widths: on the worlds of that choice, and others.

    python benchmarks/bandit_defaults.py            # the table of docs/bandits.md, some minutes
    python benchmarks/bandit_defaults.py --quick    # fewer repeats, a minute

Each policy plays with every width of its range, all on the same arms and noise: what its default loses is told over
what the width that did best in that world lost, which nobody knows beforehand. Of labelled data an arm is a class, and
the reward is 1 if it is the right one.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from onward.bandits import OFUL, EpsilonGreedy, LinTS, LinUCB, Policy, play
from onward.bandits.environments import (
    Abrupt,
    BallArms,
    Bounded,
    Gaussian,
    LinearWorld,
    Rotating,
    SphereArms,
    Stationary,
    UniformNormArms,
)
from onward.core.types import Matrix, Vector

RANGES: dict[str, tuple[Callable[..., Policy], str, tuple[float, ...]]] = {
    "LinUCB": (LinUCB, "alpha", (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)),
    "OFUL": (OFUL, "scale", (0.025, 0.05, 0.1, 0.2, 0.4, 1.0)),
    "LinTS": (LinTS, "scale", (0.1, 0.25, 0.5, 0.7, 1.0, 2.0)),
}
ROUNDS = 2000


@dataclass(frozen=True)
class MultiArmed:
    """Arms that have nothing in common: means uniform in [0, 1], Gaussian noise."""

    n_arms: int
    sigma: float

    def start(self, seed: SeedSequence) -> "MultiArmedRun":
        return MultiArmedRun(self.n_arms, self.sigma, np.random.default_rng(seed))


class MultiArmedRun:
    """A run of it."""

    def __init__(self, n_arms: int, sigma: float, rng: np.random.Generator) -> None:
        self.rng, self.sigma, self.own = rng, sigma, rng.random(n_arms)

    def offer(self) -> Matrix:
        """A unit vector for each arm."""
        return np.eye(len(self.own))

    def means(self) -> Vector:
        """Their means."""
        return self.own

    def reward(self, chosen: int) -> float:
        """The mean and noise."""
        return float(self.own[chosen] + self.sigma * self.rng.standard_normal())


class Clicks:
    """Five arms, a visitor of four features, and clicks with a probability of about 5%: logistic, not linear."""

    n_arms, n_features = 5, 5

    def start(self, seed: SeedSequence) -> "ClicksRun":
        return ClicksRun(np.random.default_rng(seed))


class ClicksRun:
    """A run: each arm has coefficients of its own, in its own block of the features."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.theta = rng.normal(0.0, 0.6, (Clicks.n_arms, Clicks.n_features))
        self.visitor = self._next()

    def offer(self) -> Matrix:
        """The visitor, in the block of each arm."""
        return blocks(self.visitor, Clicks.n_arms)

    def means(self) -> Vector:
        """The probability of a click on each arm."""
        return np.asarray(1.0 / (1.0 + np.exp(3.2 - self.theta @ self.visitor)))

    def reward(self, chosen: int) -> float:
        """1 for a click; the next visitor comes."""
        clicked = self.rng.random() < self.means()[chosen]
        self.visitor = self._next()
        return float(clicked)

    def _next(self) -> Vector:
        return np.concatenate([[1.0], self.rng.standard_normal(Clicks.n_features - 1)])


@dataclass(frozen=True)
class Classes:
    """Labelled data as a bandit: rows in a random order, a class for each arm."""

    name: str

    def start(self, seed: SeedSequence) -> "ClassesRun":
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, f"load_{self.name}")(return_X_y=True)
        return ClassesRun(np.asarray(X, dtype=np.float64), np.asarray(y), np.random.default_rng(seed))


class ClassesRun:
    """A run: columns in units of their deviation, reduced to twenty directions, and a constant."""

    def __init__(self, X: Matrix, y: Vector, rng: np.random.Generator) -> None:
        spread = X.std(axis=0)
        Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        directions = np.linalg.svd(Z, full_matrices=False)[2][:20]
        scores = Z @ directions.T
        self.rows = np.column_stack([np.ones(len(Z)), scores / np.sqrt(np.mean(np.sum(scores**2, axis=1)))])
        self.labels, self.n_arms = y.astype(int), len(np.unique(y))
        self.order = np.concatenate([rng.permutation(len(X)) for _ in range(-(-ROUNDS // len(X)))])
        self.round = 0

    def offer(self) -> Matrix:
        """A row, in the block of each class."""
        return blocks(self.rows[self.order[self.round]], self.n_arms)

    def means(self) -> Vector:
        """1 for the right class."""
        return np.asarray(np.arange(self.n_arms) == self.labels[self.order[self.round]], dtype=np.float64)

    def reward(self, chosen: int) -> float:
        """1 if it is right; the next row comes."""
        right = float(self.means()[chosen])
        self.round = (self.round + 1) % len(self.order)
        return right


def blocks(row: Vector, n_arms: int) -> Matrix:
    """A row in a block of its own for each arm."""
    out = np.zeros((n_arms, n_arms * len(row)))
    for arm in range(n_arms):
        out[arm, arm * len(row) : (arm + 1) * len(row)] = row
    return out


def sphere(d: int, arms: int, sigma: float, *, fresh: bool = True, radius: float = 1.0) -> LinearWorld:
    """Arms of one length, θ* of length 1."""
    return LinearWorld(SphereArms(arms, d, radius=radius, fresh=fresh), Stationary.random(d), Gaussian(sigma))


def turned(d: int, sigma: float) -> LinearWorld:
    """θ* jumps once, half way."""
    there, back = np.eye(d)[0], -np.eye(d)[1]
    return LinearWorld(
        SphereArms(20, d, fresh=True), Abrupt([there, back], change_points=(ROUNDS // 2,)), Gaussian(sigma)
    )


CHOSEN: dict[str, Callable[[], Any]] = {
    "fresh sphere, d = 10, σ = 0.1": lambda: sphere(10, 20, 0.1),
    "fresh sphere, d = 10, σ = 0.5": lambda: sphere(10, 20, 0.5),
    "fresh sphere, d = 10, σ = 2": lambda: sphere(10, 20, 2.0),
    "fixed arms, d = 10, σ = 0.1": lambda: LinearWorld(
        UniformNormArms(50, 10, fresh=False), Stationary.random(10), Gaussian(0.1)
    ),
    "fixed arms, d = 10, σ = 0.5": lambda: LinearWorld(
        UniformNormArms(50, 10, fresh=False), Stationary.random(10), Gaussian(0.5)
    ),
    "multi-armed, 10, σ = 0.5": lambda: MultiArmed(10, 0.5),
    "multi-armed, 10, σ = 0.1": lambda: MultiArmed(10, 0.1),
    "clicks": Clicks,
}
"""Those that α, the scales and λ were chosen on."""

OTHERS: dict[str, Callable[[], Any]] = {
    "fixed ball, d = 5, 30 arms, σ = 1": lambda: LinearWorld(
        BallArms(30, 5, fresh=False), Stationary.random(5), Gaussian(1.0)
    ),
    "fresh ball, d = 20, 10 arms, σ = 0.3": lambda: LinearWorld(
        BallArms(10, 20, fresh=True), Stationary.random(20), Gaussian(0.3)
    ),
    "fixed arms of length 10, d = 8, σ = 1": lambda: sphere(8, 40, 1.0, fresh=False, radius=10.0),
    "rewards in [−1, 1], d = 3": lambda: LinearWorld(
        SphereArms(10, 3, fresh=False), Stationary.random(3, radius=0.5), Bounded(0.5)
    ),
    "multi-armed, 40, σ = 0.3": lambda: MultiArmed(40, 0.3),
    "a jump half way, d = 5, σ = 0.3": lambda: turned(5, 0.3),
    "θ* turns, d = 2, σ = 0.3": lambda: LinearWorld(
        SphereArms(20, 2, fresh=True), Rotating([1.0, 0.0], [0.0, 1.0], ROUNDS), Gaussian(0.3)
    ),
    "digits": lambda: Classes("digits"),
    "wine": lambda: Classes("wine"),
    "breast cancer": lambda: Classes("breast_cancer"),
}
"""Those that nothing was chosen on."""


def losses(world: Any, repeats: int, seed: int = 0) -> dict[str, float]:
    """The mean regret of each policy at its default, of each width, and of ε-greedy."""
    policies: dict[str, Policy] = {"ε-greedy": EpsilonGreedy(seed=0)}
    for name, (make, argument, values) in RANGES.items():
        policies[name] = make(seed=0)
        policies |= {f"{name} {value:g}": make(**{argument: value}, seed=0) for value in values}
    runs = play(policies, world, ROUNDS, repeats, seed=seed)
    return {name: float(runs[name][:, -1].mean()) for name in policies}


def line(world: str, found: Mapping[str, float]) -> str:
    """A row of the table."""
    cells = [world]
    for name, (_, _, values) in RANGES.items():
        best = min(values, key=lambda value: found[f"{name} {value:g}"])
        least = found[f"{name} {best:g}"]
        cells += [f"{found[name]:.1f}", f"{found[name] / least:.2f} ({best:g})"]
    return "| " + " | ".join([*cells, f"{found['ε-greedy']:.1f}"]) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--quick", action="store_true", help="8 repeats instead of 60 (of labelled data 3 instead of 10)"
    )
    quick = parser.parse_args().quick
    heads = [part for name in RANGES for part in (name, "over its best (at)")]
    print("| world | " + " | ".join([*heads, "ε-greedy"]) + " |")
    print("|---" * (len(heads) + 2) + "|")
    for worlds in (CHOSEN, OTHERS):
        for name, make in worlds.items():
            world = make()
            slow = isinstance(world, Classes)
            print(line(name, losses(world, (3 if slow else 8) if quick else (10 if slow else 60))), flush=True)


if __name__ == "__main__":
    main()
