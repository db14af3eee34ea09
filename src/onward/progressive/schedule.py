"""When to look: numbers of rows, or seconds, after which something is read off, said or saved."""

import time
from dataclasses import dataclass
from typing import Self

from onward.core.checks import whole
from onward.core.durations import as_microseconds

READINGS = 20  # a reading is taken when a twentieth more rows are known than at the last one


def next_power(rows: int) -> int:
    """The next power of two."""
    return 1 << rows.bit_length()


def next_reading(rows: int, width: int) -> int:
    """The next reading: at every row at first, then at 5% more; at 20% or 50% for wide models, as readings are dear."""
    return rows + max(1, rows // (READINGS if width <= 100 else 5 if width <= 300 else 2))


@dataclass(frozen=True)
class Every:
    """A distance between two saves: in rows, or in seconds."""

    rows: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, name: str, value: int | str | None) -> Self | None:
        """What was given, such as 1000, "1000", "30s", "5m" or "1h"; ValueError if it is no such thing."""
        if value is None:
            return None
        if microseconds := as_microseconds(value):
            return cls(seconds=microseconds / 1e6)
        try:
            return cls(rows=whole(name, int(value) if isinstance(value, str) else value))
        except ValueError as error:
            raise ValueError(
                f"{name} must be a number of rows or a time such as 30s, 5m or 1h, got {value!r}"
            ) from error


class Alarm:
    """Says when something that is done every so many rows, or seconds, is due again."""

    def __init__(self, every: Every | None, rows: int) -> None:
        self._every, self._rows, self._when = every, rows, time.monotonic()

    def is_due(self, rows: int) -> bool:
        """Whether it is due, now that so many rows were learned; nothing is due while there are no new ones."""
        if self._every is None or rows == self._rows:
            return False
        if self._every.rows is not None:
            return rows >= self._rows + self._every.rows
        return time.monotonic() >= self._when + (self._every.seconds or 0.0)

    def reset(self, rows: int) -> None:
        """It was done, at so many rows."""
        self._rows, self._when = rows, time.monotonic()

    @property
    def left(self) -> float | None:
        """Seconds until it can be due without another row; None if only rows count."""
        if self._every is None or self._every.seconds is None:
            return None
        return max(0.01, self._when + self._every.seconds - time.monotonic())
