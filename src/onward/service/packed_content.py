"""What an entry says as the bytes that the store holds: MessagePack, or JSON where only that can hold a number.

Most of a log are the features of all actions of all decisions. Where these are numbers of the same names, as they
mostly are, names are there once and numbers as they are in memory: half of what JSON takes.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from onward.service.entries import Action, AnyContent, Decide, from_json, to_json

_FLOATS = {float}


class _Tabled(NamedTuple):
    """A decision whose actions are a table."""

    content: AnyContent  # without actions, ...
    ids: list[str]
    names: list[str]
    values: bytes  # a row for each action, little-endian float64
    has_row_of_action: bool  # ... and without `row`, if that is what the chosen action has


_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], AnyContent] = msgspec.msgpack.Decoder(AnyContent).decode
_decode_tabled = msgspec.msgpack.Decoder(_Tabled).decode


def pack(content: AnyContent) -> bytes:
    """A content as the store holds it."""
    try:
        return _encode(_tabled(content) or content)
    except OverflowError:  # a whole number of more than 64 bits
        return to_json(content)


def unpack(body: bytes) -> AnyContent:
    """The content that `pack` packed."""
    if body[0] == 0x7B:  # a brace, which no object of MessagePack begins with
        read: AnyContent = from_json(body)
        return read
    if body[0] & 0xF0 != 0x90:
        return _decode(body)
    content, ids, names, values, has_row_of_action = _decode_tabled(body)
    assert isinstance(content, Decide)
    width = len(names)
    numbers = struct.unpack(f"<{len(ids) * width}d", values)
    actions = [
        Action(each, dict(zip(names, numbers[place * width : (place + 1) * width], strict=True)))
        for place, each in enumerate(ids)
    ]
    row = _not_zero(actions[content.chosen]) if has_row_of_action else content.row
    return msgspec.structs.replace(content, actions=actions, row=row)


def _tabled(content: AnyContent) -> _Tabled | None:
    """A decision whose actions have floats of the same names in the same order; None for all else."""
    if type(content) is not Decide or not content.actions:
        return None
    actions = content.actions
    names = list(actions[0].features)
    values: list[float] = []
    for action in actions:
        if list(action.features) != names:
            return None
        values += action.features.values()
    if set(map(type, values)) != _FLOATS:  # whole numbers stay whole, true stays true
        return None
    same = content.row == _not_zero(actions[content.chosen])
    rest = msgspec.structs.replace(content, actions=[], row={} if same else content.row)
    packed = struct.pack(f"<{len(values)}d", *values)
    return _Tabled(rest, [action.id for action in actions], names, packed, same)


def _not_zero(action: Action) -> dict[str, float]:
    return {name: value for name, value in action.features.items() if value}
