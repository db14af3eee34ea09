"""Drawings as part of a page: in colours by name, which stand out from both papers."""

import re

import numpy as np
import pytest

from onward.pages.drawing import Line
from onward.pages.inline import make_picture
from onward.pages.theme import DARK, LIGHT, LINE, TEXT, contrast, fit_colour
from tests.pages.made_up import drawing_of, heat_map, log_log


def test_colours_stand_out_from_both_papers() -> None:
    for colour in ("#1f77b4", "#ff7f0e", "#2a6f97", "#c1552d", "#ffff00", "#00008b"):
        assert contrast(fit_colour(colour, LINE, LIGHT), LIGHT.paper) >= 3
        assert contrast(fit_colour(colour, LINE, DARK), DARK.paper) >= 4.5
        assert contrast(fit_colour(colour, TEXT, LIGHT), LIGHT.paper) >= 4.5
    assert contrast("#ffff00", LIGHT.paper) < 1.2  # so it had to change
    assert fit_colour("#2a6f97", TEXT, LIGHT) == "#2a6f97"  # and this had not
    assert (fit_colour("#000000", LINE, DARK), fit_colour("#ffffff", LINE, DARK)) == (DARK.ink, DARK.paper)
    assert contrast(fit_colour("#aaaaaa", TEXT, LIGHT), LIGHT.paper) >= 4.5 > contrast("#aaaaaa", LIGHT.paper)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_pictures_name_their_colours_but_keep_those_of_cells() -> None:
    lines, cells = make_picture(log_log()), make_picture(heat_map())
    assert not re.search(r"(fill|stroke): #", lines.svg)
    assert "stroke: var(--c-1f77b4)" in lines.svg
    assert {"#1f77b4", "#ffffff", "#666666"} <= set(lines.colours)
    assert lines.colours["#666666"] == TEXT
    assert "fill: #67001f" in cells.svg  # the darkest red of the map
    assert "#67001f" not in cells.colours
    assert "<image" not in cells.svg
    texts = re.findall(r'<g id="figure2-map-own-colours-\d+" fill="#000">', cells.svg)
    assert len(texts) == 35
    assert max(len(lines.svg), len(cells.svg)) < 400_000


def test_a_line_that_is_not_seen_has_its_colour_all_the_same() -> None:
    drawing = drawing_of(Line("y", np.arange(3.0), np.arange(3.0)))
    drawing.panels[0].axes.get_lines()[0].set_visible(False)
    assert "2a6f97" not in make_picture(drawing).svg  # but the box with its values names the colour
    assert make_picture(drawing).colours["#2a6f97"] == LINE
