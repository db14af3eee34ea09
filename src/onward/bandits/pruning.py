"""Pruning: of many actions, only those are read that can be the best. Compiled.

An action's estimate is cheap once θ is known, and its leverage is at most ‖x‖² over the smallest eigenvalue of G. So
among many actions most are seen to be worse than the best one without their leverage being read: exactly the same
choice, sooner.
"""

import math

import numpy as np
from numpy.typing import NDArray

from onward.bandits.indices import (
    is_sharp,
    longest_counted,
    noise_radius,
    optimistic_index,
    prior_part,
    sharpened,
)
from onward.bandits.memories import acting_model, keeps_floor
from onward.bandits.model import LOOK_AGAIN, Model, raise_floor, solved
from onward.bandits.reading import radii, read_tile_doubly, view_read
from onward.bandits.settings import (
    AS_PRINTED,
    BY_FUNCTION,
    FORWARD,
    Head,
    view_head,
)
from onward.core.compile import compiled, inlined
from onward.core.factor import from_zero, square_of
from onward.core.reading_tiles import new_tile, put_in_tile, read_tile
from onward.core.side_by_side import ACROSS
from onward.core.simd import dot_from
from onward.core.types import Matrix, Vector

COMPILED_FROM = "55499b99a69a1ff0"  # other files whose code is compiled into this one: see tools/digests.py

ROUNDING = 1e-9  # of its size, by how much an upper bound is raised for rounding ...
WORST_CONDITION = 1e8  # ... which is enough unless G is worse conditioned than this
LOOK_COST = 25  # to find the smallest eigenvalue takes as long as to read so many actions for each coordinate
SKIPPED = 8.0  # for so many choices all are read, once bounds have spared less than a quarter of them

Mask = NDArray[np.bool_]


@inlined
def is_safe(head: Head, model: Model) -> bool:
    """Whether rounding is small enough for bounds: G is not too badly conditioned."""
    counts, gamma = model.factor.counts[0], head.settings[0].gamma
    rows = counts.counted if gamma == 1.0 else min(counts.seen, 1.0 / (1.0 - gamma))
    return bool(rows * counts.peak < WORST_CONDITION * model.about[0].floor)


@inlined
def optimistic_limit(p: float, q: float, radius: float, forward: bool, sharp: bool, most: float, size: float) -> float:
    """What an index cannot exceed, if the leverage is at most q; of a discounted memory, because Ṽ ≤ V.

    `size` is ‖x‖‖θ‖: p may be what is left of much larger terms. A sharp index is ridge's, or as much of the way from
    there to `most` as the leverage says, if that is more.
    """
    if forward and not sharp:
        best, width = max(p, p / (1.0 + q)), radius * math.sqrt(q / (1.0 + q))
    else:
        best, width = p, radius * math.sqrt(q)
    limit = best + width
    if sharp:
        limit = max(limit, sharpened(limit, q, most))
    return limit + ROUNDING * (size + width + (most if sharp else 0.0))


@compiled
def read_best(buffer: Vector, actions: Matrix, available: Mask, rows: Matrix) -> bool:
    """The index of every action that can be the best, −inf of the others; False, and nothing read, if not worth it."""
    head, read, n = view_head(buffer), view_read(rows), actions.shape[0]
    settings = head.settings[0]
    model, second, double, window = acting_model(head, buffer)
    if settings.width in (AS_PRINTED, BY_FUNCTION) or settings.index_function != 0.0 or not is_safe(head, model):
        return False
    if model.about[0].skip > 0.0:
        model.about[0].skip -= 1.0
        return False
    forward, sharp, scale = settings.estimator == FORWARD, is_sharp(head), settings.scale
    noise = noise_radius(head, model.factor, second, model.factor.counts[0].counted, window, longest_noted(head))
    radii(head, noise, actions, read)
    radius, limit, index, estimate, theta = read.limit, read.leverage, read.indices, read.estimate, solved(model)
    masked, prior = available.shape[0] > 0, settings.has_prior != 0.0
    floor, length = 1.0 / model.about[0].floor, math.sqrt(square_of(theta))
    for i in range(n):
        guess = dot_from(actions, i, theta, 0)
        size = length * (0.5 + 0.5 * read.squares[i])  # at least ‖x‖‖θ‖
        most = scale * read.most[i] if sharp else 0.0
        limit[i] = optimistic_limit(guess, read.squares[i] * floor, radius[i], forward, sharp, most, size)
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
    places, tile = np.empty(ACROSS, dtype=np.int64), new_tile(model.factor)
    waiting = from_zero()
    for i in range(n):
        if limit[i] > -np.inf:
            waiting = insert(places, waiting, limit, i)
    for b in range(waiting):
        limit[places[b]] = -np.inf
        put_in_tile(tile, b, actions, places[b])
    p, q, reach = tile.P[0], tile.Q, np.empty(ACROSS) if double else tile.Q
    largest, count, i = -np.inf, 0, 0
    while True:
        if waiting == ACROSS or i == n:
            if double:
                read_tile_doubly(head.lam, model.factor, second, tile, reach)
            else:
                read_tile(model.factor, tile)
            count += waiting
            for b in range(waiting):
                at = places[b]
                index[at] = optimistic_index(p[b], q[b], reach[b], radius[at], forward and not sharp, double)[0]
                if sharp:
                    index[at] = sharpened(index[at], q[b], scale * read.most[at])
                if settings.clipped != 0.0:
                    index[at] = min(index[at], read.most[at])
                index[at] += estimate[at]
                largest = max(largest, index[at])
            waiting = from_zero()
            if i == n:
                break
        if limit[i] >= largest and limit[i] > -np.inf:
            places[waiting] = i
            put_in_tile(tile, waiting, actions, i)
            waiting += 1
        i += 1
    if 4 * count > 3 * n:
        model.about[0].skip = SKIPPED
    if 4 * count > n and keeps_floor(head) and is_floor_worth_a_look(model, count):
        raise_floor(model)
    return True


@inlined
def is_floor_worth_a_look(model: Model, count: int) -> bool:
    """Whether to find the smallest eigenvalue anew may save more than it takes, if choices read `count` actions.

    It is at most the least pivot, and bounds fall with its root. What is found serves until it is looked for again.
    """
    factor, about = model.factor, model.about[0]
    rows = factor.counts[0].counted
    if rows < about.look_at:
        return False
    least = np.inf
    for pivot in factor.D:
        least = min(least, pivot)
    saved = (LOOK_AGAIN - 1.0) * rows * count * (1.0 - math.sqrt(about.floor / least))
    return bool(saved > LOOK_COST * factor.D.shape[0])


@inlined
def longest_noted(head: Head) -> float:
    """X² of the uniform width, once what is offered was noted."""
    return longest_counted(head, head.log[0].offered)


@inlined
def insert(places: NDArray[np.int64], count: int, limit: Vector, i: int) -> int:
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
