"""The pictures of figure 2: curves for each learner, and the map over noise and λ."""

from collections.abc import Callable, Sequence
from itertools import cycle

import numpy as np
import polars as pl
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from onward import bounds
from onward.core.types import Vector
from onward.experiments.estimates import TRUSTED, Estimate
from onward.experiments.figure2_cells import Cells, map_ratio
from onward.experiments.figure2_settings import Figure2Config
from onward.experiments.regression_problems import LEARNERS
from onward.experiments.repeat_frame import value_matrix
from onward.experiments.repeat_lines import mean_line, standard_deviation
from onward.pages import palette, style
from onward.pages.drawing import Drawing, Line, Panel

NUMBERS = {"ridge": "2a", "forward": "2b"}
SHOWN = {
    "regret": ("Cumulative", "loss so far − that of θ*"),
    "instant": ("In each round", "(prediction − xᵀθ*)²"),
}
BOUNDS: dict[str, Callable[..., Vector]] = {
    "ridge": bounds.ridge_regret_to_truth,
    "forward": bounds.forward_regret_to_truth,
}
THEOREMS = {"ridge": "3.2", "forward": "3.3"}


def draw_all(config: Figure2Config, frame: pl.DataFrame) -> Sequence[Drawing]:
    """2a and 2b on equal axes, and the map."""
    curves = {
        (learner, quantity): _curves(config, frame, learner, quantity) for learner in LEARNERS for quantity in SHOWN
    }
    limits = {quantity: _limits([*curves["ridge", quantity], *curves["forward", quantity]]) for quantity in SHOWN}
    highest = max(
        float(_bound_line(config, learner, lam, curves[learner, "regret"][0].x).y.max())
        for learner in LEARNERS
        for lam in config.curve_lams
    )
    limits["regret"] = limits["regret"][0], max(limits["regret"][1], 1.5 * highest)
    return [*(_draw_learner(config, learner, curves, limits) for learner in LEARNERS), _draw_map(config, frame)]


def _curves(config: Figure2Config, frame: pl.DataFrame, learner: str, quantity: str) -> list[Line]:
    part = frame.filter((pl.col("part") == "lines") & (pl.col("learner") == learner) & (pl.col("quantity") == quantity))
    lines = []
    for lam in config.curve_lams:
        values = value_matrix(part, lam=lam)
        lines.append(mean_line(_label(config, lam), config.kept, values, standard_deviation(values)))
    return lines


def _label(config: Figure2Config, lam: float) -> str:
    paper = {1 / config.rounds: "1/T = ", 1 / float(np.log(config.rounds)): "1/log T = "}
    return f"λ = {paper.get(lam, '')}{lam:.3g}"


def _limits(lines: Sequence[Line]) -> tuple[float, float]:
    """From the smallest mean to the largest upper edge: a band that reaches 0 does not stretch the axis."""
    positive = np.concatenate([line.y[line.y > 0] for line in lines])
    edges = np.concatenate([line.y if line.upper is None else line.upper for line in lines])
    return 0.5 * float(positive.min()), 2.0 * float(edges.max())


def _draw_learner(
    config: Figure2Config,
    learner: str,
    curves: dict[tuple[str, str], list[Line]],
    limits: dict[str, tuple[float, float]],
) -> Drawing:
    figure, both = style.make_figure(1, 2, (9.0, 4.2))
    repeats = config.repeats
    panels = []
    for axes, (quantity, (title, ylabel)) in zip(both, SHOWN.items(), strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="mask")
        drawn = list(curves[learner, quantity])
        for line, color in zip(drawn, cycle(palette.SETTINGS), strict=False):
            style.draw_line(axes, line, color, cut=True)
        if quantity == "regret":
            limits_drawn = [_bound_line(config, learner, lam, drawn[0].x) for lam in config.curve_lams]
            for line, color in zip(limits_drawn, cycle(palette.SETTINGS), strict=False):
                style.draw_line(axes, line, color, "--", width=0.9)
            drawn += limits_drawn
        axes.set_ylim(limits[quantity])
        axes.set_xlim(1, config.rounds)
        style.style_axes(axes, title=title, xlabel="round", ylabel=ylabel)
        panels.append(Panel(axes, drawn))
    handles, labels = both[1].get_legend_handles_labels()
    handles.append(Line2D([], [], color="#888888", linestyle="--", linewidth=0.9))
    labels.append(f"bound of Thm {THEOREMS[learner]}")
    style.add_figure_legend(figure, handles, labels)
    figure.suptitle(
        f"{learner.capitalize()}, σ = {config.sigma:g}: mean ± 1 standard deviation over {repeats:,} repeats",
        fontsize=11,
        color=palette.COLORS[learner],
    )
    lost = sum(int((line.y <= 0).sum()) for quantity in SHOWN for line in curves[learner, quantity])
    hidden = f" {lost} means of 0 or less cannot be drawn on a logarithmic axis." if lost else ""
    ends = "; ".join(f"{line.y[-1]:.3g} for {line.label}" for line in curves[learner, "regret"])
    ways = "; ".join(
        f"from {line.y[0]:.2g} to {line.y[-1]:.2g} for {line.label}" for line in curves[learner, "instant"]
    )
    return Drawing(
        name=f"figure{NUMBERS[learner]}",
        title=f"{learner.capitalize()} for several λ",
        figure=figure,
        caption=(
            f"{learner.capitalize()} regression in {config.d} dimensions, rows uniform in the unit ball. Left: the "
            f"regret to θ* so far; it ends at {ends}. Right: the squared error of each round's prediction as an "
            "estimate of xᵀθ* (a single round's loss difference can be negative, which a logarithmic axis cannot "
            f"show). Lines are means over {repeats:,} repeats, bands reach one standard deviation to either side; "
            f"downwards they are cut off at 1/{style.CUT} of the mean, for the edge may be negative. The standard "
            f"error of a mean is the deviation over √{repeats:,}.{hidden} Dashed: the "
            f"corrected bound of Thm {THEOREMS[learner]} at δ = {config.delta:g}, with X = 1 and S = "
            f"{config.theta_norm:g}. All axes are "
            "logarithmic, the same for both learners."
        ),
        alternative=(
            f"Two panels over {config.rounds:,} rounds, all axes logarithmic, one line for each λ. Left, the "
            f"cumulative regret of {learner}, which ends at {ends}, with its bounds above. Right, the squared error of "
            f"each prediction, which goes {ways}."
        ),
        panels=panels,
    )


def _bound_line(config: Figure2Config, learner: str, lam: float, rounds: Vector) -> Line:
    values = BOUNDS[learner](
        rounds,
        d=config.d,
        lam=lam,
        feature_bound=1.0,
        theta_bound=config.theta_norm,
        sigma=config.sigma,
        delta=config.delta,
    )
    return Line(f"bound, {_label(config, lam)}", rounds, values)


def _draw_map(config: Figure2Config, frame: pl.DataFrame) -> Drawing:
    cells = Cells(frame)
    sigmas, lams = np.array(config.all_sigmas), np.array(sorted(config.map_lams))
    ratios = [[map_ratio(cells, sigma, lam) for lam in lams] for sigma in sigmas]
    values = np.array([[each.value for each in row] for row in ratios])
    repeats = ratios[0][0].repeats
    most = float(np.max(np.abs(np.log(values)), where=np.isfinite(values), initial=0.0))
    scale = min(max(most, np.log(1.1)), np.log(4.0))  # beyond a factor 4 all is as dark as can be read
    figure, (axes,) = style.make_figure(1, 1, (9.0, 4.6))
    x, y = _edges(lams), _edges(sigmas)
    mesh = axes.pcolormesh(x, y, values, cmap=style.WHO_WINS, norm=LogNorm(np.exp(-scale), np.exp(scale)))
    colors = np.asarray(style.WHO_WINS(mesh.norm(values)))
    for i, sigma in enumerate(sigmas):
        for j, lam in enumerate(lams):
            color = style.pick_text_color(colors[i, j])
            axes.text(lam, sigma, _cell_text(ratios[i][j]), ha="center", va="center", fontsize=style.SMALL, color=color)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xticks(lams, [f"{lam:g}" for lam in lams])
    axes.set_yticks(sigmas, [f"{sigma:g}\n({_short_number(config.signal_to_noise(sigma))})" for sigma in sigmas])
    style.style_axes(
        axes,
        title=f"Ridge's regret over forward's after {config.rounds:,} rounds: {repeats:,} repeats, 99 % intervals",
        xlabel="λ",
        ylabel="σ of the noise (signal-to-noise ratio)",
    )
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(mesh, ax=axes, extend="both" if most > scale else "neither", pad=0.02, aspect=30)
    bar.ax.yaxis.set_minor_locator(NullLocator())
    ticks = [tick for tick in (0.25, 0.5, 1.0, 2.0, 4.0) if abs(np.log(tick)) <= scale * 1.001]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.ax.tick_params(labelsize=style.SMALL)
    bar.set_label("← ridge loses less      forward loses less →", fontsize=style.SMALL)
    doubtful = sum(not each.trusted for row in ratios for each in row)
    doubt = (
        f" In {doubtful} cells, marked ≈, one repeat makes up more than {TRUSTED:.0%} of a mean: there the interval is "
        "too short, and nothing is decided."
        if doubtful
        else ""
    )
    lines = [
        Line(
            f"σ = {sigma:g}",
            lams,
            values[i],
            np.array([each.lower for each in ratios[i]]),
            np.array([each.upper for each in ratios[i]]),
        )
        for i, sigma in enumerate(sigmas)
    ]
    return Drawing(
        name="figure2-map",
        title="Who loses less, over noise and λ",
        figure=figure,
        caption=(
            f"Ridge's regret to θ* over forward's after {config.rounds:,} rounds, as a ratio of means over {repeats:,} "
            "paired repeats with its 99 % interval; above 1 (blue) forward loses less, below 1 (orange) ridge does. "
            f"{config.theta_words}, so rows downwards have less noise; in brackets the variance of xᵀθ* over that of "
            "the noise. "
            f"The curves above are at σ = {config.sigma:g}.{doubt}"
        ),
        alternative=(
            f"A heat map over σ, {sigmas[0]:g} to {sigmas[-1]:g}, and λ, {lams[0]:g} to {lams[-1]:g}. At the smallest "
            f"λ the ratio goes from {values[0, 0]:.2g} at the least noise to {values[-1, 0]:.2g} at the most; at the "
            f"largest λ it is {values[0, -1]:.3g} and {values[-1, -1]:.3g}."
        ),
        panels=(Panel(axes, lines),),
    )


def _edges(centres: Vector) -> Vector:
    """Edges of cells around centres, halfway between them on a logarithmic axis."""
    logs = np.log(centres)
    if len(logs) == 1:
        logs = np.append(logs, logs[0] + 1.0)  # as wide as you like
    middle = (logs[1:] + logs[:-1]) / 2
    edges: Vector = np.exp(np.concatenate([[2 * logs[0] - middle[0]], middle, [2 * logs[-1] - middle[-1]]]))
    return edges[: len(centres) + 1]


def _short_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _cell_text(estimate: Estimate) -> str:
    if not np.isfinite(estimate.value):
        return "?"  # a mean was not positive: too few repeats
    mark = "" if estimate.trusted else "≈"
    digits = 2 if estimate.value < 9.95 else 1 if estimate.value < 99.5 else 0
    if not np.isfinite(estimate.lower + estimate.upper):
        return f"{mark}{estimate.value:.{digits}f}"
    return f"{mark}{estimate.value:.{digits}f}\n{estimate.lower:.{digits}f}–{estimate.upper:.{digits}f}"
