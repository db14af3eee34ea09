"""Logs of the service, altered: entries of a loop and of a regression model that say what none was written with."""

import random
from pathlib import Path
from typing import Any

import msgspec

from onward.service import Action, Loop, LoopConfig, Model, ModelConfig, RewardRule
from onward.service.entries import Activate, Begin, BeginModel, Entry, Expire, Forget, Install
from onward.service.folding import fold_entry
from onward.storage import StorageError
from tests.fuzz.service_files import alter, whole
from tests.fuzz.using import FOREIGN, Lie

_LONGEST = 1000
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[Entry]).decode
_unpack_one = msgspec.msgpack.Decoder(Entry).decode


def service_logs() -> dict[str, bytes]:
    """Real ones, by name."""
    return {
        "service log": _log_of(LoopConfig(reward=RewardRule(10.0, 0.0, "sum"), mode="apprentice", explore=0.1)),
        "service log of rewards at once": _log_of(LoopConfig(policy={"name": "LinTS"}, reward=RewardRule("1h"))),
        "service log of a model": _log_of_model(),
    }


class _Log(list[Entry]):
    """Entries, each folded as it is written."""

    def __init__(self, first: Entry) -> None:
        super().__init__([msgspec.structs.replace(first, seq=1)])
        self.current: Any = fold_entry(None, self[0])

    def write(self, entry: Entry) -> None:
        self.append(msgspec.structs.replace(entry, seq=len(self) + 1))
        fold_entry(self.current, self[-1])


def _log_of(config: LoopConfig) -> bytes:
    rng, log = random.Random(0), _Log(Entry("l", Begin(config)))
    loop: Loop = log.current
    told = None if config.mode == "online" else 0.5
    for place in range(12):
        at, event = float(place), f"e{place}"
        actions = [Action(name, {"x": rng.gauss(0, 1), "kind": rng.choice("uv")}) for name in "ab"]
        log.write(loop.propose(event, {"y": 1.0}, actions, at=at, probability=told))
        if rng.random() < 0.7:
            log.write(loop.propose_reward(event, rng.random(), at=at, reward_id=rng.choice((None, "r"))))
        more = {
            3: Entry("l", Activate(), event, at),
            4: Entry("l", Forget([event]), None, at),
            5: Entry("l", Install("shadow", {"name": "LinTS"}), None, at),
            7: Entry("l", Begin(msgspec.structs.replace(loop.config, explore=0.2)), None, at),
            8: Entry("l", Install("policy", {"name": "LinTS"}), None, at),
        }
        if place in more:
            log.write(more[place])
        log.write(Entry("l", Expire(), None, at))
    return _pack(log)


def _log_of_model() -> bytes:
    rng, log = random.Random(0), _Log(Entry("m", BeginModel(ModelConfig(learner="ridge"))))
    model: Model = log.current
    for place in range(8):
        row = {"a": rng.gauss(0, 1), "city": rng.choice("uv")}
        log.write(model.propose_learn([row], [rng.gauss(0, 1)], [1.0], at=float(place)))
    return _pack(log)


def forged_service_log(rng: random.Random, data: bytes) -> bytes:
    """A log with an entry or two altered; not their places, of which every state knows which comes next."""
    log = _unpack(data)
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(log))
        tree = msgspec.msgpack.decode(_pack(log[place]))
        try:
            alter(rng, tree["content"] if rng.random() < 0.9 else tree)
            log[place] = _unpack_one(_pack(whole(tree | {"seq": log[place].seq})))
        except (msgspec.MsgspecError, TypeError, OverflowError):  # what no store could hold
            continue
    return _pack(log)


def use_service_log(path: Path) -> list[str]:
    """Fold it; what comes out must be a state whose snapshot can be read."""
    current: Loop | Model | None = None
    for entry in _unpack(path.read_bytes()):
        try:
            current = fold_entry(current, entry)
        except (ValueError, TypeError) as error:
            words = str(error)
            if FOREIGN.search(words) or len(words) > _LONGEST or "zip()" in words:
                raise
            return [f"{type(error).__name__}: {words}"]
    assert current is not None
    try:
        again = type(current).from_bytes(current.to_bytes())
    except StorageError as error:
        raise Lie(f"a state whose own snapshot is refused: {error}") from error
    if again.digest() != current.digest():
        raise Lie("another state from its own snapshot")
    return []
