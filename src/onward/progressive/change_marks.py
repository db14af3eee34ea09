"""Where the relation seems to have changed, in the pictures of a pass."""

from __future__ import annotations  # results are shown by this, and known here by name only

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onward.confidence import Change
from onward.core.types import Vector
from onward.pages.chart import Chart
from onward.pages.palette import SETTINGS

if TYPE_CHECKING:
    from onward.progressive.results import History

LABEL = "change of the relation"


def mark_changes(chart: Chart, places: Vector) -> None:
    """Upright lines at places of the x axis."""
    if len(places):
        chart.add_uprights(places, SETTINGS[0], width=1.4, label=LABEL)


def rows_of(changes: Sequence[Change]) -> Vector:
    """The row of each change, counted from 0 as samples of a history have it."""
    return np.array([change.row - 1.0 for change in changes])


def learned_until(history: History, changes: Sequence[Change]) -> Vector:
    """How many rows were learned before each change, about: rows that were skipped are not among them."""
    learned = history.scores[-1].rows
    sampled = np.asarray(history.sample["row"], dtype=np.float64)
    return np.interp(rows_of(changes), sampled, np.linspace(0, learned - 1, len(sampled))) + 1.0
