"""What the theory promises of optimistic policies, in worlds within its assumptions."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from onward import bounds
from onward.bandits import OFUL, DLinUCB, Random, SWLinUCB, play
from onward.bandits.environments import Bounded, Gaussian, LinearWorld, Noise, Rademacher, SphereArms, Stationary
from onward.bandits.policy import Policy
from onward.bandits.rules import Estimator
from onward.core.trace import Trace

DELTA, RUNS, ROUNDS, SIGMA = 0.1, 300, 150, 1.0
LIMIT = int(binom.ppf(1 - 1e-6, RUNS, DELTA))  # so many runs may fail, if each does with probability δ


def misses(policy: Policy, noise: Noise, world_seed: int = 0, dimension: int = 2, runs: int = RUNS) -> int:
    """In how many runs some index falls below the true mean of its action, at any round."""
    world = LinearWorld(SphereArms(5, dimension, radius=2.0), Stationary.random(dimension), noise)
    missed = 0
    for i in range(runs):
        policy.restart()
        run = world.start(np.random.SeedSequence(world_seed, spawn_key=(i,)))
        block = run.rounds(ROUNDS)
        for actions, means, deviation in zip(block.actions, block.means, block.noise, strict=True):
            index = policy.index(actions)
            if (index < means).any():
                missed += 1
                break
            chosen = int(np.argmax(index))
            policy.learn(actions[chosen], float(means[chosen] + deviation))
    return missed


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
@pytest.mark.parametrize("noise", [Gaussian(SIGMA), Rademacher(SIGMA)])
def test_every_index_is_optimistic_in_most_runs(estimator: Any, noise: Noise) -> None:
    policy = OFUL(0.1, sigma=SIGMA, theta_bound=1.0, delta=DELTA, estimator=estimator)
    assert misses(policy, noise) <= LIMIT


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
@pytest.mark.parametrize("chosen", [{}, {"clipped": True}, {"radius": "sum"}], ids=str)
def test_half_of_each_sharper_index_is_found_out(chosen: dict[str, Any], estimator: Any) -> None:
    """The joint radius, forward's sharp index, and both cut to what ‖x‖S allows."""
    at_scale = {}
    for scale in (1.0, 0.5):
        known: dict[str, Any] = {"sigma": SIGMA, "theta_bound": 1.0, "delta": DELTA, "scale": scale}
        at_scale[scale] = misses(OFUL(0.1, estimator=estimator, **known, **chosen), Gaussian(SIGMA))
    assert at_scale[1.0] <= LIMIT < at_scale[0.5]


def test_sharper_indices_are_below_the_others() -> None:
    """By how much, on actions of all lengths: never above `tight`, which is never above `paper`."""
    rng = np.random.default_rng(3)
    known: dict[str, Any] = {"lam": 0.3, "sigma": 0.2, "theta_bound": 1.0, "delta": 0.05}
    kinds: list[Any] = ["sharp", "tight", "paper"]
    policies = [OFUL(bias=bias, radius="sum", **known) for bias in kinds]
    joint, clipped = OFUL(**known), OFUL(clipped=True, **known)
    theta = np.array([0.6, -0.8])
    for _ in range(60):
        actions = rng.standard_normal((20, 2)) * 10 ** rng.uniform(-2, 2, (20, 1))
        sharp, tight, paper = (policy.index(actions) for policy in policies)
        lengths = np.sqrt((actions**2).sum(axis=1))
        assert (sharp <= tight * (1 + 1e-12) + 1e-12).all()
        assert (tight <= paper * (1 + 1e-12) + 1e-12).all()
        assert (joint.index(actions) <= sharp + 1e-12).all()
        np.testing.assert_allclose(clipped.index(actions), np.minimum(joint.index(actions), lengths), rtol=1e-12)
        reward = float(actions[0] @ theta + 0.2 * rng.standard_normal())
        for policy in (*policies, joint, clipped):
            policy.learn(actions[0], reward)


@pytest.mark.parametrize(("width", "bias"), [("trace", "paper"), ("uniform", "tight"), ("determinant", "paper")])
def test_wider_indices_are_optimistic_too(width: Any, bias: Any) -> None:
    policy = OFUL(0.1, sigma=1 / 3**0.5, theta_bound=1.0, delta=DELTA, width=width, bias=bias)
    assert misses(policy, Bounded(1.0)) <= LIMIT


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
def test_a_third_of_the_width_is_found_out(estimator: Any) -> None:
    policy = OFUL(0.1, sigma=SIGMA, theta_bound=1.0, delta=DELTA, estimator=estimator, scale=1 / 3)
    assert misses(policy, Gaussian(SIGMA)) > LIMIT


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
@pytest.mark.parametrize("forgetful", ["discounts", "slides"])
@pytest.mark.parametrize("width", ["determinant", "uniform"])
def test_policies_for_changing_worlds_hold_where_nothing_changes(forgetful: str, width: Any, estimator: Any) -> None:
    """δ/T for each round by itself, hence δ for all of them. A fifth of the width is found out."""
    for scale in (1.0, 0.2):
        known: dict[str, Any] = {"lam": 0.1, "sigma": SIGMA, "delta": DELTA / ROUNDS, "scale": scale}
        known |= {"estimator": estimator, "width": width}
        policy = DLinUCB(0.95, **known) if forgetful == "discounts" else SWLinUCB(25, **known)
        missed = misses(policy, Gaussian(SIGMA), runs=100)
        assert missed <= int(binom.ppf(1 - 1e-6, 100, DELTA)) if scale == 1.0 else missed > 50


@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("width", ["determinant", "uniform"])
def test_regret_stays_under_the_corrected_bounds(lam: float, width: Any) -> None:
    """Thm 4.1: in constants for every width, along the run for the determinant width."""
    horizon, repeats, d = 800, 60, 3
    world = LinearWorld(SphereArms(8, d, radius=2.0), Stationary.random(d), Gaussian(SIGMA))
    known: dict[str, Any] = {"theta_bound": 1.0, "sigma": SIGMA, "delta": DELTA}
    names: tuple[Estimator, ...] = ("ridge", "forward")
    policies: dict[str, Policy] = {
        name: OFUL(lam, estimator=name, width=width, bias="paper", **known) for name in names
    }
    runs = play(policies, world, horizon, repeats, seed=1, chosen=True)
    rounds = np.arange(1, horizon + 1)
    in_constants = {
        "ridge": [bounds.oful_regret, bounds.oful_regret_with_kappa],
        "forward": [bounds.oful_forward_regret],
    }
    limit = int(binom.ppf(1 - 1e-6, repeats, DELTA))
    for i, name in enumerate(policies):
        for bound in in_constants[name]:
            right = bound(rounds, d=d, lam=lam, feature_bound=2.0, **known)
            assert (runs[name] > right).any(axis=1).sum() <= limit
        if width == "determinant":
            assert runs.chosen is not None
            over = 0
            for repeat in range(repeats):
                block = world.start(np.random.SeedSequence(1, spawn_key=(repeat, 0))).rounds(horizon)
                chosen = runs.chosen[i, repeat]
                rows = np.arange(horizon)
                trace = Trace.of(block.actions[rows, chosen], block.means[rows, chosen] + block.noise, lam)
                if name == "ridge":
                    right = bounds.oful_regret_along(trace, feature_bound=2.0, **known)
                else:
                    right = bounds.oful_forward_regret_along(trace, **known)
                over += bool((runs[name][repeat] > right).any())
            assert over <= limit


def test_the_bound_says_something() -> None:
    """Playing at random breaks it."""
    d, horizon = 1, 4000
    world = LinearWorld(SphereArms(2, d, radius=1.0), Stationary([1.0]), Gaussian(0.1))
    runs = play({"random": Random(), "OFUL^f": OFUL(sigma=0.1)}, world, horizon, 5)
    bound = bounds.oful_forward_regret(horizon, d=d, lam=1.0, feature_bound=1.0, theta_bound=1.0, sigma=0.1, delta=0.01)
    assert runs["OFUL^f"][:, -1].max() < bound < runs["random"][:, -1].min()
