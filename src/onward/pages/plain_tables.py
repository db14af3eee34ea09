"""Small tables as text for terminals and as HTML for notebooks; the first column names the rows."""

from collections.abc import Sequence
from html import escape
from unicodedata import combining, east_asian_width

from onward.core.shown import printable

_LONGEST = 48  # letters of a cell
_CELL = "padding:0.15em 0.7em;"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns with two spaces between them: names to the left, numbers to the right."""
    lines = [[_one_line(cell) for cell in row] for row in (head, *rows)]
    widths = [max(_width(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join(
        "  ".join(
            _padded(cell, width, left=place == 0) for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def html_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with its caption; every text is escaped."""
    heading = "".join(
        f'<th scope="col" style="{_CELL}text-align:{_side(place)}">{escape(each)}</th>'
        for place, each in enumerate(head)
    )
    written = "".join(
        f'<tr><th scope="row" style="{_CELL}text-align:left">{escape(name)}</th>'
        + "".join(f'<td style="{_CELL}text-align:right">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    shown = f'<caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>' if caption else ""
    return f"<table>{shown}<thead><tr>{heading}</tr></thead><tbody>{written}</tbody></table>"


def html_paragraphs(texts: Sequence[str]) -> str:
    """Texts below each other; every one is escaped."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _side(place: int) -> str:
    return "left" if place == 0 else "right"


def _one_line(text: str) -> str:
    """Names come from data: no line breaks, not too long, nothing that a terminal would obey."""
    shown = printable(" ".join(text.split()))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def _padded(text: str, width: int, *, left: bool) -> str:
    space = " " * (width - _width(text))
    return text + space if left else space + text
