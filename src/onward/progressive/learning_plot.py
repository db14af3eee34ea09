"""How the error of a pass fell, as a figure of matplotlib that a caller may change."""

from __future__ import annotations  # results are shown by this, and known here by name only

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from onward.confidence import Change
from onward.pages.axis_limits import spans_decades
from onward.pages.palette import COLORS, GREY, SETTINGS
from onward.pages.scales import fit_y_axis, set_log_rows
from onward.pages.style import add_figure_legend, draw_line, make_figure, style_axes
from onward.progressive.change_marks import LABEL, learned_until
from onward.progressive.fit_drawings import error_lines

if TYPE_CHECKING:
    from onward.progressive.results import History


def plot_learning(history: History, changes: Sequence[Change] = ()) -> Figure:
    """The error over the rows, until then and of late, beside that of the running mean: as the report has it."""
    rows, errors = history.rows.astype(np.float64), error_lines(history)
    log = spans_decades([line.y for lines in errors.values() for line in lines])
    figure, all_axes = make_figure(1, 2)
    for axes, (title, lines) in zip(all_axes, errors.items(), strict=True):
        set_log_rows(axes, rows)
        for line, color, dash in zip(lines, (GREY, COLORS["forward"]), ("--", "-"), strict=True):
            draw_line(axes, line, color, dash)
            if len(rows) <= 20:
                axes.plot(line.x, line.y, ".", color=color)
        style_axes(axes, title=title, xlabel="rows learned", ylabel="RMSE")
        fit_y_axis(axes, [line.y for line in lines], log=log)
        places, height = learned_until(history, changes), axes.get_xaxis_transform()
        if len(places):
            axes.vlines(places, 0, 1, transform=height, color=SETTINGS[0], linestyle=":", linewidth=1.4, label=LABEL)
    add_figure_legend(figure, *all_axes[0].get_legend_handles_labels())
    return figure
