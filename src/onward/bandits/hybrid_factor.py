"""The factor of a model with own coefficients for each arm and shared ones for all. Compiled.

The coordinates are those of the arms, one arm after the other, and then the shared ones. A row of an arm is 0 but in
that arm's and in the shared coordinates, so that of U only two blocks are not 0: an arm's own, d rows over its own and
the shared coordinates, and the shared one. A row goes through the pivots of its arm and what is left of it through the
shared pivots: the elimination of blocks, at the cost of d + k coordinates whatever the number of arms.

A pivot is a row of numbers: D, c, and U over the arm's and the shared coordinates, or over the shared ones alone.
"""

import math

import numpy as np
from numpy.typing import NDArray

from onward.core.compile import compiled, inlined
from onward.core.factor import absorb_value, rotate
from onward.core.simd import fma
from onward.core.types import Matrix, Vector

COMPILED_FROM = "315a09ccefbb46cb"  # other files whose code is compiled into this one: see tools/digests.py

N_PIVOT = 2  # numbers of a pivot before U: D and c


@inlined
def _read_pivots(pivots: Matrix, first: int, count: int, row: Vector, start: int) -> tuple[float, float]:
    """p and q of a row, from coordinate `start` on, against so many pivots. Overwrites the row with what is left."""
    p, q = 0.0, 0.0
    for k in range(count):
        pivot, r = pivots[first + k], row[start + k]
        q = fma(r / pivot[0], r, q)
        p = fma(r, pivot[1], p)
        for j in range(k + 1, row.shape[0] - start):
            row[start + j] = fma(-r, pivot[N_PIVOT + j], row[start + j])
    return p, q


@compiled
def read_hybrid(own: Matrix, shared: Matrix, slots: NDArray[np.int64], X: Matrix, Z: Matrix) -> Matrix:
    """Estimate and leverage of each arm, in two rows; X and Z have a row for each arm, or one for all."""
    n, d, k = slots.shape[0], X.shape[1], Z.shape[1]
    out, row = np.empty((2, n)), np.empty(d + k)
    for a in range(n):
        row[:d] = X[a if X.shape[0] > 1 else 0]
        row[d:] = Z[a if Z.shape[0] > 1 else 0]
        p, q = _read_pivots(own, slots[a] * d, d, row, 0)
        more = _read_pivots(shared, 0, k, row, d)
        out[0, a], out[1, a] = p + more[0], q + more[1]
    return out


@inlined
def _absorb_pivots(
    pivots: Matrix, first: int, count: int, row: Vector, start: int, a: float, rho: float
) -> tuple[float, float, float]:
    """Absorb a row of weight a with target ρ into so many pivots; the weight and target of what is left, and the gain.

    Overwrites the pivots, and the row with what is left of it.
    """
    gain = 0.0
    for k in range(count):
        pivot, r = pivots[first + k], row[start + k]
        before, old = pivot[0], pivot[1]
        beta, share, a, pivot[0], _ = rotate(r, a, before)
        pivot[1] = fma(share, old, beta * rho)
        rho = fma(-r, old, rho)
        gain += math.log(pivot[0] / before)
        for j in range(k + 1, row.shape[0] - start):
            row[start + j], pivot[N_PIVOT + j] = absorb_value(row[start + j], pivot[N_PIVOT + j], r, beta, share)
    return a, rho, gain


@compiled
def learn_hybrid(own: Matrix, shared: Matrix, slot: int, x: Vector, z: Vector, y: float) -> tuple[float, float]:
    """Learn the reward y of the arm in this slot. Overwrites both factors; the loss and the gain that it adds."""
    d, k = x.shape[0], z.shape[0]
    row = np.empty(d + k)
    row[:d] = x
    row[d:] = z
    a, rho, gain = _absorb_pivots(own, slot * d, d, row, 0, 1.0, y)
    a, rho, more = _absorb_pivots(shared, 0, k, row, d, a, rho)
    return a * rho * rho, gain + more


@compiled
def sample_hybrid(own: Matrix, shared: Matrix, slots: NDArray[np.int64], X: Matrix, Z: Matrix, draws: Vector) -> Vector:
    """For each arm, its features times one draw from N(0, G⁻¹): the shared part of the draw is the same for all.

    `draws` are standard normal: k for the shared coordinates, then d for each arm.
    """
    n, d, k = slots.shape[0], X.shape[1], Z.shape[1]
    s, out = np.zeros(d + k), np.empty(n)
    for i in range(k - 1, -1, -1):
        total = draws[i] / math.sqrt(shared[i, 0])
        for j in range(i + 1, k):
            total = fma(-shared[i, N_PIVOT + j], s[d + j], total)
        s[d + i] = total
    for a in range(n):
        x, z = X[a if X.shape[0] > 1 else 0], Z[a if Z.shape[0] > 1 else 0]
        for i in range(d - 1, -1, -1):
            pivot = own[slots[a] * d + i]
            total = draws[k + a * d + i] / math.sqrt(pivot[0])
            for j in range(i + 1, d + k):
                total = fma(-pivot[N_PIVOT + j], s[j], total)
            s[i] = total
        out[a] = 0.0
        for j in range(d):
            out[a] = fma(x[j], s[j], out[a])
        for j in range(k):
            out[a] = fma(z[j], s[d + j], out[a])
    return out


@compiled
def solve_hybrid(own: Matrix, shared: Matrix, slot: int, d: int) -> Vector:
    """The coefficients of the arm in this slot, and then the shared ones."""
    k = shared.shape[0]
    theta = np.zeros(d + k)
    for i in range(k - 1, -1, -1):
        theta[d + i] = shared[i, 1]
        for j in range(i + 1, k):
            theta[d + i] = fma(-shared[i, N_PIVOT + j], theta[d + j], theta[d + i])
    for i in range(d - 1, -1, -1):
        pivot = own[slot * d + i]
        theta[i] = pivot[1]
        for j in range(i + 1, d + k):
            theta[i] = fma(-pivot[N_PIVOT + j], theta[j], theta[i])
    return theta
