"""The report of a comparison, one HTML file that opens anywhere, and its picture.

    write_comparison_report("comparison.html", comparison, "Forward with λ = 0.1 is best.")
    save_comparison_plot("comparison.png", comparison)

Files are written wholly or not at all. The same results give the same bytes.
"""

import math
import os
from pathlib import Path
from typing import Any, get_args

import numpy as np

from onward.atomic_files import write_atomically
from onward.core.words import counted
from onward.pages.image_files import Kind, render_image
from onward.pages.inline import make_picture
from onward.pages.numbers import format_number, use_minus_signs
from onward.progressive.comparison_drawings import draw_courses, draw_errors_over_lam, format_lam, mean_rmse
from onward.progressive.report import about_run, all_skipped, write_page
from onward.progressive.results import Comparison

KINDS: tuple[Kind, ...] = get_args(Kind)


def write_comparison_report(
    path: str | os.PathLike[str], comparison: Comparison, conclusion: str, command: str = ""
) -> None:
    """Write the page of a comparison: the conclusion, the error over λ, the table, and the best and worst courses."""
    _check(comparison)
    learners, beside = " and ".join(comparison.scores), [] if comparison.auto is None else ["auto"]
    rows = _rows(comparison)
    grid = format_lam(comparison.lams[0])
    if len(comparison.lams) > 1:
        grid = f"{len(comparison.lams):,} values of λ"
    summary = (
        f"{learners.capitalize()} with {grid}, each over the same {counted(rows, 'row')} in the same order, "
        f"predicting “{comparison.target}” before it was seen.{' Auto beside them, without a λ.' if beside else ''}"
    )
    settings = {
        "target": comparison.target,
        "features": comparison.n_features,
        "λ": comparison.lams,
        "learners": [*comparison.scores, *beside],
    }
    write_page(
        path,
        "progressive/comparison_report.html",
        f"{learners.capitalize()} on {comparison.source}",
        f"How {learners} depend on λ when they learn {comparison.target}.",
        [make_picture(draw_errors_over_lam(comparison)), make_picture(draw_courses(comparison))],
        kicker="comparison",
        summary=summary,
        conclusion=conclusion,
        notes=comparison.notes,
        settings=settings,
        command=command,
        **_comparison_table(comparison),
        **about_run(comparison, rows),
    )


def save_comparison_plot(path: str | os.PathLike[str], comparison: Comparison) -> None:
    """Save the picture of the error over λ, as what the path ends in: .png, .svg or .pdf."""
    kind = next((each for each in KINDS if Path(path).suffix.lower() == f".{each}"), None)
    if kind is None:
        allowed = ", ".join(f".{each}" for each in KINDS)
        raise ValueError(f"a plot's file must end in one of {allowed}, got {os.fspath(path)!r}")
    _check(comparison)
    write_atomically(path, render_image(draw_errors_over_lam(comparison), kind))


def _check(comparison: Comparison) -> None:
    if not comparison.lams:
        raise ValueError("a comparison needs at least one λ, got none")
    if _rows(comparison) == 0:
        skipped = all_skipped(comparison.read, comparison.skipped)
        raise ValueError(f"nothing was learned from {comparison.source}{skipped}: nothing to compare")


def _rows(comparison: Comparison) -> int:
    return max((each.rows for scores in comparison.scores.values() for each in scores if each is not None), default=0)


def _comparison_table(comparison: Comparison) -> dict[str, Any]:
    """The head and rows of the table, and its best cells."""
    order = np.argsort(comparison.lams, kind="stable")
    head, columns, best = ["λ"], [], []
    for name, better in (("rmse", min), ("mae", min), ("r2", max)):
        for learner, scores in comparison.scores.items():
            values = [math.nan if each is None else float(getattr(each, name)) for each in scores]
            column = [values[i] for i in order]
            finite = [value for value in column if math.isfinite(value)]
            place = len(head)
            if len(finite) > 1:
                best += [(row, place) for row, value in enumerate(column) if value == better(finite)]
            head.append(f"{'R²' if name == 'r2' else name.upper()}, {learner}")
            columns.append(["–" if math.isnan(value) else format_number(value) for value in column])
    body = [
        [use_minus_signs(f"{comparison.lams[i]:g}"), *(column[row] for column in columns)]
        for row, i in enumerate(order)
    ]
    if comparison.auto is not None:
        own = (comparison.auto.rmse, comparison.auto.mae, comparison.auto.r2)
        body.append(["auto", *(format_number(each) for each in own for _ in comparison.scores)])
    body.append(
        ["running mean"]
        + [format_number(mean_rmse(comparison))] * len(comparison.scores)
        + [format_number(_mean_mae(comparison))] * len(comparison.scores)
        + ["0"] * len(comparison.scores)
    )
    return {"head": head, "rows": body, "best": best, "undefined": any("–" in column for column in columns)}


def _mean_mae(comparison: Comparison) -> float:
    found = [each.mean_mae for scores in comparison.scores.values() for each in scores if each is not None]
    return found[0] if found else math.nan
