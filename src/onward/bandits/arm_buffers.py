"""The buffers of arms, with room for more: those that have learned nothing share one."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from onward.bandits.arm_summaries import N_NUMBERS, NO_FORM, STALE, form_width, summary_width
from onward.bandits.buffer_checks import LARGEST, check_buffer, check_size, lam_in
from onward.bandits.buffers import (
    CAPACITY,
    LEARNED,
    OFFERED,
    PolicySettings,
    fresh_buffer,
    grown,
    head_in,
    with_settings,
)
from onward.bandits.growing import with_coordinates
from onward.bandits.legacy import from_first_version, with_room_for_settings
from onward.bandits.policy import Policy
from onward.bandits.settings import N_SETTINGS
from onward.core.types import Matrix, Vector

MANY_ARMS = 64  # with fewer buffers there are no forms: see arm_summaries.py
_FRESH = 0  # the slot of arms that have learned nothing


class ArmBuffers:
    """What the arms of one policy have learned: a buffer for each that has learned something, in a slot that it keeps.

    Arms are known by their places, from 0 on without gaps; a slot that an arm leaves is given to another.
    """

    def __init__(self, policy: Policy, d: int, rows: Matrix, table: Matrix) -> None:
        self._policy, self._d = policy, d
        self.stale = summary_width(d) - N_NUMBERS + STALE  # the column that says that a summary must be written anew
        self._free: list[int] = []
        self._used = len(rows)
        self.rows = rows
        self._make_room(max(4, len(rows)))
        self._table = table
        self.arms = table  # a row for each arm: its slot, and the largest ‖x‖² that it was offered

    @classmethod
    def fresh(cls, policy: Policy, n: int, contexts: Matrix) -> Self:
        """Of n arms that have learned nothing, for such contexts."""
        return cls(policy, contexts.shape[1], policy.buffer_for(contexts).reshape(1, -1), np.zeros((n, 2)))

    # Arms

    def add(self) -> None:
        """One more arm, in the last place."""
        n = len(self.arms)
        if n == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self.arms = self._table[: n + 1]
        self.arms[n] = 0.0

    def remove(self, place: int) -> None:
        """Forget an arm; those after it move up."""
        slot, n = self.slot(place), len(self.arms)
        if slot != _FRESH:
            self._free.append(slot)
        self.arms[place : n - 1] = self.arms[place + 1 :]
        self.arms = self._table[: n - 1]

    def slot(self, place: int) -> int:
        """The slot of an arm's buffer: to be read."""
        return int(self.arms[place, 0])

    def own_slot(self, place: int) -> int:
        """The slot of an arm's own buffer: to be written to."""
        slot = self.slot(place)
        if slot == _FRESH:
            if not self._free and self._used == len(self.rows):
                self._make_room(2 * self._used)
            slot = self._free.pop() if self._free else self._used
            self._used = max(self._used, slot + 1)
            self.rows[slot] = self.rows[_FRESH]
            self.rows[slot, OFFERED] = self.arms[place, 1]
            self.arms[place, 0] = slot
        self.summary[slot, self.stale] = 1.0
        return slot

    def read(self, place: int) -> Vector:
        """A copy of an arm's buffer."""
        buffer: Vector = self.rows[self.slot(place)].copy()
        before = 0.0 if self.slot(place) == _FRESH else buffer[OFFERED]
        buffer[OFFERED] = max(before, self.arms[place, 1])
        return buffer

    def counts(self) -> list[int]:
        """How many rewards each arm has learned."""
        return [int(count) for count in self.rows[self.arms[:, 0].astype(int), LEARNED]]

    # Room

    def grow(self) -> None:
        """Room in every buffer for more rows or models."""
        self.rows = np.array([grown(self._policy.memory, row) for row in self.rows[: self._used]])
        self._make_room(self._used)

    def widen(self, size: int) -> None:
        """`grow` until buffers have so many numbers."""
        while self.rows.shape[1] < size:
            self.grow()

    def with_features(self, settings: PolicySettings, d: int) -> Self:
        """Another one of d coordinates that knows the same, as `growing.with_coordinates` has it."""
        rows, table = self.parts()
        larger = np.array([with_coordinates(settings, self._policy.memory, row, d) for row in rows])
        return type(self)(self._policy, d, larger, table)

    def _make_room(self, capacity: int) -> None:
        rows = np.empty((capacity, self.rows.shape[1]))
        rows[: self._used] = self.rows[: self._used]
        self.rows = rows
        self.summary: Matrix = np.zeros((capacity, summary_width(self._d)))
        self.summary[:, self.stale] = self.summary[:, -N_NUMBERS + NO_FORM] = 1.0
        forms = capacity if capacity >= MANY_ARMS else 0
        self.forms: Any = np.zeros((forms, form_width(self._d)), dtype=np.float32)

    # Files and other processes

    def copy(self) -> Self:
        """Another one that knows the same."""
        return type(self)(self._policy, self._d, *self.parts())

    def parts(self) -> tuple[Matrix, Matrix]:
        """The buffers without gaps, and the table of arms with the slots that they have there."""
        slots = self.arms[:, 0].astype(int)
        places = np.flatnonzero(slots)
        rows = self.rows[np.concatenate([[_FRESH], slots[places]])]
        table = self.arms.copy()
        rows[_FRESH, OFFERED] = 0.0
        table[places, 1] = rows[1:, OFFERED] = np.maximum(rows[1:, OFFERED], table[places, 1])
        table[places, 0] = np.arange(1, len(places) + 1)
        return rows, table

    @classmethod
    def from_parts(cls, policy: Policy, d: int, rows: Matrix, table: Matrix) -> Self:
        """What `parts` gave, from a file; ValueError if it does not fit together."""
        if rows.ndim != 2 or not len(rows) or not ((table >= 0) & (table < LARGEST)).all():
            raise ValueError(f"arms in buffers of {rows.shape} numbers, expected a row and a size for each")
        slots = table[:, 0]
        if not (np.isin(slots, np.arange(len(rows))).all() and len(np.unique(slots[slots > 0])) == (slots > 0).sum()):
            raise ValueError(f"arms in slots {slots}, expected places in {len(rows)} buffers, each once")
        first = policy.fitting(rows[0], d)
        if len(np.unique(rows[:, CAPACITY])) != 1:
            raise ValueError(f"buffers for {np.unique(rows[:, CAPACITY])} rows or models, expected one number")
        rows[:, :N_SETTINGS] = first[:N_SETTINGS]
        for row in rows:
            check_buffer(policy._settings, policy.memory, row, d)
            if not np.array_equal(head_in(row).lam, head_in(first).lam):
                raise ValueError(f"arms with lam {head_in(row).lam} and {head_in(first).lam}, expected the same")
        return cls(policy, d, rows, table)

    def __getstate__(self) -> dict[str, Any]:
        return {"policy": self._policy, "d": self._d, "parts": self.parts()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        policy, (rows, table) = state["policy"], state["parts"]
        rows, table = (np.require(part, requirements=["W"]) for part in (rows, table))  # a memory map may be read-only
        rows[:, :N_SETTINGS] = with_settings(policy._settings, rows[0])[:N_SETTINGS]  # addresses are this process's own
        self.__dict__.update(type(self)(policy, state["d"], rows, table).__dict__)


def saved_arms(
    policy: Policy, d: int, settings: Mapping[str, Any], arrays: Mapping[str, Matrix]
) -> tuple[Matrix, Matrix]:
    """Buffers and table of a model file. In earlier ones there is no table: each arm has a buffer, in order."""
    if "memories" in arrays:
        saved = [from_first_version(policy._settings, policy.memory, memory, d) for memory in arrays["memories"]]
    else:
        saved = [with_room_for_settings(buffer, d, settings) for buffer in arrays["buffers"]]
    if "arms" in arrays:
        return np.array(saved), arrays["arms"]
    if not len(saved):
        raise ValueError("no buffer of an arm, expected one for each")
    check_size(policy._settings, policy.memory, saved[0], d)
    fresh = fresh_buffer(policy._settings, policy.memory, d, d, lam_in(saved[0], d))
    while len(fresh) < len(saved[0]):
        before, fresh = fresh, grown(policy.memory, fresh)
        if len(fresh) == len(before):
            break
    table = [(slot, buffer[OFFERED]) for slot, buffer in enumerate(saved, 1)]
    return np.array([fresh, *saved]), np.array(table)
