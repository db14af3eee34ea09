"""Games with late rewards, batches, masks, contexts, traces and failures: against loops written out here."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onward
from onward.bandits import Disjoint, EpsilonGreedy, LinTS, LinUCB, Random, Runs, play
from onward.bandits.context_worlds import ContextWorld, TableWorld
from onward.bandits.delays import Delay, FixedDelay, GeometricDelay, UniformDelay
from onward.bandits.environments import Gaussian, GivenArms, LinearWorld, SphereArms, Stationary
from onward.core.types import Matrix, Vector

WORLD = LinearWorld(SphereArms(6, 4), Stationary([1.0, -0.5, 0.0, 0.25]), Gaussian(0.3))
POLICIES: dict[str, Any] = {"LinUCB": LinUCB(), "LinTS": LinTS(), "ε": EpsilonGreedy(0.2)}
THETAS = np.random.default_rng(5).normal(size=(3, 4))


def seed(key: int, repeat: int = 0) -> np.random.SeedSequence:
    return np.random.SeedSequence(0, spawn_key=(repeat, key))


class Stubborn:
    """A policy of one's own, which notes what it is offered and told."""

    def __init__(self, fails_in: int | None = None) -> None:
        self.offered: list[Matrix] = []
        self.fails_in = fails_in

    def choose(self, actions: Matrix) -> int:
        self.offered.append(actions)
        if len(self.offered) == self.fails_in:
            raise RuntimeError("out of order")
        return 0

    def learn(self, action: Vector, reward: float) -> None:
        pass


def test_a_traced_game_is_the_compiled_one() -> None:
    plain = play(POLICIES, WORLD, 150, 2, chosen=True)
    traced = play(POLICIES, WORLD, 150, 2, chosen=True, trace=["reward", "index", "probability"])
    assert plain.regret.tobytes() == traced.regret.tobytes()
    assert plain.chosen is not None
    assert (plain.chosen == traced.chosen).all()
    assert plain.settings == traced.settings
    assert not plain.trace


@pytest.mark.parametrize(
    ("delay", "update_every"), [(7, 1), (0, 5), (FixedDelay(3), 4), (UniformDelay(0, 9), 1), (GeometricDelay(6.0), 3)]
)
def test_rewards_are_learned_when_they_come(delay: int | Delay, update_every: int) -> None:
    runs = play({"p": LinUCB()}, WORLD, 120, chosen=True, delay=delay, update_every=update_every)
    late = np.full(120, delay) if isinstance(delay, int) else delay.draw(np.random.default_rng(seed(2)), 120)
    policy, run, waiting = LinUCB(), WORLD.start(seed(0)), []
    policy.reseed(seed(1))
    for t in range(120):
        actions = run.offer()
        best = policy.choose(actions)
        assert runs.chosen is not None
        assert runs.chosen[0, 0, t] == best
        waiting.append((t + late[t], t, actions[best], run.reward(best)))
        if (t + 1) % update_every == 0:
            for entry in sorted((entry for entry in waiting if entry[0] <= t), key=lambda entry: entry[:2]):
                policy.learn(*entry[2:])
            waiting = [entry for entry in waiting if entry[0] > t]
    at_once = play({"p": LinUCB()}, WORLD, 120, chosen=True)
    assert not np.array_equal(np.asarray(at_once.chosen), np.asarray(runs.chosen))


def test_delays_have_the_mean_they_were_given() -> None:
    rng = np.random.default_rng(1)
    for delay, mean, spread in ((GeometricDelay(6.0), 6.0, math.sqrt(42)), (UniformDelay(2, 10), 5.9999, 2.6)):
        drawn = delay.draw(rng, 20_000)
        assert drawn.min() == (0 if isinstance(delay, GeometricDelay) else 2)
        assert abs(drawn.mean() - mean) < 4 * spread / math.sqrt(20_000)


def test_only_available_actions_are_played_and_count_in_the_regret() -> None:
    masks = np.random.default_rng(3).random((60, 6)) < 0.4
    masks[np.arange(60), np.arange(60) % 6] = True
    own = Stubborn()
    runs = play(POLICIES | {"own": own}, WORLD, 60, chosen=True, available=masks)
    assert runs.chosen is not None
    run, lost = WORLD.start(seed(0)), np.zeros(len(runs.names))
    for t in range(60):
        means, picked = run.means(), runs.chosen[:, 0, t]
        assert masks[t, picked].all()
        assert picked[-1] == np.argmax(masks[t])  # the first that it was offered
        lost += means[masks[t]].max() - means[picked]
        assert runs.regret[:, 0, t] == pytest.approx(lost)
        run.reward(0)
    everything = play(POLICIES, WORLD, 60, available=np.ones((60, 6), dtype=bool))
    assert everything.regret.tobytes() == play(POLICIES, WORLD, 60).regret.tobytes()
    drawn = play({"Random": Random()}, WORLD, 200, chosen=True, available=0.2)
    assert drawn.settings["terms"] == {"available": 0.2}
    assert drawn.final[0, 0] < play({"Random": Random()}, WORLD, 200).final[0, 0]


def test_disjoint_policies_play_by_contexts_and_others_by_blocks() -> None:
    world = ContextWorld(THETAS, Gaussian(0.2))
    policies: dict[str, Any] = {"each": Disjoint(LinUCB(), ["a", "b", "c"]), "one": LinUCB(), "Random": Random()}
    runs = play(policies, world, 300, 2, chosen=True)
    policy, run, lost = Disjoint(LinUCB(), ["a", "b", "c"]), world.start(seed(0)), 0.0
    policy.reseed(seed(1))
    for t in range(300):
        context, means = run.context(), run.means()
        assert means == pytest.approx(THETAS @ context)
        assert run.offer() @ THETAS.ravel() == pytest.approx(means)
        arm = policy.choose(context)
        best = "abc".index(str(arm))
        lost += means.max() - means[best]
        policy.learn(arm, context, run.reward(best))
        assert runs["each"][0, t] == pytest.approx(lost)
    assert runs.final[:2].max() < 0.3 * runs.final[2].min()
    assert policies["each"].n_learned == {"a": 0, "b": 0, "c": 0}  # the one given is left alone


def test_contexts_with_an_intercept() -> None:
    run = ContextWorld(THETAS, intercept=True).start(4)
    context = run.context()
    assert context[0] == 1.0
    assert np.linalg.norm(context[1:]) == pytest.approx(1.0)


def test_a_table_is_replayed_row_by_row() -> None:
    rng = np.random.default_rng(2)
    contexts, rewards = rng.normal(size=(40, 3)), rng.random((40, 2))
    for shuffled in (False, True):
        run = TableWorld(contexts, rewards, shuffled=shuffled).start(1)
        seen = []
        for _ in range(40):
            at = int(np.flatnonzero((contexts == run.context()).all(axis=1))[0])
            assert run.reward(1) == rewards[at, 1]
            seen.append(at)
        assert sorted(seen) == list(range(40))
        assert (seen == list(range(40))) is not shuffled
    labels = (contexts[:, 0] > 0).astype(int)
    runs = play({"each": Disjoint(LinUCB(), 2), "r": Random()}, TableWorld(contexts, np.eye(2)[labels]), 120, 2)
    assert runs.final[0].max() < runs.final[1].min()


def test_a_trace_says_what_was_chosen_for_what() -> None:
    runs = play(
        POLICIES | {"own": Stubborn()}, WORLD, 80, trace=["reward", "index", "estimate", "probability"], chosen=True
    )
    assert runs.chosen is not None
    run, policy = WORLD.start(seed(0)), EpsilonGreedy(0.2)
    policy.reseed(seed(1))
    for t in range(80):
        actions, best = run.offer(), int(runs.chosen[2, 0, t])
        assert runs.trace["index"][2, 0, t] == policy.index(actions)[best]
        assert runs.trace["probability"][2, 0, t] == policy.probabilities(actions)[best]
        assert policy.choose(actions) == best
        reward = run.reward(best)
        assert runs.trace["reward"][2, 0, t] == reward
        policy.learn(actions[best], reward)
    assert (runs.trace["probability"][0] == 1.0).mean() > 0.7  # optimism draws nothing where its scales agree
    assert np.isnan(runs.trace["index"][3]).all()  # a policy of one's own does not say it
    assert np.isfinite(runs.trace["reward"]).all()
    assert runs.trace["reward"][3, 0] == pytest.approx(
        play({"own": Stubborn()}, WORLD, 80, trace=True).trace["reward"][0, 0]
    )


def test_a_policy_that_fails_does_not_end_the_game(tmp_path: Path) -> None:
    policies: dict[str, Any] = {"good": LinUCB(), "bad": Stubborn(fails_in=31)}
    runs = play(policies, WORLD, 50, 2, chosen=True, on_error="record")
    assert [str(failure) for failure in runs.failures] == [
        f"bad failed in repeat {i}, round 31: RuntimeError: out of order" for i in range(2)
    ]
    assert runs["good"].tobytes() == play({"good": LinUCB()}, WORLD, 50, 2)["good"].tobytes()
    assert np.isfinite(runs["bad"][:, :30]).all()
    assert np.isnan(runs["bad"][:, 30:]).all()
    assert runs.chosen is not None
    assert (runs.chosen[1, :, 30:] == -1).all()
    assert "2 failed" in repr(runs)
    assert runs.summary()["mean"].to_list()[1] is None
    runs.save(tmp_path / "runs.onward")
    assert repr(onward.load(tmp_path / "runs.onward")) == repr(runs)
    with pytest.raises(RuntimeError, match="out of order"):
        play(policies, WORLD, 50)


def test_traces_are_saved(tmp_path: Path) -> None:
    runs = play({"p": LinUCB()}, WORLD, 20, 2, trace=True, delay=2)
    runs.save(tmp_path / "runs.onward")
    loaded = Runs.load(tmp_path / "runs.onward")
    assert loaded == runs
    assert loaded.trace["reward"].shape == (1, 2, 20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delay": -1}, "delay must be a whole number >= 0, got -1"),
        ({"update_every": 0}, "update_every must be a whole number >= 1, got 0"),
        ({"available": 1.5}, "available must be a share above 0 and at most 1, got 1.5"),
        ({"available": np.ones((5, 6), dtype=bool)}, "each of 10 rounds"),
        ({"available": np.arange(60).reshape(10, 6) > 11}, "an action in each round, got none in round 1"),
        ({"available": np.ones((10, 4), dtype=bool)}, "available has 4 columns, but round 1 offers 6 actions"),
        ({"trace": ["rewards"]}, "trace must be True or some of 'reward', 'index'"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'record', got 'ignore'"),
    ],
)
def test_terms_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play({"p": LinUCB()}, WORLD, 10, **arguments)


def test_who_cannot_play_where_is_told() -> None:
    with pytest.raises(ValueError, match="chooses by contexts: expected a world with contexts"):
        play({"p": Disjoint(LinUCB(), 6)}, WORLD, 10)
    with pytest.raises(ValueError, match="the policy has 2 arms, but the world has means of shape \\(3,\\)"):
        play({"p": Disjoint(LinUCB(), 2)}, ContextWorld(THETAS), 10)
    with pytest.raises(ValueError, match="rewards must have a row for each of 2 contexts, got 3"):
        TableWorld(np.ones((2, 2)), np.ones((3, 2)))


def test_arms_in_a_smaller_span_give_the_same_game() -> None:
    arms = np.zeros((5, 8))
    arms[:, :3] = np.random.default_rng(0).normal(size=(5, 3))
    world = LinearWorld(GivenArms(arms), Stationary(np.ones(8)), Gaussian(0.1))
    stepped = play({"p": LinUCB()}, world, 100, trace=True)
    assert stepped.regret == pytest.approx(play({"p": LinUCB()}, world, 100).regret)
