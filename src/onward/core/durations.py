"""Spans of time, as text such as 30d or as other libraries have them; and moments as people write them."""

import datetime
import math
import re
from typing import Any

import numpy as np

UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
"""Microseconds of each unit."""
_ORIGIN = datetime.datetime(2000, 1, 1)
_TEXT = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(UNITS)})")


def as_microseconds(value: Any) -> float | None:
    """A text such as 30s, 12h or 30d, a timedelta or a timedelta64; None if it is no such thing."""
    if isinstance(value, str):
        parsed = _TEXT.fullmatch(value.strip())
        return float(parsed[1]) * UNITS[parsed[2]] if parsed else None
    if isinstance(value, datetime.timedelta):
        return float(value / datetime.timedelta(microseconds=1))
    if isinstance(value, np.timedelta64):
        is_length = not np.isnat(value) and np.datetime_data(value)[0] not in "YM"  # years and months differ in length
        return float(value / np.timedelta64(1, "us")) if is_length else None
    return None


def duration_text(microseconds: float) -> str:
    """A span as text that `as_microseconds` reads: 30d, 90s."""
    for unit, size in reversed(UNITS.items()):
        if microseconds >= size and microseconds % size == 0:
            return f"{int(microseconds // size)}{unit}"
    return f"{microseconds!r}us"


def show_time(value: float, dated: bool) -> str:
    """A time as a reader would write it: a date, if it is in µs since 2000, or a number."""
    if dated and math.isfinite(value):
        try:
            return (_ORIGIN + datetime.timedelta(microseconds=value)).isoformat(" ")
        except OverflowError:
            pass
    return f"{value:.15g}"
