"""The memory that is told when to start over."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from onward.bandits.memories.memory import Memory
from onward.bandits.model import Model, clear_model, learn_row, model_size, view_model
from onward.bandits.settings import Head, memory_at, view_head
from onward.core.checks import is_iterable, whole
from onward.core.compile import compiled, inlined
from onward.core.factor import ALIGNED, new_scratch
from onward.core.shown import brief
from onward.core.types import Records, Vector
from onward.core.views import part, records_of

COMPILED_FROM = "9067dadf71ed61fd"  # other files whose code is compiled into this one: see tools/digests.py

HEADER = np.dtype([("next_point", "f8")])
N_HEADER = 1
_as_header = records_of(HEADER)


@dataclass(frozen=True)
class Restarting(Memory):
    """After so many rewards everything is forgotten. A warm start's do not count.

    Args:
        change_points: after how many: increasing whole numbers.

    Raises:
        ValueError: if they are not whole numbers, or do not increase.

    Example:
        >>> from onward.bandits import Policy, Restarting
        >>> policy = Policy(Restarting([2]), lam=0.01, seed=0)
        >>> for reward in (0.0, 0.0, 1.0):
        ...     policy.learn([1.0], reward)
        >>> policy.estimate([[1.0]]).round(2)
        array([0.99])
    """

    change_points: Sequence[int] = ()

    kind: ClassVar[int] = 3
    keeps_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        given = self.change_points
        if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or not is_iterable(given):
            raise ValueError(f"change_points must be whole numbers in a list, got {brief(given)}")
        points = tuple(whole("each of change_points", point, 1) for point in given)
        if any(later <= earlier for earlier, later in pairwise(points)):
            raise ValueError(f"change_points must increase, got {list(given)}")
        object.__setattr__(self, "change_points", points)

    def first_capacity(self) -> int:
        """Room for the change points."""
        return len(self.change_points)

    def size(self, d: int, capacity: int) -> int:
        """Numbers in the memory.

        Args:
            d: how many features.
            capacity: for how many there is room.
        """
        return ALIGNED + model_size(d) + capacity

    def check(self, buffer: Vector, d: int) -> None:
        """Raise ValueError if the next change point cannot be one.

        Args:
            buffer: the policy's buffer.
            d: how many features.
        """
        following = memory_in(buffer, d, len(self.change_points)).header["next_point"][0]
        if not (0 <= following <= len(self.change_points) and following == int(following)):
            raise ValueError(f"next_point must be from 0 to {len(self.change_points)}, got {following}")

    def write(self, memory: Vector, d: int) -> None:
        """Write down the change points.

        Args:
            memory: the new memory, which is written to.
            d: how many features.
        """
        memory[ALIGNED + model_size(d) :] = self.change_points


class Chapters(NamedTuple):
    """Views of a buffer."""

    header: Records
    model: Model
    points: Vector


@inlined
def memory_in(buffer: Vector, d: int, capacity: int) -> Chapters:
    """The memory in a policy's buffer."""
    at = memory_at(d)
    points = at + ALIGNED + model_size(d)
    return Chapters(
        _as_header(part(buffer, at, at + N_HEADER)),
        view_model(buffer, at + ALIGNED, d),
        part(buffer, points, points + capacity),
    )


@inlined
def begin(head: Head, buffer: Vector) -> None:
    """Know nothing, but which change point is next."""
    clear_model(head, memory_in(buffer, head.lam.shape[0], 0).model)


@compiled
def learn(buffer: Vector, x: Vector, y: float, square: float) -> None:
    """Learn a reward, and start over if it is the last before a change."""
    head = view_head(buffer)
    memory = memory_in(buffer, x.shape[0], int(head.log[0].capacity))
    learn_row(memory.model, x, y, square, new_scratch(x.shape[0]))
    header = memory.header[0]
    while header.next_point < memory.points.shape[0] and memory.points[int(header.next_point)] < head.log[0].counted:
        header.next_point += 1.0  # passed by a model that it began with
    following = int(header.next_point)
    if following < memory.points.shape[0] and memory.points[following] == head.log[0].counted:
        header.next_point += 1.0
        clear_model(head, memory.model)
