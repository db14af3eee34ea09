"""What an evaluation says against itself: weights, propensities, logs that explored nothing."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from onward.bandits.logs import LoggedData
from onward.bandits.policy_value import Value
from onward.bandits.propensity_checks import checked_propensities
from onward.bandits.replay import LogWarning, dm, evaluate, ips
from onward.bandits.weight_checks import diagnose
from onward.core.types import Matrix, Vector
from tests.bandits.log_worlds import CHANCES, LOGGING, MEANS, SETS, Fixed, K, Softmax, log

SOFT = Softmax(np.array([1.0, -1.0]))


def rewritten(events: LoggedData, propensity: Any, probabilities: Any = None) -> LoggedData:
    sets = [events.actions[i] for i in range(len(events))]
    return LoggedData(sets, events.taken, propensity, events.reward, probabilities)


def greedily_logged(rng: np.random.Generator, n: int, epsilon: float) -> LoggedData:
    """A log of a policy that mostly takes the best."""
    chances = (1 - epsilon) * (MEANS.max(axis=1, keepdims=True) == MEANS) + epsilon / K
    return log(rng, n, chances)


def told(make: Callable[[], Value]) -> tuple[Value, str]:
    """A value, and what was warned of as it was made."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LogWarning)
        value = make()
    assert [str(each.message) for each in caught] == list(value.warnings)
    return value, "\n".join(value.warnings)


def flagged(events: LoggedData) -> bool:
    return any(each.flagged for each in checked_propensities(events))


WRONG: list[Any] = [lambda p: p / 2, lambda p: np.minimum(1.0, 2 * p), lambda p: np.where(p < 0.5, 2 * p, p)]


@pytest.mark.parametrize("make", [log, lambda rng, n: greedily_logged(rng, n, 0.1)])
def test_wrong_propensities_are_flagged_and_right_ones_are_not(make: Any) -> None:
    logs = [make(np.random.default_rng([20, seed]), 1000) for seed in range(20)]
    assert sum(flagged(each) for each in logs) <= 1
    for change in WRONG:
        assert sum(flagged(rewritten(each, change(each.propensity))) for each in logs) >= 18


def test_chances_of_all_actions_make_the_checks_sharper() -> None:
    hotter = LOGGING**1.5 / (LOGGING**1.5).sum(axis=1, keepdims=True)
    counts = {"right": 0, "alone": 0, "all": 0}
    for seed in range(20):
        rng = np.random.default_rng([21, seed])
        which = rng.choice(len(SETS), 1000, p=CHANCES)
        taken = (rng.random(1000)[:, None] > np.cumsum(LOGGING[which], axis=1)).sum(axis=1)
        reward = MEANS[which, taken]
        right, wrong = LOGGING[which], hotter[which]
        rows = np.arange(1000)
        counts["right"] += flagged(LoggedData(SETS[which], taken, right[rows, taken], reward, right))
        counts["alone"] += flagged(LoggedData(SETS[which], taken, wrong[rows, taken], reward))
        counts["all"] += flagged(LoggedData(SETS[which], taken, wrong[rows, taken], reward, wrong))
    assert counts["right"] <= 1
    assert counts["all"] >= 19 > counts["alone"]


def test_the_mean_weight_and_what_is_said_of_it() -> None:
    events = log(np.random.default_rng(22), 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = ips(SOFT, events)
    seen = value.diagnostics
    assert seen is not None
    pi = np.array([SOFT.probabilities(events.actions[i])[events.taken[i]] for i in range(2000)])
    weights = pi / events.propensity
    assert_allclose(seen.mean_weight, weights.mean())
    assert_allclose(seen.mean_weight_error, weights.std(ddof=1) / np.sqrt(2000))
    assert abs(seen.mean_weight - 1) < 4 * seen.mean_weight_error
    assert_allclose(seen.carrying, (weights**2).sum() ** 3 / (weights**3).sum() ** 2)
    assert_allclose(seen.largest_share, weights.max() / weights.sum())
    assert seen.unsupported is None
    assert value.warnings == ()
    value, said = told(lambda: ips(SOFT, rewritten(events, events.propensity / 2)))
    assert "and should be 1: the propensities in the log are too small, so weighed estimates are wrong." in said
    assert "warning: The mean weight is" in str(value)


def test_the_mean_weight_is_rarely_flagged_if_all_is_right() -> None:
    def says(scale: float) -> int:
        count = 0
        for seed in range(40):
            events = log(np.random.default_rng([23, seed]), 400)
            pi = np.array([SOFT.probabilities(events.actions[i])[events.taken[i]] for i in range(400)])
            seen = diagnose(events, scale * pi / events.propensity, None)
            count += any(each.startswith("The mean weight") for each in seen.warnings())
        return count

    assert says(1.0) <= 2
    assert says(0.6) >= 36


def test_few_events_that_carry_all_are_told() -> None:
    n = 500
    taken = np.zeros(n, dtype=int)
    taken[::100] = 1
    events = LoggedData(np.ones((n, 2, 1)), taken, np.where(taken, 0.01, 0.99), np.arange(n) % 2)
    second = Softmax(np.zeros(1))
    assert "Few events decide: it is as if 5.2 of them" in told(lambda: ips(second, events))[1]


def test_actions_without_a_chance_are_told_where_the_log_knows() -> None:
    chances = np.tile([0.5, 0.5, 0.0], (300, 1))
    rng = np.random.default_rng(24)
    taken = rng.integers(2, size=300)
    events = LoggedData(np.ones((300, 3, 1)), taken, np.full(300, 0.5), rng.random(300), chances)
    value, said = told(lambda: ips(Softmax(np.zeros(1)), events))
    assert "33.3% of what the policy does had no chance in the log" in said
    assert value.diagnostics is not None
    assert value.diagnostics.unsupported == pytest.approx(1 / 3)


class Plain:
    """Takes the second of two."""

    def choose(self, actions: Matrix) -> int:
        return 1

    def learn(self, action: Vector, reward: float) -> None: ...


def certain(n: int, tried: int) -> LoggedData:
    """A log of a policy that left something to chance in so many events only."""
    propensity = np.ones(n)
    propensity[:tried] = 0.5
    actions = np.tile(np.array([[1.0, 0.0], [0.0, 1.0]]), (n, 1, 1))
    return LoggedData(actions, np.arange(n) % 2, propensity, np.arange(n) % 2)


@pytest.mark.parametrize("method", ["replay", "ips", "snips", "dm", "dr", "switch", "dros"])
def test_logs_that_left_nothing_to_chance_are_refused(method: Any) -> None:
    for tried in (0, 3):
        with pytest.raises(ValueError, match=r"left nothing to chance: .* have propensity 1.*allow_deterministic"):
            evaluate(Plain(), certain(400, tried), method=method)
    if method != "dm":
        with pytest.raises(ValueError, match="left nothing to chance"):
            evaluate(Plain(), certain(400, 0), method=method, allow_deterministic=True)


def test_the_direct_method_may_be_asked_and_says_what_it_is() -> None:
    value, said = told(lambda: dm(Plain(), certain(400, 0), allow_deterministic=True))
    assert "The direct method believes its reward model" in said
    assert abs(value.value - 1) < 0.05  # the second earned 1 whenever it was taken
    assert (value.lower, value.upper) == (0.0, 1.0)


def test_a_single_action_is_no_choice_and_half_certain_logs_are_warned_of() -> None:
    single = LoggedData(np.ones((50, 1, 1)), np.zeros(50), np.ones(50), np.arange(50) % 2)
    assert ips(Fixed(np.ones(1)), single).value == pytest.approx(0.48, abs=0.03)
    assert "60% of the events had a propensity of 1" in told(lambda: ips(Softmax(np.zeros(2)), certain(200, 80)))[1]


def test_intervals_are_cut_to_the_range_of_rewards() -> None:
    rng = np.random.default_rng(25)
    actions = np.tile(np.eye(2), (30, 1, 1))
    taken, reward = rng.integers(2, size=30), np.ones(30)
    reward[:3] = 0.0
    events = LoggedData(actions, taken, np.full(30, 0.5), reward)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)
        seen: Value = ips(Softmax(np.zeros(2)), events)
        given = ips(Softmax(np.zeros(2)), events, reward_range=(-1.0, 2.0))
    assert (seen.upper, seen.range_from, seen.reward_range) == (1.0, "log", (0.0, 1.0))
    assert (given.range_from, given.reward_range) == ("given", (-1.0, 2.0))
    assert 1.0 < given.upper < 2.0
    assert given.lower == seen.lower
