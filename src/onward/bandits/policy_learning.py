"""What a policy learns: rewards as they come, logs, what others know; and forgetting all of it."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from onward.bandits import choosing, memories
from onward.bandits.buffers import grown, refusal, take_state
from onward.bandits.feature_names import names_unless_refused
from onward.bandits.inputs import as_reward, as_rewards, as_weights, weighed_reward
from onward.bandits.joined_buffers import check_apart, check_mergeable, check_same, joined
from onward.bandits.policy_buffer import PolicyBuffer
from onward.bandits.settings import UNIFORM_AT_RANDOM, Status
from onward.core import Information
from onward.core.checks import positive
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

if TYPE_CHECKING:
    from onward.bandits.policy import Policy


class PolicyLearning(PolicyBuffer):
    """The part of a policy that learns from rows and rewards."""

    def learn(self, action: ArrayLike, reward: float, weight: float = 1.0) -> None:
        """Learn the reward of an action (d,): now or later, in any order.

        A reward of weight w counts as w rewards do in the estimate: as one whose noise has the variance σ²/w.

        Args:
            action: (d,), the features of the action that was played.
            reward: what it earned.
            weight: how much it counts, above 0.

        Raises:
            ValueError: if the row or the reward cannot be taken; nothing has changed then.
        """
        plain = type(weight) is float and weight == 1.0 and isinstance(reward, float)
        if self._learn_loop and plain and type(action) is np.ndarray:
            try:
                if self._learn_loop(self._buffer, action, reward) == 0:
                    return
            except TypeError:
                pass
        with self._lock, names_unless_refused(self):
            row, reward, weight = self.checked_row(action), as_reward(reward), positive("weight", weight)
            scaled, paid = row, reward
            if weight != 1.0:
                root = math.sqrt(weight)
                scaled, paid = self.checked_row(row * root), weighed_reward(reward, root)
            self.started(row.reshape(1, -1))
            if weight != 1.0 and self.is_tuned:
                choosing.credit_row(self._buffer, row, reward)
            self._learn_checked(scaled, paid)
            told = {"action": row, "reward": reward}
            self._note("learn", told if weight == 1.0 else told | {"weight": float(weight)})

    def _learn_checked(self, row: Vector, reward: float) -> None:
        """Learn a row that was checked; the lock is held."""
        self.started(row.reshape(1, -1))
        loop = memories.learn_loop(self.memory.kind)
        while (status := loop(self._buffer, row, reward)) == Status.FULL:
            with self._closed() as full:
                self._buffer = grown(self.memory, full)
        if status < 0:
            raise refusal(status, row.reshape(1, -1), self.known.action_bound)

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn a log: the actions (n, d) that were played with their rewards (n,), in order. All of it or nothing.

        It is the past, before this policy began to play: change points are counted from here on. Weights (n,) are as in
        `learn`.

        Args:
            weights: how much each counts, (n,); None for 1.
        """
        with self._lock, names_unless_refused(self):
            table = self.checked_table(actions)
            column = as_rewards(rewards, len(table))
            counts = None if weights is None else as_weights(weights, len(table))
            self._learn_rows(table, column, counts, past=True)
            told = {"actions": table, "rewards": column}
            self._note("learn_many", told if counts is None else told | {"weights": counts})

    def _learn_rows(self, table: Matrix, column: Vector, weights: Vector | None = None, *, past: bool) -> None:
        """Learn rows that were checked, all of them or none; the lock is held."""
        first, begin = 0, table[:1]
        if weights is not None:
            roots = np.sqrt(weights)
            table, column = self.checked_table(table * roots[:, None]), column * roots
        with self._closed() as known:
            buffer = known if self._dimension else self.buffer_for(begin)
            while (first := memories.learn_rows(buffer, table, column, first, past)) < len(table):
                if not memories.is_full(buffer):
                    raise refusal(Status.NOT_FINITE, table[first : first + 1], self.known.action_bound)
                buffer = grown(self.memory, buffer)
            self._buffer, self._dimension = buffer, table.shape[1]

    def start_from(self, model: OnlineRegressor | Information) -> None:
        """Begin with what a fitted regressor knows, in place of what this policy has learned.

        The model must have one target, no intercept, rows of weight 1, and the λ and prior mean of this policy.
        """
        if not isinstance(model, OnlineRegressor | Information):
            raise ValueError(f"a policy starts from a fitted regressor, got {brief(model)}")
        state = model if isinstance(model, Information) else model.information_
        d = state.n_features
        if self._dimension and d != self._dimension:
            raise ValueError(f"the model has {d} features, but this policy knows {self._dimension}")
        if self.rule.kind == UNIFORM_AT_RANDOM:
            raise ValueError("a random policy learns nothing, so it cannot start from a model")
        with self._closed() as buffer, interrupts_deferred():
            self._buffer, self._dimension = take_state(self._settings, self.memory, buffer, state), d
            self._note_state()

    def merge(self, other: "Policy") -> None:
        """Know also what another policy of the same design has learned from rewards of its own.

        For memories that count all rewards alike: then it is as if this policy had learned all of them, to rounding.
        Decisions that wait there stay there.

        Args:
            other: another policy of the same design.
        """
        if type(other) is not type(self):
            raise ValueError(f"cannot merge: expected another {type(self).__name__}, got {brief(other)}")
        check_apart(self, other)
        check_mergeable(self.design, other.design)
        with other._closed() as there:
            d, theirs = other._dimension, other._columns
        if not d:
            return
        with self._closed() as here, interrupts_deferred():
            mine, places = self._columns, None
            if mine is not None and theirs is not None and mine != theirs:
                check_same("columns", set(mine), set(theirs))
                places = [mine.index(name) for name in theirs]
            if not self._dimension:
                self._buffer, self._dimension, self._columns = there, d, theirs
            else:
                check_same("so many features:", self._dimension, d)
                self._buffer = joined(self._settings, here, there, places)
            self._note_state()

    def restart(self) -> None:
        """Forget all rewards; what is waiting stays, and so does the largest norm offered."""
        with self._lock:
            if self._dimension:
                memories.begin(self._buffer)
            self._note("restart", {})
