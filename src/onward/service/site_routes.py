"""What is answered about the server itself."""

from typing import Any

import msgspec

from onward.service.answer_types import Health
from onward.service.application import Call
from onward.service.openapi import openapi_document
from onward.service.request_metrics import CONTENT_TYPE
from onward.service.routes import Reply

_encode = msgspec.json.Encoder().encode


async def healthz(call: Call) -> Any:
    """Whether the server lives."""
    return Health("ok")


async def readyz(call: Call) -> Any:
    """Whether it can serve: the database can be reached, and the loops are loaded."""
    reason = await call.service.ready()
    if reason is None:
        return Health("ok")
    if not call.application.access.is_open:
        # Anybody may ask, and the reason may name hosts and loops.
        reason = "the database cannot be used just now, or a loop cannot be loaded: the server's log says which"
    return Reply(_encode(Health("unready", reason)), b"application/json", 503)


async def metrics(call: Call) -> Any:
    """Numbers for Prometheus."""
    return Reply(call.application.metrics.text(), CONTENT_TYPE)


async def openapi(call: Call) -> Any:
    """What there is, for programs."""
    pages = call.application.pages
    if "openapi" not in pages:
        pages["openapi"] = _encode(openapi_document(call.application.routes, call.application.limits))
    return Reply(pages["openapi"], b"application/json")


async def docs(call: Call) -> Any:
    """What there is, for people."""
    pages = call.application.pages
    if "docs" not in pages:
        from onward.service.docs_page import docs_page  # pages load what draws, which a server need not wait for

        pages["docs"] = docs_page(openapi_document(call.application.routes, call.application.limits)).encode()
    return Reply(pages["docs"], b"text/html; charset=utf-8")


async def page(call: Call) -> Any:
    """What the loops do, for people."""
    pages = call.application.pages
    if "loops" not in pages:
        from onward.service.loops_page import loops_page

        pages["loops"] = loops_page().encode()
    return Reply(pages["loops"], b"text/html; charset=utf-8")
