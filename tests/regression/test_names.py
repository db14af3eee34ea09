"""Features by name: dicts, growing, and merging what was learned under different names."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward import ForwardRegressor, RidgeRegressor
from onward.regression import OnlineRegressor

NAMES = ["a", "b", "c", "d", "e"]
learners = st.sampled_from([ForwardRegressor, RidgeRegressor])
named_rows = st.lists(
    st.tuples(st.dictionaries(st.sampled_from(NAMES), st.floats(-5, 5), max_size=5), st.floats(-5, 5)),
    min_size=1,
    max_size=15,
)


def dense(rows: list[tuple[dict[str, float], float]]) -> tuple[np.ndarray, np.ndarray]:
    X = np.array([[row.get(name, 0.0) for name in NAMES] for row, _ in rows])
    return X, np.array([y for _, y in rows])


@given(
    learners, named_rows, st.booleans(), st.sampled_from([None, dict(zip(NAMES, [1.0, -2, 0, 3, 0.5], strict=True))])
)
def test_growing_equals_having_known_every_name(
    learner: type[OnlineRegressor],
    rows: list[tuple[dict[str, float], float]],
    intercept: bool,
    prior: dict[str, float] | None,
) -> None:
    X, y = dense(rows)
    by_name = learner(0.5, fit_intercept=intercept, prior_mean=prior)
    by_place = learner(0.5, fit_intercept=intercept, prior_mean=list(prior.values()) if prior else None)
    expected = by_place.predict_then_learn(X, y)
    for (row, target), prediction in zip(rows, expected, strict=True):
        assert by_name.predict_one(row) == pytest.approx(prediction, rel=1e-9, abs=1e-9)
        by_name.learn_one(row, target)
    seen = {name for row, _ in rows for name in row}
    assert set(by_name.feature_names_in_) == seen
    coefficients = dict(zip(by_name.feature_names_in_, by_name.coef_, strict=True))
    for name, value in zip(NAMES, by_place.coef_, strict=True):
        if name in seen:
            assert coefficients[name] == pytest.approx(value, rel=1e-8, abs=1e-8)
    assert by_name.regularized_loss_ == pytest.approx(by_place.regularized_loss_, rel=1e-8, abs=1e-8)
    assert by_name.online_loss_ == pytest.approx(by_place.online_loss_, rel=1e-8, abs=1e-8)


@given(learners, named_rows, named_rows)
def test_models_with_different_names_merge_into_all_of_them(
    learner: type[OnlineRegressor],
    first: list[tuple[dict[str, float], float]],
    second: list[tuple[dict[str, float], float]],
) -> None:
    models = []
    for rows in (first, second, first + second):
        model = learner(0.5)
        for row, target in rows:
            model.learn_one(row, target)
        models.append(model)
    merged, _, whole = models[0].merge(models[1]), models[1], models[2]
    assert set(merged.feature_names_in_) == set(whole.feature_names_in_)
    for row, _ in first + second:
        assert merged.predict_one(row) == pytest.approx(whole.predict_one(row), rel=1e-7, abs=1e-7)
    assert merged.regularized_loss_ == pytest.approx(whole.regularized_loss_, rel=1e-7, abs=1e-7)


def test_unregularised_growing() -> None:
    model = ForwardRegressor(0.0, fit_intercept=False)
    model.learn_one({"a": 1.0}, 2.0)
    assert model.predict_one({"a": 1.0}) == 1.0
    assert model.predict_one({"a": 1.0, "b": 1.0}) == 0.0  # b raises the rank
    assert model.predict_one({"a": 1.0, "b": 0.0}) == 1.0
    model.learn_one({"a": 1.0, "b": 1.0}, 5.0)
    assert_allclose(model.coef_, [2.0, 3.0])


def test_a_frame_then_dicts() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 0.5], "b": [0.0, 1.0, 1.0]})
    model = ForwardRegressor().fit(frame, [1.0, 2.0, 3.0])
    assert model.predict_one({"b": 2.0, "a": 1.0}) == model.predict(pd.DataFrame({"a": [1.0], "b": [2.0]}))[0]
    model.learn_one({"c": 1.0}, 1.0)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame)


def test_named_tables_in_any_order() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((30, 3)), columns=["a", "b", "c"])
    y = rng.standard_normal(30)
    rows = ForwardRegressor()
    for row, target in zip(table.to_dict("records"), y, strict=True):
        rows.learn_one(row, target)
    tables = ForwardRegressor()
    first = tables.learn_many(table[:10], y[:10])
    assert_array_equal(first, ForwardRegressor().predict_then_learn(table[:10], y[:10]))
    tables.learn_many(pl.from_pandas(table[10:20][["c", "a", "b"]]), y[10:20])
    tables.learn_many(table[20:], y[20:])
    assert_array_equal(tables.coef_, rows.coef_)
    assert tables.online_loss_ == rows.online_loss_
    wider = table.assign(new=1.0)
    grown = tables.predict_many(wider[["new", "b", "a", "c"]])
    single = [tables.predict_one(row) for row in wider.to_dict("records")]
    assert_array_equal(grown, single)
    tables.learn_many(wider[["new", "a"]], y)
    assert list(tables.feature_names_in_) == ["a", "b", "c", "new"]


def test_names_where_there_are_none() -> None:
    model = ForwardRegressor().fit(np.eye(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="without names"):
        model.predict_one({"a": 1.0})
    with pytest.raises(ValueError, match="without names"):
        model.learn_one({"a": 1.0}, 1.0)
    with pytest.raises(ValueError, match="must be a data frame"):
        model.learn_many(np.eye(2), [1.0, 2.0])
    with pytest.raises(ValueError, match="column names"):
        ForwardRegressor().learn_many(pd.DataFrame(np.eye(2), columns=["a", "a"]), [1.0, 2.0])
    assert model.n_seen_ == 2


def test_a_named_series_is_a_row_by_name() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 0.5], "b": [0.0, 1.0, 1.0]})
    model = ForwardRegressor().fit(frame, [1.0, 2.0, 3.0])
    series = pd.Series({"b": 5.0, "a": 1.0})
    assert model.predict_one(series) == model.predict_one(dict(series))
    by_series, by_dict = ForwardRegressor(), ForwardRegressor()
    for (_, row), target in zip(frame.iterrows(), [1.0, 2.0, 3.0], strict=True):
        by_series.learn_one(row, target)
        by_dict.learn_one({str(name): float(value) for name, value in row.items()}, target)
    assert_array_equal(by_series.coef_, by_dict.coef_)
    assert list(by_series.feature_names_in_) == ["a", "b"]
    assert ForwardRegressor().fit(np.eye(2), [1.0, 2.0]).predict_one(pd.Series([1.0, 0.0])) > 0  # no names: by position
    prior = pd.Series({"b": 2.0, "a": 1.0})
    assert ForwardRegressor(prior_mean=prior).predict_one({"a": 10.0, "b": 1.0}) == 12.0
