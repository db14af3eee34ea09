"""Docstrings, which are written to be read as they are, as reStructuredText: nothing in them is markup by accident.

Code is in single backticks, stress in single stars, blocks that are set in are code, tables are those of Markdown, and
lists of `name: text` need no blank line. Sections such as `Args:` are left to napoleon.
"""

import inspect
import re
from typing import Any

_SECTION = re.compile(
    r"(Args|Arguments|Returns|Raises|Yields|Attributes|Examples?|Notes?|References|Warns|Warnings?):$"
)
_ITEM = re.compile(r"[\w*][\w*, ]*: ")
_SPAN = re.compile(r"(``[^`]+``|`[^`]+`)")
_STRESS = re.compile(r"(?<![\w*\\])(\*\*?)(?=[^\s*])([^*`]*[^\s*])\1(?![\w*])")


def to_rst(_app: Any, what: str, _name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Sphinx's event, before napoleon reads the lines."""
    if what in ("data", "attribute") and "\n".join(lines).strip() == (inspect.getdoc(type(value)) or "").strip():
        lines[:] = []  # a dict's or a tuple's own docstring says nothing of this one
    lines[:] = rst_lines(lines)
    if what in ("data", "attribute", "property") and lines:
        lines[0] = f":{lines[0]}"  # napoleon takes what stands before the first colon for a type: nothing


def rst_lines(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    made: list[str] = []
    section = False
    for paragraph in _paragraphs(lines):
        head = paragraph[0]
        if not _indent(head):
            section = bool(_SECTION.match(head))
        made += [*(_in_section(paragraph) if section else _plain(paragraph)), ""]
    return made


def inline(text: str) -> str:
    """Text in which only code and stress are markup."""
    parts = _SPAN.split(text)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = f"``{part.strip('`')}``"
            if parts[number + 1][:1].isalnum():
                parts[number] += "\\ "
            if parts[number - 1][-1:] not in ("", " ", "\n", "(", "[", '"', "'", "-", "/"):
                parts[number] = f"\\ {parts[number]}"
        else:
            parts[number] = _escaped(part)
    return "".join(parts)


def _escaped(text: str) -> str:
    stressed: list[str] = []

    def kept(found: re.Match[str]) -> str:
        stressed.append(found[0])
        return f"\x00{len(stressed) - 1}\x00"

    text = _STRESS.sub(kept, text).replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|").replace("`", "\\`")
    text = re.sub(r"(?<=\w)_(?!\w)", r"\\_", text)
    return re.sub("\x00(\\d+)\x00", lambda found: stressed[int(found[1])], text)


def _paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _in_section(paragraph: list[str]) -> list[str]:
    """Lines of a section keep their places, and doctests are left alone."""
    start = next((n for n, line in enumerate(paragraph) if line.lstrip().startswith(">>>")), len(paragraph))
    return [*inline("\n".join(paragraph[:start])).split("\n"), *paragraph[start:]] if start else paragraph


def _plain(paragraph: list[str]) -> list[str]:
    head, indents = paragraph[0], [_indent(line) for line in paragraph]
    if head.lstrip().startswith(">>>"):
        return paragraph
    if all(line.strip().startswith("|") and line.strip().endswith("|") for line in paragraph):
        return _table(paragraph)
    if re.match(r"\s*[-*] |\s*\d+\. ", head):
        return inline("\n".join(re.sub(r"^(\s*)\* ", r"\1- ", line) for line in paragraph)).split("\n")
    if min(indents) == 0 and all(_ITEM.match(line) for line in paragraph if not _indent(line)) and len(paragraph) > 1:
        items = [f"- {line}" if not _indent(line) else f"  {line.strip()}" for line in paragraph]
        return inline("\n".join(items)).split("\n")
    if min(indents) > 0 or max(indents) > 0 or re.match(r"(from [\w.]+ )?import ", head):
        return [".. code-block:: text", "", *(f"   {line}" for line in paragraph)]
    return inline("\n".join(paragraph)).split("\n")


def _table(paragraph: list[str]) -> list[str]:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in paragraph]
    rows = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    made = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        made += [f"   {'*' if not number else ' '} - {inline(cell)}" for number, cell in enumerate(row)]
    return made
