"""What a service tells of its loops: counts of all servers, digests, and loops that others have just made."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.service.configuration import FeatureRule, LoopConfig, ModelConfig
from onward.service.entries import Begin, Entry
from onward.service.folding import fold_all
from onward.service.log_files import json_lines
from onward.service.rebuilding import rebuild
from onward.service.request_errors import RequestError
from onward.service.request_types import LearnRequest, RewardRequest
from onward.service.service_engine import Service
from onward.service.store import open_store
from onward.service.store_errors import StoreError
from tests.service.postgres import Postgres
from tests.service.test_service_engine import CONFIG, ask, live, play, run, until


def test_rewards_that_were_of_no_use_are_counted_over_starts_and_kills(url: str) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url))
        await service.make("news", CONFIG)
        await play(service, range(3))
        await service.reward("news", [RewardRequest("e1", 1.0), RewardRequest("e2", 1.0), RewardRequest("none", 1.0)])
        await service.activate("news", ["none"])  # which is no reward
        told = await service.summary("news", "loop")
        assert (told["already"], told["unknown"], told["late"]) == (2, 1, 0)
        seq = live(service).seq
        await until(lambda: not service.loops.told)  # they are in the store by now
        await service.reward("news", [RewardRequest("e1", 1.0)])
        assert (await service.summary("news", "loop"))["already"] == 3
        await service.stop()
        service = await Service.start(open_store(url))
        told = await service.state("news", "loop")
        assert (told["already"], told["unknown"], live(service).seq) == (3, 1, seq)
        await service.remove("news", "loop")
        await service.make("news", CONFIG)
        assert (await service.summary("news", "loop"))["already"] == 0
        await service.stop()

    run(work)


def test_counts_wait_while_the_database_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise StoreError("away", is_transient=True)

    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        for name in ("a", "b"):
            await service.make(name, CONFIG)
        with monkeypatch.context() as patched:
            patched.setattr("onward.service.live_loops.add_counts", fail)
            for name in ("a", "b"):
                await service.reward(name, [RewardRequest("none", 1.0)])
            with pytest.raises(StoreError, match="away"):
                await service.loops.save_counts()
            assert [(await service.summary(name, "loop"))["unknown"] for name in ("a", "b")] == [1, 1]
        await service.loops.save_counts()
        assert not service.loops.told
        assert [(await service.summary(name, "loop"))["unknown"] for name in ("a", "b")] == [1, 1]
        await service.stop()

    run(work)


def test_counts_are_of_all_servers(postgres_server: Postgres) -> None:
    async def work() -> None:
        one, two = [await Service.start(open_store(postgres_server.url)) for _ in range(2)]
        await one.make("news", CONFIG)
        for service in (one, two):
            await service.reward("news", [RewardRequest(f"none {i}", 1.0) for i in range(4)])
        for service in (one, two):
            await service.loops.save_counts()
        for service in (one, two):
            assert (await service.summary("news", "loop"))["unknown"] == 8
            await service.stop()

    run(work)


def test_a_state_has_a_digest_that_a_fold_by_hand_gives(url: str) -> None:
    async def work() -> None:
        service = await Service.start(open_store(url))
        await service.make("news", CONFIG)
        await service.make("price", ModelConfig(learner="ridge"))
        await play(service, range(10))
        await service.learn("price", LearnRequest([{"km": 1.0, "city": "Rome"}], [2.0]))
        for name, kind in (("news", "loop"), ("price", "model")):
            state = await service.state(name, kind, with_digest=True)
            lines = b"".join([each async for each in json_lines(service.log(name, None, None))])
            entries = msgspec.json.Decoder(Entry).decode_lines(lines)
            by_hand = fold_all(entries)
            assert (by_hand.seq, by_hand.digest()) == (state["seq"], state["digest"])
            assert "digest" not in await service.state(name, kind)
            assert state["coefficients"]
        await service.stop()

    run(work)


def test_of_those_who_make_a_loop_at_once_one_does(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [LoopConfig(CONFIG.policy, CONFIG.reward, explore=i / 10) for i in range(6)]

    async def work() -> None:
        service = await Service.start(open_store(url))
        assert sorted(await asyncio.gather(*(service.make("news", each) for each in others))) == [False] * 5 + [True]
        # One that looked before the other was made, and writes after it was loaded.
        real, stale = service.loops.get, [True]

        async def late(name: str) -> Any:
            found = await real(name)
            return None if stale and stale.pop() else found

        monkeypatch.setattr(service.loops, "get", late)
        assert not await service.make("news", others[3])
        assert live(service).config.explore == 0.3
        stale.append(True)
        with pytest.raises(RequestError, match="features of a loop cannot change"):
            await service.make("news", LoopConfig(CONFIG.policy, features=FeatureRule(intercept=False)))
        stale.append(True)
        with pytest.raises(RequestError, match="'news' is a loop"):
            await service.make("news", ModelConfig())
        told = [entry.content for entry in service.store.iterate("news")]
        assert all(isinstance(each, Begin) and each.config.features == FeatureRule() for each in told)
        both = await asyncio.gather(
            service.make("both", CONFIG), service.make("both", ModelConfig()), return_exceptions=True
        )
        assert sorted(map(str, both)) in (["'both' is a loop", "True"], ["'both' is a model", "True"])
        await service.stop()

    run(work)


def test_of_two_servers_that_make_a_loop_at_once_one_does(postgres_server: Postgres) -> None:
    async def work() -> None:
        services = [await Service.start(open_store(postgres_server.url)) for _ in range(2)]
        for i in range(15):
            configs = [LoopConfig(CONFIG.policy, CONFIG.reward, explore=each) for each in (0.1, 0.2)]
            made = [service.make(f"l{i}", each) for service, each in zip(services, configs, strict=True)]
            assert sorted(await asyncio.gather(*made)) == [False, True]
        await services[1]._upkeep.stop_working()  # as between two looks at the store
        await asyncio.gather(*(services[1].decide("l0", [ask("e1")]) for _ in range(2)))
        # One that another server has deleted is made anew, though it is still known here.
        for each in (configs[0], *configs):
            await services[0].remove("l0", "loop")
            assert await services[1].make("l0", each)
        # Settings that another server has changed are changed back, though those here are still the same.
        assert not await services[0].make("l0", configs[0])
        assert not await services[1].make("l0", configs[1])
        assert rebuild(services[0].store, "l0").config == configs[1]
        await until(lambda: live(services[0], "l0").config == configs[1])  # it follows
        for service in services:
            await service.stop()

    run(work)


def test_a_follower_answers_for_a_loop_that_it_has_not_used_yet(postgres_server: Postgres) -> None:
    async def work() -> None:
        one, two = [await Service.start(open_store(postgres_server.url)) for _ in range(2)]
        await two._upkeep.stop_working()  # as between two looks at the store
        for name in ("a", "b", "c", "d", "e"):
            await one.make(name, CONFIG)
            await one.decide(name, [ask("e1")])
        await one.make("m", ModelConfig(learner="ridge"))
        assert (await two.names()) == (await one.names())
        assert (await two.summary("a", "loop"))["pending"] == 1
        state = await two.state("b", "loop", with_digest=True)
        assert state["digest"] == (await one.state("b", "loop", with_digest=True))["digest"]
        assert [each.event_id for each in await two.decisions("c", 5)] == ["e1"]
        assert await two.features("d")
        assert await two.reward("e", [RewardRequest("e1", 1.0)]) == ["learned"]
        assert (await two.state("m", "model"))["seq"] == 1
        with pytest.raises(RequestError, match="there is no loop 'm'"):
            await two.summary("m", "loop")
        for service in (two, one):
            await service.stop()

    run(work)


def test_settings_that_were_got_can_be_put_back(tmp_path: Path) -> None:
    told = [
        LoopConfig(),
        CONFIG,
        LoopConfig(features=FeatureRule(interactions=[("hour", "x")], exclude=["user"]), retain="90d", mode="observe"),
        LoopConfig(policy={"name": "LinUCB", "alpha": 1}, explore=0, retain=None),
    ]

    async def work() -> None:
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"))
        for number, config in enumerate(told):
            await service.make(f"l{number}", config)
            sent = msgspec.json.encode((await service.summary(f"l{number}", "loop"))["config"])
            assert not await service.make(f"l{number}", msgspec.json.decode(sent, type=LoopConfig))
            assert live(service, f"l{number}").seq == 1  # nothing was changed, so nothing is written
            assert msgspec.json.decode(sent, type=LoopConfig) == live(service, f"l{number}").config
        await service.make("m", ModelConfig("ridge", {"lam": 2.0}, retain="1d"))
        sent = msgspec.json.encode((await service.summary("m", "model"))["config"])
        assert not await service.make("m", msgspec.json.decode(sent, type=ModelConfig))
        assert (await service.summary("m", "model"))["seq"] == 1
        await service.stop()

    run(work)
