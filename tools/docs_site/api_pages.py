"""Pages of the reference, made of the public modules: one for each module, and one for each public name."""

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.docs_site.docstrings import inline
from tools.docs_site.public_names import MODULES, PublicName, public_names

_TITLES = {"class": "Classes", "exception": "Errors", "function": "Functions", "data": "Values", "module": "Modules"}
_DIRECTIVES = {
    "class": "autoclass",
    "exception": "autoexception",
    "function": "autofunction",
    "data": "autodata",
    "module": "automodule",
}


def write_api_pages(folder: Path) -> None:
    """Write `index.rst`, a page for each module and one for each name; pages of names that are gone are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    names = public_names()
    pages = {"index": _index(), **{module: _module_page(module, names) for module in MODULES}}
    pages |= {page_name(name): _name_page(name) for name in names if name.home == name.module}
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        _write(folder / f"{name}.rst", text)


def page_name(name: PublicName) -> str:
    """The file of a name, without ending. Functions that differ from a class by case alone are marked as such."""
    twin = name.name[0].upper() + name.name[1:]
    clash = name.name[0].islower() and hasattr(importlib.import_module(name.home), twin)
    return f"{name.path}-function" if clash else name.path


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text("utf-8") != text:  # what is unchanged is not read again
        path.write_text(text, "utf-8")


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _index() -> str:
    listed = "\n".join(f"   {module}" for module in MODULES)
    rows = "".join(f"   * - :doc:`{module} <{module}>`\n     - {_first_sentence(module)}\n" for module in MODULES)
    return (
        _heading("Python")
        + "What is listed here is public and stays; what is not may change from one version to the next.\n\n"
        + f".. list-table::\n   :widths: 30 70\n\n{rows}\n.. toctree::\n   :hidden:\n\n{listed}\n"
    )


def _first_sentence(module: str) -> str:
    return _summary(importlib.import_module(module))


def _summary(value: Any) -> str:
    """The first sentence of a docstring, in one line."""
    lines = (inspect.getdoc(value) or "").split("\n\n")[0].split()
    text = " ".join(lines)
    head, dot, _ = text.partition(". ")
    return inline(head + dot.strip()) if text else ""


def _module_page(module: str, names: list[PublicName]) -> str:
    text = _heading(module) + f".. automodule:: {module}\n   :no-members:\n\n"
    listed = []
    for kind, title in _TITLES.items():
        chosen = [name for name in names if name.module == module and name.kind == kind]
        if not chosen:
            continue
        text += _heading(title, "-") + ".. list-table::\n   :widths: 35 65\n   :class: api-names\n\n"
        for name in chosen:
            value = getattr(importlib.import_module(module), name.name)
            said = "" if kind == "data" and not _documents_itself(value) else _summary(value)
            text += f"   * - :doc:`{name.name} <{page_name(name)}>`\n     - {said}\n"
            listed += [f"   {page_name(name)}\n"] if name.home == module else []
        text += "\n"
    return text + (f".. toctree::\n   :hidden:\n\n{''.join(listed)}" if listed else "")


def _documents_itself(value: Any) -> bool:
    """Whether a value's docstring is its own, not that of its type."""
    return (inspect.getdoc(value) or "") not in ("", inspect.getdoc(type(value))) and type(value).__module__.startswith(
        "onward"
    )


def _name_page(name: PublicName) -> str:
    text = ":html_theme.sidebar_secondary.remove:\n\n" if name.kind not in ("class", "module") else ""
    text += _heading(name.path.removeprefix("onward.") if name.path.count(".") > 1 else name.name)
    text += f".. currentmodule:: {name.home}\n\n.. {_DIRECTIVES[name.kind]}:: {name.path}\n"
    value = getattr(importlib.import_module(name.home), name.name)
    if name.kind in ("class", "exception"):
        members = ", ".join(_own_members(value))
        text += f"   :members: {members}\n" if members else "   :no-members:\n"
        text += "   :show-inheritance:\n   :member-order: bysource\n"
    if name.kind == "module":
        text += "   :members:\n"
    if name.kind == "data":
        text += "   :no-value:\n" if len(repr(value)) > 400 else ""
    return text + f"\n.. minigallery:: {name.path}\n   :add-heading: In pictures\n   :heading-level: -\n"


def _own_members(cls: type) -> Iterator[str]:
    """Public members that a class has from this package; those of bases elsewhere are described there."""
    seen = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("onward"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen or re.fullmatch(r"set_\w+_request", name):  # scikit-learn's
                continue
            seen.add(name)
            if inspect.getdoc(value) and (
                inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod)
            ):
                yield name
