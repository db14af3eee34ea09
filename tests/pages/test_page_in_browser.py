"""Figures on a page as a reader meets them: read off by pointer, touch and keys, in the colours of the theme."""

import numpy as np
import pytest

from tests.pages.browser import Browser
from tests.pages.conftest import Shown
from tests.pages.looking import DESK, PHONE, panel, read, show
from tests.pages.made_up import line

pytestmark = pytest.mark.xdist_group("browser")


def test_pointing_reads_values_and_bands(window: Browser, shown: Shown) -> None:
    show(window, shown.path)
    drawing = shown.drawings["figure2"]
    left, top, width, height = panel(window, drawing, 0)
    axes = drawing.panels[0].axes
    start, end = np.log10(axes.get_xlim())
    x = line(drawing, 0, "λ = 1").x
    for index in (0, 20, 37):
        fraction = (np.log10(x[index]) - start) / (end - start)
        window.move(left + fraction * width, top + height / 2)
        heading, rows = read(window)
        assert heading == f"round: {x[index]:.0f}"
        assert len(rows) == 4
        for label, (value, band) in rows.items():
            expected = line(drawing, 0, label)
            assert expected.lower is not None
            assert expected.upper is not None
            lower, upper = band.split(" to ")
            said = [float(value), float(lower), float(upper)]
            assert said == pytest.approx([expected.y[index], expected.lower[index], expected.upper[index]], rel=1e-3)
        dots = window.run("return [...document.querySelectorAll('.dot')].map((dot) => dot.getBoundingClientRect().top)")
        low, high = np.log10(axes.get_ylim())
        places = [top + height * (high - np.log10(each.y[index])) / (high - low) for each in drawing.panels[0].lines]
        assert np.array(dots) + 4.5 == pytest.approx(places, abs=1.5)
    window.move(left - 60, top - 60)
    assert window.run("return document.querySelectorAll('.box, .guide, .dot').length") == 0


def test_where_there_is_no_value_it_says_so(window: Browser, shown: Shown) -> None:
    show(window, shown.path)
    drawing = shown.drawings["figure2"]
    left, top, width, height = panel(window, drawing, 1)
    window.move(left + 0.999 * width, top + height / 2)
    heading, rows = read(window)
    assert heading == "round: 1000"
    assert [row[0] for row in rows.values()] == ["no value"] * 4


def test_lines_of_other_rounds_say_theirs(window: Browser, shown: Shown) -> None:
    show(window, shown.path)
    drawing = shown.drawings["figure4a"]
    left, top, width, height = panel(window, drawing, 0)
    window.move(left + 0.8 * width, top + height / 2)
    _, rows = read(window)
    seen = 0
    for label, row in rows.items():
        expected = line(drawing, 0, label)
        value = float(row[-1])
        if row[0].startswith("at "):
            index = int(np.argmin(np.abs(expected.x - float(row[0][3:]))))
            assert value == pytest.approx(expected.y[index], rel=1e-3)
            seen += 1
    assert seen >= 4


def test_cells_are_read_by_row_without_dots(window: Browser, shown: Shown) -> None:
    show(window, shown.path)
    drawing = shown.drawings["figure2-map"]
    left, top, width, height = panel(window, drawing, 0)
    window.move(left + 2.4 / 7 * width, top + height / 2)
    heading, rows = read(window)
    assert heading == "λ: 2.5"
    assert {label: float(row[0]) for label, row in rows.items()} == pytest.approx(
        {each.label: each.y[2] for each in drawing.panels[0].lines}, rel=1e-3
    )
    assert window.run("return document.querySelectorAll('.dot, .box i').length") == 0


def test_touch_and_keys_read_values_too(window: Browser, shown: Shown) -> None:
    drawing = shown.drawings["figure1"]
    show(window, shown.path, PHONE)
    left, top, width, height = panel(window, drawing, 1)
    window.touch(left + 0.5 * width, top + height / 2)
    heading, _ = read(window)
    assert 90 <= int(heading.removeprefix("round: ")) <= 110
    box = window.run("const box = document.querySelector('.box').getBoundingClientRect(); return [box.left, box.right]")
    assert 0 <= box[0] < box[1] <= PHONE[0]

    show(window, shown.path)
    panel(window, drawing, 1)
    window.run("document.querySelectorAll('#drawing-figure1 .panel')[1].focus({focusVisible: true})")
    for key, step in (("Home", 1), ("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", 200)):
        window.press(key)
        heading, rows = read(window)
        assert heading == f"round: {step}"
        expected = line(drawing, 1, "ridge, first term").y[step - 1]
        assert float(rows["ridge, first term"][0]) == pytest.approx(expected, rel=1e-3)
        spoken = window.run("return document.activeElement.getAttribute('aria-valuetext')")
        assert spoken.startswith(f"round {step}; ridge, first term: ")
    window.press("Escape")
    assert window.run("return document.querySelectorAll('.box').length") == 0


def test_figures_follow_the_theme(window: Browser, shown: Shown) -> None:
    def brightness(theme: str) -> dict[str, float]:
        show(window, shown.path, DESK, theme)
        colours = window.run(
            "const style = (selector, name) => getComputedStyle(document.querySelector(selector))[name];"
            "return { page: style('body', 'backgroundColor'), words: style('body', 'color'),"
            "sheet: style('#figure1-patch_1 path', 'fill'), letters: style('#figure1-text_1 use', 'fill'),"
            "axis: style('#figure1-patch_3 path', 'stroke'), cells: style('#figure2-map-own-colours-8 use', 'fill') }"
        )
        return {name: float(np.mean([int(c) for c in rgb[4:-1].split(",")])) for name, rgb in colours.items()}

    light, dark = brightness("light"), brightness("dark")
    for paper in ("page", "sheet"):
        assert light[paper] > 240
        assert dark[paper] < 40
    for ink in ("words", "letters", "axis"):
        assert light[ink] < 60
        assert dark[ink] > 200
    assert light["cells"] == dark["cells"] == 0  # on a pale cell in both
