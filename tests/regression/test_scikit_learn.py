"""The learners as scikit-learn estimators."""

import pickle
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from onward import ForwardRegressor, RidgeRegressor
from onward.core import kernel, single
from onward.core.types import Matrix
from onward.regression import OnlineRegressor

LEARNERS = [ForwardRegressor, RidgeRegressor]


def own_units_fail(estimator: OnlineRegressor) -> dict[str, str]:
    """A row of weight 2 is one row, after which λ may be taken anew; the same row twice is two."""
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, "λ depends on the number of rows") if estimator.units == "own" else {}


@parametrize_with_checks(
    [
        ForwardRegressor(),
        ForwardRegressor(lam=0.0),
        ForwardRegressor(fit_intercept=False),
        RidgeRegressor(),
        RidgeRegressor(clip=1e6),
        ForwardRegressor(units="own"),
        RidgeRegressor(units="own"),
    ],
    expected_failed_checks=own_units_fail,
)
def test_scikit_learn_checks(estimator: OnlineRegressor, check: Callable[[OnlineRegressor], None]) -> None:
    check(estimator)


@pytest.fixture
def data() -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((80, 3))
    return X, X @ np.array([1.0, -2.0, 0.5]) + 3 + 0.1 * rng.standard_normal(80)


@pytest.mark.parametrize("learner", LEARNERS)
def test_coefficients_are_those_of_batch_ridge(learner: type[OnlineRegressor], data: tuple[Matrix, Matrix]) -> None:
    X, y = data
    model = learner(0.7, fit_intercept=False).fit(X, y)
    assert_allclose(model.coef_, Ridge(0.7, fit_intercept=False).fit(X, y).coef_, rtol=1e-10)
    assert_allclose(RidgeRegressor(0.7, fit_intercept=False).fit(X, y).predict(X), X @ model.coef_, rtol=1e-10)


@pytest.mark.parametrize("learner", LEARNERS)
def test_works_in_pipelines_searches_and_clones(learner: type[OnlineRegressor], data: tuple[Matrix, Matrix]) -> None:
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_pipeline(StandardScaler(), learner()).set_output(transform="pandas")
    assert cross_val_score(pipeline, frame, y).min() > 0.9
    pipeline.fit(frame, y)
    assert list(pipeline[-1].feature_names_in_) == ["a", "b", "c"]
    search = GridSearchCV(learner(), {"lam": [1e-3, 1e3]}).fit(X, y)
    assert search.best_params_ == {"lam": 1e-3}
    fitted = learner(2.5, fit_intercept=False).fit(X, y)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "coef_")


FRAMES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas with arrow types": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_frames_of_every_kind(kind: str, learner: type[OnlineRegressor], data: tuple[Matrix, Matrix]) -> None:
    X, y = data
    columns = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        whole=np.arange(len(X)), small=np.arange(len(X), dtype=np.float32), yes=X[:, 0] > 0
    )
    frame = FRAMES[kind](columns)
    reference = learner().predict_then_learn(columns.to_numpy(dtype=np.float64), y)
    model = learner()
    assert_array_equal(model.predict_then_learn(frame, y), reference)
    assert list(model.feature_names_in_) == list(columns.columns)
    targets = pl.Series(y) if kind == "polars" else pa.chunked_array([y]) if kind == "pyarrow" else pd.Series(y)
    assert_array_equal(learner().predict_then_learn(frame, targets), reference)
    shuffled = FRAMES[kind](columns[["b", "a", "c", "whole", "small", "yes"]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(shuffled)
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(FRAMES[kind](columns.drop(columns="a")), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(columns.to_numpy(dtype=np.float64))


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.coo_array])
def test_sparse_rows(make: Callable[[Matrix], Any], data: tuple[Matrix, Matrix]) -> None:
    X, y = data
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    model = ForwardRegressor()
    assert_array_equal(model.predict_then_learn(make(X), y), ForwardRegressor().predict_then_learn(X, y))
    assert_array_equal(model.predict(make(X)), model.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint64, bool, object, ">f8", np.longdouble])
def test_number_types_and_layouts(dtype: Any, data: tuple[Matrix, Matrix]) -> None:
    X = np.round(data[0] * 3).clip(0, 9).astype(dtype)
    y = data[1]
    reference = ForwardRegressor().predict_then_learn(np.array(X, dtype=np.float64), y)
    read_only = np.asfortranarray(X)
    read_only.flags.writeable = False
    for form in (X, np.asfortranarray(X), read_only, np.repeat(X, 2, axis=0)[::2]):
        assert_array_equal(ForwardRegressor().predict_then_learn(form, y), reference)


@pytest.mark.parametrize("learner", LEARNERS)
def test_pickle_and_joblib_go_on_exactly(learner: type[OnlineRegressor], data: tuple[Matrix, Matrix]) -> None:
    X, y = data
    model = learner().fit(X[:40], y[:40])
    buffer = BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(buffer)]
    rest = model.predict_then_learn(X[40:], y[40:])
    for copy in copies:
        assert_array_equal(copy.predict_then_learn(X[40:], y[40:]), rest)
        assert copy.online_loss_ == model.online_loss_
        assert copy.learn_one(X[0], 1.0).n_seen_ == 81  # the short way works on the copy's own state
    assert model.n_seen_ == 80


def test_large_tables_are_learned_in_blocks(data: tuple[Matrix, Matrix]) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 3))
    y = rng.standard_normal(100_000)
    model = ForwardRegressor()
    whole = model.predict_then_learn(X, y)
    parts = ForwardRegressor()
    pieces = [parts.predict_then_learn(X[i : i + 33_333], y[i : i + 33_333]) for i in range(0, 100_000, 33_333)]
    assert_array_equal(np.concatenate(pieces), whole)
    assert_array_equal(parts.coef_, model.coef_)
    assert parts.online_loss_ == model.online_loss_


def test_a_model_from_a_memory_map_learns_on(data: tuple[Matrix, Matrix], tmp_path: Path) -> None:
    X, y = data
    model = ForwardRegressor().fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert_array_equal(mapped.learn_one(X[0], 1.0).coef_, model.learn_one(X[0], 1.0).coef_)
    assert_array_equal(mapped.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_nothing_is_compiled_twice(data: tuple[Matrix, Matrix]) -> None:
    """Read-only arrays, and single rows, must not reach the loops as types of their own: each costs seconds."""
    X, y = data
    ForwardRegressor().partial_fit(X, y).predict(X)
    loops = [kernel.absorb, kernel.read]
    loops += [single.learn_one, single.predict_one, single.learn_targets, single.predict_targets]
    # Bandits compile some of them into their own loops, with a constant for an argument: that is not meant here.
    before = [len(cast(Any, loop).signatures) for loop in loops]
    y.flags.writeable = X.flags.writeable = False
    for rows in (slice(None), slice(1)):
        ForwardRegressor().partial_fit(X[rows], y[rows]).partial_fit(X[rows], y[rows], 2.0).predict(X[rows])
    one, two = ForwardRegressor().fit(X, y), ForwardRegressor().fit(X, np.column_stack([y, y]))
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    for row in (X[0], X.copy()[0], wide[0], X[0].tolist(), X[0].astype(np.float32), np.asfortranarray(X)[0]):
        for weight in (1.0, 1, np.float64(2.0), True):
            one.learn_one(row, y[0], weight).learn_one(row, int(y[0]), weight).predict_one(row, weight)
            two.learn_one(row, y[:2], weight).learn_one(row, y[:2].tolist(), weight).predict_one(row, weight)
    for loop, count in zip(loops, before, strict=True):
        assert len(cast(Any, loop).signatures) <= max(1, count), loop
