"""What can be said of the site without building it; `make docs-check` builds it and looks at it in a browser."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent

import pytest
from markdown_it import MarkdownIt

from tools.docs_check import dead_links
from tools.docs_site.command_line import command_line_page
from tools.docs_site.docstrings import rst_lines, to_rst
from tools.docs_site.llms import REFERENCE_FILE, included_sources, llms_text, reference_text
from tools.docs_site.markdown import site_text
from tools.docs_site.public_names import MODULES, exported, public_names
from tools.docs_site.tree import DOCS, ROOT, TREE
from tools.run_readme import PYTHON, blocks, pages_with_examples, written_pages

SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
MOST_LINES, FEWEST_SCRIPTS = 30, 14


def test_gallery_has_enough_pictures() -> None:
    assert len(SCRIPTS) >= FEWEST_SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_gallery_script_is_short_and_compiles(script: Path) -> None:
    text = script.read_text("utf-8")
    compile(text, str(script), "exec")
    title, line = text.splitlines()[1:3]
    assert len(text.splitlines()) <= MOST_LINES
    assert text.splitlines()[-1] in ("plt.show()", "figure")  # a terminal shows the picture, too; a notebook the figure
    assert set(line) == {"="}, "expected a title that is underlined"
    assert len(line) == len(title)


def test_every_page_is_in_one_toctree() -> None:
    listed = Counter(name for below in TREE.values() for name in below)
    written = {page.relative_to(DOCS).with_suffix("").as_posix() for page in written_pages(DOCS)}
    made = {name for name in listed if name.startswith(("api/", "pictures/"))}
    assert written == (set(listed) - made) | {"index"}
    assert max(listed.values()) == 1


def test_a_page_becomes_that_of_the_site() -> None:
    page = DOCS / "guides" / "page.md"
    text = (
        "# T\n\n[P](../gallery/a1_one_new_row.py)\n\n[own](../own_data.md#a-session), [us](../../CONTRIBUTING.md)\n\n"
        "```python extra=river\nprint(1)  # [x](../own_data.md)\n```\n\n"
        "<!-- beside -->\n**A**\n\n1\n\n**B**\n\n2\n<!-- end -->\n"
    )
    made = site_text(page, text, {8: "1"}, ["own_data"])
    assert "sphx_glr_a1_one_new_row_001.png\n:alt: P" in made
    assert "[own](/own_data.md#a-session), [us](/explanation/contributing.md)" in made
    assert (
        "```python\nprint(1)  # [x](../own_data.md)\n```\n\n````{code-block} text\n:class: printed\n\n1\n````" in made
    )
    assert made.count(":::{grid-item}\n") == 2
    assert "{toctree}" in made


@pytest.mark.parametrize(
    ("docstring", "made"),
    [
        ("`a` less |b|, x* and *c*, coef_.", ["``a`` less \\|b\\|, x\\* and *c*, coef\\_."]),
        ("Args:\n    a: |b|\n        c.", ["Args:", "    a: \\|b\\|", "        c."]),
        ("Like this:\n\n    x = f(*a)", ["Like this:", "", ".. code-block:: text", "", "       x = f(*a)"]),
        ("a: one\nb: two\n    more", ["- a: one", "- b: two", "  more"]),
        ("Example:\n    >>> f(*a) | `b`\n    1", ["Example:", "    >>> f(*a) | `b`", "    1"]),
        (
            "| a | b |\n|---|---|\n| 1 | 2 |",
            [".. list-table::", "   :header-rows: 1", "", "   * - a", "     - b", "   * - 1", "     - 2"],
        ),
    ],
)
def test_docstrings_mean_what_they_say(docstring: str, made: list[str]) -> None:
    assert rst_lines(docstring.split("\n")) == [*made, ""]


def test_what_a_property_says_before_a_colon_is_no_type() -> None:
    said = {}
    for what in ("property", "method"):
        lines = ["The coefficients. Forward shares them: it has one θ for each x."]
        to_rst(None, what, "", None, None, lines)
        said[what] = lines[0]
    assert said["property"] == f":{said['method']}"  # napoleon's type is what stands before the first colon
    assert said["method"].startswith("The coefficients.")


def test_the_command_line_is_told_without_types_of_python() -> None:
    page = command_line_page()
    assert "| `DATA <str>` | CSV or TSV" in page
    assert "| `FIGURE <str>` | figure1, " in page
    assert "onward service replay [OPTIONS] [LOOP]...\n" in page
    assert "must not fall: for `--half-life`." in page  # as code: hyphens in a text become a dash
    assert "list[" not in page


def test_the_reference_has_every_public_name() -> None:
    import onward
    from onward import bandits

    named = {(each.module, each.name) for each in public_names(("onward", "onward.bandits"))}
    assert named == {("onward", name) for name in exported(onward)} | {
        ("onward.bandits", name) for name in exported(bandits)
    }


def test_llms_text_lists_pages_by_title() -> None:
    text = llms_text()
    assert "- [One CSV file](_sources/start/one_csv.md.txt)" in text
    assert text.count("_sources/pictures/") == len(SCRIPTS)
    assert f"- [Python, every public name]({REFERENCE_FILE})" in text


def test_programs_that_read_are_given_what_pages_are_made_of() -> None:
    text = reference_text()
    for each in public_names():
        if each.home == each.module and each.kind in ("class", "function"):
            assert f"\n### {each.path}" in text
    assert "\n### onward.bandits.play(policies, environment, horizon, repeats=1, " in text
    assert "\n#### onward.AutoRegressor.learn_one(x, y, " in text  # which it inherits ...
    forward = text.split("\n### onward.ForwardRegressor(")[1].split("\n### ")[0]
    assert " onward.AutoRegressor.learn_one, " in forward  # ... as others do
    assert included_sources().keys() == {"explanation/changelog", "explanation/contributing"}
    assert included_sources()["explanation/changelog"].startswith("# Changelog\n\nThe format follows")


def test_dead_links_of_a_site_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><a href="b.html#there"></a><a href="c.html"></a><script src="https://e.example/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p><a href="a.html"></a>')
    assert list(dead_links(tmp_path)) == [
        "a.html: loads https://e.example/x.js from elsewhere",
        "a.html: b.html#there has no such place",
        "a.html: c.html leads nowhere",
    ]


def broken_emphasis(text: str) -> Iterator[str]:
    """Stars that were meant as letters, as in θ*, but begin or end emphasis: what stands in it is torn in two."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        inside: list[str] = []
        for each in token.children or ():
            if each.type in ("em_open", "strong_open"):
                inside.append("")
            elif each.type in ("em_close", "strong_close"):
                said = inside.pop()
                if said.count("(") != said.count(")") or said.count("‖") % 2:
                    yield said
            elif each.type == "text" and "**" in each.content:
                yield each.content
            elif inside:
                inside[-1] += each.content


@pytest.mark.parametrize(
    "page", [*sorted(ROOT.glob("*.md")), *written_pages(DOCS)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_no_star_of_a_formula_is_taken_for_emphasis(page: Path) -> None:
    assert list(broken_emphasis(page.read_text("utf-8"))) == []


def test_broken_emphasis_is_found() -> None:
    assert list(broken_emphasis("> **(xᵀθ*)² < (2 + q) σ²**")) == ["(xᵀθ", ")² < (2 + q) σ²"]
    assert list(broken_emphasis("- **At ‖θ*‖ = 1** (twice)")) != []
    assert list(broken_emphasis("**`(xᵀθ*)²` (both)** and θ* and *θ*")) == []


def imported(code: str) -> set[tuple[str, str]]:
    """What Python takes from this library by name: (module, name)."""
    froms = [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.ImportFrom)]
    return {
        (each.module, alias.name)
        for each in froms
        if each.module and each.module.partition(".")[0] == "onward"
        for alias in each.names
    }


def shown_code() -> Iterator[tuple[str, str]]:
    """All Python that readers are shown, and where."""
    for page in pages_with_examples():
        code = "\n".join(dedent(each.code) for each in blocks(page.read_text("utf-8")) if each.language in PYTHON)
        yield page.name, code
    yield from ((script.name, script.read_text("utf-8")) for script in SCRIPTS)
    for source in sorted((ROOT / "src").rglob("*.py")):
        yield (
            source.name,
            "\n".join(re.findall(r">>> (from onward\S* import \w+(?:, \w+)*)$", source.read_text("utf-8"), re.M)),
        )


def test_examples_take_public_names_only() -> None:
    """What an example takes is in the reference, so that a reader can look it up, and it stays."""
    public = {(module, name) for module in MODULES for name in exported(import_module(module))}
    public |= {(module.rpartition(".")[0], module.rpartition(".")[2]) for module in MODULES if "." in module}
    printed = import_module("onward.bounds.as_printed")  # described on its page as a whole
    public |= {(printed.__name__, name) for name in exported(printed)}
    shown = {(*each, where) for where, code in shown_code() for each in imported(code)}
    assert len({each[:2] for each in shown}) > 100
    assert sorted(each for each in shown if each[:2] not in public) == []
