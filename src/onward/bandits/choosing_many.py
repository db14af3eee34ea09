"""Many choices in one call, with nothing learned in between. Compiled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.bandits.choosing import choose_into, draw_into, draws_needed, nth_best
from onward.bandits.choosing_arms import choose_arm
from onward.bandits.pruning import Mask
from onward.bandits.reading import new_rows
from onward.bandits.settings import DONE, SAMPLING, view_head
from onward.bandits.shared_record import mark_choice
from onward.bandits.tuning import draws_to_explore, view_tuning
from onward.core.compile import unlocked
from onward.core.types import Matrix, Vector

COMPILED_FROM = "2c9cc56b351d1cdb"  # other files whose code is compiled into this one: see tools/digests.py


@unlocked
def choose_each(
    buffer: Vector,
    rng: np.random.Generator,
    actions: Matrix,
    starts: NDArray[np.int64],
    available: Mask,
    chosen: NDArray[np.int64],
) -> int:
    """Choose among actions[starts[i]:starts[i + 1]] for each i, counted from starts[i]. Overwrites `chosen`.

    An empty mask means that all are available. Returns the status that stopped it, or DONE.
    """
    head = view_head(buffer)
    draws = np.empty(draws_needed(head) + draws_to_explore(head))
    for i in range(chosen.shape[0]):
        first, last = starts[i], starts[i + 1]
        mask = available[first:last] if available.shape[0] > 0 else available
        draw_into(head, rng, draws)
        rows = new_rows(last - first, actions.shape[1])
        best, ties = choose_into(buffer, draws, actions[first:last], mask, rows, True, True)
        if best < 0:
            return best
        chosen[i] = best if ties == 1 else nth_best(rows[0], mask, best, int(rng.random() * ties))
    return DONE


@unlocked
def choose_arm_each(
    buffers: Matrix,
    summary: Matrix,
    forms: Any,
    arms: Matrix,
    record: Vector,
    serials: Vector,
    rng: np.random.Generator,
    contexts: Matrix,
    available: NDArray[np.bool_],
    chosen: NDArray[np.int64],
) -> int:
    """Choose an arm for each context; `available` has a row for each, or none if all arms are. Overwrites `chosen`."""
    head, everything = view_head(buffers[0]), np.empty(0, dtype=np.bool_)
    tuned = record.shape[0] > 0 and view_tuning(record).about[0].scales > 0.0
    own = arms.shape[0] if head.settings[0].rule == SAMPLING else draws_needed(head)
    draws = np.empty(own + tuned + draws_to_explore(head))
    for i in range(chosen.shape[0]):
        mask = available[i] if available.shape[0] > 0 else everything
        draw_into(head, rng, draws)
        best, ties, index = choose_arm(buffers, summary, forms, arms, record, draws, contexts[i : i + 1], mask)
        if best < 0:
            return best
        if tuned:
            mark_choice(record, serials[best])
        chosen[i] = best if ties == 1 else nth_best(index, mask, best, int(rng.random() * ties))
    return DONE
