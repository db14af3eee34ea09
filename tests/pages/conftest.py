"""A plain page of all made-up drawings, written once."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from onward.pages import parts
from onward.pages.drawing import Drawing
from onward.pages.inline import picture
from onward.pages.page import page
from tests.pages.made_up import AWKWARD, four_panels, heat_map, log_log, one_panel, two_panels


@dataclass(frozen=True)
class Shown:
    path: Path
    drawings: dict[str, Drawing]


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    path = tmp_path_factory.mktemp("page") / "page.html"
    made = [two_panels(), log_log(), heat_map(), four_panels(), one_panel("figure4a"), one_panel("figure4b")]
    pictures = {each.name: picture(each) for each in made}
    figures = "".join(parts.figure(each, pictures[each.name]) for each in made)
    body = f"<main><h1>Made up</h1><h2>Figures</h2>{figures}{parts.values({AWKWARD: {'nested': AWKWARD}})}</main>"
    path.write_text(page(AWKWARD, AWKWARD, body, pictures.values()), encoding="utf-8")
    return Shown(path, {each.name: each for each in made})
