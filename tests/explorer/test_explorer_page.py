"""The explorer's file and its command, without a browser."""

import re
import webbrowser
from pathlib import Path

import pytest

from onward.explorer import explorer_page
from onward.explorer.explorer_page import SCRIPTS, TABS
from tests.cli.conftest import Run
from tests.pages.reader import Page

ROOM = Path(__file__).parents[2] / "src" / "onward" / "explorer"


def test_the_page_is_whole_in_itself() -> None:
    text = explorer_page()
    read = Page(text)
    assert len(set(read.values("id"))) == len(read.values("id"))
    assert read.values("src") == []
    assert read.values("href") == ["data:,"]
    assert "default-src 'none'" in text
    assert "connect-src" not in text
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) == []
    assert (
        re.findall(r"innerHTML|\bfetch\(|XMLHttpRequest|\bimport\(|@import|url\(", text.replace("url(#${id})", ""))
        == []
    )
    assert set(read.values("aria-controls")) == {f"panel-{name}" for name, _, _ in TABS}
    assert text == explorer_page()


def test_every_script_is_on_the_page_once() -> None:
    assert sorted(SCRIPTS) == sorted(path.name for path in ROOM.glob("*.js"))
    text = explorer_page()
    assert [text.count((ROOM / name).read_text(encoding="utf-8").strip()) for name in SCRIPTS] == [1] * len(SCRIPTS)


def test_the_command_writes_the_page_and_opens_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_once(url: str) -> bool:
        opened.append(url)
        return len(opened) == 1

    monkeypatch.setattr(webbrowser, "open", open_once)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "page.html"
    assert run("explore", "--out", path, "--no-browser") == (0, f"{path}\n", "")
    assert path.read_text(encoding="utf-8") == explorer_page()
    assert opened == []
    code, out, _ = run("explore")
    assert code == 0
    assert Path(out.strip()).read_text(encoding="utf-8") == explorer_page()
    assert opened == [Path(out.strip()).resolve().as_uri()]
    code, out, _ = run("explore")
    assert code == 0
    assert "no browser was found" in out
    code, _, error = run("explore", "--out", tmp_path / "nowhere" / "page.html", "--no-browser")
    assert code == 1
    assert "nowhere does not exist" in error
