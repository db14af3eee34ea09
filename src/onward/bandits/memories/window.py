"""The memory of the last rewards."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from onward.bandits.memories.memory import FIRST_CAPACITY, Memory
from onward.bandits.model import Model, clear_model, learn_row, model_size, view_model
from onward.bandits.settings import Head, memory_at, view_head
from onward.core.checks import whole
from onward.core.compile import compiled, inlined
from onward.core.factor import ALIGNED, copy_vector, new_scratch, remove_one, square_of
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "db9f2591490d25f5"  # other files whose code is compiled into this one: see tools/digests.py

HEADER = np.dtype(
    [
        ("next_slot", "f8"),  # where the next row goes
        ("n_stored", "f8"),
        ("n_removed", "f8"),  # rows taken out since the factor was made ...
        ("rounding_growth", "f8"),  # ... and by how much the worst rounding since then may have grown
    ]
)
N_HEADER = 4
_as_header = records_of(HEADER)
MOST_GROWTH = 1000.0  # by so much may the rounding of the factor grow, before it is made anew


@dataclass(frozen=True)
class Window(Memory):
    """The last `window` rewards count, each as much as the others."""

    window: int = 100

    kind: ClassVar[int] = 2
    takes_states: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "window", whole("window", self.window, 1))

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        return {"window": self.window}

    def first_capacity(self) -> int:
        """For how many rows there is room at first."""
        return min(FIRST_CAPACITY, self.window)

    def grown_capacity(self, capacity: int) -> int:
        """Twice as many rows, until the window is filled."""
        return min(2 * capacity, self.window)

    def check(self, buffer: Vector, d: int) -> None:
        """Raise ValueError if the header cannot be that of a window."""
        capacity = int(view_head(buffer).log["capacity"][0])
        header = memory_in(buffer, d, capacity).header[0]
        for name, most in (("next_slot", capacity - 1), ("n_stored", capacity), ("n_removed", self.window)):
            if not (0 <= header[name] <= most and header[name] == int(header[name])):
                raise ValueError(f"{name} of a window must be from 0 to {most}, got {header[name]}")

    def size(self, d: int, capacity: int) -> int:
        """Numbers in the memory."""
        return ALIGNED + model_size(d) + capacity * (d + 1)


class Ring(NamedTuple):
    """Views of a buffer."""

    header: Records
    model: Model
    rows: Matrix  # (capacity, d + 1): each row with its reward


@inlined
def memory_in(buffer: Vector, d: int, capacity: int) -> Ring:
    """The window in a policy's buffer."""
    at = memory_at(d)
    rows = at + ALIGNED + model_size(d)
    return Ring(
        _as_header(part(buffer, at, at + N_HEADER)),
        view_model(buffer, at + ALIGNED, d),
        as_matrix(part(buffer, rows, rows + capacity * (d + 1)), capacity, d + 1),
    )


@inlined
def begin(head: Head, buffer: Vector) -> None:
    """Know nothing."""
    ring = memory_in(buffer, head.lam.shape[0], int(head.log[0].capacity))
    clear_model(head, ring.model)
    header = ring.header[0]
    header.next_slot = 0.0
    header.n_stored = 0.0
    header.n_removed = 0.0
    header.rounding_growth = 1.0


@inlined
def is_full(head: Head, buffer: Vector) -> bool:
    """Whether there must be more room before the next reward can be learned."""
    capacity = head.log[0].capacity
    ring = memory_in(buffer, head.lam.shape[0], int(capacity))
    return bool(ring.header[0].n_stored == capacity < head.settings[0].window)


@compiled
def learn(buffer: Vector, x: Vector, y: float, square: float) -> None:
    """Take the oldest row out, if the window is full, and the new one in.

    Taking out loses digits in proportion to what is left in the row's direction, and they do not come back. So before
    the losses add up to much, and once in every window's length, the factor is made anew from the rows themselves.
    """
    head = view_head(buffer)
    d, window = x.shape[0], head.settings[0].window
    ring, scratch = memory_in(buffer, d, int(head.log[0].capacity)), new_scratch(d)
    header, model = ring.header[0], ring.model
    slot = ring.rows[int(header.next_slot)]
    anew = False
    if header.n_stored == window:
        header.n_removed += 1.0
        anew = header.n_removed >= window
        if not anew:
            left = remove_one(model.factor, slot[:d], slot[d], scratch)
            header.rounding_growth /= left
            anew = not (left > 0.0 and header.rounding_growth < MOST_GROWTH)
            model.factor.counts[0].counted -= 1.0
    else:
        header.n_stored += 1.0
    copy_vector(x, slot)
    slot[d] = y
    header.next_slot = (header.next_slot + 1.0) % window
    if not anew:
        learn_row(model, x, y, square, scratch)
        return
    header.n_removed = 0.0
    header.rounding_growth = 1.0
    clear_model(head, model)
    n = int(header.n_stored)
    for i in range(n):  # the oldest first
        row = ring.rows[(int(header.next_slot) + i) % n]
        learn_row(model, row[:d], row[d], square_of(row[:d]), scratch)
