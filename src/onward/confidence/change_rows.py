"""What a row does to a change alarm. Compiled; any batching gives the same bits."""

import math

import numpy as np

from onward.confidence.change_state import LEVELS, MEMORIES, SLOTS, ChangeState, clear_change, view_change
from onward.core.compile import compiled, inlined, unlocked
from onward.core.factor import ORDINARY
from onward.core.gains import absorb_gains
from onward.core.quads import move_quads, read_quads
from onward.core.simd import fma
from onward.core.tiles import SCALARS, TILE, A, Q
from onward.core.types import Matrix, Vector
from onward.core.views import as_matrix, part

COMPILED_FROM = "4af2b27c5c9606a5"  # other files whose code is compiled into this one: see tools/digests.py

RIDGE = 1e-14  # λ of a coordinate, in units of the first value other than 0 in it: next to nothing
LEAST_RIDGE = 1e-250  # smaller ones would lose their digits: such a value counts as 0
MOST_LEVERAGE = 100.0  # w q of a row beyond which it says nothing of the noise: its direction was unknown before it
ROUNDING = 1e-10  # a residual so small beside the largest target is rounding
FIRST_BET = 20.0  # residuals from which on there are bets: before, their spread is hardly known
LOUD = 2.0  # deviations by which the squared length of a memory must exceed what noise explains for a bet
PATIENCE = 2.0  # a memory bets once there are so many times as many residuals as it is long
LARGEST_STAKE = 0.9  # of what there is, on one row
LEARNED_UP_TO = 3.0  # deviations: what a memory learns of one residual
WINSORIZED = 4.0  # deviations: how far a target may lie from its prediction by the winsorised fit
CHANGES = (1.0, 0.3, 0.1)  # in deviations of the noise: sizes of a change that are looked for where it began
SHORTEST, FACTOR = 16.0, 4.0  # memories of 16, 64, 256, 1024 rows


@unlocked
def learn_rows(buffer: Vector, X: Matrix, y: Vector, w: Vector, rows: Vector) -> int:
    """Take in rows until an alarm is due, after which the state is to be cleared; how many were taken in.

    The constant is put before each row. `rows` are the numbers by which rows are known. The header tells whether there
    is an alarm: the e-value has reached the threshold.
    """
    state = view_change(buffer)
    header, d = state.header[0], state.D.shape[0]
    width = state.U.shape[1]
    R, S = np.zeros((TILE, width)), np.zeros((TILE, SCALARS))
    gains, inverses, places = np.zeros((TILE, d)), np.zeros((TILE, d)), np.zeros(TILE, np.int64)
    bets = np.zeros((3, MEMORIES))
    i, n = 0, X.shape[0]
    while i < n:
        filled = 0
        while i < n and filled < TILE:
            row = part(R, filled * width, filled * width + d)
            if _load(X, i, y[i], w[i], row):
                if header.open < d:
                    if _opens(state, row, w[i]) and filled > 0:
                        break  # those before it are absorbed first, while this coordinate is not there
                    _open(state, row, w[i])
                S[filled, A], S[filled, Q], places[filled] = w[i], 0.0, i
                filled += 1
            i += 1
        absorb_gains(state.U, state.D, filled, R, S, gains, inverses)
        sums, steps = as_matrix(part(bets, 0, 2 * MEMORIES), 2, MEMORIES), part(bets, 2 * MEMORIES, 3 * MEMORIES)
        for b in range(filled):
            at, row = places[b], part(R, b * width, b * width + d)  # rows of matrices, but not counted ones
            beta, inverse = part(gains, b * d, (b + 1) * d), part(inverses, b * d, (b + 1) * d)
            if not _learn(state, row, beta, inverse, y[at], w[at], S[b, Q], rows[at], sums, steps):
                clear_change(buffer)
                i = at + 1
                break
            if header.e_value >= header.threshold:
                header.change = _first_changed(state, inverses[b], rows[at])
                return int(at) + 1
    return int(n)


@inlined
def _load(X: Matrix, i: int, y: float, w: float, row: Vector) -> bool:
    """Copy a row behind the constant; whether it has a weight, and numbers that neither overflow nor underflow."""
    square = y * y
    row[0] = 1.0
    for j in range(X.shape[1]):
        row[j + 1] = X[i, j]
        square = fma(X[i, j], X[i, j], square)
    return bool(square < ORDINARY * ORDINARY and 1.0 / ORDINARY < w < ORDINARY)


@inlined
def _opens(state: ChangeState, row: Vector, w: float) -> bool:
    """Whether a row is the first with a value other than 0 in some coordinate."""
    found = False
    for j in range(state.D.shape[0]):
        found |= state.opened[j] == 0.0 and RIDGE * w * row[j] * row[j] > LEAST_RIDGE
    return found


@inlined
def _open(state: ChangeState, row: Vector, w: float) -> None:
    """Regularise the coordinates that a row is the first to have, by next to nothing in units of their own.

    In those that are still not open, its values count as 0. Overwrites the row and the state.
    """
    header = state.header[0]
    for j in range(state.D.shape[0]):
        if state.opened[j] == 0.0:
            ridge = RIDGE * w * row[j] * row[j]
            if ridge > LEAST_RIDGE:
                state.opened[j] = 1.0
                state.D[j] = ridge
                header.open += 1.0
            else:
                row[j] = 0.0
    header.share = 1.0 / header.open
    header.loud = 1.0 + LOUD * math.sqrt(2.0 * header.share)


@inlined
def _learn(
    state: ChangeState,
    r: Vector,
    beta: Vector,
    inverse: Vector,
    y: float,
    w: float,
    q: float,
    row: float,
    sums: Matrix,
    steps: Vector,
) -> bool:
    """Bet on the residual of an absorbed row, learn it, and count what was won. Overwrites the state.

    False if the state is spoiled, by numbers so far apart that it cannot hold them.
    """
    header, d = state.header[0], state.D.shape[0]
    c, winsorized = state.c, state.winsorized
    rho, drawn = y, y
    for k in range(d):
        rho = fma(-r[k], c[k], rho)
        c[k] = fma(beta[k], rho, c[k])
        drawn = fma(-r[k], winsorized[k], drawn)
        winsorized[k] = fma(beta[k], drawn, winsorized[k])
    before = header.rows
    header.rows = before + 1.0
    header.largest = max(header.largest, abs(y))
    if not w * q <= MOST_LEVERAGE:
        return bool(q >= 0.0 and math.isfinite(rho) and math.isfinite(drawn))
    n = header.residuals
    small = ROUNDING * header.largest
    scale = math.sqrt(w / (1.0 + w * q))
    z = rho * scale if abs(rho) > small else 0.0
    robust = drawn * scale if abs(drawn) > small else 0.0
    variance = header.squares / n if n > 0.0 else 0.0
    deviation = math.sqrt(variance)
    if n >= FIRST_BET and variance > 0.0 and abs(robust) > WINSORIZED * deviation:
        beyond = (robust - math.copysign(WINSORIZED * deviation, robust)) / scale
        for k in range(d):
            winsorized[k] = fma(-beta[k], beyond, winsorized[k])
    _bet(state, z, robust, variance, deviation, before, scale, q, r, inverse, sums, steps)
    _keep_score(state, row)
    header.lagged = fma(robust, header.latest, header.lagged)
    header.lagged_squares = fma(header.latest, header.latest, header.lagged_squares)
    header.latest = robust
    header.squares = fma(robust, robust, header.squares)
    header.residuals = n + 1.0
    return bool(math.isfinite(header.e_value) and math.isfinite(header.squares))


@inlined
def _bet(
    state: ChangeState,
    z: float,
    robust: float,
    variance: float,
    deviation: float,
    rows: float,
    scale: float,
    q: float,
    r: Vector,
    inverse: Vector,
    sums: Matrix,
    steps: Vector,
) -> None:
    """Bet on the residual by what each memory makes of the row, and let the memories learn it.

    Overwrites the evidence, the e-value, the noise, B, the score, `sums` and `steps`.
    """
    header, B, evidence, noise = state.header[0], state.B, state.evidence, state.noise
    d, count = state.D.shape[0], header.residuals + 1.0
    if count >= header.next_octave:
        header.octave += 1.0
        header.mass = 1.0 / (header.next_octave * (header.octave + 1.0) * (header.octave + 2.0))
        header.to_come = 1.0 / (header.octave + 1.0)
        header.next_octave *= 2.0
    header.to_come -= header.mass
    mass = header.mass
    read_quads(B, r, inverse, sums)
    limit = LEARNED_UP_TO * deviation
    learned, length = min(limit, max(-limit, robust)), rows * q * (scale * scale)
    ready = header.residuals >= FIRST_BET and variance > 0.0
    total, memory = 0.0, SHORTEST
    for m in range(MEMORIES):
        guess, square = sums[0, m] * (rows * scale), sums[1, m] * rows
        won, explained = 0.0, header.loud * noise[m] * variance
        if ready and header.residuals >= PATIENCE * memory and square > explained:
            stake = guess * (1.0 - explained / square) / variance
            ahead = header.lagged / header.lagged_squares * header.latest if header.lagged > 0.0 else 0.0
            won = min(stake * z, stake * robust - max(0.0, stake * ahead))
            won = min(LARGEST_STAKE, max(-LARGEST_STAKE, won))
        evidence[m] = (evidence[m] + mass) * (1.0 + won)
        total += evidence[m]
        step = 1.0 / (memory + length)
        moved = step * length
        noise[m] = fma(noise[m], 1.0 - (2.0 - moved) * moved * header.share, step * moved)
        steps[m] = step * (learned - guess) * scale
        memory *= FACTOR
    header.e_value = header.to_come + total / MEMORIES
    move_quads(B, r, steps[0], steps[1], steps[2], steps[3])
    leaned = learned * scale
    for j in range(d):
        state.score[j] = fma(leaned, r[j], state.score[j])


@inlined
def _keep_score(state: ChangeState, row: float) -> None:
    """Keep the sum of scores after this row: at every row, every second, every fourth, … the latest few."""
    count = int(state.header[0].residuals) + 1
    level, every = 0, 1
    while level < LEVELS and count & (every - 1) == 0:
        slot = level * SLOTS + (count >> level) % SLOTS
        state.kept_rows[slot] = row
        state.kept_counts[slot] = count
        for j in range(state.D.shape[0]):
            state.kept_scores[slot, j] = state.score[j]
        level += 1
        every *= 2


@compiled
def _first_changed(state: ChangeState, inverse: Vector, row: float) -> float:
    """The row from which on the relation most likely is another, if noise is normal.

    By the Bayes factor of residuals that have leaned since then, in coordinates in which features are uncorrelated.
    """
    header = state.header[0]
    best, first = -np.inf, row
    for slot in range(LEVELS * SLOTS):
        since = header.residuals - state.kept_counts[slot]
        if state.kept_rows[slot] < 0.0 or since <= 0.0:
            continue
        square = 0.0
        for j in range(state.D.shape[0]):
            lean = state.score[j] - state.kept_scores[slot, j]
            square = fma(lean * inverse[j], lean, square)
        square *= header.rows * header.residuals / header.squares
        for size in CHANGES:
            prior = header.open / (size * size)
            factor = square / (since + prior) - header.open * math.log1p(since / prior)
            if factor > best:
                best, first = factor, state.kept_rows[slot] + 1.0
    return first
