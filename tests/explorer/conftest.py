"""The explorer's page, written once; the browser, and the command line in this process."""

from pathlib import Path

import pytest

from onward.explorer import explorer_page
from tests.cli.conftest import run
from tests.pages.browser import Browser
from tests.pages.looking import DESK

__all__ = ["run"]


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page(), encoding="utf-8")
    return path


@pytest.fixture
def desk(window: Browser) -> None:
    """The browser as on a desk, in light."""
    window.theme("light")
    window.resize(DESK[0], DESK[1], mobile=DESK[2])
