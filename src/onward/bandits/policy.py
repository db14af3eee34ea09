"""What every policy can do: choose, learn, wait for rewards, start over, be saved."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import choosing, memories
from onward.bandits.buffers import (
    USUAL_LAM,
    fresh_buffer,
    grown,
    head_in,
    policy_settings,
    refusal,
    settings_buffer,
    state_in,
    take_state,
    usual_lam,
    with_settings,
)
from onward.bandits.class_names import class_name, is_parameter, note_arguments, plain_arguments, register
from onward.bandits.deciding import Deciding
from onward.bandits.design import Design, Lam
from onward.bandits.inputs import (
    Columns,
    as_actions,
    as_mask,
    as_reward,
    as_rewards,
    as_weights,
    in_order,
    row_in_order,
    series_names,
)
from onward.bandits.joined_buffers import check_mergeable, check_same, joined
from onward.bandits.memories import Memory
from onward.bandits.pending import Pending
from onward.bandits.policy_chances import PolicyChances
from onward.bandits.policy_known import Known
from onward.bandits.proposing import ALL_AVAILABLE
from onward.bandits.quick_normals import Source, source_of
from onward.bandits.randomness import Seed, draw, own_generator
from onward.bandits.rules import Estimator, Rule
from onward.bandits.saving import SavedPolicy
from onward.bandits.settings import GREEDY, OPTIMISTIC, SAMPLING, UNIFORM_AT_RANDOM, Status
from onward.core import Information
from onward.core.checks import positive
from onward.core.fast_path import close, is_float64_array
from onward.core.interrupts import interrupts_deferred
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from onward.tables import as_row

_check: Callable[[Vector, Any], int] = choosing.check  # closed, it looks at what it is given: see core/fast_path.py

_FIXED = frozenset(Design._fields)


@storage.kind("policy")
class Policy(Deciding, SavedPolicy, PolicyChances):
    """A linear bandit policy: a memory, a rule, an estimator and what is known; with what it has learned so far.

    Actions are rows of features, as many and whichever you like in each round; their number of features is fixed by the
    first that are seen. Bad input is one clear error and leaves the policy exactly as it was.

    To make one of your own, hand in a rule with a compiled width or index, or override `index` in a subclass: `choose`
    then takes the largest, and `learn` is as it was.

    Args:
        memory: which rewards count: see `onward.bandits.memories`.
        rule: how estimates become a choice: see `onward.bandits.rules`.
        estimator: "ridge" or "forward".
        lam: λ > 0, a number or one for each feature; None: 0.03 times the squared length of the actions that come first
            (the median of them), so that the units of features do not count.
        known: σ, S, δ and X.
        prior_mean: coefficients (features,) to start from and shrink towards; None for 0.
        explore: with this probability, any available action in place of what the rule takes: so that no action has a
            probability of 0, and a log of what was done can tell what others would have earned.
        seed: of the policy's own random numbers, which break ties and draw samples.

    Raises:
        ValueError: if a setting is out of its range, or contradicts another.

    Example:
        >>> from onward.bandits import Discounted, Known, Policy, Sampling
        >>> policy = Policy(Discounted(0.99), Sampling(), estimator="forward", known=Known(sigma=0.1), seed=0)
        >>> decision = policy.decide([[1.0, 0.0], [0.0, 1.0]])  # waits for its reward
        >>> policy.reward(decision.key, 1.0)
        >>> policy.n_learned, policy.n_pending
        (1, 0)
    """

    memory: Memory
    rule: Rule
    estimator: Estimator
    lam: float | tuple[float, ...] | None
    prior_mean: tuple[float, ...] | None
    known: Known
    explore: float

    _columns: Columns = None  # names of the features, if actions came in a data frame before anything was known

    _sample_loop: Callable[..., int] | None = None  # where plain actions of a sampling rule go straight to
    _source: Source | None = None  # of the normal numbers that it draws

    _of_arms = False  # whether it is what the arms of `Disjoint` are
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
        lam: Lam = None,
        *,
        known: Known | None = None,
        prior_mean: ArrayLike | None = None,
        explore: float = 0.0,
        seed: Seed = None,
    ) -> None:
        design = Design.from_arguments(memory, rule, estimator, lam, prior_mean, known, explore)
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

    @property
    def _has_compiled_choice(self) -> bool:
        return self._has_compiled_index and not self._chooses_itself

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and "_rng" in self.__dict__ and (name in _FIXED or is_parameter(self, name)):
            raise AttributeError(f"{name} is fixed once a policy is made: make another one with {name}={value!r}")
        object.__setattr__(self, name, value)

    @property
    def design(self) -> Design:
        """What it is made of: policies of one design play alike."""
        return Design(self.memory, self.rule, self.estimator, self.lam, self.prior_mean, self.known, self.explore)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that would make it again, as plain values."""
        return self.design.plain()

    def for_arms(self) -> None:
        """Be what each arm of `Disjoint` is: that estimates σ and tunes scales for all of them."""
        self._of_arms = True
        self._settings = policy_settings(self.design, of_arms=True)
        self._buffer = settings_buffer(self._settings)

    @property
    def is_tuned(self) -> bool:
        """Whether each choice takes one of several scales."""
        return self._settings.numbers["scales"] > 0

    def _common(self) -> dict[str, Any]:
        """λ and, if there are any, the prior mean and the share of exploring: as plain values."""
        return self.design.plain_numbers()

    def __repr__(self) -> str:
        given = self.parameters if self._arguments is None else self._arguments
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def _repr_html_(self) -> str:
        given = self.parameters if self._arguments is None else self._arguments
        return html_values(type(self).__name__, given or {"settings": "as by default"})

    # Choosing

    def choose(self, actions: ArrayLike, available: ArrayLike | None = None) -> int:
        """The number of the action to play, among the rows of `actions`. Ties are broken at random.

        Args:
            actions: (k, d), a row for each action; another set each round, if you like.
            available: (k,) whether each may be played; None if all may.

        Returns:
            The number of a row.

        Raises:
            ValueError: if the actions cannot be taken, as of a value that is not finite; nothing has changed then.
        """
        if self._learn_loop and available is None and type(actions) is np.ndarray:
            try:
                if self._choose_loop:
                    best = self._choose_loop(self._buffer, actions)
                    if best >= 0:
                        return best
                elif self._sample_loop:
                    with self._lock:
                        if self._journal is None and (best := self._choose_by_sample(self._buffer, actions)) >= 0:
                            return best
                elif self._has_compiled_index:
                    with self._lock:
                        if self._journal is None and _check(self._buffer, actions) == 0:
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
        buffer = self.started(table)
        if self._choose_loop and mask is ALL_AVAILABLE:  # what it needs is compiled already
            best = self._choose_loop(buffer, table)
            if best == Status.TOO_MANY:
                self._choose_loop = choosing.fast_loop(many=True)
                best = self._choose_loop(buffer, table)
            if best >= 0:
                return best
        if self._sample_loop and mask is ALL_AVAILABLE:
            best = self._choose_by_sample(buffer, table)
            if best >= 0:
                return best
        return self._choose(buffer, table, mask)

    def _choose_by_sample(self, buffer: Vector, table: Matrix) -> int:
        """What a rule that samples takes, where all are available: `choosing.choose_by_sample`. The lock is held."""
        source, loop = self._source, self._sample_loop
        if source is None or source.rng is not self._rng:
            source = self._source = source_of(self._rng)
        if source is None or loop is None:
            return Status.SEVERAL
        with source.lock:
            return loop(buffer, source.words, source.bits, source.fill, table)

    def _choose(self, buffer: Vector, table: Matrix, mask: NDArray[np.bool_]) -> int:
        """The action to play, of actions that were checked."""
        best, ties, index = choosing.choose(buffer, self._draw(table.shape[1]), table, mask)
        if best < 0:
            raise refusal(best, table, self.known.action_bound)
        return best if ties == 1 else choosing.nth_best(index, mask, best, int(self._rng.random() * ties))

    def _choose_by_index(self, table: Matrix, mask: NDArray[np.bool_]) -> int:
        """The largest of a subclass's own indices."""
        return self._drawn(self._chances_by_index(self._index_to_rank(table), mask), table)

    def _own_index(self, table: Matrix) -> Vector:
        index = np.asarray(self.index(table), dtype=np.float64)
        if index.shape != (len(table),) or np.isnan(index).any():
            raise ValueError(f"index must give a number for each of {len(table)} actions, got {brief(index)}")
        return index

    def index(self, actions: ArrayLike) -> Vector:
        """The index of each action: `choose` takes the largest. Changes nothing.

        For a policy that samples, this is the sample that the next `choose` would take.

        Args:
            actions: (k, d), a row for each action.
        """
        return self._read(actions)[1]

    def estimate(self, actions: ArrayLike) -> Vector:
        """The estimated reward of each action: its index without what is added to explore. Changes nothing.

        Args:
            actions: (k, d), a row for each action.
        """
        return self._read(actions)[0]

    def leverage(self, actions: ArrayLike) -> Vector:
        """xᵀG⁻¹x of each action: how little is known in its direction. Changes nothing.

        Args:
            actions: (k, d), a row for each action.
        """
        table = self.checked_table(actions)
        if not self._dimension:
            return state_in(self._settings, self.buffer_for(table)).leverages(table)
        return self.information().leverages(table)

    def _offer(self, actions: ArrayLike, available: ArrayLike | None) -> tuple[Matrix, NDArray[np.bool_]]:
        """The actions as the loops take them and the mask, once it is sure that a choice can be made."""
        columns, table = self._columns, self.checked_table(actions)
        if available is None:
            return table, ALL_AVAILABLE
        try:
            return table, as_mask(available, len(table))
        except ValueError:
            self._columns = columns  # what was refused leaves nothing behind
            raise

    def checked_table(self, actions: ArrayLike) -> Matrix:
        """Actions as the loops take them, or an error that says what is wrong with them.

        Args:
            actions: (k, d), a row for each action.
        """
        table, columns = actions, self._columns
        if not is_float64_array(table, 2):
            table, columns = in_order(actions, columns)
            table = as_actions(table)
        if table.shape[1] != self._dimension or not table.size:
            self._check_shape(table)
        status = choosing.check(self._buffer, table)
        if status < 0:
            raise refusal(status, table, self.known.action_bound)
        if columns != self._columns and not self._dimension:
            with self._lock:
                self._columns = columns
                self._note_state()
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
            index, estimate = choosing.read_all(self._to_read(table), draws, table)
        return estimate.copy(), index.copy()

    def _draw(self, d: int) -> Vector:
        """The random numbers of one choice."""
        return draw(self.rule.kind, self._rng, d, self.explore, self.is_tuned)

    # Learning

    def learn(self, action: ArrayLike, reward: float, weight: float = 1.0) -> None:
        """Learn the reward of an action (d,): now or later, in any order.

        A reward of weight w counts as w rewards do in the estimate: as one whose noise has the variance σ²/w.

        Args:
            action: (d,), the features of the action that was played.
            reward: what it earned.
            weight: how much it counts, above 0.

        Raises:
            ValueError: if the row or the reward cannot be taken; nothing has changed then.
        """
        plain = type(weight) is float and weight == 1.0 and isinstance(reward, float)
        if self._learn_loop and plain and type(action) is np.ndarray:
            try:
                if self._learn_loop(self._buffer, action, reward) == 0:
                    return
            except TypeError:
                pass
        row, reward, weight = self.checked_row(action), as_reward(reward), positive("weight", weight)
        scaled, paid = row, reward
        if weight != 1.0:
            root = math.sqrt(weight)
            scaled, paid = self.checked_row(row * root), reward * root
        with self._lock:
            self.started(row.reshape(1, -1))
            if weight != 1.0 and self.is_tuned:
                choosing.credit_row(self._buffer, row, reward)
            self._learn_checked(scaled, paid)
            told = {"action": row, "reward": reward}
            self._note("learn", told if weight == 1.0 else told | {"weight": float(weight)})

    def _learn_checked(self, row: Vector, reward: float) -> None:
        """Learn a row that was checked; the lock is held."""
        self.started(row.reshape(1, -1))
        loop = memories.learn_loop(self.memory.kind)
        while (status := loop(self._buffer, row, reward)) == Status.FULL:
            with self._closed() as full:
                self._buffer = grown(self.memory, full)
        if status < 0:
            raise refusal(status, row.reshape(1, -1), self.known.action_bound)

    def learn_many(self, actions: ArrayLike, rewards: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Learn a log: the actions (n, d) that were played with their rewards (n,), in order. All of it or nothing.

        It is the past, before this policy began to play: change points are counted from here on. Weights (n,) are as in
        `learn`.

        Args:
            weights: how much each counts, (n,); None for 1.
        """
        columns, table = self._columns, self.checked_table(actions)
        try:
            column = as_rewards(rewards, len(table))
            counts = None if weights is None else as_weights(weights, len(table))
        except ValueError:
            self._columns = columns  # what was refused leaves nothing behind
            raise
        with self._lock:
            self._learn_rows(table, column, counts, past=True)
            told = {"actions": table, "rewards": column}
            self._note("learn_many", told if counts is None else told | {"weights": counts})

    def _learn_rows(self, table: Matrix, column: Vector, weights: Vector | None = None, *, past: bool) -> None:
        """Learn rows that were checked, all of them or none; the lock is held."""
        first, begin = 0, table[:1]
        if weights is not None:
            roots = np.sqrt(weights)
            table, column = self.checked_table(table * roots[:, None]), column * roots
        with self._closed() as known:
            buffer = known if self._dimension else self.buffer_for(begin)
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
        with self._closed() as buffer, interrupts_deferred():
            self._buffer, self._dimension = take_state(self._settings, self.memory, buffer, state), d
            self._note_state()

    def merge(self, other: "Policy") -> None:
        """Know also what another policy of the same design has learned from rewards of its own.

        For memories that count all rewards alike: then it is as if this policy had learned all of them, to rounding.
        Decisions that wait there stay there.

        Args:
            other: another policy of the same design.
        """
        if not isinstance(other, Policy) or type(other) is not type(self):
            raise ValueError(f"cannot merge: expected another {type(self).__name__}, got {brief(other)}")
        check_mergeable(self.design, other.design)
        with other._closed() as there:
            d, theirs = other._dimension, other._columns
        if not d:
            return
        with self._closed() as here, interrupts_deferred():
            mine, places = self._columns, None
            if mine is not None and theirs is not None and mine != theirs:
                check_same("columns", set(mine), set(theirs))
                places = [mine.index(name) for name in theirs]
            if not self._dimension:
                self._buffer, self._dimension, self._columns = there, d, theirs
            else:
                check_same("so many features:", self._dimension, d)
                self._buffer = joined(self._settings, here, there, places)
            self._note_state()

    def restart(self) -> None:
        """Forget all rewards; what is waiting stays, and so does the largest norm offered."""
        with self._lock:
            if self._dimension:
                memories.begin(self._buffer)
            self._note("restart", {})

    def checked_row(self, action: ArrayLike) -> Vector:
        """One action as the loops take it, or an error that says what is wrong with it."""
        row = action if is_float64_array(action, 1) else as_row(row_in_order(action, self._columns))[0]
        self.checked_table(row.reshape(1, -1))
        if row is not action and self._columns is None and not self._dimension:
            self._columns = series_names(action)
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
        """Begin another sequence of random numbers.

        Args:
            seed: of the random numbers; None for one of the system.
        """
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

    def started(self, actions: Matrix) -> Vector:
        """The buffer itself, to be learned into; a new one for such actions if it knows nothing yet."""
        if not self._dimension:
            self._buffer, self._dimension = self.buffer_for(actions), actions.shape[1]
        if not self._learn_loop and self._journal is None:
            close(choosing.check, self._buffer, np.zeros((1, 1)))
            self._choose_loop = self._plain_loop(many=False)
            self._sample_loop = choosing.sampling_loop() if self._samples_plainly() else None
            self._learn_loop = memories.learn_loop(self.memory.kind)
        return self._buffer

    def _plain_loop(self, many: bool) -> Callable[[Vector, Any], int] | None:
        """The loop for choices that nothing is drawn for; None if something is."""
        lots = self.explore or self.is_tuned or self.rule.kind not in (OPTIMISTIC, GREEDY)
        return None if lots or not self._has_compiled_index else choosing.fast_loop(many)

    def _samples_plainly(self) -> bool:
        """Whether normal numbers are all that is drawn for a choice, and loops can draw them."""
        lots = self.explore or self.is_tuned or self.rule.kind != SAMPLING
        return not lots and self._has_compiled_index and source_of(self._rng) is not None

    def _go_the_long_way(self) -> None:
        with self._closed() as buffer:
            self._forget_loops()
            self._buffer = buffer

    def _forget_loops(self) -> None:
        """In another process they are not closed yet; and what a journal is to hold must go the long way."""
        self._choose_loop = self._learn_loop = self._sample_loop = self._source = None

    def __getstate__(self) -> dict[str, Any]:
        own = ("_choose_loop", "_learn_loop", "_sample_loop", "_source", "_lock", "_journal", "_buffer", "_pending")
        with self._closed() as buffer:
            state = {name: value for name, value in self.__dict__.items() if name not in own}
            return state | {"_buffer": buffer, "_pending": self._pending.copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()
        self._forget_loops()
        # In another process functions have other addresses.
        self._settings = self._settings._replace(numbers=policy_settings(self.design, self._of_arms).numbers)
        self._buffer = with_settings(self._settings, self._buffer)

    def buffer_for(self, actions: Matrix, given: int | None = None) -> Vector:
        """The buffer; a new one for such actions if it knows nothing yet, of `given` features if so said."""
        d = actions.shape[1]
        if not self._dimension:
            lam = usual_lam(actions) if self.lam is None else USUAL_LAM
            return fresh_buffer(self._settings, self.memory, d, d if given is None else given, lam)
        if d != self._dimension:
            raise ValueError(f"actions have {d} features, but this policy knows {self._dimension}")
        return self._buffer


register(Policy)
