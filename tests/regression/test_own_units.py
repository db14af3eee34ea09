"""units="own": λ in the variance of each column, so that no result depends on units, with all that holds otherwise."""

import copy
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward import ForwardRegressor, RidgeRegressor, load, scale
from onward.core import Information
from onward.core.another_lam import with_lam
from onward.core.own_units import next_refresh
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

LEARNERS = [ForwardRegressor, RidgeRegressor]
learners = st.sampled_from(LEARNERS)
KNOWN: list[dict[str, Any]] = [{}, {"sigma": 1.0}, {"sigma": 1.0, "theta_bound": 2.0}]


def refreshes(last: int) -> set[int]:
    """3, 4, 6, 8, 12, 16, …"""
    return {k for power in range(1, 40) for k in (2**power, 3 * 2 ** (power - 1)) if 3 <= k <= last}


def stream(seed: int, n: int = 40, d: int = 4) -> tuple[Matrix, Vector, Vector]:
    """Columns of all sizes, far from 0, some constant at first, and rows without weight among the others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 3, d)
    X += rng.uniform(-30, 30, d) * X.std(axis=0)
    late = rng.integers(0, n, d) * (rng.random(d) < 0.6)
    for j in range(d):
        X[: late[j], j] = X[0, j]
    w = rng.uniform(0.2, 2, n) * (rng.random(n) < 0.8)
    y = (X - X.mean(axis=0)) @ (rng.standard_normal(d) / X.std(axis=0)) + 5 + rng.standard_normal(n)
    return X, y, w


def by_definition(X: Matrix, y: Vector, w: Vector, lam: Any, forward: bool) -> tuple[Vector, Vector]:
    """Predictions, and λ at the end, from dense algebra in fifty digits: of sums of squares enough are left."""
    n, d = X.shape
    with mp.workdps(50):
        lams, own, first = np.broadcast_to(lam, d), [mp.mpf(0)] * d, X[0]  # λ is 0 while a column has not varied
        W, sums, squares = mp.mpf(0), mp.zeros(d, 1), mp.zeros(d)
        total, products = mp.mpf(0), mp.zeros(d, 1)
        counted, due, out = 0, refreshes(n), np.zeros(n)
        for t in range(n):
            x, target, weight = mp.matrix([float(v) for v in X[t]]), mp.mpf(y[t]), mp.mpf(w[t])
            now = list(own)
            if W > 0:
                mean, m, share = sums / W, total / W, (weight or mp.mpf(1)) / (W + (weight or 1))
                for j in range(d):
                    if now[j] == 0 and X[t, j] != first[j]:
                        now[j] = lams[j] * share * (1 - share) * (x[j] - mean[j]) ** 2
                use = [j for j in range(d) if now[j] > 0]
                out[t] = m
                if use:
                    G = mp.matrix(
                        [[squares[i, j] - W * mean[i] * mean[j] + (now[i] if i == j else 0) for j in use] for i in use]
                    )
                    b, r = mp.matrix([products[j] - m * sums[j] for j in use]), mp.matrix([x[j] - mean[j] for j in use])
                    p, q = (r.T * mp.lu_solve(G, b))[0], (r.T * mp.lu_solve(G, r))[0]
                    out[t] = m + p / (1 + weight * q) if forward else m + p
            if weight > 0:
                first = first if W > 0 else X[t]
                own, counted, W, total = now, counted + 1, W + weight, total + weight * target
                sums, squares, products = sums + weight * x, squares + weight * x * x.T, products + weight * target * x
                if counted in due:
                    for j in range(d):
                        own[j] = own[j] and lams[j] * (squares[j, j] / W - (sums[j] / W) ** 2)
        return out, np.array([float(each) for each in own])


def test_rounds_at_which_lam_is_taken_anew() -> None:
    assert [next_refresh(float(k)) for k in range(9)] == [3, 3, 3, 4, 6, 6, 8, 8, 12]
    for k in (3, 100, 767, 768, 2**20, 2**20 + 2**19 - 1):
        assert next_refresh(float(k)) == min(each for each in refreshes(2 * k) if each > k)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("learner", LEARNERS)
def test_against_the_definition_in_fifty_digits(learner: type[OnlineRegressor], seed: int) -> None:
    X, y, w = stream(seed)
    for lam in (1e-3, 1.0, [0.1, 100.0, 1.0, 1e-2]):
        expected, own = by_definition(X, y, w, lam, learner is ForwardRegressor)
        model = learner(lam, units="own")
        assert_allclose(model.predict_then_learn(X, y, w), expected, rtol=1e-9, atol=1e-9)
        varied = own > 0
        assert_allclose(model.information_.lam[1:][varied], own[varied], rtol=1e-9)
        assert (model.coef_[~varied] == 0).all()
        assert model.n_seen_ == len(y)


def test_lam_that_falls_leaves_the_digits() -> None:
    """Columns that vary at first only: λ falls with 1/n, by a third at most at a time; collinear ones, too."""
    rng = np.random.default_rng(0)
    n = 200
    X = np.zeros((n, 3))
    X[:4, 0] = rng.standard_normal(4)
    X[:, 1] = X[:, 0] * (1 + 1e-6 * rng.standard_normal(n))  # the same but for a millionth
    X[:, 2] = rng.standard_normal(n)
    y, w = rng.standard_normal(n), np.ones(n)
    for lam in (1.0, 1e-4):
        expected, own = by_definition(X, y, w, lam, True)
        model = ForwardRegressor(lam, units="own")
        before = np.full(3, np.nan)
        for t in range(n):
            prediction = model.predict_one(X[t]) if t else 0.0
            assert prediction == pytest.approx(expected[t], rel=1e-9, abs=1e-9)
            model.learn_one(X[t], y[t])
            now = model.information_.lam[1:].copy()
            if t >= 2:
                assert (now >= before * (2 / 3) * (1 - 1e-12)).all()
            before = now
        assert_allclose(model.information_.lam[1:], own, rtol=1e-9)
        assert own[0] < 0.1 * lam


@given(learners, st.integers(0, 2**32), st.sampled_from([1e-3, 1.0, 100.0]))
@settings(max_examples=60, deadline=None)
def test_units_do_not_matter(learner: type[OnlineRegressor], seed: int, lam: float) -> None:
    X, y, w = stream(seed)
    rng = np.random.default_rng(seed)
    factors, up = 10.0 ** rng.uniform(-6, 6, 4), 10.0 ** rng.uniform(-6, 6)
    deviations = X.std(axis=0) * factors
    moved = X * factors + rng.uniform(-1e3, 1e3, 4) * deviations
    shift = rng.uniform(-1e3, 1e3) * up * y.std()
    plain, other = learner(lam, units="own"), learner(lam, units="own")
    expected, leverage = plain.predict_then_learn(X, y, w, return_leverage=True)
    found = (other.predict_then_learn(moved, y * up + shift, w) - shift) / up
    # Before the first row it is the prior's 0, in whatever units. And where next to nothing is known, and nothing is
    # shrunk, the rounding of the rows themselves makes another problem of it.
    known = (np.cumsum(w) > w) & (leverage < 1e6)
    assert_allclose(found[known], expected[known], rtol=1e-9, atol=1e-9 * np.abs(y).max())
    assert_allclose(other.coef_ * factors / up, plain.coef_, rtol=1e-6, atol=1e-6 * np.abs(plain.coef_).max())
    raw = learner(lam)
    raw_found = (learner(lam).predict_then_learn(moved, y * up + shift, w) - shift) / up
    if lam == 1.0 and np.abs(factors).max() > 1e3:
        assert not np.allclose(raw_found[known], raw.predict_then_learn(X, y, w)[known], rtol=1e-6)


@given(learners, st.integers(0, 2**32), st.data())
@settings(max_examples=40, deadline=None)
def test_any_batches_give_the_same_bits(learner: type[OnlineRegressor], seed: int, data: st.DataObject) -> None:
    X, y, w = stream(seed, d=data.draw(st.integers(1, 8)))
    targets = np.column_stack([y, y**2]) if data.draw(st.booleans()) else y
    lam, prior = data.draw(st.sampled_from([1e-3, 1.0])), data.draw(st.sampled_from([None, 0.5]))
    chosen: dict[str, Any] = {"lam": lam, "units": "own"}
    if prior is not None:
        chosen |= {"prior_mean": np.full(X.shape[1], prior), "prior_intercept": 1.0}
    whole, parts, single = (learner(**chosen) for _ in range(3))
    predictions = whole.predict_then_learn(X, targets, w)
    cuts = sorted({0, *data.draw(st.lists(st.integers(0, len(y)), max_size=5)), len(y)})
    found = []
    for start, stop in pairwise(cuts):
        if stop > start:
            if start:
                ahead = parts.predict(X[start:stop], w[start:stop])[0]
                assert_array_equal(ahead, predictions[start])
            found.append(parts.predict_then_learn(X[start:stop], targets[start:stop], w[start:stop]))
            parts = pickle.loads(pickle.dumps(parts))
    assert_array_equal(np.concatenate(found), predictions)
    for x, target, weight, prediction in zip(X, targets, w, predictions, strict=True):
        if single.__sklearn_is_fitted__():
            assert_array_equal(single.predict_one(x, weight), prediction)
        single.learn_one(x, target, weight)
    for model in (parts, single):
        assert_array_equal(model.information_.buffer, whole.information_.buffer)


@pytest.mark.parametrize("learner", LEARNERS)
def test_saved_and_gone_on_with_is_never_having_stopped(learner: type[OnlineRegressor], tmp_path: Path) -> None:
    X, y, w = stream(3)
    for cut in (1, 2, 3, 9, 31):
        whole, model = (
            learner(units="own").fit(X, y, w + 0.01),
            learner(units="own").fit(X[:cut], y[:cut], w[:cut] + 0.01),
        )
        model.save(tmp_path / "m")
        for again in (load(tmp_path / "m"), copy.deepcopy(model), model.copy()):
            again.partial_fit(X[cut:], y[cut:], w[cut:] + 0.01)
            assert_array_equal(again.information_.buffer, whole.information_.buffer)
            assert again.units == "own"
        assert model.n_seen_ == cut


@given(learners, st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_rows_without_weight_and_columns_without_values_change_nothing(
    learner: type[OnlineRegressor], seed: int
) -> None:
    X, y, w = stream(seed)
    model = learner(units="own")
    predictions = model.predict_then_learn(X, y, w)
    seen = w > 0
    if seen.any():
        others = learner(units="own").predict_then_learn(X[seen], y[seen], w[seen])
        assert_array_equal(others, predictions[seen])
    place = seed % 5
    wider = np.insert(X, place, 12345.678, axis=1)
    constant = learner(units="own")
    assert_allclose(constant.predict_then_learn(wider, y, w), predictions, rtol=1e-11, atol=1e-11)
    assert constant.coef_[place] == 0.0
    assert np.isfinite(constant.leverage(wider + np.eye(5)[place])[np.newaxis]).all() == bool(seen.any())


@given(learners, st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_name_that_comes_late_was_there_at_zero(learner: type[OnlineRegressor], seed: int) -> None:
    X, y, w = stream(seed, d=3)
    X[:10, 0] = X[:20, 2] = 0.0
    lam = {"a": 0.1, None: 2.0}
    whole, grown = learner(lam, units="own"), learner(lam, units="own")
    for x, target, weight in zip(X, y, w, strict=True):
        full = dict(zip("abc", x.tolist(), strict=True))
        present = {name: value for name, value in full.items() if value}
        expected = whole.predict_one(full, weight)
        assert grown.predict_one(present, weight) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        whole.learn_one(full, target, weight)
        grown.learn_one(present, target, weight)
    assert_allclose(grown.coef_, whole.coef_[[1, 0, 2]], rtol=1e-7, atol=1e-7 * np.abs(whole.coef_).max())


def test_a_new_feature_is_predicted_as_it_will_be_learned() -> None:
    model = ForwardRegressor(units="own")
    for k in range(9):
        model.learn_one({"a": float(k % 3)}, float(k))
    row = {"a": 1.0, "b": 1e5}
    again = copy.deepcopy(model)
    prediction = model.predict_one(row)
    before = again.online_loss_
    again.learn_one(row, 0.0)
    assert again.online_loss_ - before == pytest.approx(prediction**2, rel=1e-12)
    # Its value says nothing yet: in other units it would be the same row.
    assert prediction == pytest.approx(model.predict_one({"a": 1.0, "b": -1e-5}), rel=1e-12)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("known", KNOWN)
def test_sets_are_those_of_raw_units(learner: type[OnlineRegressor], known: dict[str, Any]) -> None:
    """Of a λ that was fixed before the rows came."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) * [1.0, 100.0, 1e-3] + [0.0, 500.0, 0.0]
    y, new = X @ [1.0, 0.01, 0.0] + rng.standard_normal(60), X[:5] + 0.1
    own, raw = (learner(0.5, units=units).fit(X, y) for units in ("own", "raw"))
    assert own.has_sets()
    assert_allclose(own.interval(new, **known), raw.interval(new, **known), rtol=1e-7)
    ends, expected = (model.confidence_set(**known).coordinates() for model in (own, raw))
    assert_allclose(ends, expected, rtol=1e-7)
    assert not np.allclose(own.information_.lam, raw.information_.lam)


def test_another_lam_is_refused_where_it_would_leave_nothing() -> None:
    model = ForwardRegressor(units="own")
    model.learn_one([1e9, 0.0, 0.0], 1.0).learn_one([-1e9, 1e8, 1e7], 2.0)
    assert not model.has_sets()
    with pytest.raises(ValueError, match="the rows say too little beside the λ that the state has"):
        model.confidence_set(0.05)
    X, y, _ = stream(1)
    state = Information(4, 1, [0.0, 1.0, 2.0, 3.0, 4.0], intercept=True)
    state.absorb(X, y[:, None].copy(), np.ones(len(y)))
    lam = np.array([0.5, 2.0, 1.0, 0.1, 4.0])
    expected = Information(4, 1, lam, intercept=True)
    expected.absorb(X, y[:, None].copy(), np.ones(len(y)))
    found = with_lam(state, lam)
    assert_allclose(found.second_moment(), expected.second_moment(), rtol=1e-9)
    assert_allclose(found.coefficients(), expected.coefficients(), rtol=1e-6)
    assert_allclose(found.loss, expected.loss, rtol=1e-9)
    assert_array_equal(found.lam, lam)


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_cannot_be_is_refused(learner: type[OnlineRegressor]) -> None:
    X, y, _ = stream(0)
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"fit_intercept": False}, "units='own' is for a constant that is not regularised: expected fit_intercept="),
        ({"intercept_lam": None}, "expected fit_intercept=True and intercept_lam=0, got .* intercept_lam=None"),
        ({"intercept_lam": 1.0}, "expected fit_intercept=True and intercept_lam=0"),
        ({"lam": 0.0}, "lam must be positive"),
        ({"lam": [1.0, 0.0, 1.0, 1.0]}, "lam must be positive"),
        ({"units": "meters"}, "units must be 'raw' or 'own', got 'meters'"),
    ]
    for wrong, message in wrongs:
        model = learner(**({"units": "own"} | wrong))
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        assert not model.__sklearn_is_fitted__()
    one, two = learner(units="own").fit(X[:20], y[:20]), learner(units="own").fit(X[20:], y[20:])
    with pytest.raises(ValueError, match="cannot merge models with units='own'"):
        one.merge(two)
    with pytest.raises(ValueError, match="cannot merge models with units='own'"):
        one.merge_part(ForwardRegressor(0.0).fit(X, y))
    with pytest.raises(ValueError, match="cannot merge states whose λ is in own units"):
        one.information_.merge(two.information_)
    with pytest.raises(ValueError, match="units cannot become 'raw'"):
        one.set_params(units="raw")
    with pytest.raises(ValueError, match="expected units='raw' for workers"):
        scale.fit(pl.DataFrame({"x": [1.0], "y": [2.0]}), "y", learner(units="own"))
    assert one.n_seen_ == 20


def test_a_row_that_is_refused_changes_nothing() -> None:
    X, y, w = stream(4)
    model = ForwardRegressor(units="own").fit(X, y, w + 0.1)
    fresh = ForwardRegressor(units="own").learn_one([1.0, 1.0, 1.0, 1.0], 1.0)
    for each in (model, fresh):
        before = each.information_.buffer.copy()
        for x in ([1e200, 0.0, 0.0, 0.0], [np.nan, 0.0, 0.0, 0.0]):
            with pytest.raises(ValueError, match=r"double precision|NaN|finite"):
                each.learn_one(x, 1.0)
        with pytest.raises(ValueError, match="double precision"):
            each.partial_fit(np.array([[3.0, 2.0, 1.0, 0.0], [1e300, 0.0, 0.0, 0.0]]), [1.0, 2.0])
        assert_array_equal(each.information_.buffer, before)
