"""The picture of whom an ensemble leaned on, over the rows."""

from __future__ import annotations  # results are shown by this, and known here by name only

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from onward.core.ensemble_state import Expert
from onward.core.types import Matrix, Vector
from onward.pages.chart import Chart, ChartDrawing
from onward.pages.drawing import Line
from onward.pages.palette import COLORS, SETTINGS
from onward.pages.ticks import linear_scale, row_scale

if TYPE_CHECKING:
    from onward.progressive.results import History

_MEANS = "running means"
_MEAN_COLOR = "#b9b9b9"


def draw_weights(history: History, experts: list[Expert], leaning: str) -> ChartDrawing:
    """The weights of the experts over the rows, by learner, by λ and by memory."""
    rows = history.rows.astype(np.float64)
    # An area needs two rows.
    across = np.array([rows[0] / 1.02, rows[0] * 1.02]) if len(rows) == 1 else rows
    charts = list[Chart]()
    for title, group in (("By learner", _learner), ("By λ", _lam), ("By memory", _memory)):
        up = "" if charts else "share of the weight"
        chart = Chart(title, "rows learned", up, row_scale(rows), linear_scale(0, 1, percent=True), legend=True)
        shares = _grouped(history.weights, experts, group)
        below = np.zeros(len(rows))
        for (name, share), color in zip(shares.items(), _colors(list(shares)), strict=True):
            lower, upper = (np.broadcast_to(end, across.shape) for end in (below, below + share))
            chart.add_band(across, lower, upper, color, 0.85, label=name)
            chart.read(Line(name, rows, share))
            below = below + share
        charts.append(chart)
    return ChartDrawing(
        "weights",
        "Whom it leaned on",
        charts,
        "Each prediction is an average over learners; here is how much each kind of them weighed, over the rows. λ "
        "counts in the features' own units, about so many rows' worth of regularisation. A memory with a half-life "
        "forgets: a row counts half after so many others. Running means predict the mean of the targets so far, or of "
        "the latest.",
        f"Three charts of shares over the rows. At the end it leans on {leaning}.",
        3,
        (792.0, 302.0),
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
