"""What a reward does to a policy's memory. Compiled."""

import numpy as np

from onward.bandits.layout import (
    ACTION_BOUND,
    AGE,
    CAPACITY,
    COUNTED,
    DELTA,
    DETECTING,
    DISCOUNTED,
    DONE,
    FAILED,
    FULL,
    GAMMA,
    HEAD,
    HEADER,
    HELD,
    LAM,
    LEARNED,
    MEMORY,
    NEXT,
    NOT_FINITE,
    OFFERED,
    PEAK,
    REMOVED,
    RESTARTING,
    ROWS,
    RULE,
    SLACK,
    SLIDING,
    SQUARES,
    TOLERANCE,
    UNIFORM_AT_RANDOM,
    WINDOW,
    WORN,
    begin,
    clear,
    factor,
    model_size,
    padded_to,
    slot_size,
)
from onward.bandits.reading import ESTIMATE, INDEX, SCRATCH, badness_of, judged, norms, read_model, square_of
from onward.core.compile import compiled, inlined
from onward.core.kernel import ORDINARY, absorb_units
from onward.core.simd import absorb_single, fma
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW

COMPILED_FROM = "c64b2c87a21cb32b"  # other files whose code is compiled into this one: see tools/digests.py

SWEPT = 12  # from so many coordinates on, the core's sweep over two pivots at a time pays
MOST_WORN = 1000.0  # by so much may the rounding of a window's factor grow, before the factor is made anew


@compiled
def _absorb(x: Vector, y: float, w: float, first: int, memory: Vector, at: int, R: Matrix, S: Matrix) -> None:
    """Absorb a row, 0 before coordinate `first`, into the factor at `at`, as the core does it. Overwrites R and S.

    One row at a time, and often of two or three coordinates: what the core makes ready for its tiles would cost more.
    """
    for j in range(first, x.shape[0]):
        R[0, j] = x[j]
    _absorb_loaded(x.shape[0], y, w, first, memory, at, R, S)


@inlined
def _absorb_loaded(d: int, y: float, w: float, first: int, memory: Vector, at: int, R: Matrix, S: Matrix) -> None:
    """`_absorb` of the row that is in R."""
    width = padded_to(d)
    D, c = at + d * width, at + d * width + d
    triangle = memory[at:D].reshape(d, width)
    a, rho = w, y
    k = first
    while k < d:
        r, U = R[0, k], at + k * width
        beta, a, rho = _rotate(r, a, rho, memory, D + k, c + k)
        if d < SWEPT or k + 1 == d:
            for j in range(k + 1, d):
                R[0, j] = fma(-r, memory[U + j], R[0, j])
                memory[U + j] = fma(beta, R[0, j], memory[U + j])
            k += 1
            continue
        u = memory[U + k + 1]
        s = fma(-r, u, R[0, k + 1])
        S[0, 0], S[0, 1], S[0, 2] = r, beta, s
        u = fma(beta, s, u)
        S[0, 3], a, rho = _rotate(s, a, rho, memory, D + k + 1, c + k + 1)
        if k + 2 < d:
            absorb_single(triangle, k, R, 0, S, k + 2)
        memory[U + k + 1] = u
        k += 2
    memory[c + d] += a * rho * rho


@inlined
def _rotate(r: float, a: float, rho: float, memory: Vector, D: int, c: int) -> tuple[float, float, float]:
    """One row against the pivot at D and the coefficient at c. Overwrites both; returns β, and the new a and ρ."""
    ar = a * r
    D_old, c_old = memory[D], memory[c]
    D_new = fma(ar, r, D_old)
    inverse = 1.0 / D_new
    kept = D_old * inverse if D_new != D_old else 1.0
    beta = ar * inverse
    memory[D] = D_new
    memory[c] = fma(kept, c_old, beta * rho)
    return beta, (a * D_old) * inverse, fma(-r, c_old, rho)


@compiled
def _leverage(x: Vector, memory: Vector, at: int, R: Matrix) -> float:
    """xᵀG⁻¹x. Overwrites R."""
    d = x.shape[0]
    width, q = padded_to(d), 0.0
    for j in range(d):
        R[0, j] = x[j]
    for k in range(d):
        r = R[0, k]
        q = fma(r / memory[at + d * width + k], r, q)
        for j in range(k + 1, d):
            R[0, j] = fma(-r, memory[at + k * width + j], R[0, j])
    return q


@compiled
def _discount(gamma: float, lam: float, memory: Vector, at: int, d: int, R: Matrix, S: Matrix) -> None:
    """Let the past count γ times as much, but give λI back what it lost: so nothing winds up."""
    D = at + d * padded_to(d)
    for k in range(d):
        memory[D + k] *= gamma
    memory[D + 2 * d] *= gamma
    weight = (1.0 - gamma) * lam
    if d > FEW:
        absorb_units(weight, *factor(memory, at, d))
        return
    for k in range(d):
        R[0, k] = 1.0
        for j in range(k + 1, d):
            R[0, j] = 0.0
        _absorb_loaded(d, 0.0, weight, k, memory, at, R, S)


@compiled
def is_full(settings: Vector, memory: Vector) -> bool:
    """Whether the memory must grow before the next reward can be learned."""
    kind = settings[MEMORY]
    if kind == SLIDING:
        return bool(memory[HELD] == memory[CAPACITY] < settings[WINDOW])
    return bool(kind == DETECTING and memory[HELD] == memory[CAPACITY])


@compiled
def learn(settings: Vector, memory: Vector, x: Vector, y: float) -> int:
    """Learn the reward y of action x. Overwrites the memory, unless it fails."""
    d, square = x.shape[0], square_of(x)
    status = judged(settings, square)
    if status < 0.0:
        return int(status)
    if not abs(y) < ORDINARY:
        return NOT_FINITE
    if is_full(settings, memory):
        return FULL
    memory[OFFERED] = max(memory[OFFERED], square)
    memory[LEARNED] += 1.0
    memory[COUNTED] += 1.0
    if settings[RULE] == UNIFORM_AT_RANDOM:
        return DONE
    R, S = np.zeros((1, padded_to(d))), np.empty((1, 4))
    kind, gamma = settings[MEMORY], settings[GAMMA]
    if kind == DETECTING:
        _learn_detecting(settings, memory, x, y, square, R, S)
        return DONE
    if kind == SLIDING:
        _learn_sliding(settings, memory, x, y, square, R, S)
        return DONE
    if kind == DISCOUNTED:
        second = HEADER + model_size(d)
        if gamma < 1.0:
            _discount(gamma, settings[LAM], memory, HEADER + HEAD, d, R, S)
            _discount(gamma * gamma, settings[LAM], memory, second, d, R, S)
            memory[HEADER + ROWS] *= gamma * gamma
            memory[HEADER + SQUARES] *= gamma * gamma
        _absorb(x, 0.0, 1.0, 0, memory, second, R, S)
    _count(memory, HEADER, square)
    _absorb(x, y, 1.0, 0, memory, HEADER + HEAD, R, S)
    if kind == RESTARTING:
        points = HEADER + model_size(d)
        if memory[NEXT] < memory[CAPACITY] and memory[points + int(memory[NEXT])] == memory[COUNTED]:
            memory[NEXT] += 1.0
            begin(settings, memory, d)
    return DONE


@compiled
def learn_rows(settings: Vector, memory: Vector, X: Matrix, y: Vector, first: int, past: bool) -> int:
    """Learn the rows of X with rewards y from `first` on. Overwrites the memory; returns the row that did not fit.

    Rows of the `past`, before change points are counted, do not count towards them.
    """
    for i in range(first, X.shape[0]):
        if past:
            memory[COUNTED] -= 1.0
        if learn(settings, memory, X[i], y[i]) < 0:
            if past:
                memory[COUNTED] += 1.0
            return i
    return int(X.shape[0])


@inlined
def _count(memory: Vector, at: int, square: float) -> None:
    memory[at + ROWS] += 1.0
    memory[at + SQUARES] += square
    memory[at + PEAK] = max(memory[at + PEAK], square)


@compiled
def _learn_sliding(settings: Vector, memory: Vector, x: Vector, y: float, square: float, R: Matrix, S: Matrix) -> None:
    """Take the oldest row out, if the window is full, and the new one in.

    Taking out loses digits in proportion to what is left in the row's direction, and they do not come back. So before
    the losses add up to much, and once in every window's length, the factor is made anew from the rows themselves.
    """
    d, at = x.shape[0], HEADER + HEAD
    ring, size = HEADER + model_size(d), d + 1
    place = ring + int(memory[NEXT]) * size
    anew = False
    if memory[HELD] == settings[WINDOW]:
        oldest, reward = memory[place : place + d].copy(), memory[place + d]
        memory[REMOVED] += 1.0
        left = 1.0 - _leverage(oldest, memory, at, R)
        memory[WORN] /= left
        anew = not (left > 0.0 and memory[WORN] < MOST_WORN) or memory[REMOVED] >= settings[WINDOW]
        if not anew:
            _absorb(oldest, reward, -1.0, 0, memory, at, R, S)
            memory[HEADER + ROWS] -= 1.0
            memory[HEADER + SQUARES] -= square_of(oldest)
    else:
        memory[HELD] += 1.0
    memory[place : place + d] = x
    memory[place + d] = y
    memory[NEXT] = (memory[NEXT] + 1.0) % settings[WINDOW]
    if not anew:
        _count(memory, HEADER, square)
        _absorb(x, y, 1.0, 0, memory, at, R, S)
        return
    memory[REMOVED] = 0.0
    memory[WORN] = 1.0
    clear(memory, HEADER, d, settings[LAM])
    held = int(memory[HELD])
    for i in range(held):  # the oldest first
        place = ring + (int(memory[NEXT]) + i) % held * size
        row = memory[place : place + d]
        _count(memory, HEADER, square_of(row))
        _absorb(row, memory[place + d], 1.0, 0, memory, at, R, S)


@compiled
def _learn_detecting(
    settings: Vector, memory: Vector, x: Vector, y: float, square: float, R: Matrix, S: Matrix
) -> None:
    """Every model checks the reward and learns it unless it is a surprise. Models that fail too often are dropped."""
    d, size, window = x.shape[0], slot_size(settings, x.shape[0]), int(settings[WINDOW])
    scratch, action = np.empty((SCRATCH, 1)), x.reshape(1, d)
    bound = settings[ACTION_BOUND]
    longest = bound * bound if bound < np.inf else memory[OFFERED]
    kept, good = 0, 0
    for m in range(int(memory[HELD])):
        at = HEADER + m * size
        norms(action, scratch)
        read_model(settings, memory, at, scratch[INDEX], action, longest, scratch)
        index, estimate = scratch[INDEX, 0], scratch[ESTIMATE, 0]
        failed = not abs(estimate - y) <= index - estimate + settings[SLACK]
        if not failed:
            _count(memory, at, square)
            _absorb(x, y, 1.0, 0, memory, at + HEAD, R, S)
        record = at + model_size(d) + int(memory[at + AGE]) % window
        if memory[at + AGE] >= window:
            memory[at + FAILED] -= memory[record]
        memory[record] = 1.0 if failed else 0.0
        memory[at + FAILED] += memory[record]
        memory[at + AGE] += 1.0
        badness, margin = badness_of(settings, memory[at + FAILED], memory[at + AGE])
        if badness >= margin + settings[DELTA]:
            continue
        good += badness < margin + settings[TOLERANCE]
        if kept < m:
            place = HEADER + kept * size
            memory[place : place + size] = memory[at : at + size]
        kept += 1
    if good == 0:  # as there is none if none is left
        at = HEADER + kept * size
        memory[at : at + size] = 0.0
        clear(memory, at, d, settings[LAM])
        kept += 1
    memory[HELD] = float(kept)
