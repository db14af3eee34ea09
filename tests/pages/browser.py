"""A headless Chromium for tests, driven through chromedriver, which speaks JSON over HTTP (the WebDriver protocol).

It needs Debian's packages chromium and chromium-driver, or the like. Where they are missing and can be installed (as
root, with apt), they are, once; where they cannot be, `installed` says what is wrong.
"""

import base64
import fcntl
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGES = ("chromium", "chromium-driver")
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
_INSTALLING = 240.0  # seconds that an installation may take
_ANSWERING = 60.0


class NoBrowserError(RuntimeError):
    """There is no Chromium here; says why, and what to install."""


def installed() -> tuple[str, str]:
    """The paths of Chromium and its driver, installed if need be."""
    tried = "" if _found() else _install()
    found = _found()
    if not found:
        raise NoBrowserError(f"needs Chromium and its driver: apt-get install {' '.join(PACKAGES)} ({tried})")
    return found


def _found() -> tuple[str, str] | None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def _install() -> str:
    """One attempt on this machine, by whichever test process comes first; the others wait for it. Says what it did."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "not installed here: that takes root and apt-get"
    lock = Path(tempfile.gettempdir()) / "onward-tests-install-chromium.lock"
    with lock.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if not _found() and not file.read():
            file.write("tried\n")
            file.flush()
            install = ["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES]
            end = time.monotonic() + _INSTALLING
            # Where the first fails, the lists of packages may be missing or old.
            _ = _done(install, end) or (_done(["apt-get", "update"], end) and _done(install, end))
    return f"installing it failed; remove {lock} to have it tried again"


def _done(command: list[str], end: float) -> bool:
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        left = max(1.0, end - time.monotonic())
        return subprocess.run(command, env=quietly, capture_output=True, timeout=left, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class Browser:
    """One window. What the page logged and requested is kept until it is asked for."""

    def __init__(self, port: int, program: str, profile: str) -> None:
        self._port = port
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": program, "args": [*_ARGUMENTS, f"--user-data-dir={profile}"]},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = self._send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self._path = f"/session/{session['sessionId']}"

    def open(self, path: Path) -> None:
        """Open a file and wait until it is loaded."""
        self._post("url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function's body returns on the page."""
        return self._post("execute/sync", {"script": script, "args": list(arguments)})

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._post("goog/cdp/execute", {"cmd": name, "params": parameters})

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
        return [f"{entry['level']}: {entry['message']}" for entry in self._post("se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """The addresses that pages asked for since the last time, but for the browser's own first page."""
        events = [json.loads(entry["message"])["message"] for entry in self._post("se/log", {"type": "performance"})]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent if not each["documentURL"].startswith("chrome")]

    def close(self) -> None:
        """End the browser."""
        self._send("DELETE", self._path)

    def _post(self, what: str, body: dict[str, Any]) -> Any:
        return self._send("POST", f"{self._path}/{what}", body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_ANSWERING)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(answer, dict) and "error" in answer:
            raise RuntimeError(f"{method} {path}: {answer['error']}: {answer['message']}")
        return answer


@contextmanager
def browser() -> Iterator[Browser]:
    """A new Chromium with an empty profile, ended on the way out. NoBrowserError where there is none."""
    program, driver = installed()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process,
    ):
        try:
            window = Browser(_port(process), program, f"{folder}/profile")
            try:
                yield window
            finally:
                window.close()
        finally:
            process.terminate()


def _port(process: "subprocess.Popen[str]") -> int:
    """The port that the driver says it listens on."""
    assert process.stdout is not None
    for said in process.stdout:
        if "started successfully on port" in said:
            return int(said.rstrip(".\n").rpartition(" ")[2])
    raise NoBrowserError(f"the driver ended with code {process.poll()} instead of starting")
