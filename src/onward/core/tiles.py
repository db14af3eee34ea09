"""Rows in batches: absorbed and read in tiles, several rows against two pivots at a time.

Within a tile the loops over pivots and rows are exchanged, which changes where numbers wait, not how they are computed:
a value is the same to the last bit in whatever batches the rows come.
"""

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.deficient import absorb_deficient
from onward.core.factor import (
    SWEPT,
    Factor,
    absorb_row,
    absorb_value,
    has_empty_pivots,
    rotate,
    scale_past,
    take_over,
)
from onward.core.simd import GROUP, absorb_group, absorb_single, fma, rarely
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW, TAKEN_OVER, make_unrolled

COMPILED_FROM = "fb56a4ea2f5702b9"  # other files whose code is compiled into this one: see tools/digests.py

STRETCH = 256  # rows that are absorbed before it is looked whether one may have taken a pivot over
TILE = 8  # rows absorbed together: enough to share each load of U, few enough to stay in the cache

# Columns of the tile's scalars, a row of them for each data row. First what the sweep needs, then what is summed.
R0, BETA0, R1, BETA1, A, Q, P, RHO, SHARE0, SHARE1 = range(10)
SCALARS = 12

_absorb_1, _absorb_2, _absorb_3, _absorb_4, _absorb_5 = (make_unrolled(d) for d in range(1, FEW + 1))


@compiled
def absorb_rows(factor: Factor, X: Matrix, Y: Matrix, w: Vector, intercept: bool, p: Matrix, q: Vector) -> int:
    """Absorb the rows of X with targets Y and weights w, in order. Overwrites the factor, p and q.

    Writes what was known of each row before it came: p = xᵀG⁻¹b, for each target, and the leverage q = xᵀG⁻¹x.
    A row that raises the rank (only without regularisation) has p = 0 and q = inf. Adds Σ a ρ² to the loss, and counts
    the rows. With `intercept`, coordinate 0 is the constant 1. Negative weights, then all of them, remove rows.

    Returns how many rows were absorbed: fewer than given if the next one needs a pivot too small to hold.
    """
    n, m, d = X.shape[0], Y.shape[1], factor.D.shape[0]
    counts = factor.counts[0]
    empty = 0
    for k in range(d):
        empty += factor.D[k] == 0.0
    few = m == 1 and 0 < d <= FEW
    i = 0
    if few and empty == 0:
        i = _absorb_few(0, factor, X, Y, w, intercept, p, q)
        if i == n:
            _count(w, n, factor)
            return i
    R, S = np.zeros((TILE, factor.U.shape[1])), np.empty((TILE, SCALARS))
    more, e, own = np.empty((TILE, 2 * m)), np.empty(d), np.empty(d)
    while i < n and empty > 0:
        load_rows(X, i, 1, intercept, R, S)
        counts.peak = max(counts.peak, w[i] * S[0, P])
        size_of_row(R, w[i], e, own)
        rank_rose = absorb_deficient(factor, R[0], e, own, Y[i], w[i], p[i], q[i : i + 1], more[0])
        if rank_rose < 0:
            _count(w, i, factor)
            return i
        empty -= rank_rose
        i += 1
    while i < n:
        stop = min(n, i + STRETCH) if few else n
        _absorb_in_tiles(i, stop, factor, X, Y, w, intercept, R, S, more, p, q)
        i = _absorb_few(stop, factor, X, Y, w, intercept, p, q) if few else stop
    _count(w, n, factor)
    return i


@inlined
def _absorb_in_tiles(
    first: int,
    stop: int,
    factor: Factor,
    X: Matrix,
    Y: Matrix,
    w: Vector,
    intercept: bool,
    R: Matrix,
    S: Matrix,
    more: Matrix,
    p: Matrix,
    q: Vector,
) -> None:
    """`absorb_rows` of rows `first` to `stop`, where no pivot is empty. Overwrites R, S and `more`, counts nothing."""
    loss, m = factor.loss, Y.shape[1]
    i, total, largest = first, loss[0], factor.counts[0].peak
    while i < stop:
        rows = min(TILE, stop - i)
        load_rows(X, i, rows, intercept, R, S)
        for b in range(rows):
            largest = max(largest, w[i + b] * S[b, P])
            S[b, A] = w[i + b]
            S[b, Q] = 0.0
            S[b, P] = 0.0
            S[b, RHO] = Y[i + b, 0]
        for h in range(1, m):
            for b in range(rows):
                more[b, 2 * h] = 0.0
                more[b, 2 * h + 1] = Y[i + b, h]
        _absorb_tile(factor, 0, rows, R, S, more, True)
        for b in range(rows):
            q[i + b] = S[b, Q]
            p[i + b, 0] = S[b, P]
            total = fma(S[b, A] * S[b, RHO], S[b, RHO], total)
        for h in range(1, m):
            for b in range(rows):
                p[i + b, h] = more[b, 2 * h]
                loss[h] = fma(S[b, A] * more[b, 2 * h + 1], more[b, 2 * h + 1], loss[h])
        i += rows
    loss[0] = total
    factor.counts[0].peak = largest


@compiled
def _absorb_few(
    first: int, factor: Factor, X: Matrix, Y: Matrix, w: Vector, intercept: bool, p: Matrix, q: Vector
) -> int:
    """`absorb_rows` from row `first` on, for few coordinates, one target and no empty pivots: the same bits, sooner.

    Returns the row at which it stopped: the first of a stretch in which one may take a pivot over. Counts nothing.
    """
    U, D, c, loss, d, counts = factor.U, factor.D, factor.c, factor.loss, factor.D.shape[0], factor.counts[0]
    while first < X.shape[0]:
        stop = min(X.shape[0], first + STRETCH)
        if d == 1:
            peak = _absorb_1(first, stop, X, Y, w, intercept, U, D, c, loss, counts.peak, p, q)
        elif d == 2:
            peak = _absorb_2(first, stop, X, Y, w, intercept, U, D, c, loss, counts.peak, p, q)
        elif d == 3:
            peak = _absorb_3(first, stop, X, Y, w, intercept, U, D, c, loss, counts.peak, p, q)
        elif d == 4:
            peak = _absorb_4(first, stop, X, Y, w, intercept, U, D, c, loss, counts.peak, p, q)
        else:
            peak = _absorb_5(first, stop, X, Y, w, intercept, U, D, c, loss, counts.peak, p, q)
        if peak < 0.0:
            break
        counts.peak = peak
        first = stop
    return first


@compiled
def regularize(factor: Factor, weights: Vector, multiple: float, scratch: Matrix) -> None:
    """Add multiple·diag(weights) to G: the unit rows with targets 0. Overwrites the factor and scratch.

    Unit rows begin late, so this takes a third of the time of as many others.
    """
    d, m = factor.D.shape[0], factor.c.shape[1]
    if has_empty_pivots(factor):
        _regularize_deficient(factor, weights, multiple)
        return
    if d < SWEPT:
        rest = np.zeros((2, m)) if m > 1 else scratch
        for k in range(d):
            if weights[k] == 0.0:
                continue
            for j in range(k, d):
                scratch[0, j] = 1.0 if j == k else 0.0
            if m > 1:
                rest[:] = 0.0
            absorb_row(factor, scratch, 0.0, multiple * weights[k], k, False, rest)
        return
    R, S, more = np.zeros((TILE, factor.U.shape[1])), np.empty((TILE, SCALARS)), np.zeros((TILE, 2 * m))
    for first in range(0, d, TILE):
        rows = min(TILE, d - first)
        R[:] = 0.0
        S[:] = 0.0
        more[:] = 0.0
        for b in range(rows):
            R[b, first + b] = 1.0
            S[b, A] = multiple * weights[first + b]
        _absorb_tile(factor, first, rows, R, S, more, False)
        for b in range(rows):
            factor.loss[0] = fma(S[b, A] * S[b, RHO], S[b, RHO], factor.loss[0])
            for h in range(1, m):
                factor.loss[h] = fma(S[b, A] * more[b, 2 * h + 1], more[b, 2 * h + 1], factor.loss[h])


@compiled
def _regularize_deficient(factor: Factor, weights: Vector, multiple: float) -> None:
    """`regularize` for a factor with empty pivots. These stay so: G is 0 in no direction that a weight would fill."""
    d, m = factor.D.shape[0], factor.c.shape[1]
    row, e, own = np.zeros((1, d)), np.empty(d), np.empty(d)
    y, p, q, rho = np.zeros(m), np.empty(m), np.empty(1), np.empty(m)
    for k in range(d):
        if weights[k] == 0.0:
            continue
        row[:] = 0.0
        row[0, k] = 1.0
        size_of_row(row, multiple * weights[k], e, own)
        absorb_deficient(factor, row[0], e, own, y, multiple * weights[k], p, q, rho)


@inlined
def discount(factor: Factor, gamma: float, lam: Vector, scratch: Matrix) -> None:
    """Let the past count γ times as much, but give λ back what it lost: so nothing winds up. Counts stay."""
    scale_past(factor, gamma, lam)
    if lam.any():
        regularize(factor, lam, 1.0 - gamma, scratch)


@inlined
def _count(w: Vector, rows: int, factor: Factor) -> None:
    counts = factor.counts[0]
    counted = 0
    for weight in w[:rows]:
        counted += weight != 0.0
    counts.seen += rows
    counts.counted += counted


@inlined
def size_of_row(R: Matrix, w: float, e: Vector, own: Vector) -> None:
    """Error sizes of the row in R[0], which is exact to its last digit, and its own part of each pivot."""
    for j in range(e.shape[0]):
        e[j] = abs(R[0, j])
        own[j] = w * e[j] * e[j]


@inlined
def load_rows(X: Matrix, first: int, rows: int, intercept: bool, R: Matrix, S: Matrix) -> None:
    """Copy rows of X into the tile R, behind the constant if there is one. Leaves ‖x‖² in S."""
    lead = 1 if intercept else 0
    for b in range(rows):
        squares = float(lead)
        R[b, 0] = 1.0
        for j in range(X.shape[1]):
            R[b, j + lead] = X[first + b, j]
            squares = fma(X[first + b, j], X[first + b, j], squares)
        S[b, P] = squares


@inlined
def _absorb_tile(factor: Factor, first: int, rows: int, R: Matrix, S: Matrix, more: Matrix, scored: bool) -> None:
    """Absorb the rows in R, two pivots at a time. Overwrites the factor, R, S and `more`.

    The rows are 0 before coordinate `first`. In: a = w, q = p = 0, ρ = y. Out: a = w/(1 + wq), ρ = y − p, and q and p
    if they are `scored`.
    """
    U, D, c, d = factor.U, factor.D, factor.c, factor.D.shape[0]
    k = first
    while k + 1 < d:
        u, taken_over = _absorb_pair(k, rows, R, S, more, U[k, k + 1], D, c, scored)
        sweep(U, k, rows, R, S, taken_over)
        U[k, k + 1] = u
        k += 2
    if k < d:
        _absorb_last(k, rows, R, S, more, D, c)


@inlined
def sweep(U: Matrix, k: int, rows: int, R: Matrix, S: Matrix, taken_over: bool) -> None:
    """Let the rows of a tile meet pivots k and k+1 in the columns behind them. Overwrites R and U.

    S has each row's residuals, β and shares; `taken_over` says whether one may have taken a pivot over.
    """
    if k + 2 >= U.shape[0]:
        return
    b = 0
    if rarely(taken_over):
        b = _take_over_rows(U, k, rows, R, S)
    while b + GROUP <= rows:
        absorb_group(U, k, R, b, S, k + 2)
        b += GROUP
    while b < rows:
        absorb_single(U, k, R, b, S, k + 2)
        b += 1


@compiled
def _take_over_rows(U: Matrix, k: int, rows: int, R: Matrix, S: Matrix) -> int:
    """`take_over` of the rows of a tile, at pivots k and k+1; how many they are. Overwrites U and R."""
    for b in range(rows):
        take_over(U, k, R, b, S[b, R0], S[b, BETA0], S[b, SHARE0], k + 2)
        take_over(U, k + 1, R, b, S[b, R1], S[b, BETA1], S[b, SHARE1], k + 2)
    return rows


@inlined
def _absorb_pair(
    k: int, rows: int, R: Matrix, S: Matrix, more: Matrix, u: float, D: Vector, c: Matrix, scored: bool
) -> tuple[float, bool]:
    """Absorb the rows, one after the other, into pivots k and k+1 and their coefficients; u = U[k, k+1], returned anew.

    Returns, too, whether a row may have taken a pivot over: then `take_over` does what the sweeps do otherwise.
    Overwrites S, `more`, and both pivots' D and c. Leaves each row's residuals and β in S, for the columns that follow.
    The first target rides along in S; further ones take a loop each and keep p and ρ in `more`.
    """
    D_0, D_1, c_0, c_1 = D[k], D[k + 1], c[k, 0], c[k + 1, 0]
    inverse_0, inverse_1 = 1.0 / D_0, 1.0 / D_1
    for b in range(rows):
        r, a = R[b, k], S[b, A]
        p, q = 0.0, 0.0
        if scored:
            p, q = fma(r, c_0, S[b, P]), fma(r * inverse_0, r, S[b, Q])
        beta, share, a, D_0, inverse_0 = rotate(r, a, D_0)
        rho, c_old = S[b, RHO], c_0
        c_0 = fma(share, c_0, beta * rho)
        rho = fma(-r, c_old, rho)
        S[b, R0], S[b, BETA0], S[b, SHARE0] = r, beta, share
        r, u = absorb_value(R[b, k + 1], u, r, beta, share)
        if scored:
            p, q = fma(r, c_1, p), fma(r * inverse_1, r, q)
        beta, share, a, D_1, inverse_1 = rotate(r, a, D_1)
        c_old = c_1
        c_1 = fma(share, c_1, beta * rho)
        rho = fma(-r, c_old, rho)
        S[b, R1], S[b, BETA1], S[b, SHARE1] = r, beta, share
        S[b, A], S[b, Q], S[b, P], S[b, RHO] = a, q, p, rho
    # Pivots only grow, or only shrink: what has not grown so much by all rows has not by one.
    taken_over = not (D[k] > 2.0 * TAKEN_OVER * D_0 and D[k + 1] > 2.0 * TAKEN_OVER * D_1)
    D[k], D[k + 1], c[k, 0], c[k + 1, 0] = D_0, D_1, c_0, c_1
    _absorb_more(k, rows, R0, SHARE0, S, more, c)
    _absorb_more(k + 1, rows, R1, SHARE1, S, more, c)
    return u, taken_over


@inlined
def _absorb_last(k: int, rows: int, R: Matrix, S: Matrix, more: Matrix, D: Vector, c: Matrix) -> None:
    """`_absorb_pair` for the last pivot of an odd number."""
    D_k, c_k = D[k], c[k, 0]
    inverse = 1.0 / D_k
    for b in range(rows):
        r = R[b, k]
        S[b, Q] = fma(r * inverse, r, S[b, Q])
        beta, share, S[b, A], D_k, inverse = rotate(r, S[b, A], D_k)
        S[b, P] = fma(r, c_k, S[b, P])
        rho, c_old = S[b, RHO], c_k
        c_k = fma(share, c_k, beta * rho)
        S[b, R0], S[b, BETA0], S[b, SHARE0], S[b, RHO] = r, beta, share, fma(-r, c_old, rho)
    D[k], c[k, 0] = D_k, c_k
    _absorb_more(k, rows, R0, SHARE0, S, more, c)


@inlined
def _absorb_more(k: int, rows: int, slot: int, share: int, S: Matrix, more: Matrix, c: Matrix) -> None:
    """The coefficients of further targets; S has the rows' residuals and β from column `slot` on, D/D' in `share`."""
    for h in range(1, c.shape[1]):
        c_k = c[k, h]
        for b in range(rows):
            r = S[b, slot]
            more[b, 2 * h] = fma(r, c_k, more[b, 2 * h])
            rho, c_old = more[b, 2 * h + 1], c_k
            c_k = fma(S[b, share], c_k, S[b, slot + 1] * rho)
            more[b, 2 * h + 1] = fma(-r, c_old, rho)
        c[k, h] = c_k
