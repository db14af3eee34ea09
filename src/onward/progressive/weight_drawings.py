"""The picture of whom an ensemble leaned on, over the rows."""

from __future__ import annotations  # results are shown by this, and known here by name only

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import PercentFormatter

from onward.core.ensemble_state import Expert
from onward.core.types import Matrix, Vector
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.scales import set_log_rows
from onward.pages.style import COLORS, SETTINGS, add_axes_legend, make_figure, style_axes

if TYPE_CHECKING:
    from onward.progressive.results import History

_MEANS = "running means"
_MEAN_COLOR = "#b9b9b9"


def draw_weights(history: History, experts: list[Expert], leaning: str) -> Drawing:
    """The weights of the experts over the rows, by learner, by λ and by memory."""
    figure, axes = make_figure(1, 3, (11.0, 4.2))
    rows = history.rows.astype(np.float64)
    panels = []
    for where, title, group in (
        (axes[0], "By learner", _learner),
        (axes[1], "By λ", _lam),
        (axes[2], "By memory", _memory),
    ):
        shares = _grouped(history.weights, experts, group)
        colors = _colors(list(shares))
        set_log_rows(where, rows)
        where.stackplot(rows, *shares.values(), labels=list(shares), colors=colors, alpha=0.85, linewidth=0)
        if len(rows) == 1:  # an area needs two
            where.axvline(rows[0], color="#888888", linewidth=0.8)
        where.set_ylim(0, 1)
        where.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        style_axes(where, title=title, xlabel="rows learned", ylabel="share of the weight" if where is axes[0] else "")
        add_axes_legend(where, columns=2)
        panels.append(Panel(where, [Line(name, rows, share) for name, share in shares.items()]))
    return Drawing(
        "weights",
        "Whom it leaned on",
        figure,
        "Each prediction is an average over learners; here is how much each kind of them weighed, over the rows. λ "
        "counts in the features' own units, about so many rows' worth of regularisation. A memory with a half-life "
        "forgets: a row counts half after so many others. Running means predict the mean of the targets so far, or of "
        "the latest.",
        f"Three charts of shares over the rows. At the end it leans on {leaning}.",
        panels,
    )


def _grouped(weights: Matrix, experts: list[Expert], group: Callable[[Expert], str]) -> dict[str, Vector]:
    """The weights of experts of one kind, added up, by the kind's name."""
    found: dict[str, Vector] = {}
    for place, each in enumerate(experts):
        name = group(each)
        found[name] = found.get(name, np.zeros(len(weights))) + weights[:, place]
    return found


def _learner(expert: Expert) -> str:
    return _MEANS if expert.learner == "mean" else expert.learner


def _lam(expert: Expert) -> str:
    return _MEANS if expert.lam is None else f"λ = {expert.lam:g}"


def _memory(expert: Expert) -> str:
    if expert.learner == "mean":
        return _MEANS
    return "all rows" if expert.half_life is None else f"half-life {expert.half_life:g}"


def _colors(names: list[str]) -> list[str]:
    others = iter(SETTINGS * (1 + len(names) // len(SETTINGS)))
    return [_MEAN_COLOR if name == _MEANS else COLORS.get(name) or next(others) for name in names]
