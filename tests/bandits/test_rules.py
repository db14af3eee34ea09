"""The rules that weigh actions, the floor of exploring, and every rule with every memory."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward import storage
from onward.bandits import (
    OFUL,
    AtRandom,
    Boltzmann,
    Detecting,
    Discounted,
    Disjoint,
    EpsilonGreedily,
    EpsilonGreedy,
    Everything,
    Greedily,
    Greedy,
    InverseGap,
    Known,
    LinTS,
    LinUCB,
    Optimistic,
    Policy,
    Restarting,
    Sampling,
    Softmax,
    SquareCB,
    Window,
    play,
)
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
from onward.bandits.memories import Memory
from onward.bandits.rules import Estimator, Rule
from onward.core.types import Matrix, Vector

MEMORIES: list[Memory] = [Everything(), Discounted(0.9), Window(7), Restarting((9,)), Detecting(20)]
RULES: list[Rule] = [
    Optimistic(),
    Sampling(),
    Greedily(),
    EpsilonGreedily(0.2),
    AtRandom(),
    InverseGap(),
    InverseGap(gamma=3.0),
    Softmax(),
    Softmax(temperature=0.2),
]
NAMED: list[Any] = [OFUL, LinUCB, LinTS, Greedy, EpsilonGreedy, SquareCB, Boltzmann]


def table(rng: np.random.Generator, k: int = 5, d: int = 3) -> Matrix:
    return rng.standard_normal((k, d))


def go_on(policy: Policy, rounds: int, seed: int = 0) -> list[int]:
    rng, choices = np.random.default_rng(seed), []
    for _ in range(rounds):
        actions = table(rng)
        choices.append(policy.choose(actions))
        policy.learn(actions[choices[-1]], float(actions[choices[-1], 0] + 0.1 * rng.standard_normal()))
    return choices


class InPython(Policy):
    """A policy that the compiled game does not play, for its `choose` is its own."""

    def choose(self, actions: Any, available: Any = None) -> int:
        return super().choose(actions, available)


@pytest.mark.parametrize("memory", MEMORIES, ids=str)
def test_any_rule_goes_with_any_memory_in_games_and_files(memory: Memory, tmp_path: Path) -> None:
    world = LinearWorld(SphereArms(4, 3, fresh=True), Stationary.random(3), Gaussian(0.3))
    parts: dict[str, Any] = {"known": Known(sigma=0.3, theta_bound=1.0)} if isinstance(memory, Detecting) else {}
    estimators: tuple[Estimator, ...] = ("ridge", "forward")
    pairs = list(enumerate(itertools.product(RULES, estimators)))
    policies: dict[str, Policy] = {}
    for number, (rule, estimator) in pairs:
        explore = 0.15 * (number % 2)
        policies[f"compiled {number}"] = Policy(memory, rule, estimator, explore=explore, **parts)
        policies[f"in Python {number}"] = InPython(memory, rule, estimator, explore=explore, **parts)
    runs = play(policies, world, 40, 1, seed=3, chosen=True)
    assert runs.chosen is not None
    for number, _ in pairs:
        both = (runs.chosen[2 * number], runs.chosen[2 * number + 1])
        assert_array_equal(*both)
        policy = policies[f"compiled {number}"]
        go_on(policy, 15)
        policy.save(tmp_path / "policy")
        again = storage.load(tmp_path / "policy")
        assert (again.design, repr(again)) == (policy.design, repr(policy))
        assert go_on(again, 25, seed=1) == go_on(policy, 25, seed=1)


# Exploring


@pytest.mark.parametrize("make", NAMED)
def test_the_floor_is_saved_and_said_only_where_it_is(make: Any, tmp_path: Path) -> None:
    policy, plain = make(explore=0.25, seed=0), make(seed=0)
    assert policy.parameters["explore"] == 0.25
    assert "explore=0.25" in repr(policy)
    assert "explore" not in plain.parameters
    assert "explore" not in repr(plain)
    assert policy.design != plain.design
    for one in (policy, plain):
        one.choose(np.eye(3))
        one.save(tmp_path / "policy")
        again = storage.load(tmp_path / "policy")
        assert type(again) is make
        assert again.explore == one.explore
        assert again.parameters == one.parameters
    with pytest.raises(AttributeError, match="explore is fixed"):
        policy.explore = 0.5


@pytest.mark.parametrize("explore", [-0.1, 1.5, "often", None, float("nan")])
def test_what_is_no_probability_is_refused(explore: Any) -> None:
    with pytest.raises(ValueError, match=r"explore must be a number from 0 to 1"):
        OFUL(explore=explore)
    with pytest.raises(ValueError, match=r"epsilon must be a number from 0 to 1"):
        EpsilonGreedy(explore)


@pytest.mark.parametrize("make", NAMED)
def test_a_policy_explores_as_often_as_it_was_told(make: Any) -> None:
    actions, free = np.array([[1.0], [0.5], [-1.0], [0.9]]), [True, False, True, True]
    policy = make(explore=0.3, seed=1)
    policy.learn_many(np.ones((200, 1)), np.ones(200))  # the last one is hopeless but for exploring
    n = 3000
    counts = np.bincount([policy.choose(actions, free) for _ in range(n)], minlength=4)
    alone = make(seed=1)
    alone.learn_many(np.ones((200, 1)), np.ones(200))
    expected = 0.7 * alone.probabilities(actions, free)[2] + 0.1
    assert counts[1] == 0
    assert abs(counts[2] / n - expected) < 4 * np.sqrt(expected * (1 - expected) / n)
    assert_allclose(policy.probabilities(actions, free)[2], expected, atol=1e-12)


# Weighing


def inverse_gap(estimate: Vector, gamma: float) -> Vector:
    gap = estimate.max() - estimate
    chances = np.where(gap > 0, 1 / (len(gap) + gamma * gap), 0.0)
    return np.asarray(np.where(gap > 0, chances, (1 - chances.sum()) / (gap == 0).sum()))


def softmax(estimate: Vector, temperature: float) -> Vector:
    weights = np.exp((estimate - estimate.max()) / temperature)
    return np.asarray(weights / weights.sum())


def uncertainty(policy: Policy, actions: Matrix) -> float:
    """The mean of √q, from the state itself."""
    inverse = np.linalg.inv(policy.information().second_moment())
    return float(np.mean(np.sqrt(np.einsum("ij,jk,ik->i", actions, inverse, actions))))


def test_weights_are_those_of_the_formulas() -> None:
    rng = np.random.default_rng(0)
    rows, rewards = rng.standard_normal((30, 3)), rng.standard_normal(30)
    actions = np.vstack([table(rng), np.zeros((2, 3))])
    actions = np.vstack([actions, actions[[0]]])
    for estimator in ("ridge", "forward"):
        settings: dict[str, Any] = {"estimator": estimator, "sigma": 0.7}
        cases: list[tuple[Policy, Callable[[Vector, float], Vector]]] = [
            (SquareCB(scale=0.3, **settings), lambda e, u: inverse_gap(e, np.sqrt(len(e)) / (0.3 * u))),
            (SquareCB(gamma=5.0, **settings), lambda e, u: inverse_gap(e, 5.0)),
            (Boltzmann(scale=0.3, **settings), lambda e, u: softmax(e, 0.3 * u)),
            (Boltzmann(temperature=0.4, **settings), lambda e, u: softmax(e, 0.4)),
        ]
        for policy, expected in cases:
            policy.learn_many(rows, rewards)
            estimate, unit = policy.estimate(actions), 0.7 * uncertainty(policy, actions)
            assert_allclose(policy.probabilities(actions), expected(estimate, unit), rtol=1e-12)
            some = np.array([True, True, False, True, True, False, True, False])
            masked = np.zeros(8)
            masked[some] = expected(estimate[some], 0.7 * uncertainty(policy, actions[some]))
            assert_allclose(policy.probabilities(actions, some), masked, rtol=1e-12)


@pytest.mark.parametrize("make", [SquareCB, Boltzmann])
def test_weights_do_not_depend_on_the_units_of_rewards(make: Any) -> None:
    rng = np.random.default_rng(1)
    rows, rewards, actions = table(rng, 40), rng.standard_normal(40), table(rng)
    one, other = make(), make()
    one.learn_many(rows, rewards)
    other.learn_many(rows, 1000.0 * rewards)
    assert_allclose(one.probabilities(actions), other.probabilities(actions), rtol=1e-9)


@pytest.mark.parametrize("make", [SquareCB, Boltzmann])
def test_without_rewards_all_are_alike_and_without_noise_the_best_is_taken(make: Any) -> None:
    policy, actions = make(seed=0), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert_allclose(policy.probabilities(actions), 1 / 3)
    policy.learn([1.0, 0.0], 0.0)  # σ̂ is 0 now, and so is every estimate
    assert_allclose(policy.probabilities(actions), 1 / 3)
    assert policy.choose(actions) in range(3)


@pytest.mark.parametrize("make", [SquareCB, Boltzmann])
def test_a_rule_that_weighs_sharpens_with_what_it_knows(make: Any) -> None:
    rng = np.random.default_rng(2)
    policy, best = make(seed=0), []
    for _ in range(3):
        rows = table(rng, 300)
        policy.learn_many(rows, rows[:, 0] + 0.3 * rng.standard_normal(300))
        best.append(policy.probabilities(np.eye(3) - [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).max())
    assert best[0] < best[1] < best[2] or best[2] > 1 - 1e-9


def test_how_steeply_is_said_once() -> None:
    with pytest.raises(ValueError, match=r"gamma leaves nothing to scale: expected scale=None, got 2.0"):
        SquareCB(scale=2.0, gamma=1.0)
    with pytest.raises(ValueError, match=r"temperature leaves nothing to scale: expected scale=None, got 2.0"):
        Softmax(2.0, 1.0)
    with pytest.raises(ValueError, match=r"temperature must be a number > 0, got 0"):
        Softmax(temperature=0)
    with pytest.raises(ValueError, match=r"scale must be a number > 0, got 0"):
        InverseGap(0)


def test_arms_share_one_steepness() -> None:
    """Arms that know nothing of each other are one policy on blocks: its estimates, its rewards, its information."""
    rng = np.random.default_rng(3)
    contexts, arms, rewards = table(rng, 40, 2), rng.integers(3, size=40), rng.standard_normal(40)
    apart, together = Disjoint(SquareCB(sigma=0.5), 3), SquareCB(sigma=0.5)
    apart.learn_many(arms.tolist(), contexts, rewards)
    blocks = np.zeros((40, 6))
    for arm in range(3):
        blocks[arms == arm, 2 * arm : 2 * arm + 2] = contexts[arms == arm]
    together.learn_many(blocks, rewards)
    x = np.array([0.3, -1.0])
    assert_allclose(apart.probabilities(x), together.probabilities(np.kron(np.eye(3), x)), rtol=1e-9)
