"""All of a loop as bytes: MessagePack behind a checksum."""

import hashlib
import math
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from onward.bandits.buffer_checks import LARGEST
from onward.service.configuration import LoopConfig, ModelConfig
from onward.service.entry_checks import is_chance
from onward.service.loop_statistics import FIRST_BIN, Sums
from onward.service.waiting import Waiting, are_scales
from onward.storage import StorageError, brief

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
    held: dict[str, Waiting] = {}


encode_rest = msgspec.msgpack.Encoder().encode


def decode_rest(data: msgspec.Raw) -> Rest:
    """What `encode_rest` packed; StorageError if it is something else."""
    try:
        rest = msgspec.msgpack.decode(data, type=Rest)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StorageError(f"a snapshot is of another kind: {brief(str(error))}") from error
    _check(rest)
    return rest


def _check(rest: Rest) -> None:
    """StorageError if numbers are none that a loop can have."""
    sums, most_bytes = rest.sums, 8 * len(rest.features)
    parts = [*sums.bins, *sums.actions.values(), sums.matched, sums.shadow]
    numbers = [
        *(each for part in parts for each in msgspec.structs.astuple(part)),
        *(each for pair in (*sums.recent, *sums.changes) for each in pair),
        *(each for each in msgspec.structs.astuple(sums) if isinstance(each, float)),
    ]
    if not all(abs(each) < LARGEST for each in numbers) or not sums.bin_width >= FIRST_BIN:
        raise StorageError("a snapshot has sums that are no numbers")
    squares = [sums.spread, sums.error, sums.error_of_mean, sums.weight]
    squares += [each.squares for each in sums.bins] + [each.weights for each in (sums.matched, sums.shadow)]
    counts = [each for part in (sums, *parts) for each in msgspec.structs.astuple(part) if isinstance(each, int)]
    counts += [rest.seq, rest.version, *sums.counts.values()]
    if min(counts) < 0 or min(squares) < 0.0 or sums.place >= max(len(sums.recent), 1):
        raise StorageError("a snapshot has counts or sums of squares below 0, or a place that is none")
    for event, each in (*rest.waiting.items(), *rest.held.items()):
        numbers = [each.at, each.estimate, each.gain, each.value]
        chances = each.probability, each.policy_probability, each.shadow or 0.0
        are_numbers = all(abs(number) < LARGEST for number in numbers) and math.isfinite(each.deadline)
        if not (are_numbers and all(map(is_chance, chances))):
            raise StorageError(f"a snapshot has a decision with numbers that none has: {event!r:.80}")
        if not (0 < each.seq <= rest.seq and each.count >= 0 and are_scales(each.scales)):
            raise StorageError(f"a snapshot has a decision with counts that none has: {event!r:.80}")
        if len(each.row) % 8 or len(each.row) > most_bytes or not np.isfinite(np.frombuffer(each.row)).all():
            raise StorageError(f"a snapshot has a decision with features that the loop has not: {event!r:.80}")


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
        raise StorageError(f"a snapshot is of another kind: {brief(str(error))}") from error
