"""What every memory says of itself in Python."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from onward.core.types import Vector


@dataclass(frozen=True)
class Memory:
    """Which rewards count, and how much: a value, checked where it is made."""

    kind: ClassVar[int]  # the number by which compiled code knows it: see memories/__init__.py
    keeps_floor: ClassVar[bool] = False  # whether all rewards count alike, so that G only grows
    takes_states: ClassVar[bool] = True  # whether it can begin with what a regressor knows
    has_second: ClassVar[bool] = False  # whether there is a Ṽ beside V
    checks: ClassVar[bool] = False  # whether its models check rewards before they learn them

    def settings(self) -> dict[str, float]:
        """The settings of compiled code, by the names of `settings.SETTINGS`."""
        return {}

    def first_capacity(self) -> int:
        """For how many rows, models or change points there is room at first."""
        return 0

    def grown_capacity(self, capacity: int) -> int:
        """For how many there is room next, once it is full.

        Args:
            capacity: for how many there is room.
        """
        return capacity

    def size(self, d: int, capacity: int) -> int:
        """Numbers in the memory.

        Args:
            d: how many features.
            capacity: for how many there is room.
        """
        raise NotImplementedError

    def write(self, memory: Vector, d: int) -> None:
        """Write into a new memory what it is told beside the settings.

        Args:
            d: how many features.
        """

    def check(self, buffer: Vector, d: int) -> None:
        """Raise ValueError if numbers that are used as places or counts are none, as in a file that was changed.

        Args:
            buffer: the policy's buffer.
            d: how many features.
        """

    def parameters(self) -> dict[str, Any]:
        """Its own parameters, as plain values."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}
