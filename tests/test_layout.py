"""How the house is laid out: things can be found by their names, and the front page stays short."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_README_LINES = 100


def repeated_names(folder: Path) -> list[str]:
    """The names that several modules below a folder have; every package has an `__init__`."""
    counts = Counter(path.name for path in folder.rglob("*.py") if path.name != "__init__.py")
    return sorted(name for name, count in counts.items() if count > 1)


def test_no_two_modules_have_one_name() -> None:
    assert repeated_names(ROOT / "src") == []


def test_a_repeated_name_is_found(tmp_path: Path) -> None:
    for room in ("one", "two"):
        (tmp_path / room).mkdir()
        for name in ("__init__.py", "values.py", f"{room}.py"):
            (tmp_path / room / name).touch()
    assert repeated_names(tmp_path) == ["values.py"]


def test_readme_is_one_to_two_screens() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_README_LINES


def test_every_page_of_docs_is_linked_from_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in text] == []
