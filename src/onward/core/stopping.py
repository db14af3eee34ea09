"""Ctrl-C, SIGTERM and SIGHUP as an end of the stream: what has been read is learned and saved, nothing is cut short."""

import os
import signal
import threading
from types import FrameType
from typing import Any, Self

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class StoppedError(BaseException):
    """A signal to stop came; like KeyboardInterrupt, it is no error to be caught. `saying` is for a person."""

    def __init__(self, number: int, saying: str = "") -> None:
        super().__init__()
        self.number, self.saying = number, saying


_arrived: list[int] = []  # signals that `raise_stop` made exceptions of, in this command


def raise_stop(number: int, frame: FrameType | None) -> None:
    """A handler of signals: end by an exception, and remember the signal.

    Whatever runs just then may swallow the exception, or make another one of it: a library that is being imported does.
    """
    _arrived.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise StoppedError(number)


def unheeded() -> int | None:
    """The signal to stop that came, and whose exception did not end this command; None as long as none did."""
    return _arrived[0] if _arrived else None


def forget_signals() -> None:
    """Begin a command: what came before was for another one."""
    _arrived.clear()


def raise_unheeded() -> None:
    """End now, if a signal to stop was swallowed: before waiting for what may never come."""
    number = unheeded()
    if number is not None:
        raise StoppedError(number)


class StopSignals:
    """While it is entered, the first signal to stop ends the reading; a second Ctrl-C interrupts at once.

    Attributes:
        number: of the signal that came; None as long as none did.
        descriptor: becomes readable with the signal, so that whoever waits for rows can wait for it, too. None where
            signals cannot be seen: outside of the main thread.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.descriptor: int | None = None
        self._wake: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.descriptor, self._wake = os.pipe()
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it: hang-ups are to be ignored
                    self._before[number] = signal.signal(number, self._stop)
            earlier = unheeded()
            if earlier is not None and self.number is None:
                self._stop(earlier, None)
        return self

    def __exit__(self, *args: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._wake is not None:
            os.close(self._wake)  # whoever still waits for rows is woken by it
            self._wake = None

    def __del__(self) -> None:
        if self.descriptor is not None:  # not before: a reader may look at it once more
            os.close(self.descriptor)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        self.number = number
        if self._wake is not None:
            os.write(self._wake, b"\0")
