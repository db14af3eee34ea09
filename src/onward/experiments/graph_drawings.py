"""The pictures of bandits on graphs."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.ticker import NullLocator

from onward.experiments.bandit_games import kept_rounds, regret_matrix
from onward.experiments.graph_claims import Worlds, by_size, describe, dimensions
from onward.experiments.graph_settings import INDICES, POLICIES
from onward.experiments.repeat_lines import mean_line, name_counts, standard_error
from onward.pages.drawing import Drawing, Panel
from onward.pages.palette import COLORS
from onward.pages.style import add_figure_legend, draw_line, make_figure, style_axes, use_plain_numbers

LINES = {
    "SpectralUCB": (COLORS["ridge"], "-"),
    "SpectralUCB^f": (COLORS["forward"], "-"),
    "OFUL": (COLORS["ridge"], ":"),
    "OFUL^f": (COLORS["forward"], ":"),
}


def draw_curves(worlds: Worlds, size: int, frame: pl.DataFrame, what: str) -> Drawing:
    """Regret over rounds on the largest graphs, a column for each world and a row for each index."""
    figure, all_axes = make_figure(2, len(worlds), (2.7 * len(worlds), 6.0))
    panels, counts, ends = [], [], []
    places = [(world, index) for index in INDICES for world in worlds]
    for axes, (world, index) in zip(all_axes, places, strict=True):
        part = frame.filter(part=world, index=index, nodes=float(size))
        rounds, lines = kept_rounds(part).astype(float), []
        for policy, (color, dash) in LINES.items():
            regret = regret_matrix(part, policy=policy)
            counts.append(len(regret))
            lines.append(mean_line(policy, rounds, regret, standard_error(regret)))
            draw_line(axes, lines[-1], color, dash)
            ends.append(f"{policy} {lines[-1].y[-1]:,.0f} ({describe(worlds, world, index)})")
        axes.set(xlim=(0, rounds[-1]), ylim=(0, None))
        panels.append(Panel(axes, lines))
        title = f"{describe(worlds, world)}\n{INDICES[index]}"
        style_axes(axes, title=title, xlabel="round", ylabel="cumulative regret")
    add_figure_legend(figure, *all_axes[0].get_legend_handles_labels())
    return Drawing(
        "graphs-curves",
        f"Regret over rounds, graphs of {size} nodes",
        figure,
        f"Cumulative pseudo-regret on graphs of {size} nodes, mean of {name_counts(counts)} repeats with a graph each; "
        f"shaded: one standard error. Dotted: without the graph. {what}",
        f"{len(places)} line charts of regret over rounds. At the end: {'; '.join(ends)}.",
        panels,
    )


def draw_sizes(worlds: Worlds, sizes: Sequence[int], frame: pl.DataFrame, what: str) -> Drawing:
    """Regret at the end over the number of nodes, and the effective dimension."""
    figure, all_axes = make_figure(1, len(worlds), (2.7 * len(worlds), 3.8))
    panels, counts, ends = [], [], []
    for axes, world in zip(all_axes, worlds, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        lines, nodes = [], np.asarray(sizes, dtype=np.float64)
        for policy in POLICIES:
            regret = by_size(frame, world, policy, "full", sizes)
            counts.append(len(regret))
            lines.append(mean_line(policy, nodes, regret, standard_error(regret)))
            draw_line(axes, lines[-1], *LINES[policy])
        dimension = dimensions(frame, world, sizes)
        lines.append(mean_line("effective dimension", nodes, dimension, standard_error(dimension)))
        draw_line(axes, lines[-1], "#5f6b73", "--")
        use_plain_numbers(axes.yaxis)
        axes.set_xticks(list(sizes), [str(size) for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        panels.append(Panel(axes, lines))
        style_axes(axes, title=describe(worlds, world), xlabel="nodes", ylabel="regret at the end, dimension")
        ends.append(f"{describe(worlds, world)}: " + ", ".join(f"{line.label} {line.y[-1]:.3g}" for line in lines))
    add_figure_legend(figure, *all_axes[0].get_legend_handles_labels())
    return Drawing(
        "graphs-sizes",
        "Regret over the number of nodes",
        figure,
        f"Mean regret at the end with the full index, over {name_counts(counts)} repeats; shaded: one standard error; "
        f"dashed: the effective dimension. Both axes are logarithmic. {what}",
        f"{len(worlds)} line charts. On the largest graphs: {'; '.join(ends)}.",
        panels,
    )
