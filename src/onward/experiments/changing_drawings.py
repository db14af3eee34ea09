"""The pictures of figures 4a and 4b."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from onward.experiments.bandit_games import kept_rounds, regret_matrix
from onward.experiments.changing_claims import PAR, forward_ratio
from onward.experiments.repeat_lines import mean_line, standard_deviation, standard_error
from onward.pages.drawing import Drawing, Panel
from onward.pages.palette import COLORS
from onward.pages.style import add_figure_legend, draw_line, make_figure, style_axes

LINES = {
    "D-LinUCB": COLORS["ridge"],
    "D-LinUCB^f": COLORS["forward"],
    "SW-LinUCB": "#3d8b5f",
    "LinUCB": "#8a6d9c",
    "LinUCB-OR": "#b08d00",
    "dLinUCB": "#5f6b73",
}


def draw_regret(
    name: str, title: str, frame: pl.DataFrame, beta: str, change_points: Sequence[int], settings: str
) -> Drawing:
    """Regret over rounds; D-LinUCB^f has that β."""
    figure, (axes,) = make_figure(1, 1, (9.0, 4.4))
    rounds, lines = kept_rounds(frame).astype(float), []
    repeats = 0
    for policy, color in LINES.items():
        if not (frame["policy"] == policy).any():
            continue
        regret = regret_matrix(frame, policy=policy, beta=beta if policy == "D-LinUCB^f" else "")
        repeats, error = len(regret), standard_error(regret)
        lines.append(mean_line(policy, rounds, regret, standard_deviation(regret)))
        draw_line(axes, lines[-1], color, "--" if policy == "D-LinUCB^f" else "-")
        axes.fill_between(rounds, lines[-1].y - error, lines[-1].y + error, color=color, alpha=0.35, linewidth=0)
    for point in change_points:
        axes.axvline(point, color="0.5", linewidth=0.8, linestyle=":")
    axes.set(xlim=(0, rounds[-1]), ylim=(0, None))
    what = title.partition(": ")[2]
    heading = f"{what[0].upper()}{what[1:]}: mean ± 1 standard deviation over {repeats} repeats"
    style_axes(axes, title=heading, xlabel="round", ylabel="cumulative regret")
    add_figure_legend(figure, *axes.get_legend_handles_labels())
    changes = f" Dotted: θ* changes after rounds {', '.join(map(str, change_points))}." if change_points else ""
    return Drawing(
        name,
        title,
        figure,
        f"Cumulative pseudo-regret, mean of {repeats} repeats; shaded: one standard deviation, darker: one standard "
        f"error.{changes} {settings}",
        "Line chart of the regret over rounds of "
        + ", ".join(f"{line.label} ({line.y[-1]:.0f} at the end)" for line in lines)
        + ".",
        [Panel(axes, lines)],
    )


def draw_betas(name: str, frame: pl.DataFrame, betas: Mapping[str, str]) -> Drawing:
    """How the regret of D-LinUCB^f over D-LinUCB's hangs on its β, given in words; the first is the figure's."""
    ratios = {words: forward_ratio(frame, beta) for beta, words in betas.items()}
    figure, (axes,) = make_figure(1, 1, (9.0, 0.9 + 0.45 * len(ratios)))
    axes.axvspan(1 - PAR, 1 + PAR, color="#888888", alpha=0.18, linewidth=0)
    axes.axvline(1.0, color="#888888", linewidth=0.8)
    places = np.arange(len(ratios))
    for place, each in zip(places, ratios.values(), strict=True):
        reach = [[each.value - each.lower], [each.upper - each.value]]
        axes.errorbar(each.value, place, xerr=reach, fmt="o", color=COLORS["forward"], capsize=3, markersize=5)
    axes.set_yticks(places, [f"{words}{' (as above)' if i == 0 else ''}" for i, words in enumerate(ratios)])
    axes.set_ylim(len(ratios) - 0.5, -0.5)
    repeats = next(iter(ratios.values())).repeats
    style_axes(
        axes,
        title=f"D-LinUCB^f's regret over D-LinUCB's, by its β: {repeats} repeats, 99% intervals",
        xlabel="ratio at the end",
        ylabel="",
    )
    axes.grid(visible=False, axis="y")
    said = "; ".join(f"{each} with {words}" for words, each in ratios.items())
    return Drawing(
        f"{name}-betas",
        "It hangs on β, which the paper does not print",
        figure,
        f"Regret of D-LinUCB^f at the end over D-LinUCB's, for each β tried, over {repeats} paired repeats with 99% "
        f"intervals. Shaded: on par, within 1 ± {PAR:g}.",
        f"Ratios with intervals: {said}.",
    )
