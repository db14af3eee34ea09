"""A loop: its state is a fold over its log, whatever happens, and each decision can be made again."""

import math
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.bandits.feature_names import FeatureNames
from onward.service import Action, FeatureRule, Loop, LoopConfig, RequestError, RewardRule
from onward.service.decision_lots import drawn, uniform_numbers
from onward.service.encoder import Encoder
from onward.service.entries import (
    Activate,
    Begin,
    Decide,
    Entry,
    Expire,
    Forget,
    Install,
    Reward,
    from_json,
    to_json,
)
from onward.service.folding import fold_all
from onward.service.loop_checks import check_finite
from onward.service.loop_statistics import mean_with_band
from onward.storage import StorageError

ACTIONS = [Action("a", {"x": 0.3, "topic": "sport"}), Action("b", {"x": -1.0, "topic": "arts"}), Action("c")]
DEVICES = ("phone", "desk", "tv")


def decision(entry: Entry) -> Decide:
    assert isinstance(entry.content, Decide)
    return entry.content


def story(config: LoopConfig, n: int = 120, seed: int = 0) -> Iterator[tuple[Loop, Entry]]:
    """Whatever can happen to a loop, as the entries of its log: each after it was folded."""
    rng = np.random.default_rng(seed)
    first = Entry("l", Begin(config), at=0.0, seq=1)
    loop, waiting = Loop.begin(first), list[tuple[str, float]]()
    yield loop, first

    def folded(entry: Entry) -> tuple[Loop, Entry]:
        entry = msgspec.structs.replace(entry, seq=loop.seq + 1)
        loop.fold(entry)
        return loop, entry

    for t in range(n):
        context: dict[str, Any] = {"hour": float(rng.random()), "device": DEVICES[rng.integers(3)]}
        actions = [
            Action(f"a{i}", {"x": float(rng.standard_normal()), "topic": "stu"[rng.integers(3)]} if t % 7 else {})
            for i in range(rng.integers(1, 6))
        ]
        event = f"e{t}"
        entry = loop.propose(event, context, actions, 2, at=float(t), active=bool(t % 11), subject=f"s{t % 3}")
        taken = actions[decision(entry).chosen]
        reward = float(taken.features.get("x", 0.0)) * (context["device"] == "phone") + 0.1 * rng.standard_normal()
        yield folded(entry)
        waiting.append((event, float(reward)))
        while len(waiting) > 4 and rng.random() < 0.8:
            event, reward = waiting.pop(rng.integers(len(waiting)))
            yield folded(loop.propose_reward(event, reward, at=t + 0.5))
            if rng.random() < 0.2:
                yield folded(loop.propose_reward(event, reward, at=t + 0.6))
        if t % 13 == 5:
            yield folded(Entry("l", Expire(), None, float(t)))
        if t % 17 == 3:
            yield folded(Entry("l", Activate(), f"e{t - 3}", float(t)))
        if t == n // 3:
            yield folded(Entry("l", Install("shadow", {"name": "LinTS"})))
        if t == n // 2:
            known = loop.learner.to_bytes()
            yield folded(Entry("l", Install("policy", loop.config.policy, known, "a test")))
            yield folded(Entry("l", Forget([waiting.pop()[0]])))
        if t == 2 * n // 3:
            yield folded(Entry("l", Begin(msgspec.structs.replace(loop.config, explore=0.2))))


def written(entries: list[Entry]) -> list[Entry]:
    """Entries as they come back from where they were written down."""
    return [msgspec.structs.replace(entry, content=from_json(to_json(entry.content))) for entry in entries]


@pytest.mark.parametrize(
    "config",
    [
        LoopConfig(reward=RewardRule(wait=20.0, default=0.0)),
        LoopConfig(policy={"name": "LinTS", "lam": 1.0, "sigma": 0.5, "seed": 7}, reward=RewardRule(20.0)),
        LoopConfig(policy={"name": "DLinUCB"}, reward=RewardRule(9.0, 0.5, "sum"), explore=0.0),
        LoopConfig(policy={"name": "swlinucb"}, reward=RewardRule(9.0, None, "last"), mode="apprentice"),
        LoopConfig(policy={"name": "DetectingLinUCB"}, features=FeatureRule(False, [("x", "hour")], 6, 2)),
    ],
    ids=["LinUCB", "LinTS", "sum", "apprentice", "few features"],
)
def test_the_state_is_a_fold_over_the_log(config: LoopConfig) -> None:
    entries, snapshots = [], []
    for loop, entry in story(config):
        entries.append(entry)
        if len(entries) % 40 == 9:
            snapshots.append((len(entries), loop.to_bytes(), loop.digest()))
    told, end = written(entries), loop.digest()
    assert fold_all(told).digest() == end
    assert len(snapshots) > 3
    for place, data, digest in snapshots:
        again = Loop.from_bytes(data)
        assert again.digest() == digest
        assert fold_all(told[place:], again).digest() == end
    assert fold_all(told[:-1]).digest() != end
    assert loop.state()["learned"] > 50


def test_each_decision_can_be_made_again() -> None:
    entries = [entry for _, entry in story(LoopConfig(policy={"name": "LinTS", "seed": 3}), 60)]
    loop = Loop.begin(entries[0])
    for entry in written(entries[1:]):
        if isinstance(entry.content, Decide):
            c = entry.content
            assert c.version == loop.version
            assert c.k == min(2, len(c.actions))
            again = loop.propose(
                str(entry.event_id), c.context, c.actions, c.k, at=entry.at, active=c.active, subject=c.subject
            )
            assert again.content == c
        loop.fold(entry)


def test_asking_changes_nothing() -> None:
    *_, (loop, _) = story(LoopConfig(), 30)
    before = loop.digest()
    loop.propose("x", {"new": 1.0, "device": "watch"}, [*ACTIONS, Action("z", {"never": "seen"})], 3, at=99.0)
    loop.state()
    assert loop.digest() == before


def test_by_hand_it_is_the_same() -> None:
    by_hand, folded = Loop("l", LoopConfig()), Loop("l", LoopConfig())
    for t in range(30):
        context = {"hour": t / 30}
        entry = folded.propose(f"e{t}", context, ACTIONS, at=float(t))
        folded.fold(entry)
        answer = by_hand.decide(f"e{t}", context, ACTIONS, at=float(t))
        assert answer == Loop.answer(entry)
        assert by_hand.decide(f"e{t}", {"other": 3.0}, ACTIONS[:1], at=t + 0.5) == answer  # asked again
        assert by_hand.reward(f"e{t}", t % 2, at=t + 0.1) == "learned"
        folded.fold(Entry("l", Reward(float(t % 2)), f"e{t}", t + 0.1))
    assert by_hand.digest() == folded.digest()


# Rewards


def test_a_reward_counts_once_in_time_and_for_a_decision() -> None:
    loop = Loop("l", LoopConfig(reward=RewardRule(wait="10s", default=-1.0)))
    for event in ("one", "two", "three"):
        loop.decide(event, {}, ACTIONS, at=0.0)
    assert loop.reward("one", 1.0, at=10.0) == "learned"
    assert loop.reward("one", 1.0, at=10.0) == "already"
    assert loop.reward("nobody", 1.0, at=1.0) == "unknown"
    assert loop.reward("two", 1.0, at=10.1) == "late"  # which is what it is worth now: the default
    assert loop.expire(9.9) == 0
    assert loop.expire(10.0) == 1
    assert loop.reward("three", 1.0, at=11.0) == "late"
    state = loop.state()
    assert (state["learned"], state["expired"], state["pending"]) == (3, 2, 0)
    assert (state["late"], state["already"], state["unknown"]) == (2, 1, 1)
    assert state["reward"]["mean"] == pytest.approx(-1 / 3)


def test_without_a_default_nothing_is_learned_from_what_expires() -> None:
    loop = Loop("l", LoopConfig(reward=RewardRule(wait=1.0)))
    loop.decide("one", {}, ACTIONS, at=0.0)
    version = loop.version
    assert loop.expire(5.0) == 1
    assert loop.version == version


@pytest.mark.parametrize(("aggregate", "expected"), [("sum", 6.0), ("last", 3.0)])
def test_several_rewards_count_when_the_wait_is_over(aggregate: Any, expected: float) -> None:
    loop = Loop("l", LoopConfig(reward=RewardRule(10.0, 0.0, aggregate)))
    loop.decide("e", {}, ACTIONS, at=0.0)
    for value in (1.0, 2.0, 3.0):
        assert loop.reward("e", value, at=5.0) == "noted"
    assert loop.state()["learned"] == 0
    assert loop.expire(10.0) == 0  # it had a reward
    assert loop.state()["reward"]["mean"] == expected


def test_a_reward_that_is_told_again_counts_once_also_where_several_count() -> None:
    loop = Loop("l", LoopConfig(reward=RewardRule(10.0, None, "sum")))
    loop.decide("e", {}, ACTIONS, at=0.0)
    told = [loop.reward("e", 1.0, at=1.0, reward_id=each) for each in ("r1", "r2", "r1", None, None)]
    assert told == ["noted", "noted", "already", "noted", "noted"]
    again = Loop.from_bytes(loop.to_bytes())
    assert again.reward("e", 1.0, at=2.0, reward_id="r2") == "already"
    again.expire(10.0)
    assert again.state()["reward"]["mean"] == 4.0


def test_what_was_not_activated_is_dropped() -> None:
    loop = Loop("l", LoopConfig(reward=RewardRule(10.0, 0.0)))
    for event in ("shown", "rewarded", "never"):
        loop.decide(event, {}, ACTIONS, at=0.0, active=False)
    assert loop.activate("shown", at=1.0) == "activated"
    assert loop.activate("nobody", at=1.0) == "unknown"
    loop.reward("rewarded", 1.0, at=2.0)
    loop.expire(20.0)
    assert loop.state()["learned"] == 2


def test_what_is_over_takes_no_room_behind_what_waits_long() -> None:
    loop = Loop("l", LoopConfig(reward=RewardRule(wait="1d")))
    loop.decide("first", {}, ACTIONS, at=0.0)
    for t in range(1500):
        loop.decide(f"e{t}", {}, ACTIONS, at=1.0)
        loop.reward(f"e{t}", 1.0, at=1.0)
    assert len(loop.waiting._order) < 1100
    assert loop.expire(86_400.0) == 1


# Decisions


def test_actions_are_drawn_with_the_probabilities_that_are_told() -> None:
    *_, (loop, _) = story(LoopConfig(policy={"name": "LinTS"}, explore=0.1), 60)
    loop.decide("known", {"hour": 0.5, "device": "phone"}, ACTIONS, at=98.0)
    entries = [loop.propose(f"n{i}", {"hour": 0.5, "device": "phone"}, ACTIONS, at=99.0) for i in range(4000)]
    chances = np.array(decision(entries[0]).probabilities)
    assert chances.min() >= loop.config.explore / 3
    assert all(decision(entry).probabilities == chances.tolist() for entry in entries)
    counts = np.bincount([decision(entry).chosen for entry in entries], minlength=3)
    chi_square = ((counts - 4000 * chances) ** 2 / (4000 * chances)).sum()
    assert chi_square < 21.0  # 2 degrees of freedom: above in 3 of 100,000


def test_numbers_of_a_decision_are_its_own() -> None:
    same = uniform_numbers(3, "l", "e", 4)
    assert uniform_numbers(3, "l", "e", 4) == same
    others = [("m", "e", 4, None), ("l", "f", 4, None), ("l", "e", 5, None), ("l", "e", 4, 1), ("le", "", 4, None)]
    assert all(uniform_numbers(1, *other)[0] != same[0] for other in others)
    many = np.array([uniform_numbers(1, "l", str(i), 0)[0] for i in range(4000)])
    assert abs(many.mean() - 0.5) < 5 / math.sqrt(12 * 4000)


def test_drawing_takes_no_place_without_a_chance() -> None:
    assert drawn([0.0, 1.0, 0.0], [0.0]) == [1]
    assert drawn([0.5, 0.5, 0.0], [math.nextafter(1, 0), 0.3, 0.3]) == [1, 0]


def test_excluded_actions_are_never_taken() -> None:
    loop = Loop("l", LoopConfig(explore=0.5))
    for t in range(20):
        entry = loop.propose(f"e{t}", {}, ACTIONS, 3, at=0.0, excluded=["b"])
        assert decision(entry).probabilities[1] == 0.0
        assert 1 not in decision(entry).ranking


def test_without_exploring_the_ranking_goes_on_by_estimates() -> None:
    loop = Loop("l", LoopConfig(explore=0.0))
    actions = [Action(name) for name in "abcd"]
    for t, value in enumerate([0.1, 0.9, 0.4, 0.6] * 3):
        loop.decide(f"e{t}", {}, actions[t % 4 : t % 4 + 1], at=0.0)
        loop.reward(f"e{t}", value, at=0.0)
    content = decision(loop.propose("e", {}, actions, 3, at=0.0, excluded=["d"]))
    assert content.probabilities == [0.0, 1.0, 0.0, 0.0]
    assert content.ranking == [1, 2, 0]
    assert decision(loop.propose("e", {}, actions, 4, at=0.0)).ranking == [1, 3, 2, 0]


def test_the_application_decides_while_the_policy_learns() -> None:
    loop = Loop("l", LoopConfig(mode="apprentice"))
    for t in range(80):
        own, chance = ("b", 0.75) if t % 4 else (None, 0.25)
        answer = loop.decide(f"e{t}", {}, ACTIONS, at=float(t), taken=own, probability=chance)
        assert (answer.action, answer.probability) == (own or "a", chance)
        loop.reward(f"e{t}", float(answer.action == "b"), at=float(t))
    told = loop.state()["apprentice"]
    assert told["agreement"] > 0.4  # it has found out what is good
    assert told["reward"] == pytest.approx(0.75)
    assert told["value"] > told["reward"]
    online = Loop("l", LoopConfig())
    with pytest.raises(RequestError, match="the loop decides"):
        online.decide("e", {}, ACTIONS, taken="b")


def test_the_apprentice_is_judged_by_what_the_application_decides_in_this_mode() -> None:
    loop = Loop("l", LoopConfig(policy={"name": "Random"}, mode="apprentice", reward=RewardRule(wait=10.0)))

    def change(mode: Any) -> None:
        loop.fold(Entry("l", Begin(msgspec.structs.replace(loop.config, mode=mode))))

    for t in range(20):
        chance = 0.5 if t % 2 else None
        loop.decide(f"e{t}", {}, ACTIONS, at=0.0, taken="b", probability=chance)
        loop.reward(f"e{t}", 1.0 if chance else 7.0, at=0.0)
    told = loop.state()["apprentice"]
    assert told["agreement"] == pytest.approx(1 / 3)
    assert (told["value"], told["reward"]) == (1.0, 1.0)  # both of those alone whose probability is known
    loop.decide("waits", {}, ACTIONS, at=0.0, taken="b", probability=0.5)
    change("online")
    for t in range(30):
        loop.decide(f"o{t}", {}, ACTIONS, at=0.0)
        loop.reward(f"o{t}", 5.0, at=0.0)
    change("apprentice")
    nothing = dict.fromkeys(("agreement", "gain", "value", "reward"))
    assert loop.state()["apprentice"] == nothing
    loop.reward("waits", 3.0, at=0.0)
    assert loop.state()["apprentice"] == nothing
    loop.decide("own", {}, ACTIONS, at=0.0, taken="a", probability=0.25)
    loop.reward("own", 2.0, at=0.0)
    told = Loop.from_bytes(loop.to_bytes()).state()["apprentice"]
    assert told["agreement"] == pytest.approx(1 / 3)
    assert (told["value"], told["reward"]) == (2.0, 2.0)
    loop.fold(Entry("l", Begin(msgspec.structs.replace(loop.config, explore=0.3))))
    assert loop.state()["apprentice"] == told  # other settings begin nothing anew


def test_a_loop_learns_which_action_is_good() -> None:
    loop, rng, clicks = Loop("l", LoopConfig(policy={"name": "LinTS", "seed": 1})), np.random.default_rng(0), 0.0
    for t in range(300):
        device = DEVICES[rng.integers(2)]
        answer = loop.decide(f"e{t}", {"device": device}, [Action("a"), Action("b")], at=float(t))
        good = answer.action == ("a" if device == "phone" else "b")
        loop.reward(f"e{t}", float(rng.random() < (0.8 if good else 0.2)), at=float(t))
        clicks += good if t >= 100 else 0
    assert clicks > 170
    assert loop.learner.policy.dimension == 9


def test_what_the_application_takes_leaves_scales_as_they_are() -> None:
    """Without exploring, the application may take what no scale would: that says nothing of them."""
    loop = Loop("l", LoopConfig(mode="observe", explore=0.0))
    for t in range(20):
        entry = loop.propose(f"e{t}", {}, ACTIONS, at=float(t), taken="c")
        assert from_json(to_json(entry.content)) == entry.content
        loop.fold(entry)
        loop.reward(f"e{t}", float(t % 2), at=float(t))
    assert loop.state()["apprentice"]["value"] is None  # nobody knows with which probability it was taken


def test_numbers_that_the_log_cannot_hold_are_refused() -> None:
    content = decision(Loop("l", LoopConfig()).propose("e", {}, ACTIONS, at=0.0))
    check_finite(content)
    for name in ("probabilities", "estimates", "widths"):
        with pytest.raises(RequestError, match="too large"):
            check_finite(msgspec.structs.replace(content, **{name: [math.nan, 0.0, 0.0]}))
    check_finite(msgspec.structs.replace(content, widths=[1e308] * 3))  # large, but numbers


def test_another_policy_is_not_judged_by_what_was_said_of_the_one_before() -> None:
    loop = Loop("l", LoopConfig())
    loop.fold(Entry("l", Install("shadow", {"name": "Random"})))
    for t in range(5):
        loop.decide(f"e{t}", {}, ACTIONS, at=0.0)
    loop.fold(Entry("l", Install("shadow", {"name": "Greedy"})))
    loop.fold(Entry("l", Install("policy", {"name": "OFUL"})))
    assert all(each.scales is None and each.shadow is None for each in loop.waiting.by_event.values())
    for t in range(5):
        loop.reward(f"e{t}", 1.0, at=0.0)
    assert loop.state()["shadow"]["rewards"] == 0


def test_the_band_holds_at_all_times() -> None:
    rng = np.random.default_rng(0)

    def misses(p: float, paths: int = 150, n: int = 4000, narrower: float = 1.0) -> int:
        missed = 0
        for _ in range(paths):
            rewards = (rng.random(n) < p).astype(float)
            sums = np.cumsum(rewards)
            for t in np.unique(np.geomspace(2, n, 120).astype(int)):
                mean = sums[t - 1] / t
                band = mean_with_band(t, mean, t * mean * (1 - mean), 0.0, 1.0 if sums[t - 1] else 0.0)
                low, high = band["low"], band["high"]
                if low is not None and high is not None and abs(p - mean) > narrower * (high - low) / 2:
                    missed += 1
                    break
        return missed

    for p in (0.01, 0.3):
        assert misses(p) <= 15 < misses(p, narrower=0.4)  # 7.5 are allowed, with a spread of 2.7


def test_one_name_cannot_break_what_was_accepted() -> None:
    """A name that looks like a level, and a level that has no place: the fold takes whatever was accepted."""
    loop = Loop("l", LoopConfig(features=FeatureRule(True, [("topic", "hour")], max_features=4)))
    offers: list[dict[str, Any]] = [
        {"a=(other)": 1.0},
        {"a": "x"},
        {"topic": "sport"},
        {"topic=sport": 2.0},
        {"b": "y"},
    ]
    entries = [Entry("l", Begin(loop.config))]
    for t, features in enumerate(offers * 2):
        entries.append(loop.propose(f"e{t}", {"hour": 0.5}, [Action("q", features)], at=float(t)))
        loop.fold(entries[-1])
        loop.reward(f"e{t}", 1.0, at=float(t))
        entries.append(Entry("l", Reward(1.0), f"e{t}", float(t)))
        loop = Loop.from_bytes(loop.to_bytes())  # as after a restart
    again = fold_all(written(entries))
    again.seq = loop.seq  # which is of the stored log
    assert again.digest() == loop.digest()


@pytest.mark.parametrize("size", [(2000, 2000), (300, 200)])
def test_products_that_would_hold_up_everybody_are_refused(size: tuple[int, int]) -> None:
    own, around = size
    actions = [Action(str(i), {f"x{j}": 1.0 for j in range(own)}) for i in range(10)]
    with pytest.raises(RequestError, match="features and products"):
        Loop("l", LoopConfig()).propose("e", {f"y{j}": 1.0 for j in range(around)}, actions, at=0.0)


# What comes in


@pytest.mark.parametrize(
    ("context", "actions", "field"),
    [
        ({"h": [1]}, ACTIONS, "context.h"),
        ({"h": math.nan}, ACTIONS, "context.h"),
        ({"h": 10**400}, ACTIONS, "context.h"),
        ({"x": 1.0}, ACTIONS, "actions[0].x"),
        ({"": "v"}, ACTIONS, "context"),
        ({}, [Action("a", {"": 1.0})], "actions[0].features"),
        ({}, [], "actions"),
        ({}, [Action("a"), Action("a")], "actions[1].id"),
        ({}, [Action("a", {"v": 1e20})], "actions[0].features.v"),
        ({}, [Action("a", {"intercept": 1})], "actions[0]"),
    ],
)
def test_bad_requests_say_what_is_wrong_and_where(context: Any, actions: Any, field: str | None) -> None:
    loop = Loop("l", LoopConfig())
    loop.decide("first", {}, ACTIONS, at=0.0)
    before = loop.digest()
    with pytest.raises(RequestError) as caught:
        loop.decide("e", context, actions, at=1.0)
    assert len(caught.value.message) < 300
    if field is not None:
        assert caught.value.field == field
    assert loop.digest() == before


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"name": "Nobody"},
        {"name": "LinTS", "lam": -1},
        {"name": "LinTS", "huh": 1},
        {"name": "LinTS", "explore": 0.1},
        {"name": "LinTS", "lam": 10**400},
        {"name": 3},
        {"name": "LinUCB", "lam": [1.0, 2.0]},
    ],
)
def test_bad_policies_say_what_is_wrong(policy: Any) -> None:
    with pytest.raises(RequestError):
        Loop("l", LoopConfig(policy=policy))


@settings(max_examples=60)
@given(
    rows=st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 5), min_size=1), min_size=1, max_size=4),
    context=st.dictionaries(st.sampled_from("uvw"), st.integers(0, 5)),
    interactions=st.sampled_from([True, False, [("a", "u"), ("b", "c")]]),
    intercept=st.booleans(),
)
def test_features_are_those_of_a_policy_by_names(
    rows: list[dict[str, int]], context: dict[str, int], interactions: Any, intercept: bool
) -> None:
    """The quick way to features gives what the plain one of `Named` does."""

    def value(name: str, number: int) -> Any:  # a, u: numbers; b, v: texts; c, w: both kinds of truth
        return number / 4 if name in "au" else f"level {number}" if name in "bv" else number > 2

    actions = [{name: value(name, number) for name, number in row.items()} for row in rows]
    around = {name: value(name, number) for name, number in context.items()}
    encoder, reference = Encoder(FeatureRule(intercept, interactions)), FeatureNames(intercept, interactions)
    for _ in range(2):  # when all is new, and when nothing is
        encoded = encoder.encode(around, [Action(str(i), row) for i, row in enumerate(actions)])
        expected = reference.encode(actions, [around] * len(actions)).rows
        names = [*encoder.columns, *(feature for feature, _ in encoded.born)]
        for row, told in zip(encoded.table, expected, strict=True):
            assert {name: v for name, v in zip(names, row, strict=True) if v} == {n: v for n, v in told.items() if v}
        assert encoder.add(encoded.born) == [feature for feature, _ in encoded.born]
        for row in encoded.table:
            told = {name: float(value) for name, value in zip(names, row, strict=True) if value}
            np.testing.assert_array_equal(encoder.row(told), row)


def test_objects_inside_null_and_ids() -> None:
    encoder = Encoder(FeatureRule(intercept=False, interactions=False))
    encoded = encoder.encode({"user": {"age": 3, "plan": "pro"}, "none": None}, [Action("a"), Action("b", {"x": 2})])
    assert [feature for feature, _ in encoded.born] == ["action=a", "user.age", "user.plan=pro", "x"]


def test_a_name_may_come_as_text_and_as_a_number() -> None:
    """One wrong request does not decide for ever what a name is."""
    loop = Loop("l", LoopConfig(features=FeatureRule(interactions=False)))
    for number, hour in enumerate(["0.4", 0.4, "0.4", True, None]):
        loop.decide(f"e{number}", {"hour": hour}, [Action("a", {"x": hour or 1}), Action("b")], at=0.0)
        assert loop.reward(f"e{number}", 1.0, at=0.0) == "learned"
    assert {"hour", "hour=0.4", "x", "x=0.4"} < set(loop.encoder.columns)
    again = Loop.from_bytes(loop.to_bytes())
    context = {"hour": 0.4}
    assert again.propose("e", context, ACTIONS, at=0.0) == loop.propose("e", context, ACTIONS, at=0.0)


def test_a_name_that_looks_like_a_level_or_a_product_shares_no_column() -> None:
    loop = Loop("l", LoopConfig())
    loop.decide("e1", {"a": "b"}, [Action("x", {"c": 1.0})], at=0.0)
    assert {"a=b", "c:a=b"} < set(loop.encoder.columns)
    said = decision(loop.propose("e2", {"a=b": 5.0}, [Action("x", {"c:a=b": 7.0})], at=0.0))
    assert said.left_out == 2
    assert "a=b" not in said.row
    assert "c:a=b" not in said.row
    assert decision(loop.propose("e2", {"a": "b"}, [Action("x", {"c": 2.0})], at=0.0)).row["c:a=b"] == 2.0


def test_features_that_have_no_place_are_counted() -> None:
    loop = Loop("l", LoopConfig(features=FeatureRule(interactions=False, max_features=3)))
    loop.decide("e1", {}, [Action("a", {"x": 1.0, "y": 1.0})], at=0.0)
    assert loop.summary()["left_out"] == 0
    for number in range(2):
        entry = loop.propose(f"f{number}", {"z": 1.0}, [Action("a", {"x": 1.0, "v": 1.0}), Action("b")], at=0.0)
        assert decision(entry).left_out == 3  # z, v and action=b
        loop.fold(entry)
    assert loop.summary()["left_out"] == 6
    assert Loop.from_bytes(loop.to_bytes()).summary()["left_out"] == 6


def test_levels_and_features_are_capped() -> None:
    loop = Loop("l", LoopConfig(features=FeatureRule(False, False, max_features=6, max_levels=3)))
    for t in range(10):
        loop.decide(f"e{t}", {}, [Action(f"a{t}"), Action(f"b{t}")], at=float(t))
        loop.reward(f"e{t}", 1.0, at=float(t))
    assert list(loop.encoder.columns) == ["action=a0", "action=b0", "action=a1", "action=(other)"]
    for t in range(10):
        loop.decide(f"f{t}", {f"n{t}": 1.0}, [Action("a")], at=20.0)
    assert list(loop.encoder.columns)[4:] == ["n0", "n1"]


def test_a_damaged_snapshot_is_refused() -> None:
    data = Loop("l", LoopConfig()).to_bytes()
    for bad in (b"", data[:-1], data[:40] + b"?" + data[41:], b"else" + data):
        with pytest.raises(StorageError):
            Loop.from_bytes(bad)


def test_entries_must_come_in_order() -> None:
    loop = Loop("l", LoopConfig())
    with pytest.raises(ValueError, match="expected 1"):
        loop.fold(Entry("l", Expire(), None, 1.0, seq=3))


def test_one_decision_cannot_fill_all_places() -> None:
    many = [Action("a", {f"x{i}": 1.0 for i in range(251)})]
    rule = FeatureRule(intercept=False, interactions=False)
    loop = Loop("l", LoopConfig(features=rule))
    with pytest.raises(RequestError, match="at most 250 new features in one decision, got 251") as refused:
        loop.decide("e1", {}, many)
    assert (refused.value.code, loop.seq) == ("too_many_new_features", 0)
    loop.decide("e1", {}, [Action("a", {"x0": 1.0})])
    loop.decide("e2", {}, many)  # of which one is known by now
    told = Loop("l", LoopConfig(features=msgspec.structs.replace(rule, max_new=2)))
    with pytest.raises(RequestError, match="at most 2 new"):
        told.decide("e1", {}, many)


def test_every_policy_that_an_error_names_makes_a_loop() -> None:
    with pytest.raises(RequestError, match="expected one of") as error:
        Loop("l", LoopConfig(policy={"name": "none"}))
    names = str(error.value).removeprefix("expected one of ").partition(", got")[0].split(", ")
    assert {"LinUCB", "LinTS", "SquareCB", "Random"} <= {*names}
    for name in names:
        loop = Loop("l", LoopConfig(policy={"name": name}))
        answer = loop.decide("e", {"hour": 0.4}, ACTIONS)
        assert answer.probability >= 0.05 / len(ACTIONS), name
        assert loop.reward("e", 1.0) == "learned", name
        assert Loop.from_bytes(loop.to_bytes()).digest() == loop.digest(), name
