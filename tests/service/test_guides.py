"""The guides of the service, line by line: their shell and client examples are run against a server of their own."""

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from onward import cli
from onward.service.client import Client, ServiceError
from tests.test_readme import joined_quotes
from tools.run_readme import blocks

DOCS = Path(__file__).parents[2] / "docs"
_ADDRESS = "127.0.0.1:8000"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def served(folder: Path, address: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`onward serve` as the guides start it."""
    command = [sys.executable, "-m", "onward", "serve", "--database", "sqlite:///log.db", "--listen", address]
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stderr=log)
        try:
            client, deadline = Client(f"http://{address}", retries=0), time.monotonic() + 180
            while time.monotonic() < deadline:
                try:
                    client.loops()
                    break
                except ServiceError:
                    assert process.poll() is None, (folder / "serve.log").read_text()
                    time.sleep(0.05)
            client.close()
            yield process
        finally:
            process.kill()
            process.wait()


def commands(code: str) -> list[str]:
    """What a block has a reader type, but for what the test does itself: installing and starting the server."""
    lines = joined_quotes(code.replace("\\\n", " ").splitlines())
    return [line for line in lines if line.strip() and not line.startswith(("pip install", "onward serve"))]


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
@pytest.mark.parametrize("pages", [["news_recommender"], ["from_personalizer", "service"]], ids=["news", "service"])
def test_what_guides_say_works(
    pages: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.chdir(tmp_path)
    ran = 0
    with served(tmp_path, address) as process:
        for block in (each for page in pages for each in blocks((DOCS / f"{page}.md").read_text(encoding="utf-8"))):
            code = block.code.replace(_ADDRESS, address)
            if block.language == "py3":
                names: dict[str, Any] = {}
                exec(compile(code, f"line {block.line}", "exec"), names)
                names["client"].close()
            for line in commands(code) if block.language == "sh" else ():
                if line.startswith("onward "):
                    words = shlex.split(
                        re.sub(r"--visitors \d+ --rate \d+", "--visitors 80 --rate 10000", line), comments=True
                    )
                    more = ["--url", f"http://{address}"] if words[1] == "simulate-traffic" else []
                    monkeypatch.setattr(sys, "argv", [*words, *more])
                    with pytest.raises(SystemExit) as left:
                        cli.main()
                    assert left.value.code == 0, (line, capfd.readouterr())
                elif line == "# Ctrl-C":
                    process.send_signal(signal.SIGINT)
                    assert process.wait(20) == 0
                elif not line.startswith("#"):
                    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=180)
                    assert done.returncode == 0, (line, done.stderr, (tmp_path / "serve.log").read_text()[-600:])
                ran += 1
    assert ran >= 6
    assert '"status":5' not in (tmp_path / "serve.log").read_text()
