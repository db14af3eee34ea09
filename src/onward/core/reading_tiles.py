"""Rows in batches: read in tiles, several rows against two pivots at a time, to the same bits as one at a time."""

from typing import NamedTuple

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.deficient import read_deficient
from onward.core.factor import Factor, from_zero
from onward.core.simd import GROUP, fma, read_group, read_single
from onward.core.tiles import R0, R1, SCALARS, TILE, P, Q, load_rows, size_of_row
from onward.core.types import Matrix, Vector

COMPILED_FROM = "5253ed88109af3d5"  # other files whose code is compiled into this one: see tools/digests.py


@compiled
def read_rows(factor: Factor, X: Matrix, intercept: bool, p: Matrix, q: Vector) -> None:
    """What is known of each row of X, without learning: overwrites p and q, as `absorb_rows` would to the last bit."""
    d = factor.D.shape[0]
    deficient = False
    for k in range(d):
        deficient = deficient or factor.D[k] == 0.0
    if not deficient:
        read_full_rows(factor, X, intercept, p, q)
        return
    R, S, e, own = np.zeros((1, factor.U.shape[1])), np.empty((1, SCALARS)), np.empty(d), np.empty(d)
    for i in range(X.shape[0]):
        load_rows(X, i, 1, intercept, R, S)
        size_of_row(R, 1.0, e, own)
        read_deficient(factor, R[0], e, own, 1.0, p[i], q[i : i + 1])


@compiled
def read_full_rows(factor: Factor, X: Matrix, intercept: bool, p: Matrix, q: Vector) -> None:
    """`read_rows` of a factor without empty pivots."""
    n, m = X.shape[0], factor.c.shape[1]
    R, S = np.zeros((TILE, factor.U.shape[1])), np.empty((TILE, SCALARS))
    more = np.empty((TILE, 2 * m))
    for i in range(0, n, TILE):
        rows = min(TILE, n - i)
        load_rows(X, i, rows, intercept, R, S)
        for b in range(rows):
            S[b, Q] = 0.0
            S[b, P] = 0.0
            for h in range(1, m):
                more[b, 2 * h] = 0.0
        _read_tile(factor, rows, R, S, more)
        for b in range(rows):
            q[i + b] = S[b, Q]
            p[i + b, 0] = S[b, P]
            for h in range(1, m):
                p[i + b, h] = more[b, 2 * h]


class Tile(NamedTuple):
    """Rows of one target that wait to be read together."""

    R: Matrix
    S: Matrix
    more: Matrix


@inlined
def new_tile(factor: Factor) -> Tile:
    """Room for rows to read against this factor."""
    return Tile(np.zeros((TILE, factor.U.shape[1])), np.empty((TILE, SCALARS)), np.empty((TILE, 2)))


@inlined
def put_in_tile(tile: Tile, b: int, x: Vector) -> None:
    """Make x the b-th row of the tile."""
    for j in range(x.shape[0]):
        tile.R[b, j] = x[j]


@compiled
def read_tile(factor: Factor, tile: Tile, rows: int, p: Vector, q: Vector) -> None:
    """`read_rows` of the first rows of a tile. Overwrites it, p and q."""
    for b in range(rows):
        tile.S[b, Q] = 0.0
        tile.S[b, P] = 0.0
    _read_tile(factor, rows, tile.R, tile.S, tile.more)
    for b in range(rows):
        q[b] = tile.S[b, Q]
        p[b] = tile.S[b, P]


@compiled
def substitute(factor: Factor, R: Matrix, triangular: bool) -> None:
    """Overwrite each row x of R, padded as those of U, with U⁻ᵀx. If `triangular`, row i is 0 before coordinate i."""
    U, n, d = factor.U, R.shape[0], factor.U.shape[0]
    S = np.empty((TILE, SCALARS))
    for i in range(0, n, TILE):
        rows = min(TILE, n - i)
        tile = R[i : i + rows]
        for k in range(i if triangular else 0, d - 1, 2):
            for b in range(rows):
                tile[b, k + 1] = fma(-tile[b, k], U[k, k + 1], tile[b, k + 1])
                S[b, R0], S[b, R1] = tile[b, k], tile[b, k + 1]
            if k + 2 < d:
                b = 0
                while b + GROUP <= rows:
                    read_group(U, k, tile, b, S, k + 2)
                    b += GROUP
                while b < rows:
                    read_single(U, k, tile, b, S, k + 2)
                    b += 1


@inlined
def _read_tile(factor: Factor, rows: int, R: Matrix, S: Matrix, more: Matrix) -> None:
    """`_absorb_tile` without learning: adds to q and p. Overwrites R, S and `more`."""
    U, D, c, d = factor.U, factor.D, factor.c, factor.D.shape[0]
    grouped = rows // GROUP * GROUP
    if rows - grouped > 1 and grouped + GROUP <= R.shape[0]:  # a group costs as much as a single: empty rows fill it up
        for b in range(rows, grouped + GROUP):
            S[b, R0], S[b, R1] = 0.0, 0.0
        grouped += GROUP
    k = from_zero()
    while k + 1 < d:
        for b in range(rows):
            S[b, R0] = R[b, k]
            S[b, R1] = fma(-R[b, k], U[k, k + 1], R[b, k + 1])
        _read_pivot(k, rows, R0, S, more, D, c)
        _read_pivot(k + 1, rows, R1, S, more, D, c)
        if k + 2 < d:
            for b in range(0, grouped, GROUP):
                read_group(U, k, R, b, S, k + 2)
            for b in range(grouped, rows):
                read_single(U, k, R, b, S, k + 2)
        k += 2
    if k < d:
        for b in range(rows):
            S[b, R0] = R[b, k]
        _read_pivot(k, rows, R0, S, more, D, c)


@inlined
def _read_pivot(k: int, rows: int, slot: int, S: Matrix, more: Matrix, D: Vector, c: Matrix) -> None:
    inverse = 1.0 / D[k]
    for b in range(rows):
        r = S[b, slot]
        S[b, Q] = fma(r * inverse, r, S[b, Q])
        S[b, P] = fma(r, c[k, 0], S[b, P])
    for h in range(1, c.shape[1]):
        for b in range(rows):
            more[b, 2 * h] = fma(S[b, slot], c[k, h], more[b, 2 * h])
