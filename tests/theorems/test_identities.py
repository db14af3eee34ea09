"""The regret, computed two ways."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from onward import bounds
from onward.core.trace import Trace
from tests.theorems.sequences import Run, minimum, penalized_minimum, rows, runs


@given(runs())
@settings(max_examples=150)
def test_telescoping_identities(run: Run) -> None:
    X, y, lam = run
    trace, best = Trace.of(X, y, lam), penalized_minimum(X, y, lam)
    scale = np.cumsum((trace.p - y) ** 2 + y**2)
    # Relative to the losses that the regret is the difference of: their rounding is all there may be.
    ridge, forward = bounds.ridge_identity(trace), bounds.forward_identity(trace)
    assert_allclose(ridge.regret / scale, (np.cumsum((trace.p - y) ** 2) - best) / scale, rtol=1e-9, atol=1e-9)
    assert_allclose(forward.regret / scale, (np.cumsum((trace.forward - y) ** 2) - best) / scale, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lam", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("d", [1, 4, 20])
@pytest.mark.parametrize("design", ["gaussian", "basis", "sparse"])
def test_telescoping_identities_each_round(lam: float, d: int, design: str) -> None:
    rng = np.random.default_rng(d)
    X, y = rows(design, 60, d, rng), rng.standard_normal(60)
    trace, best = Trace.of(X, y, lam), penalized_minimum(X, y, lam)
    rise = np.diff(best, prepend=0.0)
    size = (trace.p - y) ** 2 + best
    ridge, forward = bounds.ridge_identity(trace), bounds.forward_identity(trace)
    assert_allclose(ridge.each / size, ((trace.p - y) ** 2 - rise) / size, rtol=1e-9, atol=1e-11)
    assert_allclose(forward.each / size, ((trace.forward - y) ** 2 - rise) / size, rtol=1e-9, atol=1e-11)
    assert_allclose(ridge.regret, np.cumsum((trace.p - y) ** 2) - best, rtol=1e-9, atol=1e-9 * size[-1])
    assert_allclose(forward.regret, np.cumsum((trace.forward - y) ** 2) - best, rtol=1e-9, atol=1e-9 * size[-1])
    assert (forward.second >= 0).all()
    assert forward.second[0] == 0
    assert not ridge.second.any()


@given(runs())
@settings(max_examples=80)
def test_truth_identity_is_the_difference_of_the_regrets(run: Run) -> None:
    X, y, _ = run
    theta = np.linspace(-1.0, 2.0, X.shape[1])
    expected = np.cumsum((y - X @ theta) ** 2) - minimum(X, y)
    scale = np.maximum(np.cumsum((y - X @ theta) ** 2), 1e-300)
    gap = bounds.truth_identity(X, y, theta)
    assert_allclose(gap / scale, expected / scale, rtol=1e-9, atol=1e-9)
    assert (gap >= -1e-12 * scale).all()


def test_truth_identity_is_the_distance_in_the_norm_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    X, theta = rng.standard_normal((50, 4)), np.array([1e4, 1.0, 0.0, -3e4])
    y = X @ theta + rng.standard_normal(50)
    off = np.linalg.lstsq(X, y, rcond=None)[0] - theta
    assert_allclose(bounds.truth_identity(X, y, theta)[-1], off @ (X.T @ X) @ off, rtol=1e-7)


@pytest.mark.parametrize("d", [1, 10, 60])
def test_truth_identity_with_more_coordinates_than_rows_at_first(d: int) -> None:
    rng = np.random.default_rng(d)
    X, y = rng.standard_normal((2 * d, d)), rng.standard_normal(2 * d)
    X[d // 2] = X[0]
    gap = bounds.truth_identity(X, y, np.zeros(d))
    assert_allclose(gap, np.cumsum(y**2) - minimum(X, y), rtol=1e-9, atol=1e-9)


def test_truth_identity_where_rounding_looks_like_news() -> None:
    # Rows that repeat, the first with next to nothing in its first coordinate.
    X = np.array([[-3.84e-7, 0.907, -1.352], [1.543, -0.233, -0.517]])[[0, 1, 1, 0, 0, 1]]
    y = np.array([0.95, 0.66, 0.91, -0.42, 0.49, -0.86])
    expected = np.cumsum(y**2) - minimum(X, y)
    assert_allclose(bounds.truth_identity(X, y, np.zeros(3)), expected, rtol=1e-12)


def test_truth_identity_in_long_and_deficient_runs() -> None:
    rng = np.random.default_rng(8)
    X, y = np.zeros((700, 6)), rng.standard_normal(700)
    X[100:, :2] = rng.standard_normal((600, 2))
    X[400:, 3] = rng.standard_normal(300) * 1e3
    expected = np.cumsum(y**2) - minimum(X, y)
    assert_allclose(bounds.truth_identity(X, y, np.zeros(6)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("off", [1e-4, 1e-7, 1e-9])
def test_truth_identity_with_rows_that_are_nearly_the_same(off: float) -> None:
    rng = np.random.default_rng(9)
    first, second = rng.standard_normal((2, 5))
    X = np.vstack([first, first + off * second, rng.standard_normal((8, 5))])
    y = rng.standard_normal(10)
    expected = np.cumsum(y**2) - minimum(X, y)
    # A rounding of the rows by 1e-16 is worth this much in the minimum.
    assert_allclose(bounds.truth_identity(X, y, np.zeros(5)), expected, rtol=1e-15 / off)
