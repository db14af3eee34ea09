"""From a decision to a value: choices with their probabilities, logs that are gone on with, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from onward.bandits import Disjoint, EpsilonGreedy, LinUCB, LoggedData, LogWarning, Random, evaluate, replay_journal

RNG = np.random.default_rng(60)
ACTIONS = RNG.standard_normal((5, 3))


@pytest.mark.parametrize("kind", ["actions", "arms"])
def test_a_choice_comes_with_its_probability_and_is_journaled(tmp_path: Path, kind: str) -> None:
    policy: EpsilonGreedy | Disjoint = EpsilonGreedy(0.5, seed=1)
    offered, mask = ACTIONS, np.array([True, False, True, True, True])
    if kind == "arms":
        policy, offered = Disjoint(EpsilonGreedy(0.5, seed=1), ["a", "b", "c", "d", "e"]), ACTIONS[0]
    places: list[object] = list(policy.arms) if isinstance(policy, Disjoint) else list(range(5))
    with policy.journal(tmp_path / "journal"):
        for available in (None, mask) * 10:
            expected = policy.probabilities(offered, available)
            chosen, probability = policy.choose_with_probability(offered, available)
            assert probability == pytest.approx(expected[places.index(chosen)])
            assert probability > 0
            if isinstance(policy, Disjoint):
                policy.learn(chosen, offered, 1.0)
            else:
                policy.learn(offered[chosen], 1.0)
    assert replay_journal(tmp_path / "journal").digest() == policy.digest()
    with pytest.raises(ValueError, match="available"):
        policy.choose_with_probability(offered, [True])


def test_a_choice_that_is_the_best_alone_is_certain() -> None:
    policy = LinUCB(1.0, seed=0)
    policy.learn(ACTIONS[0], 1.0)
    chosen, probability = policy.choose_with_probability(ACTIONS)
    assert (chosen, probability) == (policy.choose(ACTIONS), 1.0)


# Replay


def test_replay_warns_of_what_is_wrong_with_the_log_whatever_the_policy() -> None:
    rng = np.random.default_rng(61)
    n = 2000
    offered, taken = rng.standard_normal((n, 4, 2)), rng.integers(0, 4, n)
    reward = rng.random(n)
    right = evaluate(Random(seed=0), LoggedData(offered, taken, np.full(n, 0.25), reward), seed=0)
    assert right.warnings == ()
    certain = np.where(np.arange(n) % 10 < 6, 1.0, 0.25)
    rare = np.full(n, 0.25)
    rare[0] = 0.001
    for propensity, said in (
        (np.full(n, 0.5), "propensities in the log look too large"),
        (certain, "60% of the events had a propensity of 1"),
        (rare, "Replay counts"),
    ):
        with pytest.warns(LogWarning):
            value = evaluate(Random(seed=0), LoggedData(offered, taken, propensity, reward), seed=0)
        assert any(said in each for each in value.warnings)
