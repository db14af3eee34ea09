"""The ends of the floating-point range: finite and right, or refused; never silently NaN."""

import contextlib
import pickle

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from onward import ForwardRegressor, RidgeRegressor, storage
from onward.core import TooExtremeError
from tests.fuzz.forging import pack, unpack
from tests.reference.streams import DIGITS, exact_rounds, relative_error

exponents = st.integers(-150, 150)


@given(st.integers(0, 2**32), exponents, exponents, exponents, st.sampled_from([0.0, 1e-12, 1.0, 1e12]), st.booleans())
def test_values_of_any_size_are_right_or_refused(
    seed: int, first: int, second: int, targets: int, lam: float, one_by_one: bool
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 2, (6, 2)) * rng.choice([-1, 1], (6, 2)) * np.array([10.0**first, 10.0**second])
    y = rng.uniform(1, 2, 6) * 10.0**targets
    model = ForwardRegressor(lam, fit_intercept=False)
    before = None
    try:
        if one_by_one:
            predictions = []
            for x, target in zip(X, y, strict=True):
                before = pickle.dumps(model)
                predictions.append(model.predict_one(x))
                model.learn_one(x, target)
        else:
            before = pickle.dumps(model)
            predictions = list(model.predict_then_learn(X, y))
    except ValueError as error:
        refused = "rescale" in str(error)
    else:
        refused = False
    if refused:
        assert before == pickle.dumps(model)
        return
    assert np.isfinite(predictions).all()
    assert np.isfinite([model.regularized_loss_, model.online_loss_, *model.coef_]).all()
    if lam > 0:
        p, q = exact_rounds(X, y, lam, digits=1000)
        with mp.workdps(DIGITS):
            exact = [a / (1 + b) for a, b in zip(p, q, strict=True)]
        if max(exact) > 1e-290:
            assert relative_error(np.array(predictions), exact, floor=1e-3) < 1e-8


def test_large_and_small_values_do_work_where_they_can() -> None:
    for scale in (1e150, 1e-140):
        for lam in (0.0, 1e-6 * scale**2):
            model = ForwardRegressor(lam, fit_intercept=False)
            predictions = model.predict_then_learn([[scale], [scale], [scale]], [1.0, 2.0, 3.0])
            assert predictions == pytest.approx([0.0, 0.5, 1.0], rel=1e-5)
            assert model.regularized_loss_ == pytest.approx(2.0, rel=1e-5)


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
def test_a_billion_rows_worth_of_weight(learner: type[ForwardRegressor | RidgeRegressor]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    light, heavy = learner(1.0).fit(X, y), learner(1e9).fit(X, y, np.full(50, 1e9))
    assert heavy.coef_ == pytest.approx(light.coef_, rel=1e-12)
    assert heavy.regularized_loss_ == pytest.approx(1e9 * light.regularized_loss_, rel=1e-12)
    assert heavy.information_gain_ == pytest.approx(light.information_gain_, rel=1e-12)


def test_refused_in_the_middle_of_a_large_table() -> None:
    X, y = np.ones((200_000, 2)), np.ones(200_000)
    X[:, 0] = np.random.default_rng(0).standard_normal(200_000)
    X[150_000] = 1e200
    model = ForwardRegressor().fit(X[:10], y[:10])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"cannot be learned in double precision.*got magnitudes up to 1e\+200"):
        model.partial_fit(X, y)
    assert pickle.dumps(model) == before


def test_predictions_that_overflow_are_refused() -> None:
    model = RidgeRegressor(1e-200, fit_intercept=False).fit([[1e-100]], [1e100])
    for action in (lambda: model.predict([[1e150]]), lambda: model.predict_one([1e150])):
        with pytest.raises(ValueError, match="overflows double precision"):
            action()


@given(st.integers(0, 2**32), st.integers(0, 70), st.sampled_from([0.0, 1e-6, 1.0]), st.booleans())
def test_rows_of_any_scale_are_right_or_refused(seed: int, decades: int, lam: float, one_by_one: bool) -> None:
    """A row much larger than those before it takes over their pivots; nothing of the old must be left in the new."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 2)) * 10.0 ** rng.uniform(-decades, decades, (6, 1))
    y = rng.standard_normal(6)
    model = RidgeRegressor(lam, fit_intercept=False) if lam else ForwardRegressor(lam, fit_intercept=False)
    try:
        if one_by_one:
            for x, target in zip(X, y, strict=True):
                model.learn_one(x, target)
        else:
            model.fit(X, y)
    except ValueError as error:
        if "rescale" in str(error):
            return
        raise
    assert np.isfinite([model.online_loss_, model.regularized_loss_]).all()
    with mp.workdps(1000):
        rows = mp.matrix(X.tolist())
        exact = mp.lu_solve(mp.mpf(lam) * mp.eye(2) + rows.T * rows, rows.T * mp.matrix(y.tolist()))
        for x in X:
            a, b = mp.mpf(float(x[0])), mp.mpf(float(x[1]))
            apart = abs(a * (mp.mpf(float(model.coef_[0])) - exact[0]) + b * (mp.mpf(float(model.coef_[1])) - exact[1]))
            # No better than the coefficients' last digit can be: each term is exact to that.
            assert float(apart / (1 + abs(a * exact[0]) + abs(b * exact[1]))) < 1e-9


def test_what_is_not_finite_is_refused_not_returned() -> None:
    model = RidgeRegressor(1.0, fit_intercept=False).fit([[1.0]], [1e100])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"squared error of a prediction is beyond 1e300|rescale"):
        model.learn_one([1e100], 1.0)
    assert pickle.dumps(model) == before
    gain = ForwardRegressor(1e-12, fit_intercept=False).partial_fit([[1e130]], [1.0]).partial_fit([[1e150]], [1.0])
    assert gain.information_gain_ == pytest.approx(np.log(1e150) * 2 - np.log(1e-12))
    forward = ForwardRegressor().fit(np.eye(3) + 0.5, [1.0, 2.0, 3.0])
    for action in (forward.predict, forward.leverage):
        with pytest.raises(ValueError, match="overflows double precision"):
            action([[1e308, -1.7e308, 1.7e308]])


def test_many_empty_rows_wear_nothing_away() -> None:
    model = RidgeRegressor(1.0, fit_intercept=False).fit([[3.0, 0.1]], [7.0])
    before = model.coef_.copy()
    model.partial_fit(np.zeros((200_000, 2)), np.zeros(200_000))
    assert_array_equal(model.coef_, before)


def test_small_rows_after_enormous_ones_are_learned_rightly_or_refused() -> None:
    """The pivots alone do not show how large the triangle is: the largest row does."""
    small = [[5.291e-11, -5.236e-11], [-1.923e-11, -1.029e-10], [5.382e-11, 4.206e-13]]
    model = RidgeRegressor().fit([[1.3e154, -6.75e-161], [1.3e154, 7.09e-161]], [-1e-323, -5e-324])
    model.learn_one([1.3e154, -6.75e-161], -1e-323)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        model.partial_fit(small, [-5e-324, -5e-324, 0.0])
    assert pickle.dumps(model) == before
    for x in small:
        with contextlib.suppress(TooExtremeError):
            model.learn_one(x, 0.0)
        assert np.isfinite([*model.coef_, *model.information_.D, model.regularized_loss_]).all()


def test_a_file_whose_peak_hides_a_large_triangle_is_refused() -> None:
    model = RidgeRegressor().fit([[1.0, 2.0], [2.0, 1.0], [0.5, 3.0]], [1.0, 2.0, 3.0])
    contents = unpack(model.to_bytes())
    names = [entry["name"] for entry in contents.header["arrays"]]
    assert storage.from_bytes(pack(contents)).n_seen_ == 3
    contents.arrays[names.index("U")][0, 1] = 1e150
    with pytest.raises(storage.StorageError, match=r"at most the peak 10\.25 of its tally, got 3e\+300 from 3 rows"):
        storage.from_bytes(pack(contents))
