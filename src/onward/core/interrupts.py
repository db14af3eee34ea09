"""Ctrl-C before or after, never in between."""

import _signal  # what `signal` wraps, without the twenty µs that its enums take
import threading
from types import FrameType
from typing import Any

_SIGINT = int(_signal.SIGINT)


class interrupts_deferred:  # noqa: N801 (used like the function that it was)
    """Let Ctrl-C wait until the block is done, so that what belongs together changes together."""

    __slots__ = ("_handler", "_waiting")

    def __enter__(self) -> None:
        self._handler: Any = None
        if threading.get_ident() != threading.main_thread().ident:
            return  # interrupts reach the main thread only
        handler: Any = _signal.getsignal(_SIGINT)
        if callable(handler):
            self._waiting: list[tuple[int, FrameType | None]] = []
            self._handler = handler
            _signal.signal(_SIGINT, self._wait)

    def _wait(self, number: int, frame: FrameType | None) -> None:
        self._waiting.append((number, frame))

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            _signal.signal(_SIGINT, self._handler)
            if self._waiting:
                self._handler(*self._waiting[-1])
