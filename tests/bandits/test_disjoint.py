"""Arms that share a context: the same as a policy for each, chosen from by its index."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onward import ForwardRegressor, load
from onward.bandits import OFUL, Disjoint, LinTS, Policy
from tests.bandits.one_scale import make
from tests.bandits.test_policies import ESTIMATORS, MAKES

by_name = pytest.mark.parametrize("name", MAKES)


def snapshot(policy: Disjoint) -> tuple[Any, ...]:
    return (
        policy.arms,
        [] if policy._arms is None else [part.tobytes() for part in policy._arms.parts()],
        str(policy._rng.bit_generator.state),
        tuple(policy.pending),
        policy.dimension,
    )


def played(policy: Disjoint, n: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    chosen = []
    for context in rng.standard_normal((n, 3)):
        chosen.append(policy.choose(context))
        policy.learn(chosen[-1], context, float(rng.standard_normal()))
    return chosen


@by_name
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_each_arm_is_a_policy_of_its_own(name: str, estimator: str) -> None:
    arms: dict[str, Policy] = {arm: make(name, estimator=estimator) for arm in "abc"}
    disjoint = Disjoint(make(name, estimator=estimator), ["a", "b", "c"])
    rng = np.random.default_rng(0)
    for t, context in enumerate(rng.standard_normal((90, 3))):
        arm = "abc"[t % 3]
        if name != "LinTS":
            index = [policy.index(context[None])[0] for policy in arms.values()]
            assert_array_equal(disjoint.index(context), index)
            estimate = [policy.estimate(context[None])[0] for policy in arms.values()]
            assert_array_equal(disjoint.estimate(context), estimate)
        index = disjoint.index(context).tolist()
        chosen = disjoint.choose(context)
        if name not in ("EpsilonGreedy", "Random"):
            assert index["abc".index(str(chosen))] == max(index)
        reward = float(rng.standard_normal())
        for policy in arms.values():  # a context is offered to all arms, and sampled for by all
            policy.choose(context[None])
        disjoint.learn(arm, context, reward)
        arms[arm].learn(context, reward)
    assert disjoint.n_learned == {"a": 30, "b": 30, "c": 30}


@by_name
def test_a_saved_one_goes_on_to_the_last_bit(name: str, tmp_path: Path) -> None:
    policy = Disjoint(make(name), 4)
    played(policy, 50)
    policy.remove_arm(1)
    policy.add_arm("new")
    policy.decide(np.ones(3), key="later")
    policy.save(tmp_path / "d.onward")
    other = load(tmp_path / "d.onward")
    assert isinstance(other, Disjoint)
    assert snapshot(other) == snapshot(policy)
    for one in (policy, other):
        one.reward("later", 2.0)
    assert played(policy, 60, seed=1) == played(other, 60, seed=1)
    assert snapshot(other) == snapshot(policy)


@by_name
def test_arms_come_and_go(name: str) -> None:
    policy = Disjoint(make(name), 2)
    played(policy, 40)
    before = policy.index(np.ones(3))
    assert policy.add_arm() == 2
    assert list(policy.arms) == [0, 1, 2]
    fresh = make(name)
    if name != "LinTS":
        assert_array_equal(policy.index(np.ones(3))[:2], before)
        assert policy.index(np.ones(3))[2] == fresh.index(np.ones((1, 3)))[0]
    policy.remove_arm(0)
    assert list(policy.arms) == [1, 2]
    assert set(played(policy, 40, seed=3)) <= {1, 2}
    assert policy.n_learned[2] >= 1 or name in ("Greedy", "EpsilonGreedy", "LinTS")
    assert policy.add_arm() == 3  # never a number that an arm had before


def test_waiting_decisions_follow_their_arm() -> None:
    policy = Disjoint(OFUL(seed=0), ["x", "y"])
    context = np.array([1.0, 2.0])
    x = policy.decide(context, "k1", available=[True, False]).action
    y = policy.decide(context, "k2", available=[False, True]).action
    assert (x, y) == ("x", "y")
    policy.add_arm("z")
    policy.remove_arm("x")
    assert tuple(policy.pending) == ("k2",)
    policy.reward("k2", 1.0)
    assert policy.n_learned == {"y": 1, "z": 0}
    with pytest.raises(ValueError, match="no decision waits under key 'k1'"):
        policy.reward("k1", 1.0)


def test_bad_input_is_one_clear_error_and_changes_nothing() -> None:
    policy = Disjoint(OFUL(seed=0), ["x", "y"])
    policy.decide(np.ones(3), "k")
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: policy.choose(np.ones(2)), "context has 2 features, but this policy knows 3"),
        (lambda: policy.choose([1.0, np.nan, 0.0]), "finite"),
        (lambda: policy.choose(np.ones((1, 3))), "one row"),
        (lambda: policy.choose(np.ones(3), available=[0, 0]), "no action is available"),
        (lambda: policy.learn("z", np.ones(3), 1.0), "no arm 'z'; expected one of 'x', 'y'"),
        (lambda: policy.learn("x", np.ones(3), np.inf), "reward must be a finite number"),
        (lambda: policy.reward("other", 1.0), "no decision waits"),
        (lambda: policy.decide(np.ones(3), "k"), "already waits"),
        (lambda: policy.add_arm("x"), "there is an arm 'x' already"),
        (lambda: policy.add_arm(1.5), "an arm's name must be text or a whole number"),
        (lambda: policy.remove_arm("z"), "no arm 'z'"),
        (lambda: policy.restart("z"), "no arm 'z'"),
    ]
    for call, message in wrong:
        before = snapshot(policy)
        with pytest.raises(ValueError, match=message):
            call()
        assert snapshot(policy) == before
    wrong = [
        (lambda: Disjoint(OFUL(), 0), "n_arms must be a whole number >= 1, got 0"),
        (lambda: Disjoint(OFUL(), []), "at least one arm"),
        (lambda: Disjoint(OFUL(), ["a", "a"]), "there is an arm 'a' already"),
        (lambda: Disjoint(OFUL(), "ab"), "n_arms must be a whole number"),
    ]
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()
    used = OFUL()
    used.choose(np.eye(2))
    with pytest.raises(ValueError, match="must not have learned"):
        Disjoint(used, 2)
    alone = Disjoint(OFUL(), 1)
    with pytest.raises(ValueError, match="the only arm"):
        alone.remove_arm(0)


@by_name
def test_a_log_is_learned_as_its_rows_are(name: str) -> None:
    rng = np.random.default_rng(0)
    X, y, arms = rng.standard_normal((60, 3)), rng.standard_normal(60), rng.choice(["a", "b"], 60).tolist()
    one, many = (Disjoint(make(name), n_arms=["a", "b"]) for _ in range(2))
    for arm, x, reward in zip(arms, X, y, strict=True):
        one.learn(arm, x, float(reward))
    many.learn_many(arms, X, y)
    if name != "OracleRestart":
        assert_array_equal(one.index(X[0]), many.index(X[0]))
    before = snapshot(many)
    wrong: list[tuple[Any, Any, Any, str]] = [
        (["a", "z"], X[:2], y[:2], "no arm 'z'"),
        (["a"], X[:2], y[:2], "arms must be 2 names"),
        (["a", "b"], X[:2, :2], y[:2], "contexts have 2 features"),
        (["a", "b"], X[:2], [1.0, np.nan], "rewards must be finite"),
    ]
    for names, contexts, rewards, message in wrong:
        with pytest.raises(ValueError, match=message):
            many.learn_many(names, contexts, rewards)
        assert snapshot(many) == before


def test_arms_start_from_models_of_their_own() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    model = ForwardRegressor(lam=1.0, fit_intercept=False).fit(X, y)
    policy = Disjoint(OFUL(1.0, estimator="forward", seed=0), ["a", "b"])
    policy.start_from("a", model)
    assert np.allclose(policy.estimate(X[0]), [model.predict(X[:1])[0], 0.0])
    assert np.allclose(policy.coef("a"), model.coef_)
    assert policy.information("a").rows == 40
    policy.start_from("b", policy.information("a"))
    assert policy.estimate(X[0])[0] == pytest.approx(policy.estimate(X[0])[1])
    with pytest.raises(ValueError, match="fit_intercept=False"):
        policy.start_from("a", ForwardRegressor().fit(X, y))


def test_chances_of_arms() -> None:
    tied = Disjoint(OFUL(seed=0), 3)
    assert np.allclose(tied.probabilities(np.ones(2)), 1 / 3)
    assert np.allclose(tied.probabilities(np.ones(2), [True, False, True]), [0.5, 0, 0.5])
    sampling = Disjoint(LinTS(seed=0), 2)
    before = snapshot(sampling)
    assert np.abs(sampling.probabilities(np.ones(2)) - 0.5).max() < 0.1
    assert snapshot(sampling) == before
    first, second = sampling.index(np.ones(2))
    assert first != second  # each arm has a sample of its own
    sampling.reseed(5)
    assert sampling.index(np.ones(2))[0] != first


def test_restarting_an_arm_leaves_the_others() -> None:
    policy = Disjoint(OFUL(0.5, sigma=1.0, seed=0), 2)
    played(policy, 30)
    before = policy.index(np.ones(3))
    policy.restart(0)
    after = policy.index(np.ones(3))
    assert after[1] == before[1]
    assert after[0] == OFUL(0.5, sigma=1.0).index(np.ones((1, 3)))[0]
    policy.restart()
    assert policy.index(np.ones(3))[1] == after[0]
