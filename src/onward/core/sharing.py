"""A lock for each object that threads may share: no copy takes it along, and a forked process finds it free."""

import os
import threading
import weakref
from typing import Any

_shared: "weakref.WeakValueDictionary[int, Shared]" = weakref.WeakValueDictionary()  # what a fork may meet, by its id


class _FirstUse:
    """Makes the lock of an object when it is first asked for; from then on the object has it."""

    def __get__(self, owner: "Shared | None", _: type) -> Any:
        if owner is None:
            return self
        _shared[id(owner)] = owner
        return owner.__dict__.setdefault("_lock", threading.RLock())  # in one step: one thread's counts


class Shared:
    """Something that threads may share: what takes more than one step is done with its lock held.

    The lock is `_lock`, of which copies and pickles must do without.
    """

    _lock: Any = _FirstUse()

    def _share(self) -> None:
        """Be known from the beginning, for what must be done in forked processes even if no lock was needed yet."""
        _shared[id(self)] = self

    def _after_fork(self) -> None:
        """In a forked process: nobody holds the lock any more, whoever did before."""
        self.__dict__.pop("_lock", None)


def _renew_after_fork() -> None:
    for each in list(_shared.values()):
        each._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_after_fork)
