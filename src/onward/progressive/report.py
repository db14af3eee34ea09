"""The reports of a pass over one's own data and of a comparison: one HTML file each, that opens anywhere.

    write_fit_report("fit.html", fit, command="onward fit data.csv --target price --report fit.html")
    write_comparison_report("comparison.html", comparison, "Forward with λ = 0.1 is best.")
    save_comparison_plot("comparison.png", comparison)

Files are written wholly or not at all. The same results give the same bytes.
"""

import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import numpy as np

from onward.core.words import counted
from onward.pages import parts
from onward.pages.files import Kind, rendered
from onward.pages.inline import Picture, picture
from onward.pages.labels import NAMELESS
from onward.pages.numbers import duration, number, signed
from onward.pages.page import page
from onward.pages.versions import versions
from onward.progressive import comparison_drawings, drawings
from onward.progressive.results import Comparison, Fit, History
from onward.storage import write_atomically

MOST_ROWS = 200  # of a table of coefficients
KINDS: tuple[Kind, ...] = get_args(Kind)


def write_fit_report(path: str | os.PathLike[str], fit: Fit, command: str = "") -> None:
    """Write the page of one pass: scores, learning curve, residuals, calibration and coefficients.

    ValueError if the fit kept no history, or if nothing was learned.
    """
    if fit.scores.rows == 0:
        raise ValueError(f"nothing was learned from {fit.source}{_all_skipped(fit.read, fit.skipped)}: no report")
    history = fit.history
    if history is None:
        raise ValueError("a report is drawn from the readings along the pass, but this fit has none (history is None)")
    shown = [
        drawings.learning(history),
        drawings.residuals(history),
        drawings.calibration(history),
        drawings.coefficients(fit, history),
    ]
    pictures = [picture(each) for each in shown]
    learning, residuals, calibration, coefficients = (
        parts.figure(each, drawn) for each, drawn in zip(shown, pictures, strict=True)
    )
    title = f"{_learner(fit)} on {fit.source}"
    body = [
        _header("online fit", title, _fit_summary(fit)),
        _headline(_scores_of(fit)),
        *_warnings(history),
        _section("How it learned", learning),
        _section("Residuals", residuals),
        _section("Intervals", calibration + _calibration_table(history)),
        _section("Coefficients", coefficients + _coefficient_table(fit, history)),
        _about(fit.read, fit.scores.rows, fit.skipped, fit.filled, fit.seconds, _settings(fit), command),
    ]
    _write(path, title, f"What came of learning {fit.target} from {fit.source}, row by row.", body, pictures)


def write_comparison_report(
    path: str | os.PathLike[str], comparison: Comparison, conclusion: str, command: str = ""
) -> None:
    """Write the page of a comparison: the conclusion, the error over λ, the table, and the best and worst courses."""
    _check(comparison)
    shown = [comparison_drawings.over_lam(comparison), comparison_drawings.courses(comparison)]
    pictures = [picture(each) for each in shown]
    over_lam, courses = (parts.figure(each, drawn) for each, drawn in zip(shown, pictures, strict=True))
    learners = " and ".join(comparison.scores)
    title = f"{learners.capitalize()} on {comparison.source}"
    rows = _rows(comparison)
    grid = comparison_drawings.lam_is(comparison.lams[0])
    if len(comparison.lams) > 1:
        grid = f"{len(comparison.lams):,} values of λ"
    summary = (
        f"{learners.capitalize()} with {grid}, each over the same {counted(rows, 'row')} in the same order, "
        f"predicting “{comparison.target}” before it was seen."
    )
    settings = {
        "target": comparison.target,
        "features": comparison.n_features,
        "λ": comparison.lams,
        "learners": list(comparison.scores),
    }
    body = [
        _header("comparison", title, summary),
        f'<p class="conclusion">{escape(conclusion)}</p>',
        *(f'<p class="remark">{escape(note)}</p>' for note in comparison.notes),
        _section("By λ", over_lam + _comparison_table(comparison)),
        _section("Over the rows", courses),
        _about(comparison.read, rows, comparison.skipped, comparison.filled, comparison.seconds, settings, command),
    ]
    _write(path, title, f"How {learners} depend on λ when they learn {comparison.target}.", body, pictures)


def save_comparison_plot(path: str | os.PathLike[str], comparison: Comparison) -> None:
    """Save the picture of the error over λ, as what the path ends in: .png, .svg or .pdf."""
    kind = next((each for each in KINDS if Path(path).suffix.lower() == f".{each}"), None)
    if kind is None:
        allowed = ", ".join(f".{each}" for each in KINDS)
        raise ValueError(f"a plot's file must end in one of {allowed}, got {os.fspath(path)!r}")
    _check(comparison)
    write_atomically(path, rendered(comparison_drawings.over_lam(comparison), kind))


# The parts of the pages


def _write(
    path: str | os.PathLike[str], title: str, description: str, body: Sequence[str], pictures: Sequence[Picture]
) -> None:
    style = files("onward.progressive").joinpath("report.css").read_text(encoding="utf-8")
    write_atomically(path, page(title, description, "\n".join(body), pictures, style).encode())


def _header(kicker: str, title: str, summary: str) -> str:
    return (
        f'<header><p class="kicker">Onward · {escape(kicker)}</p><h1>{escape(title)}</h1>'
        f'<p class="summary">{escape(summary)}</p></header>\n<main>'
    )


def _headline(values: Mapping[str, tuple[str, str]]) -> str:
    """Large numbers, each with its name and a few words."""
    cards = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(words)}</small></dd></div>"
        for name, (value, words) in values.items()
    )
    return f'<dl class="headline">{cards}</dl>'


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{inside}</section>"


def _about(
    read: int,
    learned: int,
    skipped: Mapping[str, int],
    filled: Mapping[str, int],
    seconds: float,
    settings: Mapping[str, Any],
    command: str,
) -> str:
    again = f'<h3>To get this page again</h3><pre tabindex="0"><code>{escape(command)}</code></pre>' if command else ""
    counts = {"read": read, "learned": learned, **{f"skipped: {reason}": count for reason, count in skipped.items()}}
    rows = parts.table(["", "Rows"], [[name, f"{count:,}"] for name, count in counts.items()])
    missing = [[name or NAMELESS, f"{count:,}"] for name, count in filled.items()]
    gaps = f"<h3>Missing values counted as 0</h3>{parts.table(['Column', 'Values'], missing)}" if filled else ""
    took = parts.pairs({"Time": duration(seconds), **versions()})
    return (
        f"<section><h2>About this run</h2><h3>Rows</h3>{rows}{gaps}"
        f"<h3>Settings</h3>{parts.values(settings)}{again}<h3>Time and versions</h3>{took}</section>\n</main>"
    )


# Of one pass


def _learner(fit: Fit) -> str:
    return {"ForwardRegressor": "Forward", "RidgeRegressor": "Ridge"}.get(type(fit.model).__name__, "A model")


def _fit_summary(fit: Fit) -> str:
    skipped = sum(fit.skipped.values())
    why = f" ({_reasons(fit.skipped)})" if skipped else ""
    gaps = sum(fit.filled.values())
    filled = f" {counted(gaps, 'missing value')} counted as 0." if gaps else ""
    return (
        f"One pass over {counted(fit.read, 'row')}, predicting “{fit.target}” before it was seen: "
        f"{fit.scores.rows:,} learned, {skipped:,} skipped{why}.{filled}"
    )


def _scores_of(fit: Fit) -> dict[str, tuple[str, str]]:
    scores = fit.scores
    better = "1 is perfect, 0 no better than the running mean"
    if math.isnan(scores.r2):
        better = "the running mean made no error to compare with"
    return {
        "Rows learned": (f"{scores.rows:,}", f"of {fit.read:,} read, in {duration(fit.seconds)}"),
        "RMSE": (number(scores.rmse), f"running mean: {number(scores.mean_rmse)}"),
        "MAE": (number(scores.mae), f"running mean: {number(scores.mean_mae)}"),
        "R² against the running mean": ("undefined" if math.isnan(scores.r2) else number(scores.r2), better),
    }


def _warnings(history: History) -> list[str]:
    """Where fewer rows than promised lay inside of their intervals, by more than chance explains."""
    rows = history.scores[-1].rows
    share, _, upper = drawings.inside(history.misses[-1], rows)
    short = [
        f"{_percent(share[i])} instead of {_percent(1 - history.deltas[i])}"
        for i in np.argsort(history.deltas)
        if upper[i] < 1 - history.deltas[i]
    ]
    if not short:
        return []
    return [
        '<p class="remark warning"><strong>The intervals held fewer rows than they promise:</strong> '
        f"{escape(', '.join(short))}. Something that they assume does not hold here: that the target is linear in the "
        "features, that this does not change over the rows, or that the noise is as assumed.</p>"
    ]


def _calibration_table(history: History) -> str:
    rows = history.scores[-1].rows
    share, lower, upper = drawings.inside(history.misses[-1], rows)
    closed = rows - history.open[-1]
    body = []
    for i in np.argsort(-history.deltas):
        finite = _percent(1 - min(1.0, history.misses[-1, i] / closed[i])) if closed[i] else "no such row"
        body.append(
            [
                _percent(1 - history.deltas[i]),
                _percent(share[i]),
                f"{_percent(lower[i])} to {_percent(upper[i])}",
                f"{history.misses[-1, i]:,}",
                _percent(history.open[-1, i] / rows),
                finite,
            ]
        )
    level = f"{drawings.LEVEL:.0%} interval"
    head = ["Promised", "Rows inside", level, "Rows outside", "Interval infinite", "Inside, of finite ones"]
    infinite = (
        "An interval is infinite as long as too little is known, and can then hardly miss: such rows say nothing about "
        "the promise."
    )
    return f"{parts.table(head, body)}<p>{infinite}</p>"


def _coefficient_table(fit: Fit, history: History) -> str:
    moved = drawings.moves(fit, history)
    body = [
        [name.strip() or NAMELESS, number(estimate), number(lower), number(upper), number(moves)]
        for name, estimate, lower, upper, moves in zip(
            history.names[:MOST_ROWS],
            history.estimate[-1].tolist(),
            history.lower[-1].tolist(),
            history.upper[-1].tolist(),
            moved.tolist(),
            strict=False,
        )
    ]
    left = len(history.names) - len(body)
    more = f"<p>{counted(left, 'more coefficient')} not shown here; the model has them all.</p>" if left > 0 else ""
    head = ["Coefficient", "Estimate", "Lower", "Upper", "Moves predictions by"]
    return f"<h3>All coefficients at the end</h3>{parts.table(head, body)}{more}"


def _settings(fit: Fit) -> dict[str, Any]:
    def brief(value: Any) -> Any:
        size = np.size(value)
        return f"{size:,} values" if size > 12 and not isinstance(value, str) else value

    return {
        "learner": type(fit.model).__name__,
        **{name: brief(value) for name, value in fit.model.get_params(deep=False).items()},
        "target": fit.target,
        "coefficients": len(fit.history.names) if fit.history else None,
        "δ of the intervals": fit.known.delta,
        "σ of the noise": "unknown" if fit.known.sigma is None else fit.known.sigma,
        "bound on the coefficients’ norm": "unknown" if fit.known.theta_bound is None else fit.known.theta_bound,
    }


# Of a comparison


def _check(comparison: Comparison) -> None:
    if not comparison.lams:
        raise ValueError("a comparison needs at least one λ, got none")
    if _rows(comparison) == 0:
        skipped = _all_skipped(comparison.read, comparison.skipped)
        raise ValueError(f"nothing was learned from {comparison.source}{skipped}: nothing to compare")


def _rows(comparison: Comparison) -> int:
    return max((each.rows for scores in comparison.scores.values() for each in scores if each is not None), default=0)


def _comparison_table(comparison: Comparison) -> str:
    order = np.argsort(comparison.lams, kind="stable")
    head, columns, marked = ["λ"], [], []
    for name, better in (("rmse", min), ("mae", min), ("r2", max)):
        for learner, scores in comparison.scores.items():
            values = [math.nan if each is None else float(getattr(each, name)) for each in scores]
            column = [values[i] for i in order]
            finite = [value for value in column if math.isfinite(value)]
            place = len(head)
            if len(finite) > 1:
                marked += [(row, place) for row, value in enumerate(column) if value == better(finite)]
            head.append(f"{'R²' if name == 'r2' else name.upper()}, {learner}")
            columns.append(["–" if math.isnan(value) else number(value) for value in column])
    body = [[signed(f"{comparison.lams[i]:g}"), *(column[row] for column in columns)] for row, i in enumerate(order)]
    body.append(
        ["running mean"]
        + [number(comparison_drawings.mean_rmse(comparison))] * len(comparison.scores)
        + [number(_mean_mae(comparison))] * len(comparison.scores)
        + ["0"] * len(comparison.scores)
    )
    bold = "The best of each column is bold. " if marked else ""
    dash = "– stands where a learner is not defined." if any("–" in column for column in columns) else ""
    return f"{parts.table(head, body, marked)}<p>{bold}{dash}</p>"


def _mean_mae(comparison: Comparison) -> float:
    found = [each.mean_mae for scores in comparison.scores.values() for each in scores if each is not None]
    return found[0] if found else math.nan


# Words


def _percent(share: float) -> str:
    """A share with as many digits as it takes to tell it from all or none."""
    percent = 100 * share
    decimals = 0 if share in (0, 1) else next((n for n in (1, 2, 3, 4) if round(percent, n) not in (0.0, 100.0)), 5)
    return f"{percent:.{decimals}f}\N{NO-BREAK SPACE}%"


def _reasons(skipped: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {count:,}" for reason, count in skipped.items() if count)


def _all_skipped(read: int, skipped: Mapping[str, int]) -> str:
    why = f", {sum(skipped.values()):,} skipped ({_reasons(skipped)})" if sum(skipped.values()) else ""
    return f" ({counted(read, 'row')} read{why})"
