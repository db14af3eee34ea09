"""What every policy can do: choose, learn, wait for rewards, start over, be saved."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import choosing, memories
from onward.bandits.buffers import (
    fresh_buffer,
    grown,
    head_in,
    policy_settings,
    refusal,
    settings_buffer,
    state_in,
    take_state,
    with_settings,
)
from onward.bandits.class_names import class_name, is_parameter, note_arguments, plain_arguments, register
from onward.bandits.deciding import ALL_AVAILABLE, Deciding
from onward.bandits.design import Design, Lam
from onward.bandits.inputs import as_actions, as_mask, as_reward, as_rewards
from onward.bandits.memories import Memory
from onward.bandits.pending import Pending
from onward.bandits.policy_known import Known
from onward.bandits.randomness import Seed, draw, own_generator, share_of_best
from onward.bandits.rules import Estimator, Rule
from onward.bandits.saving import SavedPolicy
from onward.bandits.settings import (
    EPSILON_GREEDY,
    GREEDY,
    OPTIMISTIC,
    SAMPLING,
    UNIFORM_AT_RANDOM,
    Status,
)
from onward.core import Information
from onward.core.checks import whole
from onward.core.fast_path import close, is_float64_array
from onward.core.interrupts import interrupts_deferred
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from onward.tables import as_row

_check: Callable[[Vector, Any], int] = choosing.check  # closed, it looks at what it is given: see core/fast_path.py

_FIXED = frozenset(Design._fields)


@storage.kind("policy")
class Policy(Deciding, SavedPolicy):
    """A linear bandit policy: a memory, a rule, an estimator and what is known; with what it has learned so far.

    Actions are rows of features, as many and whichever you like in each round; their number of features is fixed by the
    first that are seen. Bad input is one clear error and leaves the policy exactly as it was.

    To make one of your own, hand in a rule with a compiled width or index, or override `index` in a subclass: `choose`
    then takes the largest, and `learn` is as it was.

    Args:
        memory: which rewards count: see `onward.bandits.memories`.
        rule: how estimates become a choice: see `onward.bandits.rules`.
        estimator: "ridge" or "forward".
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

    _arguments: dict[str, Any] | None = None  # of a subclass with an `__init__` of its own

    def __init_subclass__(cls) -> None:
        register(cls)
        note_arguments(cls)
        cls._chooses_itself = cls.choose is not Policy.choose

    def __init__(
        self,
        memory: Memory | None = None,
        rule: Rule | None = None,
        estimator: Estimator = "ridge",
        lam: Lam = 0.1,
        *,
        known: Known | None = None,
        prior_mean: ArrayLike | None = None,
        seed: Seed = None,
    ) -> None:
        design = Design.from_arguments(memory, rule, estimator, lam, prior_mean, known)
        self.__dict__.update(design._asdict())
        self._settings = policy_settings(design)
        self._buffer: Vector = settings_buffer(self._settings)
        self._dimension = 0
        self._pending = Pending()
        self._rng = own_generator(seed)
        self._forget_loops()
        self._share()

    @property
    def _has_compiled_index(self) -> bool:
        return type(self).index is Policy.index

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and "_rng" in self.__dict__ and (name in _FIXED or is_parameter(self, name)):
            raise AttributeError(f"{name} is fixed once a policy is made: make another one with {name}={value!r}")
        object.__setattr__(self, name, value)

    @property
    def design(self) -> Design:
        """What it is made of: policies of one design play alike."""
        return Design(self.memory, self.rule, self.estimator, self.lam, self.prior_mean, self.known)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that would make it again, as plain values."""
        return self.design.plain()

    def _common(self) -> dict[str, Any]:
        """λ and, if there is one, the prior mean: as plain values."""
        return self.design.plain_numbers()

    def __repr__(self) -> str:
        given = self.parameters if self._arguments is None else self._arguments
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    # Choosing

    def choose(self, actions: ArrayLike, available: ArrayLike | None = None) -> int:
        """The number of the action to play, among the rows of `actions`. Ties are broken at random.

        Args:
            actions: (k, d), a row for each action; another set each round, if you like.
            available: (k,) whether each may be played; None if all may.
        """
        if self._learn_loop and available is None and type(actions) is np.ndarray:
            try:
                if self._choose_loop:
                    best = self._choose_loop(self._buffer, actions)
                    if best >= 0:
                        return best
                elif _check(self._buffer, actions) == 0 and self._has_compiled_index:
                    with self._lock:
                        return self._choose(self._buffer, actions, ALL_AVAILABLE)
            except TypeError:
                pass  # not as the loops take it
        table, mask = self._offer(actions, available)
        with self._lock:
            chosen = self._choose_checked(table, mask)
            self._note("choose", {"actions": table, "available": mask}, chosen)
        return chosen

    def _choose_checked(self, table: Matrix, mask: NDArray[np.bool_]) -> int:
        """The action to play, of actions that were checked; the lock is held."""
        if not self._has_compiled_index:
            return self._choose_by_index(table, mask)
        buffer = self.started(table.shape[1])
        if self._choose_loop and mask is ALL_AVAILABLE:  # what it needs is compiled already
            best = self._choose_loop(buffer, table)
            if best == Status.TOO_MANY:
                self._choose_loop = choosing.fast_loop(many=True)
                best = self._choose_loop(buffer, table)
            if best >= 0:
                return best
        return self._choose(buffer, table, mask)

    def choose_with_probability(self, table: Matrix, mask: NDArray[np.bool_]) -> tuple[int, float]:
        """The action to play, of actions that were checked, and the chance with which it was chosen."""
        if self.rule.kind in (OPTIMISTIC, GREEDY) and self._has_compiled_index:
            best, ties, index = choosing.choose(self.started(table.shape[1]), self._draw(table.shape[1]), table, mask)
            if best < 0:
                raise refusal(best, table, self.known.action_bound)
            chosen = best if ties == 1 else choosing.nth_best(index, mask, best, int(self._rng.random() * ties))
            return chosen, 1.0 / ties
        chances = self.probabilities(table, None if mask is ALL_AVAILABLE else mask)
        chosen = self._choose_checked(table, mask)
        return chosen, float(chances[chosen])

    def _choose(self, buffer: Vector, table: Matrix, mask: NDArray[np.bool_]) -> int:
        """The action to play, of actions that were checked."""
        best, ties, index = choosing.choose(buffer, self._draw(table.shape[1]), table, mask)
        if best < 0:
            raise refusal(best, table, self.known.action_bound)
        return best if ties == 1 else choosing.nth_best(index, mask, best, int(self._rng.random() * ties))

    def _choose_by_index(self, table: Matrix, mask: NDArray[np.bool_]) -> int:
        """The largest of a subclass's own indices."""
        free = np.ones(len(table), dtype=bool) if mask is ALL_AVAILABLE else mask
        best = np.flatnonzero(share_of_best(self._own_index(table), free))
        head_in(self.started(table.shape[1])).log["offered"] = max(
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
        if not self._dimension:
            return state_in(self._settings, self.buffer_for(table.shape[1])).leverages(table)
        return self.information().leverages(table)

    def probabilities(self, actions: ArrayLike, available: ArrayLike | None = None, samples: int = 1000) -> Vector:
        """The chance with which each action would be chosen now: what a log needs as propensity. Changes nothing.

        Exact, but for policies that sample: there it is the share of so many samples.
        """
        table, mask = self._offer(actions, available)
        free = np.ones(len(table), dtype=bool) if mask is ALL_AVAILABLE else mask
        if self.rule.kind != SAMPLING or not self._has_compiled_index:
            return self.chances(self._own_index(table), free)
        with self._lock:
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
        table = actions if is_float64_array(actions, 2) else as_actions(actions)
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
        with self._lock:
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
        if self._learn_loop and type(action) is np.ndarray and isinstance(reward, float):
            try:
                if self._learn_loop(self._buffer, action, reward) == 0:
                    return
            except TypeError:
                pass
        row = self.checked_row(action)
        reward = as_reward(reward)
        with self._lock:
            self._learn_checked(row, reward)
            self._note("learn", {"action": row, "reward": reward})

    def _learn_checked(self, row: Vector, reward: float) -> None:
        """Learn a row that was checked; the lock is held."""
        self.started(len(row))
        loop = memories.learn_loop(self.memory.kind)
        while (status := loop(self._buffer, row, reward)) == Status.FULL:
            with self._closed() as full:
                self._buffer = grown(self.memory, full)
        if status < 0:
            raise refusal(status, row.reshape(1, -1), self.known.action_bound)

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike) -> None:
        """Learn a log: the actions (n, d) that were played with their rewards (n,), in order. All of it or nothing.

        It is the past, before this policy began to play: change points are counted from here on.
        """
        table = self.checked_table(actions)
        column = as_rewards(rewards, len(table))
        with self._lock:
            self._learn_rows(table, column, past=True)
            self._note("learn_many", {"actions": table, "rewards": column})

    def _learn_rows(self, table: Matrix, column: Vector, past: bool) -> None:
        """Learn rows that were checked, all of them or none; the lock is held."""
        first, d = 0, table.shape[1]
        with self._closed() as known:
            buffer = known if self._dimension else self.buffer_for(d)
            while (first := memories.learn_rows(buffer, table, column, first, past)) < len(table):
                if not memories.is_full(buffer):
                    raise refusal(Status.NOT_FINITE, table[first : first + 1], self.known.action_bound)
                buffer = grown(self.memory, buffer)
            self._buffer, self._dimension = buffer, d

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
        with self._closed() as buffer, interrupts_deferred():
            self._buffer, self._dimension = take_state(self._settings, self.memory, buffer, state), d
            self._note_state()

    def restart(self) -> None:
        """Forget all rewards; what is waiting stays, and so does the largest norm offered."""
        with self._lock:
            if self._dimension:
                memories.begin(self._buffer)
            self._note("restart", {})

    def checked_row(self, action: ArrayLike) -> Vector:
        """One action as the loops take it, or an error that says what is wrong with it."""
        row = action if is_float64_array(action, 1) else as_row(action)[0]
        self.checked_table(row.reshape(1, -1))
        return row

    # What is known

    @property
    def dimension(self) -> int | None:
        """How many features an action has; None before any was seen."""
        return self._dimension or None

    @property
    def n_learned(self) -> int:
        """How many rewards were learned, over all restarts."""
        return int(head_in(self._buffer).log["learned"][0])

    @property
    def largest_square(self) -> float:
        """The largest squared norm of an action offered so far."""
        return float(head_in(self._buffer).log["offered"][0])

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
        with self._closed() as buffer:
            return state_in(self._settings, buffer)

    @property
    def coef(self) -> Vector:
        """The ridge estimate θ (d,), which both estimators share, the prior mean included."""
        state = self.information()
        return np.asarray(state.coefficients()[:, 0] + state.prior[:, 0])

    def reseed(self, seed: Seed) -> None:
        """Begin another sequence of random numbers."""
        with self._lock:
            self._rng = own_generator(seed)
            self._note_state()

    @property
    def generator(self) -> np.random.Generator:
        """The policy's own random numbers."""
        return self._rng

    def describe(self) -> dict[str, Any]:
        """Its name and settings, as plain values."""
        name, arguments = class_name(type(self)), self._arguments
        if arguments is None:
            return {"policy": name, **self.parameters}
        return {"policy": name, "arguments": plain_arguments(self, arguments), "design": self.design.plain()}

    def started(self, d: int) -> Vector:
        """The buffer itself, to be learned into; a new one for d features if it knows nothing yet."""
        if not self._dimension:
            self._buffer, self._dimension = self.buffer_for(d), d
        if not self._learn_loop and self._journal is None:
            close(choosing.check, self._buffer, np.zeros((1, 1)))
            self._choose_loop = self._plain_loop(many=False)
            self._learn_loop = memories.learn_loop(self.memory.kind)
        return self._buffer

    def _plain_loop(self, many: bool) -> Callable[[Vector, Any], int] | None:
        """The loop for choices that nothing is drawn for; None if something is."""
        return choosing.fast_loop(many) if self.rule.kind in (OPTIMISTIC, GREEDY) and self._has_compiled_index else None

    def _go_the_long_way(self) -> None:
        with self._closed() as buffer:
            self._forget_loops()
            self._buffer = buffer

    def _forget_loops(self) -> None:
        """In another process they are not closed yet; and what a journal is to hold must go the long way."""
        self._choose_loop = self._learn_loop = None

    def __getstate__(self) -> dict[str, Any]:
        own = ("_choose_loop", "_learn_loop", "_lock", "_journal", "_buffer", "_pending")
        with self._closed() as buffer:
            state = {name: value for name, value in self.__dict__.items() if name not in own}
            return state | {"_buffer": buffer, "_pending": self._pending.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()
        self._forget_loops()
        self._settings = policy_settings(self.design)  # in another process functions have other addresses
        self._buffer = with_settings(self._settings, self._buffer)

    def buffer_for(self, d: int, given: int | None = None) -> Vector:
        """The buffer; a new one for d coordinates if it knows nothing yet, of `given` features if so said."""
        if not self._dimension:
            return fresh_buffer(self._settings, self.memory, d, d if given is None else given)
        if d != self._dimension:
            raise ValueError(f"actions have {d} features, but this policy knows {self._dimension}")
        return self._buffer


register(Policy)
