"""How max|y| grows: a bound for all T at once, what Gaussian noise does, and the printed bound, which fails."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from onward import bounds
from onward.bounds import as_printed
from onward.bounds.growth import _SHARES
from onward.core.trace import Trace
from onward.core.types import Vector
from tests.theorems.games import failing, most

ROUNDS = np.arange(1, 10**6 + 1)


def ever_above(limit: Vector) -> Vector:
    """P(some |ε_s| > limit_s, s ≤ t) for independent standard Gaussian noise, exactly, for a limit that grows."""
    chance: Vector = -np.expm1(np.cumsum(np.log1p(-2.0 * norm.sf(limit))))
    return chance


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_growth_holds_for_all_rounds(delta: float) -> None:
    limit = bounds.target_growth(ROUNDS, feature_bound=1.0, theta_bound=0.0, sigma=1.0, delta=delta)
    assert (np.diff(limit) > 0).all()
    assert ever_above(limit)[-1] <= delta < ever_above(0.85 * limit)[-1]


def test_shares_of_the_rounds() -> None:
    """Σ 1/(n log²n) over n ≥ 2, whose tail from N on is between 1/log(N + 1) and 1/log N."""
    n = np.arange(2.0, 10**6)
    total = np.sum(1.0 / (n * np.log(n) ** 2))
    assert total + 1.0 / np.log(10**6 - 1) < _SHARES < total + 1.0 / np.log(10**6) + 1e-4


def test_growth_along_a_run() -> None:
    rng = np.random.default_rng(71)
    X, theta, sigma, delta = rng.standard_normal((300, 3)), np.array([1.0, 2.0, -2.0]), 0.5, 0.05
    means = (X @ theta)[:, None]
    largest = np.maximum.accumulate(np.abs(means + sigma * rng.standard_normal((300, 4000))), axis=0)
    trace = Trace.of(X, np.zeros(300), 1.0)
    along = bounds.target_growth_along(trace, theta_bound=3.0, sigma=sigma, delta=delta)
    assert failing(largest, along[:, None]) <= most(delta, 4000)
    whole = bounds.target_growth(
        np.arange(1, 301), feature_bound=float(trace.norms.max()), theta_bound=3.0, sigma=sigma, delta=delta
    )
    assert (along <= whole).all()
    # The mean of y belongs to it: with a row along θ* and little noise, it is all there is.
    sure = bounds.target_growth_along(Trace.of(theta[None], np.zeros(1), 1.0), theta_bound=3.0, sigma=1e-9, delta=delta)
    assert_allclose(sure, [9.0], rtol=1e-6)


def mean_of_largest(count: int) -> float:
    """E max of so many standard Gaussian numbers."""
    above = quad(lambda s: -np.expm1(count * norm.logcdf(s)), 0.0, 20.0, limit=500)[0]
    below = quad(lambda s: np.exp(count * norm.logcdf(s)), -20.0, 0.0, limit=500)[0]
    return float(above - below)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000, 10**6, 10**9])
def test_growth_of_gaussian_maxima(count: int) -> None:
    least = bounds.target_growth_at_least(count, feature_bound=0.0, theta_bound=1.0, sigma=2.0)
    exact = 2.0 * mean_of_largest(count)
    assert least <= exact * (1 + 1e-7) + 1e-12
    if count == 2:
        assert_allclose(least, exact, rtol=1e-6)  # so that no larger constant would do
    if count >= 1000:
        # Between the two: the mean of the maximum over σ√(2 log T) goes to 1, slowly.
        upper = bounds.target_growth(count, feature_bound=0.0, theta_bound=1.0, sigma=2.0, delta=0.5)
        assert 0.8 < exact / (2.0 * np.sqrt(2.0 * np.log(count))) < 1.0
        assert exact < upper
    assert bounds.target_growth_at_least(count, feature_bound=100.0, theta_bound=1.0, sigma=2.0) == 0.0


def test_printed_growth_fails() -> None:
    """Errata 22."""
    printed = as_printed.target_growth(ROUNDS, sigma=1.0, delta=0.1)
    assert ever_above(printed)[10**2 - 1] > 0.1
    assert_allclose(printed[9], np.sqrt(2.0 * np.log(100.0)))
