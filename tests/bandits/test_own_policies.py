"""Policies as values: any memory with any rule, a λ and a prior for each feature, and users' own widths and indices."""

import copy
import itertools
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward import ForwardRegressor, load
from onward.bandits import (
    OFUL,
    AtRandom,
    Detecting,
    DetectingLinUCB,
    Discounted,
    DLinUCB,
    EpsilonGreedily,
    EpsilonGreedy,
    Everything,
    Greedily,
    Known,
    LinTS,
    LinUCB,
    Optimistic,
    OracleRestart,
    Policy,
    Restarting,
    Sampling,
    SWLinUCB,
    Window,
    index_function,
    play,
    width_function,
)
from onward.bandits.environments import Abrupt, BoxArms, Gaussian, LinearWorld
from onward.bandits.functions import CompiledFunction
from onward.core.types import Matrix, Vector

ROOT = Path(__file__).parents[2]
MEMORIES = [Everything(), Discounted(0.9), Window(7), Restarting((20, 50)), Detecting(6, 0.3, 0.1)]
RULES = [Optimistic(), Sampling(scale=0.3), Greedily(), EpsilonGreedily(0.2), AtRandom()]
WORLD = LinearWorld(BoxArms(6, 3), Abrupt([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]], [60]), Gaussian(0.2))


@index_function
def textbook(estimate: float, leverage: float, square: float, radius: float, rounds: float) -> float:
    return estimate + 0.5 * math.sqrt(leverage)


@index_function
def everything_told(estimate: float, leverage: float, square: float, radius: float, rounds: float) -> float:
    return estimate + radius * math.sqrt(leverage) + 10.0 * square + 100.0 * rounds


@width_function
def of_theory(gain: float, rounds: float, dimension: float, lam: float, sigma: float, delta: float) -> float:
    return sigma * math.sqrt(gain - 2.0 * math.log(delta))


@index_function
def no_number(estimate: float, leverage: float, square: float, radius: float, rounds: float) -> float:
    return math.sqrt(-leverage - 1.0)


class Stepped:
    """A policy that the game must ask round by round."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def reseed(self, seed: np.random.SeedSequence) -> None:
        self.policy.reseed(seed)

    def choose(self, actions: Matrix) -> int:
        return self.policy.choose(actions)

    def learn(self, action: Vector, reward: float) -> None:
        self.policy.learn(action, reward)


def same_in_both_games(policy: Policy) -> None:
    runs = play({"compiled": policy, "stepped": Stepped(copy.deepcopy(policy))}, WORLD, 120, repeats=2, chosen=True)
    assert runs.chosen is not None
    assert_array_equal(runs.chosen[0], runs.chosen[1])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: type(memory).__name__)
def test_any_memory_goes_with_any_rule(memory: Any, rule: Any, tmp_path: Path) -> None:
    policy = Policy(memory, rule, "ridge", 0.5, known=Known(sigma=0.2), seed=0)
    same_in_both_games(policy)
    rng = np.random.default_rng(0)
    for _ in range(15):
        actions = rng.standard_normal((4, 3))
        policy.learn(actions[policy.choose(actions)], float(rng.standard_normal()))
    policy.save(tmp_path / "policy.onward")
    other = load(tmp_path / "policy.onward")
    assert other.design == policy.design
    for _ in range(15):
        actions = rng.standard_normal((4, 3))
        assert_array_equal(other.index(actions), policy.index(actions))
        chosen = policy.choose(actions)
        assert other.choose(actions) == chosen
        for each in (policy, other):
            each.learn(actions[chosen], 0.5)


def test_the_names_are_constructors_of_values() -> None:
    known = Known(sigma=0.5, theta_bound=2.0, delta=0.1, action_bound=3.0)
    told: dict[str, Any] = {"sigma": 0.5, "theta_bound": 2.0, "delta": 0.1, "action_bound": 3.0}
    pairs: list[tuple[Policy, Policy]] = [
        (OFUL(0.3, **told), Policy(lam=0.3, known=known)),
        (DLinUCB(0.9, bias="paper", **told), Policy(Discounted(0.9), Optimistic("uniform", "paper"), known=known)),
        (SWLinUCB(170, **told), Policy(Window(170), Optimistic(width="uniform"), known=known)),
        (OracleRestart([3], estimator="ridge", **told), Policy(Restarting((3,)), estimator="ridge", known=known)),
        (DetectingLinUCB(9, tolerance=0.5, **told), Policy(Detecting(9, tolerance=0.5), known=known)),
        (LinTS(scale=0.2, **told), Policy(rule=Sampling(1.0, scale=0.2), known=known)),
        (LinUCB(0.5, sigma=1.0), Policy(rule=Optimistic(0.5), known=Known(1.0))),
        (EpsilonGreedy(0.2, [1.0, 2.0]), Policy(rule=EpsilonGreedily(0.2), lam=[1.0, 2.0])),
    ]
    for named, built in pairs:
        assert named.design == built.design
        assert Policy.described(named.describe()).design == named.design
        assert Policy.described(built.describe()).design == built.design
    assert OFUL(0.3).design != OFUL(0.4).design
    with pytest.raises(TypeError, match="OFUL has no parameter 'sigm'"):
        OFUL(sigm=1.0)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"memory must be a Memory, got 5"):
        Policy(5)  # type: ignore[arg-type]


# A λ and a prior for each feature


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: type(memory).__name__)
def test_a_lam_for_each_feature_is_one_lam_in_scaled_features(memory: Any, estimator: Any) -> None:
    """x_j √(λ̄/λ_j) with λ̄, the largest, for all: estimates and indices are the same."""
    rng = np.random.default_rng(1)
    lam = np.array([4.0, 0.1, 1.0, 0.01, 2.0, 0.5, 1.5])
    scales = np.sqrt(lam.max() / lam)
    for width, bias in itertools.product(("determinant", "trace"), ("tight", "paper", "none")):
        rule, known = Optimistic(width, bias), Known(sigma=0.3, theta_bound=1.5)  # type: ignore[arg-type]
        each = Policy(memory, rule, estimator, lam, known=known)
        scaled = Policy(memory, rule, estimator, lam.max(), known=known)
        for _ in range(30):
            actions = rng.standard_normal((20, 7))
            assert_allclose(each.index(actions), scaled.index(actions * scales), rtol=1e-9)
            assert_allclose(each.estimate(actions), scaled.estimate(actions * scales), rtol=1e-9, atol=1e-12)
            chosen = each.choose(actions)
            assert chosen == scaled.choose(actions * scales)
            reward = float(actions[chosen, 0] + rng.standard_normal())
            each.learn(actions[chosen], reward)
            scaled.learn(actions[chosen] * scales, reward)


def test_the_uniform_width_of_a_lam_for_each_feature_is_no_narrower_than_the_trace_s() -> None:
    rng, lam = np.random.default_rng(2), np.array([4.0, 0.1, 1.0])
    policies = {width: OFUL(lam, width=width, scale=1.0) for width in ("trace", "uniform")}
    for _ in range(40):
        actions = rng.standard_normal((5, 3))
        assert (policies["uniform"].index(actions) >= policies["trace"].index(actions) - 1e-12).all()
        for policy in policies.values():
            policy.learn(actions[0], 0.3)


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: type(memory).__name__)
@pytest.mark.parametrize("rule", [Optimistic(), Sampling(), Greedily()], ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("d", [3, 8])
def test_a_prior_is_taken_off_the_rewards_and_put_back(memory: Any, estimator: Any, rule: Any, d: int) -> None:
    rng = np.random.default_rng(3)
    mean = rng.standard_normal(d)
    known = Known(sigma=0.3)
    from_mean = Policy(memory, rule, estimator, 0.3, known=known, prior_mean=mean, seed=0)
    from_zero = Policy(memory, rule, estimator, 0.3, known=known, seed=0)
    for _ in range(25):
        actions = rng.standard_normal((20, d))
        expected = from_zero.index(actions) + actions @ mean
        assert_allclose(from_mean.index(actions), expected, rtol=1e-9, atol=1e-11)
        chosen = from_mean.choose(actions)
        assert chosen == np.argmax(expected)
        from_zero.choose(actions)  # draws as many random numbers
        reward = float(rng.standard_normal())
        from_mean.learn(actions[chosen], reward)
        from_zero.learn(actions[chosen], reward - float(actions[chosen] @ mean))
    assert_allclose(from_mean.coef, from_zero.coef + mean, rtol=1e-9)


def test_a_lam_and_a_prior_survive_files_and_a_warm_start(tmp_path: Path) -> None:
    rng, lam, mean = np.random.default_rng(4), [0.5, 2.0, 1.0], [1.0, 0.0, -1.0]
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    policy = OFUL(lam, prior_mean=mean, seed=0)
    policy.learn_many(X, y)
    model = ForwardRegressor(lam=lam, prior_mean=mean, fit_intercept=False).fit(X, y)
    warm = OFUL(lam, prior_mean=mean, seed=0)
    warm.start_from(model)
    policy.save(tmp_path / "policy.onward")
    for other in (warm, load(tmp_path / "policy.onward"), pickle.loads(pickle.dumps(policy))):
        assert_allclose(other.index(X), policy.index(X), rtol=1e-12)
    assert_allclose(policy.coef, model.coef_, rtol=1e-10)
    with pytest.raises(ValueError, match=r"expected targets, intercept, lam of 1, False, \[1, 1, 2\], got 1, False"):
        OFUL([1.0, 1.0, 2.0], prior_mean=mean).start_from(model)
    with pytest.raises(ValueError, match=r"actions have 2 features, but lam has 3 values"):
        OFUL(lam).choose(np.eye(2))
    with pytest.raises(ValueError, match=r"actions have 3 features, but prior_mean has 2 values"):
        OFUL(prior_mean=[0.0, 1.0]).choose(np.eye(3))
    for bad in ([], [1.0, 0.0], "1", [[1.0]], np.inf):
        with pytest.raises(ValueError, match="lam must be"):
            OFUL(bad)


# Users' own functions


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: type(memory).__name__)
def test_an_index_of_one_s_own_is_what_it_says_in_both_games(memory: Any) -> None:
    policy = Policy(memory, Optimistic(index=textbook), "ridge", 0.5, seed=0)
    same_in_both_games(policy)
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.standard_normal((20, 8))
        state = policy.information() if policy.dimension else None
        if state is not None:
            p, q = state.read(actions)
            assert_allclose(policy.index(actions), p[:, 0] + 0.5 * np.sqrt(q), rtol=1e-9, atol=1e-12)
        chosen = policy.choose(actions)
        assert chosen == np.argmax(policy.index(actions))
        policy.learn(actions[chosen], float(rng.standard_normal()))


def test_a_width_of_one_s_own_takes_the_place_of_the_theory_s() -> None:
    rng = np.random.default_rng(0)
    own, theory = OFUL(0.5, width=of_theory, sigma=0.3, delta=0.2), OFUL(0.5, sigma=0.3, delta=0.2, radius="sum")
    same_in_both_games(own)
    for _ in range(20):
        actions = rng.standard_normal((20, 8))
        assert_allclose(own.index(actions), theory.index(actions), rtol=1e-12)
        for policy in (own, theory):
            policy.learn(actions[0], 0.3)


def test_an_index_of_one_s_own_is_told_everything() -> None:
    rule, known = Optimistic(index=everything_told, scale=2.0), Known(0.3, 1.0, 0.1)
    policy = Policy(rule=rule, estimator="ridge", lam=1.0, known=known)
    policy.learn([2.0], 3.0)
    radius = 2.0 * 0.3 * math.sqrt(math.log(5.0) - 2.0 * math.log(0.1))
    expected = 3.0 * 6 / 5 + radius * 3 / math.sqrt(5.0) + 90.0 + 100.0
    assert_allclose(policy.index([[3.0]]), [expected], rtol=1e-12)


def test_functions_are_known_by_name_in_files(tmp_path: Path) -> None:
    policy = Policy(rule=Optimistic(index=textbook), seed=0)
    policy.learn([1.0, 2.0], 0.5)
    policy.save(tmp_path / "policy.onward")
    assert_array_equal(load(tmp_path / "policy.onward").index(np.eye(2)), policy.index(np.eye(2)))
    assert_array_equal(pickle.loads(pickle.dumps(policy)).index(np.eye(2)), policy.index(np.eye(2)))
    code = f"import onward; onward.load({str(tmp_path / 'policy.onward')!r})"
    alone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "define it with @index_function first" in alone.stderr


def test_functions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="the index must be a function of 5 numbers"):
        index_function(lambda estimate: estimate)
    with pytest.raises(ValueError, match="index must be made by @index_function, got"):
        Optimistic(index=math.sqrt)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="width must be made by @width_function, got textbook of @index_function"):
        Optimistic(width=textbook)
    policy = Policy(rule=Optimistic(index=no_number), estimator="ridge", seed=0)
    before = policy.choose  # nothing is learned from a choice that was none
    with pytest.raises(ValueError, match="own must be a number for every action, got NaN"):
        before(np.eye(3))
    assert policy.n_learned == 0
    assert isinstance(textbook, CompiledFunction)
    assert textbook(1.0, 4.0, 0.0, 0.0, 0.0) == 2.0


class Nearest(OFUL):
    """An index in plain Python: whatever is nearest to a point."""

    def index(self, actions: Any) -> Vector:
        return np.asarray(-np.abs(np.asarray(actions) - 0.3).sum(axis=1))


def test_overriding_index_alone_makes_a_policy(tmp_path: Path) -> None:
    policy, rng = Nearest(seed=0), np.random.default_rng(0)
    for _ in range(20):
        actions = rng.standard_normal((5, 2))
        available = np.array([True, True, False, True, True])
        best = int(np.argmin(np.abs(actions - 0.3).sum(axis=1)))
        assert policy.choose(actions) == best == policy.decide(actions, "key").action
        assert_array_equal(policy.probabilities(actions), np.eye(5)[best])
        assert policy.choose(actions, available) != 2
        policy.cancel("key")
        policy.learn(actions[best], 1.0)
    assert policy.n_learned == 20
    assert policy.information().rows == 20
    tied = [policy.choose(np.array([[0.3, 0.3], [9.0, 9.0], [0.3, 0.3]])) for _ in range(50)]
    assert set(tied) == {0, 2}
    policy.save(tmp_path / "policy.onward")
    assert isinstance(load(tmp_path / "policy.onward"), Nearest)
    runs = play({"own": Nearest(), "OFUL": OFUL()}, WORLD, 50, chosen=True)
    block = WORLD.start(np.random.SeedSequence(0, spawn_key=(0, 0))).rounds(50)
    assert runs.chosen is not None
    assert_array_equal(runs.chosen[0, 0], [np.argmin(np.abs(A - 0.3).sum(axis=1)) for A in block.actions])
