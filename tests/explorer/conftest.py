"""The explorer's page, written once; and the command line in this process."""

from pathlib import Path

import pytest

from onward.explorer import explorer_page
from tests.cli.conftest import run

__all__ = ["run"]


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page(), encoding="utf-8")
    return path
