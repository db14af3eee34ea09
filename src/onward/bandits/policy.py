"""What every policy can do: choose, learn, wait for rewards, start over, be saved."""

import copy
import math
import os
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Literal, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import layout, learning, reading
from onward.bandits.pending import Pending
from onward.bandits.rows import as_actions, as_mask, as_reward, as_rewards
from onward.confidence import Width
from onward.core import Information
from onward.core.checks import not_negative, positive, probability, whole
from onward.core.interrupts import interrupts_deferred
from onward.core.kernel import ORDINARY
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from onward.tables import as_row

Estimator = Literal["forward", "ridge"]
Bias = Literal["tight", "paper", "none"]

ESTIMATORS = {"ridge": layout.RIDGE, "forward": layout.FORWARD}
WIDTHS = {"determinant": layout.BY_DETERMINANT, "trace": layout.BY_TRACE, "uniform": layout.BY_CONSTANTS}
BIASES = {"tight": layout.TIGHT, "paper": layout.AS_IN_PAPER, "none": layout.NO_BIAS}

_FLOAT64 = np.dtype(np.float64)
_NONE = np.empty(0)
ALL_AVAILABLE = np.empty(0, dtype=np.bool_)
_OWN_KEY = 0x6F6E  # what a policy's random numbers are spawned by
_FIRST_CAPACITY = 8  # rows of a window, or models of a detector: it doubles as needed

_known: dict[str, type["Policy"]] = {}


def one_of(name: str, value: object, allowed: Mapping[str, int]) -> int:
    """The code of a named choice, or an error that lists the choices."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return allowed[value]


@storage.kind("policy")
class Policy:
    """A linear bandit policy: settings, what it has learned, its own random numbers, and decisions that wait.

    Actions are rows of features, as many and whichever you like in each round; their number of features is fixed by the
    first that are seen. Bad input is one clear error and leaves the policy exactly as it was.
    """

    MEMORY: ClassVar[int] = layout.EVERYTHING
    RULE: ClassVar[int] = layout.OPTIMISTIC

    def __init_subclass__(cls) -> None:
        _known[cls.__name__] = cls

    def __init__(
        self,
        lam: float,
        estimator: Estimator,
        seed: int | np.random.SeedSequence | None,
        **more: Any,
    ) -> None:
        """Keep the settings. `more` are those of the policy at hand, by the names of its own parameters."""
        lam = positive("lam", lam)
        if not 1e-15 <= lam <= 1e15:
            raise ValueError(f"lam must be between 1e-15 and 1e15, got {lam!r}")
        self.parameters: dict[str, Any] = {"lam": lam, "estimator": estimator, **more}
        numbers = np.zeros(layout.N_SETTINGS)
        numbers[layout.MEMORY], numbers[layout.RULE] = self.MEMORY, self.RULE
        numbers[layout.ESTIMATOR] = one_of("estimator", estimator, ESTIMATORS)
        numbers[layout.LAM] = lam
        numbers[layout.SCALE] = numbers[layout.GAMMA] = 1.0
        numbers[layout.ACTION_BOUND] = np.inf
        self._settings: Vector = numbers
        self._memory: Vector | None = None
        self._dimension = 0
        self._scratch: Matrix = np.empty((reading.SCRATCH, 0))
        self._last_shape: tuple[int, ...] = ()  # of the actions that the scratch is for
        self.draws_nothing = self.RULE in (layout.OPTIMISTIC, layout.GREEDY)
        self._pending = Pending()
        self._rng = own_generator(seed)

    def _explore(
        self,
        sigma: float,
        theta_bound: float,
        delta: float,
        width: Width,
        bias: Bias,
        scale: float,
        action_bound: float | None,
    ) -> None:
        """Set what a policy needs that explores by the theory's widths."""
        numbers = self._settings
        numbers[layout.SIGMA] = positive("sigma", sigma)
        numbers[layout.THETA_BOUND] = not_negative("theta_bound", theta_bound)
        numbers[layout.DELTA] = probability("delta", delta)
        numbers[layout.WIDTH] = one_of("width", width, WIDTHS)
        numbers[layout.BIAS] = one_of("bias", bias, BIASES)
        numbers[layout.SCALE] = not_negative("scale", scale)
        if action_bound is not None:
            numbers[layout.ACTION_BOUND] = positive("action_bound", action_bound)
        self.parameters |= {
            "sigma": float(sigma),
            "theta_bound": float(theta_bound),
            "delta": float(delta),
            "width": width,
            "bias": bias,
            "scale": float(scale),
            "action_bound": None if action_bound is None else float(action_bound),
        }

    def __getattr__(self, name: str) -> Any:
        parameters = self.__dict__.get("parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("parameters", {}):
            raise AttributeError(f"{name} is fixed once a policy is made: make another one with {name}={value!r}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"

    # Choosing

    def choose(self, actions: ArrayLike, available: ArrayLike | None = None) -> int:
        """The number of the action to play, among the rows of `actions`. Ties are broken at random.

        Args:
            actions: (k, d), a row for each action; another set each round, if you like.
            available: (k,) whether each may be played; None if all may.
        """
        if (
            available is None
            and self.draws_nothing
            and type(actions) is np.ndarray
            and actions.shape == self._last_shape
            and actions.dtype is _FLOAT64
            and actions.flags.carray
            and self._memory is not None
        ):
            best = reading.choose_plainly(self._settings, self._memory, actions, self._scratch)
            if best >= 0:
                return best
        table, mask = self._offer(actions, available)
        scratch = self._scratch
        if scratch.shape[1] != len(table):
            scratch = self._scratch = np.empty((reading.SCRATCH, len(table)))
        self._last_shape = table.shape
        memory = self._started(table)
        best, ties = reading.choose(self._settings, memory, self._draw(), table, mask, scratch)
        return (
            best if ties == 1 else reading.nth_best(scratch[reading.INDEX], mask, best, int(self._rng.random() * ties))
        )

    def index(self, actions: ArrayLike) -> Vector:
        """The index of each action: `choose` takes the largest. Changes nothing.

        For a policy that samples, this is the sample that the next `choose` would take.
        """
        return self._read(actions)[1]

    def estimate(self, actions: ArrayLike) -> Vector:
        """The estimated reward of each action: its index without what is added to explore. Changes nothing."""
        return self._read(actions)[0]

    def probabilities(self, actions: ArrayLike, available: ArrayLike | None = None, samples: int = 1000) -> Vector:
        """The chance with which each action would be chosen now: what a log needs as propensity. Changes nothing.

        Exact, but for policies that sample: there it is the share of so many samples.
        """
        table, mask = self._offer(actions, available)
        free = np.ones(len(table), dtype=bool) if mask is ALL_AVAILABLE else mask
        if self.RULE != layout.SAMPLING:
            return self.chances(self.index(table), free)
        d, generator = table.shape[1], copy.deepcopy(self._rng)
        draws = generator.standard_normal((whole("samples", samples, 1), d))
        return reading.sampled_shares(*self.memory_for(d), draws, table, mask)

    def chances(self, index: Vector, free: NDArray[np.bool_]) -> Vector:
        """The chance with which each is chosen, given the index of each and which are available; not for sampling."""
        epsilon = {layout.UNIFORM_AT_RANDOM: 1.0, layout.EPSILON_GREEDY: float(self._settings[layout.EPSILON])}
        share = epsilon.get(self.RULE, 0.0)
        return np.asarray((1.0 - share) * share_of_best(index, free) + share * free / free.sum())

    def _offer(self, actions: ArrayLike, available: ArrayLike | None) -> tuple[Matrix, NDArray[np.bool_]]:
        """The actions as the loops take them and the mask, once it is sure that a choice can be made."""
        table = self.checked_table(actions)
        if available is None:
            return table, ALL_AVAILABLE
        return table, as_mask(available, len(table))

    def checked_table(self, actions: ArrayLike) -> Matrix:
        """Actions as the loops take them, or an error that says what is wrong with them."""
        if not (
            type(actions) is np.ndarray and actions.dtype is _FLOAT64 and actions.ndim == 2 and actions.flags.carray
        ):
            actions = as_actions(actions)
        if actions.shape[1] != self._dimension or not len(actions):
            self._check_shape(actions)
        self._check_values(actions)
        return actions

    def _check_shape(self, actions: Matrix) -> None:
        if not len(actions):
            raise ValueError("no action given: expected at least one row, got none")
        if actions.shape[1] == 0:
            raise ValueError("actions must have at least one feature, got rows of none")
        if self._memory is not None and actions.shape[1] != self._dimension:
            raise ValueError(f"actions have {actions.shape[1]} features, but this policy knows {self._dimension}")

    def _check_values(self, actions: Matrix) -> None:
        status = int(reading.check(self._settings, actions))
        if status < 0:
            raise refusal(status, actions, float(self._settings[layout.ACTION_BOUND]))

    def _read(self, actions: ArrayLike) -> tuple[Vector, Vector]:
        table = self.checked_table(actions)
        scratch = np.empty((reading.SCRATCH, len(table)))
        generator = self._rng.bit_generator.state
        draws = self._draw(table.shape[1])
        self._rng.bit_generator.state = generator
        settings, memory = self._settings, self._memory
        if memory is None:
            settings, memory = self._new_memory(table.shape[1])
        reading.read_out(settings, memory, draws, table, scratch)
        return scratch[reading.ESTIMATE].copy(), scratch[reading.INDEX].copy()

    def _draw(self, d: int | None = None) -> Vector:
        """The random numbers of one choice."""
        rule = self.RULE
        if rule in (layout.OPTIMISTIC, layout.GREEDY):
            return _NONE
        return draw(rule, self._rng, self._dimension if d is None else d)

    # Learning

    def learn(self, action: ArrayLike, reward: float) -> None:
        """Learn the reward of an action (d,): now or later, in any order."""
        if (
            is_plain_row(action, self._dimension)
            and isinstance(reward, float)
            and self._memory is not None
            and learning.learn(self._settings, self._memory, action, reward) == layout.DONE
        ):
            return
        row = self.checked_row(action)
        reward = as_reward(reward)
        memory = self._started(row.reshape(1, -1))
        while (status := learning.learn(self._settings, memory, row, reward)) == layout.FULL:
            memory = self._memory = self.grown(memory)
        if status < 0:
            raise refusal(status, row.reshape(1, -1), float(self._settings[layout.ACTION_BOUND]))

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike) -> None:
        """Learn a log: the actions (n, d) that were played with their rewards (n,), in order. All of it or nothing.

        It is the past, before this policy began to play: change points are counted from here on.
        """
        self._learn_rows(actions, rewards, past=True)

    def _learn_rows(self, actions: ArrayLike, rewards: ArrayLike, past: bool) -> None:
        table = self.checked_table(actions)
        column = as_rewards(rewards, len(table))
        settings, memory = self._settings, self._memory
        settings, memory = self._new_memory(table.shape[1]) if memory is None else (settings, memory.copy())
        first = 0
        while (first := learning.learn_rows(settings, memory, table, column, first, past)) < len(table):
            if not learning.is_full(settings, memory):
                raise refusal(layout.NOT_FINITE, table[first : first + 1], float(settings[layout.ACTION_BOUND]))
            memory = self.grown(memory)
        self._settings, self._memory, self._dimension = settings, memory, table.shape[1]

    def start_from(self, model: OnlineRegressor | Information) -> None:
        """Begin with what a fitted regressor knows, in place of what this policy has learned.

        The model must have one target, no intercept, no prior, rows of weight 1, and the λ of this policy.
        """
        state = model if isinstance(model, Information) else model.information_
        if isinstance(model, OnlineRegressor) and model.prior_mean is not None:
            raise ValueError(f"cannot start from a model with a prior, got prior_mean={model.prior_mean!r}")
        if self.MEMORY == layout.SLIDING:
            raise ValueError("a window needs rows, not a model: give them to learn_many")
        if self.RULE == layout.UNIFORM_AT_RANDOM:
            raise ValueError("a random policy learns nothing, so it cannot start from a model")
        mine, theirs = (1, False, self._settings[layout.LAM]), (state.n_targets, state.intercept, state.lam)
        if mine != theirs:
            raise ValueError(
                f"cannot start from this model: expected targets, intercept, lam of {mine[0]}, {mine[1]}, {mine[2]:g}, "
                f"got {theirs[0]}, {theirs[1]}, {theirs[2]:g}"
                + ("; fit it with fit_intercept=False, and give actions a constant feature if need be" * theirs[1])
            )
        d = state.n_features
        if self._memory is not None and d != self._dimension:
            raise ValueError(f"the model has {d} features, but this policy knows {self._dimension}")
        settings, memory = self._new_memory(d)
        if self._memory is not None:  # how long actions can be, and what change points have counted, is not forgotten
            for kept in (layout.OFFERED, layout.COUNTED):
                memory[kept] = self._memory[kept]
        own = self._view(memory, d)
        for name in ("U", "D", "c", "loss"):
            getattr(own, name)[...] = getattr(state, name)
        memory[layout.HEADER + layout.ROWS] = state.counted
        memory[layout.HEADER + layout.SQUARES] = state.trace
        memory[layout.HEADER + layout.PEAK] = state.peak
        memory[layout.LEARNED], memory[layout.OFFERED] = state.rows, max(state.peak, memory[layout.OFFERED])
        if self.MEMORY == layout.DISCOUNTED:  # all rows are as old as the last one
            second = self._view(memory, d, layout.HEADER + layout.model_size(d) - layout.HEAD)
            second.U[...], second.D[...] = state.U, state.D
        self._settings, self._memory, self._dimension = settings, memory, d

    def restart(self) -> None:
        """Forget all rewards; what is waiting stays, and so does the largest norm offered."""
        if self._memory is not None:
            layout.begin(self._settings, self._memory, self._dimension)

    def checked_row(self, action: ArrayLike) -> Vector:
        """One action as the loops take it, or an error that says what is wrong with it."""
        row = action
        if not (type(row) is np.ndarray and row.dtype is _FLOAT64 and row.ndim == 1 and row.flags.carray):
            row = as_row(action)[0]
        if len(row) != self._dimension:
            self._check_shape(row.reshape(1, -1))
        self._check_values(row.reshape(1, -1))
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
        return 0 if self._memory is None else int(self._memory[layout.LEARNED])

    @property
    def n_models(self) -> int:
        """How many models there are: 1, but for a policy that detects changes."""
        if self.MEMORY != layout.DETECTING or self._memory is None:
            return 1
        return int(self._memory[layout.HELD])

    def information(self) -> Information:
        """A copy of the state behind the estimates: for `onward.confidence`, or for looking at."""
        if self._memory is None:
            raise ValueError(
                "nothing is known yet, not even how many features actions have: let it choose or learn first"
            )
        return self.state_in(self._settings, self._memory, self._dimension)

    def state_in(self, settings: Vector, memory: Vector, d: int) -> Information:
        """A copy of the state of the model that chooses now."""
        return self._view(memory, d, reading.acting_model(settings, memory, d)).copy()

    @property
    def coef(self) -> Vector:
        """The ridge estimate θ (d,), which both estimators share."""
        return self.information().coefficients()[:, 0]

    def reseed(self, seed: int | np.random.SeedSequence | None) -> None:
        """Begin another sequence of random numbers."""
        self._rng = own_generator(seed)

    @property
    def generator(self) -> np.random.Generator:
        """The policy's own random numbers."""
        return self._rng

    def describe(self) -> dict[str, Any]:
        """Its name and settings, as plain values."""
        return {"policy": type(self).__name__, **self.parameters}

    # Memory

    def _started(self, table: Matrix) -> Vector:
        if self._memory is None:
            self._settings, self._memory = self._new_memory(table.shape[1])
            self._dimension = table.shape[1]
        return self._memory

    def _new_memory(self, d: int, given: int | None = None) -> tuple[Vector, Vector]:
        """Settings and memory for d coordinates, of actions that were given with more of them if so said."""
        settings = self._settings.copy()
        settings[layout.DIMENSION] = d if given is None else given
        capacity = self._capacity()
        memory = np.zeros(layout.memory_size(settings, d, capacity))
        memory[layout.CAPACITY], memory[layout.COORDINATES] = capacity, d
        layout.begin(settings, memory, d)
        return settings, memory

    def memory_for(self, d: int, given: int | None = None) -> tuple[Vector, Vector]:
        """Settings and a copy of the memory, to play with; new ones for d coordinates if it knows nothing yet."""
        if self._memory is None:
            return self._new_memory(d, given)
        if d != self._dimension:
            raise ValueError(f"actions have {d} features, but this policy knows {self._dimension}")
        return self._settings.copy(), self._memory.copy()

    def _capacity(self) -> int:
        if self.MEMORY == layout.SLIDING:
            return min(_FIRST_CAPACITY, int(self._settings[layout.WINDOW]))
        return _FIRST_CAPACITY if self.MEMORY == layout.DETECTING else 0

    def grown(self, memory: Vector) -> Vector:
        """The memory with room for twice as many rows or models."""
        capacity = int(memory[layout.CAPACITY])
        more = capacity
        if self.MEMORY == layout.SLIDING:
            more = min(capacity, int(self._settings[layout.WINDOW]) - capacity)
        slot = layout.slot_size(self._settings, int(memory[layout.COORDINATES]))
        grown = np.concatenate([memory, np.zeros(more * slot)])
        grown[layout.CAPACITY] = capacity + more
        return grown

    def _view(self, memory: Vector, d: int, at: int = layout.HEADER) -> Information:
        """The state in a memory: its arrays are the memory itself, but for the tally."""
        state = Information(d, lam=float(self._settings[layout.LAM]))
        U, D, c = layout.factor(memory, at + layout.HEAD, d)
        end = at + layout.model_size(d)
        state.U, state.D, state.c = U, D, c
        state.loss = memory[end - 1 : end]
        rows = memory[at + layout.ROWS] if self.MEMORY != layout.DISCOUNTED else memory[layout.LEARNED]
        state.tally[:] = rows, rows, memory[at + layout.PEAK]
        return state

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file, random numbers and waiting decisions included: to go on exactly from here."""
        keys, rows = self._pending.record(self._dimension)
        storage.save(path, "policy", self._record() | {"pending": keys}, {"pending": rows, **self._arrays()})

    def _record(self) -> dict[str, Any]:
        return self.describe() | {"generator": self._rng.bit_generator.state, "dimension": self._dimension}

    def _arrays(self) -> dict[str, Vector]:
        return {} if self._memory is None else {"memory": self._memory}

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file."""
        own = {"generator", "dimension", "pending"}
        generator, d, keys = settings["generator"], settings["dimension"], settings["pending"]
        policy = cls.described({name: value for name, value in settings.items() if name not in own})
        policy._rng.bit_generator.state = generator
        if "memory" in arrays:
            policy._settings, fresh = policy._new_memory(d)
            memory = arrays["memory"]
            while len(fresh) < len(memory):
                fresh = policy.grown(fresh)
            if memory.shape != fresh.shape or memory[layout.CAPACITY] != fresh[layout.CAPACITY]:
                raise ValueError(f"memory of {memory.shape} numbers, expected {fresh.shape}")
            policy._memory, policy._dimension = memory, int(d)
        policy._pending = Pending.from_record(keys, arrays["pending"])
        return policy

    @classmethod
    def described(cls, description: Mapping[str, Any]) -> Self:
        """The policy that `describe` described, as it was before it learned anything."""
        parameters = dict(description)
        policy = _known[parameters.pop("policy")](**parameters)
        if not isinstance(policy, cls):
            raise ValueError(f"expected a {cls.__name__}, got a {type(policy).__name__}")
        return policy


def own_generator(seed: int | np.random.SeedSequence | None) -> np.random.Generator:
    """Random numbers of the policy's own: not those that `default_rng(seed)` would give to a world of the same seed."""
    given = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    own = np.random.SeedSequence(given.entropy, spawn_key=(*given.spawn_key, _OWN_KEY), pool_size=given.pool_size)
    return np.random.default_rng(own)


def refusal(status: int, actions: Matrix, bound: float) -> ValueError:
    """What is wrong with actions that the loops refuse."""
    largest = ORDINARY / math.sqrt(actions.shape[1])
    small = np.abs(actions) < largest
    if not small.all():
        i, j = np.argwhere(~small)[0]
        return ValueError(f"actions must hold finite numbers below {largest:.1g}, got {actions[i, j]} in row {i}")
    norms = np.sqrt(np.einsum("ij,ij->i", actions, actions))
    i = int(np.argmax(norms))
    if status == layout.TOO_LONG:
        return ValueError(f"actions must have norms of at most action_bound={bound:g}, got {norms[i]:g} in row {i}")
    return ValueError(f"actions and rewards must be finite numbers below {ORDINARY:g}, got norms up to {norms[i]:g}")


def is_plain_row(row: object, d: int) -> TypeGuard[Vector]:
    """Whether a row is as the loops take it, but for its values: quickly said."""
    return type(row) is np.ndarray and row.ndim == 1 and len(row) == d and row.dtype is _FLOAT64 and row.flags.carray


def draw(rule: int, rng: np.random.Generator, d: int) -> Vector:
    """The random numbers of one choice among actions with d features; in the compiled game they are the same."""
    if rule == layout.SAMPLING:
        return rng.standard_normal(d)
    return rng.random({layout.EPSILON_GREEDY: 2, layout.UNIFORM_AT_RANDOM: 1}.get(rule, 0))


def share_of_best(index: Vector, free: NDArray[np.bool_]) -> Vector:
    """The largest of the available, each with the same share."""
    best = free & (index == index[free].max())
    return np.asarray(best / best.sum())
