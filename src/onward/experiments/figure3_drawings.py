"""The pictures of figure 3."""

import itertools
import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.ticker import NullLocator

from onward import bounds
from onward.core.types import Vector
from onward.experiments.bandit_games import kept_rounds, regret_matrix
from onward.experiments.estimates import ratio
from onward.experiments.figure3_claims import final_regret
from onward.experiments.figure3_settings import ARMS, INDICES, NORMS, VARIANTS, Figure3Config, Variant
from onward.experiments.repeat_lines import name_counts, standard_error
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.palette import COLORS
from onward.pages.style import SMALL, WHO_WINS, add_figure_legend, draw_line, make_figure, pick_text_color, style_axes

POLICIES = {"OFUL": COLORS["ridge"], "OFUL^f": COLORS["forward"]}


def draw_curves(config: Figure3Config, frame: pl.DataFrame, arms: str, log_rounds: bool) -> Drawing:
    """Regret over rounds, a panel for each norm and index."""
    figure, all_axes = make_figure(len(NORMS), len(INDICES), (9.5, 6.4))
    rounds = kept_rounds(frame)
    limits = _bound_values(config, rounds)
    panels, counts, ends = [], set(), []
    for axes, (norm, index) in zip(all_axes, itertools.product(NORMS, INDICES), strict=True):
        axes.set_yscale("log")
        axes.set_xscale("log" if log_rounds else "linear")
        lines = []
        for policy, color in POLICIES.items():
            regret = regret_matrix(frame, policy=policy, arms=arms, norm=norm, index=index)
            counts.add(len(regret))
            low, high = np.quantile(regret, [0.25, 0.75], axis=0)
            middle = regret.mean(axis=0)
            error = standard_error(regret)
            lines.append(Line(policy, rounds.astype(float), middle, low, high))
            draw_line(axes, lines[-1], color)
            axes.fill_between(rounds, middle - error, middle + error, color=color, alpha=0.4, linewidth=0)
            ends.append(f"{policy} {middle[-1]:,.0f} ({INDICES[index]}, {config.describe_norm(norm)})")
            if index == "full":  # the only one of the three that it bounds
                lines.append(Line(f"bound for {policy}", rounds.astype(float), limits[policy]))
                draw_line(axes, lines[-1], color, ":", 1.0)
        panels.append(Panel(axes, lines))
        title = f"{INDICES[index]}, {config.describe_norm(norm)}"
        style_axes(axes, title=title, xlabel="round", ylabel="cumulative regret")
    repeats = name_counts(counts)
    drawn = [line for panel in panels for line in panel.lines]
    lowest = min(float(line.y[line.y > 0].min()) for line in drawn if (line.y > 0).any())
    highest = max(float(line.y.max()) for line in drawn)
    for axes in all_axes:
        axes.set_ylim(lowest / 2, highest * 2)
    figure.suptitle(
        f"{ARMS[arms].capitalize()}: {config.n_arms} arms, d = {config.d}, λ = {config.lam:g}, {repeats} repeats",
        fontsize=10,
    )
    add_figure_legend(figure, *all_axes[0].get_legend_handles_labels())
    axis = "Both axes are logarithmic, so that the first rounds can be seen." if log_rounds else "As in the paper, the "
    axis += "" if log_rounds else "regret is on a logarithmic axis and the rounds are on a linear one."
    return Drawing(
        f"figure3-{arms}{'-log' if log_rounds else ''}",
        f"{ARMS[arms].capitalize()}{', the first rounds spread out' if log_rounds else ''}",
        figure,
        f"Cumulative pseudo-regret, mean of {repeats} repeats; shaded from the first to the third quartile, darker: "
        f"one standard error. {axis} δ = {config.delta:g}, noise variance {config.variance:g}. Dotted: the corrected "
        "bounds of Theorem 4.1, OFUL's in the form without κ; they hold for the full index only, and no regret "
        "can exceed "
        f"2XST = {2 * config.norm * config.theta_bound:g} a round.",
        f"Six line charts of regret over rounds; {ARMS[arms]}. At the end: {'; '.join(ends)}.",
        panels,
    )


def _bound_values(config: Figure3Config, rounds: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "theta_bound": config.theta_bound,
        "sigma": config.variance**0.5,
        "delta": config.delta,
        "d": config.d,
        "lam": config.lam,
        "feature_bound": config.norm,
    }
    return {
        "OFUL": np.asarray(bounds.oful_regret(rounds, **known)),
        "OFUL^f": np.asarray(bounds.oful_forward_regret(rounds, **known)),
    }


def draw_map(config: Figure3Config, frame: pl.DataFrame) -> Drawing:
    """OFUL's regret over OFUL^f's, for each variant and λ."""
    lams, rows = sorted(config.map_lams), VARIANTS
    found = [[ratio(*_final_regrets(frame, row, lam)) for lam in lams] for row in rows]
    values = np.array([[estimate.value for estimate in line] for line in found])
    figure, (axes,) = make_figure(1, 1, (9.5, 5.4))
    scale = math.log(8.0)
    shown = np.clip(np.log(values), -scale, scale)
    mesh = axes.pcolormesh(shown, cmap=WHO_WINS, vmin=-scale, vmax=scale, edgecolors="white", linewidth=0.5)
    colors = WHO_WINS((shown + scale) / (2 * scale))
    for i, line in enumerate(found):
        for j, estimate in enumerate(line):
            text = f"{estimate.value:.2g}\n{estimate.lower:.2g}–{estimate.upper:.2g}"
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7, color=pick_text_color(colors[i, j]))
    axes.set_xticks(np.arange(len(lams)) + 0.5, [f"{lam:g}" for lam in lams])
    axes.set_yticks(np.arange(len(rows)) + 0.5, [config.describe(row) for row in rows])
    axes.invert_yaxis()
    repeats = name_counts(each.repeats for line in found for each in line)
    title = f"OFUL's regret over OFUL^f's after {config.map_horizon:,} rounds: {repeats} repeats, 99% intervals"
    style_axes(axes, title=title, xlabel="λ", ylabel="")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(mesh, ax=axes, extend="both", pad=0.02, aspect=30)
    bar.ax.yaxis.set_minor_locator(NullLocator())
    ticks = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
    bar.set_ticks([math.log(tick) for tick in ticks], labels=["1/8", "1/4", "1/2", "1", "2", "4", "8"])
    bar.ax.tick_params(labelsize=SMALL)
    bar.set_label("← OFUL loses less      OFUL^f loses less →", fontsize=SMALL)
    small, large = values[:, 0], values[:, -1]
    return Drawing(
        "figure3-map",
        "Who loses less, over variants and λ",
        figure,
        f"OFUL's mean regret over OFUL^f's after {config.map_horizon:,} rounds, over {repeats} paired repeats, with "
        "99% intervals; above 1 (blue) OFUL^f loses less. Fewer rounds than in the curves, so that all λ can be had.",
        f"A heat map of {len(rows)} variants by {len(lams)} λ. At λ = {lams[0]:g} the ratio goes from "
        f"{small.min():.2g} "
        f"to {small.max():.2g}, at λ = {lams[-1]:g} from {large.min():.2g} to {large.max():.2g}.",
    )


def _final_regrets(frame: pl.DataFrame, variant: Variant, lam: float) -> tuple[Vector, Vector]:
    """OFUL's and OFUL^f's."""
    return final_regret(frame, "map", "OFUL", variant, lam), final_regret(frame, "map", "OFUL^f", variant, lam)
