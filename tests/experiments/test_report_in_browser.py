"""The report as a reader meets it: opened in Chromium, on a desk and on a phone, in light and dark."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onward.experiments.base import Drawing
from tests.experiments.browser import Browser, NoBrowserError, browser, installed
from tests.experiments.conftest import Written
from tests.experiments.made_up import line

pytestmark = pytest.mark.xdist_group("browser")

DESK = (1280, 900, False)
PHONE = (390, 844, True)
NARROW = (360, 740, True)


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    try:
        with browser() as window:
            yield window
    except NoBrowserError as error:
        pytest.skip(str(error))


def show(window: Browser, path: Path, size: tuple[int, int, bool] = DESK, theme: str = "light") -> None:
    window.theme(theme)
    window.resize(size[0], size[1], mobile=size[2])
    window.open(path)


def panel(window: Browser, drawing: Drawing, number: int) -> tuple[float, float, float, float]:
    """Scroll to a panel: left, top, width and height in the window."""
    left, top, width, height = window.run(
        "const panel = document.querySelectorAll(`#drawing-${arguments[0]} .panel`)[arguments[1]];"
        "panel.scrollIntoView({block: 'center', inline: 'start', behavior: 'instant'});"
        "const box = panel.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]",
        drawing.name,
        number,
    )
    return left, top, width, height


def read(window: Browser) -> tuple[str, dict[str, list[str]]]:
    """What the box says: its heading, and for each line its value and its band."""
    boxes = window.run(
        "const parts = (row) => row.innerText.replaceAll('−', '-').trim().split(/\\s*[\\t\\n]\\s*/);"
        "return [...document.querySelectorAll('.box')].map((box) => "
        "[box.querySelector('b').textContent, [...box.querySelectorAll('tr')].map(parts)])"
    )
    assert len(boxes) == 1
    heading, rows = boxes[0]
    return heading, {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE, NARROW], ids=["desk", "phone", "narrow"])
def test_opens_without_error_request_or_overflow(
    window: Browser, report: Written, tmp_path: Path, size: tuple[int, int, bool], theme: str
) -> None:
    window.requests(), window.messages()
    show(window, report.path, size, theme)
    window.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    window.run("document.querySelector('#with-findings').click()")
    wide, inner = window.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert inner == size[0]
    assert wide <= inner
    boxes = window.run(
        "return [...document.querySelectorAll('figure svg[role=img]')].map((svg) => {"
        "const box = svg.getBoundingClientRect(); const drawn = svg.getBBox();"
        "return [box.width, box.height, drawn.width, drawn.height, svg.checkVisibility()] })"
    )
    assert len(boxes) == sum(len(section.drawings) for section in report.sections)
    assert all(min(box[:4]) > 150 and box[4] for box in boxes)
    window.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000
    assert window.requests() == [report.path.as_uri()]
    assert window.messages() == []


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


def test_the_first_screen_says_what_came_out(window: Browser, report: Written) -> None:
    show(window, report.path, DESK)
    bottom = window.run("return document.querySelector('.verdicts tr:nth-child(3)').getBoundingClientRect().bottom")
    assert bottom < DESK[1]
    show(window, report.path, PHONE)
    bottom = window.run("return document.querySelector('.counts').getBoundingClientRect().bottom")
    assert bottom < PHONE[1]


def test_pointing_reads_values_and_bands(window: Browser, report: Written) -> None:
    show(window, report.path)
    drawing = report.sections[1].drawings[0]
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


def test_where_there_is_no_value_it_says_so(window: Browser, report: Written) -> None:
    show(window, report.path)
    drawing = report.sections[1].drawings[0]
    left, top, width, height = panel(window, drawing, 1)
    window.move(left + 0.999 * width, top + height / 2)
    heading, rows = read(window)
    assert heading == "round: 1000"
    assert [row[0] for row in rows.values()] == ["no value"] * 4


def test_lines_of_other_rounds_say_theirs(window: Browser, report: Written) -> None:
    show(window, report.path)
    drawing = report.sections[3].drawings[0]
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


def test_cells_are_read_by_row_without_dots(window: Browser, report: Written) -> None:
    show(window, report.path)
    drawing = report.sections[1].drawings[1]
    left, top, width, height = panel(window, drawing, 0)
    window.move(left + 2.4 / 7 * width, top + height / 2)
    heading, rows = read(window)
    assert heading == "λ: 2.5"
    assert {label: float(row[0]) for label, row in rows.items()} == pytest.approx(
        {each.label: each.y[2] for each in drawing.panels[0].lines}, rel=1e-3
    )
    assert window.run("return document.querySelectorAll('.dot, .box i').length") == 0


def test_touch_and_keys_read_values_too(window: Browser, report: Written) -> None:
    drawing = report.sections[0].drawings[0]
    show(window, report.path, PHONE)
    left, top, width, height = panel(window, drawing, 1)
    window.touch(left + 0.5 * width, top + height / 2)
    heading, _ = read(window)
    assert 90 <= int(heading.removeprefix("round: ")) <= 110
    box = window.run("const box = document.querySelector('.box').getBoundingClientRect(); return [box.left, box.right]")
    assert 0 <= box[0] < box[1] <= PHONE[0]

    show(window, report.path)
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


def test_figures_follow_the_theme(window: Browser, report: Written) -> None:
    def brightness(theme: str) -> dict[str, float]:
        show(window, report.path, DESK, theme)
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


def test_paper_is_always_light_and_open(window: Browser, report: Written) -> None:
    show(window, report.path, DESK, "dark")
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    window.command("Emulation.setEmulatedMedia", media="print", features=dark)
    assert window.run("return getComputedStyle(document.body).backgroundColor") == "rgb(252, 252, 250)"
    assert window.run("return getComputedStyle(document.querySelector('.finding')).display") == "block"
    window.run("window.dispatchEvent(new Event('beforeprint'))")
    assert window.run("return document.querySelectorAll('details:not([open])').length") == 0
    window.run("window.dispatchEvent(new Event('afterprint'))")
    assert window.run("return document.querySelectorAll('details[open]').length") == 0
    window.command("Emulation.setEmulatedMedia", media="", features=[])
