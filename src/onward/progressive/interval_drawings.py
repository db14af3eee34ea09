"""The pictures of the intervals of a pass: whether they held, all in all and over the rows, and the latest of them."""

from __future__ import annotations  # results are shown by this, and known here by name only

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrik

from onward.confidence import Change
from onward.confidence.binomial import binomial_interval
from onward.core.known import Method
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.pages.axis_limits import central_limits, height_limits, spans_decades
from onward.pages.chart import DASHED, Chart, ChartDrawing, Shape
from onward.pages.drawing import Line
from onward.pages.numbers import format_number
from onward.pages.palette import COLORS, GREY, INK, SETTINGS
from onward.pages.ticks import Scale, error_scale, linear_scale, row_scale
from onward.progressive.change_marks import learned_until, mark_changes, rows_of

if TYPE_CHECKING:
    from onward.progressive.interval_course import IntervalCourse
    from onward.progressive.results import History

MODEL, OUTSIDE = COLORS["forward"], COLORS["ridge"]
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


def draw_calibration(history: History, method: Method) -> ChartDrawing:
    """The share of rows inside of their intervals, against what was promised by how they were made."""
    promised = 1 - history.deltas
    order = np.argsort(promised)
    share, lower, upper = shares_inside(history.misses[-1], history.scores[-1].rows)
    x, y, low, high = promised[order], share[order], lower[order], upper[order]
    floor = max(0.0, min(float(x.min()), float(low.min())) - 0.06)
    both = linear_scale(floor, 1.015, percent=True)
    left = Chart("At the end", "promised: 1 − δ", "share of rows inside", both, both, legend=True)
    left.add_segments(np.zeros((1, 2)), np.ones((1, 2)), GREY, width=1.2, dash=DASHED, label="exactly as promised")
    left.add_segments(np.column_stack([x, low]), np.column_stack([x, high]), MODEL, width=1.3)
    cap = 0.01 * (1.015 - floor)
    for ends in (low, high):
        left.add_segments(np.column_stack([x - cap, ends]), np.column_stack([x + cap, ends]), MODEL, width=1.3)
    left.add_dots(x, y, MODEL, 5.0, label="rows inside")
    left.read(Line("rows inside", x, y, low, high), MODEL)
    rows = history.rows.astype(np.float64)
    lines = [Line(f"1 − δ = {1 - history.deltas[i]:g}", rows, 1 - history.misses[:, i] / rows) for i in order[::-1]]
    least = max(-0.02, min(floor, *(float(line.y[len(rows) // 2 :].min()) for line in lines)) - 0.02)
    up = linear_scale(least, 1.015, percent=True)
    right = Chart("Until then", "rows learned", "share of rows inside", row_scale(rows), up, legend=True)
    for line, place, color in zip(lines, order[::-1], _cycle_colors(len(order)), strict=True):
        right.add_level(float(promised[place]), color)
        right.add_line(line, color, marked=len(rows) <= 20)
        right.read(line, color)
    said = ", ".join(f"{100 * s:.4g} % for {100 * p:.4g} %" for p, s in zip(x, y, strict=True))
    return ChartDrawing(
        "calibration",
        "Whether the intervals held",
        [left, right],
        f"Each row had an interval for its target before that was seen. {_EXPECTED[method]} Bars: "
        f"{LEVEL:.0%} binomial intervals, as if rows missed apart from each other. Right: the same until then, dotted "
        "what was promised.",
        f"Two charts. Share of rows inside against what was promised: {said}.",
        2,
    )


def draw_course(
    history: History, course: IntervalCourse, delta: float, method: Method, changes: Sequence[Change] = ()
) -> ChartDrawing:
    """The share of rows outside of their intervals in a rolling window, beside δ, and how wide the intervals were.

    `delta` is the pass's own; another is drawn beside it.
    """
    windows = _windows(course)
    until = history.scores[-1].rows - course.rows.sum() + np.cumsum(course.rows)[windows - 1 :].astype(np.float64)
    rows = _rolling(course.rows, windows)
    few = len(until) <= 20
    charts, said = [], []
    for each in (delta, 0.2 if delta != 0.2 else 0.05):
        place = _place(history, each)
        share = Line("rows outside", until, _rolling(course.misses[:, place], windows) / rows)
        low, high = _expected_shares(rows, each)
        promised = Line(f"δ = {each:g}", until, np.full(len(until), each), low, high)
        limits = height_limits([share.y, low, high], log=False, from_zero=False)
        up = linear_scale(*limits, percent=True)
        chart = _chart(until, f"Outside of {_name(each)}s", "share of the window", up)
        chart.add_line(promised, GREY, dash=DASHED, width=1.2, marked=few)
        chart.add_line(share, MODEL, marked=few)
        chart.read(share, MODEL)
        chart.read(promised, GREY)
        charts.append(chart)
        inside = np.mean((share.y >= low) & (share.y <= high))
        said.append(f"δ = {each:g}: {100 * inside:.0f} % of windows inside of the band, at the end {share.y[-1]:.1%}")
    lines = _width_lines(history, course, windows, until, delta)
    log = spans_decades([line.y for line in lines])
    limits = height_limits([line.y for line in lines], log=log)
    charts.append(_chart(until, "How wide they were", "mean width", (error_scale if log else linear_scale)(*limits)))
    for line, color in zip(lines, SETTINGS, strict=False):
        charts[-1].add_line(line, color, marked=few)
        charts[-1].read(line, color)
    for chart in charts:
        mark_changes(chart, learned_until(history, changes))
    most = int(rows.max())
    never = "" if np.isfinite(np.concatenate([line.y for line in lines])).any() else " None of them was finite."
    widths = "; ".join(f"{line.label} {format_number(float(line.y[-1]))}" for line in lines if np.isfinite(line.y[-1]))
    return ChartDrawing(
        "course",
        "Whether they held all along",
        charts,
        f"Left and middle: of the latest {counted(most, 'row')}, the share whose target lay outside of its interval. A "
        f"line that stays within the grey band is as it should be at that time: {LEVEL:.0%} of shares would lie there "
        "if rows were missed with probability δ, apart from each other. Above it the intervals were too narrow then, "
        "below it wider than needed. Right: the mean width of the finite intervals among these rows: it grows where "
        f"targets are harder to predict. {_LEARNS[method]}{never}",
        f"Three line charts over the rows. {'. '.join(said)}. Mean widths at the end: {widths or 'none is finite'}.",
        3,
        (792.0, 288.0),
    )


def draw_latest(history: History, course: IntervalCourse, delta: float, changes: Sequence[Change] = ()) -> ChartDrawing:
    """The latest rows: the intervals and predictions made before each target was seen, and the target."""
    row, target = course.row + 1.0, course.target
    levels = sorted({*FAN, delta}, reverse=True)
    places = [_place(history, each) for each in levels]
    low, high = _limits(course, places[-1])
    first, last = float(row[0]) - 0.5, float(row[-1]) + 0.5
    chart = Chart("", "row", "target", linear_scale(first, last, 8, whole=True), linear_scale(low, high))
    chart.read(Line("target", row, target), INK)
    edges = np.r_[first, (row[1:] + row[:-1]) / 2, last]
    steps, legend, shade = np.repeat(edges, 2)[1:-1], list[Shape](), 0.0
    for each, place, alpha in zip(levels[::-1], places[::-1], (0.18, 0.22, 0.3), strict=False):
        lower, upper = course.lower[:, place], course.upper[:, place]
        below, above = np.repeat(np.clip(np.stack([lower, upper]), 2 * low - high, 2 * high - low), 2, axis=1)
        chart.add_band(steps, below, above, MODEL, alpha)
        shade = 1 - (1 - shade) * (1 - alpha)  # they lie upon each other
        legend.append(Shape([], fill=MODEL, opacity=shade, label=_name(each)))
        chart.read(Line(_name(each), row, course.prediction, lower, upper))
    own = _place(history, delta)
    missed = (target < course.lower[:, own]) | (target > course.upper[:, own])
    starts, ends = (np.column_stack([row + half, course.prediction]) for half in (-0.5, 0.5))
    chart.add_segments(starts, ends, MODEL, width=1.4, label="prediction")
    chart.add_dots(row, target, INK, 3.6, label="target")
    chart.add_dots(row[missed], target[missed], OUTSIDE, 6.0, label="target outside")
    inner = rows_of(changes) + 1.0
    mark_changes(chart, inner[(inner >= row[0]) & (inner <= row[-1])])
    outside = int(missed.sum())
    infinite = int(np.isinf(course.upper[:, own] - course.lower[:, own]).sum())
    opened = f" The band is infinite at {counted(infinite, 'row')}." if infinite else ""

    def percent(share: float) -> str:
        return f"{100 * share:.4g}\N{NO-BREAK SPACE}%"

    return ChartDrawing(
        "latest",
        "The latest rows",
        [chart],
        f"The last {counted(len(row), 'row')}, each with its intervals and prediction as they were before its target "
        f"was seen. About {percent(delta)} of targets should lie outside of the band for {percent(1 - delta)}; here "
        f"{outside} of {len(row)} do, and are marked.{opened}",
        f"Targets, predictions and intervals of {counted(len(row), 'row')}; {outside} outside of the {_name(delta)}.",
        1,
        (792.0, 302.0),
        [*legend, *chart.labelled()],
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


def _chart(rows: Vector, title: str, up: str, y: Scale) -> Chart:
    """Over the rows that were learned, with a legend of its own."""
    room = max(1.0, 0.02 * float(np.ptp(rows)))
    x = linear_scale(float(rows[0]) - room, float(rows[-1]) + room, 5, whole=True)
    return Chart(title, "rows learned", up, x, y, legend=True)


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
