"""D-LinUCB when θ* drifts: the proven bounds, and the drift term that they have in place of the paper's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward import bounds
from onward.bandits import DLinUCB, play
from onward.bandits.drift import Abrupt, Drift, Rotating
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms
from onward.bounds import as_printed
from onward.core.types import Matrix, Vector
from tests.theorems.games import most

BOUNDS: dict[str, Callable[..., float]] = {
    "ridge": bounds.dlinucb_regret,
    "forward": bounds.dlinucb_forward_regret,
}


def drift_term(estimator: str, *, lam: float, gamma: float, norm: float, drift: float) -> float:
    known: dict[str, Any] = {"d": 2, "lam": lam, "feature_bound": norm, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.1}
    bound = BOUNDS[estimator]
    return bound(100, gamma=gamma, drift=drift, **known) - bound(100, gamma=gamma, drift=0.0, **known)


def paid(estimator: str, X: Matrix, theta: Matrix, asked: Matrix, lam: float, gamma: float) -> float:
    """2 Σ |xᵀV⁻¹ Σ γ^(t−1−s) x_sx_sᵀ(θ_s − θ_t)|, at each round for the x of those asked that it is largest for."""
    d = X.shape[1]
    A, b, total = np.zeros((d, d)), np.zeros(d), 0.0
    for x, now in zip(X, theta, strict=True):
        off = np.linalg.solve(A + lam * np.eye(d), np.column_stack([b - A @ now, asked.T]))
        errors = np.abs(asked @ off[:, 0])
        if estimator == "forward":
            errors /= 1.0 + np.einsum("ij,ji->i", asked, off[:, 1:])
        total += 2.0 * float(errors.max())
        A, b = gamma * A + np.outer(x, x), gamma * b + (x @ now) * x
    return total


def variation(theta: Matrix) -> float:
    return float(np.sum(np.sqrt(np.sum(np.diff(theta, axis=0) ** 2, axis=1))))


@given(st.integers(0, 2**32), st.sampled_from((1e-3, 0.1, 10.0)), st.sampled_from((0.5, 0.9, 0.99)))
@settings(max_examples=60)
def test_drift_costs_no_more_than_its_term(seed: int, lam: float, gamma: float) -> None:
    rng = np.random.default_rng(seed)
    d, T = int(rng.integers(1, 4)), 60
    X = rng.standard_normal((T, d)) * rng.choice([1.0, 0.05], (T, 1))
    X[rng.random((T, d)) < 0.3] = 0.0
    norm = float(np.sqrt((X**2).sum(1)).max())
    theta = np.cumsum(rng.standard_normal((T, d)) * (rng.random((T, 1)) < 0.2), axis=0)
    asked = rng.standard_normal((50, d))
    asked *= norm / np.sqrt((asked**2).sum(1, keepdims=True))
    for estimator in BOUNDS:
        term = drift_term(estimator, lam=lam, gamma=gamma, norm=norm, drift=variation(theta))
        assert paid(estimator, X, theta, asked, lam, gamma) <= term * (1 + 1e-9)


def one_jump(gamma: float) -> tuple[Matrix, Matrix]:
    """Rows 1 until the memory is full, a jump of θ*, and rows that say nothing of it."""
    before = int(12.0 / (1.0 - gamma))
    X = np.concatenate([np.ones((before, 1)), np.zeros((before, 1))])
    return X, np.repeat(np.array([0.0, 1.0]), before)[:, None]


def test_a_third_of_the_drift_term_is_not_enough() -> None:
    gamma = 0.99
    lam = 0.25 / (1.0 - gamma)
    X, theta = one_jump(gamma)
    cost = paid("ridge", X, theta, np.ones((1, 1)), lam, gamma)
    term = drift_term("ridge", lam=lam, gamma=gamma, norm=1.0, drift=1.0)
    assert term / 3.0 < cost <= term
    # Forward has x itself in V: that takes hardly anything off either where λ is large.
    cost = paid("forward", X, theta, np.ones((1, 1)), lam, gamma)
    assert cost <= drift_term("forward", lam=lam, gamma=gamma, norm=1.0, drift=1.0) < 3.0 * cost


def test_where_the_printed_step_fails() -> None:
    """Errata 19: a row (1, 0.1), θ* moves, many rows (1, 0): the error is larger than the drift times X."""
    lam, gamma, T = 1e-4, 0.9999, 3000
    X = np.tile([1.0, 0.0], (T, 1))
    X[0] = (1.0, 0.1)
    norm = float(np.sqrt(1.01))
    theta = np.zeros((T, 2))
    theta[0] = np.array([1.0, 0.1]) / norm
    x = np.array([[0.0, norm]])
    last = paid("ridge", X, theta, x, lam, gamma) - paid("ridge", X[:-1], theta[:-1], x, lam, gamma)
    assert last / 2.0 > 5.0 * norm  # the step takes this to be at most X for a drift of 1
    term = drift_term("ridge", lam=lam, gamma=gamma, norm=norm, drift=1.0)
    assert paid("ridge", X, theta, x, lam, gamma) <= term


@pytest.mark.parametrize("estimator", BOUNDS)
@pytest.mark.parametrize(
    "world", [Abrupt([[1.0, 0.0], [-1.0, 0.0]], [400]), Rotating([1.0, 0.0], [0.0, 1.0], 800)], ids=["jump", "turn"]
)
def test_regret_under_drift(estimator: Any, world: Drift) -> None:
    horizon, repeats, delta, gamma, lam, norm = 800, 60, 0.1, 0.9, 10.0, 2.0
    known: dict[str, Any] = {"theta_bound": 1.0, "sigma": 0.5}
    games = LinearWorld(SphereArms(8, 2, radius=norm), world, Gaussian(0.5))
    for width in ("uniform", "determinant"):
        policy = DLinUCB(gamma, lam, estimator=estimator, width=width, bias="paper", delta=delta / horizon, **known)
        regret: Vector = play({"policy": policy}, games, horizon, repeats, seed=3)["policy"][:, -1]
        drift = 2.0 if isinstance(world, Abrupt) else float(np.pi / 2)
        whole: dict[str, Any] = {"d": 2, "lam": lam, "feature_bound": norm, "gamma": gamma, "drift": drift, **known}
        bound = BOUNDS[estimator](horizon, delta=delta, **whole)
        assert float(np.mean(regret > bound)) <= most(delta, repeats)
        # Not idle either; the drift term by itself is within a factor of three, as above.
        assert (regret > bound / 100.0).any()


def test_without_drift_it_is_a_bound_for_a_memory_that_fades() -> None:
    """B_T = 0: what is left is the paper's, with min(1, q) ≤ log₂(1 + q), and δ/T."""
    known: dict[str, Any] = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "gamma": 0.99}
    T, delta = 1000, 0.1
    printed = as_printed.dlinucb_regret(T, delta=delta / T, drift=0.0, memory=10**6, **known)
    np.testing.assert_allclose(
        bounds.dlinucb_regret(T, delta=delta, drift=0.0, **known), printed / np.sqrt(2.0 * np.log(2.0)), rtol=1e-12
    )
    # F.2 has (2 − γ)X² in its logarithm, which is not needed.
    printed = as_printed.dlinucb_forward_regret(T, delta=delta / T, drift=0.0, memory=10**6, **known)
    right = bounds.dlinucb_forward_regret(T, delta=delta, drift=0.0, **known)
    assert 0.99 * printed < right < printed
