"""A whole page in one file: style, script and figures, from a template of the package.

Templates escape what they are given. The page asks nobody for anything; the same values give the same bytes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from onward.pages.numbers import flatten_values, format_duration
from onward.pages.picture import Picture
from onward.pages.theme import DARK, LIGHT, Theme, colour_declarations

_LOADER = PackageLoader("onward", ".")  # templates are named by room: "pages/page.html"
TEMPLATES = Environment(loader=_LOADER, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
TEMPLATES.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}


def render_page(template: str, title: str, description: str, pictures: Sequence[Picture] = (), **values: Any) -> str:
    """The page's text.

    Args:
        template: its file in the package, which extends "pages/page.html", such as "experiments/report.html".
        title: of the window.
        description: what the page is, in a sentence, for those who list it.
        pictures: all that are on the page; the template finds them by name.
        **values: whatever else the template asks for.
    """
    check_names("drawing", [picture.name for picture in pictures])
    by_name = {picture.name: picture for picture in pictures}
    return TEMPLATES.get_template(template).render(title=title, description=description, pictures=by_name, **values)


def check_names(kind: str, names: Iterable[str]) -> None:
    """Names become ids on the page and names of files: plain, and unique among their kind."""
    for name, count in Counter(names).items():
        if not re.fullmatch(r"[A-Za-z][\w.-]*", name, flags=re.ASCII):
            raise ValueError(
                f"the name of a {kind} begins with a letter and has only letters, digits, _, - and ., got {name!r}"
            )
        if count > 1:
            raise ValueError(f"every {kind} needs a name of its own, got {name!r} {count} times")


def _file_text(name: str) -> Markup:
    """A file of the package, as it is."""
    return Markup(_LOADER.get_source(TEMPLATES, name)[0])


def _colour_rules(pictures: Mapping[str, Picture]) -> Markup:
    """The colours of both themes, one rule a theme. Paper is always light."""
    needed: dict[str, float] = {}
    for picture in pictures.values():
        for colour, least in picture.colours.items():
            needed[colour] = max(least, needed.get(colour, 0.0))

    def rule(theme: Theme) -> str:
        return f":root{{--paper:{theme.paper};--ink:{theme.ink};{colour_declarations(needed, theme)}}}"

    return Markup(f"{rule(LIGHT)}@media screen and (prefers-color-scheme:dark){{{rule(DARK)}}}")


TEMPLATES.globals |= {"file_text": _file_text, "colour_rules": _colour_rules}
TEMPLATES.filters |= {"duration": format_duration, "flat": flatten_values}
