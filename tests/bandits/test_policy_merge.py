"""Policies that learned apart, merged: as if one had learned all of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from onward.bandits import OFUL, Disjoint, DLinUCB, Greedy, LinTS, LinUCB, Named, Policy, SWLinUCB

D = 4
MAKES: dict[str, Callable[[], Policy]] = {
    "LinUCB": lambda: LinUCB(2.0, lam=0.1, seed=0),
    "OFUL": lambda: OFUL(
        np.arange(1.0, D + 1.0), sigma=0.5, theta_bound=1.0, estimator="forward", prior_mean=np.ones(D), seed=0
    ),
    "LinTS": lambda: LinTS(0.1, sigma=1.0, seed=0),
    "Greedy": lambda: Greedy(0.1, seed=0),
}


def rewards_of(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    return X, X[:, 0] + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("name", MAKES)
def test_merged_policies_know_what_both_learned(name: str) -> None:
    X, y = rewards_of(50)
    one, two, both = (MAKES[name]() for _ in range(3))
    one.learn_many(X[:20], y[:20])
    two.learn_many(X[20:], y[20:])
    both.learn_many(X, y)
    alone = one.index(X[:5])
    one.merge(two)
    assert_allclose(one.index(X[:5]), both.index(X[:5]), rtol=1e-9)
    assert not np.allclose(alone, both.index(X[:5]), rtol=1e-3)  # it could fail
    assert one.n_learned == both.n_learned == 50
    assert one.information().loss[0] == pytest.approx(both.information().loss[0], rel=1e-9)
    for policy in (one, both):
        policy.learn(X[0], 1.0)
        policy.choose(X[:5])
    assert_allclose(one.index(X[:5]), both.index(X[:5]), rtol=1e-9)
    fresh = MAKES[name]()
    fresh.merge(MAKES[name]())
    assert fresh.dimension is None
    fresh.merge(both)
    assert_allclose(fresh.estimate(X[:5]), both.estimate(X[:5]))
    before = both.estimate(X[:5])
    fresh.learn(X[0], 9.0)
    assert_allclose(both.estimate(X[:5]), before)  # nothing is shared
    both.merge(MAKES[name]())
    assert_allclose(both.estimate(X[:5]), before)


def test_where_no_lam_was_told_the_first_one_s_counts() -> None:
    X, y = rewards_of(50)
    one, two = LinUCB(2.0, seed=0), LinUCB(2.0, seed=0)
    one.learn_many(X[:20], y[:20])
    two.learn_many(X[20:], y[20:])
    lam = one.information().lam
    assert not np.allclose(lam, two.information().lam)
    one.merge(two)
    both = LinUCB(2.0, lam=float(lam[0]), seed=0)
    both.learn_many(X, y)
    assert_allclose(one.index(X[:5]), both.index(X[:5]), rtol=1e-9)


def test_columns_are_merged_by_name() -> None:
    X, y = rewards_of(40)
    frame = pd.DataFrame(X, columns=list("abcd"))
    one, two, both = (LinUCB(2.0, seed=0) for _ in range(3))
    one.learn_many(frame[:20], y[:20])
    two.learn_many(frame[list("dbca")][20:], y[20:])
    both.learn_many(frame, y)  # whose first row is that of `one`
    one.merge(two)
    assert_allclose(one.index(frame), both.index(frame), rtol=1e-9)


def test_arms_are_merged_one_by_one() -> None:
    X, y = rewards_of(90)
    arms = np.array(["a", "b", "c"])[np.random.default_rng(1).integers(3, size=90)]
    one, two, both = (Disjoint(LinUCB(2.0, lam=0.1, seed=0), list(names)) for names in ("ab", "cb", "abc"))
    first = (arms == "a") | ((arms == "b") & (y > 0))
    for policy, mine in ((one, first), (two, ~first)):
        policy.learn_many(arms[mine].tolist(), X[mine], y[mine])
    both.learn_many(arms.tolist(), X, y)
    one.merge(two)
    assert one.arms == ("a", "b", "c")
    assert one.n_learned == both.n_learned
    for x in X[:5]:
        assert_allclose(one.index(x), both.index(x), rtol=1e-9)
        assert one.choose(x) == both.choose(x)
    empty = Disjoint(LinUCB(2.0, lam=0.1, seed=0), ["z"])
    empty.merge(one)
    assert empty.arms == ("z", "a", "b", "c")
    one.add_arm("z")  # how many arms there are counts in the estimate of σ
    assert_allclose(empty.index(X[0])[1:], one.index(X[0])[:3])


def test_names_are_merged_by_name() -> None:
    X, y = rewards_of(40)
    rows = [{"a": a, "b": b} if i < 20 else {"c": c, "b": b} for i, (a, b, c, _) in enumerate(X)]
    told: dict[str, Any] = {"intercept": True, "lam": {"b": 2.0}, "prior_mean": {"c": 1.0}}
    one, two, both = (Named(LinUCB(2.0, lam=0.1, seed=0), **told) for _ in range(3))
    one.learn_many(rows[:20], y[:20])
    two.learn_many(rows[20:], y[20:])
    both.learn_many(rows, y)
    one.merge(two)
    assert set(one.names) == set(both.names) == {"intercept", "a", "b", "c"}
    assert_allclose(one.index(rows), both.index(rows), rtol=1e-9)
    fresh = Named(LinUCB(2.0, lam=0.1, seed=0), intercept=True, lam={"b": 2.0}, prior_mean={"c": 1.0})
    fresh.merge(both)
    assert_allclose(fresh.index(rows), both.index(rows), rtol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_one_that_knows_nothing_begins_with_the_lam_of_the_other(intercept: bool) -> None:
    """Of rows that it has not seen it does not know the units."""
    fresh, both = (Named(LinUCB(seed=0), intercept=intercept) for _ in range(2))
    rows = [{"price": 3000.0, "old": 1.0}, {"price": 2000.0, "old": 2.0}, {"price": 2500.0, "old": 0.5}]
    both.choose(rows)
    both.learn_many(rows, [1.0, 0.5, 0.2])
    fresh.merge(both)
    assert_allclose(list(fresh.coef.values()), list(both.coef.values()), rtol=1e-12)
    fresh.learn({"new": 1.0}, 1.0)
    both.learn({"new": 1.0}, 1.0)
    assert_allclose(list(fresh.coef.values()), list(both.coef.values()), rtol=1e-12)


@pytest.mark.parametrize("make", [LinUCB, lambda: Disjoint(LinUCB(), 2), lambda: Named(LinUCB())])
def test_a_policy_is_not_merged_into_itself(make: Callable[[], Any]) -> None:
    """All it has learned would count twice, in silence."""
    policy = make()
    with pytest.raises(ValueError, match="cannot merge a policy into itself"):
        policy.merge(policy)


def test_what_cannot_be_merged_is_refused_and_changes_nothing() -> None:
    X, y = rewards_of(20)
    policy = LinUCB(seed=0)
    policy.learn_many(X, y)
    before = policy._buffer.tobytes()
    smaller = LinUCB()
    smaller.learn_many(X[:, :2], y)
    wrong: list[tuple[Any, str]] = [
        (LinUCB(1.0), "cannot merge: expected policies of one design, got rule"),
        (LinUCB(lam=3.0), "got lam None here and 3.0 there"),
        (OFUL(), "expected another LinUCB"),
        (smaller, "so many features: 4, the other has 2"),
        (Disjoint(LinUCB(), 2), "expected another LinUCB"),
    ]
    for other, message in wrong:
        with pytest.raises(ValueError, match=message):
            policy.merge(other)
        assert policy._buffer.tobytes() == before
    for make in (DLinUCB, SWLinUCB):
        with pytest.raises(ValueError, match="count all rewards alike, got one with"):
            make().merge(make())
    with pytest.raises(ValueError, match="expected another Disjoint"):
        Disjoint(LinUCB(), 2).merge(policy)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="this policy has intercept True, the other has False"):
        Named(LinUCB(), intercept=True).merge(Named(LinUCB()))
