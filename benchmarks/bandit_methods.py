"""The bandit policies that are measured side by side, each in the loop that its own users would write.

*Shared* policies have one θ for all arms and are given the arms' features, new ones each round. *Disjoint* policies
have one θ for each arm and are given one context. Both kinds see the same rounds as the others of their kind, in the
form that they like best, made ready outside the clock; rewards are Python floats.

NumPy is there twice. *Good* NumPy is a policy with `choose` and `learn` as ours have them, `bandit_numpy.py`. The
*best* are the fastest loops that we could write with NumPy and SciPy, `bandit_blas.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from benchmarks import bandit_blas, bandit_numpy
from benchmarks.bandit_numpy import Policy
from onward.bandits import OFUL, Disjoint, DLinUCB, LinTS, SWLinUCB
from onward.core.types import Matrix

GAMMA, WINDOW = 0.99, 100
RIDGE: dict[str, Any] = {"estimator": "ridge", "radius": "sum", "seed": 0}  # as the yardsticks have it
AS_PRINTED: dict[str, Any] = {"width": "uniform", "action_bound": 1.0} | RIDGE

Run = Callable[[Any, Any], list[int]]
"""Chooses and learns in rounds, going on from where it stopped. Returns the choices."""


@dataclass(frozen=True)
class Method:
    key: str
    title: str
    start: Callable[[int, int], Run]  # a fresh policy for so many features and arms
    prepare: Callable[[Matrix], Any] = list  # what is seen in each round, as it likes it
    shared: bool = True
    beside: str | None = None  # the policy of ours that does the same; None for our own
    same: bool = False  # must choose the same arms as that one
    level: Literal["good", "best", "other"] = "other"  # what its time counts as, if it is NumPy
    needs: str = "numpy"
    learned: int = 1  # rounds before the clock starts
    note: str = ""  # what to know of its times

    @property
    def available(self) -> bool:
        return find_spec(self.needs) is not None


# Loops


def shared(policy_of: Callable[[int], Any]) -> Callable[[int, int], Run]:
    """Our protocol for one θ, which the NumPy policies follow too."""

    def start(d: int, n_arms: int) -> Run:
        policy: Policy = policy_of(d)

        def run(offered: list[Matrix], rewards: list[list[float]]) -> list[int]:
            choices = []
            for actions, reward in zip(offered, rewards, strict=True):
                i = policy.choose(actions)
                policy.learn(actions[i], reward[i])
                choices.append(i)
            return choices

        return run

    return start


def disjoint(policy_of: Callable[[int, int], Any]) -> Callable[[int, int], Run]:
    """Our protocol for a θ for each arm, which the NumPy policy follows too."""

    def start(d: int, n_arms: int) -> Run:
        policy = policy_of(d, n_arms)

        def run(contexts: Any, rewards: list[list[float]]) -> list[int]:
            choices = []
            for context, reward in zip(contexts, rewards, strict=True):
                i = policy.choose(context)
                policy.learn(i, context, reward[i])
                choices.append(i)
            return choices

        return run

    return start


def best(loop_of: Callable[[int, int], bandit_blas.Loop]) -> Callable[[int, int], Run]:
    """A loop that chooses and learns in one call."""

    def start(d: int, n_arms: int) -> Run:
        play = loop_of(d, n_arms).play

        def run(seen: list[Any], rewards: list[list[float]]) -> list[int]:
            return [play(each, reward) for each, reward in zip(seen, rewards, strict=True)]

        return run

    return start


def mabwiser_linucb(d: int, n_arms: int) -> Run:
    # Right at λ = 1 only: before its first row an arm's inverse is taken to be λI. It inverts a matrix for each row.
    from mabwiser.mab import MAB, LearningPolicy

    policy = MAB(list(range(n_arms)), LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0))
    policy.fit([0], [0.0], np.zeros((1, d)))  # it must see something first; an empty row changes nothing

    def run(contexts: list[Matrix], rewards: list[list[float]]) -> list[int]:
        choices = []
        for context, reward in zip(contexts, rewards, strict=True):
            i = policy.predict(context)
            policy.partial_fit([i], [reward[i]], context)
            choices.append(i)
        return choices

    return run


def contextualbandits_linucb(d: int, n_arms: int) -> Run:
    # Sherman–Morrison in compiled code; doubles as everywhere here. Its manual asks for rewards of 0 and 1, but its
    # regression takes any. Where arms tie it draws one.
    from contextualbandits.online import LinUCB

    policy = LinUCB(n_arms, alpha=1.0, lambda_=1.0, fit_intercept=False, use_float=False, random_state=1)
    # The first row would go the slow way of `fit`, for all arms; an empty one changes nothing.
    policy.partial_fit(np.zeros((1, d)), np.zeros(1, dtype=np.int64), np.zeros(1))

    def run(contexts: list[Matrix], rewards: list[list[float]]) -> list[int]:
        choices = []
        for context, reward in zip(contexts, rewards, strict=True):
            arms = policy.predict(context)
            i = int(arms[0])
            policy.partial_fit(context, arms, np.array([reward[i]]))
            choices.append(i)
        return choices

    return run


def river_linucb(d: int, n_arms: int) -> Run:
    # Its width is √(1 + q), because it is the predictive distribution's. Where arms tie it draws one.
    from river.bandit import LinUCBDisjoint

    policy: Any = LinUCBDisjoint(alpha=1.0, beta=1.0, seed=0)
    arms = list(range(n_arms))

    def run(contexts: list[dict[str, float]], rewards: list[list[float]]) -> list[int]:
        choices = []
        for context, reward in zip(contexts, rewards, strict=True):
            i = policy.pull(arms, context=context)
            policy.update(i, context, reward[i])
            choices.append(i)
        return choices

    return run


# Contexts as they are liked


def as_tables(contexts: Matrix) -> list[Matrix]:
    return list(contexts[:, None, :])


def as_dicts(contexts: Matrix) -> list[dict[str, float]]:
    names = [f"x{j}" for j in range(contexts.shape[1])]
    return [dict(zip(names, row, strict=True)) for row in contexts.tolist()]


def good_numpy(key: str, title: str, policy_of: Callable[[int], Any], beside: str, **more: Any) -> Method:
    return Method(key, f"NumPy {title}", shared(policy_of), beside=beside, level="good", **more)


def best_numpy(key: str, title: str, loop_of: Callable[[int, int], Any], beside: str, **more: Any) -> Method:
    settings: dict[str, Any] = {"same": True, "level": "best"} | more
    return Method(key, f"best NumPy {title}", best(loop_of), beside=beside, **settings)


NUMPY = (
    good_numpy("numpy_forward", "OFUL^f", bandit_numpy.ForwardOFUL, "oful_forward", same=True),
    best_numpy("best_forward", "OFUL^f", bandit_blas.ForwardOFUL, "oful_forward"),
    best_numpy("pruned_forward", "OFUL^f, pruned", bandit_blas.PrunedForwardOFUL, "oful_forward"),
    good_numpy("numpy_oful", "OFUL", bandit_numpy.OFUL, "oful", same=True),
    best_numpy("best_oful", "OFUL", bandit_blas.OFUL, "oful"),
    best_numpy("pruned_oful", "OFUL, pruned", bandit_blas.PrunedOFUL, "oful"),
    good_numpy("numpy_dlinucb", "D-LinUCB", lambda d: bandit_numpy.DLinUCB(d, GAMMA), "dlinucb", same=True),
    best_numpy("best_dlinucb", "D-LinUCB", lambda d, k: bandit_blas.DLinUCB(d, k, GAMMA), "dlinucb"),
    best_numpy("pruned_dlinucb", "D-LinUCB, pruned", lambda d, k: bandit_blas.PrunedDLinUCB(d, k, GAMMA), "dlinucb"),
    good_numpy(
        "numpy_swlinucb",
        "SW-LinUCB",
        lambda d: bandit_numpy.SWLinUCB(d, WINDOW),
        "swlinucb",
        same=True,
        learned=WINDOW,
    ),
    best_numpy(
        "best_swlinucb",
        "SW-LinUCB",
        lambda d, k: bandit_blas.SWLinUCB(d, k, WINDOW),
        "swlinucb",
        learned=WINDOW,
    ),
    best_numpy(
        "pruned_swlinucb",
        "SW-LinUCB, pruned",
        lambda d, k: bandit_blas.PrunedSWLinUCB(d, k, WINDOW),
        "swlinucb",
        learned=WINDOW,
    ),
    good_numpy("numpy_lints", "LinTS", bandit_numpy.LinTS, "lints"),
    best_numpy("best_lints", "LinTS", bandit_blas.LinTS, "lints", same=False),
    Method(
        "numpy_disjoint",
        "NumPy disjoint OFUL",
        disjoint(bandit_numpy.Disjoint),
        shared=False,
        beside="disjoint",
        level="good",
    ),
    best_numpy("best_disjoint", "disjoint OFUL", bandit_blas.Disjoint, "disjoint", same=False, shared=False),
    best_numpy(
        "packed_disjoint", "disjoint OFUL, packed", bandit_blas.PackedDisjoint, "disjoint", same=False, shared=False
    ),
    best_numpy(
        "early_disjoint",
        "disjoint OFUL, few rows",
        bandit_blas.EarlyDisjoint,
        "disjoint",
        same=False,
        shared=False,
        level="other",
        note="its time grows with the rounds, and these are the first ones: shown, but no target counts it",
    ),
)

METHODS = (
    Method("oful_forward", "onward OFUL^f", shared(lambda d: OFUL(estimator="forward", bias="tight", seed=0))),
    Method("oful", "onward OFUL", shared(lambda d: OFUL(**RIDGE))),
    Method("dlinucb", "onward DLinUCB", shared(lambda d: DLinUCB(gamma=GAMMA, **AS_PRINTED))),
    Method("swlinucb", "onward SWLinUCB", shared(lambda d: SWLinUCB(window=WINDOW, **AS_PRINTED)), learned=WINDOW),
    Method("lints", "onward LinTS", shared(lambda d: LinTS(**RIDGE))),
    Method("disjoint", "onward Disjoint OFUL", disjoint(lambda d, k: Disjoint(OFUL(**RIDGE), k)), shared=False),
    *NUMPY,
    Method(
        "mabwiser",
        "mabwiser LinUCB",
        mabwiser_linucb,
        as_tables,
        shared=False,
        beside="disjoint",
        needs="mabwiser",
    ),
    Method(
        "contextualbandits",
        "contextualbandits LinUCB",
        contextualbandits_linucb,
        as_tables,
        shared=False,
        beside="disjoint",
        needs="contextualbandits",
    ),
    Method("river", "river LinUCBDisjoint", river_linucb, as_dicts, shared=False, beside="disjoint", needs="river"),
)
