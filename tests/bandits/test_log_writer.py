"""Logs that are written decision by decision, and read again."""

import json
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from onward.bandits.log_writer import LogWriter
from onward.bandits.logs import LoggedData
from onward.bandits.replay import LogWarning

Decided = namedtuple("Decided", ["action", "probability"])
RNG = np.random.default_rng(50)
SETS = [RNG.standard_normal((2 + t % 2, 3)) for t in range(6)]
TAKEN, REWARD = [0, 2, 1, 0, 0, 1], RNG.random(6).tolist()
PROPENSITY = [0.5, 0.25, 0.5, 0.75, 0.125, 1.0]


def write(path: Path, **more: Any) -> None:
    with LogWriter(path) as log:
        for t in range(6):
            log.write(Decided(TAKEN[t], PROPENSITY[t]), SETS[t], REWARD[t], key=t, time=100.0 + t, **more)
        assert log.written == 6


def same(log: LoggedData, order: Any = range(6)) -> None:
    assert len(log) == len(list(order))
    for place, t in enumerate(order):
        assert_array_equal(log.actions[place], SETS[t])
    assert_array_equal(log.taken, [TAKEN[t] for t in order])
    assert_array_equal(log.propensity, [PROPENSITY[t] for t in order])
    assert_array_equal(log.reward, [REWARD[t] for t in order])


@pytest.mark.parametrize("name", ["log.jsonl", "log.ndjson", "log.parquet", "log.pq"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    write(tmp_path / name)
    same(LoggedData.read(tmp_path / name))


def test_json_lines_are_appended_and_parquet_is_replaced(tmp_path: Path) -> None:
    for name, expected in (("log.jsonl", 12), ("log.parquet", 6)):
        write(tmp_path / name)
        write(tmp_path / name)
        assert len(LoggedData.read(tmp_path / name)) == expected
    record = json.loads((tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert (record["key"], record["time"], record["propensity"]) == (0, 100.0, 0.5)


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_rewards_come_later_or_not_at_all(tmp_path: Path, name: str) -> None:
    with LogWriter(tmp_path / name) as log:
        for t in range(6):
            log.write(TAKEN[t], SETS[t], key=f"visitor {t}", propensity=PROPENSITY[t])
        for t in (4, 0, 1, 2):
            log.reward(f"visitor {t}", REWARD[t])
        with pytest.raises(ValueError, match=r"no decision waits under key 'visitor 4' \(2 wait\)"):
            log.reward("visitor 4", 1.0)
    with pytest.warns(LogWarning, match="2 of 6 decisions have no reward and are left out"):
        same(LoggedData.read(tmp_path / name), [0, 1, 2, 4])


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_arms_and_contexts(tmp_path: Path, name: str) -> None:
    contexts = RNG.standard_normal((5, 2))
    with LogWriter(tmp_path / name, arms=["a", "b", "c"]) as log:
        for t in range(5):
            log.write("abc"[t % 3], contexts[t], 1.0, probabilities=[0.5, 0.3, 0.2])
    read = LoggedData.read(tmp_path / name)
    assert read.contexts is not None
    assert_array_equal(read.contexts, contexts)
    assert_array_equal(read.actions.sizes, [3] * 5)
    assert_array_equal(read.taken, [0, 1, 2, 0, 1])
    assert_array_equal(read.propensity, [0.5, 0.3, 0.2, 0.5, 0.3])
    assert read.probabilities is not None
    assert_array_equal(read.probabilities[3], [0.5, 0.3, 0.2])


def test_a_decision_brings_its_key(tmp_path: Path) -> None:
    full = namedtuple("full", ["action", "probability", "key"])
    with LogWriter(tmp_path / "log.jsonl") as log:
        log.write(full(1, 0.5, "visitor 7"), SETS[0])
        log.reward("visitor 7", 0.25)
    assert LoggedData.read(tmp_path / "log.jsonl").reward[0] == 0.25


def test_tables_in_json_lines_and_chances_in_every_row(tmp_path: Path) -> None:
    wide = pl.DataFrame({"x": [0.5, 1.5], "taken": [1, 0], "propensity": [0.3, 0.7], "reward": [1.0, 0.0]})
    wide.write_ndjson(tmp_path / "wide.jsonl")
    log = LoggedData.read(tmp_path / "wide.jsonl", n_arms=2)
    assert_array_equal(log.propensity, [0.3, 0.7])
    long = {"event": [1, 1, 2, 2], "x": [0.0, 1.0, 2.0, 3.0], "taken": [1, 0, 0, 1], "reward": [1.0, None, None, 0.0]}
    whole = LoggedData.from_frame(pl.DataFrame(long | {"propensity": [0.25, 0.75, 0.5, 0.5]}))
    assert whole.probabilities is not None
    assert_array_equal(whole.probabilities[0], [0.25, 0.75])
    for others in ([0.25, None, None, 0.5], [0.25, 0.5, 0.5, 0.5]):
        assert LoggedData.from_frame(pl.DataFrame(long | {"propensity": others})).probabilities is None


BAD: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
    ((2, np.eye(2), 1.0), {"propensity": 0.5}, "a position, 0 … 1, got 2"),
    ((0, np.ones(2), 1.0), {"propensity": 0.5}, r"expected actions \(k, d\) of finite numbers, got shape \(2,\)"),
    ((0, np.eye(2), 1.0), {}, r"propensity must be a number from 1e-30 to 1, got None"),
    ((0, np.eye(2), 1.0), {"propensity": 0.0}, r"propensity must be a number from 1e-30 to 1, got 0.0"),
    ((0, np.eye(2), float("nan")), {"propensity": 0.5}, "reward must be a finite number, got nan"),
    ((0, np.eye(2)), {"propensity": 0.5}, "expected a reward, or a key by which it comes later, got neither"),
    ((0, np.eye(2)), {"propensity": 0.5, "key": 1.5}, "key must be text or a whole number, got 1.5"),
    ((0, np.eye(2)), {"probabilities": [0.5, 0.6], "key": 1}, "2 numbers >= 0 that sum to 1"),
]


@pytest.mark.parametrize(("arguments", "settings", "message"), BAD)
def test_what_is_not_written(tmp_path: Path, arguments: Any, settings: Any, message: str) -> None:
    with LogWriter(tmp_path / "log.jsonl") as log, pytest.raises(ValueError, match=message):
        log.write(*arguments, **settings)
    assert (tmp_path / "log.jsonl").read_text(encoding="utf-8") == ""


def test_what_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    decision = {"taken": 0, "propensity": 0.5, "actions": [[1.0], [2.0]]}
    for lines, message in (
        ([], "at least one event, got none"),
        (["{"], "line 1 is not JSON"),
        ([json.dumps(decision)], "at least one event with a reward, got none"),
        ([json.dumps(decision | {"reward": 1.0}), "[1]"], r"line 2 holds '\[1\]', expected a JSON object"),
        (
            [json.dumps(decision | {"reward": 1.0}), '{"keys": 7, "reward": 1}'],
            "record 2 has no 'taken' and is no reward",
        ),
        ([json.dumps(decision | {"reward": 1.0, "taken": 5})], "log.jsonl: taken must be the position"),
        ([json.dumps({"taken": 0, "propensity": 0.5, "reward": 1, "context": [1.0]})], "record 1 has n_arms=None"),
    ):
        file.write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            LoggedData.read(file)
    with pytest.raises(ValueError, match=r"expected a name that ends in \.jsonl"):
        LogWriter(tmp_path / "log.csv")
    log = LogWriter(file)
    log.close()
    with pytest.raises(ValueError, match="this log is closed"):
        log.write(0, np.eye(2), 1.0, propensity=0.5)


def test_probabilities_must_fit() -> None:
    for wrong, message in (
        ([[0.5, 0.6], [0.5, 0.5]], "probabilities of event 0 must be 2 numbers >= 0 that sum to 1"),
        ([[0.5, 0.5], [0.7, 0.3]], "probabilities of event 1 say 0.3 of the action that was taken, but its prop"),
        ([[0.5, 0.5]], "probabilities must be of 2 events, as actions are, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            LoggedData(np.ones((2, 2, 1)), [0, 1], [0.5, 0.5], [1.0, 0.0], wrong)
    rounding = LoggedData(np.ones((2, 2, 1)), [0, 1], [1.0 + 1e-12, 0.5], [1.0, 0.0])
    assert rounding.propensity.max() == 1.0
    with pytest.raises(ValueError, match=r"got 0 in event 0 \(2 of 2 events are wrong\)"):
        LoggedData(np.ones((2, 2, 1)), [0, 1], [0.0, 1.5], [1.0, 0.0])


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_nothing_is_written_that_would_make_the_log_unreadable(tmp_path: Path, name: str) -> None:
    path, actions = tmp_path / name, [[1.0, 0.0], [0.0, 1.0]]
    with LogWriter(path) as log:
        log.write(0, actions, propensity=0.5, key="1")
        usual: dict[str, Any] = {"offered": actions, "reward": 1.0}
        for wrong, given in (
            ("propensity must be", {"propensity": 1e-31}),
            ("propensity must be", {"probabilities": [1e-31, 1.0]}),
            ("reward must be a number of at most 1e", {"propensity": 0.5, "reward": -1e41}),
            ("of 2 features, as in this log so far, got 3", {"propensity": 1.0, "offered": [[1.0, 2.0, 3.0]]}),
        ):
            with pytest.raises(ValueError, match=wrong):
                log.write(0, **(usual | given))
        with pytest.raises(ValueError, match="reward must be a number of at most 1e"):
            log.reward("1", 1e41)
        log.reward("1", 1.0)
        log.write(1, actions, 2.0, propensity=0.5, key=1)
        log.write(1, actions, 3.0, propensity=0.5, key=1 << 64)  # of Parquet, a column holds text or whole numbers
    assert LoggedData.read(path).reward.tolist() == [1.0, 2.0, 3.0]
    if path.suffix == ".jsonl":
        with LogWriter(path) as log, pytest.raises(ValueError, match="of 2 features, as in this log so far, got 1"):
            log.write(0, [[1.0]], 1.0, propensity=1.0)
