"""Timing side by side on a noisy machine: what every benchmark here shares.

Everything runs on one thread. Contenders take turns, a short block each, round after round, so that whatever else the
machine is doing hits all alike. A number is the best of the rounds: noise only ever adds time.
"""

import gc
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

Call = Callable[[], object]
Task = Callable[[], Call]
"""Makes ready, outside the clock, and returns what is to be timed."""


@dataclass(frozen=True)
class Timing:
    """How long blocks of so many rows took, a block a round."""

    rows: int
    seconds: Sequence[float]

    @property
    def best(self) -> float:
        """Microseconds a row in the best round: the number to quote."""
        return 1e6 * min(self.seconds) / self.rows

    @property
    def median(self) -> float:
        """Microseconds a row in the middle round: how noisy it was, beside the best."""
        return 1e6 * statistics.median(self.seconds) / self.rows

    def record(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "best_us_per_row": self.best,
            "median_us_per_row": self.median,
            "seconds": list(self.seconds),
        }


def clock(call: Call) -> float:
    """Seconds that the call takes, without the garbage collector, as timeit does it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = perf_counter()
        call()
        return perf_counter() - start
    finally:
        if collecting:
            gc.enable()


def interleaved(tasks: Mapping[str, Task], rounds: int) -> dict[str, list[float]]:
    """Seconds of each task in each round. Every round times every task once, each time starting with another one."""
    names = list(tasks)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % max(1, len(names))
        for name in names[first:] + names[:first]:
            seconds[name].append(clock(tasks[name]()))
    return seconds


def rows_within(seconds: float, task_of: Callable[[int], Task], most: int) -> tuple[int, float]:
    """How many rows fit into so many seconds, at least 1 and at most `most`, and the seconds that one row takes.

    `task_of(n)` is the task over n rows. The trial blocks grow until one is long enough to judge by. Before them one
    row goes by uncounted, for whatever is compiled or loaded at first use.
    """
    task_of(1)()()
    n = 1
    while True:
        took = clock(task_of(n)())
        if took >= seconds / 4 or n >= most:
            return max(1, min(most, int(n * seconds / took))), took / n
        n = min(most, 4 * n)


# One thread


def one_thread() -> AbstractContextManager[Any]:
    """Hold the thread pools of every library that is loaded by now to one thread. Import the contenders first."""
    return threadpool_limits(limits=1)


def thread_pools() -> list[str]:
    """What is held, and to how many threads."""
    return [
        f"{pool['internal_api']} {pool.get('version') or ''} ({Path(pool['filepath']).name}): "
        f"{pool['num_threads']} thread{'' if pool['num_threads'] == 1 else 's'}"
        for pool in threadpool_info()
    ]


# Where it ran


def machine() -> dict[str, Any]:
    """The processor and the interpreter, and how busy the machine was when asked."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def versions(names: Sequence[str]) -> dict[str, str | None]:
    """The installed version of each distribution; None for those that are not there."""
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found
