"""Many arms: bounds decide which are read, and the choice is that of reading all of them."""

import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward import load
from onward.bandits import OFUL, Disjoint, DLinUCB, EpsilonGreedy, Greedy, LinTS, LinUCB, Policy, SWLinUCB
from onward.bandits.arm_summaries import N_NUMBERS, NOISE
from onward.core.types import Vector

D = 8
MAKES: dict[str, Callable[[], Policy]] = {
    "LinUCB": lambda: LinUCB(seed=0),
    "OFUL": lambda: OFUL(sigma=0.5, theta_bound=1.0, seed=0),
    "sharp": lambda: OFUL(sigma=0.5, theta_bound=1.0, estimator="forward", prior_mean=np.linspace(-1, 1, D), seed=0),
    "tight": lambda: OFUL(
        sigma=0.5, theta_bound=1.0, estimator="forward", bias="tight", lam=np.arange(1.0, D + 1.0), seed=0
    ),
    "clipped": lambda: OFUL(sigma=0.5, theta_bound=0.3, clipped=True, seed=0),
    "DLinUCB": lambda: DLinUCB(0.9, sigma=0.5, theta_bound=1.0, seed=0),
    "SWLinUCB": lambda: SWLinUCB(5, sigma=0.5, theta_bound=1.0, seed=0),
    "LinTS": lambda: LinTS(seed=0),
    "LinTS forward": lambda: LinTS(sigma=0.5, theta_bound=1.0, width="determinant", estimator="forward", seed=0),
    "Greedy": lambda: Greedy(estimator="forward", seed=0),
    "EpsilonGreedy": lambda: EpsilonGreedy(0.0, seed=0),
}


def learned(make: Callable[[], Policy], n: int, rows: int, d: int = D, seed: int = 0) -> Disjoint:
    """A policy whose first half of arms has learned so many rows in all; half of the arms came later than others."""
    rng = np.random.default_rng(seed)
    policy = Disjoint(make(), n // 2)
    policy.choose(rng.standard_normal(d))
    for _ in range(n - n // 2):
        policy.add_arm()
    arms = rng.integers(n // 2 if rows < 5 * n else n, size=rows)
    X = rng.standard_normal((rows, d))
    policy.learn_many(arms.tolist(), X, X[:, 0] * np.sin(arms) + 0.3 * rng.standard_normal(rows))
    return policy


def best_of(index: Vector) -> set[int]:
    return set(np.flatnonzero(index == index.max()).tolist())


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("rows", [60, 3000])
def test_the_choice_is_that_of_reading_all_arms(name: str, rows: int) -> None:
    policy = learned(MAKES[name], 200, rows)
    rng, chosen = np.random.default_rng(1), set()
    for t in range(60):
        context = rng.standard_normal(D) * rng.choice([0.1, 1.0, 3.0])
        mask = rng.random(len(policy.arms)) < 0.5 if t % 3 == 0 else None
        policy.choose(context, mask)  # notes how long the context is, which widths depend on
        index = policy.index(context)  # of samples, those that come next
        arm = policy.choose(context, mask)
        if mask is not None:
            index = np.where(mask, index, -np.inf)
        assert policy.arms.index(arm) in best_of(index)
        policy.learn(arm, context, float(rng.standard_normal()))
        chosen.add(arm)
        if t % 10 == 0:
            policy.remove_arm(policy.arms[int(rng.integers(len(policy.arms)))])
            policy.add_arm()
    assert len(chosen) > 3


def test_a_bound_that_is_too_low_would_be_seen() -> None:
    """The second half of the test above: with radii cut to a third in the summaries, other arms are chosen."""
    policy, wrong, rng = learned(MAKES["OFUL"], 200, 3000), 0, np.random.default_rng(1)
    for _ in range(60):
        context = rng.standard_normal(D)
        policy.choose(context)
        assert policy._arms is not None
        policy._arms.summary[:, policy._arms.summary.shape[1] - N_NUMBERS + NOISE] /= 3.0
        arm = policy.choose(context)
        wrong += policy.arms.index(arm) not in best_of(policy.index(context))
        policy._arms.summary[:, policy._arms.stale] = 1.0
    assert wrong > 10


def test_arms_that_know_nothing_tie_and_each_has_its_chance() -> None:
    policy = Disjoint(OFUL(seed=0), 40)
    counts = np.bincount([int(str(policy.choose(np.ones(D)))) for _ in range(4000)], minlength=40)
    assert abs(counts - 100.0).max() < 5 * 10
    assert policy._arms is not None
    assert len(policy._arms.parts()[0]) == 1  # one buffer for all of them


def test_files_and_copies_hold_only_what_was_learned(tmp_path: Path) -> None:
    policy = learned(MAKES["OFUL"], 500, 300)
    policy.save(tmp_path / "arms.onward")
    assert policy._arms is not None
    rows = policy._arms.parts()[0]
    assert len(rows) == 1 + sum(count > 0 for count in policy.n_learned.values()) < 250
    assert (tmp_path / "arms.onward").stat().st_size < 1.2 * rows.nbytes + 50_000
    others: list[Any] = [load(tmp_path / "arms.onward"), pickle.loads(pickle.dumps(policy))]
    rng = np.random.default_rng(3)
    for context in rng.standard_normal((30, D)):
        arm = policy.choose(context)
        for other in others:
            assert other.choose(context) == arm
            assert np.array_equal(other.index(context), policy.index(context))
        for one in (policy, *others):
            one.learn(arm, context, 0.5)
    assert others[0].n_learned == policy.n_learned


def test_ten_thousand_arms_are_quick() -> None:
    """Generous limits, for a busy machine: twenty times better than reading and copying all arms."""
    policy = Disjoint(OFUL(sigma=1.0, theta_bound=1.0, seed=0), 10_000)
    rng = np.random.default_rng(0)
    policy.choose(rng.standard_normal(20))
    for arm in range(2_000):
        policy.learn(arm, rng.standard_normal(20), 1.0)

    def quickest(call: Callable[[], object], times: int = 15) -> float:
        spans = []
        for _ in range(times):
            start = time.perf_counter()
            call()
            spans.append(time.perf_counter() - start)
        return min(spans)

    assert quickest(lambda: policy.choose(rng.standard_normal(20))) < 2e-3
    assert quickest(policy.add_arm) < 1e-4
    assert quickest(lambda: policy.remove_arm(policy.arms[0])) < 1e-3
    assert quickest(lambda: policy.learn(1_500, np.ones(20), 1.0)) < 1e-4


def test_samples_of_arms_are_the_posterior_s() -> None:
    """One draw for each arm, of the variance that d draws would have; the chances follow."""
    policy = learned(lambda: LinTS(sigma=1.0, seed=0), 20, 100)
    context = np.random.default_rng(0).standard_normal(D)
    samples = [policy._read(context, renew=True)[1] for _ in range(20_000)]
    leverage = [policy.information(arm).leverages(context[None])[0] for arm in policy.arms]
    z = (np.mean(samples, axis=0) - policy.estimate(context)) / np.sqrt(np.array(leverage) / 20_000)
    assert np.abs(z).max() < 4.5
    assert np.abs(np.var(samples, axis=0) / leverage - 1.0).max() < 5 * np.sqrt(2 / 20_000)
    correlation = np.corrcoef(np.array(samples).T) - np.eye(20)
    assert np.abs(correlation).max() < 5 / np.sqrt(20_000)
