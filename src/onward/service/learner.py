"""A policy behind a loop: read without a trace, grown when features are born, and taught by what the log tells."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onward.bandits.buffers import OFFERED, head_in
from onward.bandits.feature_start import Start
from onward.bandits.policies import OracleRestart
from onward.bandits.policy import Policy
from onward.bandits.policy_names import policy_kinds
from onward.bandits.recorded_choices import Offered, note_offered, note_taken, offered
from onward.core.types import Matrix, Vector
from onward.service.closed_values import expected_one_of
from onward.service.request_errors import RequestError

_START = Start({}, {})
_LONGEST = 300  # characters of a message
_KINDS = {name: kind for name, kind in policy_kinds().items() if kind is not OracleRestart}  # nobody knows when


def policy_names() -> list[str]:
    """The policies that a loop may have. Small letters are as good."""
    return sorted(kind.__name__ for kind in _KINDS.values())


def make_policy(settings: Mapping[str, Any]) -> Policy:
    """The policy of a loop's settings: its name and its arguments; RequestError if there is none such."""
    given = dict(settings)
    name = given.pop("name", None)
    kind = _KINDS.get(name.lower()) if isinstance(name, str) else None
    if kind is None:
        raise RequestError("unknown_policy", expected_one_of(name, policy_names()), "policy.name")
    if "explore" in given:
        raise RequestError("bad_policy", "explore is a setting of the loop, not of its policy", "policy.explore")
    if isinstance(given.get("lam"), list) or given.get("prior_mean") is not None:
        raise RequestError("bad_policy", "expected one number as lam, and no prior_mean: features have names", "policy")
    given.setdefault("seed", 0)  # its own numbers are never drawn: see decision_lots.py
    try:
        return kind(**given)
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise RequestError("bad_policy", f"{kind.__name__}: {error}"[:_LONGEST], "policy") from error


class Learner:
    """A policy by its settings, and what it has learned."""

    def __init__(self, settings: Mapping[str, Any], policy: Policy | None = None) -> None:
        self.settings = dict(settings)
        self.policy = make_policy(settings) if policy is None else policy
        self._to_read: Vector | None = None  # the buffer, to be read: reading keeps there what makes it quick

    def look_at(self, table: Matrix, names: Sequence[str], available: NDArray[np.bool_], explore: float) -> Offered:
        """What the policy says of actions, with features of these names; `explore` of the choices are any. No trace."""
        policy = self.policy
        if policy.dimension == len(names):
            if self._to_read is None:
                self._to_read = policy.buffer_for(table).copy()
            buffer = self._to_read
        else:
            policy = _START.grown(policy, names, table)
            buffer = policy.buffer_for(table).copy()
        return offered(policy, buffer, table, available, explore)

    def know(self, names: Sequence[str], table: Matrix, longest: float) -> bool:
        """Have features of these names, as actions are offered, the longest of that square: whether any were new."""
        policy, grows = self.policy, self.policy.dimension != len(names)
        if grows:
            policy = self.policy = _START.grown(policy, names, table)
        note_offered(policy.started(table), longest)
        self._to_read = None
        return grows

    def learn(self, row: Vector, reward: float, names: Sequence[str], scales: Any) -> bool:
        """Learn a reward; whether it was learned: numbers that no policy can take are not."""
        if self.policy.dimension != len(names):
            self.know(names, row.reshape(1, -1), 0.0)
        policy = self.policy
        self._to_read = None
        try:
            policy.checked_row(row)
            if scales is not None and policy.is_tuned:
                taken, by_scale = (np.array(each, dtype=np.float64) for each in scales)
                note_taken(policy.started(row.reshape(1, -1)), row, taken, by_scale)
            policy.learn(row, reward)
        except ValueError:
            return False
        return True

    @property
    def longest(self) -> float:
        """The largest squared length of an action that was offered."""
        return self.policy._buffer.item(OFFERED)

    @property
    def coef(self) -> list[float]:
        """The estimated coefficients, in the order of the features."""
        return [] if self.policy.dimension is None else [float(each) for each in self.policy.coef]

    def to_bytes(self) -> bytes:
        """Everything, for a snapshot."""
        return self.policy.to_bytes()

    @classmethod
    def from_bytes(cls, settings: Mapping[str, Any], data: bytes) -> Self:
        """What `to_bytes` gave; StorageError if it is damaged."""
        learner = cls(settings, Policy.from_bytes(data))
        policy = learner.policy
        if policy.dimension is not None:  # features that come later have the λ of those before them
            names = [str(i) for i in range(policy.dimension)]
            policy._settings = _START.settings_of(
                policy, names, head_in(policy.buffer_for(np.zeros((1, len(names))))).lam
            )
        return learner

    def digest(self) -> bytes:
        """What two learners share only if they know the same, to the last bit."""
        return hashlib.sha256(self.policy.digest().encode()).digest()
