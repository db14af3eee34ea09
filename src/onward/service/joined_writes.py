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
REST_SECONDS = 20.0
_MOST_HELD = 65_536  # bytes that wait for more


class JoinedWrites:
    """A transport that writes at once what was written before the event loop goes on. All else is the transport's.

    It closes when all of the request has come: whoever is still sending when it closes would not read the answer.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: list[bytes] = []
        self._size = 0
        self.is_closing = transport.is_closing
        self.is_request_whole = True
        self.is_to_close = False

    def write(self, data: bytes) -> None:
        """Write soon, in order."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > _MOST_HELD:
            self._flush()

    def close(self) -> None:
        """Write what is held, and close when the rest of the request is there; asked twice, at once."""
        self._flush()
        if self.is_request_whole or self.is_to_close:
            self._transport.close()
        self.is_to_close = True

    def _flush(self) -> None:
        held, self._held, self._size = self._held, [], 0
        if held and not self.is_closing():
            self._transport.write(b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class JoinedHttp(HttpToolsProtocol):
    """uvicorn's protocol, writing to such a transport; heads of requests may be so large, and take so long.

    Before its head is there nobody knows whose a request is, so that anybody could fill memory or hold connections. And
    whoever is answered before all of a body is there, as too large or without a token, may send the rest, which is
    dropped, for so long.
    """

    _joined: JoinedWrites
    _head_timer: asyncio.TimerHandle | None = None  # until the head is there
    _rest_timer: asyncio.TimerHandle | None = None  # until the rest of a body is there that nobody reads
    _head_size = 0
    _is_in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin with a connection."""
        self._joined = JoinedWrites(transport, self.loop)
        super().connection_made(self._joined)  # type: ignore[arg-type]
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """End with a connection."""
        self._stop_timer()
        self._stop_rest_timer()
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
        self._unset_keepalive_if_required()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head of a request is there."""
        self._is_in_head = self._joined.is_request_whole = False
        super().on_headers_complete()

    def shutdown(self) -> None:
        """Note that the server stops: whatever is still being sent is not waited for."""
        self._joined.is_to_close = True
        super().shutdown()

    def on_response_complete(self) -> None:
        """Note that a request is answered."""
        super().on_response_complete()
        if self.cycle.response_complete and not self._joined.is_request_whole:
            self._rest_timer = self.loop.call_later(REST_SECONDS, self._end)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, as everything is refused."""
        self._refuse(HttpError(400, "malformed_request", msg))

    def _give_up(self) -> None:
        self._head_timer = None
        told = f"expected a request within {HEAD_SECONDS:g} s of the connection or of its first byte, got none"
        self._refuse(HttpError(408, "head_too_slow", told))

    def _refuse(self, error: HttpError) -> None:
        self._stop_timer()
        if self._joined.is_closing():
            return
        body = error_body(error)
        head = f"HTTP/1.1 {error.status} {http.HTTPStatus(error.status).phrase}\r\ncontent-type: application/json\r\n"
        told = f"content-length: {len(body)}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
        self._joined.write((head + told).encode() + body)
        self._end()

    def _end(self) -> None:
        """Close the connection, whatever may still come."""
        self._joined.is_request_whole = True
        self._joined.close()

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def on_message_complete(self) -> None:
        """Note that all of a request is there."""
        self.scope[BODY_IS_HERE] = True  # type: ignore[literal-required]
        self._joined.is_request_whole = True
        super().on_message_complete()
        if self._rest_timer is not None:
            self._stop_rest_timer()
            if self._joined.is_to_close:
                self._joined.close()
            else:  # from now on the connection is silent
                self._unset_keepalive_if_required()
                wait, end = self.timeout_keep_alive, self.timeout_keep_alive_handler
                self.timeout_keep_alive_task = self.loop.call_later(wait, end)

    def _stop_rest_timer(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None
