"""Answers in one packet: nothing is lost, nothing changes places, and slow bodies are still watched."""

import asyncio
import json
import re
import socket
import time
from typing import Any

import pytest

from onward.service import joined_writes
from onward.service.joined_writes import JoinedWrites
from tests.service.caller import make_application
from tests.service.live_server import serving
from tests.service.memory_service import MemoryService


class Transport:
    """A transport that remembers what was written to it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def get_extra_info(self, name: str) -> str:
        return name


def test_what_is_written_in_one_step_is_one_write() -> None:
    async def work() -> None:
        transport: Any = Transport()
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        joined.write(b"head ")
        joined.write(b"body")
        assert transport.written == []
        await asyncio.sleep(0)
        assert transport.written == [b"head body"]
        joined.write(b"x" * 40_000)
        joined.write(b"y" * 40_000)
        assert transport.written[1:] == [b"x" * 40_000 + b"y" * 40_000]  # it does not pile up
        joined.write(b"z")
        await asyncio.sleep(0)
        assert transport.written[2:] == [b"z"]
        assert joined.get_extra_info("socket") == "socket"

    asyncio.run(work())


def test_what_was_written_before_closing_is_sent_and_nothing_after() -> None:
    async def work() -> None:
        transport: Any = Transport()
        joined = JoinedWrites(transport, asyncio.get_running_loop())
        joined.write(b"last words")
        joined.close()
        assert (transport.written, transport.is_closed, joined.is_closing()) == ([b"last words"], True, True)
        joined.write(b"more")
        await asyncio.sleep(0)
        assert transport.written == [b"last words"]

    asyncio.run(work())


def told(url: str, sent: bytes) -> bytes:
    """All that a server says to these bytes until it closes, or says nothing for a while."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=3.0) as connection:
        connection.sendall(sent)
        got = b""
        try:
            while piece := connection.recv(65_536):
                got += piece
        except TimeoutError:
            pass
    return got


@pytest.mark.parametrize("sent", ["{", ""])
def test_a_body_that_does_not_come_is_not_waited_for(sent: str) -> None:
    application = make_application(MemoryService(), body_seconds=0.2)
    with serving(application) as url:
        head = (
            "POST /v1/loops/news/decide HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9\r\n\r\n"
        )
        assert b" 408 " in told(url, (head + sent).encode()).splitlines()[0]


HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def refused(got: bytes) -> tuple[int, str]:
    """The status and code of an answer in the shape of all errors, after which the connection is closed."""
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head
    assert b"connection: close" in head
    error = json.loads(body)["error"]
    assert list(error) == ["code", "message", "field"]
    return int(head.split(b" ")[1]), error["code"]


@pytest.mark.parametrize("before", [b"", HEAD + b"\r\n"])
@pytest.mark.parametrize("sent", [b"", HEAD])
def test_a_head_that_does_not_come_is_not_waited_for(
    sent: bytes, before: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined_writes, "HEAD_SECONDS", 0.3)
    with serving(make_application(MemoryService())) as url:
        began = time.monotonic()
        got = told(url, before + sent)
        if before and not sent:
            assert time.monotonic() - began > 2.5  # a connection between two requests stays
            return
        assert time.monotonic() - began < 2.5
        assert got.startswith(b"HTTP/1.1 200 ") == bool(before)
        assert refused(got[got.rindex(b"HTTP/1.1 ") :]) == (408, "head_too_slow")


def test_a_head_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_writes, "MOST_HEAD_BYTES", 3000)
    with serving(make_application(MemoryService())) as url:
        assert refused(told(url, HEAD + b"X-A: " + b"a" * 3000)) == (431, "head_too_large")
        assert refused(told(url, HEAD + b"X-A: b\r\n" * 400)) == (431, "head_too_large")
        body = b'{"event_id":"' + b"e" * 9000
        large = b"POST /v1/loops/news/rewards HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        got = told(url, large + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert b" 400 " in got.splitlines()[0]  # a body has limits of its own


@pytest.mark.parametrize("connection", [b"close", b"keep-alive"])
@pytest.mark.parametrize(("path", "status"), [(b"/v1/loops/news/decide", b"413"), (b"/nowhere", b"404")])
def test_whoever_sends_a_large_body_reads_what_is_wrong(path: bytes, status: bytes, connection: bytes) -> None:
    """Closed before all of it is there, the client would find a broken pipe in place of the answer."""
    size = 20_000_000
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nConnection: %b\r\nContent-Length: %d\r\n\r\n" % (
        path,
        connection,
        size,
    )
    with serving(make_application(MemoryService())) as url:
        got = told(url, head + b" " * size + HEAD + b"Connection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [status] + [b"200"] * (connection == b"keep-alive")


@pytest.mark.parametrize("connection", [b"close", b"keep-alive"])
def test_the_rest_of_a_body_is_not_waited_for_without_end(connection: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_writes, "REST_SECONDS", 0.3)
    head = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: %b\r\nContent-Length: 99\r\n\r\n" % connection
    with serving(make_application(MemoryService())) as url:
        began = time.monotonic()
        assert b" 404 " in told(url, head + b"x").splitlines()[0]
        assert 0.25 < time.monotonic() - began < 2.5


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_the_shape_of_all_errors(sent: bytes) -> None:
    with serving(make_application(MemoryService())) as url:
        assert refused(told(url, sent)) == (400, "malformed_request")


def test_requests_that_come_at_once_are_answered_in_order() -> None:
    with serving(make_application(MemoryService())) as url:
        asks = [
            "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        ]
        got = told(url, "".join(asks).encode())
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"200", b"404", b"200"]
    assert got.count(b"unknown_path") == 1
