"""Evaluation on a log: decisions whose probability is known, by the settings in force when they were made."""

import pickle
import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.service import loop_routes
from onward.service.application import Call
from onward.service.configuration import LoopConfig, RewardRule
from onward.service.entries import Action, Begin, Decide, Entry
from onward.service.evaluation import evaluate_entries, evaluate_source, judged_decisions
from onward.service.loop import Loop
from onward.service.request_errors import RequestError
from onward.service.request_types import DecideRequest, EvaluateRequest
from onward.service.service_engine import Service
from onward.service.store import open_store
from onward.service.store_errors import StoreError
from onward.service.store_removal import prune
from tests.service.caller import make_application
from tests.service.evaluating import EvaluatorHere
from tests.service.test_service_engine import ask, live, play, run

ACTIONS = [Action("a", {"fa": 1.0}), Action("b", {"fb": 1.0})]
WANTED = EvaluateRequest([{"name": "Random"}])


class Logged:
    """A loop that is played, and its log."""

    def __init__(self, config: LoopConfig) -> None:
        self.first, self.loop = config, Loop("mix", config)
        self.entries: list[Entry] = []
        self._rng = random.Random(1)

    def fold(self, entry: Entry) -> None:
        self.loop.fold(entry)
        self.entries.append(entry)

    def play(self, n: int, probability: float | None = None) -> None:
        """Where the application decides, it takes the good action: a where u > 0, else b."""
        for _ in range(n):
            event, u = f"e{len(self.entries)}", self._rng.choice((-1.0, 1.0))
            good, is_online = "a" if u > 0 else "b", self.loop.config.mode == "online"
            taken = None if is_online else good
            entry = self.loop.propose(event, {"u": u}, ACTIONS, at=0.0, taken=taken, probability=probability)
            self.fold(entry)
            assert isinstance(entry.content, Decide)
            value = float(ACTIONS[entry.content.chosen].id == good)
            self.fold(self.loop.propose_reward(event, value, at=0.0))

    @property
    def features(self) -> Sequence[tuple[str, str]]:
        return list(self.loop.encoder.names.items())


def test_decisions_whose_probability_nobody_told_are_left_out() -> None:
    logged = Logged(LoopConfig(policy={"name": "Random"}, mode="apprentice", reward=RewardRule(wait=10.0)))
    logged.play(300)
    with pytest.raises(RequestError, match="whose probability is known, got none") as refused:
        evaluate_entries(logged.entries, logged.first, logged.features, WANTED)
    assert refused.value.code == "empty_log"
    logged.fold(Entry("mix", Begin(msgspec.structs.replace(logged.first, mode="online"))))
    logged.play(300)
    judged = judged_decisions(logged.entries, logged.first)
    assert (len(judged.decisions), judged.left_out, judged.is_online) == (300, 300, True)
    answer = evaluate_entries(logged.entries, logged.first, logged.features, WANTED)
    assert (answer.events, answer.left_out) == (300, 300)
    for each in answer.policies[0].estimates:  # what takes either action earns a half, not what the application did
        assert each.reliable
        assert each.value == pytest.approx(0.5, abs=0.1)


def test_an_estimate_by_propensities_that_cannot_be_right_is_not_reliable() -> None:
    logged = Logged(LoopConfig(policy={"name": "Random"}, mode="apprentice", reward=RewardRule(wait=10.0)))
    logged.play(300, probability=0.9)  # it took nothing else: the mean weight is 0.5 / 0.9
    answer = evaluate_entries(logged.entries, logged.first, logged.features, WANTED)
    for each in answer.policies[0].estimates:
        assert (each.effective_samples or 0.0) > 50
        assert not each.reliable
        assert any("The mean weight is" in warning for warning in each.warnings)


@pytest.mark.parametrize("probability", [1e-40, 1e-200, 5e-324])
def test_a_probability_whose_weight_would_overflow_is_refused(probability: float) -> None:
    config = LoopConfig(policy={"name": "Random"}, mode="apprentice", reward=RewardRule(wait=10.0))
    logged = Logged(config)
    with pytest.raises(RequestError, match="expected a probability from 1e-30 to 1"):
        logged.play(1, probability=probability)
    with pytest.raises(msgspec.ValidationError, match="probability"):
        msgspec.json.decode(b'{"actions": [], "probability": %g}' % probability, type=DecideRequest)
    # A log of an earlier version may tell one: it goes on, and is judged, with the least there is now.
    entry = logged.loop.propose("e", {}, [Action("a"), Action("b")], at=0.0, probability=1e-30)
    assert isinstance(entry.content, Decide)
    content = msgspec.structs.replace(entry.content, probability=probability)
    logged.fold(msgspec.structs.replace(entry, content=content))
    logged.fold(logged.loop.propose_reward("e", 1.0, at=0.0))
    assert logged.loop.state()["apprentice"]["value"] == 1.0
    assert Loop.from_bytes(logged.loop.to_bytes()).digest() == logged.loop.digest()
    assert evaluate_entries(logged.entries, config, logged.features, WANTED).events == 1


def test_a_pruned_log_is_judged_by_the_settings_of_then(tmp_path: Path) -> None:
    config = LoopConfig(policy={"name": "Random"}, reward=RewardRule(wait=10.0, default=0.0), explore=0.1)

    async def work() -> None:
        now = [100.0]
        service = await Service.start(open_store(f"sqlite:///{tmp_path / 'log.db'}"), clock=lambda: now[0])
        await service.make("news", config)
        await play(service, range(5))
        await service.loops.save(service.loops.by_name["news"])
        now[0] = 200.0
        await service.decide("news", [ask(f"later{i}") for i in range(8)])
        now[0] = 250.0  # nothing came: 0 counts
        await service._upkeep._expire()
        await service.make("news", msgspec.structs.replace(config, reward=RewardRule(wait="1h")))

        async def judged(since: float | None) -> tuple[int, int]:
            with (await service.log_source("news", since, None)).opened() as (before, entries):
                found = judged_decisions(entries, before)
            return len(found.decisions), found.left_out

        assert await judged(None) == (13, 0)
        prune(service.store, 150.0)
        assert live(service).config.reward.default is None
        assert await judged(None) == await judged(150.0) == (8, 0)
        await service.stop()

    run(work)


def test_another_process_reads_the_log_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    class Sent(EvaluatorHere):
        async def evaluate(self, source: Any, features: Any, asked: EvaluateRequest) -> Any:
            with warnings.catch_warnings():  # to find msgspec's UNSET by name, pickle looks into every module
                warnings.simplefilter("ignore", DeprecationWarning)
                sent.append(pickle.dumps((source, features, asked)))

    async def work() -> None:
        store = open_store(f"sqlite:///{tmp_path / 'log.db'}")
        service = await Service.start(store)
        await service.make("news", LoopConfig(policy={"name": "Random"}))
        await play(service, range(30))
        expected = evaluate_entries(
            [entry async for some in service.log("news", None, None) for entry in some],
            live(service).config,
            await service.features("news"),
            WANTED,
        )
        application = make_application(service)
        application.evaluator = Sent()
        call = Call(application)
        call.parameters, call.body = {"loop": "news"}, WANTED
        with monkeypatch.context() as patch:
            patch.setattr(store, "iterate", None)  # it is not read here
            await loop_routes.evaluate(call)
        assert len(sent[0]) < 1000  # nor sent
        assert evaluate_source(*pickle.loads(sent[0])) == expected
        await service.stop()
        (tmp_path / "log.db").rename(tmp_path / "away.db")
        with pytest.raises(StoreError, match="is gone"):
            evaluate_source(*pickle.loads(sent[0]))
        assert not (tmp_path / "log.db").exists()  # it made no empty one

    run(work)
