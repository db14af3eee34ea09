"""The ASGI application: from the bytes of a request to those of its answer.

A framework's own share of a request is larger than that of a decision, so there is none here: a table of routes
(`route_table`), msgspec for bodies, and this.
"""

import asyncio
import contextlib
import functools
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import msgspec

from onward.service.access import Access, is_loopback
from onward.service.evaluation import Evaluator
from onward.service.http_errors import Header, HttpError, decode_body, error_body
from onward.service.limits import Limits, RateLimit
from onward.service.request_errors import RequestError
from onward.service.request_log import RequestLog
from onward.service.request_metrics import RequestMetrics
from onward.service.routes import Created, Reply, Route, Router, Stream, read_query
from onward.service.serving import Serving
from onward.service.store_errors import StoreError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_IS_HERE = "onward.body_is_here"
"""In a scope: all of the body has come, so that nobody needs to watch how long that takes."""

_JSON = b"application/json"
_encode = msgspec.json.Encoder().encode
_STATUSES = {"unknown_loop": 404, "unknown_model": 404, "unknown_snapshot": 404, "conflict": 409, "unavailable": 503}


class Call:
    """A request, as handlers get it."""

    __slots__ = ("application", "body", "headers", "loop", "parameters", "query", "request_id", "service")

    def __init__(self, application: "Application") -> None:
        self.application = application
        self.service = application.service
        self.parameters: dict[str, str] = {}
        self.query: dict[str, str] = {}
        self.headers: dict[bytes, bytes] = {}
        self.body: Any = None
        self.loop: str | None = None
        self.request_id = ""


class _GoneError(Exception):
    """The client went away before its request was there."""


_NO_LIMIT = contextlib.nullcontext()
_FORWARDED = frozenset((b"x-forwarded-for", b"forwarded", b"x-forwarded-host", b"x-real-ip"))
"""What proxies add: without tokens, whoever is behind one would be taken for this machine."""


class Application:
    """Answers requests by a table of routes."""

    def __init__(
        self,
        service: Serving,
        routes: Sequence[Route],
        *,
        access: Access,
        limits: Limits,
        log: RequestLog,
        metrics: RequestMetrics,
    ) -> None:
        self.service, self.access, self.limits, self.metrics = service, access, limits, metrics
        self.routes = routes
        self.evaluator = Evaluator()
        self.pages: dict[str, bytes] = {}
        """Pages that stay as they are, once they are made."""
        self._log = log
        self._router = Router(routes)
        self._rate = None if limits.rate is None else RateLimit(limits.rate, limits.burst)
        self._start = f"{time.time_ns() // 1000:x}"
        self._count = 0
        self._at_once = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"expected a request of HTTP, got one of {scope['type']}")
        began = time.perf_counter()
        self._count += 1
        self._at_once += 1
        call = Call(self)
        method: str = scope["method"]
        route: Route | None = None
        status = 500
        has_begun = False
        try:
            try:
                headers = call.headers = dict(scope["headers"])
                call.request_id = _request_id(headers) or f"{self._start}-{self._count:x}"
                routes, call.parameters = self._router.find(scope["raw_path"].decode("latin-1"))
                wanted = "GET" if method == "HEAD" else method
                route = routes.get(wanted)
                if route is None:
                    allowed = sorted({*routes, "OPTIONS", *(["HEAD"] if "GET" in routes else [])})
                    raise _other_method(method, allowed)
                self._let_in(route, headers, scope)
                if route.parameters:
                    call.query = read_query(scope["query_string"], route.parameters)
                if route.decode is not None:
                    if headers.get(b"content-type", _JSON) != _JSON:
                        _check_content_type(headers[b"content-type"])
                    call.body = decode_body(route.decode, await self._read(scope, headers, receive), route.body)
                answer = await route.handler(call)
                first = b""
                if type(answer) is Stream and method != "HEAD":
                    first = await anext(answer.pieces, b"")  # before the answer begins: what is wrong can still be said
            except (HttpError, RequestError, StoreError) as error:
                if isinstance(error, StoreError):
                    self._log.warn(str(error), call.request_id)
                wrong = _as_answered(error)
                status = wrong.status
                shape = route.error_shape if route is not None and route.error_shape else error_body
                await _send(send, status, b"" if status == 204 else shape(wrong), _JSON, call.request_id, wrong.headers)
            else:
                assert route is not None
                kind = type(answer)
                if kind is Reply:
                    status = answer.status
                    await _send(send, status, answer.body, answer.content_type, call.request_id, answer.headers)
                elif kind is Stream:
                    status, has_begun = 200, True
                    await _send_pieces(send, answer, first, call.request_id, only_head=method == "HEAD")
                else:
                    status = route.status
                    if kind is Created:
                        status, answer = 201, answer.answer
                    body = b"" if answer is None else _encode(answer)
                    await _send(send, status, body, _JSON, call.request_id)
        except _GoneError:
            status = 499
        except asyncio.CancelledError:  # the server stops, and has waited as long as it may
            status = 503
            if has_begun:
                raise
            shape = route.error_shape if route is not None and route.error_shape else error_body
            await _send(send, status, shape(_stopped()), _JSON, call.request_id, _stopped().headers)
        except Exception as error:
            self._log.failure(error, call.request_id)
            status = 500
            if not has_begun:  # an answer that breaks off is not ended, by which the client knows that it is not whole
                said = f"something went wrong here; the log has it as {call.request_id}"
                await _send(send, 500, error_body(HttpError(500, "internal_error", said)), _JSON, call.request_id)
        finally:
            self._at_once -= 1
            seconds = time.perf_counter() - began
            self.metrics.observe(method, route, status, seconds)
            self._log.request(method, route, status, seconds, call.loop, call.request_id)

    def _let_in(self, route: Route, headers: dict[bytes, bytes], scope: Scope) -> None:
        """HttpError unless this client may ask for this now."""
        token = _token(headers)
        name = self.access.check(token, route.role)
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != headers.get(b"host"):
            raise HttpError(
                403, "other_origin", "expected a request of this server's own pages, got another site's", "origin"
            )
        if self.access.is_open and not _FORWARDED.isdisjoint(headers):
            raise HttpError(
                403, "forwarded", "expected no request that a proxy sends on, as there are no tokens", "x-forwarded-for"
            )
        if self.access.is_open and not _is_own_host(headers.get(b"host", b"localhost")):
            raise HttpError(403, "other_host", "expected a host of this machine, as there are no tokens", "host")
        if self._rate is not None and route.role != "open":
            client = scope.get("client")
            self._rate.take(name or (client[0] if client else ""))
        if self._at_once > self.limits.requests_at_once:
            retry = [(b"retry-after", b"1")]
            raise HttpError(503, "overloaded", "too many requests at once; try again", headers=retry)

    async def _read(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        most = self.limits.body_bytes
        length = headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length[:20]) > most:
            raise _too_large(most)
        try:
            async with _NO_LIMIT if BODY_IS_HERE in scope else asyncio.timeout(self.limits.body_seconds):
                message = await receive()
                body: bytes = message.get("body", b"")
                parts = [body]
                size = len(body)
                while message["type"] == "http.request" and message.get("more_body", False) and size <= most:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
        except TimeoutError:
            raise HttpError(408, "too_slow", f"expected a body within {self.limits.body_seconds:g} s") from None
        if message["type"] == "http.disconnect":
            raise _GoneError
        if size > most:
            raise _too_large(most)
        return body if len(parts) == 1 else b"".join(parts)


def _token(headers: dict[bytes, bytes]) -> str | None:
    """The token that was sent: as a bearer, or as Personalizer's clients send theirs."""
    sent = headers.get(b"authorization")
    if sent is not None:
        scheme, _, token = sent.partition(b" ")
        return token.strip().decode("latin-1") if scheme.lower() == b"bearer" else None
    key = headers.get(b"ocp-apim-subscription-key")
    return None if key is None else key.decode("latin-1")


@functools.lru_cache(maxsize=64)
def _is_own_host(sent: bytes) -> bool:
    """Whether the host that a request names is this machine."""
    host = sent.decode("latin-1")
    return is_loopback(host.partition("]")[0].strip("[") if host.startswith("[") else host.partition(":")[0])


def _request_id(headers: dict[bytes, bytes]) -> str | None:
    """The client's own name for a request, if it is fit for a log."""
    sent = headers.get(b"x-request-id")
    if sent is None or len(sent) > 64 or not sent.replace(b"-", b"").replace(b"_", b"").isalnum():
        return None
    return sent.decode("ascii")


def _check_content_type(sent: bytes) -> None:
    """415 unless it is JSON; where none is told, JSON is what is meant."""
    kind = sent.partition(b";")[0].strip().lower()
    if kind and kind != _JSON:
        said = f"expected a body of content-type application/json, got {kind[:80].decode('latin-1')!r}"
        raise HttpError(415, "other_content_type", said, "content-type", [(b"accept", _JSON)])


def _too_large(most: int) -> HttpError:
    return HttpError(413, "body_too_large", f"expected a body of at most {most:,} bytes, got more")


def _other_method(method: str, allowed: list[str]) -> HttpError:
    header = [(b"allow", ", ".join(allowed).encode())]
    if method == "OPTIONS":
        return HttpError(204, "", "", headers=header)
    said = method[:20]
    return HttpError(405, "other_method", f"expected {' or '.join(allowed)}, got {said}", headers=header)


def _stopped() -> HttpError:
    told = "the server stops; whether this was done is not known: ask again"
    return HttpError(503, "unavailable", told, headers=[(b"retry-after", b"1")])


def _as_answered(error: HttpError | RequestError | StoreError) -> HttpError:
    """What is wrong, as the client is told."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, RequestError):
        return HttpError(_STATUSES.get(error.code, 422), error.code, str(error), error.field)
    if not error.is_transient and not error.is_uncertain:
        told = "what is stored cannot be used; nothing was changed: the server's log says what must be mended first"
        return HttpError(503, "unavailable", told)
    done = "whether it was written is not known" if error.is_uncertain else "nothing was changed"
    said = f"the database cannot be used just now; {done}: ask again"
    return HttpError(503, "unavailable", said, headers=[(b"retry-after", b"1")])


async def _send(
    send: Send, status: int, body: bytes, content_type: bytes, request_id: str, more: Sequence[Header] = ()
) -> None:
    headers = [(b"x-request-id", request_id.encode())]
    if status != 204:
        headers += [(b"content-type", content_type), (b"content-length", b"%d" % len(body))]
    if more:
        headers += more
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _send_pieces(send: Send, answer: Stream, first: bytes, request_id: str, *, only_head: bool) -> None:
    headers = [(b"x-request-id", request_id.encode()), (b"content-type", answer.content_type), *answer.headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if not only_head:
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async for piece in answer.pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
