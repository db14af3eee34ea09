"""The exact mean of the regret for rows fixed beforehand, and who wins a round."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from onward import bounds
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from tests.theorems.games import NOISES, Runs
from tests.theorems.sequences import rows


def by_weights(who: str, X: Matrix, theta: Vector, lam: float, sigma: float) -> Vector:
    """Each prediction is a weighted sum of the targets before: the mean of its squared error, by the weights."""
    T, d = X.shape
    each = np.empty(T)
    for t in range(T):
        x, before = X[t], X[:t]
        G = before.T @ before + lam * np.eye(d) + (np.outer(x, x) if who == "forward" else 0.0)
        weights = np.linalg.solve(G, x) @ before.T
        each[t] = sigma**2 * weights @ weights + (weights @ (before @ theta) - x @ theta) ** 2
    return np.cumsum(each)


EXACT: dict[str, Any] = {
    "ridge": bounds.ridge_expected_regret_to_truth,
    "forward": bounds.forward_expected_regret_to_truth,
}


@pytest.mark.parametrize("who", EXACT)
@pytest.mark.parametrize("design", ["gaussian", "basis", "repeated", "sparse", "collinear"])
def test_expected_regret_by_the_weights_of_the_targets(design: str, who: str) -> None:
    rng = np.random.default_rng(61)
    X, theta = rows(design, 40, 4, rng), rng.standard_normal(4)
    for lam in (1e-3, 1.0, 50.0):
        exact = EXACT[who](X, theta, lam=lam, sigma=0.7)
        assert_allclose(exact, by_weights(who, X, theta, lam, 0.7), rtol=1e-8)


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
def test_expected_regret_by_simulation(noise: str) -> None:
    rng = np.random.default_rng(62)
    X, theta, lam, sigma, count = rng.standard_normal((60, 3)), np.array([1.0, -1.0, 0.5]), 0.3, 0.8, 20_000
    runs = Runs(X, theta, lam, sigma * NOISES[noise](rng, (60, count)))
    for who, exact in EXACT.items():
        seen = runs.regret(who)[-1]
        error = float(np.std(seen)) / np.sqrt(count)
        value = exact(X, theta, lam=lam, sigma=sigma)[-1]
        assert abs(float(np.mean(seen)) - value) < 4.0 * error
        # Without what regularisation does to the mean it would be found out.
        assert abs(float(np.mean(seen)) - exact(X, np.zeros(3), lam=lam, sigma=sigma)[-1]) > 10.0 * error


def test_who_wins_a_round() -> None:
    """For small λ, the rule has the sign of the exact difference, in every round once the rows span."""
    d, T, sigma, lam = 3, 60, 0.9, 1e-10
    wins, right, without, less = [], [], [], []
    for i in range(20):
        rng = np.random.default_rng(np.random.SeedSequence(63, spawn_key=(i,)))
        X, theta = rng.standard_normal((T, d)), rng.standard_normal(d)
        X[50:] *= 10.0  # far outside, so that q is large; last, for after them differences are too small for sums
        each = {who: np.diff(exact(X, theta, lam=lam, sigma=sigma), prepend=0.0) for who, exact in EXACT.items()}
        q, mean = Trace.of(X, np.zeros(T), lam).q, X @ theta
        right.append((each["forward"] < each["ridge"])[d:])
        wins.append(bounds.forward_beats_ridge(mean, leverage=q, sigma=sigma)[d:])
        without.append((mean**2 < 2.0 * sigma**2)[d:])
        less.append((mean**2 < (1.0 + q) * sigma**2)[d:])
    assert (np.array(wins) == np.array(right)).all()
    assert 0.1 < np.mean(right) < 0.9
    # The rule without q, or with 1 for 2, is another one.
    for other in (without, less):
        assert (np.array(other) != np.array(right)).sum() > 10


@pytest.mark.parametrize("lam", [0.1, 3.0])
def test_who_wins_a_round_at_any_regularisation(lam: float) -> None:
    """qμ² − 2βμ < (2 + q)(v + β²), as the module says: by a direct computation of q, v and β."""
    rng = np.random.default_rng(64)
    X, theta, sigma = rng.standard_normal((50, 3)), rng.standard_normal(3), 0.9
    ridge, forward = (np.diff(EXACT[who](X, theta, lam=lam, sigma=sigma), prepend=0.0) for who in ("ridge", "forward"))
    wins = []
    for t, x in enumerate(X):
        A = X[:t].T @ X[:t]
        z = np.linalg.solve(A + lam * np.eye(3), x)
        q, v, beta, mu = x @ z, sigma**2 * z @ A @ z, -lam * z @ theta, x @ theta
        wins.append(bool(q * mu**2 - 2.0 * beta * mu < (2.0 + q) * (v + beta**2)))
    assert (np.array(wins) == (forward < ridge)).all()
    assert 0 < sum(wins) < 50


def test_a_point_where_nothing_was_known() -> None:
    assert bounds.forward_beats_ridge(5.0, leverage=np.inf, sigma=1.0)
    assert not bounds.forward_beats_ridge(2.0, leverage=1.0, sigma=1.0)
    assert bounds.forward_beats_ridge(1.7, leverage=1.0, sigma=1.0)
