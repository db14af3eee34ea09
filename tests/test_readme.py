"""Python examples of the README and of docs/ are run, and their shell lines checked as far as names can be."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools.docs_site.tree import TREE
from tools.run_readme import blocks, pages_with_examples, written_pages

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *written_pages(DOCS)]
WITH_EXAMPLES = {
    "README",
    "ab_tests",
    "bandits",
    "guarantees",
    "index",
    "learners",
    "logs",
    "own_data",
    "own_policy",
    "scaling",
    "service",
}
SHORT = [page for page in pages_with_examples() if page.parent.parent == DOCS]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
COMMANDS = {"cd", "git", "python", "python3", "curl", "docker", "sudo", *PROJECT.get("scripts", {})}


def run_readme(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "run_readme.py"), str(path), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def joined_quotes(lines: list[str]) -> list[str]:
    """Lines of a shell, those of one quoted text as one."""
    whole: list[str] = []
    is_open = False
    for line in lines:
        whole[len(whole) :] = [line] if not is_open else [f"{whole.pop()} {line}"]
        is_open = not whole[-1].lstrip().startswith("#") and whole[-1].count("'") % 2 == 1
    return whole


def shell_lines(markdown: str) -> list[str]:
    """The commands of the shell blocks; in a console block those after the prompt."""
    found: list[str] = []
    for block in blocks(markdown):
        lines = block.code.replace("\\\n", " ").splitlines()
        if block.language in {"sh", "bash", "shell"}:
            found += [line for line in joined_quotes(lines) if line.strip() and not line.lstrip().startswith("#")]
        elif block.language == "console":
            found += [line[2:] for line in lines if line.startswith("$ ")]
    return found


def complaint(line: str) -> str | None:
    """Why a shell line of a page could not work, or None."""
    words = shlex.split(line, comments=True)
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    if "|" in words:  # what is piped into a command of ours
        words = words[words.index("|") + 1 :]
    match words:
        case ["make", *targets]:
            unknown = {word for word in targets if "=" not in word} - TARGETS
            return f"no such make target: {', '.join(sorted(unknown))}" if unknown else None
        case ["pip", "install", *wanted]:
            named = ",".join(re.findall(r"\[(.*?)\]", " ".join(wanted)))
            unknown = set(named.split(",")) - {""} - set(PROJECT["optional-dependencies"])
            return f"no such extra: {', '.join(sorted(unknown))}" if unknown else None
        case [command, *_] if command in COMMANDS:
            return None
    return "not a command we recognise"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix()


def test_pages_with_examples_are_found() -> None:
    found = set(pages_with_examples()) - set(SHORT)
    assert {page.stem for page in found} == WITH_EXAMPLES
    assert {page.parent.name for page in SHORT} == {"start", "guides", "explanation", "reference", "coming_from"}


@pytest.mark.parametrize("page", [page for page in pages_with_examples() if page not in SHORT], ids=name_of)
def test_python_examples_run(page: Path) -> None:
    result = run_readme(page, "--require-extras")
    assert result.returncode == 0, result.stdout + result.stderr


def test_python_examples_of_short_pages_run() -> None:
    """In one process, as most of their time is that of starting; what needs another library is run by `make docs`."""
    command = [sys.executable, str(ROOT / "tools" / "run_readme.py"), *map(str, SHORT)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_shell_lines_are_known(page: Path) -> None:
    complaints = {line: complaint(line) for line in shell_lines(page.read_text(encoding="utf-8"))}
    assert {line: why for line, why in complaints.items() if why} == {}


def anchors(page: Path) -> set[str]:
    """The places in a page that can be linked to: its headings, as code hosts name them."""
    text, found = page.read_text(encoding="utf-8"), set()
    for block in blocks(text):
        text = text.replace(block.code, "") if block.code else text
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.M):
        found.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return found


def dead_links(page: Path) -> list[str]:
    """Links of a page to files, or to places in pages, that are not there. Pages of docs/api are made by the build."""
    made = {DOCS / name for below in TREE.values() for name in below if name.startswith("api/")}
    dead = []
    for link, place in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        target = (page.parent / link).resolve() if link else page
        if target.with_suffix("") in made:
            continue
        if not target.exists() or (place and target.suffix == ".md" and place not in anchors(target)):
            dead.append(f"{link}#{place}" if place else link)
    return dead


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One thing: `a`\n\n[a](#one-thing-a) [b](page.md#two) [c](none.md) [d](page.md) [e](https://e.example)\n"
    )
    assert dead_links(page) == ["page.md#two", "none.md"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("make test", None),
        ("make PYTHON=python3.12 lint types  # both", None),
        ("OMP_NUM_THREADS=1 make bench", None),
        ("make tests", "no such make target: tests"),
        ('pip install "onward[river,dev]"', None),
        ("pip install -e .[rivers]", "no such extra: rivers"),
        ("frobnicate now", "not a command we recognise"),
    ],
)
def test_shell_line_check_can_fail(line: str, why: str | None) -> None:
    assert complaint(line) == why


def test_shell_lines_are_found() -> None:
    sh = "```sh\n# a comment\nmake test\n```\n"
    console = "```console\n$ make lint\nAll fine\n```\n"
    python = "```python\nmake = 1\n```\n"
    assert shell_lines(sh + console + python) == ["make test", "make lint"]


def test_failing_example_is_named_by_its_line(tmp_path: Path) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\ntext\n\n```python\nprint('so far')\nassert x == 2\n```\n")
    result = run_readme(page)
    assert result.returncode != 0
    assert "so far" in result.stdout
    assert "PAGE.md:10:" in result.stderr
    assert "line 11" in result.stderr  # the traceback points into the page
    assert "AssertionError" in result.stderr


def test_leaving_early_is_a_failure(tmp_path: Path) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text("```python\nraise SystemExit(0)\n```\n")
    assert run_readme(page).returncode != 0


def test_examples_share_a_namespace_and_leave_no_files(tmp_path: Path) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text("```python\nx = 40\nopen('left.txt', 'w').close()\n```\n\n```python\nprint(x + 2)\n```\n")
    result = run_readme(page)
    assert result.returncode == 0, result.stderr
    assert "\n42\n" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["PAGE.md"]


def test_each_page_has_a_namespace_and_a_folder_of_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "one.md", tmp_path / "two.md"
    one.write_text("```python\nx = 1\nopen('left.txt', 'w').close()\n```\n")
    two.write_text("```python\nimport os\nassert 'x' not in globals()\nassert os.listdir() == []\n```\n")
    bad = tmp_path / "bad.md"
    bad.write_text("```python\n1 / 0\n```\n")
    command = [sys.executable, str(ROOT / "tools" / "run_readme.py")]
    assert subprocess.run([*command, str(one), str(two)], capture_output=True, check=False).returncode == 0
    assert subprocess.run([*command, str(bad), str(one)], capture_output=True, check=False).returncode == 1


def test_missing_extra_is_skipped_unless_required(tmp_path: Path) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text("```python extra=no_such_module\n1 / 0\n```\n\n```python extra=json\nprint('ran')\n```\n")
    result = run_readme(page)
    assert result.returncode == 0, result.stderr
    assert "skipped: no_such_module not installed" in result.stdout
    assert "\nran\n" in result.stdout
    required = run_readme(page, "--require-extras")
    assert required.returncode != 0
    assert "PAGE.md:2: needs no_such_module" in required.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no examples here\n", "no Python examples found"),
        ("```python\nx = 1\n", "line 1: this fence is never closed"),
        ("```python skip\nx = 1\n```\n", "line 1: expected extra=MODULE after python, got 'skip'"),
    ],
)
def test_what_cannot_be_run_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text(text)
    result = run_readme(page)
    assert result.returncode != 0
    assert message in result.stderr
