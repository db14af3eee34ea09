"""What a pointer reads off the axes of matplotlib: where lines lie on them, by the axes' own transforms."""

from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from onward.core.types import Vector
from onward.pages.drawing import Drawing, Line, Panel
from onward.pages.pointer_values import line_values


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
    colours = [_colour(axes, line) for line in panel.lines]
    across, up = (partial(_fractions, axes, axis) for axis in (0, 1))
    return {
        "name": axes.get_title() or axes.get_title(loc="left") or axes.get_ylabel() or f"Panel {number}",
        "across": axes.get_xlabel() or "x",
        "box": [
            round((72 * inches[0] * box.x0 - left) / width, 5),
            round((72 * inches[1] * (1 - box.y1) - top) / height, 5),
            round(72 * inches[0] * box.width / width, 5),
            round(72 * inches[1] * box.height / height, 5),
        ],
    } | line_values(drawing.name, panel.lines, colours, across, up)


def _fractions(axes: Axes, axis: int, values: Vector) -> Vector:
    """Where values lie between the start and the end of an axis, 0 to 1."""
    points = np.zeros((len(values), 2))
    points[:] = axes.get_xlim()[0], axes.get_ylim()[0]
    points[:, axis] = values
    with np.errstate(all="ignore"):  # no place for NaN, nor for 0 on a logarithmic axis
        fractions: Vector = (axes.transData + axes.transAxes.inverted()).transform(points)[:, axis]
    return fractions


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
