"""`onward simulate-traffic`, as one types it."""

import socket

import pytest

from tests.cli.conftest import Run
from tests.service.caller import make_application
from tests.service.live_server import serving
from tests.service.memory_service import MemoryService


def test_the_command_shows_clicks_beside_the_best_and_chance(run: Run) -> None:
    with serving(make_application(MemoryService())) as url:
        code, out, err = run("simulate-traffic", "--url", url, "--loop", "n", "--visitors", "40", "--rate", "10000")
    assert (code, err) == (0, "")
    assert "Made the loop n at" in out
    assert "40 visitors" in out
    assert "of the best" in out
    assert "of chance" in out


def test_where_no_server_is_the_command_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    code, _, err = run("simulate-traffic", "--url", f"http://127.0.0.1:{port}")
    assert code == 1
    assert "does not answer" in err
    code, _, err = run("simulate-traffic", "--url", "nowhere")
    assert code == 1
    assert "expected a URL" in err
