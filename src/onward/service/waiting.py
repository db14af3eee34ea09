"""Decisions that wait for their rewards, in the order in which their time is over, and that wait to be counted."""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np

from onward.bandits.tuning import MOST
from onward.core.types import Vector

_SPARE = 1000  # places in the order of those that went
_MOST_IN_ORDER = 50_000  # decisions that are counted in order at one time

Counted = Literal["now", "in order", "not"]
"""When a decision's reward counts in statistics: when it is learned, when all decisions before have ended, or never."""


class Waiting(msgspec.Struct, array_like=True, gc=False):
    """A decision that waits: what its reward will be learned with.

    Thousands of them stay for long, so none of it is anything that collecting garbage would look at again and again.
    """

    seq: int  # of its entry
    at: float
    deadline: float
    action: str
    row: bytes  # the features of the action taken, as float64; those that came later were 0
    probability: float
    estimate: float
    policy_probability: float  # with which the policy takes that action
    gain: float  # what the policy expects to earn more than this action does
    active: bool
    scales: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    shadow: float | None = None
    subject: str | None = None
    is_told: bool = True
    aggregate: str = "first"
    count: int = 0  # rewards that came, where several count
    value: float = 0.0  # their sum, or the last
    seen: list[str] | None = None  # the ids of those that had one
    is_own: bool = False  # the application decided, and who decides has not changed since
    counted: Counted = "now"

    def features(self, d: int) -> Vector:
        """The row, of so many features."""
        out = np.zeros(d)
        known = np.frombuffer(self.row)
        out[: len(known)] = known
        return out


def are_scales(scales: tuple[Sequence[float], Sequence[float]] | None) -> bool:
    """Whether the loops that tune can take this as how often each scale was taken, and its chances; None is nothing."""
    if scales is None:
        return True
    taken, chances = scales
    return len(taken) == len(chances) <= MOST and all(0.0 <= each <= 1.0 + 1e-9 for each in (*taken, *chances))


class WaitingRoom:
    """The decisions that wait, by event id."""

    def __init__(self, held: dict[str, Waiting] | None = None) -> None:
        self.by_event: dict[str, Waiting] = held or {}
        self.n_in_order = sum(each.counted == "in order" for each in self.by_event.values())
        self._sort()

    def _sort(self) -> None:
        self._order = [(waiting.deadline, waiting.seq, event) for event, waiting in self.by_event.items()]
        heapq.heapify(self._order)

    def __len__(self) -> int:
        return len(self.by_event)

    def __contains__(self, event_id: str) -> bool:
        return event_id in self.by_event

    def add(self, event_id: str, waiting: Waiting) -> None:
        """Let a decision wait."""
        self.by_event[event_id] = waiting
        self.n_in_order += waiting.counted == "in order"
        heapq.heappush(self._order, (waiting.deadline, waiting.seq, event_id))

    def get(self, event_id: str | None) -> Waiting | None:
        """The decision of an event, if it waits."""
        return self.by_event.get(event_id) if event_id is not None else None

    def pop(self, event_id: str) -> Waiting:
        """Let a decision wait no longer."""
        waiting = self._take(event_id)
        if len(self._order) > 2 * len(self.by_event) + _SPARE:  # behind one that waits long, those that went pile up
            self._sort()
        return waiting

    def is_due(self, now: float) -> bool:
        """Whether a decision has waited long enough."""
        self._drop_gone()
        return bool(self._order) and self._order[0][0] <= now

    def pop_due(self, now: float, most: int | None = None) -> list[tuple[str, Waiting]]:
        """The decisions that have waited long enough, those first whose time was over first; at most so many."""
        found: list[tuple[str, Waiting]] = []
        while (most is None or len(found) < most) and self.is_due(now):
            event = heapq.heappop(self._order)[2]
            found.append((event, self._take(event)))
        return found

    def oldest(self) -> float | None:
        """When the oldest was decided."""
        return next(iter(self.by_event.values())).at if self.by_event else None

    def _take(self, event_id: str) -> Waiting:
        waiting = self.by_event.pop(event_id)
        self.n_in_order -= waiting.counted == "in order"
        return waiting

    def _drop_gone(self) -> None:
        while self._order:
            _, seq, event = self._order[0]
            waiting = self.by_event.get(event)
            if waiting is not None and waiting.seq == seq:
                return
            heapq.heappop(self._order)


class InOrder:
    """Decisions that are counted in the order in which they were made: each when all before it have ended.

    Where a default counts when no reward comes, those that got one are known before those that did not: counted as
    they come, the first hours of a loop whose readers click would be nothing but clicks. In the order in which they
    were made, every mean is that of the first n decisions, whenever one looks.
    """

    def __init__(self, held: dict[str, Waiting] | None, room: WaitingRoom) -> None:
        self.held: dict[str, Waiting] = held or {}
        """By event, those that have ended with a value, behind one that waits."""
        self._room = room
        in_order = [*self.held.items(), *((event, each) for event, each in room.by_event.items() if _is_in(each))]
        self._queue = deque(sorted((each.seq, event) for event, each in in_order))

    def has_room(self) -> bool:
        """Whether another decision can be counted: not if too many are at a time, whatever becomes of it."""
        return len(self.held) + self._room.n_in_order < _MOST_IN_ORDER

    def add(self, event_id: str, waiting: Waiting) -> None:
        """A decision was made."""
        if _is_in(waiting):
            self._queue.append((waiting.seq, event_id))

    def hold(self, event_id: str, waiting: Waiting, value: float) -> None:
        """A decision has ended with this value, which counts in its turn."""
        waiting.value, waiting.seen, waiting.scales = value, None, None
        self.held[event_id] = waiting

    def ready(self) -> Iterator[Waiting]:
        """Those whose turn it is; they are held no longer."""
        while self._queue:
            seq, event = self._queue[0]
            waiting = self._room.get(event)
            if waiting is not None and waiting.seq == seq:
                return
            self._queue.popleft()
            held = self.held.get(event)
            if held is not None and held.seq == seq:
                yield self.held.pop(event)


def _is_in(waiting: Waiting) -> bool:
    return waiting.counted == "in order"
