"""Regularisation in the columns' own units: λ_j is a multiple of the variance of column j, as the factor has it.

The constant comes first and is not regularised, so that D_0 = Σ w, U_0j is the mean of column j, and the other pivots
know of centred rows alone: Σ w (x_j − x̄_j)² + λ_j = Σ_{1≤k≤j} D_k U_kj². λ is taken anew after 3, 4, 6, 8, 12, 16, …
rows. The sum of squares never falls, so with rows of one weight the variance, and λ with it, falls by a third at most
from one such row to the next: what is taken from the diagonal leaves two thirds of λ, and no digits are lost.

A column that has had one value only stays out of it: its coefficient is 0, its pivot stands alone, and is 1 whatever
its units. The row in which it first varies gives it its λ before it is predicted: a row's features may be used then.
"""

import numpy as np

from onward.core import reading_tiles, tiles
from onward.core.compile import compiled, inlined
from onward.core.factor import Factor, copy_vector, new_scratch
from onward.core.simd import fma
from onward.core.types import Matrix, Records, Vector

COMPILED_FROM = "2463ef488138ebba"  # other files whose code is compiled into this one: see tools/digests.py

FIRST_REFRESH = 3.0  # after two rows λ is what the second has made it
LEAST_SHARE = 1e-9  # where rows have less of a sum than this, the rest being λ, rounding has too much of their part


@inlined
def next_refresh(counted: float) -> float:
    """The first of 3, 4, 6, 8, 12, 16, … rows that is more than `counted`."""
    power = 2.0
    while 2.0 * power <= counted:
        power *= 2.0
    if counted < FIRST_REFRESH:
        return FIRST_REFRESH
    return 1.5 * power if counted < 1.5 * power else 2.0 * power


@inlined
def varies_first(factor: Factor, varied: Vector, X: Matrix, i: int) -> bool:
    """Whether row i has a second value in a column that has had one only."""
    if factor.D[0] == 0.0:
        return False
    found = False
    for j in range(X.shape[1]):
        found = found or (varied[j + 1] == 0.0 and X[i, j] != factor.U[0, j + 1])
    return found


@inlined
def first_lam(relative: float, r: float, w: float, weight: float) -> float:
    """λ of a column that had one value in rows of this weight, and then one apart from it by r in a row of weight w."""
    share = w / (weight + w)
    return relative * (share * (1.0 - share) * r) * r


@compiled
def absorb_rows(
    factor: Factor,
    header: Records,
    lam: Vector,
    relative: Vector,
    varied: Vector,
    X: Matrix,
    Y: Matrix,
    w: Vector,
    p: Matrix,
    q: Vector,
) -> int:
    """`tiles.absorb_rows` behind the constant, with λ in own units: overwrites that, too, and what is said of it."""
    counts, about, n, i = factor.counts[0], header[0], X.shape[0], 0
    while i < n:
        # As many rows as need no look at λ: up to its next refresh, or to a row in which a column first varies.
        first, counted, stop, row_varies = factor.D[0] == 0.0, counts.counted, i, False
        while stop < n and counted < about.refresh:
            row_varies = about.unvaried > 0.0 and varies_first(factor, varied, X, stop)
            if row_varies or (first and counted > counts.counted):
                break
            counted += 1.0 if w[stop] != 0.0 else 0.0
            stop += 1
        if stop > i:
            taken = tiles.absorb_rows(factor, X[i:stop], Y[i:stop], w[i:stop], True, p[i:stop], q[i:stop])
            if taken < stop - i:
                return i + taken
        elif row_varies and w[i] != 0.0:
            if not _set_first(factor, header, lam, relative, varied, X, i, w[i]):
                return i
            stop = i + 1
            if tiles.absorb_rows(factor, X[i:stop], Y[i:stop], w[i:stop], True, p[i:stop], q[i:stop]) < 1:
                return i
        else:  # it is not learned, but predicted
            stop = i + 1
            read_rows(factor, relative, varied, X[i:stop], w[i:stop], p[i:stop], q[i:stop])
            counts.seen += 1.0
        if counts.counted >= about.refresh:
            _refresh(factor, lam, relative, varied)
            about.refresh = next_refresh(counts.counted)
        i = stop
    return i


@compiled
def read_rows(factor: Factor, relative: Vector, varied: Vector, X: Matrix, w: Vector, p: Matrix, q: Vector) -> None:
    """`reading_tiles.read_rows` behind the constant, with λ in own units, of rows that would have these weights.

    Where a column would first vary, λ is what the row would make it; a row without weight is read as one of weight 1.
    Overwrites p and q.
    """
    reading_tiles.read_rows(factor, X, True, p, q)
    weight = factor.D[0]
    D = factor.D.copy()
    apart = Factor(factor.counts, factor.loss, D, factor.c, factor.U)
    for i in range(X.shape[0]):
        if not varies_first(factor, varied, X, i):
            continue
        for j in range(1, D.shape[0]):
            r = X[i, j - 1] - factor.U[0, j]
            if varied[j] == 0.0 and r != 0.0:
                D[j] = first_lam(relative[j], r, w[i] if w[i] > 0.0 else 1.0, weight)
        reading_tiles.read_rows(apart, X[i : i + 1], True, p[i : i + 1], q[i : i + 1])
        for j in range(1, D.shape[0]):
            D[j] = factor.D[j]


@inlined
def _set_first(
    factor: Factor, header: Records, lam: Vector, relative: Vector, varied: Vector, X: Matrix, i: int, w: float
) -> bool:
    """Give the columns that first vary in row i their λ; False if one is beyond double precision."""
    for j in range(1, lam.shape[0]):
        r = X[i, j - 1] - factor.U[0, j]
        if varied[j] == 0.0 and r != 0.0:
            own = first_lam(relative[j], r, w, factor.D[0])
            if not 1e-300 < own < 1e300:
                return False
            lam[j] = own
            factor.D[j] = own
            varied[j] = 1.0
            header[0].unvaried -= 1.0
    return True


@compiled
def _refresh(factor: Factor, lam: Vector, relative: Vector, varied: Vector) -> None:
    """Take λ of the columns anew, from their variances by now. Overwrites the factor but for its counts, and λ."""
    D, U, d = factor.D, factor.U, factor.D.shape[0]
    more = np.zeros(d)
    for j in range(1, d):
        if varied[j] == 0.0:
            continue
        total = D[j]
        for k in range(1, j):
            total = fma(D[k] * U[k, j], U[k, j], total)
        squares = total - lam[j]
        if squares > LEAST_SHARE * total:
            more[j] = relative[j] * (squares / D[0]) - lam[j]
    D_before, U_before, c_before, loss_before = D.copy(), U.copy(), factor.c.copy(), factor.loss.copy()
    tiles.regularize(factor, more, 1.0, new_scratch(d))
    holds = True
    for k in range(d):
        holds = holds and 0.0 < D[k] < np.inf
        holds = holds and (more[k] == 0.0 or 1e-300 < lam[k] + more[k] < 1e300)
    if holds:
        for j in range(1, d):
            lam[j] += more[j]
    else:  # weights so far apart that nothing would be left of λ: it stays as it is
        copy_vector(D_before, D)
        copy_vector(loss_before, factor.loss)
        for k in range(d):
            copy_vector(U_before[k], U[k])
            copy_vector(c_before[k], factor.c[k])
