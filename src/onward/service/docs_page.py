"""/docs: the OpenAPI document as a page that needs nothing but itself."""

import json
from typing import Any

from onward.pages.page import render_page


def docs_page(document: dict[str, Any]) -> str:
    """The page's text."""
    info = document["info"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(_shown(method.upper(), path, operation))
    schemas = {name: _fields(schema) for name, schema in sorted(document["components"]["schemas"].items())}
    description = "What can be asked of this server, with examples."
    return render_page("service/docs_page.html", info["title"], description, info=info, groups=groups, schemas=schemas)


def _shown(method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    responses = operation["responses"]
    first = next(status for status in responses if status < "300")
    given = [_example(responses[first].get("content", {}))]
    asked = _example(operation.get("requestBody", {}).get("content", {}))
    return {
        "id": operation["operationId"],
        "method": method,
        "path": path,
        "summary": operation["summary"],
        "description": operation.get("description", ""),
        "role": operation["x-role"],
        "parameters": [(each["name"], each["in"], each["description"]) for each in operation.get("parameters", [])],
        "asks": _references(operation.get("requestBody", {}).get("content", {})),
        "gives": _references(responses[first].get("content", {})),
        "status": first,
        "curl": _curl(method, path, asked),
        "answer": given[0],
        "errors": [(status, each["description"]) for status, each in responses.items() if status != first],
    }


def _example(content: dict[str, Any]) -> str:
    for each in content.values():
        if "examples" in each:
            return json.dumps(each["examples"]["example"]["value"], ensure_ascii=False)
    return ""


def _curl(method: str, path: str, body: str) -> str:
    for name, value in {"loop": "news", "model": "prices", "version": "v1.1-preview.3", "event": "e1"}.items():
        path = path.replace(f"{{{name}}}", value)
    verb = "" if method == "GET" or (method == "POST" and body) else f"-X {method} "
    said = f" \\\n  -H 'content-type: application/json' \\\n  -d '{body}'" if body else ""
    return f"curl {verb}http://127.0.0.1:8000{path}{said}"


def _references(content: dict[str, Any]) -> list[str]:
    """The names of the schemas that a body has."""
    found: list[str] = []
    for each in content.values():
        schema = each["schema"]
        for way in (schema, *schema.get("anyOf", [])):
            name = way.get("$ref", "").rpartition("/")[2]
            if name and name not in found:
                found.append(name)
    return found


def _fields(schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    rows = [
        (name, _kind(part), "required" if name in required else _default(part), part.get("description", ""))
        for name, part in schema.get("properties", {}).items()
    ]
    return {"description": schema.get("description", ""), "rows": rows}


def _default(part: dict[str, Any]) -> str:
    return f"default {json.dumps(part['default'], ensure_ascii=False)}" if "default" in part else "optional"


def _kind(part: dict[str, Any]) -> str:
    if "$ref" in part:
        return str(part["$ref"].rpartition("/")[2])
    if "anyOf" in part:
        return " or ".join(_kind(each) for each in part["anyOf"])
    if "enum" in part:
        return " | ".join(json.dumps(each) for each in part["enum"])
    if part.get("type") == "array":
        return f"list of {_kind(part['items'])}" if isinstance(part.get("items"), dict) and part["items"] else "list"
    kind = part.get("type", "any value")
    bounds = [f"{sign} {part[word]}" for word, sign in _BOUNDS.items() if word in part]
    return " ".join([str(kind), *bounds])


_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
