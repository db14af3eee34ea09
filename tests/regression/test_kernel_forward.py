"""Random features as a transformer, the online pipeline, and forward with a kernel."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from onward import AutoRegressor, ForwardRegressor, OnlinePipeline, RandomFeatures, RidgeRegressor, load
from onward.core import Information
from onward.core.types import Matrix, Vector

GAMMA, LAM = 0.7, 0.3


@parametrize_with_checks([RandomFeatures(n=20), OnlinePipeline(RandomFeatures(0.1, n=200), ForwardRegressor(lam=0.1))])
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.fixture
def data() -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)


def kernel(A: Matrix, B: Matrix) -> Matrix:
    return np.asarray(np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(axis=2)))


def exact(X: Matrix, y: Vector, shrinks: bool) -> Vector:
    """Kernel ridge, or forward: posterior mean · λ/(λ + posterior variance), each row from those before it; dense."""
    out = np.zeros(len(X))
    for t in range(len(X)):
        K, k = kernel(X[:t], X[:t]) + LAM * np.eye(t), kernel(X[:t], X[t : t + 1])[:, 0]
        mean = k @ np.linalg.solve(K, y[:t]) if t else 0.0
        variance = 1.0 - (k @ np.linalg.solve(K, k) if t else 0.0)
        out[t] = mean * (LAM / (LAM + variance) if shrinks else 1.0)
    return out


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
def test_predictions_tend_to_those_of_the_kernel_at_the_rate_of_monte_carlo(learner: Any, data: Any) -> None:
    X, y = data[0][:30], data[1][:30]
    wanted = exact(X, y, learner is ForwardRegressor)
    counts = [32, 128, 512]
    errors = []
    for n in counts:
        made = [
            OnlinePipeline(RandomFeatures(GAMMA, n, seed), learner(LAM, fit_intercept=False)).predict_then_learn(X, y)
            for seed in range(12)
        ]
        errors.append(math.sqrt(np.mean([(each - wanted) ** 2 for each in made])))
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35  # 1/√n
    assert errors[-1] < 0.12 < np.abs(wanted - exact(X, y, learner is not ForwardRegressor)).max()


def test_with_all_rows_as_landmarks_it_is_the_kernel_itself(data: Any) -> None:
    X, y = data[0][:25], data[1][:25]
    landmarks = Nystroem(gamma=GAMMA, n_components=25, random_state=0).fit(X)
    pipeline = OnlinePipeline(landmarks, ForwardRegressor(LAM, fit_intercept=False))
    assert_allclose(pipeline.predict_then_learn(X, y), exact(X, y, True), atol=1e-6)
    K = kernel(X, X)
    variance = np.diag(K - K @ np.linalg.solve(K + LAM * np.eye(25), K))
    assert_allclose(pipeline.leverage(X), variance / LAM, atol=1e-6)


def test_inner_products_are_the_kernel() -> None:
    X = np.random.default_rng(0).standard_normal((8, 3))
    products = np.mean([(Z := RandomFeatures(GAMMA, 500, seed).transform(X)) @ Z.T for seed in range(40)], axis=0)
    assert_allclose(products, kernel(X, X), atol=0.04)
    assert np.abs(kernel(X, X) - kernel(1.2 * X, 1.2 * X)).max() > 0.08  # what another γ would give


def test_any_batching_gives_the_same_bits(data: Any) -> None:
    X, y = data
    whole = OnlinePipeline(RandomFeatures(GAMMA, 37), ForwardRegressor(LAM)).calibrate()
    predictions = whole.predict_then_learn(X, y)
    parts = OnlinePipeline(RandomFeatures(GAMMA, 37), ForwardRegressor(LAM)).calibrate()
    for rows in (slice(0, 1), slice(1, 4), slice(4, 21)):
        assert_array_equal(parts.predict_then_learn(X[rows], y[rows]), predictions[rows])
    for i in range(21, 60):
        assert parts.predict_one(X[i]) == predictions[i]
        parts.learn_one(X[i], y[i])
    assert_array_equal(parts.predict(X), whole.predict(X))
    for settings in ({"sigma": 0.1, "theta_bound": 10.0}, {"of": "observation", "delta": 0.1}):
        assert_array_equal(parts.interval(X, **settings), whole.interval(X, **settings))
    assert_array_equal(RandomFeatures(n=5).transform(sparse.csr_array(X)), RandomFeatures(n=5).transform(X))


def test_names_come_and_go() -> None:
    features = RandomFeatures(GAMMA, 30)
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [0.5, 0.0]})
    rows = features.transform(frame)
    assert_array_equal(rows[0], features.transform_one({"b": 0.5, "a": 1.0}))
    assert_array_equal(rows[1], features.transform_one({"a": 2.0}))  # what is missing is 0
    assert_array_equal(rows, features.transform(frame.select("b", "a")))
    assert_array_equal(features.transform_one({}), features.transform_one({"a": 0.0, "c": 0.0}))
    pipeline = OnlinePipeline(features, ForwardRegressor(LAM)).learn_one({"a": 1.0}, 2.0).learn_one({"c": 3.0}, 1.0)
    assert 1.0 < pipeline.predict_one({"a": 1.0}) < 2.0
    scaled = make_pipeline(StandardScaler(), Nystroem(n_components=2, random_state=0)).fit(frame)
    named = OnlinePipeline(scaled, ForwardRegressor(LAM)).learn_one({"b": 0.5, "a": 1.0}, 2.0)
    assert named.predict_one({"a": 1.0, "b": 0.5}) == 2.0
    with pytest.raises(ValueError, match=r"expected values for \['a', 'b'\], got \{'a': 1.0\}"):
        named.predict_one({"a": 1.0})


@pytest.mark.parametrize(
    "transformer",
    [
        RandomFeatures(GAMMA, 20, 3),
        RBFSampler(gamma=GAMMA, n_components=20, random_state=np.random.RandomState(0)),
        Nystroem(gamma=GAMMA, n_components=10, random_state=1),
        make_pipeline(StandardScaler(), RBFSampler(n_components=20, random_state=1)),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("model", [ForwardRegressor(LAM), RidgeRegressor(LAM, clip=3.0), AutoRegressor()])
def test_files(tmp_path: Path, data: Any, transformer: Any, model: Any) -> None:
    X, y = data
    pipeline = OnlinePipeline(clone(transformer).fit(X[:30]), model).partial_fit(X[:40], y[:40])
    pipeline.save(tmp_path / "pipeline.onward")
    again = load(tmp_path / "pipeline.onward")
    assert type(again) is OnlinePipeline
    assert_array_equal(again.predict_then_learn(X[40:], y[40:]), pipeline.predict_then_learn(X[40:], y[40:]))
    assert again.predict_one(X[0]) == pipeline.predict_one(X[0])
    assert again.model_.n_seen_ == 60


def test_what_cannot_be_saved_and_what_is_refused(tmp_path: Path, data: Any) -> None:
    X, y = data
    other = OnlinePipeline(type("Mine", (RandomFeatures,), {})(), ForwardRegressor()).partial_fit(X, y)
    with pytest.raises(ValueError, match="cannot save a Mine: expected one of RandomFeatures"):
        other.save(tmp_path / "no.onward")
    with pytest.raises(NotFittedError, match=r"give RBFSampler\(…\).fit\(some rows\), or call fit"):
        OnlinePipeline(RBFSampler(), ForwardRegressor()).learn_one(X[0], 1.0)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        OnlinePipeline(RandomFeatures(), ForwardRegressor()).predict(X)
    with pytest.raises(ValueError, match="model must be a learner of onward"):
        OnlinePipeline(RandomFeatures(), StandardScaler()).fit(X, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="transformer must have a method transform"):
        OnlinePipeline("rbf", ForwardRegressor()).fit(X, y)
    for settings, message in (({"gamma": 0.0}, "gamma must be"), ({"n": 0}, "n must be"), ({"seed": -1}, "seed must")):
        with pytest.raises(ValueError, match=message):
            RandomFeatures(**settings).transform(X)
    pipeline = OnlinePipeline(RandomFeatures(), ForwardRegressor()).partial_fit(X, y)
    before = pipeline.predict(X)
    for row, target in ((X[0] * np.nan, 1.0), (X[0], math.inf)):
        with pytest.raises(ValueError, match="finite"):
            pipeline.learn_one(row, target)
    with pytest.raises(ValueError, match="NaN"):
        pipeline.predict_then_learn(np.vstack([X, X[:1] * np.nan]), np.append(y, 1.0))
    assert_array_equal(pipeline.predict(X), before)
    assert pipeline.model.__sklearn_is_fitted__() is False  # what was given stays as it is


def test_settings_of_both_parts_are_searched(data: Any) -> None:
    X, y = data
    grid = {"transformer__gamma": [1e-4, 0.5], "model__lam": [0.01, 1e4]}
    found = GridSearchCV(OnlinePipeline(RandomFeatures(n=50), ForwardRegressor()), grid, cv=3).fit(X, y)
    assert found.best_params_ == {"transformer__gamma": 0.5, "model__lam": 0.01}


def test_rows_with_names_and_rows_without_are_not_mixed(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.arange(20.0)
    without = OnlinePipeline(RandomFeatures(1.0, 20), RidgeRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="x must be an array, as before"):
        without.predict_one({"a": 1.0, "b": 2.0})
    named = OnlinePipeline(RandomFeatures(1.0, 20), RidgeRegressor()).learn_one({"a": 1.0, "b": 2.0}, 1.0)
    named.save(tmp_path / "named.onward")
    again = load(tmp_path / "named.onward")
    asked: list[Callable[[], object]] = [
        lambda: named.predict_one([1.0, 2.0]),
        lambda: again.learn_one([1.0, 2.0], 1.0),
    ]
    for ask in asked:
        with pytest.raises(ValueError, match="x must be a dict of names, as before, got list"):
            ask()


@pytest.mark.parametrize("n", [15_001, 10**7, pytest.param(10**400, id="beyond floats")])
def test_more_features_than_a_learner_could_hold_are_refused_at_once(n: int) -> None:
    for call in (RandomFeatures(n=n).fit, RandomFeatures(n=n).transform, RandomFeatures(n=n).get_feature_names_out):
        with pytest.raises(ValueError, match=r"n must be a whole number from 1 to 15,000, got"):
            call(np.eye(2))
    with pytest.raises(ValueError, match=r"a model of 3,000,000 features needs 72,000\.\d GB"):
        Information(3_000_000)
