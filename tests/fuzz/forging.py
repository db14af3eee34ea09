"""Model files that lie: real ones with contents altered, and a checksum that is right."""

import copy
import hashlib
import json
import math
import random
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from onward import storage

_PREFIX = struct.Struct("<8sIQ")
_DIGEST = 32
NUMBERS = (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 64.0, 1e9, -1e9, 1e18, 2.0**53, 2.0**63, 1e20, 1e154, 1e300)
HOSTILE = (*NUMBERS, -1e300, 1e-300, 5e-324, -0.0, math.nan, math.inf, -math.inf)
VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 2, 3, 10**6, 10**9, 2**63, 10**30, 10**400, -(10**9), 0.5, 1.5, 1e300, math.nan, math.inf),
    *("", "x", "forward", "intercept", "a" * 20_000, "\x1b[31m\n", None, True, False),
    *([], {}, [1, 2], [[0, 1]], ["a", "a", "b"], {"a": 1}, [0.5] * 1000, ["late", "late"], [None], [[]]),
)
TEXTS = (  # that stand somewhere in a file: terms, kinds, columns, methods of policies
    *("log(a)", "a:b", "lag(a, 2)", "lag(a, 999999)", "lag(y, 1)", "a:city", "hour(when)", "spline(a, 0, 1, 9999)"),
    *(":".join("a" * 50_000), "log(" * 3000, "random(9999, 1, a)", "`", "number", "category", "time", "boolean"),
    *("a", "b", "city", "y", "when", "choose", "learn", "state", "begin", "add_arm", "propose", "nan", "[oops", ","),
)
SHAPES: tuple[Any, ...] = (
    *([], [0], [-1], [1], [3], [1, 3], [3, 1], [0, 3], [0, 10**12], [10**9], [2**62], [2**63, 0], [-1, -1], [1] * 40),
    *([2.0], [2.5], ["3"], [None], [[3]], "3", 3, None, {}, [True]),
)
KINDS = ("forward", "ridge", "auto", "policy", "disjoint policy", "hybrid policy", "checkpoint", "runs", "chunk")


class Contents(NamedTuple):
    """What a file holds: the header's values, and the arrays in order."""

    header: dict[str, Any]
    arrays: list[np.ndarray[Any, np.dtype[np.float64]]]


def unpack(data: bytes) -> Contents:
    """The contents of a real file."""
    _, _, length = _PREFIX.unpack_from(data)
    header, at, arrays = json.loads(data[_PREFIX.size : _PREFIX.size + length]), _PREFIX.size + length, []
    for entry in header["arrays"]:
        count = math.prod(entry["shape"])
        arrays.append(np.frombuffer(data, "<f8", count, at).reshape(entry["shape"]).copy())
        at += 8 * count
    return Contents(header, arrays)


def pack(contents: Contents, text: bytes | None = None, length: int | None = None, more: bytes = b"") -> bytes:
    """A file of these contents, whatever they are, with a right checksum; `text` in the header's place."""
    if text is None:
        text = json.dumps(contents.header).encode()
    body = _PREFIX.pack(storage.SIGNATURE, storage.VERSION, len(text) if length is None else length) + text
    body += b"".join(array.astype("<f8").tobytes() for array in contents.arrays) + more
    return body + hashlib.sha256(body).digest()


def forge(rng: random.Random, samples: Mapping[str, bytes], name: str) -> bytes:
    """The file of that name, altered at one place or a few."""
    contents = copy.deepcopy(unpack(samples[name]))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        alter = rng.choices(list(_WAYS), weights=list(_WAYS.values()))[0]
        contents = alter(rng, contents, samples)
    if rng.random() < 0.02:
        return _with_raw_header(rng, contents)
    return pack(contents)


def _with_raw_header(rng: random.Random, contents: Contents) -> bytes:
    text = json.dumps(contents.header).encode()
    deep = 10 ** rng.randint(2, 6)
    raw: dict[str, Any] = {
        "deep": {"text": b'{"kind": "ridge", "arrays": [], "settings": ' + b"[" * deep + b"]" * deep + b"}"},
        "unclosed": {"text": b"[" * deep},
        "long": {"length": 2 ** rng.randint(1, 63)},
        "not text": {"text": b"\xff\xfe" + text},
        "cut": {"text": text[: rng.randrange(len(text))]},
        "more": {"more": bytes(rng.randrange(64))},
        "twice": {"text": text[:-1] + b', "kind": 7}'},
        "number": {"text": b"1" * 5000},
    }
    return pack(contents, **raw[rng.choice(list(raw))])


# Arrays


def _alter_numbers(rng: random.Random, contents: Contents, _: Any) -> Contents:
    """A number or a few of an array: those at its front, where headers are, more often."""
    arrays = [array for array in contents.arrays if array.size]
    if arrays:
        flat = rng.choice(arrays).reshape(-1)
        for _ in range(rng.choice((1, 1, 1, 2, 20))):
            place = rng.randrange(min(len(flat), 80)) if rng.random() < 0.5 else rng.randrange(len(flat))
            old = flat[place]
            flat[place] = rng.choice((*HOSTILE, old + 1, old - 1, -old, old + 0.5, 2 * old, 1e9 * old))
    return contents


def _alter_shape(rng: random.Random, contents: Contents, _: Any) -> Contents:
    """An array of another shape, which the header tells rightly."""
    if contents.arrays:
        at = rng.randrange(len(contents.arrays))
        array = contents.arrays[at]
        shapes = (
            lambda: array.reshape(-1),
            lambda: array[:-1],
            lambda: np.concatenate([array, array]),
            lambda: array[..., None],
            lambda: array.T,
            lambda: array[..., :-1],
            lambda: np.empty(0),
            lambda: np.zeros((0, 3)),
            lambda: np.array(1.0),
            lambda: array[:0],
        )
        try:
            changed = np.ascontiguousarray(rng.choice(shapes)())
        except (IndexError, ValueError):
            return contents
        contents.arrays[at] = changed
        contents.header["arrays"][at]["shape"] = list(changed.shape)
    return contents


def _models(samples: Mapping[str, bytes]) -> list[str]:
    """The names of files that are models."""
    return [name for name, data in samples.items() if data.startswith(storage.SIGNATURE)]


def _alter_entries(rng: random.Random, contents: Contents, _: Any) -> Contents:
    """What the header says of an array: another shape or name, or an array less, or one more."""
    entries = contents.header["arrays"]
    if not isinstance(entries, list) or not entries:
        return contents
    entry, way = rng.choice(entries), rng.randrange(7)
    if way < 2:
        entry["shape"] = rng.choice(SHAPES)
    elif way == 2:
        entry["name"] = rng.choice([*(each.get("name") for each in entries), "", "x", 3, None, []])
    elif way == 3:
        place = rng.randrange(len(contents.arrays))
        del entries[place], contents.arrays[place]
    elif way == 4:
        entries.append(copy.deepcopy(entry))
    elif way == 5:
        entry.pop(rng.choice(["name", "shape"]), None)
    else:
        contents.header["arrays"] = rng.choice((VALUES, entries * 2))
    return contents


def _alter_arrays_of_another(rng: random.Random, contents: Contents, samples: Mapping[str, bytes]) -> Contents:
    """The arrays of another file, by their names or all of them."""
    other = unpack(samples[rng.choice(_models(samples))])
    if rng.random() < 0.5:
        return Contents(contents.header | {"arrays": other.header["arrays"]}, other.arrays)
    theirs = {entry["name"]: array for entry, array in zip(other.header["arrays"], other.arrays, strict=True)}
    for at, entry in enumerate(contents.header["arrays"]):
        if entry["name"] in theirs:
            contents.arrays[at] = theirs[entry["name"]]
            entry["shape"] = list(contents.arrays[at].shape)
    return contents


# Settings


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every place in a tree of dicts and lists, as a container with a key."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, each in items:
        found.append((value, key))
        if isinstance(each, dict | list):
            _places(each, found)
    return found


def _alter_setting(rng: random.Random, contents: Contents, _: Any) -> Contents:
    """A value somewhere among the settings."""
    alter_place(rng, contents.header["settings"])
    return contents


def alter_place(rng: random.Random, tree: Any) -> None:
    """Another value at one place of a tree of dicts and lists, or none, or one more."""
    places = _places(tree, [])
    if not places:
        return
    container, key = rng.choice(places)
    if (text := container[key]) and isinstance(text, str) and rng.random() < 0.3:
        container[key] = rng.choice((text + "a", text[:-1], text.upper(), *TEXTS))
        return
    old, way = container[key], rng.random()
    if way < 0.1:
        del container[key]
    elif way < 0.15 and isinstance(container, list):
        container.append(copy.deepcopy(old))
    elif way < 0.2 and isinstance(container, dict):
        container[rng.choice(["x", "", "policy", "lam", "memory", "seed"])] = old
    elif way < 0.3:
        others: list[Any] = list(container) if isinstance(container, dict) else list(range(len(container)))
        container[key] = container[rng.choice(others)]
    elif way < 0.5 and isinstance(old, int | float) and not isinstance(old, bool) and abs(old) < 1e300:
        container[key] = rng.choice((-old, old + 1, old - 1, old + 0.5, float(old), old * 10**9, -1, 10**9, str(old)))
    else:
        container[key] = copy.deepcopy(rng.choice(VALUES))


def _alter_kind(rng: random.Random, contents: Contents, samples: Mapping[str, bytes]) -> Contents:
    """Another kind, or the settings of another file, or none of what must be there."""
    way = rng.randrange(4)
    if way == 0:
        contents.header["kind"] = rng.choice(KINDS)
    elif way == 1:
        contents.header["kind"] = copy.deepcopy(rng.choice(VALUES))
    elif way == 2:
        contents.header["settings"] = unpack(samples[rng.choice(_models(samples))]).header["settings"]
    else:
        contents.header[rng.choice(["settings", "arrays", "kind"])] = copy.deepcopy(rng.choice(VALUES))
        if not isinstance(contents.header["settings"], dict | list) or not isinstance(contents.header["arrays"], list):
            return contents
    return contents


def _guarded(alter: Any) -> Any:
    """An alteration that leaves alone what an earlier one has made unrecognisable."""

    def altered(rng: random.Random, contents: Contents, samples: Mapping[str, bytes]) -> Contents:
        header = contents.header
        entries = header.get("arrays")
        whole = isinstance(entries, list) and all(
            isinstance(each, dict) and isinstance(each.get("name"), str) and "shape" in each for each in entries
        )
        if not whole or not isinstance(header.get("settings"), dict) or len(entries or ()) != len(contents.arrays):
            return contents
        done: Contents = alter(rng, contents, samples)
        return done

    return altered


_WAYS = {
    _guarded(_alter_numbers): 8,
    _guarded(_alter_setting): 6,
    _guarded(_alter_shape): 2,
    _guarded(_alter_entries): 2,
    _guarded(_alter_arrays_of_another): 1,
    _guarded(_alter_kind): 1,
}
