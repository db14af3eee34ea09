"""How the figures look: one colour for each learner in all of them, thin grids, legends beside the lines."""

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from onward.core.types import Vector
from onward.pages.drawing import Line
from onward.pages.palette import COLORS, INK

CUT = 3  # on a logarithmic axis, a band reaches down to this part of the line
SMALL = 8  # points; nothing is smaller
# Which is the lesser of two learners: ridge's colour where ridge is, forward's where forward is, pale between.
WHO_WINS = LinearSegmentedColormap.from_list("who_wins", [COLORS["ridge"], "#f6f3ee", COLORS["forward"]])


def make_figure(rows: int, columns: int, size: tuple[float, float] = (9.0, 4.0)) -> tuple[Figure, list[Axes]]:
    """A figure with its axes, row by row."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, list(np.ravel(figure.subplots(rows, columns)))


def style_axes(axes: Axes, *, title: str, xlabel: str, ylabel: str) -> None:
    """Labels, a thin grid and no box. Texts keep the default colour, which a report may turn for a dark page."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(xlabel, fontsize=9)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.tick_params(labelsize=SMALL)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_line(axes: Axes, line: Line, color: str, style: str = "-", width: float = 1.5, *, cut: bool = False) -> None:
    """A line with the band around it. On a logarithmic axis, so set its scale first, the band may be `cut` off below.

    The lower edge of mean − deviation may lie at 0 or less, infinitely far down. Drawn to there it covers all else.
    Where it is not cut, there is no band at such places.
    """
    if line.lower is not None and line.upper is not None:
        log = axes.get_yscale() == "log"
        lower = np.maximum(line.lower, line.y / CUT) if cut and log else line.lower
        shown = lower > 0 if log else np.ones(len(lower), dtype=np.bool_)
        axes.fill_between(line.x, lower, line.upper, where=shown.tolist(), color=color, alpha=0.2, linewidth=0)
    axes.plot(line.x, line.y, color=color, linestyle=style, linewidth=width, label=line.label)


def use_plain_numbers(axis: Axis) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, written out: for a logarithmic axis of a few decades."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def add_axes_legend(axes: Axes, columns: int = 2) -> None:
    """A legend below the axes, where it covers no line."""
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
        handlelength=1.8,
        columnspacing=1.2,
    )


def add_figure_legend(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """One legend for all axes, below them, in a single row if it fits."""
    figure.legend(
        list(handles),
        list(labels),
        loc="outside lower center",
        ncols=min(len(labels), 6),
        frameon=False,
        fontsize=SMALL,
    )


def pick_text_color(color: Vector) -> str:
    """Dark or white, whichever is the easier to read on a colour (red, green, blue, alpha) in [0, 1]."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3])
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue  # as web guidelines reckon it
    return INK if (luminance + 0.05) / (0.016 + 0.05) > 1.05 / (luminance + 0.05) else "#ffffff"
