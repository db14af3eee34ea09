"""llms.txt: the site for programs that read, a list of its pages as plain Markdown (llmstxt.org).

The sources that a site keeps say nothing where a page is made of something else: so the reference of Python is
written as one text beside them, and the source of a page that is another file is that file.
"""

import importlib
import inspect
import re
from typing import Any

from tools.docs_site.markdown import included_file
from tools.docs_site.public_names import MODULES, public_names
from tools.docs_site.tree import DOCS, TREE

REFERENCE_FILE = "llms-reference.txt"
_MADE = {"api/command_line": "The command line", "api/http": "HTTP"}


def llms_text() -> str:
    """The file. Links are relative to the root of the site, to the sources that it keeps."""
    text = (
        "# Onward\n\n> Online linear regression and linear bandits in Python: predict or decide now, learn from the "
        "answer later, with guarantees that hold at every round.\n\n"
        "The Python examples on these pages are run by the tests; those that need another library, where it is "
        "installed.\n"
    )
    for section in TREE["index"]:
        if section == "pictures/index":
            scripts = sorted((DOCS / "gallery").glob("*.py"))
            pages = [
                (script.stem, _docstring_title(script.read_text("utf-8")), f"pictures/{script.stem}.rst")
                for script in scripts
            ]
            text += "\n## Gallery\n\n" + "".join(f"- [{title}](_sources/{path}.txt)\n" for _, title, path in pages)
            continue
        text += f"\n## {_title(section)}\n\n"
        for name in [section, *TREE.get(section, [])]:
            if name == "api/index":
                text += f"- [Python, every public name]({REFERENCE_FILE})\n"
            else:
                text += f"- [{_MADE.get(name) or _title(name)}](_sources/{name}.md.txt)\n"
    return text


def reference_text() -> str:
    """Every public name with its signature and docstring, as Markdown."""
    names, homes = public_names(), dict[Any, str]()
    text = "# Onward: every public name\n"
    for path in MODULES:
        text += f"\n## {path}\n\n{inspect.getdoc(importlib.import_module(path))}\n"
        for name in names:
            if name.module == name.home == path and name.kind not in ("data", "module"):
                text += _described(name.path, getattr(importlib.import_module(path), name.name), homes)
    return text


def _described(path: str, value: Any, homes: dict[Any, str]) -> str:
    text, shared = f"\n### {path}{_signature(value)}\n\n{inspect.getdoc(value)}\n", list[str]()
    for name in dir(value) if inspect.isclass(value) else ():
        inside = inspect.getattr_static(value, name)
        function = getattr(inside, "__func__", inside)
        if name.startswith("_") or not inspect.isfunction(function) or not function.__module__.startswith("onward."):
            continue
        if function in homes:  # what several classes share is described once
            shared.append(homes[function])
        elif function.__doc__:
            homes[function] = f"{path}.{name}"
            text += f"\n#### {path}.{name}{_signature(function)}\n\n{inspect.getdoc(function)}\n"
    return text + (f"\nIt has as well, as described there: {', '.join(shared)}.\n" if shared else "")


def _signature(value: Any) -> str:
    """Names and defaults; types are on the page."""
    try:
        signature = inspect.signature(value)
    except ValueError:  # exceptions
        return ""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(inspect.Signature(bare)).replace("(self, ", "(").replace("(self)", "()")


def included_sources() -> dict[str, str]:
    """The pages that are another file, and its text."""
    return {
        name: found.read_text("utf-8")
        for below in TREE.values()
        for name in below
        if (page := DOCS / f"{name}.md").exists() and (found := included_file(page)) is not None
    }


def _title(name: str) -> str:
    found = re.search(r"^# (.+)$", (DOCS / f"{name}.md").read_text("utf-8"), flags=re.M)
    if found is None:
        raise ValueError(f"docs/{name}.md: expected a title, a line that begins with '# ', found none")
    return found[1]


def _docstring_title(script: str) -> str:
    return script.split('"""')[1].strip().splitlines()[0]
