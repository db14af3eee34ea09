"""What a release is tried with: a shell line for each command, and what is said where an extra is missing."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

LIMIT = 600.0  # seconds that one line may take: the first ones compile

# In this order: later lines read what earlier ones wrote. {url} is a server that runs meanwhile on its database.
LINES = (
    "onward --version",
    "onward fit trips.csv -t fare --categorical city --save auto.onward --report fit.html --predictions past.csv",
    "onward fit trips.csv -t fare --categorical city --learner ridge --save one.onward",
    "onward fit held-out.csv -t fare --categorical city --learner ridge --save two.onward",
    "onward merge one.onward two.onward --save both.onward",
    "onward compare trips.csv -t fare --categorical city --report compare.html",
    "onward predict both.onward new.csv --out predictions.parquet",
    "onward score both.onward held-out.csv",
    "onward show both.onward",
    "onward export both.onward --format sql --out both.sql",
    "onward evaluate log.parquet -p 'linucb alpha=1' -p random",
    "onward simulate -p linucb -p lints --rounds 100 --repeats 2 --plot regret.png",
    "onward reproduce figure1 --quick --repeats 2 --jobs 1 --out paper",
    "onward explore --out explorer.html --no-browser",
    "onward warm-up regression",
)
SERVED_LINES = ("onward simulate-traffic --url {url} --visitors 40 --rate 1000",)
SERVED_PAGES = ("/", "/docs", "/metrics", "/healthz", "/openapi.json")
SERVICE_LINES = (
    "onward service tokens add shop --role decide --database sqlite:///smoke.db",
    "onward service tokens list --database sqlite:///smoke.db",
    "onward service tokens remove shop --database sqlite:///smoke.db",
    "onward service backup backup.db --database sqlite:///smoke.db",
    "onward service restore backup.db --database sqlite:///restored.db",
    "onward service replay --database sqlite:///restored.db",
    "onward service prune --older-than 90d --database sqlite:///smoke.db",
    "onward service delete-subject nobody --database sqlite:///smoke.db",
    "onward warm-up service",
)
SERVE = "onward serve --database sqlite:///smoke.db"
# Shell lines with what they end in where an extra is missing, by the extra.
REFUSALS = {
    "serve": (
        ("onward serve", 'which is not installed: pip install "onward[serve]"'),
        ("onward service tokens list", 'which is not installed: pip install "onward[serve]"'),
        ("onward simulate-traffic", 'which is not installed: pip install "onward[serve]"'),
        ("onward warm-up service", 'the service is not installed: pip install "onward[serve]"'),
        ("python -c 'import onward.service'", 'which is not installed: pip install "onward[serve]"'),
    ),
    "river": (("python -c 'import onward.integrations.river'", 'needs river: pip install "onward[river]"'),),
    "gymnasium": (
        ("python -c 'import onward.integrations.gymnasium'", 'needs gymnasium: pip install "onward[gymnasium]"'),
    ),
    "dask": (
        (
            "onward fit trips.csv -t fare --categorical city --learner ridge --backend dask --jobs 1",
            "dask is not installed; install it with: pip install 'onward[dask]'",
        ),
    ),
    "ray": (
        (
            "python -c 'from onward.scale import Engine; Engine(backend=\"ray\")'",
            "ray is not installed; install it with: pip install 'onward[ray]'",
        ),
    ),
}
# With the extra these go well: the lines above but those that serve, which the lines of the service try.
EXTRA_LINES = {extra: tuple(line for line, _ in lines) for extra, lines in REFUSALS.items() if extra != "serve"}


class FailedError(Exception):
    """A line that did not do what it should, with what it said."""


class Shell(NamedTuple):
    """Where shell lines are run: a folder that is not the repository, with the commands of one environment."""

    folder: Path
    venv: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA_", "VIRTUAL"))
        }
        return kept | {"PATH": f"{self.venv / 'bin'}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}

    def run(self, line: str, folder: Path | None = None, **more: str) -> str:
        """What a line says; FailedError if it fails."""
        code, said = self.try_line(line, folder, **more)
        if code != 0:
            raise FailedError(f"ended with {code}\n{said}")
        return said

    def try_line(self, line: str, folder: Path | None = None, **more: str) -> tuple[int, str]:
        """The exit code of a line, and what it says."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=folder or self.folder,
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        return done.returncode, done.stdout

    def start(self, line: str) -> "Running":
        """A line that goes on until it is stopped."""
        said = (self.folder / "said.txt").open("w+b")
        child = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", line],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        return Running(child, Path(said.name))


class Running(NamedTuple):
    """A line that runs, and the file of what it says."""

    child: "subprocess.Popen[bytes]"
    said: Path

    def wait_for(self, is_ready: "Ready") -> None:
        """Wait until it is ready; FailedError if it ends, or takes too long."""
        until = time.monotonic() + LIMIT
        while not is_ready(self):
            if self.child.poll() is not None or time.monotonic() > until:
                raise FailedError(f"not ready; exit code {self.child.poll()}\n{self.said.read_text()}")
            time.sleep(0.2)

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it as Ctrl-C does; FailedError if it does not end in order."""
        os.killpg(self.child.pid, number)
        code = self.child.wait(60)
        if code not in (0, 128 + number, -number):  # a shell whose pipe was stopped ends by the same signal
            raise FailedError(f"stopped, it ended with {code}\n{self.said.read_text()}")

    def kill(self) -> None:
        """End whatever is left of it."""
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()


class Ready:
    """Whether a running line does what it is for: it has said something, or a page of its server answers."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url

    def __call__(self, running: Running) -> bool:
        if self.url is None:
            return running.said.stat().st_size > 0
        try:
            return fetch(f"{self.url}/readyz") == 200
        except (urllib.error.URLError, OSError):
            return False


def fetch(url: str) -> int:
    """The status code of a page."""
    with urllib.request.urlopen(url, timeout=30.0) as answer:
        return int(answer.status)


def free_address() -> str:
    """An address of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def goes_on(line: str) -> bool:
    """Whether a line of a page goes on until it is stopped: a server, or a file that is followed."""
    return re.match(r"onward serve\b", line) is not None or re.search(r"\btail\b.* -f\b", line) is not None


def run_until_stopped(shell: Shell, line: str) -> None:
    """Start a line that goes on, see that it does what it is for, stop it as Ctrl-C does, and see what it has saved."""
    url, saved = None, re.search(r" --save (\S+)", line)
    for path in [shell.folder / saved.group(1)] if saved else []:
        path.unlink(missing_ok=True)
    if line.startswith("onward serve"):
        address = free_address()
        line, url = f"{line.split(' #')[0].rstrip()} --listen {address}", f"http://{address}"
    running = shell.start(line)
    try:
        running.wait_for(Ready(url))
        running.stop()
    finally:
        running.kill()
    if saved:
        shell.run(f"onward show {saved.group(1)}")


def serve_and_call(shell: Shell) -> None:
    """Run the lines that call a server while one runs, and look at its pages."""
    address = free_address()
    running = shell.start(f"exec {SERVE} --listen {address}")
    try:
        running.wait_for(Ready(f"http://{address}"))
        for line in SERVED_LINES:
            shell.run(line.format(url=f"http://{address}"))
        for page in SERVED_PAGES:
            fetch(f"http://{address}{page}")
        running.stop(signal.SIGTERM)
    finally:
        running.kill()


def command_of(line: str, known: Iterable[str]) -> str | None:
    """The command that a line runs, with those it is under: "service tokens add"."""
    found = [name for name in known if re.match(rf"onward {re.escape(name)}(?= |$)", line)]
    return max(found, key=len, default=None)


def commands_without_line(known: Iterable[str]) -> list[str]:
    """The commands that no line tries."""
    names = list(known)
    tried = {command_of(line, names) for line in (*LINES, SERVE, *SERVED_LINES, *SERVICE_LINES)}
    return sorted(set(names) - tried)


def refused(shell: Shell, line: str, words: str) -> None:
    """See that a line fails with one clear line at its end; FailedError if not."""
    code, said = shell.try_line(line)
    last: Mapping[int, str] = dict(enumerate(said.strip().splitlines()[-1:]))
    if code == 0 or words not in last.get(0, ""):
        raise FailedError(f"ended with {code}, expected an error that ends in: {words}\n{said}")
