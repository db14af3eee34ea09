"""Driving the explorer in a browser: open it at an address, click, press, and read the numbers that it shows."""

import contextlib
import io
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.pages.browser import Browser

SIX = (
    [-1.8, -1.1],
    [-1.4, -0.5],
    [-0.9, -0.7],
    [-0.4, 0.3],
    [0.0, 0.2],
    [0.3, 0.7],
)  # the rows that are there at first
PANEL = "[role=tabpanel]:not([hidden])"  # of the part on show
_READY = (
    f"const panel = document.querySelector('{PANEL}');"
    "return document.documentElement.matches('.ready') && panel.dataset.ready !== 'false' && panel.id.slice(6)"
)
_VALUES = (
    f"const all = document.querySelectorAll('{PANEL} [data-value]');"
    "return Object.fromEntries([...all].map((each) => [each.dataset.name, each.dataset.value]))"
)


def until(window: Browser, script: str, wanted: Any = True) -> None:
    """Wait until a script gives what is wanted."""
    deadline, got = time.monotonic() + 20, None
    while time.monotonic() < deadline:
        got = window.run(script)
        if got == wanted:
            return
        time.sleep(0.02)
    raise AssertionError(f"{script} gave {got!r}, expected {wanted!r}")


def visit(window: Browser, page: Path, address: str) -> None:
    """Open the page anew at an address, and wait until what it says there is on show."""
    window.command("Page.navigate", url="about:blank")
    until(window, "return location.href", "about:blank")
    window.command("Page.navigate", url=f"{page.resolve().as_uri()}#{address}")
    until(window, _READY, address.partition("?")[0])


def shown(window: Browser) -> dict[str, float]:
    """Every number of the part on show, in full."""
    return {name: float(value.replace("Infinity", "inf")) for name, value in window.run(_VALUES).items()}


def middle(window: Browser, selector: str) -> tuple[float, float]:
    """Scroll to an element: its middle, once the frame that shows it there is drawn; clicks before it go elsewhere."""
    x, y = window.run(
        "const at = document.querySelector(arguments[0]); at.scrollIntoView({block: 'center', behavior: 'instant'});"
        "const box = at.getBoundingClientRect(), found = [box.left + box.width / 2, box.top + box.height / 2];"
        "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(found))))",
        selector,
    )
    return x, y


def click(window: Browser, x: float, y: float, to: tuple[float, float] | None = None) -> None:
    """Click there, or drag from there."""
    window.command("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
    if to is not None:
        for part in (0.5, 1.0):
            window.move(x + part * (to[0] - x), y + part * (to[1] - y))
        x, y = to
    window.command("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)


def swipe(window: Browser, x: float, y: float, across: float) -> None:
    """Drag a finger sideways from there."""
    window.command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    for part in (0.3, 0.6, 1.0):
        window.command("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": x + part * across, "y": y}])
    window.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


def push(window: Browser, text: str) -> None:
    """Push the button of the part on show that says so."""
    found = window.run(
        f"const all = [...document.querySelectorAll('{PANEL} button:not(:disabled)')];"
        "const one = all.find((each) => each.textContent === arguments[0]); one?.click(); return !!one",
        text,
    )
    assert found, f"no button {text!r} that can be pushed"


def copied(window: Browser) -> str:
    """The part on show as Python."""
    window.run(f"document.querySelector('{PANEL} .python').open = true")
    until(window, f"return document.querySelector('{PANEL} .python code').textContent.length > 200")
    text = window.run(f"return document.querySelector('{PANEL} .python code').textContent")
    assert isinstance(text, str)
    return text


def printed(code: str) -> dict[str, float]:
    """What code of the explorer prints: a name and a number in each line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "explorer", "exec"), {})
    return {name: float(value) for name, _, value in (line.partition(" ") for line in out.getvalue().splitlines())}


def check_same(first: dict[str, float], second: dict[str, float]) -> None:
    """Numbers of one name agree to 1e-9, of their size or of 1."""
    assert first.keys() == second.keys()
    values = np.array([[first[name], second[name]] for name in first])
    same = np.isclose(values[:, 0], values[:, 1], rtol=1e-9, atol=1e-9)
    assert {name: (first[name], second[name]) for name, ok in zip(first, same, strict=True) if not ok} == {}
