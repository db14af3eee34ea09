"""One task after the other: each begins where those before say that tasks lie."""

import math
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from onward import storage
from onward.bandits.filed import Filed
from onward.bandits.policies import OFUL
from onward.bandits.policy import Policy
from onward.bandits.policy_arguments import Exploration
from onward.bandits.randomness import Seed
from onward.bandits.rules import Optimistic, one_of
from onward.confidence import confidence_set
from onward.core import Information
from onward.core.checks import not_negative, positive, whole
from onward.core.factor import ORDINARY
from onward.core.sharing import Shared
from onward.core.shown import brief
from onward.core.types import Vector

Trust = Literal["proven", "spread"]
_TRUSTS = {"proven": 0, "spread": 1}


@storage.kind("meta policy")
class MetaOFUL(Filed, Shared):
    """OFUL that starts over with each task, from a prior mean learned from earlier ones.  [Cella et al. 2020, tasks]

    The prior mean of a task is the average of the ridge estimates (`coef`, its own prior mean included) with which the
    tasks before it ended, each counted once, however long it was. With forward it is MetaOFUL^f.

    What is known of the distance from it decides how wide an index reaches. With `trust="proven"` it is 2·spread plus
    the mean error of the earlier estimates, each at most its confidence radius by √(the smallest eigenvalue of its G);
    until that is less than theta_bound, tasks start from the first prior mean, and theta_bound. If all tasks' sets hold
    (each with probability 1 − δ), all indices of all tasks are optimistic: for all tasks at once, give δ divided by
    their number. With `trust="spread"` it is spread itself from the second task on, as if the learned mean were the
    true one: narrower, and nothing checks it.

    Args:
        rounds: of each task: after so many rewards the next one begins; None if you say so, with `next_task`.
        lam: λ > 0, one number.
        spread: r ≥ ‖θ − θ̄‖ of every task, for a common θ̄ that nobody needs to know.
        trust: "proven" or "spread".
        settings: as in `OFUL`, with sigma and theta_bound 1 unless told: the theory needs both. theta_bound is
            S ≥ ‖θ − θ_0‖ of every task, and prior_mean is θ_0, where the first task starts.

    Raises:
        ValueError: if a value is out of its range, or sigma or theta_bound is None.

    Example:
        >>> from onward.bandits import MetaOFUL
        >>> policy = MetaOFUL(rounds=2, spread=0.1, sigma=0.1, theta_bound=1.0, seed=0)
        >>> for reward in (0.8, 0.9, 0.7):
        ...     policy.learn([1.0, 0.0], reward)
        >>> policy.n_tasks, policy.rounds_left
        (1, 1)
    """

    kind_of_file = "meta policy"

    def __init__(
        self,
        rounds: int | None = None,
        lam: float = 1.0,
        *,
        spread: float = 1.0,
        trust: Trust = "proven",
        **settings: Unpack[Exploration],
    ) -> None:
        self.rounds = None if rounds is None else whole("rounds", rounds)
        self.lam, self.spread = positive("lam", lam), not_negative("spread", spread)
        one_of("trust", trust, _TRUSTS)
        self.trust = trust
        known: Exploration = {"sigma": 1.0, "theta_bound": 1.0}
        self._policy: Policy = OFUL(self.lam, **(known | settings))
        if self._policy.known.sigma is None or self._policy.known.theta_bound is None:
            raise ValueError(
                "MetaOFUL learns by the theory's sets: expected numbers for sigma and theta_bound, got None"
            )
        self._start = self._policy.parameters  # of the first task, as plain values
        self._n_tasks = 0  # that ended
        self._sum: Vector = np.empty(0)  # of their estimates
        self._errors = 0.0  # what these may be wrong by, summed up

    # What is known of tasks

    @property
    def policy(self) -> Policy:
        """The policy of the current task: its `coef`, `prior_mean` and `known` are the task's."""
        return self._policy

    @property
    def n_tasks(self) -> int:
        """How many tasks have ended."""
        return self._n_tasks

    @property
    def mean(self) -> Vector | None:
        """The average of the estimates of the tasks that ended, (d,); None before the first has."""
        return self._sum / self._n_tasks if self._n_tasks else None

    @property
    def distance(self) -> float:
        """How far a task may be from `mean`, as far as can be proven: 2·spread plus the mean error of the estimates."""
        return 2.0 * self.spread + self._errors / self._n_tasks if self._n_tasks else math.inf

    def next_task(self) -> None:
        """End the current task: keep its estimate, forget its rewards, and start the next one."""
        with self._lock:
            if not self._policy.n_learned:
                return  # nothing is known of it: it is still the one to come
            state = self._policy.information()
            estimate = self._policy.coef
            error = _largest_error(state, self._policy)
            self._sum = (self._sum if self._n_tasks else 0.0) + estimate
            self._errors += error
            self._n_tasks += 1
            self._policy = self._new_policy()

    def _new_policy(self) -> Policy:
        bound = self.spread if self.trust == "spread" else self.distance
        parameters = dict(self._start)
        if self.trust == "spread" or bound < self._start["theta_bound"]:
            parameters |= {"theta_bound": bound, "prior_mean": self._sum / self._n_tasks}
        policy = OFUL(**parameters)
        policy._rng = self._policy.generator  # one sequence of random numbers for all tasks
        return policy

    # As any policy

    def choose(self, actions: ArrayLike, available: ArrayLike | None = None) -> int:
        """The number of the action to play, among the rows of `actions`: see `Policy.choose`.

        Args:
            available: whether each may be played, (k,); None if all may.
        """
        return self._policy.choose(self._as_before(actions), available)

    def index(self, actions: ArrayLike) -> Vector:
        """The index of each action. Changes nothing.

        Args:
            actions: (k, d), a row for each action.
        """
        return self._policy.index(self._as_before(actions))

    def estimate(self, actions: ArrayLike) -> Vector:
        """The estimated reward of each action. Changes nothing.

        Args:
            actions: (k, d), a row for each action.
        """
        return self._policy.estimate(self._as_before(actions))

    def learn(self, action: ArrayLike, reward: float) -> None:
        """Learn the reward of an action in the current task; with `rounds`, the last one of a task ends it."""
        with self._lock:  # no other thread's reward comes between the last one of a task and its end
            self._policy.learn(self._as_before(action), reward)
            self.end_task_if_over()

    def _as_before(self, actions: ArrayLike) -> ArrayLike:
        """The actions themselves; ValueError if they have another number of features than the tasks before."""
        try:
            shape = np.shape(actions)
        except ValueError:  # rows of several lengths: the policy has words for it
            return actions
        if self._n_tasks and shape and shape[-1] != len(self._sum):
            raise ValueError(f"actions have {shape[-1]} features, but those of the tasks before had {len(self._sum)}")
        return actions

    @property
    def rounds_left(self) -> int | None:
        """How many rewards the current task has left; None if tasks end when you say so."""
        return None if self.rounds is None else self.rounds - self._policy.n_learned

    def end_task_if_over(self) -> None:
        """Start the next task if the current one has no rewards left."""
        if self.rounds_left == 0:
            self.next_task()

    def restart(self) -> None:
        """Forget the rewards of the current task; what was learned of tasks stays."""
        self._policy.restart()

    def reseed(self, seed: Seed) -> None:
        """Begin another sequence of random numbers.

        Args:
            seed: of the random numbers; None for one of the system.
        """
        self._policy.reseed(seed)

    def describe(self) -> dict[str, Any]:
        """Its settings, as plain values."""
        own = {"policy": "MetaOFUL", "rounds": self.rounds, "spread": self.spread, "trust": self.trust}
        return own | self._start

    def __repr__(self) -> str:
        settings = {name: value for name, value in self.describe().items() if name != "policy"}
        return f"MetaOFUL({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    # Files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        with self._lock:
            settings, arrays = self._policy.to_record()
            own = {"of": self.describe(), "n_tasks": self._n_tasks, "errors": self._errors, "policy": settings}
            return own, arrays | {"sum": self._sum}

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The policy in a model file.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        given = {name: value for name, value in settings["of"].items() if name != "policy"}
        meta = cls(**given)
        meta._n_tasks = whole("n_tasks", settings["n_tasks"], 0, 1 << 53)
        meta._errors = not_negative("errors", settings["errors"])
        meta._sum, meta._policy = arrays["sum"], Policy.from_record(settings["policy"], arrays)
        known, d = meta._policy.known, meta._policy.dimension or meta._sum.size
        if meta._sum.shape != ((d,) if meta._n_tasks else (0,)) or not (np.abs(meta._sum) < ORDINARY**2).all():
            raise ValueError(f"expected the sum of {meta._n_tasks} estimates, got {meta._sum}")
        if not isinstance(meta._policy, OFUL) or known.sigma is None or known.theta_bound is None:
            raise ValueError(f"expected OFUL with sigma and theta_bound for the task, got {brief(meta._policy)}")
        return meta


def _largest_error(state: Information, policy: Policy) -> float:
    """How far the ridge estimate of a task may be from its θ, if the task's confidence set holds.

    ‖θ_t − θ*‖_G is at most its radius at all rounds, and G no less than its smallest eigenvalue. Where that says too
    little: θ* is within S of the prior mean, and so as far from the estimate as both distances together.
    """
    known = policy.known
    assert isinstance(policy.rule, Optimistic)  # the radius is that of its index: if one holds, so does the other
    region = confidence_set(state, "ridge", known.delta, known.sigma, known.theta_bound, radius=policy.rule.radius)
    least = max(float(state.lam.min()), float(np.linalg.eigvalsh(state.second_moment())[0]))
    moved = float(np.linalg.norm(state.coefficients()))
    assert known.theta_bound is not None
    return min(region.radius / math.sqrt(least), known.theta_bound + moved)
