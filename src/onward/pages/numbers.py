"""Values as a reader wants them: four digits, true minus signs, and words for what has no number."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def format_number(value: Any) -> str:
    """A value to be read: four digits, and words for what has none."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return ", ".join(
            f"({format_number(each)})" if isinstance(each, list | tuple) else format_number(each) for each in value
        )
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return use_minus_signs(f"{value:,}" if abs(value) >= 10_000 else str(value))
    if isinstance(value, float):
        if math.isnan(value):
            return "no value"
        if math.isinf(value):
            return use_minus_signs("∞" if value > 0 else "-∞")
        return use_minus_signs(f"{value:,.0f}" if value.is_integer() and 1e4 <= abs(value) < 1e9 else f"{value:.4g}")
    return str(value)


def use_minus_signs(text: str) -> str:
    """A number's text with true minus signs."""
    return text.replace("-", "−")


def format_duration(seconds: float) -> str:
    """Seconds, or minutes, or hours."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def flatten_values(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Names and values to be read, what is nested one by one; an estimate is one value with its interval."""
    for key, value in values.items():
        name = f"{above}{str(key).replace('_', ' ')}"
        if isinstance(value, Mapping) and {"value", "lower", "upper"} <= set(value):
            repeats = f", {format_number(value['repeats'])} repeats" if "repeats" in value else ""
            interval = f"[{format_number(value['lower'])}, {format_number(value['upper'])}]"
            yield name, f"{format_number(value['value'])} {interval}{repeats}"
        elif isinstance(value, Mapping):
            yield from flatten_values(value, f"{name} › ")
        elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            yield from flatten_values({str(place): each for place, each in enumerate(value, start=1)}, f"{name} › ")
        else:
            yield name, format_number(value)
