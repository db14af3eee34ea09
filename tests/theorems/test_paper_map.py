"""docs/paper_map.md against the code: no tag without a row, no row that names what is not there."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from onward import bounds
from onward.bounds import as_printed

ROOT = Path(__file__).parents[2]
TAG = re.compile(r"\b(Thm|Lem|Cor|Eq|Alg|App|Sec|Fig)\.? ([A-Z]\.\d+|[A-Z]|\d+(?:\.\d+)*)\b")
SOURCE = re.compile(
    r"\b([A-Z]\w+ (?:and [A-Z]\w+|et al\.) \d{4}, [a-z ]+)$"
)  # what is not the paper's: who, when, what
NOT_YET = "not built yet"


def table() -> list[list[str]]:
    lines = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] not in ("paper", "source")]


def tags(text: str) -> set[str]:
    """The tags in square brackets: `[Alg. 2; for lam=0, App. E]` has `Alg 2` and `App E`."""
    brackets = re.findall(r"\[([^\[\]]*)\]", text)
    own = {f"{kind} {number}" for bracket in brackets for kind, number in TAG.findall(bracket)}
    return own | {source for bracket in brackets for source in SOURCE.findall(bracket)}


def docstrings() -> dict[str, str]:
    found = {}
    for path in sorted((ROOT / "src" / "onward").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                name = "" if isinstance(node, ast.Module) else node.name
                found[f"{path.relative_to(ROOT)}:{name}"] = ast.get_docstring(node) or ""
    return found


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_every_tag_has_a_row() -> None:
    ids = {row[0] for row in table()}
    assert len(ids) == len(table())
    used = {tag: where for where, text in docstrings().items() for tag in tags(text)}
    assert {tag: where for tag, where in used.items() if tag not in ids} == {}
    assert {"Alg 1", "Alg 2", "App E", "Thm 3.3", "Cor 2.3.1", "Lem C.2", "Eq 14"} <= set(used)


def test_tags_are_read() -> None:
    assert tags("Says.  [Alg. 2; for lam=0, App. E]") == {"Alg 2", "App E"}
    assert tags("[Lem C.2] [Lem D.1] [Cor 2.3.1] [Eq 14] [Sec 4] [App B]") == {
        "Lem C.2",
        "Lem D.1",
        "Cor 2.3.1",
        "Eq 14",
        "Sec 4",
        "App B",
    }
    assert tags("clipped to [−Y, Y], a Thm 3.3 outside brackets") == set()
    assert tags("Says.  [Jacobsen and Cutkosky 2024, hints]") == {"Jacobsen and Cutkosky 2024, hints"}
    assert tags("as Cheung et al. 2019 have it, [or Cheung et al. 2019]") == set()


@pytest.mark.parametrize("row", table(), ids=lambda row: row[0])
def test_row_names_what_is_there(row: list[str]) -> None:
    _, what, functions, tests = row
    assert what
    for cell in re.split(r"[,;] (?=`)", functions):
        for name in re.findall(r"`([^`]+)`", cell):
            # What is marked must not be there yet, so that the mark goes when it comes.
            assert resolves(name) == (NOT_YET not in cell), name
    assert re.search("`|no function", functions)
    for name in re.findall(r"`([^`]+)`", tests):
        path, _, function = name.partition("::")
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), name
    assert "`" in tests or tests in (NOT_YET, "none")


def test_every_bound_is_in_the_map_and_says_its_tag() -> None:
    named = set(re.findall(r"`(onward[^`]+)`", " ".join(row[2] for row in table())))
    texts = {where.rpartition(":")[2]: text for where, text in docstrings().items() if "/bounds/" in where}
    rows = {name: row[0] for row in table() for name in re.findall(r"`([^`]+)`", row[2])}
    whose = re.compile(r"\(.*[A-Z]\w+.* (19|20)\d\d\)")
    elsewhere = {name for name in bounds.__all__ if whose.search(texts.get(name, "").partition("\n")[0])}
    assert elsewhere == {"conformal_misses"}  # what is not from the paper says whose it is
    own = [name for name in bounds.__all__ if name not in {"as_printed", *elsewhere}]
    for module, names in ((bounds, own), (as_printed, as_printed.__all__)):
        for name in names:
            assert f"{module.__name__}.{name}" in named
            assert rows[f"{module.__name__}.{name}"]
            if name[0].islower() and not name.startswith("smallest_"):
                assert tags(texts[name].splitlines()[0]), name
