"""Decisions among arms that share a context, and their rewards: at once, later or never."""

import time
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits import choosing_arms
from onward.bandits.buffers import LEARNED
from onward.bandits.disjoint_chances import DisjointChances
from onward.bandits.disjoint_learning import DisjointLearning
from onward.bandits.late_rewards import LateRewards, When, as_time
from onward.bandits.pending import Decision, PendingDecision
from onward.bandits.proposing import ALL_AVAILABLE
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Vector

choose_arm_plainly: Callable[..., int] = choosing_arms.choose_arm_fast


class DecidingArms(LateRewards, DisjointChances, DisjointLearning):
    """The part of `Disjoint` that decides now and learns later: of what waits, actions are the serials of arms."""

    def decide(
        self, context: ArrayLike, key: Hashable = None, available: ArrayLike | None = None, *, at: When = None
    ) -> Decision:
        """`choose`, and remember arm and context under a key until the `reward` comes: see `Policy.decide`.

        Args:
            available: whether each may be played, (k,); None if all may.
            at: when it is decided, for `expire`: a date, or seconds by your own clock; None for `time.time()`.
        """
        if self._quick and available is None and type(context) is np.ndarray:
            pending = self._pending
            try:
                with self._lock:
                    arms, own = self._arms, pending.next_key if key is None else key
                    fresh = pending.is_free(own)
                    if fresh and self._quick and arms is not None:
                        best = choose_arm_plainly(arms.rows, arms.summary, arms.forms, arms.arms, self._record, context)
                        if best >= 0:  # no other is as good
                            now = time.time() if at is None else as_time("at", at)
                            pending.add(own, context, now, 1.0, self._serials[best])
                            return Decision(self._names[best], 1.0, own)
            except TypeError:
                pass  # not as the loops take it
        now = as_time("at", at)
        with self._lock, interrupts_deferred(), self._noting("decide") as noting:
            own = self._pending.new_key(key)
            row, mask = self._offer(context, available)
            place, probability = self.choose_to_decide(row, mask)
            self._pending.add(own, row, now, probability, self._serials[place])
            decision = Decision(self._names[place], probability, own)
            noting({"context": row, "available": mask, "key": own, "at": now}, decision)
        return decision

    def choose_to_decide(self, row: Vector, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """The place of an arm, for a context that was checked, and its probability; the lock is held.

        As on the short way, nothing is drawn where one arm is the best.

        Args:
            row: the context, checked.
            mask: which may be played; empty if all may.
        """
        arms = self._start(row.reshape(1, -1))
        if self._plain and mask is ALL_AVAILABLE:
            best = choose_arm_plainly(arms.rows, arms.summary, arms.forms, arms.arms, self._record, row)
            if best >= 0:
                return best, 1.0
        return self.draw_with_probability(row, mask)

    def reward(self, key: Hashable, reward: float) -> None:
        """Learn the reward of the decision that waits under the key. Each counts once."""
        pending = self._pending
        if self._ready and isinstance(reward, float) and (type(key) is str or type(key) is int):
            with self._lock:
                slot, arms = pending.slots.get(key), self._arms
                if slot is not None and self._ready and arms is not None:
                    serial = pending.actions[slot]
                    own = self._slots.get(self._names[self._place_of(serial)], 0)
                    buffer = arms.rows[own]
                    learned = buffer.item(LEARNED)
                    try:
                        row = pending.row(slot)
                        if own and self._learn_loop(buffer, self._record, row, reward, float(serial)) == 0:
                            arms.summary[own, arms.stale] = 1.0
                            pending.drop(key, slot)
                            pending.rewarded += 1
                            return
                    except BaseException:  # Ctrl-C: what was learned must not be learned again
                        arms.summary[own, arms.stale] = 1.0
                        if buffer.item(LEARNED) > learned and key in pending.slots:
                            pending.drop(key, slot)
                            pending.rewarded += 1
                        raise
        super().reward(key, reward)

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        for slot, reward in zip(slots, rewards.tolist(), strict=True):
            row = self._pending.row(slot)
            self._learn(self._place_of(self._pending.actions[slot]), row, reward, row)

    def override(self, key: Hashable, arm: Hashable) -> None:
        """Note that another arm was played than the one decided: the reward will be that of this one.

        Its probability is not known any more.

        Args:
            key: that of the decision.
        """
        with self._lock:
            self._override(key, None, self._serials[self._place(arm)], {"arm": arm})

    def _decision(self, key: Hashable) -> PendingDecision:
        with self._lock:
            decision = super()._decision(key)
            return decision._replace(action=self._names[self._place_of(decision.action)])
