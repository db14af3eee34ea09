"""A table of routes, and how a request finds its own.

Routing, the check of roles, decoding and the OpenAPI document are all made from the table.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

import msgspec

from onward.service.access import Role
from onward.service.http_errors import Header, HttpError


class Parameter(NamedTuple):
    """A parameter of the query or a header."""

    name: str
    schema: dict[str, Any]
    description: str
    place: str = "query"


class Reply(NamedTuple):
    """An answer that is no JSON value."""

    body: bytes
    content_type: bytes
    status: int = 200
    headers: Sequence[Header] = ()


class Created(NamedTuple):
    """An answer about something that is new: 201."""

    answer: Any


class Stream(NamedTuple):
    """An answer that is sent piece by piece."""

    pieces: Any  # an asynchronous iterator of bytes
    content_type: bytes
    headers: Sequence[Header] = ()


@dataclass(frozen=True)
class Route:
    """What may be asked for, by whom, and who answers."""

    method: str
    path: str
    handler: Callable[[Any], Awaitable[Any]]
    role: Role
    summary: str
    answer: Any = None
    """The type of the answer's body; None: there is none."""
    body: Any = None
    """The type of the request's body; None: there is none, and what comes is not read."""
    description: str = ""
    status: int = 200
    statuses: Mapping[int, str] = field(default_factory=dict)
    """Other statuses that it answers with besides those of all routes, with why."""
    parameters: Sequence[Parameter] = ()
    asks: Any = None
    """An example of the request's body."""
    gives: Any = None
    """An example of the answer's."""
    content_types: Sequence[str] = ("application/json",)
    error_shape: Callable[[HttpError], bytes] | None = None
    """How errors are written, where not as everywhere."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decode", None if self.body is None else msgspec.json.Decoder(self.body).decode)
        object.__setattr__(self, "name", f"{self.method} {self.path}")

    decode: Callable[[bytes], Any] | None = field(init=False, default=None, repr=False, compare=False)
    name: str = field(init=False, default="", compare=False)


class _Node:
    __slots__ = ("literal", "parameter", "parameter_name", "routes")

    def __init__(self) -> None:
        self.literal: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.parameter_name = ""
        self.routes: dict[str, Route] = {}


class Router:
    """Finds the route of a path."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._root = _Node()
        for route in routes:
            node = self._root
            for part in route.path.split("/")[1:]:
                if part.startswith("{"):
                    if node.parameter is None:
                        node.parameter, node.parameter_name = _Node(), part[1:-1]
                    node = node.parameter
                else:
                    node = node.literal.setdefault(part, _Node())
            if route.method in node.routes:
                raise ValueError(f"expected one route for each method and path, got {route.name} twice")
            node.routes[route.method] = route

    def find(self, path: str) -> tuple[Mapping[str, Route], dict[str, str]]:
        """The routes of a path (as it was sent, with escapes) by method, and its parameters; 404 if there are none."""
        node, found = self._root, {}
        for part in path.split("/")[1:]:
            after = node.literal.get(part)
            if after is None:
                after = node.parameter
                if after is None or not part:
                    raise _nowhere()
                found[node.parameter_name] = unescaped(part) if "%" in part else part
            node = after
        if not node.routes:
            raise _nowhere()
        return node.routes, found


def unescaped(text: str) -> str:
    """A part of a path or query without its escapes; 400 if that is no UTF-8."""
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise HttpError(400, "malformed_path", "expected a path in UTF-8, got bytes that are no UTF-8") from None


def read_query(raw: bytes, parameters: Sequence[Parameter]) -> dict[str, str]:
    """The parameters of a query by name; 422 for one that the route does not know."""
    found: dict[str, str] = {}
    known = [each.name for each in parameters if each.place == "query"]
    for pair in raw.decode("latin-1").split("&"):
        if not pair:
            continue
        name, _, value = pair.partition("=")
        name = unescaped(name.replace("+", " "))
        if name not in known:
            expected = ", ".join(known) or "none"
            raise HttpError(
                422, "unknown_parameter", f"expected parameters among: {expected}; got {name[:80]!r}", name[:80]
            )
        found[name] = unescaped(value.replace("+", " "))
    return found


def _nowhere() -> HttpError:
    return HttpError(404, "unknown_path", "there is nothing at this path; /docs says what there is")
