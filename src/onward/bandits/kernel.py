"""The compiled policies: what each knows is one array of numbers, and so are its settings.

Policies differ along three axes, each a number among the settings: the *estimator* that reads the shared factorisation,
the *memory* that says which rewards count how much, and the *rule* that turns what is known into a choice.

A policy's memory is flat: a header, then its models. A model is a few counts and a factor G = UᵀDU, Uθ = c, as in
`onward.core`. So policies can be copied, saved, stacked (one for each arm) and played in a compiled loop alike.

| memory | after the header |
|---|---|
| everything | a model |
| discounted | a model of V, and a second factor, of Ṽ |
| window | a model, then a ring of the rows that it holds, each with its reward |
| restarts | a model, then the change points |
| detecting | models, each with a ring of its failures |
"""

import math

import numpy as np
from numpy.typing import NDArray

from onward.core.compile import compiled, inlined
from onward.core.kernel import FEW, ORDINARY, absorb_units, read
from onward.core.simd import absorb_single, fma, padded
from onward.core.types import Matrix, Vector

DIGEST = "0000000000000000"  # of the compiled code that is called here; a test says so when it must change

# Settings
(
    ESTIMATOR,
    MEMORY,
    RULE,
    WIDTH,
    BIAS,
    LAM,
    SIGMA,
    THETA_BOUND,
    DELTA,
    SCALE,
    ACTION_BOUND,  # inf: the largest norm offered so far counts
    DIMENSION,  # of the actions as they were given; the factor's may be smaller, if they were projected to their span
    GAMMA,
    WINDOW,
    EPSILON,
    SLACK,  # of a detector: how far noise alone takes a reward from its mean
    FAILURE_DELTA,
    TOLERANCE,
) = range(18)
N_SETTINGS = 18

RIDGE, FORWARD = range(2)
EVERYTHING, DISCOUNTED, SLIDING, RESTARTING, DETECTING = range(5)
OPTIMISTIC, SAMPLING, GREEDY, EPSILON_GREEDY, UNIFORM_AT_RANDOM = range(5)
BY_DETERMINANT, BY_TRACE, BY_CONSTANTS = range(3)
TIGHT, AS_IN_PAPER, NO_BIAS = range(3)

# The header of a memory
LEARNED, OFFERED, NEXT, HELD, REMOVED, CAPACITY = range(6)  # rewards in all; the largest ‖x‖² offered; of ring or pool
HEADER = 8
# The head of a model
ROWS, SQUARES, AGE, FAILED = range(4)  # rewards that count, and their Σ‖x‖²; a detector's rounds and failures
HEAD = 4

# What a call says if it did nothing
DONE, NOT_FINITE, TOO_LONG, NONE_AVAILABLE, FULL = 0, -1, -2, -3, -4

REMOVAL_MARGIN = 0.01  # a row is taken out of a window only if this share of what its direction holds is left


# Where things are


_padded = inlined(padded)


@inlined
def factor_size(d: int) -> int:
    """Numbers in a factor: U, D, c, the loss, and the tally."""
    return d * _padded(d) + 2 * d + 4


@inlined
def model_size(d: int) -> int:
    """Numbers in a model."""
    return HEAD + factor_size(d)


@inlined
def factor(memory: Vector, at: int, d: int) -> tuple[Matrix, Vector, Matrix]:
    """U, D and c of the factor that begins at `at`: views."""
    width = _padded(d)
    end = at + d * width
    return memory[at:end].reshape(d, width), memory[end : end + d], memory[end + d : end + 2 * d].reshape(d, 1)


@inlined
def slot_size(settings: Vector, d: int) -> int:
    """Numbers in what there can be many of: a row of a window, or a model of a detector with its failures."""
    return d + 1 if settings[MEMORY] == SLIDING else model_size(d) + int(settings[WINDOW])


@inlined
def _slots_at(settings: Vector, d: int) -> int:
    return HEADER + (model_size(d) if settings[MEMORY] == SLIDING else 0)


@compiled
def memory_size(settings: Vector, d: int, capacity: int) -> int:
    """Numbers in a memory. The capacity is that of ring, pool or list of change points, where there is one."""
    kind = settings[MEMORY]
    if kind == SLIDING or kind == DETECTING:
        return _slots_at(settings, d) + capacity * slot_size(settings, d)
    extra = factor_size(d) if kind == DISCOUNTED else 0
    return HEADER + model_size(d) + extra + (capacity if kind == RESTARTING else 0)


@compiled
def begin(settings: Vector, memory: Vector, d: int) -> None:
    """Forget everything but how many rewards came and how long an action can be. Overwrites the memory."""
    at = _slots_at(settings, d) if settings[MEMORY] == DETECTING else HEADER
    _clear(memory, at, d, settings[LAM])
    if settings[MEMORY] == DISCOUNTED:
        second = HEADER + model_size(d)
        _clear(memory, second - HEAD, d, settings[LAM], HEAD)
    memory[HELD] = 1.0 if settings[MEMORY] == DETECTING else 0.0
    memory[REMOVED] = 0.0
    if settings[MEMORY] != RESTARTING:
        memory[NEXT] = 0.0


@compiled
def _clear(memory: Vector, at: int, d: int, lam: float, keep: int = 0) -> None:
    """A model, or (with `keep` = its head) a factor only, that knows nothing."""
    memory[at + keep : at + model_size(d)] = 0.0
    _, D, _ = factor(memory, at + HEAD, d)
    D[:] = lam


# Reading


@inlined
def _gain(settings: Vector, D: Vector, rows: float, squares: float, longest: float) -> float:
    """What stands for the information gain, by the kind of width; `longest` is X²."""
    lam, d = settings[LAM], settings[DIMENSION]
    if settings[WIDTH] == BY_DETERMINANT:
        total, product = 0.0, 1.0
        for k in range(D.shape[0]):
            product *= D[k] / lam
            if product > 1e150:  # a logarithm now and then: they cost more than the rest
                total += math.log(product)
                product = 1.0
        return max(0.0, total + math.log(product))
    if settings[WIDTH] == BY_TRACE:
        return d * math.log1p(squares / (lam * d))
    count = rows
    if settings[MEMORY] == DISCOUNTED and settings[GAMMA] < 1.0:
        gamma = settings[GAMMA]
        count = -math.expm1(2.0 * rows * math.log(gamma)) / ((1.0 - gamma) * (1.0 + gamma))
    return d * math.log1p(count * longest / (lam * d))


@inlined
def _noise(settings: Vector, D: Vector, rows: float, squares: float, longest: float) -> float:
    """What the noise can do to the estimate, in the norm of the factor."""
    if settings[MEMORY] == SLIDING and settings[WIDTH] == BY_CONSTANTS:
        growth = math.log1p(settings[WINDOW] * longest / settings[LAM]) - math.log(settings[DELTA])
        return settings[SIGMA] * math.sqrt(settings[DIMENSION] * growth)
    gain = _gain(settings, D, rows, squares, longest)
    return settings[SIGMA] * math.sqrt(gain - 2.0 * math.log(settings[DELTA]))


@inlined
def _read_few(
    actions: Matrix,
    U: Matrix,
    D: Vector,
    c: Matrix,
    W: Matrix,
    E: Vector,
    double: bool,
    p: Vector,
    q: Vector,
    s: Vector,
) -> None:
    """`core.kernel.read` for few coordinates, to the last bit, and `_sandwich` if `double`. Overwrites p, q and s.

    Actions are taken eight at a time and side by side: with so few coordinates that is where the vectors are.
    """
    n, d = actions.shape
    R, P, Q = np.empty((d, 8)), np.empty(8), np.empty(8)
    for first in range(0, n, 8):
        count = min(8, n - first)
        for b in range(count):
            for j in range(d):
                R[j, b] = actions[first + b, j]
        for b in range(8):
            P[b] = 0.0
            Q[b] = 0.0
        for k in range(d):
            inverse, coefficient = 1.0 / D[k], c[k, 0]
            for b in range(8):
                Q[b] = fma(R[k, b] * inverse, R[k, b], Q[b])
                P[b] = fma(R[k, b], coefficient, P[b])
            for j in range(k + 1, d):
                u = U[k, j]
                for b in range(8):
                    R[j, b] = fma(-R[k, b], u, R[j, b])
        for b in range(count):
            p[first + b] = P[b]
            q[first + b] = Q[b]
        if not double:
            continue
        for b in range(8):
            P[b] = 0.0
        for k in range(d - 1, -1, -1):
            inverse = 1.0 / D[k]
            for b in range(8):
                R[k, b] *= inverse
            for j in range(k + 1, d):
                u = U[k, j]
                for b in range(8):
                    R[k, b] = fma(-u, R[j, b], R[k, b])
        for k in range(d):
            for b in range(8):
                Q[b] = R[k, b]
            for j in range(k + 1, d):
                u = W[k, j]
                for b in range(8):
                    Q[b] = fma(u, R[j, b], Q[b])
            weight = E[k]
            for b in range(8):
                P[b] = fma(weight * Q[b], Q[b], P[b])
        for b in range(count):
            s[first + b] = P[b]


@compiled
def _sandwich(actions: Matrix, U: Matrix, D: Vector, W: Matrix, E: Vector, out: Vector) -> None:
    """xᵀV⁻¹ṼV⁻¹x of each action, for V = UᵀDU and Ṽ = WᵀEW. Overwrites `out`."""
    d = D.shape[0]
    z = np.empty(d)
    for i in range(actions.shape[0]):
        z[:] = actions[i]
        for k in range(d):
            for j in range(k + 1, d):
                z[j] = fma(-z[k], U[k, j], z[j])
        for k in range(d):
            z[k] /= D[k]
        for k in range(d - 2, -1, -1):
            z[k] -= _dot(U[k], z, k + 1, d)
        total = 0.0
        for k in range(d):
            along = z[k] + _dot(W[k], z, k + 1, d)
            total = fma(E[k] * along, along, total)
        out[i] = total


@inlined
def _dot(a: Vector, b: Vector, first: int, last: int) -> float:
    """Σ a_j b_j over first ≤ j < last, in four sums at once: one alone waits for itself."""
    s, t, u, v = 0.0, 0.0, 0.0, 0.0
    j = first
    while j + 4 <= last:
        s = fma(a[j], b[j], s)
        t = fma(a[j + 1], b[j + 1], t)
        u = fma(a[j + 2], b[j + 2], u)
        v = fma(a[j + 3], b[j + 3], v)
        j += 4
    while j < last:
        s = fma(a[j], b[j], s)
        j += 1
    return (s + t) + (u + v)


@inlined
def _sample(U: Matrix, D: Vector, draws: Vector) -> Vector:
    """U⁻¹D^(−1/2)η, distributed as N(0, G⁻¹) for standard normal η."""
    d = D.shape[0]
    z = np.empty(d)
    for k in range(d - 1, -1, -1):
        z[k] = draws[k] / math.sqrt(D[k]) - _dot(U[k], z, k + 1, d)
    return z


@inlined
def acting_model(settings: Vector, memory: Vector, d: int) -> int:
    """Where the model stands that chooses now: the only one, or a detector's least bad one, the older if they tie."""
    if settings[MEMORY] != DETECTING:
        return HEADER
    size, boldness = slot_size(settings, d), math.sqrt(math.log(settings[WINDOW]))
    best, least = HEADER, np.inf
    for m in range(int(memory[HELD])):
        at = HEADER + m * size
        badness, margin = _badness(settings, memory[at + FAILED], memory[at + AGE])
        if badness - boldness * margin < least:
            best, least = at, badness - boldness * margin
    return best


@inlined
def _badness(settings: Vector, failed: float, age: float) -> tuple[float, float]:
    """The share of failures among a model's last records, and how far chance can take it."""
    if age == 0.0:
        return 0.0, 0.5
    records = min(settings[WINDOW], age)
    return failed / records, math.sqrt(-math.log(settings[FAILURE_DELTA]) / (2.0 * records))


@compiled
def read_out(
    settings: Vector, memory: Vector, draws: Vector, actions: Matrix, estimate: Vector, index: Vector
) -> float:
    """The estimated reward and the index of each action. Overwrites `estimate` and `index`, unless it fails.

    `draws` are what a sampling rule needs: standard normal numbers, one for each coordinate. Returns the largest squared
    norm, or a negative number that says what is wrong.
    """
    n, d = actions.shape
    longest, norms = 0.0, np.empty(n)
    for i in range(n):
        square = 0.0
        for j in range(d):
            square = fma(actions[i, j], actions[i, j], square)
        norms[i] = square
        longest = max(longest, square) if square == square else np.inf
    if not longest < ORDINARY * ORDINARY:
        return NOT_FINITE
    bound = settings[ACTION_BOUND] * settings[ACTION_BOUND]
    if longest > bound * (1.0 + 1e-12):
        return TOO_LONG
    if settings[RULE] == UNIFORM_AT_RANDOM:
        estimate[:] = 0.0
        index[:] = 0.0
        return longest
    counted = bound if bound < np.inf else max(longest, memory[OFFERED])
    at = acting_model(settings, memory, d)
    _read_model(settings, memory, at, draws, actions, norms, counted, estimate, index)
    return longest


@compiled
def _read_model(
    settings: Vector,
    memory: Vector,
    at: int,
    draws: Vector,
    actions: Matrix,
    norms: Vector,
    longest: float,
    estimate: Vector,
    index: Vector,
) -> None:
    """The estimate and the index that the model at `at` gives each action. Overwrites both, and `norms`."""
    n, d = actions.shape
    forward, rule, double = settings[ESTIMATOR] == FORWARD, settings[RULE], settings[MEMORY] == DISCOUNTED
    U, D, c = factor(memory, at + HEAD, d)
    W, E, _ = factor(memory, HEADER + model_size(d), d) if double else (U, D, c)
    p, q = estimate, np.empty(n)
    reach = np.empty(n) if double else q  # the squared norm in which the radius is measured
    if d <= FEW:
        _read_few(actions, U, D, c, W, E, double, p, q, reach)
    else:
        read(actions, False, U, D, c, p.reshape(n, 1), q)
        if double:
            _sandwich(actions, U, D, W, E, reach)
    if rule == GREEDY or rule == EPSILON_GREEDY:
        for i in range(n):
            p[i] = p[i] / (1.0 + q[i]) if forward else p[i]
            index[i] = p[i]
        return
    scale = settings[SCALE]
    noise = scale * _noise(settings, E, memory[at + ROWS], memory[at + SQUARES], longest)
    # The radius at each action takes the place of its norm.
    lam, root, bound = settings[LAM], math.sqrt(settings[LAM]), scale * settings[THETA_BOUND]
    if settings[BIAS] == NO_BIAS or not forward:
        norms[:] = noise + (0.0 if settings[BIAS] == NO_BIAS else bound * root)
    elif settings[BIAS] == TIGHT:
        for i in range(n):
            norms[i] = noise + bound * math.sqrt(lam + norms[i])
    else:
        for i in range(n):
            norms[i] = noise + bound * (root + math.sqrt(norms[i]))
    if rule == SAMPLING:
        z = _sample(U, D, draws)
        for i in range(n):
            shrinkage = 1.0 + q[i] if forward else 1.0
            p[i] /= shrinkage
            index[i] = p[i] + norms[i] * (_dot(actions[i], z, 0, d) / math.sqrt(shrinkage))
    elif not forward:
        for i in range(n):
            index[i] = p[i] + norms[i] * math.sqrt(reach[i])
    elif double:
        for i in range(n):
            kept = 1.0 / (1.0 + q[i])
            p[i] *= kept
            index[i] = p[i] + norms[i] * math.sqrt(fma(q[i], q[i], reach[i])) * kept
    else:
        for i in range(n):
            kept = 1.0 / (1.0 + q[i])
            p[i] *= kept
            index[i] = p[i] + norms[i] * math.sqrt(q[i] * kept)


# Choosing


@inlined
def draws_needed(settings: Vector, d: int) -> int:
    """How many random numbers a choice takes: uniform ones, or standard normal ones for a sampling rule."""
    rule = settings[RULE]
    if rule == SAMPLING:
        return d
    return 2 if rule == EPSILON_GREEDY else (1 if rule == UNIFORM_AT_RANDOM else 0)


@compiled
def choose(
    settings: Vector, memory: Vector, draws: Vector, actions: Matrix, available: NDArray[np.bool_], index: Vector
) -> tuple[int, int]:
    """The action to play, and how many are as good. Overwrites `index`, and notes how long the actions are.

    An empty mask means that all are available. The choice is the first of those that tie: `nth` gives another.
    A negative choice says why there is none; then nothing was changed but `index`.
    """
    n = actions.shape[0]
    free = n
    if available.shape[0] > 0:
        free = 0
        for i in range(n):
            free += available[i]
    if free == 0:
        return NONE_AVAILABLE, 0
    longest = read_out(settings, memory, draws, actions, np.empty(n), index)
    if longest < 0.0:
        return int(longest), 0
    memory[OFFERED] = max(memory[OFFERED], longest)
    rule = settings[RULE]
    if rule == UNIFORM_AT_RANDOM:
        return _nth_available(available, int(draws[0] * free)), 1
    if rule == EPSILON_GREEDY and draws[0] < settings[EPSILON]:
        return _nth_available(available, int(draws[1] * free)), 1
    best, ties = -1, 0
    most = -np.inf
    for i in range(n):
        if (available.shape[0] == 0 or available[i]) and index[i] >= most:
            best, ties = (i, 1) if index[i] > most or ties == 0 else (best, ties + 1)
            most = index[i]
    return best, ties


@inlined
def _nth_available(available: NDArray[np.bool_], n: int) -> int:
    if available.shape[0] == 0:
        return n
    for i in range(available.shape[0]):
        if available[i]:
            if n == 0:
                return i
            n -= 1
    return -1


@compiled
def nth_best(index: Vector, available: NDArray[np.bool_], best: int, n: int) -> int:
    """The n-th (from 0) of the available actions whose index is that of `best`."""
    for i in range(best, index.shape[0]):
        if index[i] == index[best] and (available.shape[0] == 0 or available[i]):
            if n == 0:
                return i
            n -= 1
    return best


# Learning


@inlined
def _absorb(x: Vector, y: float, w: float, first: int, memory: Vector, at: int, R: Matrix, S: Matrix) -> None:
    """Absorb a row, 0 before coordinate `first`, into the factor at `at`, as the core does it. Overwrites R and S.

    One row at a time, and often of two or three coordinates: what the core makes ready for its tiles would cost more.
    """
    d = x.shape[0]
    U, D, c = factor(memory, at, d)
    for j in range(first, d):
        R[0, j] = x[j]
    a, rho = w, y
    k = first
    while k < d:
        r, beta, a, rho = _rotate(R[0, k], a, rho, k, D, c)
        if d < 12 or k + 1 == d:
            for j in range(k + 1, d):
                R[0, j] = fma(-r, U[k, j], R[0, j])
                U[k, j] = fma(beta, R[0, j], U[k, j])
            k += 1
            continue
        u = U[k, k + 1]
        s = fma(-r, u, R[0, k + 1])
        S[0, 0], S[0, 1] = r, beta
        u = fma(beta, s, u)
        S[0, 2], S[0, 3], a, rho = _rotate(s, a, rho, k + 1, D, c)
        if k + 2 < d:
            absorb_single(U, k, R, 0, S, k + 2)
        U[k, k + 1] = u
        k += 2
    memory[at + d * _padded(d) + 2 * d] += a * rho * rho


@inlined
def _rotate(r: float, a: float, rho: float, k: int, D: Vector, c: Matrix) -> tuple[float, float, float, float]:
    """One row against pivot k and its coefficient. Overwrites both; returns r, β, and what becomes of a and ρ."""
    ar = a * r
    D_new = fma(ar, r, D[k])
    inverse = 1.0 / D_new
    kept = D[k] * inverse if D_new != D[k] else 1.0
    beta, c_old = ar * inverse, c[k, 0]
    c[k, 0] = fma(kept, c_old, beta * rho)
    a = (a * D[k]) * inverse
    D[k] = D_new
    return r, beta, a, fma(-r, c_old, rho)


@inlined
def _discount(gamma: float, lam: float, memory: Vector, at: int, d: int, R: Matrix, S: Matrix) -> None:
    """Let the past count γ times as much, but not the regularisation: what λI lost is given back, so it never winds up."""
    U, D, c = factor(memory, at, d)
    for k in range(d):
        D[k] *= gamma
    memory[at + d * _padded(d) + 2 * d] *= gamma
    weight = (1.0 - gamma) * lam
    if d > FEW:
        absorb_units(weight, U, D, c)
        return
    unit = np.zeros(d)
    for k in range(d):
        unit[k] = 1.0
        _absorb(unit, 0.0, weight, k, memory, at, R, S)
        unit[k] = 0.0


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
    d = x.shape[0]
    square = 0.0
    for j in range(d):
        square = fma(x[j], x[j], square)
    if not (square < ORDINARY * ORDINARY and abs(y) < ORDINARY):
        return NOT_FINITE
    if square > settings[ACTION_BOUND] * settings[ACTION_BOUND] * (1.0 + 1e-12):
        return TOO_LONG
    if is_full(settings, memory):
        return FULL
    memory[OFFERED] = max(memory[OFFERED], square)
    memory[LEARNED] += 1.0
    if settings[RULE] == UNIFORM_AT_RANDOM:
        return DONE
    R, S = np.zeros((1, _padded(d))), np.empty((1, 4))
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
            memory[HEADER + SQUARES] *= gamma * gamma
        _absorb(x, 0.0, 1.0, 0, memory, second, R, S)
    _count(memory, HEADER, square)
    _absorb(x, y, 1.0, 0, memory, HEADER + HEAD, R, S)
    if kind == RESTARTING:
        points = HEADER + model_size(d)
        while memory[NEXT] < memory[CAPACITY] and memory[points + int(memory[NEXT])] <= memory[LEARNED]:
            due = memory[points + int(memory[NEXT])] == memory[LEARNED]
            memory[NEXT] += 1.0
            if due:
                begin(settings, memory, d)
    return DONE


@compiled
def learn_rows(settings: Vector, memory: Vector, X: Matrix, y: Vector, first: int) -> int:
    """Learn the rows of X with rewards y from `first` on. Overwrites the memory; returns the row that did not fit."""
    for i in range(first, X.shape[0]):
        if learn(settings, memory, X[i], y[i]) < 0:
            return i
    return int(X.shape[0])


@inlined
def _count(memory: Vector, at: int, square: float) -> None:
    memory[at + ROWS] += 1.0
    memory[at + SQUARES] += square


@compiled
def _learn_sliding(settings: Vector, memory: Vector, x: Vector, y: float, square: float, R: Matrix, S: Matrix) -> None:
    """Take the oldest row out, if the window is full, and the new one in.

    Taking out loses digits in proportion to what is left in the row's direction, and they do not come back. So where
    little is left, and once in every window's length, the factor is made anew from the rows themselves.
    """
    d, at = x.shape[0], HEADER + HEAD
    ring, size = HEADER + model_size(d), d + 1
    place = ring + int(memory[NEXT]) * size
    anew = False
    if memory[HELD] == settings[WINDOW]:
        oldest, reward = memory[place : place + d].copy(), memory[place + d]
        p, q = np.empty((1, 1)), np.empty(1)
        U, D, c = factor(memory, at, d)
        read(oldest.reshape(1, d), False, U, D, c, p, q)
        memory[REMOVED] += 1.0
        anew = not 1.0 - q[0] > REMOVAL_MARGIN or memory[REMOVED] >= settings[WINDOW]
        if not anew:
            _absorb(oldest, reward, -1.0, 0, memory, at, R, S)
            memory[HEADER + ROWS] -= 1.0
            for j in range(d):
                memory[HEADER + SQUARES] -= oldest[j] * oldest[j]
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
    _clear(memory, HEADER, d, settings[LAM])
    held = int(memory[HELD])
    for i in range(held):  # the oldest first
        place = ring + (int(memory[NEXT]) + i) % held * size
        row = memory[place : place + d]
        total = 0.0
        for j in range(d):
            total = fma(row[j], row[j], total)
        _count(memory, HEADER, total)
        _absorb(row, memory[place + d], 1.0, 0, memory, at, R, S)


@compiled
def _learn_detecting(
    settings: Vector, memory: Vector, x: Vector, y: float, square: float, R: Matrix, S: Matrix
) -> None:
    """Every model checks the reward and learns it unless it is a surprise. Models that fail too often are dropped."""
    d, size, window = x.shape[0], slot_size(settings, x.shape[0]), int(settings[WINDOW])
    estimate, index, norms = np.empty(1), np.empty(1), np.empty(1)
    bound = settings[ACTION_BOUND]
    longest = bound * bound if bound < np.inf else memory[OFFERED]
    kept, good = 0, 0
    for m in range(int(memory[HELD])):
        at = HEADER + m * size
        norms[0] = square
        _read_model(settings, memory, at, norms, x.reshape(1, d), norms, longest, estimate, index)
        failed = not abs(estimate[0] - y) <= index[0] - estimate[0] + settings[SLACK]
        if not failed:
            _count(memory, at, square)
            _absorb(x, y, 1.0, 0, memory, at + HEAD, R, S)
        record = at + model_size(d) + int(memory[at + AGE]) % window
        if memory[at + AGE] >= window:
            memory[at + FAILED] -= memory[record]
        memory[record] = 1.0 if failed else 0.0
        memory[at + FAILED] += memory[record]
        memory[at + AGE] += 1.0
        badness, margin = _badness(settings, memory[at + FAILED], memory[at + AGE])
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
        _clear(memory, at, d, settings[LAM])
        kept += 1
    memory[HELD] = float(kept)
