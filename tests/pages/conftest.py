"""A plain page of all made-up drawings, written once."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from onward.pages.drawing import Drawing
from onward.pages.inline import make_picture
from onward.pages.page import TEMPLATES
from tests.pages.made_up import AWKWARD, four_panels, heat_map, log_log, one_panel, two_panels

PAGE = """
{% extends "pages/page.html" %}
{% from "pages/parts.html" import figure, values_table %}
{% block body %}
<main><h1>Made up</h1><h2>Figures</h2>
{% for picture in pictures.values() %}{{ figure(picture) }}{% endfor %}
{{ values_table(values) }}</main>
{% endblock %}
"""


@dataclass(frozen=True)
class Shown:
    path: Path
    drawings: dict[str, Drawing]


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    path = tmp_path_factory.mktemp("page") / "page.html"
    made = [two_panels(), log_log(), heat_map(), four_panels(), one_panel("figure4a"), one_panel("figure4b")]
    template = TEMPLATES.from_string(PAGE)
    pictures = {each.name: make_picture(each) for each in made}
    text = template.render(title=AWKWARD, description=AWKWARD, pictures=pictures, values={AWKWARD: {"nested": AWKWARD}})
    path.write_text(text, encoding="utf-8")
    return Shown(path, {each.name: each for each in made})
