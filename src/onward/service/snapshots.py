"""All of a loop as bytes: MessagePack behind a checksum."""

import hashlib
from typing import Any, Literal, TypeVar

import msgspec

from onward.service.configuration import LoopConfig, ModelConfig
from onward.service.loop_statistics import Sums
from onward.service.waiting import Waiting
from onward.storage import StorageError

_MAGIC = b"onward service 1\n"
T = TypeVar("T")
_CHECK = hashlib.sha256().digest_size


class Snapshot(msgspec.Struct):
    """A loop: its policies, and all else, packed."""

    learner: bytes
    shadow: tuple[dict[str, Any], bytes] | None
    rest: msgspec.Raw


class Rest(msgspec.Struct):
    """What a loop is made of beside its policies."""

    name: str
    config: LoopConfig
    seq: int
    version: int
    features: list[tuple[str, str]]
    waiting: dict[str, Waiting]
    finished: dict[str, Literal["already", "late"]]
    sums: Sums
    alarm: bytes
    installed: dict[str, int]


encode_rest = msgspec.msgpack.Encoder().encode


def decode_rest(data: msgspec.Raw) -> Rest:
    """What `encode_rest` packed; StorageError if it is something else."""
    try:
        return msgspec.msgpack.decode(data, type=Rest)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageError(f"a snapshot is of another kind: {error}") from error


class ModelSnapshot(msgspec.Struct):
    """What a regression model of the service is made of."""

    name: str
    config: ModelConfig
    seq: int
    version: int
    features: list[tuple[str, str]]
    learner: bytes
    refused: int


def pack(snapshot: Snapshot | ModelSnapshot) -> bytes:
    """The bytes of a snapshot."""
    body = msgspec.msgpack.encode(snapshot)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(data: bytes, kind: type[T]) -> T:
    """What `pack` packed; StorageError if it is damaged or something else."""
    start = len(_MAGIC) + _CHECK
    if not data.startswith(_MAGIC):
        raise StorageError(f"a snapshot begins with {_MAGIC!r}, got {data[: len(_MAGIC)]!r}")
    if hashlib.sha256(data[start:]).digest() != data[len(_MAGIC) : start]:
        raise StorageError("a snapshot is damaged: its checksum does not fit")
    try:
        return msgspec.msgpack.decode(data[start:], type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageError(f"a snapshot is of another kind: {error}") from error
