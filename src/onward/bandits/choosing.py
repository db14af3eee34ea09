"""The choice: every action read, or only those that can be the best. Compiled.

An action's estimate is cheap once θ is known, and its leverage is at most ‖x‖² over the smallest eigenvalue of G. So
among many actions most are seen to be worse than the best one without their leverage being read: exactly the same
choice, sooner.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.bandits.indices import (
    checked_square,
    longest_counted,
    noise_radius,
    optimistic_index,
    prior_part,
)
from onward.bandits.memories import acting_model, keeps_floor
from onward.bandits.model import Model, raise_floor, solved
from onward.bandits.reading import longest_of, new_rows, radii, read_actions, read_doubly, view_read
from onward.bandits.settings import (
    AS_PRINTED,
    BY_FUNCTION,
    EPSILON_GREEDY,
    FORWARD,
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
from onward.core.factor import from_zero, square_of
from onward.core.fast_path import close
from onward.core.simd import dot_from
from onward.core.tiles import TILE, new_tile, put_in_tile, read_tile
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW

COMPILED_FROM = "21949faf1fb2569b"  # other files whose code is compiled into this one: see tools/digests.py

ROUNDING = 1e-9  # of its size, by how much an upper bound is raised for rounding ...
WORST_CONDITION = 1e8  # ... which is enough unless G is worse conditioned than this
MANY = 16  # of fewer actions than this, all are read
SKIPPED = 8.0  # and for so many choices, once bounds have spared less than a quarter of them

Mask = NDArray[np.bool_]


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
            best_read = lazy and _read_best(buffer, actions, available, rows)
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


# Reading only what can be the best


@inlined
def is_safe(head: Head, model: Model) -> bool:
    """Whether rounding is small enough for bounds: G is not too badly conditioned."""
    counts, gamma = model.factor.counts[0], head.settings[0].gamma
    rows = counts.counted if gamma == 1.0 else min(counts.seen, 1.0 / (1.0 - gamma))
    return bool(rows * counts.peak < WORST_CONDITION * model.about[0].floor)


@inlined
def optimistic_limit(p: float, most: float, radius: float, forward: bool, size: float) -> float:
    """What an index cannot exceed, if the leverage is at most `most`; of a discounted memory, because Ṽ ≤ V.

    `size` is ‖x‖‖θ‖: p may be what is left of much larger terms.
    """
    if forward:
        best, width = max(p, p / (1.0 + most)), radius * math.sqrt(most / (1.0 + most))
    else:
        best, width = p, radius * math.sqrt(most)
    return best + width + ROUNDING * (size + width)


@compiled
def _read_best(buffer: Vector, actions: Matrix, available: Mask, rows: Matrix) -> bool:
    """The index of every action that can be the best, −inf of the others; False, and nothing read, if not worth it."""
    head, read, n = view_head(buffer), view_read(rows), actions.shape[0]
    settings = head.settings[0]
    model, second, double, window = acting_model(head, buffer)
    if settings.width in (AS_PRINTED, BY_FUNCTION) or settings.index_function != 0.0 or not is_safe(head, model):
        return False
    if model.about[0].skip > 0.0:
        model.about[0].skip -= 1.0
        return False
    forward = settings.estimator == FORWARD
    noise = noise_radius(head, second, model.factor.counts[0].counted, window, longest_noted(head))
    radii(head, noise, actions, read)
    radius, limit, index, estimate, theta = read.limit, read.leverage, read.indices, read.estimate, solved(model)
    masked, prior = available.shape[0] > 0, settings.has_prior != 0.0
    floor, length = 1.0 / model.about[0].floor, math.sqrt(square_of(theta))
    for i in range(n):
        guess = dot_from(actions, i, theta, 0)
        size = length * (0.5 + 0.5 * read.squares[i])  # at least ‖x‖‖θ‖
        limit[i] = optimistic_limit(guess, read.squares[i] * floor, radius[i], forward, size)
        index[i] = -np.inf
        estimate[i] = 0.0
    if prior:
        for i in range(n):
            estimate[i] = prior_part(head, actions[i])
            limit[i] += estimate[i] + ROUNDING * abs(estimate[i])
    if masked:
        for i in range(n):
            limit[i] = limit[i] if available[i] else -np.inf
    # First those that promise most, then whichever else can still be better than the best of them.
    places, tile = np.empty(TILE, dtype=np.int64), new_tile(model.factor)
    waiting = from_zero()
    for i in range(n):
        if limit[i] > -np.inf:
            waiting = _insert(places, waiting, limit, i)
    for b in range(waiting):
        limit[places[b]] = -np.inf
        put_in_tile(tile, b, actions[places[b]])
    p, q, reach = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    largest, count, i = -np.inf, 0, 0
    while True:
        if waiting == TILE or i == n:
            if double:
                read_doubly(head.lam, model.factor, second, tile.R[:waiting], p, q, reach)
            else:
                read_tile(model.factor, tile, waiting, p, q)
            count += waiting
            for b in range(waiting):
                at, spread = places[b], reach[b] if double else q[b]
                index[at] = optimistic_index(p[b], q[b], spread, radius[at], forward, double)[0] + estimate[at]
                largest = max(largest, index[at])
            waiting = from_zero()
            if i == n:
                break
        if limit[i] >= largest and limit[i] > -np.inf:
            places[waiting] = i
            put_in_tile(tile, waiting, actions[i])
            waiting += 1
        i += 1
    if 4 * count > 3 * n:
        model.about[0].skip = SKIPPED
    if 4 * count > n and keeps_floor(head) and model.factor.counts[0].counted >= model.about[0].look_at:
        raise_floor(model)
    return True


@inlined
def longest_noted(head: Head) -> float:
    """X² of the uniform width, once what is offered was noted."""
    return longest_counted(head, head.log[0].offered)


@inlined
def _insert(places: NDArray[np.int64], count: int, limit: Vector, i: int) -> int:
    """Keep the places of the largest limits, in falling order; returns how many there are."""
    if count == places.shape[0]:
        if not limit[i] > limit[places[count - 1]]:
            return count
        count -= 1
    at = count
    while at > 0 and limit[places[at - 1]] < limit[i]:
        places[at] = places[at - 1]
        at -= 1
    places[at] = i
    return count + 1


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
