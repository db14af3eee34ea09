"""Choices that are recorded elsewhere: the policy says the same, and learns the same, as where it chooses itself."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from onward.bandits import (
    OFUL,
    Boltzmann,
    DetectingLinUCB,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    LinTS,
    LinUCB,
    Policy,
    Random,
    SquareCB,
    SWLinUCB,
)
from onward.bandits.proposing import ALL_AVAILABLE
from onward.bandits.recorded_choices import note_taken, offered
from onward.bandits.tuning import N_TUNING, WAITING, choice_at
from onward.core.types import Matrix, Vector

POLICIES: list[Callable[[], Policy]] = [
    lambda: LinUCB(seed=1),
    lambda: LinUCB(1.0, explore=0.1),
    lambda: LinTS(seed=1),
    OFUL,
    DLinUCB,
    SWLinUCB,
    DetectingLinUCB,
    EpsilonGreedy,
    Greedy,
    SquareCB,
    Boltzmann,
    Random,
]


def world(seed: int = 0, n: int = 5, d: int = 3) -> Iterator[tuple[Matrix, Vector]]:
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal(d)
    while True:
        actions = rng.standard_normal((n, d))
        yield actions, actions @ theta + 0.1 * rng.standard_normal(n)


def taught(make: Callable[[], Policy], rounds: int = 40) -> tuple[Policy, Iterator[tuple[Matrix, Vector]]]:
    policy, rounds_of = make(), world()
    for _ in range(rounds):
        actions, rewards = next(rounds_of)
        chosen = policy.choose(actions)
        policy.learn(actions[chosen], float(rewards[chosen]))
    return policy, rounds_of


@pytest.mark.parametrize("make", POLICIES)
def test_reads_what_the_policy_says(make: Callable[[], Policy]) -> None:
    policy, rounds = taught(make)
    actions, _ = next(rounds)
    available = np.array([True, True, False, True, True])
    before = policy.digest()
    said = offered(policy, policy.buffer_for(actions).copy(), actions, available)
    expected, error = policy.probabilities(actions, available, with_error=True)
    np.testing.assert_allclose(said.chances, expected, atol=5 * error.max() + 1e-12)
    np.testing.assert_allclose(said.chances, said.taken @ said.by_scale, rtol=1e-12)
    assert said.chances.sum() == pytest.approx(1.0)
    assert said.chances[2] == 0.0
    np.testing.assert_allclose(said.estimates, policy.estimate(actions), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(said.leverages, policy.leverage(actions), rtol=1e-9)
    assert policy.digest() == before


def test_scales_gain_as_if_the_policy_had_chosen() -> None:
    """Noted when its reward comes, a choice teaches the scales what it teaches them where the policy notes it."""
    policy, rounds = taught(lambda: LinUCB(seed=3))
    for _ in range(60):
        actions, rewards = next(rounds)
        buffer = policy.buffer_for(actions).copy()
        said = offered(policy, buffer.copy(), actions, ALL_AVAILABLE)
        chosen = policy.choose(actions)
        policy.learn(actions[chosen], float(rewards[chosen]))
        note_taken(buffer, actions[chosen], said.taken, said.by_scale[:, chosen].copy())
        noted, own = buffer[-N_TUNING:], policy.buffer_for(actions)[-N_TUNING:]
        place = choice_at(int((own[3] - 1) % WAITING))
        np.testing.assert_allclose(
            noted[place : place + 9][[0, 1, 3, 4, 5, 6, 7]], own[place : place + 9][[0, 1, 3, 4, 5, 6, 7]]
        )
