"""Versioned model files: arrays and a JSON header under a checksum, never pickle.

Layout, all little-endian: 8 bytes of signature, the format's version (uint32), the header's length (uint64), the
header (JSON: kind, settings, and name and shape of each array), the arrays (float64) in that order, and the SHA-256
of all that came before. Loading reads numbers and text; it never executes anything.
"""

import hashlib
import importlib
import json
import math
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from onward.atomic_files import write_atomically
from onward.core.shown import shortened

__all__ = ["StorageError", "UnknownKindError", "from_bytes", "kind", "load", "made", "read", "save", "to_bytes"]

SIGNATURE = b"\x89ONWARD\n"
VERSION = 1
_PREFIX = struct.Struct("<8sIQ")
_NUMBER = np.dtype("<f8")
_DIGEST = hashlib.sha256().digest_size
_MOST_AXES = 32
_MOST_WORDS = 300  # characters of what is told of contents that do not fit

Settings = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class Recorded(Protocol):
    """What can be made from a model file's settings and arrays."""

    @classmethod
    def from_record(cls, settings: Settings, arrays: Arrays) -> Self:
        """Make it; KeyError, TypeError or ValueError if the record does not fit together."""


T = TypeVar("T", bound=Recorded)

_kinds: dict[str, Callable[[Settings, Arrays], Any]] = {}
# Files of these kinds are loaded by modules that are imported when one comes, and not before.
_HOMES = {
    "auto": "onward.regression",
    "pipeline": "onward.regression.online_pipeline",
    "forward": "onward.regression",
    "ridge": "onward.regression",
    "checkpoint": "onward.progressive.checkpoints",
    "change alarm": "onward.confidence.change_alarm",
    "policy": "onward.bandits",
    "disjoint policy": "onward.bandits",
    "named policy": "onward.bandits",
    "named arms": "onward.bandits",
    "hybrid policy": "onward.bandits",
    "spectral policy": "onward.bandits",
    "meta policy": "onward.bandits",
    "runs": "onward.bandits",
}


class StorageError(ValueError):
    """A file that is not, or no longer, a model that can be loaded.

    Example:
        >>> from pathlib import Path
        >>> from onward import StorageError, load
        >>> size = Path("m.onward").write_text("not a model")
        >>> try:
        ...     load("m.onward")
        ... except StorageError as error:
        ...     print(str(error)[:34])
        m.onward: not an Onward model file
    """


class UnknownKindError(ValueError):
    """A record of a kind that nothing here makes.

    Example:
        >>> from onward import storage
        >>> try:
        ...     storage.made("tree", {}, {})
        ... except storage.UnknownKindError as error:
        ...     print(str(error)[:32])
        holds a 'tree', expected one of
    """


def kind(name: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: files of this kind are loaded by the class's `from_record(settings, arrays)`.

    Args:
        name: of the kind.

    Returns:
        The decorator, which gives the class back.

    Example:
        >>> import numpy as np
        >>> from onward import load, storage
        >>> @storage.kind("thermometer")
        ... class Thermometer:
        ...     def __init__(self, readings):
        ...         self.readings = readings
        ...     def save(self, path):
        ...         storage.save(path, "thermometer", {}, {"readings": self.readings})
        ...     @classmethod
        ...     def from_record(cls, settings, arrays):
        ...         return cls(arrays["readings"])
        >>> Thermometer(np.array([290.0, 291.5])).save("t.onward")
        >>> load("t.onward").readings
        array([290. , 291.5])
    """

    def register(cls: type[T]) -> type[T]:
        _kinds[name] = cls.from_record
        return cls

    return register


def save(
    path: str | os.PathLike[str], kind: str, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a model file, wholly or not at all: an earlier file at `path` stays until the new one is on disk.

    Args:
        path: where to.
        kind: what `load` goes by: the name under which a class was registered with `kind`.
        settings: plain values by name.
        arrays: arrays of numbers by name.

    Raises:
        ValueError: if a setting is not plain.
        OSError: if the file cannot be written.

    Example:
        >>> import numpy as np
        >>> from onward import storage
        >>> storage.save("t.onward", "thermometer", {"unit": "K"}, {"readings": np.array([290.0, 291.5])})
        >>> storage.read("t.onward")
        ('thermometer', {'unit': 'K'}, {'readings': array([290. , 291.5])})
    """
    write_atomically(path, to_bytes(kind, settings, arrays, f"save to {path}"))


def to_bytes(
    kind: str, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], doing: str = "give bytes"
) -> bytes:
    """What a model file holds.

    Args:
        kind: as of `save`.
        settings: plain values by name.
        arrays: arrays of numbers by name.
        doing: what an error says cannot be done.

    Returns:
        The bytes, which `from_bytes` takes.

    Raises:
        ValueError: if a setting is not plain.

    Example:
        >>> import numpy as np
        >>> from onward import storage
        >>> len(storage.to_bytes("thermometer", {"unit": "K"}, {"readings": np.zeros(2)}))
        166
    """
    described, chunks = [], []
    for name, array in arrays.items():
        stored = np.ascontiguousarray(array, dtype=_NUMBER)
        described.append({"name": name, "shape": list(array.shape)})
        chunks.append(stored.tobytes())
    try:
        header = json.dumps(
            {"kind": kind, "settings": settings, "arrays": described}, allow_nan=False, ensure_ascii=False
        ).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot {doing}: a setting is not plain text or a finite number ({error})") from error
    body = b"".join([_PREFIX.pack(SIGNATURE, VERSION, len(header)), header, *chunks])
    return body + hashlib.sha256(body).digest()


def load(path: str | os.PathLike[str]) -> Any:
    """Load what `save` wrote: a learner or a policy, ready to go on exactly where it stopped.

    Args:
        path: the file.

    Returns:
        What was saved: a learner, a policy, or `Runs`.

    Raises:
        StorageError: if the file is truncated, altered, foreign, or written by a newer version.
        OSError: if it cannot be read.

    Example:
        >>> from onward import RidgeRegressor, load
        >>> RidgeRegressor().fit([[0.0], [1.0]], [1.0, 2.0]).save("m.onward")
        >>> load("m.onward").learn_one([2.0], 3.0).n_seen_
        3
    """
    return from_bytes(Path(path).read_bytes(), str(path))


def from_bytes(data: bytes, where: str = "bytes") -> Any:
    """What `to_bytes` gave, made again; errors say `where` it was found.

    Args:
        data: what a model file holds.
        where: where it was found, for errors.

    Returns:
        What was saved.

    Raises:
        StorageError: if the bytes are no model, or no longer.

    Example:
        >>> from onward import RidgeRegressor, storage
        >>> model = RidgeRegressor().fit([[0.0], [1.0]], [1.0, 2.0])
        >>> storage.from_bytes(model.to_bytes()).n_seen_
        2
    """
    name, settings, arrays = _unpack(data, where)
    try:
        return made(name, settings, arrays)
    except UnknownKindError as error:
        raise StorageError(f"{where}: {error}") from None
    except Exception as error:
        raise misfit(where, name, error) from error


def misfit(where: object, name: str, error: Exception) -> StorageError:
    """What is said of a file whose checksum is right but whose contents are not, whatever they have led to."""
    return StorageError(f"{where}: the contents of this {name!r} do not fit together ({brief(repr(error))})")


def brief(words: str) -> str:
    """Words in one line of bounded length: what a file holds can be long, or move the cursor of a terminal."""
    return shortened(words, _MOST_WORDS)


def made(name: str, settings: Settings, arrays: Arrays) -> Any:
    """What a record of that kind describes.

    Args:
        name: the kind.
        settings: plain values by name.
        arrays: arrays of numbers by name.

    Returns:
        A learner, a policy, or what else was registered with `kind`.

    Raises:
        UnknownKindError: if nothing is registered under this name.

    Example:
        >>> from onward import RidgeRegressor, storage
        >>> record = RidgeRegressor().fit([[0.0], [1.0]], [1.0, 2.0]).to_record()
        >>> storage.made("ridge", *record).n_seen_
        2
    """
    if name not in _kinds and name in _HOMES:
        importlib.import_module(_HOMES[name])
    if name not in _kinds:
        raise UnknownKindError(f"holds a {brief(repr(name))}, expected one of {', '.join(sorted({*_kinds, *_HOMES}))}")
    return _kinds[name](settings, arrays)


def read(path: str | os.PathLike[str]) -> tuple[str, Settings, Arrays]:
    """The kind, settings and arrays in a model file, once its checksum was found right.

    Args:
        path: the file.

    Returns:
        The kind, the settings and the arrays.

    Raises:
        StorageError: if the file is truncated, altered, foreign, or written by a newer version.

    Example:
        >>> from onward import RidgeRegressor, storage
        >>> RidgeRegressor().fit([[0.0], [1.0]], [1.0, 2.0]).save("m.onward")
        >>> kind, settings, arrays = storage.read("m.onward")
        >>> kind, arrays["U"].shape
        ('ridge', (2, 4))
    """
    return _unpack(Path(path).read_bytes(), str(path))


def _unpack(data: bytes, where: str) -> tuple[str, Settings, Arrays]:
    if len(data) < _PREFIX.size or data[: len(SIGNATURE)] != SIGNATURE:
        raise StorageError(f"{where}: not an Onward model file (expected it to begin with {SIGNATURE!r})")
    _, version, header_length = _PREFIX.unpack_from(data)
    if version > VERSION:
        raise StorageError(
            f"{where}: written in format {version}, but this version of onward reads formats up to {VERSION}; "
            "upgrade onward to load it"
        )
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if len(data) < _PREFIX.size + _DIGEST or hashlib.sha256(body).digest() != digest:
        raise StorageError(f"{where}: the file is truncated or altered (its checksum does not match)")
    try:
        header = json.loads(body[_PREFIX.size : _PREFIX.size + header_length], parse_constant=_refuse)
        return _read_contents(header, body, _PREFIX.size + header_length)
    except Exception as error:
        raise StorageError(f"{where}: the header does not describe the file ({brief(repr(error))})") from error


def _read_contents(header: Any, body: bytes, position: int) -> tuple[str, Settings, Arrays]:
    """Kind, settings and arrays; nothing is allocated that is not in the file."""
    name, settings, arrays = header["kind"], header["settings"], Arrays()
    if not (isinstance(name, str) and isinstance(settings, dict) and isinstance(header["arrays"], list)):
        raise ValueError("expected a kind that is text, settings by name and a list of arrays")
    for entry in header["arrays"]:
        label, shape = entry["name"], entry["shape"]
        if not isinstance(label, str) or label in arrays:
            raise ValueError(f"expected names of arrays, each once, got {label!r}")
        if not isinstance(shape, list) or len(shape) > _MOST_AXES or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"expected the shape of array {label!r} in whole numbers, got {shape!r}")
        count = math.prod(shape)
        if max(count, *shape, 0) * _NUMBER.itemsize > len(body):  # an axis without numbers may be long, too
            raise ValueError(f"array {label!r} of shape {shape} has more numbers than the file holds")
        stored = np.frombuffer(body, _NUMBER, count, position).reshape(shape)
        arrays[label] = stored.astype(np.float64, copy=True)
        position += count * _NUMBER.itemsize
    if position != len(body):
        raise ValueError(f"expected {position:,} bytes before the checksum, got {len(body):,}")
    return name, settings, arrays


def _refuse(constant: str) -> None:
    raise ValueError(f"expected finite numbers, got {constant}")
