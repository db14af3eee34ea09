"""Another policy for a loop: tried out before it counts, with a state of before that is there when it is answered."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from onward.service.configuration import ModelConfig
from onward.service.entries import Entry, Install
from onward.service.rebuilding import rebuild
from onward.service.request_errors import RequestError
from onward.service.request_types import PolicyRequest
from onward.service.service_engine import Service
from onward.service.store import Store, open_store
from onward.service.store_errors import StoreError
from onward.service.subject_removal import NotDeletedError, delete_subject
from tests.service.test_service_engine import CONFIG, ask, live, play, run

HUGE = 10**30  # no snapshot holds such a whole number


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (PolicyRequest(policy={"name": "LinUCB", "alpha": HUGE}), "policy"),
        (PolicyRequest(policy={"name": "LinTS", "seed": HUGE}), "policy"),
        (PolicyRequest(shadow={"name": "LinUCB", "alpha": HUGE}), "shadow"),
        (PolicyRequest(shadow={"name": "LinUCB", "beta": 1.0}), "shadow"),
        (PolicyRequest(shadow={"name": "none"}), "shadow.name"),
        (PolicyRequest(policy={"name": "LinUCB", "alpha": HUGE}, learn="log"), "policy"),
    ],
)
def test_settings_that_a_loop_could_not_go_on_with_are_refused(
    tmp_path: Path, change: PolicyRequest, field: str
) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        await service.make("news", CONFIG)
        await play(service, range(3))
        digest = live(service).digest()
        with pytest.raises(RequestError) as refused:
            await service.install("news", change)
        assert refused.value.field == field
        assert live(service).digest() == digest
        await service.install("news", PolicyRequest(policy={"name": "LinUCB", "alpha": 2.0}))
        await service.stop()

    run(work)


def test_the_state_of_before_is_there_when_it_is_answered(url: str) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url))
        await service.make("news", CONFIG)
        for i in range(5):
            await play(service, range(10 * i, 10 * i + 3))
            before = live(service).learner.coef
            previous = await service.install("news", PolicyRequest(policy={"name": "LinUCB", "alpha": 1.0 + i}))
            assert live(service).learner.coef != before
            await service.install("news", PolicyRequest(snapshot=previous))
            assert live(service).learner.coef == before
        await service.stop()

    run(work)


@pytest.mark.parametrize("learn", ["nothing", "log"])
def test_without_a_state_of_before_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learn: Any
) -> None:
    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        await service.make("news", CONFIG)
        await play(service, range(3))
        digest = live(service).digest()
        change = PolicyRequest(policy={"name": "LinUCB"}, learn=learn)

        def fail(*given: Any) -> bool:
            raise StoreError("the disk is full", is_transient=True)

        with monkeypatch.context() as patched:
            patched.setattr(Store, "save_snapshot", fail)
            with pytest.raises(StoreError, match="nothing was changed"):
                await service.install("news", change)
        assert live(service).digest() == digest
        await service.install("news", change)
        assert live(service).config.policy == {"name": "LinUCB"}
        await service.stop()

    run(work)


@pytest.mark.parametrize("learn", ["nothing", "log"])
def test_a_change_that_is_asked_for_again_is_made_once(url: str, learn: Any) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url))
        await service.make("news", CONFIG)
        await play(service, range(5))
        before = live(service).learner.coef
        change = PolicyRequest(policy={"name": "LinUCB"}, learn=learn, request_id="r1")
        both = await asyncio.gather(service.install("news", change), service.install("news", change))
        await play(service, range(5, 8))
        known = live(service).learner.coef
        for _ in range(2):
            assert {*both, await service.install("news", change)} == {both[0]}
            assert live(service).learner.coef == known
            assert rebuild(service.store, "news").digest() == live(service).digest()
            await service.stop()
            service = await Service.start(open_store(url))  # it is known from the log, too
        await service.install("news", PolicyRequest(snapshot=both[0], request_id="r2"))
        assert live(service).learner.coef == before
        await service.install("news", PolicyRequest(policy={"name": "LinUCB"}, request_id="r3"))
        assert live(service).learner.coef != before
        await service.stop()

    run(work)


def spoilt(url: str) -> None:
    """A database with three loops and a model, of which the second loop has a state that no snapshot holds."""

    async def work() -> None:
        service = await Service.start(open_store(url))
        for name in ("a", "b", "c"):
            await service.make(name, CONFIG)
            await play(service, range(3), name)
            await service.decide(name, [ask("ann", subject="Ann")])
        await service.make("m", ModelConfig(learner="ridge"))
        entry = Entry("b", Install("policy", {"name": "LinUCB", "alpha": HUGE}))
        await service.loops.writer.append([entry], {"b": service.loops.by_name["b"].birth})
        await service.stop()

    run(work)


def test_a_state_that_no_snapshot_holds_keeps_no_other_from_being_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    spoilt(url)
    with open_store(url) as store:
        assert {name for name in store.loops() if store.snapshots(name)} == {"a", "c", "m"}
        with pytest.raises(NotDeletedError, match="b: ") as failed:
            delete_subject(store, "Ann")
        assert failed.value.removed == {"a": 1, "c": 1}
        assert asyncio.run(_pending(url)) == [0, 0]
        assert rebuild(store, "c").seq == 9


async def _pending(url: str) -> list[int]:
    service = await Service.start(open_store(url))
    told = [(await service.summary(name, "loop"))["pending"] for name in ("a", "c")]
    await service.stop()
    return told
