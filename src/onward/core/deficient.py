"""Factors with empty pivots: without regularisation they start at 0 and are filled as the rank rises.

Whether a residual is 0 must be told from rounding. So every number carries a size, such that its error is a small
multiple of ε times it: e_j for the residual r_j, and M_kj for U_kj. M is kept in the part of U that is otherwise
unused, below the diagonal: M_kj at U[j, k]. The decision depends on no column's scale; nor on a row's, while
there are few enough coordinates for sizes to tell.
"""

import numpy as np

from onward.core.compile import compiled
from onward.core.factor import Factor, copy_vector
from onward.core.simd import fma
from onward.core.types import Matrix, Vector

COMPILED_FROM = "315a09ccefbb46cb"  # other files whose code is compiled into this one: see tools/digests.py

RANK_TOLERANCE = 1e-12  # a residual this small beside its size is rounding, however many rows it came from
SINE_TOLERANCE = 1e-8  # rounding does not turn a column by so much
LARGEST_SIZE = 1e250  # sizes double, about, with each coordinate: beyond some seven hundred they would overflow
SMALLEST_PIVOT = 1e-300  # below it a pivot has lost its digits


@compiled
def read_deficient(factor: Factor, r: Vector, e: Vector, own: Vector, w: float, p: Vector, q: Vector) -> int:
    """Read one row r of sizes e against a factor with empty pivots. Overwrites r with its residuals, e, p and q.

    `own` is Σ w x² of each column over all rows that the row comes with: over itself, if it comes alone.

    Returns the empty pivot that the row would fill, or −1 if it lies in the span of the rows before it.

    A residual is no rounding if it is large beside its size. Sizes add up without cancelling, so from some thirty
    coordinates on they can be too large to tell; then it is enough that it is large beside the terms that it is the sum
    of, and that the column stands out from the columns before it by an angle that rounding does not make.
    """
    U, D, c, d = factor.U, factor.D, factor.c, factor.D.shape[0]
    summed = np.abs(r)
    q[0] = 0.0
    p[:] = 0.0
    for k in range(d):
        if D[k] == 0.0:
            plain = abs(r[k]) > RANK_TOLERANCE * e[k]
            if not plain and abs(r[k]) > RANK_TOLERANCE * summed[k]:
                column = own[k]
                for i in range(k):
                    column = fma(D[i] * U[i, k], U[i, k], column)
                plain = w * r[k] * r[k] > SINE_TOLERANCE * SINE_TOLERANCE * (1.0 + w * q[0]) * column
            if plain:
                p[:] = 0.0
                q[0] = np.inf
                return k
            continue
        q[0] = fma(r[k] * (1.0 / D[k]), r[k], q[0])
        for h in range(c.shape[1]):
            p[h] = fma(r[k], c[k, h], p[h])
        for j in range(k + 1, d):
            e[j] = min(e[j] + e[k] * abs(U[k, j]) + abs(r[k]) * U[j, k], LARGEST_SIZE)
            summed[j] += abs(r[k] * U[k, j])
            r[j] = fma(-r[k], U[k, j], r[j])
    return -1


@compiled
def absorb_deficient(
    factor: Factor,
    r: Vector,
    e: Vector,
    own: Vector,
    y: Vector,
    w: float,
    p: Vector,
    q: Vector,
    rho: Vector,
) -> int:
    """Absorb one row into a factor with empty pivots. Overwrites everything but own, y and w, and counts nothing.

    Returns 1 if the rank rose, 0 if not, and −1, with the factor untouched, if the new pivot would be too small.
    """
    U, D, c, loss = factor.U, factor.D, factor.c, factor.loss
    d, m = D.shape[0], c.shape[1]
    x, sizes = r.copy(), e.copy()
    fills = read_deficient(factor, r, e, own, w, p, q)
    if w == 0.0:
        return 0
    if fills >= 0:
        known = 0.0  # the leverage in the pivots before the one to fill
        for k in range(fills):
            if D[k] > 0.0:
                known = fma(r[k] * (1.0 / D[k]), r[k], known)
        if not w / (1.0 + w * known) * r[fills] * r[fills] >= SMALLEST_PIVOT:
            return -1
    a = w
    copy_vector(sizes, e)
    for h in range(m):
        rho[h] = y[h]
    for k in range(d):
        if k == fills:
            D[k] = a * x[k] * x[k]
            for j in range(k + 1, d):
                U[k, j] = x[j] / x[k]
                U[j, k] = min((e[j] + e[k] * abs(U[k, j])) / abs(x[k]), LARGEST_SIZE)
            for h in range(m):
                c[k, h] = rho[h] / x[k]
            return 1
        if D[k] == 0.0:
            continue
        ax = a * x[k]
        D_new = fma(ax, x[k], D[k])
        inverse = 1.0 / D_new
        beta, share = ax * inverse, D[k] * inverse if D_new != D[k] else 1.0
        a = (a * D[k]) * inverse
        D[k] = D_new
        for h in range(m):
            c_old = c[k, h]
            c[k, h] = fma(share, c_old, beta * rho[h])
            rho[h] = fma(-x[k], c_old, rho[h])
        for j in range(k + 1, d):
            e_before, x_before, u = e[j], x[j], U[k, j]
            e[j] = min(e[j] + e[k] * abs(u) + abs(x[k]) * U[j, k], LARGEST_SIZE)
            x[j] = fma(-x[k], u, x[j])
            # A row that takes the pivot over makes U anew: added to the old, it would lose its digits to it.
            U[k, j] = fma(share, u, beta * x_before) if share < 0.25 else fma(beta, x[j], u)
            grown = share * U[j, k] + abs(beta) * (e_before + e[k] * abs(U[k, j]))
            U[j, k] = max(abs(U[k, j]), min(grown, LARGEST_SIZE))
    for h in range(m):
        loss[h] = fma(a * rho[h], rho[h], loss[h])
    return 0


@compiled
def absorb_factor(factor: Factor, X: Matrix, E: Matrix, Y: Matrix, w: Vector) -> int:
    """Absorb rows that are another factor's, whose values have errors of sizes E. Overwrites the factor but its counts.

    Returns how many rows were absorbed, as `absorb_rows` does.
    """
    m = Y.shape[1]
    p, q, rho = np.empty(m), np.empty(1), np.empty(m)
    own = np.zeros(X.shape[1])  # a value that is rounding is small beside its column, not beside itself
    for i in range(X.shape[0]):
        own += w[i] * X[i] * X[i]
    for i in range(X.shape[0]):
        if absorb_deficient(factor, X[i].copy(), E[i].copy(), own, Y[i], w[i], p, q, rho) < 0:
            return i
    return int(X.shape[0])
