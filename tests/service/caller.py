"""Calls an ASGI application without a network."""

import asyncio
import json
from typing import Any, NamedTuple

from onward.service.access import Access
from onward.service.application import Application
from onward.service.limits import Limits
from onward.service.request_log import RequestLog
from onward.service.request_metrics import RequestMetrics
from onward.service.route_table import ROUTES
from onward.service.serving import Serving


class Got(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def make_application(service: Serving, access: Access | None = None, **limits: Any) -> Application:
    return Application(
        service,
        ROUTES,
        access=access or Access(open_without_tokens=True),
        limits=Limits(**limits),
        log=RequestLog(level=100),
        metrics=RequestMetrics(),
    )


class Caller:
    """Keeps an application and an event loop."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        self.application.evaluator.close()
        self._loop.close()

    def __call__(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, parts: int = 1
    ) -> Got:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self._loop.run_until_complete(self.call(method, path, data, headers or {}, parts))

    async def call(self, method: str, path: str, data: bytes, headers: dict[str, str], parts: int = 1) -> Got:
        raw, _, query = path.partition("?")
        given = {"host": "127.0.0.1:8000", **({"content-type": "application/json"} if data else {}), **headers}
        scope = {
            "type": "http",
            "method": method,
            "path": raw,
            "raw_path": raw.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given.items()],
            "client": ("127.0.0.1", 1234),
        }
        size = -(-len(data) // parts) or 1
        pieces = [data[start : start + size] for start in range(0, len(data), size)] or [b""]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not pieces:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.application(scope, receive, send)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Got(sent[0]["status"], told, b"".join(each.get("body", b"") for each in sent[1:]))
