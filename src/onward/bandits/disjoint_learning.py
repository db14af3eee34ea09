"""What arms learn: rewards as they come, logs, what others know; and forgetting all of it."""

import copy
import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits import memories
from onward.bandits.buffers import PolicySettings, fresh_buffer, grown, head_in, refusal
from onward.bandits.disjoint_arms import DisjointArms
from onward.bandits.feature_names import names_unless_refused
from onward.bandits.inputs import as_reward, as_rewards, as_weights, weighed_reward
from onward.bandits.joined_buffers import check_apart, check_mergeable, check_same, join_tuning, joined
from onward.bandits.settings import Status
from onward.bandits.shared_record import credit_arm
from onward.core import Information
from onward.core.checks import is_many, positive
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

if TYPE_CHECKING:
    from onward.bandits.disjoint import Disjoint


class DisjointLearning(DisjointArms):
    """The part of `Disjoint` that learns from contexts and rewards."""

    def learn(self, arm: Hashable, context: ArrayLike, reward: float, weight: float = 1.0) -> None:
        """Learn the reward of an arm in a context: now or later, in any order. Weights are as in `Policy.learn`.

        Args:
            weight: how much it counts.
        """
        if self._ready and type(context) is np.ndarray and isinstance(reward, float) and weight == 1.0:
            try:
                with self._lock:
                    arms, slot = self._arms, 0 if arm is True else self._slots.get(arm, 0)
                    if slot and self._ready and arms is not None:
                        serial = float(self._serial_of[arm])
                        if self._learn_loop(arms.rows[slot], self._record, context, reward, serial) == 0:
                            arms.summary[slot, arms.stale] = 1.0
                            return
            except (TypeError, ValueError):  # the latter of an arm that is a view of memory
                pass
        with self._lock, names_unless_refused(self._policy):
            at, row, reward = self._place(arm), self._row(context), as_reward(reward)
            told: dict[str, Any] = {"arm": arm, "context": row, "reward": reward}
            if weight == 1.0:
                self._learn(at, row, reward, row)
            else:
                root = math.sqrt(positive("weight", weight))
                self._learn(at, self._row(row * root), weighed_reward(reward, root), row)
                if self.is_tuned:
                    credit_arm(self._record, row, reward, float(self._serials[at]))
                told["weight"] = float(weight)
            self._note("learn", told)

    def _learn(self, at: int, row: Vector, reward: float, first: Vector) -> None:
        """Learn a context that was checked; the lock is held. If nothing is known yet, it begins for such a `first`."""
        begins, buffers = self._arms is None, self._start(first.reshape(1, -1))
        serial = float(self._serials[at])
        if self._names[at] not in self._slots:  # what is refused gives it no buffer of its own
            tried = self._learn_loop(buffers.read(at), self._record.copy(), row, reward, serial)
            if tried < 0 and tried != Status.FULL:
                if begins:
                    self._arms, self._dimension, self._ready, self._quick = None, 0, False, False
                raise refusal(tried, row.reshape(1, -1), self._policy.known.action_bound)
        slot = self._own_slot(at)
        while (status := self._learn_loop(buffers.rows[slot], self._record, row, reward, serial)) == Status.FULL:
            buffers.grow()
        if status < 0:
            raise refusal(status, row.reshape(1, -1), self._policy.known.action_bound)

    def learn_many(
        self,
        arms: Sequence[Hashable],
        contexts: ArrayLike,
        rewards: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> None:
        """Learn a log, all of it or nothing: the arms played, in contexts (n, d), with rewards (n,), in order.

        It is the past, before this policy began to play: change points are counted from here on. Weights (n,) are as in
        `Policy.learn`.

        Args:
            weights: how much each counts, (n,); None for 1.
        """
        if not is_many(arms):
            raise ValueError(f"arms must be names, one for each context, got {brief(arms)}")
        with self._lock, names_unless_refused(self._policy):
            places = np.array([self._place(arm) for arm in arms], dtype=int)
            table = self._table(contexts)
            column = as_rewards(rewards, len(table))
            if len(places) != len(table):
                raise ValueError(f"arms must be {len(table)} names, one for each context, got {len(places)}")
            told: dict[str, Any] = {"arms": list(arms), "contexts": table, "rewards": column}
            begin = table[:1]
            if weights is not None:
                told["weights"] = as_weights(weights, len(table))
                roots = np.sqrt(told["weights"])
                table, column = self._policy.checked_table(table * roots[:, None]), column * roots
            self._learn_rows(places, table, column, begin)
            self._note("learn_many", told)

    def _learn_rows(self, places: NDArray[np.int_], table: Matrix, column: Vector, begin: Matrix) -> None:
        """Learn the past, all of it or nothing; the lock is held."""
        buffers = self._start(begin).copy()
        order = np.argsort(places, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(places[order])) + 1) if len(order) else ():
            slot, rows, paid, first = buffers.own_slot(int(places[group[0]])), table[group], column[group], 0
            while (first := memories.learn_rows(buffers.rows[slot], rows, paid, first, True)) < len(rows):
                buffers.grow()
        self._take(buffers)

    def start_from(self, arm: Hashable, model: OnlineRegressor | Information) -> None:
        """Let an arm begin with what a fitted regressor knows, in place of what it has learned.

        Args:
            model: a fitted learner, or its state.
        """
        with self._lock, interrupts_deferred():
            self._start_from(self._place(arm), model)
            self._note_state()

    def _start_from(self, at: int, model: OnlineRegressor | Information) -> None:
        other = self.as_policy()
        other.start_from(model)
        buffer = other._buffer
        lam = head_in(buffer).lam
        if self._arms is None:
            fresh = fresh_buffer(self._policy._settings, self._policy.memory, len(lam), len(lam), lam)
            self._begin(fresh)
        arms = self._start(lam.reshape(1, -1))
        if not np.array_equal(lam, head_in(arms.rows[0]).lam):
            raise ValueError(
                f"cannot start from a model with lam {lam}: expected {head_in(arms.rows[0]).lam}, the arms'"
            )
        while len(buffer) < arms.rows.shape[1]:
            buffer = grown(other.memory, buffer)
        log, before = head_in(buffer).log, head_in(arms.read(at)).log
        for kept in ("offered", "counted"):
            log[kept] = max(log[kept][0], before[kept][0])
        arms.rows[self._own_slot(at)] = buffer

    def merge(self, other: "Disjoint") -> None:
        """Know also what the arms of another one have learned, arm by arm; arms that are only there are added.

        For policies of one design whose memory counts all rewards alike. Decisions that wait there stay there.

        Args:
            other: another policy of the same design.
        """
        if not isinstance(other, DisjointLearning):
            raise ValueError(f"cannot merge: expected another Disjoint, got {brief(other)}")
        check_apart(self, other)
        check_mergeable(self._policy.design, other._policy.design)
        other = copy.deepcopy(other)  # as it is now, whatever other threads do to it
        with self._lock:
            with self._noting("merge"):
                self._merge(other)
            self._note_state()

    def _merge(self, other: "Disjoint") -> None:
        if other._arms is not None and self._arms is not None:
            check_same("so many features:", self._dimension, other._dimension)
        new = [name for name in other._names if name not in self._serial_of]
        arms = None
        if other._arms is not None:
            if self._arms is None:
                self._begin(other._arms.parts()[0][0])
            arms = self._start(np.empty((1, other._dimension))).copy()
            for _ in new:
                arms.add()
            places = {name: at for at, name in enumerate([*self._names, *new])}
            for at, name in enumerate(other._names):
                here = places[name]
                arms.arms[here, 1] = max(arms.arms[here, 1], other._arms.arms[at, 1])
                if other._arms.slot(at):
                    buffer = joined(self._policy._settings, arms.read(here), other._arms.read(at))
                    arms.rows[arms.own_slot(here)] = buffer
        with interrupts_deferred():
            for name in new:
                self.add_arm(name)
            if arms is not None:
                self._take(arms)
            if self.is_tuned:
                join_tuning(self._record, other._record)

    def restart(self, arm: Hashable = None) -> None:
        """Forget all rewards of an arm, or of all arms; what is waiting stays."""
        with self._lock:
            places = range(len(self._names)) if arm is None else [self._place(arm)]
            for at in places if self._arms is not None else ():
                if self._arms is not None and self._arms.slot(at):
                    memories.begin(self._arms.rows[self._own_slot(at)])
            self._note("restart", {"arm": arm})

    def grow(self, settings: PolicySettings, d: int) -> None:
        """Have d features, of which those that are known come first; the settings have λ and prior mean of each."""
        with self._lock:
            arms = None if self._arms is None else self._arms.with_features(settings, d)
            with interrupts_deferred():
                self._policy._settings = settings
                if arms is not None:
                    self._dimension = d
                    self._pending.widen(d)
                    self._take(arms)
                self._note_state()
