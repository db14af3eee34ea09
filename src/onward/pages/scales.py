"""Axes that show what matters of data nobody has looked at yet: over decades, constant, or with wild outliers."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from onward.core.types import Vector
from onward.pages.style import SMALL

DECADES = 1.3  # values that span more are drawn on a logarithmic axis


def spans_decades(parts: Sequence[Vector]) -> bool:
    """Whether the positive values are so far apart that a linear axis would hide the small ones."""
    values = np.concatenate([np.ravel(part) for part in parts])
    values = values[np.isfinite(values) & (values > 0)]
    return bool(len(values)) and float(np.log10(values.max()) - np.log10(values.min())) > DECADES


def set_log_rows(axes: Axes, rows: Vector) -> None:
    """A logarithmic axis of row numbers, from the first to the last, written out as long as they are short."""
    first, last = float(rows[0]), float(rows[-1])
    axes.set_xscale("log")
    if last < 10 * first or last < 20:  # within a decade there would be hardly a tick
        ticks = np.unique(np.geomspace(first, last, 4).round())
        axes.set_xticks(ticks)
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(LogLocator(numticks=7))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if last < 1e6:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    room = max((last / first) ** 0.02, 1.05)
    axes.set_xlim(first / room, last * room)


def fit_y_axis(axes: Axes, parts: Sequence[Vector], *, log: bool, from_zero: bool = True) -> None:
    """A vertical axis around all finite values; if logarithmic, around the positive ones, with plain numbers if it can.

    A linear one goes down to 0 where that costs little room, unless `from_zero` is false.
    """
    if log:
        axes.set_yscale("log", nonpositive="mask")  # or a line would drop to where 0 is
    values = np.concatenate([np.ravel(part) for part in parts])
    values = values[np.isfinite(values) & (values > 0 if log else True)]
    if not len(values):
        axes.set_ylim(0.1 if log else -1.0, 1.0)
        return
    low, high = float(values.min()), float(values.max())
    if log:
        room = max((high / low) ** 0.06, 1.15)
        axes.set_ylim(low / room, high * room)
        _write_out(axes, low / room, high * room)
        return
    if from_zero and 0 <= low < 0.6 * high:
        low = 0.0
    reach = 0.07 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_ylim(low - (reach if low else 0.0), high + reach)


def _write_out(axes: Axes, low: float, high: float) -> None:
    """0.01 instead of powers of ten, where all numbers are short; and some between them, where powers are few."""
    if low < 1e-4 or high >= 1e6:
        return
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.tick_params(axis="y", which="minor", labelsize=SMALL)
    between = ("2", "5") if high / low < 150 else ()
    axes.yaxis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:,g}" if f"{value:.0e}"[0] in between else "")
    )


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
