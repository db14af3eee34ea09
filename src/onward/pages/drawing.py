"""A picture with what belongs to it: the words around it, and the values that can be read off."""

from __future__ import annotations  # lines are known where nothing is drawn with matplotlib, which takes long to load

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onward.core.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Line:
    """One line of a panel, as it can be read off: its values, and the band around it if there is one."""

    label: str
    x: Vector
    y: Vector
    lower: Vector | None = None
    upper: Vector | None = None


@dataclass(frozen=True)
class Panel:
    """Axes of a drawing with the lines on them, for reading off values."""

    axes: Axes
    lines: Sequence[Line]


@dataclass(frozen=True)
class Drawing:
    """A picture: what to show, what to say below it, and what to say to those who cannot see it."""

    name: str  # of its files
    title: str
    figure: Figure
    caption: str
    alternative: str
    panels: Sequence[Panel] = ()
