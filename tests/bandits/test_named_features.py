"""Actions and contexts by name: the same as the matrix that one would make by hand, whenever names come."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward import load
from onward.bandits import (
    OFUL,
    Disjoint,
    DLinUCB,
    LinUCB,
    Named,
    NamedArms,
    Policy,
    SWLinUCB,
)
from onward.bandits.tuning import tuning_in
from tests.bandits.one_scale import make
from tests.bandits.test_policies import ESTIMATORS, MAKES

NAMES = ["a", "b", "c", "d"]


def rows_of(X: Any, names: list[str]) -> list[dict[str, float]]:
    return [{name: float(value) for name, value in zip(names, x, strict=True) if value} for x in X]


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_name_that_comes_later_was_there_at_zero(name: str, estimator: str) -> None:
    """Rows of two features, then of four; the policy that knows all four from the start has the same indices."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    X[:15, 2:] = X[15:25, 3:] = 0.0
    late, known = Named(make(name, estimator=estimator)), make(name, estimator=estimator)
    for x, reward in zip(X, y, strict=True):
        late.learn(rows_of([x], NAMES)[0], float(reward))
        known.learn(x, float(reward))
    assert late.names == tuple(NAMES)
    actions = rng.standard_normal((6, 4))
    if name not in ("LinTS", "Random"):
        assert_allclose(late.index(rows_of(actions, NAMES)), known.index(actions), rtol=1e-9)
    assert_allclose(late.estimate(rows_of(actions, NAMES)), known.estimate(actions), rtol=1e-9)
    assert late.n_learned == known.n_learned == 40
    for _ in range(10):  # and it goes on alike: a window takes old rows out
        late.learn(rows_of([actions[0]], NAMES)[0], 1.0)
        known.learn(actions[0], 1.0)
    assert_allclose(late.estimate(rows_of(actions, NAMES)), known.estimate(actions), rtol=1e-9)


def test_categories_contexts_and_products_are_the_matrix_made_by_hand() -> None:
    rng = np.random.default_rng(0)
    named, plain = Named(OFUL(0.5, scale=0.3, seed=0), intercept=True, interactions=True), OFUL(0.5, scale=0.3, seed=0)
    levels = ["jazz", "rock", "pop"]
    columns = ["intercept", "price", *(f"genre={level}" for level in levels), "hour"]
    columns += [f"{one}:hour" for one in columns[1:5]]
    for _ in range(30):
        hour, prices, genres = float(rng.random()), rng.random(3), rng.permutation(levels)
        actions = [{"price": price, "genre": str(genre)} for price, genre in zip(prices, genres, strict=True)]
        X = np.zeros((3, len(columns)))
        for x, price, genre in zip(X, prices, genres, strict=True):
            own = np.array([price, *(genre == level for level in levels)], dtype=float)
            x[:] = [1.0, *own, hour, *(hour * own)]
        chosen = named.choose(actions, {"hour": hour})
        assert chosen in np.flatnonzero(np.isclose(plain.index(X), plain.index(X).max(), rtol=1e-9))
        assert_allclose(named.index(actions, {"hour": hour}), plain.index(X), rtol=1e-9)
        reward = float(X[chosen] @ np.arange(len(columns)) + 0.1 * rng.standard_normal())
        named.learn(actions[chosen], reward, {"hour": hour})
        plain.choose(X)
        plain.learn(X[chosen], reward)
    assert set(named.names) == set(columns)
    assert_allclose([named.coef[name] for name in columns], plain.coef, rtol=1e-8)
    pairs = Named(OFUL(0.5), interactions=[("hour", "genre")])
    pairs.choose([{"price": 1.0, "genre": "jazz"}], {"hour": 2.0, "day": 1})
    assert pairs.names == ("price", "genre=jazz", "hour", "day", "hour:genre=jazz")


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame])
def test_the_order_of_columns_does_not_matter(as_frame: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = {
        "price": rng.random(5),
        "genre": ["jazz", "rock", "pop", "rock", "jazz"],
        "new": [True, False] * 2 + [True],
    }
    frame, turned = as_frame(table), as_frame({name: table[name] for name in reversed(table)})
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    policy = Named(LinUCB(2.0, seed=0), intercept=True)
    policy.learn_many(frame, rng.random(5))
    assert_array_equal(policy.index(frame), policy.index(turned))
    assert_array_equal(policy.index(frame), policy.index(rows))
    # of numbers alone, a plain policy takes frames as well: by name from the first one on, files included
    numbers = {name: rng.random(5) for name in "abc"}
    plain = LinUCB(2.0, seed=0)
    plain.learn_many(as_frame(numbers), rng.random(5))
    plain.save(tmp_path / "p.onward")
    backwards = as_frame({name: numbers[name] for name in "cba"})
    for one in (plain, load(tmp_path / "p.onward")):
        assert_array_equal(one.index(as_frame(numbers)), one.index(backwards))
        assert one.choose(as_frame(numbers)) == one.choose(backwards)
        with pytest.raises(ValueError, match=r"columns \['a', 'b', 'z'\], but this policy knows \['a', 'b', 'c'\]"):
            one.choose(as_frame({"a": [1.0], "b": [1.0], "z": [1.0]}))
    before = plain.index(as_frame(numbers))
    assert not np.allclose(plain.index(np.column_stack([numbers[name] for name in "cba"])), before)  # it could fail


def test_categorical_columns_are_categories_even_of_numbers() -> None:
    policy = Named(LinUCB(seed=0))
    policy.learn_many(pd.DataFrame({"zip": pd.Categorical([3000, 4000])}), [1.0, 0.0])
    assert policy.names == ("zip=3000", "zip=4000")


def test_lam_and_prior_mean_by_name() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    named = Named(OFUL(2.0, sigma=1.0, seed=0), lam={"b": 0.25, None: 2.0}, prior_mean={"c": 1.5})
    plain = OFUL([2.0, 0.25, 2.0], prior_mean=[0.0, 0.0, 1.5], sigma=1.0, seed=0)
    for i, (x, reward) in enumerate(zip(X, y, strict=True)):
        x[1:] *= i > 5
        named.learn(rows_of([x], NAMES[:3])[0], float(reward))
        plain.learn(x, float(reward))
    assert_allclose(named.index(rows_of(X, NAMES[:3])), plain.index(X), rtol=1e-9)


def test_a_weight_counts_as_so_many_rewards() -> None:
    weighted, often = Named(LinUCB(2.0, sigma=1.0, lam=0.1, seed=0)), Named(LinUCB(2.0, sigma=1.0, lam=0.1, seed=0))
    rng = np.random.default_rng(0)
    rows, rewards, weights = rows_of(rng.random((8, 3)), NAMES[:3]), rng.random(8), rng.integers(1, 4, 8)
    weighted.learn_many(rows, rewards, weights=weights)
    for row, reward, weight in zip(rows, rewards, weights, strict=True):
        for _ in range(weight):
            often.learn(row, float(reward))
    assert_allclose(weighted.index(rows), often.index(rows), rtol=1e-9)
    weighted.learn(rows[0], 1.0, weight=2.0)
    for _ in range(2):
        often.learn(rows[0], 1.0)
    assert_allclose(weighted.index(rows), often.index(rows), rtol=1e-9)


@pytest.mark.parametrize(
    "make", [lambda: LinUCB(sigma=1.0, seed=0), lambda: SWLinUCB(50, sigma=1.0, width=2.0, seed=0)]
)
def test_weights_of_plain_policies_and_of_arms(make: Callable[[], Policy]) -> None:
    rng = np.random.default_rng(0)
    X, y, weights = rng.standard_normal((12, 3)), rng.standard_normal(12), rng.integers(1, 4, 12).astype(float)
    X_often, y_often = np.repeat(X, weights.astype(int), axis=0), np.repeat(y, weights.astype(int))
    often = make()
    often.learn_many(X_often, y_often)
    at_once, one_by_one = make(), make()
    at_once.learn_many(X, y, weights)
    arms, arms_often = Disjoint(make(), ["a", "b"]), Disjoint(make(), ["a", "b"])
    arms.learn_many(["a"] * 12, X, y, weights)
    arms_often.learn_many(["a"] * len(X_often), X_often, y_often)
    for x, reward, weight in zip(X, y, weights, strict=True):
        one_by_one.learn(x, float(reward), float(weight))
    for policy in (at_once, one_by_one):
        assert_allclose(policy.index(X), often.index(X), rtol=1e-9)
    arms.learn("b", X[0], 1.0, weight=2.0)
    arms_often.learn("b", X[0], 1.0)
    assert not np.allclose(arms.index(X[0]), arms_often.index(X[0]))
    arms_often.learn("b", X[0], 1.0)
    assert_allclose(arms.index(X[0]), arms_often.index(X[0]), rtol=1e-9)
    for wrong in ([1.0], [-1.0] * 12, ["x"] * 12):
        with pytest.raises(ValueError, match=r"weights must hold numbers|weights must be"):
            at_once.learn_many(X, y, wrong)
    with pytest.raises(ValueError, match="weight must be a number > 0, got 0"):
        at_once.learn(X[0], 1.0, 0)


def test_a_scale_that_is_tuned_and_lam_outlive_new_names() -> None:
    policy, rng = Named(LinUCB(seed=0)), np.random.default_rng(0)
    for _ in range(30):
        rows = rows_of(rng.standard_normal((4, 3)), NAMES[:3])
        i = policy.choose(rows)
        policy.learn(rows[i], rows[i]["a"] + 0.1 * float(rng.standard_normal()))
    gains, lam = tuning_in(policy._policy._buffer).gains.copy(), policy.information().lam
    assert gains.any()
    policy.choose([{"d": 100.0}])
    assert_array_equal(tuning_in(policy._policy._buffer).gains, gains)
    assert_array_equal(policy.information().lam, [*lam, lam[0]])  # of the actions that came first


@pytest.mark.parametrize("arms", [False, True])
def test_a_feature_that_comes_later_is_not_hidden_by_a_long_one(arms: bool) -> None:
    """Its λ is that of one that was 0 in the first rows: of a price and a level, the level's."""
    first = [{"price": 3000.0, "genre": "jazz"}, {"price": 2000.0, "genre": "pop"}, {"price": 2500.0, "genre": "pop"}]
    named: Any = NamedArms(Disjoint(LinUCB(seed=0), ["x"])) if arms else Named(LinUCB(seed=0))
    known: Any = NamedArms(Disjoint(LinUCB(seed=0), ["x"])) if arms else Named(LinUCB(seed=0))
    for policy, zeros in ((named, {}), (known, {"new": 0.0})):
        if arms:
            policy.choose(first[0] | zeros)
            policy.learn("x", {"genre": "rock", "new": 2.0}, 1.0)
        else:
            policy.choose([row | zeros for row in first])
            policy.learn({"genre": "rock", "new": 2.0}, 1.0)
    if not arms:
        assert named.information().lam[0] > 1e5
        assert (named.information().lam[1:] == 3.0).all()
    mine, theirs = (policy.coef("x") if arms else policy.coef for policy in (named, known))
    assert_allclose([mine[name] for name in theirs], list(theirs.values()), rtol=1e-12)


def test_files_and_decisions_outlive_new_names(tmp_path: Path) -> None:
    policy = Named(LinUCB(seed=0), lam={None: 0.5, "a": 2.0}, prior_mean={"b": 1.0}, interactions=[("a", "b")])
    policy.decide([{"a": 1.0}, {"a": 2.0}], "early")
    policy.learn({"a": 1.0, "b": 2.0, "city": "Bern"}, 1.0)
    policy.save(tmp_path / "named.onward")
    other = load(tmp_path / "named.onward")
    assert isinstance(other, Named)
    assert other.describe() == policy.describe()
    assert tuple(other.pending) == ("early",)
    for one in (policy, other):
        one.reward("early", 2.0)
        one.learn({"a": 1.0, "city": "Chur"}, 0.5)
    actions = [{"a": 1.0, "b": 1.0, "city": "Chur"}, {"c": 1.0}]
    assert other.names == policy.names == ("a", "b", "city=Bern", "a:b", "city=Chur")
    assert_array_equal(other.index(actions), policy.index(actions))
    assert other.choose(actions) == policy.choose(actions)
    Named(LinUCB(seed=0)).save(tmp_path / "empty.onward")
    assert load(tmp_path / "empty.onward").dimension is None


@pytest.mark.parametrize("name", ["OFUL", "SWLinUCB", "DLinUCB"])
def test_arms_with_named_contexts(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    X[:20, 2] = 0.0
    more: dict[str, Any] = {"lam": {"b": 2.0}, "prior_mean": {"c": 1.0}}
    named = NamedArms(Disjoint(make(name), ["x", "y"]), **more)
    settings = {"lam": [0.5, 2.0, 0.5], "prior_mean": [0.0, 0.0, 1.0], "scale": 0.3, "sigma": 0.7, "seed": 1}
    inner = {"OFUL": OFUL, "SWLinUCB": SWLinUCB, "DLinUCB": DLinUCB}[name]
    first = {"SWLinUCB": (12,), "DLinUCB": (0.9,)}.get(name, ())
    plain = Disjoint(inner(*first, **settings), ["x", "y"])
    for t, (x, reward) in enumerate(zip(X, y, strict=True)):
        row, arm = rows_of([x], NAMES[:3])[0], "xy"[t % 2]
        named.learn(arm, row, float(reward))
        plain.learn(arm, x, float(reward))
    rows = rows_of(X[-5:], NAMES[:3])
    for row, x in zip(rows, X[-5:], strict=True):
        assert_allclose(named.index(row), plain.index(x), rtol=1e-9)
        assert named.choose(row) == plain.choose(x)
    assert_allclose(list(named.coef("x").values()), plain.coef("x"), rtol=1e-9)
    early = named.decide(rows[0], "early").action
    assert named.index({"new": 1.0, **rows[0]}).shape == (2,)
    assert list(named.names) == ["a", "b", "c"]
    named.learn("x", {"city": "Bern"}, 1.0, weight=2.0)
    named.save(tmp_path / "arms.onward")
    other = load(tmp_path / "arms.onward")
    assert isinstance(other, NamedArms)
    for one in (named, other):
        one.reward("early", 3.0)
        one.learn_many(["x", "y"], pd.DataFrame({"a": [1.0, 2.0], "city": ["Chur", "Bern"]}), [1.0, 2.0])
        one.add_arm("z")
    assert other.names == named.names
    assert list(named.names) == ["a", "b", "c", "city=Bern", "city=Chur"]
    assert_array_equal(other.index(rows[0]), named.index(rows[0]))
    assert other.n_learned == named.n_learned
    assert named.n_learned[early] >= 31
    named.decide(rows[0], "gone", available=[True, False, False])
    named.remove_arm("x")
    assert not named.pending
    before = named.names, named._arms._arms.parts()[0].tobytes() if named._arms._arms else b""
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: named.choose({"a": "text"}), "'a' was a number before"),
        (lambda: named.learn("x", {"n": 1.0}, 1.0), "no arm 'x'"),
        (lambda: named.learn("y", {"n": 1.0}, np.nan), "reward must be a finite number"),
        (lambda: named.choose(np.ones(3)), "context must have names"),  # type: ignore[arg-type]
    ]
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()
        assert (named.names, named._arms._arms.parts()[0].tobytes() if named._arms._arms else b"") == before


def test_reading_changes_nothing_and_bad_input_is_one_clear_error() -> None:
    policy = Named(LinUCB(seed=0), intercept=True)
    policy.learn({"a": 1.0, "city": "Bern"}, 1.0)

    def snapshot() -> tuple[Any, ...]:
        return policy.names, policy._policy._buffer.tobytes(), tuple(policy.pending)

    before = snapshot()
    assert policy.index([{"a": 1.0, "unknown": 3.0}]).shape == (1,)
    assert snapshot() == before
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: policy.choose([{"a": np.nan}]), "'a' must be a finite number or text, got nan"),
        (lambda: policy.choose([{"a": None}]), "'a' must be a finite number or text, got None"),
        (lambda: policy.choose([{"a": "text"}]), "'a' was a number before, got 'text'"),
        (lambda: policy.learn({"city": 3.0, "new": 1.0}, 1.0), "'city' was a category before, got 3.0"),
        (lambda: policy.choose({"a": 1.0}), "a list of dicts or a data frame"),
        (lambda: policy.choose(np.ones((2, 3))), "expected dicts or a data frame, got ndarray"),
        (lambda: policy.choose([]), "no row in actions"),
        (lambda: policy.choose([{1: 1.0}]), "a feature's name must be text, got 1"),
        (lambda: policy.choose([{"intercept": 1.0}]), "'intercept' is the name of the constant"),
        (lambda: policy.choose([{"a": 1.0}], {"a": 2.0}), "'a' is in the action and in its context"),
        (lambda: policy.choose([{"new": 1.0}], available=[False]), "no action is available"),
        (lambda: policy.learn({"new": 1.0}, np.inf), "reward must be a finite number"),
        (lambda: policy.learn({"new": 1.0}, 1.0, weight=0.0), "weight must be a number > 0"),
        (lambda: policy.learn_many([{"new": 1.0}], [1.0], [{"z": 1}] * 2), "contexts must have 1 rows"),
    ]
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()
        assert snapshot() == before
    with pytest.raises(ValueError, match="pairs of names"):
        Named(LinUCB(), interactions=["ab"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="expected them by name"):
        Named(LinUCB(lam=[1.0, 2.0]))
    plain = LinUCB()
    with pytest.raises(ValueError, match=r"Named\(policy\)"):
        plain.choose([{"a": 1.0}])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Named\(policy\)"):
        plain.learn({"a": 1.0}, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="such as LinUCB"):
        Named(Disjoint(LinUCB(), 2))  # type: ignore[arg-type]
