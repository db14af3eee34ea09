"""What a model says of actions: estimates and indices. Compiled."""

import math
from typing import NamedTuple

import numpy as np

from onward.bandits.functions import call_index
from onward.bandits.indices import (
    is_even_radius,
    is_sharp,
    longest_counted,
    noise_radius,
    optimistic_index,
    printed_index,
    prior_part,
    scaled_square,
    sharpened,
    whole_radius,
)
from onward.bandits.memories import acting_model
from onward.bandits.reading_few import add_squares, copy_column, read_few
from onward.bandits.settings import (
    AS_PRINTED,
    EPSILON_GREEDY,
    FORWARD,
    GREEDY,
    INVERSE_GAP,
    OPTIMISTIC,
    SAMPLING,
    SOFTMAX,
    TIGHT,
    UNIFORM_AT_RANDOM,
    Head,
    view_head,
)
from onward.confidence.widths import radius_of_bias
from onward.core.compile import compiled, inlined
from onward.core.factor import Factor, copy_vector
from onward.core.reading_tiles import Tile, new_tile, put_in_tile, read_full_rows, read_tile
from onward.core.side_by_side import ACROSS, BLOCK, solve_block, solve_row, times_block, times_row
from onward.core.simd import dot_from, dot_thrice, fma
from onward.core.solving import solve_both, substitute_back
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW
from onward.core.views import as_matrix

COMPILED_FROM = "2297d40a7119ce26"  # other files whose code is compiled into this one: see tools/digests.py

N_ROWS = 7  # of what was read, before the columns


class Read(NamedTuple):
    """What was read of each action, and room to read it: rows of one matrix."""

    indices: Vector
    estimate: Vector  # p = xᵀG⁻¹b while reading
    squares: Vector  # ‖x‖²
    leverage: Vector  # q = xᵀG⁻¹x
    reach: Vector  # the squared norm that the radius multiplies
    limit: Vector  # the radius; where actions are read lazily, what an index cannot exceed
    most: Vector  # ‖x‖S, scaled: no xᵀ(θ* − θ_0) is larger; of rules that use it
    columns: Matrix  # the actions' columns as rows, for few coordinates, and a row more


@inlined
def new_rows(n: int, d: int) -> Matrix:
    """Room for n actions."""
    return np.empty((N_ROWS + (d + 1 if d <= FEW else 0), n))


@inlined
def view_read(rows: Matrix) -> Read:
    """The rows by their names."""
    return Read(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[N_ROWS:])


# Norms


@inlined
def longest_of(actions: Matrix, read: Read) -> float:
    """‖x‖² of each action, and the largest of them; inf if one is no number. Overwrites squares and columns."""
    n, d = actions.shape
    out = read.squares
    if d <= FEW:
        for j in range(d):
            copy_column(actions, j, read.columns[j])
        out[:] = 0.0
        for j in range(d):
            add_squares(1.0, read.columns[j], out)
    else:
        for i in range(n):
            out[i] = dot_from(actions, i, actions[i], 0)
    return _largest(out)


@inlined
def _largest(out: Vector) -> float:
    n = out.shape[0]
    # Two at a time: one alone waits for itself. A sum is no number if one of its terms is none.
    largest, other, total, more = 0.0, 0.0, 0.0, 0.0
    i = 0
    while i + 2 <= n:
        largest, other = max(largest, out[i]), max(other, out[i + 1])
        total += out[i]
        more += out[i + 1]
        i += 2
    if i < n:
        largest = max(largest, out[i])
        total += out[i]
    return max(largest, other) if total + more < np.inf else np.inf


@inlined
def radii(head: Head, noise: float, actions: Matrix, read: Read) -> None:
    """The radius at each action, noise and bias, in `limit`, and what ‖x‖S allows in `most`."""
    settings, out = head.settings[0], read.limit
    if settings.clipped != 0.0 or is_sharp(head):
        for i in range(out.shape[0]):
            square = read.squares[i] if settings.even != 0.0 else scaled_square(head, actions[i])
            read.most[i] = settings.theta_bound * math.sqrt(square)
    if is_even_radius(head):
        out[:] = whole_radius(head, noise, 0.0)
        return
    lam, bound, tight = settings.lam_most, settings.scale * settings.theta_bound, settings.bias == TIGHT
    copy_vector(read.squares, out)
    if settings.even == 0.0:
        for i in range(out.shape[0]):
            out[i] = scaled_square(head, actions[i])
    if tight:  # a loop for each, in vectors
        for i in range(out.shape[0]):
            out[i] = noise + bound * radius_of_bias(lam, out[i], True)
    else:
        for i in range(out.shape[0]):
            out[i] = noise + bound * radius_of_bias(lam, out[i], False)


# Reading every action


@compiled
def read_actions(buffer: Vector, draws: Vector, actions: Matrix, rows: Matrix) -> None:
    """The index and the estimate of each action, once `longest_of` was called on them. Overwrites the rows.

    `draws` are what a sampling rule needs: standard normal numbers, one for each coordinate.
    """
    n, d = actions.shape
    head, read = view_head(buffer), view_read(rows)
    settings = head.settings[0]
    forward, rule = settings.estimator == FORWARD, settings.rule
    if rule == UNIFORM_AT_RANDOM:
        read.indices[:] = 0.0
        read.estimate[:] = 0.0
        return
    if samples_in_one_pass(head):
        sample_actions(buffer, draws, actions, rows)
        return
    model, second, double, window = acting_model(head, buffer)
    index, p, radius, q = read.indices, read.estimate, read.limit, read.leverage
    longest = 0.0
    for i in range(n):
        longest = max(longest, read.squares[i])
    longest = longest_counted(head, longest)
    counts, greedy = model.factor.counts[0], rule in (GREEDY, EPSILON_GREEDY, INVERSE_GAP, SOFTMAX)
    noise = 0.0
    if greedy:
        radius[:] = 0.0
    elif settings.width != AS_PRINTED:
        noise = noise_radius(head, model.factor, second, counts.counted, window, longest)
        radii(head, noise, actions, read)
    reach = read.reach if double else q
    if d <= FEW:
        read_few(read.columns, head.lam, model.factor, second, double, p, q, reach)
    elif double:
        _read_doubly(head.lam, model.factor, second, actions, p, q, reach)
    else:
        read_full_rows(model.factor, actions, as_matrix(p, n, 1), q)
    if greedy:
        for i in range(n):
            p[i] = p[i] / (1.0 + q[i]) if forward else p[i]
            index[i] = p[i]
    elif settings.index_function != 0.0:
        for i in range(n):
            base = prior_part(head, actions[i])
            known = p[i] + base
            index[i] = call_index(int(settings.index_function), known, q[i], read.squares[i], noise, counts.counted)
            p[i] = (p[i] / (1.0 + q[i]) if forward else p[i]) + base
        return
    elif settings.width == AS_PRINTED:
        for i in range(n):
            index[i], p[i] = printed_index(head, counts.counted, counts.peak, p[i], q[i], read.squares[i])
    elif rule == SAMPLING:
        z = _sample(model.factor, draws)
        for i in range(n):
            shrinkage, along = 1.0 + q[i] if forward else 1.0, 0.0
            for j in range(d):
                along = fma(actions[i, j], z[j], along)
            p[i] /= shrinkage
            index[i] = p[i] + radius[i] * (along / math.sqrt(shrinkage))
    elif not forward or is_sharp(head):  # three loops of one formula, each in vectors
        for i in range(n):
            index[i], p[i] = optimistic_index(p[i], q[i], reach[i], radius[i], False, False)
        if forward:
            scale = settings.scale
            for i in range(n):
                index[i] = sharpened(index[i], q[i], scale * read.most[i])
                p[i] /= 1.0 + q[i]
    elif double:
        for i in range(n):
            index[i], p[i] = optimistic_index(p[i], q[i], reach[i], radius[i], True, True)
    else:
        for i in range(n):
            index[i], p[i] = optimistic_index(p[i], q[i], reach[i], radius[i], True, False)
    if settings.clipped != 0.0 and rule == OPTIMISTIC and settings.width != AS_PRINTED:
        for i in range(n):
            index[i] = min(index[i], read.most[i])
    _add_prior(head, actions, read)


@inlined
def samples_in_one_pass(head: Head) -> bool:
    """Whether indices are those of `sample_actions`: nothing but estimates and a sample along each action."""
    settings = head.settings[0]
    return bool(settings.rule == SAMPLING and settings.estimator != FORWARD and head.lam.shape[0] > FEW)


@compiled
def sample_actions(buffer: Vector, draws: Vector, actions: Matrix, rows: Matrix) -> float:
    """`longest_of` and `read_actions` at once, where a rule `samples_in_one_pass`: each action is looked at once."""
    head, read = view_head(buffer), view_read(rows)
    model, second, _, window = acting_model(head, buffer)
    theta, z = model.theta, _scaled_draws(model.factor, draws)
    solve_both(model.factor, theta, z)
    model.about[0].solved = 1.0
    index, p = read.indices, read.estimate
    for i in range(actions.shape[0]):
        read.squares[i], p[i], index[i] = dot_thrice(actions, i, theta, z)
    longest = _largest(read.squares)
    counted = longest_counted(head, longest)
    noise = noise_radius(head, model.factor, second, model.factor.counts[0].counted, window, counted)
    radii(head, noise, actions, read)
    for i in range(actions.shape[0]):
        index[i] = fma(read.limit[i], index[i], p[i])
    _add_prior(head, actions, read)
    return longest


@inlined
def _add_prior(head: Head, actions: Matrix, read: Read) -> None:
    if head.settings[0].has_prior != 0.0:
        for i in range(actions.shape[0]):
            base = prior_part(head, actions[i])
            read.estimate[i] += base
            read.indices[i] += base


@compiled
def _sample(factor: Factor, draws: Vector) -> Vector:
    """U⁻¹D^(−1/2)η, distributed as N(0, G⁻¹) for standard normal η; padded."""
    z = _scaled_draws(factor, draws)
    substitute_back(factor, z)
    return z


@inlined
def _scaled_draws(factor: Factor, draws: Vector) -> Vector:
    """D^(−1/2)η for standard normal η; padded."""
    z = np.zeros(factor.U.shape[1])
    for k in range(factor.D.shape[0]):
        z[k] = draws[k] / math.sqrt(factor.D[k])
    return z


@inlined
def _read_doubly(lam: Vector, V: Factor, second: Factor, X: Matrix, p: Vector, q: Vector, reach: Vector) -> None:
    """p and q of the rows of X, and what `read_tile_doubly` says of them. Overwrites p, q and reach."""
    tile, reached = new_tile(V), np.empty(ACROSS)
    for first in range(0, X.shape[0], ACROSS):
        rows = min(ACROSS, X.shape[0] - first)
        for b in range(rows):
            put_in_tile(tile, b, X, first + b)
        read_tile_doubly(lam, V, second, tile, reached)
        for b in range(rows):
            p[first + b], q[first + b], reach[first + b] = tile.P[0, b], tile.Q[b], reached[b]


@compiled
def read_tile_doubly(lam: Vector, V: Factor, second: Factor, tile: Tile, reached: Vector) -> None:
    """Read a tile, and xᵀV⁻¹ṼV⁻¹x of each of its rows for V = UᵀDU and Ṽ = WᵀEW + rest·Λ. Overwrites all but its rows.

    With z = V⁻¹x from two substitutions, it is Σ E_k (Wz)_k² + rest·Σ λ_k z_k².
    """
    read_tile(V, tile)
    d, rest, along = V.D.shape[0], 1.0 - second.counts[0].counted, np.empty((BLOCK, ACROSS))
    Z = tile.Z[:d]
    for k in range(d):
        for b in range(ACROSS):
            Z[k, b] *= tile.inverse[k]
    for b in range(ACROSS):
        reached[b] = 0.0
    k = d
    while k >= BLOCK:
        k -= BLOCK
        solve_block(V.U, k, Z, along)
    while k > 0:
        k -= 1
        solve_row(V.U, k, Z, along)
    while k < d:
        block = BLOCK if k + BLOCK <= d else 1
        if block == BLOCK:
            times_block(second.U, k, Z, along)
        else:
            times_row(second.U, k, Z, along)
        for i in range(block):
            scale, share = second.D[k + i], rest * lam[k + i]
            for b in range(ACROSS):
                reached[b] = fma(scale * along[i, b], along[i, b], reached[b])
                reached[b] = fma(share * Z[k + i, b], Z[k + i, b], reached[b])
        k += block
