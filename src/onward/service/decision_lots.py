"""The lots of a decision: from the loop, the event and the version of the model, so that anyone can draw them again."""

import functools
import hashlib
import itertools
import struct
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Any


def uniform_numbers(count: int, loop: str, event_id: str, version: int, seed: Any = None) -> list[float]:
    """The random numbers of one decision, in [0, 1): 53 bits of every 8 bytes of SHAKE-256 of what it is."""
    first, last = _ends(loop, repr(seed))
    event, number = event_id.encode(), b"%d" % version
    told = b"".join((first, _LENGTH(len(event)), event, _LENGTH(len(number)), number, last))
    drawn = hashlib.shake_256(told).digest(8 * count)
    return [(number >> 11) * 2.0**-53 for number in struct.unpack(f"<{count}Q", drawn)]


_LENGTH = struct.Struct("<Q").pack  # before each part, so that no two decisions tell the same


@functools.lru_cache(maxsize=1024)
def _ends(loop: str, seed: str) -> tuple[bytes, bytes]:
    """What all decisions of a loop tell at first and at last."""
    first, last = loop.encode(), seed.encode()
    return _LENGTH(len(first)) + first, _LENGTH(len(last)) + last


def drawn(chances: Sequence[float], numbers: Sequence[float]) -> list[int]:
    """A place for each number, drawn by its chance among those that are left; fewer if no more have a chance."""
    left = list(chances)
    found: list[int] = []
    for number in numbers:
        sums = list(itertools.accumulate(left))
        if not sums[-1] > 0.0:
            break
        place = min(bisect_right(sums, number * sums[-1]), len(left) - 1)
        while left[place] == 0.0:  # rounding at the end
            place -= 1
        found.append(place)
        left[place] = 0.0
    return found


def ranked(
    chances: Sequence[float], first: Sequence[int], estimates: Sequence[float], excluded: Collection[int] = ()
) -> list[int]:
    """The places that were drawn, then all others that are available: the likeliest first, then by their estimates."""
    rest = set(range(len(chances))).difference(first, excluded)
    return [*first, *[place for _, _, place in sorted([(-chances[i], -estimates[i], i) for i in rest])]]
