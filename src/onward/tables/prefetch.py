"""Work ahead in a second thread, so that reading the next rows goes on while the last ones are being learned."""

import math
import queue
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
LOOK_UP = 0.2  # seconds
AHEAD = 2  # pieces: pages of Parquet come for many rows at once, and then none for a while


@dataclass(frozen=True)
class _Made(Generic[T]):
    item: T


@dataclass(frozen=True)
class _Ended:
    error: BaseException | None


def _next(made: "queue.Queue[_Made[T] | _Ended]", seconds: float | None) -> "_Made[T] | _Ended | None":
    """The next item; None if none comes within that time.

    It looks up every now and then, because libraries may install handlers of signals that do not end a longer wait.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    while True:
        try:
            return made.get(timeout=max(0.0, min(LOOK_UP, end - time.monotonic())))
        except queue.Empty:
            if time.monotonic() >= end:
                return None


Wait = Callable[[], float | None]
"""How many seconds to wait for the next item before saying that none has come; None for as long as it takes."""


def prefetched(
    items: Generator[T, None, None], ahead: int = AHEAD, wait: Wait | None = None
) -> Generator[T | None, None, None]:
    """The same items in the same order, made up to `ahead` + 1 at a time before they are asked for.

    With `wait`, None each time that no item came within that time. What the generator raises is raised here, in its
    place. Once this is closed, nothing more is asked of the generator: its thread closes it, as soon as it is done with
    the item at hand.
    """
    made: queue.Queue[_Made[T] | _Ended] = queue.Queue(maxsize=ahead)
    closed = threading.Event()

    def put(item: _Made[T] | _Ended) -> None:
        while not closed.is_set():
            try:
                return made.put(item, timeout=0.1)
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(_Made(item))
                if closed.is_set():
                    return
            put(_Ended(None))
        except BaseException as error:
            put(_Ended(error))
        finally:
            items.close()

    # A daemon: it may be waiting for standard input, and must not keep the program from ending.
    threading.Thread(target=work, name="onward-reader", daemon=True).start()
    try:
        while True:
            item = _next(made, None if wait is None else wait())
            if item is None:
                yield None
                continue
            if isinstance(item, _Made):
                yield item.item
            elif item.error is None:
                return
            else:
                raise item.error
    finally:
        closed.set()
        while not made.empty():  # what waits to be put need wait no longer
            made.get()
