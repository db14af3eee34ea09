"""Learners that forget: half-lives in rows and in time, windows, and what holds for every learner holds for them."""

import datetime
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import onward
from onward import ForwardRegressor, RidgeRegressor
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

LEARNERS = (ForwardRegressor, RidgeRegressor)
SETTINGS: tuple[dict[str, Any], ...] = ({"half_life": 8.0}, {"half_life": 8.0, "timed": True}, {"window": 9})
MARCH = np.datetime64("2026-03-01T00:00")


def data(seed: int = 0, n: int = 60, d: int = 4, m: int = 1) -> tuple[Matrix, Any, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, m)) + 3.0
    w = rng.choice([0.0, 1.0, 2.5], n, p=[0.1, 0.6, 0.3])
    return X, Y[:, 0] if m == 1 else Y, w, np.cumsum(rng.choice([0.0, 0.25, 1.0, 12.0], n))


def made(learner: type[OnlineRegressor], how: dict[str, Any], **more: Any) -> tuple[OnlineRegressor, bool]:
    """A new model, and whether its rows have times."""
    own = {name: value for name, value in how.items() if name != "timed"}
    return learner(0.5, **own, **more), "timed" in how


def assert_same(a: OnlineRegressor, b: OnlineRegressor) -> None:
    """To the last bit, in everything that a file holds."""
    (mine, arrays), (theirs, others) = a.to_record(), b.to_record()
    assert mine == theirs
    assert arrays.keys() == others.keys()
    for name in arrays:
        assert_array_equal(arrays[name], others[name], err_msg=name)


def by_definition(X: Matrix, y: Vector, w: Vector, left: Any, lam: float, shrinks: bool) -> Vector:
    """Predictions with a free constant by dense algebra; `left(t)` is what the rows before t count."""
    A, predictions = np.column_stack([np.ones(len(X)), X]), np.zeros(len(X))
    for t in range(len(X)):
        v = w[:t] * left(t)
        if not v.any():
            continue
        G = np.diag([0.0] + [lam] * X.shape[1]) + A[:t].T @ (v[:, None] * A[:t])
        p, q = np.linalg.solve(G, np.column_stack([A[:t].T @ (v * y[:t]), A[t]])).T @ A[t]
        mean = v @ y[:t] / v.sum()
        predictions[t] = mean + (p - mean) / (1 + w[t] * (q - 1 / v.sum())) if shrinks else p
    return predictions


@pytest.mark.parametrize("learner", LEARNERS)
def test_predictions_are_those_of_the_definition(learner: type[OnlineRegressor]) -> None:
    X, y, w, times = data()
    shrinks = learner is ForwardRegressor
    rows = np.arange(len(X))
    for how, left in (
        (SETTINGS[0], lambda t: 2.0 ** (-(t - rows[:t]) / 8)),
        (SETTINGS[1], lambda t: 2.0 ** (-(times[t] - times[:t]) / 8)),
        (SETTINGS[2], lambda t: (rows[:t] >= t - 9).astype(float)),
    ):
        model, timed = made(learner, how)
        got = model.predict_then_learn(X, y, w, times if timed else None)
        assert_allclose(got, by_definition(X, y, w, left, 0.5, shrinks), rtol=1e-8, atol=1e-8)
        assert model.n_seen_ == len(X)
        assert model.online_loss_ == pytest.approx(w @ (got - y) ** 2)


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("learner", LEARNERS)
@given(st.integers(0, 1000), st.integers(1, 3), st.booleans(), st.lists(st.integers(0, 60), max_size=4))
@settings(max_examples=8)
def test_any_batches_and_single_rows_give_the_same_bits(
    learner: type[OnlineRegressor], how: dict[str, Any], seed: int, m: int, intercept: bool, cuts: list[int]
) -> None:
    X, y, w, times = data(seed, m=m)
    (whole, timed), (batches, _), (rows, _) = (made(learner, how, fit_intercept=intercept) for _ in range(3))
    expected = whole.predict_then_learn(X, y, w, times if timed else None)
    for a, b in pairwise(sorted({0, *cuts, len(X)})):
        got = batches.predict_then_learn(X[a:b], y[a:b], w[a:b], times[a:b] if timed else None)
        assert_array_equal(got, expected[a:b])
    for t in range(len(X)):
        when = {"time": float(times[t])} if timed else {}
        if t:
            assert_array_equal(rows.predict_one(X[t], w[t], **when), expected[t])
            now = times[t : t + 1] if timed else None
            assert_array_equal(rows.predict(X[t : t + 1], w[t : t + 1], times=now), expected[t : t + 1])
        rows.learn_one(X[t], y[t] if m > 1 else float(y[t]), float(w[t]), **when)
    assert_same(whole, batches)
    assert_same(whole, rows)


@pytest.mark.parametrize("how", SETTINGS)
def test_to_save_to_copy_and_to_pickle_is_to_go_on(how: dict[str, Any], tmp_path: Path) -> None:
    X, y, w, times = data(m=2)
    for stop in (3, 30):  # a window that is not full yet, and one that has gone round
        (model, timed), (whole, _) = made(ForwardRegressor, how), made(ForwardRegressor, how)
        now, later = (times[:stop], times[stop:]) if timed else (None, None)
        model.partial_fit(X[:stop], y[:stop], w[:stop], now)
        model.save(tmp_path / "m.onward")
        gone_on = [onward.load(tmp_path / "m.onward"), model.copy(), pickle.loads(pickle.dumps(model))]
        whole.partial_fit(X[:stop], y[:stop], w[:stop], now)
        expected = whole.predict_then_learn(X[stop:], y[stop:], w[stop:], later)
        for each in gone_on:
            assert_same(each, model)
            assert_array_equal(each.predict_then_learn(X[stop:], y[stop:], w[stop:], later), expected)
            assert_same(each, whole)


@pytest.mark.parametrize("how", SETTINGS)
def test_a_name_that_comes_late_was_there_at_zero(how: dict[str, Any]) -> None:
    X, y, w, times = data()
    X[:25, 2] = X[:40, 3] = 0.0
    (by_name, timed), (by_place, _), (by_frame, _) = (made(RidgeRegressor, how) for _ in range(3))
    expected = by_place.predict_then_learn(X, y, w, times if timed else None)
    for t in range(len(X)):
        row = dict(zip("abcd", X[t].tolist(), strict=True))
        row = {name: value for name, value in row.items() if value}
        when = {"time": float(times[t])} if timed else {}
        if t:
            assert by_name.predict_one(row, w[t], **when) == pytest.approx(expected[t], rel=1e-8, abs=1e-8)
        by_name.learn_one(row, float(y[t]), float(w[t]), **when)
    for a, b, names in ((0, 25, "ab"), (25, 40, "cba"), (40, 60, "dcab")):
        frame = pl.DataFrame(X[a:b], schema=list("abcd")).select(list(names))
        got = by_frame.learn_many(frame, y[a:b], w[a:b], times[a:b] if timed else None)
        assert_allclose(got, expected[a:b], rtol=1e-8, atol=1e-8)
    assert_allclose(by_name.coef_, by_place.coef_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("how", SETTINGS)
def test_sparse_and_framed_rows_are_rows(how: dict[str, Any]) -> None:
    X, y, w, times = data()
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    (model, timed), (sparse, _), (framed, _) = (made(ForwardRegressor, how) for _ in range(3))
    when = times if timed else None
    model.partial_fit(X, y, w, when)
    sparse.partial_fit(sp.csr_array(X), y, w, when)
    framed.partial_fit(
        pd.DataFrame(X).to_numpy(), pd.Series(y), pd.Series(w), None if when is None else pd.Series(when)
    )
    assert_same(model, sparse)
    assert_same(model, framed)


def test_more_rows_than_a_block_holds() -> None:
    X, y, w, times = data(2, 40_000, 3)
    for how in SETTINGS:
        (model, timed), (other, _) = made(ForwardRegressor, how), made(ForwardRegressor, how)
        model.partial_fit(X, y, w, times if timed else None)
        for part in np.array_split(np.arange(len(X)), 3):
            other.partial_fit(X[part], y[part], w[part], times[part] if timed else None)
        assert_same(model, other)


# Times


DATES: dict[str, Any] = {
    "datetime64": lambda t: MARCH + (t * 3.6e9).astype("timedelta64[us]"),
    "a list": lambda t: [datetime.datetime(2026, 3, 1) + datetime.timedelta(hours=float(h)) for h in t],
    "pandas": lambda t: pd.Series(pd.Timestamp("2026-03-01") + pd.to_timedelta(t, unit="h")),
    "an index": lambda t: pd.DatetimeIndex(DATES["datetime64"](t)),
    "polars": lambda t: pl.Series([datetime.datetime(2026, 3, 1) + datetime.timedelta(hours=float(h)) for h in t]),
    "with a zone": lambda t: pd.Series(pd.Timestamp("2026-03-01", tz="UTC") + pd.to_timedelta(t, unit="h")),
}


@pytest.mark.parametrize("kind", DATES)
@pytest.mark.parametrize(
    "half_life", ["8h", "480m", datetime.timedelta(hours=8), np.timedelta64(8, "h"), pd.Timedelta("8h")], ids=repr
)
def test_dates_of_any_kind_are_times(kind: str, half_life: Any) -> None:
    X, y, w, times = data()
    expected: Vector = ForwardRegressor(half_life=8.0).predict_then_learn(X, y, w, times)
    model = ForwardRegressor(half_life=half_life)
    assert_allclose(model.predict_then_learn(X, y, w, DATES[kind](times)), expected, rtol=1e-9, atol=1e-9)


def test_a_day_and_a_moment() -> None:
    model = ForwardRegressor(half_life="2d")
    for day in (1, 3, 3, 9):
        model.learn_one([day % 4], float(day), time=datetime.date(2026, 1, day))
    other = ForwardRegressor(half_life=2)
    for day in (1, 3, 3, 9):
        other.learn_one([day % 4], float(day), time=day)
    assert model.predict_one([2.0], time=np.datetime64("2026-01-11")) == other.predict_one([2.0], time=11.0)
    assert model.predict_one([2.0]) == other.predict_one([2.0], time=9)
    assert model.predict_one([2.0]) != model.predict_one([2.0], time=datetime.datetime(2026, 1, 20))
    at_their_times = model.predict([[2.0], [2.0]], times=[datetime.date(2026, 1, 11), datetime.date(2026, 1, 9)])
    assert at_their_times.tolist() == [other.predict_one([2.0], time=11), other.predict_one([2.0], time=9)]


def test_equal_times_forget_nothing_between() -> None:
    X, y, _, _ = data()
    model, plain = ForwardRegressor(0.5, half_life=1e-3), ForwardRegressor(0.5)
    assert_allclose(model.predict_then_learn(X, y, times=np.full(len(X), 7)), plain.predict_then_learn(X, y), rtol=1e-9)


REFUSED: list[tuple[dict[str, Any], Any, str]] = [
    ({"half_life": 5}, [0, 1, 3, 2, 5], "times must not fall: row 3 has 2, but row 2 has 3"),
    ({"half_life": 5}, [0, 1, np.nan, 2, 5], "one for each row, got none in row 2"),
    ({"half_life": 5}, [0, 1, None, 2, 5], "one for each row, got none in row 2"),
    ({"half_life": 5}, [0, 1, np.inf, 2, 5], "one for each row, got inf in row 2"),
    ({"half_life": 5}, [0, 1], r"times must have shape \(5,\) as X has 5 rows, got \(2,\)"),
    ({"half_life": 5}, list("abcde"), "numbers or dates, got String"),
    (
        {"half_life": 5},
        [datetime.date(2026, 1, 1)] * 5,
        "times are dates, but half_life is a number, 5: expected a dura",
    ),
    ({"half_life": "5d"}, [1, 2, 3, 4, 5], "times are numbers, but half_life is a duration, '5d': expected dates"),
    ({"half_life": "5d"}, None, "times are missing: half_life='5d' is one of time; expected dates"),
    (
        {"half_life": "5d"},
        [datetime.datetime(2026, 1, 2), *[datetime.datetime(2026, 1, 1)] * 4],
        "times must not fall: row 1 has 2026-01-01 00:00:00, but row 0 has 2026-01-02 00:00:00",
    ),
    ({"window": 5}, [1, 2, 3, 4, 5], "times are for a half-life: expected half_life"),
    ({}, [1, 2, 3, 4, 5], "times are for a half-life: expected half_life"),
]


@pytest.mark.parametrize(("how", "times", "message"), REFUSED)
def test_times_that_cannot_be_are_refused(how: dict[str, Any], times: Any, message: str) -> None:
    X, y, _, _ = data(n=5)
    with pytest.raises(ValueError, match=message):
        ForwardRegressor(**how).partial_fit(X, y, times=times)


def test_a_refused_row_changes_nothing() -> None:
    X, y, _, times = data()
    model = ForwardRegressor(half_life=3).partial_fit(X[:40], y[:40], times=times[:40])
    before = model.copy()
    rows = {"x": X[41], "y": 1.0}
    latest = f"but the latest row that was learned has {times[39]:g}"
    for message, call in (
        (f"row 0 has 0, {latest}", lambda: model.learn_one(rows["x"], 1.0, time=0.0)),
        (f"row 0 has -1, {latest}", lambda: model.partial_fit(X[:2], y[:2], times=[-1, 0])),
        ("times are missing: this model began with times", lambda: model.learn_one(rows["x"], 1.0)),
        ("times are missing: this model began with times", lambda: model.partial_fit(X[:2], y[:2])),
        ("row 0 has 1, but", lambda: model.learn_one(rows["x"], 1.0, time=1)),
        ("numbers or dates", lambda: model.learn_one(rows["x"], 1.0, time="soon")),
        ("got none in row 0", lambda: model.learn_one(rows["x"], 1.0, time=float("nan"))),
        ("times are dates, but", lambda: model.learn_one(rows["x"], 1.0, time=datetime.date(2026, 1, 1))),
        ("not be before that of the latest row learned, .*: row 1 has 2", lambda: model.predict(X[:2], times=[1e9, 2])),
        ("not be before that of the latest row learned", lambda: model.predict_one(X[0], time=2)),
        ("got none in row 0", lambda: model.predict_one(X[0], time=float("nan"))),
        (
            "times must not fall: row 1 has 1, but row 0 has 1000000000",
            lambda: model.partial_fit(X[:2], y[:2], times=[1e9, 1]),
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert_same(model, before)
    by_rows = ForwardRegressor(half_life=3).partial_fit(X, y)
    for call in (
        lambda: by_rows.learn_one(X[0], 1.0, time=3.0),
        lambda: by_rows.partial_fit(X[:2], y[:2], times=[1, 2]),
        lambda: by_rows.predict_one(X[0], time=3.0),
    ):
        with pytest.raises(ValueError, match="counts its half-life in rows, as it began without times"):
            call()


def test_a_row_too_extreme_changes_nothing_of_a_window() -> None:
    X, y, _, _ = data()
    for model in (RidgeRegressor(window=5), RidgeRegressor(half_life=5)):
        model.partial_fit(X, y)
        before = model.copy()
        for x, target in ((np.full(4, 1e200), 1.0), (X[0], 1e200)):
            with pytest.raises(ValueError, match="double precision"):
                model.partial_fit(np.stack([X[1], x]), [1.0, target])
            assert_same(model, before)
        model.learn_one(X[0], 1.0)
        before.partial_fit(X[:1], [1.0])
        assert_same(model, before)


# Settings


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"half_life": 0}, "half_life must be a number > 0, got 0"),
        ({"half_life": -3}, "half_life must be a number > 0, got -3"),
        ({"half_life": np.nan}, "half_life must be a number > 0, got nan"),
        ({"half_life": "0d"}, "a duration such as '12h' or '30d', got '0d'"),
        ({"half_life": "soon"}, "a duration such as '12h' or '30d', got 'soon'"),
        ({"window": 0}, "window must be a whole number >= 1, got 0"),
        ({"window": 2.5}, "window must be a whole number >= 1, got 2.5"),
        ({"half_life": 3, "window": 3}, "expected half_life or window, got both: half_life=3 and window=3"),
    ],
)
@pytest.mark.parametrize("learner", LEARNERS)
def test_settings_that_cannot_be(learner: type[OnlineRegressor], how: dict[str, Any], message: str) -> None:
    X, y, _, _ = data(n=5)
    with pytest.raises(ValueError, match=message):
        learner(**how).partial_fit(X, y)


def test_what_was_learned_with_stays() -> None:
    X, y, _, _ = data()
    model = ForwardRegressor(half_life="30d").partial_fit(X, y, times=MARCH + np.arange(len(X)))
    for change in ({"half_life": 30}, {"half_life": None}, {"window": 3}, {"half_life": datetime.timedelta(30)}):
        with pytest.raises(ValueError, match="this model has learned with"):
            model.set_params(**change)
    model.set_params(half_life="30d")
    assert clone(model).get_params() == model.get_params()
    windowed = RidgeRegressor(window=30).partial_fit(X, y)
    with pytest.raises(ValueError, match="this model has learned with window=30"):
        windowed.set_params(window=31)


def test_a_timedelta_is_saved_as_text(tmp_path: Path) -> None:
    X, y, _, _ = data()
    model = ForwardRegressor(half_life=datetime.timedelta(days=2)).fit(X, y, times=MARCH + np.arange(len(X)))
    model.save(tmp_path / "m.onward")
    again = onward.load(tmp_path / "m.onward")
    assert again.half_life == "2d"
    assert_array_equal(again.predict(X), model.predict(X))


def test_what_a_file_says_of_a_window_must_fit(tmp_path: Path) -> None:
    X, y, _, _ = data()
    model = ForwardRegressor(window=9).partial_fit(X, y)
    settings_, arrays = model.to_record()
    for name, change in (
        ("rows", arrays["rows"][:-1]),
        ("rows", arrays["rows"][:, :-1]),
        ("rows", -arrays["rows"]),
        ("ring", arrays["ring"] + 9),
    ):
        with pytest.raises(ValueError, match="window"):
            ForwardRegressor.from_record(settings_, {**arrays, name: change})
    with pytest.raises(ValueError, match="half-life or a window"):
        ForwardRegressor.from_record({**settings_, "memory": {"half_life": -1.0, "clock": "rows"}}, arrays)


# Merging


@pytest.mark.parametrize("how", SETTINGS[:2])
@pytest.mark.parametrize("learner", LEARNERS)
def test_models_and_parts_merge_in_order(learner: type[OnlineRegressor], how: dict[str, Any]) -> None:
    X, y, w, times = data()
    whole, timed = made(learner, how)
    whole.partial_fit(X, y, w, times if timed else None)

    def part(a: int, b: int, of: type[OnlineRegressor] = learner, lam: float = 0.5) -> OnlineRegressor:
        own = {name: value for name, value in how.items() if name != "timed"}
        return of(lam, **own).partial_fit(X[a:b], y[a:b], w[a:b], times[a:b] if timed else None)

    parts = [part(a, b, ForwardRegressor, 0.0) for a, b in ((0, 7), (7, 20), (20, 41), (41, 60))]
    left, right = parts[0].copy().merge(parts[1]), parts[2].copy().merge(parts[3])
    merged = [
        part(0, 30).merge(part(30, 60)),
        made(learner, how)[0].merge_part(left.copy().merge(right)),
        part(0, 20).merge_part(right),
        made(learner, how)[0].merge_part(parts[0].copy().merge(parts[1].copy().merge(right))),
        made(learner, how)[0].merge(whole),
    ]
    for each in merged:
        assert_allclose(each.coef_, whole.coef_, rtol=1e-9, atol=1e-9)
        assert_allclose(each.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9)
        assert each.regularized_loss_ == pytest.approx(whole.regularized_loss_, rel=1e-9)
        assert each.n_seen_ == whole.n_seen_
        again = each.copy().predict_then_learn(X, y, times=times + times[-1] if timed else None)
        expected = whole.copy().predict_then_learn(X, y, times=times + times[-1] if timed else None)
        assert_allclose(again, expected, rtol=1e-9, atol=1e-9)


def test_merges_that_cannot_be() -> None:
    X, y, _, times = data()
    early = ForwardRegressor(half_life=3).partial_fit(X[:20], y[:20], times=times[:20])
    late = ForwardRegressor(half_life=3).partial_fit(X[20:], y[20:], times=times[20:])
    before = late.copy()
    with pytest.raises(ValueError, match="the other's rows begin at 1, before this one's end, at "):
        late.merge(early)
    assert_same(late, before)
    with pytest.raises(ValueError, match="half_life=3, the other has half_life=4"):
        early.merge(ForwardRegressor(half_life=4).partial_fit(X, y))
    with pytest.raises(ValueError, match="forget otherwise"):
        early.merge(ForwardRegressor(half_life=3).partial_fit(X, y))
    window = ForwardRegressor(window=3).partial_fit(X, y)
    with pytest.raises(ValueError, match="cannot merge windows") as error:
        window.merge(window.copy())
    assert "\n" not in str(error.value)
    with pytest.raises(
        ValueError, match="cannot merge the part: expected half_life=3 and window=None, got half_life=None"
    ):
        early.merge_part(ForwardRegressor(0.0).partial_fit(X, y))
    dated = ForwardRegressor(half_life="3h")
    first = dated.copy().partial_fit(X, y, times=MARCH + np.arange(60))
    with pytest.raises(ValueError, match="begin at 2026-03-01 00:00:00, before this one's end, at 2026-03-01 00:59:00"):
        first.merge(dated.partial_fit(X, y, times=MARCH + np.arange(60)))


# Sets


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_there_are_no_sets(learner: type[OnlineRegressor], how: dict[str, Any]) -> None:
    X, y, _, times = data()
    model, timed = made(learner, how)
    model.partial_fit(X, y, times=times if timed else None)
    for ask in (
        model.confidence_set,
        lambda: model.confidence_set(sigma=1.0, theta_bound=1.0),
        lambda: model.interval(X),
        lambda: model.interval(X, sigma=1.0, of="observation"),
        model.coefficient_table,
        lambda: onward.confidence.confidence_set(model.information_.of_target(0), "ridge", sigma=1.0),
    ):
        with pytest.raises(
            ValueError, match=r"a model that forgets has no confidence set.* Use calibrated intervals"
        ) as error:
            ask()
        assert "\n" not in str(error.value)


def test_a_policy_does_not_start_from_a_model_that_forgets() -> None:
    from onward.bandits import OFUL

    X, y, _, _ = data()
    with pytest.raises(ValueError, match="cannot start from a model that forgets"):
        OFUL(sigma=1.0, lam=1.0).start_from(RidgeRegressor(fit_intercept=False, half_life=9).partial_fit(X, y))


def test_why_there_are_none() -> None:
    """The set of a state that forgets, taken as if it were of all rows, fails far more often than it may."""
    rng, lam, theta, delta = np.random.default_rng(0), 1.0, 0.1, 0.05
    runs, rounds, left = 300, 20_000, 2.0**-0.5
    G, b, failed = np.full(runs, lam), np.zeros(runs), np.zeros(runs, dtype=bool)
    for t in range(rounds):
        x, noise = rng.standard_normal((2, runs))
        G, b = left * G + (1 - left) * lam + x**2 if t else lam + x**2, left * b + x * (x * theta + noise)
        radius = np.sqrt(2 * np.log(1 / delta) + np.log(G / lam)) + np.sqrt(lam) * theta
        failed |= np.abs(b / G - theta) * np.sqrt(G) > radius
    assert failed.mean() > 5 * delta
    model = RidgeRegressor(lam, fit_intercept=False, half_life=2.0).partial_fit([[1.0], [2.0]], [3.0, 1.0])
    state = model.information_.copy()
    state.header["memory"] = 0.0  # as if all rows counted alike
    region = onward.confidence.confidence_set(state, "ridge", delta, 1.0, theta, radius="sum")
    assert region.radius == pytest.approx(np.sqrt(2 * np.log(1 / delta) + np.log(1 + left + 4)) + theta)
