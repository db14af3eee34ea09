"""Estimators beside IPS, SNIPS and DR, anytime intervals, paired differences, policies of arms."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from onward import RidgeRegressor
from onward.bandits import Disjoint, EpsilonGreedy, LoggedData, mean_intervals
from onward.bandits.log_walk import Walk
from onward.bandits.replay import compare_policies, dm, dr, evaluate, ips, snips
from onward.bandits.value_estimators import optimistically_shrunken, switched, terms
from tests.bandits.log_worlds import UNIFORM, Fixed, Softmax, log

pytestmark = pytest.mark.filterwarnings("ignore::onward.bandits.log_records.LogWarning")

SOFT, FIXED = Softmax(np.array([1.0, -1.0])), Fixed(np.array([1.0, 0.0]))


def test_shrunken_weights_by_hand() -> None:
    weights = np.array([0.0, 1.0, 3.0, 10.0])
    assert_allclose(switched(weights, 3.0), [0.0, 1.0, 3.0, 0.0])
    assert_allclose(optimistically_shrunken(weights, 4.0), [0.0, 4 / 5, 12 / 13, 40 / 104])
    assert_allclose(optimistically_shrunken(weights, math.inf), weights)


@pytest.mark.parametrize("method", ["switch", "dros"])
def test_shrinkage_goes_from_the_model_to_dr(method: Any) -> None:
    events = log(np.random.default_rng(30), 200)
    none, whole = (evaluate(SOFT, events, method=method, shrinkage=each) for each in (1e-12, 1e12))
    right = dr(SOFT, events)
    assert_allclose(whole.value, right.value, rtol=1e-6)
    model = RidgeRegressor(lam=1.0)  # what dr would say if all weights were 0
    expected = []
    for event in range(len(events)):
        actions, taken = events.actions[event], int(events.taken[event])
        expected.append(SOFT.probabilities(actions) @ [model.predict_one(x) for x in actions])
        model.learn_one(actions[taken], float(events.reward[event]))
    alone = evaluate(SOFT, events, method=method, shrinkage=1e-12, model=RidgeRegressor(lam=1.0))
    assert_allclose(alone.value, np.mean(expected), rtol=1e-6)
    assert none.shrinkage == 1e-12
    with pytest.raises(ValueError, match="shrinkage is for methods switch, dros"):
        ips(SOFT, events, shrinkage=1.0)


def test_shrinkage_pays_where_weights_are_heavy_and_its_intervals_hold() -> None:
    errors: dict[Any, list[float]] = {"dr": [], "dros": [], "switch": []}
    misses = dict.fromkeys(errors, 0)
    for seed in range(300):
        rng = np.random.default_rng([31, seed])
        n = 200
        propensity = np.where(rng.random(n) < 0.5, 0.5, 0.01)
        hit = rng.random(n) < propensity
        weights = np.where(hit, 1 / propensity, 0.0)  # the policy takes one action always
        reward = 0.5 + 0.3 * rng.standard_normal(n)
        walk = Walk(np.ones(n), np.full(n, 0.52), reward - 0.52, None)  # a model that is a little wrong
        for method in errors:
            made = terms(method, walk, weights, reward)
            errors[method].append(float(made.values.mean()) - 0.5)
            misses[method] += abs(errors[method][-1]) > 1.96 * made.standard_error
    spread = {method: math.sqrt(np.mean(np.square(each))) for method, each in errors.items()}
    assert spread["dros"] < 0.8 * spread["dr"]
    assert spread["switch"] < 0.95 * spread["dr"]
    assert max(misses["dros"], misses["switch"]) <= max(30, misses["dr"])


def test_the_direct_method_predicts_from_other_folds() -> None:
    events = log(np.random.default_rng(32), 61)
    models = [RidgeRegressor(lam=2.0) for _ in range(3)]
    for event in range(61):
        row = events.actions[event][events.taken[event]]
        for fold, model in enumerate(models):
            if fold != event % 3:
                model.learn_one(row, float(events.reward[event]))
    expected = [
        SOFT.probabilities(events.actions[i]) @ [models[i % 3].predict_one(x) for x in events.actions[i]]
        for i in range(61)
    ]
    value = dm(SOFT, events, model=RidgeRegressor(lam=2.0), folds=3)
    assert_allclose(value.value, np.mean(expected), rtol=1e-12)
    with pytest.raises(ValueError, match="folds must be a whole number >= 2, got 1"):
        dm(SOFT, events, folds=1)
    with pytest.raises(ValueError, match="folds is for methods dm, dr, switch, dros"):
        snips(SOFT, events, folds=2)


# Intervals


def running_misses(kind: str) -> tuple[int, int]:
    """In how many of 120 logs the interval fails at any of many looks; and one of 0.4 times its width."""
    misses = [0, 0]
    for seed in range(120):
        rng = np.random.default_rng([33, seed])
        means = np.where(np.arange(400) < 200, 0.3, 0.7)  # a policy that learns half way
        weights = np.where(rng.random(400) < 0.1, 10.0, 0.0)
        reward = (rng.random(400) < means).astype(np.float64)
        failed = [False, False]
        for n in range(20, 401, 40):
            values, others = (weights * reward)[:n], (weights * (1 - reward))[:n]
            if kind == "anytime":
                ends = mean_intervals.anytime(values, others, 0.0, 0.0, 1.0, 0.05)
            else:
                error = float(values.std(ddof=1)) / math.sqrt(n)
                ends = mean_intervals.normal(float(values.mean()), error, 0.05, values)
            off = abs(sum(ends) / 2 - float(means[:n].mean())) / max(ends[1] - ends[0], 1e-9)
            failed = [failed[0] or off > 0.5, failed[1] or off > 0.2]
        misses = [misses[0] + failed[0], misses[1] + failed[1]]
    return misses[0], misses[1]


def test_anytime_intervals_may_be_looked_at_again_and_again() -> None:
    right, narrow = running_misses("anytime")
    assert right <= 6 < narrow
    assert running_misses("normal")[0] > 12


@pytest.mark.parametrize("method", ["ips", "dr"])
def test_anytime_intervals_of_a_value(method: Any) -> None:
    settings: dict[str, Any] = {"method": method, "reward_range": (-3.0, 5.0)}
    for seed in range(8):
        events = log(np.random.default_rng([34, seed]), 300)
        value = evaluate(SOFT, events, interval="anytime", **settings)
        usual = evaluate(SOFT, events, **settings)
        assert value.lower <= SOFT.value() <= value.upper
        assert -3.0 <= value.lower < usual.lower < usual.upper < value.upper <= 5.0
    half, both = (evaluate(SOFT, events, interval="anytime", delta=d, **settings) for d in (0.025, 0.05))
    plain = ips(SOFT, events, interval="anytime", delta=0.025, reward_range=(-3.0, 5.0))
    assert both.upper - both.lower <= plain.upper - plain.lower
    assert half.lower < both.lower
    with pytest.raises(ValueError, match=r"interval='anytime' needs reward_range=\(low, high\), got None"):
        ips(SOFT, events, interval="anytime")


def test_few_large_values_have_few_degrees_of_freedom() -> None:
    rng = np.random.default_rng(35)
    assert mean_intervals.degrees_of_freedom(rng.standard_normal(100_000)) == pytest.approx(100_000, rel=0.03)
    few = np.zeros(1000)
    few[:3] = 50.0
    assert 3 < mean_intervals.degrees_of_freedom(few) < 7
    assert mean_intervals.degrees_of_freedom(np.ones(5)) == 4


def test_intervals_hold_in_few_hundred_logs() -> None:
    """A small version of benchmarks/log_intervals.py."""
    misses = {"ips": [0, 0], "snips": [0, 0], "dr": [0, 0]}
    for seed in range(120):
        events = log(np.random.default_rng([36, seed]), 200)
        for method, count in misses.items():
            value = evaluate(SOFT, events, method=method)  # type: ignore[arg-type]
            for place, scale in enumerate((1.0, 0.6)):
                count[place] += abs(value.value - SOFT.value()) > scale * (value.upper - value.lower) / 2
    for right, narrow in misses.values():  # 6 are expected, give or take three times 2.4
        assert 1 <= right <= 13 < narrow


# Two policies on one log


def test_differences_are_paired() -> None:
    events = log(np.random.default_rng(37), 800)
    near = Softmax(np.array([1.0, -0.9]))
    gap = compare_policies(events, SOFT, near)
    one, other = dr(SOFT, events), dr(near, events)
    assert_allclose(gap.mean, one.value - other.value)
    assert one.terms is not None
    assert other.terms is not None
    assert_allclose(gap.standard_error, np.std(one.terms - other.terms, ddof=1) / math.sqrt(800))
    assert gap.standard_error < 0.2 * one.standard_error
    assert gap.lower < gap.mean < gap.upper
    assert "an event more" in str(gap)
    assert one.difference(one).p_value == 1.0
    ratio = snips(SOFT, events).difference(snips(near, events))
    assert_allclose(ratio.mean, snips(SOFT, events).value - snips(near, events).value)


def test_differences_hold_and_find_what_is_there() -> None:
    misses, found, worse = 0, 0, Softmax(np.array([0.0, 0.5]))
    for seed in range(50):
        events = log(np.random.default_rng([38, seed]), 400)
        gap = compare_policies(events, SOFT, worse, method="snips")
        misses += not gap.lower <= SOFT.value() - worse.value() <= gap.upper
        found += gap.p_value < 0.05
    assert misses <= 8
    assert found >= 30


def test_what_cannot_be_paired() -> None:
    events, others = (log(np.random.default_rng(seed), 100, UNIFORM) for seed in (39, 40))
    with pytest.raises(ValueError, match="got 'replay', which judges policies on other events"):
        compare_policies(events, SOFT, FIXED, method="replay")
    with pytest.raises(ValueError, match="cannot be paired"):
        evaluate(SOFT, events).difference(evaluate(FIXED, events))
    with pytest.raises(ValueError, match="'ips' and 'ips' of two logs"):
        ips(SOFT, events).difference(ips(SOFT, others))
    with pytest.raises(ValueError, match="'ips' and 'dr' of one log"):
        ips(SOFT, events).difference(dr(SOFT, events))


# Arms that share a context


def context_log(n: int = 150) -> LoggedData:
    rng = np.random.default_rng(41)
    contexts, taken = rng.standard_normal((n, 2)), rng.integers(3, size=n)
    means = contexts @ np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 0.5]])
    reward = means[np.arange(n), taken] + 0.1 * rng.standard_normal(n)
    return LoggedData.disjoint(contexts, 3, taken, np.full(n, 1 / 3), reward)


@pytest.mark.parametrize("method", ["replay", "ips", "snips", "dr"])
def test_disjoint_policies_are_judged_as_those_on_blocks(method: Any) -> None:
    events = context_log()
    settings: dict[str, Any] = {"method": method, "learn": "all", "seed": 0}
    # Ties are broken at random, differently: a little prior knowledge leaves none.
    apart = Disjoint(EpsilonGreedy(0.0, prior_mean=[0.1, 0.2], seed=0), ["x", "y", "z"])
    blocks = EpsilonGreedy(0.0, prior_mean=[0.1, 0.2] * 3, seed=0)
    for arm, policy in enumerate(["x", "y", "z"]):
        row = np.array([0.3, 0.1 * arm])
        apart.learn(policy, row, 0.1 * arm)
        wide = np.zeros(6)
        wide[2 * arm : 2 * arm + 2] = row
        blocks.learn(wide, 0.1 * arm)
    one, other = evaluate(apart, events, **settings), evaluate(blocks, events, **settings)
    assert_allclose([one.value, one.standard_error], [other.value, other.standard_error])
    assert one.matched == other.matched > 20
    assert apart.n_learned["x"] == 1


def test_disjoint_policies_need_contexts_and_as_many_arms() -> None:
    policy = Disjoint(EpsilonGreedy(0.1, seed=0), 2)
    with pytest.raises(ValueError, match="needs a log of contexts"):
        ips(policy, log(np.random.default_rng(42), 50))
    with pytest.raises(ValueError, match="the policy has 2 arms, but the log has 3"):
        ips(policy, context_log())
