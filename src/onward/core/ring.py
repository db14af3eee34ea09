"""A ring of the last rows, and how the oldest of them is taken out of a factor: what every window is made of.

Taking a row out loses digits in proportion to what is left in its direction, and of each target's sum of squares, and
they do not come back. So before the losses add up to much, and once in every window's length, the factor is to be made
anew from the rows themselves. λ bounds those of G from the other side: G never holds less than Λ, and never more than Λ
and the rows of a window. Where these are not many times λ, no rounding can come to count many times as much.
"""

from typing import NamedTuple

import numpy as np

from onward.core.compile import inlined
from onward.core.factor import Factor, has_empty_pivots, remove_row
from onward.core.simd import fma
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "3af03b339648bbc4"  # other files whose code is compiled into this one: see tools/digests.py

RING = np.dtype(
    [
        ("next_slot", "f8"),  # where the next row goes
        ("n_stored", "f8"),
        ("n_removed", "f8"),  # rows taken out since the factor was made ...
        ("rounding_growth", "f8"),  # ... and by how much the worst rounding since then may have grown
    ]
)
N_RING = 4
MOST_GROWTH = 1000.0  # by so much may the rounding of the factor grow, before it is made anew
FINEST = 1e-22  # of a column's squares: a pivot that is less loses more than 1e-9 of itself to rounding, each time
FIRST_CAPACITY = 8  # for so many rows, or whatever else grows in number, there is room at first: it doubles

HAD_ROOM, TAKEN_OUT, MAKE_ANEW = range(3)
_as_ring = records_of(RING)


class Ring(NamedTuple):
    """Views of a buffer."""

    header: Records
    rows: Matrix  # (capacity, width): the coordinates of each row, its targets, and what else came with it


@inlined
def view_ring(buffer: Vector, header: int, rows: int, capacity: int, width: int) -> Ring:
    """The ring whose header and rows begin at these places."""
    return Ring(
        _as_ring(part(buffer, header, header + N_RING)),
        as_matrix(part(buffer, rows, rows + capacity * width), capacity, width),
    )


@inlined
def clear_ring(ring: Ring) -> None:
    """Hold no row."""
    header = ring.header[0]
    header.next_slot = 0.0
    header.n_stored = 0.0
    begin_anew(ring)


@inlined
def begin_anew(ring: Ring) -> None:
    """Note that the factor is made anew from the rows."""
    header = ring.header[0]
    header.n_removed = 0.0
    header.rounding_growth = 1.0


@inlined
def lacks_room(ring: Ring, window: float) -> bool:
    """Whether there must be room for more rows before the next can be stored."""
    capacity = float(ring.rows.shape[0])
    return bool(ring.header[0].n_stored == capacity < window)


@inlined
def make_room(
    ring: Ring, window: float, factor: Factor, lam_least: float, w: float, scratch: Matrix, more: Matrix
) -> int:
    """Take the oldest row, of weight w, out of the factor if the ring is full; it stays in the ring.

    Says whether it was taken out. If the factor must be made anew (`MAKE_ANEW`), it is spoiled or will be. Overwrites
    the factor but for its counts, scratch and, for several targets, `more` (2, m).
    """
    header = ring.header[0]
    if header.n_stored < window:
        return HAD_ROOM
    header.n_removed += 1.0
    if header.n_removed >= window:
        return MAKE_ANEW
    if has_empty_pivots(factor):  # such a factor only takes rows in
        return MAKE_ANEW
    left = share = 1.0
    if w != 0.0:
        row = ring.rows[int(header.next_slot)]
        left = remove_row(factor, row, w, scratch, more)
        share = _least_share(factor, row, w)
    bounded = window * factor.counts[0].peak < (MOST_GROWTH - 1.0) * lam_least
    header.rounding_growth /= share if bounded else min(left, share)
    holds = min(left, share) > 0.0 and header.rounding_growth < MOST_GROWTH
    return TAKEN_OUT if holds and not _has_fine_pivot(factor, window) else MAKE_ANEW


@inlined
def _has_fine_pivot(factor: Factor, window: float) -> bool:
    """Whether a pivot is so small beside its column that rounding of the row which was taken out may outweigh it.

    It is of λ alone then, mostly: of columns that are alike. Taking rows in does it no harm.
    """
    U, D, d = factor.U, factor.D, factor.D.shape[0]
    usual = FINEST * window * factor.counts[0].peak  # at least FINEST times the squares of any column, λ aside
    for j in range(d):
        if D[j] < usual:
            squares = D[j]
            for k in range(j):
                squares = fma(D[k] * U[k, j], U[k, j], squares)
            if D[j] < FINEST * squares:
                return True
    return False


@inlined
def _least_share(factor: Factor, row: Vector, w: float) -> float:
    """Of each target's sum of squares, what the row that was taken out has left: the least such share."""
    d, m = factor.c.shape
    least = 1.0
    for h in range(m):
        stays, goes = factor.loss[h], w * row[d + h] * row[d + h]
        for k in range(d):
            stays = fma(factor.D[k] * factor.c[k, h], factor.c[k, h], stays)
        if goes > 0.0:
            least = min(least, stays / (stays + goes))
    return least


@inlined
def next_slot(ring: Ring, window: float) -> Vector:
    """Where the next row is written, over the oldest if the ring is full; from here on it is one of the ring's."""
    header = ring.header[0]
    slot: Vector = ring.rows[int(header.next_slot)]
    if header.n_stored < window:
        header.n_stored += 1.0
    header.next_slot = (header.next_slot + 1.0) % window
    return slot


@inlined
def row_by_age(ring: Ring, i: int) -> Vector:
    """The i-th oldest row."""
    header = ring.header[0]
    row: Vector = ring.rows[(int(header.next_slot) + i) % int(header.n_stored)]
    return row
