"""Forward with λ = 0: its regret to the truth, proven, and to the best in closed form."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from onward import bounds
from onward.core import Information
from onward.core.types import Matrix, Vector
from tests.theorems.games import NOISES, failing, most
from tests.theorems.sequences import Run, runs

COUNT, DELTA = 2000, 0.1


class Unregularized:
    """Runs of forward with λ = 0 on the same rows, each with noise of its own: arrays are (T, runs)."""

    def __init__(self, X: Matrix, theta: Vector, noise: Matrix) -> None:
        self.mean = (X @ theta)[:, None]
        y = self.mean + noise
        p, q = Information(X.shape[1], noise.shape[1], 0.0).absorb(X, y.copy(), np.ones(len(X)))
        self.raised = np.isinf(q)
        self.q = np.where(self.raised, 0.0, q)
        self.guess = np.where(self.raised[:, None], 0.0, p / (1.0 + self.q)[:, None])
        self.regret = np.cumsum((self.guess - y) ** 2 - noise**2, axis=0)


def rows(kind: str, rng: np.random.Generator) -> Matrix:
    X = rng.standard_normal((150, 3))
    if kind == "late":  # the last coordinate comes in after 100 rounds
        X[:100, 2] = 0.0
    elif kind == "nearly singular":
        X[:, 2] = X[:, 1] + 0.01 * X[:, 2]
    elif kind == "zeros between":
        X[::3] = 0.0
    return X


@pytest.mark.parametrize("kind", ["plain", "late", "nearly singular", "zeros between"])
@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
def test_regret_to_the_truth(kind: str, noise: str) -> None:
    rng = np.random.default_rng(51)
    X, theta, sigma = rows(kind, rng), np.array([1.0, -2.0, 2.0]), 0.5
    game = Unregularized(X, theta, sigma * NOISES[noise](rng, (150, COUNT)))
    for lam in (0.01, 1.0, 10.0):
        bound = bounds.unregularized_forward_regret_to_truth_along(
            X, lam=lam, theta_bound=3.0, sigma=sigma, delta=DELTA
        )
        assert failing(game.regret, bound[:, None]) <= most(DELTA, COUNT)


def test_what_the_bound_is_made_of() -> None:
    """The sum of squares that the noise multiplies, taken apart by a direct computation."""
    rng = np.random.default_rng(52)
    X, lam, S, sigma = rows("late", rng), 0.7, 3.0, 0.5
    squares = np.zeros(len(X))
    for t, x in enumerate(X):
        A = X[:t].T @ X[:t]
        values, vectors = np.linalg.eigh(A)
        span = vectors[:, values > 1e-9]
        size = float(np.linalg.norm(x))
        if np.linalg.norm(x - span @ (span.T @ x)) > 1e-9:
            squares[t] = (size * S) ** 2
            continue
        q = float(x @ np.linalg.pinv(A, rcond=1e-12) @ x)
        gain = float(np.linalg.slogdet(A / lam + np.eye(3))[1])
        stretch = 1.0 + lam / float(values[values > 1e-9].min())
        width = sigma * np.sqrt(stretch * (2.0 * np.log(2.0 / DELTA) + gain))
        squares[t] = (np.sqrt(q) / (1 + q) * width + q / (1 + q) * size * S) ** 2
    total = np.cumsum(squares)
    bound = bounds.unregularized_forward_regret_to_truth_along(X, lam=lam, theta_bound=S, sigma=sigma, delta=DELTA)
    assert_allclose(bound, total + 2.0 * bounds.noise_sum(total, sigma=sigma, delta=DELTA / 2.0), rtol=1e-9)


def test_no_part_of_the_squares_can_be_halved() -> None:
    """d = 1. A round that raises the rank costs (‖x‖S)²; and the interval of the rounds after it is none too wide."""
    rng = np.random.default_rng(53)
    T, lam = 3000, 3.0
    X = np.ones((T, 1))
    game = Unregularized(X, np.zeros(1), rng.standard_normal((T, COUNT)))
    before = np.arange(T)
    off = np.abs(game.guess)[1:]
    q = game.q[1:]
    width = np.sqrt((1.0 + lam / before[1:]) * (2.0 * np.log(1.0 / DELTA) + np.log1p(before[1:] / lam)))
    right = (np.sqrt(q) / (1 + q) * width)[:, None]
    assert failing(off, right) <= most(DELTA, COUNT) < failing(off, right * np.sqrt(0.5))
    # The first round, without noise: exactly the squared mean, of which nothing can be spared.
    bound = bounds.unregularized_forward_regret_to_truth_along(
        100.0 * X[:1], lam=lam, theta_bound=2.0, sigma=1e-6, delta=DELTA
    )
    assert 200.0**2 <= bound[0] <= 200.0**2 * 1.0001


@given(runs())
@settings(max_examples=60)
def test_closed_form_is_above_the_sum_of_leverages(run: Run) -> None:
    X, y, _ = run
    _, q = Information(X.shape[1], 1, 0.0).absorb(X, np.zeros((len(y), 1)), np.ones(len(y)))
    norm = float(np.sqrt((X**2).sum(1)).max())
    raised = np.isinf(q)
    eigenvalues = bounds.smallest_positive_eigenvalues(X)
    least = np.minimum.accumulate(np.where(raised, eigenvalues, np.inf))
    known = np.flatnonzero(np.isfinite(least))
    if not len(known):
        return
    closed = bounds.unregularized_forward_regret_to_best(
        known + 1,
        d=X.shape[1],
        feature_bound=norm,
        target_bound=float(np.abs(y).max()),
        smallest_eigenvalue=np.minimum(least[known], norm**2),
    )
    along = bounds.unregularized_forward_regret_to_best_along(X, y)[known]
    assert (along <= closed * (1 + 1e-6)).all()


def test_closed_form_is_tight() -> None:
    """Basis rows in turn: Σh is d times a harmonic number, which r log(T/r) has, and d log T has not."""
    d, T = 50, 50 * 400
    X = np.eye(d)[np.arange(T) % d]
    paid = bounds.unregularized_forward_regret_to_best_along(X, np.ones(T))[-1]
    closed = bounds.unregularized_forward_regret_to_best(
        T, d=d, feature_bound=1.0, target_bound=1.0, smallest_eigenvalue=1.0
    )
    assert_allclose(paid, d * np.sum(1.0 / np.arange(1, 401)))
    assert 0.9 * closed < paid <= closed
    assert closed < 0.65 * (d * np.log(T) + d)  # as Gaillard et al. have it
    # Rows that grow by a tenth each time, from √λ⁺ to X: the last term is needed, too.
    growing = 1.1 ** np.arange(400.0)[:, None]
    paid = bounds.unregularized_forward_regret_to_best_along(growing, np.ones(400))[-1]
    known: dict[str, Any] = {"d": 1, "feature_bound": float(growing.max()), "target_bound": 1.0}
    assert paid <= bounds.unregularized_forward_regret_to_best(400, smallest_eigenvalue=1.0, **known)
    without = bounds.unregularized_forward_regret_to_best(400, smallest_eigenvalue=float(growing.max()) ** 2, **known)
    assert paid > without


def test_an_eigenvalue_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="smallest_eigenvalue must be at most feature_bound², 4"):
        bounds.unregularized_forward_regret_to_best(
            10, d=2, feature_bound=2.0, target_bound=1.0, smallest_eigenvalue=5.0
        )
    none: dict[str, Any] = {"d": 2, "target_bound": 1.0, "smallest_eigenvalue": 0.0}
    assert bounds.unregularized_forward_regret_to_best(10, feature_bound=1.0, **none) == np.inf
    assert bounds.unregularized_forward_regret_to_best(10, feature_bound=0.0, **none) == 0.0
