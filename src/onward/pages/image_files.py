"""Drawings as files of their own, without dates: the same drawing gives the same bytes."""

import io
from typing import Literal

import matplotlib as mpl

from onward.pages.drawing import Drawing
from onward.pages.inline import fix_layout

Kind = Literal["png", "svg", "pdf"]

UNDATED: dict[Kind, dict[str, str | None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""The kinds of files there are, with what leaves the date out of each."""


def render_image(drawing: Drawing, kind: Kind) -> bytes:
    """What a file of that kind holds."""
    fix_layout(drawing.figure)
    file = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": drawing.name, "svg.fonttype": "path"}):
        drawing.figure.savefig(file, format=kind, dpi=160, metadata=UNDATED[kind], bbox_inches="tight")
    return file.getvalue()
