"""The t interval against ordinary least squares, whatever λ and prior the state has."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from onward import ForwardRegressor, RidgeRegressor
from onward.confidence import TIntervals
from onward.core import Information
from onward.core.types import Matrix, Vector


def learned(X: Matrix, y: Vector, w: Vector, lam: object, intercept: bool = True, prior: float = 0.0) -> Information:
    state = Information(X.shape[1], 1, lam, intercept, prior)  # type: ignore[arg-type]
    base = state.base(X)
    state.absorb(X, y[:, None] - base if len(base) else y[:, None].copy(), w)
    return state


def least_squares(X: Matrix, y: Vector, w: Vector, rows: Matrix, delta: float) -> Matrix:
    """The textbook's interval for targets of weight 1."""
    A, B = (np.column_stack([np.ones(len(each)), each]) for each in (X, rows))
    root = np.sqrt(w)
    theta, _, rank, _ = np.linalg.lstsq(root[:, None] * A, root * y, rcond=None)
    freedom = np.count_nonzero(w) - rank
    spread = np.sqrt(np.sum(w * (y - A @ theta) ** 2) / freedom)
    leverage = np.einsum("ij,jk,ik->i", B, np.linalg.pinv(A.T @ (w[:, None] * A)), B)
    reach = stats.t.ppf(1 - delta / 2, freedom) * spread * np.sqrt(1 + leverage)
    return np.column_stack([B @ theta - reach, B @ theta + reach])


@pytest.mark.parametrize(
    ("lam", "prior"), [(1.0, 0.0), (1e-6, 0.0), (50.0, 2.0), ([0.0, 1.0, 3.0, 0.5], 0.0), (0.0, 0.0), (0.0, 1.5)]
)
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_it_is_that_of_least_squares(lam: object, prior: float, delta: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) * [1.0, 30.0, 0.1] + [0.0, 100.0, 0.0]
    y = X @ [1.0, 0.2, -5.0] + 7 + rng.standard_normal(40)
    w = rng.exponential(1.0, 40)
    w[3] = 0.0
    found = TIntervals(learned(X, y, w, lam, prior=prior)).ends(X[:9], np.ones(9), delta)
    assert_allclose(found, least_squares(X, y, w, X[:9], delta), rtol=1e-6)


def test_it_is_that_of_least_squares_for_every_learner() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3)) * [1.0, 30.0, 0.1] + [0.0, 100.0, 0.0]
    y = X @ [1.0, 0.2, -5.0] + 7 + rng.standard_normal(60)
    expected = least_squares(X, y, np.ones(60), X[:9], 0.1)
    for model in (ForwardRegressor(2.0), RidgeRegressor(2.0, units="own"), RidgeRegressor(2.0, intercept_lam=None)):
        model.fit(X, y)
        assert_allclose(model.interval(X[:9], 0.1, of="observation"), expected, rtol=1e-6)


def test_directions_that_no_row_has_shown_are_open() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 3))
    X[:, 2] = X[:, 0] - X[:, 1]
    y = X[:, 0] + rng.standard_normal(30)
    for lam in (1.0, 0.0, [0.0, 1.0, 1.0, 1.0]):
        t = TIntervals(learned(X, y, np.ones(30), lam))
        assert t.freedom == 27
        rows = np.array([[1.0, 0.5, 0.5], [1.0, 0.5, 0.6]])
        inside, outside = t.ends(rows, np.ones(2), 0.05)
        assert_allclose(inside, least_squares(X, y, np.ones(30), rows, 0.05)[0], rtol=1e-6)
        assert list(outside) == [-np.inf, np.inf]


@pytest.mark.parametrize("rows", [0, 1, 3, 4])
@pytest.mark.parametrize("lam", [1.0, 0.0, [0.0, 1.0, 1.0, 1.0]])
def test_as_many_rows_as_coefficients_say_nothing_of_the_noise(rows: int, lam: object) -> None:
    rng = np.random.default_rng(2)
    state = learned(rng.standard_normal((rows, 3)), rng.standard_normal(rows), np.ones(rows), lam)
    assert np.isinf(TIntervals(state).ends(np.ones((2, 3)), np.ones(2), 0.05)).all()


def test_rows_of_less_weight_have_more_noise() -> None:
    rng = np.random.default_rng(3)
    X, w = rng.standard_normal((200, 2)), np.array([4.0, 1.0, 0.25, 0.0])
    t = TIntervals(learned(X, rng.standard_normal(200), np.ones(200), 1.0))
    width = np.diff(t.ends(np.zeros((4, 2)), w, 0.05)).ravel()
    assert_allclose(width[1:3] / width[:2], 2.0, rtol=0.02)
    assert np.isinf(width[3])


def test_it_misses_delta_of_the_rows() -> None:
    """At every number of rows; half as wide, far more."""
    rng = np.random.default_rng(4)
    missed = np.zeros((2, 3))
    for _ in range(1000):
        X, theta = rng.standard_normal((31, 3)), rng.standard_normal(3)
        y = X @ theta + rng.standard_normal(31)
        for place, n in enumerate((6, 12, 30)):
            low, high = TIntervals(learned(X[:n], y[:n], np.ones(n), 1.0)).ends(X[n : n + 1], np.ones(1), 0.1)[0]
            middle, half = (low + high) / 2, (high - low) / 2
            away = abs(y[n] - middle)
            missed[:, place] += away > half, away > half / 2
    assert (np.abs(missed[0] - 100) < 3.5 * np.sqrt(90)).all(), missed
    assert (missed[1] > 250).all(), missed
