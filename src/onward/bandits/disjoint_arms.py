"""The arms of `Disjoint`: their names and numbers, and a buffer for each that has learned something."""

import copy
import itertools
from bisect import bisect_left
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onward.bandits import choosing_arms
from onward.bandits.arm_buffers import ArmBuffers
from onward.bandits.arm_names import check_new_arm, no_arm
from onward.bandits.buffers import head_in
from onward.bandits.journaling import Journaled
from onward.bandits.pending import Pending
from onward.bandits.policy import Policy
from onward.bandits.settings import GREEDY, N_LOG, N_SETTINGS, OPTIMISTIC
from onward.bandits.shared_record import NOTHING_SHARED, about_of, learn_arm_loop
from onward.core.checks import is_hashable
from onward.core.fast_path import close
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.types import Matrix, Vector


class DisjointArms(Journaled):
    """The part of `Disjoint` that has its arms."""

    _policy: Policy
    _pending: Pending
    _names: list[Hashable]
    _serials: list[int]  # a number for each arm that is never given again
    _next: int
    _serial_of: dict[Hashable, int]
    _slots: dict[Hashable, int]  # of arms that have a buffer of their own
    _arms: ArmBuffers | None  # None until it is known how many features a context has
    _record: Vector  # what all arms share: the estimate of σ and the tuning of scales
    _dimension: int
    _rng: np.random.Generator
    _learn_loop: Callable[[Vector, Vector, Any, Any, Any], int]
    # Whether loops are closed and nothing need be written down; whether a plain context may then go straight to the one
    # that chooses; and whether a choice draws nothing where one arm is the best
    _ready = _quick = _plain = False

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """Their names, in the order of `index`."""
        return tuple(self._names)

    def add_arm(self, name: Hashable = None) -> Hashable:
        """A new arm that knows nothing. Without a name it gets a number that no arm had before. Returns the name."""
        with self._lock:
            if name is None:
                name = next(number for number in itertools.count(self._next) if number not in self._serial_of)
            check_new_arm(name, self._serial_of)
            with interrupts_deferred():
                if self._arms is not None:
                    self._arms.add()
                self._names.append(name)
                self._serials.append(self._next)
                self._serial_of[name] = self._next
                self._next += 1
                self._note("add_arm", {"name": name}, name)
        return name

    def remove_arm(self, name: Hashable) -> None:
        """Forget an arm, and cancel its decisions that still wait for a reward.

        Args:
            name: of the arm.
        """
        with self._lock:
            at = self._place(name)
            if len(self._names) == 1:
                raise ValueError(f"cannot remove {brief(name)}: it is the only arm")
            with interrupts_deferred():
                self._pending.cancel_of(self._serials[at])
                if self._arms is not None:
                    self._arms.remove(at)
                self._slots.pop(name, None)
                del self._names[at], self._serials[at], self._serial_of[name]
                self._note("remove_arm", {"name": name})

    def _place(self, name: Hashable) -> int:
        """Where the arm of this name stands among `arms`."""
        serial = self._serial_of.get(name) if is_hashable(name) and not isinstance(name, bool) else None
        if serial is None:
            raise no_arm(name, self._names)
        return self._place_of(serial)

    def _place_of(self, serial: int) -> int:
        """Where the arm with this number stands: serials only grow, so that is found by bisection."""
        return bisect_left(self._serials, serial)

    @property
    def is_tuned(self) -> bool:
        """Whether each choice takes one of several scales."""
        return bool(len(self._record) and about_of(self._record)["scales"][0])

    # Contexts

    def _row(self, context: ArrayLike) -> Vector:
        row = self._policy.checked_row(context)
        if self._dimension and len(row) != self._dimension:
            raise ValueError(f"context has {len(row)} features, but this policy knows {self._dimension}")
        return row

    def _table(self, contexts: ArrayLike) -> Matrix:
        """Contexts as the loops take them, or an error that says what is wrong with them."""
        with self._lock:
            known = self._policy._columns
            table = self._policy.checked_table(contexts)
            if self._policy._columns != known:
                self._note_state()
            if self._dimension and table.shape[1] != self._dimension:
                raise ValueError(f"contexts have {table.shape[1]} features, but this policy knows {self._dimension}")
        return table

    # Buffers

    def _start(self, contexts: Matrix) -> ArmBuffers:
        """The buffers of the arms, made for such contexts if nothing was seen yet."""
        if self._arms is None:
            arms = ArmBuffers.fresh(self._policy, len(self._names), contexts)
            self._arms, self._dimension = arms, contexts.shape[1]
        if not self._ready:
            lots = self._policy.explore or self.is_tuned or self._policy.rule.kind not in (OPTIMISTIC, GREEDY)
            self._plain = not lots and close_loop_of_arms()
            self._learn_loop = learn_arm_loop(self._policy.memory.kind)
            self._ready = self._journal is None
            self._quick = self._plain and self._ready
        return self._arms

    def _go_the_long_way(self) -> None:
        self._ready = self._quick = False
        self._begin_as_from_bytes()

    def _note_state(self) -> None:
        super()._note_state()
        if self._is_noting:
            self._begin_as_from_bytes()

    def _begin_as_from_bytes(self) -> None:
        """Have buffers as a replay has them, in slots without gaps and with no summaries yet."""
        if self._arms is not None:
            self._take(self._arms.copy())

    def _begin(self, fresh: Vector) -> None:
        """Have arms of which none has learned anything, with this buffer."""
        d = len(head_in(fresh).lam)
        arms = ArmBuffers(self._policy, d, fresh.reshape(1, -1).copy(), np.zeros((len(self._names), 2)))
        self._arms, self._dimension = arms, d

    def _own_slot(self, at: int) -> int:
        """The slot of the arm's own buffer, to be written to."""
        if self._arms is None:
            raise ValueError("nothing is known yet, not even how many features a context has")
        slot = self._slots[self._names[at]] = self._arms.own_slot(at)
        return slot

    def _take(self, arms: ArmBuffers) -> None:
        """Know what these buffers know."""
        with interrupts_deferred():
            self._arms = arms
            slots = arms.arms[:, 0].astype(int).tolist()
            self._slots = {name: slot for name, slot in zip(self._names, slots, strict=True) if slot}

    def as_policy(self) -> Policy:
        """A policy that knows what an arm does that has learned nothing."""
        policy = copy.copy(self._policy)
        policy.for_arms()
        if self._arms is not None:
            policy._buffer, policy._dimension = self._arms.rows[0].copy(), self._dimension
        return policy


@cache
def close_loop_of_arms() -> bool:
    """Make the loop for plain contexts ready; it takes nothing else from then on."""
    none, forms = np.zeros((1, N_SETTINGS + N_LOG)), np.zeros((0, 1), dtype=np.float32)
    close(choosing_arms.choose_arm_fast, none, none, forms, np.zeros((1, 2)), NOTHING_SHARED, np.zeros(1))
    return True
