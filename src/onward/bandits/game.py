"""The game: a policy plays one round after the other, all of it compiled."""

import numpy as np
from numpy.typing import NDArray

from onward.bandits.choosing import choose_into, draw_into, draws_needed, nth_best
from onward.bandits.memories import learn, must_grow
from onward.bandits.reading import new_rows
from onward.bandits.settings import DONE, FULL, view_head
from onward.bandits.tuning import draws_to_explore
from onward.core.compile import unlocked
from onward.core.types import Matrix, Vector

COMPILED_FROM = "bb41449b0f59e297"  # other files whose code is compiled into this one: see tools/digests.py


@unlocked
def play_rounds(
    buffer: Vector,
    rng: np.random.Generator,
    actions: NDArray[np.float64],
    means: Matrix,
    noise: Vector,
    first: int,
    lost: float,
    regret: Vector,
    chosen: NDArray[np.int32],
) -> tuple[int, int]:
    """Play the rounds from `first` on. Overwrites the policy's buffer, and `regret` and `chosen` of the rounds played.

    Round i offers actions[i] (actions[0] always, if there is but one set); the reward of action k is means[i, k] +
    noise[i]. `regret` sums up what was lost in expectation, from `lost` on. Random numbers are drawn as the policy in
    Python draws them, so both play the same game.

    Returns how many rounds are done, and the status that stopped it before the end: `FULL` if the memory must grow
    first, or what is wrong with the actions or the reward of the round.
    """
    n, k = means.shape
    head, rows = view_head(buffer), new_rows(k, actions.shape[2])
    fixed, everything = actions.shape[0] == 1, np.empty(0, dtype=np.bool_)
    draws = np.empty(draws_needed(head) + draws_to_explore(head))
    for i in range(first, n):
        if must_grow(head, buffer):
            return i, FULL
        offered = actions[0] if fixed else actions[i]
        draw_into(head, rng, draws)
        best, ties = choose_into(buffer, draws, offered, everything, rows, True, True)
        if best < 0:
            return i, best
        if ties > 1:
            best = nth_best(rows[0], everything, best, int(rng.random() * ties))
        status = learn(buffer, offered[best], means[i, best] + noise[i])
        if status < 0:
            return i, status
        most = means[i, 0]
        for j in range(1, k):
            most = max(most, means[i, j])
        lost += most - means[i, best]
        regret[i] = lost
        chosen[i] = best
    return int(n), DONE
