"""The schemas of the OpenAPI document: those of the types, with what is said of each field, and with the limits."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from onward.core.durations import UNITS
from onward.core.factor import ORDINARY
from onward.service.learner import policy_names
from onward.service.limits import Limits

REFERENCE = "#/components/schemas/{name}"
_DIGITS = r"[0-9]+(\.[0-9]+)?"
_SPAN = {"type": "string", "pattern": rf"^\s*{_DIGITS}\s*({'|'.join(UNITS)})\s*$"}
_NUMBER = {"type": "number", "exclusiveMinimum": -ORDINARY, "exclusiveMaximum": ORDINARY}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0.0}
_NOT_NEGATIVE = {"type": "number", "minimum": 0.0}
_MOMENT = {"type": "string", "format": "date-time"}
_ATTRIBUTE = re.compile(r"^    (\w+): (.+?)(?=^    \w+: |\Z)", re.MULTILINE | re.DOTALL)


def schemas_of(types: Sequence[Any], limits: Limits) -> tuple[list[Any], dict[str, Any]]:
    """The schema of each type, and the components that they refer to, by name."""
    schemas, components = msgspec.json.schema_components(types, ref_template=REFERENCE)
    for kind in _structs(types):
        component, said = components[kind.__name__], _field_descriptions(kind)
        if "description" in component:  # of a docstring, what comes before its arguments and examples
            component["description"] = component["description"].partition("\n\n")[0]
        for field in msgspec.structs.fields(kind):
            if field.name in said:
                component["properties"][field.encode_name]["description"] = said[field.name]
    _limit(components, limits)
    return list(schemas), components


def id_schema(limits: Limits) -> dict[str, Any]:
    """An id, as `Limits.check_id` takes it."""
    return {"type": "string", "minLength": 1, "maxLength": limits.id_length, "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$"}


def _structs(types: Sequence[Any]) -> Iterator[type]:
    """All classes that types hold, each once."""
    seen: set[type] = set()
    left: list[Any] = list(msgspec.inspect.multi_type_info(types))
    while left:
        each = left.pop()
        if isinstance(each, msgspec.inspect.StructType):
            if each.cls not in seen:
                seen.add(each.cls)
                left += [field.type for field in each.fields]
                yield each.cls
        else:
            left += getattr(each, "types", ())
            left += [part for name in ("item_type", "value_type") if (part := getattr(each, name, None)) is not None]


def _field_descriptions(kind: type) -> dict[str, str]:
    """What stands under each field of a class, or else among the attributes of its docstring."""
    attributes = (kind.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    said = dict(_ATTRIBUTE.findall(textwrap.indent(textwrap.dedent(attributes), "    ")))
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    for field, text in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            words = ast.literal_eval(text.value) if isinstance(text.value, ast.Constant) else None
            if isinstance(words, str):
                said[field.target.id] = words
    plain = {name: " ".join(text.split()) for name, text in said.items()}
    return {name: text[0].upper() + text[1:] for name, text in plain.items()}


def _limit(components: dict[str, Any], limits: Limits) -> None:
    """Write into the schemas what they are checked for beyond their types."""
    ident = id_schema(limits)
    features = {
        "type": "object",
        "maxProperties": limits.features,
        "propertyNames": {"maxLength": limits.name_length},
        "additionalProperties": {"type": ["number", "string", "boolean", "null", "object"]},
    }
    policy = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    several = {"type": "array", "minItems": 1, "maxItems": limits.batch}
    actions = {"type": "array", "minItems": 1, "maxItems": limits.actions}
    bounded: dict[str, dict[str, list[dict[str, Any]]]] = {
        "Action": {"id": [ident], "features": [features]},
        "LoopConfig": {"policy": [policy], "retain": [_SPAN, _POSITIVE]},
        "RewardRule": {"wait": [_SPAN, _NOT_NEGATIVE], "default": [_NUMBER]},
        "ModelConfig": {"retain": [_SPAN, _POSITIVE]},
        "DecideRequest": {"context": [features], "actions": [actions], "event_id": [ident], "subject": [ident]},
        "RewardRequest": {"event_id": [ident], "value": [_NUMBER], "reward_id": [ident]},
        "ActivateRequest": {"event_id": [ident]},
        "PolicyRequest": {"policy": [policy], "shadow": [policy], "request_id": [ident]},
        "RankableAction": {"id": [ident]},
        "RankRequest": {"actions": [actions]},
        "RankReward": {"value": [_NUMBER]},
        "EvaluateRequest": {
            "policies": [{"type": "array", "items": policy, "minItems": 1, "maxItems": 10}],
            "methods": [{"type": "array", "minItems": 1, "uniqueItems": True}],
            "since": [_MOMENT],
            "until": [_MOMENT],
        },
        "PredictRequest": {"rows": [several]},
        "LearnRequest": {
            "rows": [several],
            "targets": [several | {"items": _NUMBER}],
            "weights": [several | {"items": _POSITIVE}],
            "event_id": [ident],
        },
    }
    for name, parts in bounded.items():
        for part, narrower in parts.items():
            _narrow(components[name]["properties"][part], narrower)
    components["LoopConfig"]["properties"]["policy"]["description"] += f" Names: {', '.join(policy_names())}."
    components["PolicyRequest"]["oneOf"] = [{"required": [each]} for each in ("policy", "shadow", "snapshot")]


def _narrow(schema: dict[str, Any], narrower: Iterable[dict[str, Any]]) -> None:
    """Write bounds into a schema, or into those of its ways that they are about."""
    for way in schema.get("anyOf", [schema]):
        for more in narrower:
            if way["type"] == more["type"]:
                way |= more
