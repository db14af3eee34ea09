"""Buffers that are closed while they are replaced, so that threads lose nothing and plain rounds need no lock.

A compiled loop runs to its end before another thread does anything, because it keeps the interpreter's lock. So a plain
`choose` or `learn` on the buffer needs no lock: its one risk is a buffer that somebody else is about to replace by
another. Such a buffer is closed first: it has no coordinates then, every loop refuses it, and what was refused goes
the long way, which waits for the lock.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from onward.bandits.settings import N_SETTINGS, SETTINGS
from onward.core.sharing import Shared
from onward.core.types import Vector


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
