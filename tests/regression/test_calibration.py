"""Learners that keep how far targets are from their predictions: the same whichever way rows come."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from onward import ForwardRegressor, RidgeRegressor, load
from onward.confidence import DELTAS, ConformalIntervals
from onward.core.types import Matrix, Vector

NAMES = ["a", "b", "c"]


def rows(n: int = 80, seed: int = 0) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, 5 + X @ [1.0, -2.0, 0.5] + rng.standard_normal(n), rng.exponential(1.0, n)


def buffer(model: Any) -> Vector:
    assert model.calibration_ is not None
    return np.array(model.calibration_.buffer)


def in_batches(model: Any, X: Matrix, y: Vector, w: Vector) -> None:
    for first, last in ((0, 1), (1, 30), (30, 80)):
        model.partial_fit(X[first:last], y[first:last], w[first:last])


def one_by_one(model: Any, X: Matrix, y: Vector, w: Vector) -> None:
    for x, target, weight in zip(X, y, w, strict=True):
        model.learn_one(x, target, weight)


def as_dicts(model: Any, X: Matrix, y: Vector, w: Vector) -> None:
    for x, target, weight in zip(X, y, w, strict=True):
        model.learn_one(dict(zip(NAMES, x.tolist(), strict=True)), target, weight)


def as_frames(model: Any, X: Matrix, y: Vector, w: Vector) -> None:
    frame = pd.DataFrame(X, columns=NAMES)
    model.learn_many(frame[:50], y[:50], w[:50])
    model.learn_many(frame[50:], y[50:], w[50:])


@pytest.mark.parametrize("learn", [in_batches, one_by_one, as_dicts, as_frames])
@pytest.mark.parametrize("make", [ForwardRegressor, RidgeRegressor, lambda: RidgeRegressor(clip=6.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_learned_whichever_way_rows_come(
    learn: Callable[..., None], make: Callable[[], Any], weighted: bool
) -> None:
    X, y, w = rows()
    w = w if weighted else np.ones(80)
    model, plain = make().calibrate(), make()
    learn(model, X, y, w)
    predictions, leverages = plain.predict_then_learn(X, y, w, return_leverage=True)
    expected = ConformalIntervals(DELTAS)
    expected.track(predictions, leverages, y, w)
    assert_array_equal(buffer(model), expected.buffer)
    assert_array_equal(model.information_.buffer, plain.information_.buffer)  # which is none the worse for it


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
def test_single_rows_of_weight_one_are_learned_in_the_short_way(learner: Callable[[], Any]) -> None:
    X, y, _ = rows()
    many, one = learner().calibrate(), learner().calibrate()
    many.partial_fit(X, y)
    for x, target in zip(X, y.tolist(), strict=True):
        assert one.learn_one(x, target) is one
    assert_array_equal(buffer(one), buffer(many))


def test_fit_forgets_errors_too() -> None:
    X, y, _ = rows()
    model = ForwardRegressor().calibrate((0.1, 0.3)).fit(X, y)
    again = buffer(model)
    assert model.calibration_ is not None
    assert model.calibration_.deltas == [0.3, 0.1]
    assert_array_equal(buffer(model.fit(X, y)), again)
    before = model.calibrate(0.2).calibration_
    assert before is not None
    assert before.n_learned == 0


def test_rows_that_are_refused_change_nothing() -> None:
    X, y, _ = rows()
    model = ForwardRegressor().calibrate().fit(X, y)
    before = buffer(model), model.information_.buffer.copy()
    bad = X.copy()
    bad[40, 1] = np.nan
    calls: list[tuple[Callable[..., Any], Any, Any]] = [
        (model.partial_fit, bad, y),
        (model.fit, bad, y),
        (model.learn_one, bad[40], 1.0),
        (model.learn_one, X[0], np.inf),
        (model.partial_fit, 1e200 * X, y),
    ]
    for call, x, target in calls:
        with pytest.raises(ValueError, match=r"NaN|finite|infinity|double precision"):
            call(x, target)
        assert_array_equal(buffer(model), before[0])
        assert_array_equal(model.information_.buffer, before[1])


def test_rows_of_weight_zero_say_nothing() -> None:
    X, y, _ = rows()
    model = ForwardRegressor().calibrate().fit(X, y)
    before = buffer(model)
    model.partial_fit(X, y, np.zeros(80))
    model.learn_one(X[0], 3.0, 0.0)
    assert_array_equal(buffer(model), before)


def test_several_targets_are_not_calibrated() -> None:
    X, y, _ = rows()
    with pytest.raises(ValueError, match="a calibrated model has one target, got 2"):
        ForwardRegressor().calibrate().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="a calibrated model has one target, got 2"):
        ForwardRegressor().fit(X, np.column_stack([y, y])).calibrate()
    assert ForwardRegressor().fit(X, np.column_stack([y, y])).interval(X, of="observation").shape == (80, 2, 2)


def test_copies_files_and_pickles_keep_errors(tmp_path: Path) -> None:
    X, y, _ = rows()
    model = RidgeRegressor(0.5).calibrate().fit(X, y)
    model.save(tmp_path / "m")
    others = [model.copy(), copy.deepcopy(model), pickle.loads(pickle.dumps(model)), load(tmp_path / "m")]
    before = buffer(model)
    more = rows(20, seed=1)
    for other in others:
        other.partial_fit(*more)
        assert_array_equal(buffer(model), before)
    model.partial_fit(*more)
    for other in others:
        assert_array_equal(buffer(other), buffer(model))
        assert_array_equal(other.interval(X, of="observation"), model.interval(X, of="observation"))


def test_of_two_calibrations_the_later_one_stays() -> None:
    X, y, _ = rows()
    first, second, plain = ForwardRegressor().calibrate(), ForwardRegressor().calibrate(), ForwardRegressor()
    first.partial_fit(X[:40], y[:40])
    second.partial_fit(X[40:], y[40:])
    plain.partial_fit(X[40:], y[40:])
    mine, theirs = buffer(first), buffer(second)
    assert_array_equal(buffer(first.copy().merge(plain)), mine)
    assert_array_equal(buffer(first.copy().merge(second)), theirs)
    assert_array_equal(buffer(plain.copy().merge(second)), theirs)
    assert_array_equal(buffer(first.copy().merge_part(ForwardRegressor(0.0).fit(X, y))), mine)


def test_intervals_are_of_the_method_asked_for() -> None:
    X, y, _ = rows(300)
    model = ForwardRegressor().calibrate().fit(X, y)
    assert model.calibration_ is not None
    lower, upper = model.calibration_.intervals(model.predict(X), model.leverage(X))
    assert_array_equal(model.interval(X, 0.1, of="observation"), np.column_stack([lower[:, 2], upper[:, 2]]))
    ways = {m: model.interval(X, of="observation", method=m) for m in ("conformal", "t", "uniform")}
    assert_array_equal(model.interval(X, of="observation"), ways["conformal"])
    plain = ForwardRegressor().fit(X, y)
    assert_array_equal(plain.interval(X, of="observation"), ways["t"])
    assert_array_equal(
        model.interval(X, sigma=1.0, of="observation"), plain.interval(X, sigma=1.0, of="observation", method="uniform")
    )
    wrong: Any = "median"
    for arguments, message in (
        ({"method": "conformal"}, "intervals for the mean of a target are 'uniform', got 'conformal'"),
        ({"method": wrong, "of": "observation"}, "method must be one of conformal, t, uniform, got 'median'"),
        ({"method": "t", "sigma": 1.0, "of": "observation"}, "sigma is for 'uniform' intervals, got 't'"),
        ({"delta": 0.07, "of": "observation"}, "calibrated for, 0.5, 0.2, 0.1, 0.05, 0.01, got 0.07"),
    ):
        with pytest.raises(ValueError, match=message):
            model.interval(X, **arguments)
    with pytest.raises(ValueError, match=r"not calibrated: expected one of onward.fit, or calibrate\(\) before"):
        plain.interval(X, of="observation", method="conformal")
