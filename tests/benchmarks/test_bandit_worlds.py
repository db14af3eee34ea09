"""The worlds of the tables in docs/bandits.md are worlds, and what they compare is paired."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence
from numpy.testing import assert_array_equal

from benchmarks import bandit_defaults, bandit_peers
from onward.bandits import EpsilonGreedy, Random, play

WORLDS = bandit_defaults.CHOSEN | bandit_defaults.OTHERS


@pytest.mark.parametrize("name", WORLDS)
def test_only_a_reward_ends_a_round(name: str) -> None:
    """`offer` and `means` look, in whatever order, and all players meet the same rounds."""
    run, other = (WORLDS[name]().start(SeedSequence(3)) for _ in range(2))
    for t in range(3):
        means = np.array(run.means())
        offered = np.array(run.offer())
        assert_array_equal(run.offer(), offered)
        assert_array_equal(run.means(), means)
        assert_array_equal(other.offer(), offered)
        assert_array_equal(other.means(), means)
        run.reward(0)
        other.reward(t % len(means))


def test_labelled_data_can_be_learned() -> None:
    world = bandit_defaults.Classes("wine")
    runs = play({"ε-greedy": EpsilonGreedy(seed=0), "random": Random(seed=0)}, world, 300, 2, seed=0)
    assert 2 * runs["ε-greedy"][:, -1].mean() < runs["random"][:, -1].mean()


def test_a_star_is_for_what_is_better_in_the_same_runs() -> None:
    luck = 100.0 * np.arange(10.0)  # of the runs, and the same for both
    noise = np.random.default_rng(0).standard_normal(10)
    assert bandit_peers.cell(luck - 2.0 + noise, luck, False).endswith("*")
    assert not bandit_peers.cell(luck + 2.0 + noise, luck, False).endswith("*")
    assert bandit_peers.cell(luck + 2.0 + noise, luck, True).endswith("*")
    assert not bandit_peers.cell(luck + noise - noise.mean(), luck, False).endswith("*")
    assert not bandit_peers.cell(luck, luck, False).endswith("*")


def test_played_runs_are_not_played_again(tmp_path: Path) -> None:
    def refuse(seed: int) -> Any:
        raise AssertionError(seed)

    file = tmp_path / "results.jsonl"
    make = bandit_peers.OWN["EpsilonGreedy"]
    value = bandit_peers.Played(file).value("EpsilonGreedy", make, "multi-armed", 20, 0)
    assert bandit_peers.Played(file).value("EpsilonGreedy", refuse, "multi-armed", 20, 0) == value
    with pytest.raises(AssertionError):
        bandit_peers.Played(file).value("EpsilonGreedy", refuse, "multi-armed", 20, 1)
    assert bandit_peers.Played(None).value("EpsilonGreedy", make, "multi-armed", 20, 0) == value
