"""Arms whose contexts are dicts or data frames, by name."""

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from onward import storage
from onward.bandits.disjoint import Disjoint
from onward.bandits.feature_names import FeatureNames, Interactions, named_row, named_rows, plain_row, plain_rows
from onward.bandits.feature_start import Start
from onward.bandits.inputs import as_reward, as_rewards, as_weights
from onward.bandits.named_arms_choosing import NamedArmsChoices, Names
from onward.bandits.pending import Pending, PendingDecision
from onward.core.checks import positive
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Vector


@storage.kind("named arms")
class NamedArms(NamedArmsChoices):
    """Arms that share a context, a dict: `{"age": 31, "city": "Bern"}`. What `Named` is to a policy, for `Disjoint`.

    Args:
        arms: the arms, such as Disjoint(LinUCB(), ["left", "right"]); they must not have learned anything.
        intercept: whether every context has a feature of 1, called `intercept`.
        interactions: pairs of columns whose products are features too, called `city=Bern:device=phone`.
        lam, prior_mean: by name, as in `Named`; the same for all arms.

    Raises:
        ValueError: if the arms are no `Disjoint`, or have learned or chosen already.

    Example:
        >>> from onward.bandits import Disjoint, LinUCB, NamedArms
        >>> policy = NamedArms(Disjoint(LinUCB(lam=1.0, seed=0), ["tea", "coffee"]), intercept=True)
        >>> policy.learn("tea", {"hour": 17, "city": "Bern"}, 1.0)
        >>> policy.names
        ('intercept', 'hour', 'city=Bern')
        >>> policy.choose({"hour": 8, "city": "Bern"}) in ("tea", "coffee")
        True
    """

    kind_of_file = "named arms"

    def __init__(
        self,
        arms: Disjoint,
        *,
        intercept: bool = False,
        interactions: Interactions = False,
        lam: Mapping[str | None, float] | None = None,
        prior_mean: Mapping[str, float] | None = None,
    ) -> None:
        if not isinstance(arms, Disjoint):
            raise ValueError(f"arms must be Disjoint arms, such as Disjoint(LinUCB(), 3), got {brief(arms)}")
        if arms.dimension is not None or arms.pending:
            raise ValueError("arms must not have learned or chosen anything yet, got some that have")
        if interactions is True:
            raise ValueError("interactions=True is for actions with a context: expected pairs of names")
        self._arms = copy.deepcopy(arms)
        self._features = FeatureNames(intercept, interactions)
        self._start = Start.of(arms._policy, lam, prior_mean)
        self._pending = Pending()

    def __repr__(self) -> str:
        return f"NamedArms({self._arms!r}, intercept={self._features.intercept})"

    def _repr_html_(self) -> str:
        known = ", ".join(self.names) or "those that come"
        return html_values("NamedArms", {"arms": repr(self._arms), "features": known})

    # Arms

    def add_arm(self, name: Hashable = None) -> Hashable:
        """A new arm that knows nothing; its name."""
        with self._lock, interrupts_deferred():
            added = self._arms.add_arm(name)
            self._note("add_arm", {"name": added}, added)
        return added

    def remove_arm(self, name: Hashable) -> None:
        """Forget an arm, and cancel its decisions that still wait for a reward.

        Args:
            name: of the arm.
        """
        with self._lock, interrupts_deferred():
            serial = self._arms._serials[self._arms._place(name)]
            self._arms.remove_arm(name)
            self._pending.cancel_of(serial)
            self._note("remove_arm", {"name": name})

    # Learning

    def learn(self, arm: Hashable, context: Names, reward: float, weight: float = 1.0) -> None:
        """Learn the reward of an arm in a context, a dict: now or later, in any order.

        Args:
            weight: how much it counts.
        """
        row, paid, w = named_row(context, "context"), as_reward(reward), positive("weight", weight)
        with self._lock, interrupts_deferred(), self._noting_what_is_left():
            self._arms._place(arm)
            table, arms = self._encode([row], keep=True)
            arms.learn(arm, table[0], paid, w)
            if self._is_noting:
                self._note("learn", {"arm": arm, "context": plain_row(row), "reward": paid, "weight": w})

    def learn_many(self, arms: Sequence[Hashable], contexts: Any, rewards: ArrayLike, weights: Any = None) -> None:
        """Learn a log, all of it or nothing: the arms played, their contexts (dicts or a data frame) and rewards.

        Args:
            weights: how much each counts; None for 1.
        """
        rows = named_rows(contexts, "contexts")
        column, w = as_rewards(rewards, len(rows)), as_weights(weights, len(rows))
        with self._lock, interrupts_deferred(), self._noting_what_is_left():
            for arm in arms:
                self._arms._place(arm)
            if len(arms) != len(rows):
                raise ValueError(f"arms must be {len(rows)} names, one for each context, got {len(arms)}")
            table, mine = self._encode(rows, keep=True)
            mine.learn_many(arms, table, column, w)
            if self._is_noting:
                given = {"arms": list(arms), "contexts": plain_rows(rows), "rewards": column, "weights": w}
                self._note("learn_many", given)

    def restart(self, arm: Hashable = None) -> None:
        """Forget all rewards of an arm, or of all arms; names and what is waiting stay."""
        with self._lock, interrupts_deferred():
            self._arms.restart(arm)
            self._note("restart", {"arm": arm})

    # What is known

    @property
    def names(self) -> tuple[str, ...]:
        """The features that are known, in the order in which they came."""
        return tuple(self._features.columns)

    def coef(self, arm: Hashable) -> dict[str, float]:
        """The ridge estimate θ of an arm by name, the prior mean included."""
        with self._lock:
            return dict(zip(self.names, self._arms.coef(arm).tolist(), strict=True))

    @property
    def dimension(self) -> int | None:
        """How many features there are; None before any was seen."""
        return self._arms.dimension

    @property
    def n_learned(self) -> dict[Hashable, int]:
        """How many rewards each arm has learned."""
        return self._arms.n_learned

    # Rewards that come later

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        for slot, reward in zip(slots, rewards.tolist(), strict=True):
            self._arms.learn(self._arm_of(self._pending.actions[slot]), self._pending.row(slot), reward)

    def override(self, key: Hashable, arm: Hashable) -> None:
        """Note that another arm was played than the one decided: see `Disjoint.override`.

        Args:
            key: that of the decision.
        """
        with self._lock:
            self._override(key, None, self._arms._serials[self._arms._place(arm)], {"arm": arm})

    def _arm_of(self, serial: int) -> Hashable:
        return self._arms._names[self._arms._place_of(serial)]

    def _decision(self, key: Hashable) -> PendingDecision:
        with self._lock:
            decision = super()._decision(key)
            return decision._replace(action=self._arm_of(decision.action))

    # Files

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        told = self._features.to_record()
        own = {"policy": "NamedArms", "of": self._arms.describe()}
        return own | {name: told[name] for name in ("intercept", "interactions")} | self._start.to_record()

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        with self._lock:
            settings, arrays = self._arms.to_record()
            waiting, rows = self._pending.record(len(self._features.columns))
            own = self.describe() | {"of": settings} | self._features.to_record() | waiting
        return own, arrays | rows

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        inside = arrays | {"pending": np.empty((0, 0)), "decisions": np.empty((0, 4))}
        arms = Disjoint.from_record(settings["of"] | {"pending": []}, inside)
        fresh = Disjoint(arms._policy, arms.arms)
        named = cls(fresh, lam=dict(settings.get("lam", ())), prior_mean=settings.get("prior_mean"))
        named._features, named._arms = FeatureNames.from_record(settings), arms
        if arms.dimension is not None and arms.dimension != len(named.names):
            raise ValueError(f"arms of {arms.dimension} features, expected {len(named.names)}")
        named._pending = Pending.from_record(settings, arrays, len(named.names), arms._serials)
        return named
