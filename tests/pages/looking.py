"""Looking at a page in the browser: open it, find a panel, read what its box says."""

import time
from pathlib import Path

from onward.pages.drawing import Drawing
from tests.pages.browser import Browser

DESK = (1280, 900, False)
PHONE = (390, 844, True)
NARROW = (360, 740, True)


_DRAWN = (
    "return document.readyState === 'complete' && "
    "[...document.querySelectorAll('[id^=\"drawing-\"]')].every(each => each.querySelector('.panel'))"
)


def show(window: Browser, path: Path, size: tuple[int, int, bool] = DESK, theme: str = "light") -> None:
    """Open a page, and wait until its scripts have drawn; on a busy machine that can be after it is loaded."""
    window.theme(theme)
    window.resize(size[0], size[1], mobile=size[2])
    window.open(path)
    deadline = time.monotonic() + 20
    while not window.run(_DRAWN) and time.monotonic() < deadline:
        time.sleep(0.05)


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
