"""Decisions count in the order in which they were made, so that what is told at any time is true of them."""

import asyncio
import random
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from onward import RidgeRegressor
from onward.bandits import LinUCB
from onward.service import Action, Loop, LoopConfig, Model, ModelConfig, RewardRule, snapshots, waiting
from onward.service.entries import Decide, Entry, Expire, Forget, Reward
from onward.service.evaluation import judged_decisions
from onward.service.event_status import _ended
from onward.service.request_metrics import RequestMetrics
from onward.service.request_types import DecideRequest, RewardRequest
from onward.service.service_engine import Service
from onward.service.store import open_store
from onward.storage import StorageError

HOUR = 3600.0
ACTIONS = [Action("a", {"x": 1.0}), Action("b", {"x": -1.0})]


def clicks_only(*, default: float | None = 0.0, wait: float = 2 * HOUR, **more: Any) -> LoopConfig:
    return LoopConfig(policy={"name": "LinUCB", "seed": 1}, reward=RewardRule(wait=wait, default=default), **more)


def played(config: LoopConfig, share: Any, hours: float, seed: int = 0) -> tuple[list[Entry], list[float]]:
    """Entries of a loop whose readers click, `share(hour)` of them, after some minutes; and what each decision got."""
    lots, loop, entries = random.Random(seed), Loop("l", config), []
    calls: list[tuple[float, int, str]] = []
    outcomes: list[float] = []
    for i in range(int(hours * 120)):
        at = i * 30.0
        calls.append((at, 0, f"e{i}"))
        outcomes.append(float(lots.random() < share(at / HOUR)))
        if outcomes[-1]:
            calls.append((at + lots.uniform(1.0, 600.0), 1, f"e{i}"))
    calls += [(i * 60.0, 2, "") for i in range(int(hours * 60))]
    for at, kind, event in sorted(calls):
        entry = Entry("l", Expire(), at=at)
        if kind == 0:
            entry = loop.propose(event, {}, ACTIONS, at=at)
        elif kind == 1:
            entry = loop.propose_reward(event, 1.0, at=at)
        elif not loop.due(at):
            continue
        entries.append(msgspec.structs.replace(entry, seq=loop.seq + 1))
        loop.fold(entries[-1])
    return entries, outcomes


def folded(config: LoopConfig, entries: list[Entry], upto: float = np.inf) -> Loop:
    loop = Loop("l", config)
    for entry in entries:
        if entry.at <= upto:
            loop.fold(entry)
    return loop


def test_means_are_those_of_the_first_decisions_at_any_time() -> None:
    config = clicks_only()
    entries, outcomes = played(config, lambda hour: 0.1, hours=4.0)
    loop = Loop("l", config)
    for entry in entries:
        loop.fold(entry)
        sums = loop.statistics.sums
        assert sums.mean == pytest.approx(np.mean(outcomes[: sums.rewards]) if sums.rewards else 0.0, abs=1e-12)
        assert sums.rewards + loop.in_order.held.__len__() == loop.statistics.counts()["learned"]
    told = loop.statistics.counts()["reward"]
    assert told["low"] is None or told["low"] < 0.1 < told["high"]
    assert sums.rewards == pytest.approx(240, abs=10)  # those of the first two hours of four
    assert loop.summary()["held"] == sum(map(int, outcomes[sums.rewards :]))


def test_without_a_default_rewards_count_as_they_come() -> None:
    config = clicks_only(default=None)
    loop = folded(config, played(config, lambda hour: 0.2, hours=1.0)[0])
    assert loop.statistics.sums.rewards == loop.statistics.counts()["learned"] > 0
    assert not loop.in_order.held


def test_snapshots_hold_what_is_not_counted_yet() -> None:
    config = clicks_only(wait=HOUR)
    entries, _ = played(config, lambda hour: 0.3, hours=2.5)
    whole, at = folded(config, entries), 2 * len(entries) // 3
    part = Loop.from_bytes(folded(config, entries[:at]).to_bytes())
    assert part.in_order.held
    for entry in entries[at:]:
        part.fold(entry)
    assert part.digest() == whole.digest()


def test_the_alarm_sees_that_nobody_clicks_any_more() -> None:
    config = clicks_only(wait=HOUR / 2)
    entries, _ = played(config, lambda hour: 0.4 if hour < 6.0 else 0.0, hours=12.0)
    assert folded(config, entries, 6 * HOUR).statistics.counts()["changes"] == 0
    assert folded(config, entries).statistics.counts()["changes"] >= 1


def test_only_decisions_whose_wait_is_over_are_judged() -> None:
    config = clicks_only()
    entries, outcomes = played(config, lambda hour: 0.1, hours=4.0)
    judged = judged_decisions(entries, config)
    assert sorted(judged.rewards) == sorted(outcomes[: len(judged.rewards)])
    assert len(judged.rewards) + judged.pending == len(outcomes)
    assert judged.left_out == 0
    assert judged_decisions([entry for entry in entries if entry.at < HOUR], config).rewards == []
    counted = judged_decisions(entries, clicks_only(default=None))
    assert counted.rewards == [1.0] * len(counted.rewards)
    assert counted.pending == 0


def test_too_many_at_a_time_are_chosen_before_their_reward_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_MOST_IN_ORDER", 50)
    config = clicks_only(wait=HOUR)
    entries, _ = played(config, lambda hour: 0.3, hours=6.0)
    loop = folded(config, entries)
    told = loop.statistics.counts()
    assert told["uncounted"] > 100
    assert told["reward"]["mean"] == pytest.approx(0.3, abs=0.12)
    assert len(loop.in_order.held) <= 50
    again = Loop.from_bytes(folded(config, entries[:500]).to_bytes())
    for entry in entries[500:]:
        again.fold(entry)
    assert again.digest() == loop.digest()


def test_what_is_forgotten_is_not_counted() -> None:
    loop = Loop("l", clicks_only())
    for event in ("e1", "e2"):
        loop.decide(event, {}, ACTIONS, at=0.0)
    loop.reward("e2", 1.0, at=1.0)
    assert list(loop.in_order.held) == ["e2"]
    loop.fold(Entry("l", Forget(["e2"]), at=2.0))
    loop.expire(3 * HOUR)
    assert loop.statistics.sums.rewards == 1
    assert loop.statistics.sums.mean == 0.0


def test_one_entry_ends_no_more_than_it_says() -> None:
    loop = Loop("l", clicks_only())
    for i in range(5):
        loop.decide(f"e{i}", {}, ACTIONS, at=float(i))
    assert loop.fold(Entry("l", Expire(2), at=9 * HOUR)).expired == 2
    assert list(loop.waiting.by_event) == ["e2", "e3", "e4"]
    assert loop.due(9 * HOUR)


# What the application decides


def test_where_the_application_decides_the_ranking_is_its_own() -> None:
    loop = Loop("l", LoopConfig(policy={"name": "LinTS", "seed": 3}, mode="apprentice"))
    actions = [Action(each, {"x": i / 6}) for i, each in enumerate("abcdef")]
    for event in ("x", "y", "z"):
        assert [each.id for each in loop.decide(event, {}, actions, k=3).ranking] == list("abcdef")
    answer = loop.decide("w", {}, actions, k=3, taken="d", excluded=["b"])
    assert [each.id for each in answer.ranking] == list("dacef")


def test_who_decided_is_told_by_the_decision_not_by_the_settings_of_later() -> None:
    loop = Loop("l", LoopConfig(policy={"name": "LinUCB"}, mode="online"))
    proposed = loop.propose("e", {}, ACTIONS, at=0.0)
    loop.config = msgspec.structs.replace(loop.config, mode="apprentice")  # changed before it was written
    loop.fold(proposed)
    assert not loop.waiting.by_event["e"].is_own
    assert loop.propose("f", {}, ACTIONS, at=1.0).content.is_own  # type: ignore[union-attr]
    assert judged_decisions([proposed, Entry("l", Reward(1.0), "e", 1.0)], loop.config).is_online


def test_a_reward_that_came_late_is_late_for_ever() -> None:
    loop = Loop("l", clicks_only(wait=10.0))
    decided = loop.propose("e", {}, ACTIONS, at=0.0)
    assert _ended(loop, [decided, Entry("l", Reward(1.0), "e", 11.0)]) == "late"
    assert _ended(loop, [decided, Entry("l", Reward(1.0), "e", 9.0)]) == "already"


# Snapshots that cannot be read


def test_a_loop_whose_snapshot_is_damaged_is_made_from_its_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.db"

    async def work() -> None:
        digests = []
        for round_ in range(3):
            service = await Service.start(open_store(f"sqlite:///{path}"))
            if not round_:
                await service.make("news", clicks_only())
            digests.append(service.loops.by_name["news"].current.digest())
            await service.decide("news", [DecideRequest(ACTIONS, event_id=f"e{round_}")])
            await service.reward("news", [RewardRequest(f"e{round_}", 1.0)])
            digests.append(service.loops.by_name["news"].current.digest())
            await service.stop()
            with sqlite3.connect(path) as database:  # the latest snapshot, and then all of them
                which = "(SELECT max(seq) FROM snapshots)" if not round_ else "seq"
                database.execute(
                    f"UPDATE snapshots SET state = CAST(x'00' || substr(state, 2) AS BLOB) WHERE seq = {which}"
                )
        assert digests[1] == digests[2]
        assert digests[3] == digests[4]

    asyncio.run(work())
    assert "is passed over, as it cannot be read" in caplog.text


@pytest.mark.parametrize(
    "forge",
    [
        lambda rest: rest.update(alarm=LinUCB(seed=1).to_bytes()),
        lambda rest: rest["sums"].__setitem__(2, float("nan")),
        lambda rest: rest["sums"].__setitem__(7, float("inf")),
        lambda rest: rest.update(seq=-1),
        lambda rest: rest["waiting"]["e2"].__setitem__(5, float("nan")),
        lambda rest: rest["waiting"]["e2"].__setitem__(4, b"abc"),
        lambda rest: rest["waiting"]["e2"].__setitem__(4, bytes(800)),
        lambda rest: rest["config"].update(policy={"name": "nobody"}),
        lambda rest: rest["config"]["reward"].update(wait="for ever"),
        lambda rest: rest.update(features=[]),
        lambda rest: rest.update(finished={"e": "x" * 50_000}),
        lambda rest: rest["sums"].__setitem__(2, 5e-324),  # the width of bins
        lambda rest: rest["sums"].__setitem__(11, -1.0),  # a mean of squares
        lambda rest: rest["sums"][1][0].__setitem__(1, -1),  # decisions in a bin
        lambda rest: rest["sums"][4].append([1.0, -1e300]),  # a reward whose square overflows
        lambda rest: rest["waiting"]["e2"].__setitem__(10, [[0.5, 0.5], [0.5]]),  # scales, which compiled code takes
        lambda rest: rest["waiting"]["e2"].__setitem__(10, [[0.1] * 9, [0.1] * 9]),
    ],
)
def test_forged_snapshots_are_refused(forge: Any) -> None:
    loop = Loop("l", clicks_only())
    for event in ("e1", "e2"):
        loop.decide(event, {}, ACTIONS, at=0.0)
    loop.reward("e1", 1.0, at=1.0)
    snapshot = snapshots.unpack(loop.to_bytes(), snapshots.Snapshot)
    rest = msgspec.msgpack.decode(snapshot.rest)
    assert Loop.from_bytes(snapshots.pack(snapshot)).digest() == loop.digest()
    forge(rest)
    forged = snapshots.Snapshot(snapshot.learner, snapshot.shadow, msgspec.Raw(msgspec.msgpack.encode(rest)))
    with pytest.raises(StorageError) as refused:
        Loop.from_bytes(snapshots.pack(forged))
    assert len(str(refused.value)) < 700


@pytest.mark.parametrize(
    "changed",
    [
        {"version": -1},
        {"version": 0},
        {"features": [("other", "other")]},
        {"config": ModelConfig(learner="ridge", settings={"lamb": 1.0})},
        {"config": ModelConfig(learner="ridge", level=0.5)},  # of other intervals
        {"config": ModelConfig(learner="forward")},
        {"learner": RidgeRegressor().fit([[0.0], [1.0]], [[1.0, 2.0], [2.0, 1.0]]).to_bytes()},
    ],
)
def test_forged_snapshots_of_models_are_refused(changed: dict[str, Any]) -> None:
    model = Model("m", ModelConfig(learner="ridge"))
    model.fold(model.propose_learn([{"a": 1.0}, {"a": 2.0, "b": 1.0}], [1.0, 2.0], at=0.0))
    snapshot = snapshots.unpack(model.to_bytes(), snapshots.ModelSnapshot)
    assert Model.from_bytes(snapshots.pack(snapshot)).digest() == model.digest()
    with pytest.raises(StorageError):
        Model.from_bytes(snapshots.pack(msgspec.structs.replace(snapshot, **changed)))


def test_scales_of_a_log_that_are_none_are_left_out() -> None:
    loop = Loop("l", clicks_only())
    entry = loop.propose("e", {}, ACTIONS, at=0.0)
    assert isinstance(entry.content, Decide)
    wrong = msgspec.structs.replace(entry.content, scales=([0.1] * 9, [1e300]))  # compiled code would read beyond
    loop.fold(msgspec.structs.replace(entry, content=wrong))
    assert loop.reward("e", 1.0, at=1.0) == "learned"


@pytest.mark.parametrize("at", [float("nan"), float("inf"), 1e300, "soon"])  # SQLite keeps text where it is put
def test_times_that_are_none_change_nothing(at: Any) -> None:
    loop = Loop("l", clicks_only())
    loop.decide("e", {}, ACTIONS, at=0.0)
    before = loop.digest()
    for call in (
        lambda: loop.decide("f", {}, ACTIONS, at=at),
        lambda: loop.reward("e", 1.0, at=at),
        lambda: loop.activate("e", at=at),
        lambda: loop.expire(at),
    ):
        with pytest.raises(ValueError, match="at must be a time in seconds since 1970"):
            call()
    assert loop.digest() == before


# Several servers


def test_totals_of_a_loop_are_told_by_the_server_that_learns_it() -> None:
    metrics = RequestMetrics()
    metrics.add_loops(lambda: {"l": {"decided": 2, "pending": 1, "is_learner": False}})
    assert b'onward_decisions_total{loop="l"}' not in metrics.text()
    assert b'onward_pending{loop="l"} 1.0' in metrics.text()
    metrics = RequestMetrics()
    metrics.add_loops(lambda: {"l": {"decided": 2, "is_learner": True}})
    assert b'onward_decisions_total{loop="l"} 2.0' in metrics.text()
