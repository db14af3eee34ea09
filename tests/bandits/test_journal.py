"""A journal gives the policy again, to the last bit; and what is wrong with one is said."""

import json
import multiprocessing
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward.bandits import (
    OFUL,
    Disjoint,
    EpsilonGreedy,
    LinTS,
    Policy,
    SWLinUCB,
    read_journal,
    replay_journal,
)
from onward.regression import RidgeRegressor
from onward.storage import StorageError

MAKES: dict[str, Callable[[], Any]] = {
    "OFUL": lambda: OFUL(seed=0),
    "LinTS": lambda: LinTS(seed=0),
    "EpsilonGreedy": lambda: EpsilonGreedy(0.3, seed=0),
    "SWLinUCB": lambda: SWLinUCB(20, seed=1),
    "Disjoint": lambda: Disjoint(OFUL(seed=0), 3),
    "Disjoint LinTS": lambda: Disjoint(LinTS(seed=0), ["a", "b"]),
}


def play_rounds(policy: Any, n: int, seed: int = 1) -> None:
    """Everything that can be done to a policy, with ties among it."""
    rng, arms = np.random.default_rng(seed), isinstance(policy, Disjoint)
    for i in range(n):
        table = rng.integers(-1, 2, 3).astype(float) if arms else rng.integers(-1, 2, (4, 3)).astype(float)
        row = (policy.arms[0], table) if arms else (table[0],)
        key = policy.decide(table, at=float(i)).key
        policy.choose(table, None if i % 4 else [True] * (len(policy.arms) if arms else 4))
        policy.learn(*row, 0.1)
        if i % 3 == 0:
            policy.reward(key, float(rng.standard_normal()))
        elif i % 7 == 1:
            policy.cancel(np.int64(key))
        elif i % 7 == 2:
            policy.override(key, policy.arms[0] if arms else table[1])
        if i % 10 == 9:
            policy.expire(12, default=0.5, now=float(i))
            policy.expire(rounds=9)
            policy.reward_many(dict.fromkeys(list(policy.pending)[:2], 0.25))
        if i == n // 2:
            policy.restart()
            policy.reseed(4)
        if arms and i == n // 3:
            policy.add_arm(f"new {seed}")
            policy.remove_arm(policy.arms[1])


@pytest.mark.parametrize("name", MAKES)
def test_a_replay_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    policy, without, path = MAKES[name](), MAKES[name](), tmp_path / "journal"
    play_rounds(policy, 10)
    play_rounds(without, 10)
    start = policy.to_bytes()
    with policy.journal(path):
        play_rounds(policy, 40, seed=2)
    play_rounds(without, 40, seed=2)
    assert policy.digest() == without.digest()  # to write it down changes nothing
    for again in (replay_journal(path), replay_journal(path, type(policy).from_bytes(start))):
        assert again.digest() == policy.digest()
        assert again.counts == policy.counts
        assert list(again.pending) == list(policy.pending)
        play_rounds(again, 5, seed=3)
    assert replay_journal(path).digest() == policy.digest()


def test_what_cannot_be_told_is_written_as_it_is(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((10, 2))
    model = RidgeRegressor(lam=0.1, fit_intercept=False).fit(X, X[:, 0])
    for policy in (OFUL(seed=0), Disjoint(OFUL(seed=0), ["a", "b"])):
        path = tmp_path / type(policy).__name__
        with policy.journal(path):
            if isinstance(policy, Policy):
                policy.start_from(model)
                policy.learn_many(X, X[:, 1])
            else:
                policy.start_from("a", model)
                policy.learn_many(["a", "b"] * 5, X, X[:, 1])
        assert replay_journal(path).digest() == policy.digest()


def test_a_journal_is_gone_on_with(tmp_path: Path) -> None:
    policy, path = LinTS(seed=0), tmp_path / "journal"
    with policy.journal(path):
        play_rounds(policy, 5)
    with policy.journal(path):
        play_rounds(policy, 5, seed=2)
        with pytest.raises(ValueError, match=r"writes to the journal .* already: close it first"):
            policy.journal(tmp_path / "other")
    again = replay_journal(path)
    with again.journal(path, fsync=True) as journal:
        play_rounds(again, 5, seed=3)
        assert journal.n_records > 5
    assert replay_journal(path).digest() == again.digest()
    before = path.read_bytes()
    for other in (policy, LinTS(seed=1)):
        with pytest.raises(ValueError, match="is the journal of another policy, or does not end where this one is"):
            other.journal(path)
        with pytest.raises(StorageError, match="is the journal of another policy, or of this one at another time"):
            replay_journal(path, other)
    assert path.read_bytes() == before
    policy.learn(np.ones(3), 1.0)  # goes on without one
    with pytest.raises(ValueError, match="it is closed"):
        journal.append("learn", {})


def written(path: Path) -> Any:
    policy = OFUL(seed=0)
    policy.learn(np.ones(3), 1.0)
    policy.journal(path)  # and the process dies
    play_rounds(policy, 6)
    return policy


def test_a_record_that_was_torn_is_left_out_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path)
    whole, records = path.read_bytes(), list(read_journal(path))
    end = len(whole)
    for cut in (1, 5, 11, 12, 13, 30):
        path.write_bytes(whole[: end - cut])
        with pytest.warns(UserWarning, match="the last record was not written to its end"):
            assert len(list(read_journal(path))) < len(records)
    path.write_bytes(whole + bytes(100))  # room that the system gave, and nothing written to it
    with pytest.warns(UserWarning, match="100 bytes of it are left out"):
        assert len(list(read_journal(path))) == len(records)
    path.write_bytes(whole[:-7])
    with pytest.warns(UserWarning, match="not written to its end"):
        policy = replay_journal(path)
    with policy.journal(path):
        play_rounds(policy, 3, seed=5)
    assert replay_journal(path).digest() == policy.digest()  # without a warning


def test_what_is_altered_is_an_error_that_says_where(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    policy = written(path)
    assert replay_journal(path).digest() == policy.digest()
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.choice(len(whole) - 400, 60, replace=False):
        altered = bytearray(whole)
        altered[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(altered)
        with pytest.raises(StorageError, match=r"record \d+, at byte \d+ of \d+, is altered|not a journal of onward"):
            replay_journal(path)
    path.write_bytes(b"")
    with pytest.raises(StorageError, match="not a journal"):
        replay_journal(path)
    path.write_bytes(whole[:8])
    with pytest.raises(StorageError, match="the journal is empty"):
        replay_journal(path)


def test_what_does_not_come_out_again_is_an_error(tmp_path: Path) -> None:
    path, policy = tmp_path / "journal", OFUL(seed=0)
    journal = policy.journal(path)
    policy.learn(np.ones(2), 1.0)
    journal.append("choose", {"actions": np.eye(2), "available": None}, 7)
    journal.close()
    with pytest.raises(StorageError, match=r"record 2: choose gives \d, but it gave 7"):
        replay_journal(path)
    path.unlink()
    policy = OFUL(seed=0)
    journal = policy.journal(path)
    policy._buffer = policy.buffer_for(np.ones((1, 2)))
    policy._dimension = 2
    policy._rng.random()
    journal.close()
    with pytest.raises(StorageError, match="something was done unnoted"):
        replay_journal(path)
    path.unlink()
    policy = OFUL(seed=0)
    with policy.journal(path) as journal:
        journal.append("__init__", {})
    with pytest.raises(StorageError, match="tells of '__init__', expected one of cancel"):
        replay_journal(path)


def test_records_can_be_read(tmp_path: Path) -> None:
    path, policy, actions = tmp_path / "journal", OFUL(seed=0), np.eye(3)
    policy.choose(actions)
    with policy.journal(path):
        for key in ("a", "b"):
            policy.decide(actions, key, at=1.5)
        policy.reward("a", 0.5)
    begin, first, second, reward, end = read_journal(path)
    assert (begin.done, end.done) == ("begin", "end")
    assert (first.done, first.given["key"], first.given["at"]) == ("decide", "a", 1.5)
    assert first.result[2] == "a"
    assert 0.0 < first.result[1] <= 1.0
    np.testing.assert_array_equal(second.given["actions"], actions)
    assert reward == (3, "reward", {"key": "a", "reward": 0.5}, None)
    sizes = path.stat().st_size
    policy.journal(tmp_path / "again")
    assert policy._journal is not None
    for number in range(20):
        policy.decide(actions, number)  # the same table is written once
    policy._journal.close()
    assert (tmp_path / "again").stat().st_size < sizes + 20 * 250


def test_a_disk_that_is_full_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = OFUL(seed=0)
    journal = policy.journal(tmp_path / "journal")
    monkeypatch.setattr(os, "write", lambda *_: 1)
    with pytest.raises(OSError, match=r"could not be written: no room for a whole record\. What was done is done"):
        policy.learn(np.ones(2), 1.0)
    with pytest.raises(ValueError, match="it ends before a learn that was done"):
        policy.learn(np.ones(2), 1.0)
    monkeypatch.undo()
    journal.close()
    policy.learn(np.ones(2), 1.0)


def _try_in_child(policy: Policy, path: str, results: Any) -> None:
    try:
        policy.learn(np.ones(3), 1.0)
        results.put("learned")
    except ValueError as error:
        results.put(str(error))
    with policy.journal(path):
        policy.learn(np.ones(3), 1.0)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes do not fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_worker_leaves_the_journal_to_its_parent(tmp_path: Path) -> None:
    policy = OFUL(seed=0)
    with policy.journal(tmp_path / "journal"):
        policy.learn(np.ones(3), 1.0)
        context = multiprocessing.get_context("fork")
        results = context.SimpleQueue()
        worker = context.Process(target=_try_in_child, args=(policy, str(tmp_path / "child"), results))
        worker.start()
        assert "it belongs to the process that this one was forked from" in results.get()
        worker.join(timeout=30)
        policy.learn(np.ones(3), 1.0)
    assert replay_journal(tmp_path / "journal").digest() == policy.digest()
    assert replay_journal(tmp_path / "child").n_learned == 3


# Journals with right checksums that lie


def _records(path: Path) -> list[tuple[dict[str, Any], bytes]]:
    data, at, found = path.read_bytes(), 8, []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        contents = data[at + 12 : at + 12 + length]
        (header,) = struct.unpack_from("<I", contents)
        found.append((json.loads(contents[4 : 4 + header]), contents[4 + header :]))
        at += 12 + length
    return found


def _write_records(path: Path, records: list[tuple[Any, bytes]]) -> None:
    out = [b"\x89ONWLOG\n"]
    for header, rest in records:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        contents = struct.pack("<I", len(text)) + text + rest
        frame = struct.pack("<II", len(contents), zlib.crc32(contents))
        out.append(frame + struct.pack("<I", zlib.crc32(frame)) + contents)
    path.write_bytes(b"".join(out))


LIES: list[tuple[int, Any]] = [
    (0, {"done": "choose", "given": 3}),
    (0, {"done": "begin", "given": {"state": 3, "digest": "x"}}),
    (0, {"done": "begin", "given": {"state": {"array": ["f", 10**30]}}}),
    (0, {"done": "begin", "given": {"state": {"array": ["q", 3]}}}),
    (0, {"done": "begin", "given": {"state": {"again": ["u", 3]}}}),
    (0, [1]),
    (0, b'{"given":' + b"[" * 100_000),
    (1, {"done": "x" * 50_000, "given": {}}),
    (1, {"done": "add_arm", "given": {"arm": "x"}}),
    (1, {"done": "learn", "given": {"x": None, "y" * 50_000: 1}}),
    (1, {"done": "reward_many", "given": {"keys": 3, "values": 4}}),
    (1, {"done": "choose", "given": {"actions": "\x1b[31m" * 9_000}}),
    (1, {"done": "state", "given": {"state": None}}),
    (1, {"done": ["state"], "given": {}}),
    (1, {"done": "expire", "given": {"before": "x" * 50_000}}),
]


@pytest.mark.parametrize("case", range(len(LIES)))
def test_a_journal_that_lies_is_refused_in_a_line(case: int, tmp_path: Path) -> None:
    path, policy = tmp_path / "policy.journal", OFUL(seed=0)
    with policy.journal(path):
        policy.learn([1.0, 0.0], 0.5)
    records: list[tuple[Any, bytes]] = [*_records(path)]
    _write_records(path, records)
    assert replay_journal(path).digest() == policy.digest()
    place, lie = LIES[case]
    records[place] = lie, records[place][1]
    _write_records(path, records)
    with pytest.raises(StorageError) as caught:
        replay_journal(path)
    said = str(caught.value).removeprefix(str(path))
    assert len(said) < 600
    assert said.isprintable()


def test_a_journal_that_begins_with_another_model_is_refused(tmp_path: Path) -> None:
    state = RidgeRegressor().fit(np.eye(2), [1.0, 2.0]).to_bytes()
    header = {"done": "begin", "given": {"digest": "x", "state": {"array": ["u", len(state)]}}}
    _write_records(tmp_path / "j", [(header, state)])
    with pytest.raises(StorageError, match="holds a RidgeRegressor, expected a policy"):
        replay_journal(tmp_path / "j")
