"""The pictures of one pass: how the error fell, what is left of it, how coefficients moved."""

from __future__ import annotations  # results are shown by this, and known here by name only

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator, NullLocator, StrMethodFormatter

from onward.confidence import Change
from onward.core.types import Vector
from onward.core.words import counted
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.labels import make_drawable, make_labels
from onward.pages.numbers import format_number
from onward.pages.scales import central_limits, fit_y_axis, set_log_rows, spans_decades
from onward.pages.style import (
    COLORS,
    SMALL,
    add_figure_legend,
    draw_line,
    make_figure,
    style_axes,
)
from onward.progressive.change_marks import learned_until, mark_changes, rows_of
from onward.progressive.coefficient_intervals import describe_coefficients
from onward.regression import AutoRegressor, ForwardRegressor

if TYPE_CHECKING:
    from onward.progressive.results import Fit, History, Scores

MODEL, MEAN = COLORS["forward"], "#888888"
MOST_PANELS = 12  # of coefficients: more are not looked at one by one
_DOTS = 1_500
_WINDOWS = 40
_NORMAL = "normal curve of the same mean and spread"


def draw_learning(history: History, changes: Sequence[Change] = ()) -> Drawing:
    """The error over the rows, until then and of late, beside that of the running mean."""
    rows = history.rows.astype(np.float64)
    figure, (left, right) = make_figure(1, 2)
    until = _error_lines(history.scores, rows, since=False)
    since = _error_lines(history.scores, rows, since=True)
    log = spans_decades([line.y for line in until + since])
    panels = []
    for axes, lines, title in ((left, until, "All rows until then"), (right, since, "Rows since the reading before")):
        set_log_rows(axes, rows)
        for line, color, dash in zip(lines, (MEAN, MODEL), ("--", "-"), strict=True):  # the model lies on top
            draw_line(axes, line, color, dash)
            if len(rows) <= 20:
                axes.plot(line.x, line.y, ".", color=color)
        style_axes(axes, title=title, xlabel="rows learned", ylabel="RMSE")
        fit_y_axis(axes, [line.y for line in lines], log=log)
        mark_changes(axes, learned_until(history, changes))
        panels.append(Panel(axes, lines))
    add_figure_legend(figure, *left.get_legend_handles_labels())
    scores = history.scores[-1]
    masked = " What is 0 is not drawn: the axis is logarithmic." if log and _any_zero(until + since) else ""
    return Drawing(
        "learning",
        "How the error fell",
        figure,
        "Root mean squared error of the predictions made before each target was seen. Left, of all rows until then; "
        "right, only of those since the reading before (a few percent of the rows, so it moves more, and shows drift "
        "that the left hides). The running mean predicts each target as the mean of those before."
        f"{' Dotted: where the relation seems to have changed.' if changes else ''}{masked}",
        f"Two line charts over the number of rows. At the end the model's RMSE is {format_number(scores.rmse)} and the "
        f"running mean's {format_number(scores.mean_rmse)}.",
        panels,
    )


def draw_residuals(history: History, changes: Sequence[Change] = ()) -> Drawing:
    """What is left of the targets: its shape, its course, and the targets beside their predictions."""
    sample = {name: np.asarray(values, dtype=np.float64) for name, values in history.sample.items()}
    left_over = sample["target"] - sample["prediction"]
    figure, (shape, course, beside) = make_figure(1, 3, (11.0, 4.0))
    panels = [
        Panel(shape, _draw_histogram(shape, left_over)),
        Panel(course, _draw_course(course, sample["row"], left_over, rows_of(changes))),
        Panel(beside, _draw_beside(beside, sample["prediction"], sample["target"])),
    ]
    count = len(left_over)
    low, high = central_limits(left_over)
    beyond = int(((left_over < low) | (left_over > high)).sum())
    rows = history.scores[-1].rows
    which = f"all {count:,} rows" if count > 1 else "one row"
    if count < rows:
        which = f"{count:,} of {rows:,} rows, evenly spaced"
    marked = ", and dotted lines are where the relation seems to have changed" if changes else ""
    cut = f" Axes leave out the outermost: {counted(beyond, 'residual')}." if beyond else ""
    return Drawing(
        "residuals",
        "What was left of the targets",
        figure,
        f"Residuals are targets less the predictions made before; here of {which}. Left: how many of each size, with "
        "the normal curve of the same mean and spread. Middle: over the rows; the line is their mean in windows of "
        "equally many rows, the band holds the middle 80 % of each: a line that leaves 0, or a band that changes its "
        f"width, is drift{marked}. Right: targets against predictions; the line is the mean target in windows of like "
        f"predictions and would lie on the dashed diagonal if predictions were right on average.{cut}",
        f"Three charts of {which}. The residuals have mean {format_number(float(left_over.mean()))} and standard "
        f"deviation {format_number(float(left_over.std()))}.",
        panels,
    )


def draw_coefficients(fit: Fit, history: History) -> Drawing:
    """The coefficients that move predictions most, over the rows, with their intervals."""
    weights = prediction_moves(fit, history)
    chosen = np.argsort(-weights, kind="stable")[:MOST_PANELS]
    columns = min(3, len(chosen))
    row_count = math.ceil(len(chosen) / columns)
    figure, all_axes = make_figure(row_count, columns, (3.2 * columns if columns > 1 else 6.0, 2.1 * row_count + 0.4))
    rows = history.rows.astype(np.float64)
    names = make_labels([history.names[j] for j in chosen])
    assumed = describe_coefficients(fit.model, fit.known, fit.inference, is_restarted=fit.is_restarted)
    panels, cut, never, with_sets = [], False, 0, bool(assumed)
    for axes, j, name in zip(all_axes, chosen, names, strict=False):
        estimate, lower, upper = (part[:, j] for part in (history.estimate, history.lower, history.upper))
        line = Line(name, rows, estimate, *([lower, upper] if with_sets else []))
        closed = np.isfinite(lower) & np.isfinite(upper)
        never += not closed[-1]
        low, high = _panel_limits(estimate, lower, upper)
        set_log_rows(axes, rows)
        axes.xaxis.set_minor_locator(NullLocator())  # small panels, and ticks are what takes time to draw
        axes.axhline(0, color=MEAN, linewidth=0.8, linestyle=":")
        ends = np.clip(np.stack([lower, upper]), low - (high - low), high + (high - low))
        axes.fill_between(rows, ends[0], ends[1], where=closed.tolist(), color=MODEL, alpha=0.2, linewidth=0)
        axes.plot(rows, estimate, color=MODEL, linewidth=1.5, marker="." if len(rows) <= 20 else None)
        axes.set_ylim(low, high)
        cut = cut or bool((closed & ((lower < low) | (upper > high))).any())
        style_axes(axes, title=make_drawable(name), xlabel="", ylabel="")
        axes.title.set_fontsize(9)
        panels.append(Panel(axes, [line]))
    for axes in all_axes[len(chosen) :]:
        axes.set_axis_off()
    for axes in all_axes[max(0, len(chosen) - columns) : len(chosen)]:
        axes.set_xlabel("rows learned", fontsize=SMALL)
    every = len(chosen) == len(history.names)
    which = "All coefficients" if every else f"The {len(chosen)} of {len(history.names)} coefficients that matter most"
    said = " Bands are cut off at a panel's edge." if cut else ""
    said += (_describe_open_ends(never, len(chosen)) if with_sets else "") + _describe_estimates(fit)
    bands = f" Bands are intervals. {assumed}"
    return Drawing(
        "coefficients",
        "How the coefficients settled",
        figure,
        f"{which}, by |estimate| × the root mean square of the feature: how far a coefficient moves predictions on a "
        f"typical row.{bands if with_sets else ''}{said}",
        f"{len(chosen)} small line charts. At the end: "
        + "; ".join(
            f"{name} {format_number(float(history.estimate[-1, j]))}" for name, j in zip(names, chosen, strict=True)
        )
        + ".",
        panels,
    )


def prediction_moves(fit: Fit, history: History) -> Vector:
    """|estimate| × the feature's root mean square: how far each coefficient moves the prediction of a typical row."""
    moved: Vector = np.abs(history.estimate[-1]) * np.sqrt(fit.model._mean_squares())
    return np.nan_to_num(moved, nan=0.0, posinf=np.finfo(np.float64).max)


def _error_lines(scores: Sequence[Scores], rows: Vector, *, since: bool) -> list[Line]:
    sums = np.array([[each.mean_squared, each.squared, each.weight] for each in scores], dtype=np.float64)
    if since:
        sums = np.diff(sums, axis=0, prepend=0.0)
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.maximum(sums[:, :2], 0.0) / sums[:, 2:])
    return [Line(name, rows, errors[:, i]) for i, name in enumerate(("running mean", "model"))]


def _any_zero(lines: Sequence[Line]) -> bool:
    return any(bool((line.y == 0).any()) for line in lines)


def _draw_histogram(axes: Axes, values: Vector) -> list[Line]:
    low, high = central_limits(values)
    counts, edges = np.histogram(values, bins=int(np.clip(np.ceil(2 * np.cbrt(len(values))), 5, 40)), range=(low, high))
    axes.stairs(counts, edges, fill=True, color=MODEL, alpha=0.55)
    centres = (edges[:-1] + edges[1:]) / 2
    lines = [Line("rows", centres, counts.astype(np.float64))]
    spread = float(values.std())
    if len(values) > 2 and spread > 0:
        x = np.linspace(low, high, 200)
        density = np.exp(-0.5 * ((x - values.mean()) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
        curve = density * len(values) * (edges[1] - edges[0])
        lines.append(Line(_NORMAL, x, curve))
        axes.plot(x, curve, color=COLORS["ridge"], linewidth=1.3, label=_NORMAL)
    axes.set_xlim(low, high)
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    style_axes(axes, title="How large", xlabel="residual", ylabel="rows")
    return lines


def _draw_course(axes: Axes, rows: Vector, values: Vector, changes: Vector) -> list[Line]:
    _draw_dots(axes, rows, values)
    axes.axhline(0, color=MEAN, linestyle="--", linewidth=1.0)
    line = _window_means("mean of the window", rows, values)
    draw_line(axes, line, COLORS["ridge"])
    if len(line.x) == 1:
        axes.plot(line.x, line.y, "o", color=COLORS["ridge"], markersize=4)
    room = max(1.0, 0.02 * float(np.ptp(rows)))
    axes.set_xlim(float(rows.min()) - room, float(rows.max()) + room)
    axes.set_ylim(*central_limits(values))
    mark_changes(axes, changes)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    style_axes(axes, title="Over the rows", xlabel="row", ylabel="residual")
    return [line]


def _draw_beside(axes: Axes, predictions: Vector, targets: Vector) -> list[Line]:
    _draw_dots(axes, predictions, targets)
    low, high = central_limits(np.concatenate([predictions, targets]))
    axes.plot([low, high], [low, high], color=MEAN, linestyle="--", linewidth=1.0)
    line = _window_means("mean target", predictions, targets)
    axes.plot(line.x, line.y, color=COLORS["ridge"], linewidth=1.5, marker="." if len(line.x) < 5 else None)
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.locator_params(axis="x", nbins=4)
    style_axes(axes, title="Beside the predictions", xlabel="prediction", ylabel="target")
    return [Line(line.label, line.x, line.y)]


def _draw_dots(axes: Axes, x: Vector, y: Vector) -> None:
    """Points as one path, of strokes without length and with round ends: thousands of marks would make a page slow."""
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), _DOTS)).round().astype(np.int64))
    points = np.repeat(np.column_stack([x[kept], y[kept]]), 2, axis=0)
    codes = np.tile(np.array([Path.MOVETO, Path.CLOSEPOLY], dtype=np.uint8), len(kept))
    size = 2.0 if len(kept) > 300 else 3.5
    axes.add_patch(
        PathPatch(Path(points, codes), fill=False, edgecolor=MODEL, linewidth=size, capstyle="round", alpha=0.5)
    )


def _window_means(label: str, x: Vector, y: Vector) -> Line:
    """The mean of y in windows of equally many values of x, in order of x, with a band that holds the middle 80 %."""
    order = np.argsort(x, kind="stable")
    windows = np.array_split(order, max(1, min(_WINDOWS, len(order) // 10)))
    parts = [(x[w].mean(), y[w].mean(), *np.quantile(y[w], [0.1, 0.9])) for w in windows]
    across, middle, low, high = np.array(parts).T
    return Line(label, across, middle, low, high)


def _panel_limits(estimate: Vector, lower: Vector, upper: Vector) -> tuple[float, float]:
    """What a panel shows of a coefficient: all of its later half, the interval at the end, and 0 if it is near."""
    shown = estimate[len(estimate) // 2 :]
    values = np.concatenate([shown, lower[-1:], upper[-1:]])
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    reach = high - low
    if low > 0 and low < reach:
        low = 0.0
    if high < 0 and -high < reach:
        high = 0.0
    return _widen(low, high, 0.12)


def _widen(low: float, high: float, margin: float) -> tuple[float, float]:
    reach = (high - low) * margin or abs(high) * 0.1 or 1.0
    return low - reach, high + reach


def _describe_open_ends(count: int, total: int) -> str:
    if not count:
        return ""
    closed = total - count
    return f" {closed or 'None'} of them {'has' if closed < 2 else 'have'} a finite interval at the end."


def _describe_estimates(fit: Fit) -> str:
    if fit.known.sigma is None and fit.model._has_contrasts:
        own = (
            "the averages of the learners', by their weights" if isinstance(fit.model, AutoRegressor) else "the model's"
        )
        return f" Intervals lie around least squares on all rows; lines are {own}, and may leave them."
    if isinstance(fit.model, ForwardRegressor):
        return " Lines are the ridge coefficients; forward's intervals lie around its own, which are smaller."
    if isinstance(fit.model, AutoRegressor):
        return " A coefficient is the average of the learners', by their weights."
    return ""
