"""Decisions that wait for their rewards, each under a key."""

import numbers
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self, cast

import numpy as np

from onward.core.types import Matrix, Vector


class Pending:
    """Rows by key, in the order in which they came."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, Vector] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The keys, the oldest first."""
        return tuple(self._rows)

    def check_new(self, key: Hashable) -> None:
        """Raise ValueError unless a decision can be put under this key."""
        if not isinstance(key, str | numbers.Integral) or isinstance(key, bool):
            raise ValueError(f"key must be text or a whole number, got {key!r}")
        if key in self._rows:
            raise ValueError(f"a decision already waits under key {key!r}; expected a new key for each decision")

    def add(self, key: Hashable, row: Vector) -> None:
        """Remember a row."""
        self._rows[key if isinstance(key, str) else int(cast(int, key))] = row.copy()

    def get(self, key: Hashable) -> Vector:
        """The row under the key, or ValueError."""
        if not isinstance(key, str | numbers.Integral) or key not in self._rows:
            raise ValueError(
                f"no decision waits under key {key!r} ({len(self._rows)} wait): "
                "it was never decided, or its reward has come already"
            )
        return self._rows[key]

    def drop(self, key: Hashable) -> None:
        """Forget a row."""
        del self._rows[key]

    def drop_where(self, first: float) -> None:
        """Forget every row that begins with this number."""
        self._rows = {key: row for key, row in self._rows.items() if row[0] != first}

    def record(self, width: int) -> tuple[list[Any], Matrix]:
        """Keys and rows, for a file."""
        return list(self._rows), np.array(list(self._rows.values())).reshape(len(self._rows), width)

    @classmethod
    def from_record(cls, keys: Sequence[Hashable], rows: Matrix) -> Self:
        """What `record` gave."""
        pending = cls()
        for key, row in zip(keys, rows, strict=True):
            pending.check_new(key)
            pending.add(key, row)
        return pending


class LateRewards:
    """The part of a policy that waits for rewards."""

    _pending: Pending

    def reward_many(self, rewards: Mapping[Any, float]) -> None:
        """Learn the rewards of several decisions, in the order given. All of them or none."""
        raise NotImplementedError

    def reward(self, key: Hashable, reward: float) -> None:
        """Learn the reward of the decision that waits under the key. Each counts once."""
        self.reward_many({key: reward})

    def cancel(self, key: Hashable) -> None:
        """Wait no longer for the reward of this decision."""
        self._pending.get(key)
        self._pending.drop(key)

    @property
    def pending(self) -> tuple[Hashable, ...]:
        """The keys of decisions that wait for their rewards, the oldest first."""
        return self._pending.keys
