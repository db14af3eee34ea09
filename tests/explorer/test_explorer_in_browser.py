"""The explorer as a reader meets it: clicked, pressed and touched, on a desk and on a phone, in light and dark."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.explorer.checks import focus_order, look_over
from tests.explorer.driving import SIX, click, middle, push, shown, swipe, until, visit
from tests.pages.browser import Browser
from tests.pages.looking import DESK, NARROW, PHONE

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.usefixtures("desk")]


def state(window: Browser, part: str) -> dict[str, Any]:
    found = window.run("return explorer.states[arguments[0]]", part)
    assert isinstance(found, dict)
    return found


def test_rows_by_mouse_touch_and_keys_and_the_address_has_them(window: Browser, page: Path) -> None:
    visit(window, page, "row")
    x, y = middle(window, "#panel-row .plot")
    click(window, x + 90, y - 60)
    assert len(state(window, "row")["rows"]) == 7
    click(window, x + 90, y - 60)  # on the row
    assert len(state(window, "row")["rows"]) == 6
    click(window, x + 90, y - 60, to=(x + 190, y - 50))
    assert state(window, "row")["x"] > 1.5
    assert len(state(window, "row")["rows"]) == 6
    window.run("document.querySelector('#panel-row .plot').focus()")
    before = state(window, "row")["x"]
    for key in ("ArrowLeft", "ArrowUp", "ArrowUp", "Enter"):
        window.press(key)
    now = state(window, "row")
    assert now["x"] == pytest.approx(before - 0.05)
    assert now["rows"][-1] == pytest.approx([now["x"], 0.1])
    spoken = window.run("return document.activeElement.getAttribute('aria-valuetext')")
    assert spoken.endswith("; 7 rows")
    window.press("Backspace")
    assert state(window, "row")["rows"] == [*map(list, SIX)]
    window.resize(PHONE[0], PHONE[1], mobile=True)
    x, y = middle(window, "#panel-row .plot")
    window.touch(x - 40, y + 90)
    assert len(state(window, "row")["rows"]) == 7
    was = state(window, "row")["x"]
    swipe(window, x - 20, y + 90, -60)
    assert state(window, "row")["x"] < min(was, -0.5)
    assert len(state(window, "row")["rows"]) == 7
    swipe(window, *middle(window, "#panel-row .disc.row"), 50)  # the first row
    assert state(window, "row")["rows"][0][0] > SIX[0][0]
    until(window, "return location.hash.includes(`rows=${explorer.states.row.rows[0][0]},`)")
    numbers, address = shown(window), window.run("return location.hash.slice(1)")
    visit(window, page, address)
    assert shown(window) == numbers


def test_a_cell_is_clicked_and_fifty_runs_play(window: Browser, page: Path) -> None:
    visit(window, page, "map")
    click(window, *middle(window, '.cell[data-sigma="0.1"][data-lam="1"]'))
    until(window, "return document.querySelector('#panel-map').dataset.ready", "false")
    until(window, "return document.querySelector('#panel-map').dataset.ready", "true")
    assert "ridge wins" in window.run("return document.querySelector('#panel-map .verdict').textContent")
    assert shown(window)["ridge"] < shown(window)["forward"]
    window.press("ArrowUp")
    assert state(window, "map")["sigma"] == 0.3
    assert window.run("return document.activeElement.dataset.sigma") == "0.3"
    window.run("document.querySelector('#panel-map input[type=checkbox]').click()")
    until(window, "return document.querySelector('#panel-map').dataset.ready", "true")
    assert window.run("return document.querySelectorAll('#panel-map .plot .dashed').length") == 2
    until(window, "return location.hash", "#map?sigma=0.3&lam=1&bounds=1")
    marks = window.run("return [...document.querySelectorAll('.cell')].map((each) => [each.className, each.dataset])")
    assert len(marks) == 49
    for name, data in marks:
        ratio = float(data["ridge"]) / float(data["forward"])
        assert name.split()[1] == ("neither" if 1 / 1.05 < ratio < 1.05 else "forward" if ratio > 1 else "ridge")


def test_tests_are_watched_day_by_day_and_counted(window: Browser, page: Path) -> None:
    window.command(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}]
    )  # days still pass, more slowly; tests are counted at once
    visit(window, page, "peeking?tests=50&days=14")
    numbers = shown(window)
    assert numbers["anytimeAlarms"] <= 0.05 * 50 < numbers["fixedAlarms"]
    assert window.run("return document.querySelectorAll('.test.ridge, .test.forward').length") == numbers["fixedAlarms"]
    push(window, "‹ Day")
    assert state(window, "peeking")["day"] == 13
    push(window, "Play the days")
    until(window, "return explorer.states.peeking.day", 14)
    push(window, "Play the days")  # from the first day on, as the last was shown
    until(window, "return explorer.states.peeking.day", 3)
    push(window, "Pause")
    assert state(window, "peeking")["day"] < 14
    days = window.run(
        "const days = [...Array(50).keys()].map((i) => explorer.playTest(explorer.states.peeking, i).fixedDay);"
        "const test = days.findIndex((day) => day > 1 && day < 6);"
        "document.querySelector(`[data-test='${test}']`).click(); return days[test]"
    )
    window.run("location.hash = `peeking?tests=50&days=14&day=1&test=${explorer.states.peeking.test}`")
    until(window, "return explorer.states.peeking.day", 1)
    push(window, "Play the days")  # until it is significant
    until(window, "return document.querySelector('#panel-peeking .buttons button').textContent", "Play the days")
    assert state(window, "peeking")["day"] == days
    assert f"on day {days} for the first time" in window.run(
        "return document.querySelector('#panel-peeking .verdict').textContent"
    )
    window.run("document.querySelector('[data-test=\"7\"]').click()")
    window.run("document.querySelector('[data-test=\"7\"]').focus()")
    window.press("ArrowRight")
    assert state(window, "peeking")["test"] == 8
    assert window.run("return document.activeElement.dataset.test") == "8"
    seen = window.run(
        "const {looks, fixedDay, anytimeDay} = explorer.playTest(explorer.states.peeking, 8);"
        "return [looks.map((each) => [each.estimate, each.fixed, each.anytime]), fixedDay, anytimeDay]"
    )
    for column, day in ((1, seen[1]), (2, seen[2])):
        out = [i + 1 for i, each in enumerate(seen[0]) if each[column] is not None and abs(each[0]) > each[column]]
        assert day == (out[0] if out else 0)


def test_you_play_step_back_and_choose_again(window: Browser, page: Path) -> None:
    visit(window, page, "decide")
    click(window, *middle(window, '[data-arm="4"] .body'))
    window.press("3")
    window.press("0")
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["429", 3]
    window.press("[")
    push(window, "‹ Back")
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["429", 1]
    push(window, "Forth ›")
    assert state(window, "decide")["at"] == 2
    window.press("8")  # what came after is forgotten
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["427", 3]
    push(window, "… ten times")
    assert state(window, "decide")["at"] == 13
    window.run(
        "const pick = document.querySelector('#panel-decide .because').previousElementSibling.querySelector('select');"
        "pick.selectedIndex = 3; pick.dispatchEvent(new Event('change'))"
    )
    because = window.run("return document.querySelector('.because').textContent")
    assert because.startswith("LinTS takes arm ")
    assert window.run("return document.querySelectorAll('.why tr.taken').length") == 1
    push(window, "… to the end")
    assert state(window, "decide")["at"] == 100
    assert "All 100 rounds" in window.run("return document.querySelector('#panel-decide .verdict').textContent")
    until(window, "return location.hash.includes('at=100')")
    numbers, address = shown(window), window.run("return location.hash.slice(1)")
    visit(window, page, address)
    assert shown(window) == numbers


def test_arms_that_lie_together_are_shown_apart(window: Browser, page: Path) -> None:
    window.resize(PHONE[0], PHONE[1], mobile=True)
    visit(window, page, "decide")
    for number, world in enumerate(("fixed", "fresh", "drifting", "turning")):
        window.run(
            "const pick = document.querySelector('#panel-decide select'); pick.selectedIndex = arguments[0];"
            "pick.dispatchEvent(new Event('change'))",
            number,
        )
        assert state(window, "decide")["world"] == world
        first = window.run("return explorer.parts.decide.world[0].actions")
        push(window, "… ten times")
        later = window.run("return explorer.parts.decide.world[10].actions")
        assert (first == later) == (world in ("fixed", "turning"))
        places = np.array(
            window.run(
                "return [...document.querySelectorAll('.arm .body')].map((each) =>"
                " [each.cx.baseVal.value, each.cy.baseVal.value])"
            )
        )
        gaps = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))[~np.eye(10, dtype=bool)]
        assert gaps.min() > 25
        window.touch(*middle(window, '[data-arm="6"] .body'))
        assert state(window, "decide")["choices"].endswith("6")


def test_addresses_that_say_nothing_sensible_are_passed_over(window: Browser, page: Path) -> None:
    visit(window, page, "row?lam=abc&rows=1,2,3&x=99&delta=0.07&nothing=1")
    assert state(window, "row") == {
        "rows": [*map(list, SIX)], "x": 2, "lam": 0.1, "sigma": 0.3, "bound": 1.5, "delta": 0.05
    }  # fmt: skip
    window.run("location.hash = 'decide?choices=12x&at=-1'")
    until(window, "return document.querySelector('#panel-decide').hidden", False)
    assert [state(window, "decide")[name] for name in ("choices", "at")] == ["", 0]
    window.run("location.hash = '<img src=x onerror=alert(1)>'")
    assert window.run("return document.images.length") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_part_can_be_read_on_a_phone_and_asks_nobody(window: Browser, page: Path, theme: str) -> None:
    window.messages(), window.requests()
    window.theme(theme)
    window.resize(NARROW[0], NARROW[1], mobile=NARROW[2])
    visit(window, page, "row")
    for part in ("row", "map", "peeking", "decide"):
        assert window.run("return document.querySelector('[role=tab][aria-selected=true]').id") == f"tab-{part}"
        if part == "decide":
            window.press("1")
        assert look_over(window, NARROW[0]) == {"faint": [], "nameless": [], "too wide": []}, part
        wanted, order = focus_order(window)
        assert len(wanted) > 5
        assert order == wanted, part
        window.run("document.querySelector('[role=tab][aria-selected=true]').focus()")
        window.press("ArrowRight")
    assert window.run("return document.activeElement.id") == "tab-row"
    assert window.messages() == []
    own = page.resolve().as_uri()
    assert [each for each in window.requests() if not each.startswith((own, "data:", "about:"))] == []


def test_in_a_frame_it_is_as_high_as_it_needs_and_has_the_theme_around(window: Browser, page: Path) -> None:
    script = Path(__file__).parents[2] / "docs" / "_static" / "explorer_frame.js"
    around = page.with_name("around.html")
    around.write_text(
        '<!doctype html><html data-theme="dark"><meta name="viewport" content="width=device-width">'
        "<style>iframe { width: 100%; height: 300px }</style>"
        f'<script src="{script.as_uri()}"></script><iframe class="explorer" src="{page.name}"></iframe></html>',
        encoding="utf-8",
    )
    window.open(around)
    height = "return document.querySelector('iframe').clientHeight"
    until(window, f"{height} > 800")
    high = window.run(height)

    def inside(script: str) -> Any:
        driver = window._driver
        driver.switch_to.frame(driver.find_element("css selector", "iframe"))
        try:
            return driver.execute_script(script)
        finally:
            driver.switch_to.default_content()

    assert inside("return innerHeight - document.documentElement.offsetHeight") in (0, 1, 2, 3)
    paper = "return getComputedStyle(document.body).backgroundColor"
    dark = inside(paper)
    window.run("document.documentElement.dataset.theme = 'light'")
    until(window, f"{height} > 800")
    light = inside(paper)
    assert sum(map(int, re.findall(r"\d+", dark))) < 150 < 600 < sum(map(int, re.findall(r"\d+", light)))
    window.resize(NARROW[0], NARROW[1], mobile=NARROW[2])
    until(window, f"{height} > {high + 300}")
    window.resize(DESK[0], DESK[1], mobile=DESK[2])
    until(window, f"{height} < {high + 3}")  # it becomes lower again, too
