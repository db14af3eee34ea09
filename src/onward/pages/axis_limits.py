"""Limits that show what matters of data nobody has looked at yet: over decades, constant, or with wild outliers."""

from collections.abc import Sequence

import numpy as np

from onward.core.types import Vector

DECADES = 1.3  # values that span more are drawn on a logarithmic axis


def spans_decades(parts: Sequence[Vector]) -> bool:
    """Whether the positive values are so far apart that a linear axis would hide the small ones."""
    values = np.concatenate([np.ravel(part) for part in parts])
    values = values[np.isfinite(values) & (values > 0)]
    return bool(len(values)) and float(np.log10(values.max()) - np.log10(values.min())) > DECADES


def row_limits(rows: Vector) -> tuple[float, float]:
    """Limits of a logarithmic axis of row numbers, from the first to the last."""
    first, last = float(rows[0]), float(rows[-1])
    room = max((last / first) ** 0.02, 1.05)
    return first / room, last * room


def height_limits(parts: Sequence[Vector], *, log: bool, from_zero: bool = True) -> tuple[float, float]:
    """Limits around all finite values; if logarithmic, around the positive ones.

    Linear ones go down to 0 where that costs little room, unless `from_zero` is false.
    """
    values = np.concatenate([np.ravel(part) for part in parts])
    values = values[np.isfinite(values) & (values > 0 if log else True)]
    if not len(values):
        return (0.1 if log else -1.0), 1.0
    low, high = float(values.min()), float(values.max())
    if log:
        room = max((high / low) ** 0.06, 1.15)
        return low / room, high * room
    if from_zero and 0 <= low < 0.6 * high:
        low = 0.0
    reach = 0.07 * (high - low) or 0.1 * abs(high) or 1.0
    return low - (reach if low else 0.0), high + reach


def central_limits(values: Vector) -> tuple[float, float]:
    """Limits around the middle 99 % of the values, so that a few wild ones do not flatten all others."""
    values = values[np.isfinite(values)]
    if not len(values):
        return -1.0, 1.0
    low, high = (float(each) for each in np.quantile(values, [0.005, 0.995]))
    least, most = float(values.min()), float(values.max())
    reach = high - low
    if most - least < 2 * reach:  # nothing wild
        low, high = least, most
    room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room
