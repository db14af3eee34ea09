"""Snapshots of the service, altered: MessagePack with a right checksum, of a loop and of a regression model."""

import copy
import hashlib
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from onward.service import Action, Loop, LoopConfig, Model, ModelConfig, RequestError, RewardRule, snapshots
from tests.fuzz.forging import NUMBERS, alter_place
from tests.fuzz.using import Lie

_HEAD = len(snapshots._MAGIC)
_CHECK = hashlib.sha256().digest_size
_MOST_WHOLE = 2**63


def service_snapshots() -> dict[str, bytes]:
    """Real ones, by name."""
    rng = random.Random(0)
    loop = Loop("l", LoopConfig(reward=RewardRule(10.0, 0.0, "sum"), mode="apprentice", explore=0.1))
    model = Model("m", ModelConfig(learner="ridge"))
    for at in range(20):
        _play(loop, rng, f"e{at}", float(at), told=0.5)
        _learn(model, rng)
    return {"snapshot": loop.to_bytes(), "snapshot of a model": model.to_bytes()}


def _play(loop: Loop, rng: random.Random, event: str, at: float, told: float | None = None) -> None:
    actions = [Action(name, {"x": rng.gauss(0, 1), "kind": rng.choice("uv")}) for name in "ab"]
    loop.decide(event, {"y": 1.0}, actions, at=at, probability=told)
    loop.expire(at)
    loop.reward(event, rng.random(), at=at)
    if rng.random() < 0.5:  # the others wait
        loop.decide(f"{event} late", {}, actions, at=at)


def _learn(model: Model, rng: random.Random) -> None:
    model.fold(model.propose_learn([{"a": rng.gauss(0, 1), "city": rng.choice("uv")}], [rng.gauss(0, 1)], at=0.0))


def forged_snapshot(rng: random.Random, data: bytes) -> bytes:
    """A snapshot with a value or two altered, and a right checksum."""
    body = msgspec.msgpack.decode(data[_HEAD + _CHECK :], type=dict[str, msgspec.Raw])
    key = "rest" if "rest" in body else None
    tree: Any = msgspec.msgpack.decode(body[key] if key else data[_HEAD + _CHECK :])
    for _ in range(rng.choice((1, 1, 2))):
        part = tree.get(rng.choice(("sums", "waiting", "held"))) if key and rng.random() < 0.6 else tree
        if part and isinstance(part, dict | list):  # the first time may have left a number, or nothing, in its place
            alter(rng, part)
    packed = msgspec.msgpack.encode(whole(tree))
    if key:
        packed = msgspec.msgpack.encode(body | {key: msgspec.Raw(packed)})
    return snapshots._MAGIC + hashlib.sha256(packed).digest() + packed


def alter(rng: random.Random, tree: Any) -> None:
    """Another value, or another number, somewhere in a tree."""
    if rng.random() < 0.5:
        alter_place(rng, tree)
        return
    while isinstance(tree, dict | list) and tree:
        holder, place = tree, rng.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        tree = holder[place]
    if isinstance(tree, int | float):
        holder[place] = rng.choice((*NUMBERS, math.nan, math.inf, -tree, tree + 1, tree - 1, 10**9 * tree))


def whole(tree: Any) -> Any:
    """The tree with whole numbers that MessagePack can hold."""
    if isinstance(tree, dict):
        return {whole(key): whole(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [whole(each) for each in tree]
    return 7 if isinstance(tree, int) and abs(tree) >= _MOST_WHOLE else copy.copy(tree)


def use_snapshot(kind: type[Loop] | type[Model]) -> Callable[[Path], list[str]]:
    """Go on from a snapshot, and make another. StorageError if it is refused."""

    def use(path: Path) -> list[str]:
        rng, refusals = random.Random(0), list[str]()
        current = kind.from_bytes(path.read_bytes())
        for step in range(6):
            try:
                if isinstance(current, Loop):
                    _play(current, rng, f"new{step}", 1e9 + step)
                else:
                    _learn(current, rng)
                    if not all(math.isfinite(each.value) for each in current.predict([{"a": 1.0}, {"city": "u"}])):
                        raise Lie("a prediction that is not a number")
            except RequestError as error:
                if len(str(error)) > 1000:
                    raise Lie(f"a message of {len(str(error)):,} characters") from error
                refusals.append(str(error))
        try:
            json.dumps(current.state(), allow_nan=False)
        except ValueError as error:
            raise Lie("a state that holds what is not a number") from error
        if kind.from_bytes(current.to_bytes()).digest() != current.digest():
            raise Lie("another state from its own snapshot")
        return refusals

    return use
