"""A headless Chromium for tests, through selenium.

It needs Debian's packages chromium and chromium-driver, or the like, which `make browser` installs. Tests never install
anything: where there is no browser, NoBrowserError says what to do.
"""

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


class NoBrowserError(RuntimeError):
    """There is no Chromium here; says what to install."""


def find_browser() -> tuple[str, str]:
    """The paths of Chromium and its driver."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not program or not driver:
        missing = " and ".join(name for name, path in (("chromium", program), ("chromedriver", driver)) if not path)
        raise NoBrowserError(f"no {missing} on this machine: `make browser` installs Chromium and its driver")
    return program, driver


class Browser:
    """One window. What the page logged and requested is kept until it is asked for."""

    def __init__(self, driver: Chrome) -> None:
        self._driver = driver

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._driver.get(path.resolve().as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function's body returns on the page."""
        return self._driver.execute_script(script, *arguments)

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._driver.execute_cdp_cmd(name, parameters)

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        """Make the page that large, as a phone would show it if `mobile`."""
        scale = 2 if mobile else 1
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile
        )
        self.command("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def theme(self, name: str) -> None:
        """Prefer the "light" or the "dark" theme."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def move(self, x: float, y: float) -> None:
        """Move the mouse there, in pixels of the window."""
        self.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def touch(self, x: float, y: float) -> None:
        """Touch there and let go."""
        self.command("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.command("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def press(self, key: str) -> None:
        """Press a key, by its name in key events, such as "ArrowRight"."""
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path: Path, *, whole_page: bool = False) -> None:
        """Save what is seen, or all of the page, as PNG."""
        answer = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole_page)
        path.write_bytes(base64.b64decode(answer["data"]))

    def messages(self) -> list[str]:
        """What came to the console since the last time, errors of scripts and of the content policy with it."""
        return [f"{entry['level']}: {entry['message']}" for entry in self._log("browser")]

    def requests(self) -> list[str]:
        """The addresses that pages asked for since the last time, but for the browser's own first page."""
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent if not each["documentURL"].startswith("chrome")]

    def _log(self, kind: str) -> Any:
        return self._driver.get_log(kind)  # type: ignore[no-untyped-call]


@contextmanager
def browser() -> Iterator[Browser]:
    """A new Chromium with an empty profile, ended on the way out. NoBrowserError where there is none."""
    program, driver = find_browser()
    options = ChromeOptions()
    options.binary_location = program
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # With the driver's path, selenium looks for nothing and downloads nothing.
    with Chrome(options, ChromeService(driver)) as window:
        yield Browser(window)
