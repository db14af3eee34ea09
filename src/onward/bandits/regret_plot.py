"""The picture of a game: each policy's regret over rounds, with how much it varied."""

from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import StrMethodFormatter
from numpy.typing import NDArray

from onward.core.shown import brief
from onward.core.types import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Band = Literal["standard_error", "quartiles", "deciles", "std"]

# Okabe and Ito's, which most eyes tell apart, less the yellow.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
MANY = 12  # with more policies than this, bands of standard errors only hide lines
POINTS = 600  # as many as can be seen

SAYS = {
    "standard_error": "mean ± standard error",
    "std": "mean ± standard deviation",
    "quartiles": "median and quartiles",
    "deciles": "median and deciles",
    None: "mean",
}


class RegretRuns(Protocol):
    """What is drawn of a game: see `onward.bandits.Runs`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the policies."""

    @property
    def rounds(self) -> NDArray[Any]:
        """Those that were kept."""

    @property
    def horizon(self) -> int:
        """How many rounds were played."""

    @property
    def settings(self) -> dict[str, Any]:
        """The policies and the environment."""

    @property
    def complete(self) -> bool:
        """Whether the game was played to its end."""

    @property
    def repeats(self) -> int:
        """How many times the game was played."""

    def mean(self) -> Matrix:
        """Over repeats, (policy, kept round)."""

    def standard_error(self) -> Matrix:
        """Of the mean."""

    def quantile(self, q: float) -> Matrix:
        """Over repeats."""


def plot(runs: RegretRuns, band: Band | None, log: bool, ax: "Axes | None") -> Figure:
    """Draw the runs, into `ax` if it is given; returns the figure.

    The legend stands outside, in the order of the lines' right ends, so that it reads like labels beside them. Change
    points of the environment, if its settings name them, are thin vertical lines.
    """
    if band not in SAYS:
        raise ValueError(f"band must be one of {', '.join(map(repr, SAYS))}, got {brief(band)}")
    if ax is None:
        longest = max(map(len, runs.names))
        size = 7.5 + 0.085 * max(0, longest - 14), max(4.2, 0.7 + 0.215 * len(runs.names))
        ax = Figure(figsize=size, layout="constrained").subplots()
    if len(runs.names) > MANY and band == "standard_error":
        band = None
    middle, low, high = _lines(runs, band)
    kept = np.unique(np.linspace(0, len(runs.rounds) - 1, POINTS).round().astype(np.int64))
    t = runs.rounds[kept]
    handles, labels = [], []
    for i in np.argsort(-middle[:, -1], kind="stable"):
        color, style = COLORS[i % len(COLORS)], STYLES[i // len(COLORS) % len(STYLES)]
        if low is not None and high is not None:
            ax.fill_between(t, low[i, kept], high[i, kept], color=color, alpha=0.22, linewidth=0)
        handles += ax.plot(t, middle[i, kept], color=color, linestyle=style, linewidth=1.6)
        labels.append(f"{runs.names[i]}  ({middle[i, -1]:,.4g})".replace("$", r"\$"))
    change_points = _change_points(runs)
    for point in change_points:
        ax.axvline(point, color="#888888", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
    if log:
        ax.set_yscale("log", nonpositive="clip")
        seen = middle[:, runs.rounds >= min(runs.horizon / 100, runs.rounds[-1])]
        if (seen > 0).any():  # neither the first few rounds nor a band that reaches 0 may stretch the axis
            ax.set_ylim(bottom=0.8 * float(seen[seen > 0].min()))
    else:
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        if not (middle < 0).any():
            ax.set_ylim(bottom=0.0)
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    ax.set_xlim(0, runs.horizon)
    once = runs.repeats == 1
    title = "one repeat" if once else f"{SAYS[band]} over {runs.repeats:,} repeats"
    ax.set(xlabel="round", ylabel="cumulative regret")
    ax.set_title(title + ("" if runs.complete else ", stopped early"), fontsize="medium")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(handles, labels, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure = ax.figure
    return figure.figure if isinstance(figure, SubFigure) else figure


def _lines(runs: RegretRuns, band: Band | None) -> tuple[Matrix, Matrix | None, Matrix | None]:
    """The line of each policy, and the edges of the band around it."""
    if band in ("quartiles", "deciles"):
        tail = 0.25 if band == "quartiles" else 0.1
        edges = (None, None) if runs.repeats == 1 else (runs.quantile(tail), runs.quantile(1 - tail))
        return runs.quantile(0.5), *edges
    mean = runs.mean()
    if band is None or runs.repeats == 1:
        return mean, None, None
    reach = runs.standard_error() * (np.sqrt(runs.repeats) if band == "std" else 1.0)
    return mean, mean - reach, mean + reach


def _change_points(runs: RegretRuns) -> list[float]:
    environment = runs.settings.get("environment")
    points = environment.get("change_points") if isinstance(environment, dict) else None
    return [float(point) for point in points or () if 0 < point < runs.horizon]
