"""Axes that show what matters of data nobody has looked at yet: over decades, constant, or with wild outliers."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from onward.core.types import Vector
from onward.pages.axis_limits import height_limits, row_limits
from onward.pages.style import SMALL


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
    axes.set_xlim(*row_limits(rows))


def fit_y_axis(axes: Axes, parts: Sequence[Vector], *, log: bool, from_zero: bool = True) -> None:
    """A vertical axis with those limits (`height_limits`), if logarithmic with plain numbers if it can."""
    if log:
        axes.set_yscale("log", nonpositive="mask")  # or a line would drop to where 0 is
    low, high = height_limits(parts, log=log, from_zero=from_zero)
    axes.set_ylim(low, high)
    if log:
        _write_out(axes, low, high)


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
