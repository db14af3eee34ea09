"""The page of the service's HTTP interface, made of the OpenAPI document that the service gives out."""

import json
from typing import Any


def http_page() -> str:
    """Every route with its role, parameters, examples and statuses, and the fields of what is sent, as Markdown."""
    from onward.service.limits import Limits
    from onward.service.openapi import openapi_document
    from onward.service.route_table import ROUTES

    document = openapi_document(ROUTES, Limits())
    text = f"# HTTP\n\n{document['info']['description']}\n\n"
    text += (
        "A running server has this as a page at `/docs` and for programs at `/openapi.json`, with its own limits. "
        "The [guide](../service.md) says what the words mean.\n"
    )
    tags: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tags.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    for tag, operations in tags.items():
        text += f"\n## {tag}\n"
        for method, path, operation in operations:
            text += _operation(method, path, operation)
    text += "\n## Types\n"
    for name, schema in document["components"]["schemas"].items():
        text += _schema(name, schema)
    return text


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")


def _operation(method: str, path: str, operation: Any) -> str:
    text = f"\n### {method} {path}\n\n{_line(operation['summary'])}. Role: `{operation['x-role']}`.\n"
    if operation.get("description"):
        text += f"\n{_line(operation['description'])}\n"
    if parameters := operation.get("parameters"):
        text += "\n| parameter | in | type | |\n|---|---|---|---|\n"
        for each in parameters:
            kind = _type(each["schema"])
            text += f"| `{each['name']}` | {each['in']} | {kind} | {_line(each.get('description', ''))} |\n"
    for title, content in (("Request", operation.get("requestBody")), ("Answer", _good(operation))):
        for media in (content or {}).get("content", {}).values():
            kind = _type(media["schema"]) if "schema" in media else ""
            text += f"\n{title}: {kind}\n" if kind else ""
            for example in media.get("examples", {}).values():
                text += f"\n```json\n{json.dumps(example['value'], indent=1, ensure_ascii=False)}\n```\n"
    others = [f"`{status}`" for status in operation["responses"]]
    return text + f"\nStatuses: {', '.join(others)}.\n"


def _good(operation: Any) -> Any:
    return next((answer for status, answer in operation["responses"].items() if status.startswith("2")), None)


def _type(schema: Any) -> str:
    """A schema in a few words; types of their own are links."""
    if isinstance(schema, bool):
        return ""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {})) or 'values'}"
    kind = schema.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _schema(name: str, schema: Any) -> str:
    text = f"\n### {name}\n\n{_line(schema.get('description', ''))}\n"
    properties = schema.get("properties", {})
    if not properties:
        return text
    text += "\n| field | type | default |\n|---|---|---|\n"
    required = schema.get("required", [])
    for field, about in properties.items():
        default = "required" if field in required else ""
        if "default" in about:
            default = f"`{json.dumps(about['default'], ensure_ascii=False)}`"
        text += f"| `{field}` | {_type(about) or 'any'} | {default} |\n"
    return text
