"""Tasks in sequence: the learned prior mean, what is proven of it, and worlds of tasks."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from onward import load
from onward.bandits import OFUL, MetaOFUL, OracleRestart, play
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms
from onward.bandits.structured_worlds import Tasks
from onward.core.types import Vector

ESTIMATORS: Any = ["ridge", "forward"]


def world(spread: float = 0.2, rounds: int = 40, n_tasks: int = 6, sigma: float = 0.1) -> LinearWorld:
    return LinearWorld(SphereArms(5, 3), Tasks([0.8, 0.0, 0.6], spread, rounds, n_tasks), Gaussian(sigma))


def mean_of(meta: MetaOFUL) -> Vector:
    assert meta.mean is not None
    return meta.mean


def learn_task(
    meta: MetaOFUL, rng: np.random.Generator, theta: Vector, rounds: int
) -> tuple[list[Vector], list[float]]:
    rows, rewards = [], []
    for _ in range(rounds):
        actions = rng.standard_normal((4, len(theta)))
        row = actions[meta.choose(actions)]
        rows.append(row)
        rewards.append(float(row @ theta + 0.1 * rng.standard_normal()))
        meta.learn(row, rewards[-1])
    return rows, rewards


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_prior_mean_is_the_average_of_the_tasks_estimates(estimator: Any) -> None:
    rng, lam = np.random.default_rng(0), 0.5
    meta = MetaOFUL(lam=lam, spread=0.3, trust="spread", theta_bound=2.0, sigma=0.1, estimator=estimator, seed=0)
    estimates: list[Vector] = []
    prior = np.zeros(3)
    for task in range(4):
        assert meta.n_tasks == task
        assert meta.policy.known.theta_bound == (0.3 if task else 2.0)
        rows, rewards = learn_task(meta, rng, np.array([1.0, -0.5, 0.2]) + 0.1 * rng.standard_normal(3), 10 + task)
        X, y = np.array(rows), np.array(rewards)
        dense = prior + np.linalg.solve(lam * np.eye(3) + X.T @ X, X.T @ (y - X @ prior))
        assert_allclose(meta.policy.coef, dense, rtol=1e-9)
        estimates.append(dense)
        meta.next_task()
        assert meta.policy.n_learned == 0
        prior = np.mean(estimates, axis=0)  # each task counts once, however long it was
        assert_allclose(mean_of(meta), prior, rtol=1e-9)
        assert_allclose(np.array(meta.policy.prior_mean), prior, rtol=1e-9)


def test_what_is_proven_of_the_mean() -> None:
    """From the radius of each task's set and the smallest eigenvalue of its G; until it helps, all starts from 0."""
    rng, known = np.random.default_rng(1), {"sigma": 0.1, "delta": 0.02}
    meta = MetaOFUL(lam=0.5, spread=0.05, theta_bound=1.5, estimator="ridge", seed=0, **known)  # type: ignore[arg-type]
    assert meta.distance == math.inf
    learn_task(meta, rng, np.array([1.0, -0.5, 0.2]), 2)  # too little to know anything: the bound is larger than S
    meta.next_task()
    assert meta.distance > 1.5
    assert meta.policy.prior_mean is None
    assert meta.policy.known.theta_bound == 1.5
    rows, _ = learn_task(meta, rng, np.array([1.0, -0.45, 0.2]), 3000)
    gram = 0.5 * np.eye(3) + np.array(rows).T @ np.array(rows)
    gain = np.linalg.slogdet(gram)[1] - 3 * math.log(0.5)
    noise = 0.1 * math.sqrt(2 * math.log(50) + gain)
    widest = (math.sqrt(0.5) * 1.5 + noise) / math.sqrt(np.linalg.eigvalsh(gram)[0])
    first = meta.distance - 0.1
    meta.next_task()
    second = 2 * (meta.distance - 0.1) - first
    assert 0 < second <= widest * (1 + 1e-9)
    assert second >= math.hypot(math.sqrt(0.5) * 1.5, noise) / math.sqrt(np.linalg.eigvalsh(gram)[0]) * (1 - 1e-9)
    for _ in range(5):
        learn_task(meta, rng, np.array([1.0, -0.5, 0.2]), 500)
        meta.next_task()
    assert meta.policy.known.theta_bound == meta.distance < 1.5
    assert_allclose(np.array(meta.policy.prior_mean), mean_of(meta))


RUNS, DELTA, TASKS = 80, 0.1, 3
LIMIT = int(binom.ppf(1 - 1e-6, RUNS, DELTA))  # so many runs may fail, if each does with probability δ


def misses(estimator: Any, scale: float) -> int:
    """In how many runs some index of some task falls below its mean: δ is shared among the tasks.

    There is little noise, λ is large, and θ lies as far from the common mean as it may: the start decides much.
    """
    rng, missed, adopted = np.random.default_rng(5), 0, 0
    known: Any = {"spread": 0.05, "theta_bound": 1.05, "sigma": 0.1, "delta": DELTA / TASKS}
    for _ in range(RUNS):
        meta = MetaOFUL(40, 3.0, scale=scale, estimator=estimator, seed=0, **known)
        common, *others = on_circle(rng, 1 + TASKS)
        failed = False
        for apart in others:
            theta = common + 0.05 * apart
            tables = 2.0 * on_circle(rng, 6 * 40).reshape(40, 6, 2)
            noise = 0.1 * rng.standard_normal(40)
            for actions, deviation in zip(tables, noise, strict=True):
                failed |= bool((meta.index(actions) < actions @ theta).any())
                row = actions[0]
                meta.learn(row, float(row @ theta + deviation))
        adopted += meta.policy.prior_mean is not None
        missed += failed
    assert adopted > RUNS / 2  # or nothing was tested
    return missed


def on_circle(rng: np.random.Generator, count: int) -> Vector:
    angles = rng.uniform(0, 2 * np.pi, count)
    return np.column_stack([np.cos(angles), np.sin(angles)])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_index_of_every_task_is_optimistic_in_most_runs_and_half_of_it_is_not(estimator: Any) -> None:
    assert misses(estimator, 1.0) <= LIMIT < misses(estimator, 0.5)


@pytest.mark.parametrize(
    ("lam", "spread", "rounds"),
    [pytest.param(0.1, 0.5, 800, id="tasks apart"), pytest.param(1e4, 0.01, 20, id="estimates that are shrunk")],
)
def test_no_task_is_farther_from_the_mean_than_is_proven_and_some_are_more_than_half_as_far(
    lam: float, spread: float, rounds: int
) -> None:
    """Where the first task and the second lie on opposite sides of θ̄, and where estimates have hardly left 0."""
    rng, shares = np.random.default_rng(6), []
    for _ in range(20):
        common, side = on_circle(rng, 2)
        known: Any = {"sigma": 0.01, "delta": 0.01, "theta_bound": 1 + spread}
        meta = MetaOFUL(rounds, lam, spread=spread, **known)
        rows = on_circle(rng, rounds)
        for row, noise in zip(rows, 0.01 * rng.standard_normal(rounds), strict=True):
            meta.learn(row, float(row @ (common + spread * side) + noise))
        shares.append(np.linalg.norm(common - spread * side - mean_of(meta)) / meta.distance)
    assert max(shares) <= 1.0 < 2.0 * min(shares)


@pytest.mark.parametrize("trust", ["proven", "spread"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_files(tmp_path: Path, estimator: Any, trust: Any) -> None:
    rng = np.random.default_rng(2)
    meta = MetaOFUL(20, spread=0.1, trust=trust, sigma=0.1, theta_bound=3.0, estimator=estimator, seed=1)
    meta.save(tmp_path / "fresh.onward")
    assert load(tmp_path / "fresh.onward").n_tasks == 0
    learn_task(meta, rng, np.array([0.5, 0.5]), 55)
    meta.save(tmp_path / "meta.onward")
    again = load(tmp_path / "meta.onward")
    assert repr(again) == repr(meta)
    assert (again.n_tasks, again.distance) == (2, meta.distance)
    for _ in range(2):
        actions = np.repeat(rng.standard_normal((1, 2)), 5, axis=0)  # all alike: ties are random
        for _ in range(25):
            assert again.choose(actions) == meta.choose(actions)
            for each in (again, meta):
                each.learn(actions[0], 0.3)
    assert_array_equal(again.mean, mean_of(meta))
    assert_array_equal(again.index(actions), meta.index(actions))


def test_bad_input_changes_nothing() -> None:
    meta = MetaOFUL(2, spread=0.1, seed=0)
    meta.next_task()  # nothing was offered yet: it is still the first
    assert meta.n_tasks == 0
    meta.learn([1.0, 0.0], 0.5)
    with pytest.raises(ValueError, match="reward must be a finite number"):
        meta.learn([1.0, 0.0], math.inf)
    with pytest.raises(ValueError, match="actions have 3 features"):
        meta.learn([1.0, 0.0, 0.0], 1.0)
    assert (meta.n_tasks, meta.policy.n_learned) == (0, 1)
    for settings, message in (
        ({"rounds": 0}, "rounds must be a whole number >= 1"),
        ({"spread": -1.0}, "spread must be a number >= 0"),
        ({"trust": "blind"}, "trust must be one of 'proven', 'spread', got 'blind'"),
        ({"lam": [1.0, 2.0]}, "lam must be a number > 0"),
    ):
        with pytest.raises(ValueError, match=message):
            MetaOFUL(**settings)


def test_tasks_are_repeatable_in_any_blocks() -> None:
    drift = Tasks([1.0, 0.0], 0.3, 7, 3, law="ball")
    everything = LinearWorld(SphereArms(2, 2), drift, None).start(5).rounds(40).thetas
    run = LinearWorld(SphereArms(2, 2), drift, None).start(5)
    pieces = np.concatenate([run.rounds(count).thetas for count in (1, 6, 3, 11, 19)])
    assert_array_equal(everything, pieces)
    assert drift.change_points == (7, 14)
    changed = 1 + np.flatnonzero((np.diff(everything, axis=0) != 0).any(axis=1))
    assert changed.tolist() == [7, 14]  # the last task goes on
    assert (np.linalg.norm(everything - [1.0, 0.0], axis=1) <= 0.3 + 1e-12).all()
    sphere = LinearWorld(SphereArms(2, 2), Tasks([1.0, 0.0], 0.3, 1, 50), None).start(0).rounds(50).thetas
    assert_allclose(np.linalg.norm(sphere - [1.0, 0.0], axis=1), 0.3)
    assert np.linalg.norm(sphere.mean(axis=0) - [1.0, 0.0]) < 0.15
    with pytest.raises(ValueError, match="drawn anew in each run"):
        drift.variation(10)
    with pytest.raises(ValueError, match="law must be"):
        Tasks([1.0], 0.1, 5, 5, law="cube")  # type: ignore[arg-type]


def test_a_learned_mean_plays_better_than_0_and_the_first_task_alike() -> None:
    place = world()
    known: Any = {"lam": 0.1, "sigma": 0.1, "theta_bound": 1.2, "estimator": "ridge"}
    isolated = OracleRestart(place.theta.change_points, **known)
    meta = MetaOFUL(40, spread=0.2, trust="spread", **known)
    runs = play({"isolated": isolated, "meta": meta, "again": meta}, place, 240, 20)
    assert_allclose(runs["isolated"][:, :40], runs["meta"][:, :40], rtol=1e-9)  # to a compiled game: up to rounding
    assert runs.difference("meta", "isolated").upper < 0
    assert_array_equal(runs["meta"], runs["again"])
    assert meta.n_tasks == 0  # the one given is left alone


class StepByStep(MetaOFUL):
    """Played in Python: whoever may have changed something is asked round by round."""


@pytest.mark.parametrize("arms", [SphereArms(5, 3), SphereArms(2, 3, fresh=False)])
@pytest.mark.parametrize("rounds", [40, None])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_compiled_game_is_the_game(estimator: Any, rounds: int | None, arms: SphereArms) -> None:
    place = LinearWorld(arms, Tasks([0.8, 0.0, 0.6], 0.2, 40, 6), Gaussian(0.1))
    known: Any = {"lam": 0.1, "sigma": 0.1, "spread": 0.2, "theta_bound": 1.2, "estimator": estimator}
    policies = {"compiled": MetaOFUL(rounds, **known), "steps": StepByStep(rounds, **known)}
    runs = play(policies, place, 230, 4, chosen=True)
    assert_array_equal(runs["compiled"], runs["steps"])
    assert runs.chosen is not None
    assert_array_equal(runs.chosen[0], runs.chosen[1])


def test_a_task_is_oful_from_its_prior_mean() -> None:
    rng = np.random.default_rng(3)
    meta = MetaOFUL(lam=0.5, spread=0.3, trust="spread", sigma=0.1, theta_bound=2.0, seed=0)
    learn_task(meta, rng, np.array([1.0, -0.5, 0.2]), 30)
    meta.next_task()
    plain = OFUL(0.5, sigma=0.1, theta_bound=0.3, prior_mean=meta.mean, seed=0)
    actions = rng.standard_normal((6, 3))
    assert_array_equal(meta.index(actions), plain.index(actions))
    assert_allclose(meta.estimate(actions), actions @ mean_of(meta))
    meta.learn(actions[0], 0.4)
    plain.learn(actions[0], 0.4)
    assert_array_equal(meta.index(actions), plain.index(actions))
    meta.restart()
    assert_allclose(meta.estimate(actions), actions @ mean_of(meta))


def test_a_task_without_rewards_is_none() -> None:
    meta = MetaOFUL(lam=1.0, spread=0.1, trust="spread", seed=0)
    meta.choose(np.eye(3))
    meta.next_task()
    assert meta.mean is None
    meta.learn([1.0, 0.0, 0.0], 1.0)
    meta.next_task()
    mean = meta.mean
    assert mean is not None
    assert_allclose(mean, [0.5, 0.0, 0.0])
