"""Values by name as a small table of HTML, for notebooks; every text is escaped."""

from collections.abc import Mapping, Sequence
from html import escape

from onward.core.shown import brief

_MOST = 20  # rows of a table
_CELL = "padding:0.15em 0.7em;text-align:left"


def html_values(caption: str, values: Mapping[str, object], notes: Sequence[str] = ()) -> str:
    """A table with a row for each name, and notes below it; of many names the first."""
    rows = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(value if isinstance(value, str) else brief(value))}</td></tr>'
        for name, value in list(values.items())[:_MOST]
    )
    more = [f"and {len(values) - _MOST:,} more"] if len(values) > _MOST else []
    said = "".join(f"<p>{escape(note)}</p>" for note in (*more, *notes))
    shown = f'<caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>'
    return f"<table>{shown}<tbody>{rows}</tbody></table>{said}"


def interval_text(lower: float, upper: float) -> str:
    """The two ends, to be read."""
    return f"[{lower:.4g}, {upper:.4g}]"
