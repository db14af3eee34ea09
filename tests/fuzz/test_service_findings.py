"""What attacks on the service's logs and snapshots found, as cases of their own."""

import math
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.service import Action, Loop, LoopConfig, Model, ModelConfig, RequestError, RewardRule
from onward.service.entries import Begin, Decide, Entry, Install, Learn, Reward
from onward.storage import StorageError
from tests.fuzz.service_logs import forged_service_log, service_logs, use_service_log


def _loop() -> tuple[Loop, Entry]:
    """A loop with a decision, and the entry of its next one."""
    loop = Loop("l", LoopConfig(mode="apprentice", reward=RewardRule(10.0, 0.0, "sum")))
    actions = [Action("a", {"x": 1.0}), Action("b", {"x": -2.0})]
    loop.decide("e0", {}, actions, at=0.0, probability=0.5)
    return loop, loop.propose("e1", {}, actions, at=1.0, probability=0.5)


@pytest.mark.parametrize(
    "fault",
    [
        *({name: value} for name in ("leverage", "longest", "typical") for value in (math.nan, math.inf, 1e160)),
        *({name: value} for name in ("probability", "shadow") for value in (math.nan, -0.5, 2.0)),
        *({"estimates": [value, 0.0]} for value in (math.nan, -math.inf, 1e80)),
        *({"probabilities": value} for value in ([math.nan, 0.5], [0.5, math.inf], [1.0], [-1.0, 2.0])),
        {"row": {"x": math.nan}},
        {"chosen": -1},
        {"chosen": 2},
        {"ranking": [0, 7]},
        {"left_out": -1},
        {"left_out": 10**400},
        {"estimates": [0.0]},
        {"longest": -1.0},
    ],
    ids=lambda fault: str(fault)[:40],
)
def test_a_decision_that_no_state_can_hold_is_refused_with_its_place(fault: dict[str, Any]) -> None:
    loop, entry = _loop()
    assert isinstance(entry.content, Decide)
    before = loop.digest()
    with pytest.raises(ValueError, match="entry 2 of 'l' is none that was written"):
        loop.fold(msgspec.structs.replace(entry, content=msgspec.structs.replace(entry.content, **fault)))
    assert loop.digest() == before
    loop.fold(entry)
    assert Loop.from_bytes(loop.to_bytes()).digest() == loop.digest()


@pytest.mark.parametrize("content", [Reward(math.nan), Reward(1e200), Install("shadow", None, previous=10**30)])
def test_what_no_state_can_hold_is_refused_with_its_place(content: Any) -> None:
    loop, _ = _loop()
    before = loop.digest()
    with pytest.raises(ValueError, match="entry 2 of 'l' is none that was written"):
        loop.fold(Entry("l", content, "e0", 1.0))
    assert loop.digest() == before


@pytest.mark.parametrize("more", [{"targets": []}, {"targets": [1.0, 2.0]}, {"weights": []}])
def test_rows_without_targets_or_weights_are_refused_with_their_place(more: dict[str, Any]) -> None:
    model, content = Model("m"), msgspec.structs.replace(Learn([{"a": 1.0}], [1.0]), **more)
    with pytest.raises(ValueError, match="entry 1 of 'm' is none that was written"):
        model.fold(Entry("m", content))
    assert model.digest() == Model("m").digest()


def test_features_of_a_loop_do_not_change_on_the_way() -> None:
    loop, _ = _loop()
    features = msgspec.structs.replace(loop.config.features, max_features=1)
    loop.fold(Entry("l", Begin(msgspec.structs.replace(loop.config, features=features, explore=0.5))))
    assert (loop.config.features.max_features, loop.config.explore) == (500, 0.5)
    assert Loop.from_bytes(loop.to_bytes()).digest() == loop.digest()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_setting_that_is_no_number_is_refused(value: float) -> None:
    for config in (
        LoopConfig(policy={"name": "LinUCB", "lam": value}),
        LoopConfig(retain=value),
        LoopConfig(reward=RewardRule(1.0, value)),
    ):
        with pytest.raises(RequestError, match="finite"):
            Loop("l", config)
    for name in ("lam", "clip", "prior_intercept"):
        settings = ModelConfig(learner="ridge", settings={name: value})
        with pytest.raises(RequestError, match="finite"):
            Model("m", settings)
        model = Model("m", ModelConfig(learner="ridge"))
        model.config = settings  # as a forged snapshot has it
        with pytest.raises(StorageError, match="finite"):
            Model.from_bytes(model.to_bytes())


def test_a_log_is_refused_or_makes_a_state_that_can_be_saved(tmp_path: Path) -> None:
    logs, path = service_logs(), tmp_path / "log"
    for seed in range(100):
        rng = random.Random(seed)
        path.write_bytes(forged_service_log(rng, logs[rng.choice(sorted(logs))]))
        use_service_log(path)
