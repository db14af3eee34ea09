"""Bad input: one clear error that says what was expected and what came, and a model that is exactly as it was."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from onward import AutoRegressor, ForwardRegressor, Known, RidgeRegressor
from onward.bandits import LinUCB
from onward.confidence import RunningIntersection
from onward.regression import OnlineRegressor

NAN, INF = float("nan"), float("inf")
GOOD = [[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]]

BAD_TABLES: dict[str, tuple[Any, str]] = {
    "NaN": ([[1.0, NAN, 3.0]], "NaN in row 0, column 1; expected finite numbers"),
    "inf": ([[1.0, 2.0, 3.0], [1.0, 2.0, INF]], "infinity in row 1, column 2"),
    "-inf": ([[-INF, 2.0, 3.0]], "infinity in row 0, column 0"),
    "sparse NaN": (sparse.csr_array(np.array([[0.0, NAN, 0.0]])), "NaN in row 0, column 1"),
    "late NaN": (np.vstack([np.ones((50_000, 3)), [[1, NAN, 1]]]), "NaN in row 50000, column 1"),
    "text": (
        [["a", "b", "c"]],
        "must hold numbers, got text|expected numbers",
    ),
    "narrow": ([[1.0, 2.0]], "X has 2 features, but .* is expecting 3 features"),
    "wide": ([[1.0, 2.0, 3.0, 4.0]], "X has 4 features, but .* is expecting 3 features"),
    "ragged": ([[1.0, 2.0, 3.0], [1.0, 2.0]], "got rows of different lengths"),
    "no rows": (np.empty((0, 3)), "0 sample"),
    "no columns": (np.empty((2, 0)), r"0 feature\(s\)"),
    "flat": ([1.0, 2.0, 3.0], r"got list \[1.0, 2.0, 3.0\]. Reshape your data"),
    "deep": (np.ones((2, 3, 1)), r"got ndarray of shape \(2, 3, 1\)"),
    "complex": ([[1j, 2.0, 3.0]], "Complex data not supported"),
    "objects": (np.array([[1.0, None, "x"]], dtype=object), "got 'x' in row 0, column 2"),
    "text column": (pd.DataFrame({"a": [1.0], "b": ["x"], "c": [2.0]}), "column 'b' holds .*expected numbers"),
    "text of polars": (pl.DataFrame({"a": [1.0], "b": ["x"], "c": [2.0]}), "expected numbers; text .* by onward.fit"),
    "list of dicts": ([{"a": 1.0, "b": 2.0, "c": 3.0}], "got list .*; polars.DataFrame makes a data frame of it"),
    "dict": ({"a": [1.0], "b": [2.0], "c": [3.0]}, "got dict .*; polars.DataFrame makes a data frame of it"),
    "object column": (pd.DataFrame({"a": [1.0], "b": [[1, 2]], "c": [2.0]}), "column 'b' holds .*expected numbers"),
    "missing value": (pl.DataFrame({"a": [1, 2], "b": [1.0, None], "c": [0, 1]}), "NaN in row 1, column 'b'"),
    "dates": (
        pl.DataFrame({"a": [1], "b": ["2020-01-01"], "c": [0]}).with_columns(pl.col("b").str.to_date()),
        "'b'.*Date",
    ),
    "empty frame": (pl.DataFrame({"a": [], "b": [], "c": []}, schema=dict.fromkeys("abc", pl.Float64)), "0 sample"),
    "a string": ("abc", "table of numbers, .* got 'abc'"),
    "nothing": (None, "got None"),
}

BAD_TARGETS: dict[str, tuple[Any, str]] = {
    "NaN": ([1.0, NAN], "Input y contains NaN in row 1; expected finite numbers"),
    "inf": ([INF, 1.0], "Input y contains infinity in row 0"),
    "text": (["a", "b"], "must hold numbers, got text"),
    "short": ([1.0], "X has 2 rows, but y has inconsistent numbers of samples: 1"),
    "long": ([1.0, 2.0, 3.0], "inconsistent numbers of samples: 3"),
    "other targets": (
        [[1.0, 2.0], [3.0, 4.0]],
        r"y has 2 target column\(s\), but this model was fitted with a single target",
    ),
    "another axis": ([[1.0], [2.0]], "fitted with a single target"),
    "deep": (np.ones((2, 1, 1)), "dim 3|shape"),
    "no targets": (np.empty((2, 0)), "at least one|minimum of 1"),
    "complex": ([1j, 2.0], "Complex data not supported"),
    "nothing": (None, "requires y to be passed"),
    "a number": (1.0, "array|scalar|shape"),
}

BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "NaN": ([1.0, NAN], "sample_weight contains NaN in row 1"),
    "inf": ([1.0, INF], "sample_weight contains infinity in row 1"),
    "negative": ([1.0, -0.5], r"sample_weight must not be negative, got -0.5 in row 1"),
    "short": ([1.0], r"sample_weight must have shape \(2,\) as X has 2 rows, got \(1,\)"),
    "2-d": ([[1.0], [1.0]], r"sample_weight must have shape \(2,\)"),
    "text": (["a", "b"], "must hold numbers, got text"),
    "negative number": (-1.0, "must not be negative"),
}

BAD_ROWS: dict[str, tuple[Any, str]] = {
    "NaN": (np.array([1.0, NAN, 3.0]), "x must hold finite numbers, got nan in position 1"),
    "inf": (np.array([1.0, 2.0, INF]), "x must hold finite numbers, got inf in position 2"),
    "narrow": (np.array([1.0, 2.0]), "x has 2 features, but this model was fitted with 3"),
    "wide": ([1.0, 2.0, 3.0, 4.0], "x has 4 features, but this model was fitted with 3"),
    "text": (["1", "2", "3"], "x must hold numbers, got text"),
    "some text": ([1.0, "b", 3.0], "x must hold numbers"),
    "complex": ([1j, 2, 3], "x must hold real numbers, got complex ones"),
    "ragged": ([[1.0], [2.0, 3.0], 1.0], "got rows of different lengths"),
    "table": (np.ones((1, 3)), r"x must be one row of shape \(features,\), got ndarray of shape \(1, 3\)"),
    "empty": ([], r"got list \[\]"),
    "named": ({"a": 1.0}, "named features, but this model was fitted with 3 features without names"),
    "number": (3.0, "got 3.0"),
}


def models() -> list[OnlineRegressor]:
    X, y = np.array([[1.0, 2, 3], [0, 1, -1], [2, 0, 0.5]]), [1.0, 2.0, 3.0]
    return [
        ForwardRegressor().fit(X, y),
        RidgeRegressor(clip=2.0, prior_mean=[1, 0, 0]).fit(X, y),
        ForwardRegressor(0.0).fit(X, y),  # rank-deficient still: four coordinates, three rows
    ]


def refuse(action: Callable[[OnlineRegressor], object], message: str) -> None:
    for model in models():
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message) as caught:
            action(model)
        assert "\n\n" not in str(caught.value)
        assert pickle.dumps(model) == before


@pytest.mark.filterwarnings("ignore:X has feature names, but")
@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(case: str) -> None:
    X, message = BAD_TABLES[case]
    y = np.ones(X.shape[0] if hasattr(X, "shape") else len(X) if X is not None else 1)
    if isinstance(X, pd.DataFrame | pl.DataFrame) and "0 sample" not in message:
        for model in (ForwardRegressor(), RidgeRegressor()):  # these have names: refused by a new model as well
            with pytest.raises(ValueError, match=message):
                model.partial_fit(X, y)
            assert not hasattr(model, "n_features_in_")
    refuse(lambda model: model.partial_fit(X, y), message)
    refuse(lambda model: model.predict_then_learn(X, y), message)
    refuse(lambda model: model.predict(X), message)
    refuse(lambda model: model.leverage(X), message)


@pytest.mark.parametrize("case", BAD_TARGETS)
def test_bad_targets(case: str) -> None:
    y, message = BAD_TARGETS[case]
    refuse(lambda model: model.partial_fit(GOOD, y), message)


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights(case: str) -> None:
    weights, message = BAD_WEIGHTS[case]
    refuse(lambda model: model.partial_fit(GOOD, [1.0, 2.0], weights), message)
    refuse(lambda model: model.fit(GOOD, [1.0, 2.0], weights), message)


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(case: str) -> None:
    x, message = BAD_ROWS[case]
    refuse(lambda model: model.learn_one(x, 1.0), message)
    refuse(lambda model: model.predict_one(x), message)


@pytest.mark.parametrize("y", [NAN, INF, "a", None, [1.0, 2.0], 1j, np.ones((1, 1))])
def test_bad_single_targets(y: Any) -> None:
    refuse(lambda model: model.learn_one(np.ones(3), y), "y")


@pytest.mark.parametrize("weight", [NAN, INF, -1.0, "1", None, [1.0, 2.0]])
def test_bad_single_weights(weight: Any) -> None:
    if weight is not None:
        refuse(lambda model: model.learn_one(np.ones(3), 1.0, weight), "sample_weight")
        refuse(lambda model: model.predict_one(np.ones(3), weight), "sample_weight")


def test_bad_values_by_name() -> None:
    model = ForwardRegressor().learn_one({"a": 1.0}, 1.0)
    before = pickle.dumps(model)
    cases: list[tuple[Any, str]] = [
        (NAN, "got nan in feature 'b'"),
        ("x", "must hold numbers"),
        (None, "must hold numbers"),
    ]
    for value, message in cases:
        with pytest.raises(ValueError, match=message):
            model.learn_one({"a": 1.0, "b": value}, 1.0)
        with pytest.raises(ValueError, match=message):
            model.predict_one({"a": 1.0, "b": value})
    assert pickle.dumps(model) == before


BAD_SETTINGS: list[tuple[type[OnlineRegressor], dict[str, Any], str]] = [
    (ForwardRegressor, {"lam": -1.0}, "lam must be 0 or a number between 1e-300 and 1e300, got -1.0"),
    (ForwardRegressor, {"lam": NAN}, "lam must be .* got nan"),
    (ForwardRegressor, {"lam": INF}, "lam must be .* got inf"),
    (ForwardRegressor, {"lam": "1"}, "lam must be .* got '1'"),
    (ForwardRegressor, {"lam": None}, "lam must be .* got None"),
    (ForwardRegressor, {"prior_mean": [1.0]}, r"prior_mean must have shape \(3,\) or \(1, 3\) .*got \(1, 1\)"),
    (ForwardRegressor, {"prior_mean": [1.0, NAN, 1.0]}, "prior_mean must be finite"),
    (ForwardRegressor, {"prior_mean": ["a", "b", "c"]}, "prior_mean must hold numbers"),
    (ForwardRegressor, {"prior_mean": np.array([1 + 2j, 0, 0])}, "prior_mean must hold real numbers, got complex"),
    (
        ForwardRegressor,
        {"prior_mean": np.array(["2026-01-31"] * 3, "M8[D]")},
        "prior_mean must hold numbers, got dates",
    ),
    (RidgeRegressor, {"prior_mean": np.ones(3, "m8[s]")}, "prior_mean must hold numbers, got durations"),
    (RidgeRegressor, {"prior_mean": ["1", "2", "3"]}, "prior_mean must hold numbers, got text"),
    (RidgeRegressor, {"prior_intercept": np.complex128(1 + 2j)}, "prior_intercept must hold real numbers"),
    (RidgeRegressor, {"prior_intercept": "3"}, "prior_intercept must hold numbers, got text"),
    (
        ForwardRegressor,
        {"prior_mean": {"a": 1.0}},
        "prior_mean is a dict of named features, but the rows have no names",
    ),
    (ForwardRegressor, {"prior_intercept": INF}, "prior_intercept must be finite"),
    (
        ForwardRegressor,
        {"prior_intercept": [1.0, 2.0]},
        "prior_intercept must be a number or one for each of 1 targets",
    ),
    (RidgeRegressor, {"lam": 0.0}, "lam must be positive for ridge, got 0; ForwardRegressor takes lam=0"),
    (RidgeRegressor, {"clip": 0.0}, "clip must be None or a positive number, got 0.0"),
    (RidgeRegressor, {"clip": NAN}, "clip must be .* got nan"),
    (RidgeRegressor, {"clip": "1"}, "clip must be .* got '1'"),
]


@pytest.mark.parametrize(("learner", "settings", "message"), BAD_SETTINGS)
def test_bad_settings(learner: type[OnlineRegressor], settings: dict[str, Any], message: str) -> None:
    model = learner(**settings)
    actions: list[Callable[[], object]] = [
        lambda: model.fit(GOOD, [1.0, 2.0]),
        lambda: model.partial_fit(GOOD, [1.0, 2.0]),
        lambda: model.learn_one(np.ones(3), 1.0),
        lambda: model.predict_one(np.ones(3)),
    ]
    for action in actions[: 3 if "each of 1" in message or "(1, 3)" in message else 4]:
        with pytest.raises(ValueError, match=message):
            action()
        assert vars(model).keys() - {"_lock"} <= set(model.get_params())


@given(st.integers(0, 2**32), st.integers(0, 9), st.integers(0, 2), st.sampled_from([NAN, INF, -INF]), st.booleans())
def test_a_bad_value_anywhere_changes_nothing(seed: int, row: int, column: int, value: float, target: bool) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((10, 3)), rng.standard_normal(10)
    if target:
        y[row] = value
    else:
        X[row, column] = value
    for model in models():
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=f"row {row}"):
            model.partial_fit(X, y)
        with pytest.raises(ValueError, match="finite"):
            model.learn_one(X[row], y[row])
        assert pickle.dumps(model) == before


def test_the_short_way_for_one_row_refuses_like_the_long_one() -> None:
    clipped = RidgeRegressor(clip=1.0).fit([[1.0], [2.0]], [1.0, 2.0])
    named = ForwardRegressor().learn_one({"a": 1.0}, 1.0)
    unnamed = ForwardRegressor().fit(np.eye(2), [1.0, 2.0])
    huge: Any = 10**400
    actions: list[tuple[OnlineRegressor, Callable[[], object], str]] = [
        (clipped, lambda: clipped.predict_one(np.array([INF])), "finite"),
        (clipped, lambda: clipped.predict_one(np.array([NAN])), "finite"),
        (named, lambda: named.predict_one({"a": INF}), "finite"),
        (named, lambda: named.learn_one({"a": NAN}, 1.0), "finite"),
        (unnamed, lambda: unnamed.learn_one({}, 3.0), "without names"),
        (unnamed, lambda: unnamed.predict_one({}), "without names"),
        (unnamed, lambda: unnamed.learn_one([1.0, huge], 1.0), "number"),
        (unnamed, lambda: unnamed.learn_one(np.ones(2), huge), "y"),
        (unnamed, lambda: unnamed.learn_one(np.ones(2), 1.0, huge), "sample_weight"),
        (named, lambda: named.learn_one({"a": huge}, 1.0), "number"),
        (unnamed, lambda: unnamed.partial_fit([[1.0, huge]], [1.0]), "number"),
        (unnamed, lambda: unnamed.partial_fit([[1.0, 1.0]], [huge]), "y"),
    ]
    for model, action, message in actions:
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            action()
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="y"):
        ForwardRegressor().learn_one([1.0], huge)


def test_dates_are_no_numbers() -> None:
    days = np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")
    refuse(lambda model: model.partial_fit(GOOD, days), "must hold numbers, got dates|expected numbers")
    refuse(lambda model: model.partial_fit(np.array([days, days, days]).T, [1.0, 2.0]), "numbers|not supported")


def test_a_refused_named_row_changes_nothing() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 0.0], "b": [0.0, 1.0, 1.0]})
    model = ForwardRegressor().fit(frame, [1.0, 2.0, 3.0])
    before = pickle.dumps(model)
    refused: list[Callable[[], object]] = [
        lambda: model.learn_one({"a": 1.0}, [1.0, 2.0]),
        lambda: model.learn_one({"new": 1.0}, NAN),
        lambda: model.learn_many(pd.DataFrame({"a": [NAN]}), [1.0]),
        lambda: model.learn_many(pd.DataFrame({"new": [1.0]}), [1.0, 2.0]),
    ]
    for action in refused:
        with pytest.raises(ValueError, match=r"y|finite"):
            action()
        assert pickle.dumps(model) == before
    other = ForwardRegressor().fit(frame.rename(columns={"a": "c"}), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="this model has features"):
        model.merge(other)  # tables with other columns do not fit,
    model.learn_one({"a": 1.0}, 1.0)
    assert set(model.merge(other).feature_names_in_) == {"a", "b", "c"}  # unless one learned by name


HUGE = 10**400


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RidgeRegressor(lam=HUGE), "lam must be 0 or a number .* whole number of 1,329 bits"),
        (lambda: RidgeRegressor(lam=[HUGE, 1]), "lam must be 0 or a number"),
        (lambda: RidgeRegressor(lam=np.timedelta64(3, "s")), "lam must be 0 or a number .* got 3 seconds"),
        (lambda: RidgeRegressor(intercept_lam=HUGE), "intercept_lam must be 0 or a number"),
        (lambda: RidgeRegressor(prior_mean=[HUGE, 1]), "prior_mean must hold numbers below 1e308"),
        (lambda: RidgeRegressor(prior_intercept=HUGE), "prior_intercept must hold numbers below 1e308"),
        (lambda: RidgeRegressor(half_life=np.timedelta64(2, "Y")), "half_life must be a number > 0, got 2 years"),
        (lambda: AutoRegressor(half_lives=(HUGE, 1)), "half_lives must be a list of numbers"),
        (lambda: AutoRegressor(lams=(HUGE, 1)), "lams must be a list of numbers"),
    ],
)
def test_settings_beyond_floats_are_refused_in_our_words(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        make().fit(np.eye(2), [1.0, 2.0])
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("bounds", [(0, HUGE), (HUGE,), 5, ("a", "b"), (1, 0), "z" * 10_000])
def test_bounds_that_are_no_two_numbers_are_refused(bounds: Any) -> None:
    with pytest.raises(ValueError, match="bounds must be two finite numbers, the lower one first") as caught:
        Known(bounds=bounds)
    assert len(str(caught.value)) < 200


def test_columns_of_one_name_are_refused() -> None:
    twice = pd.DataFrame(np.eye(2), columns=["a", "a"])
    model = RidgeRegressor().fit(np.eye(2), [1.0, 2.0])
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("X", lambda: RidgeRegressor().fit(twice, [1.0, 2.0])),
        ("y", lambda: RidgeRegressor().fit(np.eye(2), twice)),
        ("X", lambda: model.predict(twice)),
        ("X", lambda: model.interval(twice, sigma=1.0)),
        ("X", lambda: RidgeRegressor().learn_many(twice, [1.0, 2.0])),
        ("actions|X", lambda: LinUCB(seed=0).choose(twice)),
    ]
    for name, call in calls:
        with pytest.raises(ValueError, match=f"({name}) must have different column names, got 'a' twice"):
            call()


def test_masked_values_are_refused_and_what_masks_nothing_is_its_data() -> None:
    X, y = np.array([[1.0, 2.0], [2.0, 999.0], [0.0, 1.0]]), np.array([1.0, 2.0, 999.0])
    masked, targets = np.ma.masked_array(X, X == 999.0), np.ma.masked_array(y, y == 999.0)
    model = RidgeRegressor().fit(X, y)
    before = pickle.dumps(model)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda X, y: RidgeRegressor().fit(X, np.ones(3)).coef_,
        lambda X, y: RidgeRegressor().fit(np.eye(3), y).coef_,
        lambda X, y: RidgeRegressor().fit(np.eye(3), np.ones(3), y).coef_,
        lambda X, y: RidgeRegressor(lam=y, intercept_lam=0.0).fit(np.eye(3), np.ones(3)).coef_,
        lambda X, y: RidgeRegressor(prior_mean=X[1]).fit(np.ones((3, 2)), np.ones(3)).coef_,
        lambda X, y: model.predict(X),
        lambda X, y: model.interval(X, sigma=1.0),
        lambda X, y: model.predict_one(X[1]),
        lambda X, y: RidgeRegressor().learn_one(X[1], 1.0).coef_,
        lambda X, y: RidgeRegressor().learn_one([1.0], y[2]).coef_,
        lambda X, y: model.confidence_set(sigma=1.0, theta_bound=1.0).interval(X),
        lambda X, y: model.confidence_set(sigma=1.0, theta_bound=1.0).contains(y),
        lambda X, y: RunningIntersection(X).rows,
        lambda X, y: LinUCB(seed=0).choose(X),
    ]
    for call in calls:
        np.testing.assert_array_equal(call(np.ma.masked_array(X), np.ma.masked_array(y)), call(X, y))
        with pytest.raises(ValueError, match="must hold finite numbers, got a masked value"):
            call(masked, targets)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", ["fit_intercept", "units"])
@pytest.mark.parametrize("value", [np.ones((6, 3)), pd.DataFrame({"a": [1.0]}), sparse.eye_array(2), "no", 2, None])
def test_settings_of_few_values_are_told_of_whatever_comes(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be") as found:
        RidgeRegressor(**{name: value}).fit(np.eye(3), np.ones(3))
    assert len(str(found.value)) < 200


@pytest.mark.parametrize("call", ["learn_many", "predict_many"])
def test_rows_without_names_are_told_where_arrays_go(call: str) -> None:
    targets = [[1.0, 2.0]] if call == "learn_many" else []
    with pytest.raises(ValueError, match="got ndarray; predict_then_learn, partial_fit and predict take arrays"):
        getattr(RidgeRegressor(), call)(np.array(GOOD), *targets)
    assert len(RidgeRegressor().predict_then_learn(np.array(GOOD), [1.0, 2.0])) == 2
