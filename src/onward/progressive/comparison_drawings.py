"""The pictures of a comparison: the error over λ, and how the best and the worst λ of each learner got there."""

from __future__ import annotations  # results are shown by this, and known here by name only

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from onward.core.types import Vector
from onward.pages.axis_limits import spans_decades
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.numbers import format_number, use_minus_signs
from onward.pages.palette import COLORS, SETTINGS
from onward.pages.scales import fit_y_axis, set_log_rows
from onward.pages.style import add_figure_legend, draw_line, make_figure, style_axes

if TYPE_CHECKING:
    from onward.progressive.results import Comparison

RUNNING_MEAN = "running mean"
AUTO = "auto"


def draw_errors_over_lam(comparison: Comparison) -> Drawing:
    """The RMSE of each learner over λ, beside that of the running mean."""
    lams = np.array(comparison.lams, dtype=np.float64)
    order = np.argsort(lams, kind="stable")
    figure, (axes,) = make_figure(1, 1, (8.0, 4.4))
    lines = [
        Line(learner, lams[order], _mask_infinite(comparison.rmse(learner)[order])) for learner in comparison.scores
    ]
    mean = mean_rmse(comparison)
    if comparison.auto is not None:
        lines.append(Line(AUTO, lams[order], np.full(len(lams), comparison.auto.rmse)))
    lines.append(Line(RUNNING_MEAN, lams[order], np.full(len(lams), mean)))
    log = spans_decades([line.y for line in lines])
    _set_lam_axis(axes, lams[order])
    axes.axhline(mean, color="#888888", linestyle="--", linewidth=1.2, label=RUNNING_MEAN)
    if comparison.auto is not None:
        axes.axhline(comparison.auto.rmse, color=COLORS[AUTO], linestyle="-.", linewidth=1.4, label=AUTO)
    for line, color in zip(lines[: len(comparison.scores)], _colors(comparison), strict=True):
        draw_line(axes, line, color)
        axes.plot(line.x, line.y, "o", color=color, markersize=4)
    fit_y_axis(axes, [line.y for line in lines], log=log, from_zero=False)
    style_axes(axes, title="", xlabel="λ, the regularisation", ylabel="RMSE of the online predictions")
    add_figure_legend(figure, *axes.get_legend_handles_labels())
    missing = [
        f"{learner} at {format_lam(lam)}"
        for learner in comparison.scores
        for lam, error in zip(comparison.lams, comparison.rmse(learner), strict=True)
        if not math.isfinite(error)
    ]
    undefined = f" Not defined, so not drawn: {', '.join(missing)}." if missing else ""
    zero = (
        f" {format_lam(0)} stands at the left edge of the logarithmic axis." if 0 < (lams > 0).sum() < len(lams) else ""
    )
    said = "; ".join(
        f"{learner} from {format_number(best)} to {format_number(worst)}"
        for learner in comparison.scores
        if math.isfinite(best := _least_error(comparison.rmse(learner)))
        and (worst := -_least_error(-comparison.rmse(learner)))
    )
    return Drawing(
        "over-lam",
        "The error over λ",
        figure,
        "Root mean squared error of the predictions made before each target was seen, over all rows. The running mean "
        "predicts each target as the mean of those before, whatever λ is."
        f"{'' if comparison.auto is None else ' Auto needs no λ: its error is a line across.'}{zero}{undefined}",
        f"A line chart of RMSE over λ: {said}"
        f"{'' if comparison.auto is None else f'; auto {format_number(comparison.auto.rmse)}'}"
        f"; running mean {format_number(mean)}.",
        [Panel(axes, lines)],
    )


def draw_courses(comparison: Comparison) -> Drawing:
    """The RMSE over the rows, for the best and the worst λ of each learner."""
    rows = comparison.marks.astype(np.float64)
    figure, (axes,) = make_figure(1, 1, (8.0, 4.4))
    drawn = []
    for learner, color in zip(comparison.scores, _colors(comparison), strict=True):
        for place, word, dash in _best_and_worst(comparison.rmse(learner)):
            errors = _mask_infinite(np.asarray(comparison.curves[learner], dtype=np.float64)[:, place])
            drawn.append((Line(f"{learner}, {format_lam(comparison.lams[place])}{word}", rows, errors), color, dash))
    if comparison.auto is not None:
        drawn.append((Line(AUTO, rows, _mask_infinite(comparison.auto_curve)), COLORS[AUTO], "-."))
    lines = [line for line, _, _ in drawn]
    log = spans_decades([line.y for line in lines])
    set_log_rows(axes, rows)
    for line, color, dash in drawn:
        draw_line(axes, line, color, dash)
        if len(rows) <= 20:
            axes.plot(line.x, line.y, ".", color=color)
    fit_y_axis(axes, [line.y for line in lines], log=log)
    style_axes(axes, title="", xlabel="rows learned", ylabel="RMSE until then")
    add_figure_legend(figure, *axes.get_legend_handles_labels())
    return Drawing(
        "courses",
        "How they got there",
        figure,
        "Root mean squared error of all rows until then, for the λ with which each learner ended best (solid) and "
        f"worst (dashed){'' if comparison.auto is None else ', and of auto, without a λ (dashes and dots)'}.",
        "A line chart over the number of rows. At the end: "
        + "; ".join(f"{line.label} {format_number(float(line.y[-1]))}" for line in lines)
        + ".",
        [Panel(axes, lines)],
    )


def format_lam(lam: float) -> str:
    """λ in words, that do not part at the end of a line."""
    return use_minus_signs(f"λ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{lam:g}")


def mean_rmse(comparison: Comparison) -> float:
    """That of the running mean, which all learners are beside."""
    found = [each.mean_rmse for scores in comparison.scores.values() for each in scores if each is not None]
    return found[0] if found else math.nan


def _set_lam_axis(axes: Axes, lams: Vector) -> None:
    """Logarithmic; with 0 at the left edge if it is among them: the axis is then linear from 0 to the least other."""
    positive = lams[lams > 0]
    if not len(positive):
        axes.set_xticks([0.0])
        axes.set_xlim(-1.0, 1.0)
        return
    low, high = float(positive.min()), float(positive.max())
    room = max((high / low) ** 0.03, 1.3)
    if len(positive) == len(lams):
        axes.set_xscale("log")
        axes.set_xlim(low / room, high * room)
    else:
        share = max(0.6, 0.08 * math.log10(high / low))
        axes.set_xscale("symlog", linthresh=low, linscale=share)
        axes.set_xlim(-0.1 * low, high * room)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / 8))
    inside = [10.0**power for power in range(first, last + 1, step) if low / room <= 10.0**power <= high * room]
    zero = [0.0] if len(positive) < len(lams) else []
    axes.xaxis.set_major_locator(FixedLocator([*zero, *(inside if len(inside) > 1 else sorted({low, high}))]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: use_minus_signs(f"{value:g}")))


def _best_and_worst(errors: Vector) -> list[tuple[int, str, str]]:
    """Places of the least and the largest error, with words and dashes; one if they are the same, none if undefined."""
    defined = np.flatnonzero(np.isfinite(errors))
    if not len(defined):
        return []
    best, worst = int(defined[np.argmin(errors[defined])]), int(defined[np.argmax(errors[defined])])
    return [(best, "", "-")] if best == worst else [(best, " (best)", "-"), (worst, " (worst)", "--")]


def _least_error(errors: Vector) -> float:
    finite = errors[np.isfinite(errors)]
    return float(finite.min()) if len(finite) else math.nan


def _mask_infinite(values: Vector) -> Vector:
    return np.where(np.isfinite(values), values, np.nan)


def _colors(comparison: Comparison) -> list[str]:
    return [COLORS.get(learner, SETTINGS[i % len(SETTINGS)]) for i, learner in enumerate(comparison.scores)]
