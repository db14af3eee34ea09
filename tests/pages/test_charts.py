"""Charts as SVG: every value where its axes put it, nothing outside, and nothing left out of a legend."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from onward.core.types import Matrix, Vector
from onward.pages.chart import DASHED, Chart, ChartDrawing, Shape
from onward.pages.chart_page import draw_charts
from onward.pages.drawing import Line
from onward.pages.picture import Picture
from onward.pages.theme import LINE
from onward.pages.ticks import linear_scale, row_scale
from tests.pages.made_up import AWKWARD

ROWS = np.array([1.0, 10.0, 100.0, 1000.0])


def a_chart(title: str = "title", *, legend: bool = False) -> Chart:
    return Chart(title, "rows", "error", row_scale(ROWS), linear_scale(0.0, 4.0), legend=legend)


def drawn(*charts: Chart, columns: int = 1, legend: tuple[Shape, ...] = ()) -> Picture:
    return draw_charts(ChartDrawing("made", AWKWARD, charts, "caption", AWKWARD, columns, (600.0, 300.0), legend))


def elements(picture: Picture, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(str(picture.svg)).iter(tag))


def places(path: ElementTree.Element) -> Matrix:
    return np.array([pair.split() for pair in re.findall(r"-?[\d.]+ -?[\d.]+", path.attrib["d"])], dtype=np.float64)


def path_of(picture: Picture, colour: str) -> ElementTree.Element:
    """The first path of a colour."""
    return next(each for each in elements(picture, "path") if f"var(--c-{colour})" in each.attrib["style"])


def box_of(picture: Picture, number: int = 0) -> Vector:
    """Left, top, right and bottom of a chart's axes, in points."""
    left, top, width, height = picture.panels[number]["box"]
    box: Vector = np.array([left, top, left + width, top + height]) * np.tile(picture.size, 2)
    return box


def test_lines_lie_where_their_axes_put_them() -> None:
    chart = a_chart()
    line = Line("y", ROWS, np.array([0.0, 1.0, 4.0, 2.0]))
    chart.add_line(line, "#123456", dash=DASHED)
    chart.read(line, "#123456")
    picture = drawn(chart)
    left, top, right, bottom = box_of(picture)
    (panel,) = picture.panels
    at = np.array(panel["grids"][0]["at"])
    np.testing.assert_allclose(np.diff(at), np.log(10) / np.log(chart.x.high / chart.x.low), atol=2e-4)
    assert panel["lines"][0]["at"] == [0, 0.25, 1, 0.5]
    wanted = np.column_stack([left + (right - left) * at, bottom - (bottom - top) * np.array([0, 0.25, 1, 0.5])])
    np.testing.assert_allclose(places(path_of(picture, "123456")), wanted, atol=0.1)
    assert picture.colours == {"#123456": LINE}
    assert (panel["name"], panel["across"]) == ("title", "rows")


def test_lines_and_bands_are_interrupted_where_there_is_no_value() -> None:
    chart = a_chart()
    x = np.arange(1.0, 8.0)
    y = np.array([1.0, 2.0, np.nan, 3.0, np.inf, 2.0, 1.0])
    chart.add_line(Line("y", x, y), "#111111")
    chart.add_band(x, np.zeros(7), y, "#777777", 0.2)
    line, band = (path_of(drawn(chart), colour).attrib["d"] for colour in ("111111", "777777"))
    assert [part.count("L") + 1 for part in line.split("M")[1:]] == [2, 1, 2]
    assert [part.count("L") + 1 for part in band.split("M")[1:]] == [4, 2, 4]
    assert not re.search("nan|inf", line + band)


def test_far_away_is_cut_off_and_dots_outside_are_not_drawn() -> None:
    chart = a_chart()
    chart.add_line(Line("y", ROWS, np.array([1.0, -1e300, 1e300, 2.0])), "#111111")
    chart.add_dots(ROWS, np.array([1.0, -1e300, 90.0, 2.0]), "#777777", 2.0)
    picture = drawn(chart)
    assert np.abs(places(path_of(picture, "111111"))).max() < 20_000
    assert path_of(picture, "777777").attrib["d"].count("M") == 2
    (clip,) = elements(picture, "clipPath")
    shown = {key: float(value) for key, value in clip[0].attrib.items()}
    left, top, right, bottom = box_of(picture)
    found = [shown["x"], shown["y"], shown["x"] + shown["width"], shown["y"] + shown["height"]]
    np.testing.assert_allclose(found, [left, top, right, bottom], atol=0.11)


@pytest.mark.parametrize("count", [1, 5, 12, 60])
def test_legends_name_everything_once_within_the_picture(count: int) -> None:
    charts = [a_chart(legend=True), a_chart(), a_chart(legend=True)]
    for number in range(count):
        for _ in range(2):
            charts[2].add_line(Line(f"line number {number}", ROWS, ROWS), "#111111")
    picture = drawn(*charts, columns=3, legend=(Shape([], fill="#222222", label="of all"),))
    texts = [each for each in elements(picture, "text") if "number" in (each.text or "")]
    assert [each.text for each in texts] == [f"line number {number}" for number in range(count)]
    under = box_of(picture, 2)[3]
    (of_all,) = (each for each in elements(picture, "text") if each.text == "of all")
    for each in texts:
        assert under + 20 < float(each.attrib["y"]) < float(of_all.attrib["y"]) - 8
    assert float(of_all.attrib["y"]) < picture.size[1]
    assert (np.diff(box_of(picture, 2)[[1, 3]]) > 50).all()


def test_charts_do_not_overlap_and_texts_have_room() -> None:
    charts = [a_chart(str(number)) for number in range(5)]
    charts[1].y = linear_scale(0.0, 3e-9)
    picture = drawn(*charts, columns=2)
    boxes = [box_of(picture, number) for number in range(5)]
    assert all(one[0] < one[2] and one[1] < one[3] for one in boxes)
    for row in (boxes[:2], boxes[2:4]):
        assert all(one[2] + 20 < other[0] for one, other in pairwise(row))
    assert boxes[0][3] + 20 < boxes[2][1]
    assert boxes[1][0] == pytest.approx(boxes[3][0])  # one below the other
    assert [boxes[0][0], boxes[0][3]] < [boxes[2][0] + 1e-6, boxes[2][1]]


def test_what_data_call_things_is_text() -> None:
    picture = drawn(a_chart(AWKWARD))
    (title,) = (each for each in elements(picture, "text") if each.text == AWKWARD)
    assert float(title.attrib["x"]) == pytest.approx(box_of(picture)[[0, 2]].mean(), abs=0.1)
    assert [each.text for each in elements(picture, "title")] == [AWKWARD]


def test_ticks_stand_beside_their_values_and_have_room() -> None:
    chart = a_chart()
    chart.y = linear_scale(0.0, 4_000_000.0, 4)
    picture = drawn(chart)
    left, top, right, bottom = box_of(picture)
    heights = {each.text: each.attrib for each in elements(picture, "text") if each.attrib["text-anchor"] == "end"}
    assert list(heights) == ["0", "1×10⁶", "2×10⁶", "3×10⁶", "4×10⁶"]
    assert float(heights["2×10⁶"]["y"]) == pytest.approx((top + bottom) / 2 + 2.9, abs=0.2)  # the letters' middle
    assert float(heights["1×10⁶"]["x"]) > 5 * 0.5 * 8
    (hundred,) = (each for each in elements(picture, "text") if each.text == "100")
    across = left + (right - left) * chart.x.fractions(np.array([100.0]))[0]
    assert float(hundred.attrib["x"]) == pytest.approx(across, abs=0.1)
    marks = elements(picture, "path")[1].attrib["d"]
    assert f"M{across:.1f} {bottom:.1f}v3.5" in marks
    assert f"M{left:.1f} {(top + bottom) / 2:.1f}h-3.5" in marks
