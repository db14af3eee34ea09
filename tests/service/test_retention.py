"""Entries are kept for as long as a loop says; whenever their removal is broken off, folding gives the same bits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onward.service import retention, store_removal
from onward.service.configuration import LoopConfig, ModelConfig, RewardRule
from onward.service.loop import Loop
from onward.service.rebuilding import rebuild, verify
from onward.service.regression_model import Model
from onward.service.request_errors import RequestError
from onward.service.request_types import LearnRequest, RewardRequest
from onward.service.retention import seconds_kept
from onward.service.service_engine import Service
from onward.service.store import Store, open_store
from onward.service.store_errors import StoreError
from tests.service.test_service_engine import CONFIG, ask, live, play, run, until

KEPT = LoopConfig(CONFIG.policy, RewardRule(wait="1m"), retain="100s")


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old entries are looked for often, and removed a few at a time."""
    monkeypatch.setattr("onward.service.upkeep._RETAIN_SECONDS", 0.05)
    for module in (retention, store_removal):
        monkeypatch.setattr(module, "AT_ONCE", 7)


def seqs(store: Store) -> list[int]:
    return [entry.seq for entry in store.iterate("news")]


@pytest.mark.usefixtures("often")
def test_what_is_old_is_removed_by_the_learner_and_the_bits_stay(url: str) -> None:
    async def work() -> None:
        now = [1000.0]
        service = await Service.start(open_store(url), clock=lambda: now[0])
        await service.make("news", KEPT)
        await play(service, range(20))  # entries 2 to 41
        await service.decide("news", [ask("waits")])
        now[0] = 1080.0  # that has expired, at an entry of its own
        await until(lambda: not live(service).waiting.by_event)
        await play(service, range(20, 30))
        last = live(service).seq
        assert seqs(service.store) == list(range(1, last + 1))
        digest = live(service).digest()
        now[0] = 1120.0
        await until(lambda: seqs(service.store)[:2] == [1, 43])  # the settings stay, and what is younger than 100 s
        assert seqs(service.store) == [1, *range(43, last + 1)]
        told = await service.summary("news", "loop")
        assert told["log"] == {"first": 43, "since": 1080.0, "base": last, "retain_seconds": 100.0}
        assert told["snapshot"] == {"seq": last, "at": 1120.0, "digest": digest}
        assert (told["learned"], told["config"]["retain"]) == (30, "100s")
        assert rebuild(service.store, "news").digest() == live(service).digest() == digest
        await play(service, range(30, 35))
        # What is old enough next is made up for by that snapshot: there is no other for as long again.
        assert await service.reward("news", [RewardRequest("e1", 1.0)]) == ["already"]
        await service.stop()
        service = await Service.start(open_store(url), clock=lambda: now[0])
        assert [each.is_same for each in verify(service.store, "news")] == [True]
        now[0] = 1300.0
        await until(lambda: seqs(service.store) == [1])
        assert (await service.summary("news", "loop"))["log"]["first"] is None
        assert rebuild(service.store, "news").digest() == live(service).digest()
        await service.stop()

    run(work)


@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.usefixtures("often")
def test_a_removal_that_is_broken_off_leaves_the_same_bits_and_is_gone_on_with(
    url: str, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    async def work() -> None:
        now, calls, real = [1000.0], [0], store_removal.remove_some

        def broken(*given: Any) -> int:
            calls[0] += 1
            if calls[0] > after:
                raise StoreError("killed")
            return real(*given)

        monkeypatch.setattr(retention, "remove_some", broken)
        service = await Service.start(open_store(url), clock=lambda: now[0])
        await service.make("news", KEPT)
        await play(service, range(20))
        digest, last = live(service).digest(), live(service).seq
        now[0] = 1200.0
        await until(lambda: calls[0] > after)
        assert len(seqs(service.store)) == last - 7 * after
        assert rebuild(service.store, "news").digest() == digest
        await service.stop()
        monkeypatch.undo()
        monkeypatch.setattr("onward.service.upkeep._RETAIN_SECONDS", 0.05)
        service = await Service.start(open_store(url), clock=lambda: now[0])
        assert live(service).digest() == digest
        await until(lambda: seqs(service.store) == [1])
        assert rebuild(service.store, "news").digest() == digest
        await service.stop()

    run(work)


@pytest.mark.usefixtures("often")
def test_models_and_loops_that_do_not_say_follow_the_server(tmp_path: Path) -> None:
    async def work() -> None:
        now = [1000.0]
        store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
        service = await Service.start(store, clock=lambda: now[0], retain="50s")
        await service.make("price", ModelConfig(learner="ridge"))
        await service.make("kept", ModelConfig(learner="ridge", retain=None))
        for name in ("price", "kept"):
            for i in range(10):
                await service.learn(name, LearnRequest([{"km": float(i)}], [2.0 * i]))
        now[0] += 60.0
        await until(lambda: len(list(store.iterate("price"))) == 1)
        assert len(list(store.iterate("kept"))) == 11
        assert rebuild(store, "price").digest() == service.loops.by_name["price"].current.digest()
        assert not await service.make("price", ModelConfig(learner="ridge", retain="1h"))
        assert (await service.summary("price", "model"))["log"]["retain_seconds"] == 3600.0
        with pytest.raises(RequestError, match="but for retain"):
            await service.make("price", ModelConfig(learner="forward", retain="1h"))
        assert rebuild(store, "price").digest() == service.loops.by_name["price"].current.digest()
        await service.stop()

    run(work)


def test_how_long_is_kept() -> None:
    assert seconds_kept(LoopConfig(), None) is None
    assert seconds_kept(LoopConfig(), "2h") == 7200.0
    assert seconds_kept(LoopConfig(), "2m") == 3600.0  # a decision that waits has its entry
    assert seconds_kept(LoopConfig(retain=None), "2h") is None
    assert seconds_kept(LoopConfig(retain="3d"), "2h") == 3 * 86400.0
    makers: list[Callable[[Any], Any]] = [
        lambda retain: Loop("x", LoopConfig(retain=retain)),
        lambda retain: Model("x", ModelConfig(retain=retain)),
        lambda retain: Loop("x").check_change(LoopConfig(retain=retain)),
        lambda retain: Model("x").check_change(ModelConfig(retain=retain)),
    ]
    for make in makers:
        make("90d")
        for wrong in ("soon", -1.0, 0.0):
            with pytest.raises(RequestError) as error:
                make(wrong)
            assert error.value.field == "retain"
    with pytest.raises(RequestError, match=r"at least as long as a reward is waited for \(3600 s\), got '30m'"):
        Loop("x", LoopConfig(retain="30m"))
