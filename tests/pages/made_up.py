"""Made-up drawings of realistic shapes, to test pages with: nothing in them was measured."""

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from onward.core.types import Vector
from onward.pages.drawing import Drawing, Line, Panel

COLOURS = {"ridge": "#c1552d", "forward": "#2a6f97"}
AWKWARD = 'forward & ridge: <b>"p/(1+q)"</b> </script> stays text'


def line(drawing: Drawing, panel: int, label: str) -> Line:
    """The line of that label."""
    return next(each for each in drawing.panels[panel].lines if each.label == label)


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def drawing_of(line: Line, **axes_settings: Any) -> Drawing:
    """One line on axes whose place is known."""
    figure = Figure(figsize=(5, 4))
    axes = figure.add_axes((0.1, 0.25, 0.8, 0.6))
    if len(line.x) == len(line.y):
        axes.plot(line.x, line.y, color="#2a6f97")
    axes.set(**axes_settings)
    return Drawing("drawing", "title", figure, "caption", "alternative", [Panel(axes, [line])])


def two_panels() -> Drawing:
    """Bands, a logarithmic and a linear axis."""
    t = np.arange(1.0, 201.0)
    noise = np.random.default_rng(0)
    terms = {
        "ridge, first term": (COLOURS["ridge"], "-", 0.9 / t**1.6),
        "forward, first term": (COLOURS["forward"], "-", 0.3 / t**0.4),
        "forward, second term": (COLOURS["forward"], "--", 0.28 / t**0.4),
    }
    figure = _figure(9, 4)
    left, right = figure.subplots(1, 2)
    first, second = [], []
    for label, (colour, style, y) in terms.items():
        y = y * np.exp(noise.normal(0, 0.1, len(t)))
        left.plot(t, y, style, color=colour, label=label)
        first.append(Line(label, t, y))
        total = np.cumsum(y)
        right.plot(t, total, style, color=colour, label=label)
        right.fill_between(t, 0.9 * total, 1.1 * total, color=colour, alpha=0.2, linewidth=0)
        second.append(Line(label, t, total, 0.9 * total, 1.1 * total))
    left.set(yscale="log", xlabel="round", ylabel="term of the round", title="Each round")
    right.set(xlabel="round", ylabel="sum so far", title="Sums")
    for axes in (left, right):
        axes.grid(linewidth=0.5)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return Drawing(
        "figure1",
        "The terms that make up the regret",
        figure,
        "Means over 100 repeats with a band of one standard error: made up, for tests.",
        "Two panels. Ridge’s term falls quickly; forward’s two terms run close to each other.",
        [Panel(left, first), Panel(right, second)],
    )


def log_log() -> Drawing:
    """Lines that end early, and words on the axes."""
    figure = _figure(9, 4)
    panels = []
    for axes, learner in zip(figure.subplots(1, 2, sharey=True), COLOURS, strict=True):
        lines = []
        t = np.unique(np.geomspace(1, 1000, 60).round())
        for number, lam in enumerate((0.001, 0.145, 1, 10)):
            y = (1 + 1 / (lam + 0.02) * (learner == "ridge")) * t**0.3
            y[-2:] = math.nan
            axes.loglog(t, y, color=f"C{number}", label=f"λ = {lam}")
            axes.fill_between(t, y / 2, 2 * y, color=f"C{number}", alpha=0.15, linewidth=0)
            lines.append(Line(f"λ = {lam}", t, y, y / 2, 2 * y))
        axes.axvline(5, color="0.4", linestyle=":")
        axes.text(5.4, 1.05, "full rank", color="0.4")
        axes.set(xlabel="round", ylabel="regret so far", title=learner)
        panels.append(Panel(axes, lines))
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1))
    return Drawing("figure2", "Regret by λ", figure, "Mean ± 1 sd.", "Eight lines on logarithmic axes.", panels)


def heat_map() -> Drawing:
    """Cells coloured by value, numbers in them."""
    figure = _figure(7, 4)
    axes = figure.subplots()
    values = np.outer(np.linspace(-1, 1, 5), np.linspace(0.2, 1, 7))
    mesh = axes.pcolormesh(values, cmap="RdBu_r", vmin=-1, vmax=1, edgecolors="face")
    for (row, column), value in np.ndenumerate(values):
        colour = "white" if abs(value) > 0.6 else "black"
        axes.text(column + 0.5, row + 0.5, f"{10**value:.2g}", ha="center", va="center", color=colour, fontsize=8)
    axes.set(xlabel="λ", ylabel="σ", title="Ridge’s regret over forward’s")
    figure.colorbar(mesh, label="log10 of the ratio")
    rows = [Line(f"σ = {row}", np.arange(0.5, 7.0), 10 ** values[row]) for row in range(5)]
    words = ("Where forward wins", figure, "Red: forward is better.", "A heat map of 5 × 7 cells.")
    return Drawing("figure2-map", *words, [Panel(axes, rows)])


def four_panels() -> Drawing:
    """Long lines over shared axes."""
    figure = _figure(10, 6.5)
    panels = []
    t = np.arange(1.0, 100_001.0, 20.0)
    for number, axes in enumerate(figure.subplots(2, 2, sharex=True).flat):
        lines = []
        for label, power in (("OFUL", 0.8), ("OFUL, forward", 0.55), ("OFUL, forward, bias dropped", 0.5)):
            y: Vector = 200 * t**power * (1 + number)
            axes.plot(t, y, label=label)
            lines.append(Line(label, t, y, 0.8 * y, 1.25 * y))
        axes.set(
            yscale="log", title=("fixed arms", "fresh arms")[number % 2] + (", norm 200", ", U[0, 200]")[number // 2]
        )
        axes.grid(True)
        panels.append(Panel(axes, lines))
        axes.set(xlabel="round" if number > 1 else "", ylabel="regret")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return Drawing(
        "figure3", "Regret of bandits", figure, "Medians with quartiles.", "Four panels of three lines.", panels
    )


def one_panel(name: str) -> Drawing:
    """Lines with grids of their own; the last of figure4b has an awkward name."""
    figure = _figure(6.4, 4)
    axes = figure.subplots()
    lines = []
    last = AWKWARD if name == "figure4b" else "dLinUCB"
    for number, label in enumerate(("D-LinUCB", "D-LinUCB, forward", "SW-LinUCB", "LinUCB", "LinUCB-OR", last)):
        t = np.arange(0.0, 6000.0, 50.0 + number)  # not the same for all
        y = (20 + 8 * number) * np.sqrt(t) * (1 + (t > 2000))
        axes.plot(t, y, label=label)
        lines.append(Line(label, t, y))
    axes.set(yscale="symlog", xlabel="round", ylabel="regret, in units of reward")
    axes.legend(loc="lower right")
    return Drawing(name, "Regret after changes", figure, "One panel.", f"Six lines; {AWKWARD}.", [Panel(axes, lines)])
