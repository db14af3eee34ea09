"""The picture of tasks in sequence."""

import numpy as np
import polars as pl

from onward.experiments.repeat_lines import mean_line, name_counts, standard_error
from onward.experiments.task_claims import Worlds, describe, task_regrets
from onward.experiments.task_settings import ESTIMATORS, STARTS
from onward.pages.drawing import Drawing, Panel
from onward.pages.palette import COLORS
from onward.pages.style import SMALL, draw_line, make_figure, style_axes, use_plain_numbers

DASHES = {"zero": ":", "learned": "-", "proven": "-.", "oracle": "--"}


def draw_tasks(worlds: Worlds, frame: pl.DataFrame, what: str) -> Drawing:
    """The regret of each task, a panel for each world."""
    columns = len({spread for _, spread in worlds.values()})
    rows = len(worlds) // columns
    figure, all_axes = make_figure(rows, columns, (3.2 * columns, 1.2 + 2.7 * rows))
    panels, counts, ends = [], [], []
    for axes, world in zip(all_axes, worlds, strict=True):
        lines = []
        axes.set_yscale("log")
        use_plain_numbers(axes.yaxis)
        for estimator in ESTIMATORS:
            for start, words in STARTS.items():
                regret = task_regrets(frame, world, start, estimator)
                counts.append(len(regret))
                tasks = np.arange(1.0, regret.shape[1] + 1)
                lines.append(mean_line(f"{estimator} {words}", tasks, regret, standard_error(regret)))
                draw_line(axes, lines[-1], COLORS[estimator], DASHES[start], 1.2)
        ends.append(f"{describe(worlds, world)}: " + ", ".join(f"{line.label} {line.y[-1]:.3g}" for line in lines))
        axes.set_xlim(1, len(tasks))
        panels.append(Panel(axes, lines))
        style_axes(axes, title=describe(worlds, world), xlabel="task", ylabel="regret of the task")
    handles, labels = all_axes[0].get_legend_handles_labels()
    order = [place for start in range(len(STARTS)) for place in (start, start + len(STARTS))]
    figure.legend(
        [handles[place] for place in order],
        [labels[place] for place in order],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=SMALL,
    )
    return Drawing(
        "tasks",
        "Regret of each task",
        figure,
        f"Pseudo-regret of each task, mean of {name_counts(counts)} repeats; shaded: one standard error; the vertical "
        f"axis is logarithmic. r is how far tasks lie from their common mean. {what}",
        f"{len(worlds)} line charts of regret over tasks. In the last task: {'; '.join(ends)}.",
        panels,
    )
