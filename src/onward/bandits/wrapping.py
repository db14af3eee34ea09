"""Policies that wrap another one: they wait for rewards, keep a journal and can be shared by threads."""

import copy
from typing import Any

from onward.bandits.late_rewards import LateRewards
from onward.bandits.randomness import Seed
from onward.core.sharing import Shared


class Wrapping(LateRewards):
    """The part of such a policy that does not depend on what it wraps. Its random numbers are those of what is inside.

    What is done is noted here, as it was told; what is inside keeps no journal of its own.
    """

    @property
    def _wrapped(self) -> Any:
        """What is inside."""
        raise NotImplementedError

    def _to_look_at(self) -> Any:
        """What is inside, which is read without a trace if a journal is kept; the lock is held."""
        self._wrapped._reads_for_journal = self._reads_copies
        return self._wrapped

    def _after_fork(self) -> None:
        Shared._after_fork(self)  # the policy inside begins random numbers of its own
        if self._journal is not None:
            self._journal.disown()

    def _reseed(self, seed: Seed) -> None:
        self._wrapped.reseed(seed)

    def __getstate__(self) -> dict[str, Any]:
        own = ("_lock", "_journal")
        with self._lock:
            return copy.deepcopy({name: value for name, value in self.__dict__.items() if name not in own})
