"""What a loop knows, as a fold over the entries of its log, and as a snapshot."""

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Literal, Self

import msgspec
import numpy as np

from onward import storage
from onward.confidence.change_alarm import ChangeAlarm
from onward.service import snapshots
from onward.service.configuration import LoopConfig
from onward.service.encoder import Encoder
from onward.service.entries import Activate, Begin, Decide, Entry, Expire, Forget, Install, Reward
from onward.service.entry_checks import check_entry
from onward.service.learner import Learner
from onward.service.loop_checks import check_settings, seconds_to_wait
from onward.service.loop_statistics import Statistics
from onward.service.outcomes import Outcome, Status
from onward.service.request_errors import RequestError
from onward.service.snapshots import Rest, Snapshot
from onward.service.waiting import Counted, InOrder, Waiting, WaitingRoom, are_scales
from onward.storage import StorageError

_REWARD_IDS = 1000  # of a decision that are remembered, the latest
_INSTALLED = 100  # requests for another policy that are remembered, the latest
REMEMBERED = 10_000  # events that are over, of which is known how they ended


class LoopState:
    """The part of a loop that entries change."""

    kind = "loop"

    def __init__(self, name: str, config: LoopConfig | None = None) -> None:
        self.name = name
        self.config = config = as_written(LoopConfig() if config is None else config)
        self._wait = seconds_to_wait(config)
        self.seq = self.version = 0
        self.encoder = Encoder(config.features)
        self.learner = Learner(config.policy)
        self.shadow: Learner | None = None
        self.waiting = WaitingRoom()
        self.in_order = InOrder(None, self.waiting)
        self.statistics = Statistics()
        self._finished: dict[str, Literal["already", "late"]] = {}
        self.installed: dict[str, int] = {}
        """By the id of a request for another policy, the snapshot of before."""

    # Folding

    @classmethod
    def begin(cls, entry: Entry) -> Self:
        """The loop that the first entry of a log makes."""
        if not isinstance(entry.content, Begin):
            raise TypeError(f"a log begins with the loop's settings, got a {type(entry.content).__name__}")
        loop = cls(entry.loop, entry.content.config)
        loop.seq = entry.seq
        return loop

    def fold(self, entry: Entry) -> Outcome:
        """Take in an entry that was written down. What it does depends on the entries before it alone."""
        if entry.seq and entry.seq != self.seq + 1:
            raise ValueError(f"entry {entry.seq} of {self.name!r} came after {self.seq}, expected {self.seq + 1}")
        check_entry(entry, self.seq + 1)
        outcome = self._fold(entry)
        for waiting in self.in_order.ready():
            self._judge(waiting, waiting.value, entry.at)
        self.seq += 1
        return outcome

    def _fold(self, entry: Entry) -> Outcome:
        content, event = entry.content, entry.event_id
        if isinstance(content, Decide):
            return self._decided(entry, content)
        if isinstance(content, Reward):
            return self._rewarded(str(event), content, entry.at)
        if isinstance(content, Activate):
            waiting = self.waiting.get(event)
            if waiting is None:
                return Outcome(self.finished(str(event)) or "unknown")
            waiting.active = True
            return Outcome("activated")
        if isinstance(content, Expire):
            return self._expired(entry.at, content.most)
        if isinstance(content, Forget):
            for each in content.events:
                if each in self.waiting:
                    self.waiting.pop(each)
                self.in_order.held.pop(each, None)
                self._finished.pop(each, None)
            return Outcome("done")
        if isinstance(content, Install):
            if content.id is not None and content.id in self.installed:
                return Outcome("already")
            self._install(content)
            return Outcome("done")
        if isinstance(content, Begin):
            if content.config.mode != self.config.mode:  # who decides from now on is judged by that alone
                self.statistics.begin_apprentice()
                for waiting in self._not_counted():
                    waiting.is_own = False
            kept = {"policy": self.config.policy, "features": self.config.features}
            self.config = msgspec.structs.replace(as_written(content.config), **kept)
            self._wait = seconds_to_wait(self.config)
            return Outcome("done")
        raise TypeError(f"a {type(content).__name__} is no entry of a loop")

    def _decided(self, entry: Entry, content: Decide) -> Outcome:
        event, actions = str(entry.event_id), content.actions
        if event in self.waiting:
            return Outcome("already")
        self.encoder.add(content.born or ())
        names = tuple(self.encoder.columns)
        for learner in (self.learner, self.shadow):
            if learner is None or not names:
                continue
            d = learner.policy.dimension
            if d is None:  # λ that was not told is made of how long the first actions are
                like_them = np.zeros((1, len(names)))
                like_them[0, 0] = math.sqrt(content.typical)
                self.version += learner.know(names, like_them, content.longest)
            elif d < len(names) or content.longest > learner.longest:
                learner.know(names, np.zeros((1, len(names))), content.longest)
                self.version += 1
        first, scales = content.chosen, content.scales
        counted: Counted = "now"
        if self.config.reward.default is not None:
            counted = "in order" if self.in_order.has_room() else "not"
        # Not by BLAS, which adds in an order of its own on each kind of processor.
        expected = math.fsum(p * mu for p, mu in zip(content.probabilities, content.estimates, strict=True))
        waiting = Waiting(
            seq=self.seq + 1,
            at=entry.at,
            deadline=entry.at + self._wait,
            action=actions[first].id,
            row=self.encoder.row(content.row).tobytes(),
            probability=content.probability,
            estimate=content.estimates[first],
            policy_probability=content.probabilities[first],
            gain=expected - content.estimates[first],
            active=content.active,
            scales=(tuple(scales[0]), tuple(scales[1])) if scales is not None and are_scales(scales) else None,
            shadow=content.shadow,
            subject=content.subject,
            is_told=content.is_told,
            aggregate=self.config.reward.aggregate,
            is_own=content.is_own and self.config.mode != "online",
            counted=counted,
        )
        self.waiting.add(event, waiting)
        self.in_order.add(event, waiting)
        self.statistics.decided(waiting, content.leverage)
        if content.left_out:
            self.statistics.count("left_out", content.left_out)
        return Outcome("decided")

    def _rewarded(self, event: str, content: Reward, at: float) -> Outcome:
        waiting = self.waiting.get(event)
        if waiting is None:
            return self._count(self.finished(event) or "unknown")
        if at > waiting.deadline:
            self.waiting.pop(event)
            outcome = self._end(event, waiting, at)
            self._count("late")
            return outcome._replace(status="late")
        waiting.active = True
        if waiting.aggregate == "first":
            self.waiting.pop(event)
            self._remember(event, "already")
            return Outcome("learned", self._learn(event, waiting, content.value, at))
        if content.id is not None:
            seen = waiting.seen = waiting.seen or []
            if content.id in seen:
                return self._count("already")
            seen.append(content.id)
            del seen[:-_REWARD_IDS]
        waiting.count += 1
        total = waiting.value + content.value
        waiting.value = total if waiting.aggregate == "sum" else content.value
        return Outcome("noted")

    def _count(self, status: Status) -> Outcome:
        self.statistics.count(status)
        return Outcome(status)

    def _expired(self, now: float, most: int | None) -> Outcome:
        learned = expired = 0
        for event, waiting in self.waiting.pop_due(now, most):
            outcome = self._end(event, waiting, now)
            learned, expired = learned + outcome.learned, expired + outcome.expired
        return Outcome("done", learned, expired)

    def _end(self, event: str, waiting: Waiting, at: float) -> Outcome:
        """The wait is over: what came is learned, or what counts if nothing came."""
        self._remember(event, "late")
        if waiting.count:
            return Outcome("done", self._learn(event, waiting, waiting.value, at))
        self.statistics.count("expired")
        default = self.config.reward.default
        if default is None or not waiting.active:
            return Outcome("done", 0, 1)
        return Outcome("done", self._learn(event, waiting, default, at, is_default=True), 1)

    def _learn(self, event: str, waiting: Waiting, value: float, at: float, *, is_default: bool = False) -> int:
        names = tuple(self.encoder.columns)
        row = waiting.features(len(names))
        if not self.learner.learn(row, value, names, waiting.scales):
            self.statistics.count("refused")
            return 0
        if self.shadow is not None:
            self.shadow.learn(row, value, names, None)
        self.version += 1
        self.statistics.count("learned")
        if waiting.counted == "in order":
            self.in_order.hold(event, waiting, value)
        elif waiting.counted == "not":
            self.statistics.count("uncounted")
        else:
            self._judge(waiting, value, at, is_default=is_default)
        return 1

    def _judge(self, waiting: Waiting, value: float, at: float, *, is_default: bool = False) -> None:
        """Count a reward in means, and let the alarm see it."""
        self.statistics.rewarded(waiting, value, at)
        if not is_default:  # many defaults at once, of those alone that got no reward, look like a change
            self.statistics.watch(waiting.features(len(self.encoder.columns)), value, at)

    def _not_counted(self) -> Iterator[Waiting]:
        """Decisions that wait, and those that have ended and are not counted yet."""
        return itertools.chain(self.waiting.by_event.values(), self.in_order.held.values())

    def _install(self, content: Install) -> None:
        learner = None
        if content.policy is not None:
            fresh = content.state is None
            learner = Learner(content.policy) if fresh else Learner.from_bytes(content.policy, content.state or b"")
            names = tuple(self.encoder.columns)
            if learner.policy.dimension is not None and learner.policy.dimension < len(names):
                learner.know(names, np.zeros((1, len(names))), 0.0)
        for waiting in self._not_counted():  # what another policy said of them is nothing to this one
            if content.place == "shadow":
                waiting.shadow = None
            else:
                waiting.scales = None
        if content.place == "shadow":
            self.shadow = learner
            self.statistics.begin_shadow()
        elif learner is not None:
            self.learner = learner
            self.config = msgspec.structs.replace(self.config, policy=learner.settings)
        self.version += 1
        if content.id is not None:
            self.installed[content.id] = content.previous
            if len(self.installed) > _INSTALLED:
                del self.installed[next(iter(self.installed))]

    def _remember(self, event: str, how: Literal["already", "late"]) -> None:
        self._finished[event] = how
        if len(self._finished) > REMEMBERED:
            del self._finished[next(iter(self._finished))]

    # What waits, and what is over

    def is_waiting(self, event_id: str) -> bool:
        """Whether the reward of this event can still come.

        Args:
            event_id: of the decision.
        """
        return event_id in self.waiting

    def finished(self, event_id: str) -> Literal["already", "late"] | None:
        """How an event ended, of the latest of them: with a reward, or without; None if that is not known.

        Args:
            event_id: of the decision.
        """
        return self._finished.get(event_id)

    def due(self, now: float) -> bool:
        """Whether decisions have waited long enough.

        Args:
            now: the time, in seconds since 1970.
        """
        return self.waiting.is_due(now)

    # Snapshots

    def to_bytes(self) -> bytes:
        """Everything, for a snapshot: `from_bytes` goes on from there to the last bit."""
        return self.to_snapshot()[0]

    def to_snapshot(self) -> tuple[bytes, str]:
        """What `to_bytes` and `digest` give, for little more than one of them."""
        return self.begin_snapshot()()

    def begin_snapshot(self) -> Callable[[], tuple[bytes, str]]:
        """`to_snapshot` of the state as it is now, to be finished later, on any thread."""
        rest = snapshots.encode_rest(
            Rest(
                name=self.name,
                config=self.config,
                seq=self.seq,
                version=self.version,
                features=list(self.encoder.names.items()),
                waiting=self.waiting.by_event,
                finished=self._finished,
                sums=self.statistics.sums,
                alarm=self.statistics.alarm_bytes(),
                held=self.in_order.held,
                installed=self.installed,
            )
        )
        shadow = None if self.shadow is None else (self.shadow.settings, self.shadow.to_bytes())
        learner = self.learner.to_bytes()
        digests = [each.digest() for each in (self.learner, self.shadow) if each is not None]

        def finish() -> tuple[bytes, str]:
            digest = hashlib.sha256(rest)
            for each in digests:
                digest.update(each)
            return snapshots.pack(Snapshot(learner, shadow, msgspec.Raw(rest))), digest.hexdigest()

        return finish

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The loop of a snapshot; StorageError if it is damaged.

        Args:
            data: the bytes.
        """
        snapshot = snapshots.unpack(data, Snapshot)
        held = snapshots.decode_rest(snapshot.rest)
        alarm = storage.from_bytes(held.alarm)
        if not isinstance(alarm, ChangeAlarm):
            raise StorageError(f"a snapshot holds a {type(alarm).__name__} in place of its alarm")
        try:
            loop = cls(held.name, held.config)
            loop.encoder.add(held.features)
            loop.learner = Learner.from_bytes(held.config.policy, snapshot.learner)
            loop.shadow = None if snapshot.shadow is None else Learner.from_bytes(*snapshot.shadow)
        except StorageError:
            raise
        except (RequestError, ValueError, TypeError) as error:
            raise StorageError(f"a snapshot has settings or features that no loop has: {error}"[:300]) from error
        d = len(loop.encoder.columns)
        if any((each.policy.dimension or 0) > d for each in (loop.learner, loop.shadow) if each is not None):
            raise StorageError(f"a snapshot has a policy of more features than the loop, which has {d}")
        loop.seq, loop.version = held.seq, held.version
        loop.waiting = WaitingRoom(held.waiting)
        loop.in_order = InOrder(held.held, loop.waiting)
        loop._finished = held.finished
        loop.statistics = Statistics(held.sums, alarm)
        loop.installed = held.installed
        return loop

    def digest(self) -> str:
        """What two loops share only if they know the same, to the last bit, and wait for the same."""
        return self.to_snapshot()[1]


def as_written(config: LoopConfig) -> LoopConfig:
    """Settings as they come back from the log: 20 where a fraction may be is 20.0."""
    check_settings(config)
    return msgspec.json.decode(msgspec.json.encode(config), type=LoopConfig)
