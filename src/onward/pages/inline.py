"""A drawing as part of a page: SVG without outside references, in colours that follow the page's light or dark theme.

Matplotlib writes SVG for a white sheet. On a page each colour becomes a variable with one value for each theme
(`theme.py`). Letters are drawn as paths: they then sit where matplotlib put them, whatever fonts a reader has. What is
coloured by value (heat maps and the numbers in their cells) keeps its colours.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree

import matplotlib as mpl
from markupsafe import escape
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from onward.pages.axes_values import line_colours, panel_values
from onward.pages.drawing import Drawing
from onward.pages.picture import Picture, svg_element
from onward.pages.theme import LIGHT, LINE, TEXT, contrast, variable

_PALE = 1.5  # a fill with less contrast to the light paper is a background, not a shape
_MARGIN = 4.0  # around the drawing, in points
_OWN_COLOURS = ("QuadMesh", "QuadContourSet", "own-colours")  # groups whose colours mean values
_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def make_picture(drawing: Drawing) -> Picture:
    """Draw it for a page."""
    root = ElementTree.fromstring(_matplotlib_svg(drawing))
    height = float(root.attrib["viewBox"].split()[3])
    # What stands out of the figure's edge, such as a legend beside it, is shown, too.
    box = drawing.figure.get_tightbbox().padded(_MARGIN / 72)
    frame = (72 * box.x0, height - 72 * box.y1, 72 * box.width, 72 * box.height)
    colours = dict.fromkeys(line_colours(drawing), LINE)
    body = "".join(_write_element(child, f"{drawing.name}-", colours, text=False, own=False) for child in root)
    svg = svg_element(drawing.name, drawing.title, drawing.alternative, frame, body)
    words = drawing.name, drawing.title, drawing.caption
    return Picture(*words, svg, (frame[2], frame[3]), colours, panel_values(drawing, frame))


def fix_layout(figure: Figure) -> None:
    """Lay it out once and for all: a layout engine would go on moving things a little with every file written."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)  # with "none", each file written would be drawn twice


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
