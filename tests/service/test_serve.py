"""`onward serve` as a process: it starts, answers, stops in order, and goes on where it was."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from onward.cli import serve_command
from onward.service.client import Client, ServiceError
from onward.service.configuration import LoopConfig
from onward.service.request_types import PolicyRequest
from onward.service.server import _running, run_server
from onward.service.server_settings import ServerSettings, parse_address, read_settings
from onward.service.store import open_store
from onward.service.tokens import add_token

ACTIONS = [{"id": "a", "features": {"x": 0.3}}, {"id": "b", "features": {"x": 0.7}}]


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server on a port of its own: its address, and its process, which is ended at last."""
    command = [sys.executable, "-m", "onward", "serve", "--database", f"sqlite:///{folder}/log.db"]
    process = subprocess.Popen(
        [*command, "--listen", "127.0.0.1:0", *options],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "error::ResourceWarning"},
    )
    try:
        assert process.stderr is not None
        line = json.loads(process.stderr.readline())["message"]
        assert line.startswith("listening on http://127.0.0.1:"), line
        yield line.split()[2].rstrip(","), process
    finally:
        process.kill()
        process.communicate(timeout=90)


def ended(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    """Stop a server in order; what it logged meanwhile."""
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    return [json.loads(line) for line in err.splitlines()]


def test_it_answers_stops_in_order_and_goes_on_where_it_was_with_tokens(tmp_path: Path) -> None:
    config = tmp_path / "serve.toml"
    config.write_text('[limits]\nactions = 2\n[loops.news]\npolicy = {name = "LinTS", seed = 7}\n[models.prices]\n')
    with serving(tmp_path, "--config", str(config)) as (url, process):
        client = Client(url)
        assert client.loops() == {"loops": ["news"], "models": ["prices"]}
        answers = [client.decide("news", {"hour": 0.1 * n}, ACTIONS, event_id=f"v{n}") for n in range(20)]
        assert client.reward("news", answers[0]["event_id"], 1.0) == "learned"
        given = {each["event_id"]: 0.5 for each in answers}
        assert sorted(client.rewards("news", given).values()) == ["already", *["learned"] * 19]
        assert client.activate("news", "nobody") == "unknown"
        assert client.learn("prices", [{"km": 1.0}], [2.0], event_id="t1")["status"] == "learned"
        assert client.learn("prices", [{"km": 1.0}], [2.0], event_id="t1")["status"] == "already"
        assert set(client.predict("prices", [{"km": 1.0}])[0]) == {"value", "low", "high"}
        with pytest.raises(ServiceError, match="1 to 2 actions") as refused:
            client.decide("news", {}, [*ACTIONS, {"id": "c"}])
        assert (refused.value.status, refused.value.field) == (422, "[0].actions")
        judged = client.evaluate("news", [{"name": "LinUCB"}], methods=["ips", "snips", "dr"])
        assert (judged["events"], judged["left_out"]) == (20, 0)
        assert judged["logged"] == pytest.approx((1.0 + 19 * 0.5) / 20)
        estimates = judged["policies"][0]["estimates"]
        assert [each["method"] for each in estimates] == ["ips", "snips", "dr"]
        for each in estimates:  # the interval is cut to the range of rewards, the estimate is not
            assert 0.5 <= each["low"] <= each["high"] <= 1.0
            assert 0.0 < each["value"] < 1.5
        state = client.state("news")
        client.close()
        lines = ended(process)
    assert {each["message"] for each in lines} == {"request", "stopped"}
    with open_store(f"sqlite:///{tmp_path}/log.db") as store:
        admin, decide = add_token(store, "boss", "admin"), add_token(store, "shop", "decide")
        both = add_token(store, "till", "reward", "decide")
    with serving(tmp_path) as (url, process):
        client, shop, nobody = Client(url, token=admin), Client(url, token=decide), Client(url)
        assert client.state("news")["coefficients"] == state["coefficients"]
        assert shop.decide("news", {}, ACTIONS)["action"] in {"a", "b"}
        till = Client(url, token=both)
        assert till.reward("news", till.decide("news", {}, ACTIONS)["event_id"], 0.5) == "learned"
        till.close()
        for each, status in ((shop, 403), (nobody, 401)):
            with pytest.raises(ServiceError) as refused:
                each.reward("news", "e", 1.0)
            assert refused.value.status == status
            each.close()
        assert client.loop("news")["learned"] == state["learned"] + 1
        assert client.decide("news", {}, ACTIONS, event_id=answers[3]["event_id"]) == answers[3]
        client.close()
        ended(process)


def test_a_request_that_outlasts_a_stop_is_told_so_and_logged(tmp_path: Path) -> None:
    config = tmp_path / "serve.toml"
    config.write_text("stop_seconds = 1\n[loops.news]\n")
    with serving(tmp_path, "--config", str(config)) as (url, process):
        parts = urlsplit(url)
        with socket.create_connection((str(parts.hostname), parts.port or 0), timeout=60) as connection:
            head = "POST /v1/loops/news/rewards HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n"
            connection.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
            assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")  # it is under way
            lines = ended(process)
            answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "unavailable"
    assert [each["status"] for each in lines if each["message"] == "request"] == [503]


def test_without_tokens_it_listens_on_loopback_only(tmp_path: Path) -> None:
    settings = ServerSettings(database=f"sqlite:///{tmp_path}/log.db", listen="0.0.0.0:0")
    with pytest.raises(ValueError, match="there are no tokens in the database"):
        asyncio.run(run_server(settings))


def test_it_starts_again_with_its_file_after_requests_changed_a_loop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loops = {"news": LoopConfig(policy={"name": "LinTS", "seed": 7})}
    settings = ServerSettings(database=f"sqlite:///{tmp_path}/log.db", loops=loops)

    async def work() -> None:
        async with _running(open_store(settings.database), settings) as service:
            await service.install("news", PolicyRequest(policy={"name": "LinUCB"}))
        assert "says otherwise" not in caplog.text
        async with _running(open_store(settings.database), settings) as service:
            assert (await service.summary("news", "loop"))["config"]["policy"] == {"name": "LinUCB"}
        assert "news: the configuration file says otherwise" in caplog.text

    asyncio.run(asyncio.wait_for(work(), 180))


def test_settings_from_a_file_under_those_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "serve.toml"
    path.write_text('listen = "127.0.0.1:1"\nlog_level = "error"\n[limits]\nrate = 5\n[loops.a]\nexplore = 0.5\n')
    settings = read_settings(path, listen="[::1]:2", database=None)
    assert (settings.listen, settings.log_level, settings.limits.rate) == ("[::1]:2", "error", 5.0)
    assert settings.loops["a"].explore == 0.5
    assert parse_address(settings.listen) == ("::1", 2)
    for text, said in (
        ("[limits]\nactoins = 3\n", "no field 'actoins' here; there are .* did you mean 'actions'"),
        ('[loops.a]\nmode = "onlin"\n', "one of apprentice, observe, online, .* mean 'online'.*loops.*mode"),
        ('retain = "soon"\n', "retain must be a number of seconds"),
        ("[loops.a]\nexplore = 2\n", "loops"),
        ("stop_seconds = -1\n", "stop_seconds"),
        ("stop_seconds = nan\n", "stop_seconds"),
        ("stop_seconds = inf\n", "stop_seconds"),
        ("[loops.a]\n[models.a]\n", "each name once"),
        ("listen = ", "expected TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=said):
            read_settings(path)
    for wrong in ("8000", ":8000", "host", "host:", "host:99999", "host:x"):
        with pytest.raises(ValueError, match="HOST:PORT"):
            parse_address(wrong)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "onward.service.server", raising=False)
    with pytest.raises(ImportError, match=r'pip install "onward\[serve\]"'):
        serve_command.command()
