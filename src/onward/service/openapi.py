"""The OpenAPI 3.1 document of a table of routes."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from onward.service.http_errors import ErrorAnswer
from onward.service.limits import Limits
from onward.service.openapi_schemas import REFERENCE, id_schema, schemas_of
from onward.service.parameters import NAME_PATTERN
from onward.service.routes import Route

_ERROR = {"$ref": REFERENCE.format(name="ErrorAnswer")}
_REASONS = {
    400: "The body is no JSON, or the path no UTF-8.",
    401: "A token is needed, and none or another one came.",
    403: "The token does not have the role that is needed, or another site's page asked.",
    404: "There is no such loop, model or event.",
    408: "The body took too long.",
    409: "It cannot be done as things are.",
    413: "The body is too large.",
    415: "The content-type of the body is not application/json.",
    422: "What was sent can be read, but does not fit; `field` says where.",
    429: "Too many requests; Retry-After says when to try again.",
    503: "Not now: too many requests at once, or the database is away. Try again.",
}
_PATH_PARAMETERS = {
    "loop": ("Its name.", {"type": "string", "pattern": f"^{NAME_PATTERN}$"}),
    "model": ("Its name.", {"type": "string", "pattern": f"^{NAME_PATTERN}$"}),
    "version": ("Of Personalizer's interface, such as v1.1-preview.3.", {"type": "string", "minLength": 1}),
}


def openapi_document(routes: Sequence[Route], limits: Limits) -> dict[str, Any]:
    """The document, with the limits that hold here."""
    types = [each for route in routes for each in (route.body, route.answer) if each is not None]
    schemas, components = schemas_of([*types, ErrorAnswer], limits)
    found = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        body = None if route.body is None else next(found)
        answer = None if route.answer is None else next(found)
        if isinstance(body, dict):
            body = _with_batch(body, limits)
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, body, answer, limits)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "onward serve",
            "version": version("onward"),
            "summary": "Decisions and predictions that learn.",
            "description": (
                "Ask for a decision, say what came of it, and the next one is better. Where there are tokens, each "
                "request needs one (`Authorization: Bearer …`) with the role that the route names; admin may do "
                'everything. Errors have one shape: `{"error": {"code", "message", "field"}}`.'
            ),
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, body: Any, answer: Any, limits: Limits) -> dict[str, Any]:
    room = route.handler.__module__.rpartition(".")[2]
    told: dict[str, Any] = {
        "operationId": f"{room.removesuffix('_routes')}_{route.handler.__name__}",
        "summary": route.summary,
        "tags": [_tag(route)],
        "x-role": route.role,
    }
    if route.description:
        told["description"] = route.description
    parameters = [_path_parameter(part[1:-1], limits) for part in route.path.split("/") if part.startswith("{")]
    parameters += [
        {"name": each.name, "in": each.place, "description": each.description, "schema": dict(each.schema)}
        for each in route.parameters
    ]
    if parameters:
        told["parameters"] = parameters
    if body is not None:
        content: dict[str, Any] = {"schema": body}
        if route.asks is not None:
            content["examples"] = {"example": {"value": route.asks}}
        told["requestBody"] = {"required": True, "content": {"application/json": content}}
    if route.role != "open":
        told["security"] = [{"token": []}, {}]
    told["responses"] = _responses(route, answer)
    return told


def _responses(route: Route, answer: Any) -> dict[str, Any]:
    good: dict[str, Any] = {"description": "Done." if answer is None else "The answer."}
    if answer is not None:
        content: dict[str, Any] = {"schema": answer}
        if route.gives is not None:
            content["examples"] = {"example": {"value": route.gives}}
        good["content"] = dict.fromkeys(route.content_types, content)
    responses = {str(route.status): good}
    for status, reason in route.statuses.items():
        own = status < 300 or (status == 503 and route.path == "/readyz")
        responses[str(status)] = good | {"description": reason} if own else _error(reason, route)
    for status in _error_statuses(route):
        responses.setdefault(str(status), _error(_REASONS[status], route))
    return dict(sorted(responses.items()))


def _error(reason: str, route: Route) -> dict[str, Any]:
    schema = _ERROR if route.error_shape is None else {"type": "object", "required": ["error"]}
    return {"description": reason, "content": {"application/json": {"schema": schema}}}


def _error_statuses(route: Route) -> list[int]:
    """What can go wrong, by what a route takes."""
    found = [400, 403]
    if route.role != "open":
        found += [401, 429, 503]
    if "{" in route.path:
        found += [404, 422]
    if route.parameters:
        found.append(422)
    if route.body is not None:
        found += [408, 413, 415, 422]
    if route.method in {"PUT", "DELETE"}:
        found.append(409)
    return sorted(set(found))


def _tag(route: Route) -> str:
    start = route.path.split("/")[1:3]
    return (
        "Loops"
        if "loops" in start
        else "Models"
        if "models" in start
        else {"personalizer": "Personalizer"}.get(start[0], "Server")
    )


def _path_parameter(name: str, limits: Limits) -> dict[str, Any]:
    description, schema = _PATH_PARAMETERS.get(name, ("Of the event.", id_schema(limits)))
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _with_batch(schema: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """One or a list of them: the list has bounds."""
    if "anyOf" not in schema:
        return schema
    ways = [
        each | {"minItems": 1, "maxItems": limits.batch} if each.get("type") == "array" else each
        for each in schema["anyOf"]
    ]
    return {"anyOf": sorted(ways, key=lambda each: each.get("type", ""))}
