"""A drawing as part of a page: SVG without outside references, in colours that follow the page's light or dark theme.

Matplotlib writes SVG for a white sheet. On a page, black must become the page's ink, white its paper, and every line
must stand out from both papers. So each colour becomes a variable, `var(--c-2a6f97)`, with one value for each theme.
Letters are drawn as paths: they then sit where matplotlib put them, whatever fonts a reader has. What is coloured by
value (heat maps and the numbers in their cells) keeps its colours.
"""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from onward.pages.drawing import Drawing
from onward.pages.pointer_values import line_colours, panel_values


@dataclass(frozen=True)
class Theme:
    """The two colours that all others are fitted to, and the least contrast to the paper of lines."""

    paper: str
    ink: str
    lines: float


LIGHT = Theme(paper="#fcfcfa", ink="#1d232b", lines=3.0)
DARK = Theme(paper="#14181d", ink="#e6e9ec", lines=4.5)  # thin lines look dimmer on dark paper than they measure

LINE, TEXT = 3.0, 4.5  # the least contrasts that WCAG asks of graphics and of text, level AA
_PALE = 1.5  # a fill with less contrast to the light paper is a background, not a shape
_MARGIN = 4.0  # around the drawing, in points
_LEGIBLE = 0.9  # CSS pixels a point: a narrower screen scrolls the figure instead of shrinking it further
_LARGEST = 1.6
_OWN_COLOURS = ("QuadMesh", "QuadContourSet", "own-colours")  # groups whose colours mean values
_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


@dataclass(frozen=True)
class Picture:
    """A drawing as a page shows it."""

    drawing: Drawing
    svg: Markup
    frame: tuple[float, float, float, float]  # where it lies on the figure: left, top, width, height in points
    colours: Mapping[str, float]  # each with the least contrast to the paper; 0 for backgrounds

    @property
    def panels(self) -> list[dict[str, Any]]:
        """What a pointer reads off each panel."""
        return panel_values(self.drawing, self.frame)

    @property
    def canvas_style(self) -> str:
        """The CSS of its size on the page."""
        _, _, width, height = self.frame
        return (
            f"aspect-ratio:{width:.2f}/{height:.2f};"
            f"min-width:{_LEGIBLE * width:.0f}px;max-width:{_LARGEST * width:.0f}px"
        )


def make_picture(drawing: Drawing) -> Picture:
    """Draw it for a page."""
    root = ElementTree.fromstring(_matplotlib_svg(drawing))
    height = float(root.attrib["viewBox"].split()[3])
    # What stands out of the figure's edge, such as a legend beside it, is shown, too.
    box = drawing.figure.get_tightbbox().padded(_MARGIN / 72)
    frame = (72 * box.x0, height - 72 * box.y1, 72 * box.width, 72 * box.height)
    colours = dict.fromkeys(line_colours(drawing), LINE)
    body = "".join(_write_element(child, f"{drawing.name}-", colours, text=False, own=False) for child in root)
    svg = (
        f'<svg role="img" aria-labelledby="{drawing.name}-title {drawing.name}-desc" '
        f'viewBox="{" ".join(f"{each:.2f}" for each in frame)}" stroke-linejoin="round">'
        f'<title id="{drawing.name}-title">{escape(drawing.title)}</title>'
        f'<desc id="{drawing.name}-desc">{escape(drawing.alternative)}</desc>{body}</svg>'
    )
    return Picture(drawing, Markup(svg), frame, colours)


def fix_layout(figure: Figure) -> None:
    """Lay it out once and for all: a layout engine would go on moving things a little with every file written."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)  # with "none", each file written would be drawn twice


def variable(colour: str) -> str:
    """How the page calls a colour."""
    return f"var(--c-{colour[1:]})"


def colour_declarations(colours: Mapping[str, float], theme: Theme) -> str:
    """The CSS that gives each colour its value in a theme."""
    return "".join(f"--c-{colour[1:]}:{fit_colour(colour, colours[colour], theme)};" for colour in sorted(colours))


def fit_colour(colour: str, least: float, theme: Theme) -> str:
    """The colour as a theme shows it.

    Greys run from ink to paper. Lines and letters go towards the ink until their contrast to the paper is enough, and
    backgrounds towards the paper where they would glare.
    """
    red, green, blue = to_rgb(colour)
    if red == green == blue:
        colour = _mix(theme.ink, theme.paper, red)
        if least < TEXT:  # a faint grid is meant to be faint
            return colour
    if least == 0:
        return colour if contrast(colour, theme.paper) < 2 else _mix(colour, theme.paper, 0.85)
    enough = max(least, theme.lines)
    shares = (_mix(colour, theme.ink, step / 20) for step in range(21))
    return next((each for each in shares if contrast(each, theme.paper) >= enough), theme.ink)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG, 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _mix(start: str, end: str, share: float) -> str:
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(to_rgb(start), to_rgb(end), strict=True))
    return to_hex((red, green, blue))


def _matplotlib_svg(drawing: Drawing) -> str:
    fix_layout(drawing.figure)
    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": drawing.name}), _marked_for_page(drawing.figure):
        drawing.figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


@contextmanager
def _marked_for_page(figure: Figure) -> Iterator[None]:
    """For the time of drawing: cells as shapes instead of pixels, and names for texts that lie on coloured cells."""
    meshes = [each for axes in figure.axes for each in axes.collections if isinstance(each, QuadMesh)]
    rasterized = [mesh.get_rasterized() for mesh in meshes]
    texts = [text for axes in figure.axes if _has_cells(axes) for text in axes.texts]
    names = [text.get_gid() for text in texts]
    try:
        for mesh in meshes:
            mesh.set_rasterized(False)
        for number, text in enumerate(texts):
            text.set_gid(f"own-colours-{number}")
        yield
    finally:
        for mesh, was in zip(meshes, rasterized, strict=True):
            mesh.set_rasterized(was)
        for text, name in zip(texts, names, strict=True):
            text.set_gid(name)


def _has_cells(axes: Axes) -> bool:
    return bool(axes.images) or any(isinstance(each, QuadMesh) for each in axes.collections)


def _write_element(
    element: ElementTree.Element, prefix: str, colours: dict[str, float], *, text: bool, own: bool
) -> str:
    """An element and all in it as HTML: short numbers, ids unique on the page, colours by name (noted in `colours`)."""
    tag = element.tag.rpartition("}")[2]
    if tag in {"metadata", "style"}:  # the style would hold for the whole page
        return ""
    name = element.get("id", "")
    text = text or name.startswith("text_")
    starts_own = not own and name.startswith(_OWN_COLOURS)
    own = own or starts_own
    attributes = {}
    for key, value in element.attrib.items():
        key = key.rpartition("}")[2]
        if key == "id":
            value = prefix + value
        elif key == "href" and value.startswith("#"):
            value = f"#{prefix}{value[1:]}"
        elif key in {"d", "x", "y", "points"}:
            value = _LONG_NUMBER.sub(_shorten, value)
        elif key == "style" and not own:
            value = _name_colours(value, colours, text=text)
        attributes[key] = _REFERENCE.sub(rf"url(#{prefix}\1)", value)
    if starts_own:
        attributes["fill"] = "#000"  # what matplotlib leaves out because it is the default
    if name.startswith("QuadMesh"):
        attributes["shape-rendering"] = "crispEdges"  # no seams between cells
    inside = "".join(_write_element(child, prefix, colours, text=text, own=own) for child in element)
    written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    return f"<{tag}{written}>{inside}</{tag}>"


def _name_colours(style: str, colours: dict[str, float], *, text: bool) -> str:
    def by_name(match: re.Match[str]) -> str:
        use, colour = match.groups()
        background = use == "fill" and not text and contrast(colour, LIGHT.paper) < _PALE
        least = TEXT if text else 0.0 if background else LINE
        colours[colour] = max(least, colours.get(colour, 0.0))
        return f"{use}: {variable(colour)}"

    return _COLOUR.sub(by_name, style)


def _shorten(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
