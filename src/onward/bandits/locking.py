"""One object, several threads: a lock for what takes more than one step, and buffers that are closed while replaced.

A compiled loop runs to its end before another thread does anything, because it keeps the interpreter's lock. So a plain
`choose` or `learn` on the buffer needs no lock: its one risk is a buffer that somebody else is about to replace by
another. Such a buffer is closed first: it has no coordinates then, every loop refuses it, and what was refused goes
the long way, which waits for the lock.
"""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onward.bandits.settings import N_SETTINGS, SETTINGS
from onward.core.types import Vector

_shared: "weakref.WeakValueDictionary[int, Shared]" = weakref.WeakValueDictionary()  # what a fork may meet, by its id


class Shared:
    """Something that threads may share: it has a lock, which no copy of it takes along."""

    _lock: Any

    def _share(self) -> None:
        """Get a lock; every object does so when it is made or copied."""
        self._lock = threading.RLock()
        _shared[id(self)] = self

    def _after_fork(self) -> None:
        """In a forked process: nobody holds the lock any more, whoever did before."""
        self._lock = threading.RLock()


def _renew_after_fork() -> None:
    for each in list(_shared.values()):
        each._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)


class Buffered(Shared):
    """Something shared whose state is in one buffer."""

    _buffer: Vector

    @contextmanager
    def _closed(self) -> Iterator[Vector]:
        """A copy of the buffer, to work on and put in its place, or only to read; the lock is held meanwhile.

        A buffer that was replaced stays closed for ever: a thread may still be about to hand it to a loop.
        """
        with self._lock:
            buffer = self._buffer
            head = buffer[:N_SETTINGS].view(SETTINGS)
            coordinates = head["coordinates"][0]
            try:
                head["coordinates"] = 0.0
                own = buffer.copy()
                own[:N_SETTINGS].view(SETTINGS)["coordinates"] = coordinates
                yield own
            finally:
                if self._buffer is buffer:
                    head["coordinates"] = coordinates
