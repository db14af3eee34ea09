"""Decisions, journals and threads where scales are tuned, arms are many, or features have names."""

import copy
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward import load
from onward.bandits import Disjoint, Hybrid, LinTS, LinUCB, Named, NamedArms, replay_journal

SONGS: list[dict[str, Any]] = [{"minutes": 3.0, "genre": "jazz"}, {"minutes": 2.0, "genre": "pop"}, {"minutes": 4.0}]
VISITOR = {"age": 3.0, "city": "Bern"}

MAKES: dict[str, Callable[[], Any]] = {
    "LinUCB": lambda: LinUCB(seed=0),
    "LinTS": lambda: LinTS(seed=0),
    "explore": lambda: LinUCB(1.0, explore=0.2, seed=0),
    "arms": lambda: Disjoint(LinUCB(seed=0), 8),
    "many arms": lambda: Disjoint(LinUCB(1.0, seed=0), 80),
    "arms LinTS": lambda: Disjoint(LinTS(seed=0), 8),
}
WRAPPED: dict[str, tuple[Callable[[], Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "Named": (lambda: Named(LinUCB(seed=0)), (SONGS,), (SONGS[0],)),
    "Named LinTS": (lambda: Named(LinTS(seed=0)), (SONGS,), (SONGS[0],)),
    "NamedArms": (lambda: NamedArms(Disjoint(LinUCB(seed=0), ["x", "y", "z"])), (VISITOR,), ("z",)),
    "Hybrid": (lambda: Hybrid(LinUCB(seed=0), ["x", "y"]), (np.ones(2), np.eye(2)), ("y", np.ones(2), np.ones(2))),
    "Hybrid LinTS": (lambda: Hybrid(LinTS(seed=0), ["x", "y"]), (np.ones(2), np.eye(2)), ("y", np.ones(2), np.ones(2))),
}
by_name = pytest.mark.parametrize("name", WRAPPED)


def do_all(policy: Any, n: int, seed: int) -> None:
    """Steps of every kind, with reading in between."""
    rng, arms = np.random.default_rng(seed), isinstance(policy, Disjoint)
    for i in range(n):
        table = rng.standard_normal((6, 4))
        offered = table[0] if arms else table
        policy.choose_many(table if arms else rng.standard_normal((3, 6, 4)))
        policy.rank(offered, 3)
        policy.propose(offered, 2)
        taken = policy.choose(offered)
        played: Any = (taken, offered) if arms else (table[taken],)
        policy.learn(*played, float(rng.standard_normal()), weight=1.0 if i % 2 else 2.0)
        policy.index(offered), policy.probabilities(offered)
        policy.reward(policy.decide(offered).key, float(rng.standard_normal()))
        if i % 4 == 0:
            past: Any = (policy.arms[:6], table) if arms else (table,)
            policy.learn_many(*past, rng.standard_normal(6), np.linspace(0.5, 2.0, 6))
            policy.merge(copy.deepcopy(policy))
        if arms and i % 5 == 4:
            policy.add_arm()
            policy.remove_arm(policy.arms[2])
    policy.index(offered)


@pytest.mark.parametrize("name", MAKES)
def test_a_journal_replays_whatever_is_done(name: str, tmp_path: Path) -> None:
    policy = MAKES[name]()
    do_all(policy, 6, 1)
    with policy.journal(tmp_path / "journal"):
        do_all(policy, 12, 2)
    again = replay_journal(tmp_path / "journal")
    assert again.digest() == policy.digest()
    do_all(policy, 5, 3)
    do_all(again, 5, 3)
    assert again.digest() == policy.digest()


def test_a_journal_knows_the_columns_of_a_frame(tmp_path: Path) -> None:
    policy, frame = LinUCB(seed=0), pd.DataFrame(np.eye(3), columns=["a", "b", "c"])
    with policy.journal(tmp_path / "journal"):
        taken = policy.decide(frame)
        policy.reward(taken.key, 1.0)
    again = replay_journal(tmp_path / "journal")
    assert again.digest() == policy.digest()
    assert_array_equal(again.index(frame[["c", "a", "b"]]), policy.index(frame))


@pytest.mark.parametrize("name", ["LinUCB", "LinTS", "arms", "arms LinTS"])
@pytest.mark.parametrize("written", [False, True])
def test_threads_lose_nothing(name: str, written: bool, tmp_path: Path) -> None:
    policy, threads, each = MAKES[name](), 8, 60 if written else 300
    arms, failures = isinstance(policy, Disjoint), list[BaseException]()

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        try:
            for i in range(each):
                table = rng.standard_normal((6, 4))
                offered = table[0] if arms else table
                policy.reward(policy.decide(offered).key, 0.5)
                taken = policy.choose(offered)
                policy.learn(*((taken, offered) if arms else (table[taken],)), 0.5)
                if i % 20 == 0:
                    policy.choose_many(table if arms else table[None])
                    policy.to_bytes()
                if arms and i % 50 == 0:
                    policy.add_arm(f"{number} {i}")
        except BaseException as error:
            failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    journal = policy.journal(tmp_path / "journal") if written else None
    try:
        started = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failures, failures[0]
    count = threads * each
    assert policy.counts[:3] == (count, 0, count)
    assert (sum(policy.n_learned.values()) if arms else policy.n_learned) == 2 * count
    if journal is not None:
        journal.close()
        assert replay_journal(tmp_path / "journal").digest() == policy.digest()


# Policies that wrap another one


@by_name
def test_a_decision_waits_and_is_counted(name: str, tmp_path: Path) -> None:
    make, offered, other = WRAPPED[name]
    policy = make()
    first = policy.decide(*offered, "first", at=10.0)
    assert 0.0 < first.probability <= 1.0
    assert policy.pending["first"][:4] == (first.action, first.probability, 10.0, 0)
    second = policy.decide(*offered, at=20.0)
    policy.override("first", *other)
    assert policy.pending["first"].probability is None
    policy.save(tmp_path / "saved.onward")
    copies = [policy, load(tmp_path / "saved.onward"), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]
    for one in copies:
        one.reward("first", 1.0)
        assert one.expire(5.0, default=0.0, now=30.0) == [second.key]
        one.decide(*offered, "third")
        one.cancel("third")
        assert one.counts == (3, 0, 1, 1, 1, 1)
        assert one.n_pending == 0
        assert one.digest() == policy.digest()
    n = policy.n_learned
    assert (sum(n.values()) if isinstance(n, dict) else n) == 2


def do_what_is_wrapped(policy: Any, name: str, n: int, seed: int) -> None:
    """Steps of every kind, names that are new and things that are refused among them, with reading in between."""
    rng, (_, offered, other) = np.random.default_rng(seed), WRAPPED[name]
    for i in range(n):
        key, reward = policy.decide(*offered, at=float(i)).key, float(rng.standard_normal())
        policy.choose(*offered, available=[True] * (3 if "Named" in name else 2))
        if isinstance(policy, Named):
            policy.learn(SONGS[i % 3], reward, weight=1.0 if i % 2 else 2.0)
            policy.choose([*SONGS, {f"new {seed} {i // 3}": np.int64(2)}], {"hour": np.float32(0.3)})
            policy.choose_many([SONGS, SONGS[:2]], [{"hour": 1}, {"hour": 2}])
            policy.learn_many(pd.DataFrame(SONGS[:2]), [0.1, reward], {"hour": 3})
            policy.merge(copy.deepcopy(policy))
            with pytest.raises(ValueError, match="k must be at most"):
                policy.rank([{f"refused {i}": 1.0}], 4)
        elif isinstance(policy, NamedArms):
            policy.learn(policy.arms[i % 3], VISITOR | {f"new {seed} {i // 3}": True}, reward)
            policy.choose_many(pd.DataFrame([VISITOR] * 3), np.ones((3, 3), dtype=int))
            policy.learn_many(["z", "z"], [VISITOR, {"age": 2}], [0.1, reward])
            with pytest.raises(ValueError, match="k must be at most"):
                policy.rank({f"refused {seed} {i}": 1.0}, 4)
        else:
            policy.learn("y", np.ones(2), np.ones(2), reward)
        if not isinstance(policy, Hybrid):
            policy.choose_with_probability(*offered)
            policy.rank(*offered, 2), policy.propose(*offered, 2)
        policy.index(*offered), policy.estimate(*offered), policy.probabilities(*offered)
        if i % 3 == 0:
            policy.reward(key, reward)
        elif i % 3 == 1:
            policy.override(key, *other)
        if i % 5 == 4:
            policy.expire(2.0, default=0.5, now=float(i))
            policy.reward_many(dict.fromkeys(list(policy.pending)[:1], 0.25))
            policy.reseed(seed)
        if not isinstance(policy, Named) and i == 2:
            policy.add_arm(f"arm {seed}")
            policy.learn(f"arm {seed}", *(other[1:] if isinstance(policy, Hybrid) else offered), 1.0)
            policy.learn("y", *(other[1:] if isinstance(policy, Hybrid) else offered), 1.0)
            policy.remove_arm(f"arm {seed}")
    if seed == 3:
        policy.restart()
    policy.reward(policy.decide(*offered).key, 0.5)
    policy.index(*offered)


@by_name
def test_a_journal_of_what_is_wrapped_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    policy, without, path = WRAPPED[name][0](), WRAPPED[name][0](), tmp_path / "journal"
    for one in (policy, without):
        do_what_is_wrapped(one, name, 4, 1)
    with policy.journal(path):
        do_what_is_wrapped(policy, name, 11, 2)
    do_what_is_wrapped(without, name, 11, 2)
    again, offered = replay_journal(path), WRAPPED[name][1]
    assert again.digest() == policy.digest()
    assert_array_equal(policy.index(*offered), without.index(*offered))  # to write it down changes nothing
    with again.journal(path):
        do_what_is_wrapped(again, name, 3, 3)
    do_what_is_wrapped(policy, name, 3, 3)
    assert replay_journal(path).digest() == again.digest()
    assert_array_equal(policy.index(*offered), again.index(*offered))


@by_name
def test_a_forked_worker_leaves_the_journal_of_what_is_wrapped(name: str, tmp_path: Path) -> None:
    make, offered, _ = WRAPPED[name]
    policy = make()
    with policy.journal(tmp_path / "journal"):
        policy.decide(*offered)
        policy._after_fork()
        with pytest.raises(ValueError, match="forked from"):
            policy.decide(*offered)
    assert pickle.loads(pickle.dumps(policy)).digest() == policy.digest()


def test_what_is_refused_leaves_no_names() -> None:
    policy = Named(LinUCB(1.0, action_bound=5.0, seed=0))
    policy.choose(SONGS)
    before = policy.digest()
    for refused in (
        lambda: policy.choose([{"long": 9.0}]),
        lambda: policy.decide([{"long": 9.0}]),
        lambda: policy.choose_many([SONGS, [{"long": 9.0}]]),
        lambda: policy.propose([{"new": 1.0}], 2),
    ):
        with pytest.raises(ValueError, match=r"norm|at most"):
            refused()
    assert policy.digest() == before


def test_many_rounds_are_chosen_for_as_one_after_the_other() -> None:
    frame, hours = pd.DataFrame(SONGS[:2]), [{"hour": float(hour)} for hour in range(12)]
    makes: list[Callable[[], Any]] = [
        lambda: Named(LinUCB(seed=0), interactions=True),
        lambda: Named(LinTS(seed=0), interactions=True),
    ]
    for make in makes:
        one, many = make(), make()
        for policy in (one, many):
            policy.learn_many([SONGS[i % 2] for i in range(20)], np.linspace(0, 1, 20), hours[0])
        each = [one.choose(frame, hour) for hour in hours]
        assert many.choose_many(frame, pd.DataFrame(hours)).tolist() == each
        masks = [[True, False]] * 6 + [[False, True]] * 6
        assert many.choose_many([frame] * 12, hours, masks).tolist() == [0] * 6 + [1] * 6
        assert sorted(one.rank(frame, 2, hours[0])) == [0, 1]
        taken, probability = one.choose_with_probability(frame, hours[0])
        assert taken in (0, 1)
        assert 0.0 < probability <= 1.0
        assert set(one.propose(frame, 2, hours[0]).actions) == {0, 1}
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: one.choose_many(frame), "contexts must have a row for each round"),
        (lambda: one.choose_many([]), "at least one"),
        (lambda: one.choose_many([frame], hours), "contexts must have 1 rows"),
        (lambda: one.choose_many([frame], hours[:1], [[True]] * 2), "available must have a row for each of 1 rounds"),
    ]
    for call, match in wrong:
        with pytest.raises(ValueError, match=match):
            call()
    arms = NamedArms(Disjoint(LinUCB(seed=0), ["x", "y", "z"]))
    arms.learn("x", VISITOR, 1.0)
    other = copy.deepcopy(arms)
    assert arms.choose_many([VISITOR] * 4) == [other.choose(VISITOR) for _ in range(4)]
    assert len(arms.rank(VISITOR, 2)) == len(arms.propose(VISITOR, 2).actions) == 2


def test_decisions_outlive_names_that_come_later() -> None:
    policy, direct = Named(LinUCB(1.0, lam=1.0, seed=0)), Named(LinUCB(1.0, lam=1.0, seed=0))
    taken = policy.decide(SONGS, "early").action
    policy.learn({"tempo": 2.0, "genre": "rock"}, 1.0)
    policy.decide([{"tempo": 1.0, "minutes": 1.0}], "late")
    policy.override("early", SONGS[taken])
    policy.reward_many({"late": 0.5, "early": 2.0})
    direct.choose(SONGS)
    direct.learn({"tempo": 2.0, "genre": "rock"}, 1.0)
    direct.learn({"tempo": 1.0, "minutes": 1.0}, 0.5)
    direct.learn(SONGS[taken], 2.0)
    assert policy.names == direct.names
    assert_allclose(list(policy.coef.values()), list(direct.coef.values()), rtol=1e-12)


def test_a_hybrid_sample_s_probability_is_that_of_its_choices() -> None:
    policy = Hybrid(LinTS(scale=1.0, seed=0), ["x", "y"])
    for arm, reward in (("x", 1.0), ("y", 0.0), ("x", 0.5), ("y", 0.3)):
        policy.learn(arm, np.ones(2), np.ones(2), reward)
    share = policy.probabilities(np.ones(2), np.eye(2), samples=4000)[0]
    told = [policy.decide(np.ones(2), np.eye(2)) for _ in range(400)]
    assert abs(np.mean([decision.action == "x" for decision in told]) - share) < 4 * np.sqrt(0.25 / 400)
    assert_allclose(np.mean([(d.action == "x") / d.probability for d in told]), 1.0, atol=4 * 0.05)


@by_name
def test_threads_share_what_is_wrapped(name: str) -> None:
    make, offered, _ = WRAPPED[name]
    policy, failures = make(), list[BaseException]()

    def work(number: int) -> None:
        try:
            for i in range(25):
                if isinstance(policy, Named) and i % 10 == 0:
                    policy.learn({f"new {number} {i}": 1.0}, 0.0)
                policy.reward(policy.decide(*offered, f"{number} {i}").key, 1.0)
        except BaseException as error:
            failures.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        started = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not failures, failures[0]
    assert policy.counts[:3] == (200, 0, 200)
    learned = policy.n_learned
    more = 24 if isinstance(policy, Named) else 0
    assert (sum(learned.values()) if isinstance(learned, dict) else learned) == 200 + more
