"""The one state: a factored least-squares problem, as views of a flat buffer, and what one row does to it.

G = UᵀDU and Uθ = c stand for  Σ w (y − xᵀθ)² + ‖θ‖²_Λ  =  loss + ‖c − Uθ‖²_D.  U is unit upper triangular; only what
stands above the diagonal is used, in rows padded to whole vectors. c has a column for each target.

Regressors, grids of λ, parts of a parallel pass and the memories of bandits hold it. Rows that come in batches are
absorbed in tiles (tiles.py), to the same bits as one at a time here.
"""

import math
from typing import NamedTuple

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.simd import (
    absorb_single,
    dot_from,
    fma,
    padded,
    rarely,
    read_single,
)
from onward.core.types import Matrix, Records, Vector
from onward.core.unrolled import FEW, TAKEN_OVER
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "fc34c9c25e9ccb23"  # other files whose code is compiled into this one: see tools/digests.py

COUNTS = np.dtype(
    [
        ("seen", "f8"),  # rows absorbed; of a detector's model, rewards that it has checked
        ("counted", "f8"),  # those of them with a weight; of discounted rows, Σ γ^2(t−s), and of their Ṽ the share of λ
        ("peak", "f8"),  # the largest w‖x‖²
    ]
)
N_COUNTS = 3
ALIGNED = 8  # numbers in a line of the cache: triangles begin at the start of one
SWEPT = 12  # from so many coordinates on, the sweep over two pivots at a time pays
FADED = 1e-200
ORDINARY = 1e20  # values, weights and states well inside these bounds can neither overflow nor underflow


class Factor(NamedTuple):
    """Views of one buffer."""

    counts: Records
    loss: Vector  # (m,): min over θ of the quadratic, for each target
    D: Vector  # (d,): pivots; 0 where nothing is known and nothing regularised
    c: Matrix  # (d, m)
    U: Matrix  # (d, padded d)


padded_to = inlined(padded)
_as_counts = records_of(COUNTS)


@inlined
def aligned(size: int) -> int:
    """A size, rounded up to whole lines of the cache."""
    return (size + ALIGNED - 1) // ALIGNED * ALIGNED


@compiled
def factor_size(d: int, m: int) -> int:
    """Numbers in the buffer of a factor of d coordinates and m targets."""
    return aligned(N_COUNTS + m + d + d * m) + d * padded_to(d)


@inlined
def view_factor(buffer: Vector, at: int, d: int, m: int) -> Factor:
    """The factor that begins at `at`. The only place that knows where things are."""
    loss = at + N_COUNTS
    D = loss + m
    c = D + d
    U = at + aligned(N_COUNTS + m + d + d * m)
    width = padded_to(d)
    return Factor(
        _as_counts(part(buffer, at, loss)),
        part(buffer, loss, D),
        part(buffer, D, c),
        as_matrix(part(buffer, c, c + d * m), d, m),
        as_matrix(part(buffer, U, U + d * width), d, width),
    )


@inlined
def copy_vector(x: Vector, out: Vector) -> None:
    """Overwrite the beginning of `out` with x. A slice would do; but its error message takes a second to compile."""
    for j in range(x.shape[0]):
        out[j] = x[j]


@inlined
def from_zero() -> int:
    """0, to count from. The constant is a type of its own, which everything called with it is compiled for anew."""
    return int(np.int64(0))


@compiled
def clear(factor: Factor, lam: Vector) -> None:
    """Know nothing but λ of each coordinate."""
    counts = factor.counts[0]
    counts.seen = 0.0
    counts.counted = 0.0
    counts.peak = 0.0
    factor.loss[:] = 0.0
    factor.c[:] = 0.0
    factor.U[:] = 0.0
    copy_vector(lam, factor.D)


@inlined
def count_row(factor: Factor, w: float, square: float) -> None:
    """Note a row of weight w and squared norm `square` among the counts."""
    counts = factor.counts[0]
    counts.seen += 1.0
    counts.counted += 1.0 if w != 0.0 else 0.0
    counts.peak = max(counts.peak, w * square)


@inlined
def new_scratch(d: int) -> Matrix:
    """Room for a row of d coordinates, padded with zeros, and for the scalars of a sweep."""
    return np.zeros((2, padded_to(d)))


@inlined
def rotate(r: float, a: float, D: float) -> tuple[float, float, float, float, float]:
    """One row against one pivot: β, the share D/D' that is kept, and what becomes of a, D and 1/D.

    A coefficient becomes share·c + β·ρ: adding β·(ρ − r·c) to it would lose its digits to a row much larger than those
    before. A pivot that does not change keeps all of it, or many small rows would wear the coefficient away.
    """
    ar = a * r
    D_new = fma(ar, r, D)
    inverse = 1.0 / D_new
    share = D * inverse if D_new != D else 1.0
    return ar * inverse, share, (a * D) * inverse, D_new, inverse


@inlined
def absorb_value(x: float, u: float, r: float, beta: float, share: float) -> tuple[float, float]:
    """A row's value x in a column, and U there, once the row has met the pivot: x − r·u, and share·u + β·x.

    Mostly the latter is u + β·(x − r·u): sooner, and many rows do not wear it away. But of a row that takes the pivot
    over, it would be rounding of the old u, many times the new one.
    """
    left = fma(-r, u, x)
    if rarely(share < TAKEN_OVER):
        return left, fma(share, u, beta * x)
    return left, fma(beta, left, u)


@compiled
def take_over(U: Matrix, k: int, R: Matrix, b: int, r: float, beta: float, share: float, first: int) -> None:
    """Row b of R meets pivot k, in columns from `first` on: what the sweeps do, for a row that may take it over.

    Overwrites U and R.
    """
    for j in range(first, U.shape[1]):
        R[b, j], U[k, j] = absorb_value(R[b, j], U[k, j], r, beta, share)


@inlined
def absorb_row(
    factor: Factor, scratch: Matrix, y: float, w: float, first: int, scored: bool, more: Matrix
) -> tuple[float, float]:
    """Absorb the row in scratch[0], 0 before coordinate `first`, with target y and weight w; a negative one removes it.

    Returns p = xᵀG⁻¹b and the leverage q = xᵀG⁻¹x from before it, if `scored`. Of further targets, more[1] has the
    values and more[0] takes p. No pivot may be empty. Overwrites the factor but for its counts, scratch and `more`.
    """
    U, D, c = factor.U, factor.D, factor.c
    R, S, d, m = scratch[0:1], scratch[1:2], factor.D.shape[0], factor.c.shape[1]
    a, rho, p, q = w, y, 0.0, 0.0
    k = first
    while k < d:
        r, old = R[0, k], c[k, 0]
        if scored:
            q = fma(r * (1.0 / D[k]), r, q)
            p = fma(r, old, p)
        beta, share, a, D[k], _ = rotate(r, a, D[k])
        c[k, 0] = fma(share, old, beta * rho)
        rho = fma(-r, old, rho)
        if m > 1:
            _absorb_more(k, r, beta, share, c, more)
        if d < SWEPT or k + 1 == d:
            if share < TAKEN_OVER:
                take_over(U, k, R, 0, r, beta, share, k + 1)
            else:
                for j in range(k + 1, d):
                    R[0, j] = fma(-r, U[k, j], R[0, j])
                    U[k, j] = fma(beta, R[0, j], U[k, j])
            k += 1
            continue
        s, u = absorb_value(R[0, k + 1], U[k, k + 1], r, beta, share)
        S[0, 0], S[0, 1], S[0, 2] = r, beta, s
        beta_0, share_0 = beta, share
        old = c[k + 1, 0]
        if scored:
            q = fma(s * (1.0 / D[k + 1]), s, q)
            p = fma(s, old, p)
        beta, share, a, D[k + 1], _ = rotate(s, a, D[k + 1])
        S[0, 3] = beta
        c[k + 1, 0] = fma(share, old, beta * rho)
        rho = fma(-s, old, rho)
        if m > 1:
            _absorb_more(k + 1, s, beta, share, c, more)
        if k + 2 < d and (share_0 < TAKEN_OVER or share < TAKEN_OVER):
            take_over(U, k, R, 0, r, beta_0, share_0, k + 2)
            take_over(U, k + 1, R, 0, s, beta, share, k + 2)
        elif k + 2 < d:
            absorb_single(U, k, R, 0, S, k + 2)
        U[k, k + 1] = u
        k += 2
    factor.loss[0] = fma(a * rho, rho, factor.loss[0])
    for h in range(1, m):
        factor.loss[h] = fma(a * more[1, h], more[1, h], factor.loss[h])
    return p, q


@inlined
def _absorb_more(k: int, r: float, beta: float, share: float, c: Matrix, more: Matrix) -> None:
    for h in range(1, c.shape[1]):
        old, rho = c[k, h], more[1, h]
        more[0, h] = fma(r, old, more[0, h])
        c[k, h] = fma(share, old, beta * rho)
        more[1, h] = fma(-r, old, rho)


@inlined
def read_row(factor: Factor, scratch: Matrix, more: Matrix) -> tuple[float, float]:
    """p and q of the row in scratch[0], as `absorb_row` gives them. Of further targets, more[0] takes p, from 0 on.

    Overwrites scratch and `more`.
    """
    U, D, c = factor.U, factor.D, factor.c
    R, S, d, m = scratch[0:1], scratch[1:2], factor.D.shape[0], factor.c.shape[1]
    p, q = 0.0, 0.0
    k = 0
    while k < d:
        r = R[0, k]
        q = fma(r * (1.0 / D[k]), r, q)
        p = fma(r, c[k, 0], p)
        for h in range(1, m):
            more[0, h] = fma(r, c[k, h], more[0, h])
        if d < SWEPT or k + 1 == d:
            for j in range(k + 1, d):
                R[0, j] = fma(-r, U[k, j], R[0, j])
            k += 1
            continue
        s = fma(-r, U[k, k + 1], R[0, k + 1])
        q = fma(s * (1.0 / D[k + 1]), s, q)
        p = fma(s, c[k + 1, 0], p)
        for h in range(1, m):
            more[0, h] = fma(s, c[k + 1, h], more[0, h])
        S[0, 0], S[0, 2] = r, s
        if k + 2 < d:
            read_single(U, k, R, 0, S, k + 2)
        k += 2
    return p, q


@inlined
def load_row(x: Vector, scratch: Matrix) -> None:
    """Copy a row into scratch[0]."""
    copy_vector(x, scratch[0])


@inlined
def square_of(x: Vector) -> float:
    """‖x‖², to the same bits wherever it is asked for: a row must not be too long here and not there."""
    d = x.shape[0]
    if d > FEW:
        return dot_from(as_matrix(x, 1, d), 0, x, 0)
    square = 0.0
    for j in range(d):
        square = fma(x[j], x[j], square)
    return square


@compiled
def absorb_one(factor: Factor, x: Vector, y: float, w: float, scratch: Matrix) -> None:
    """Absorb one row of one target. Overwrites the factor but for its counts, and scratch."""
    load_row(x, scratch)
    absorb_row(factor, scratch, y, w, 0, False, scratch)


@compiled
def remove_row(factor: Factor, row: Vector, w: float, scratch: Matrix, more: Matrix) -> float:
    """Take out a row of weight w, its coordinates followed by its targets; what share is left in its direction.

    Digits are lost in proportion to it, and do not come back; if it is not positive, the factor is spoiled. The caller
    sees to that. Overwrites the factor but for its counts, scratch and, for several targets, `more` (2, m).
    """
    d, m = factor.c.shape
    load_row(row[:d], scratch)
    for h in range(1, m):
        more[0, h] = 0.0
        more[1, h] = row[d + h]
    return 1.0 - w * absorb_row(factor, scratch, float(row[d]), -w, 0, True, more)[1]


@compiled
def weighted_trace(factor: Factor, weights: Vector) -> float:
    """Σ_j weights_j G_jj: the second moments of the coordinates, summed up."""
    d, total = factor.D.shape[0], 0.0
    for k in range(d):
        inner = weights[k]
        for j in range(k + 1, d):
            inner = fma(weights[j] * factor.U[k, j], factor.U[k, j], inner)
        total = fma(factor.D[k], inner, total)
    return total


@compiled
def information_gain(factor: Factor, lam: Vector) -> float:
    """log det G − Σ log λ, for λ > 0."""
    total, product = 0.0, 1.0
    for k in range(lam.shape[0]):
        ratio = factor.D[k] / lam[k]
        if ratio < 1e150:  # a logarithm now and then: they cost more than the rest
            product *= ratio
        else:
            total += math.log(factor.D[k]) - math.log(lam[k])
        if product > 1e150:
            total += math.log(product)
            product = 1.0
    return max(0.0, total + math.log(product))


@inlined
def scale_past(factor: Factor, gamma: float, lam: Vector) -> None:
    """Let everything that was learned, and λ with it, count γ times as much.

    A pivot that is not regularised does not fade below `FADED`, which no row can tell from 0: an empty one would have
    no coefficient, where the latest is still the best that is known.
    """
    for k in range(factor.D.shape[0]):
        faded = gamma * factor.D[k]
        if faded < FADED and lam[k] == 0.0:
            faded = min(factor.D[k], FADED)
        factor.D[k] = faded
    for h in range(factor.loss.shape[0]):
        factor.loss[h] *= gamma


@inlined
def has_empty_pivots(factor: Factor) -> bool:
    """Whether the rank is deficient, as it can be where a λ is 0."""
    empty = 0
    for k in range(factor.D.shape[0]):
        empty += factor.D[k] == 0.0
    return empty > 0


@compiled
def is_ordinary(factor: Factor) -> bool:
    """Whether the factor is full and far from the ends of the floating-point range.

    U is not looked at: D_k U_kj² is at most λ_j and the squares of column j, each of which is at most the peak.
    """
    if not factor.counts[0].peak < ORDINARY * ORDINARY * ORDINARY:
        return False
    for k in range(factor.D.shape[0]):
        if not 1e-30 < factor.D[k] < 1e60:
            return False
        for h in range(factor.c.shape[1]):
            if not abs(factor.c[k, h]) < 1e30:
                return False
    return True
