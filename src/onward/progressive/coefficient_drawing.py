"""The picture of coefficients with their intervals."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from onward.pages.labels import make_drawable, make_labels
from onward.pages.palette import COLORS
from onward.pages.style import make_figure, style_axes

MOST = 40  # coefficients that are drawn: those of the largest estimates


def draw_coefficients(table: Mapping[str, Any]) -> Figure:
    """Estimates as dots, intervals as lines, which leave the picture where an end is open.

    Where least squares knows nothing, the dot is the model's own coefficient.
    """
    estimate = np.asarray(table["estimate"], dtype=np.float64)
    estimate = np.where(np.isnan(estimate), table.get("coefficient", estimate), estimate)
    lower, upper = (np.asarray(table.get(name, estimate), dtype=np.float64) for name in ("lower", "upper"))
    chosen = np.sort(np.argsort(-np.abs(estimate), kind="stable")[:MOST])
    names = make_labels([str(table["feature"][place]) for place in chosen])
    figure, (axes,) = make_figure(1, 1, (7.0, 1.2 + 0.26 * len(chosen)))
    ends = np.stack([lower[chosen], upper[chosen]])
    finite = np.concatenate([estimate[chosen], ends[np.isfinite(ends)], [0.0]])
    room = 0.06 * (float(np.ptp(finite)) or 1.0)
    low, high = float(finite.min()) - room, float(finite.max()) + room
    places = np.arange(len(chosen))
    axes.hlines(places, *np.clip(ends, low - room, high + room), color=COLORS["forward"], linewidth=1.6, alpha=0.6)
    axes.plot(estimate[chosen], places, "o", color=COLORS["forward"], markersize=4)
    axes.axvline(0.0, color="#888888", linewidth=0.8, linestyle=":")
    axes.set_yticks(places, [make_drawable(name) for name in names])
    axes.set(xlim=(low, high), ylim=(len(chosen) - 0.5, -0.5))
    largest = "" if len(chosen) == len(estimate) else f"The {len(chosen)} of {len(estimate)} of the largest estimates"
    style_axes(axes, title=largest, xlabel="coefficient", ylabel="")
    return figure
