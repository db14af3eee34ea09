"""States that forget: rows that count less as others come or as time goes by, or that drop out of a window.

G = Λ + Σ decay·w·xxᵀ: λ does not fade with the rows, so nothing winds up. What fades, fades before a row comes, so that
a row is predicted from what is left at its moment. Rows go one at a time, whatever batches they come in.
"""

import math
from typing import NamedTuple

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.deficient import absorb_deficient
from onward.core.factor import (
    Factor,
    absorb_row,
    clear,
    copy_vector,
    count_row,
    has_empty_pivots,
    new_scratch,
)
from onward.core.kernel import State, centred_leverage, read_out, shrinks_to_mean, view_rows, view_state
from onward.core.ring import MAKE_ANEW, TAKEN_OUT, begin_anew, lacks_room, make_room, next_slot, row_by_age
from onward.core.simd import fma
from onward.core.tiles import discount, size_of_row
from onward.core.types import Matrix, Vector

COMPILED_FROM = "1322200dcbe0128c"  # other files whose code is compiled into this one: see tools/digests.py

# The kinds of memory, as numbers in a state's header
EVERYTHING = 0.0
BY_ROWS = 1.0  # each row lets those before count less
BY_TIMES = 2.0  # rows have times, and count less as time goes by
LAST_ROWS = 3.0  # a window

REFUSED = -1.0  # instead of a leverage


class Work(NamedTuple):
    """Arrays that are written over, row by row."""

    scratch: Matrix  # (2, padded d): the row that is learned, behind its constant
    spare: Matrix  # the same for rows that are not new
    more: Matrix  # (2, m): p, and what the prior leaves of the targets
    row: Vector  # (d + m + 1,): the row as a window stores it
    bases: Vector  # (m,): the prior's part of the predictions
    means: Vector  # (m,): what forward shrinks to


@inlined
def new_work(d: int, m: int) -> Work:
    """Room to work in."""
    return Work(new_scratch(d), new_scratch(d), np.zeros((2, m)), np.empty(d + m + 1), np.zeros(m), np.zeros(m))


@compiled
def decay_over(span: float, half_life: float) -> float:
    """What is left after a span of time, or so many rows."""
    return float(2.0 ** (-span / half_life))


@inlined
def _decay_before(state: State, time: float) -> float:
    """What is left of the past when a row comes at this time; NaN for the time of the latest."""
    header = state.header[0]
    if state.factor.counts[0].seen == 0.0:
        return 1.0
    if header.memory == BY_ROWS:
        return float(header.decay)
    if header.memory == BY_TIMES and time > header.time:
        return decay_over(time - header.time, header.half_life)
    return 1.0


@compiled
def forget(buffer: Vector, gamma: float) -> None:
    """Let all rows so far count γ times as much."""
    state = view_state(buffer)
    state.header[0].weight *= gamma
    discount(state.factor, gamma, state.lam, new_scratch(state.lam.shape[0]))


@compiled
def ahead(buffer: Vector, time: float) -> Vector:
    """The state as a row that comes next, at this time, finds it: the buffer itself, or a copy if something fades."""
    gamma = _decay_before(view_state(buffer), time)
    if gamma == 1.0:
        return buffer
    faded = buffer.copy()
    forget(faded, gamma)
    return faded


@inlined
def _absorb(factor: Factor, w: float, scratch: Matrix, more: Matrix) -> float:
    """Absorb the row in scratch[0] with the targets more[1]; its leverage, and p in more[0], from before it.

    `REFUSED`, and the factor as it was, if a pivot would be too small to hold. Overwrites the factor but for its
    counts, scratch and `more`.
    """
    d, m = factor.c.shape
    for h in range(m):
        more[0, h] = 0.0
    if not has_empty_pivots(factor):
        more[0, 0], q = absorb_row(factor, scratch, more[1, 0], w, 0, True, more)
        return q
    e, own, y, p, leverage, rho = np.empty(d), np.empty(d), np.empty(m), np.empty(m), np.empty(1), np.empty(m)
    copy_vector(more[1], y)
    size_of_row(scratch, w, e, own)
    if absorb_deficient(factor, scratch[0, :d].copy(), e, own, y, w, p, leverage, rho) < 0:
        return REFUSED
    copy_vector(p, more[0])
    return float(leverage[0])


@compiled
def _make_anew(buffer: Vector, work: Work) -> None:
    """Make the factor from the rows of the window. Counts stay: they are of all rows."""
    state, ring = view_state(buffer), view_rows(buffer)
    factor = state.factor
    d, m = factor.c.shape
    counts = factor.counts[0]
    seen, counted, peak = counts.seen, counts.counted, counts.peak
    begin_anew(ring)
    clear(factor, state.lam)
    state.header[0].weight = 0.0
    counts.seen = seen
    counts.counted = counted
    counts.peak = peak
    for i in range(int(ring.header[0].n_stored)):  # the oldest first
        row = row_by_age(ring, i)
        state.header[0].weight += row[d + m]
        copy_vector(row[:d], work.spare[0])
        copy_vector(row[d : d + m], work.more[1])
        _absorb(factor, row[d + m], work.spare, work.more)  # one that is refused is too small to matter


@compiled
def _slide(buffer: Vector, work: Work) -> None:
    """Let the window go on by the row that was absorbed last."""
    state, ring = view_state(buffer), view_rows(buffer)
    d, m = state.factor.c.shape
    window, oldest = state.header[0].window, ring.rows[int(ring.header[0].next_slot)]
    lam_least = np.inf
    for each in state.lam:
        lam_least = min(lam_least, each)
    room = make_room(ring, window, state.factor, lam_least, oldest[d + m], work.spare, work.more)
    if room == TAKEN_OUT:
        state.header[0].weight -= oldest[d + m]
    copy_vector(work.row, next_slot(ring, window))
    if room == MAKE_ANEW:
        _make_anew(buffer, work)


@inlined
def may_come(state: State, time: float) -> bool:
    """Whether a row can be predicted at this time: a time after the latest, if rows have times, and else none."""
    header = state.header[0]
    return bool(time != time or (header.memory == BY_TIMES and header.time <= time < np.inf))


@inlined
def _is_refused(buffer: Vector, time: float) -> bool:
    """Whether a row needs a closer look than the loops for single rows can give."""
    state = view_state(buffer)
    header = state.header[0]
    if not may_come(state, time) or has_empty_pivots(state.factor):
        return True
    if header.memory == BY_TIMES:
        return math.isnan(time)
    return bool(header.memory == LAST_ROWS and lacks_room(view_rows(buffer), header.window))


@compiled
def learn_loaded(
    buffer: Vector,
    work: Work,
    y: Vector,
    w: float,
    time: float,
    square: float,
    shrinks: bool,
    clip: float,
    guarded: bool,
    p: Vector,
) -> float:
    """Learn the row in work.scratch[0], of squared norm `square`, with targets y, of which work.bases are the prior's.

    Overwrites p with its predictions and adds their losses to the online loss; returns its leverage. A row is `REFUSED`
    and changes nothing if it comes at no time where it needs one, or too early, or finds no room in the window, or
    empty pivots: unless it is `guarded`, by one who has seen to this, and puts the state back if it is refused even so.
    """
    state = view_state(buffer)
    header, factor = state.header[0], state.factor
    d, m = factor.c.shape
    if not guarded and _is_refused(buffer, time):
        return REFUSED
    gamma = _decay_before(state, time)
    if gamma < 1.0:
        discount(factor, gamma, state.lam, work.spare)
        header.weight *= gamma
    header.weight += w
    if header.memory == BY_TIMES:
        if factor.counts[0].seen == 0.0:
            header.first_time = time
        header.time = time
    weight = np.inf
    to_mean = shrinks and shrinks_to_mean(state)
    if to_mean:
        weight = factor.D[0]
    for h in range(m):
        work.means[h] = factor.c[0, h] if to_mean else 0.0
        work.more[1, h] = y[h] - work.bases[h]
    if header.memory == LAST_ROWS:
        for j in range(d):
            work.row[j] = work.scratch[0, j]
        for h in range(m):
            work.row[d + h] = work.more[1, h]
        work.row[d + m] = w
    q = _absorb(factor, w, work.scratch, work.more)
    if q == REFUSED:
        return q
    count_row(factor, w, square)
    centred = centred_leverage(q, weight)
    for h in range(m):
        p[h] = read_out(work.bases[h], work.means[h], work.more[0, h], centred, w, shrinks, clip)
        error = p[h] - y[h]
        state.online_loss[h] += w * (error * error)
    if header.memory == LAST_ROWS:
        _slide(buffer, work)
    return q


@compiled
def learn_rows(
    buffer: Vector,
    X: Matrix,
    Y: Matrix,
    w: Vector,
    times: Vector,
    base: Matrix,
    shrinks: bool,
    clip: float,
    p: Matrix,
    q: Vector,
) -> int:
    """`kernel.learn` for a state that forgets: learn rows, predict them, and add the losses to the online loss.

    `times` has none if rows have no times; they do not fall, and there is room in the window. Returns how many rows
    were learned: fewer than given if the next one needs a pivot too small to hold.
    """
    state = view_state(buffer)
    d, m = state.factor.c.shape
    work, lead = new_work(d, m), d - X.shape[1]
    for i in range(X.shape[0]):
        square = 0.0
        if lead > 0:
            work.scratch[0, 0] = 1.0
            square = 1.0
        for j in range(X.shape[1]):
            work.scratch[0, j + lead] = X[i, j]
            square = fma(X[i, j], X[i, j], square)
        for h in range(m):
            work.bases[h] = base[i, h] if base.shape[0] > 0 else 0.0
        time = times[i] if times.shape[0] > 0 else math.nan
        q[i] = learn_loaded(buffer, work, Y[i], w[i], time, square, shrinks, clip, True, p[i])
        if q[i] == REFUSED:
            return i
    return int(X.shape[0])


@compiled
def learn_single(
    buffer: Vector,
    scratch: Matrix,
    y: Vector,
    bases: Vector,
    w: float,
    time: float,
    square: float,
    shrinks: bool,
    clip: float,
    p: Vector,
) -> float:
    """Learn the one row in scratch[0], as `learn_loaded` has it: its leverage, or `REFUSED`. Overwrites p."""
    d, m = view_state(buffer).factor.c.shape
    work = Work(scratch, new_scratch(d), np.zeros((2, m)), np.empty(d + m + 1), bases, np.zeros(m))
    return learn_loaded(buffer, work, y, w, time, square, shrinks, clip, False, p)
