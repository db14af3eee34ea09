"""What a pointer reads off the lines of a panel: their values, and where on the panel they lie.

The places are computed here, so that the page needs to know nothing of scales.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onward.core.types import Vector
from onward.json_values import to_json_values
from onward.pages.drawing import Line

MOST_POINTS = 300  # of a line that can be read off: more than a pointer can tell apart
_DIGITS = 6

Fractions = Callable[[Vector], Vector]
"""Where values lie between the start and the end of an axis, 0 to 1."""


def line_values(
    name: str, lines: Sequence[Line], colours: Sequence[str | None], across: Fractions, up: Fractions
) -> dict[str, Any]:
    """The lines of a panel, and their values of x. Plain values, None for NaN; `name` is the drawing's, for errors."""
    grids: list[dict[str, Any]] = []
    entries = []
    for line, colour in zip(lines, colours, strict=True):
        _check(line, name)
        kept = _kept(across(line.x))
        x = line.x[kept]
        grid = {"x": _plain(x), "at": _places(across(x))}
        if grid not in grids:
            grids.append(grid)
        entry: dict[str, Any] = {"label": line.label, "grid": grids.index(grid), "y": _plain(line.y[kept])}
        if colour is not None:  # a row of a heat map has values, but no line to show them on
            entry |= {"colour": colour[1:], "at": _places(up(line.y[kept]))}
        if line.lower is not None and line.upper is not None:
            entry |= {"lower": _ends(line.lower[kept]), "upper": _ends(line.upper[kept])}
        entries.append(entry)
    return {"grids": grids, "lines": entries}


def _check(line: Line, drawing: str) -> None:
    for name in ("y", "lower", "upper"):
        values = getattr(line, name)
        if values is not None and np.shape(values) != np.shape(line.x):
            raise ValueError(
                f"{drawing}: line {line.label!r} has {np.shape(line.x)} values of x, but {np.shape(values)} of {name}"
            )


def _kept(at: Vector) -> NDArray[np.intp]:
    """The points on the panel, and of very many those nearest to places spread evenly over it."""
    seen: NDArray[np.intp] = np.flatnonzero(np.isfinite(at) & (at > -1e-6) & (at < 1 + 1e-6))
    if len(seen) <= MOST_POINTS:
        return seen
    order = seen[np.argsort(at[seen], kind="stable")]
    wanted = np.linspace(at[order[0]], at[order[-1]], MOST_POINTS)
    after = np.clip(np.searchsorted(at[order], wanted), 1, len(order) - 1)
    nearer = np.where(wanted - at[order[after - 1]] <= at[order[after]] - wanted, after - 1, after)
    kept: NDArray[np.intp] = order[np.unique(nearer)]
    return kept


def _places(fractions: Vector) -> list[float | None]:
    return [round(each, 4) if -10 < each < 11 else None for each in fractions.tolist()]


def _plain(values: Vector) -> list[float | None]:
    rounded = [_round(each) for each in np.asarray(values, dtype=np.float64).tolist()]
    plain: list[float | None] = to_json_values(rounded)
    return plain


def _ends(values: Vector) -> list[float | str | None]:
    """The ends of bands: an open one is said to be so."""
    signs = {math.inf: "∞", -math.inf: "−∞"}
    return [signs.get(each, plain) for each, plain in zip(values.tolist(), _plain(values), strict=True)]


def _round(value: float) -> float:
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
