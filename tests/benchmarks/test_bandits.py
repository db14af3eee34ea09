"""The benchmark of bandits runs, at a size at which its times mean nothing, and what it compares is comparable."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import bandit_game, bandit_many, bandit_numpy, bandit_report, bandits
from benchmarks.bandit_methods import GAMMA, METHODS, WINDOW, Method, shared
from benchmarks.timing import Timing
from onward.bandits import OFUL
from onward.core.types import Vector

FEW = bandit_many.Size(d=8, arms=40, rounds=101, block=10)
TINY = bandits.Settings(
    values=4000,
    most_rounds=150,
    rounds=2,
    block_seconds=1e-4,
    same_rounds=130,  # more than the window
    replicates=2,
    game_rounds=1,
    horizon=60,
    many=FEW,
)
DETERMINED = ("forward", "oful", "dlinucb", "swlinucb")  # policies that draw nothing
BY_KEY = {method.key: method for method in METHODS}


def rounds_for(method: Method, count: int, d: int, n_arms: int) -> bandits.Rounds:
    draw = bandits.shared_rounds if method.shared else bandits.disjoint_rounds
    return draw(count, d, n_arms, TINY)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.key))
def test_every_method_goes_on_from_where_it_stopped(method: Method) -> None:
    pytest.importorskip(method.needs)
    world = rounds_for(method, 40, 3, 4)
    at_once = bandits.choices(method, world, 40, 3, 4)
    run, seen = method.start(3, 4), method.prepare(world.seen)
    assert run(seen[:15], world.rewards[:15]) + run(seen[15:], world.rewards[15:]) == at_once
    assert len(at_once) == 40
    assert set(at_once) <= set(range(4))
    assert len(set(at_once)) > 1


# A policy may break ties as it likes, so what is checked is that each choice was among the best of its own indices.


def fixed(d: int, k: int) -> tuple[Callable[[Vector], Vector], Callable[[int, Vector, float], None]]:
    policy = bandit_numpy.Disjoint(d, k)
    return lambda x: policy.theta @ x + np.sqrt(policy.leverage(x)), policy.learn


def predictive(d: int, k: int) -> tuple[Callable[[Vector], Vector], Callable[[int, Vector, float], None]]:
    policy = bandit_numpy.Disjoint(d, k)
    return lambda x: policy.theta @ x + np.sqrt(1 + policy.leverage(x)), policy.learn


def separate(d: int, k: int) -> tuple[Callable[[Vector], Vector], Callable[[int, Vector, float], None]]:
    policies = [bandit_numpy.OFUL(d) for _ in range(k)]

    def learn(arm: int, x: Vector, reward: float) -> None:
        policies[arm].learn(x, reward)

    return lambda x: np.concatenate([policy.index(x[None]) for policy in policies]), learn


@pytest.mark.parametrize(
    ("key", "reference"),
    [
        ("disjoint", separate),
        ("numpy_disjoint", separate),
        ("best_disjoint", separate),
        ("packed_disjoint", separate),
        ("early_disjoint", separate),
        ("mabwiser", fixed),
        ("contextualbandits", fixed),
        ("river", predictive),
    ],
)
def test_disjoint_policies_play_a_best_arm_of_their_own_index(
    key: str, reference: Callable[[int, int], tuple[Callable[[Vector], Vector], Callable[[int, Vector, float], None]]]
) -> None:
    method = BY_KEY[key]
    pytest.importorskip(method.needs)
    world = rounds_for(method, 120, 3, 4)
    index, learn = reference(3, 4)
    for x, rewards, arm in zip(world.seen, world.rewards, bandits.choices(method, world, 120, 3, 4), strict=True):
        found = index(x)
        assert found[arm] == pytest.approx(found.max(), abs=1e-9)
        learn(arm, x, rewards[arm])


@pytest.mark.parametrize(
    ("key", "reference"),
    [
        ("oful_forward", bandit_numpy.ForwardOFUL(3)),
        ("oful", bandit_numpy.OFUL(3)),
        ("dlinucb", bandit_numpy.DLinUCB(3, GAMMA)),
        ("swlinucb", bandit_numpy.SWLinUCB(3, WINDOW)),
        ("best_forward", bandit_numpy.ForwardOFUL(3)),
        ("pruned_forward", bandit_numpy.ForwardOFUL(3)),
        ("best_oful", bandit_numpy.OFUL(3)),
        ("pruned_oful", bandit_numpy.OFUL(3)),
        ("best_dlinucb", bandit_numpy.DLinUCB(3, GAMMA)),
        ("pruned_dlinucb", bandit_numpy.DLinUCB(3, GAMMA)),
        ("best_swlinucb", bandit_numpy.SWLinUCB(3, WINDOW)),
        ("pruned_swlinucb", bandit_numpy.SWLinUCB(3, WINDOW)),
    ],
)
def test_shared_policies_play_the_best_arm_and_learn_it(key: str, reference: bandit_numpy.Indexed) -> None:
    world = rounds_for(BY_KEY[key], 150, 3, 4)
    for actions, rewards, arm in zip(
        world.seen, world.rewards, bandits.choices(BY_KEY[key], world, 150, 3, 4), strict=True
    ):
        assert arm == reference.choose(actions)
        reference.learn(actions[arm], rewards[arm])


@pytest.mark.parametrize(("d", "n_arms"), [(2, 5), (3, 4)])
def test_a_comparison_times_all_and_finds_them_equal(d: int, n_arms: int) -> None:
    result = bandits.compare(d, n_arms, METHODS, TINY)
    there = {method.key for method in METHODS if method.available}
    assert set(result.timings) == there
    assert set(result.missing) == set(BY_KEY) - there
    assert all(timing.best > 0 and len(timing.seconds) == 2 for timing in result.timings.values())
    held = {f"{level}_{policy}" for level in ("numpy", "best", "pruned") for policy in DETERMINED}
    assert set(result.different) == held
    assert not any(result.different.values())
    ratio = result.ratio(BY_KEY["numpy_oful"])
    assert ratio == result.timings["numpy_oful"].best / result.timings["oful"].best
    assert result.ratio(BY_KEY["oful"]) is None


def test_other_choices_are_seen() -> None:
    impostor = replace(BY_KEY["numpy_oful"], start=shared(bandit_numpy.LinUCB))
    result = bandits.compare(2, 5, [BY_KEY["oful"], impostor], TINY)
    assert result.different["numpy_oful"] > 0, "a fixed width was taken for the radius"


def test_what_is_not_installed_is_said() -> None:
    absent = replace(BY_KEY["river"], needs="no_such_package")
    result = bandits.compare(2, 3, [BY_KEY["disjoint"], absent], TINY)
    assert result.missing == {"river": "not installed"}
    assert result.ratio(absent) is None


def test_the_clock_starts_after_the_first_rounds() -> None:
    played: list[int] = []

    def start(d: int, n_arms: int) -> Callable[[Sequence[object], Sequence[object]], list[int]]:
        def run(seen: Sequence[object], rewards: Sequence[object]) -> list[int]:
            assert len(seen) == len(rewards)
            played.append(len(seen))
            return [0] * len(seen)

        return run

    counted = Method("counted", "", start, learned=3)
    timed = bandits.block_task(counted, rounds_for(counted, 20, 2, 3), 7, 2, 3)()
    assert played == [3]
    timed()
    assert played == [3, 7]


def test_arms_are_new_each_round_and_in_the_unit_ball() -> None:
    actions = bandits.shared_rounds(50, 3, 4, TINY).seen
    assert actions.shape == (50, 4, 3)
    assert np.linalg.norm(actions, axis=2).max() <= 1
    assert len(np.unique(actions)) == actions.size


def test_the_game_is_the_same_game() -> None:
    game = bandit_game.compare(replicates=2, rounds=1, seed=5, horizon=400)
    names = {"D-LinUCB", "D-LinUCB^f", "SW-LinUCB", "LinUCB", "LinUCB-OR", "dLinUCB"}
    assert set(game.ours) == set(game.numpy) == set(game.by_arm) == set(game.regret) == names
    assert max(game.difference.values()) < 1e-6
    assert not any(game.different_rounds.values())
    assert all(game.ratio(name) > 0 < game.milliseconds(name) for name in names)
    assert game.world is not None
    assert 0 < max(game.ties.values()) < 20, "arms tie at the start only"
    assert len({round(regret, 6) for regret in game.regret.values()}) >= 4, "the policies are all one"


def test_arm_by_arm_is_the_same_policy() -> None:
    world = bandit_game.figure_4a()
    rounds = bandit_game.draw(world, 0, 0, 150)
    for contender in bandit_game.contenders():
        at_once, by_arm = contender.numpy(), contender.numpy()
        looped = bandit_numpy.ArmByArm(by_arm)
        for actions, means, noise in zip(*rounds, strict=True):
            index = at_once.index(actions)
            assert np.allclose([by_arm.playing().index_of(x) for x in actions], index, rtol=1e-9)
            chosen = looped.choose(actions)
            assert index[chosen] >= index.max() - 1e-9
            for policy in (at_once, looped):
                policy.learn(actions[chosen], float(means[chosen] + noise))


def test_another_game_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = bandit_game.contenders()[3]
    other = replace(honest, numpy=lambda: bandit_numpy.ForwardOFUL(2, **bandit_game.KNOWN))
    monkeypatch.setattr(bandit_game, "contenders", lambda: (other,))
    game = bandit_game.compare(replicates=1, rounds=1, horizon=300)
    assert game.difference["LinUCB"] > 1e-3
    assert game.different_rounds["LinUCB"] > 0


def test_the_constants_are_figure_4as() -> None:
    assert pytest.approx(0.99412, abs=1e-5) == bandit_game.GAMMA
    assert bandit_game.WINDOW == 169
    assert bandit_game.figure_4a().theta.variation(bandit_game.HORIZON) == pytest.approx(bandit_game.VARIATION)


def test_very_many_arms_are_timed_and_the_best_one_is_chosen() -> None:
    found = bandit_many.compare(FEW, seed=3)
    assert {(blocks.arms, blocks.title) for blocks in found if blocks.ours} == {
        (arms, title) for arms in ("new", "fixed") for title in ("onward OFUL", "onward OFUL^f")
    }
    assert {blocks.arms for blocks in found if not blocks.ours} == {"new", "fixed"}
    for blocks in found:
        assert len(blocks.microseconds) == 10
        assert 0 < blocks.mean <= blocks.worst
        assert (blocks.checked, blocks.worse) == ((10, 0) if blocks.ours else (0, 0))


def test_a_choice_that_is_not_the_best_is_seen() -> None:
    class Careless(OFUL):
        def choose(self, *given: Any, **named: Any) -> int:
            return (super().choose(*given, **named) + 1) % FEW.arms

    world = bandit_many.draw(1, FEW, 0)
    player = bandit_many.Ours(Careless(estimator="ridge", seed=0))
    player.run(world.rounds(0, 20))
    assert player.worse(world.sets[0])


def test_sets_of_arms_take_turns_on_the_sphere() -> None:
    world = bandit_many.draw(3, FEW, 0)
    assert np.allclose(np.linalg.norm(world.sets, axis=2), 1)
    rounds = world.rounds(98, 10)
    assert len(rounds) == 3, "there are no more rounds"
    assert [next(i for i, arms in enumerate(world.sets) if arms is seen) for seen, _ in rounds] == [2, 0, 1]
    assert rounds[1][1] == (world.means[0] + world.noise[99]).tolist()


def test_targets_follow_the_times() -> None:
    def at(d: int, n_arms: int, ours: float, **best: float) -> bandits.Comparison:
        times = {method.key: ours for method in METHODS if method.beside is None}
        return bandits.Comparison(d, n_arms, {key: Timing(1, [1e-6 * us]) for key, us in (times | best).items()})

    def game(ours: float) -> bandit_game.Game:
        return bandit_game.Game(6000, 1, {"a": Timing(1, [ours]), "b": Timing(1, [0.001])})

    def many(new: float, fixed: float, worse: int = 0) -> list[bandit_many.Blocks]:
        return [
            bandit_many.Blocks("a", "new", True, [new, new], 2, 0),
            bandit_many.Blocks("b", "new", True, [1.0], 1, 0),
            bandit_many.Blocks("a", "fixed", True, [fixed], 1, worse),
            bandit_many.Blocks("theirs", "new", False, [9000.0]),
        ]

    good = at(20, 10, 7.9, oful=2.9, numpy_oful=24, numpy_lints=64, best_oful=3)
    large = at(100, 100, 10, numpy_oful=90, best_oful=16, best_lints=15.1, pruned_dlinucb=16, best_swlinucb=15.1)
    large.timings["packed_disjoint"] = Timing(1, [15.1e-6])
    large.timings["early_disjoint"] = Timing(1, [1e-6])  # shown, not counted
    met = bandit_report.targets([good, large], METHODS, many(1999, 1500), game(0.0079))
    assert [target.met for target in met] == [True] * 11

    poor = at(20, 10, 7.9, oful=3.1, lints=8.1, numpy_oful=24)
    slow = at(100, 100, 10, numpy_oful=14.9, best_lints=14.9, pruned_dlinucb=14.9, best_dlinucb=20, numpy_disjoint=14.9)
    missed = bandit_report.targets([poor, slow], METHODS, many(2001, 1500, worse=1), game(0.0081))
    assert [target.met for target in missed] == [False] * 6 + [None] + [False] * 4
    assert "onward LinTS" in missed[1].measured
    assert "pruned" in missed[5].measured, "it is not the fastest that counts"
    assert "1 choices not the best" in missed[9].measured


def test_the_command_prints_and_writes_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bandits, "QUICK", TINY)
    monkeypatch.setattr(bandits, "SIZES", ((2, 3), (3, 2)))
    out = tmp_path / "new" / "out.json"
    bandits.main(["--quick", "--out", str(out), "--seed", "7"])
    record = json.loads(out.read_text(encoding="utf-8"))
    assert [(each["d"], each["n_arms"]) for each in record["comparisons"]] == [(2, 3), (3, 2)]
    assert record["settings"]["seed"] == 7
    assert record["versions"]["numpy"] == np.__version__
    assert len(record["figure_4a"]["ratio"]) == 6
    assert {each["arms"] for each in record["many_arms"]} == {"new", "fixed"}
    text = capsys.readouterr().out
    assert all(word in text for word in ("µs a round", "one θ for each arm", "40 arms, d = 8", "Figure 4a", "targets"))
