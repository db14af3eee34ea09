"""Own and shared coefficients: the same as one linear model with a block of coordinates for each arm."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward import load
from onward.bandits import OFUL, DLinUCB, EpsilonGreedy, Greedy, Hybrid, LinTS, LinUCB, Policy, Random
from onward.core.types import Matrix, Vector

D, K, N = 3, 4, 5
MAKES: dict[str, Callable[[], Policy]] = {
    "LinUCB": lambda: LinUCB(1.5, lam=0.5, seed=0),
    "OFUL": lambda: OFUL(0.5, sigma=0.4, theta_bound=2.0, seed=0),
    "estimated": lambda: OFUL(0.5, scale=0.3, seed=0),
    "Greedy": lambda: Greedy(0.5, seed=0),
    "EpsilonGreedy": lambda: EpsilonGreedy(0.2, 0.5, seed=0),
}


def dense(arm: int, x: Vector, z: Vector) -> Vector:
    """The row of an arm in the one linear model."""
    row = np.zeros(N * D + K)
    row[arm * D : (arm + 1) * D], row[N * D :] = x, z
    return row


def played(policy: Hybrid, n: int = 60, seed: int = 0) -> tuple[Matrix, Vector]:
    """Rounds with random arms; the rows of the one linear model, and the rewards."""
    rng, rows, rewards = np.random.default_rng(seed), [], []
    for _ in range(n):
        arm, x, z = int(rng.integers(N)), rng.standard_normal(D), rng.standard_normal(K)
        rewards.append(float(x[0] * arm + z.sum() + 0.3 * rng.standard_normal()))
        policy.learn(arm, x, z, rewards[-1])
        rows.append(dense(arm, x, z))
    return np.array(rows), np.array(rewards)


@pytest.mark.parametrize("name", MAKES)
def test_it_is_one_linear_model_with_a_block_for_each_arm(name: str) -> None:
    hybrid, plain = Hybrid(MAKES[name](), N), MAKES[name]()
    R, y = played(hybrid)
    plain.learn_many(R, y)
    G, rng = R.T @ R + 0.5 * np.eye(R.shape[1]), np.random.default_rng(1)
    theta = np.linalg.solve(G, R.T @ y)
    for arm in range(N):
        assert_allclose(hybrid.coef(arm), theta[arm * D : (arm + 1) * D], rtol=1e-9, atol=1e-12)
    assert_allclose(hybrid.shared_coef, theta[N * D :], rtol=1e-9)
    for t in range(10):
        x, Z = rng.standard_normal(D), rng.standard_normal((N, K))
        rows = np.array([dense(arm, x, Z[arm]) for arm in range(N)])
        assert_allclose(hybrid.estimate(x, Z), rows @ theta, rtol=1e-9)
        assert_allclose(hybrid.index(x, Z), plain.index(rows), rtol=1e-9)
        if name == "LinUCB" and t == 0:  # as in a textbook, but for the estimated σ
            width = np.sqrt(np.einsum("ij,ij->i", rows, np.linalg.solve(G, rows.T).T))
            assert_allclose(hybrid.index(x, Z), rows @ theta + hybrid.radius * width, rtol=1e-9)
        chances = hybrid.probabilities(x, Z)
        assert_allclose(chances, plain.probabilities(rows), atol=1e-12)
        assert chances[int(str(hybrid.choose(x, Z)))] > 0.0
    X, z = rng.standard_normal((N, D)), rng.standard_normal(K)
    rows = np.array([dense(arm, X[arm], z) for arm in range(N)])
    assert_allclose(hybrid.index(X, z), plain.index(rows), rtol=1e-9)  # or own features for each arm, shared ones alike


def test_samples_have_the_posterior_s_covariance() -> None:
    hybrid = Hybrid(LinTS(0.5, sigma=1.0, seed=0), N)
    R, y = played(hybrid, 30)
    x, z, rng = np.ones(D), np.ones(K), np.random.default_rng(0)
    rows = np.array([dense(arm, x, z) for arm in range(N)])
    G = R.T @ R + 0.5 * np.eye(R.shape[1])
    expected = rows @ np.linalg.solve(G, rows.T)
    drawn = []
    for _ in range(20_000):
        hybrid._rng = rng
        drawn.append(hybrid._indices(x[None], z[None]))
    error = np.abs(np.cov(np.array(drawn).T) / hybrid.radius**2 - expected)
    spread = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / 20_000)
    assert (error < 5 * spread).all()
    assert not (np.abs(np.diag(np.diag(expected)) - expected) < 5 * spread).all()  # were arms drawn by themselves
    assert_allclose(np.mean(drawn, axis=0), rows @ np.linalg.solve(G, R.T @ y), atol=0.1)
    assert hybrid.probabilities(x, z).sum() == pytest.approx(1.0)


def test_arms_come_and_go_and_what_they_taught_stays() -> None:
    hybrid = Hybrid(LinUCB(seed=0), N)
    played(hybrid)
    shared = hybrid.shared_coef
    hybrid.decide(np.ones(D), np.ones(K), "gone", available=[True, False, False, False, False])
    hybrid.remove_arm(0)
    assert not hybrid.pending
    assert hybrid.arms == (1, 2, 3, 4)
    assert_allclose(hybrid.shared_coef, shared)  # the posterior of β without θ_0
    hybrid.add_arm("new")
    assert_array_equal(hybrid.coef("new"), np.zeros(D))
    z = np.random.default_rng(0).standard_normal(K)
    assert hybrid.estimate(np.ones(D), z)[-1] == pytest.approx(z @ shared)
    for i in range(40):
        hybrid.add_arm(100 + i)
    hybrid.learn(139, np.ones(D), z, 1.0)
    assert hybrid.coef(139).any()
    hybrid.restart()
    assert not hybrid.shared_coef.any()
    # the gain of what is left: that of the model without the removed arm's coordinates
    other = Hybrid(OFUL(0.5, sigma=1.0, seed=0), N)
    R, _ = played(other)
    other.remove_arm(2)
    kept = [i for i in range(R.shape[1]) if not 2 * D <= i < 3 * D]
    G = R.T @ R + 0.5 * np.eye(R.shape[1])
    marginal = np.linalg.inv(np.linalg.inv(G)[np.ix_(kept, kept)])
    assert other._sums[3] == pytest.approx(np.linalg.slogdet(marginal / 0.5)[1], rel=1e-9)


@pytest.mark.parametrize("make", [MAKES["LinUCB"], lambda: LinTS(seed=0)])
def test_a_saved_one_goes_on_to_the_last_bit(make: Callable[[], Policy], tmp_path: Path) -> None:
    policy = Hybrid(make(), N)
    played(policy)
    policy.remove_arm(3)
    policy.decide(np.ones(D), np.ones(K), "later")
    policy.save(tmp_path / "h.onward")
    other = load(tmp_path / "h.onward")
    rng = np.random.default_rng(0)
    for one in (policy, other):
        one.reward("later", 1.0)
    for _ in range(20):
        x, Z = rng.standard_normal(D), rng.standard_normal((len(policy.arms), K))
        arm = policy.choose(x, Z)
        assert other.choose(x, Z) == arm
        for one in (policy, other):
            one.learn(arm, x, Z[policy.arms.index(arm)], 0.5)
        assert_array_equal(policy.index(x, Z), other.index(x, Z))


def test_bad_input_is_one_clear_error_and_changes_nothing() -> None:
    policy = Hybrid(LinUCB(seed=0), ["a", "b"])
    assert_allclose(policy.probabilities(np.ones(2), np.ones(3)), 0.5)  # before anything is known
    policy.learn("a", np.ones(2), np.ones(3), 1.0)
    before = policy._own.tobytes(), policy._shared.tobytes(), policy._sums.tobytes()
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: policy.choose(np.ones(3), np.ones(3)), "3 and 3 features, but this policy knows 2 and 3"),
        (lambda: policy.choose(np.ones(2), np.ones((3, 3))), "a row for each of 2 arms"),
        (lambda: policy.choose([1.0, np.nan], np.ones(3)), "context must be one row of finite numbers"),
        (lambda: policy.choose(np.ones(2), np.full((2, 3), np.inf)), "shared must hold finite numbers"),
        (lambda: policy.choose(np.ones(2), np.ones(3), [0, 0]), "no action is available"),
        (lambda: policy.learn("z", np.ones(2), np.ones(3), 1.0), "no arm 'z'; expected one of 'a', 'b'"),
        (lambda: policy.learn("a", np.ones(2), np.ones(3), np.nan), "reward must be a finite number"),
        (lambda: policy.add_arm("a"), "there is an arm 'a' already"),
        (lambda: Hybrid(DLinUCB(), 2), "counts all rewards alike"),
        (lambda: Hybrid(OFUL(estimator="forward"), 2), "with ridge"),
        (lambda: Hybrid(OFUL(width="trace"), 2), "a number or 'determinant'"),
        (lambda: Hybrid(LinUCB(lam=[1.0, 2.0]), 2), "one lam for all"),
        (lambda: Hybrid(Random(), 2), "a rule that learns"),
    ]
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()
        assert (policy._own.tobytes(), policy._shared.tobytes(), policy._sums.tobytes()) == before


def test_features_in_small_units_have_a_lam_of_their_own() -> None:
    """The coefficients are those of a ridge with one λ for each, and a file keeps them."""
    rng, policy = np.random.default_rng(0), Hybrid(LinUCB(seed=0), ["a", "b"])
    X, Z, rewards = rng.standard_normal((30, 1)) * 1e4, rng.standard_normal((30, 2)) * [1.0, 2.0], rng.random(30)
    policy.choose(X[:1].repeat(2, 0), Z[:2])
    lam = np.array([0.03 * (X[0, 0] ** 2 + (Z[:2] ** 2).sum(1).mean()), *(3.0 * (Z[:2] ** 2).mean(0))])
    for i in range(30):
        policy.learn("ab"[i % 2], X[i], Z[i], rewards[i])
    rows = np.zeros((30, 4))
    rows[np.arange(30), np.arange(30) % 2], rows[:, 2:] = X[:, 0], Z
    expected = np.linalg.solve(rows.T @ rows + np.diag(lam[[0, 0, 1, 2]]), rows.T @ rewards)
    assert_allclose([policy.coef("a")[0], policy.coef("b")[0], *policy.shared_coef], expected, rtol=1e-8)
    again = Hybrid.from_bytes(policy.to_bytes())
    again.add_arm("c")
    policy.add_arm("c")
    assert again.to_bytes() == policy.to_bytes()


def test_the_radius_of_one_that_has_not_begun() -> None:
    """λ is not known yet where none was told."""
    policy = Hybrid(OFUL(sigma=1.0, theta_bound=2.0, seed=0), 2)
    assert policy.radius == pytest.approx(math.sqrt(2.0 * math.log(100.0)))
