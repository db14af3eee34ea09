"""The game: a policy plays one round after the other, all of it compiled."""

import numpy as np
from numpy.typing import NDArray

from onward.bandits.layout import DONE, FULL, RULE, SAMPLING
from onward.bandits.lazily import can_be_lazy, choose_lazily
from onward.bandits.learning import is_full, learn
from onward.bandits.reading import INDEX, SCRATCH, choose, draws_needed, nth_best
from onward.core.compile import unlocked
from onward.core.types import Matrix, Vector

COMPILED_FROM = "ac3c539e27e58e4a"  # other files whose code is compiled into this one: see tools/digests.py


@unlocked
def play_rounds(
    settings: Vector,
    memory: Vector,
    rng: np.random.Generator,
    actions: NDArray[np.float64],
    means: Matrix,
    noise: Vector,
    first: int,
    lost: float,
    regret: Vector,
    chosen: NDArray[np.int32],
) -> tuple[int, int]:
    """Play the rounds from `first` on. Overwrites the memory, and `regret` and `chosen` of the rounds played.

    Round i offers actions[i] (actions[0] always, if there is but one set); the reward of action k is means[i, k] +
    noise[i]. `regret` sums up what was lost in expectation, from `lost` on. Random numbers are drawn as the policy in
    Python draws them, so both play the same game.

    Returns how many rounds are done, and what stopped it before the end: `FULL` if the memory must grow first, or what
    is wrong with the actions or the reward of the round.
    """
    n, k = means.shape
    d = actions.shape[2]
    fixed, draws = actions.shape[0] == 1, np.empty(draws_needed(settings, d))
    everything, scratch = np.empty(0, dtype=np.bool_), np.empty((SCRATCH, k))
    for i in range(first, n):
        if is_full(settings, memory):
            return i, FULL
        offered = actions[0] if fixed else actions[i]
        for j in range(draws.shape[0]):
            draws[j] = rng.standard_normal() if settings[RULE] == SAMPLING else rng.random()
        if can_be_lazy(settings, memory, k, d):
            best, ties = choose_lazily(settings, memory, offered, scratch)
        else:
            best, ties = choose(settings, memory, draws, offered, everything, scratch)
        if best < 0:
            return i, best
        if ties > 1:
            best = nth_best(scratch[INDEX], everything, best, int(rng.random() * ties))
        status = learn(settings, memory, offered[best], means[i, best] + noise[i])
        if status < 0:
            return i, status
        most = means[i, 0]
        for j in range(1, k):
            most = max(most, means[i, j])
        lost += most - means[i, best]
        regret[i] = lost
        chosen[i] = best
    return int(n), DONE
