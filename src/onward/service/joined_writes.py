"""Answers that leave in one packet: uvicorn writes the head and the body of each by themselves.

A write to a socket costs as much as a third of a decision, and wakes whoever reads it.
"""

import asyncio
import http
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onward.service.application import BODY_IS_HERE
from onward.service.http_errors import HttpError, error_body

MOST_HEAD_BYTES = 65_536
HEAD_SECONDS = 20.0
_MOST_HELD = 65_536  # bytes that wait for more


class JoinedWrites:
    """A transport that writes at once what was written before the event loop goes on. All else is the transport's."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._size = 0
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Write soon, in order."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > _MOST_HELD:
            self._flush()

    def close(self) -> None:
        """Write what is held, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held, self._size = self._held, [], 0
        if held and not self.is_closing():
            self._transport.write(b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class JoinedHttp(HttpToolsProtocol):
    """uvicorn's protocol, writing to such a transport; heads of requests may be so large, and take so long.

    Before its head is there nobody knows whose a request is, so that anybody could fill memory or hold connections.
    """

    _head_timer: asyncio.TimerHandle | None = None  # until the head is there
    _head_size = 0
    _is_in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin with a connection."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """End with a connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        self._head_size = self._head_size + len(data) if self._is_in_head else len(data)
        super().data_received(data)
        if not self._is_in_head:
            if self._head_timer is not None:
                self._stop_timer()
        elif self._head_size > MOST_HEAD_BYTES:
            told = f"expected at most {MOST_HEAD_BYTES:,} bytes of path and headers, got more"
            self._refuse(HttpError(431, "head_too_large", told))
        elif self._head_timer is None:  # a later request of this connection
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head of a request is there."""
        self._is_in_head = False
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, as everything is refused."""
        self._refuse(HttpError(400, "malformed_request", msg))

    def _give_up(self) -> None:
        self._head_timer = None
        told = f"expected a request within {HEAD_SECONDS:g} s of the connection or of its first byte, got none"
        self._refuse(HttpError(408, "head_too_slow", told))

    def _refuse(self, error: HttpError) -> None:
        self._stop_timer()
        if self.transport.is_closing():
            return
        body = error_body(error)
        head = f"HTTP/1.1 {error.status} {http.HTTPStatus(error.status).phrase}\r\ncontent-type: application/json\r\n"
        told = f"content-length: {len(body)}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
        self.transport.write((head + told).encode() + body)
        self.transport.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def on_message_complete(self) -> None:
        """Note that all of a request is there."""
        self.scope[BODY_IS_HERE] = True  # type: ignore[literal-required]
        super().on_message_complete()
