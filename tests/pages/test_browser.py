"""The browser of the tests: it sees what goes wrong, and is said to be missing where it is."""

from pathlib import Path

import pytest

from tests.pages.browser import Browser, NoBrowserError, browser, find_browser
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


def test_a_missing_browser_is_said_to_be_missing_and_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a test started a program")

    programs = {"apt-get": "/usr/bin/apt-get"}
    monkeypatch.setattr("shutil.which", programs.get)
    monkeypatch.setattr("subprocess.Popen", never)
    with pytest.raises(NoBrowserError, match="no chromium and chromedriver on this machine: `make browser` installs"):
        find_browser()
    with pytest.raises(NoBrowserError), browser():
        pass
    programs["google-chrome"] = "/opt/chrome"
    with pytest.raises(NoBrowserError, match="no chromedriver on this machine"):
        find_browser()
    programs["chromedriver"] = "/usr/bin/chromedriver"
    assert find_browser() == ("/opt/chrome", "/usr/bin/chromedriver")
