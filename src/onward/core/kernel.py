"""What Python calls of the compiled loops: each takes a learner's whole state as one buffer, and rows.

A call from Python costs as much as what it does, and more for each array that it is given: so there is one, and names
are looked up inside.
"""

import math
from typing import NamedTuple

import numpy as np

from onward.core import deficient, own_units, reading_tiles, tiles
from onward.core.compile import compiled, inlined
from onward.core.factor import Factor, aligned, factor_size, is_ordinary, rotate, view_factor
from onward.core.ring import N_RING, Ring, view_ring
from onward.core.simd import fma
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "c102754b6abdab6a"  # other files whose code is compiled into this one: see tools/digests.py

STATE = np.dtype(
    [
        ("intercept", "f8"),  # 1 if coordinate 0 is a constant 1, which the rows that are given then lack
        ("coordinates", "f8"),  # d
        ("targets", "f8"),  # m
        ("has_prior", "f8"),  # 0 while the prior mean is 0 everywhere
        ("own", "f8"),  # 1 if λ is in the columns' own units: see `core.own_units`
        ("refresh", "f8"),  # then it is taken anew after so many rows that count
        ("unvaried", "f8"),  # and so many features have had one value only
        ("memory", "f8"),  # which rows count: one of the kinds in `core.forgetting`
        ("half_life", "f8"),  # in rows, or in the unit of the rows' times
        ("decay", "f8"),  # what a row leaves of those before, if rows are counted
        ("dated", "f8"),  # 1 if times are dates, in µs since 2000
        ("first_time", "f8"),  # of the first row, if rows have times
        ("time", "f8"),  # of the latest row
        ("weight", "f8"),  # Σ w, as far as rows still count; of a state that forgets
        ("window", "f8"),  # how many rows count
        ("capacity", "f8"),  # for how many of them there is room
    ]
)
N_STATE = 16
REACHED = 8  # rows whose intervals are made together
_as_header = records_of(STATE)


class State(NamedTuple):
    """Views of a learner's buffer."""

    header: Records
    lam: Vector  # (d,): λ of each coordinate
    online_loss: Vector  # (m,): Σ w (ŷ − y)²
    prior: Matrix  # (d, m): the mean to start from; the factor learns what is left of the targets
    relative: Vector  # (d,): λ over the variance of each feature; without numbers if λ is in the units of the data
    varied: Vector  # (d,): 0 while a feature has had one value only; likewise
    factor: Factor


@compiled
def state_size(d: int, m: int, own: bool, capacity: int) -> int:
    """Numbers in the buffer of a state, with λ in own units or not, and with room for so many rows of a window."""
    return _ring_at(d, m, 1 if own else 0) + (N_RING + capacity * (d + m + 1) if capacity > 0 else 0)


@inlined
def _factor_at(d: int, m: int, own: int) -> int:
    return aligned(N_STATE + d + m + d * m + 2 * d * own)


@inlined
def _ring_at(d: int, m: int, own: int) -> int:
    return _factor_at(d, m, own) + factor_size(d, m)


@inlined
def view_rows(buffer: Vector) -> Ring:
    """The rows of a window, each with its targets (less the prior's part) and its weight. Only of such a state."""
    header = _as_header(part(buffer, 0, N_STATE))
    d, m = int(header[0].coordinates), int(header[0].targets)
    at = _ring_at(d, m, int(header[0].own))
    return view_ring(buffer, at, at + N_RING, int(header[0].capacity), d + m + 1)


@inlined
def view_state(buffer: Vector) -> State:
    """The state in a buffer. The only place that knows where things are."""
    header = _as_header(part(buffer, 0, N_STATE))
    d, m, own = int(header[0].coordinates), int(header[0].targets), int(header[0].own)
    online_loss = N_STATE + d
    prior = online_loss + m
    relative = prior + d * m
    return State(
        header,
        part(buffer, N_STATE, online_loss),
        part(buffer, online_loss, prior),
        as_matrix(part(buffer, prior, relative), d, m),
        part(buffer, relative, relative + d * own),
        part(buffer, relative + d * own, relative + 2 * d * own),
        view_factor(buffer, _factor_at(d, m, own), d, m),
    )


@compiled
def absorb(buffer: Vector, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector) -> int:
    """Absorb rows: see `tiles.absorb_rows`. The prior's part of Y is taken away already."""
    state = view_state(buffer)
    if state.header[0].own != 0.0:
        return own_units.absorb_rows(state.factor, state.header, state.lam, state.relative, state.varied, X, Y, w, p, q)
    return tiles.absorb_rows(state.factor, X, Y, w, state.header[0].intercept != 0.0, p, q)


@compiled
def absorb_coordinates(buffer: Vector, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector) -> int:
    """Absorb rows over all coordinates, the constant included; they are no observations, so none is counted."""
    factor = view_state(buffer).factor
    counts = factor.counts[0]
    seen, counted, peak = counts.seen, counts.counted, counts.peak
    taken = tiles.absorb_rows(factor, X, Y, w, False, p, q)
    counts.seen = seen
    counts.counted = counted
    counts.peak = peak
    return taken


@compiled
def absorb_factor(buffer: Vector, X: Matrix, E: Matrix, Y: Matrix, w: Vector) -> int:
    """Absorb another factor's rows into one with empty pivots: see `deficient.absorb_factor`."""
    return deficient.absorb_factor(view_state(buffer).factor, X, E, Y, w)


@compiled
def read(buffer: Vector, X: Matrix, w: Vector, p: Matrix, q: Vector) -> None:
    """What is known of each row of X, as `absorb` would say of it with weights w. Overwrites p and q."""
    state = view_state(buffer)
    if state.header[0].unvaried > 0.0:
        own_units.read_rows(state.factor, state.relative, state.varied, X, w, p, q)
        return
    reading_tiles.read_rows(state.factor, X, state.header[0].intercept != 0.0, p, q)


@compiled
def read_coordinates(buffer: Vector, X: Matrix, p: Matrix, q: Vector) -> None:
    """`read` of rows over all coordinates, the constant included."""
    reading_tiles.read_rows(view_state(buffer).factor, X, False, p, q)


@compiled
def ordinary(buffer: Vector) -> bool:
    """Whether the factor is full and far from the ends of the floating-point range."""
    return is_ordinary(view_state(buffer).factor)


# What a prior mean and the online loss need. Row by row and in order, so that batches make no difference.


@compiled
def learn(
    buffer: Vector,
    X: Matrix,
    Y: Matrix,
    w: Vector,
    base: Matrix,
    left: Matrix,
    shrinks: bool,
    clip: float,
    p: Matrix,
    q: Vector,
) -> None:
    """Absorb rows that can neither overflow nor raise the rank, predict them, and add the losses to the online loss.

    `base` is the prior's part of the predictions, without rows if the prior mean is 0, and `left` is what it leaves of
    Y. Overwrites the state, p with the predictions, and q. One call, so that an interrupt comes before or after it.
    """
    constant = constant_pivot(buffer)
    absorb(buffer, X, left, w, p, q)
    read_out_rows(constant, left, base, p, q, w, shrinks, clip)
    add_squared_errors(p, Y, w, view_state(buffer).online_loss)


@compiled
def multiply(X: Matrix, intercept: bool, theta: Matrix) -> Matrix:
    """xᵀθ for each row of X and each column of θ: the same bits for a row, whatever rows stand beside it."""
    out = np.empty((X.shape[0], theta.shape[1]))
    lead = 1 if intercept else 0
    for i in range(X.shape[0]):
        for h in range(theta.shape[1]):
            out[i, h] = theta[0, h] if intercept else 0.0
        for j in range(X.shape[1]):
            x = X[i, j]
            for h in range(theta.shape[1]):
                out[i, h] = fma(x, theta[j + lead, h], out[i, h])
    return out


@compiled
def reaches(
    X: Matrix, intercept: bool, center: Vector, axes: Matrix, inverses: Matrix, middle: Vector, reach: Matrix
) -> None:
    """xᵀθ at the center, and √(Σ (xᵀa_h)² / m_h) over the axes a_h, of each row and for each row of `inverses` (1/m).

    Overwrites `middle` (n,) and `reach` (levels, n). The same bits for a row, whatever rows and levels stand beside it:
    so not by BLAS.
    """
    lead = 1 if intercept else 0
    d, (n, k) = axes.shape[1], X.shape
    along = np.empty((REACHED, d))
    for start in range(0, n, REACHED):  # several rows at a time, so that each axis is fetched once for all of them
        rows = min(REACHED, n - start)
        for b in range(rows):
            middle[start + b] = center[0] if intercept else 0.0
            for h in range(d):
                along[b, h] = axes[0, h] if intercept else 0.0
        for j in range(0, k - k % 4, 4):  # four axes at a time: what they add up to is fetched and put back once
            for b in range(rows):
                x0, x1, x2, x3 = X[start + b, j], X[start + b, j + 1], X[start + b, j + 2], X[start + b, j + 3]
                a = j + lead
                at = fma(x1, center[a + 1], fma(x0, center[a], middle[start + b]))
                middle[start + b] = fma(x3, center[a + 3], fma(x2, center[a + 2], at))
                for h in range(d):
                    sum01 = fma(x1, axes[a + 1, h], fma(x0, axes[a, h], along[b, h]))
                    along[b, h] = fma(x3, axes[a + 3, h], fma(x2, axes[a + 2, h], sum01))
        for j in range(k - k % 4, k):
            for b in range(rows):
                x = X[start + b, j]
                middle[start + b] = fma(x, center[j + lead], middle[start + b])
                for h in range(d):
                    along[b, h] = fma(x, axes[j + lead, h], along[b, h])
        for b in range(rows):
            for h in range(d):
                along[b, h] *= along[b, h]
            for level in range(inverses.shape[0]):
                total = 0.0
                for h in range(d):
                    total = fma(along[b, h], inverses[level, h], total)
                reach[level, start + b] = math.sqrt(total)


# The read-out: what forward and ridge predict from p and q. A constant that is not regularised is the first pivot, with
# D_0 = Σ w and c_0 the mean of the targets so far; the other pivots know of centred rows alone.


@inlined
def shrinks_to_mean(state: State) -> bool:
    """Whether forward shrinks towards the mean of the targets: there is a constant, and it is not regularised."""
    return bool(state.header[0].intercept != 0.0 and state.lam[0] == 0.0)


@compiled
def constant_pivot(buffer: Vector) -> Vector:
    """Σ w and the mean of each target so far (1 + m,), which forward shrinks to; without numbers if it shrinks to 0."""
    state = view_state(buffer)
    if not shrinks_to_mean(state):
        return np.empty(0)
    m = state.factor.c.shape[1]
    out = np.empty(1 + m)
    out[0] = state.factor.D[0]
    for h in range(m):
        out[1 + h] = state.factor.c[0, h]
    return out


@inlined
def centred_leverage(q: float, weight: float) -> float:
    """The leverage of a row less that of the constant, 1/Σw, where all rows have weighed Σw; q, if that is infinite."""
    return q if q == np.inf else max(0.0, q - 1.0 / weight)


@inlined
def read_out(base: float, mean: float, p: float, q: float, w: float, shrinks: bool, clip: float) -> float:
    """Forward's prediction, base + mean + (p − mean) / (1 + wq), or ridge's, base + p within ±clip.

    q is the leverage of the centred row where forward shrinks to the mean; elsewhere that of the row, and `mean` is 0.
    Where q is infinite, forward says base + mean, even if w is 0.
    """
    if shrinks:
        return base + (mean + ((p - mean) / (1.0 + w * q) if q != np.inf else 0.0))
    prediction = base + p
    if prediction > clip:
        return clip
    return -clip if prediction < -clip else prediction


@compiled
def read_out_rows(
    constant: Vector, left: Matrix, base: Matrix, p: Matrix, q: Vector, w: Vector, shrinks: bool, clip: float
) -> None:
    """Overwrite p of rows with their predictions.

    `constant` is the `constant_pivot` from before the rows, `left` the targets with which they were absorbed, without
    rows if they were only read. `base` has no rows if the prior mean is 0. Overwrites `constant`, too.
    """
    if shrinks and constant.shape[0] > 0:
        _read_out_centred(constant, left, base, p, q, w)
        return
    if p.shape[1] == 1 and base.shape[0] == 0:  # the same, in vectors
        flat = p.reshape(p.size)
        for i in range(p.size):
            flat[i] = read_out(0.0, 0.0, flat[i], q[i], w[i], shrinks, clip)
        return
    for i in range(p.shape[0]):
        for h in range(p.shape[1]):
            prior = base[i, h] if base.shape[0] > 0 else 0.0
            p[i, h] = read_out(prior, 0.0, p[i, h], q[i], w[i], shrinks, clip)


@inlined
def _read_out_centred(constant: Vector, left: Matrix, base: Matrix, p: Matrix, q: Vector, w: Vector) -> None:
    """`read_out_rows` of forward where it shrinks to the mean, which moves with each row that was absorbed.

    The pivot is absorbed once more, as the tiles do it: so the mean before each row has the bits that it had there.
    """
    absorbed = left.shape[0] > 0
    for i in range(p.shape[0]):
        D = constant[0]
        centred = centred_leverage(q[i], D)
        for h in range(p.shape[1]):
            prior = base[i, h] if base.shape[0] > 0 else 0.0
            p[i, h] = read_out(prior, constant[1 + h], p[i, h], centred, w[i], True, np.inf)
        if not absorbed or w[i] == 0.0:
            continue
        if D == 0.0:  # the first row of all
            constant[0] = w[i]
            for h in range(p.shape[1]):
                constant[1 + h] = left[i, h]
            continue
        beta, share, _, constant[0], _ = rotate(1.0, w[i], D)
        for h in range(p.shape[1]):
            constant[1 + h] = fma(share, constant[1 + h], beta * left[i, h])


@compiled
def add_squared_errors(predictions: Matrix, Y: Matrix, w: Vector, total: Vector) -> None:
    """Add Σ w (ŷ − y)² to `total`, for each target."""
    for h in range(Y.shape[1]):
        t = total[h]
        for i in range(Y.shape[0]):
            error = predictions[i, h] - Y[i, h]
            t += w[i] * (error * error)
        total[h] = t
