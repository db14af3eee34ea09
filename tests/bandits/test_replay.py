"""Evaluation on logged data, against values that are known exactly."""

import copy
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import stdtrit

from onward import RidgeRegressor
from onward.bandits import mean_intervals
from onward.bandits.policy_value import Learn, Method
from onward.bandits.replay import LoggedData, Value, as_row, compare, dr, evaluate, ips, replay, snips
from onward.core.types import Matrix, Vector
from tests.bandits.log_worlds import CHANCES, MEANS, UNIFORM, Fixed, Learning, Softmax, log

# Logs of a hundred events are small enough to be warned of; test_log_checks.py looks at what is said.
pytestmark = pytest.mark.filterwarnings("ignore::onward.bandits.log_records.LogWarning")

SOFT, FIXED = Softmax(np.array([1.0, -1.0])), Fixed(np.array([1.0, 0.0]))
KNOWN: list[tuple[Method, Any]] = [("replay", FIXED), ("ips", SOFT), ("ips", FIXED), ("snips", SOFT), ("dr", SOFT)]


def changed(source: LoggedData, propensity: Any) -> LoggedData:
    actions = [source.actions[event] for event in range(len(source))]
    return LoggedData(actions, source.taken, propensity, source.reward)


def errors_off(values: list[float], truth: float) -> float:
    """How many standard errors the mean of the values is from the truth."""
    return abs(float(np.mean(values)) - truth) / (float(np.std(values)) / math.sqrt(len(values)))


# Statistics: logs of which the propensities are far from uniform


@pytest.mark.parametrize(("method", "policy"), KNOWN)
def test_no_bias_unless_the_propensities_are_forgotten(method: Method, policy: Any) -> None:
    right, forgetful = [], []
    for seed in range(120):
        # The lots have the seed that the log was drawn from: they must be others all the same.
        events = log(np.random.default_rng(seed), 100)
        right.append(evaluate(policy, events, method=method, learn="none", seed=seed).value)
        uniform = changed(events, np.full(len(events), 1 / 3))
        forgetful.append(evaluate(policy, uniform, method=method, learn="none", seed=seed).value)
    assert errors_off(right, policy.value()) < 4 < errors_off(forgetful, policy.value())


@pytest.mark.parametrize(("method", "policy"), KNOWN)
def test_standard_errors_and_intervals_are_what_they_say(method: Method, policy: Any) -> None:
    values = [
        evaluate(policy, log(np.random.default_rng([1, seed]), 150), method=method, learn="none", seed=seed)
        for seed in range(150)
    ]

    def misses(scale: float) -> int:
        return sum(abs(v.value - policy.value()) > scale * (v.upper - v.value) for v in values)

    # δ = 0.05 allows 7.5, give or take three standard deviations of 2.7; and some are needed, or it is too wide.
    assert 1 <= misses(1.0) <= 15 < misses(0.6)
    # A standard deviation of 150 values is known to 6%.
    reported = np.sqrt(np.mean([v.standard_error**2 for v in values]))
    assert_allclose(reported, np.std([v.value for v in values]), rtol=0.2)


def test_a_good_model_takes_noise_away() -> None:
    estimates: dict[Method, list[float]] = {"ips": [], "dr": []}
    for seed in range(60):
        events = log(np.random.default_rng([3, seed]), 120)
        for method, values in estimates.items():
            values.append(evaluate(SOFT, events, method=method).value)
    assert np.std(estimates["dr"]) < 0.7 * np.std(estimates["ips"])


def test_a_bad_model_does_no_harm_to_the_mean() -> None:
    class Wrong:
        def predict_one(self, x: Vector) -> float:
            return 1.0 - 2.0 * float(x[0])

        def learn_one(self, x: Vector, y: float) -> None: ...

    values = [dr(SOFT, log(np.random.default_rng([4, seed]), 120), model=Wrong()).value for seed in range(100)]
    assert errors_off(values, SOFT.value()) < 4


def test_replay_is_like_playing() -> None:
    matched, everything, played = [], [], []
    for seed in range(60):
        events = log(np.random.default_rng([5, seed]), 240, UNIFORM)
        value = replay(Learning(seed), events)
        matched.append(value.value)
        everything.append(replay(Learning(seed), events, learn="all").value)
        played.append(Learning(1000 + seed).play(np.random.default_rng([6, seed]), value.matched))
    gap, unlike = np.subtract(matched, played), np.subtract(everything, played)
    # A policy that learned what it would never have seen would do better than it can.
    assert errors_off(list(gap), 0.0) < 4 < errors_off(list(unlike), 0.0)


def test_replay_keeps_a_uniform_log_whole_and_others_in_proportion() -> None:
    events = log(np.random.default_rng(0), 500, UNIFORM)
    hits = [int(FIXED.choose(events.actions[i]) == events.taken[i]) for i in range(500)]
    value = replay(FIXED, events)
    assert value.matched == sum(hits)
    assert_allclose(value.value, events.reward[np.array(hits, dtype=bool)].mean())
    uneven = log(np.random.default_rng(0), 20_000)
    # Whatever the policy chooses, it was taken and is kept with the least propensity.
    expected = 20_000 * uneven.propensity.min()
    assert abs(replay(FIXED, uneven, seed=0).matched - expected) < 4 * math.sqrt(expected)


def test_learning_on_the_way_is_judged_before_each_event() -> None:
    gaps = []
    for seed in range(60):
        events = log(np.random.default_rng([7, seed]), 100)
        value = ips(Learning(seed), events, learn="all")
        # The mean of what the policies on the way are worth, exactly, with the chances that they explore.
        policy, worth = Learning(seed), []
        for event in range(len(events)):
            best = Fixed(np.linalg.solve(policy.G, policy.b)).value()
            worth.append(0.9 * best + 0.1 * float(CHANCES @ MEANS.mean(axis=1)))
            policy.learn(events.actions[event][events.taken[event]], float(events.reward[event]))
        gaps.append(value.value - float(np.mean(worth)))
    assert errors_off(gaps, 0.0) < 4


@pytest.mark.parametrize("interval", [mean_intervals.empirical_bernstein, mean_intervals.martingale_bernstein])
def test_bernstein_holds_where_the_normal_interval_does_not(interval: Any) -> None:
    misses = {"bernstein": 0, "sixth": 0, "normal": 0}
    for seed in range(400):
        values = (np.random.default_rng([8, seed]).random(60) < 0.03).astype(np.float64)
        mean = float(values.mean())
        lower, upper = interval(values, 0.0, 1.0, 0.05)
        misses["bernstein"] += not lower <= 0.03 <= upper
        misses["sixth"] += not mean - (mean - lower) / 6 <= 0.03 <= mean + (upper - mean) / 6
        lower, upper = mean_intervals.normal(mean, float(values.std(ddof=1)) / math.sqrt(60), 0.05, values)
        misses["normal"] += not lower <= 0.03 <= upper
    assert misses["bernstein"] <= 20 < min(misses["sixth"], misses["normal"])


def test_bernstein_for_values_that_hang_on_those_before() -> None:
    misses, small = 0, 0
    for seed in range(200):
        rng = np.random.default_rng([9, seed])
        values, means = np.empty(300), np.empty(300)
        for t in range(300):
            means[t] = 0.2 if t == 0 or values[t - 1] == 0.0 else 0.8
            values[t] = float(rng.random() < means[t])
        lower, upper = mean_intervals.martingale_bernstein(values, 0.0, 1.0, 0.05)
        misses += not lower <= means.mean() <= upper
        middle, reach = (lower + upper) / 2, (upper - lower) / 2
        small += abs(middle - means.mean()) > 0.3 * reach
        assert upper - lower < 0.3
    assert misses <= 10 < small


@pytest.mark.parametrize("method", ["ips", "dr"])
def test_empirical_bernstein_holds_and_is_wider(method: Method) -> None:
    low, high = -3.0, 5.0
    settings: dict[str, Any] = {"method": method, "reward_range": (low, high)}
    for seed in range(12):
        events = log(np.random.default_rng([10, seed]), 300)
        value = evaluate(SOFT, events, interval="empirical_bernstein", **settings)
        usual = evaluate(SOFT, events, **settings)
        assert value.lower <= SOFT.value() <= value.upper
        assert value.lower < usual.lower < value.value == usual.value < usual.upper < value.upper


# Identities


class Halves:
    """Three events by hand."""

    def choose(self, actions: Matrix, available: Any = None) -> int:
        return 0

    def learn(self, action: Vector, reward: float) -> None: ...

    def probabilities(self, actions: Matrix, available: Any = None) -> Vector:
        return np.array([0.5, 0.5])


class Two:
    """A model that always says two."""

    def predict_one(self, x: Vector) -> float:
        return 2.0

    def learn_one(self, x: Vector, y: float) -> None: ...


BY_HAND = LoggedData(np.ones((3, 2, 1)), [0, 1, 0], [0.5, 0.25, 1.0], [1.0, 2.0, 6.0])  # weights 1, 2, 1/2


def test_three_events_by_hand() -> None:
    value = ips(Halves(), BY_HAND)
    assert_allclose(value.value, (1 + 4 + 3) / 3)
    assert_allclose(value.standard_error, np.std([1, 4, 3], ddof=1) / math.sqrt(3))
    assert (value.matched, value.events, value.clipped, value.largest_weight) == (3, 3, 0, 2.0)
    assert_allclose(value.effective_sample_size, 3.5**2 / 5.25)
    assert_allclose(value.upper, 6.0)  # cut to the largest reward
    value = ips(Halves(), BY_HAND, reward_range=(-99.0, 99.0))
    freedom = mean_intervals.degrees_of_freedom(np.array([1.0, 4.0, 3.0]))
    assert_allclose(value.upper - value.value, stdtrit(freedom, 0.975) * value.standard_error, rtol=1e-6)
    value = snips(Halves(), BY_HAND)
    assert_allclose(value.value, 8 / 3.5)
    gaps = np.array([1, 2, 0.5]) * (np.array([1, 2, 6]) - 8 / 3.5)
    assert_allclose(value.standard_error, np.std(gaps, ddof=1) / math.sqrt(3) / (3.5 / 3))
    value = dr(Halves(), BY_HAND, model=Two())
    assert_allclose(value.value, ((2 - 1) + (2 + 0) + (2 + 2)) / 3)
    value = ips(Halves(), BY_HAND, clip=0.75)
    assert_allclose(value.value, (0.75 + 1.5 + 3) / 3)
    assert (value.clipped, value.largest_weight) == (2, 0.75)
    richer = LoggedData(np.ones((3, 2, 1)), [0, 1, 0], [0.5, 0.25, 1.0], [3.0, 4.0, 6.0])
    value = dr(Halves(), richer, model=Two(), reward_range=(3.0, 6.0))
    assert_allclose(value.value, ((3 + 0) + (3 + 2) + (3 + 1.5)) / 3)  # the model is kept inside: it says three


def test_the_models_scale_and_the_propensities() -> None:
    events = log(np.random.default_rng(11), 300)
    scaled = changed(events, 0.5 * events.propensity)
    assert_allclose(snips(SOFT, scaled).value, snips(SOFT, events).value)
    assert_allclose(snips(SOFT, scaled).standard_error, snips(SOFT, events).standard_error)
    assert_allclose(ips(SOFT, scaled).value, 2 * ips(SOFT, events).value)


def test_dr_predicts_before_it_learns() -> None:
    events = log(np.random.default_rng(12), 60)
    model, terms = RidgeRegressor(lam=2.0), []
    for event in range(len(events)):
        actions, taken = events.actions[event], int(events.taken[event])
        pi, predicted = SOFT.probabilities(actions), np.array([model.predict_one(x) for x in actions])
        weight = pi[taken] / events.propensity[event]
        terms.append(pi @ predicted + weight * (events.reward[event] - predicted[taken]))
        model.learn_one(actions[taken], float(events.reward[event]))
    assert_allclose(dr(SOFT, events, model=RidgeRegressor(lam=2.0)).value, np.mean(terms), rtol=1e-12)


def test_bernstein_intervals_know_what_the_events_can_be() -> None:
    m, worst = 2_000, 1 / 0.25
    events = LoggedData(np.ones((3 * m, 2, 1)), [0, 1, 0] * m, [0.5, 0.25, 1.0] * m, [1.0, 2.0, 6.0] * m)
    settings: dict[str, Any] = {"interval": "empirical_bernstein", "reward_range": (-1.0, 7.0)}
    # Independent, w·r between −4 and 28; and one after the other, with predictions and rewards from −1 to 7.
    apart, tied = mean_intervals.empirical_bernstein, mean_intervals.martingale_bernstein
    cases: list[tuple[Value, Any, list[float], float, float]] = [
        (ips(Halves(), events, **settings), apart, [1, 4, 3], -worst, 7 * worst),
        (ips(Halves(), events, learn="all", **settings), tied, [1, 4, 3], -worst, 7 * worst),
        (ips(Halves(), events, clip=1.5, **settings), apart, [1, 3, 3], -1.5, 7 * 1.5),
        (dr(Halves(), events, model=Two(), **settings), tied, [1, 2, 4], -1 - 8 * worst, 7 + 8 * worst),
    ]
    for value, interval, terms, low, high in cases:
        expected = interval(np.array(terms * m, dtype=np.float64), low, high, 0.05)
        assert low < expected[0] < expected[1] < high
        assert_allclose((value.lower, value.upper), expected)


@pytest.mark.parametrize("method", ["replay", "ips", "snips", "dr"])
def test_policy_and_model_stay_as_they_were(method: Method) -> None:
    policy, events = Learning(3), log(np.random.default_rng(13), 80)
    before = copy.deepcopy(policy)
    model = RidgeRegressor() if method == "dr" else None
    first = evaluate(policy, events, method=method, learn="all", seed=1, model=model)
    again = evaluate(policy, events, method=method, learn="all", seed=1, model=model)
    assert first == again
    assert policy.learned == 0
    assert_allclose(policy.G, before.G)
    assert policy.rng.bit_generator.state == before.rng.bit_generator.state
    assert model is None or not model.__sklearn_is_fitted__()


def test_who_learns_what() -> None:
    seen: list[tuple[float, ...]] = []

    class Watched(Fixed):
        def learn(self, action: Vector, reward: float) -> None:
            seen.append((*action, reward))

        def __deepcopy__(self, memo: Any) -> "Watched":
            return self

    events = log(np.random.default_rng(14), 100, UNIFORM)
    rows = [(*events.actions[i][events.taken[i]], events.reward[i]) for i in range(100)]
    hits = [row for i, row in enumerate(rows) if FIXED.choose(events.actions[i]) == events.taken[i]]
    watched = Watched(FIXED.theta)
    cases: list[tuple[Method, Learn | None, list[Any]]] = [
        ("replay", None, hits),
        ("replay", "all", rows),
        ("replay", "none", []),
        ("ips", None, []),
        ("dr", "all", rows),
    ]
    for method, learn, expected in cases:
        seen.clear()
        evaluate(watched, events, method=method, learn=learn)
        assert seen == expected


# What little says, and what is refused


def test_a_log_that_says_nothing_says_so() -> None:
    events = LoggedData(np.ones((4, 2, 1)), [1, 1, 1, 1], [0.5] * 4, [1.0, 2.0, 3.0, 4.0])
    never = Fixed(np.zeros(1))  # it takes the first of equals
    for value in (replay(never, events), snips(never, events)):
        assert math.isnan(value.value)
        assert value.matched == 0
    value = ips(never, events)
    assert (value.value, value.lower, value.upper) == (0.0, 1.0, 4.0)  # nothing but the range of rewards
    assert value.value_inside == 1.0
    assert "The estimate itself, 0, is outside its interval, which is cut to the range of rewards [1, 4]" in str(value)
    assert math.isnan(replay(never, events).value_inside)
    assert not value.reliable
    assert "NOT RELIABLE" in str(value)
    assert math.isinf(dr(never, events).standard_error)


def test_values_read_well() -> None:
    value = Value("ips", "none", 0.71234, 0.0123, 0.69, 0.74, 0.05, "normal", 20_000, 9_000, 4_321.9, 7.0, 12)
    assert str(value) == (
        "ips: 0.712 ± 0.012 an event, 95% interval [0.69, 0.74]; 9,000 of 20,000 events count, "
        "like 4,322 of equal weight; 12 weights clipped"
    )
    assert value.reliable
    assert (value.value_inside, value.all_warnings) == (value.value, ())


def test_compare_gives_a_row_for_each() -> None:
    events = log(np.random.default_rng(15), 300)
    frame = compare({"soft": SOFT, "fixed": FIXED}, events, clip=3.0, model=RidgeRegressor(), seed=5)
    assert frame["policy"].to_list() == ["soft"] * 4 + ["fixed"] * 4
    assert frame["method"].to_list() == ["replay", "ips", "snips", "dr"] * 2
    row = frame.row(3, named=True)
    value = dr(SOFT, events, clip=3.0, model=RidgeRegressor())
    assert row == {"policy": "soft"} | as_row(value)
    assert (row["value"], row["upper"], row["reliable"]) == (value.value, value.upper, value.reliable)
    assert frame.row(4, named=True)["value"] == replay(FIXED, events, seed=5).value
    few = compare({"soft": SOFT}, events, methods=["snips"])
    assert few.shape[0] == 1
    with pytest.raises(ValueError, match="at least one policy"):
        compare({}, events)


class Odd:
    """A policy that does what it is told to do wrong."""

    def __init__(self, choice: Any, chances: Any = None) -> None:
        self.choice = choice
        if chances is not None:
            self.probabilities = lambda actions, available=None: chances

    def choose(self, actions: Matrix, available: Any = None) -> Any:
        return self.choice

    def learn(self, action: Vector, reward: float) -> None: ...


class NotANumber(Two):
    def predict_one(self, x: Vector) -> float:
        return math.nan


BAD: list[tuple[Any, dict[str, Any], str]] = [
    (SOFT, {"method": "best"}, "method must be one of replay, ips, snips, dm, dr, switch, dros, got 'best'"),
    (SOFT, {"learn": "some"}, "learn must be one of matched, all, none with method='replay', got 'some'"),
    (SOFT, {"method": "ips", "learn": "matched"}, "learn must be one of none, all with method='ips', got 'matched'"),
    (SOFT, {"delta": 1.0}, "delta must be a number strictly between 0 and 1, got 1.0"),
    (SOFT, {"method": "ips", "clip": 0.0}, "clip must be a number > 0, got 0.0"),
    (SOFT, {"clip": 2.0}, "clip is for methods that weigh"),
    (SOFT, {"method": "ips", "model": Two()}, "model is for methods dm, dr, switch, dros, got one with method='ips'"),
    (
        SOFT,
        {"method": "dr", "model": NotANumber()},
        "model must predict finite numbers of at most 1e.40, got another in event 0",
    ),
    (SOFT, {"interval": "exact"}, "interval must be one of normal, empirical_bernstein, anytime, got 'exact'"),
    (SOFT, {"method": "ips", "interval": "empirical_bernstein"}, r"needs reward_range=\(low, high\), got None"),
    (SOFT, {"method": "snips", "interval": "empirical_bernstein"}, "is for methods ips and dr, got method='snips'"),
    (SOFT, {"method": "ips", "reward_range": (0, 1.5)}, r"must be in reward_range=\(0, 1.5\), got 2 in event 1"),
    (SOFT, {"method": "ips", "reward_range": (1.0, 0.0)}, "reward_range must be two finite numbers, low <= high"),
    (Odd(2), {}, "a policy must choose 0 … 1 in event 0, got 2"),
    (Odd(-1), {"method": "ips"}, "a policy must choose 0 … 1 in event 0, got -1"),
    (Odd(0.0), {"method": "ips"}, "a policy must choose 0 … 1 in event 0, got 0.0"),
    (Odd(0, [0.5, 0.6]), {"method": "ips"}, "2 numbers >= 0 that sum to 1 in event 0"),
    (Odd(0, [1.5, -0.5]), {"method": "ips"}, "2 numbers >= 0 that sum to 1 in event 0"),
    (Odd(0, [1.0]), {"method": "ips"}, "2 numbers >= 0 that sum to 1 in event 0"),
    (Odd(0, [math.nan, 1.0]), {"method": "ips"}, "2 numbers >= 0 that sum to 1 in event 0"),
]


@pytest.mark.parametrize(("policy", "settings", "message"), BAD)
def test_what_is_refused(policy: Any, settings: dict[str, Any], message: str) -> None:
    two = LoggedData(np.ones((3, 2, 2)), [0, 1, 0], [0.5, 0.5, 0.5], [1.0, 2.0, 6.0])
    with pytest.raises(ValueError, match=message):
        evaluate(policy, two, **settings)
