"""Results on one screen: as text for a terminal, as HTML for a notebook."""

from __future__ import annotations  # results are shown by this, and known here by name only

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from onward.core.lam_words import described_lam
from onward.core.words import counted, left_out
from onward.pages.numbers import format_number
from onward.pages.plain_tables import html_paragraphs, html_table, text_table
from onward.progressive.changes import describe_changes
from onward.progressive.conclusion import conclude
from onward.progressive.contrasts import contrast_notes
from onward.regression import AutoRegressor, OnlineRegressor, learner_name
from onward.regression.half_life import describe_memory

if TYPE_CHECKING:
    from onward.confidence.anytime import Contrast
    from onward.progressive.results import Comparison, Fit, Scores

_WIDTH = 100  # of a paragraph in a terminal
_CONTRASTS = "Contrasts, adjusted for all other columns"
_SCORES = ("", "RMSE", "MAE", "R²")
_BY_LAM = "Online RMSE; → is the least of a learner"
_ONLINE = "Online, each row predicted before its target was seen"


def fit_text(fit: Fit) -> str:
    """What was learned, how well, and the coefficients."""
    scored = [_ONLINE, text_table(_SCORES, _score_rows(fit.scores)), ""] if _is_scored(fit) else []
    found = fit.contrasts()
    table = [_CONTRASTS, text_table(*contrast_rows(found))] if found else []
    notes = [fill(note, _WIDTH) for note in said_of_contrasts(fit, found)]
    asked = [*table, *notes, ""] if notes else []
    return "\n".join([*_fit_lines(fit), "", *scored, *asked, str(fit.coefficients())])


def fit_html(fit: Fit) -> str:
    """The same for a notebook."""
    scored = html_table(_ONLINE, _SCORES, _score_rows(fit.scores)) if _is_scored(fit) else ""
    found = fit.contrasts()
    asked = html_table(_CONTRASTS, *contrast_rows(found)) if found else ""
    asked += html_paragraphs(said_of_contrasts(fit, found)) if fit.inference.contrasts else ""
    return html_paragraphs(_fit_lines(fit)) + scored + asked + fit.coefficients()._repr_html_()


def contrast_rows(contrasts: Sequence[Contrast]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a table of contrasts."""
    rows = [
        [each.name, *("–" if math.isnan(value) else format_number(value) for value in _contrast_values(each))]
        for each in contrasts
    ]
    return ["contrast", "estimate", "std. error", "lower", "upper", "e-value", "p-value"], rows


def _contrast_values(contrast: Contrast) -> list[float]:
    ends = [contrast.estimate, contrast.standard_error, contrast.lower, contrast.upper]
    return [*ends, contrast.e_value, contrast.p_value]


def said_of_contrasts(fit: Fit, found: Sequence[Contrast]) -> list[str]:
    """What is to be said below the contrasts that were found; nothing if none were asked for."""
    return contrast_notes(fit.model, fit.known, fit.inference, found, is_restarted=fit.is_restarted)


def comparison_text(comparison: Comparison) -> str:
    """The error of each learner over λ, and what it says."""
    head, rows = _by_lam(comparison)
    lines = [*_comparison_lines(comparison), "", _BY_LAM, text_table(head, rows), *_auto_lines(comparison)]
    return "\n".join([*lines, *comparison.notes, "", fill(conclude(comparison).text, _WIDTH)])


def comparison_html(comparison: Comparison) -> str:
    """The same for a notebook."""
    table = html_table(_BY_LAM, *_by_lam(comparison))
    said = [*_auto_lines(comparison), *comparison.notes, conclude(comparison).text]
    return html_paragraphs(_comparison_lines(comparison)) + table + html_paragraphs(said)


def model_line(model: OnlineRegressor) -> str:
    """A model in a few words: "Forward, λ = 1, 10 features"."""
    said = [learner_name(model).capitalize()]
    if not isinstance(model, AutoRegressor):
        memory = model.information_.memory
        said += [f"λ = {described_lam(model.information_)}", *([] if memory is None else [describe_memory(memory)])]
    return ", ".join([*said, counted(model.n_features_in_, "feature")])


def settled_lines(model: OnlineRegressor) -> list[str]:
    """What a model that chooses by itself has settled on, and what its coefficients are; nothing for others."""
    if not isinstance(model, AutoRegressor):
        return []
    return [f"It leans on {model.leaning_}.", "Its coefficients are averages over its learners, by their weights."]


def _fit_lines(fit: Fit) -> list[str]:
    model = fit.model
    return [
        f"{model_line(model)}: {fit.target} of {fit.source}. "
        f"Learned {fit.scores.rows:,} of {counted(fit.read, 'row')} in {fit.seconds:.1f} s.",
        *settled_lines(model),
        *left_out(fit.skipped, fit.filled),
        *_change_lines(fit),
    ]


def _change_lines(fit: Fit) -> list[str]:
    said = describe_changes(fit.changes or (), fit.known.delta, fit.on_change)
    return [said] if said else []


def _is_scored(fit: Fit) -> bool:
    return fit.scores.rmse == fit.scores.rmse


def _score_rows(scores: Scores) -> list[list[str]]:
    return [
        ["this model", *map(format_number, (scores.rmse, scores.mae, scores.r2))],
        ["running mean", *map(format_number, (scores.mean_rmse, scores.mean_mae, 0.0))],
    ]


def _comparison_lines(comparison: Comparison) -> list[str]:
    rows = conclude(comparison).rows
    return [
        f"{comparison.target} of {comparison.source}: {rows:,} of {counted(comparison.read, 'row')}, "
        f"{counted(comparison.n_features, 'feature')}, {len(comparison.lams)} λ, {comparison.seconds:.1f} s.",
        *left_out(comparison.skipped, comparison.filled),
    ]


def _auto_lines(comparison: Comparison) -> list[str]:
    return [] if comparison.auto is None else [f"auto, without a λ: {format_number(comparison.auto.rmse)}"]


def _by_lam(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """A row for each λ; the best of each learner is marked."""
    best = conclude(comparison).learners
    rows = []
    for place, lam in enumerate(comparison.lams):
        cells = [
            ("→ " if best[name].best_lam == lam else "") + format_number(float(comparison.rmse(name)[place]))
            for name in comparison.scores
        ]
        rows.append([f"{lam:g}", *cells])
    return ["λ", *comparison.scores], rows
