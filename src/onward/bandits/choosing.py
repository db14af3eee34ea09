"""The choice: every action read, or only those that can be the best (pruning.py). Compiled."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from onward.bandits.indices import (
    checked_square,
)
from onward.bandits.pruning import Mask, read_best
from onward.bandits.reading import longest_of, new_rows, read_actions, view_read
from onward.bandits.settings import (
    EPSILON_GREEDY,
    N_LOG,
    N_SETTINGS,
    NO_INDEX,
    NONE_AVAILABLE,
    OPTIMISTIC,
    SAMPLING,
    SEVERAL,
    TOO_MANY,
    UNIFORM_AT_RANDOM,
    WRONG_SHAPE,
    Head,
    view_head,
)
from onward.core.compile import compiled, inlined, spliced
from onward.core.fast_path import close
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW

COMPILED_FROM = "5c0adf6c54bb390d"  # other files whose code is compiled into this one: see tools/digests.py

MANY = 16  # of fewer actions than this, all are read


@inlined
def draws_needed(head: Head) -> int:
    """How many random numbers a choice takes: uniform ones, or standard normal ones for a sampling rule."""
    rule = head.settings[0].rule
    if rule == SAMPLING:
        return int(head.lam.shape[0])
    return 2 if rule == EPSILON_GREEDY else (1 if rule == UNIFORM_AT_RANDOM else 0)


@compiled
def check(buffer: Vector, actions: Matrix) -> int:
    """Whether actions can be chosen from and learned: a negative status if not."""
    d = view_head(buffer).lam.shape[0]
    if actions.shape[0] == 0 or 0 < d != actions.shape[1]:
        return WRONG_SHAPE
    longest = longest_of(actions, view_read(new_rows(actions.shape[0], actions.shape[1])))
    status = checked_square(view_head(buffer).settings, longest)
    return int(status) if status < 0.0 else 0


@compiled
def read_all(buffer: Vector, draws: Vector, actions: Matrix) -> Matrix:
    """The index and the estimate of each action, in two rows. Changes nothing but what is kept to be quick."""
    rows = new_rows(actions.shape[0], actions.shape[1])
    longest_of(actions, view_read(rows))
    read_actions(buffer, draws, actions, rows)
    return rows[:2]


@spliced
def choose_into(
    buffer: Vector, draws: Vector, actions: Matrix, available: Mask, rows: Matrix, many: bool
) -> tuple[int, int]:
    """The action to play, and how many are as good. Overwrites the rows, and notes how long the actions are.

    An empty mask means that all are available. The choice is the first of those that tie: `nth_best` gives another.
    A negative choice is a status; then nothing was changed. `many` is a constant: without it nothing is compiled that
    reads few of many actions, and such a choice is refused.
    """
    head = view_head(buffer)
    log = head.log[0]
    lazy = head.settings[0].rule == OPTIMISTIC and actions.shape[0] >= MANY and actions.shape[1] > FEW
    if lazy and not many:
        return TOO_MANY, 0
    offered, longest = log.offered, checked_square(head.settings, longest_of(actions, view_read(rows)))
    best, ties = int(longest), 0
    if longest >= 0.0:
        log.offered = max(offered, longest)
        best_read = False
        if many:
            best_read = lazy and read_best(buffer, actions, available, rows)
        if not best_read:
            read_actions(buffer, draws, actions, rows)
        best, ties = pick(head, draws, available, rows[0])
        if best < 0:
            log.offered = offered
    return best, ties


@compiled
def choose_of_few(buffer: Vector, draws: Vector, actions: Matrix, available: Mask) -> tuple[int, int, Vector]:
    """`choose_into` without `many`, and the index of each action."""
    rows = new_rows(actions.shape[0], actions.shape[1])
    best, ties = choose_into(buffer, draws, actions, available, rows, False)
    return best, ties, rows[0]


@compiled
def choose_of_many(buffer: Vector, draws: Vector, actions: Matrix, available: Mask) -> tuple[int, int, Vector]:
    """`choose_into`, and the index of each action: −inf if it was not read because it cannot be the best."""
    rows = new_rows(actions.shape[0], actions.shape[1])
    best, ties = choose_into(buffer, draws, actions, available, rows, True)
    return best, ties, rows[0]


def choose(buffer: Vector, draws: Vector, actions: Matrix, available: Mask) -> tuple[int, int, Vector]:
    """`choose_of_many`, which is compiled only where there are many."""
    chosen = choose_of_few(buffer, draws, actions, available)
    return choose_of_many(buffer, draws, actions, available) if chosen[0] == TOO_MANY else chosen


@spliced
def _choose_fast(buffer: Vector, actions: Matrix, many: bool) -> int:
    """`choose` where all are available and nothing is drawn; a negative status, and no trace, if several tie.

    From Python a call costs more the more it is given.
    """
    if actions.shape[0] == 0 or actions.shape[1] != view_head(buffer).lam.shape[0]:
        return WRONG_SHAPE
    offered = view_head(buffer).log[0].offered
    rows = new_rows(actions.shape[0], actions.shape[1])
    best, ties = choose_into(buffer, buffer[:0], actions, np.empty(0, dtype=np.bool_), rows, many)
    if ties > 1:
        view_head(buffer).log[0].offered = offered
        best = SEVERAL
    return best


@compiled
def choose_fast(buffer: Vector, actions: Matrix) -> int:
    """`_choose_fast` of few actions."""
    return _choose_fast(buffer, actions, False)


@compiled
def choose_fast_of_many(buffer: Vector, actions: Matrix) -> int:
    """`_choose_fast` of few actions or many."""
    return _choose_fast(buffer, actions, True)


@cache
def fast_loop(many: bool) -> Callable[[Vector, Any], int]:
    """`choose_fast`, or the one of many, closed."""
    loop = choose_fast_of_many if many else choose_fast
    close(loop, np.zeros(N_SETTINGS + N_LOG), np.zeros((1, 1)))  # of no coordinates: it refuses every action
    return loop


# Which is the best


@inlined
def pick(head: Head, draws: Vector, available: Mask, index: Vector) -> tuple[int, int]:
    """The action that the rule takes, given the index of each, and how many are as good; a negative status if none."""
    n, settings = index.shape[0], head.settings[0]
    rule, free = settings.rule, n
    if available.shape[0] > 0:
        free = 0
        for i in range(n):
            free += available[i]
    if free == 0:
        return NONE_AVAILABLE, 0
    if rule == UNIFORM_AT_RANDOM:
        return _nth_available(available, int(draws[0] * free)), 1
    if rule == EPSILON_GREEDY and draws[0] < settings.epsilon:
        return _nth_available(available, int(draws[1] * free)), 1
    if settings.index_function != 0.0 or settings.width_function != 0.0:
        for i in range(n):
            if np.isnan(index[i]) and (free == n or available[i]):
                return NO_INDEX, 0
    if free == n:
        return best_of(index)
    best, ties = -1, 0
    for i in range(n):
        if available[i] and (ties == 0 or index[i] >= index[best]):
            best, ties = (best, ties + 1) if ties > 0 and index[i] == index[best] else (i, 1)
    return best, ties


@inlined
def best_of(index: Vector) -> tuple[int, int]:
    """The first of the largest, and how many there are of them."""
    best, ties, most = 0, 1, index[0]
    for i in range(1, index.shape[0]):
        if index[i] >= most:
            best, ties = (best, ties + 1) if index[i] == most else (i, 1)
            most = index[i]
    return best, ties


@inlined
def _nth_available(available: Mask, n: int) -> int:
    if available.shape[0] == 0:
        return n
    for i in range(available.shape[0]):
        if available[i]:
            if n == 0:
                return i
            n -= 1
    return -1


@compiled
def nth_best(index: Vector, available: Mask, best: int, n: int) -> int:
    """The n-th (from 0) of the available actions whose index is that of `best`."""
    for i in range(best, index.shape[0]):
        if index[i] == index[best] and (available.shape[0] == 0 or available[i]):
            if n == 0:
                return i
            n -= 1
    return best


@compiled
def sampled_shares(buffer: Vector, draws: Matrix, actions: Matrix, available: Mask) -> Vector:
    """For a sampling rule, the share of the rows of draws with which each action is chosen; those that tie share."""
    n, head = actions.shape[0], view_head(buffer)
    shares, rows = np.zeros(n), new_rows(n, actions.shape[1])
    index = rows[0]
    for s in range(draws.shape[0]):
        longest_of(actions, view_read(rows))
        read_actions(buffer, draws[s], actions, rows)
        best, ties = pick(head, draws[s], available, index)
        for i in range(n):
            if index[i] == index[best] and (available.shape[0] == 0 or available[i]):
                shares[i] += 1.0 / (ties * draws.shape[0])
    return shares
