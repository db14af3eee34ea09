"""A chart: axes with lines, bands and dots on them, and what is needed to write them down as SVG.

    chart = Chart("RMSE over the rows", "rows", "RMSE", x=row_scale(rows), y=error_scale(0.1, 3.0))
    chart.add_line(Line("model", rows, errors), "#2a6f97")

Shapes are kept as fractions of the axes, 0 to 1. Nothing here measures anything or knows how large the chart will be:
a page's charts are laid out and written in `chart_page.py` in a few milliseconds, where matplotlib took a second or two
and as many megabytes as a pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from onward.core.types import Matrix, Vector
from onward.pages.drawing import Line
from onward.pages.ticks import Scale

Dash = tuple[float, ...]
"""Strokes and gaps, in widths of the line."""

DOTTED: Dash = (1.0, 1.65)
DASHED: Dash = (3.7, 1.6)
_FAR = 50.0  # charts away: further out nothing is drawn, or numbers would not fit


@dataclass(frozen=True)
class Shape:
    """Paths of one look. `paths` are (n, 2) fractions of the axes, from the lower left."""

    paths: Sequence[Matrix]
    stroke: str | None = None
    fill: str | None = None
    width: float = 0.0  # of the stroke, in points
    dash: Dash = ()
    opacity: float = 1.0
    dots: bool = False  # a round dot at each point instead of a path through them
    label: str = ""  # in the legend


@dataclass
class Chart:
    """One panel of a picture. What is added later lies above."""

    title: str
    across: str
    up: str
    x: Scale
    y: Scale
    shapes: list[Shape] = field(default_factory=list)
    lines: list[tuple[Line, str | None]] = field(default_factory=list)  # to be read off, with their colour
    legend: bool = False  # whether it has one of its own
    across_written: bool = True  # or it is the same as below, where another chart follows

    def read(self, line: Line, colour: str | None = None) -> None:
        """Let values be read off; without a colour, no place of the line is shown."""
        self.lines.append((line, colour))

    def add_line(
        self, line: Line, colour: str, *, dash: Dash = (), width: float = 1.5, marked: bool = False, shown: bool = True
    ) -> None:
        """A line with the band around it, if it has one; `marked` with a dot at every value, `shown` in a legend."""
        if line.lower is not None and line.upper is not None:
            self.add_band(line.x, line.lower, line.upper, colour, 0.2)
        points = self._points(line.x, line.y)
        label = line.label if shown else ""
        self.shapes.append(Shape(_runs(points), stroke=colour, width=width, dash=dash, label=label))
        if marked:
            self.add_dots(line.x, line.y, colour, 4.0)

    def add_band(
        self, x: Vector, lower: Vector, upper: Vector, colour: str, opacity: float, *, label: str = ""
    ) -> None:
        """A band, where both ends have a place."""
        low, high = self._points(x, lower), self._points(x, upper)
        paths = [np.concatenate([run[:, :2], run[::-1, 2:]]) for run in _runs(np.hstack([low, high]))]
        self.shapes.append(Shape(paths, fill=colour, opacity=opacity, label=label))

    def add_dots(
        self, x: Vector, y: Vector, colour: str, size: float, *, opacity: float = 1.0, label: str = ""
    ) -> None:
        """Round dots of some points across."""
        points = self._points(x, y)
        seen = points[np.isfinite(points).all(axis=1) & (np.abs(points - 0.5) < 0.6).all(axis=1)]
        self.shapes.append(Shape([seen], stroke=colour, width=size, opacity=opacity, dots=True, label=label))

    def add_bars(self, edges: Vector, heights: Vector, colour: str, opacity: float) -> None:
        """A histogram, as one shape that stands on the axis."""
        steps = self._points(np.repeat(edges, 2), np.r_[0.0, np.repeat(heights, 2), 0.0])
        self.shapes.append(Shape([steps], fill=colour, opacity=opacity))

    def add_segments(
        self, starts: Matrix, ends: Matrix, colour: str, *, width: float, dash: Dash = (), label: str = ""
    ) -> None:
        """Straight lines between points (n, 2)."""
        both = np.stack([self._points(*starts.T), self._points(*ends.T)], axis=1)
        self.shapes.append(Shape(list(both), stroke=colour, width=width, dash=dash, label=label))

    def add_level(self, y: float, colour: str, *, width: float = 1.0, dash: Dash = DOTTED) -> None:
        """A line all across."""
        height = self.y.fractions(np.full(2, y))
        self.shapes.append(Shape([np.column_stack([[0.0, 1.0], height])], stroke=colour, width=width, dash=dash))

    def add_uprights(self, x: Vector, colour: str, *, width: float, dash: Dash = DOTTED, label: str = "") -> None:
        """Lines from the bottom to the top."""
        paths = [np.column_stack([np.full(2, at), [0.0, 1.0]]) for at in self.x.fractions(x)]
        self.shapes.append(Shape(paths, stroke=colour, width=width, dash=dash, label=label))

    def labelled(self) -> list[Shape]:
        """What a legend names, each name once."""
        return list({shape.label: shape for shape in reversed(self.shapes) if shape.label}.values())[::-1]

    def _points(self, x: Vector, y: Vector) -> Matrix:
        points = np.column_stack([self.x.fractions(x), self.y.fractions(y)])
        return np.where(np.isfinite(points), np.clip(points, -_FAR, _FAR), np.nan)


@dataclass(frozen=True)
class ChartDrawing:
    """A picture of charts, row by row: what to show, what to say below it, and to those who cannot see it."""

    name: str  # of its element on the page
    title: str
    charts: Sequence[Chart]
    caption: str
    alternative: str
    columns: int
    size: tuple[float, float] = (648.0, 288.0)  # width and height, in points
    legend: Sequence[Shape] = ()  # of all charts, below them


def _runs(points: Matrix) -> list[Matrix]:
    """The parts of a line between values that have no place."""
    held = np.isfinite(points).all(axis=1)
    cuts = np.flatnonzero(np.diff(held)) + 1
    return [part for part in np.split(points, cuts) if len(part) and np.isfinite(part[0]).all()]
