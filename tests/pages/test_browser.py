"""The browser of the tests: it sees what goes wrong, and is installed once or said to be missing."""

import subprocess
from pathlib import Path

import pytest

from tests.pages.browser import Browser, NoBrowserError, installed
from tests.pages.looking import DESK, show

pytestmark = pytest.mark.xdist_group("browser")


def test_errors_and_requests_would_be_seen(window: Browser, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(
        "<!doctype html><title>x</title><p style='width:2000px'>x</p><img src='http://127.0.0.1:9/x.png'>"
        "<script>missing()</script>"
    )
    window.requests(), window.messages()
    show(window, broken, DESK)
    assert "http://127.0.0.1:9/x.png" in window.requests()
    assert any("missing is not defined" in message for message in window.messages())
    assert window.run("return document.documentElement.scrollWidth > innerWidth")


def test_a_missing_browser_is_installed_once_or_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs, commands = {"apt-get": "/usr/bin/apt-get"}, []

    def apt(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        commands.append(" ".join(command[:2]))
        if len(commands) == 3:  # works once the lists of packages are there
            programs.update(chromium="/usr/bin/chromium", chromedriver="/usr/bin/chromedriver")
        return subprocess.CompletedProcess(command, 0 if len(commands) > 1 else 100)

    monkeypatch.setattr("shutil.which", programs.get)
    monkeypatch.setattr("subprocess.run", apt)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(NoBrowserError, match=r"apt-get install chromium chromium-driver \(.*takes root"):
        installed()
    assert commands == []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert installed() == ("/usr/bin/chromium", "/usr/bin/chromedriver")
    assert commands == ["apt-get install", "apt-get update", "apt-get install"]
    del programs["chromium"]
    with pytest.raises(NoBrowserError, match=r"remove .*\.lock to have it tried again"):
        installed()
    assert len(commands) == 3
