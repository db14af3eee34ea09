"""Dicts with the model's names in their order go straight to the compiled loop: with whatever values they hold."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from onward import ForwardRegressor, RidgeRegressor
from onward.regression import OnlineRegressor
from onward.regression.named import FEW_NAMES

LEARNERS: list[Callable[[], OnlineRegressor]] = [
    lambda: ForwardRegressor(0.5),
    lambda: RidgeRegressor(0.5, fit_intercept=False),
    lambda: RidgeRegressor(0.5, clip=2.0),
]

NUMBERS: list[Any] = [
    1,
    -3,
    True,
    2**63,
    10**19,
    np.float64(1.5),
    np.float32(0.1),
    np.float16(0.1),
    np.int8(3),
    np.uint64(2**60 + 1),
    np.bool_(True),
    np.longdouble(0.1),
    Fraction(1, 3),
    np.array(1.5),
]

NO_NUMBERS: list[Any] = [
    1j,
    np.complex128(1 + 1j),
    np.complex64(1),
    "1",
    b"1",
    np.str_("1"),
    None,
    [1.0],
    np.array([1.0]),
    float("nan"),
    float("inf"),
    Decimal("0.1"),
    10**400,
    -(10**400),
    np.datetime64("2020-01-01"),
    {},
]


def straight(make: Callable[[], OnlineRegressor], width: int = 3) -> OnlineRegressor:
    """A model that has taken a dict of all of its names in order."""
    model = make()
    for i in range(3):
        row = {f"x{j}": float(np.cos(i + 2.0 * j)) for j in range(width)}
        model.predict_one(row)
        model.learn_one(row, float(i))
    assert model._names_in_order == [f"x{j}" for j in range(width)]
    return model


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: type(value).__name__)
def test_a_number_of_any_type_counts_as_the_float_that_it_is(make: Callable[[], OnlineRegressor], value: Any) -> None:
    model, plain = straight(make), straight(make)
    row, floats = {"x0": 1.0, "x1": value, "x2": 0.5}, {"x0": 1.0, "x1": float(value), "x2": 0.5}
    assert model.predict_one(row) == plain.predict_one(floats)
    model.learn_one(row, 2.0)
    plain.learn_one(floats, 2.0)
    np.testing.assert_array_equal(model._buffer, plain._buffer)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_finite_number_is_refused_and_changes_nothing(
    make: Callable[[], OnlineRegressor], value: Any
) -> None:
    model = straight(make)
    before = pickle.dumps(model)
    row = {"x0": 1.0, "x1": value, "x2": 0.5}
    for action in (model.predict_one, lambda x: model.learn_one(x, 1.0)):
        with pytest.raises(ValueError, match="x must"):
            action(row)
        assert pickle.dumps(model) == before


@pytest.mark.parametrize("width", [1, 5, FEW_NAMES, FEW_NAMES + 1])
@pytest.mark.parametrize("targets", [1, 2])
def test_the_bits_are_those_of_the_array(width: int, targets: int) -> None:
    rng = np.random.default_rng(3)
    by_name, by_place = ForwardRegressor(0.1), ForwardRegressor(0.1)
    for x in rng.standard_normal((20, width)):
        y = float(x[0]) if targets == 1 else x[0] * np.array([1.0, -2.0])
        row = {f"x{j}": value for j, value in enumerate(x.tolist())}
        if by_place.__sklearn_is_fitted__():
            np.testing.assert_array_equal(by_name.predict_one(row), by_place.predict_one(x))
        by_name.learn_one(row, y)
        by_place.learn_one(x, y)
    np.testing.assert_array_equal(by_name._buffer, by_place._buffer)


def test_other_orders_and_other_names_go_their_own_way() -> None:
    model, plain = straight(LEARNERS[0]), straight(LEARNERS[0])
    turned = model.predict_one({"x2": 0.5, "x0": 1.0, "x1": 2.0})
    assert turned == plain.predict_one({"x0": 1.0, "x1": 2.0, "x2": 0.5})
    assert model.predict_one({"x0": 1.0, "x1": 2.0}) == plain.predict_one({"x0": 1.0, "x1": 2.0, "x2": 0.0})
    model.learn_one({"x0": 1.0, "x1": 2.0, "new": 0.5}, 1.0)
    assert list(model.feature_names_in_) == ["x0", "x1", "x2", "new"]
    row = {"x0": 1.0, "x1": 2.0, "x2": 0.0, "new": 0.5}
    model.learn_one(row, 1.0)
    assert model.predict_one(row) == model.predict_one({name: row[name] for name in reversed(row)})


def test_predictions_from_many_threads_are_those_of_one() -> None:
    model = straight(LEARNERS[0], 5)
    X = np.random.default_rng(5).standard_normal((4000, 5))
    rows = [{f"x{j}": value for j, value in enumerate(x.tolist())} for x in X]
    expected = [model.predict_one(row) for row in rows]
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda k: [model.predict_one(row) for row in rows[k::4]], range(4)))
    for k, part in enumerate(parts):
        assert part == expected[k::4]
