"""Policies that wrap another one: they wait for rewards and can be shared by threads, but keep no journal."""

import copy
import os
from typing import Any

from onward.bandits.journal import Journal
from onward.bandits.late_rewards import LateRewards
from onward.core.sharing import Shared


class WithoutJournal(LateRewards):
    """The part of such a policy that waits for rewards. Its random numbers are those of the policy inside."""

    def journal(self, path: str | os.PathLike[str], *, fsync: bool = False) -> Journal:
        """It keeps none: ValueError.

        Args:
            path: the name of the file.
            fsync: as of other policies.
        """
        raise ValueError(
            f"{type(self).__name__} keeps no journal, and that of the policy inside would not tell what is done here: "
            "expected a Policy or a Disjoint, or use save"
        )

    def _after_fork(self) -> None:
        Shared._after_fork(self)  # the policy inside begins random numbers of its own

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return copy.deepcopy({name: value for name, value in self.__dict__.items() if name != "_lock"})
