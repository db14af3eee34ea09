"""The memory of the last rewards."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from onward.bandits.memories.memory import Memory
from onward.bandits.model import Model, clear_model, learn_row, model_size, view_model
from onward.bandits.settings import Head, memory_at, view_head
from onward.core.checks import whole
from onward.core.compile import compiled, inlined
from onward.core.factor import ALIGNED, copy_vector, new_scratch, square_of
from onward.core.ring import (
    FIRST_CAPACITY,
    MAKE_ANEW,
    TAKEN_OUT,
    Ring,
    begin_anew,
    clear_ring,
    lacks_room,
    make_room,
    next_slot,
    row_by_age,
    view_ring,
)
from onward.core.types import Vector

COMPILED_FROM = "5fdef1dc6e9cccdc"  # other files whose code is compiled into this one: see tools/digests.py


@dataclass(frozen=True)
class Window(Memory):
    """The last `window` rewards count, each as much as the others.

    Args:
        window: how many rewards count.

    Example:
        >>> from onward.bandits import Policy, Window
        >>> policy = Policy(Window(3), lam=0.01, seed=0)
        >>> policy.learn_many([[1.0]] * 6, [0.0] * 3 + [1.0] * 3)
        >>> policy.estimate([[1.0]]).round(2)
        array([1.])
    """

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
        """Twice as many rows, until the window is filled.

        Args:
            capacity: for how many there is room.
        """
        return min(2 * capacity, self.window)

    def check(self, buffer: Vector, d: int) -> None:
        """Raise ValueError if the header cannot be that of a window.

        Args:
            buffer: the policy's buffer.
            d: how many features.
        """
        capacity = int(view_head(buffer).log["capacity"][0])
        header = memory_in(buffer, d, capacity).ring.header[0]
        last = min(capacity, self.window - 1)  # behind all of them, where room must be made first
        for name, most in (("next_slot", last), ("n_stored", capacity), ("n_removed", self.window)):
            if not (0 <= header[name] <= most and header[name] == int(header[name])):
                raise ValueError(f"{name} of a window must be from 0 to {most}, got {header[name]}")

    def size(self, d: int, capacity: int) -> int:
        """Numbers in the memory.

        Args:
            d: how many features.
            capacity: for how many there is room.
        """
        return ALIGNED + model_size(d) + capacity * (d + 1)


class LastRewards(NamedTuple):
    """Views of a buffer."""

    ring: Ring  # rows of d + 1 numbers: each with its reward
    model: Model


@inlined
def memory_in(buffer: Vector, d: int, capacity: int) -> LastRewards:
    """The window in a policy's buffer."""
    at = memory_at(d)
    return LastRewards(
        view_ring(buffer, at, at + ALIGNED + model_size(d), capacity, d + 1), view_model(buffer, at + ALIGNED, d)
    )


@inlined
def begin(head: Head, buffer: Vector) -> None:
    """Know nothing."""
    memory = memory_in(buffer, head.lam.shape[0], int(head.log[0].capacity))
    clear_model(head, memory.model)
    clear_ring(memory.ring)


@inlined
def is_full(head: Head, buffer: Vector) -> bool:
    """Whether there must be more room before the next reward can be learned."""
    memory = memory_in(buffer, head.lam.shape[0], int(head.log[0].capacity))
    return lacks_room(memory.ring, head.settings[0].window)


@compiled
def learn(buffer: Vector, x: Vector, y: float, square: float) -> None:
    """Take the oldest row out, if the window is full, and the new one in: see `core.ring`."""
    head = view_head(buffer)
    d, window = x.shape[0], head.settings[0].window
    memory, scratch = memory_in(buffer, d, int(head.log[0].capacity)), new_scratch(d)
    ring, model = memory.ring, memory.model
    room = make_room(ring, window, model.factor, head.settings[0].lam_least, 1.0, scratch, scratch)
    slot = next_slot(ring, window)
    copy_vector(x, slot)
    slot[d] = y
    if room != MAKE_ANEW:
        if room == TAKEN_OUT:
            model.factor.counts[0].counted -= 1.0
        learn_row(model, x, y, square, scratch)
        return
    begin_anew(ring)
    clear_model(head, model)
    for i in range(int(ring.header[0].n_stored)):  # the oldest first
        row = row_by_age(ring, i)
        learn_row(model, row[:d], float(row[d]), square_of(row[:d]), scratch)
