"""The probabilities of a policy's choices, and many choices at once: the part of `Policy` that a log needs."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.bandits import choosing
from onward.bandits.buffers import head_in, refusal
from onward.bandits.chances import chances_of, draw_from
from onward.bandits.choosing_many import choose_each
from onward.bandits.directions import chi_law, drawn_directions, spread_directions
from onward.bandits.feature_names import names_unless_refused
from onward.bandits.inputs import as_mask
from onward.bandits.policy_buffer import PolicyBuffer
from onward.bandits.proposing import ALL_AVAILABLE, LOGGED_SAMPLES, Proposing, stacked
from onward.bandits.randomness import draw, share_of_best
from onward.bandits.sampling_chances import sampled_chances
from onward.bandits.settings import OPTIMISTIC, SAMPLING, Status
from onward.bandits.tuning import N_TUNING, last_choice
from onward.core.checks import is_iterable, is_many
from onward.core.fast_path import is_float64_array
from onward.core.shown import came
from onward.core.types import Matrix, Vector

FEW_DIFFERENCES = 32  # so many are looked at in dimensions of their own, however few that saves
NO_LOTS = np.full(2, np.nextafter(1.0, 0.0))  # in place of a choice's random numbers, where only indices are wanted


class PolicyChances(Proposing, PolicyBuffer):
    """Probabilities, slates and batches of a policy whose actions are rows of features."""

    @property
    def _has_compiled_choice(self) -> bool:
        raise NotImplementedError

    def _own_index(self, table: Matrix) -> Vector:
        raise NotImplementedError

    def _choose(self, buffer: Vector, table: Matrix, mask: NDArray[np.bool_]) -> int:
        raise NotImplementedError

    def choose(self, actions: ArrayLike, available: ArrayLike | None = None) -> int:
        """The number of the action to play."""
        raise NotImplementedError

    def _offer(self, actions: ArrayLike, available: ArrayLike | None) -> tuple[Matrix, NDArray[np.bool_]]:
        """The actions as the loops take them and the mask, once it is sure that a choice can be made."""
        columns, table = self._columns, self.checked_table(actions)
        if available is None:
            return table, ALL_AVAILABLE
        try:
            return table, as_mask(available, len(table))
        except ValueError:
            self._columns = columns  # what was refused leaves nothing behind
            raise

    # Probabilities

    def _to_read(self, actions: Matrix) -> Vector:
        """The buffer, or a copy; a new one if nothing is known yet. The lock is held."""
        buffer = self.buffer_for(actions)
        if not self._dimension or not self._reads_copies:
            return buffer
        with self._closed() as own:
            return own

    def _chances(self, checked: Matrix, mask: NDArray[np.bool_], samples: int) -> Matrix:
        if self.rule.kind == SAMPLING and self._has_compiled_index:
            m = directions_needed(checked, mask)
            design, law = spread_directions(m, samples), chi_law(m)
            buffer = self._to_read(checked)
            return sampled_chances(buffer, checked, mask, design.rows, law.table, law.step, design.blocks, False)[1][:2]
        if self._has_compiled_index:
            buffer = self._to_read(checked)
            if self.rule.kind == OPTIMISTIC and self.is_tuned:
                chances = choosing.tuned_chances(buffer, checked, mask)
            elif self.rule.kind == OPTIMISTIC:  # its index may be one that a user made
                chances = chances_of(buffer, 0.0, mask, self._own_index(checked))
            else:
                chances = choosing.read_chances(buffer, checked, mask, False)
        elif self.rule.kind == SAMPLING:  # an index of one's own, perhaps made of a sample
            state = self._rng.bit_generator.state
            each = [self._chances_by_index(self._index_to_rank(checked), mask) for _ in range(samples)]
            self._rng.bit_generator.state = state
            error = np.std(each, axis=0, ddof=1) / np.sqrt(samples) if samples > 1 else np.full(len(checked), np.inf)
            return np.array([np.mean(each, axis=0), error])
        else:
            chances = self._chances_by_index(self._own_index(checked), mask)
        return np.array([chances, np.zeros(len(chances))])

    def _chances_by_index(self, index: Vector, mask: NDArray[np.bool_]) -> Vector:
        """Those of an index of one's own, whatever the rule: the largest is taken, but for what `explore` leaves."""
        free = np.ones(len(index), dtype=np.bool_) if not len(mask) else mask
        return np.asarray((1.0 - self.explore) * share_of_best(index, free) + self.explore * free / free.sum())

    def draw_with_probability(self, checked: Matrix, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """An action of a table that was checked, drawn as `choose` draws it, and the probability with which it was.

        The mask is that of `_offer`: empty if all are available. For a rule that samples, a few directions are drawn
        first in which coefficients can lie, and the action by its exact probability given these, which is what is
        returned. Over the directions that is just how `choose` draws; but given them, a probability can be 0 where
        without them it is small. `explore` keeps all of them above that.
        """
        if not self._has_compiled_index:
            chances = self._chances_by_index(self._index_to_rank(checked), mask)
            place = self._drawn(chances, checked)
            return place, float(chances[place])
        buffer = self.started(checked)
        if self.rule.kind == OPTIMISTIC and self.is_tuned:
            place = self._choose(buffer, checked, mask)
            return place, float(last_choice(buffer[-N_TUNING:])[4])
        if self.rule.kind == SAMPLING:
            m = directions_needed(checked, mask)
            directions, law = drawn_directions(self._rng, m, LOGGED_SAMPLES), chi_law(m)
            taken, rows = sampled_chances(buffer, checked, mask, directions, law.table, law.step, 1, True)
            place = draw_from(rows[0], self._rng.random())
            if self.is_tuned:
                choosing.note_drawn(buffer, checked[place], taken, rows[2:, place].copy())
            return place, float(rows[0, place])
        if self.rule.kind == OPTIMISTIC:  # of many actions few need to be read
            best, _, index = choosing.choose(buffer, NO_LOTS, checked, mask)
            if best < 0:
                raise refusal(best, checked, self.known.action_bound)
            chances = chances_of(buffer, 0.0, mask, index)
        else:
            chances = choosing.read_chances(buffer, checked, mask, True)
        place = draw_from(chances, self._rng.random())
        return place, float(chances[place])

    def _drawn(self, chances: Vector, table: Matrix) -> int:
        """An action by its chance, where the index is one's own; the actions count as offered."""
        head = head_in(self.started(table))
        head.log["offered"] = max(head.log["offered"][0], float(np.einsum("ij,ij->i", table, table).max()))
        certain = np.flatnonzero(chances)
        return int(certain[0]) if len(certain) == 1 else draw_from(chances, self._rng.random())

    # Several at once

    def choose_many(self, contexts: Any, available: Any = None) -> NDArray[np.int64]:
        """What `choose` would say to one context after the other, with nothing learned in between: the same choices.

        Args:
            contexts: (n, k, d), the actions of each; or a sequence of n tables of actions, of any numbers of them.
            available: whether each action may be played, in the same form without the last axis; None if all may.
        """
        if isinstance(contexts, str | bytes | Mapping) or not is_iterable(contexts):
            raise ValueError(f"contexts must be tables of actions, one after the other, got {came(contexts)}")
        with names_unless_refused(self):
            return self._choose_many(contexts, available)

    def _choose_many(self, contexts: Any, available: Any) -> NDArray[np.int64]:
        tables = contexts if is_float64_array(contexts, 3) else [self.checked_table(table) for table in contexts]
        if not len(tables):
            raise ValueError("no context given: expected at least one table of actions, got none")
        if available is not None and not (is_many(available) and len(available) == len(tables)):
            got = len(available) if is_many(available) else came(available)
            raise ValueError(f"available must have a row for each of {len(tables)} contexts, got {got}")
        masks = None if available is None else _masks(available, tables)
        if not self._has_compiled_choice:
            each = [None] * len(tables) if masks is None else masks
            return np.array(
                [self.choose(table, mask) for table, mask in zip(tables, each, strict=True)], dtype=np.int64
            )
        if isinstance(tables, np.ndarray):
            n, k, d = tables.shape
            flat, starts = tables.reshape(n * k, d), np.arange(n + 1, dtype=np.int64) * k
        else:
            flat, starts = stacked(tables)
        flat = self.checked_table(flat)
        with self._lock:
            self.started(flat[: starts[1]])
            return self._choose_each(flat, starts, ALL_AVAILABLE if masks is None else np.concatenate(masks))

    def _choose_each(self, flat: Matrix, starts: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        chosen = np.empty(len(starts) - 1, dtype=np.int64)
        with self._closed() as own:  # meanwhile other threads run
            status = choose_each(own, self._rng, flat, starts, mask, chosen)
            self._buffer = own
        if status != Status.DONE:
            raise refusal(status, flat, self.known.action_bound)
        for i, (first, last) in enumerate(itertools.pairwise(starts.tolist()) if self._is_noting else ()):
            self._note("choose", {"actions": flat[first:last], "available": mask[first:last]}, int(chosen[i]))
        return chosen

    def _index_to_rank(self, checked: Matrix) -> Vector:
        index = self._own_index(checked)
        if self.rule.kind == SAMPLING or self.is_tuned:
            draw(self.rule.kind, self._rng, checked.shape[1], tuned=self.is_tuned)  # this sample is used up
        return index

    def _count(self, checked: Matrix) -> int:
        return len(checked)

    def _label(self, place: int) -> int:
        return place


def directions_needed(table: Matrix, mask: NDArray[np.bool_]) -> int:
    """In how many dimensions to look at the available actions: those of their differences, where that is quick."""
    free, d = int(np.count_nonzero(mask)) if len(mask) else len(table), table.shape[1]
    differences = max(1, free - 1)
    return differences if differences < d and (differences <= FEW_DIFFERENCES or 2 * differences <= d) else d


def _masks(available: Any, tables: Iterable[Matrix]) -> list[NDArray[np.bool_]]:
    return [as_mask(mask, len(table)) for mask, table in zip(available, tables, strict=True)]
