"""A picture as a page shows it: plain text and values, whatever drew it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from onward.core.shown import printable

_LEGIBLE = 0.9  # CSS pixels a point: a narrower screen scrolls the figure instead of shrinking it further
_LARGEST = 1.6


@dataclass(frozen=True)
class Picture:
    """A drawing, drawn."""

    name: str  # of its element on the page
    title: str
    caption: str
    svg: Markup
    size: tuple[float, float]  # in points
    colours: Mapping[str, float]  # each with the least contrast to the paper; 0 for backgrounds
    panels: Sequence[Mapping[str, Any]]  # what a pointer reads off each

    @property
    def canvas_style(self) -> str:
        """The CSS of its size on the page."""
        width, height = self.size
        return (
            f"aspect-ratio:{width:.2f}/{height:.2f};"
            f"min-width:{_LEGIBLE * width:.0f}px;max-width:{_LARGEST * width:.0f}px"
        )


def svg_element(name: str, title: str, alternative: str, frame: tuple[float, float, float, float], body: str) -> Markup:
    """The element that shows a picture: `frame` is left, top, width and height of what is seen, in points."""
    return Markup(
        f'<svg role="img" aria-labelledby="{name}-title {name}-desc" '
        f'viewBox="{" ".join(f"{each:.2f}" for each in frame)}" stroke-linejoin="round">'
        f'<title id="{name}-title">{escape(printable(title))}</title>'
        f'<desc id="{name}-desc">{escape(printable(alternative))}</desc>{body}</svg>'
    )
