"""The probabilities of choices among arms, and many choices at once: the part of `Disjoint` that a log needs."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits import choosing_arms
from onward.bandits.arm_chances import arm_chances
from onward.bandits.buffers import refusal
from onward.bandits.chances import chances_of, draw_from
from onward.bandits.choosing_many import choose_arm_each
from onward.bandits.inputs import as_mask
from onward.bandits.policy import Policy
from onward.bandits.policy_chances import ALL_AVAILABLE, NO_LOTS
from onward.bandits.proposing import Proposing
from onward.bandits.settings import OPTIMISTIC, SAMPLING, Status
from onward.core.types import Matrix, Vector


class DisjointChances(Proposing):
    """Probabilities, slates and batches of arms that share a context."""

    _policy: Policy
    _names: list[Hashable]
    _buffers: Matrix
    _dimension: int

    def _row(self, context: ArrayLike) -> Vector:
        raise NotImplementedError

    def _start(self, d: int) -> None:
        raise NotImplementedError

    def _read(self, context: ArrayLike, renew: bool = False) -> tuple[Vector, Vector]:
        raise NotImplementedError

    def _offer(self, offered: ArrayLike, available: ArrayLike | None) -> tuple[Vector, NDArray[np.bool_]]:
        mask = ALL_AVAILABLE if available is None else as_mask(available, len(self._names))
        return self._row(offered), mask

    def _buffers_for(self, d: int) -> Matrix:
        """Those of the arms; new ones if nothing is known yet."""
        return self._buffers if self._dimension else np.tile(self._policy.buffer_for(d), (len(self._names), 1))

    def _chances(self, checked: Vector, mask: NDArray[np.bool_], samples: int) -> Matrix:
        buffers = self._buffers_for(len(checked))
        if self._policy.rule.kind == SAMPLING:
            chances = arm_chances(buffers, checked.reshape(1, -1), mask)
        else:
            chances = choosing_arms.read_arm_chances(buffers, checked.reshape(1, -1), mask)
        return np.array([chances, np.zeros(len(chances))])

    def choose_with_probability(self, checked: Vector, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """The place of an arm for a context (d,) that was checked, drawn as `choose` draws it, and its probability.

        The mask is empty if all arms are available. All arms note how long the context is.
        """
        self._start(len(checked))
        row = checked.reshape(1, -1)
        if self._policy.rule.kind == SAMPLING:
            choosing_arms.note_context(self._buffers, row)
            chances = arm_chances(self._buffers, row, mask)
        elif self._policy.rule.kind == OPTIMISTIC:  # of many arms few need to be read
            best, _, index = choosing_arms.choose_arm(self._buffers, NO_LOTS, row, mask)
            if best < 0:
                raise refusal(best, row, self._policy.known.action_bound)
            chances = chances_of(self._buffers[0], 0.0, mask, index)
        else:
            choosing_arms.note_context(self._buffers, row)
            chances = choosing_arms.read_arm_chances(self._buffers, row, mask)
        place = draw_from(chances, self._rng.random())
        return place, float(chances[place])

    def choose_many(self, contexts: ArrayLike, available: ArrayLike | None = None) -> list[Hashable]:
        """What `choose` would say to one context (row) after the other, with nothing learned in between.

        `available` is (n, arms), whether each may be played; None if all may.
        """
        table = self._policy.checked_table(contexts)
        if self._dimension and table.shape[1] != self._dimension:
            raise ValueError(f"contexts have {table.shape[1]} features, but this policy knows {self._dimension}")
        masks = np.empty((0, 0), dtype=np.bool_)
        if available is not None:
            given: Any = available
            if len(given) != len(table):
                raise ValueError(f"available must have a row for each of {len(table)} contexts, got {len(given)}")
            masks = np.array([as_mask(mask, len(self._names)) for mask in given])
        self._start(table.shape[1])
        chosen = np.empty(len(table), dtype=np.int64)
        status = choose_arm_each(self._buffers, self._rng, table, masks, chosen)
        if status != Status.DONE:
            raise refusal(status, table, self._policy.known.action_bound)
        return [self._names[place] for place in chosen]

    def _index_to_rank(self, checked: Vector) -> Vector:
        return self._read(checked, renew=True)[1]

    def _count(self, checked: Vector) -> int:
        return len(self._names)

    def _label(self, place: int) -> Hashable:
        return self._names[place]
