"""The state of a change alarm, as views of one flat buffer."""

from typing import NamedTuple

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.factor import aligned, padded_to
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "2e09cbf2f0a85d1d"  # other files whose code is compiled into this one: see tools/digests.py

HEADER = np.dtype(
    [
        ("coordinates", "f8"),  # d: the constant and the features
        ("threshold", "f8"),  # 1/δ
        ("e_value", "f8"),
        ("open", "f8"),  # coordinates that were other than 0 in some row
        ("share", "f8"),  # 1 over that
        ("loud", "f8"),  # how many times what noise explains a memory's squared length must be for a bet
        ("rows", "f8"),  # absorbed, with a weight
        ("largest", "f8"),  # |y|
        ("residuals", "f8"),  # how many residuals there were
        ("squares", "f8"),  # Σ z²
        ("latest", "f8"),  # the residual before
        ("lagged", "f8"),  # Σ z z' with z' the residual before
        ("lagged_squares", "f8"),  # Σ z'²
        ("octave", "f8"),  # k, where 2ᵏ is the largest power of two among the numbers of residuals until the next
        ("next_octave", "f8"),  # 2ᵏ⁺¹
        ("mass", "f8"),  # the prior's on a change at one row of this octave
        ("to_come", "f8"),  # the prior's on changes after the next residual
        ("change", "f8"),  # after an alarm: the row from which on the relation seems to have changed
    ]
)
N_HEADER = len(HEADER.names or ())
MEMORIES = 4  # models of the residuals, of short memory to long
LEVELS, SLOTS = 14, 16  # of sums kept: the latest 16, 16 at every second row, 16 at every fourth, …
_as_header = records_of(HEADER)


class ChangeState(NamedTuple):
    """Views of an alarm's buffer."""

    header: Records
    evidence: Vector  # (MEMORIES,): Σ over rows N of the prior's mass on a change there, times what bets won since
    noise: Vector  # (MEMORIES,): the squared length of B that noise of variance 1 explains
    opened: Vector  # (d,): 1 for each open coordinate
    D: Vector  # (d,): pivots; 1 while a coordinate is not open
    c: Vector  # (d,): of least squares
    winsorized: Vector  # (d,): c of targets drawn in to four deviations
    score: Vector  # (d,): Σ z r, whose growth since a row says how residuals have leaned since then
    B: Matrix  # (d, MEMORIES): averages of z r of late, over a memory each
    U: Matrix  # (d, padded d)
    kept_rows: Vector  # (LEVELS · SLOTS,): the row at which a sum was kept, −1 for none
    kept_counts: Vector  # (LEVELS · SLOTS,): how many residuals there were then
    kept_scores: Matrix  # (LEVELS · SLOTS, d)


@compiled
def change_size(d: int) -> int:
    """Numbers in the buffer of an alarm with d coordinates."""
    vectors = N_HEADER + 2 * MEMORIES + 5 * d + MEMORIES * d
    return aligned(vectors) + d * padded_to(d) + LEVELS * SLOTS * (d + 2)


@inlined
def view_change(buffer: Vector) -> ChangeState:
    """The state in a buffer. The only place that knows where things are."""
    header = _as_header(part(buffer, 0, N_HEADER))
    d = int(header[0].coordinates)
    evidence = N_HEADER
    noise = evidence + MEMORIES
    opened = noise + MEMORIES
    D = opened + d
    c = D + d
    winsorized = c + d
    score = winsorized + d
    B = score + d
    U = aligned(B + MEMORIES * d)
    width = padded_to(d)
    kept_rows = U + d * width
    kept_counts = kept_rows + LEVELS * SLOTS
    kept_scores = kept_counts + LEVELS * SLOTS
    return ChangeState(
        header,
        part(buffer, evidence, noise),
        part(buffer, noise, opened),
        part(buffer, opened, D),
        part(buffer, D, c),
        part(buffer, c, winsorized),
        part(buffer, winsorized, score),
        part(buffer, score, B),
        as_matrix(part(buffer, B, B + MEMORIES * d), d, MEMORIES),
        as_matrix(part(buffer, U, kept_rows), d, width),
        part(buffer, kept_rows, kept_counts),
        part(buffer, kept_counts, kept_scores),
        as_matrix(part(buffer, kept_scores, kept_scores + LEVELS * SLOTS * d), LEVELS * SLOTS, d),
    )


@compiled
def clear_change(buffer: Vector) -> None:
    """Know nothing but the number of coordinates and the threshold."""
    state = view_change(buffer)
    header = state.header[0]
    d, threshold = header.coordinates, header.threshold
    buffer[:] = 0.0
    header.coordinates = d
    header.threshold = threshold
    header.e_value = 1.0
    header.octave = -1.0
    header.next_octave = 1.0
    state.D[:] = 1.0
    state.kept_rows[:] = -1.0
