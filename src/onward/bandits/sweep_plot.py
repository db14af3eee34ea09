"""Many policies in one picture: their regret at the end, ranked, or against a parameter in which they differ."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from onward.bandits.regret_plot import COLORS, STYLES, RegretRuns

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_final(runs: RegretRuns, parameter: str | None, log: bool, ax: "Axes | None") -> Figure:
    """See `Runs.plot_final`."""
    mean, error = runs.mean()[:, -1], runs.standard_error()[:, -1]
    error = np.where(np.isfinite(error), error, 0.0)
    values = None if parameter is None else parameter_values(runs.settings, runs.names, parameter)
    if ax is None:
        height = 4.0 if values is not None else max(2.0, 0.9 + 0.24 * len(runs.names))
        ax = Figure(figsize=(7, height), layout="constrained").add_subplot()
    if values is None:
        _ranked(ax, runs.names, mean, error, log)
    else:
        _against(ax, runs.settings, runs.names, values, str(parameter), mean, error, log)
    once = "one repeat" if runs.repeats == 1 else f"mean ± standard error over {runs.repeats:,} repeats"
    ax.set_title(once + ("" if runs.complete else ", stopped early"), fontsize="medium")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure = ax.figure
    return figure.figure if isinstance(figure, SubFigure) else figure


def _ranked(ax: "Axes", names: tuple[str, ...], mean: Any, error: Any, log: bool) -> None:
    """A dot a policy, the best at the top."""
    order = np.argsort(np.where(np.isfinite(mean), mean, np.inf), kind="stable")
    places = np.arange(len(names))
    ax.errorbar(mean[order], places, xerr=error[order], fmt="o", color=COLORS[0], markersize=4, linewidth=1.2)
    failed = " (failed)"
    ax.set_yticks(places, [names[i] + ("" if np.isfinite(mean[i]) else failed) for i in order])
    ax.set_ylim(len(names) - 0.4, -0.6)
    _scale_regret(ax, "x", mean, log)


def _against(
    ax: "Axes", settings: Any, names: tuple[str, ...], values: Any, parameter: str, mean: Any, error: Any, log: bool
) -> None:
    """A line for each kind of policy over the parameter; of each class without it, the best as a horizontal line."""
    called = kinds_of(settings, names, parameter)
    kinds: dict[str, list[int]] = {}
    for i, kind in enumerate(called):
        if values[i] is not None:
            kinds.setdefault(kind, []).append(i)
    for at, (kind, members) in enumerate(kinds.items()):
        order = sorted(members, key=lambda i: values[i])
        x = [values[i] for i in order]
        color, style = COLORS[at % len(COLORS)], STYLES[at // len(COLORS) % len(STYLES)]
        ax.errorbar(
            x, mean[order], yerr=error[order], marker="o", markersize=4, color=color, linestyle=style, label=kind
        )
    others: dict[str, int] = {}  # the best of each class
    for i in sorted((i for i in range(len(names)) if values[i] is None), key=lambda i: -mean[i]):
        others[called[i].partition(",")[0]] = i
    for at, i in enumerate(others.values()):
        ax.axhline(mean[i], color="#777777", linestyle=STYLES[at % len(STYLES)], linewidth=1, label=names[i])
    given = [value for value in values if value is not None]
    if min(given) > 0 and max(given) > 20 * min(given):
        ax.set_xscale("log")
    _scale_regret(ax, "y", mean, log)
    ax.set_xlabel(parameter)
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _scale_regret(ax: "Axes", which: Literal["x", "y"], mean: Any, log: bool) -> None:
    """The axis of regret: from 0 if none is negative, or logarithmic, with numbers at 1, 2 and 5 of powers of ten."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    ax.set(**{f"{which}label": "cumulative regret"})
    if log:
        ax.set(**{f"{which}scale": "log"})
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
    elif not (mean < 0).any():
        ax.set(**{f"{which}lim": (0.0, None)})
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def parameter_values(settings: Mapping[str, Any], names: tuple[str, ...], parameter: str) -> list[float | None]:
    """The value of a parameter in each policy's description, by its name or path (`rule.scale`); None without one."""
    described = settings.get("policies", {})
    values = [_numbers(described.get(name, {})).get(parameter) for name in names]
    if all(value is None for value in values):
        there = sorted({key for name in names for key in _numbers(described.get(name, {}))})
        raise ValueError(f"no policy has the parameter {parameter!r}; expected one of {', '.join(there) or 'none'}")
    return values


def _numbers(description: Any) -> dict[str, float]:
    """The numbers in a description by their paths, and by their last names."""
    found: dict[str, float] = {}
    for path, value in _leaves(description):
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[path] = float(value)
            found.setdefault(path.rpartition(".")[2], float(value))
    return found


def kinds_of(settings: Mapping[str, Any], names: tuple[str, ...], parameter: str) -> list[str]:
    """What each policy is called beside others: its class, and what else than the parameter tells it from its like."""
    leaf = parameter.rpartition(".")[2]
    described = [dict(_leaves(settings.get("policies", {}).get(name, {}))) for name in names]
    classes = [str(leaves.get("policy") or leaves.get("class") or "policies") for leaves in described]
    kinds = []
    for own, leaves in zip(classes, described, strict=True):
        like = [others for other, others in zip(classes, described, strict=True) if other == own]
        differs = [
            path
            for path in leaves
            if path.rpartition(".")[2] != leaf and any(others.get(path) != leaves[path] for others in like)
        ]
        kinds.append(", ".join([own] + [f"{path.rpartition('.')[2]}={_short(leaves[path])}" for path in differs]))
    return kinds


def _leaves(description: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in description.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
