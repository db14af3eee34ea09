"""From a decision to a value: choices with their probabilities, logs that are gone on with, and what is refused."""

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward import ForwardRegressor
from onward.bandits import (
    Disjoint,
    EpsilonGreedy,
    Greedy,
    LinUCB,
    LoggedData,
    LogWarning,
    LogWriter,
    Random,
    evaluate,
    replay_journal,
)
from onward.bandits.policy_value import Learn

RNG = np.random.default_rng(60)
LEARN: tuple[Learn, ...] = ("none", "all")
ACTIONS = RNG.standard_normal((5, 3))


@pytest.mark.parametrize("kind", ["actions", "arms"])
def test_a_choice_comes_with_its_probability_and_is_journaled(tmp_path: Path, kind: str) -> None:
    policy: EpsilonGreedy | Disjoint = EpsilonGreedy(0.5, seed=1)
    offered, mask = ACTIONS, np.array([True, False, True, True, True])
    if kind == "arms":
        policy, offered = Disjoint(EpsilonGreedy(0.5, seed=1), ["a", "b", "c", "d", "e"]), ACTIONS[0]
    places: list[object] = list(policy.arms) if isinstance(policy, Disjoint) else list(range(5))
    with policy.journal(tmp_path / "journal"):
        for available in (None, mask) * 10:
            expected = policy.probabilities(offered, available)
            chosen, probability = policy.choose_with_probability(offered, available)
            assert probability == pytest.approx(expected[places.index(chosen)])
            assert probability > 0
            if isinstance(policy, Disjoint):
                policy.learn(chosen, offered, 1.0)
            else:
                policy.learn(offered[chosen], 1.0)
    assert replay_journal(tmp_path / "journal").digest() == policy.digest()
    with pytest.raises(ValueError, match="available"):
        policy.choose_with_probability(offered, [True])


def test_a_choice_that_is_the_best_alone_is_certain() -> None:
    policy = LinUCB(1.0, seed=0)
    policy.learn(ACTIONS[0], 1.0)
    chosen, probability = policy.choose_with_probability(ACTIONS)
    assert (chosen, probability) == (policy.choose(ACTIONS), 1.0)


# Replay


def test_replay_warns_of_what_is_wrong_with_the_log_whatever_the_policy() -> None:
    rng = np.random.default_rng(61)
    n = 2000
    offered, taken = rng.standard_normal((n, 4, 2)), rng.integers(0, 4, n)
    reward = rng.random(n)
    right = evaluate(Random(seed=0), LoggedData(offered, taken, np.full(n, 0.25), reward), seed=0)
    assert right.warnings == ()
    certain = np.where(np.arange(n) % 10 < 6, 1.0, 0.25)
    rare = np.full(n, 0.25)
    rare[0] = 0.001
    for propensity, said in (
        (np.full(n, 0.5), "propensities in the log look too large"),
        (certain, "60% of the events had a propensity of 1"),
        (rare, "Replay counts"),
    ):
        with pytest.warns(LogWarning):
            value = evaluate(Random(seed=0), LoggedData(offered, taken, propensity, reward), seed=0)
        assert any(said in each for each in value.warnings)


# Logs that are gone on with


def test_a_log_that_was_closed_or_torn_is_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    with LogWriter(file) as log:
        for key in ("one", "two", 3, 0):
            log.write(0, ACTIONS, propensity=0.5, key=key)
        log.reward("one", np.True_)
    with file.open("a", encoding="utf-8") as torn:
        torn.write('{"taken": 1, "propensity": 0.5, "act')
    with LogWriter(file) as log:
        log.write(1, ACTIONS, propensity=0.5, key=0)  # keys may begin anew with a new process
        with pytest.raises(ValueError, match="a decision already waits under key 0"):
            log.write(0, ACTIONS, propensity=0.5, key=0)
        with pytest.raises(ValueError, match="no decision waits under key 'one'"):
            log.reward("one", 1.0)
        log.reward("two", 0.5)
        log.reward(np.int64(3), 0.25)
        log.reward(0, 0.125)
    with pytest.warns(LogWarning) as said:
        read = LoggedData.read(file)
    assert read.reward.tolist() == [1.0, 0.5, 0.25, 0.125]
    assert read.taken.tolist() == [0, 0, 0, 1]
    for part in ("1 line not written to the end (line 6)", "1 of 5 decisions have no reward"):
        assert any(part in str(each.message) for each in said)
    with file.open("a", encoding="utf-8") as torn:
        torn.write('{"taken": 1, "k')  # and left at that
    with pytest.warns(LogWarning) as said:
        assert len(LoggedData.read(file)) == 4
    assert any("2 lines not written" in str(each.message) for each in said)


def test_rewards_of_an_earlier_file_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"key": 1, "reward": 1.0}\n{"key": 2, "reward": 1.0}\n', encoding="utf-8")
    with LogWriter(file) as log:
        log.write(1, ACTIONS, 0.5, propensity=0.5, key=2)
    with pytest.warns(LogWarning, match="2 rewards of keys that no decision before has"):
        assert LoggedData.read(file).reward.tolist() == [0.5]


def test_what_does_not_fit_is_refused_when_it_is_written(tmp_path: Path) -> None:
    with LogWriter(tmp_path / "log.jsonl") as log:
        with pytest.raises(ValueError, match=r"probabilities say 0.2 of the action .* but propensity is 0.5"):
            log.write(0, ACTIONS, 1.0, propensity=0.5, probabilities=np.full(5, 0.2))
        with pytest.raises(ValueError, match=r"expected actions \(k, d\), got \["):
            log.write(0, [{"price": 1.0}, {"price": 2.0}], 1.0, propensity=0.5)  # type: ignore[arg-type]
    for name in ("log.jsonl", "log.parquet"):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            LogWriter(tmp_path / "none" / name)


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_arms_are_matched_by_name(tmp_path: Path, name: str) -> None:
    rng = np.random.default_rng(62)
    names = ["a", "b", "c"]
    with LogWriter(tmp_path / name, arms=names) as log:
        for _ in range(200):
            taken = int(rng.integers(3))
            log.write(names[taken], [1.0, rng.random()], float(taken == 2), propensity=1 / 3)
    read = LoggedData.read(tmp_path / name)
    assert read.arms == ("a", "b", "c")
    contexts = read.contexts
    assert contexts is not None
    turned = Disjoint(Greedy(seed=0), ["c", "a", "b"])
    for context in contexts:
        turned.learn("c", context, 1.0)  # of the others nothing is known: c is chosen, which earns 1
    straight = Disjoint(Greedy(seed=0), names)
    for context in contexts:
        straight.learn("c", context, 1.0)
    values = [evaluate(each, read, method="snips", learn=learn).value for each in (turned, straight) for learn in LEARN]
    assert values[:2] == values[2:]
    assert values[0] == 1.0
    with pytest.raises(ValueError, match=r"the log has arms \['a', 'b', 'c'\], but the policy has \[0, 1, 2\]"):
        evaluate(Disjoint(Greedy(), 3), read, method="snips")
    if name == "log.jsonl":
        with pytest.raises(ValueError, match=r"holds a log of arms \['a', 'b', 'c'\], got \['c', 'a', 'b'\]"):
            LogWriter(tmp_path / name, arms=["c", "a", "b"])
    plain = LoggedData.disjoint(contexts, 3, read.taken, read.propensity, read.reward)
    assert plain.arms is None
    assert evaluate(straight, plain, method="snips").value == values[0]  # by position


# Log files that lie

_EVENT = {"actions": [[1.0, 0.0], [0.0, 1.0]], "taken": 0, "propensity": 0.5, "reward": 1.0}
_SHARED = {"context": [1.0], "n_arms": 2, "taken": 0, "propensity": 0.5, "reward": 1.0}
_NAMES = [f"a{number}" for number in range(20_000)]
LYING: dict[str, list[Any]] = {
    "key that is a list": [_EVENT | {"key": [1]}] * 2,
    "reward of a key that is a dict": [_EVENT | {"key": "a"}, {"key": {}, "reward": 1}],
    "deep": ['{"actions":' + "[" * 100_000 + "]" * 100_000 + "}"],
    "many digits": ['{"actions":[[1,2]],"taken":0,"propensity":0.5,"reward":' + "1" * 5000 + "}"],
    "n_arms a list": [_SHARED | {"n_arms": [2]}] * 2,
    "n_arms infinite": [_SHARED | {"n_arms": float("inf")}] * 2,
    "n_arms text": [_SHARED | {"n_arms": "x"}] * 2,
    "n_arms half": [_SHARED | {"n_arms": 2.5}] * 2,
    "n_arms true": [_SHARED | {"n_arms": True}] * 2,
    "arms no JSON": [_SHARED | {"arms": "[oops"}] * 2,
    "arms deep": [_SHARED | {"arms": "[" * 100_000}] * 2,
    "arms lists": [_SHARED | {"arms": [[1], [2]]}] * 2,
    "arms differ": [_SHARED | {"n_arms": 20_000, "arms": _NAMES}, _SHARED | {"n_arms": 20_000, "arms": _NAMES[::-1]}],
    "arms of another number": [_SHARED | {"n_arms": 3, "arms": _NAMES}],
    "names": [{f"k{number}": 1 for number in range(50_000)} | {"actions": 1}],
    "reward beyond floats": [_EVENT | {"reward": 10**400}],
    "propensity": [_EVENT | {"propensity": 1e-300}] * 3,
    "reward": [_EVENT | {"reward": 1e149}] * 3,
    "long line": ["x" * 100_000],
}


@pytest.mark.parametrize("case", LYING)
def test_a_log_file_that_lies_is_refused_in_a_line(case: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [each if isinstance(each, str) else json.dumps(each) for each in LYING[case]]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"log\.jsonl: ") as caught:
        LoggedData.read(path)
    said = str(caught.value).removeprefix(str(path))
    assert type(caught.value) is ValueError
    assert len(said) < 600
    assert said.isprintable()


def test_arms_that_memory_does_not_hold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([json.dumps(_SHARED | {"n_arms": 10**9})] * 3))
    log = LoggedData.read(path)
    for method in ("ips", "dr", "dm", "replay"):
        with pytest.raises(ValueError, match="1,000,000,000 arms of 1 feature take"):
            evaluate(Greedy(seed=0), log, method=method)


class _Wild(ForwardRegressor):
    """A model whose predictions are beyond all rewards."""

    def predict_one(self, *args: Any, **kwargs: Any) -> float:
        return 1e200


def test_rewards_at_the_border_are_evaluated_and_wild_models_refused() -> None:
    log = LoggedData([[[1.0, 0.0], [0.0, 1.0]]] * 30, [0, 1] * 15, [1e-30, 0.5] * 15, [1e40, 1.0] * 15)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", LogWarning)
        for method in ("ips", "snips", "dr", "dm", "switch", "dros"):
            value = evaluate(Random(seed=0), log, method=method, seed=0)
            assert math.isfinite(value.value)
            assert not math.isnan(value.lower + value.upper)
        with pytest.raises(ValueError, match=r"finite numbers of at most 1e\+40, got another in event 0"):
            evaluate(Random(seed=0), log, method="dr", model=_Wild())
