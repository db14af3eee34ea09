"""The file of a journal: what was done to a policy, one record after the other.

It is binary, because a replay must give the same bits, and numbers as text take three times the room and ten times
the time. Layout, all little-endian: 8 bytes of signature, then records. A record is its length (uint32), the CRC-32 of
its contents (uint32) and of these 8 bytes (uint32), and the contents: the length of a header (uint32), the header
(JSON: what was done, with what, and what came of it; a dict that was given stands under "dict"), and the arrays that
the header speaks of.

A process that dies while it writes leaves a last record that ends too early: it is passed over, with a warning, and cut
off when the journal is opened again. Whatever else does not fit is an error that says where.
"""

import json
import math
import os
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from onward.core.shown import brief, shortened
from onward.storage import StorageError

SIGNATURE = b"\x89ONWLOG\n"
_FRAME = struct.Struct("<III")
_LENGTH = struct.Struct("<I")
_MOST_AXES = 8
_MOST_LONG = 2**40  # numbers along an axis
_TYPES = {"f": np.dtype("<f8"), "b": np.dtype("?"), "u": np.dtype("u1")}


class Record(NamedTuple):
    """One thing that was done."""

    number: int  # from 0
    done: str  # the name of the method, or begin, end, state
    given: dict[str, Any]
    result: Any


class _Repeats:
    """Tables that come again and again are written once: each stays known until another comes under its name."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[Any, bytes]] = {}

    def is_latest(self, name: str, shape: Any, data: bytes) -> bool:
        """Whether the same was there before; it is from now on."""
        same = self._latest.get(name) == (shape, data)
        self._latest[name] = shape, data
        return same

    def latest(self, name: str) -> bytes:
        """The bytes that were last there under the name; ValueError if there are none."""
        if name not in self._latest:
            raise ValueError(f"expected array {brief(name)} in a record before, got none")
        return self._latest[name][1]


class Journal:
    """A journal that is being written. Use it in a `with` statement, or `close` it."""

    def __init__(self, path: Path, descriptor: int, size: int, fsync: bool) -> None:
        self.path, self.fsync = path, fsync
        self.n_records = 0  # written since it was opened
        self._descriptor, self._size = descriptor, size
        self._repeats = _Repeats()
        self._broken: str | None = None
        self._on_close: Callable[[], None] | None = None

    def append(self, done: str, given: Mapping[str, Any], result: Any = None) -> None:
        """Write a record, all of it at once."""
        if self._broken:
            raise ValueError(f"cannot write to the journal {self.path}: {self._broken}")
        contents = _pack(done, given, result, self._repeats)
        frame = struct.pack("<II", len(contents), zlib.crc32(contents))
        record = frame + _LENGTH.pack(zlib.crc32(frame)) + contents
        try:
            if os.write(self._descriptor, record) != len(record):
                raise OSError("no room for a whole record")
            if self.fsync:
                os.fsync(self._descriptor)
        except OSError as error:
            self._broken = f"it ends before a {done} that was done, because of {error}"
            raise OSError(f"the journal {self.path} could not be written: {error}. What was done is done") from error
        self._size += len(record)
        self.n_records += 1

    def disown(self) -> None:
        """Leave the file to the process that opened it."""
        self._broken = "it belongs to the process that this one was forked from; open another with journal(path)"
        self._on_close = None

    @property
    def is_open(self) -> bool:
        """Whether it can be written to."""
        return self._broken is None

    def close(self) -> None:
        """Write nothing more, and say in the file how the policy is left."""
        if self._on_close is not None:
            self._on_close()
            self._on_close = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._broken = self._broken or "it is closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_begun(path: Path) -> bool:
    """Whether there is a file that holds something: one that died as it made a journal has left it without a record."""
    if not path.exists():
        return False
    with open(path, "rb") as file:
        head = file.read(len(SIGNATURE))
    whole = len(head) == len(SIGNATURE)
    return sound_size(path) > len(SIGNATURE) if whole and head == SIGNATURE else not SIGNATURE.startswith(head)


def create_journal(path: Path, fsync: bool) -> Journal:
    """A new file, in the place of one that holds nothing; FileExistsError if there is another."""
    if path.exists() and not is_begun(path):
        os.unlink(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
    os.write(descriptor, SIGNATURE)
    return Journal(path, descriptor, len(SIGNATURE), fsync)


def reopen_journal(path: Path, fsync: bool) -> Journal:
    """A file to go on with; what a crash left of a last record is cut off."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    size = sound_size(path)
    os.ftruncate(descriptor, size)
    return Journal(path, descriptor, size, fsync)


def sound_size(path: Path) -> int:
    """How many bytes of a file are whole records."""
    size = len(SIGNATURE)
    for size, _ in _frames(path):  # noqa: B007
        pass
    return size


def read_journal(path: str | os.PathLike[str]) -> Iterator[Record]:
    """The records of a journal, in order: to look at, or to make a log of.

    Args:
        path: the file.

    Returns:
        An iterator over records: number, what was done, what was given, what came of it.

    Raises:
        StorageError: if the file is altered.

    Example:
        >>> from onward.bandits import LinUCB, read_journal
        >>> policy = LinUCB(seed=0)
        >>> with policy.journal("policy.journal"):
        ...     policy.learn([1.0, 0.0], 0.5)
        >>> [record.done for record in read_journal("policy.journal")]
        ['begin', 'learn', 'end']
    """
    repeats = _Repeats()
    for number, (end, contents) in enumerate(_frames(Path(path), warn=True)):
        try:
            record = _unpack(number, contents, repeats)
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError, struct.error) as error:
            raise StorageError(
                f"{path}: record {number}, which ends at byte {end}, cannot be read ({shortened(repr(error), 300)})"
            ) from error
        if record.done == "begin":
            repeats = _Repeats()
        yield record


def _frames(path: Path, warn: bool = False) -> Iterator[tuple[int, bytes]]:
    """The contents of each whole record, and where it ends."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        first = file.read(len(SIGNATURE))
        if first != SIGNATURE:
            raise StorageError(f"{path}: not a journal of onward (expected it to begin with {SIGNATURE!r})")
        at, number = len(SIGNATURE), 0
        while at < size:
            frame = file.read(_FRAME.size)
            length, checksum, of_frame = _FRAME.unpack(frame) if len(frame) == _FRAME.size else (0, 0, -1)
            known = of_frame == zlib.crc32(frame[:8])
            contents = file.read(length) if known else b""
            if not known or zlib.crc32(contents) != checksum or len(contents) != length:
                rest = file.read()
                if not _is_torn(frame, known, len(contents) < length, rest):
                    raise StorageError(f"{path}: record {number}, at byte {at} of {size}, is altered")
                if warn:
                    warnings.warn(
                        f"{path}: the last record was not written to its end, {size - at} bytes of it are left out",
                        stacklevel=4,
                    )
                return
            at, number = at + _FRAME.size + length, number + 1
            yield at, contents


def _is_torn(frame: bytes, known: bool, short: bool, rest: bytes) -> bool:
    """Whether a crash explains a record that is not sound: nothing follows it then, or nothing but zeros."""
    if len(frame) < _FRAME.size:
        return True
    return (short or not rest) if known else not (frame + rest).strip(b"\0")


def _pack(done: str, given: Mapping[str, Any], result: Any, repeats: _Repeats) -> bytes:
    arrays: list[bytes] = []

    def plain(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {"dict": value}
        if isinstance(value, bytes):
            value = np.frombuffer(value, np.uint8)
        if not isinstance(value, np.ndarray):
            return value
        code = value.dtype.kind
        data = np.ascontiguousarray(value, _TYPES[code]).tobytes()
        shape = [code, *value.shape]
        if repeats.is_latest(name, shape, data):
            return {"again": shape}
        arrays.append(data)
        return {"array": shape}

    header: dict[str, Any] = {"done": done, "given": {name: plain(name, value) for name, value in given.items()}}
    if result is not None:
        header["result"] = result
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *arrays])


def _unpack(number: int, contents: bytes, repeats: _Repeats) -> Record:
    (length,) = _LENGTH.unpack_from(contents)
    at = _LENGTH.size + length
    header = json.loads(contents[_LENGTH.size : at])
    if not isinstance(header, dict) or not isinstance(header.get("done"), str):
        raise ValueError(f"expected what was done, by its name, got {brief(header)}")
    if not isinstance(header.get("given"), dict):
        raise ValueError(f"expected what was given, by name, got {brief(header.get('given'))}")
    given: dict[str, Any] = {}
    for name, value in header["given"].items():
        if isinstance(value, dict) and isinstance(value.get("dict"), dict):
            value = value["dict"]
        elif isinstance(value, dict):
            described = _array_header(name, value)
            code, *shape = described
            size = math.prod(shape) * _TYPES[code].itemsize
            if "array" in value:
                data, at = contents[at : at + size], at + size
                repeats.is_latest(name, described, data)
            else:
                data = repeats.latest(name)
            if len(data) != size:
                raise ValueError(f"array {brief(name)} of shape {brief(shape)} has not {len(data):,} bytes")
            value = np.frombuffer(data, _TYPES[code]).reshape(shape).copy()
        given[name] = value
    return Record(number, header["done"], given, header.get("result"))


def _array_header(name: str, value: Mapping[str, Any]) -> list[Any]:
    """The type and the shape of an array, as a header tells them."""
    told = value.get("array") or value.get("again")
    if isinstance(told, list) and 0 < len(told) <= 1 + _MOST_AXES and isinstance(told[0], str):
        whole = all(type(axis) is int and 0 <= axis < _MOST_LONG for axis in told[1:])
        if whole and told[0] in _TYPES:
            return told
    raise ValueError(f"expected a type and a shape for array {brief(name)}, got {brief(value)}")
