"""What a release is checked with: one version everywhere, a line for each command, a terminal that is read."""

import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import typer

from onward.cli import app
from tools import new_user, release_check, smoke_lines

ROOT = Path(__file__).parents[1]


def _commands(command: object, path: tuple[str, ...] = ()) -> list[str]:
    below = getattr(command, "commands", None)
    if below is None:
        return [" ".join(path)]
    return [name for key, value in below.items() for name in _commands(value, (*path, key))]


def test_changelog_and_citation_have_the_version_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## [")]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert headings[0] == "## [Unreleased]"
    assert headings[1].startswith(f"## [{version}] - ")


def test_every_command_is_tried_by_a_line_of_the_release_check() -> None:
    known = _commands(typer.main.get_command(app))
    assert "service tokens add" in known
    assert smoke_lines.commands_without_line(known) == []
    assert smoke_lines.commands_without_line([*known, "dance"]) == ["dance"]


def test_shell_lines_of_a_page_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\n# why\none \\\n  two\n\nthree\n```\n```python\nfour\n```\n", encoding="utf-8")
    assert [line.split() for line in release_check.shell_lines(page)] == [["one", "two"], ["three"]]


def test_files_that_a_wheel_lacks_are_named(tmp_path: Path) -> None:
    (tmp_path / "onward" / "pages").mkdir(parents=True)
    for name in ("__init__.py", "pages/page.html"):
        (tmp_path / "onward" / name).touch()
    wheel = tmp_path / "one.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("onward/__init__.py", "")
    with pytest.raises(
        smoke_lines.FailedError, match=r"not in the wheel: \['onward/pages/page.html'\]; in it alone: \[\]"
    ):
        release_check.check_wheel_files(wheel, tmp_path)


def test_a_step_at_a_terminal_tells_of_compiling(tmp_path: Path) -> None:
    code = f"import sys; print(sys.stdout.isatty(), {new_user.TOLD!r})"
    step = new_user.at_terminal("one", [sys.executable, "-c", code], tmp_path, {})
    assert step.said == f"True {new_user.TOLD}\n"
    assert step.told_after is not None
    assert new_user.at_terminal("two", [sys.executable, "-c", "print(1)"], tmp_path, {}).told_after is None
