"""Arms that share a context and nothing else: one parameter vector for each."""

import copy
import itertools
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import layout, learning, reading
from onward.bandits.pending import Pending
from onward.bandits.policy import ALL_AVAILABLE, Policy, draw, is_plain_row, share_of_best
from onward.bandits.rows import as_mask, as_reward, as_rewards
from onward.core import Information
from onward.core.checks import whole
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

_NOTHING = np.empty(0)


@storage.kind("disjoint policy")
class Disjoint:
    """A policy for each arm, all of one kind: the arm with the best index for the context is played.

    The widths are each arm's own: with probability 1 − δ *an* arm's index is optimistic at all rounds. For all arms at
    once, give the policy δ divided by their number. So are the memories: what an arm has learned is discounted, leaves
    its window or is forgotten at a change point as further rewards *of that arm* come, not as rounds go by.

    Args:
        policy: what each arm begins as; it must not have learned anything.
        n_arms: how many arms, or their names (text or whole numbers).
    """

    def __init__(self, policy: Policy, n_arms: int | Iterable[Hashable]) -> None:
        if not isinstance(policy, Policy):
            raise ValueError(f"policy must be one of onward.bandits, such as OFUL(), got {policy!r}")
        if policy.dimension is not None:
            raise ValueError("policy must not have learned or chosen anything yet, got one that has")
        self._policy = copy.deepcopy(policy)
        self._rng = self._policy.generator
        self._names: list[Hashable] = []
        self._serials: list[int] = []  # a number for each arm that is never given again
        self._next = 0
        self._settings: Vector = np.empty(0)
        self._memories: Matrix = np.empty((0, 0))
        self._dimension = 0
        self._scratch: Matrix = np.empty((2, 0))
        self._pending = Pending()
        named = isinstance(n_arms, Iterable) and not isinstance(n_arms, str)
        names = n_arms if named and isinstance(n_arms, Iterable) else range(whole("n_arms", n_arms, 1))
        for name in names:
            self.add_arm(name)
        if not self._names:
            raise ValueError("expected at least one arm, got none")

    def __repr__(self) -> str:
        return f"Disjoint({self._policy!r}, {self._names!r})"

    # Arms

    @property
    def arms(self) -> tuple[Hashable, ...]:
        """Their names, in the order of `index`."""
        return tuple(self._names)

    def add_arm(self, name: Hashable = None) -> Hashable:
        """A new arm that knows nothing. Without a name it gets a number that no arm had before. Returns the name."""
        if name is None:
            name = next(number for number in itertools.count(self._next) if number not in self._names)
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(f"an arm's name must be text or a whole number, got {name!r}")
        if name in self._names:
            raise ValueError(f"there is an arm {name!r} already; expected a new name")
        memories = self._memories
        if self._dimension:
            fresh = self._fresh(self._dimension)[1]
            while len(fresh) < memories.shape[1]:
                fresh = self._policy.grown(fresh)
            memories = np.vstack([memories, fresh])
        with interrupts_deferred():
            self._memories = memories
            self._names.append(name)
            self._serials.append(self._next)
            self._next += 1
        return name

    def remove_arm(self, name: Hashable) -> None:
        """Forget an arm, and its decisions that still wait for a reward."""
        at = self._place(name)
        if len(self._names) == 1:
            raise ValueError(f"cannot remove {name!r}: it is the only arm")
        memories = np.delete(self._memories, at, axis=0) if self._dimension else self._memories
        with interrupts_deferred():
            self._pending.drop_where(float(self._serials[at]))
            self._memories = memories
            del self._names[at], self._serials[at]

    def _place(self, name: Hashable) -> int:
        if name not in self._names or isinstance(name, bool):
            raise ValueError(f"there is no arm {name!r}; expected one of {', '.join(map(repr, self._names))}")
        return self._names.index(name)

    # Choosing

    def choose(self, context: ArrayLike, available: ArrayLike | None = None) -> Hashable:
        """The name of the arm to play for a context (d,). Ties are broken at random.

        `available` says of each arm, in the order of `arms`, whether it may be played; None if all may.
        """
        if available is None and is_plain_row(context, self._dimension) and self._policy.draws_nothing:
            best, ties = self._ask(context, ALL_AVAILABLE, _NOTHING)
            if ties == 1:
                return self._names[best]
        return self._names[self._choose(self._row(context), available)]

    def _choose(self, row: Vector, available: ArrayLike | None) -> int:
        """The place of the arm to play; the loops have looked at the values of the row, or they were checked."""
        mask = ALL_AVAILABLE if available is None else as_mask(available, len(self._names))
        self._start(row)
        best, ties = self._ask(row, mask, self._draw(len(row)))
        return best if ties == 1 else reading.nth_best(self._scratch[1], mask, best, int(self._rng.random() * ties))

    def _ask(self, row: Vector, mask: NDArray[np.bool_], draws: Vector) -> tuple[int, int]:
        if self._scratch.shape[1] != len(self._names):
            self._scratch = np.empty((2, len(self._names)))
        estimate, index = self._scratch
        return reading.choose_arm(self._settings, self._memories, draws, row.reshape(1, -1), mask, estimate, index)

    def index(self, context: ArrayLike) -> Vector:
        """The index of each arm, in the order of `arms`. Changes nothing."""
        return self._read(context)[1]

    def estimate(self, context: ArrayLike) -> Vector:
        """The estimated reward of each arm, in the order of `arms`. Changes nothing."""
        return self._read(context)[0]

    def probabilities(self, context: ArrayLike, available: ArrayLike | None = None, samples: int = 1000) -> Vector:
        """The chance with which each arm would be chosen now, in the order of `arms`. Changes nothing.

        Exact, but for policies that sample: there it is the share of so many samples.
        """
        row = self._row(context)
        mask = np.ones(len(self._names), dtype=bool) if available is None else as_mask(available, len(self._names))
        if self._policy.RULE != layout.SAMPLING:
            return self._policy.chances(self.index(row), mask)
        generator = self._rng.bit_generator.state
        shares = [share_of_best(self._read(row, renew=True)[1], mask) for _ in range(whole("samples", samples, 1))]
        self._rng.bit_generator.state = generator
        return np.asarray(np.mean(shares, axis=0))

    def _read(self, context: ArrayLike, renew: bool = False) -> tuple[Vector, Vector]:
        row = self._row(context)
        estimate, index = np.empty(len(self._names)), np.empty(len(self._names))
        settings, memories = self._settings, self._memories
        if not self._dimension:
            settings, fresh = self._fresh(len(row))
            memories = np.tile(fresh, (len(self._names), 1))
        generator = self._rng.bit_generator.state
        draws = self._draw(len(row))
        if not renew:
            self._rng.bit_generator.state = generator
        reading.read_arms(settings, memories, draws, row.reshape(1, -1), estimate, index)
        return estimate, index

    def _draw(self, d: int) -> Vector:
        return draw(self._policy.RULE, self._rng, d * len(self._names))

    # Learning

    def learn(self, arm: Hashable, context: ArrayLike, reward: float) -> None:
        """Learn the reward of an arm in a context: now or later, in any order."""
        at = self._place(arm)
        if (
            is_plain_row(context, self._dimension)
            and isinstance(reward, float)
            and learning.learn(self._settings, self._memories[at], context, reward) == layout.DONE
        ):
            return
        row, reward = self._row(context), as_reward(reward)
        self._start(row)
        while learning.learn(self._settings, self._memories[at], row, reward) == layout.FULL:
            self._grow()

    def learn_many(self, arms: Sequence[Hashable], contexts: ArrayLike, rewards: ArrayLike) -> None:
        """Learn a log, all of it or nothing: the arms played, in contexts (n, d), with rewards (n,), in order.

        It is the past, before this policy began to play: change points are counted from here on.
        """
        table = self._policy.checked_table(contexts)
        if self._dimension and table.shape[1] != self._dimension:
            raise ValueError(f"contexts have {table.shape[1]} features, but this policy knows {self._dimension}")
        places, column = np.array([self._place(arm) for arm in arms], dtype=int), as_rewards(rewards, len(table))
        if len(places) != len(table):
            raise ValueError(f"arms must be {len(table)} names, one for each context, got {len(places)}")
        self._start(table[0])
        memories: list[Vector] = [memory.copy() for memory in self._memories]
        for at in range(len(self._names)):
            rows, paid, first = table[places == at], column[places == at], 0
            while (first := learning.learn_rows(self._settings, memories[at], rows, paid, first, True)) < len(rows):
                memories = [self._policy.grown(memory) for memory in memories]
        self._memories = np.array(memories)

    def start_from(self, arm: Hashable, model: OnlineRegressor | Information) -> None:
        """Let an arm begin with what a fitted regressor knows, in place of what it has learned."""
        at = self._place(arm)
        other = Policy.described(self._policy.describe())
        if self._dimension:
            other.choose(np.zeros((1, self._dimension)))
        other.start_from(model)
        d = other.dimension or 0
        self._start(np.zeros(d))
        memory = other.memory_for(d)[1]
        while len(memory) < self._memories.shape[1]:
            memory = other.grown(memory)
        for kept in (layout.OFFERED, layout.COUNTED):
            memory[kept] = max(memory[kept], self._memories[at, kept])
        self._memories[at] = memory

    def reseed(self, seed: int | np.random.SeedSequence | None) -> None:
        """Begin another sequence of random numbers."""
        self._policy.reseed(seed)
        self._rng = self._policy.generator

    def information(self, arm: Hashable) -> Information:
        """A copy of the state behind an arm's estimates: for `onward.confidence`, or for looking at."""
        at = self._place(arm)
        if not self._dimension:
            raise ValueError("nothing is known yet, not even how many features a context has: let it choose or learn")
        return self._policy.state_in(self._settings, self._memories[at], self._dimension)

    def coef(self, arm: Hashable) -> Vector:
        """The ridge estimate θ (d,) of an arm, which both estimators share."""
        return self.information(arm).coefficients()[:, 0]

    def _grow(self) -> None:
        self._memories = np.array([self._policy.grown(memory) for memory in self._memories])

    def restart(self, arm: Hashable = None) -> None:
        """Forget all rewards of an arm, or of all arms; what is waiting stays."""
        places = range(len(self._names)) if arm is None else [self._place(arm)]
        for at in places if self._dimension else ():
            layout.begin(self._settings, self._memories[at], self._dimension)

    def _row(self, context: ArrayLike) -> Vector:
        row = self._policy.checked_row(context)
        if self._dimension and len(row) != self._dimension:
            raise ValueError(f"context has {len(row)} features, but this policy knows {self._dimension}")
        return row

    def _start(self, row: Vector) -> None:
        if not self._dimension:
            self._settings, fresh = self._fresh(len(row))
            self._memories = np.tile(fresh, (len(self._names), 1))
            self._dimension = len(row)

    def _fresh(self, d: int) -> tuple[Vector, Vector]:
        return self._policy.memory_for(d)

    # Rewards that come later

    def decide(self, context: ArrayLike, key: Hashable, available: ArrayLike | None = None) -> Hashable:
        """`choose`, and remember arm and context under a key (text or a whole number) until the `reward` comes."""
        self._pending.check_new(key)
        row = self._row(context)
        with interrupts_deferred():
            at = self._choose(row, available)
            self._pending.add(key, np.concatenate([[float(self._serials[at])], row]))
        return self._names[at]

    def reward(self, key: Hashable, reward: float) -> None:
        """Learn the reward of the decision that waits under the key. Each counts once."""
        self.reward_many({key: reward})

    def reward_many(self, rewards: Mapping[Any, float]) -> None:
        """Learn the rewards of several decisions, in the order given. All of them or none."""
        rows = [self._pending.get(key) for key in rewards]
        column = as_rewards(list(rewards.values()), len(rows))
        with interrupts_deferred():
            for key, row, reward in zip(rewards, rows, column, strict=True):
                self.learn(self._names[self._serials.index(int(row[0]))], row[1:].copy(), float(reward))
                self._pending.drop(key)

    def cancel(self, key: Hashable) -> None:
        """Wait no longer for the reward of this decision."""
        self._pending.get(key)
        self._pending.drop(key)

    @property
    def pending(self) -> tuple[Hashable, ...]:
        """The keys of decisions that wait for their rewards, the oldest first."""
        return self._pending.keys

    # What is known

    @property
    def dimension(self) -> int | None:
        """How many features a context has; None before any was seen."""
        return self._dimension or None

    @property
    def n_learned(self) -> dict[Hashable, int]:
        """How many rewards each arm has learned."""
        counts = self._memories[:, layout.LEARNED] if self._dimension else np.zeros(len(self._names))
        return dict(zip(self._names, (int(count) for count in counts), strict=True))

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        return {"policy": "Disjoint", "of": self._policy.describe(), "arms": list(self._names)}

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, random numbers and waiting decisions included: to go on exactly from here."""
        keys, rows = self._pending.record(self._dimension + 1)
        settings = {
            "of": self._policy.describe(),
            "names": self._names,
            "serials": self._serials,
            "next": self._next,
            "dimension": self._dimension,
            "generator": self._rng.bit_generator.state,
            "pending": keys,
        }
        storage.save(path, "disjoint policy", settings, {"memories": self._memories, "pending": rows})

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file."""
        policy = cls(Policy.described(settings["of"]), settings["names"])
        policy._serials, policy._next = [int(number) for number in settings["serials"]], int(settings["next"])
        policy._rng.bit_generator.state = settings["generator"]
        d, memories = int(settings["dimension"]), arrays["memories"]
        if d:
            policy._start(np.zeros(d))
            while policy._memories.shape[1] < memories.shape[1]:
                policy._grow()
            if policy._memories.shape != memories.shape or len(policy._serials) != len(memories):
                raise ValueError(f"memories of shape {memories.shape}, expected {policy._memories.shape}")
            policy._memories = memories
        policy._pending = Pending.from_record(settings["pending"], arrays["pending"])
        return policy
