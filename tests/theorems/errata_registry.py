"""The errata by number: each function works one through and returns the numbers that docs/errata.md shows for it."""

from collections.abc import Callable

Numbers = dict[str, float]
ERRATA: dict[int, Callable[[], Numbers]] = {}


def erratum(number: int) -> Callable[[Callable[[], Numbers]], Callable[[], Numbers]]:
    def keep(worked: Callable[[], Numbers]) -> Callable[[], Numbers]:
        ERRATA[number] = worked
        return worked

    return keep
