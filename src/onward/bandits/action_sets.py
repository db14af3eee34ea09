"""What was offered in each event of a log: sets of actions, or arms that share a context; and the chances they had."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onward.core.read_only import read_only
from onward.core.types import Matrix, Vector
from onward.core.words import counted

_MOST_BYTES = 500_000_000  # of the actions of an event

Whole = NDArray[np.int64]


class ActionSets(Protocol):
    """The actions offered in each event. `sets[i]` is a new array (k, d), to do with as one likes."""

    @property
    def dimension(self) -> int:
        """Features of an action, d."""

    @property
    def sizes(self) -> Whole:
        """How many actions each event offered, (n,)."""

    def __len__(self) -> int: ...

    def __getitem__(self, event: int, /) -> Matrix: ...


class StackedSets:
    """Sets of any size, one below the other: event i has the rows from starts[i] to starts[i + 1]."""

    def __init__(self, rows: Matrix, sizes: Whole) -> None:
        self.sizes = read_only(sizes)
        self._rows = rows
        self._starts = np.concatenate([[0], np.cumsum(sizes)])

    @property
    def dimension(self) -> int:
        """Features of an action, d."""
        return int(self._rows.shape[1])

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, event: int, /) -> Matrix:
        event = range(len(self))[event]
        return self._rows[self._starts[event] : self._starts[event + 1]].copy()


class ArmsInContext:
    """One context an event, put into the block of each arm. Laid out when asked for: it is n_arms² times as large."""

    def __init__(self, contexts: Matrix, n_arms: int) -> None:
        self.sizes = read_only(np.full(len(contexts), n_arms, dtype=np.int64))
        self.contexts, self._n_arms = contexts, n_arms

    @property
    def dimension(self) -> int:
        """Features of an action, d."""
        return self._n_arms * int(self.contexts.shape[1])

    def __len__(self) -> int:
        return len(self.contexts)

    def __getitem__(self, event: int, /) -> Matrix:
        needed = 8 * self._n_arms**2 * self.contexts.shape[1]
        if needed > _MOST_BYTES:
            raise ValueError(
                f"{self._n_arms:,} arms of {counted(self.contexts.shape[1], 'feature')} take {needed / 1e9:,.1f} GB an "
                f"event, expected at most {_MOST_BYTES / 1e9:g} GB; a Disjoint policy takes contexts as they are"
            )
        out = np.zeros((self._n_arms, self._n_arms, self.contexts.shape[1]))
        arms = np.arange(self._n_arms)
        out[arms, arms] = self.contexts[event]
        return out.reshape(self._n_arms, -1)


class Chances:
    """The chance that each action of each event had, one event below the other. `chances[i]` has k_i numbers."""

    def __init__(self, flat: Vector, sizes: Whole) -> None:
        self._flat, self._starts = read_only(flat), np.concatenate([[0], np.cumsum(sizes)])

    def __getitem__(self, event: int, /) -> Vector:
        return self._flat[self._starts[event] : self._starts[event + 1]]
