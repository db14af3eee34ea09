"""Many runs at once with noise, and small bandit games, to count how often a bound fails."""

from collections.abc import Callable

import numpy as np
from scipy.stats import binom

from onward.core import Information
from onward.core.types import Matrix, Vector

Noise = Callable[[np.random.Generator, tuple[int, int]], Matrix]

# Each is 1-sub-Gaussian; the first two have variance 1, so that no smaller σ would do.
NOISES: dict[str, Noise] = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "rademacher": lambda rng, shape: rng.choice(np.array([-1.0, 1.0]), shape),
    "uniform": lambda rng, shape: rng.uniform(-1.0, 1.0, shape),
}


def most(delta: float, count: int) -> float:
    """A share of failures that a statement of probability δ exceeds once in a thousand tests."""
    return float(binom.ppf(0.999, count, delta)) / count


class Runs:
    """Runs on the same rows with the same θ*, each with noise of its own: arrays are (T, runs).

    The rows are shared, so one pass of the state serves all runs, a target for each.
    """

    def __init__(self, X: Matrix, theta: Vector, lam: float, noise: Matrix) -> None:
        self.X, self.lam, self.noise = X, lam, noise
        self.mean = (X @ theta)[:, None]
        self.y = self.mean + noise
        self.p, self.q = Information(X.shape[1], noise.shape[1], lam).absorb(X, self.y.copy(), np.ones(len(X)))

    def predictions(self, who: str) -> Matrix:
        return self.p if who == "ridge" else self.p / (1.0 + self.q)[:, None]

    def regret(self, who: str) -> Matrix:
        """Loss less the loss of θ*, after each round."""
        return np.cumsum((self.predictions(who) - self.y) ** 2 - self.noise**2, axis=0)

    def squares(self, who: str) -> Matrix:
        """Σ of the squared errors against the mean."""
        return np.cumsum((self.predictions(who) - self.mean) ** 2, axis=0)

    def gap(self) -> Matrix:
        """L(θ*) − min L, after each round."""
        p, q = Information(self.X.shape[1], self.noise.shape[1], 0.0).absorb(
            self.X, self.noise.copy(), np.ones(len(self.X))
        )
        return np.cumsum(self.noise**2 - (self.noise - p) ** 2 / (1.0 + q)[:, None], axis=0)


def failing(quantity: Matrix, bound: Matrix) -> float:
    """The share of runs in which the quantity exceeds the bound at some round."""
    return float(np.mean((quantity > bound).any(axis=0)))


def play(
    estimator: str,
    *,
    games: int,
    horizon: int,
    arms: int,
    lam: float,
    theta: Vector,
    sigma: float,
    delta: float,
    norm: float,
    seed: int,
    radius: str = "sum",
) -> tuple[Matrix, Matrix, Matrix]:
    """OFUL or OFUL^f, with determinant width and S = ‖θ*‖, on fresh arms each round: regrets, actions, rewards.

    The estimator is ridge, forward, or `sharp`: forward with the sharp index.
    """
    rng = np.random.default_rng(seed)
    d = len(theta)
    S = float(np.sqrt(theta @ theta))
    G, b, gain = np.tile(lam * np.eye(d), (games, 1, 1)), np.zeros((games, d)), np.zeros(games)
    regrets, actions, rewards = np.empty((games, horizon)), np.empty((games, horizon, d)), np.empty((games, horizon))
    each = np.arange(games)
    for t in range(horizon):
        offered = rng.standard_normal((games, arms, d))
        offered *= norm / np.sqrt((offered**2).sum(2, keepdims=True))
        inverse = np.linalg.inv(G)
        p = np.einsum("nkd,nde,ne->nk", offered, inverse, b)
        q = np.einsum("nkd,nde,nke->nk", offered, inverse, offered)
        width = sigma * np.sqrt(2.0 * np.log(1.0 / delta) + gain)[:, None]
        bias = np.sqrt(lam) * S
        optimistic = p + np.sqrt(q) * (np.hypot(width, bias) if radius == "joint" else width + bias)
        if estimator == "ridge":
            index = optimistic
        elif estimator == "sharp":
            index = (optimistic + q * norm * S) / (1.0 + q)
        else:
            index = p / (1.0 + q) + np.sqrt(q / (1.0 + q)) * (np.sqrt(lam + norm**2) * S + width)
        chosen = np.argmax(index, axis=1)
        x, means = offered[each, chosen], offered @ theta
        y = means[each, chosen] + sigma * rng.standard_normal(games)
        regrets[:, t] = means.max(1) - means[each, chosen]
        actions[:, t], rewards[:, t] = x, y
        G += x[:, :, None] * x[:, None, :]
        b += y[:, None] * x
        gain += np.log1p(q[each, chosen])
    return np.cumsum(regrets, axis=1), actions, rewards
