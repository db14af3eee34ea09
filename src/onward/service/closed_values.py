"""Values of a closed set: what is said of one that is none of them, with what may have been meant."""

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import inspect

_ENUM = re.compile(r"^Invalid enum value (.*)$", re.DOTALL)
_FIELD = re.compile(r"^Object contains unknown field `(.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(.*)`$", re.DOTALL)
_STEP = re.compile(r"\[[^\]]*\]|[^.\[\]]+")


def expected_one_of(got: object, allowed: Sequence[str]) -> str:
    """The message for a value that is none of those which are allowed."""
    return f"expected one of {', '.join(allowed)}, got {got!r:.80}{meant(got, allowed)}"


def meant(got: object, allowed: Sequence[str]) -> str:
    """A question whether the nearest of what is allowed was meant; nothing if none is near."""
    small = {each.lower(): each for each in allowed}
    near = difflib.get_close_matches(str(got)[:80].lower(), small, n=1)
    return f"; did you mean {small[near[0]]!r}?" if near else ""


def explained_message(message: str, place: str, kind: Any) -> str:
    """What msgspec says of a value at a place of a type, with what is allowed there, if that is a closed set."""
    if (found := _ENUM.match(message)) is not None:
        allowed = [str(value) for each in _types_at(kind, place) for value in _literals(each)]
        return expected_one_of(found[1].strip("'"), list(dict.fromkeys(allowed))) if allowed else message
    if (found := _FIELD.match(message)) is not None:
        names = [f.encode_name for t in _types_at(kind, place) if isinstance(t, inspect.StructType) for f in t.fields]
        if names:
            told = ", ".join(dict.fromkeys(names))
            return f"there is no field {found[1]!r:.80} here; there are {told}{meant(found[1], names)}"
    return message


def _types_at(kind: Any, place: str) -> list[inspect.Type]:
    """The types that a value at a place such as `[0].reward.aggregate` may have."""
    types = [inspect.type_info(kind)]
    for step in _STEP.findall(place):
        types = [after for each in types for one in _members(each) for after in _after(one, step)]
    return [one for each in types for one in _members(each)]


def _members(kind: inspect.Type) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        yield from _members(kind.type)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _members(each)
    else:
        yield kind


def _after(kind: inspect.Type, step: str) -> list[inspect.Type]:
    if not step.startswith("["):
        return [f.type for f in kind.fields if f.encode_name == step] if isinstance(kind, inspect.StructType) else []
    if isinstance(kind, inspect.ListType):
        return [kind.item_type]
    return [kind.value_type] if isinstance(kind, inspect.DictType) else []


def _literals(kind: inspect.Type) -> Sequence[object]:
    return kind.values if isinstance(kind, inspect.LiteralType) else ()


def validation_message(error: msgspec.ValidationError, kind: Any) -> tuple[str, str | None]:
    """What is wrong with a value of a type, and where in it: also of a field that is missing, or that nobody knows."""
    text, _, end = str(error).rpartition(" - at `$")
    if not text:
        text, end = str(error), ""
    place = end.removesuffix("`").removeprefix(".")
    said = explained_message(text, place, kind)
    if (found := _FIELD.match(text) or _MISSING.match(text)) is not None:
        place = f"{place}.{found[1]}" if place else found[1]
    return said, place or None
