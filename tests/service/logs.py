"""Entries for tests."""

import time

from onward.service.configuration import LoopConfig
from onward.service.entries import Action, Begin, Decide, Entry, Reward
from onward.service.store import Store
from onward.service.store_values import Position, Snapshot


def begin(loop: str = "news", at: float = 1.0) -> Entry:
    return Entry(loop, Begin(LoopConfig()), at=at)


def decide(event: str, loop: str = "news", at: float = 2.0, subject: str | None = None, chosen: int = 0) -> Entry:
    actions = [Action("a", {"x": 0.1, "topic": "sport ✓"}), Action("b")]
    row = {"x": 0.1, "intercept": 1.0}
    content = Decide(
        0,
        1,
        {"hour": 0.1 + 0.2},
        actions,
        chosen,
        0.5,
        [0.5, 0.5],
        [0, 1],
        [0.0] * 2,
        [1.0] * 2,
        1.0,
        row,
        subject=subject,
    )
    return Entry(loop, content, event, at)


def reward(event: str, value: float = 1.0, loop: str = "news", at: float = 3.0) -> Entry:
    return Entry(loop, Reward(value), event, at)


def begun(store: Store, loop: str = "news") -> dict[str, Position]:
    return store.append([begin(loop)], {}).positions


def snapshot(seq: int, loop: str = "news") -> Snapshot:
    return Snapshot(loop, seq, seq, time.time(), f"digest {seq}", False, b"state %d" % seq)


def position(store: Store, loop: str = "news") -> Position:
    found = store.loop(loop)
    assert found is not None
    return Position(found.last_seq, found.birth)
