"""The service on top of its log: what is answered is durable, once, and the same bits when it is made again."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from onward.service import upkeep
from onward.service.configuration import LoopConfig, ModelConfig, RewardRule
from onward.service.entries import Action, Entry, Expire, Install
from onward.service.following import LearnerLocks
from onward.service.loop import Loop
from onward.service.rebuilding import rebuild, verify
from onward.service.regression_model import Model
from onward.service.request_errors import RequestError
from onward.service.request_types import DecideRequest, LearnRequest, PolicyRequest, RewardRequest
from onward.service.service_engine import Service
from onward.service.store import Store, open_store
from onward.service.store_errors import StoreError
from onward.service.store_removal import prune
from tests.service.logs import begin
from tests.service.postgres import Postgres

ACTIONS = [Action("a", {"x": 0.3, "topic": "sport"}), Action("b", {"x": -0.2, "topic": "arts"}), Action("c")]
CONFIG = LoopConfig(policy={"name": "LinTS", "seed": 7}, reward=RewardRule(wait="1h"))


def ask(event: str | None, **more: Any) -> DecideRequest:
    return DecideRequest(ACTIONS, event, {"hour": 0.4, "device": "phone"}, **more)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 180))  # a guard against waiting for ever; a loaded machine is slow


async def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    if not held:
        raise AssertionError("it did not come to hold in time")


async def play(service: Service, events: range, name: str = "news") -> None:
    async def one(i: int) -> None:
        [answer] = await service.decide(name, [ask(f"e{i}")])
        statuses = await service.reward(name, [RewardRequest(f"e{i}", float(answer.action == "b"))])
        assert statuses == ["learned"]

    await asyncio.gather(*map(one, events))


def live(service: Service, name: str = "news") -> Loop:
    current = service.loops.by_name[name].current
    assert isinstance(current, Loop)
    return current


def test_what_is_answered_is_durable_once_and_rebuilt_to_the_same_bits(url: str) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url), snapshot_every=50)
        assert await service.make("news", CONFIG)
        assert not await service.make("news", CONFIG)
        await play(service, range(60))
        again = await asyncio.gather(*(service.decide("news", [ask("e3"), ask("new"), ask("new")]) for _ in range(5)))
        assert all(each == again[0] for each in again)
        assert again[0][1] == again[0][2]
        given = [RewardRequest(event, 1.0) for event in ("e3", "none", "new", "new")]
        assert await service.reward("news", given) == ["already", "unknown", "learned", "already"]
        assert await service.activate("news", ["none"]) == ["unknown"]
        state = await service.state("news", "loop")
        assert (state["decided"], state["learned"], state["pending"]) == (61, 61, 0)
        # The second of one batch is in the log; what is known beforehand to be of no use is counted alone.
        assert (state["already"], state["unknown"], live(service).seq) == (2, 1, 1 + 61 + 62)
        digest = live(service).digest()
        await service.stop()
        with open_store(url) as store:
            assert [each.seq for each in store.snapshots("news")] == [50, 100, 124]
            for start in (None, 50, 100, 124):
                assert rebuild(store, "news", start).digest() == digest
            assert [each.is_same for each in verify(store, "news")] == [True] * 3
        service = await Service.start(open_store(url))
        assert live(service).digest() == digest
        assert await service.decide("news", [ask("e3")]) == again[0][:1]
        assert await service.reward("news", [RewardRequest("e3", 1.0)]) == ["already"]
        await service.stop()
        with pytest.raises(StoreError, match="stopping"):
            await service.decide("news", [ask("x")])

    run(work)


def test_a_served_loop_and_one_by_hand_are_the_same(tmp_path: Path) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        await service.make("news", CONFIG)
        by_hand = Loop("news", CONFIG)
        for i in range(40):
            [answer] = await service.decide("news", [ask(f"e{i}")])
            [entry] = service.store.read("news", after=live(service).seq - 1)
            assert by_hand.decide(f"e{i}", {"hour": 0.4, "device": "phone"}, ACTIONS, at=entry.at) == answer
            await service.reward("news", [RewardRequest(f"e{i}", i % 3)])
            [entry] = service.store.read("news", after=live(service).seq - 1)
            by_hand.reward(f"e{i}", i % 3, at=entry.at)
        by_hand.seq += 1  # the entry that began the other
        for each in by_hand.waiting.by_event.values():
            each.seq += 1
        assert live(service).digest() == by_hand.digest()
        await service.stop()

    run(work)


@pytest.mark.parametrize("committed", [True, False])
def test_a_failed_commit_changes_nothing_here(url: str, monkeypatch: pytest.MonkeyPatch, committed: bool) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url))
        await service.make("news", CONFIG)
        await service.decide("news", [ask("e1")])
        before = live(service).digest()
        monkeypatch.setattr("onward.service.store._SETTLE_SECONDS", 0.0)
        real = service.store.database.run

        def lost(work: Any, *, write: bool = False) -> Any:
            if committed or not write:
                result = real(work, write=write)
            if write:
                raise StoreError("the connection was lost", is_transient=True, is_uncertain=True)
            return result

        monkeypatch.setattr(service.store.database, "run", lost)
        calls: list[Awaitable[Any]] = [
            service.decide("news", [ask("e2")]),
            service.decide("news", [ask("e2")]),
            service.reward("news", [RewardRequest("e1", 1.0)]),
        ]
        failed = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(each) for each in failed] == [StoreError] * 3
        assert live(service).digest() == before
        monkeypatch.undo()
        # Whether it was written or not: asked again, it is there once.
        await service.decide("news", [ask("e2")])
        statuses = await service.reward("news", [RewardRequest("e1", 1.0), RewardRequest("e2", 1.0)])
        assert statuses[1] == "learned"
        assert statuses[0] == ("already" if committed else "learned")
        assert (await service.state("news", "loop"))["learned"] == 2
        digest = live(service).digest()
        assert rebuild(service.store, "news").digest() == digest
        await service.stop()

    run(work)


def test_decisions_expire_and_late_rewards_are_told(url: str) -> None:
    async def work() -> None:
        now = [1000.0]
        service = await Service.start(open_store(url), clock=lambda: now[0])
        await service.make("news", LoopConfig(reward=RewardRule(wait=60.0, default=0.0)))
        await service.decide("news", [ask("e1"), ask("e2", active=False)])
        assert await service.activate("news", ["e2"]) == ["activated"]
        now[0] += 61.0
        await until(lambda: len(live(service).waiting) == 0)
        assert (await service.state("news", "loop"))["learned"] == 2
        assert await service.reward("news", [RewardRequest("e1", 1.0)]) == ["late"]
        live(service)._finished.clear()  # as if it were long ago: the store knows
        assert await service.reward("news", [RewardRequest("e1", 1.0)]) == ["late"]
        await service.stop()

    run(work)


def test_many_decisions_at_once_let_others_have_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        await service.make("news", CONFIG)
        propose = Loop.propose

        def slow(*given: Any, **more: Any) -> Entry:
            time.sleep(0.006)
            return propose(*given, **more)

        monkeypatch.setattr(Loop, "propose", slow)
        batch = asyncio.create_task(service.decide("news", [ask(f"e{i}") for i in range(100)]))
        turns, first = 0, list[Any]()
        while not batch.done():
            await asyncio.sleep(0)
            turns += 1
            if turns == 5:  # whoever asks for one of the same events meanwhile gets the same answer
                first = await service.decide("news", [ask("e50"), ask("e0"), ask("e99")])
        answers = await batch
        assert turns > 50
        assert [each.event_id for each in answers] == [f"e{i}" for i in range(100)]
        assert first == [answers[50], answers[0], answers[99]]
        assert live(service).summary()["decided"] == 100
        await service.stop()

    run(work)


def test_decisions_that_would_take_too_long_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        await service.make("news", CONFIG)
        await service.decide("news", [ask("e")])
        d = len(live(service).encoder.columns)
        monkeypatch.setattr("onward.service.loop_checks._MOST_WORK", 3 * d * d)
        monkeypatch.setattr("onward.service.loop_checks._MOST_BATCH_WORK", 6 * d * d)
        await service.decide("news", [ask("f"), ask("g")])
        with pytest.raises(RequestError, match="of all decisions together, got 9 actions"):
            await service.decide("news", [ask("h"), ask("i"), ask("j")])
        with pytest.raises(RequestError, match=f"got 4 actions of {d + 1} features"):
            await service.decide("news", [DecideRequest([*ACTIONS, Action("d")], "h")])
        assert live(service).summary()["decided"] == 3
        await service.stop()

    run(work)


def test_requests_that_are_wrong_change_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        with pytest.raises(RequestError, match="there is no loop 'news'"):
            await service.decide("news", [ask("e1")])
        with pytest.raises(RequestError, match="expected one of"):
            await service.make("news", LoopConfig(policy={"name": "none"}))
        await service.make("news", CONFIG)
        with pytest.raises(RequestError) as error:
            await service.decide("news", [ask("e1"), DecideRequest([], "e2")])
        assert error.value.field == "[1].actions"
        with pytest.raises(RequestError, match="'news' is a loop"):
            await service.make("news", ModelConfig())
        with pytest.raises(RequestError, match="there is no snapshot"):
            await service.install("news", PolicyRequest(snapshot=7))
        assert live(service).seq == 1
        await service.remove("news", "loop")
        with pytest.raises(RequestError, match="there is no loop 'news'"):
            await service.reward("news", [RewardRequest("e1", 1.0)])
        await service.stop()

    run(work)


def test_a_policy_is_replaced_shadowed_and_rolled_back(url: str) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url), snapshot_every=40)
        await service.make("news", CONFIG)
        await play(service, range(30))
        await until(lambda: len(service.store.snapshots("news")) == 1)
        other = {"name": "LinUCB", "lam": 2.0}
        await service.install("news", PolicyRequest(shadow=other))
        await asyncio.gather(
            play(service, range(30, 60)), service.install("news", PolicyRequest(policy=other, learn="log"))
        )
        loop = live(service)
        assert loop.config.policy == other
        # It has learned all that a policy which had been there from the first entry would have.
        entries = list(service.store.iterate("news"))
        pupil = Loop.begin(entries[0])
        pupil._install(Install("shadow", other))
        for entry in entries[1:]:
            if not isinstance(entry.content, Install):
                pupil.seq = entry.seq - 1
                pupil.fold(entry)
        assert pupil.shadow is not None
        assert loop.learner.coef == pupil.shadow.coef
        await service.install("news", PolicyRequest(snapshot=40))
        assert loop.config.policy == CONFIG.policy
        [snapshot] = [each for each in service.store.snapshots("news") if each.seq == 40]
        stored = service.store.snapshot("news", at_most=snapshot.seq)
        assert stored is not None
        assert live(service).learner.coef == Loop.from_bytes(stored.state).learner.coef
        await service.install("news", PolicyRequest(shadow=None))
        assert live(service).shadow is None
        assert rebuild(service.store, "news").digest() == live(service).digest()
        await service.stop()

    run(work)


def test_models_learn_each_event_once(url: str) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url))
        await service.make("price", ModelConfig())
        rows = [{"km": float(i), "city": "Rome" if i % 2 else "Oslo"} for i in range(20)]
        asked = LearnRequest(rows, [2.0 * i for i in range(20)], None, "m1")
        assert (await service.learn("price", asked)).status == "learned"
        assert (await service.learn("price", asked)).status == "already"
        answer = await service.predict("price", [{"km": 10.0, "city": "Rome"}])
        assert answer.version == 20
        assert abs(answer.predictions[0].value - 20.0) < 5.0
        current = service.loops.by_name["price"].current
        assert rebuild(service.store, "price").digest() == current.digest()
        await service.stop()

    run(work)


def test_rows_that_are_not_learned_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        await service.make("prices", ModelConfig(learner="ridge"))
        rows: list[dict[str, Any]] = [{"a": 1}, {"a": "x"}, {"b": 2}, {"b": 3, "a": 1}]
        told = await service.learn("prices", LearnRequest(rows, [1.0, 2.0, 3.0, 4.0], event_id="fit"))
        assert (told.status, told.learned, told.refused, told.version) == ("learned", 4, 0, 4)
        model = service.loops.by_name["prices"].current
        assert isinstance(model, Model)
        learn = model.learner.learn_one

        def refuse(row: Any, y: float, weight: float) -> Any:
            if y == 3.0:
                raise ValueError("a row that no learner can take")
            return learn(row, y, weight)

        monkeypatch.setattr(model.learner, "learn_one", refuse)
        told = await service.learn("prices", LearnRequest(rows, [1.0, 2.0, 3.0, 4.0], event_id="m"))
        assert (told.status, told.learned, told.refused, told.version) == ("learned", 3, 1, 7)
        told = await service.learn("prices", LearnRequest(rows, [1.0, 2.0, 3.0, 4.0], event_id="m"))
        assert (told.status, told.learned, told.refused, told.version) == ("already", 0, 0, 7)
        await service.stop()

    run(work)


def test_a_database_that_hangs_is_told_in_time_and_holds_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onward.service.service_engine._PING_SECONDS", 0.1)
    goes_on, asked = threading.Event(), []

    def ping(store: Store) -> None:
        asked.append(store)
        goes_on.wait(60)

    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path}/log.db"))
        with monkeypatch.context() as patched:
            patched.setattr(Store, "ping", ping)
            said = await asyncio.gather(*[service.ready() for _ in range(20)])
            assert all("does not answer" in str(each) for each in said)
            assert "does not answer" in str(await service.ready())
            assert len(asked) == 1
            goes_on.set()
            await until(lambda: service._pinging is None)
        assert await service.ready() is None
        await service.stop()

    run(work)


def test_postgres_looks_soon_for_a_machine_that_is_gone(postgres_server: Postgres) -> None:
    with open_store(postgres_server.url) as store:
        told = "SELECT name, source FROM pg_settings WHERE name LIKE 'tcp_keepalives%' OR name = 'tcp_user_timeout'"
        rows = store.database.run(lambda connection: connection.execute(sa.text(told)).all())
    assert len(rows) == 4
    assert {source for _, source in rows} == {"client"}


def test_a_postgres_that_comes_back_is_used_again(postgres_server: Postgres) -> None:
    async def work() -> None:
        service = await Service.start(open_store(postgres_server.url))
        await service.make("news", CONFIG)
        await play(service, range(5))
        await asyncio.to_thread(postgres_server.stop, "immediate")
        with pytest.raises(StoreError):
            await service.decide("news", [ask("x")])
        assert await service.ready() is not None
        await asyncio.to_thread(postgres_server.start)
        await play(service, range(5, 10))
        assert await service.ready() is None
        await until(lambda: service.loops.by_name["news"].is_learner)
        assert rebuild(service.store, "news").digest() == live(service).digest()
        await service.stop()

    run(work)


def test_locks_of_many_loops_are_asked_for_at_once_and_go_to_whoever_is_there(postgres_server: Postgres) -> None:
    names = [f"loop{i}" for i in range(50)]
    statements: list[str] = []
    with open_store(postgres_server.url) as store, open_store(postgres_server.url) as other:
        sa.event.listen(other.database.engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
        one, two = LearnerLocks(store), LearnerLocks(other)
        assert one.try_all(names) == set(names)
        assert two.try_all(names) == set()
        assert len(statements) == 1  # every second, of whoever follows
        assert one.try_all(names[:-3]) == set(names[:-3])
        assert two.try_all(names) == set(names[-3:])
        one.close()
        deadline = time.monotonic() + 60.0  # PostgreSQL notices that a connection has ended when it looks
        while two.try_all(names) != set(names) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert two.held == set(names)
        two.close()


def test_two_servers_reach_the_same_state_and_one_takes_over(postgres_server: Postgres) -> None:
    async def work() -> None:
        one = await Service.start(open_store(postgres_server.url), snapshot_every=25)
        await one.make("news", CONFIG)
        two = await Service.start(open_store(postgres_server.url), snapshot_every=25)
        assert (one.loops.by_name["news"].is_learner, two.loops.by_name["news"].is_learner) == (True, False)
        await asyncio.gather(play(one, range(40)), play(two, range(40, 80)))
        # A decision of one is rewarded at the other, at once.
        await one.decide("news", [ask("across")])
        assert await two.reward("news", [RewardRequest("across", 1.0)]) == ["learned"]
        assert await one.reward("news", [RewardRequest("across", 1.0)]) == ["already"]
        assert await two.decide("news", [ask("e1")]) == await one.decide("news", [ask("e1")])
        await until(lambda: live(one).seq == live(two).seq)
        assert live(one).digest() == live(two).digest() == rebuild(one.store, "news").digest()
        # The learner is killed: its connections end, and nothing of it goes on.
        await one._upkeep.stop_working()
        one._upkeep.release()
        await until(lambda: two.loops.by_name["news"].is_learner)
        await play(two, range(100, 120))
        await one.loops.writer.close()
        one.store.close()
        await two.make("more", CONFIG)
        await two.stop()
        with open_store(postgres_server.url) as store:
            checked = list(verify(store, "news"))
            assert len(checked) > 5
            assert all(each.is_same for each in checked)

    run(work)


def test_whoever_stops_last_stores_the_last_state(postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in ("_FOLLOW_SECONDS", "_LEARNER_SECONDS", "_EXPIRE_SECONDS"):
        monkeypatch.setattr(upkeep, each, 3600.0)  # nobody comes to it by themselves, as on a machine with much to do
    monkeypatch.setattr(upkeep.Upkeep, "_heard", lambda *_: None)

    def is_stored() -> bool:
        with open_store(postgres_server.url) as store:
            loop, last = store.loop("news"), store.snapshot("news")
            return loop is not None and last is not None and last.seq == loop.last_seq

    async def work() -> None:
        one = await Service.start(open_store(postgres_server.url))
        await one.make("news", CONFIG)
        two = await Service.start(open_store(postgres_server.url))
        await two.decide("news", [ask("e1")])
        assert live(one).seq < live(two).seq
        await one.stop()
        assert is_stored()  # with what the other wrote
        await two.decide("news", [ask("e2")])
        assert not two.loops.by_name["news"].is_learner
        await two.stop()
        assert is_stored()
        three = await Service.start(open_store(postgres_server.url))
        await three.decide("news", [ask("e3")])
        with open_store(postgres_server.url) as store:
            end = sa.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
            store.database.run(lambda connection: connection.execute(end).all())
        await three.stop()
        assert is_stored()

    run(work)


def test_a_follower_that_went_astray_takes_over_the_state_of_the_learner(
    postgres_server: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        one = await Service.start(open_store(postgres_server.url), snapshot_every=20)
        await one.make("news", CONFIG)
        two = await Service.start(open_store(postgres_server.url), snapshot_every=20)
        live(two).statistics.count("late")  # which no entry says
        await play(one, range(15))
        await until(lambda: "is not that of the learner" in caplog.text)
        await until(lambda: "news" in two.loops.by_name and live(two).digest() == live(one).digest())
        await two.stop()
        await one.stop()

    run(work)


def test_an_event_whose_entry_was_pruned_is_not_decided_again(url: str) -> None:
    async def work() -> None:
        store = open_store(url)
        service = await Service.start(store)
        await service.make("news", CONFIG)
        await service.decide("news", [ask("e1"), ask("e2")])
        assert await service.reward("news", [RewardRequest("e1", 1.0)]) == ["learned"]
        service.loops.save(service.loops.by_name["news"])
        for _ in range(2):  # it is asked for after the first of them
            await service.loops.writer.run(lambda: None)
        prune(store, time.time() + 1.0)
        for event in ("e1", "e2"):
            with pytest.raises(RequestError, match="its entry removed"):
                await service.decide("news", [ask(event)])
        assert await service.reward("news", [RewardRequest("e1", 1.0), RewardRequest("e2", 1.0)]) == [
            "already",
            "learned",
        ]
        await service.stop()

    run(work)


def test_what_was_asked_of_a_deleted_loop_is_not_written_into_the_next_of_its_name(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url))
        await service.make("news", LoopConfig(mode="observe"))
        await service.decide("news", [ask("e1"), ask("e2")])
        real, asked = service.store.events, threading.Event()

        def slow(*given: Any) -> Any:
            asked.wait(60.0)
            return real(*given)

        monkeypatch.setattr(service.store, "events", slow)
        await service.reward("news", [RewardRequest("e2", 1.0)])
        stale = [
            asyncio.create_task(service.decide("news", [ask("e2"), ask("e3", taken="b")])),
            asyncio.create_task(service.reward("news", [RewardRequest("none", 1.0), RewardRequest("e1", 1.0)])),
        ]
        await asyncio.sleep(0.05)
        await service.remove("news", "loop")
        await service.make("news", CONFIG)
        asked.set()
        failed = await asyncio.gather(*stale, return_exceptions=True)
        assert [str(each) for each in failed] == ["'news' was deleted"] * 2
        # Nor while it is not loaded, when no position says which one was read.
        service.loops.drop("news")
        entry = Entry("news", Expire(), at=1.0)
        [written] = await service.loops.writer.append([entry], {"news": "another birth"})
        assert written.entry is None
        assert [each.seq for each in service.store.iterate("news")] == [1]
        await service.stop()

    run(work)


def test_whatever_fails_after_a_commit_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise MemoryError("no room")

    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"), snapshot_every=2)
        await service.make("news", CONFIG)
        monkeypatch.setattr(Loop, "begin_snapshot", fail)
        service.loops.writer.on_commit = fail
        [first] = await service.decide("news", [ask("e1")])  # at entry 2, with a snapshot
        monkeypatch.undo()
        monkeypatch.setattr(service.loops.writer, "_deliver", fail)
        with pytest.raises(StoreError, match="not taken in") as error:
            await service.reward("news", [RewardRequest("e1", 1.0)])
        assert error.value.is_uncertain
        monkeypatch.undo()
        await until(lambda: "news" in service.loops.by_name)  # its decisions expire, whether it is asked for or not
        assert await service.reward("news", [RewardRequest("e1", 1.0)]) == ["already"]  # read from the log
        assert await service.decide("news", [ask("e1")]) == [first]
        assert live(service).digest() == rebuild(service.store, "news").digest()
        await service.stop()

    run(work)


def test_a_loop_that_cannot_be_loaded_is_told_and_removed_and_the_others_go_on(url: str) -> None:
    async def work() -> None:
        with open_store(url) as store:
            store.append([begin("bad"), begin("news")], {})
            damage = sa.text("UPDATE entries SET body = '{\"kind\": \"expire\"}' WHERE loop = 'bad'")
            store.database.run(lambda connection: connection.execute(damage), write=True)
        service = await Service.start(open_store(url))
        assert "'bad' cannot be made from its log" in str(await service.ready())
        await service.decide("news", [ask("e1")])
        if service.store.is_shared:
            service.store.append([begin("zoo")], {})  # as another server would
            await until(lambda: "zoo" in service.loops.by_name)
        with pytest.raises(RequestError, match="there is no model 'bad'"):
            await service.remove("bad", "model")
        await service.remove("bad", "loop")
        assert await service.ready() is None
        assert await service.make("bad", CONFIG)
        await service.stop()

    run(work)
