"""How the figures look: one colour for each learner in all of them, thin grids, legends beside the lines."""

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from onward.core.types import Vector
from onward.experiments.base import Line

COLORS = {"ridge": "#c1552d", "forward": "#2a6f97"}
# For settings of one learner. Told apart by most eyes, and readable on white and on black.
SETTINGS = ("#9a6fc4", "#1b9e77", "#d18f00", "#d0568c", "#7a8b99", "#4aa3df")
INK = "#222222"  # on colours of ours; elsewhere texts have the default colour
CUT = 3  # on a logarithmic axis, a band reaches down to this part of the line
SMALL = 8  # points; nothing is smaller
# Which is the lesser of two learners: ridge's colour where ridge is, forward's where forward is, pale between.
WHO_WINS = LinearSegmentedColormap.from_list("who_wins", [COLORS["ridge"], "#f6f3ee", COLORS["forward"]])


def blank(rows: int, columns: int, size: tuple[float, float] = (9.0, 4.0)) -> tuple[Figure, list[Axes]]:
    """A figure with its axes, row by row."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, list(np.ravel(figure.subplots(rows, columns)))


def dress(axes: Axes, *, title: str, xlabel: str, ylabel: str) -> None:
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


def legend(axes: Axes, columns: int = 2) -> None:
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


def legend_of(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """One legend for all axes, below them, in a single row if it fits."""
    figure.legend(
        list(handles),
        list(labels),
        loc="outside lower center",
        ncols=min(len(labels), 6),
        frameon=False,
        fontsize=SMALL,
    )


def ink_on(color: Vector) -> str:
    """Dark or white, whichever is the easier to read on a colour (red, green, blue, alpha) in [0, 1]."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3])
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue  # as web guidelines reckon it
    return INK if (luminance + 0.05) / (0.016 + 0.05) > 1.05 / (luminance + 0.05) else "#ffffff"


def with_band(label: str, x: Sequence[float] | Vector, values: Vector, reach: Vector) -> Line:
    """The mean of repeats (rows) at each x, with a band of this reach on either side."""
    middle = values.mean(axis=0)
    return Line(label, np.asarray(x, dtype=np.float64), middle, middle - reach, middle + reach)


def standard_error(values: Vector) -> Vector:
    """Of the mean of repeats (rows); 0 for a single one."""
    error: Vector = deviation(values) / np.sqrt(len(values))
    return error


def deviation(values: Vector) -> Vector:
    """The standard deviation of repeats (rows); 0 for a single one."""
    reach: Vector = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return reach


def masked(lines: Sequence[Line]) -> str:
    """What a caption must add of lines on a logarithmic axis, in a sentence to follow others; empty if nothing."""
    means = sum(int((line.y <= 0).sum()) for line in lines)
    edges = sum(int(((line.lower <= 0) & (line.y > 0)).sum()) for line in lines if line.lower is not None)
    said = [f"what is 0 or less is not drawn ({means} of all points)"] if means else []
    said += [f"no band is drawn where it would reach 0 or less ({edges} of all points)"] if edges else []
    text = "; ".join(said)
    return f" {text[0].upper()}{text[1:]}." if text else ""
