"""Rows in batches: read in tiles, side by side, to the same bits as one at a time."""

from typing import NamedTuple

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.deficient import read_deficient
from onward.core.factor import Factor, from_zero, new_scratch, read_row
from onward.core.side_by_side import ACROSS, PIVOTS, eliminate_pivot, eliminate_pivots, lay_side_by_side
from onward.core.simd import fma
from onward.core.tiles import SCALARS, load_rows, size_of_row
from onward.core.types import Matrix, Vector

COMPILED_FROM = "5c24f6057588f22c"  # other files whose code is compiled into this one: see tools/digests.py

ALONE = 2  # so few rows are sooner read one at a time


@compiled
def read_rows(factor: Factor, X: Matrix, intercept: bool, p: Matrix, q: Vector) -> None:
    """What is known of each row of X, without learning: overwrites p and q, as `absorb_rows` would to the last bit."""
    d = factor.D.shape[0]
    deficient = False
    for k in range(d):
        deficient = deficient or factor.D[k] == 0.0
    if not deficient:
        read_full_rows(factor, X, p, q)
        return
    R, S, e, own = np.zeros((1, factor.U.shape[1])), np.empty((1, SCALARS)), np.empty(d), np.empty(d)
    for i in range(X.shape[0]):
        load_rows(X, i, 1, intercept, R, S)
        size_of_row(R, 1.0, e, own)
        read_deficient(factor, R[0], e, own, 1.0, p[i], q[i : i + 1])


class Tile(NamedTuple):
    """Rows that wait to be read together, and what was read."""

    R: Matrix  # (ACROSS, padded d): the rows
    Z: Matrix  # (padded d, ACROSS): what each row has left at each pivot, z with Uᵀz = x
    inverse: Vector  # (d,): 1/D
    P: Matrix  # (m, ACROSS): p of each row, for each target
    Q: Vector  # (ACROSS,): q


@inlined
def new_tile(factor: Factor) -> Tile:
    """Room for rows to read against this factor, which has no empty pivots and stays as it is meanwhile."""
    d, m, width = factor.c.shape[0], factor.c.shape[1], factor.U.shape[1]
    inverse = np.empty(d)
    for k in range(d):
        inverse[k] = 1.0 / factor.D[k]
    return Tile(np.zeros((ACROSS, width)), np.empty((width, ACROSS)), inverse, np.empty((m, ACROSS)), np.empty(ACROSS))


@inlined
def put_in_tile(tile: Tile, b: int, X: Matrix, i: int) -> None:
    """Make row i of X the b-th of the tile, behind the constant if X lacks a coordinate."""
    lead = tile.inverse.shape[0] - X.shape[1]
    if lead > 0:
        tile.R[b, 0] = 1.0
    for j in range(X.shape[1]):
        tile.R[b, j + lead] = X[i, j]


@compiled
def read_tile(factor: Factor, tile: Tile) -> None:
    """`read_rows` of the rows of a tile. Overwrites Z, P and Q."""
    U, c, Z, P, Q, (d, m) = factor.U, factor.c, tile.Z, tile.P, tile.Q, factor.c.shape
    lay_side_by_side(tile.R, Z)
    for b in range(ACROSS):
        Q[b] = 0.0
        for h in range(m):
            P[h, b] = 0.0
    k = from_zero()
    while k + PIVOTS <= d:
        eliminate_pivots(U, k, Z, tile.inverse, c, P, Q)
        k += PIVOTS
    while k < d:
        eliminate_pivot(U, k, Z, tile.inverse, c, P, Q)
        k += 1
    for h in range(1, m):
        for k in range(d):
            for b in range(ACROSS):
                P[h, b] = fma(Z[k, b], c[k, h], P[h, b])


@compiled
def read_full_rows(factor: Factor, X: Matrix, p: Matrix, q: Vector) -> None:
    """`read_rows` of a factor without empty pivots; behind the constant if X lacks a coordinate."""
    n, (d, m) = X.shape[0], factor.c.shape
    i = from_zero()
    if n > ALONE:
        tile = new_tile(factor)
        while n - i > ALONE:
            rows = min(ACROSS, n - i)
            for b in range(rows):
                put_in_tile(tile, b, X, i + b)
            read_tile(factor, tile)
            for b in range(rows):
                q[i + b] = tile.Q[b]
                for h in range(m):
                    p[i + b, h] = tile.P[h, b]
            i += rows
    scratch, more, lead = new_scratch(d), np.empty((2, m)), d - X.shape[1]
    while i < n:
        scratch[0, 0] = 1.0
        for j in range(X.shape[1]):
            scratch[0, j + lead] = X[i, j]
        more[:] = 0.0
        p[i, 0], q[i] = read_row(factor, scratch, more)
        for h in range(1, m):
            p[i, h] = more[0, h]
        i += 1
