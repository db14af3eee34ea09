"""A policy on its way through a log: what it would do in each event, and what a reward model expects of that."""

import copy
import math
import numbers
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onward.bandits.disjoint import Disjoint
from onward.bandits.logs import LARGEST_REWARD, LoggedData
from onward.bandits.policy_value import Learn
from onward.bandits.rules import AtRandom
from onward.bandits.wrapping import Wrapping
from onward.core.shown import brief, several
from onward.core.types import Matrix, Vector


class Policy(Protocol):
    """What chooses. It may also have `probabilities(actions)`: the chance with which it would now choose each."""

    def choose(self, actions: Matrix, /) -> int:
        """The position of one of the actions (k, d)."""

    def learn(self, action: Vector, reward: float, /) -> Any:
        """Learn what an action earned."""


class RewardModel(Protocol):
    """What predicts the reward of an action, for the methods that need a model."""

    def predict_one(self, x: Vector, /) -> float:
        """The reward to expect."""

    def learn_one(self, x: Vector, y: float, /) -> Any:
        """Learn what came."""


@dataclass(frozen=True)
class Walk:
    """What a policy would have done in each event of a log, (n,) each."""

    chances: Vector
    """π(taken)."""
    expected: Vector
    """What the model expects of π: Σ_a π(a) r̂(a); 0 without a model."""
    residuals: Vector
    """What the reward was more than the model expected."""
    unsupported: Vector | None
    """π's probability of actions that the log gave no chance; None unless the log holds the chances of all actions."""


class Subject:
    """A copy of the policy that is judged, asked event by event, whichever way it wants to be asked."""

    def __init__(self, policy: Policy | Disjoint, log: LoggedData) -> None:
        if isinstance(policy, Wrapping):
            raise ValueError(
                f"a {type(policy).__name__} cannot be judged on a log of arrays: expected a Policy or a Disjoint, "
                "which take numbers"
            )
        self._policy: Any = copy.deepcopy(policy)
        self._log = log
        self._arms: tuple[Any, ...] | None = None
        if isinstance(policy, Disjoint):
            if log.contexts is None:
                raise ValueError(
                    "a Disjoint policy needs a log of contexts (LoggedData.disjoint, or n_arms=… when reading), "
                    "got one of actions with features"
                )
            self._arms = policy.arms if log.arms is None else log.arms
            if len(policy.arms) != log.actions.sizes[0]:
                raise ValueError(
                    f"the policy has {len(policy.arms)} arms, but the log has {log.actions.sizes[0]}: "
                    "arm i of the log is the i-th of the policy's"
                )
            if set(policy.arms) != set(self._arms):
                raise ValueError(
                    f"the log has arms {several(self._arms)}, but the policy has {several(policy.arms)}: expected the "
                    "same names, such as Disjoint(LinUCB(), log.arms)"
                )
            self._order = [policy.arms.index(arm) for arm in self._arms]

    def offer(self, event: int) -> NDArray[np.float64]:
        """What the policy is shown of an event: the actions, or the context."""
        if self._arms is not None and self._log.contexts is not None:
            return np.array(self._log.contexts[event])
        return self._log.actions[event]

    def choose(self, offer: NDArray[np.float64], event: int) -> int:
        """The position of what it chooses."""
        choice = self._policy.choose(offer)
        if self._arms is not None:
            return self._arms.index(choice)
        if not isinstance(choice, numbers.Integral) or not 0 <= int(choice) < len(offer):
            raise ValueError(f"a policy must choose 0 … {len(offer) - 1} in event {event}, got {brief(choice)}")
        return int(choice)

    def probabilities(self, offer: NDArray[np.float64], event: int) -> Vector:
        """The chance of each action; certainty for what it chooses, if it does not say."""
        k = int(self._log.actions.sizes[event])
        ask = getattr(self._policy, "probabilities", None)
        if ask is None:
            pi = np.zeros(k)
            pi[self.choose(offer, event)] = 1.0
            return pi
        pi = np.asarray(ask(offer), dtype=np.float64)
        if pi.shape != (k,) or not (pi.min() >= 0 and abs(pi.sum() - 1) <= 1e-6):
            raise ValueError(
                f"a policy's probabilities must be {k} numbers >= 0 that sum to 1 in event {event}, got {brief(pi)}"
            )
        return pi if self._arms is None else pi[self._order]

    def learn(self, offer: NDArray[np.float64], event: int) -> None:
        """Learn what was taken and what it earned."""
        taken, reward = int(self._log.taken[event]), float(self._log.reward[event])
        if self._arms is not None:
            self._policy.learn(self._arms[taken], offer, reward)
        else:
            self._policy.learn(offer[taken], reward)


def knows_nothing(policy: Any) -> bool:
    """Whether it is one of this library that has learned nothing, though it could."""
    if isinstance(policy, Disjoint):
        return not any(policy.n_learned.values())
    rule = getattr(policy, "rule", None)
    return rule is not None and not isinstance(rule, AtRandom) and getattr(policy, "n_learned", 1) == 0


def walk(
    policy: Policy | Disjoint,
    log: LoggedData,
    learn: Learn,
    model: RewardModel | None,
    folds: int | None,
    reward_range: tuple[float, float] | None,
) -> Walk:
    """Ask the policy in each event, and the model about what it might do.

    Without folds the model learns each event after it was asked there, so that no error of its own hangs on what it
    predicts; with folds, every event is predicted by a model that learned all the other folds.
    """
    n = len(log)
    subject = Subject(policy, log)
    models = _Models(model, log, folds, reward_range)
    chances, expected, residuals = np.empty(n), np.zeros(n), log.reward.copy()
    unsupported = None if log.probabilities is None else np.zeros(n)
    for event in range(n):
        taken, offer = int(log.taken[event]), subject.offer(event)
        pi = subject.probabilities(offer, event)
        chances[event] = pi[taken]
        if unsupported is not None and log.probabilities is not None:
            unsupported[event] = pi[log.probabilities[event] <= 0].sum()
        if model is not None:
            predicted = models.predict(event, {taken, *pi.nonzero()[0].tolist()})
            expected[event] = sum(pi[a] * prediction for a, prediction in predicted.items())
            residuals[event] -= predicted[taken]
        if learn == "all":
            subject.learn(offer, event)
    usable = (np.abs(expected) <= 2 * LARGEST_REWARD) & (np.abs(residuals) <= 2 * LARGEST_REWARD)
    if not usable.all():
        raise ValueError(
            f"the model must predict finite numbers of at most {LARGEST_REWARD:g}, got another in event "
            f"{int(np.argmin(usable))}"
        )
    return Walk(chances, expected, residuals, unsupported)


class _Models:
    """The reward model, or one for each fold."""

    def __init__(
        self,
        model: RewardModel | None,
        log: LoggedData,
        folds: int | None,
        reward_range: tuple[float, float] | None,
    ) -> None:
        self._log, self._low, self._high = log, *(reward_range or (-math.inf, math.inf))
        self._fold: Any = None
        self._models = [] if model is None else [copy.deepcopy(model) for _ in range(folds or 1)]
        if folds is not None and model is not None:
            # Every folds-th event: of a log that drifts, each fold then has a share of all times.
            self._fold = np.arange(len(log)) % folds
            for event in range(len(log)):
                row, reward = log.actions[event][log.taken[event]], float(log.reward[event])
                for fold, each in enumerate(self._models):
                    if fold != self._fold[event]:
                        each.learn_one(row, reward)

    def predict(self, event: int, places: set[int]) -> dict[int, float]:
        """What to expect of the actions at these places; a model without folds learns the event then."""
        model, actions = self._models[0 if self._fold is None else self._fold[event]], self._log.actions[event]
        predicted = {a: min(max(float(model.predict_one(actions[a])), self._low), self._high) for a in places}
        if self._fold is None:
            model.learn_one(actions[self._log.taken[event]], float(self._log.reward[event]))
        return predicted
