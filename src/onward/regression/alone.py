"""Threads that share a learner: one at a time for all that takes more than one step.

Plain rows go to a compiled loop without a lock: in Python the learner's buffer is looked up and the loop called without
a pause in which another thread could run, and the loop itself keeps the interpreter's lock. So whoever works on a
learner in several steps holds its lock and puts a closed buffer in the place of its own meanwhile: loops refuse that,
and what they refused waits for the lock.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def alone(method: Method) -> Method:
    """Let a learner's method run while no other thread changes the learner."""

    @wraps(method)
    def holding(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            fitted = self._state
            if fitted is None or self._buffer is fitted.closed_buffer:
                return method(self, *args, **kwargs)
            self._buffer = fitted.closed_buffer
            try:
                return method(self, *args, **kwargs)
            finally:
                self._buffer = self._state.buffer

    return cast(Method, holding)
