"""The chances of actions under a rule that samples: exact along lines through the estimate. Compiled.

Coefficients are drawn as θ = θ̂ + r L u, u a direction, uniform on the sphere, and r of either sign, |r| by a χ law.
Along a direction each action's index is a line in r, the best action is the upper envelope of these lines, and the
chance of each is a sum of differences of the law. What is left to average over is the direction. Only differences of
indices matter, so with k actions k − 1 dimensions are enough; with two actions one direction says all.
"""

import math

import numpy as np

from onward.bandits.chances import add_floor
from onward.bandits.indices import longest_counted, noise_radius, prior_part
from onward.bandits.memories import acting_model
from onward.bandits.pruning import Mask
from onward.bandits.reading import longest_of, new_rows, radii, view_read
from onward.bandits.reading_few import add_multiple
from onward.bandits.settings import FORWARD, view_head
from onward.bandits.tuning import multiple, shares, tuning_in
from onward.core.compile import compiled, inlined
from onward.core.factor import padded_to
from onward.core.reading_tiles import new_tile, put_in_tile, read_tile
from onward.core.side_by_side import ACROSS
from onward.core.simd import dot_from, fma
from onward.core.types import Matrix, Vector

COMPILED_FROM = "38abd1a8c377b233"  # other files whose code is compiled into this one: see tools/digests.py

SAME = 1e-12  # what is left of a difference in other differences' span, as a share of it, and counts as nothing


@compiled
def spread_of(buffer: Vector, actions: Matrix) -> tuple[Vector, Matrix]:
    """The estimate p of each action and its row w, padded: its index is p + wᵀη for standard normal η."""
    n, d = actions.shape
    head, rows = view_head(buffer), new_rows(n, d)
    read = view_read(rows)
    longest = longest_of(actions, read)
    model, second, _, window = acting_model(head, buffer)
    factor, forward = model.factor, head.settings[0].estimator == FORWARD
    noise = noise_radius(head, factor, second, factor.counts[0].counted, window, longest_counted(head, longest))
    radii(head, noise, actions, read)
    p, R, tile = np.empty(n), np.zeros((n, padded_to(d))), new_tile(factor)
    for first in range(0, n, ACROSS):
        filled = min(ACROSS, n - first)
        for b in range(filled):
            put_in_tile(tile, b, actions, first + b)
        read_tile(factor, tile)
        for b in range(filled):
            p[first + b] = tile.P[0, b]
            for k in range(d):
                R[first + b, k] = tile.Z[k, b]
    for i in range(n):
        q = 0.0
        for k in range(d):
            R[i, k] /= math.sqrt(factor.D[k])
            q = fma(R[i, k], R[i, k], q)
        shrinkage = 1.0 + q if forward else 1.0
        p[i] = p[i] / shrinkage + prior_part(head, actions[i])
        for k in range(d):
            R[i, k] *= read.limit[i] / math.sqrt(shrinkage)
    return p, R


@inlined
def _normalize(rows: Matrix) -> None:
    for i in range(rows.shape[0]):
        square = 0.0
        for k in range(rows.shape[1]):
            square = fma(rows[i, k], rows[i, k], square)
        for k in range(rows.shape[1]):
            rows[i, k] /= math.sqrt(square)


@compiled
def _same_row(W: Matrix, i: int, j: int) -> bool:
    same = True
    for k in range(W.shape[1]):
        same = same and W[i, k] == W[j, k]
    return same


@inlined
def _first_of_each(p: Vector, W: Matrix, available: Mask) -> Vector:
    """Of each action the first available one that is just like it; −1 of those that are not available."""
    n = p.shape[0]
    first = np.full(n, -1.0)
    for i in range(n):
        if available.shape[0] == 0 or available[i]:
            first[i] = i
            for j in range(i):
                if p[j] == p[i] and first[j] == j and _same_row(W, i, j):
                    first[i] = j
                    break
    return first


@compiled
def _in_fewer(W: Matrix, m: int) -> Matrix:
    """Rows in m ≥ their rank coordinates of an orthonormal basis, a row for each coordinate. Overwrites W, padded."""
    n, rank = W.shape[0], 0
    T = np.zeros((m, n))
    Q = np.zeros((m, W.shape[1]))
    for i in range(n):
        row = W[i]
        whole = math.sqrt(dot_from(W, i, row, 0))
        for j in range(rank):
            T[j, i] = dot_from(Q, j, row, 0)
            add_multiple(-T[j, i], Q[j], row)
        left = math.sqrt(dot_from(W, i, row, 0))
        if rank < m and left > SAME * whole:
            T[rank, i] = left
            add_multiple(1.0 / left, row, Q[rank])
            rank += 1
    return T


@compiled
def _reflect(heights: Vector, T: Matrix) -> None:
    """Turn the coordinates, T's rows, by a reflection that depends on the heights as if it were drawn. Overwrites T.

    Directions are the same in each call: so that their error is another one in each, and asking twice says the same.
    """
    m, mixed = T.shape[0], np.uint64(0x9E3779B97F4A7C15)
    for bits in heights.view(np.uint64):
        mixed = (mixed ^ bits) * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    v, uniform, square, along = np.empty(m), np.empty(2), 0.0, np.zeros(T.shape[1])
    for k in range(m):
        for j in range(2):
            mixed = (mixed + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xC4CEB9FE1A85EC53)
            mixed ^= mixed >> np.uint64(29)
            uniform[j] = ((mixed >> np.uint64(12)) + 0.5) / 2.0**52
        v[k] = math.sqrt(-2.0 * math.log(uniform[0])) * math.cos(2.0 * math.pi * uniform[1])
        square += v[k] * v[k]
        add_multiple(v[k], T[k], along)
    for k in range(m):
        add_multiple(-2.0 * v[k] / square, along, T[k])


@inlined
def _beyond(law: Matrix, step: float, r: float) -> float:
    """Half the chance of |r| beyond r ≥ 0, from a table of it and of its slope (times the step)."""
    at = r / step
    if not at < law.shape[1] - 1:
        return 0.0
    j = int(at)
    t = at - j
    s = 1.0 - t
    value: float = s * s * ((1.0 + 2.0 * t) * law[0, j] + t * law[1, j])
    value += t * t * ((3.0 - 2.0 * t) * law[0, j + 1] - s * law[1, j + 1])
    return value


@inlined
def _cross(sign: float, best: int, heights: Vector, slopes: Vector, out: Vector) -> None:
    """Where each line crosses that of the best, if it is steeper; else infinity. Overwrites out."""
    height, slope = heights[best], sign * slopes[best]
    for j in range(out.shape[0]):
        steeper = sign * slopes[j] - slope
        crossing = (height - heights[j]) / steeper
        out[j] = crossing if steeper > 0.0 else np.inf


@inlined
def _least(values: Vector) -> float:
    n = values.shape[0]
    a, b, c, d, i = np.inf, np.inf, np.inf, np.inf, 0
    while i + 4 <= n:  # four at a time: one alone waits for itself
        a, b = min(a, values[i]), min(b, values[i + 1])
        c, d = min(c, values[i + 2]), min(d, values[i + 3])
        i += 4
    while i < n:
        a = min(a, values[i])
        i += 1
    return min(min(a, b), min(c, d))


@compiled
def _walk(
    sign: float,
    top: int,
    heights: Vector,
    slopes: Vector,
    law: Matrix,
    step: float,
    out: Matrix,
    left: Vector,
    room: Vector,
) -> None:
    """Add the chances along half a line: from r = 0, where `top` is the best, to where the law has ended.

    At several scales, a row of `out` for each: where lines are so many times as steep they cross so much earlier.
    """
    at, best = 0.0, top
    left[:] = 0.5
    while True:
        _cross(sign, best, heights, slopes, room)
        crossing = _least(room)
        at = max(at, crossing)
        farthest = 0.0
        for scale in range(left.shape[0]):
            beyond = _beyond(law, step, at / multiple(scale))
            out[scale, best] += left[scale] - beyond
            left[scale] = beyond
            farthest = max(farthest, beyond)
        if farthest == 0.0:
            return
        following = best
        for j in range(room.shape[0]):  # of those that cross here, the steepest
            if room[j] == crossing and (following == best or sign * slopes[j] > sign * slopes[following]):
                following = j
        best = following


@compiled
def sampled_chances(
    buffer: Vector,
    actions: Matrix,
    available: Mask,
    directions: Matrix,
    law: Matrix,
    step: float,
    blocks: int,
    chooses: bool,
) -> tuple[Vector, Matrix]:
    """How often each scale is taken, and rows: chances of actions, their standard errors, and chances at each scale.

    Where no scales are tuned there is one. The floor of `explore` is included. Of the directions each of `blocks` as
    many are a design of their own, for the error. If it `chooses`, they are drawn anew, of any length, and the actions
    count as offered.
    """
    n, d, m, head = actions.shape[0], actions.shape[1], directions.shape[1], view_head(buffer)
    p, W = spread_of(buffer, actions)
    scales = max(1, int(head.settings[0].scales))
    taken = shares(tuning_in(buffer), scales) if head.settings[0].scales > 0.0 else np.ones(1)
    if chooses:
        log = head.log[0]
        log.offered = max(log.offered, longest_of(actions, view_read(new_rows(n, d))))
        _normalize(directions)
    first = _first_of_each(p, W, available)
    places, shared, count, top = np.empty(n, dtype=np.int64), np.zeros(n), 0, 0
    for i in range(n):
        if first[i] >= 0.0:
            shared[int(first[i])] += 1.0
        if first[i] == i:
            places[count] = i
            if p[i] > p[places[top]]:
                top = count
            count += 1
    heights, S = np.empty(count), np.empty((count, W.shape[1]))
    for i in range(count):
        heights[i] = p[places[i]]
        for k in range(W.shape[1]):
            S[i, k] = W[places[i], k] - W[places[top], k]
    T = _in_fewer(S, m) if m < d else S.T[:d].copy()
    if not chooses and m > 1:
        _reflect(heights, T)
    each, size = np.zeros((blocks, scales, count)), directions.shape[0] // blocks
    slopes, left, room = np.empty(count), np.empty(scales), np.empty(count)
    for b in range(blocks):
        for s in range(b * size, (b + 1) * size):
            slopes[:] = 0.0
            for k in range(m):
                add_multiple(directions[s, k], T[k], slopes)
            _walk(1.0, top, heights, slopes, law, step, each[b], left, room)
            _walk(-1.0, top, heights, slopes, law, step, each[b], left, room)
    out = np.zeros((2 + scales, n))
    for scale in range(scales):
        chances, errors = out[2 + scale], np.zeros(n)
        for i in range(count):
            mean, squares = 0.0, 0.0
            for b in range(blocks):
                mean += each[b, scale, i] / (size * blocks)
            for b in range(blocks):
                squares += (each[b, scale, i] / size - mean) ** 2
            for j in range(places[i], n):
                if first[j] == places[i]:
                    # A sum of differences of the law may come out below 0 by rounding.
                    chances[j] = max(mean, 0.0) / shared[places[i]]
                    if blocks > 1:
                        errors[j] = math.sqrt(squares / (blocks * (blocks - 1.0))) / shared[places[i]]
        add_floor(head, available, chances)
        for i in range(n):
            out[0, i] += taken[scale] * chances[i]
            # Directions are the same at all scales, so errors add up.
            out[1, i] += taken[scale] * ((1.0 - head.settings[0].explore) * errors[i])
    return taken, out
