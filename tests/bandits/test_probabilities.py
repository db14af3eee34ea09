"""The probabilities of choices: exact or with their error, and the same that choices are drawn with."""

import copy
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import quad
from scipy.stats import norm

from onward.bandits import (
    OFUL,
    Boltzmann,
    Discounted,
    Disjoint,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    Policy,
    Random,
    Sampling,
    SquareCB,
)
from onward.bandits.arm_chances import best_of_normal
from onward.bandits.buffers import head_in
from onward.bandits.directions import chi_law, spread_directions
from onward.bandits.policy_chances import directions_needed
from onward.bandits.sampling_chances import sampled_chances
from onward.core.types import Matrix, Vector

EVERYTHING = np.empty(0, dtype=np.bool_)
KNOWN: dict[str, Any] = {"sigma": 1.0, "scale": 1.0, "lam": 0.5}
STOCHASTIC: list[Any] = [LinTS, EpsilonGreedy, SquareCB, Boltzmann, Random]


def taught(policy: Any, d: int, rows: int = 12, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    actions = rng.standard_normal((rows, d))
    policy.learn_many(actions, actions[:, 0] + rng.standard_normal(rows))
    return policy


def posterior(policy: Policy, actions: Matrix, sigma: float) -> tuple[Vector, Matrix]:
    """Mean and covariance of the indices that a sampling policy draws, from its state in plain NumPy."""
    state = policy.information()
    inverse = np.linalg.inv(state.second_moment())
    mean, covariance = actions @ policy.coef, sigma**2 * actions @ inverse @ actions.T
    if policy.estimator == "forward":
        share = 1 + np.einsum("ij,jk,ik->i", actions, inverse, actions)
        mean, covariance = mean / share, covariance / np.sqrt(np.outer(share, share))
    return mean, covariance


def shares_of_samples(mean: Vector, covariance: Matrix, n: int, seed: int = 7) -> Vector:
    drawn = np.random.default_rng(seed).multivariate_normal(mean, covariance, n, method="eigh")
    return np.asarray(np.bincount(drawn.argmax(axis=1), minlength=len(mean)) / n)


# Sampling rules


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
@pytest.mark.parametrize(("k", "d"), [(5, 2), (4, 6), (12, 5), (6, 40)])
def test_sampling_is_averaged_over_directions(k: int, d: int, estimator: Any) -> None:
    policy = taught(LinTS(estimator=estimator, **KNOWN), d, rows=3 * d + 6)
    actions, n = np.random.default_rng(1).standard_normal((k, d)), 200_000
    probabilities, errors = policy.probabilities(actions, samples=4000, with_error=True)
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert probabilities.min() >= 0

    def distance(sigma: float) -> float:
        expected = shares_of_samples(*posterior(policy, actions, sigma), n)
        return float(np.max(np.abs(probabilities - expected) / np.sqrt(errors**2 + 0.25 / n)))

    assert distance(1.0) < 5 < distance(0.7)


def test_a_discounted_memory_is_sampled_as_it_chooses() -> None:
    policy = taught(Policy(Discounted(0.8), Sampling(scale=1.0), seed=3), 3)
    actions = np.random.default_rng(2).standard_normal((5, 3))
    expected, n = policy.probabilities(actions, samples=4000), 6000
    shares = np.bincount([policy.choose(actions) for _ in range(n)], minlength=5) / n
    assert np.abs(shares - expected).max() < 5 * math.sqrt(0.25 / n)


@pytest.mark.parametrize("estimator", ["ridge", "forward"])
def test_of_two_actions_probabilities_are_exact(estimator: Any) -> None:
    rng = np.random.default_rng(3)
    for d in (1, 3, 30):
        policy = taught(LinTS(estimator=estimator, **KNOWN), d)
        actions = rng.standard_normal((4, d))
        free = np.array([True, False, True, False])
        mean, covariance = posterior(policy, actions, 1.0)
        deviation = math.sqrt(covariance[0, 0] + covariance[2, 2] - 2 * covariance[0, 2])
        first = norm.cdf((mean[0] - mean[2]) / deviation)
        probabilities, errors = policy.probabilities(actions, free, with_error=True)
        assert_allclose(probabilities, [first, 0, 1 - first, 0], atol=1e-10)
        assert not errors.any()


def test_the_standard_error_is_that_of_the_directions() -> None:
    off = []
    for seed in range(40):
        policy = taught(LinTS(**KNOWN), 8, seed=seed)
        actions = np.random.default_rng(seed).standard_normal((5, 8))
        probabilities, errors = policy.probabilities(actions, with_error=True)
        exact = policy.probabilities(actions, samples=20_000)
        off.append(((probabilities - exact) ** 2, errors**2))
    squares, claimed = np.mean(off, axis=(0, 2))
    assert 0.6 < math.sqrt(squares / claimed) < 1.5
    assert math.sqrt(squares) < math.sqrt(0.16 / 128) / 2  # what so many plain samples would be off by, and less


def test_actions_that_are_alike_share_and_those_that_may_not_be_played_have_none() -> None:
    policy = taught(LinTS(**KNOWN), 3)
    rows = np.random.default_rng(4).standard_normal((3, 3))
    alone = policy.probabilities(rows, samples=4000)
    twice = policy.probabilities(rows[[0, 1, 0, 2, 0, 1]], [1, 1, 1, 1, 0, 0], samples=4000)
    assert_allclose(twice, [alone[0] / 2, alone[1], alone[0] / 2, alone[2], 0, 0], atol=0.01)
    assert twice[0] == twice[2]
    assert_allclose(policy.probabilities(np.zeros((4, 3))), 0.25)  # nothing to tell them apart
    assert policy.probabilities(rows[:1]).tolist() == [1.0]
    sure = taught(LinTS(sigma=1.0, scale=0.0, lam=0.5), 3)
    assert sorted(sure.probabilities(rows).tolist()) == [0, 0, 1]


def test_asking_changes_nothing() -> None:
    for make in (LinTS, EpsilonGreedy, SquareCB):
        policy, arms = taught(make(seed=0), 3), Disjoint(make(seed=0), 3)
        actions = np.random.default_rng(5).standard_normal((4, 3))
        before = (policy._buffer.copy(), copy.deepcopy(policy.generator.bit_generator.state))
        assert_array_equal(policy.probabilities(actions), policy.probabilities(actions))
        assert_array_equal(policy._buffer, before[0])
        assert policy.generator.bit_generator.state == before[1]
        assert_array_equal(arms.probabilities(actions[0]), arms.probabilities(actions[0]))
        assert arms.dimension is None


def test_the_law_of_distances_and_the_directions() -> None:
    for m in (1, 2, 9, 300):
        law, design = chi_law(m), spread_directions(m, 64)
        rows = design.rows
        assert law.table[0, 0] == 0.5
        assert law.table[0, -1] < 1e-15
        assert_allclose(np.gradient(law.table[0]), law.table[1], atol=2e-5)
        assert_allclose(np.einsum("ij,ij->i", rows, rows), 1)
        assert len(rows) % design.blocks == 0
        if m < 16:  # quadratic forms are averaged exactly
            assert_allclose(rows.T @ rows / len(rows), np.eye(m) / m, atol=1e-12)


# Arms


def test_the_best_of_independent_arms_is_an_integral() -> None:
    rng = np.random.default_rng(6)
    for width in (0.0, 3.0, 6.0):
        means, deviations = rng.standard_normal(5), np.exp(width * rng.standard_normal(5))

        def density(y: float, arm: int, m: Vector = means, s: Vector = deviations) -> float:
            others = norm.cdf((y - np.delete(m, arm)) / np.delete(s, arm))
            return float(norm.pdf((y - m[arm]) / s[arm]) / s[arm] * np.prod(others))

        for arm in range(5):
            points = sorted((means + deviations * np.array([[-3.0], [0.0], [3.0]])).ravel().tolist())
            reach = means[arm] + 9 * deviations[arm] * np.array([-1, 1])
            inside = [reach[0], *(p for p in points if reach[0] < p < reach[1]), reach[1]]
            parts = itertools.pairwise(inside)
            expected = sum(quad(density, *ends, (arm,), epsabs=1e-12, limit=200)[0] for ends in parts)
            assert best_of_normal(means, deviations, EVERYTHING)[arm] == pytest.approx(expected, abs=1e-8)


def test_arms_of_which_all_is_known_are_weighed_too() -> None:
    means, deviations = np.array([0.3, 0.3, 0.0, 5.0, -9.0]), np.array([0.0, 0.0, 1.0, 1.0, 0.0])
    free = np.array([True, True, True, False, True])
    above = 1 - norm.cdf(0.3)
    assert_allclose(best_of_normal(means, deviations, free), [(1 - above) / 2, (1 - above) / 2, above, 0, 0], atol=1e-9)


def test_arms_choose_as_their_probabilities_say() -> None:
    rng = np.random.default_rng(8)
    for make in STOCHASTIC:
        arms = Disjoint(make(explore=0.1, seed=1) if make is not Random else Random(seed=1), ["a", "b", "c", "d"])
        for _ in range(40):
            arms.learn(str(rng.choice(["a", "b", "c"])), rng.standard_normal(2), float(rng.standard_normal()))
        x, free, n = np.array([0.5, -0.2]), np.array([True, True, False, True]), 4000
        expected, errors = arms.probabilities(x, free, with_error=True)
        assert not errors.any()
        logged = [arms.draw_with_probability(x, free) for _ in range(n)]
        assert all(probability == expected[place] for place, probability in logged)
        for chosen in ([arms.arms.index(arms.choose(x, free)) for _ in range(n)], [place for place, _ in logged]):
            assert np.abs(np.bincount(chosen, minlength=4) / n - expected).max() < 5 * math.sqrt(0.25 / n)


# Choices with their probabilities


@pytest.mark.parametrize("k", [2, 3, 7])
def test_logged_probabilities_are_those_of_the_lots(k: int) -> None:
    """Of each action, Σ 1[chosen]/p is what there are of choices; and choices are those of Thompson sampling."""
    policy, n = taught(LinTS(explore=0.2, seed=2, **KNOWN), 9), 6000
    actions = np.random.default_rng(9).standard_normal((k, 9))
    drawn = [policy.draw_with_probability(actions, EVERYTHING) for _ in range(n)]
    places, probabilities = np.array([p for p, _ in drawn]), np.array([p for _, p in drawn])
    expected = policy.probabilities(actions, samples=4000)
    assert np.abs(np.bincount(places, minlength=k) / n - expected).max() < 5 * math.sqrt(0.25 / n)
    for action in range(k):
        weights = (places == action) / probabilities
        assert abs(weights.mean() - 1) < 4 * weights.std() / math.sqrt(n)
    weights = 1 / (k * probabilities)  # of all of them: too large by a fourth, it would be seen
    assert abs(weights.mean() - 1) < 4 * weights.std() / math.sqrt(n) < abs(1.25 * weights.mean() - 1)
    assert (probabilities >= 0.2 / k).all()


@pytest.mark.parametrize("make", [OFUL, LinUCB, Greedy, EpsilonGreedy, SquareCB, Boltzmann, Random])
def test_where_a_formula_says_it_the_logged_probability_is_that(make: Any) -> None:
    for explore in (0.0, 0.3):
        settings = {} if make is Random else {"explore": explore}
        policy = taught(make(seed=3, **settings), 3)
        actions = np.random.default_rng(10).standard_normal((20, 3))
        actions[5] = actions[0]
        free = np.arange(20) % 3 > 0
        for mask, given in ((EVERYTHING, None), (free, free)):
            expected = policy.probabilities(actions, given)
            for _ in range(20):
                place, probability = policy.draw_with_probability(actions, mask)
                assert probability == pytest.approx(expected[place], rel=1e-12)
                assert probability > 0


class Wary(LinTS):
    """An index of one's own, made of a sample."""

    def index(self, actions: ArrayLike) -> Vector:
        return super().index(actions) - 0.1


class Longest(EpsilonGreedy):
    """An index of one's own that has nothing to do with rewards."""

    def index(self, actions: ArrayLike) -> Vector:
        return np.asarray(np.linalg.norm(np.asarray(actions), axis=1))


def test_an_index_of_ones_own_is_honoured_alike() -> None:
    actions, n = np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 0.0], [0.5, 0.5]]), 2000
    plain, exploring = Longest(0.5, seed=0), Longest(0.5, explore=0.4, seed=0)
    assert plain.probabilities(actions).tolist() == [0, 0.5, 0.5, 0]
    assert_allclose(exploring.probabilities(actions), [0.1, 0.4, 0.4, 0.1])
    for policy in (plain, exploring):
        expected = policy.probabilities(actions)
        drawn = [policy.draw_with_probability(actions, EVERYTHING) for _ in range(n)]
        assert all(probability == expected[place] for place, probability in drawn)
        for chosen in ([policy.choose(actions) for _ in range(n)], [place for place, _ in drawn]):
            assert np.abs(np.bincount(chosen, minlength=4) / n - expected).max() < 5 * math.sqrt(0.25 / n)
    wary, other = taught(Wary(seed=1, **KNOWN), 2), taught(LinTS(seed=1, **KNOWN), 2)
    chances, errors = wary.probabilities(actions, samples=2000, with_error=True)
    assert np.abs(chances - other.probabilities(actions, samples=4000)).max() < 5 * errors.max()
    shares = np.bincount([wary.choose(actions) for _ in range(n)], minlength=4) / n
    assert np.abs(shares - chances).max() < 5 * math.sqrt(0.5 / n)
    assert_array_equal(taught(Longest(seed=0), 2).choose_many(np.array([actions, actions[::-1]])) % 3 > 0, True)


# Many at once


def offers() -> Iterator[tuple[Any, Any]]:
    """Contexts and masks, in each form."""
    rng = np.random.default_rng(11)
    cube, free = rng.standard_normal((25, 20, 9)), rng.random((25, 20)) < 0.7
    cube[::5, 3] = cube[::5, 7] = 3.0 * cube[::5, 1]
    yield cube, None
    yield cube, free
    yield [cube[0, :2], cube[1].tolist(), cube[2, :1]], [[True, False], free[1].tolist(), [1]]


@pytest.mark.parametrize("make", [LinTS, LinUCB, Greedy, EpsilonGreedy, SquareCB, Boltzmann, Random])
def test_many_choices_are_those_of_one_after_the_other(make: Any) -> None:
    for explore in (0.0, 0.2):
        settings = {} if make is Random else {"explore": explore}
        for contexts, available in offers():
            once, singly = (taught(make(seed=4, **settings), 9) for _ in range(2))
            masks = [None] * len(contexts) if available is None else available
            expected = [singly.choose(*offer) for offer in zip(contexts, masks, strict=True)]
            assert once.choose_many(contexts, available).tolist() == expected
            assert once.generator.bit_generator.state == singly.generator.bit_generator.state
            assert once.largest_square == singly.largest_square


@pytest.mark.parametrize("make", [LinTS, LinUCB, SquareCB])
def test_many_choices_of_arms_are_those_of_one_after_the_other(make: Any) -> None:
    rng = np.random.default_rng(12)
    contexts, free = rng.standard_normal((30, 3)), rng.random((30, 4)) < 0.8
    free[:, 0] = True
    for available in (None, free):
        once, singly = (Disjoint(make(seed=5, explore=0.1), list("abcd")) for _ in range(2))
        masks: Any = [None] * 30 if available is None else available
        expected = [singly.choose(*offer) for offer in zip(contexts, masks, strict=True)]
        assert once.choose_many(contexts, available) == expected
        assert once.choose(contexts[0]) == singly.choose(contexts[0])


def test_what_cannot_be_chosen_from_is_refused() -> None:
    policy, arms = taught(LinUCB(), 3), Disjoint(LinUCB(), 2)
    with pytest.raises(ValueError, match="no context given: expected at least one table of actions, got none"):
        policy.choose_many([])
    with pytest.raises(ValueError, match="actions have 2 features, but this policy knows 3"):
        policy.choose_many(np.ones((2, 2, 2)))
    with pytest.raises(ValueError, match="no action given"):
        policy.choose_many(np.ones((2, 0, 3)))
    with pytest.raises(ValueError, match="available must have a row for each of 2 contexts, got 1"):
        policy.choose_many(np.ones((2, 2, 3)), [[True, True]])
    with pytest.raises(ValueError, match="available must have a row for each of 1 contexts, got 2"):
        arms.choose_many(np.ones((1, 3)), [[True, True]] * 2)
    with pytest.raises(ValueError, match="samples must be a whole number >= 1, got 0"):
        policy.probabilities(np.eye(3), samples=0)
    for choose in (policy.rank, policy.propose):
        with pytest.raises(ValueError, match="k must be at most the number of available actions, 2, got 3"):
            choose(np.eye(3), 3, [True, True, False])
        with pytest.raises(ValueError, match="k must be a whole number >= 1, got 0"):
            choose(np.eye(3), 0)


# Slates


def test_a_ranking_is_by_the_index() -> None:
    actions = np.random.default_rng(13).standard_normal((6, 3))
    policy = taught(LinUCB(seed=6), 3)
    order = np.argsort(-policy.index(actions)).tolist()
    assert policy.rank(actions, 4) == order[:4]
    free = np.array([True, False, True, True, False, True])
    assert policy.rank(actions, 3, free) == [place for place in order if free[place]][:3]
    ties = {tuple(policy.rank(np.ones((4, 3)), 2)) for _ in range(200)}
    assert ties == {(i, j) for i in range(4) for j in range(4) if i != j}
    sampling = taught(LinTS(seed=6, **KNOWN), 3)
    samples = [(np.argsort(-sampling.index(actions)).tolist(), sampling.rank(actions, 6)) for _ in range(30)]
    assert all(expected == ranked for expected, ranked in samples)
    assert len({tuple(r) for _, r in samples}) > 5
    arms = Disjoint(LinUCB(seed=0), ["x", "y", "z"])
    arms.learn_many(["x", "y", "z"] * 3, np.ones((9, 1)), [0.1, 0.9, 0.5] * 3)
    assert arms.rank([1.0], 2) == ["y", "z"]


@pytest.mark.parametrize("make", [EpsilonGreedy, SquareCB, LinTS])
def test_a_slate_is_as_likely_as_it_says(make: Any) -> None:
    policy, n = taught(make(seed=7, explore=0.3), 2), 3000
    actions = np.random.default_rng(14).standard_normal((3, 2))
    slates = [policy.propose(actions, 2) for _ in range(n)]
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    assert {slate.actions for slate in slates} <= set(pairs)
    assert slates[0].probability == pytest.approx(math.prod(slates[0].probabilities))
    first = policy.probabilities(actions, samples=4000)
    for i, j in pairs:
        left: NDArray[np.bool_] = np.arange(3) != i
        expected = first[i] * policy.probabilities(actions, left)[j]
        share = np.mean([slate.actions == (i, j) for slate in slates])
        assert abs(share - expected) < 4 * math.sqrt(0.25 / n)
    assert policy.propose(actions, 3).probabilities[-1] == 1.0
    optimistic = taught(OFUL(seed=0), 2)
    assert optimistic.propose(actions, 3).actions == tuple(optimistic.rank(actions, 3))


@pytest.mark.parametrize(("k", "d", "explore"), [(5, 3, 0.0), (4, 12, 0.1), (12, 6, 0.0)])
def test_one_walk_along_a_line_is_for_all_scales(k: int, d: int, explore: float) -> None:
    policy, rng = LinTS(explore=explore, seed=0), np.random.default_rng(1)
    for _ in range(3 * d):
        actions = rng.standard_normal((k, d))
        policy.learn(actions[policy.choose(actions)], float(rng.standard_normal()))
    actions = rng.standard_normal((k, d))
    m = directions_needed(actions, EVERYTHING)
    design, law = spread_directions(m, 64), chi_law(m)

    def rows(buffer: Vector) -> tuple[Vector, Matrix]:
        return sampled_chances(buffer, actions, EVERYTHING, design.rows, law.table, law.step, design.blocks, False)

    taken, every = rows(policy._buffer)
    assert len(taken) == 3
    assert_allclose(every[0], taken @ every[2:], rtol=1e-14)
    assert_array_equal(every[0], policy.probabilities(actions, samples=64))
    for j in range(3):
        one = policy._buffer.copy()
        settings = head_in(one).settings
        settings["scale"] *= 2.0**j
        settings["scales"] = 0.0
        alone = rows(one)[1]
        assert_array_equal(every[2 + j], alone[0])
        assert_array_equal(alone[2], alone[0])
    assert np.ptp(every[2:], axis=0).max() > 0.01  # scales differ
