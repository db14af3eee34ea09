"""The memory that forgets nothing."""

from dataclasses import dataclass
from typing import ClassVar

from onward.bandits.memories.memory import Memory
from onward.bandits.model import Model, clear_model, learn_row, model_size, view_model
from onward.bandits.settings import Head, memory_at
from onward.core.compile import compiled, inlined
from onward.core.factor import new_scratch
from onward.core.types import Vector

COMPILED_FROM = "704d9dcd44975e6b"  # other files whose code is compiled into this one: see tools/digests.py


@dataclass(frozen=True)
class Everything(Memory):
    """Every reward counts, for ever.

    Example:
        >>> from onward.bandits import Everything, Policy
        >>> policy = Policy(Everything(), lam=1.0, seed=0)
        >>> policy.learn_many([[1.0]] * 3, [4.0, 4.0, 4.0])
        >>> policy.estimate([[1.0]]).round(3)
        array([3.])
    """

    kind: ClassVar[int] = 0
    keeps_floor: ClassVar[bool] = True

    def size(self, d: int, capacity: int) -> int:
        """Numbers in the memory.

        Args:
            d: how many features.
            capacity: for how many there is room.
        """
        return model_size(d)


@inlined
def memory_in(buffer: Vector, d: int) -> Model:
    """The one model."""
    return view_model(buffer, memory_at(d), d)


@inlined
def begin(head: Head, buffer: Vector) -> None:
    """Know nothing."""
    clear_model(head, memory_in(buffer, head.lam.shape[0]))


@compiled
def learn(buffer: Vector, x: Vector, y: float, square: float) -> None:
    """Learn a reward."""
    learn_row(memory_in(buffer, x.shape[0]), x, y, square, new_scratch(x.shape[0]))
