"""The report of a pass over one's own data: one HTML file that opens anywhere.

    write_fit_report("fit.html", fit, command="onward fit data.csv --target price --report fit.html")

Files are written wholly or not at all. The same results give the same bytes.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from onward.atomic_files import write_atomically
from onward.confidence.assumptions import describe_target_intervals
from onward.core.types import Vector
from onward.core.words import counted
from onward.pages.chart import ChartDrawing
from onward.pages.chart_page import draw_charts
from onward.pages.labels import NAMELESS
from onward.pages.numbers import format_duration, format_number
from onward.pages.page import render_page
from onward.pages.picture import Picture
from onward.pages.versions import library_versions
from onward.progressive import fit_drawings, interval_drawings
from onward.progressive.changes import describe_changes
from onward.progressive.coefficient_table import CoefficientTable
from onward.progressive.results import Comparison, Fit, History
from onward.progressive.summaries import contrast_rows, said_of_contrasts, settled_lines
from onward.progressive.weight_drawings import draw_weights
from onward.regression import AutoRegressor, learner_name

MOST_ROWS = 200  # of a table of coefficients


def write_fit_report(path: str | os.PathLike[str], fit: Fit, command: str = "") -> None:
    """Write the page of one pass: scores, learning curve, residuals, calibration and coefficients.

    ValueError if the fit kept no history, or if nothing was learned.
    """
    if fit.scores.rows == 0:
        raise ValueError(f"nothing was learned from {fit.source}{all_skipped(fit.read, fit.skipped)}: no report")
    history = fit.history
    if history is None:
        raise ValueError("a report is drawn from the readings along the pass, but this fit has none (history is None)")
    shares = interval_drawings.shares_inside(history.misses[-1], history.scores[-1].rows)
    table, contrasts = fit.coefficients(), fit.contrasts()
    coefficients, left = _coefficient_rows(fit, table, history)
    write_page(
        path,
        "progressive/fit_report.html",
        f"{_learner(fit)} on {fit.source}",
        f"What came of learning {fit.target} from {fit.source}, row by row.",
        [draw_charts(each) for each in _drawings(fit, history)],
        kicker="online fit",
        summary=_fit_summary(fit),
        headline=_headline(fit),
        changed=describe_changes(fit.changes or (), fit.known.delta, fit.on_change),
        short_shares=_short_shares(history, shares),
        method=fit.method,
        interval_level=f"{interval_drawings.LEVEL:.0%} interval",
        calibration=_calibration_rows(history, shares),
        coefficient_head=[*(_capital(head) for head in table.heads.values()), "Moves predictions by"],
        coefficients=coefficients,
        coefficients_assumed=" ".join(table.remarks),
        contrasts=contrast_rows(contrasts),
        contrasts_assumed=" ".join(said_of_contrasts(fit, contrasts)),
        targets_assumed=describe_target_intervals(fit.method, fit.known),
        more_coefficients=counted(left, "more coefficient") if left > 0 else "",
        settings=_settings(fit),
        command=command,
        **about_run(fit, fit.scores.rows),
    )


def write_page(
    path: str | os.PathLike[str],
    template: str,
    title: str,
    description: str,
    pictures: Sequence[Picture],
    **values: Any,
) -> None:
    """Write a page wholly or not at all."""
    write_atomically(path, render_page(template, title, description, pictures, **values).encode())


def about_run(result: Fit | Comparison, learned: int) -> dict[str, Any]:
    """What the pages of a pass and of a comparison say at their end: rows, what was missing, time, versions."""
    counts = {"read": result.read, "learned": learned}
    counts |= {f"skipped: {reason}": count for reason, count in result.skipped.items()}
    return {
        "row_counts": [[name, f"{count:,}"] for name, count in counts.items()],
        "missing_counts": [[name or NAMELESS, f"{count:,}"] for name, count in result.filled.items()],
        "versions": {"Time": format_duration(result.seconds), **library_versions()},
    }


# Of one pass


def _learner(fit: Fit) -> str:
    return learner_name(fit.model).capitalize()


def _drawings(fit: Fit, history: History) -> Iterator[ChartDrawing]:
    changes, delta = fit.changes or (), fit.known.delta
    yield fit_drawings.draw_learning(history, changes)
    yield fit_drawings.draw_residuals(history, changes)
    yield interval_drawings.draw_calibration(history, fit.method)
    yield fit_drawings.draw_coefficients(fit, history)
    if isinstance(fit.model, AutoRegressor):
        yield draw_weights(history, fit.model.experts, fit.model.leaning_)
    course = history.course
    if course is not None and len(course.rows):
        yield interval_drawings.draw_course(history, course, delta, fit.method, changes)
        yield interval_drawings.draw_latest(history, course, delta, changes)


def _fit_summary(fit: Fit) -> str:
    skipped = sum(fit.skipped.values())
    why = f" ({_reasons(fit.skipped)})" if skipped else ""
    gaps, settled = sum(fit.filled.values()), settled_lines(fit.model)[:1]
    filled = f" {counted(gaps, 'missing value')} counted as 0." if gaps else ""
    return (
        f"One pass over {counted(fit.read, 'row')}, predicting “{fit.target}” before it was seen: "
        f"{fit.scores.rows:,} learned, {skipped:,} skipped{why}.{filled}{''.join(f' {line}' for line in settled)}"
    )


def _headline(fit: Fit) -> dict[str, tuple[str, str]]:
    scores = fit.scores
    better = "1 is perfect, 0 no better than the running mean"
    if math.isnan(scores.r2):
        better = "the running mean made no error to compare with"
    return {
        "Rows learned": (f"{scores.rows:,}", f"of {fit.read:,} read, in {format_duration(fit.seconds)}"),
        "RMSE": (format_number(scores.rmse), f"running mean: {format_number(scores.mean_rmse)}"),
        "MAE": (format_number(scores.mae), f"running mean: {format_number(scores.mean_mae)}"),
        "R² against the running mean": ("undefined" if math.isnan(scores.r2) else format_number(scores.r2), better),
    }


def _short_shares(history: History, shares: tuple[Vector, Vector, Vector]) -> list[str]:
    """Where fewer rows than promised lay inside of their intervals, by more than chance explains."""
    share, _, upper = shares
    return [
        f"{_percent(share[i])} instead of {_percent(1 - history.deltas[i])}"
        for i in np.argsort(history.deltas)
        if upper[i] < 1 - history.deltas[i]
    ]


def _calibration_rows(history: History, shares: tuple[Vector, Vector, Vector]) -> list[list[str]]:
    rows = history.scores[-1].rows
    share, lower, upper = shares
    closed = rows - history.open[-1]
    return [
        [
            _percent(1 - history.deltas[i]),
            _percent(share[i]),
            f"{_percent(lower[i])} to {_percent(upper[i])}",
            f"{history.misses[-1, i]:,}",
            _percent(history.open[-1, i] / rows),
            _percent(1 - min(1.0, history.misses[-1, i] / closed[i])) if closed[i] else "no such row",
        ]
        for i in np.argsort(-history.deltas)
    ]


def _coefficient_rows(fit: Fit, table: CoefficientTable, history: History) -> tuple[list[list[str]], int]:
    """The rows of the table, and how many coefficients it leaves out."""
    columns = [*(table[name] for name in list(table.heads)[1:]), fit_drawings.prediction_moves(fit, history)]
    rows = [
        [
            name.strip() or NAMELESS,
            *("–" if math.isnan(column[i]) else format_number(float(column[i])) for column in columns),
        ]
        for i, name in enumerate(history.names[:MOST_ROWS])
    ]
    return rows, len(history.names) - len(rows)


def _capital(text: str) -> str:
    return "p-value" if text == "p-value" else text[:1].upper() + text[1:]


def _settings(fit: Fit) -> dict[str, Any]:
    def brief(value: Any) -> Any:
        size = np.size(value)
        return f"{size:,} values" if size > 12 and not isinstance(value, str) else value

    return {
        "learner": type(fit.model).__name__,
        **{name: brief(value) for name, value in fit.model.get_params(deep=False).items()},
        "target": fit.target,
        "coefficients": len(fit.history.names) if fit.history else None,
        "intervals for targets": fit.method,
        "δ of the intervals": fit.known.delta,
        "when the relation changes": fit.on_change,
        "σ of the noise": "unknown" if fit.known.sigma is None else fit.known.sigma,
        "bound on the coefficients’ norm": "unknown" if fit.known.theta_bound is None else fit.known.theta_bound,
    }


# Words


def _percent(share: float) -> str:
    """A share with as many digits as it takes to tell it from all or none."""
    percent = 100 * share
    decimals = 0 if share in (0, 1) else next((n for n in (1, 2, 3, 4) if round(percent, n) not in (0.0, 100.0)), 5)
    return f"{percent:.{decimals}f}\N{NO-BREAK SPACE}%"


def _reasons(skipped: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {count:,}" for reason, count in skipped.items() if count)


def all_skipped(read: int, skipped: Mapping[str, int]) -> str:
    """Why nothing was learned."""
    why = f", {sum(skipped.values()):,} skipped ({_reasons(skipped)})" if sum(skipped.values()) else ""
    return f" ({counted(read, 'row')} read{why})"
