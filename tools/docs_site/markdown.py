"""What becomes of a Markdown page when the site reads it.

Pages are plain Markdown, so that they read well on a code host. On the way into the site links to files become links to
pages, a link to a gallery script that stands alone becomes the picture, examples get what they print, and two kinds of
remarks that a code host does not show are heeded:

    <!-- beside --> … <!-- end -->     blocks of code stand beside each other, each with the line above it
    <!-- cards --> … <!-- end -->      a list of links becomes a grid of cards
    <!-- include: PATH -->             the page is the file
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

from tools.docs_site.tree import DOCS, OUTSIDE, ROOT
from tools.run_readme import FENCE

_LINK = re.compile(r"(?<!\!)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_PICTURE = re.compile(r"^\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]*gallery/(?P<name>\w+)\.py)\)$", re.M)
_CARD = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)]+)\):? ?(?P<text>.*(?:\n  .*)*)", re.M)
_INCLUDE = re.compile(r"<!-- include: (?P<path>\S+) -->")


def site_text(page: Path, text: str, outputs: dict[int, str], below: list[str]) -> str:
    """The text of a page as the site reads it."""
    folder = page.parent
    if source := included_file(page):
        text, folder, outputs = source.read_text("utf-8"), source.parent, {}
    text = _with_outputs(text, outputs)
    text = _outside_fences(text, lambda part: _with_links(_with_pictures(part), folder))
    text = _marked(text, "beside", _beside)
    text = _marked(text, "cards", _cards)
    if below:
        listed = "\n".join(f"/{name}" for name in below)
        text += f"\n\n```{{toctree}}\n:hidden:\n:maxdepth: 2\n\n{listed}\n```\n"
    return text


def included_file(page: Path) -> Path | None:
    """The file that a page is, if it is another one."""
    included = _INCLUDE.search(page.read_text("utf-8")) if page.exists() else None
    return (page.parent / included["path"]).resolve() if included else None


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Change what stands outside of fenced blocks."""
    parts: list[str] = []
    plain: list[str] = []
    ticks = ""
    for line in text.splitlines(keepends=True):
        fence = FENCE.match(line.rstrip("\n"))
        if ticks:
            parts.append(line)
            if fence and not fence["info"].strip() and fence["ticks"].startswith(ticks):
                ticks = ""
        elif fence:
            parts.append(change("".join(plain)))
            plain, ticks = [], fence["ticks"]
            parts.append(line)
        else:
            plain.append(line)
    return "".join([*parts, change("".join(plain))])


def _with_links(text: str, folder: Path) -> str:
    def changed(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        if not target or "://" in target or target.startswith(("/", "mailto:")):
            return found[0]
        path = Path(os.path.normpath(folder / target))
        if path == DOCS / "gallery":
            return "](/pictures/index.rst)"
        if path.parent == DOCS / "gallery" and path.suffix == ".py":
            return f"](/pictures/{path.stem}.rst)"
        if path.is_relative_to(ROOT) and (name := path.relative_to(ROOT).as_posix()) in OUTSIDE:
            return f"](/{OUTSIDE[name]}.md{anchor})"
        if path.is_relative_to(DOCS) and path.exists():
            return f"](/{path.relative_to(DOCS).as_posix()}{anchor})"
        return found[0]

    return _LINK.sub(changed, text)


def _with_pictures(text: str) -> str:
    return _PICTURE.sub(
        lambda found: (
            f"````{{figure}} /pictures/images/sphx_glr_{found['name']}_001.png\n"
            f":alt: {found['text']}\n:class: picture\n\n"
            f"[{found['text']}](/pictures/{found['name']}.rst)\n````"
        ),
        text,
    )


def _with_outputs(text: str, outputs: dict[int, str]) -> str:
    """Put what a block printed after it; what follows the language of a fence is for those who run it."""
    lines, ticks, start = [], "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if not ticks and fence:
            ticks, start = fence["ticks"], number + 1
            language = (fence["info"].split() or [""])[0]
            line = f"{ticks}{language}" if language in ("python", "py3") else line
        elif ticks and fence and not fence["info"].strip() and fence["ticks"].startswith(ticks):
            ticks = ""
            if outputs.get(start):
                lines += [line, "", "````{code-block} text", ":class: printed", "", outputs[start], "````"]
                continue
        lines.append(line)
    return "\n".join(lines) + "\n"


def _marked(text: str, mark: str, change: Callable[[str], str]) -> str:
    return re.sub(rf"<!-- {mark} -->\n(.*?)<!-- end -->\n?", lambda found: change(found[1]), text, flags=re.S)


def _beside(text: str) -> str:
    """A grid of two columns. A line in bold begins a column."""
    columns = [part for part in re.split(r"^(?=\*\*)", text, flags=re.M) if part.strip()]
    items = "".join(f":::{{grid-item}}\n\n{column.strip()}\n\n:::\n" for column in columns)
    return f"\n::::{{grid}} 1 1 1 2\n:gutter: 3\n:class-container: beside\n\n{items}::::\n"


def _cards(text: str) -> str:
    items = ""
    for card in _CARD.finditer(text):
        name, said = card["target"].removesuffix(".md").removesuffix(".rst").lstrip("/"), " ".join(card["text"].split())
        items += f":::{{grid-item-card}} {card['title']}\n:link: /{name}\n:link-type: doc\n\n{said}\n:::\n"
    return f"\n::::{{grid}} 1 1 2 3\n:gutter: 3\n\n{items}::::\n"
