"""What policies meet: action sets of changing size, and the rows they are told of, none of it theirs to decide.

Rows come from the stream and not from what a policy chose, so every policy and setting meets the same ones.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from onward.core.types import Matrix, Vector


class Round(NamedTuple):
    actions: Matrix
    told: Sequence[tuple[Vector, float]]  # the rows learned after the choice: none, one or several


class Stream(NamedTuple):
    lam: float
    rounds: Sequence[Round]


def directions(rng: np.random.Generator, k: int, d: int) -> Matrix:
    X = rng.standard_normal((k, d))
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    return X


Actions = Callable[[np.random.Generator, int], Matrix]


def told_at_once(
    actions: Actions, d: int, n: int, seed: int, lam: float, sizes: Sequence[int] = (4, 1, 3, 2)
) -> Stream:
    """One row of each set is learned at once; θ* turns round after half the rounds, so memories differ."""
    rng = np.random.default_rng(seed)
    theta = directions(rng, 1, d)[0]
    rounds = []
    for t in range(n):
        A = actions(rng, sizes[t % len(sizes)])
        x = A[rng.integers(len(A))]
        rounds.append(Round(A, [(x, float((1 if t < n // 2 else -1) * x @ theta + 0.1 * rng.standard_normal()))]))
    return Stream(lam, rounds)


def benign(d: int, n: int, seed: int = 0) -> Stream:
    return told_at_once(lambda rng, k: rng.standard_normal((k, d)), d, n, seed, 0.7)


def norm_200(d: int, n: int, seed: int = 0) -> Stream:
    """The paper's hard case: every action of norm 200 and λ = 1e-5, so V spans eleven orders of magnitude."""
    return told_at_once(lambda rng, k: 200 * directions(rng, k, d), d, n, seed, 1e-5)


def near_a_line(d: int, n: int, seed: int = 0) -> Stream:
    """As `norm_200`, but off one line by about √λ only: leverages of size 1, which rounding beside 200² wipes out."""
    line = 200 * directions(np.random.default_rng(seed + 1000), 1, d)
    return told_at_once(lambda rng, k: line + 3e-3 * rng.standard_normal((k, d)), d, n, seed, 1e-5)


def mixed_norms(d: int, n: int, seed: int = 0) -> Stream:
    """Norms from 1e-3 to 1e3: what leaves a window may be a million times what stays."""
    return told_at_once(lambda rng, k: 10 ** rng.uniform(-3, 3, (k, 1)) * directions(rng, k, d), d, n, seed, 1e-3)


def few_actions(d: int, n: int, seed: int = 0) -> Stream:
    """The same d − 1 actions over and over, so one direction is never seen, and then it is offered."""
    fixed = directions(np.random.default_rng(seed + 1000), max(d - 1, 1), d)
    unseen = np.eye(d)[:1]
    stream = told_at_once(lambda rng, k: fixed[rng.integers(len(fixed), size=k)], d, n, seed, 0.05)
    return Stream(stream.lam, [Round(np.vstack([actions, unseen]), told) for actions, told in stream.rounds])


def delayed(d: int, n: int, seed: int = 0) -> Stream:
    """Rewards come late, several at once or none; one is for an action that was never offered and is larger than all,
    one for the action 0, which teaches nothing but counts as a round.
    """
    rounds = benign(d, n, seed).rounds
    told: list[list[tuple[Vector, float]]] = [[] for _ in rounds]
    for t, one in enumerate(rounds):
        told[min(t + (3 - t % 3), n - 1)].extend(one.told)
    told[n // 2].append((np.full(d, 7.0), -2.0))
    told[2].append((np.zeros(d), 1.0))
    return Stream(
        0.3, [Round(np.vstack([one.actions, np.zeros((1, d))]), rows) for one, rows in zip(rounds, told, strict=True)]
    )


def turning(d: int, n: int, seed: int = 0, every: int = 8) -> Stream:
    """θ* turns round every few rounds and noise is small, so a policy that looks for changes finds them."""
    rng = np.random.default_rng(seed)
    theta = 0.5 * directions(rng, 1, d)[0]
    rounds = []
    for t in range(n):
        A = directions(rng, 3, d)
        x = A[np.argmax(np.abs(A @ theta))]
        rounds.append(Round(A, [(x, float((-1) ** (t // every) * x @ theta + 0.02 * rng.standard_normal()))]))
    return Stream(0.1, rounds)


STREAMS: dict[str, Stream] = {
    "benign, d=1": benign(1, 8),
    "benign, d=2": benign(2, 10),
    "benign, d=5": benign(5, 10),
    "norm 200, lam 1e-5, d=1": norm_200(1, 6),
    "norm 200, lam 1e-5, d=2": norm_200(2, 10),
    "norm 200, lam 1e-5, d=3": norm_200(3, 10),
    "norm 200, lam 1e-5, d=5": norm_200(5, 10),
    "near a line, lam 1e-5, d=3": near_a_line(3, 10),
    "mixed norms, d=3": mixed_norms(3, 12),
    "few actions, d=3": few_actions(3, 10),
    "delayed, d=2": delayed(2, 10),
}
