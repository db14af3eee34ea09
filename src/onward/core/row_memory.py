"""Which rows of a state count, and how much: what it is told, what it keeps for that, and how it learns then."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, get_args

import numpy as np

from onward.core import kernel
from onward.core.durations import show_time
from onward.core.factor import Factor
from onward.core.forgetting import BY_ROWS, BY_TIMES, EVERYTHING, LAST_ROWS, decay_over
from onward.core.ring import FIRST_CAPACITY, N_RING, RING, Ring
from onward.core.squares import weighted_squares
from onward.core.types import Matrix, Records, Vector
from onward.core.views import owned

if TYPE_CHECKING:
    from onward.core.state import Information

Clock = Literal["rows", "times", "dates"]
"""What half-lives are counted in: rows, the unit of the rows' times, or µs between their dates."""


@dataclass(frozen=True)
class RowMemory:
    """How a state forgets: by half-lives, or all but the last rows at once."""

    half_life: float | None = None  # after so many rows, or so long, a row counts half of what it did
    clock: Clock = "rows"
    window: int | None = None  # so many rows count

    def __post_init__(self) -> None:
        if (self.half_life is None) == (self.window is None) or self.clock not in get_args(Clock):
            raise ValueError(f"expected a half-life or a window, and a clock of {get_args(Clock)}, got {self}")
        told = self.half_life is None or 0 < self.half_life < np.inf
        if not told or not (self.window is None or (self.window > 0 and self.window == int(self.window))):
            raise ValueError(f"a half-life or a window must be positive, got {self}")

    def write(self, header: Records) -> None:
        """Put it into the header of a state that has learned nothing."""
        header["first_time"] = header["time"] = np.nan
        if self.half_life is None:
            header["memory"], header["window"] = LAST_ROWS, self.window
        else:
            header["memory"] = BY_ROWS if self.clock == "rows" else BY_TIMES
            header["half_life"], header["decay"] = self.half_life, decay_over(1.0, self.half_life)
            header["dated"] = self.clock == "dates"

    @classmethod
    def read(cls, header: Records) -> Self | None:
        """What a header says; None if all rows count."""
        kind = header["memory"][0]
        if kind == EVERYTHING:
            return None
        if kind == LAST_ROWS:
            return cls(window=int(header["window"][0]))
        return cls(float(header["half_life"][0]), "rows" if kind == BY_ROWS else _clock(header))


def _clock(header: Records) -> Clock:
    return "dates" if header["dated"][0] else "times"


def forgets_between(state: "Information", later: "Information") -> float:
    """What is left of a state's rows after those of another have come; ValueError if they cannot have come later.

    A state without rows takes over the other's clock.
    """
    mine, theirs = state.memory, later.memory
    if mine is not None and theirs is not None and mine.half_life == theirs.half_life and not state.rows:
        theirs.write(state.header)  # it has no clock yet
        mine = theirs
    if mine != theirs:
        raise ValueError(f"cannot merge states that forget otherwise: one has {mine}, the other {theirs}")
    if mine is None or not (state.rows and later.rows):
        return 1.0
    if mine.half_life is None:
        raise ValueError(
            "cannot merge windows: which rows have dropped out of one depends on the other's; expected no window"
        )
    if mine.clock == "rows":
        return decay_over(float(later.rows), mine.half_life)
    ends, begins = state.header["time"][0], later.header["first_time"][0]
    if begins < ends:
        first, latest = (show_time(float(each), mine.clock == "dates") for each in (begins, ends))
        raise ValueError(f"cannot merge: the other's rows begin at {first}, before this one's end, at {latest}")
    return decay_over(float(later.header["time"][0] - ends), mine.half_life)


# Windows


def ring_of(state: "Information") -> Ring:
    """The rows of a window."""
    ring: Ring = owned(state.buffer, kernel.view_rows(state.buffer))
    return ring


def reserve(state: "Information", rows: int) -> None:
    """See to it that there is room for so many more rows, if the state is of the last rows. Nothing else changes."""
    memory = state.memory
    if memory is None or memory.window is None:
        return
    capacity = int(state.header["capacity"][0])
    stored = int(ring_of(state).header["n_stored"][0]) if capacity else 0
    needed = min(memory.window, stored + rows)
    if needed > capacity:
        take_rows(state, state, min(memory.window, max(FIRST_CAPACITY, 2 * capacity, needed)))


def take_rows(state: "Information", before: "Information", capacity: int) -> None:
    """Give a state room for so many rows, and those of one that it has grown from: in new coordinates they were 0."""
    d, m = len(state.D), state.n_targets
    stored = _stored(before)
    buffer = np.zeros(kernel.state_size(d, m, state.own_units, capacity))
    fixed = kernel.state_size(d, m, state.own_units, 0)
    buffer[:fixed] = state.buffer[:fixed]
    buffer[: kernel.N_STATE].view(kernel.STATE)["capacity"] = capacity
    state.bind(buffer)
    ring, (n, width) = ring_of(state), stored.rows.shape
    ring.header[:] = stored.header
    known = width - m - 1
    ring.rows[:n, :known], ring.rows[:n, d:] = stored.rows[:, :known], stored.rows[:, known:]


def _stored(state: "Information") -> Ring:
    """The rows of a window as they lie in it, without room for others."""
    if not state.header["capacity"][0]:
        empty = np.zeros(1, dtype=RING)
        empty["rounding_growth"] = 1.0
        return Ring(empty, np.zeros((0, len(state.D) + state.n_targets + 1)))
    ring = ring_of(state)
    return Ring(ring.header.copy(), ring.rows[: int(ring.header["n_stored"][0])].copy())


def rows_to_record(state: "Information") -> tuple[Vector, Matrix]:
    """The header and the rows of a window, for a file."""
    stored = _stored(state)
    return stored.header.view(np.float64).copy(), stored.rows


def check_made_of(X: Matrix, Y: Matrix, w: Vector, lam: Vector, factor: Factor) -> None:
    """ValueError unless a factor is that of these rows, as far as their products tell: they will be taken out."""
    d = len(lam)
    with np.errstate(over="ignore", invalid="ignore"):
        moments = weighted_squares(factor.D, np.triu(factor.U[:, :d], 1) + np.eye(d))
        explained = weighted_squares(factor.D, factor.c) + factor.loss
        expected = lam + weighted_squares(w, X), weighted_squares(w, Y)
    for found, sums in zip((moments, explained), expected, strict=True):
        if not np.allclose(found, sums, rtol=1e-4, atol=1e-4 * float(np.max(sums, initial=0.0)) + 1e-300):
            raise ValueError(f"a window's rows come to sums of {sums}, but its factor has {found}")
    U = np.triu(factor.U[:, :d], 1) + np.eye(d)
    with np.errstate(over="ignore", invalid="ignore"):
        weighted, across = (factor.D[:, None] * U).T, np.diag(lam) + (w[:, None] * X).T @ X
        apart = [weighted @ U - across, weighted @ factor.c - (w[:, None] * X).T @ Y]
        largest = float(np.max(expected[0], initial=0.0))
        target = np.sqrt(len(Y)) * float(np.abs(np.sqrt(w)[:, None] * Y).max(initial=0.0))  # its square may be none
        most = [largest, np.sqrt(largest) * target]
    if any((np.abs(each) > 1e-3 * size + 1e-300).any() for each, size in zip(apart, most, strict=True)):
        raise ValueError("a window's rows come to other products than its factor has")


def rows_from_record(state: "Information", header: Vector, rows: Matrix) -> None:
    """Take over what `rows_to_record` gave; ValueError if it does not fit."""
    d, m, memory = len(state.D), state.n_targets, state.memory
    assert memory is not None
    window = memory.window or 0
    if header.shape != (N_RING,) or rows.ndim != 2 or rows.shape[1] != d + m + 1 or len(rows) > window:
        raise ValueError(f"a window of {window} rows of {d + m + 1} numbers cannot hold an array of shape {rows.shape}")
    named = header.view(RING)[0]
    n, following, removed = named["n_stored"], named["next_slot"], named["n_removed"]
    if n != len(rows) or following != (n if n < window else following) or not 0 <= following < max(window, 1):
        raise ValueError(f"a window of {len(rows)} rows cannot have n_stored={n} and next_slot={following}")
    if following != int(following) or not (0 <= removed <= window and removed == int(removed)):
        raise ValueError(f"next_slot and n_removed of a window must be counts, got {following} and {removed}")
    if not (np.isfinite(rows).all() and (rows[:, -1:] >= 0).all() and 1.0 <= named["rounding_growth"] < np.inf):
        raise ValueError("the rows of a window must be finite, with weights that are not negative")
    check_made_of(rows[:, :d], rows[:, d:-1], rows[:, -1], state.lam, state.factor)
    reserve(state, len(rows))
    if len(rows):
        ring = ring_of(state)
        ring.header[:], ring.rows[: len(rows)] = named, rows
