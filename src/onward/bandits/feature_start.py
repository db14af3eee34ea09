"""Where features begin that are known by their names: λ and the prior mean of each."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from onward.bandits.buffers import PolicySettings, head_in, usual_lam
from onward.bandits.growing import with_coordinates
from onward.bandits.policy import Policy
from onward.core.checks import positive
from onward.core.shown import brief
from onward.core.types import Matrix, Vector
from onward.regression.start import lam_of, prior_of


class Start(NamedTuple):
    """λ by name, with that of all others under None, and coefficients to start from by name, 0 for all others."""

    lam: dict[str | None, float]  # empty for the policy's own
    prior_mean: dict[str, float]

    @classmethod
    def of(cls, policy: Policy, lam: Mapping[str | None, float] | None, prior_mean: Mapping[str, float] | None) -> Self:
        """What a policy that knows names was told."""
        if isinstance(policy.lam, tuple) or policy.prior_mean is not None:
            raise ValueError("lam and prior_mean of a policy have no names: expected them by name, here")
        for given, name in ((lam, "lam"), (prior_mean, "prior_mean")):
            if given is not None and not isinstance(given, Mapping):
                raise ValueError(f"{name} must be a dict of named features, got {brief(given)}")
        return cls(
            {name: positive("lam", value) for name, value in (lam or {}).items()},
            {name: prior_of(prior_mean, name) for name in prior_mean or ()},
        )

    def settings(self, policy: Policy, names: Sequence[str], table: Matrix) -> PolicySettings:
        """The policy's settings for features of these names, of which it may know the first; rows of them come."""
        known = head_in(policy._buffer).lam if policy.dimension else np.empty(0)
        others = [lam for name, lam in zip(names, known.tolist(), strict=False) if name not in self.lam]
        lam = np.empty(len(names))
        if policy.lam is not None:
            lam[:] = policy.lam
        elif others:  # that of a feature which was 0 in the first rows
            lam[:] = min(others)
            lam[: len(known)] = known
        else:
            lam[:] = usual_lam(table)
        for j, name in enumerate(names):
            if name in self.lam or None in self.lam:
                lam[j] = lam_of(self.lam, name)
        return self.settings_of(policy, names, lam)

    def settings_of(self, policy: Policy, names: Sequence[str], lam: Vector) -> PolicySettings:
        """The policy's settings for features of these names with these λ."""
        prior = tuple(prior_of(self.prior_mean, name) for name in names) if self.prior_mean else None
        return policy._settings._replace(lam=tuple(lam.tolist()), prior_mean=prior)

    def grown(self, policy: Policy, names: Sequence[str], table: Matrix) -> Policy:
        """A policy that knows features of these names, of which this one knows the first; rows of them come.

        It shares its random numbers with this one, which stays as it is.
        """
        larger = copy.copy(policy)
        larger._settings = self.settings(policy, names, table)
        if policy.dimension is not None:
            larger._buffer = with_coordinates(larger._settings, policy.memory, policy._buffer, len(names))
            larger._dimension = len(names)
        return larger

    def to_record(self) -> dict[str, Any]:
        """Plain values; nothing of what was not told."""
        own: dict[str, Any] = {"lam": [[name, value] for name, value in self.lam.items()]} if self.lam else {}
        return own | ({"prior_mean": dict(self.prior_mean)} if self.prior_mean else {})
