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
        lags, first_levels = record["lags"], record["first_levels"]
        if not (isinstance(lags, dict) and all(isinstance(values, list) for values in lags.values())):
            raise ValueError(f"lags must be lists of values, got {brief(lags)}")
        if not isinstance(first_levels, dict) or not all(isinstance(level, str) for level in first_levels.values()):
            raise ValueError(f"first levels must be text, got {brief(first_levels)}")
        return cls({text: tuple(map(_lag_value, values)) for text, values in lags.items()}, dict(first_levels))


def _lag_value(value: Any) -> float | None:
    """A value of a lag as a file has it."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308):
        return None if value is None else float(value)
    if value not in ("nan", "inf", "-inf"):
        raise ValueError(f"values of a lag are numbers, null or 'nan', got {brief(value)}")
    return float(value)
