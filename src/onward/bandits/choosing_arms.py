"""The choice among arms that share a context, each with a policy's buffer of its own. Compiled.

Arms are rows of a table: the slot of the arm's buffer among the buffers, and the largest ‖x‖² that it was offered. Slot
0 is the buffer of all arms that have learned nothing: they have one index, which is read once.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.bandits.arm_summaries import (
    CEILING,
    LENGTH,
    N_NUMBERS,
    NO_FORM,
    NOISE,
    STALE,
    UNSAFE,
    level_of_arms,
    leverage_limit,
    note_floor,
    outer_single,
    summarise,
    write_form,
)
from onward.bandits.chances import chances_of, needs_steepness, steepness_of_arms
from onward.bandits.choosing import count_available, nth_best, pick, pick_best
from onward.bandits.indices import (
    checked_square,
    is_even_radius,
    is_sharp,
    longest_counted,
    noise_radius,
    optimistic_index,
    prior_part,
    scaled_square,
    sharpened,
    whole_radius,
)
from onward.bandits.memories import acting_model, keeps_floor
from onward.bandits.model import raise_floor
from onward.bandits.pruning import ROUNDING, Mask, insert, optimistic_limit
from onward.bandits.reading import longest_of, new_rows, read_actions, view_read
from onward.bandits.settings import (
    AS_PRINTED,
    BY_CONSTANTS,
    BY_FUNCTION,
    FORWARD,
    OPTIMISTIC,
    SAMPLING,
    SEVERAL,
    UNIFORM_AT_RANDOM,
    WRONG_SHAPE,
    Head,
    view_head,
)
from onward.bandits.shared_record import stretched
from onward.bandits.tuning import (
    MOST,
    mark_of,
    multiple,
    note_choice,
    shares,
    take_scale,
    view_tuning,
)
from onward.core.compile import compiled, inlined
from onward.core.factor import from_zero, load_row, new_scratch, read_row, square_of
from onward.core.simd import dot_from
from onward.core.tiles import TILE
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW
from onward.core.views import as_matrix

COMPILED_FROM = "e29c795dd4ac4bf3"  # other files whose code is compiled into this one: see tools/digests.py

FLOORS = 2  # so many smallest eigenvalues are found anew at once: each takes as long as many arms do
MANY_READ = 32  # so many arms are read before the second bound is worth its form


@inlined
def _read_arm(buffers: Matrix, arms: Matrix, a: int, draws: Vector, context: Matrix, rows: Matrix) -> None:
    """Index and estimate of an arm, in rows[0, 0] and rows[1, 0]."""
    buffer = buffers[int(arms[a, 0])]
    log = view_head(buffer).log[0]
    log.offered = max(log.offered, arms[a, 1]) if arms[a, 0] > 0.0 else arms[a, 1]
    longest_of(context, view_read(rows))
    read_actions(buffer, draws, context, rows)


@compiled
def _posterior(buffer: Vector, offered: float, x: Vector, square: float, scratch: Matrix) -> tuple[float, float]:
    """Of an arm that samples, the mean and the deviation of xᵀθ without the prior's part: it needs one draw, not d."""
    head = view_head(buffer)
    settings, log = head.settings[0], head.log[0]
    model, second, _, window = acting_model(head, buffer)
    longest = longest_counted(head, max(square, max(log.offered, offered)))
    noise = noise_radius(head, model.factor, second, model.factor.counts[0].counted, window, longest)
    radius = whole_radius(head, noise, square if settings.even != 0.0 else scaled_square(head, x))
    load_row(x, scratch)
    p, q = read_row(model.factor, scratch, scratch)
    shrinkage = 1.0 + q if settings.estimator == FORWARD else 1.0
    return p / shrinkage, radius * math.sqrt(q / shrinkage)


@compiled
def _sample_arms(buffers: Matrix, arms: Matrix, draws: Vector, x: Vector) -> Matrix:
    """`read_arms` of a sampling rule."""
    n, base, square, scratch = (
        arms.shape[0],
        prior_part(view_head(buffers[0]), x),
        square_of(x),
        new_scratch(x.shape[0]),
    )
    out, mean, deviation = np.empty((3, n)), 0.0, 0.0
    for a in range(n):
        if a == 0 or arms[a, 0] > 0.0 or arms[a, 0] != arms[a - 1, 0] or arms[a, 1] != arms[a - 1, 1]:
            offered = arms[a, 1]
            mean, deviation = _posterior(buffers[int(arms[a, 0])], offered, x, square, scratch)
        out[0, a], out[1, a], out[2, a] = mean + draws[a] * deviation + base, mean + base, deviation
    return out


@compiled
def read_arms(buffers: Matrix, arms: Matrix, draws: Vector, context: Matrix) -> Matrix:
    """What each arm's policy makes of a context (1, d): index, estimate and leverage, as three rows.

    A sampling rule takes a draw an arm; in place of the leverage it has the deviation of its draws.
    """
    if view_head(buffers[0]).settings[0].rule == SAMPLING:
        return _sample_arms(buffers, arms, draws, context[0])
    n, d = arms.shape[0], context.shape[1]
    out, rows = np.empty((3, n)), new_rows(1, d)
    for a in range(n):
        if a > 0 and arms[a, 0] == arms[a - 1, 0] == 0.0 and arms[a, 1] == arms[a - 1, 1]:
            out[:, a] = out[:, a - 1]
            continue
        _read_arm(buffers, arms, a, draws, context, rows)
        out[0, a], out[1, a], out[2, a] = rows[0, 0], rows[1, 0], view_read(rows).leverage[0]
    return out


@compiled
def read_arm_chances(buffers: Matrix, arms: Matrix, context: Matrix, available: Mask) -> Vector:
    """The chance of each arm in a context (1, d), where the rule neither samples nor widens what is shared."""
    read = read_arms(buffers, arms, context[0, :0], context)
    return chances_of(buffers[0], steepness_of_arms(buffers, arms, available, read[2]), available, read[0])


@compiled
def note_context(buffers: Matrix, summary: Matrix, arms: Matrix, context: Matrix) -> None:
    """All arms note how long a context (1, d) is."""
    _note_offered(buffers, summary, arms, square_of(context[0]))


@inlined
def _note_offered(buffers: Matrix, summary: Matrix, arms: Matrix, square: float) -> None:
    """Let all arms note how long the context is."""
    settings, stale = view_head(buffers[0]).settings[0], summary.shape[1] - N_NUMBERS + STALE
    widens = settings.width == BY_CONSTANTS and not settings.action_bound < np.inf
    for a in range(arms.shape[0]):
        if arms[a, 1] < square:
            arms[a, 1] = square
            if widens:
                slot = int(arms[a, 0])
                log = view_head(buffers[slot]).log[0]
                log.offered = max(log.offered, square)  # it may have learned a longer one
                summary[slot, stale] = 1.0


@inlined
def _has_bounds(head: Head) -> bool:
    """Whether it is known what an index cannot exceed."""
    settings = head.settings[0]
    if settings.rule in (OPTIMISTIC, SAMPLING):
        return bool(settings.width not in (AS_PRINTED, BY_FUNCTION) and settings.index_function == 0.0)
    return bool(settings.rule != UNIFORM_AT_RANDOM and not needs_steepness(head))


@compiled
def choose_arm(
    buffers: Matrix,
    summary: Matrix,
    forms: Any,
    arms: Matrix,
    record: Vector,
    draws: Vector,
    context: Matrix,
    available: Mask,
) -> tuple[int, int, Vector]:
    """`choose` among arms that share a context (1, d) and a record. All arms note how long the context is."""
    x, head = context[0], view_head(buffers[0])
    square = checked_square(head.settings, square_of(x))
    if square < 0.0:
        return int(square), 0, x
    _note_offered(buffers, summary, arms, square)
    index = np.empty(arms.shape[0])
    best, ties = _choose_at_scales(buffers, summary, forms, arms, record, draws, context, square, available, index)
    return best, ties, index


@compiled
def _choose_at_scales(
    buffers: Matrix,
    summary: Matrix,
    forms: Any,
    arms: Matrix,
    record: Vector,
    draws: Vector,
    context: Matrix,
    square: float,
    available: Mask,
    index: Vector,
) -> tuple[int, int]:
    """The choice by what indices add to estimates at the level of the noise. Overwrites the index.

    Where scales are tuned one of them is taken; then it is seen what the others would choose, and the choice is noted
    for its reward.
    """
    head, level, scale, left, n_scales = view_head(buffers[0]), level_of_arms(buffers, summary, arms, record), 0, 0.0, 1
    bounded, least = _has_bounds(head), level
    taken, each, other = np.ones(1), np.empty(MOST), index
    tuned = record.shape[0] > 0 and view_tuning(record).about[0].scales > 0.0
    if tuned:
        n_scales, least = int(view_tuning(record).about[0].scales), level * view_tuning(record).about[0].least
        taken, other = shares(view_tuning(record), n_scales), np.empty(index.shape[0])
        scale, left = take_scale(head, taken, draws)
    best, explore, steepness, read = 0, head.settings[0].explore, 0.0, np.zeros((3, 1))
    if not bounded and head.settings[0].rule != UNIFORM_AT_RANDOM:
        read = read_arms(buffers, arms, draws, context)
        steepness = steepness_of_arms(buffers, arms, available, read[2])
    for step in range(n_scales):
        j = (scale + step) % n_scales
        values, factor = index if step == 0 else other, least * multiple(j)
        if bounded:
            _read_best_arms(buffers, summary, forms, arms, draws, context, square, available, factor, values)
        elif read.shape[1] == values.shape[0]:
            for a in range(values.shape[0]):
                values[a] = stretched(read[1, a], read[0, a], factor)
        else:
            values[:] = 0.0
        if step == 0:
            best, ties = pick(head, draws, available, values, steepness, np.empty(values.shape[0]))
            if best < 0 or not tuned:
                return best, ties
            best = nth_best(values, available, best, int(left * ties))
        first, alike = pick_best(head, available, values)
        each[j] = 1.0 / alike if values[best] == values[first] else 0.0
    floor = explore / count_available(available, index.shape[0])
    note_choice(view_tuning(record), taken, each, explore, floor, square, mark_of(context[0]))
    return best, 1


@compiled
def choose_arm_fast(buffers: Matrix, summary: Matrix, forms: Any, arms: Matrix, record: Vector, x: Vector) -> int:
    """`choose_arm` where all arms are available and nothing is drawn; a negative status if several tie."""
    if x.shape[0] != view_head(buffers[0]).lam.shape[0]:
        return WRONG_SHAPE
    none = np.empty(0, dtype=np.bool_)
    best, ties, _ = choose_arm(buffers, summary, forms, arms, record, x[:0], as_matrix(x, 1, x.shape[0]), none)
    return best if ties <= 1 else SEVERAL


class Offer(NamedTuple):
    """A context, and what of an index is the same for all arms."""

    draws: Vector
    context: Matrix
    square: float
    base: float
    bias: float
    most: float  # of forward's sharp index, scaled
    cut: float  # of clipped indices
    factor: float  # of what is added to explore
    scratch: Matrix


@compiled
def _read_best_arms(
    buffers: Matrix,
    summary: Matrix,
    forms: Any,
    arms: Matrix,
    draws: Vector,
    context: Matrix,
    square: float,
    available: Mask,
    factor: float,
    index: Vector,
) -> None:
    """The index of every arm that can be the best, −inf of the others. Arms need not be read while they cannot be."""
    n, d, at, x = arms.shape[0], context.shape[1], summary.shape[1] - N_NUMBERS, context[0]
    head = view_head(buffers[0])
    settings = head.settings[0]
    forward, samples = settings.estimator == FORWARD, settings.rule == SAMPLING
    optimistic = settings.rule == OPTIMISTIC
    sharp = is_sharp(head) and optimistic
    own_square = square if settings.even != 0.0 else scaled_square(head, x)
    explores = optimistic or samples
    bias = whole_radius(head, 0.0, own_square) if explores and not is_even_radius(head) else 0.0
    cut = settings.theta_bound * math.sqrt(own_square)
    most = settings.scale * cut if sharp else 0.0
    base = prior_part(head, x) if settings.has_prior != 0.0 else 0.0
    padded, length, scratch = np.zeros(summary.shape[1]), math.sqrt(square), new_scratch(d)
    padded[:d] = x
    bounds, places, most_promising = np.empty((2, n)), np.empty(TILE, dtype=np.int64), from_zero()
    guess, limit = bounds[0], bounds[1]
    largest, fresh, spread, fresh_offered = -np.inf, 0.0, 0.0, -1.0
    for a in range(n):
        index[a] = limit[a] = -np.inf
        if available.shape[0] > 0 and not available[a]:
            continue
        slot = int(arms[a, 0])
        if slot == 0:
            if arms[a, 1] != fresh_offered:
                fresh_offered = arms[a, 1]
                if samples:
                    fresh, spread = _posterior(buffers[0], fresh_offered, x, square, scratch)
                else:
                    rows = new_rows(1, d)
                    _read_arm(buffers, arms, a, draws, context, rows)
                    fresh = stretched(rows[1, 0], rows[0, 0], factor)
            index[a] = fresh + factor * draws[a] * spread + base if samples else fresh
            largest = max(largest, index[a])
            continue
        if summary[slot, at + STALE] != 0.0:
            view_head(buffers[slot]).log[0].offered = max(view_head(buffers[slot]).log[0].offered, arms[a, 1])
            summarise(buffers[slot], summary, slot)
        limit[a] = np.inf
        if summary[slot, at + UNSAFE] == 0.0:
            guess[a] = dot_from(summary, slot, padded, 0)
            q, size = square * summary[slot, at + CEILING], length * summary[slot, at + LENGTH]
            radius = (factor * summary[slot, at + NOISE] + bias) * (max(draws[a], 0.0) if samples else 1.0)
            limit[a] = optimistic_limit(guess[a], q, radius, forward, sharp, most, size) + base + ROUNDING * abs(base)
        most_promising = insert(places, most_promising, limit, a)
    given = Offer(draws, context, square, base, bias, most, cut, factor, scratch)
    largest = _read_some(buffers, summary, arms, given, places[:most_promising], limit, index, largest)
    count = 0
    for a in range(n):
        count += limit[a] >= largest and limit[a] > -np.inf
    if count > MANY_READ and forms.shape[0] == buffers.shape[0] and square > 0.0:
        outer, most_promising = np.zeros(forms.shape[1], dtype=np.float32), from_zero()
        outer_single(x, square, outer)
        for a in range(n):
            slot = int(arms[a, 0])
            if limit[a] >= largest and -np.inf < limit[a] < np.inf:
                if summary[slot, at + NO_FORM] != 0.0:
                    write_form(buffers[slot], summary, forms, slot)
                q, size = leverage_limit(summary, forms, slot, outer, square, d), length * summary[slot, at + LENGTH]
                radius = (factor * summary[slot, at + NOISE] + bias) * (max(draws[a], 0.0) if samples else 1.0)
                sharper = (
                    optimistic_limit(guess[a], q, radius, forward, sharp, most, size) + base + ROUNDING * abs(base)
                )
                limit[a] = min(limit[a], sharper)
                most_promising = insert(places, most_promising, limit, a)
        largest = _read_some(buffers, summary, arms, given, places[:most_promising], limit, index, largest)
    for a in range(n):
        if limit[a] >= largest and limit[a] > -np.inf:
            places[0] = a
            largest = _read_some(buffers, summary, arms, given, places[:1], limit, index, largest)


@compiled
def _read_some(
    buffers: Matrix,
    summary: Matrix,
    arms: Matrix,
    given: Offer,
    places: NDArray[np.int64],
    limit: Vector,
    index: Vector,
    largest: float,
) -> float:
    """Read the arms in these places unless they cannot be the best; returns the largest index so far."""
    first = view_head(buffers[0])
    settings, d = first.settings[0], given.context.shape[1]
    forward, sharp = settings.estimator == FORWARD, is_sharp(first)
    plain = settings.rule == OPTIMISTIC and settings.gamma == 1.0 and d > FEW
    raised = 0
    for i in range(places.shape[0]):
        a = places[i]
        if limit[a] < largest:
            continue
        slot = int(arms[a, 0])
        buffer = buffers[slot]
        head = view_head(buffer)
        model = acting_model(head, buffer)[0]
        if plain:
            load_row(given.context[0], given.scratch)
            p, q = read_row(model.factor, given.scratch, given.scratch)
            radius = given.factor * summary[slot, summary.shape[1] - N_NUMBERS + NOISE] + given.bias
            index[a] = optimistic_index(p, q, q, radius, forward and not sharp, False)[0]
            if sharp:
                index[a] = sharpened(index[a], q, given.most)
            if settings.clipped != 0.0:
                index[a] = min(index[a], given.cut)
            if settings.has_prior != 0.0:
                index[a] += given.base
        elif settings.rule == SAMPLING:
            mean, deviation = _posterior(buffer, arms[a, 1], given.context[0], given.square, given.scratch)
            index[a] = mean + given.factor * given.draws[a] * deviation + given.base
        else:
            rows = new_rows(1, d)
            _read_arm(buffers, arms, a, given.draws, given.context, rows)
            index[a] = stretched(rows[1, 0], rows[0, 0], given.factor)
        limit[a] = -np.inf
        largest = max(largest, index[a])
        old = keeps_floor(head) and model.factor.counts[0].counted >= model.about[0].look_at
        if old and raised < FLOORS:
            raise_floor(model)
            note_floor(model, summary, slot)
            raised += 1
    return largest
