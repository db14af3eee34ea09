"""Decisions of a policy and their rewards: at once, later or never."""

import time
from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits.buffers import LEARNED
from onward.bandits.feature_names import names_unless_refused
from onward.bandits.late_rewards import LateRewards, When, as_time
from onward.bandits.pending import UNKNOWN, Decision
from onward.bandits.policy_chances import PolicyChances
from onward.bandits.policy_learning import PolicyLearning
from onward.bandits.proposing import ALL_AVAILABLE
from onward.bandits.settings import Status
from onward.core.checks import whole
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Matrix, Vector


class Deciding(LateRewards, PolicyChances, PolicyLearning):
    """The part of a policy that decides now and learns later."""

    _chooses_itself: ClassVar[bool] = False  # whether a subclass has a `choose` of its own

    def decide(
        self, actions: ArrayLike, key: Hashable = None, available: ArrayLike | None = None, *, at: When = None
    ) -> Decision:
        """`choose`, and remember the action under a key until its `reward` comes.

        Args:
            actions: (k, d), a row for each action.
            key: text or a whole number under which none waits; None for a number that never was a key.
            available: (k,) whether each may be played; None if all may.
            at: when it is decided, for `expire`: a date, or seconds by your own clock; None for `time.time()`.

        Returns:
            The action's number, its probability and the key.
        """
        if self._choose_loop and available is None and type(actions) is np.ndarray and not self._chooses_itself:
            pending = self._pending
            try:
                with self._lock:
                    own = pending.next_key if key is None else key
                    if pending.is_free(own):
                        best = self._choose_loop(self._buffer, actions)
                        if best >= 0:  # no other is as good
                            pending.add(own, actions[best], time.time() if at is None else as_time("at", at), 1.0, best)
                            return Decision(best, 1.0, own)
            except TypeError:
                pass  # not as the loops take it
        now = as_time("at", at)
        with self._lock, interrupts_deferred():
            own = self._pending.new_key(key)
            table, mask = self._offer(actions, available)  # the names of columns that it learns are a step of their own
            with self._noting("decide") as noting:
                chosen, probability = self.choose_to_decide(table, mask)
                self._pending.add(own, table[chosen], now, probability, chosen)
                decision = Decision(chosen, probability, own)
                noting({"actions": table, "available": mask, "key": own, "at": now}, decision)
        return decision

    def choose_to_decide(self, table: Matrix, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """An action, of those that were checked, and its probability; the lock is held.

        As on the short way, nothing is drawn where one action is the best.

        Args:
            table: the actions, checked.
            mask: which may be played; empty if all may.
        """
        if self._chooses_itself:
            available = None if mask is ALL_AVAILABLE else mask
            chances = self.probabilities(table, available)
            chosen = self.choose(table, available)
            return chosen, float(chances[chosen])
        buffer = self.started(table)
        for many in (False, True) if mask is ALL_AVAILABLE else ():
            loop = self._plain_loop(many)
            best = Status.SEVERAL if loop is None else loop(buffer, table)
            if best >= 0:
                return best, 1.0
            if best != Status.TOO_MANY:
                break
        return self.draw_with_probability(table, mask)

    def reward(self, key: Hashable, reward: float) -> None:
        """Learn the reward of the decision that waits under the key. Each counts once."""
        pending = self._pending
        if isinstance(reward, float) and (type(key) is str or type(key) is int):
            with self._lock:
                # The loop is asked for only now: whoever had the lock before may have opened a journal
                loop, slot, buffer = self._learn_loop, pending.slots.get(key), self._buffer
                learned = buffer.item(LEARNED)
                try:
                    if loop and slot is not None and loop(buffer, pending.row(slot), reward) == 0:
                        pending.drop(key, slot)
                        pending.rewarded += 1
                        return
                except BaseException:  # Ctrl-C: what was learned must not be learned again
                    if slot is not None and buffer.item(LEARNED) > learned and key in pending.slots:
                        pending.drop(key, slot)
                        pending.rewarded += 1
                    raise
        super().reward(key, reward)

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        rows = [self._pending.row(slot) for slot in slots]
        if len(rows) == 1:
            self._learn_checked(rows[0], float(rewards[0]))
        else:
            self._learn_rows(np.array(rows), rewards, past=False)

    def override(self, key: Hashable, action: ArrayLike, number: int | None = None) -> None:
        """Note that another action was taken than the one decided: the reward will be that of this one.

        Its probability is not known any more.

        Args:
            key: of a decision that waits.
            action: (d,) the features of the action that was really taken.
            number: which one it was of those offered, if it was one of them.
        """
        with names_unless_refused(self):
            row, place = self.checked_row(action), UNKNOWN if number is None else whole("number", number, 0, 2**53)
            self._override(key, row, place, {"action": row, "number": number})
