"""The parts that pages are made of, as HTML: figures, tables, and names with their values."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from onward.pages.drawing import Drawing
from onward.pages.inline import Picture
from onward.pages.numbers import number
from onward.pages.readings import readings

_LEGIBLE = 0.9  # CSS pixels a point: a narrower screen scrolls the figure instead of shrinking it further
_LARGEST = 1.6


def figure(drawing: Drawing, drawn: Picture) -> str:
    """A drawing with its title and caption, from which values can be read off."""
    _, _, width, height = drawn.frame
    data = json.dumps(readings(drawing, drawn.frame), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = data.replace("<", "\\u003c")  # nothing in it can end the element that it is in
    hint = "Point at the figure, touch it, or focus it and use the arrow keys, to read values off."
    hint = f'<p class="hint">{hint}<span> It scrolls sideways.</span></p>'
    return (
        f'<figure id="drawing-{drawing.name}"><h3>{escape(drawing.title)}</h3><div class="scroller">'
        f'<div class="canvas" style="aspect-ratio:{width:.2f}/{height:.2f};min-width:{_LEGIBLE * width:.0f}px;'
        f'max-width:{_LARGEST * width:.0f}px">{drawn.svg}</div></div>'
        f'<script type="application/json" class="readings">{data}</script>'
        f"<figcaption>{escape(drawing.caption)}</figcaption>{hint if drawing.panels else ''}</figure>"
    )


def pairs(values: Mapping[str, str]) -> str:
    """Names with their values, side by side as far as there is room."""
    inside = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in values.items())
    return f'<dl class="pairs">{inside}</dl>'


def values(values: Mapping[str, Any]) -> str:
    """Settings or numbers as a table, what is nested one row for each value."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in _flat(values)
    )
    return f'<div class="scroller"><table class="values"><tbody>{rows}</tbody></table></div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], marked: Collection[tuple[int, int]] = ()) -> str:
    """A table whose first column names the rows; the others are numbers. `marked` (row, column) cells stand out."""
    heading = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    written = []
    for row, (name, *cells) in enumerate(rows):
        shown = (
            f"<td><strong>{escape(cell)}</strong></td>" if (row, place) in marked else f"<td>{escape(cell)}</td>"
            for place, cell in enumerate(cells, start=1)
        )
        written.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(shown)}</tr>')
    return (
        '<div class="scroller" tabindex="0"><table class="numbers">'
        f"<thead><tr>{heading}</tr></thead><tbody>{''.join(written)}</tbody></table></div>"
    )


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        name = f"{above}{str(key).replace('_', ' ')}"
        if isinstance(value, Mapping) and {"value", "lower", "upper"} <= set(value):
            repeats = f", {number(value['repeats'])} repeats" if "repeats" in value else ""
            interval = f"[{number(value['lower'])}, {number(value['upper'])}]"
            yield name, f"{number(value['value'])} {interval}{repeats}"
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{name} › ")
        elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            yield from _flat({str(place): each for place, each in enumerate(value, start=1)}, f"{name} › ")
        else:
            yield name, number(value)


def check_names(kinds: Mapping[str, Sequence[str]]) -> None:
    """Names become ids on the page and names of files: plain, and unique among their kind."""
    for kind, names in kinds.items():
        for name, count in Counter(names).items():
            if not re.fullmatch(r"[A-Za-z][\w.-]*", name, flags=re.ASCII):
                raise ValueError(
                    f"the name of a {kind} begins with a letter and has only letters, digits, _, - and ., got {name!r}"
                )
            if count > 1:
                raise ValueError(f"every {kind} needs a name of its own, got {name!r} {count} times")
