"""What the encoding of a row needs of the rows before it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from onward.core.shown import brief


@dataclass(frozen=True)
class Memory:
    """What was seen so far. A stream that goes on where another ended begins with the other's memory.

    Args:
        lags: by the text of each lag, the values that it still needs, the latest at the end; None where one is not
            known, NaN where one was missing.
        first_levels: of categories, by their columns.
    """

    lags: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    first_levels: Mapping[str, str] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """Plain values, for a file: a number that is not finite as text."""
        lags = {
            text: [value if value is None or math.isfinite(value) else repr(value) for value in values]
            for text, values in self.lags.items()
        }
        return {"lags": lags, "first_levels": dict(self.first_levels)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record` described."""
        lags = {
            text: tuple(None if value is None else float(value) for value in values)
            for text, values in record["lags"].items()
        }
        first_levels = dict(record["first_levels"])
        if not all(isinstance(level, str) for level in first_levels.values()):
            raise ValueError(f"first levels must be text, got {brief(first_levels)}")
        return cls(lags, first_levels)
