"""The regression problems of figures 1 and 2, and both learners' runs over them.

A problem is y = xᵀθ* + σε. Predictions are linear in the targets, so signal and noise are learned side by side, as two
targets of one pass, and a run at any σ is their sum: a whole range of signal-to-noise ratios for one pass.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from onward.core.checks import positive
from onward.core.state import Information
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from onward.experiments.figure import Settings

LEARNERS = ("ridge", "forward")
THETA_LAWS = {"sphere": "uniform on the sphere", "ball": "uniform in the ball"}


@dataclass(frozen=True)
class RegressionSettings(Settings):
    """What both figures are told of θ*, which the paper does not give."""

    theta_law: str = "sphere"  # or "ball": θ* is uniform on the one or in the other,
    theta_norm: float = 1.0  # whose radius this is. Only σ over it matters: all losses grow with its square

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("theta_norm", self.theta_norm)
        if self.theta_law not in THETA_LAWS:
            raise ValueError(f"theta_law must be one of {', '.join(map(repr, THETA_LAWS))}, got {self.theta_law!r}")

    @property
    def theta_words(self) -> str:
        """The law of θ*, as a caption says it."""
        return f"‖θ*‖ {'≤' if self.theta_law == 'ball' else '='} {self.theta_norm:g}"


@dataclass(frozen=True)
class Problem:
    """One repeat: rows (T, d), θ* (d,), the signal Xθ* (T,) and noise of variance 1 (T,)."""

    X: Matrix
    theta: Vector
    signal: Vector
    noise: Vector

    @classmethod
    def draw(
        cls,
        seed: int,
        repeat: int,
        rows: Literal["cube", "ball"],
        d: int,
        rounds: int,
        theta_law: str = "sphere",
        theta_norm: float = 1.0,
    ) -> "Problem":
        """The problem of a repeat, rows uniform in [0, 1]^d or in the unit ball, θ* on a sphere or in a ball.

        θ*, directions, lengths and noise come from streams of their own: a longer run begins with the shorter one.
        """
        children = np.random.SeedSequence(seed, spawn_key=(repeat,)).spawn(4)
        truth, direction, length, noise = (np.random.default_rng(child) for child in children)
        theta = theta_norm * _unit(truth.standard_normal((1, d)))[0]
        if theta_law == "ball":
            theta *= truth.random() ** (1.0 / d)
        if rows == "cube":
            X = direction.random((rounds, d))
        else:
            X = _unit(direction.standard_normal((rounds, d))) * length.random(rounds)[:, None] ** (1.0 / d)
        return cls.from_rows(X, theta, noise.standard_normal(rounds))

    @classmethod
    def from_rows(cls, X: Matrix, theta: Vector, noise: Vector) -> "Problem":
        """The problem with these rows."""
        return cls(X, theta, np.einsum("ij,j->i", X, theta), noise)

    def learn(self, lam: float) -> "Learned":
        """The runs over it with regularisation λ."""
        targets = np.column_stack([self.signal, self.noise])
        p, q = Information(self.X.shape[1], 2, lam).absorb(self.X, targets, np.ones(len(targets)))
        return Learned(self, float(lam), p[:, 0], p[:, 1], q)


@dataclass(frozen=True)
class Learned:
    """Runs of both learners over a problem, at any σ: ridge predictions of signal and of noise, and leverages (T,)."""

    problem: Problem
    lam: float
    p_signal: Vector
    p_noise: Vector
    q: Vector

    def trace(self, sigma: float) -> Trace:
        """The run with noise of standard deviation σ, as the bounds want it."""
        X = self.problem.X
        y = self.problem.signal + sigma * self.problem.noise
        norms = np.sqrt(np.einsum("ij,ij->i", X, X))
        return Trace(y, self.p_signal + sigma * self.p_noise, self.q, norms, X.shape[1], self.lam)

    def error(self, learner: str, sigma: float) -> Vector:
        """What a learner predicts less xᵀθ*, in each round (T,)."""
        p = self.p_signal + sigma * self.p_noise
        return (p if learner == "ridge" else p / (1.0 + self.q)) - self.problem.signal

    def regret(self, learner: str, sigma: float) -> Vector:
        """Loss so far less that of θ* (T,): a round's is e² − 2eσε with e its error, which does not cancel digits."""
        error = self.error(learner, sigma)
        return np.cumsum(error * (error - 2.0 * sigma * self.problem.noise))


def _unit(vectors: Matrix) -> Matrix:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    unit: Matrix = vectors / lengths[:, None]
    return unit
