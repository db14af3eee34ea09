"""The probabilities of choices among arms, and many choices at once: the part of `Disjoint` that a log needs."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits import choosing_arms
from onward.bandits.arm_buffers import ArmBuffers
from onward.bandits.arm_chances import arm_chances
from onward.bandits.arm_summaries import level_of_arms
from onward.bandits.buffers import refusal
from onward.bandits.chances import chances_of, draw_from
from onward.bandits.choosing_many import choose_arm_each
from onward.bandits.disjoint_arms import DisjointArms
from onward.bandits.feature_names import names_unless_refused
from onward.bandits.inputs import as_mask
from onward.bandits.policy_chances import NO_LOTS
from onward.bandits.proposing import ALL_AVAILABLE, Proposing
from onward.bandits.settings import OPTIMISTIC, SAMPLING, Status
from onward.bandits.shared_record import note_arm, scales_in
from onward.bandits.tuning import last_choice
from onward.core.checks import is_many
from onward.core.shown import came
from onward.core.types import Matrix, Vector
from onward.tables.number_arrays import as_array


class DisjointChances(Proposing, DisjointArms):
    """Probabilities, slates and batches of arms that share a context."""

    def _choose(self, row: Vector, mask: NDArray[np.bool_]) -> int:
        raise NotImplementedError

    def _read(self, context: ArrayLike, renew: bool = False) -> tuple[Vector, Vector]:
        raise NotImplementedError

    def _offer(self, offered: ArrayLike, available: ArrayLike | None) -> tuple[Vector, NDArray[np.bool_]]:
        mask = ALL_AVAILABLE if available is None else as_mask(available, len(self._names))
        return self._row(offered), mask

    def _buffers_for(self, context: Matrix) -> ArmBuffers:
        """Those of the arms to read, or copies; new ones if nothing is known yet. The lock is held."""
        if self._arms is None:
            return ArmBuffers.fresh(self._policy, len(self._names), context)
        return self._arms.copy() if self._reads_copies else self._arms

    def _chances(self, checked: Vector, mask: NDArray[np.bool_], samples: int) -> Matrix:
        row = checked.reshape(1, -1)
        each, taken = self._chances_at_scales(self._buffers_for(row), row, mask)
        return np.array([taken @ each, np.zeros(each.shape[1])])

    def _chances_at_scales(self, arms: ArmBuffers, row: Matrix, mask: NDArray[np.bool_]) -> tuple[Matrix, Vector]:
        """The chance of each arm at each scale, the floor included, and how often each scale is taken."""
        level = level_of_arms(arms.rows, arms.summary, arms.arms, self._record)
        taken, factors = scales_in(self._record, level)
        kind = self._policy.rule.kind
        if kind == SAMPLING:
            each = [arm_chances(arms.rows, arms.arms, row, mask, factor) for factor in factors]
        elif kind == OPTIMISTIC:
            index, estimate, _ = choosing_arms.read_arms(arms.rows, arms.arms, row[0, :0], row)
            indices = (index if factor == 1.0 else estimate + factor * (index - estimate) for factor in factors)
            each = [chances_of(arms.rows[0], 0.0, mask, scaled) for scaled in indices]
        else:
            return choosing_arms.read_arm_chances(arms.rows, arms.arms, row, mask)[None], np.ones(1)
        return np.array(each), taken

    def draw_with_probability(self, checked: Vector, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """The place of an arm for a context (d,) that was checked, drawn as `choose` draws it, and its probability.

        The mask is empty if all arms are available. All arms note how long the context is.
        """
        row = checked.reshape(1, -1)
        arms, kind = self._start(row), self._policy.rule.kind
        if kind == OPTIMISTIC and self.is_tuned:
            place = self._choose(checked, mask)
            return place, float(last_choice(self._record)[4])
        if kind == OPTIMISTIC:  # of many arms few need to be read
            best, _, index = choosing_arms.choose_arm(
                arms.rows, arms.summary, arms.forms, arms.arms, self._record, NO_LOTS, row, mask
            )
            if best < 0:
                raise refusal(best, row, self._policy.known.action_bound)
            chances = chances_of(arms.rows[0], 0.0, mask, index)
        else:
            choosing_arms.note_context(arms.rows, arms.summary, arms.arms, row)
            each, taken = self._chances_at_scales(arms, row, mask)
            chances = taken @ each
        place = draw_from(chances, self._rng.random())
        if kind == SAMPLING and self.is_tuned:
            note_arm(self._record, each[:, place].copy(), checked, float(self._serials[place]))
        return place, float(chances[place])

    def choose_many(self, contexts: ArrayLike, available: ArrayLike | None = None) -> list[Hashable]:
        """What `choose` would say to one context (row) after the other, with nothing learned in between.

        `available` is (n, arms), whether each may be played; None if all may.

        Args:
            contexts: (n, d), a row for each.
        """
        with self._lock, names_unless_refused(self._policy):
            table = self._table(contexts)
            masks = np.empty((0, 0), dtype=np.bool_)
            if available is not None:
                expected = f"available must have a row for each of {len(table)} contexts"
                if not is_many(available):
                    raise ValueError(f"{expected}, got {came(available)}")
                each = as_array(available, "available", "true or false")
                if len(each) != len(table):
                    raise ValueError(f"{expected}, got {len(each)}")
                masks = np.array([as_mask(mask, len(self._names)) for mask in each])
            arms, serials = self._start(table[:1]), np.array(self._serials, dtype=np.float64)
            places = np.empty(len(table), dtype=np.int64)
            status = choose_arm_each(
                arms.rows, arms.summary, arms.forms, arms.arms, self._record, serials, self._rng, table, masks, places
            )
            if status != Status.DONE:
                raise refusal(status, table, self._policy.known.action_bound)
            chosen = [self._names[place] for place in places]
            for i, name in enumerate(chosen if self._is_noting else ()):
                mask = ALL_AVAILABLE if available is None else masks[i]
                self._note("choose", {"context": table[i], "available": mask}, name)
        return chosen

    def _names_features(self) -> Any:
        return self._policy

    def _index_to_rank(self, checked: Vector) -> Vector:
        return self._read(checked, renew=True)[1]

    def _count(self, checked: Vector) -> int:
        return len(self._names)

    def _label(self, place: int) -> Hashable:
        return self._names[place]
