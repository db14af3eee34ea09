"""Rewards that come late or never: decisions with their probabilities and times, what became of them, and copies."""

import datetime
import math
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onward import load
from onward.bandits import (
    OFUL,
    Decision,
    Disjoint,
    EpsilonGreedy,
    Everything,
    Known,
    LinTS,
    LinUCB,
    MetaOFUL,
    Optimistic,
    Policy,
    SpectralBandit,
    SWLinUCB,
    deciding,
)
from onward.bandits.pending import Pending
from onward.storage import StorageError

ACTIONS = np.random.default_rng(0).standard_normal((6, 3))


# Decisions


def test_a_decision_is_the_action_its_probability_and_its_key() -> None:
    policy = OFUL(sigma=1.0, seed=0)
    policy.learn(ACTIONS[0], 1.0)
    action, probability, key = policy.decide(ACTIONS, "first", at=12.0)
    assert (action, probability, key) == (np.argmax(policy.index(ACTIONS)), 1.0, "first")
    waiting = policy.pending["first"]
    assert waiting[:4] == (action, 1.0, 12.0, 0)
    assert_array_equal(waiting.row, ACTIONS[action])
    with pytest.raises(ValueError, match="no decision waits under key 'other'"):
        policy.pending["other"]
    tied = OFUL(seed=0).decide(np.ones((4, 2)))
    assert tied.probability == 0.25


def test_probabilities_are_those_of_before_the_choice() -> None:
    policy = EpsilonGreedy(0.3, seed=0)
    policy.learn(ACTIONS[0], 1.0)
    available = np.array([True, False, True, True, False, True])
    for _ in range(50):
        chances = policy.probabilities(ACTIONS, available)
        decision = policy.decide(ACTIONS, available=available)
        assert decision.probability == chances[decision.action] > 0.0


@pytest.mark.parametrize("make", [OFUL, LinUCB])
def test_deciding_chooses_as_choose_does(make: Callable[..., Policy]) -> None:
    one, other = make(seed=3), make(seed=3)
    for t in range(30):
        actions = np.roll(ACTIONS, t, axis=1)
        decision = one.decide(actions)
        assert decision.action == other.choose(actions)
        one.reward(decision.key, 0.1 * t)
        other.learn(actions[decision.action], 0.1 * t)
    assert_array_equal(one._buffer, other._buffer)


def test_new_keys_were_never_keys_before() -> None:
    policy = OFUL(seed=0)
    assert [policy.decide(ACTIONS).key for _ in range(2)] == [0, 1]
    policy.decide(ACTIONS, 10)
    policy.decide(ACTIONS, "text")
    policy.decide(ACTIONS, np.int64(7))
    policy.cancel(10)
    assert policy.decide(ACTIONS).key == 11
    again = Policy.from_bytes(policy.to_bytes())
    for key in list(again.pending):
        again.cancel(key)
    assert again.decide(ACTIONS).key == 12


def test_what_waits_is_seen_as_it_is() -> None:
    policy = OFUL(seed=0)
    view = policy.pending
    assert len(view) == policy.n_pending == 0
    for key in ("a", 5, "b"):
        policy.decide(ACTIONS, key)
    assert list(view) == ["a", 5, "b"]
    assert 5 in view
    assert "5" not in view
    policy.reward(5, 1.0)
    assert list(view) == ["a", "b"]
    assert repr(view) == "<2 pending: 'a', 'b'>"
    for wrong in (True, 1.0, None):
        with pytest.raises(ValueError, match="no decision waits under key"):
            policy.reward(wrong, 1.0)


# What becomes of them


def test_every_decision_is_counted_once() -> None:
    policy = OFUL(seed=0)
    for key in range(10):
        policy.decide(ACTIONS, key, at=float(key))
    policy.reward(3, 1.0)
    policy.reward_many({4: 0.5, 9: 0.5})
    policy.cancel(5)
    policy.override(6, ACTIONS[0])
    policy.override(6, ACTIONS[1])
    assert policy.expire(7.0, now=9.0) == [0, 1]
    counts = policy.counts
    assert counts == (10, 4, 3, 2, 1, 1)
    assert counts.decided == counts.pending + counts.rewarded + counts.expired + counts.cancelled
    assert policy.n_learned == 3
    assert Policy.from_bytes(policy.to_bytes()).counts == counts


@pytest.mark.parametrize("older_than", [3600, 3600.0, "1h", "60m", datetime.timedelta(hours=1), np.timedelta64(1, "h")])
def test_decisions_expire_by_age(older_than: Any) -> None:
    policy = OFUL(seed=0)
    now = datetime.datetime(2030, 1, 2, 12, tzinfo=datetime.UTC)
    for minutes in (61, 60, 59, 90):  # not in the order of their times
        policy.decide(ACTIONS, minutes, at=now - datetime.timedelta(minutes=minutes))
    assert policy.expire(older_than, now=now) == [61, 90]
    assert list(policy.pending) == [60, 59]
    assert policy.n_learned == 0


def test_decisions_expire_by_rounds_and_by_the_clock() -> None:
    policy = OFUL(seed=0)
    for key in range(5):
        policy.decide(ACTIONS, key)
    assert policy.expire(rounds=3) == [0, 1]
    assert policy.expire(rounds=3) == []
    assert policy.expire(1000.0) == []
    assert policy.expire(1e-9, now=datetime.datetime.now(datetime.UTC) + datetime.timedelta(1)) == [2, 3, 4]
    assert policy.counts.expired == 5


def test_no_answer_is_learned_as_the_default_in_the_order_of_decisions() -> None:
    policy, direct = SWLinUCB(3, seed=0), SWLinUCB(3, seed=0)
    chosen = [policy.decide(ACTIONS[t:], t, at=10.0 - t).action + t for t in range(4)]
    policy.expire(0, default=-1.0, now=100.0)
    for t in range(4):
        direct.choose(ACTIONS[t:])
    for row in chosen:
        direct.learn(ACTIONS[row], -1.0)
    assert_array_equal(policy.index(ACTIONS), direct.index(ACTIONS))
    assert policy.counts == (4, 0, 0, 4, 0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.expire(), "expire needs older_than or rounds"),
        (lambda p: p.expire(-1.0), "older_than must be a number of seconds >= 0, or a span such as '12h', got -1.0"),
        (lambda p: p.expire("soon"), "got 'soon'"),
        (lambda p: p.expire(rounds=1.5), "rounds must be a whole number >= 0, got 1.5"),
        (lambda p: p.expire(0, now="noon"), "now must be a date, or a finite number of seconds, got 'noon'"),
        (lambda p: p.expire(0, default=math.nan), "reward must be a finite number"),
        (lambda p: p.decide(ACTIONS, at=math.nan), "at must be a date, or a finite number of seconds, got nan"),
        (lambda p: p.override("a", [1.0]), "1 features, but this policy knows 3"),
        (lambda p: p.override("b", ACTIONS[0]), "no decision waits under key 'b'"),
        (lambda p: p.override("a", ACTIONS[0], -1), "number must be a whole number >= 0"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(call: Callable[[Policy], object], message: str) -> None:
    policy = OFUL(seed=0)
    policy.decide(ACTIONS, "a", at=1.0)
    before = policy.digest()
    with pytest.raises(ValueError, match=message):
        call(policy)
    assert policy.digest() == before


def test_the_action_really_taken_is_learned() -> None:
    policy, direct = OFUL(seed=0), OFUL(seed=0)
    for each in (policy, direct):
        each.learn(ACTIONS[0], 1.0)
    first = policy.decide(ACTIONS, "a").action
    direct.choose(ACTIONS)
    other = (first + 1) % len(ACTIONS)
    policy.override("a", ACTIONS[other].tolist(), other)
    assert policy.pending["a"][:2] == (other, None)
    policy.override("a", ACTIONS[other])
    assert policy.pending["a"][:2] == (None, None)
    policy.reward("a", 2.0)
    direct.learn(ACTIONS[other], 2.0)
    assert_array_equal(policy._buffer, direct._buffer)


def test_arms_and_nodes_are_overridden_by_name() -> None:
    arms = Disjoint(OFUL(seed=0), ["x", "y"])
    decision = arms.decide(np.ones(2), "k")
    other = "y" if decision.action == "x" else "x"
    assert arms.pending["k"].action == decision.action
    assert decision.probability == pytest.approx(0.5)
    arms.override("k", other)
    assert arms.pending["k"][:2] == (other, None)
    with pytest.raises(ValueError, match="no arm 'z'"):
        arms.override("k", "z")
    arms.reward("k", 1.0)
    assert arms.n_learned == {decision.action: 0, other: 1}
    arms.decide(np.ones(2), "later", at=0.0)
    assert arms.expire("1d", default=0.0) == ["later"]
    assert sum(arms.n_learned.values()) == 2
    assert arms.counts == (2, 0, 1, 1, 0, 1)
    graph = SpectralBandit([("a", "b"), ("b", "c")], 1.0, seed=0)
    assert isinstance(graph.decide("k"), Decision)
    graph.override("k", "c")
    assert graph.nodes[graph.pending["k"].action] == "c"
    assert graph.expire(rounds=0) == ["k"]
    assert (graph.n_pending, graph.counts.expired) == (0, 1)


def test_many_decisions_take_blocks_that_are_used_again_and_given_back() -> None:
    pending, rows = Pending(), np.random.default_rng(0).standard_normal((10_000, 2))
    for key, row in enumerate(rows):
        pending.add(pending.new_key(key), row, float(key), 0.5, key)
    for key in range(0, 10_000, 2):
        pending.drop(key, pending.slot(key))
    blocks = len(pending._blocks)
    for key in range(10_000, 15_000):
        pending.add(key, rows[key - 10_000], float(key), 0.5, key)
    assert len(pending._blocks) == blocks == 3
    for copied in (pending, pending.copy(), Pending.from_record(*_plain(pending), 2)):
        assert list(copied.slots) == [*range(1, 10_000, 2), *range(10_000, 15_000)]
        for key in (1, 9_999, 10_000, 14_999):
            assert_array_equal(copied.decision(key).row, rows[key % 10_000])
            assert copied.decision(key)[:4] == (key, 0.5, float(key), key)
    assert pending.before(7.5, 0) == [1, 3, 5, 7]
    for waiting in list(pending.slots):
        pending.drop(waiting, pending.slot(waiting))
    assert (len(pending), pending._blocks) == (0, [])


def _plain(pending: Pending) -> tuple[dict[str, Any], dict[str, Any]]:
    settings, arrays = pending.record(2)
    return settings, dict(arrays)


# Ctrl-C


def test_an_interrupt_is_before_or_after_a_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes just after the row was learned: then the decision waits no longer."""
    policy = OFUL(seed=0)
    policy.decide(ACTIONS, "a")
    policy.decide(ACTIONS, "b")
    loop = policy._learn_loop
    assert loop is not None

    def interrupted(*given: Any) -> int:
        loop(*given)
        raise KeyboardInterrupt

    object.__setattr__(policy, "_learn_loop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        policy.reward("a", 1.0)
    assert list(policy.pending) == ["b"]
    assert policy.counts.rewarded == policy.n_learned == 1
    object.__setattr__(policy, "_learn_loop", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        policy.reward("b", 1.0)
    assert list(policy.pending) == ["b"]
    assert threading.current_thread() is threading.main_thread()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.setattr(deciding, "as_time", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        policy.decide(ACTIONS, "c", at=1.0)
    assert list(policy.pending) == ["b"]


# Copies


@pytest.mark.parametrize(
    "make",
    [
        lambda: OFUL(seed=0),
        lambda: Disjoint(LinTS(seed=0), ["a", "b"]),
        lambda: SpectralBandit([("a", "b"), ("b", "c")], 1.0, seed=0),
        lambda: MetaOFUL(seed=0),
    ],
)
def test_bytes_are_what_files_hold(make: Callable[[], Any], tmp_path: Path) -> None:
    policy = make()
    policy.save(tmp_path / "policy.onward")
    assert policy.to_bytes() == (tmp_path / "policy.onward").read_bytes()
    again = type(policy).from_bytes(policy.to_bytes())
    assert again.to_bytes() == policy.to_bytes()
    assert again.digest() == policy.digest()
    with pytest.raises(StorageError, match="bytes: the file is truncated or altered"):
        type(policy).from_bytes(policy.to_bytes()[:-9] + b"123456789")
    with pytest.raises(StorageError, match="expected LinTS"):
        LinTS.from_bytes(policy.to_bytes())


def test_a_window_can_be_copied_however_full_it_is() -> None:
    policy = SWLinUCB(20, seed=0)
    for t in range(45):
        policy.learn(ACTIONS[t % 6], float(t))
        assert SWLinUCB.from_bytes(policy.to_bytes()).digest() == policy.digest()


# A user's classes


class Bonus(OFUL):
    """With parameters of its own, and an index in Python."""

    def __init__(self, bonus: float, names: tuple[str, ...] = (), *, seed: Any = None, **settings: Any) -> None:
        self.bonus = bonus
        super().__init__(lam=2.0 * bonus, seed=seed, **settings)
        self.names = names

    def index(self, actions: Any) -> Any:
        return super().index(actions) + 10.0 * self.bonus * np.arange(len(actions))


class Told(OFUL):
    """Says itself what it is made of."""

    def __init__(self, call: Callable[[float], float], seed: Any = None) -> None:
        super().__init__(lam=call(1.0), seed=seed)
        self.call = call

    @property
    def parameters(self) -> dict[str, Any]:
        return {"call": self.call(1.0)}


def _of(*parts: Any, **settings: Any) -> Any:
    class Of(Policy):
        def __init__(self, first: Any, *parts: Any, **settings: Any) -> None:
            super().__init__(*parts, **settings)
            self.first = first

    return Of(*parts, **settings)


def test_parameters_of_a_subclass_survive(tmp_path: Path) -> None:
    policy = Bonus(0.7, names=("a", "b"), sigma=0.5, seed=np.random.SeedSequence(1))
    assert policy.choose(ACTIONS) == np.argmax(policy.index(ACTIONS)) != np.argmax(OFUL.index(policy, ACTIONS))
    policy.decide(ACTIONS, "k")
    policy.save(tmp_path / "own.onward")
    again = load(tmp_path / "own.onward")
    assert type(again) is Bonus
    assert (again.bonus, list(again.names), again.lam, again.known.sigma) == (0.7, ["a", "b"], 1.4, 0.5)
    assert again.digest() == policy.digest()
    assert_array_equal(again.index(ACTIONS), policy.index(ACTIONS))
    with pytest.raises(AttributeError, match="bonus is fixed once a policy is made"):
        policy.bonus = 2.0
    assert "bonus=0.7" in repr(policy)
    parts = _of("first", Everything(), Optimistic(scale=0.5), known=Known(sigma=1.0, theta_bound=2.0))
    made = Policy.from_bytes(parts.to_bytes())
    assert (made.first, made.design) == ("first", parts.design)  # type: ignore[attr-defined]


def test_what_cannot_be_made_again_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot describe Bonus: its argument names=<object object at .*parameters"):
        Bonus(1.0, names=object()).save(tmp_path / "own.onward")  # type: ignore[arg-type]
    assert not (tmp_path / "own.onward").exists()
    assert Told(lambda x: 2.0 * x).describe()["call"] == 2.0


def test_a_class_cannot_take_the_name_of_another(tmp_path: Path) -> None:
    OFUL(lam=3.0, seed=0).save(tmp_path / "library.onward")

    def taken() -> type[Policy]:
        class OFUL(Policy):
            """Of a user, by chance."""

        return OFUL

    mine = taken()
    assert type(load(tmp_path / "library.onward")) is OFUL
    mine(seed=0).save(tmp_path / "mine.onward")
    assert type(load(tmp_path / "mine.onward")) is mine
    other = Bonus(0.5)
    data = other.to_bytes()
    name = f"{Bonus.__module__}.Bonus".encode()
    assert name in data


def test_a_class_that_is_not_known_here_is_named() -> None:
    description = Bonus(0.5).describe() | {"policy": "elsewhere.Bonus"}
    with pytest.raises(ValueError, match=r"made by the class elsewhere\.Bonus, which is not known here: .* imported"):
        Policy.described(description)
    assert isinstance(Policy.described(Bonus(0.5).describe() | {"policy": "Bonus"}), Bonus)  # earlier files
    with pytest.raises(ValueError, match="made of another design than the one in the file"):
        Policy.described(Bonus(0.5).describe() | {"design": {}})


class Cautious(OFUL):
    """Chooses by itself."""

    def choose(self, actions: Any, available: Any = None) -> int:
        return len(actions) - 1

    def probabilities(self, offered: Any, available: Any = None, samples: Any = None, with_error: bool = False) -> Any:
        return np.eye(len(offered))[-1]


def test_a_choice_of_one_s_own_is_what_is_decided() -> None:
    policy = Cautious(seed=0)
    policy.learn(ACTIONS[0], 1.0)
    for _ in range(2):
        assert policy.decide(ACTIONS)[:2] == (5, 1.0)
    policy.reward(0, 1.0)
    assert_array_equal(policy.pending[1].row, ACTIONS[5])
