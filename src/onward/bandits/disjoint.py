"""Arms that share a context and nothing else: one parameter vector for each."""

import copy
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward import storage
from onward.bandits import choosing, choosing_arms
from onward.bandits.arm_buffers import ArmBuffers
from onward.bandits.arm_names import told_names
from onward.bandits.arm_summaries import level_of_arms
from onward.bandits.buffers import head_in, pools_noise, refusal, state_in
from onward.bandits.deciding_arms import choose_arm_plainly
from onward.bandits.pending import Pending
from onward.bandits.policy import Policy
from onward.bandits.randomness import Seed, draw
from onward.bandits.saved_disjoint import SavedDisjoint
from onward.bandits.shared_record import factor_in, mark_choice, new_record
from onward.core import Information
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Vector


@storage.kind("disjoint policy")
class Disjoint(SavedDisjoint):
    """A policy for each arm, all of one kind: the arm with the best index for the context is played.

    The widths are each arm's own: with probability 1 − δ *an* arm's index is optimistic at all rounds. For all arms at
    once, give the policy δ divided by their number. So are the memories: what an arm has learned is discounted, leaves
    its window or is forgotten at a change point as further rewards *of that arm* come, not as rounds go by. Where σ
    is not told it is estimated from the rewards of all arms, and one tuning of scales ("auto") is for all of them.

    Args:
        policy: what each arm begins as; it must not have learned anything.
        n_arms: how many arms, or their names (text or whole numbers).

    Raises:
        ValueError: if the policy is none, has learned, or has an index of its own in Python; or if there is no arm.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import Disjoint, LinUCB
        >>> policy = Disjoint(LinUCB(seed=0), ["left", "right"])
        >>> policy.learn_many(["left", "right"] * 20, np.ones((40, 1)), [1.0, 0.0] * 20)
        >>> policy.choose([1.0]), policy.estimate([1.0]).round(1)
        ('left', array([1., 0.]))
        >>> policy.add_arm("middle")
        'middle'
    """

    def __init__(self, policy: Policy, n_arms: int | Iterable[Hashable]) -> None:
        if not isinstance(policy, Policy):
            raise ValueError(f"policy must be one of onward.bandits, such as OFUL(), got {brief(policy)}")
        if type(policy).index is not Policy.index:
            raise ValueError(f"the index of {type(policy).__name__} is its own, in Python: arms need a compiled one")
        if policy.dimension is not None:
            raise ValueError("policy must not have learned or chosen anything yet, got one that has")
        known, settings = policy.known, policy._settings.numbers
        estimates = pools_noise(policy.design)
        if estimates and known.theta_bound is not None:
            raise ValueError(
                f"theta_bound goes with sigma, for several arms: expected both or neither, got theta_bound="
                f"{known.theta_bound:g} and sigma=None"
            )
        self._policy = copy.deepcopy(policy)
        self._policy.for_arms()
        # What all arms share: the estimate of σ and the tuning of scales
        self._record = new_record(estimates, int(settings["scales"]), settings["scale"])
        self._rng = self._policy.generator
        self._names: list[Hashable] = []
        self._serials: list[int] = []  # a number for each arm that is never given again
        self._next = 0
        self._serial_of: dict[Hashable, int] = {}
        self._slots: dict[Hashable, int] = {}  # of arms that have a buffer of their own
        self._arms: ArmBuffers | None = None  # None until it is known how many features a context has
        self._dimension = 0
        self._pending = Pending()
        self._share()
        for name in told_names(n_arms):
            self.add_arm(name)
        if not self._names:
            raise ValueError("expected at least one arm, got none")

    def __repr__(self) -> str:
        return f"Disjoint({self._policy!r}, {self._names!r})"

    def _repr_html_(self) -> str:
        learned = ", ".join(f"{brief(name)} ({rows:,})" for name, rows in self.n_learned.items())
        return html_values("Disjoint", {"policy of each arm": repr(self._policy), "arms (rewards learned)": learned})

    # Choosing

    def choose(self, context: ArrayLike, available: ArrayLike | None = None) -> Hashable:
        """The name of the arm to play for a context (d,). Ties are broken at random.

        `available` says of each arm, in the order of `arms`, whether it may be played; None if all may.
        """
        if self._quick and available is None and type(context) is np.ndarray:
            try:
                with self._lock:
                    arms = self._arms
                    if self._quick and arms is not None:
                        best = choose_arm_plainly(arms.rows, arms.summary, arms.forms, arms.arms, self._record, context)
                        if best >= 0:
                            return self._names[best]
            except TypeError:
                pass  # not as the loops take it
        with self._lock:
            row, mask = self._offer(context, available)
            chosen = self._names[self._choose(row, mask)]
            self._note("choose", {"context": row, "available": mask}, chosen)
        return chosen

    def _choose(self, row: Vector, mask: NDArray[np.bool_]) -> int:
        """The place of the arm to play; the row and the mask were checked, and the lock is held."""
        context = row.reshape(1, -1)
        arms = self._start(context)
        best, ties, index = choosing_arms.choose_arm(
            arms.rows, arms.summary, arms.forms, arms.arms, self._record, self._draw(), context, mask
        )
        if best < 0:
            raise refusal(best, context, self._policy.known.action_bound)
        if self.is_tuned:
            mark_choice(self._record, float(self._serials[best]))
        return best if ties == 1 else choosing.nth_best(index, mask, best, int(self._rng.random() * ties))

    def index(self, context: ArrayLike) -> Vector:
        """The index of each arm, in the order of `arms`. Changes nothing.

        Args:
            context: (d,), what all arms share.
        """
        return self._read(context)[1]

    def estimate(self, context: ArrayLike) -> Vector:
        """The estimated reward of each arm, in the order of `arms`. Changes nothing.

        Args:
            context: (d,), what all arms share.
        """
        return self._read(context)[0]

    def _read(self, context: ArrayLike, renew: bool = False) -> tuple[Vector, Vector]:
        with self._lock:
            row = self._row(context)
            arms = self._buffers_for(row.reshape(1, -1))
            generator = self._rng.bit_generator.state
            draws = self._draw()
            if not renew:
                self._rng.bit_generator.state = generator
            index, estimate, _ = choosing_arms.read_arms(arms.rows, arms.arms, draws, row.reshape(1, -1))
            level = level_of_arms(arms.rows, arms.summary, arms.arms, self._record)
            factor = factor_in(head_in(arms.rows[0]), self._record, level, draws)
        return estimate, index if factor == 1.0 else estimate + factor * (index - estimate)

    def _draw(self) -> Vector:
        """The random numbers of one choice: of a policy that samples, one for each arm."""
        return draw(self._policy.rule.kind, self._rng, len(self._names), self._policy.explore, self.is_tuned)

    def _reseed(self, seed: Seed) -> None:
        self._policy.reseed(seed)
        self._rng = self._policy.generator

    def information(self, arm: Hashable) -> Information:
        """A copy of the state behind an arm's estimates: for `onward.confidence`, or for looking at."""
        with self._lock:
            at = self._place(arm)
            if self._arms is None:
                raise ValueError(
                    "nothing is known yet, not even how many features a context has: let it choose or learn"
                )
            return state_in(self._policy._settings, self._arms.read(at))

    def coef(self, arm: Hashable) -> Vector:
        """The ridge estimate θ (d,) of an arm, which both estimators share, the prior mean included."""
        state = self.information(arm)
        return np.asarray(state.coefficients()[:, 0] + state.prior[:, 0])

    # What is known

    @property
    def dimension(self) -> int | None:
        """How many features a context has; None before any was seen."""
        return self._dimension or None

    @property
    def n_learned(self) -> dict[Hashable, int]:
        """How many rewards each arm has learned."""
        with self._lock:
            if self._arms is None:
                return dict.fromkeys(self._names, 0)
            return dict(zip(self._names, self._arms.counts(), strict=True))

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        return {"policy": "Disjoint", "of": self._policy.describe(), "arms": list(self._names)}
