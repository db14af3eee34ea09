"""What a pointer reads off a drawing's panels: the lines' values, and where on the panel they lie.

The places are computed here by the axes' own transforms, so that the page needs to know nothing of scales.
"""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from onward.core.types import Vector
from onward.json_values import to_json_values
from onward.pages.drawing import Drawing, Line, Panel

MOST_POINTS = 300  # of a line that can be read off: more than a pointer can tell apart
_DIGITS = 6


def panel_values(drawing: Drawing, frame: tuple[float, float, float, float]) -> list[dict[str, Any]]:
    """For each panel: its box as fractions of the frame (in points), and its lines. Plain values, None for NaN."""
    return [_panel(panel, number, drawing, frame) for number, panel in enumerate(drawing.panels, start=1)]


def line_colours(drawing: Drawing) -> list[str]:
    """The colours of all lines that can be read off."""
    return [colour for panel in drawing.panels for line in panel.lines if (colour := _colour(panel.axes, line))]


def _panel(panel: Panel, number: int, drawing: Drawing, frame: tuple[float, float, float, float]) -> dict[str, Any]:
    axes = panel.axes
    left, top, width, height = frame
    inches = drawing.figure.get_size_inches()
    box = axes.get_position()
    grids: list[dict[str, Any]] = []
    lines = []
    for line in panel.lines:
        _check(line, drawing)
        kept = _kept(axes, line)
        x = line.x[kept]
        grid = {"x": _plain(x), "at": _places(axes, x, axis=0)}
        if grid not in grids:
            grids.append(grid)
        entry: dict[str, Any] = {"label": line.label, "grid": grids.index(grid), "y": _plain(line.y[kept])}
        colour = _colour(axes, line)
        if colour is not None:  # a row of a heat map has values, but no line to show them on
            entry |= {"colour": colour[1:], "at": _places(axes, line.y[kept], axis=1)}
        if line.lower is not None and line.upper is not None:
            entry |= {"lower": _ends(line.lower[kept]), "upper": _ends(line.upper[kept])}
        lines.append(entry)
    return {
        "name": axes.get_title() or axes.get_title(loc="left") or axes.get_ylabel() or f"Panel {number}",
        "across": axes.get_xlabel() or "x",
        "box": [
            round((72 * inches[0] * box.x0 - left) / width, 5),
            round((72 * inches[1] * (1 - box.y1) - top) / height, 5),
            round(72 * inches[0] * box.width / width, 5),
            round(72 * inches[1] * box.height / height, 5),
        ],
        "grids": grids,
        "lines": lines,
    }


def _check(line: Line, drawing: Drawing) -> None:
    for name in ("y", "lower", "upper"):
        values = getattr(line, name)
        if values is not None and np.shape(values) != np.shape(line.x):
            raise ValueError(
                f"{drawing.name}: line {line.label!r} has {np.shape(line.x)} values of x, "
                f"but {np.shape(values)} of {name}"
            )


def _kept(axes: Axes, line: Line) -> NDArray[np.intp]:
    """The points on the panel, and of very many those nearest to places spread evenly over it."""
    at = _fractions(axes, line.x, axis=0)
    seen: NDArray[np.intp] = np.flatnonzero(np.isfinite(at) & (at > -1e-6) & (at < 1 + 1e-6))
    if len(seen) <= MOST_POINTS:
        return seen
    order = seen[np.argsort(at[seen], kind="stable")]
    wanted = np.linspace(at[order[0]], at[order[-1]], MOST_POINTS)
    after = np.clip(np.searchsorted(at[order], wanted), 1, len(order) - 1)
    nearer = np.where(wanted - at[order[after - 1]] <= at[order[after]] - wanted, after - 1, after)
    kept: NDArray[np.intp] = order[np.unique(nearer)]
    return kept


def _fractions(axes: Axes, values: Vector, axis: int) -> Vector:
    """Where values lie between the start and the end of an axis, 0 to 1."""
    points = np.zeros((len(values), 2))
    points[:] = axes.get_xlim()[0], axes.get_ylim()[0]
    points[:, axis] = values
    with np.errstate(all="ignore"):  # no place for NaN, nor for 0 on a logarithmic axis
        fractions: Vector = (axes.transData + axes.transAxes.inverted()).transform(points)[:, axis]
    return fractions


def _places(axes: Axes, values: Vector, axis: int) -> list[float | None]:
    return [round(each, 4) if -10 < each < 11 else None for each in _fractions(axes, values, axis).tolist()]


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


def _colour(axes: Axes, line: Line) -> str | None:
    """The colour in which it is drawn: that of the drawn line of the same label, or of the same values."""
    for drawn in axes.get_lines():
        if drawn.get_label() == line.label:
            return to_hex(drawn.get_color())
    for drawn in axes.get_lines():
        x, y = np.asarray(drawn.get_xdata()), np.asarray(drawn.get_ydata())
        if np.array_equal(x, line.x) and np.array_equal(y, line.y, equal_nan=True):
            return to_hex(drawn.get_color())
    return None
