"""Bounds that assume nothing but bounded rows and targets, on runs made to break them."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from onward import bounds
from onward.core import Information
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from tests.theorems.sequences import Run, balanced, doubling, greedy, minimum, penalized_minimum, runs

GREEDY = [
    greedy(who, 40, d, lam, np.random.default_rng(d))
    for who in ("ridge", "forward")
    for d in (1, 3)
    for lam in (0.05, 2.0)
]


def at_most(regret: Vector, bound: Vector, scale: float) -> None:
    """`regret` ≤ `bound`, but for the rounding of sums of that scale."""
    assert (regret <= bound * (1 + 1e-9) + 1e-9 * scale).all(), (regret / bound).max()


def check_penalized(X: Matrix, y: Vector, lam: float) -> None:
    trace, best, T = Trace.of(X, y, lam), penalized_minimum(X, y, lam), np.arange(1, len(y) + 1)
    bound_x, bound_y = float(trace.norms.max()), float(np.abs(y).max())
    losses = {"ridge": trace.p, "forward": trace.forward, "clipped": np.clip(trace.p, -bound_y, bound_y)}
    regret = {who: np.cumsum((guess - y) ** 2) - best for who, guess in losses.items()}
    scale = float(np.sum(y**2) + np.sum((trace.p - y) ** 2))

    along = bounds.forward_regret_to_penalized_along(trace)
    at_most(regret["forward"], along, scale)
    at_most(
        along,
        bounds.forward_regret_to_penalized(T, d=trace.d, lam=lam, feature_bound=bound_x, target_bound=bound_y),
        scale,
    )
    along = bounds.ridge_regret_to_penalized_along(trace)
    at_most(regret["ridge"], along, scale)
    wide = max(bound_y, float(np.abs(trace.p).max()))
    at_most(
        along, bounds.ridge_regret_to_penalized(T, d=trace.d, lam=lam, feature_bound=bound_x, target_bound=wide), scale
    )
    along = bounds.ridge_regret_to_penalized_along(trace, clip=bound_y)
    at_most(regret["clipped"], along, scale)
    at_most(
        along,
        bounds.ridge_regret_to_penalized(T, d=trace.d, lam=lam, feature_bound=bound_x, target_bound=bound_y),
        scale,
    )


def check_best(X: Matrix, y: Vector, lam: float) -> None:
    trace, best, T = Trace.of(X, y, lam), minimum(X, y), np.arange(1, len(y) + 1)
    bound_x, bound_y = float(trace.norms.max()), float(np.abs(y).max())
    eigenvalue = bounds.smallest_positive_eigenvalues(X)
    scale = float(np.sum(y**2) + np.sum((trace.p - y) ** 2))
    d = trace.d

    along = bounds.forward_regret_to_best_along(trace, smallest_eigenvalue=eigenvalue)
    at_most(np.cumsum((trace.forward - y) ** 2) - best, along, scale)
    whole = bounds.forward_regret_to_best(
        T, d=d, lam=lam, feature_bound=bound_x, target_bound=bound_y, smallest_eigenvalue=eigenvalue
    )
    at_most(along, whole, scale)
    along = bounds.ridge_regret_to_best_along(trace, smallest_eigenvalue=eigenvalue)
    at_most(np.cumsum((trace.p - y) ** 2) - best, along, scale)
    wide = max(bound_y, float(np.abs(trace.p).max()))
    whole = bounds.ridge_regret_to_best(
        T, d=d, lam=lam, feature_bound=bound_x, target_bound=wide, smallest_eigenvalue=eigenvalue
    )
    at_most(along, whole, scale)


@given(runs())
@settings(max_examples=150)
def test_regret_to_the_penalized_minimum(run: Run) -> None:
    check_penalized(*run)


@pytest.mark.parametrize("run", [*GREEDY, doubling(20), balanced(60, 2, 5.0)])
def test_regret_to_the_penalized_minimum_against_adversaries(run: Run) -> None:
    check_penalized(*run)


@given(runs())
@settings(max_examples=100)
def test_regret_to_the_best(run: Run) -> None:
    check_best(*run)


@pytest.mark.parametrize("run", [*GREEDY, doubling(20), balanced(60, 2, 5.0)])
def test_regret_to_the_best_against_adversaries(run: Run) -> None:
    check_best(*run)


@pytest.mark.parametrize(("d", "lam"), [(1, 100.0), (1, 1000.0), (3, 300.0)])
def test_forward_bound_is_tight(d: int, lam: float) -> None:
    X, y, lam = balanced(100_000, d, lam)
    regret = bounds.forward_identity(Trace.of(X, y, lam)).regret[-1]
    bound = bounds.forward_regret_to_penalized(len(y), d=d, lam=lam, feature_bound=1.0, target_bound=1.0)
    assert 0.999 < regret / bound <= 1.0


def test_ridge_bound_along_a_run_is_tight() -> None:
    trace = Trace.of(*doubling(60))
    regret = bounds.ridge_identity(trace).regret[-1]
    assert 0.98 < regret / bounds.ridge_regret_to_penalized_along(trace)[-1] <= 1.0
    # In constants, what is lost is Σh < u.
    bound = bounds.ridge_regret_to_penalized(
        60, d=1, lam=1.0, feature_bound=float(trace.norms.max()), target_bound=float(np.abs(trace.p).max())
    )
    assert 0.5 < regret / bound <= 1.0


def test_penalty_of_the_corollary_is_tight() -> None:
    # One row, and λ so large that nothing is learned: the regret is Y², and the bound hardly more with λ⁺ right.
    X, y = np.array([[1.0]]), np.array([2.0])
    trace = Trace.of(X, y, 1.0)
    regret = 4.0
    bound = bounds.forward_regret_to_best_along(trace, smallest_eigenvalue=bounds.smallest_positive_eigenvalues(X))
    assert regret <= bound[0] <= 1.5 * regret
    assert regret > bounds.forward_regret_to_penalized_along(trace)[0]


@given(runs())
@settings(max_examples=60)
def test_unregularized_forward_regret_to_the_best(run: Run) -> None:
    X, y, _ = run
    p, q = Information(X.shape[1], 1, 0.0).absorb(X, y[:, None].copy(), np.ones(len(y)))
    guess = np.where(np.isinf(q), 0.0, p[:, 0] / (1.0 + np.where(np.isinf(q), 0.0, q)))
    regret = np.cumsum((guess - y) ** 2) - minimum(X, y)
    at_most(regret, bounds.unregularized_forward_regret_to_best_along(X, y), float(np.sum(y**2)))


def test_unregularized_forward_bound_is_tight() -> None:
    # A new direction each round: nothing can be predicted, everything is explained afterwards.
    assert_allclose(bounds.unregularized_forward_regret_to_best_along(np.eye(5), np.ones(5)), np.arange(1.0, 6.0))


@given(runs())
@settings(max_examples=100)
def test_sums_of_leverages(run: Run) -> None:
    trace = Trace.of(*run)
    T, scale = np.arange(1, len(trace.y) + 1), 1.0
    d, lam, X = trace.d, trace.lam, float(trace.norms.max())
    gain = bounds.information_gain(T, d=d, lam=lam, feature_bound=X)
    at_most(trace.gain, bounds.information_gain_along(trace), scale)
    at_most(bounds.information_gain_along(trace), gain, scale)
    at_most(np.cumsum(trace.h), bounds.leverage_after_sum_along(trace), scale)
    at_most(bounds.leverage_after_sum_along(trace), bounds.leverage_after_sum(T, d=d, lam=lam, feature_bound=X), scale)
    at_most(np.cumsum(trace.q), bounds.leverage_before_sum_along(trace), scale)
    at_most(
        bounds.leverage_before_sum_along(trace), bounds.leverage_before_sum(T, d=d, lam=lam, feature_bound=X), scale
    )


def test_sums_of_leverages_are_tight() -> None:
    X, y, lam = balanced(30_000, 3, 300.0)
    trace = Trace.of(X, y, lam)
    assert np.sum(trace.h) > 0.998 * bounds.leverage_after_sum(30_000, d=3, lam=lam, feature_bound=1.0)
    # One row: Σq = X²/λ = κ u.
    assert_allclose(bounds.leverage_before_sum(1, d=1, lam=0.01, feature_bound=3.0), 900.0)
    assert_allclose(bounds.leverage_before_sum_along(Trace.of(np.array([[3.0]]), np.ones(1), 0.01)), [900.0])


def test_kappa_is_real_in_regression() -> None:
    """Errata 16: after x_1 = √λ e_1, ridge at x_2 = X e_1 is off by (X²/4λ) σ², and forward is not."""
    for lam in (1e-2, 1e-4, 1e-6):
        trace = Trace.of(np.array([[np.sqrt(lam)], [1.0]]), np.array([1.0, 0.0]), lam)  # θ* = 0, ε_1 = σ = 1
        assert_allclose(trace.p[1] ** 2, 0.25 / lam)
        assert trace.forward[1] ** 2 < 4 * lam


def test_smallest_eigenvalues() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 3))
    X[:4, 2] = 0.0
    X[0] = 0.0
    spectra = [np.linalg.eigvalsh(X[:t].T @ X[:t]) for t in range(1, 13)]
    positive = [min(s[s > 1e-9], default=0.0) for s in spectra]
    assert_allclose(bounds.smallest_positive_eigenvalues(X), positive, rtol=1e-9)
    assert_allclose(bounds.smallest_eigenvalues(X), [s[0] * (s[0] > 1e-9) for s in spectra], rtol=1e-9)
    # Eigenvalues that squared rows cannot hold, 1e-20 of the largest.
    assert_allclose(bounds.smallest_eigenvalues(np.diag([1e5, 1e-5]))[-1], 1e-10, rtol=1e-6)


def test_minimax_regret_is_below_what_predicting_zero_pays() -> None:
    T = np.array([8, 100, 10**6])
    for d in (1, 2, 10):
        assert (bounds.minimax_regret(T, d=d, target_bound=3.0) <= 9.0 * T).all()
    assert bounds.as_printed.minimax_regret(8, d=1, target_bound=1.0) == np.inf
    assert_allclose(
        bounds.minimax_regret(10**6, d=2, target_bound=3.0),
        18 * (np.log(1e6) - 3 - np.log(2) - np.log(np.log(1e6))),
    )


@given(runs())
@settings(max_examples=60)
def test_small_losses(run: Run) -> None:
    X, y, lam = run
    trace = Trace.of(X, y, lam)
    minimum_ = penalized_minimum(X, y, lam)
    regret = np.cumsum((trace.p - y) ** 2) - minimum_
    bound = bounds.ridge_regret_to_penalized_small_loss_along(trace)
    at_most(regret, bound, float(np.sum(y**2) + np.sum(trace.p**2)))
    whole = bounds.ridge_regret_to_penalized_small_loss(minimum_, lam=lam, feature_bound=float(trace.norms.max()))
    at_most(bound, whole, float(np.sum(y**2) + np.sum(trace.p**2)) * (1.0 + float(trace.q.max())))


def test_small_losses_are_tight() -> None:
    # Rows at a right angle: q is X²/λ in each round, and the loss Σy² is 1 + q times the penalised minimum.
    X, y, lam = 3.0 * np.eye(4), np.array([1.0, -2.0, 0.5, 3.0]), 0.2
    trace = Trace.of(X, y, lam)
    regret = np.cumsum(y**2) - penalized_minimum(X, y, lam)
    assert_allclose(bounds.ridge_regret_to_penalized_small_loss_along(trace), regret)
    assert_allclose(
        bounds.ridge_regret_to_penalized_small_loss(penalized_minimum(X, y, lam), lam=lam, feature_bound=3.0), regret
    )
