"""A policy whose actions and contexts are dicts or data frames, by name."""

import copy
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from onward import storage
from onward.bandits.buffer_checks import check_size, check_whole, lam_in
from onward.bandits.feature_names import (
    FeatureNames,
    Interactions,
    named_row,
    named_rows,
    plain_context,
    plain_row,
    plain_rows,
)
from onward.bandits.feature_start import Start
from onward.bandits.inputs import as_reward, as_rewards, as_weights
from onward.bandits.joined_buffers import check_apart, check_mergeable, check_same, joined
from onward.bandits.legacy import with_room_for_settings
from onward.bandits.named_choosing import NamedChoices, Names
from onward.bandits.pending import UNKNOWN, Pending
from onward.bandits.policy import Policy
from onward.core import Information
from onward.core.checks import positive, whole
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Vector


@storage.kind("named policy")
class Named(NamedChoices):
    """A policy whose actions are dicts or rows of a data frame, by name: `{"price": 3.5, "genre": "jazz"}`.

    A number is a feature of its name, True and False are 1 and 0, and a text is a category: each of its levels is a
    feature of its own, `genre=jazz`. Columns may come in any order; what a row does not have counts as 0. A name or a
    level that comes later becomes a feature then, exactly as if it had been there, at 0, from the beginning.

    A context is what all actions of a round have in common. Its features stand beside the action's, and count for a
    choice through `interactions`.

    Args:
        policy: what chooses, such as LinUCB(); it must not have learned anything.
        intercept: whether every action has a feature of 1, called `intercept`.
        interactions: products that are features too, called `genre=jazz:device=phone`. True: of each feature of an
            action with each of its context's, as "xa" has it elsewhere. Or pairs of columns, ("genre", "device").
        lam: λ of features by name, with that of all others under None; None for the policy's own.
        prior_mean: coefficients to start from by name; 0 for all others.

    Raises:
        ValueError: if the policy is none, or has learned or chosen already.

    Example:
        >>> from onward.bandits import LinUCB, Named
        >>> policy = Named(LinUCB(lam=1.0, seed=0))
        >>> songs = [{"tempo": 1.2, "genre": "jazz"}, {"tempo": 0.8, "genre": "folk"}]
        >>> policy.learn(songs[0], 1.0)
        >>> policy.learn(songs[1], 0.0)
        >>> policy.names
        ('tempo', 'genre=jazz', 'genre=folk')
        >>> policy.estimate(songs).round(2)
        array([0.68, 0.12])
    """

    kind_of_file = "named policy"

    def __init__(
        self,
        policy: Policy,
        *,
        intercept: bool = False,
        interactions: Interactions = False,
        lam: Mapping[str | None, float] | None = None,
        prior_mean: Mapping[str, float] | None = None,
    ) -> None:
        if not isinstance(policy, Policy):
            raise ValueError(f"policy must be one of onward.bandits, such as LinUCB(), got {brief(policy)}")
        if policy.dimension is not None:
            raise ValueError("policy must not have learned or chosen anything yet, got one that has")
        self._policy = copy.deepcopy(policy)
        self._features = FeatureNames(intercept, interactions)
        self._start = Start.of(policy, lam, prior_mean)
        self._pending = Pending()

    def __repr__(self) -> str:
        intercept, interactions = self._features.intercept, self._features.interactions
        return f"Named({self._policy!r}, intercept={intercept}, interactions={interactions!r})"

    def _repr_html_(self) -> str:
        known = ", ".join(self.names) or "those that come"
        products = {"interactions": repr(self._features.interactions)} if self._features.interactions else {}
        return html_values("Named", {"policy": repr(self._policy), "features": known, **products})

    # Learning

    def learn(self, action: Names, reward: float, context: Names | None = None, weight: float = 1.0) -> None:
        """Learn the reward of an action, a dict, in its context: now or later, in any order.

        A reward of weight w counts as w rewards do: as one whose noise has the variance σ²/w.
        """
        row, paid, w = named_row(action, "action"), as_reward(reward), positive("weight", weight)
        with self._lock, interrupts_deferred():
            self._learn([row], context, np.array([paid]), np.array([w]), past=False)
            if self._is_noting:
                given = {"action": plain_row(row), "reward": paid, "context": plain_context(context), "weight": w}
                self._note("learn", given)

    def learn_many(self, actions: Any, rewards: ArrayLike, contexts: Any = None, weights: Any = None) -> None:
        """Learn a log, all of it or nothing: the actions that were played with their rewards, in order.

        Args:
            actions: dicts or a data frame, a row for each.
            rewards: a number for each.
            contexts: dicts or a data frame, a row for each; or one dict for all.
            weights: a number > 0 for each; None if all are 1.
        """
        rows = named_rows(actions, "actions")
        column, w = as_rewards(rewards, len(rows)), as_weights(weights, len(rows))
        if contexts is not None and not isinstance(contexts, Mapping):
            contexts = named_rows(contexts, "contexts")
            if len(contexts) != len(rows):
                raise ValueError(f"contexts must have {len(rows)} rows, one for each action, got {len(contexts)}")
        with self._lock, interrupts_deferred():
            self._learn(rows, contexts, column, w, past=True)
            if self._is_noting:
                common = plain_rows(contexts) if isinstance(contexts, list) else contexts and plain_row(contexts)
                given = {"actions": plain_rows(rows), "rewards": column, "contexts": common, "weights": w}
                self._note("learn_many", given)

    def _learn(self, rows: Sequence[Names], contexts: Any, rewards: Vector, weights: Vector, past: bool) -> None:
        """Learn rows, all of them or none; the lock is held."""
        table, new, kinds = self._encode(rows, contexts)
        policy = self._checked(self._policy, table, new)
        policy._learn_rows(table, rewards, weights, past=past)
        self._commit(policy, new, kinds)

    def merge(self, other: "Named") -> None:
        """Know also what another one has learned, name by name; names that are only there are added.

        For policies of one design whose memory counts all rewards alike. Decisions that wait there stay there.

        Args:
            other: another one of the same design.
        """
        if not isinstance(other, Named):
            raise ValueError(f"cannot merge: expected another Named, got {brief(other)}")
        check_apart(self, other)
        other = copy.deepcopy(other)  # as it is now, whatever other threads do to it
        with self._lock, interrupts_deferred():
            self._merge(other)
            self._note_state()

    def _merge(self, other: "Named") -> None:
        check_mergeable(self._policy.design, other._policy.design)
        for name in ("intercept", "interactions"):
            check_same(name, getattr(self._features, name), getattr(other._features, name))
        check_same("lam and prior_mean", self._start, other._start)
        kinds, theirs = self._features.kinds, other._features.kinds
        for name in kinds.keys() & theirs.keys():
            check_same(f"{name!r} as", kinds[name], theirs[name])
        if other.dimension is None:
            return
        new = [name for name in other.names if name not in self._features.columns]
        columns = [*self.names, *new]
        zeros = np.zeros((1, len(columns)))
        policy = self._checked(self._policy, zeros, new)
        if self.dimension is None:  # of rows that were not seen here only the other knows the units
            there = dict(zip(other.names, other.information().lam.tolist(), strict=True))
            lam = np.array([there[name] for name in columns])
            policy = copy.copy(policy)
            policy._settings = self._start.settings_of(policy, columns, lam)
        places = [columns.index(name) for name in other.names]
        mine = policy.buffer_for(zeros)
        buffer = joined(policy._settings, mine, other._policy._buffer, places)
        policy._buffer, policy._dimension = buffer, len(columns)
        self._commit(policy, new, theirs)

    def restart(self) -> None:
        """Forget all rewards; names and what is waiting stay."""
        with self._lock, interrupts_deferred():
            self._policy.restart()
            self._note("restart", {})

    # Names

    @property
    def names(self) -> tuple[str, ...]:
        """The features that are known, in the order in which they came."""
        return tuple(self._features.columns)

    @property
    def coef(self) -> dict[str, float]:
        """The ridge estimate θ by name, the prior mean included."""
        with self._lock:
            return dict(zip(self.names, self._policy.coef.tolist(), strict=True)) if self.dimension else {}

    def information(self) -> Information:
        """A copy of the state behind the estimates, its coordinates in the order of `names`."""
        return self._policy.information()

    # Rewards that come later

    def _learn_waiting(self, slots: Sequence[int], rewards: Vector) -> None:
        self._policy._learn_rows(np.array([self._pending.row(slot) for slot in slots]), rewards, past=False)

    def override(self, key: Hashable, action: Names, context: Names | None = None, number: int | None = None) -> None:
        """Note that another action was taken than the one decided: see `Policy.override`. Its context goes with it.

        Args:
            key: that of the decision.
            number: which one it was of those offered, if it was one of them.
        """
        place = UNKNOWN if number is None else whole("number", number, 0, 2**53)
        with self._lock, interrupts_deferred():
            self._pending.slot(key)
            row = named_row(action, "action")
            table, new, kinds = self._encode([row], context)
            self._commit(self._checked(self._policy, table, new), new, kinds)
            given = {"action": plain_row(row), "context": plain_context(context), "number": number}
            self._override(key, table[0], place, given)

    # What is known

    @property
    def dimension(self) -> int | None:
        """How many features there are; None before any was seen."""
        return self._policy.dimension

    @property
    def n_learned(self) -> int:
        """How many rewards were learned, over all restarts."""
        return self._policy.n_learned

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        pairs = self._features.to_record()
        own: dict[str, Any] = {"policy": "Named", "of": self._policy.describe()}
        own |= {name: pairs[name] for name in ("intercept", "interactions")}
        return own | self._start.to_record()

    # Files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        with self._lock:
            settings, arrays = self._policy.to_record()
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
        given, d = settings["of"], check_whole("dimension", settings["of"]["dimension"])
        policy = Policy.from_record(given | {"pending": [], "dimension": 0}, {"pending": np.empty((0, 0))})
        named = cls(policy, lam=dict(settings.get("lam", ())), prior_mean=settings.get("prior_mean"))
        named._features = FeatureNames.from_record(settings)
        named._policy = policy
        if d:
            if d != len(named.names):
                raise ValueError(f"a policy of {d} features, expected {len(named.names)}")
            saved = with_room_for_settings(arrays["buffer"], d, given)
            check_size(policy._settings, policy.memory, saved, d)
            policy._settings = named._start.settings_of(policy, named.names, lam_in(saved, d))
            policy._buffer = policy.fitting(saved, d)
            policy._dimension = d
        named._pending = Pending.from_record(settings, arrays, len(named.names))
        return named
