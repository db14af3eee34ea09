"""Quotes in CSV text: where records end, and whether a parser that goes by the number of quotes can be trusted.

A field is quoted if a quote is its first byte; inside it, two quotes stand for one. Elsewhere a quote is a letter like
any other (5" pipe). Parsers that split lines by counting quotes are right only where every quote opens, closes or
doubles: text that is `tidy`.
"""

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

_NEWLINE, _RETURN, _QUOTE = b'\n\r"'


def is_tidy(data: bytes, separator: bytes) -> bool:
    """Whether every quote in some records opens or closes a field or is doubled inside one, and all are closed."""
    if b'"' not in data:
        return True
    places = _places(data)
    return len(places) % 2 == 0 and _all_meant(data, places, separator)


def whole_records(data: bytes, separator: bytes) -> int:
    """How many bytes from the start are whole records: up to the last line's end that is not inside quotes."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    places = _places(data)
    if not _all_meant(data, places, separator):
        return _scanned(data, separator)
    end = data.rfind(b"\n")
    while end >= 0 and (before := int(np.searchsorted(places, end))) % 2:
        end = data.rfind(b"\n", 0, int(places[before - 1]))
    return end + 1


def first_record(data: bytes, start: int, separators: str) -> int | None:
    """Where the record that begins at `start` ends, its line's end included; None if it is not complete."""
    opens, at, quoted = _opening(separators.encode()), start, data.startswith(b'"', start)
    while True:
        if quoted:
            closed = _INSIDE.match(data, at + 1)
            if closed is None:
                return None
            at = closed.end()
        end = data.find(b"\n", at)
        found = opens.search(data, at, len(data) if end < 0 else end)
        if found is None:
            return None if end < 0 else end + 1
        at, quoted = found.end() - 1, True


def outside(data: bytes, byte: bytes) -> int:
    """How often a byte stands outside of quotes, in tidy text."""
    if b'"' not in data:
        return data.count(byte)
    found = np.flatnonzero(np.frombuffer(data, np.uint8) == byte[0])
    return int(np.count_nonzero(np.searchsorted(_places(data), found) % 2 == 0))


def _places(data: bytes) -> NDArray[np.int64]:
    return np.flatnonzero(np.frombuffer(data, np.uint8) == _QUOTE)


def _all_meant(data: bytes, places: NDArray[np.int64], separator: bytes) -> bool:
    """Whether each quote, counted from the start of a record, does what its number says: open (even) or close (odd)."""
    text = np.frombuffer(data, np.uint8)
    doubled = np.diff(places) == 1
    opens, closes = places[::2], places[1::2]
    before = text[np.maximum(opens - 1, 0)]
    opening = (opens == 0) | (before == separator[0]) | (before == _NEWLINE)
    opening[1:] |= doubled[1::2][: len(opens) - 1]
    after = text[np.minimum(closes + 1, len(text) - 1)]
    closing = (closes == len(text) - 1) | (after == separator[0]) | (after == _NEWLINE) | (after == _RETURN)
    again = doubled[1::2]
    closing[: len(again)] |= again
    return bool(opening.all() and closing.all())


_INSIDE = re.compile(rb'[^"]*+(?:""[^"]*+)*+"')  # the rest of a quoted field, its closing quote included


@cache
def _opening(separators: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?:\A|[\n" + re.escape(separators) + rb'])"')


def _scanned(data: bytes, separator: bytes) -> int:
    """`whole_records`, one quoted field after the other."""
    opens, end, at = _opening(separator), 0, 0
    while (found := opens.search(data, at)) is not None:
        end = max(end, data.rfind(b"\n", at, found.end()) + 1)
        closed = _INSIDE.match(data, found.end())
        if closed is None:
            return end
        at = closed.end()
    return max(end, data.rfind(b"\n", at) + 1)
