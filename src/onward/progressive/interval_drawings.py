"""The pictures of the intervals of a pass: whether they held, all in all and over the rows, and the latest of them."""

from __future__ import annotations  # results are shown by this, and known here by name only

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter
from numpy.typing import NDArray
from scipy.special import bdtrik

from onward.confidence import Change
from onward.confidence.binomial import binomial_interval
from onward.core.known import Method
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.numbers import format_number
from onward.pages.scales import central_limits, fit_y_axis, set_log_rows, spans_decades
from onward.pages.style import (
    COLORS,
    INK,
    SETTINGS,
    add_axes_legend,
    add_figure_legend,
    draw_line,
    make_figure,
    style_axes,
)
from onward.progressive.change_marks import learned_until, mark_changes, rows_of

if TYPE_CHECKING:
    from onward.progressive.interval_course import IntervalCourse
    from onward.progressive.results import History

MODEL, PROMISED, OUTSIDE = COLORS["forward"], "#888888", COLORS["ridge"]
_LEARNS: dict[Method, str] = {  # whether intervals are calibrated
    "conformal": "These intervals learn from their misses, so the line comes back to δ by itself.",
    "t": "Nothing is calibrated here: these intervals, as they were asked for, do not learn from their misses.",
    "uniform": "Nothing is calibrated here: these intervals, as they were asked for, do not learn from their misses, "
    "and a line below the band is what they promise.",
}
LEVEL = 0.95  # of the interval around a share of rows
WINDOW = 100  # rows, at least, of a rolling share
WINDOWS = 16  # as many of them follow each other over a pass, if it is long
FAN = (0.5, 0.2)  # δ of the intervals that are drawn inside of the pass's own
_EXPECTED: dict[Method, str] = {  # of the share of rows inside
    "conformal": "They are conformal: made of the errors before, so that the share of rows inside tends to 1 − δ, "
    "whatever comes. Points lie near the diagonal, the nearer the more rows; a single row is promised nothing.",
    "t": "They are t intervals: if noise is Gaussian and rows do not depend on it, one for δ holds its target with "
    "probability 1 − δ, so points on the diagonal are expected; points below it are a warning.",
    "uniform": "If the model's assumptions hold, one for δ holds its target with probability at least 1 − δ, so points "
    "above the diagonal are expected, and the more cautious the intervals, the higher; points below it are a warning.",
}


def draw_calibration(history: History, method: Method) -> Drawing:
    """The share of rows inside of their intervals, against what was promised by how they were made."""
    promised = 1 - history.deltas
    order = np.argsort(promised)
    share, lower, upper = shares_inside(history.misses[-1], history.scores[-1].rows)
    figure, (left, right) = make_figure(1, 2)
    x, y = promised[order], share[order]
    reach = np.abs(np.stack([y - lower[order], upper[order] - y]))
    left.plot([0, 1], [0, 1], color=PROMISED, linestyle="--", linewidth=1.2, label="exactly as promised")
    left.errorbar(x, y, yerr=reach, fmt="o", color=MODEL, markersize=4, linewidth=1.3, capsize=3, label="rows inside")
    floor = max(0.0, min(float(x.min()), float(lower.min())) - 0.06)
    left.set(xlim=(floor, 1.015), ylim=(floor, 1.015))
    style_axes(left, title="At the end", xlabel="promised: 1 − δ", ylabel="share of rows inside")
    read = [Line("rows inside", x, y, lower[order], upper[order])]
    rows = history.rows.astype(np.float64)
    set_log_rows(right, rows)
    lines = []
    for place, color in zip(order[::-1], _cycle_colors(len(order)), strict=True):
        lines.append(Line(f"1 − δ = {1 - history.deltas[place]:g}", rows, 1 - history.misses[:, place] / rows))
        right.axhline(promised[place], color=color, linestyle=":", linewidth=1.0)
        draw_line(right, lines[-1], color)
        if len(rows) <= 20:
            right.plot(lines[-1].x, lines[-1].y, ".", color=color)
    style_axes(right, title="Until then", xlabel="rows learned", ylabel="share of rows inside")
    right.set_ylim(max(-0.02, min(floor, *(float(line.y[len(rows) // 2 :].min()) for line in lines)) - 0.02), 1.015)
    for axis in (left.xaxis, left.yaxis, right.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    add_axes_legend(left)
    add_axes_legend(right, columns=3)
    said = ", ".join(f"{100 * s:.4g} % for {100 * p:.4g} %" for p, s in zip(x, y, strict=True))
    return Drawing(
        "calibration",
        "Whether the intervals held",
        figure,
        f"Each row had an interval for its target before that was seen. {_EXPECTED[method]} Bars: "
        f"{LEVEL:.0%} binomial intervals, as if rows missed apart from each other. Right: the same until then, dotted "
        "what was promised.",
        f"Two charts. Share of rows inside against what was promised: {said}.",
        [Panel(left, read), Panel(right, lines)],
    )


def draw_course(
    history: History, course: IntervalCourse, delta: float, method: Method, changes: Sequence[Change] = ()
) -> Drawing:
    """The share of rows outside of their intervals in a rolling window, beside δ, and how wide the intervals were.

    `delta` is the pass's own; another is drawn beside it.
    """
    windows = _windows(course)
    until = history.scores[-1].rows - course.rows.sum() + np.cumsum(course.rows)[windows - 1 :].astype(np.float64)
    rows = _rolling(course.rows, windows)
    figure, (own, other, wide) = make_figure(1, 3, (11.0, 4.0))
    panels, said = [], []
    for axes, each in ((own, delta), (other, 0.2 if delta != 0.2 else 0.05)):
        place = _place(history, each)
        share = Line("rows outside", until, _rolling(course.misses[:, place], windows) / rows)
        low, high = _expected_shares(rows, each)
        promised = Line(f"δ = {each:g}", until, np.full(len(until), each), low, high)
        draw_line(axes, promised, PROMISED, "--", 1.2)
        draw_line(axes, share, MODEL)
        fit_y_axis(axes, [share.y, low, high], log=False, from_zero=False)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        _finish(axes, until, f"Outside of {_name(each)}s", "share of the window")
        panels.append(Panel(axes, [share, promised]))
        inside = np.mean((share.y >= low) & (share.y <= high))
        said.append(f"δ = {each:g}: {100 * inside:.0f} % of windows inside of the band, at the end {share.y[-1]:.1%}")
    lines = _width_lines(history, course, windows, until, delta)
    log = spans_decades([line.y for line in lines])
    for line, color in zip(lines, SETTINGS, strict=False):
        draw_line(wide, line, color)
    fit_y_axis(wide, [line.y for line in lines], log=log)
    _finish(wide, until, "How wide they were", "mean width")
    panels.append(Panel(wide, lines))
    for axes in (own, other, wide):
        mark_changes(axes, learned_until(history, changes))
        if len(until) <= 20:
            for drawn in axes.get_lines():
                drawn.set_marker(".")
        add_axes_legend(axes, columns=2)
    most = int(rows.max())
    never = "" if np.isfinite(np.concatenate([line.y for line in lines])).any() else " None of them was finite."
    widths = "; ".join(f"{line.label} {format_number(float(line.y[-1]))}" for line in lines if np.isfinite(line.y[-1]))
    return Drawing(
        "course",
        "Whether they held all along",
        figure,
        f"Left and middle: of the latest {counted(most, 'row')}, the share whose target lay outside of its interval. A "
        f"line that stays within the grey band is as it should be at that time: {LEVEL:.0%} of shares would lie there "
        "if rows were missed with probability δ, apart from each other. Above it the intervals were too narrow then, "
        "below it wider than needed. Right: the mean width of the finite intervals among these rows: it grows where "
        f"targets are harder to predict. {_LEARNS[method]}{never}",
        f"Three line charts over the rows. {'. '.join(said)}. Mean widths at the end: {widths or 'none is finite'}.",
        panels,
    )


def draw_latest(history: History, course: IntervalCourse, delta: float, changes: Sequence[Change] = ()) -> Drawing:
    """The latest rows: the intervals and predictions made before each target was seen, and the target."""
    figure, (axes,) = make_figure(1, 1, (11.0, 4.2))
    row, target = course.row + 1.0, course.target
    levels = sorted({*FAN, delta}, reverse=True)
    places = [_place(history, each) for each in levels]
    low, high = _limits(course, places[-1])
    lines, bands, shade = [], list[Artist](), 0.0
    for each, place, alpha in zip(levels[::-1], places[::-1], (0.18, 0.22, 0.3), strict=False):
        lower, upper = course.lower[:, place], course.upper[:, place]
        ends = np.clip(np.stack([lower, upper]), 2 * low - high, 2 * high - low)
        label = _name(each)
        around, (below, above) = np.r_[row[0] - 1, row, row[-1] + 1], np.pad(ends, ((0, 0), (1, 1)), "edge")
        axes.fill_between(around, below, above, step="mid", color=MODEL, alpha=alpha, linewidth=0)
        shade = 1 - (1 - shade) * (1 - alpha)  # they lie upon each other
        bands.append(Patch(facecolor=MODEL, alpha=shade, linewidth=0, label=label))
        lines.append(Line(label, row, course.prediction, lower, upper))
    axes.hlines(course.prediction, row - 0.5, row + 0.5, color=MODEL, linewidth=1.4, label="prediction")
    own = _place(history, delta)
    missed = (target < course.lower[:, own]) | (target > course.upper[:, own])
    axes.plot(row, target, "o", color=INK, markersize=2.6, label="target")
    axes.plot(row[missed], target[missed], "o", color=OUTSIDE, markersize=5, label="target outside")
    axes.set_ylim(low, high)
    axes.set_xlim(float(row[0]) - 0.5, float(row[-1]) + 0.5)
    inner = rows_of(changes) + 1.0
    mark_changes(axes, inner[(inner >= row[0]) & (inner <= row[-1])])
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    style_axes(axes, title="", xlabel="row", ylabel="target")
    handles, labels = axes.get_legend_handles_labels()
    add_figure_legend(figure, [*bands, *handles], [*(str(each.get_label()) for each in bands), *labels])
    outside = int(missed.sum())
    infinite = int(np.isinf(course.upper[:, own] - course.lower[:, own]).sum())
    opened = f" The band is infinite at {counted(infinite, 'row')}." if infinite else ""

    def percent(share: float) -> str:
        return f"{100 * share:.4g}\N{NO-BREAK SPACE}%"

    return Drawing(
        "latest",
        "The latest rows",
        figure,
        f"The last {counted(len(row), 'row')}, each with its intervals and prediction as they were before its target "
        f"was seen. About {percent(delta)} of targets should lie outside of the band for {percent(1 - delta)}; here "
        f"{outside} of {len(row)} do, and are marked.{opened}",
        f"Targets, predictions and intervals of {counted(len(row), 'row')}; {outside} outside of the {_name(delta)}.",
        [Panel(axes, [Line("target", row, target), *lines])],
    )


def shares_inside(misses: Vector | Matrix, rows: int) -> tuple[Vector, Vector, Vector]:
    """The share of rows inside, and the ends of its exact binomial (Clopper–Pearson) interval."""
    held = rows - np.asarray(misses, dtype=np.float64)
    return held / rows, *binomial_interval(held, rows, LEVEL)


def _limits(course: IntervalCourse, place: int) -> tuple[float, float]:
    """What is shown of the latest rows: targets and predictions but for wild ones, and most intervals as a whole."""
    low, high = central_limits(np.concatenate([course.target, course.prediction]))
    for ends, share in ((course.lower[:, place], 0.1), (course.upper[:, place], 0.9)):
        finite = ends[np.isfinite(ends)]
        if len(finite):
            end = float(np.quantile(finite, share))
            low, high = min(low, end), max(high, end)
    return low - 0.04 * (high - low), high + 0.04 * (high - low)


def _finish(axes: Axes, rows: Vector, title: str, ylabel: str) -> None:
    room = max(1.0, 0.02 * float(np.ptp(rows)))
    axes.set_xlim(float(rows[0]) - room, float(rows[-1]) + room)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    style_axes(axes, title=title, xlabel="rows learned", ylabel=ylabel)


def _width_lines(history: History, course: IntervalCourse, windows: int, until: Vector, delta: float) -> list[Line]:
    """The mean width of finite intervals in rolling windows, the narrowest first."""
    lines = []
    for each in sorted({*FAN, delta}, reverse=True):
        place = _place(history, each)
        closed = (course.rows - course.open[:, place]).astype(np.float64)
        total = _rolling(np.where(closed > 0, closed * course.width[:, place], 0.0), windows)
        count = _rolling(closed, windows)
        with np.errstate(invalid="ignore", divide="ignore"):
            lines.append(Line(_name(each), until, np.where(count > 0, total / count, np.nan)))
    return lines


def _windows(course: IntervalCourse) -> int:
    """How many spans a rolling window has: so many that it holds enough rows, but no more than half of the spans."""
    spans, rows = len(course.rows), int(course.rows.sum())
    wanted = max(WINDOW, rows // WINDOWS)
    return max(1, min(-(-wanted // int(course.rows[0])), (spans + 1) // 2))


def _rolling(values: Vector | NDArray[np.int64], windows: int) -> Vector:
    """Sums of so many values that follow each other."""
    sums = np.concatenate([np.zeros(1), np.cumsum(values)])
    found: Vector = sums[windows:] - sums[:-windows]
    return found


def _expected_shares(rows: Vector, delta: float) -> tuple[Vector, Vector]:
    """The ends between which a share of rows lies with probability 95 %, if each is missed with probability δ."""
    tail = (1 - LEVEL) / 2
    low, high = (np.maximum(np.ceil(bdtrik(each, rows, delta)), 0.0) for each in (tail, 1 - tail))
    return np.nan_to_num(low) / rows, np.where(np.isnan(high), rows, high) / rows


def _name(delta: float) -> str:
    return f"{100 * (1 - delta):.4g} % interval"


def _place(history: History, delta: float) -> int:
    """Where δ stands among those of the history."""
    return int(np.argmin(np.abs(history.deltas - delta)))


def _cycle_colors(count: int) -> list[str]:
    return [SETTINGS[i % len(SETTINGS)] for i in range(count)]
