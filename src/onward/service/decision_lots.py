"""The lots of a decision: from the loop, the event and the version of the model, so that anyone can draw them again."""

import hashlib
import itertools
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Any


def uniform_numbers(count: int, loop: str, event_id: str, version: int, seed: Any = None) -> list[float]:
    """The random numbers of one decision, in [0, 1): 53 bits of every 8 bytes of SHAKE-256 of what it is."""
    parts = [loop.encode(), event_id.encode(), str(version).encode(), repr(seed).encode()]
    told = b"".join(len(part).to_bytes(8, "little") + part for part in parts)  # no two decisions tell the same
    drawn = hashlib.shake_256(told).digest(8 * count)
    return [(int.from_bytes(drawn[i : i + 8], "little") >> 11) * 2.0**-53 for i in range(0, 8 * count, 8)]


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
    rest = [place for place in range(len(chances)) if place not in first and place not in excluded]
    return [*first, *sorted(rest, key=lambda place: (-chances[place], -estimates[place]))]
