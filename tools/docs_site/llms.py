"""llms.txt: the site for programs that read, a list of its pages as plain Markdown (llmstxt.org)."""

import re

from tools.docs_site.tree import DOCS, TREE

_MADE = {"api/index": "Python, every public name", "api/command_line": "The command line", "api/http": "HTTP"}


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
            ending = "rst" if name == "api/index" else "md"
            text += f"- [{_MADE.get(name) or _title(name)}](_sources/{name}.{ending}.txt)\n"
    return text


def _title(name: str) -> str:
    found = re.search(r"^# (.+)$", (DOCS / f"{name}.md").read_text("utf-8"), flags=re.M)
    if found is None:
        raise ValueError(f"docs/{name}.md: expected a title, a line that begins with '# ', found none")
    return found[1]


def _docstring_title(script: str) -> str:
    return script.split('"""')[1].strip().splitlines()[0]
