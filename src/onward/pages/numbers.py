"""Values as a reader wants them: four digits, true minus signs, and words for what has no number."""

import math
from typing import Any

import numpy as np


def number(value: Any) -> str:
    """A value to be read: four digits, and words for what has none."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return ", ".join(f"({number(each)})" if isinstance(each, list | tuple) else number(each) for each in value)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return signed(f"{value:,}" if abs(value) >= 10_000 else str(value))
    if isinstance(value, float):
        if math.isnan(value):
            return "no value"
        if math.isinf(value):
            return signed("∞" if value > 0 else "-∞")
        return signed(f"{value:,.0f}" if value.is_integer() and 1e4 <= abs(value) < 1e9 else f"{value:.4g}")
    return str(value)


def signed(text: str) -> str:
    """A number's text with true minus signs."""
    return text.replace("-", "−")


def duration(seconds: float) -> str:
    """Seconds, or minutes, or hours."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
