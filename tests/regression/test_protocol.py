"""The online protocol: forward and ridge, one row or many, weights, targets, priors, merging."""

import copy
import os
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward import ForwardRegressor, RidgeRegressor
from onward.core import kernel
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

LEARNERS = [ForwardRegressor, RidgeRegressor]
learners = st.sampled_from(LEARNERS)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 7))
    return rng.standard_normal((n, d)), rng.standard_normal(n), rng.uniform(0, 3, n)


@st.composite
def settings(draw: st.DrawFn, d: int) -> dict[str, Any]:
    """A λ for all or one for each, 0 for the constant too, with and without a prior."""
    prior = draw(st.none() | st.lists(st.floats(-3, 3), min_size=d, max_size=d))
    lam = draw(
        st.sampled_from([1e-3, 1.0, 20.0]) | st.lists(st.sampled_from([1e-2, 1.0, 100.0]), min_size=d, max_size=d)
    )
    own = st.sampled_from([0.0, 0.1, 30.0])
    return {
        "lam": lam,
        "fit_intercept": draw(st.booleans()),
        "intercept_lam": draw(own if isinstance(lam, list) else st.none() | own),
        "prior_mean": prior,
        "prior_intercept": draw(st.sampled_from([0.0, 1.5])),
    }


@given(streams(), st.data())
def test_forward_is_ridge_shrunk_by_its_leverage(stream: tuple[Matrix, Vector, Vector], data: st.DataObject) -> None:
    X, y, w = stream
    chosen = data.draw(settings(X.shape[1])) | {"prior_mean": None, "prior_intercept": 0.0}
    forward, ridge = (learner(**chosen).fit(X, y, w + 0.1) for learner in LEARNERS)
    new = np.random.default_rng(0).standard_normal((9, X.shape[1]))
    mean, constant = (w + 0.1) @ y / (w + 0.1).sum(), 1 / (w + 0.1).sum()  # of the targets; the constant's leverage
    if not (chosen["fit_intercept"] and chosen["intercept_lam"] == 0):
        mean = constant = 0.0
    shrunk = 1 + forward.leverage(new) - constant
    assert_allclose((forward.predict(new) - mean) * shrunk, ridge.predict(new) - mean, rtol=1e-11, atol=1e-11)
    assert_array_equal(forward.coef_, ridge.coef_)


@given(streams(), st.data())
def test_without_a_free_constant_it_is_the_papers_to_the_last_bit(
    stream: tuple[Matrix, Vector, Vector], data: st.DataObject
) -> None:
    X, y, w = stream
    own = {"fit_intercept": False} if data.draw(st.booleans()) else {"intercept_lam": 0.5}
    model = ForwardRegressor(data.draw(st.sampled_from([1e-3, 1.0])), **own)
    p, q = RidgeRegressor(model.lam, **own).predict_then_learn(X, y, w, return_leverage=True)
    assert_array_equal(model.predict_then_learn(X, y, w), p / (1 + w * q))


@given(learners, streams(), st.data())
def test_one_row_at_a_time_is_the_whole_table_to_the_last_bit(
    learner: type[OnlineRegressor], stream: tuple[Matrix, Vector, Vector], data: st.DataObject
) -> None:
    X, y, w = stream
    chosen = data.draw(settings(X.shape[1]))
    whole, parts, single = learner(**chosen), learner(**chosen), learner(**chosen)
    predictions = whole.predict_then_learn(X, y, w)
    cut = data.draw(st.integers(0, len(X)))
    halves = [parts.predict_then_learn(X[h], y[h], w[h]) for h in (slice(cut), slice(cut, None)) if len(X[h])]
    assert_array_equal(np.concatenate(halves), predictions)
    for x, target, weight, prediction in zip(X, y, w, predictions, strict=True):
        assert single.predict_one(x, sample_weight=weight) == prediction
        single.learn_one(x, target, sample_weight=weight)
    for model in (parts, single):
        assert_array_equal(model.coef_, whole.coef_)
        assert model.regularized_loss_ == whole.regularized_loss_
        assert model.online_loss_ == whole.online_loss_
        assert model.n_seen_ == whole.n_seen_
        assert model.information_.peak == whole.information_.peak


@given(learners, streams(), st.data())
def test_against_the_definition(
    learner: type[OnlineRegressor], stream: tuple[Matrix, Vector, Vector], data: st.DataObject
) -> None:
    """Every prediction, and the attributes, from dense algebra at non-default settings.  [Alg. 1, Alg. 2]"""
    X, y, w = stream
    chosen = data.draw(settings(X.shape[1]))
    model = learner(**chosen)
    predictions = model.predict_then_learn(X, y, w)
    A = np.column_stack([np.ones(len(X)), X]) if chosen["fit_intercept"] else X
    start = np.zeros(A.shape[1])
    start[A.shape[1] - X.shape[1] :] = 0.0 if chosen["prior_mean"] is None else chosen["prior_mean"]
    if chosen["fit_intercept"]:
        start[0] = chosen["prior_intercept"]
    lam = np.broadcast_to(chosen["lam"], X.shape[1])
    if chosen["fit_intercept"]:
        constant = chosen["lam"] if chosen["intercept_lam"] is None else chosen["intercept_lam"]
        lam = np.append(constant, lam)
    G, b = np.diag(lam), np.zeros(A.shape[1])
    expected = np.empty(len(X))
    to_mean = learner is ForwardRegressor and chosen["fit_intercept"] and lam[0] == 0
    for i, a in enumerate(A):
        seen = G.copy()
        known, weight = np.zeros(len(b)), w[:i].sum()
        if to_mean and weight:  # the row and what was learned, less their means: there the constant is 0
            row = a - w[:i] @ A[:i] / weight
            known[0] = w[:i] @ (y[:i] - A[:i] @ start) / weight
        else:
            row = a
        if learner is ForwardRegressor:
            seen += w[i] * np.outer(row, row)
        expected[i] = a @ start + known[0]
        if weight:  # while nothing was learned, the constant's pivot may be empty
            expected[i] += row @ np.linalg.solve(seen, b - G @ known)
        G += w[i] * np.outer(a, a)
        b += w[i] * (y[i] - a @ start) * a
    assert_allclose(predictions, expected, rtol=1e-8, atol=1e-8)
    theta = start + np.linalg.solve(G, b) if w.any() else start
    assert_allclose(model.coef_, theta[A.shape[1] - X.shape[1] :], rtol=1e-8, atol=1e-8)
    assert model.intercept_ == (pytest.approx(theta[0], rel=1e-8, abs=1e-8) if chosen["fit_intercept"] else 0.0)
    loss = (w * (y - A @ theta) ** 2).sum() + lam @ (theta - start) ** 2
    assert model.regularized_loss_ == pytest.approx(loss, rel=1e-8, abs=1e-8)
    assert model.online_loss_ == pytest.approx((w * (y - expected) ** 2).sum(), rel=1e-8)


@given(learners, st.integers(0, 2**32), st.integers(1, 4))
def test_several_targets_share_one_factorisation(learner: type[OnlineRegressor], seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    X, Y, w = rng.standard_normal((20, 3)), rng.standard_normal((20, m)), rng.uniform(0, 2, 20)
    prior = rng.standard_normal((m, 3))
    together = learner(prior_mean=prior, prior_intercept=np.arange(m))
    predictions = together.predict_then_learn(X, Y, w)
    assert predictions.shape == (20, m)
    assert (together.coef_.shape, np.shape(together.intercept_)) == ((m, 3), (m,))
    single = learner(prior_mean=prior, prior_intercept=np.arange(m))
    for h in range(m):
        alone = learner(prior_mean=prior[h], prior_intercept=float(h))
        assert_array_equal(alone.predict_then_learn(X, Y[:, h], w), predictions[:, h])
        assert_allclose(alone.coef_, together.coef_[h], rtol=1e-12, atol=1e-12)
        assert together.regularized_loss_[h] == alone.regularized_loss_
        assert together.online_loss_[h] == alone.online_loss_
    for i in range(20):
        assert_array_equal(np.ravel(single.predict_one(X[i], w[i])), predictions[i])
        single.learn_one(X[i], Y[i], w[i])


@given(learners, streams(), st.data())
def test_merged_models_saw_everything(
    learner: type[OnlineRegressor], stream: tuple[Matrix, Vector, Vector], data: st.DataObject
) -> None:
    X, y, w = stream
    chosen = data.draw(settings(X.shape[1]))
    cut = data.draw(st.integers(0, len(X)))
    whole, left, right = learner(**chosen), learner(**chosen), learner(**chosen)
    whole.partial_fit(X, y, w)
    if cut:
        left.partial_fit(X[:cut], y[:cut], w[:cut])
    if cut < len(X):
        right.partial_fit(X[cut:], y[cut:], w[cut:])
    untouched = copy.deepcopy(right)
    left.merge(right)
    assert_allclose(left.coef_, whole.coef_, rtol=1e-8, atol=1e-8)
    assert left.regularized_loss_ == pytest.approx(whole.regularized_loss_, rel=1e-8, abs=1e-8)
    assert left.information_gain_ == pytest.approx(whole.information_gain_, rel=1e-9, abs=1e-9)
    assert left.n_seen_ == whole.n_seen_
    if 0 < cut < len(X):
        alone = [learner(**chosen).partial_fit(X[part], y[part], w[part]) for part in (slice(cut), slice(cut, None))]
        assert left.online_loss_ == pytest.approx(alone[0].online_loss_ + alone[1].online_loss_)
    left.learn_one(X[0], 1.0)
    if cut < len(X):
        assert_array_equal(right.coef_, untouched.coef_)
        assert right.n_seen_ == untouched.n_seen_


def test_models_that_do_not_fit_do_not_merge() -> None:
    X, y = np.eye(3), np.arange(3.0)
    model = ForwardRegressor().fit(X, y)
    before = model.coef_.copy()
    others: list[tuple[OnlineRegressor, str]] = [
        (RidgeRegressor().fit(X, y), "cannot merge a RidgeRegressor into a ForwardRegressor"),
        (ForwardRegressor(2.0).fit(X, y), r"lam=1.0, the other has lam=2.0"),
        (ForwardRegressor(fit_intercept=False).fit(X, y), "fit_intercept=True"),
        (ForwardRegressor(prior_mean=[1, 2, 3]).fit(X, y), "prior_mean=None"),
        (ForwardRegressor().fit(X[:, :2], y), "this model has 3 features, the other has 2"),
        (ForwardRegressor().fit(X, np.column_stack([y, y])), "a single target, the other has 2 target"),
        (ForwardRegressor().fit(X, y[:, None]), "a single target, the other has 1 target column"),
        (ForwardRegressor().learn_one({"a": 1.0}, 1.0), "only one of the models has named features"),
    ]
    for other, message in others:
        with pytest.raises(ValueError, match=message):
            model.merge(other)
    assert_array_equal(model.coef_, before)
    assert model.n_seen_ == 3


def test_clipped_ridge() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.uniform(-1, 1, 50)
    plain, clipped, one = RidgeRegressor(1e-6), RidgeRegressor(1e-6, clip=0.5), RidgeRegressor(1e-6, clip=0.5)
    predictions = plain.predict_then_learn(X, y)
    assert np.abs(predictions).max() > 0.5
    assert_array_equal(clipped.predict_then_learn(X, y), predictions.clip(-0.5, 0.5))
    assert_array_equal(clipped.predict(X), plain.predict(X).clip(-0.5, 0.5))
    assert clipped.online_loss_ < plain.online_loss_
    assert clipped.online_loss_ == pytest.approx(((predictions.clip(-0.5, 0.5) - y) ** 2).sum())
    for x, target, prediction in zip(X, y, predictions.clip(-0.5, 0.5), strict=True):
        assert one.predict_one(x) == prediction
        one.learn_one(x, target)


def test_unregularised_forward_predicts_zero_where_the_rank_rises() -> None:
    X = np.array([[0, 0], [1, 2], [2, 4], [1, 2], [0, 1e-9], [3, 1], [0, 0]], dtype=float)
    y = np.array([5.0, 1, 2, 1, 7e-9, 10, 3])
    model = ForwardRegressor(0.0, fit_intercept=False)
    predictions = model.predict_then_learn(X, y)
    assert_array_equal(predictions[[0, 1, 4, 6]], 0.0)
    assert predictions[2] == pytest.approx(2 / (1 + 4))  # p = 2, q = |x|²/|x_1|² = 4
    assert model.predict_one(np.array([0.0, 0.0])) == 0.0
    fresh = ForwardRegressor(0.0, fit_intercept=False).fit(X[:3], y[:3])
    assert fresh.predict_one(np.array([1.0, 0.0])) == 0.0  # outside the span
    assert fresh.leverage([[1.0, 0.0]])[0] == np.inf
    assert_array_equal(fresh.predict([[1.0, 0.0], [0.0, 0.0]], sample_weight=[0.0, 0.0]), 0.0)
    assert_allclose(fresh.coef_, [0.2, 0.4])  # the shortest of the minimisers


def test_prediction_before_learning_is_the_prior() -> None:
    assert ForwardRegressor().predict_one([1.0, 2.0]) == 0.0
    assert ForwardRegressor().predict_one({}) == 0.0
    assert RidgeRegressor(prior_mean=[1, 1], prior_intercept=0.5).predict_one([1.0, 2.0]) == 3.5
    assert RidgeRegressor(prior_mean=[1, 1], clip=2).predict_one([1.0, 2.0]) == 2.0
    assert ForwardRegressor(prior_mean={"a": 2.0}).predict_one({"b": 1.0, "a": 3.0}) == 6.0
    assert_array_equal(ForwardRegressor(prior_mean=[[1, 0], [0, 1]]).predict_one([3.0, 4.0]), [3.0, 4.0])


def test_a_failing_fit_leaves_the_earlier_one() -> None:
    model = ForwardRegressor().fit(np.eye(3), np.arange(3.0))
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((4, 2), np.nan), np.arange(4.0))
    assert_array_equal(model.coef_, before)
    assert model.n_features_in_ == 3


def test_one_row_in_the_span_of_few_rows_is_predicted_like_a_table() -> None:
    """Without regularisation and with rounding: residuals at empty pivots are small, not 0."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 5))
    y = X @ rng.standard_normal(5)
    model = ForwardRegressor(0.0, fit_intercept=False).fit(X[:20], y[:20])
    expected = model.predict(X[20:])
    assert np.abs(expected).min() > 0
    assert_array_equal([model.predict_one(x) for x in X[20:]], expected)
    assert_array_equal([model.predict_one(list(x)) for x in X[20:]], expected)


def test_predictions_know_the_weight_of_their_row() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    for lam in (0.0, 1.0):
        forward, ridge = (learner(intercept_lam=lam).fit(X, y) for learner in LEARNERS)
        mean, constant = (0.0, 0.0) if lam else (y.mean(), 1 / 20)
        for w in (0.0, 0.5, 7.0):
            expected = mean + (ridge.predict(X) - mean) / (1 + w * (forward.leverage(X) - constant))
            assert_allclose(forward.predict(X, sample_weight=w), expected, rtol=1e-12, atol=1e-13)
            assert_allclose([forward.predict_one(x, w) for x in X], expected, rtol=1e-12, atol=1e-13)
            assert_array_equal(ridge.predict(X, sample_weight=w), ridge.predict(X))


def test_merging_asks_where_both_started() -> None:
    a = ForwardRegressor(prior_mean=[1.0, 2.0]).learn_one({"a": 1.0, "b": 0.0}, 1.0)
    b = ForwardRegressor(prior_mean=[1.0, 2.0]).learn_one({"b": 1.0, "a": 0.0}, 1.0)  # by position: a from 2, b from 1
    with pytest.raises(ValueError, match=r"this model started from coefficients .* the other from"):
        a.merge(b)
    assert a.n_seen_ == 1
    later = ForwardRegressor().fit(np.eye(2), [1.0, 2.0])
    later.prior_mean = [1.0, 1.0]
    with pytest.raises(ValueError, match="started from"):
        ForwardRegressor(prior_mean=[1.0, 1.0]).fit(np.eye(2), [1.0, 2.0]).merge(later)


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_interrupt_comes_before_or_after(learner: type[OnlineRegressor], monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = 1e25 * np.eye(3), np.arange(3.0)  # so large that Python sees to each step; other rows are one call
    model, reference = learner().fit(X, y), learner().fit(X, y).partial_fit(X, y)
    original = kernel.read_out_rows

    def interrupted(*args: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        original(*args)

    monkeypatch.setattr(kernel, "read_out_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    monkeypatch.undo()
    assert model.n_seen_ == 6
    assert model.online_loss_ == reference.online_loss_
    assert_array_equal(model.coef_, reference.coef_)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
