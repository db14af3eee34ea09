"""The pictures of figure 1."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.ticker import NullLocator

from onward.experiments.estimates import Estimate
from onward.experiments.figure1_claims import Measured
from onward.experiments.figure1_settings import TERMS, Figure1Config
from onward.experiments.regression_problems import LEARNERS
from onward.experiments.repeat_frame import value_matrix
from onward.experiments.repeat_lines import hidden_points_note, mean_line, standard_error
from onward.pages import palette, style
from onward.pages.drawing import Drawing, Line, Panel

LABELS = {
    ("ridge", "first"): "ridge, first term: (p − y)² h",
    ("forward", "first"): "forward, first term: y² h",
    ("forward", "second"): "forward, second term (taken off): q ŷ²",
}
STYLES = {"first": "-", "second": ":"}


def draw_terms(config: Figure1Config, frame: pl.DataFrame) -> Drawing:
    """The terms in each round, and summed up."""
    terms = frame.filter(pl.col("part") == "terms")
    values = {key: value_matrix(terms, learner=key[0], quantity=key[1]) for key in TERMS}
    repeats = len(values[TERMS[0]])
    t = np.arange(1.0, config.rounds + 1)
    figure, (left, right) = style.make_figure(1, 2)
    left.set_yscale("log", nonpositive="mask")
    each, sums = [], []
    for key, value in values.items():
        line = mean_line(LABELS[key], t, value, standard_error(value))
        style.draw_line(left, line, palette.COLORS[key[0]], STYLES[key[1]], width=1.3)
        each.append(line)
    style.style_axes(left, title="In each round", xlabel="round", ylabel="mean over repeats (± standard error)")
    style.add_axes_legend(left)

    regrets = {
        "ridge": np.cumsum(values["ridge", "first"], axis=1),
        "forward": np.cumsum(values["forward", "first"] - values["forward", "second"], axis=1),
    }
    for learner, value in regrets.items():
        line = mean_line(f"{learner}, regret", t, value, standard_error(value))
        style.draw_line(right, line, palette.COLORS[learner], width=1.8)
        sums.append(line)
    for quantity in ("first", "second"):
        value = np.cumsum(values["forward", quantity], axis=1)
        line = mean_line(f"forward, {quantity} terms", t, value, standard_error(value))
        style.draw_line(right, line, palette.COLORS["forward"], "--" if quantity == "first" else ":", width=1.0)
        sums.append(line)
    right.set_ylim(bottom=0.0)
    style.style_axes(right, title="Summed up", xlabel="round", ylabel="sum so far (± standard error)")
    style.add_axes_legend(right)
    for axes in (left, right):
        axes.set_xlim(0, config.rounds)
    figure.suptitle(
        f"Regret terms, d = {config.d}, λ = {config.lam:g}, σ = {config.sigma:g}: {repeats:,} repeats", fontsize=11
    )

    sums_frame = frame.filter((pl.col("part") == "sums") & (pl.col("sigma") == config.sigma))
    bound = {name: value_matrix(sums_frame, quantity="bound", learner=name)[:repeats, -1].mean() for name in LEARNERS}
    ends = {name: value[:, -1].mean() for name, value in regrets.items()}
    return Drawing(
        name="figure1",
        title="What the regrets are made of",
        figure=figure,
        caption=(
            f"Left, as in the paper: the terms of each round, mean over {repeats:,} repeats with the standard error of "
            "the mean (the deviation over √repeats); the vertical axis is logarithmic. Forward's second term is taken "
            f"off; in round 1 it is 0.{hidden_points_note(each)} Right: what they add up to. Ridge's regret to the "
            "penalised minimum is the sum of its first terms, forward's that of its first less its second terms. They "
            f"end at {ends['ridge']:.3g} and {ends['forward']:.3g}. The bounds of Thm 2.1 and 2.2 do not fit on the "
            f"axes: at the end, {bound['ridge']:.3g} for ridge and {bound['forward']:.3g} for forward on average."
        ),
        alternative=(
            f"Two panels. Left, the three terms over {config.rounds} rounds on a logarithmic axis. "
            f"{_courses(config, each)} Right, their sums: ridge's regret ends at {ends['ridge']:.3g}, forward's at "
            f"{ends['forward']:.3g}."
        ),
        panels=(Panel(left, each), Panel(right, sums)),
    )


def _courses(config: Figure1Config, lines: Sequence[Line]) -> str:
    """How each term goes from the first d rounds to the last tenth, and which falls furthest."""
    names = ("ridge's first term", "forward's first term", "forward's second term")
    start = [float(line.y[: config.d].mean()) for line in lines]
    stop = [float(line.y[config.marks[1] :].mean()) for line in lines]
    ways = [f"{name} from {a:.2g} to {b:.2g}" for name, a, b in zip(names, start, stop, strict=True)]
    left = [b / a if a > 0 else np.inf for a, b in zip(start, stop, strict=True)]
    least = int(np.argmin(left))
    falls = (
        f" {names[least].capitalize()} falls furthest, to {left[least]:.2g} of what it was." if left[least] < 1 else ""
    )
    return f"On average from the first {config.d} rounds to the last tenth, {', '.join(ways)}.{falls}"


def draw_noise(config: Figure1Config, frame: pl.DataFrame) -> Drawing:
    """Who ends better, and what becomes of the terms, over the noise."""
    sigmas = np.array(config.all_sigmas)
    measured = [Measured.at_noise(config, frame, sigma) for sigma in config.all_sigmas]
    repeats = measured[0].loss_ratio.repeats
    figure, (left, right) = style.make_figure(1, 2, (9.0, 3.8))
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="mask")

    def line(label: str, estimates: Sequence[Estimate]) -> Line:
        middle, lower, upper = (np.array([getattr(e, n) for e in estimates]) for n in ("value", "lower", "upper"))
        return Line(label, sigmas, middle, lower, upper)

    ratios = [
        line("regret to θ*", [m.regret_ratio for m in measured]),
        line("total loss", [m.loss_ratio for m in measured]),
    ]
    left.axhspan(1 / (1 + config.margin), 1 + config.margin, color="#888888", alpha=0.18, linewidth=0)
    left.axhline(1.0, color="#888888", linewidth=0.8)
    for each, color in zip(ratios, palette.SETTINGS, strict=False):
        style.draw_line(left, each, color)
        left.plot(each.x, each.y, "o", color=color, markersize=3.5)
    ticks = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.4, 1.6]
    left.yaxis.set_minor_locator(NullLocator())
    left.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    style.style_axes(left, title="Who ends better", xlabel="σ of the noise", ylabel="ridge's over forward's")
    left.annotate(
        f"on par: within a factor {1 + config.margin:g}",
        (sigmas[0], 1.0),
        xytext=(2, 3),
        textcoords="offset points",
        fontsize=style.SMALL,
    )
    style.add_axes_legend(left)

    shares = [
        (line("ridge: first term left", [m.ridge_left for m in measured]), "ridge", "-"),
        (line("forward: first term left", [m.forward_left for m in measured]), "forward", "-"),
        (line("forward: share cancelled", [m.cancelled for m in measured]), "forward", ":"),
        (line("forward: share cancelled, last tenth", [m.cancelled_late for m in measured]), "forward", "--"),
    ]
    for each, learner, dash in shares:
        style.draw_line(right, each, palette.COLORS[learner], dash)
        right.plot(each.x, each.y, "o", color=palette.COLORS[learner], markersize=3.5)
    style.style_axes(right, title="What becomes of the terms", xlabel="σ of the noise", ylabel="share")
    style.add_axes_legend(right)
    figure.suptitle(
        f"The same for other noise, λ = {config.lam:g}, {config.theta_words}: {repeats:,} repeats, 99 % intervals",
        fontsize=11,
    )
    doubtful = sum(
        not each.trusted
        for m in measured
        for each in (m.regret_ratio, m.loss_ratio, m.ridge_left, m.forward_left, m.cancelled, m.cancelled_late)
    )
    doubt = f" At {doubtful} points one repeat makes up much of a mean, and the interval is rough." if doubtful else ""
    return Drawing(
        name="figure1-noise",
        title="The same for other noise",
        figure=figure,
        caption=(
            f"Left: ridge's regret to θ* and total loss at round {config.rounds}, over forward's; above 1 forward is "
            "better. Right: what is left of each first term in the last tenth of the rounds, relative to the first "
            f"{config.d} rounds, and the share of forward's first terms that its second terms take off. Ratios of "
            f"means over {repeats:,} paired repeats with 99 % intervals; all axes are logarithmic. The terms above are "
            f"at σ = {config.sigma:g}.{hidden_points_note([*ratios, *(each for each, _, _ in shares)])}{doubt}"
        ),
        alternative=(
            f"Two panels over the noise σ. Left, ridge's regret over forward's goes from {ratios[0].y[0]:.2g} at σ = "
            f"{sigmas[0]:g} to {ratios[0].y[-1]:.2g} at σ = {sigmas[-1]:g}. Right, the share of forward's first terms "
            f"that is cancelled goes from {shares[2][0].y[0]:.2g} to {shares[2][0].y[-1]:.2g}."
        ),
        panels=(Panel(left, ratios), Panel(right, [each for each, _, _ in shares])),
    )
