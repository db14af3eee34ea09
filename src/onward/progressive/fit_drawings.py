"""The pictures of one pass: how the error fell, what is left of it, how coefficients moved."""

from __future__ import annotations  # results are shown by this, and known here by name only

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from onward.confidence import Change
from onward.core.types import Vector
from onward.core.words import counted
from onward.pages.axis_limits import central_limits, height_limits, spans_decades
from onward.pages.chart import DASHED, Chart, ChartDrawing
from onward.pages.drawing import Line
from onward.pages.labels import make_labels
from onward.pages.numbers import format_number
from onward.pages.palette import COLORS, GREY
from onward.pages.ticks import error_scale, linear_scale, row_scale
from onward.progressive.change_marks import learned_until, mark_changes, rows_of
from onward.progressive.coefficient_intervals import describe_coefficients
from onward.regression import AutoRegressor, ForwardRegressor

if TYPE_CHECKING:
    from onward.progressive.results import Fit, History

MODEL, TREND = COLORS["forward"], COLORS["ridge"]
MOST_PANELS = 12  # of coefficients: more are not looked at one by one
_DOTS = 1_500
_WINDOWS = 40
_NORMAL = "normal curve of the same mean and spread"


def draw_learning(history: History, changes: Sequence[Change] = ()) -> ChartDrawing:
    """The error over the rows, until then and of late, beside that of the running mean."""
    rows = history.rows.astype(np.float64)
    errors = error_lines(history)
    log = spans_decades([line.y for lines in errors.values() for line in lines])
    charts = list[Chart]()
    for title, lines in errors.items():
        limits = height_limits([line.y for line in lines], log=log)
        chart = Chart(title, "rows learned", "RMSE", row_scale(rows), (error_scale if log else linear_scale)(*limits))
        for line, color, dash in zip(lines, (GREY, MODEL), (DASHED, ()), strict=True):  # the model lies on top
            chart.add_line(line, color, dash=dash, marked=len(rows) <= 20)
            chart.read(line, color)
        mark_changes(chart, learned_until(history, changes))
        charts.append(chart)
    scores = history.scores[-1]
    masked = " What is 0 is not drawn: the axis is logarithmic." if log and _any_zero(errors.values()) else ""
    return ChartDrawing(
        "learning",
        "How the error fell",
        charts,
        "Root mean squared error of the predictions made before each target was seen. Left, of all rows until then; "
        "right, only of those since the reading before (a few percent of the rows, so it moves more, and shows drift "
        "that the left hides). The running mean predicts each target as the mean of those before."
        f"{' Dotted: where the relation seems to have changed.' if changes else ''}{masked}",
        f"Two line charts over the number of rows. At the end the model's RMSE is {format_number(scores.rmse)} and the "
        f"running mean's {format_number(scores.mean_rmse)}.",
        2,
        legend=charts[0].labelled(),
    )


def draw_residuals(history: History, changes: Sequence[Change] = ()) -> ChartDrawing:
    """What is left of the targets: its shape, its course, and the targets beside their predictions."""
    sample = {name: np.asarray(values, dtype=np.float64) for name, values in history.sample.items()}
    left_over = sample["target"] - sample["prediction"]
    charts = [
        _draw_histogram(left_over),
        _draw_course(sample["row"], left_over, rows_of(changes)),
        _draw_beside(sample["prediction"], sample["target"]),
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
    return ChartDrawing(
        "residuals",
        "What was left of the targets",
        charts,
        f"Residuals are targets less the predictions made before; here of {which}. Left: how many of each size, with "
        "the normal curve of the same mean and spread. Middle: over the rows; the line is their mean in windows of "
        "equally many rows, the band holds the middle 80 % of each: a line that leaves 0, or a band that changes its "
        f"width, is drift{marked}. Right: targets against predictions; the line is the mean target in windows of like "
        f"predictions and would lie on the dashed diagonal if predictions were right on average.{cut}",
        f"Three charts of {which}. The residuals have mean {format_number(float(left_over.mean()))} and standard "
        f"deviation {format_number(float(left_over.std()))}.",
        3,
        (792.0, 288.0),
    )


def draw_coefficients(fit: Fit, history: History) -> ChartDrawing:
    """The coefficients that move predictions most, over the rows, with their intervals."""
    weights = prediction_moves(fit, history)
    chosen = np.argsort(-weights, kind="stable")[:MOST_PANELS]
    columns = min(3, len(chosen))
    row_count = math.ceil(len(chosen) / columns)
    size = (230.0 * columns if columns > 1 else 432.0, 151.0 * row_count + 29.0)
    rows = history.rows.astype(np.float64)
    names = make_labels([history.names[j] for j in chosen])
    assumed = describe_coefficients(fit.model, fit.known, fit.inference, is_restarted=fit.is_restarted)
    charts, cut, never, with_sets = list[Chart](), False, 0, bool(assumed)
    for j, name in zip(chosen, names, strict=True):
        estimate, lower, upper = (part[:, j] for part in (history.estimate, history.lower, history.upper))
        closed = np.isfinite(lower) & np.isfinite(upper)
        never += not closed[-1]
        low, high = _panel_limits(estimate, lower, upper)
        chart = Chart(name, "rows learned", "", row_scale(rows, 5, small=False), linear_scale(low, high, 6))
        chart.across_written = len(charts) >= len(chosen) - columns
        chart.add_level(0.0, GREY, width=0.8)
        ends = np.where(closed, np.clip(np.stack([lower, upper]), low - (high - low), high + (high - low)), np.nan)
        chart.add_band(rows, ends[0], ends[1], MODEL, 0.2)
        chart.add_line(Line(name, rows, estimate), MODEL, marked=len(rows) <= 20)
        cut = cut or bool((closed & ((lower < low) | (upper > high))).any())
        chart.read(Line(name, rows, estimate, *([lower, upper] if with_sets else [])), MODEL)
        charts.append(chart)
    every = len(chosen) == len(history.names)
    which = "All coefficients" if every else f"The {len(chosen)} of {len(history.names)} coefficients that matter most"
    said = " Bands are cut off at a panel's edge." if cut else ""
    said += (_describe_open_ends(never, len(chosen)) if with_sets else "") + _describe_estimates(fit)
    bands = f" Bands are intervals. {assumed}"
    return ChartDrawing(
        "coefficients",
        "How the coefficients settled",
        charts,
        f"{which}, by |estimate| × the root mean square of the feature: how far a coefficient moves predictions on a "
        f"typical row.{bands if with_sets else ''}{said}",
        f"{len(chosen)} small line charts. At the end: "
        + "; ".join(
            f"{name} {format_number(float(history.estimate[-1, j]))}" for name, j in zip(names, chosen, strict=True)
        )
        + ".",
        columns,
        size,
    )


def prediction_moves(fit: Fit, history: History) -> Vector:
    """|estimate| × the feature's root mean square: how far each coefficient moves the prediction of a typical row."""
    moved: Vector = np.abs(history.estimate[-1]) * np.sqrt(fit.model._mean_squares())
    return np.nan_to_num(moved, nan=0.0, posinf=np.finfo(np.float64).max)


def error_lines(history: History) -> dict[str, list[Line]]:
    """The RMSE of the running mean and of the model over the rows, by what is counted."""
    return {
        "All rows until then": _error_lines(history, since=False),
        "Rows since the reading before": _error_lines(history, since=True),
    }


def _error_lines(history: History, *, since: bool) -> list[Line]:
    rows = history.rows.astype(np.float64)
    sums = np.array([[each.mean_squared, each.squared, each.weight] for each in history.scores], dtype=np.float64)
    if since:
        sums = np.diff(sums, axis=0, prepend=0.0)
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.maximum(sums[:, :2], 0.0) / sums[:, 2:])
    return [Line(name, rows, errors[:, i]) for i, name in enumerate(("running mean", "model"))]


def _any_zero(errors: Iterable[list[Line]]) -> bool:
    return any(bool((line.y == 0).any()) for lines in errors for line in lines)


def _draw_histogram(values: Vector) -> Chart:
    low, high = central_limits(values)
    counts, edges = np.histogram(values, bins=int(np.clip(np.ceil(2 * np.cbrt(len(values))), 5, 40)), range=(low, high))
    centres = (edges[:-1] + edges[1:]) / 2
    bars = Line("rows", centres, counts.astype(np.float64))
    spread = float(values.std())
    x = np.linspace(low, high, 200)
    curve = None
    if len(values) > 2 and spread > 0:
        density = np.exp(-0.5 * ((x - values.mean()) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))
        curve = Line(_NORMAL, x, density * len(values) * (edges[1] - edges[0]))
    most = max([float(counts.max()), *([] if curve is None else [float(curve.y.max())])])
    chart = Chart("How large", "residual", "rows", linear_scale(low, high, 7), linear_scale(0, 1.05 * most, whole=True))
    chart.add_bars(edges, bars.y, MODEL, 0.55)
    chart.read(bars)
    if curve is not None:
        chart.add_line(curve, TREND, width=1.3)
        chart.read(curve, TREND)
    return chart


def _draw_course(rows: Vector, values: Vector, changes: Vector) -> Chart:
    room = max(1.0, 0.02 * float(np.ptp(rows)))
    x = linear_scale(float(rows.min()) - room, float(rows.max()) + room, 5, whole=True)
    chart = Chart("Over the rows", "row", "residual", x, linear_scale(*central_limits(values)))
    _draw_dots(chart, rows, values)
    chart.add_level(0.0, GREY, dash=DASHED)
    line = _window_means("mean of the window", rows, values)
    chart.add_line(line, TREND, marked=len(line.x) == 1)
    chart.read(line, TREND)
    mark_changes(chart, changes)
    return chart


def _draw_beside(predictions: Vector, targets: Vector) -> Chart:
    low, high = central_limits(np.concatenate([predictions, targets]))
    x, y = linear_scale(low, high, 5), linear_scale(low, high)
    chart = Chart("Beside the predictions", "prediction", "target", x, y)
    _draw_dots(chart, predictions, targets)
    chart.add_segments(np.full((1, 2), low), np.full((1, 2), high), GREY, width=1.0, dash=DASHED)
    window = _window_means("mean target", predictions, targets)
    line = Line(window.label, window.x, window.y)
    chart.add_line(line, TREND, marked=len(line.x) < 5)
    chart.read(line, TREND)
    return chart


def _draw_dots(chart: Chart, x: Vector, y: Vector) -> None:
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), _DOTS)).round().astype(np.int64))
    chart.add_dots(x[kept], y[kept], MODEL, 2.0 if len(kept) > 300 else 3.5, opacity=0.5)


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
