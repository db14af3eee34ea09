"""Decisions among arms that share a context, and their rewards: at once, later or never."""

from bisect import bisect_left
from collections.abc import Hashable, Sequence

from numpy.typing import ArrayLike

from onward.bandits.disjoint_chances import DisjointChances
from onward.bandits.late_rewards import LateRewards, When, as_time
from onward.bandits.pending import Decision, PendingDecision
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Vector


class DecidingArms(LateRewards, DisjointChances):
    """The part of `Disjoint` that decides now and learns later: of what waits, actions are the serials of arms."""

    def _place(self, name: Hashable) -> int:
        raise NotImplementedError

    def _learn(self, at: int, row: Vector, reward: float, first: Vector) -> None:
        raise NotImplementedError

    def decide(
        self, context: ArrayLike, key: Hashable = None, available: ArrayLike | None = None, *, at: When = None
    ) -> Decision:
        """`choose`, and remember arm and context under a key until the `reward` comes: see `Policy.decide`."""
        now = as_time("at", at)
        with self._lock, interrupts_deferred(), self._noting("decide") as noting:
            own = self._pending.new_key(key)
            row, mask = self._offer(context, available)
            place, probability = self.choose_with_probability(row, mask)
            self._pending.add(own, row, now, probability, self._serials[place])
            decision = Decision(self._names[place], probability, own)
            noting({"context": row, "available": mask, "key": own, "at": now}, decision)
        return decision

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        for slot, reward in zip(slots, rewards.tolist(), strict=True):
            row = self._pending.row(slot)
            self._learn(self._place_of(self._pending.actions[slot]), row, reward, row)

    def override(self, key: Hashable, arm: Hashable) -> None:
        """Note that another arm was played than the one decided: the reward will be that of this one.

        Its probability is not known any more.
        """
        with self._lock:
            self._override(key, None, self._serials[self._place(arm)], {"arm": arm})

    def _place_of(self, serial: int) -> int:
        """Where the arm with this number stands: serials only grow, so that is found by bisection."""
        return bisect_left(self._serials, serial)

    def _decision(self, key: Hashable) -> PendingDecision:
        with self._lock:
            decision = super()._decision(key)
            return decision._replace(action=self._names[self._place_of(decision.action)])
