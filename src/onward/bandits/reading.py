"""What a policy reads from its memory: estimates, indices, and the choice. Compiled."""

import math

import numpy as np
from numpy.typing import NDArray

from onward.bandits.layout import (
    ACTION_BOUND,
    AGE,
    AS_PRINTED,
    BIAS,
    BY_CONSTANTS,
    BY_DETERMINANT,
    BY_TRACE,
    DELTA,
    DETECTING,
    DIMENSION,
    DISCOUNTED,
    EPSILON,
    EPSILON_GREEDY,
    ESTIMATOR,
    FAILED,
    FAILURE_DELTA,
    FORWARD,
    GREEDY,
    HEAD,
    HEADER,
    HELD,
    LAM,
    MEMORY,
    NO_BIAS,
    NONE_AVAILABLE,
    NOT_FINITE,
    OFFERED,
    PEAK,
    RIDGE,
    ROWS,
    RULE,
    SAMPLING,
    SCALE,
    SEVERAL,
    SIGMA,
    SLIDING,
    SQUARES,
    THETA_BOUND,
    TIGHT,
    TOO_LONG,
    UNIFORM_AT_RANDOM,
    WIDTH,
    WINDOW,
    factor,
    model_size,
    slot_size,
)
from onward.core.compile import compiled, inlined
from onward.core.kernel import ORDINARY, read, substitute
from onward.core.simd import fma
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW

COMPILED_FROM = "90e0561a065b70c8"  # other files whose code is compiled into this one: see tools/digests.py

# Rows of the scratch, with a column for each action
INDEX, ESTIMATE, NORMS, LEVERAGE, REACH, COLUMNS = range(6)
SCRATCH = COLUMNS + FEW + 1


@inlined
def _gain(settings: Vector, D: Vector, rows: float, squares: float, longest: float) -> float:
    """What stands for the information gain, by the kind of width; `longest` is X²."""
    lam, d = float(settings[LAM]), float(settings[DIMENSION])
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
    return d * math.log1p(rows * longest / (lam * d))


@inlined
def noise_width(settings: Vector, D: Vector, rows: float, squares: float, longest: float) -> float:
    """What the noise can do to the estimate, in the norm of the factor."""
    if settings[MEMORY] == SLIDING and settings[WIDTH] == BY_CONSTANTS:
        growth = math.log1p(settings[WINDOW] * longest / settings[LAM]) - math.log(settings[DELTA])
        return float(settings[SIGMA]) * math.sqrt(settings[DIMENSION] * growth)
    gain = _gain(settings, D, rows, squares, longest)
    return float(settings[SIGMA]) * math.sqrt(gain - 2.0 * math.log(settings[DELTA]))


@inlined
def _read_few(
    R: Matrix, U: Matrix, D: Vector, c: Matrix, W: Matrix, E: Vector, double: bool, p: Vector, q: Vector, reach: Vector
) -> None:
    """`core.kernel.read` for few coordinates, or if `double` `_read_doubly`. Overwrites p, q and reach, and R.

    R has a row for each coordinate, and one more; a column for each action. With few coordinates and many actions that
    is where the vectors are.
    """
    d = D.shape[0]
    _first_pivot(1.0 / D[0], c[0, 0], R[0], q, p)
    for k in range(1, d):
        for j in range(k, d):
            _add_multiple(-U[k - 1, j], R[k - 1], R[j])
        _next_pivot(1.0 / D[k], c[k, 0], R[k], q, p)
    if not double:
        return
    for k in range(d - 1, -1, -1):
        _divide(R[k], D[k])
        for j in range(k + 1, d):
            _add_multiple(-U[k, j], R[j], R[k])
    reach[:] = 0.0
    along = R[d]
    for k in range(d):
        along[:] = R[k]
        for j in range(k + 1, d):
            _add_multiple(W[k, j], R[j], along)
        _add_squares(E[k], along, reach)


@inlined
def _column(actions: Matrix, j: int, out: Vector) -> None:
    for i in range(actions.shape[0]):
        out[i] = actions[i, j]


@inlined
def square_of(x: Vector) -> float:
    """‖x‖², to the same bits wherever it is asked for: an action must not be too long here and not there."""
    d = x.shape[0]
    if d > FEW:
        return dot(x, x, 0, d)
    square = 0.0
    for j in range(d):
        square = fma(x[j], x[j], square)
    return square


@compiled
def judged(settings: Vector, longest: float) -> float:
    """The largest squared norm, or what is wrong with it."""
    if not longest < ORDINARY * ORDINARY:
        return NOT_FINITE
    return TOO_LONG if longest > settings[ACTION_BOUND] * settings[ACTION_BOUND] * (1.0 + 1e-12) else longest


@compiled
def check(settings: Vector, actions: Matrix) -> float:
    """Whether actions can be chosen from and learned: negative if not."""
    return judged(settings, norms(actions, np.empty((SCRATCH, actions.shape[0]))))


@inlined
def norms(actions: Matrix, scratch: Matrix) -> float:
    """‖x‖² of each action, and the largest of them; inf if one is no number. Overwrites the scratch.

    For few coordinates, the actions' columns are laid out as rows on the way.
    """
    n, d = actions.shape
    out = scratch[NORMS]
    if d <= FEW:
        for j in range(d):
            _column(actions, j, scratch[COLUMNS + j])
        out[:] = 0.0
        for j in range(d):
            _add_squares(1.0, scratch[COLUMNS + j], out)
    else:
        for i in range(n):
            out[i] = square_of(actions[i])
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
def _first_pivot(inverse: float, coefficient: float, x: Vector, q: Vector, p: Vector) -> None:
    for i in range(x.shape[0]):
        q[i] = x[i] * inverse * x[i]
        p[i] = x[i] * coefficient


@inlined
def _next_pivot(inverse: float, coefficient: float, x: Vector, q: Vector, p: Vector) -> None:
    for i in range(x.shape[0]):
        q[i] = fma(x[i] * inverse, x[i], q[i])
        p[i] = fma(x[i], coefficient, p[i])


@inlined
def _add_multiple(factor: float, x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = fma(x[i], factor, out[i])


@inlined
def _add_squares(factor: float, x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = fma(x[i] * factor, x[i], out[i])


@inlined
def _divide(x: Vector, divisor: float) -> None:
    for i in range(x.shape[0]):
        x[i] /= divisor


@compiled
def _read_doubly(
    actions: Matrix, U: Matrix, D: Vector, c: Matrix, W: Matrix, E: Vector, p: Vector, q: Vector, reach: Vector
) -> None:
    """`core.kernel.read`, to the last bit, and xᵀV⁻¹ṼV⁻¹x for V = UᵀDU and Ṽ = WᵀEW. Overwrites p, q and reach.

    With r = U⁻ᵀx and N = WU⁻¹ it is Σ E_k (Σ_j N_kj r_j / D_j)²: both r and N come from the same substitution.
    """
    n, d = actions.shape
    R, N = np.zeros((n, U.shape[1])), np.zeros((d, U.shape[1]))
    R[:, :d] = actions
    for k in range(d):
        N[k, k] = 1.0
        N[k, k + 1 : d] = W[k, k + 1 : d]
    substitute(R, U, False)
    substitute(N, U, True)
    for i in range(n):
        p[i], q[i], reach[i] = 0.0, 0.0, 0.0
        for k in range(d):
            inverse = 1.0 / D[k]
            q[i] = fma(R[i, k] * inverse, R[i, k], q[i])
            p[i] = fma(R[i, k], c[k, 0], p[i])
            R[i, k] *= inverse
        for k in range(d):
            along = dot(N[k], R[i], k, d)
            reach[i] = fma(E[k] * along, along, reach[i])


@inlined
def dot(a: Vector, b: Vector, first: int, last: int) -> float:
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
        z[k] = draws[k] / math.sqrt(D[k]) - dot(U[k], z, k + 1, d)
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
        badness, margin = badness_of(settings, memory[at + FAILED], memory[at + AGE])
        if badness - boldness * margin < least:
            best, least = at, badness - boldness * margin
    return best


@inlined
def badness_of(settings: Vector, failed: float, age: float) -> tuple[float, float]:
    """The share of failures among a model's last records, and how far chance can take it."""
    if age == 0.0:
        return 0.0, 0.5
    records = min(settings[WINDOW], age)
    return failed / records, math.sqrt(-math.log(settings[FAILURE_DELTA]) / (2.0 * records))


@compiled
def read_out(settings: Vector, memory: Vector, draws: Vector, actions: Matrix, scratch: Matrix) -> float:
    """The index and the estimated reward of each action, in those rows of `scratch`. Overwrites all of it.

    `draws` are what a sampling rule needs: standard normal numbers, one for each coordinate. Returns the largest
    squared norm, or a negative number that says what is wrong.
    """
    longest = judged(settings, norms(actions, scratch))
    if longest < 0.0:
        return longest
    if settings[RULE] == UNIFORM_AT_RANDOM:
        scratch[INDEX] = 0.0
        scratch[ESTIMATE] = 0.0
        return longest
    bound = settings[ACTION_BOUND] * settings[ACTION_BOUND]
    counted = bound if bound < np.inf else max(longest, memory[OFFERED])
    read_model(settings, memory, acting_model(settings, memory, actions.shape[1]), draws, actions, counted, scratch)
    return longest


@compiled
def read_model(
    settings: Vector, memory: Vector, at: int, draws: Vector, actions: Matrix, longest: float, scratch: Matrix
) -> None:
    """The index and the estimate that the model at `at` gives each action, once `norms` was called on them."""
    n, d = actions.shape
    forward, rule, double = settings[ESTIMATOR] == FORWARD, settings[RULE], settings[MEMORY] == DISCOUNTED
    U, D, c = factor(memory, at + HEAD, d)
    W, E, _ = factor(memory, HEADER + model_size(d), d) if double else (U, D, c)
    index, p, radii, q = scratch[INDEX], scratch[ESTIMATE], scratch[NORMS], scratch[LEVERAGE]
    reach = scratch[REACH] if double else q  # the squared norm in which the radius is measured
    if d <= FEW:
        _read_few(scratch[COLUMNS:], U, D, c, W, E, double, p, q, reach)
    elif double:
        _read_doubly(actions, U, D, c, W, E, p, q, reach)
    else:
        read(actions, False, U, D, c, p.reshape(n, 1), q)
    if rule in (GREEDY, EPSILON_GREEDY):
        for i in range(n):
            p[i] = p[i] / (1.0 + q[i]) if forward else p[i]
            index[i] = p[i]
        return
    if settings[WIDTH] == AS_PRINTED:
        _read_as_printed(settings, memory[at + ROWS], memory[at + PEAK], scratch)
        return
    scale = settings[SCALE]
    noise = scale * noise_width(settings, E, memory[at + ROWS], memory[at + SQUARES], longest)
    radii_for(settings, noise, radii)
    if rule == SAMPLING:
        z = _sample(U, D, draws)
        for i in range(n):
            shrinkage = 1.0 + q[i] if forward else 1.0
            p[i] /= shrinkage
            index[i] = p[i] + radii[i] * (dot(actions[i], z, 0, d) / math.sqrt(shrinkage))
    elif not forward:
        for i in range(n):
            index[i] = p[i] + radii[i] * math.sqrt(reach[i])
    elif double:
        for i in range(n):
            kept = 1.0 / (1.0 + q[i])
            p[i] *= kept
            index[i] = p[i] + radii[i] * math.sqrt(fma(q[i], q[i], reach[i])) * kept
    else:
        for i in range(n):
            kept = 1.0 / (1.0 + q[i])
            p[i] *= kept
            index[i] = p[i] + radii[i] * math.sqrt(q[i] * kept)


@inlined
def radii_for(settings: Vector, noise: float, radii: Vector) -> None:
    """The radius at each action, noise and bias, takes the place of its squared norm."""
    scale, lam, root = settings[SCALE], settings[LAM], math.sqrt(settings[LAM])
    bound = scale * settings[THETA_BOUND]
    if settings[BIAS] == NO_BIAS or settings[ESTIMATOR] == RIDGE:
        radii[:] = noise + (0.0 if settings[BIAS] == NO_BIAS else bound * root)
    elif settings[BIAS] == TIGHT:
        for i in range(radii.shape[0]):
            radii[i] = noise + bound * math.sqrt(lam + radii[i])
    else:
        for i in range(radii.shape[0]):
            radii[i] = noise + bound * (root + math.sqrt(radii[i]))


@compiled
def _read_as_printed(settings: Vector, rows: float, peak: float, scratch: Matrix) -> None:
    """Algorithm 3's index as it is printed, from p and q: the noise stands outside the product with ‖x‖."""
    index, p, squares, q = scratch[INDEX], scratch[ESTIMATE], scratch[NORMS], scratch[LEVERAGE]
    lam, d, scale = settings[LAM], settings[DIMENSION], settings[SCALE]
    for i in range(index.shape[0]):
        gain = d * math.log1p((rows + 1.0) * max(peak, squares[i]) / (lam * d))
        noise = settings[SIGMA] * math.sqrt(gain - 2.0 * math.log(settings[DELTA]))
        bias = settings[THETA_BOUND] * (math.sqrt(lam) + math.sqrt(squares[i]))
        kept = 1.0 / (1.0 + q[i])
        p[i] *= kept
        index[i] = p[i] + scale * (bias * math.sqrt(q[i] * kept) + noise)


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
    settings: Vector, memory: Vector, draws: Vector, actions: Matrix, available: NDArray[np.bool_], scratch: Matrix
) -> tuple[int, int]:
    """The action to play, and how many are as good. Overwrites the scratch, and notes how long the actions are.

    An empty mask means that all are available. The choice is the first of those that tie: `nth_best` gives another.
    A negative choice says why there is none; then nothing was changed but the scratch.
    """
    longest = read_out(settings, memory, draws, actions, scratch)
    if longest < 0.0:
        return int(longest), 0
    memory[OFFERED] = max(memory[OFFERED], longest)
    return _pick(settings, draws, available, scratch[INDEX])


@compiled
def choose_plainly(settings: Vector, memory: Vector, actions: Matrix, scratch: Matrix) -> int:
    """`choose` where all actions are available and nothing is drawn; negative, and nothing noted, if several tie.

    From Python a call costs as much as what it does, and more the more it is given.
    """
    longest = read_out(settings, memory, scratch[INDEX, :0], actions, scratch)
    if longest < 0.0:
        return int(longest)
    best, ties = best_of(scratch[INDEX])
    if ties > 1:
        return SEVERAL
    memory[OFFERED] = max(memory[OFFERED], longest)
    return best


@compiled
def choose_arm(
    settings: Vector,
    memories: Matrix,
    draws: Vector,
    context: Matrix,
    available: NDArray[np.bool_],
    estimate: Vector,
    index: Vector,
) -> tuple[int, int]:
    """`choose` among arms that share a context (1, d) and have a memory each. Overwrites `estimate` and `index`.

    A sampling rule takes d draws for each arm. All arms note how long the context is.
    """
    square = read_arms(settings, memories, draws, context, estimate, index)
    if square < 0.0:
        return int(square), 0
    for a in range(memories.shape[0]):
        memories[a, OFFERED] = max(memories[a, OFFERED], square)
    return _pick(settings, draws, available, index)


@compiled
def read_arms(
    settings: Vector, memories: Matrix, draws: Vector, context: Matrix, estimate: Vector, index: Vector
) -> float:
    """`read_out` of a context (1, d) by the memory of each arm. Overwrites `estimate` and `index`, unless it fails."""
    d, samples, scratch, status = context.shape[1], settings[RULE] == SAMPLING, np.empty((SCRATCH, 1)), 0.0
    for a in range(memories.shape[0]):
        own = draws[a * d : (a + 1) * d] if samples else draws
        status = read_out(settings, memories[a], own, context, scratch)
        if status < 0.0:
            return status
        estimate[a], index[a] = scratch[ESTIMATE, 0], scratch[INDEX, 0]
    return status


@compiled
def sampled_shares(
    settings: Vector, memory: Vector, draws: Matrix, actions: Matrix, available: NDArray[np.bool_]
) -> Vector:
    """For a sampling rule, the share of the rows of draws with which each action is chosen; those that tie share."""
    n = actions.shape[0]
    shares, scratch = np.zeros(n), np.empty((SCRATCH, n))
    index = scratch[INDEX]
    for s in range(draws.shape[0]):
        read_out(settings, memory, draws[s], actions, scratch)
        best, ties = _pick(settings, draws[s], available, index)
        for i in range(n):
            if index[i] == index[best] and (available.shape[0] == 0 or available[i]):
                shares[i] += 1.0 / (ties * draws.shape[0])
    return shares


@inlined
def _pick(settings: Vector, draws: Vector, available: NDArray[np.bool_], index: Vector) -> tuple[int, int]:
    n, rule = index.shape[0], settings[RULE]
    free = n
    if available.shape[0] > 0:
        free = 0
        for i in range(n):
            free += available[i]
    if free == 0:
        return NONE_AVAILABLE, 0
    if rule == UNIFORM_AT_RANDOM:
        return _nth_available(available, int(draws[0] * free)), 1
    if rule == EPSILON_GREEDY and draws[0] < settings[EPSILON]:
        return _nth_available(available, int(draws[1] * free)), 1
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
