"""The pictures of the sharp index."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from onward.experiments.bandit_games import kept_rounds, regret_matrix
from onward.experiments.repeat_lines import name_counts, standard_error
from onward.experiments.sharp_claims import ratio_to_ridge
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.palette import COLORS
from onward.pages.style import add_figure_legend, draw_line, make_figure, style_axes

LINES = {
    ("ridge", "plain"): ("ridge", COLORS["ridge"], "-"),
    ("ridge", "clipped"): ("ridge, clipped", COLORS["ridge"], ":"),
    ("forward", "tight"): ("forward, tight (the paper's)", COLORS["forward"], "-"),
    ("forward", "sharp"): ("forward, sharp", "#3d8b5f", "--"),
    ("forward", "sharp, clipped"): ("forward, sharp and clipped", "#3d8b5f", ":"),
}


def draw_ratios(worlds: Mapping[str, str], frame: pl.DataFrame) -> Drawing:
    """Regrets at the end over that of ridge, in each world."""
    figure, (axes,) = make_figure(1, 1, (9.0, 4.6))
    axes.set_xscale("log")
    axes.axvline(1.0, color="#888888", linewidth=0.8)
    others = [key for key in LINES if key != ("ridge", "plain")]
    offsets = np.linspace(-0.27, 0.27, len(others))
    ends, counts = [], []
    for (estimator, index), offset in zip(others, offsets, strict=True):
        label, color, dash = LINES[estimator, index]
        for place, (world, words) in enumerate(worlds.items()):
            each = ratio_to_ridge(frame, world, estimator, index)
            counts.append(each.repeats)
            reach = [[each.value - each.lower], [each.upper - each.value]]
            axes.errorbar(
                each.value,
                place + offset,
                xerr=reach if np.isfinite(reach).all() else None,
                fmt="o" if dash != ":" else "D",
                color=color,
                mfc="none" if dash == ":" else color,
                capsize=3,
                markersize=5,
                label=label if place == 0 else None,
            )
            ends.append(f"{label} {each.value:.3g} with {words}")
    axes.set_yticks(np.arange(len(worlds)), list(worlds.values()))
    axes.set_ylim(len(worlds) - 0.5, -0.5)
    repeats = name_counts(counts)
    style_axes(
        axes,
        title=f"Regret at the end over that of ridge's plain index: {repeats} repeats, 99% intervals",
        xlabel="ratio; left of 1 it loses less than ridge",
        ylabel="",
    )
    axes.grid(visible=False, axis="y")
    add_figure_legend(figure, *axes.get_legend_handles_labels())
    return Drawing(
        "sharp-ratios",
        "What each index costs, over ridge's",
        figure,
        "Mean regret at the end over that of ridge's plain index (OFUL, and D-LinUCB under slow change), over "
        f"{repeats} paired repeats with 99% intervals, on a logarithmic axis.",
        f"Ratios to ridge's regret: {'; '.join(ends)}.",
    )


def draw_curves(worlds: Mapping[str, str], frame: pl.DataFrame) -> Drawing:
    """Regret over rounds, a panel for each world."""
    figure, all_axes = make_figure(2, 3, (9.5, 6.4))
    panels, counts, ends = [], set(), []
    for axes, (world, words) in zip(all_axes, worlds.items(), strict=False):
        part = frame.filter(part=world)
        rounds, lines = kept_rounds(part).astype(float), []
        if world != "slow":
            axes.set_xscale("log")
            axes.set_yscale("log")
        for (estimator, index), (label, color, dash) in LINES.items():
            regret = regret_matrix(part, estimator=estimator, index=index)
            counts.add(len(regret))
            middle, error = regret.mean(axis=0), standard_error(regret)
            lines.append(Line(label, rounds, middle, middle - error, middle + error))
            draw_line(axes, lines[-1], color, dash)
            ends.append(f"{label} {middle[-1]:,.0f}")
        panels.append(Panel(axes, lines))
        style_axes(axes, title=words, xlabel="round", ylabel="cumulative regret")
    for axes in all_axes[len(worlds) :]:
        axes.set_visible(False)
    add_figure_legend(figure, *all_axes[0].get_legend_handles_labels())
    return Drawing(
        "sharp-curves",
        "Regret over rounds",
        figure,
        f"Cumulative pseudo-regret, mean of {name_counts(counts)} repeats; shaded: one standard error. Both axes are "
        "logarithmic in the worlds of figure 3, and linear under slow change.",
        f"{len(worlds)} line charts of regret over rounds. At the end: {'; '.join(ends)}.",
        panels,
    )
