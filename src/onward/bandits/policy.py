"""What every policy can do: choose, learn, wait for rewards, start over, be saved."""

import copy
import os
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import choosing, memories
from onward.bandits.buffers import (
    fresh_buffer,
    grown,
    policy_settings,
    refusal,
    settings_buffer,
    state_in,
    take_state,
    told_in,
)
from onward.bandits.known import Known
from onward.bandits.legacy import from_first_version
from onward.bandits.memories import Everything, Memory
from onward.bandits.pending import Pending
from onward.bandits.rows import as_actions, as_mask, as_reward, as_rewards
from onward.bandits.rules import ESTIMATORS, RULES, Estimator, Optimistic, Rule, one_of
from onward.bandits.settings import (
    EPSILON_GREEDY,
    GREEDY,
    N_LOG,
    N_SETTINGS,
    OPTIMISTIC,
    SAMPLING,
    UNIFORM_AT_RANDOM,
    Status,
)
from onward.core import Information
from onward.core.checks import whole
from onward.core.interrupts import interrupts_deferred
from onward.core.plain import close, is_plain
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from onward.tables import as_row

Seed = int | np.random.SeedSequence | None
Lam = float | ArrayLike

# Closed loops look at what they are given by themselves: see core/plain.py.
_choose_plainly: Callable[[Vector, Any], int] = choosing.choose_plainly
learn_plainly: Callable[[Vector, Any, Any], int] = memories.learn

_NONE = np.empty(0)
ALL_AVAILABLE = np.empty(0, dtype=np.bool_)
_OWN_KEY = 0x6F6E  # what a policy's random numbers are spawned by
_FIXED = frozenset({"memory", "rule", "estimator", "lam", "prior_mean", "known"})

_classes: dict[str, type["Policy"]] = {}


class Design(NamedTuple):
    """The values that a policy is made of."""

    memory: Memory
    rule: Rule
    estimator: Estimator
    lam: float | tuple[float, ...]
    prior_mean: tuple[float, ...] | None
    known: Known


@storage.kind("policy")
class Policy:
    """A linear bandit policy: a memory, a rule, an estimator and what is known; with what it has learned so far.

    Actions are rows of features, as many and whichever you like in each round; their number of features is fixed by the
    first that are seen. Bad input is one clear error and leaves the policy exactly as it was.

    To make one of your own, hand in a rule with a compiled width or index, or override `index` in a subclass: `choose`
    then takes the largest, and `learn` is as it was.

    Args:
        memory: which rewards count: see `onward.bandits.memories`.
        rule: how estimates become a choice: see `onward.bandits.rules`.
        estimator: "forward" or "ridge".
        lam: λ > 0, a number or one for each feature.
        known: σ, S, δ and X.
        prior_mean: coefficients (features,) to start from and shrink towards; None for 0.
        seed: of the policy's own random numbers, which break ties and draw samples.
    """

    memory: Memory
    rule: Rule
    estimator: Estimator
    lam: float | tuple[float, ...]
    prior_mean: tuple[float, ...] | None
    known: Known

    def __init_subclass__(cls) -> None:
        _classes[cls.__name__] = cls

    def __init__(
        self,
        memory: Memory | None = None,
        rule: Rule | None = None,
        estimator: Estimator = "forward",
        lam: Lam = 1.0,
        *,
        known: Known | None = None,
        prior_mean: ArrayLike | None = None,
        seed: Seed = None,
    ) -> None:
        given = self.__dict__
        given["memory"] = Everything() if memory is None else _instance("memory", memory, Memory)
        given["rule"] = Optimistic() if rule is None else _instance("rule", rule, Rule)
        given["known"] = Known() if known is None else _instance("known", known, Known)
        one_of("estimator", estimator, ESTIMATORS)
        given["estimator"] = estimator
        given["lam"], given["prior_mean"] = _lam(lam), _mean(prior_mean)
        printed = isinstance(self.rule, Optimistic) and self.rule.width == "printed"
        if printed and (estimator, getattr(self.rule, "bias", None)) != ("forward", "paper"):
            raise ValueError(
                "width='printed' is Algorithm 3 as printed: expected estimator='forward' and bias='paper', "
                f"got {estimator!r} and {getattr(self.rule, 'bias', None)!r}"
            )
        if printed and isinstance(self.lam, tuple):
            raise ValueError(f"width='printed' is Algorithm 3 as printed: expected one lam for all, got {lam!r}")
        self._settings = policy_settings(self)
        self._buffer: Vector = settings_buffer(self._settings)
        self._dimension = 0
        self._pending = Pending()
        self._rng = own_generator(seed)
        self._ready = self._quick = self._draws = False  # whether plain actions may go straight to the closed loops

    @property
    def _has_compiled_index(self) -> bool:
        return type(self).index is Policy.index

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and (name in _FIXED or name in self.parameters):
            raise AttributeError(f"{name} is fixed once a policy is made: make another one with {name}={value!r}")
        object.__setattr__(self, name, value)

    @property
    def design(self) -> Design:
        """What it is made of: policies of one design play alike."""
        return Design(self.memory, self.rule, self.estimator, self.lam, self.prior_mean, self.known)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that would make it again, as plain values."""
        given: dict[str, Any] = {"memory": _named(self.memory), "rule": _named(self.rule), "estimator": self.estimator}
        return given | self._common() | {"known": dict(vars(self.known))}

    def _common(self) -> dict[str, Any]:
        lam = list(self.lam) if isinstance(self.lam, tuple) else self.lam
        return {"lam": lam} | ({} if self.prior_mean is None else {"prior_mean": list(self.prior_mean)})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"

    # Choosing

    def choose(self, actions: ArrayLike, available: ArrayLike | None = None) -> int:
        """The number of the action to play, among the rows of `actions`. Ties are broken at random.

        Args:
            actions: (k, d), a row for each action; another set each round, if you like.
            available: (k,) whether each may be played; None if all may.
        """
        if self._quick and available is None:
            try:
                best = _choose_plainly(self._buffer, actions)
                if best >= 0:
                    return best
            except TypeError:
                pass  # not as the loops take it
        table, mask = self._offer(actions, available)
        buffer = self._started(table.shape[1])
        if not self._has_compiled_index:
            return self._choose_by_index(table, mask)
        best, ties, index = choosing.choose(buffer, self._draw(table.shape[1]), table, mask)
        if best < 0:
            raise refusal(best, table, self.known.action_bound)
        return best if ties == 1 else self._break_tie(index, mask, best, ties)

    def _break_tie(self, index: Vector, mask: NDArray[np.bool_], best: int, ties: int) -> int:
        return choosing.nth_best(index, mask, best, int(self._rng.random() * ties))

    def _choose_by_index(self, table: Matrix, mask: NDArray[np.bool_]) -> int:
        """The largest of a subclass's own indices."""
        free = np.ones(len(table), dtype=bool) if mask is ALL_AVAILABLE else mask
        best = np.flatnonzero(share_of_best(self._own_index(table), free))
        told_in(self._buffer).log["offered"] = max(
            self.largest_square, float(np.einsum("ij,ij->i", table, table).max())
        )
        return int(best[0] if len(best) == 1 else best[int(self._rng.random() * len(best))])

    def _own_index(self, table: Matrix) -> Vector:
        index = np.asarray(self.index(table), dtype=np.float64)
        if index.shape != (len(table),) or np.isnan(index).any():
            raise ValueError(f"index must give a number for each of {len(table)} actions, got {index!r}")
        return index

    def index(self, actions: ArrayLike) -> Vector:
        """The index of each action: `choose` takes the largest. Changes nothing.

        For a policy that samples, this is the sample that the next `choose` would take.
        """
        return self._read(actions)[1]

    def estimate(self, actions: ArrayLike) -> Vector:
        """The estimated reward of each action: its index without what is added to explore. Changes nothing."""
        return self._read(actions)[0]

    def leverage(self, actions: ArrayLike) -> Vector:
        """xᵀG⁻¹x of each action: how little is known in its direction. Changes nothing."""
        table = self.checked_table(actions)
        return state_in(self._settings, self.buffer_for(table.shape[1])).leverages(table)

    def probabilities(self, actions: ArrayLike, available: ArrayLike | None = None, samples: int = 1000) -> Vector:
        """The chance with which each action would be chosen now: what a log needs as propensity. Changes nothing.

        Exact, but for policies that sample: there it is the share of so many samples.
        """
        table, mask = self._offer(actions, available)
        free = np.ones(len(table), dtype=bool) if mask is ALL_AVAILABLE else mask
        if self.rule.kind != SAMPLING or not self._has_compiled_index:
            return self.chances(self._own_index(table), free)
        d, generator = table.shape[1], copy.deepcopy(self._rng)
        draws = generator.standard_normal((whole("samples", samples, 1), d))
        return choosing.sampled_shares(self.buffer_for(d), draws, table, mask)

    def chances(self, index: Vector, free: NDArray[np.bool_]) -> Vector:
        """The chance with which each is chosen, given the index of each and which are available; not for sampling."""
        epsilon = {UNIFORM_AT_RANDOM: 1.0, EPSILON_GREEDY: getattr(self.rule, "epsilon", 0.0)}
        share = epsilon.get(self.rule.kind, 0.0) if self._has_compiled_index else 0.0
        return np.asarray((1.0 - share) * share_of_best(index, free) + share * free / free.sum())

    def _offer(self, actions: ArrayLike, available: ArrayLike | None) -> tuple[Matrix, NDArray[np.bool_]]:
        """The actions as the loops take them and the mask, once it is sure that a choice can be made."""
        table = self.checked_table(actions)
        if available is None:
            return table, ALL_AVAILABLE
        return table, as_mask(available, len(table))

    def checked_table(self, actions: ArrayLike) -> Matrix:
        """Actions as the loops take them, or an error that says what is wrong with them."""
        table = actions if is_plain(actions, 2) else as_actions(actions)
        if table.shape[1] != self._dimension or not len(table):
            self._check_shape(table)
        status = choosing.check(self._buffer, table)
        if status < 0:
            raise refusal(status, table, self.known.action_bound)
        return table

    def _check_shape(self, actions: Matrix) -> None:
        if not len(actions):
            raise ValueError("no action given: expected at least one row, got none")
        d = actions.shape[1]
        if d == 0:
            raise ValueError("actions must have at least one feature, got rows of none")
        if self._dimension and d != self._dimension:
            raise ValueError(f"actions have {d} features, but this policy knows {self._dimension}")
        for name, value in (("lam", self.lam), ("prior_mean", self.prior_mean)):
            if isinstance(value, tuple) and len(value) != d:
                raise ValueError(f"actions have {d} features, but {name} has {len(value)} values")

    def _read(self, actions: ArrayLike) -> tuple[Vector, Vector]:
        table = self.checked_table(actions)
        generator = self._rng.bit_generator.state
        draws = self._draw(table.shape[1])
        self._rng.bit_generator.state = generator
        index, estimate = choosing.read_all(self.buffer_for(table.shape[1]), draws, table)
        return estimate.copy(), index.copy()

    def _draw(self, d: int) -> Vector:
        """The random numbers of one choice."""
        return draw(self.rule.kind, self._rng, d)

    # Learning

    def learn(self, action: ArrayLike, reward: float) -> None:
        """Learn the reward of an action (d,): now or later, in any order."""
        if self._ready:
            try:
                if learn_plainly(self._buffer, action, reward) == 0:
                    return
            except TypeError:
                pass
        row = self.checked_row(action)
        reward = as_reward(reward)
        buffer = self._started(len(row))
        while (status := memories.learn(buffer, row, reward)) == Status.FULL:
            buffer = self._buffer = grown(self.memory, buffer)
        if status < 0:
            raise refusal(status, row.reshape(1, -1), self.known.action_bound)

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike) -> None:
        """Learn a log: the actions (n, d) that were played with their rewards (n,), in order. All of it or nothing.

        It is the past, before this policy began to play: change points are counted from here on.
        """
        self._learn_rows(actions, rewards, past=True)

    def _learn_rows(self, actions: ArrayLike, rewards: ArrayLike, past: bool) -> None:
        table = self.checked_table(actions)
        column = as_rewards(rewards, len(table))
        buffer, first = self.buffer_for(table.shape[1]).copy(), 0
        while (first := memories.learn_rows(buffer, table, column, first, past)) < len(table):
            if not memories.is_full(buffer):
                raise refusal(Status.NOT_FINITE, table[first : first + 1], self.known.action_bound)
            buffer = grown(self.memory, buffer)
        self._buffer, self._dimension = buffer, table.shape[1]

    def start_from(self, model: OnlineRegressor | Information) -> None:
        """Begin with what a fitted regressor knows, in place of what this policy has learned.

        The model must have one target, no intercept, rows of weight 1, and the λ and prior mean of this policy.
        """
        state = model if isinstance(model, Information) else model.information_
        d = state.n_features
        if self._dimension and d != self._dimension:
            raise ValueError(f"the model has {d} features, but this policy knows {self._dimension}")
        if self.rule.kind == UNIFORM_AT_RANDOM:
            raise ValueError("a random policy learns nothing, so it cannot start from a model")
        self._buffer, self._dimension = take_state(self._settings, self.memory, self._buffer, state), d

    def restart(self) -> None:
        """Forget all rewards; what is waiting stays, and so does the largest norm offered."""
        if self._dimension:
            memories.begin(self._buffer)

    def checked_row(self, action: ArrayLike) -> Vector:
        """One action as the loops take it, or an error that says what is wrong with it."""
        row = action if is_plain(action, 1) else as_row(action)[0]
        self.checked_table(row.reshape(1, -1))
        return row

    # Rewards that come later

    def decide(self, actions: ArrayLike, key: Hashable, available: ArrayLike | None = None) -> int:
        """`choose`, and remember the action under a key (text or a whole number) until its `reward` comes."""
        self._pending.check_new(key)
        table = self.checked_table(actions)
        with interrupts_deferred():
            chosen = self.choose(table, available)
            self._pending.add(key, table[chosen])
        return chosen

    def reward(self, key: Hashable, reward: float) -> None:
        """Learn the reward of the decision that waits under the key. Each counts once."""
        self.reward_many({key: reward})

    def reward_many(self, rewards: Mapping[Any, float]) -> None:
        """Learn the rewards of several decisions, in the order given. All of them or none."""
        rows = [self._pending.get(key) for key in rewards]
        column = as_rewards(list(rewards.values()), len(rows))
        if not rows:
            return
        with interrupts_deferred():
            self._learn_rows(np.array(rows), column, past=False)
            for key in rewards:
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
        """How many features an action has; None before any was seen."""
        return self._dimension or None

    @property
    def n_learned(self) -> int:
        """How many rewards were learned, over all restarts."""
        return int(told_in(self._buffer).log["learned"][0])

    @property
    def largest_square(self) -> float:
        """The largest squared norm of an action offered so far."""
        return float(told_in(self._buffer).log["offered"][0])

    @property
    def n_models(self) -> int:
        """How many models there are: 1, but for a policy that detects changes."""
        detects = self._dimension and self.memory.kind == memories.DETECTING
        return memories.n_models_in(self._buffer) if detects else 1

    def information(self) -> Information:
        """A copy of the state behind the estimates: for `onward.confidence`, or for looking at."""
        if not self._dimension:
            raise ValueError(
                "nothing is known yet, not even how many features actions have: let it choose or learn first"
            )
        return state_in(self._settings, self._buffer)

    @property
    def coef(self) -> Vector:
        """The ridge estimate θ (d,), which both estimators share, the prior mean included."""
        state = self.information()
        return np.asarray(state.coefficients()[:, 0] + state.prior[:, 0])

    def reseed(self, seed: Seed) -> None:
        """Begin another sequence of random numbers."""
        self._rng = own_generator(seed)

    @property
    def generator(self) -> np.random.Generator:
        """The policy's own random numbers."""
        return self._rng

    def describe(self) -> dict[str, Any]:
        """Its name and settings, as plain values."""
        return {"policy": type(self).__name__, **self.parameters}

    def _started(self, d: int) -> Vector:
        if not self._dimension:
            self._buffer, self._dimension = self.buffer_for(d), d
        if not self._ready:
            self._ready = close_loops()
            self._quick = self.rule.kind in (OPTIMISTIC, GREEDY) and self._has_compiled_index
            self._draws = self.rule.kind not in (OPTIMISTIC, GREEDY) and self._has_compiled_index
        return self._buffer

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ready = self._quick = False  # in another process the loops are not closed yet

    def buffer_for(self, d: int, given: int | None = None) -> Vector:
        """The buffer; a new one for d coordinates if it knows nothing yet, of `given` features if so said."""
        if not self._dimension:
            return fresh_buffer(self._settings, self.memory, d, d if given is None else given)
        if d != self._dimension:
            raise ValueError(f"actions have {d} features, but this policy knows {self._dimension}")
        return self._buffer

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, random numbers and waiting decisions included: to go on exactly from here."""
        keys, rows = self._pending.record(self._dimension)
        arrays = {"pending": rows} | ({"buffer": self._buffer} if self._dimension else {})
        own = {"generator": self._rng.bit_generator.state, "dimension": self._dimension, "pending": keys}
        storage.save(path, "policy", self.describe() | own, arrays)

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file."""
        own = {"generator", "dimension", "pending"}
        generator, d, keys = settings["generator"], int(settings["dimension"]), settings["pending"]
        policy = cls.described({name: value for name, value in settings.items() if name not in own})
        policy._rng.bit_generator.state = generator
        if "memory" in arrays:
            policy._buffer, policy._dimension = from_first_version(policy, arrays["memory"], d), d
        elif "buffer" in arrays:
            policy._buffer, policy._dimension = policy.fitting(arrays["buffer"], d), d
        policy._pending = Pending.from_record(keys, arrays["pending"])
        return policy

    def fitting(self, saved: Vector, d: int) -> Vector:
        """A buffer from a file, with the settings of this policy; ValueError if it is none of its own."""
        buffer = fresh_buffer(self._settings, self.memory, d, d)
        while len(buffer) < len(saved):
            larger = grown(self.memory, buffer)
            if len(larger) == len(buffer):
                break
            buffer = larger
        if saved.shape != buffer.shape or told_in(saved).log["capacity"] != told_in(buffer).log["capacity"]:
            raise ValueError(f"buffer of {saved.shape} numbers, expected {buffer.shape}")
        head = told_in(buffer).settings.copy()
        buffer[:] = saved
        told_in(buffer).settings[:] = head  # addresses of functions are this process's own
        return buffer

    @classmethod
    def described(cls, description: Mapping[str, Any]) -> Self:
        """The policy that `describe` described, as it was before it learned anything."""
        parameters = dict(description)
        made_by = _classes[parameters.pop("policy")]
        if isinstance(parameters.get("memory"), dict):
            kinds = {kind.__name__: kind for kind in memories.KINDS}
            parameters["memory"] = _made(kinds, parameters["memory"])
            parameters["rule"] = _made(RULES, parameters["rule"])
            parameters["known"] = Known(**parameters["known"])
        policy = made_by(**parameters)
        if not isinstance(policy, cls):
            raise ValueError(f"expected a {cls.__name__}, got a {type(policy).__name__}")
        return policy


_classes["Policy"] = Policy


@cache
def close_loops() -> bool:
    """Make the loops for plain actions ready; they take nothing else from then on."""
    buffer = np.zeros(N_SETTINGS + N_LOG)  # of no coordinates: every action is refused
    close(choosing.choose_plainly, buffer, np.zeros((1, 1)))
    close(choosing.check, buffer, np.zeros((1, 1)))
    close(memories.learn, buffer, np.zeros(1), 0.0)
    return True


def own_generator(seed: Seed) -> np.random.Generator:
    """Random numbers of the policy's own: not those that `default_rng(seed)` would give to a world of the same seed."""
    given = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    own = np.random.SeedSequence(given.entropy, spawn_key=(*given.spawn_key, _OWN_KEY), pool_size=given.pool_size)
    return np.random.default_rng(own)


def draw(rule: int, rng: np.random.Generator, d: int) -> Vector:
    """The random numbers of one choice among actions with d features; in the compiled game they are the same."""
    if rule == SAMPLING:
        return rng.standard_normal(d)
    count = {EPSILON_GREEDY: 2, UNIFORM_AT_RANDOM: 1}.get(rule, 0)
    return rng.random(count) if count else _NONE


def share_of_best(index: Vector, free: NDArray[np.bool_]) -> Vector:
    """The largest of the available, each with the same share."""
    best = free & (index == index[free].max())
    return np.asarray(best / best.sum())


def _instance(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {value!r}")
    return value


def _named(value: Memory | Rule) -> dict[str, Any]:
    return {"kind": type(value).__name__, **value.parameters()}


def _made(kinds: Mapping[str, Any], description: Mapping[str, Any]) -> Any:
    given = dict(description)
    return kinds[given.pop("kind")](**given)


def _lam(lam: Lam) -> float | tuple[float, ...]:
    values = np.asarray(lam)
    if (
        values.dtype.kind not in "iuf"
        or values.ndim > 1
        or not values.size
        or not (np.isfinite(values) & (values > 0)).all()
    ):
        raise ValueError(f"lam must be a number > 0, or one for each feature, got {lam!r}")
    if not ((values >= 1e-15) & (values <= 1e15)).all():
        raise ValueError(f"lam must be between 1e-15 and 1e15, got {lam!r}")
    return tuple(values.astype(float).tolist()) if values.ndim else float(values)


def _mean(prior_mean: ArrayLike | None) -> tuple[float, ...] | None:
    if prior_mean is None:
        return None
    values = np.asarray(prior_mean)
    if values.dtype.kind not in "iuf" or values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"prior_mean must be finite numbers, one for each feature, got {prior_mean!r}")
    return tuple(values.astype(float).tolist())
