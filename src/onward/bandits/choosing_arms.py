"""The choice among arms that share a context, each with a policy's buffer of its own. Compiled."""

import math

import numpy as np

from onward.bandits.choosing import pick
from onward.bandits.indices import (
    checked_square,
    is_sharp,
    noise_radius,
    optimistic_index,
    prior_part,
    scaled_square,
    sharpened,
    whole_radius,
)
from onward.bandits.memories import acting_model, keeps_floor
from onward.bandits.model import raise_floor, solved
from onward.bandits.pruning import ROUNDING, Mask, is_safe, longest_noted, optimistic_limit
from onward.bandits.reading import longest_of, new_rows, read_actions, view_read
from onward.bandits.settings import (
    AS_PRINTED,
    BY_FUNCTION,
    FORWARD,
    OPTIMISTIC,
    SAMPLING,
    SEVERAL,
    WRONG_SHAPE,
    view_head,
)
from onward.core.compile import compiled
from onward.core.factor import load_row, new_scratch, read_row, square_of
from onward.core.simd import dot_from
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW
from onward.core.views import as_matrix

COMPILED_FROM = "9377ea235a4e769a"  # other files whose code is compiled into this one: see tools/digests.py


@compiled
def read_arms(buffers: Matrix, draws: Vector, context: Matrix) -> Matrix:
    """What each arm's policy makes of a context (1, d): indices and estimates. A sampling rule takes d draws an arm."""
    n, d = buffers.shape[0], context.shape[1]
    out, rows = np.empty((2, n)), new_rows(1, d)
    for a in range(n):
        samples = view_head(buffers[a]).settings[0].rule == SAMPLING
        longest_of(context, view_read(rows))
        read_actions(buffers[a], draws[a * d : (a + 1) * d] if samples else draws, context, rows)
        out[0, a], out[1, a] = rows[0, 0], rows[1, 0]
    return out


@compiled
def choose_arm(buffers: Matrix, draws: Vector, context: Matrix, available: Mask) -> tuple[int, int, Vector]:
    """`choose` among arms that share a context (1, d). All arms note how long the context is."""
    n, x = buffers.shape[0], context[0]
    head = view_head(buffers[0])
    square = checked_square(head.settings, square_of(x))
    if square < 0.0:
        return int(square), 0, x
    index = np.empty(n)
    for a in range(n):
        log = view_head(buffers[a]).log[0]
        log.offered = max(log.offered, square)
    settings = head.settings[0]
    plain = settings.rule == OPTIMISTIC and settings.width not in (AS_PRINTED, BY_FUNCTION)
    if plain and settings.index_function == 0.0 and x.shape[0] > FEW and settings.gamma == 1.0:
        _read_best_arms(buffers, x, square, available, index)
    else:
        index = read_arms(buffers, draws, context)[0]
    best, ties = pick(head, draws, available, index)
    return best, ties, index


@compiled
def choose_arm_fast(buffers: Matrix, x: Vector) -> int:
    """`choose_arm` where all arms are available and nothing is drawn; a negative status if several tie."""
    if x.shape[0] != view_head(buffers[0]).lam.shape[0]:
        return WRONG_SHAPE
    best, ties, _ = choose_arm(buffers, x[:0], as_matrix(x, 1, x.shape[0]), np.empty(0, dtype=np.bool_))
    return best if ties <= 1 else SEVERAL


@compiled
def _read_best_arms(buffers: Matrix, x: Vector, square: float, available: Mask, index: Vector) -> None:
    """The index of every arm that can be the best, −inf of the others. Arms need not be read while they cannot be."""
    n, d = buffers.shape[0], x.shape[0]
    limit, radius, most, scratch = np.empty(n), np.empty(n), np.empty(n), new_scratch(d)
    context, first = as_matrix(x, 1, d), view_head(buffers[0])
    forward, sharp = first.settings[0].estimator == FORWARD, is_sharp(first)
    scale, clipped = first.settings[0].scale, first.settings[0].clipped != 0.0
    for a in range(n):
        index[a] = -np.inf
        limit[a] = -np.inf
        if available.shape[0] > 0 and not available[a]:
            continue
        head = view_head(buffers[a])
        model, second, _, window = acting_model(head, buffers[a])
        noise = noise_radius(head, model.factor, second, model.factor.counts[0].counted, window, longest_noted(head))
        own_square = square if head.settings[0].even != 0.0 else scaled_square(head, x)
        radius[a] = whole_radius(head, noise, own_square)
        most[a] = head.settings[0].theta_bound * math.sqrt(own_square)
        limit[a] = np.inf
        if is_safe(head, model):
            theta, base = solved(model), prior_part(head, x)
            size = math.sqrt(square * square_of(theta))
            p = dot_from(context, 0, theta, 0)
            q = square / model.about[0].floor
            limit[a] = optimistic_limit(p, q, radius[a], forward, sharp, scale * most[a], size)
            limit[a] += base + ROUNDING * abs(base)
    largest = -np.inf
    while True:
        a = 0
        for other in range(1, n):
            if limit[other] > limit[a]:
                a = other
        if limit[a] < largest or limit[a] == -np.inf:
            return
        head = view_head(buffers[a])
        model = acting_model(head, buffers[a])[0]
        load_row(x, scratch)
        p, q = read_row(model.factor, scratch, scratch)
        index[a] = optimistic_index(p, q, q, radius[a], forward and not sharp, False)[0]
        if sharp:
            index[a] = sharpened(index[a], q, scale * most[a])
        if clipped:
            index[a] = min(index[a], most[a])
        index[a] += prior_part(head, x)
        largest = max(largest, index[a])
        limit[a] = -np.inf
        if keeps_floor(head) and model.factor.counts[0].counted >= model.about[0].look_at:
            raise_floor(model)
