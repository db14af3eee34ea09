"""A whole page in one file: style, script and the colours of its figures around a body.

The page asks nobody for anything. The same body gives the same bytes.
"""

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template

from onward.pages.inline import DARK, LIGHT, Picture, Theme, declarations


def page(title: str, description: str, body: str, pictures: Iterable[Picture] = (), style: str = "") -> str:
    """The page's text.

    Args:
        title: of the window, as plain text.
        description: what the page is, in a sentence, for those who list it.
        body: HTML.
        pictures: those in the body, for their colours.
        style: rules of this page's own, after those of all pages.
    """
    return Template(_resource("page.html")).substitute(
        title=escape(title),
        description=escape(description),
        style=_colours(pictures) + _resource("page.css") + style,
        body=body.strip(),
        script=_resource("page.js"),
    )


def _colours(pictures: Iterable[Picture]) -> str:
    """The colours of both themes, one rule a theme. Paper is always light."""
    needed: dict[str, float] = {}
    for each in pictures:
        for colour, least in each.colours.items():
            needed[colour] = max(least, needed.get(colour, 0.0))

    def theme(colours: Theme) -> str:
        return f":root{{--paper:{colours.paper};--ink:{colours.ink};{declarations(needed, colours)}}}"

    return f"{theme(LIGHT)}@media screen and (prefers-color-scheme:dark){{{theme(DARK)}}}\n"


def _resource(name: str) -> str:
    return files("onward.pages").joinpath(name).read_text(encoding="utf-8")
