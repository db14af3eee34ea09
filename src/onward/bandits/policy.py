"""What every policy can do: choose, learn, wait for rewards, start over, be saved."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import choosing, memories
from onward.bandits.buffers import head_in, policy_settings, refusal, settings_buffer, state_in
from onward.bandits.class_names import class_name, is_parameter, note_arguments, plain_arguments, register
from onward.bandits.design import Design, Lam
from onward.bandits.memories import Memory
from onward.bandits.pending import Pending
from onward.bandits.policy_known import Known
from onward.bandits.proposing import ALL_AVAILABLE
from onward.bandits.quick_normals import source_of
from onward.bandits.randomness import Seed, own_generator
from onward.bandits.rules import Estimator, Rule
from onward.bandits.saving import SavedPolicy
from onward.bandits.settings import Status
from onward.core import Information
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Matrix, Vector

_check: Callable[[Vector, Any], int] = choosing.check  # closed, it looks at what it is given: see core/fast_path.py

_FIXED = frozenset(Design._fields)


@storage.kind("policy")
class Policy(SavedPolicy):
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
            (the median of them), and at most three times its mean square for a feature that is far smaller than the
            others there: so that the units of features do not count.
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
    def parameters(self) -> dict[str, Any]:
        """The arguments that would make it again, as plain values."""
        return self.design.plain()

    def for_arms(self) -> None:
        """Be what each arm of `Disjoint` is: that estimates σ and tunes scales for all of them."""
        self._of_arms = True
        self._settings = policy_settings(self.design, of_arms=True)
        self._buffer = settings_buffer(self._settings)

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

    def _read(self, actions: ArrayLike) -> tuple[Vector, Vector]:
        table = self.checked_table(actions)
        with self._lock:
            generator = self._rng.bit_generator.state
            draws = self._draw(table.shape[1])
            self._rng.bit_generator.state = generator
            index, estimate = choosing.read_all(self._to_read(table), draws, table)
        return estimate.copy(), index.copy()

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


register(Policy)
