"""The compiled loops: one factorisation that every method reads.

The information is kept as G = UᵀDU and the coefficients as the solution of Uθ = c. U is unit upper triangular;
only what stands above the diagonal is used, in rows padded to whole vectors. c has a column for each target.

Rows are absorbed in tiles. Within a tile the loops over pivots and rows are exchanged, which changes where
numbers wait, not how they are computed: a value is the same to the last bit in whatever batches the rows come.

Everything that is compiled is in this file, because the cache on disk notices changes only in the file that a
function stands in. What simd.py and unrolled.py generate is compiled into it, so this file names their digest.
"""

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.simd import GROUP, absorb_group, absorb_single, fma, read_group, read_single
from onward.core.types import Matrix, Vector
from onward.core.unrolled import FEW, PEAK, make_unrolled

TILE = 8  # rows absorbed together: enough to share each load of U, few enough to stay in the cache
RANK_TOLERANCE = 1e-12  # a residual this small beside its size is rounding, however many rows it came from
SINE_TOLERANCE = 1e-8  # rounding does not turn a column by so much
LARGEST_SIZE = 1e250  # sizes double, about, with each coordinate: beyond some seven hundred they would overflow
SMALLEST_PIVOT = 1e-300  # below it a pivot has lost its digits
COMPILED_FROM = "a4261ea87d17edab"  # the digest of those files: see tools/digests.py
ORDINARY = 1e20  # values, weights and states well inside these bounds can neither overflow nor underflow


# Columns of the tile's scalars, a row of them for each data row. First what the sweep needs, then what is summed.
_R0, _BETA0, _R1, _BETA1, _A, _Q, _P, _RHO, _KEPT0, _KEPT1 = range(10)
_SCALARS = 12


_absorb_1, _absorb_2, _absorb_3, _absorb_4, _absorb_5 = (make_unrolled(d) for d in range(1, FEW + 1))


@compiled
def _absorb_few(
    first: int,
    X: Matrix,
    Y: Matrix,
    w: Vector,
    intercept: bool,
    U: Matrix,
    D: Vector,
    c: Matrix,
    loss: Vector,
    tally: Vector,
    p: Matrix,
    q: Vector,
) -> None:
    """`absorb` from row `first` on, for few coordinates, one target and no empty pivots: the same bits, sooner."""
    d = D.shape[0]
    if d == 1:
        _absorb_1(first, X, Y, w, intercept, U, D, c, loss, tally, p, q)
    elif d == 2:
        _absorb_2(first, X, Y, w, intercept, U, D, c, loss, tally, p, q)
    elif d == 3:
        _absorb_3(first, X, Y, w, intercept, U, D, c, loss, tally, p, q)
    elif d == 4:
        _absorb_4(first, X, Y, w, intercept, U, D, c, loss, tally, p, q)
    elif d == 5:
        _absorb_5(first, X, Y, w, intercept, U, D, c, loss, tally, p, q)


@compiled
def absorb(
    X: Matrix,
    Y: Matrix,
    w: Vector,
    intercept: bool,
    U: Matrix,
    D: Vector,
    c: Matrix,
    loss: Vector,
    tally: Vector,
    p: Matrix,
    q: Vector,
) -> int:
    """Absorb the rows of X with targets Y and weights w, in order. Overwrites U, D, c, loss, tally, p and q.

    Writes what was known of each row before it came: p = xᵀG⁻¹b, for each target, and the leverage q = xᵀG⁻¹x.
    A row that raises the rank (only without regularisation) has p = 0 and q = inf. Adds Σ a ρ² to `loss`, and to
    `tally` how many rows there were, how many of them with a weight, and the largest w‖x‖².
    With `intercept`, coordinate 0 is the constant 1. A negative weight removes a row.

    Returns how many rows were absorbed: fewer than given if the next one needs a pivot too small to hold.
    """
    n, m, d = X.shape[0], Y.shape[1], D.shape[0]
    R, S = np.zeros((TILE, U.shape[1])), np.empty((TILE, _SCALARS))
    more, e, own = np.empty((TILE, 2 * m)), np.empty(d), np.empty(d)
    empty = 0
    for k in range(d):
        empty += D[k] == 0.0
    i = 0
    largest = tally[PEAK]
    while i < n and empty > 0:
        _load(X, i, 1, intercept, R, S)
        largest = max(largest, w[i] * S[0, _P])
        e[:] = np.abs(R[0, :d])  # what is given is exact to its last digit
        own[:] = w[i] * e * e
        rank_rose = _absorb_deficient(R[0], e, own, Y[i], w[i], U, D, c, loss, p[i], q[i : i + 1], more[0])
        if rank_rose < 0:
            _count(w, i, largest, tally)
            return i
        empty -= rank_rose
        i += 1
    if m == 1 and 0 < d <= FEW:
        tally[PEAK] = largest
        _absorb_few(i, X, Y, w, intercept, U, D, c, loss, tally, p, q)
        _count(w, n, tally[PEAK], tally)
        return int(n)
    total = loss[0]
    while i < n:
        rows = min(TILE, n - i)
        _load(X, i, rows, intercept, R, S)
        for b in range(rows):
            largest = max(largest, w[i + b] * S[b, _P])
            S[b, _A] = w[i + b]
            S[b, _Q] = 0.0
            S[b, _P] = 0.0
            S[b, _RHO] = Y[i + b, 0]
        for h in range(1, m):
            for b in range(rows):
                more[b, 2 * h] = 0.0
                more[b, 2 * h + 1] = Y[i + b, h]
        _absorb_tile(0, rows, R, S, more, U, D, c)
        for b in range(rows):
            q[i + b] = S[b, _Q]
            p[i + b, 0] = S[b, _P]
            total = fma(S[b, _A] * S[b, _RHO], S[b, _RHO], total)
        for h in range(1, m):
            for b in range(rows):
                p[i + b, h] = more[b, 2 * h]
                loss[h] = fma(S[b, _A] * more[b, 2 * h + 1], more[b, 2 * h + 1], loss[h])
        i += rows
    loss[0] = total
    _count(w, n, largest, tally)
    return i


@compiled
def read(X: Matrix, intercept: bool, U: Matrix, D: Vector, c: Matrix, p: Matrix, q: Vector) -> None:
    """What is known of each row of X, without learning: overwrites p and q, as `absorb` would to the last bit."""
    n, m, d = X.shape[0], c.shape[1], D.shape[0]
    R, S = np.zeros((TILE, U.shape[1])), np.empty((TILE, _SCALARS))
    more, e = np.empty((TILE, 2 * m)), np.empty(d)
    deficient = False
    for k in range(d):
        deficient = deficient or D[k] == 0.0
    if deficient:
        for i in range(n):
            _load(X, i, 1, intercept, R, S)
            e[:] = np.abs(R[0, :d])
            _read_deficient(R[0], e, e * e, 1.0, U, D, c, p[i], q[i : i + 1])
        return
    for i in range(0, n, TILE):
        rows = min(TILE, n - i)
        _load(X, i, rows, intercept, R, S)
        for b in range(rows):
            S[b, _Q] = 0.0
            S[b, _P] = 0.0
            for h in range(1, m):
                more[b, 2 * h] = 0.0
        _read_tile(rows, R, S, more, U, D, c)
        for b in range(rows):
            q[i + b] = S[b, _Q]
            p[i + b, 0] = S[b, _P]
            for h in range(1, m):
                p[i + b, h] = more[b, 2 * h]


@compiled
def ordinary(D: Vector, c: Matrix) -> bool:
    """Whether the factor is full and far from the ends of the floating-point range."""
    for k in range(D.shape[0]):
        if not 1e-30 < D[k] < 1e60:
            return False
        for h in range(c.shape[1]):
            if not abs(c[k, h]) < 1e30:
                return False
    return True


@compiled
def absorb_one(
    x: Vector,
    y: float,
    w: float,
    intercept: bool,
    U: Matrix,
    D: Vector,
    c: Matrix,
    loss: Vector,
    tally: Vector,
    shrinks: bool,
    clip: float,
    online_loss: Vector,
) -> bool:
    """`absorb` for a single row with one target, and the online loss of its prediction with it; whether it was taken.

    The prediction is p / (1 + wq) if `shrinks`, else p within ±clip. A row that is not taken changes nothing: it holds
    a value that is not finite, or numbers so large or small, in the row or in the factor, that only the guarded way
    will do. All that changes changes here, so that an interrupt comes before or after it.
    """
    squares = y * y
    for j in range(x.shape[0]):
        squares = fma(x[j], x[j], squares)
    if not (squares < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and ordinary(D, c)):
        return False
    R, S, more = np.zeros((1, U.shape[1])), np.empty((1, _SCALARS)), np.empty((1, 2))
    _load(x.reshape(1, x.shape[0]), 0, 1, intercept, R, S)
    square = w * S[0, _P]
    S[0, _A] = w
    S[0, _Q] = 0.0
    S[0, _P] = 0.0
    S[0, _RHO] = y
    _absorb_tile(0, 1, R, S, more, U, D, c)
    loss[0] = fma(S[0, _A] * S[0, _RHO], S[0, _RHO], loss[0])
    prediction = S[0, _P] / (1.0 + w * S[0, _Q]) if shrinks else min(max(S[0, _P], -clip), clip)
    error = prediction - y
    online_loss[0] += w * (error * error)
    tally[0] += 1.0
    tally[1] += 1.0 if w > 0.0 else 0.0
    tally[PEAK] = max(tally[PEAK], square)
    return True


@compiled
def read_one(x: Vector, intercept: bool, U: Matrix, D: Vector, c: Matrix) -> tuple[float, float]:
    """`read` for a single row with one target, on a factor without empty pivots: returns p and q."""
    R, S, more = np.zeros((1, U.shape[1])), np.empty((1, _SCALARS)), np.empty((1, 2))
    _load(x.reshape(1, x.shape[0]), 0, 1, intercept, R, S)
    S[0, _Q] = 0.0
    S[0, _P] = 0.0
    _read_tile(1, R, S, more, U, D, c)
    return S[0, _P], S[0, _Q]


@compiled
def substitute(R: Matrix, U: Matrix, triangular: bool) -> None:
    """Overwrite each row x of R, padded as those of U, with U⁻ᵀx. If `triangular`, row i is 0 before coordinate i."""
    n, d = R.shape[0], U.shape[0]
    S = np.empty((TILE, _SCALARS))
    for i in range(0, n, TILE):
        rows = min(TILE, n - i)
        tile = R[i : i + rows]
        for k in range(i if triangular else 0, d - 1, 2):
            for b in range(rows):
                tile[b, k + 1] = fma(-tile[b, k], U[k, k + 1], tile[b, k + 1])
                S[b, _R0], S[b, _R1] = tile[b, k], tile[b, k + 1]
            if k + 2 < d:
                b = 0
                while b + GROUP <= rows:
                    read_group(U, k, tile, b, S, k + 2)
                    b += GROUP
                while b < rows:
                    read_single(U, k, tile, b, S, k + 2)
                    b += 1


@compiled
def absorb_units(weight: float, U: Matrix, D: Vector, c: Matrix) -> None:
    """Add weight·I to G: the unit rows with targets 0, on a factor without empty pivots. Overwrites U, D and c.

    Unit rows begin late, so this takes a third of the time of as many others.
    """
    d, m = D.shape[0], c.shape[1]
    R, S, more = np.zeros((TILE, U.shape[1])), np.empty((TILE, _SCALARS)), np.zeros((TILE, 2 * m))
    for first in range(0, d, TILE):
        rows = min(TILE, d - first)
        R[:] = 0.0
        S[:] = 0.0
        more[:] = 0.0
        for b in range(rows):
            R[b, first + b] = 1.0
            S[b, _A] = weight
        _absorb_tile(first, rows, R, S, more, U, D, c)


@inlined
def _count(w: Vector, rows: int, largest: float, tally: Vector) -> None:
    counted = 0
    for weight in w[:rows]:
        counted += weight != 0.0
    tally[0] += rows
    tally[1] += counted
    tally[PEAK] = largest


@inlined
def _load(X: Matrix, first: int, rows: int, intercept: bool, R: Matrix, S: Matrix) -> None:
    """Copy rows of X into the tile R, behind the constant if there is one. Leaves ‖x‖² in S."""
    lead = 1 if intercept else 0
    for b in range(rows):
        squares = float(lead)
        R[b, 0] = 1.0
        for j in range(X.shape[1]):
            R[b, j + lead] = X[first + b, j]
            squares = fma(X[first + b, j], X[first + b, j], squares)
        S[b, _P] = squares


@inlined
def _absorb_tile(first: int, rows: int, R: Matrix, S: Matrix, more: Matrix, U: Matrix, D: Vector, c: Matrix) -> None:
    """Absorb the rows in R, two pivots at a time. Overwrites R, S, `more`, U, D and c.

    The rows are 0 before coordinate `first`. In: a = w, q = p = 0, ρ = y. Out: a = w/(1 + wq), q, p, and ρ = y − p.
    """
    d = D.shape[0]
    k = first
    while k + 1 < d:
        u = _absorb_pair(k, rows, R, S, more, U[k, k + 1], D, c)
        if k + 2 < d:
            b = 0
            while b + GROUP <= rows:
                absorb_group(U, k, R, b, S, k + 2)
                b += GROUP
            while b < rows:
                absorb_single(U, k, R, b, S, k + 2)
                b += 1
        U[k, k + 1] = u
        k += 2
    if k < d:
        _absorb_last(k, rows, R, S, more, D, c)


@inlined
def _absorb_pair(k: int, rows: int, R: Matrix, S: Matrix, more: Matrix, u: float, D: Vector, c: Matrix) -> float:
    """Absorb the rows, one after the other, into pivots k and k+1 and their coefficients; u = U[k, k+1], returned anew.

    Overwrites S, `more`, and both pivots' D and c. Leaves each row's residuals and β in S, for the columns that follow.
    The first target rides along in S; further ones take a loop each and keep p and ρ in `more`.
    """
    D_0, D_1, c_0, c_1 = D[k], D[k + 1], c[k, 0], c[k + 1, 0]
    inverse_0, inverse_1 = 1.0 / D_0, 1.0 / D_1
    for b in range(rows):
        r, a = R[b, k], S[b, _A]
        q = fma(r * inverse_0, r, S[b, _Q])
        beta, kept, a, D_0, inverse_0 = _rotate(r, a, D_0)
        rho = S[b, _RHO]
        p, c_old = fma(r, c_0, S[b, _P]), c_0
        c_0 = fma(kept, c_0, beta * rho)
        rho = fma(-r, c_old, rho)
        S[b, _R0], S[b, _BETA0], S[b, _KEPT0] = r, beta, kept
        r = fma(-r, u, R[b, k + 1])
        u = fma(beta, r, u)
        q = fma(r * inverse_1, r, q)
        beta, kept, a, D_1, inverse_1 = _rotate(r, a, D_1)
        p, c_old = fma(r, c_1, p), c_1
        c_1 = fma(kept, c_1, beta * rho)
        rho = fma(-r, c_old, rho)
        S[b, _R1], S[b, _BETA1], S[b, _KEPT1] = r, beta, kept
        S[b, _A], S[b, _Q], S[b, _P], S[b, _RHO] = a, q, p, rho
    D[k], D[k + 1], c[k, 0], c[k + 1, 0] = D_0, D_1, c_0, c_1
    _absorb_more(k, rows, _R0, _KEPT0, S, more, c)
    _absorb_more(k + 1, rows, _R1, _KEPT1, S, more, c)
    return u


@inlined
def _absorb_last(k: int, rows: int, R: Matrix, S: Matrix, more: Matrix, D: Vector, c: Matrix) -> None:
    """`_absorb_pair` for the last pivot of an odd number."""
    D_k, c_k = D[k], c[k, 0]
    inverse = 1.0 / D_k
    for b in range(rows):
        r = R[b, k]
        S[b, _Q] = fma(r * inverse, r, S[b, _Q])
        beta, kept, S[b, _A], D_k, inverse = _rotate(r, S[b, _A], D_k)
        S[b, _P] = fma(r, c_k, S[b, _P])
        rho, c_old = S[b, _RHO], c_k
        c_k = fma(kept, c_k, beta * rho)
        S[b, _R0], S[b, _BETA0], S[b, _KEPT0], S[b, _RHO] = r, beta, kept, fma(-r, c_old, rho)
    D[k], c[k, 0] = D_k, c_k
    _absorb_more(k, rows, _R0, _KEPT0, S, more, c)


@inlined
def _absorb_more(k: int, rows: int, slot: int, kept: int, S: Matrix, more: Matrix, c: Matrix) -> None:
    """The coefficients of further targets; S has the rows' residuals and β from column `slot` on, D/D' in `kept`."""
    for h in range(1, c.shape[1]):
        c_k = c[k, h]
        for b in range(rows):
            r = S[b, slot]
            more[b, 2 * h] = fma(r, c_k, more[b, 2 * h])
            rho, c_old = more[b, 2 * h + 1], c_k
            c_k = fma(S[b, kept], c_k, S[b, slot + 1] * rho)
            more[b, 2 * h + 1] = fma(-r, c_old, rho)
        c[k, h] = c_k


@inlined
def _rotate(r: float, a: float, D: float) -> tuple[float, float, float, float, float]:
    """One row against one pivot: β, the share D/D' that is kept, and what becomes of a, D and 1/D.

    A coefficient becomes kept·c + β·ρ: adding β·(ρ − r·c) to it would lose its digits to a row much larger than those
    before. A pivot that does not change keeps all of it, or many small rows would wear the coefficient away.
    """
    ar = a * r
    D_new = fma(ar, r, D)
    inverse = 1.0 / D_new
    kept = D * inverse if D_new != D else 1.0
    return ar * inverse, kept, (a * D) * inverse, D_new, inverse


@inlined
def _read_tile(rows: int, R: Matrix, S: Matrix, more: Matrix, U: Matrix, D: Vector, c: Matrix) -> None:
    """`_absorb_tile` without learning: adds to q and p. Overwrites R, S and `more`."""
    d = D.shape[0]
    k = 0
    while k + 1 < d:
        for b in range(rows):
            S[b, _R0] = R[b, k]
            S[b, _R1] = fma(-R[b, k], U[k, k + 1], R[b, k + 1])
        _read_pivot(k, rows, _R0, S, more, D, c)
        _read_pivot(k + 1, rows, _R1, S, more, D, c)
        if k + 2 < d:
            b = 0
            while b + GROUP <= rows:
                read_group(U, k, R, b, S, k + 2)
                b += GROUP
            while b < rows:
                read_single(U, k, R, b, S, k + 2)
                b += 1
        k += 2
    if k < d:
        for b in range(rows):
            S[b, _R0] = R[b, k]
        _read_pivot(k, rows, _R0, S, more, D, c)


@inlined
def _read_pivot(k: int, rows: int, slot: int, S: Matrix, more: Matrix, D: Vector, c: Matrix) -> None:
    inverse = 1.0 / D[k]
    for b in range(rows):
        r = S[b, slot]
        S[b, _Q] = fma(r * inverse, r, S[b, _Q])
        S[b, _P] = fma(r, c[k, 0], S[b, _P])
    for h in range(1, c.shape[1]):
        for b in range(rows):
            more[b, 2 * h] = fma(S[b, slot], c[k, h], more[b, 2 * h])


# Without regularisation, pivots start empty (D = 0) and are filled as the rank rises. Only then is this part used.
#
# Whether a residual is 0 must be told from rounding. So every number carries a size, such that its error is a small
# multiple of ε times it: e_j for the residual r_j, and M_kj for U_kj. M is kept in the part of U that is otherwise
# unused, below the diagonal: M_kj at U[j, k]. The decision depends on no column's scale; nor on a row's, while
# there are few enough coordinates for sizes to tell.


@compiled
def _read_deficient(
    r: Vector, e: Vector, own: Vector, w: float, U: Matrix, D: Vector, c: Matrix, p: Vector, q: Vector
) -> int:
    """Read one row r of sizes e against a factor with empty pivots. Overwrites r with its residuals, e, p and q.

    `own` is Σ w x² of each column over all rows that the row comes with: over itself, if it comes alone.

    Returns the empty pivot that the row would fill, or −1 if it lies in the span of the rows before it.

    A residual is no rounding if it is large beside its size. Sizes add up without cancelling, so from some thirty
    coordinates on they can be too large to tell; then it is enough that it is large beside the terms that it is the sum
    of, and that the column stands out from the columns before it by an angle that rounding does not make.
    """
    d = D.shape[0]
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
def _absorb_deficient(
    r: Vector,
    e: Vector,
    own: Vector,
    y: Vector,
    w: float,
    U: Matrix,
    D: Vector,
    c: Matrix,
    loss: Vector,
    p: Vector,
    q: Vector,
    rho: Vector,
) -> int:
    """Absorb one row into a factor with empty pivots. Overwrites everything but own, y and w.

    Returns 1 if the rank rose, 0 if not, and −1, with the factor untouched, if the new pivot would be too small.
    """
    d, m = D.shape[0], c.shape[1]
    x, sizes = r.copy(), e.copy()
    fills = _read_deficient(r, e, own, w, U, D, c, p, q)
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
    e[:] = sizes
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
        beta, kept = ax * inverse, D[k] * inverse if D_new != D[k] else 1.0
        a = (a * D[k]) * inverse
        D[k] = D_new
        for h in range(m):
            c_old = c[k, h]
            c[k, h] = fma(kept, c_old, beta * rho[h])
            rho[h] = fma(-x[k], c_old, rho[h])
        for j in range(k + 1, d):
            e_before, x_before, u = e[j], x[j], U[k, j]
            e[j] = min(e[j] + e[k] * abs(u) + abs(x[k]) * U[j, k], LARGEST_SIZE)
            x[j] = fma(-x[k], u, x[j])
            # A row that takes the pivot over makes U anew: added to the old, it would lose its digits to it.
            U[k, j] = fma(kept, u, beta * x_before) if kept < 0.25 else fma(beta, x[j], u)
            grown = kept * U[j, k] + abs(beta) * (e_before + e[k] * abs(U[k, j]))
            U[j, k] = max(abs(U[k, j]), min(grown, LARGEST_SIZE))
    for h in range(m):
        loss[h] = fma(a * rho[h], rho[h], loss[h])
    return 0


@compiled
def absorb_factor(X: Matrix, E: Matrix, Y: Matrix, w: Vector, U: Matrix, D: Vector, c: Matrix, loss: Vector) -> int:
    """Absorb rows that are another factor's, whose values have errors of sizes E. Overwrites U, D, c and adds to loss.

    Returns how many rows were absorbed, as `absorb` does.
    """
    m = Y.shape[1]
    p, q, rho = np.empty(m), np.empty(1), np.empty(m)
    own = np.zeros(X.shape[1])  # a value that is rounding is small beside its column, not beside itself
    for i in range(X.shape[0]):
        own += w[i] * X[i] * X[i]
    for i in range(X.shape[0]):
        if _absorb_deficient(X[i].copy(), E[i].copy(), own, Y[i], w[i], U, D, c, loss, p, q, rho) < 0:
            return i
    return int(X.shape[0])


# What a prior mean and the online loss need. Row by row and in order, so that batches make no difference.


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
def shrink(p: Matrix, q: Vector, w: Vector) -> Matrix:
    """The forward read-out p / (1 + wq). Where q is infinite p is 0, and so is the read-out, even if w is 0."""
    out = np.empty_like(p)
    if p.shape[1] == 1:  # the same, in vectors
        flat_p, flat_out = p.reshape(p.size), out.reshape(p.size)
        for i in range(p.size):
            value = flat_p[i] / (1.0 + w[i] * q[i])
            flat_out[i] = value if q[i] != np.inf else 0.0
    else:
        for i in range(p.shape[0]):
            for h in range(p.shape[1]):
                out[i, h] = p[i, h] / (1.0 + w[i] * q[i]) if q[i] != np.inf else 0.0
    return out


@compiled
def add_squared_errors(predictions: Matrix, Y: Matrix, w: Vector, total: Vector) -> None:
    """Add Σ w (ŷ − y)² to `total`, for each target."""
    for h in range(Y.shape[1]):
        t = total[h]
        for i in range(Y.shape[0]):
            error = predictions[i, h] - Y[i, h]
            t += w[i] * (error * error)
        total[h] = t
