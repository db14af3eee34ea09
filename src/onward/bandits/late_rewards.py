"""Rewards that come later, or never: what all that decides under keys has in common."""

import datetime
import math
import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from onward.bandits.inputs import as_reward, as_rewards
from onward.bandits.journaling import Journaled
from onward.bandits.pending import Counts, Pending, PendingDecision, PendingView
from onward.core.checks import is_real, whole
from onward.core.durations import as_microseconds
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.types import Vector

When = float | datetime.datetime | None
Span = float | str | datetime.timedelta
LATEST = 1e300  # seconds: whole numbers may be beyond what a float can hold


def as_time(name: str, at: Any) -> float:
    """A moment in seconds: now, if it is None."""
    if at is None:
        return time.time()
    if isinstance(at, datetime.datetime) and at == at:  # not so NaT of pandas
        return at.timestamp()
    if is_real(at) and abs(at) < LATEST:
        return float(at)
    raise ValueError(f"{name} must be a date, or a finite number of seconds, got {brief(at)}")


def as_seconds(name: str, span: Any) -> float:
    """A span of time in seconds."""
    microseconds = as_microseconds(span)
    seconds = math.nan if microseconds is None else microseconds / 1e6
    if microseconds is None and is_real(span) and span < LATEST:
        seconds = float(span)
    if not 0.0 <= seconds < math.inf:
        raise ValueError(f"{name} must be a number of seconds >= 0, or a span such as '12h', got {brief(span)}")
    return seconds


class LateRewards(Journaled):
    """The part of a policy that waits for rewards."""

    _pending: Pending

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        """Learn the rewards of decisions that wait there, in order, all of them or none; the lock is held."""
        raise NotImplementedError

    def reward(self, key: Hashable, reward: float) -> None:
        """Learn the reward of the decision that waits under the key. Each counts once.

        Raises:
            ValueError: if no decision waits under the key, or the reward is not finite.
        """
        with self._lock:
            slot, number = self._pending.slot(key), as_reward(reward)
            with interrupts_deferred():
                self._learn_waiting([slot], np.array([number]))
                self._pending.rewarded += 1
                self._pending.drop(key, slot)
                self._note("reward", {"key": self._pending.plain(key), "reward": number})

    def reward_many(self, rewards: Mapping[Any, float]) -> None:
        """Learn the rewards of several decisions, in the order given. All of them or none."""
        if not isinstance(rewards, Mapping):
            raise ValueError(f"rewards must be a dict of keys and rewards, got {brief(rewards)}")
        with self._lock:
            slots = [self._pending.slot(key) for key in rewards]
            keys = [self._pending.plain(key) for key in rewards]
            column = as_rewards(list(rewards.values()), len(slots))
            if not slots:
                return
            with interrupts_deferred():
                self._learn_waiting(slots, column)
                self._pending.rewarded += len(slots)
                self._drop(keys, slots)
                self._note("reward_many", {"keys": keys, "values": column})

    def cancel(self, key: Hashable) -> None:
        """Wait no longer for the reward of this decision.

        Args:
            key: that of the decision.
        """
        with self._lock:
            slot = self._pending.slot(key)
            with interrupts_deferred():
                self._pending.cancelled += 1
                self._pending.drop(key, slot)
                self._note("cancel", {"key": self._pending.plain(key)})

    def expire(
        self,
        older_than: Span | None = None,
        *,
        rounds: int | None = None,
        default: float | None = None,
        now: When = None,
    ) -> list[Hashable]:
        """Wait no longer for the rewards of old decisions; returns their keys, the oldest first.

        Args:
            older_than: those of more than so long before `now`: in seconds, as text ("12h") or as a timedelta.
            rounds: those that so many decisions, or more, have followed; with `older_than`, whichever comes first.
            default: the reward to learn for each of them, say 0 where no click is an answer; None to learn nothing.
            now: a date, or seconds by the clock of `decide`'s `at`; None for `time.time()`.

        Returns:
            The keys.
        """
        if older_than is None and rounds is None:
            raise ValueError("expire needs older_than or rounds: how old a decision must be, got neither")
        moment = as_time("now", now)
        age = None if older_than is None else as_seconds("older_than", older_than)
        before = -math.inf if age is None else moment - age
        count = None if rounds is None else whole("rounds", rounds, 0)
        reward = None if default is None else as_reward(default)
        with self._lock:
            keys = self._pending.before(before, 0 if count is None else self._pending.rounds - count)
            slots = [self._pending.slots[key] for key in keys]
            if not keys:
                return keys
            with interrupts_deferred():
                if reward is not None:
                    self._learn_waiting(slots, np.full(len(slots), reward))
                self._pending.expired += len(slots)
                self._drop(keys, slots)
                given = {"older_than": age, "rounds": count, "default": reward, "now": moment}
                self._note("expire", given, keys)
        return keys

    def _drop(self, keys: Sequence[Hashable], slots: Sequence[int]) -> None:
        for key, slot in zip(keys, slots, strict=True):
            self._pending.drop(key, slot)

    def _override(self, key: Hashable, row: Vector | None, action: int, given: Mapping[str, Any]) -> None:
        """Let another action wait under the key; `given` is what `override` was told beside the key."""
        with self._lock, interrupts_deferred():
            self._pending.replace(key, row, action)
            self._note("override", {"key": self._pending.plain(key), **given})

    # What waits

    @property
    def pending(self) -> PendingView:
        """The decisions that wait for their rewards: `len`, `key in`, keys (the oldest first), and `pending[key]`."""
        return PendingView(self._pending, self._decision)

    @property
    def n_pending(self) -> int:
        """How many decisions wait for their rewards."""
        return len(self._pending)

    @property
    def counts(self) -> Counts:
        """How many decisions there were, and what became of them."""
        return self._pending.counts

    def _decision(self, key: Hashable) -> PendingDecision:
        with self._lock:
            return self._pending.decision(key)
