"""Charts as SVG for a page: laid out by arithmetic, in colours by name, with letters in the reader's own font.

A reader's font is not known here, so widths of texts are estimated as those of a wide one. That only decides how much
room there is: every text has an anchor, and stands where it belongs in any font.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from onward.core.shown import printable
from onward.core.types import Matrix
from onward.pages.chart import Chart, ChartDrawing, Shape
from onward.pages.picture import Picture, svg_element
from onward.pages.pointer_values import line_values
from onward.pages.theme import LINE, variable

_TITLE, _LABEL, _SMALL = 10.0, 9.0, 8.0  # heights of letters, in points
_LINE = 1.35  # of text, beside its height
_GAP, _LEAST = 12.0, 60.0  # between charts, and of their axes' height
_SWATCH, _APART = 16.0, 12.0  # of a legend: its samples, and what lies between two names
_NARROW, _WIDE = "ijlI.,:;'|!()[]ft1 ", "mwMW%@—"


@dataclass(frozen=True)
class _Box:
    """Where a chart's axes lie, in points from the upper left."""

    left: float
    top: float
    width: float
    height: float


def draw_charts(drawing: ChartDrawing) -> Picture:
    """Draw them for a page."""
    boxes, legends, height = _lay_out(drawing)
    body = "".join(
        _write_chart(chart, box, legend_top, f"{drawing.name}-clip-{number}")
        for number, (chart, box, legend_top) in enumerate(zip(drawing.charts, boxes, legends, strict=True))
    )
    width = drawing.size[0]
    body += _write_legend(drawing.legend, width / 2, width, height)
    size = width, height + _legend_height(drawing.legend, width)
    shapes = [*drawing.legend, *(shape for chart in drawing.charts for shape in chart.shapes)]
    named = [colour for shape in shapes for colour in (shape.stroke, shape.fill) if colour]
    named += [colour for chart in drawing.charts for _, colour in chart.lines if colour]
    return Picture(
        drawing.name,
        drawing.title,
        drawing.caption,
        svg_element(drawing.name, drawing.title, drawing.alternative, (0.0, 0.0, *size), body),
        size,
        dict.fromkeys(named, LINE),
        [_values(chart, box, size, drawing.name) for chart, box in zip(drawing.charts, boxes, strict=True)],
    )


def _values(chart: Chart, box: _Box, size: tuple[float, float], name: str) -> dict[str, Any]:
    """What can be read off a chart."""
    lines, colours = [line for line, _ in chart.lines], [colour for _, colour in chart.lines]
    shares = box.left / size[0], box.top / size[1], box.width / size[0], box.height / size[1]
    return {
        "name": chart.title or chart.up,
        "across": chart.across,
        "box": [round(each, 5) for each in shares],
    } | line_values(name, lines, colours, chart.x.fractions, chart.y.fractions)


# Layout


def _lay_out(drawing: ChartDrawing) -> tuple[list[_Box], list[float], float]:
    """The boxes of the axes, where the charts' own legends begin, and the height of all."""
    columns, rows = drawing.columns, math.ceil(len(drawing.charts) / drawing.columns)
    charts = drawing.charts
    cell = (drawing.size[0] - _GAP * (columns - 1)) / columns
    height = (drawing.size[1] - _legend_height(drawing.legend, drawing.size[0])) / rows
    left = [max(_left(chart) for chart in charts[column::columns]) for column in range(columns)]
    boxes, legends, top = list[_Box](), list[float](), 0.0
    for row in range(rows):
        these = charts[row * columns : (row + 1) * columns]
        widths = [cell - left[column] - _right(chart) for column, chart in enumerate(these)]
        above = max(_TITLE * _LINE + 5 if chart.title else 5.0 for chart in these)
        below = max(_below(chart) for chart in these)
        own = max(_legend_height(_legend(chart), width) for chart, width in zip(these, widths, strict=True))
        inside = max(_LEAST, height - above - below - own)
        for column, width in enumerate(widths):
            boxes.append(_Box(column * (cell + _GAP) + left[column], top + above, width, inside))
            legends.append(top + above + inside + below)
        top += above + inside + below + own
    return boxes, legends, top


def _left(chart: Chart) -> float:
    """The room that the texts beside a vertical axis take."""
    widest = max((_width(text, _SMALL) for _, text in chart.y.ticks.written), default=0.0)
    return widest + 7 + (_LABEL * _LINE + 3 if chart.up else 0.0)


def _right(chart: Chart) -> float:
    """The room that half of the last text below a horizontal axis may take."""
    return max((min(14.0, 0.5 * _width(text, _SMALL)) for text in chart.x.ticks.texts[-1:]), default=0.0)


def _below(chart: Chart) -> float:
    """The room that the texts below a horizontal axis take."""
    return 6 + _SMALL * _LINE + (_LABEL * _LINE + 2 if chart.across_written else 2.0)


def _width(text: str, size: float) -> float:
    """About how wide a text is."""
    return size * sum(0.34 if each in _NARROW else 0.92 if each in _WIDE or each > "\u2fff" else 0.61 for each in text)


def _legend(chart: Chart) -> list[Shape]:
    return chart.labelled() if chart.legend else []


def _legend_rows(shapes: Sequence[Shape], width: float) -> list[list[Shape]]:
    """The entries of a legend, row by row as they fit."""
    rows: list[list[Shape]] = []
    used = math.inf
    for shape in shapes:
        wide = _SWATCH + 5 + _width(shape.label, _SMALL)
        if used + _APART + wide > width:
            rows.append([])
            used = -_APART
        rows[-1].append(shape)
        used += _APART + wide
    return rows


def _legend_height(shapes: Sequence[Shape], width: float) -> float:
    rows = len(_legend_rows(shapes, width))
    return rows * (_SMALL * _LINE + 3) + (7 if rows else 0)


# Writing


def _write_chart(chart: Chart, box: _Box, legend_top: float, clip: str) -> str:
    right, bottom = box.left + box.width, box.top + box.height
    x = dict(zip(chart.x.ticks.all, box.left + box.width * chart.x.fractions(np.array(chart.x.ticks.all)), strict=True))
    y = dict(zip(chart.y.ticks.all, bottom - box.height * chart.y.fractions(np.array(chart.y.ticks.all)), strict=True))
    grid = "".join(f"M{x[at]:.1f} {box.top:.1f}V{bottom:.1f}" for at in chart.x.ticks.places)
    grid += "".join(f"M{box.left:.1f} {y[at]:.1f}H{right:.1f}" for at in chart.y.ticks.places)
    edges = f"M{box.left:.1f} {box.top:.1f}V{bottom:.1f}H{right:.1f}"
    edges += "".join(f"M{x[at]:.1f} {bottom:.1f}v3.5" for at in chart.x.ticks.places)
    edges += "".join(f"M{box.left:.1f} {y[at]:.1f}h-3.5" for at in chart.y.ticks.places)
    small = "".join(f"M{x[at]:.1f} {bottom:.1f}v2" for at in chart.x.ticks.small)
    small += "".join(f"M{box.left:.1f} {y[at]:.1f}h-2" for at in chart.y.ticks.small)
    parts = [
        f'<clipPath id="{clip}"><rect x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}"/></clipPath>',
        f'<path d="{grid}" style="fill:none;stroke:var(--ink);stroke-width:0.6;opacity:0.09"/>',
        f'<g clip-path="url(#{clip})">{"".join(_write_shape(shape, box) for shape in chart.shapes)}</g>',
        f'<path d="{edges}" style="fill:none;stroke:var(--ink);stroke-width:0.8"/>',
        f'<path d="{small}" style="fill:none;stroke:var(--ink);stroke-width:0.6"/>',
    ]
    parts += [_write_text(text, x[at], bottom + 5 + _SMALL, _SMALL) for at, text in chart.x.ticks.written]
    parts += [
        _write_text(text, box.left - 6, y[at] + 0.36 * _SMALL, _SMALL, anchor="end")
        for at, text in chart.y.ticks.written
    ]
    middle = box.left + box.width / 2
    if chart.title:
        parts.append(_write_text(chart.title, middle, box.top - 6, _TITLE))
    if chart.across_written:
        parts.append(_write_text(chart.across, middle, bottom + 6 + _SMALL * _LINE + _LABEL, _LABEL))
    if chart.up:
        at = f"{box.left - _left(chart) + _LABEL:.1f} {box.top + box.height / 2:.1f}"
        parts.append(f'<g transform="translate({at}) rotate(-90)">{_write_text(chart.up, 0, 0, _LABEL)}</g>')
    parts.append(_write_legend(_legend(chart), middle, box.width, legend_top))
    return f"<g>{''.join(parts)}</g>"


def _write_shape(shape: Shape, box: _Box) -> str:
    """A shape as one path; dots are strokes without length and with round ends."""
    start, size = np.array([box.left, box.top + box.height]), np.array([box.width, -box.height])
    paths = [start + size * path for path in shape.paths if len(path)]
    if shape.dots:
        written = "".join(f"M{x:.1f} {y:.1f}h0" for path in paths for x, y in path.tolist())
    else:
        written = "".join(_write_path(path) + ("Z" if shape.fill else "") for path in paths)
    return f'<path d="{written}"{_look(shape)}/>' if written else ""


def _write_path(points: Matrix) -> str:
    return "M" + "L".join([f"{x:.2f} {y:.2f}" for x, y in points.tolist()])


def _look(shape: Shape) -> str:
    """The attribute that says how it looks."""
    look = f"fill:{variable(shape.fill) if shape.fill else 'none'}"
    if shape.stroke:
        look += f";stroke:{variable(shape.stroke)};stroke-width:{shape.width:g}"
    if shape.dots:
        look += ";stroke-linecap:round"
    if shape.dash:
        look += f";stroke-dasharray:{' '.join(f'{shape.width * each:.2f}' for each in shape.dash)}"
    if shape.opacity < 1:
        look += f";opacity:{shape.opacity:g}"
    return f' style="{look}"'


def _write_legend(shapes: Sequence[Shape], middle: float, width: float, top: float) -> str:
    parts = []
    for number, row in enumerate(_legend_rows(shapes, width)):
        wide = [_SWATCH + 5 + _width(shape.label, _SMALL) for shape in row]
        left = middle - (sum(wide) + _APART * (len(row) - 1)) / 2
        base = top + 7 + number * (_SMALL * _LINE + 3) + _SMALL
        for shape, each in zip(row, wide, strict=True):
            y = base - 0.36 * _SMALL
            sample = f"M{left + _SWATCH / 2:.1f} {y:.1f}h0" if shape.dots else f"M{left:.1f} {y:.1f}h{_SWATCH:g}"
            if shape.fill:
                sample = f"M{left:.1f} {y - 3:.1f}h{_SWATCH:g}v6h-{_SWATCH:g}Z"
            parts.append(f'<path d="{sample}"{_look(shape)}/>')
            parts.append(_write_text(shape.label, left + _SWATCH + 5, base, _SMALL, anchor="start"))
            left += each + _APART
    return "".join(parts)


def _write_text(text: str, x: float, y: float, size: float, anchor: str = "middle") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" font-size="{:g}" text-anchor="{}">{}</text>').format(
        x, y, size, anchor, escape(printable(text))
    )
