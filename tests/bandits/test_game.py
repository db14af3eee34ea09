"""The game: the same whether compiled or stepped through, alone or in company, in whatever pieces."""

import copy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward.bandits import (
    OFUL,
    DetectingLinUCB,
    DLinUCB,
    Greedy,
    LinTS,
    OracleRestart,
    Random,
    Runs,
    SWLinUCB,
    choosing,
    play,
    players,
    simulate,
)
from onward.bandits.buffers import acting
from onward.bandits.environments import (
    Abrupt,
    BoxArms,
    Gaussian,
    GivenArms,
    LinearWorld,
    Rademacher,
    RandomWalk,
    SphereArms,
    Stationary,
)
from onward.core.types import Matrix, Vector
from tests.bandits.test_policies import ESTIMATORS, MAKES
from tests.processes import started

WORLD = LinearWorld(BoxArms(6, 2), Abrupt([(1, 0), (-1, 0)], (60,)), Gaussian(0.5))
WORLDS = {
    "abrupt": WORLD,
    "fixed arms": LinearWorld(SphereArms(4, 2, fresh=False), Stationary.random(2), Rademacher(0.5)),
    "walk": LinearWorld(SphereArms(5, 7, radius=3.0), RandomWalk(np.full(7, 0.1), 0.05, 1.0), Gaussian(0.5)),
}


class Stepped:
    """A policy behind a wall: the game cannot see what it is, so it steps through it in Python."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def reseed(self, seed: np.random.SeedSequence) -> None:
        self.policy.reseed(seed)

    def choose(self, actions: Matrix) -> int:
        return int(self.policy.choose(actions))

    def learn(self, action: Vector, reward: float) -> None:
        self.policy.learn(action, reward)


class Hidden:
    """A world behind a wall."""

    def __init__(self, world: LinearWorld) -> None:
        self.world = world

    def start(self, seed: np.random.SeedSequence) -> Any:
        return self.world.start(seed)


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("world", WORLDS)
def test_the_compiled_game_is_the_game(name: str, estimator: str, world: str) -> None:
    """In the compiled loop, stepped through in Python, and in a world that only steps: the same bits."""
    policy = MAKES[name](estimator=estimator)
    compiled = play({"p": policy}, WORLDS[world], 150, repeats=2, seed=3, chosen=True)
    stepped = play({"p": Stepped(copy.deepcopy(policy))}, WORLDS[world], 150, repeats=2, seed=3, chosen=True)
    hidden = play({"p": policy}, Hidden(WORLDS[world]), 150, repeats=2, seed=3, chosen=True)
    for other in (stepped, hidden):
        assert_array_equal(compiled.regret, other.regret)
        assert_array_equal(np.asarray(compiled.chosen), np.asarray(other.chosen))
    assert policy.n_learned == 0


def ready_to_be_lazy(buffer: Vector) -> Vector:
    """A copy that does not read all actions for a while only because nearly all were read lately."""
    copied = buffer.copy()
    acting(copied).about["skip"] = 0.0
    return copied


MANY_ACTIONS: dict[str, Any] = {
    "OFUL": lambda **more: OFUL(0.1, seed=0, **more),
    "a lam for each": lambda **more: OFUL(np.geomspace(0.01, 10, 12), seed=0, **more),
    "a prior": lambda **more: OFUL(0.1, prior_mean=np.linspace(-1, 1, 12), seed=0, **more),
    "OracleRestart": lambda **more: OracleRestart((150,), 0.1, seed=0, **more),
    "DLinUCB": lambda **more: DLinUCB(0.97, 0.1, seed=0, **more),
    "SWLinUCB": lambda **more: SWLinUCB(40, 0.1, seed=0, **more),
    "DetectingLinUCB": lambda **more: DetectingLinUCB(30, 0.1, seed=0, **more),
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", MANY_ACTIONS)
@pytest.mark.parametrize("width", ["determinant", "uniform"])
def test_of_many_actions_the_best_is_chosen_without_reading_all(name: str, estimator: Any, width: Any) -> None:
    """Actions that cannot be best are passed over; those that are read have the index that they have anyway."""
    rng, theta = np.random.default_rng(0), np.linspace(1, -1, 12) / 2
    policy = MANY_ACTIONS[name](estimator=estimator, width=width, sigma=0.3)
    passed_over = 0
    for t in range(300):
        actions = rng.standard_normal((40, 12)) * rng.random((40, 1))
        available = rng.random(40) < 0.7 if t % 3 == 0 else np.ones(40, dtype=bool)
        index = policy.index(actions)
        if t:
            best, ties, read = choosing.choose(ready_to_be_lazy(policy._buffer), np.empty(0), actions, available)
            seen = np.isfinite(read)
            assert ties == 1
            assert best == np.argmax(np.where(available, index, -np.inf))
            assert_allclose(read[seen], index[seen], rtol=1e-12)
            passed_over += 40 - int(seen.sum())
        chosen = policy.choose(actions, available)
        assert index[chosen] == index[available].max()
        policy.learn(actions[chosen], float(actions[chosen] @ theta + 0.3 * rng.standard_normal()))
    assert passed_over > 0.15 * 40 * 300


def test_few_actions_are_read_once_much_is_known_and_again_after_a_restart() -> None:
    """Where all norms are the same, only the smallest eigenvalue can tell; it is found anew after a restart."""
    world = LinearWorld(SphereArms(50, 20, radius=5.0), Stationary.random(20), Gaussian(0.3))
    game = players.CompiledGame(OracleRestart((3000,), 1e-3, sigma=0.3), np.random.SeedSequence(0))
    run = world.start(np.random.SeedSequence(1))

    def share_read() -> float:
        everything = np.empty(0, dtype=np.bool_)
        rounds = run.rounds(20).actions
        read = [
            choosing.choose(ready_to_be_lazy(game._buffer), np.empty(0), actions, everything)[2] for actions in rounds
        ]
        return float(np.mean([np.isfinite(index).mean() for index in read]))

    def floor() -> float:
        return float(acting(game._buffer).about["floor"][0])

    game.play(run.rounds(2990))
    assert share_read() < 0.3
    assert floor() > 10
    game.play(run.rounds(20))
    assert share_read() > 0.5
    assert floor() == 1e-3
    game.play(run.rounds(2000))
    assert share_read() < 0.3
    assert floor() > 10


@pytest.mark.parametrize(("count", "pays"), [(20, False), (2000, True)])
def test_the_smallest_eigenvalue_is_looked_for_where_that_pays(count: int, pays: bool) -> None:
    rng = np.random.default_rng(0)
    X, actions = rng.standard_normal((100, 20)), rng.standard_normal((count, 20))
    policy = OFUL(1.0, sigma=0.3, theta_bound=1.0, seed=0)
    policy.learn_many(X / np.linalg.norm(X, axis=1, keepdims=True), np.zeros(100))
    policy.choose(actions / np.linalg.norm(actions, axis=1, keepdims=True))
    assert (acting(policy._buffer).about["floor"][0] > 1.0) == pays


def test_results_depend_on_nothing_but_seed_and_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    policies = {name: make() for name, make in MAKES.items()}
    whole = play(policies, WORLD, 130, repeats=4, seed=5, chosen=True)
    for n_jobs in (2, -1):
        assert_array_equal(
            play(policies, WORLD, 130, repeats=4, seed=5, n_jobs=n_jobs, progress=False).regret, whole.regret
        )
    kept = play(policies, WORLD, 130, repeats=4, seed=5, keep=25)
    assert kept.rounds.tolist() == [25, 50, 75, 100, 125, 130]
    assert_array_equal(kept.regret, whole.regret[:, :, kept.rounds - 1])
    some = play(policies, WORLD, 130, repeats=4, seed=5, keep=[1, 7, 128])
    assert_array_equal(some.regret, whole.regret[:, :, [0, 6, 127]])
    monkeypatch.setattr(simulate, "BLOCK_VALUES", 100)
    assert_array_equal(play(policies, WORLD, 130, repeats=4, seed=5).regret, whole.regret)
    for name in ("LinTS", "EpsilonGreedy", "DetectingLinUCB"):
        alone = play({"other name": policies[name]}, WORLD, 130, repeats=4, seed=5)
        assert_array_equal(alone["other name"], whole[name])
    first, rest = (play(policies, WORLD, 130, 2, 5, first_repeat=start, chosen=True) for start in (0, 2))
    merged = first.merge(rest)
    assert_array_equal(merged.regret, whole.regret)
    assert_array_equal(np.asarray(merged.chosen), np.asarray(whole.chosen))
    assert not np.array_equal(play(policies, WORLD, 130, 4, seed=6).regret, whole.regret)
    assert not np.array_equal(whole.regret[:, 0], whole.regret[:, 1])


def test_regret_is_what_the_choices_cost() -> None:
    runs = play({"a": OFUL(), "b": Random()}, WORLD, 100, repeats=3, seed=1, chosen=True)
    assert runs.chosen is not None
    for repeat in range(3):
        block = WORLD.start(np.random.SeedSequence(1, spawn_key=(repeat, 0))).rounds(100)
        for i in range(2):
            lost = block.means.max(axis=1) - block.means[np.arange(100), runs.chosen[i, repeat]]
            assert_allclose(runs.regret[i, repeat], np.cumsum(lost), rtol=1e-12)


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("width", ["determinant", "trace", "uniform"])
def test_arms_are_played_in_their_span(name: str, width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five arms of thirty features, three of them independent: the same choices, though the factor is 3 × 3."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((5, 3)) @ rng.standard_normal((3, 30))
    theta = rng.standard_normal(30) / 30
    world = LinearWorld(GivenArms(arms), Stationary(theta), Gaussian(0.3))
    widths = {} if name in ("Greedy", "EpsilonGreedy", "Random") else {"width": width}
    policies = {name: MAKES[name](**widths)}
    spanned = play(policies, world, 60, repeats=3, chosen=True)
    monkeypatch.setattr(players, "in_their_span", lambda arms: None)
    full = play(policies, world, 60, repeats=3, chosen=True)
    if name != "LinTS":  # samples are the same in law, not in numbers
        assert_array_equal(np.asarray(spanned.chosen), np.asarray(full.chosen))
        assert_allclose(spanned.regret, full.regret, rtol=1e-9)


def test_the_span_keeps_inner_products() -> None:
    rng = np.random.default_rng(1)
    arms = rng.standard_normal((4, 2)) @ rng.standard_normal((2, 9))
    inside = players.in_their_span(arms)
    assert inside is not None
    assert inside.shape == (4, 2)
    assert_allclose(inside @ inside.T, arms @ arms.T, atol=1e-12)
    assert players.in_their_span(np.eye(3)) is None
    nearly = players.in_their_span(np.array([[1.0, 0.0, 0.0], [1.0, 1e-7, 0.0]]))
    assert nearly is not None
    assert nearly.shape == (2, 2)
    zeros = players.in_their_span(np.zeros((2, 3)))
    assert zeros is not None
    assert zeros.shape == (2, 1)


def test_a_warm_start_is_kept_and_the_policy_left_alone() -> None:
    world = LinearWorld(SphereArms(5, 2), Stationary([1.0, 0.0]), Gaussian(0.1))
    warm = OFUL(seed=0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    warm.learn_many(X, X[:, 0] + 0.1 * rng.standard_normal(500))
    before = warm._buffer.tobytes()
    runs = play({"warm": warm, "cold": OFUL(seed=0)}, world, 50, repeats=10)
    assert warm._buffer.tobytes() == before
    assert runs.difference("warm", "cold").upper < 0


class Interrupting(Greedy):
    """Ctrl-C, pressed while the third repeat is played."""

    n_begun = 0

    def buffer_for(self, actions: Matrix, given: int | None = None) -> Vector:
        type(self).n_begun += 1
        if type(self).n_begun == 3:
            raise KeyboardInterrupt
        return super().buffer_for(actions, given)


def test_an_interrupt_returns_what_is_done() -> None:
    Interrupting.n_begun = 0
    runs = play({"p": Interrupting()}, WORLD, 40, repeats=5, seed=2)
    assert (runs.complete, runs.repeats, runs.repeat_numbers) == (False, 2, (0, 1))
    assert_array_equal(runs["p"], play({"p": Greedy()}, WORLD, 40, repeats=2, seed=2)["p"])
    Interrupting.n_begun = 2
    with pytest.raises(KeyboardInterrupt):  # nothing is done yet
        play({"p": Interrupting()}, WORLD, 40, repeats=5, seed=2)


def test_an_interrupted_game_and_its_continuation_are_the_whole() -> None:
    Interrupting.n_begun = 0
    begun = play({"p": Interrupting()}, WORLD, 40, repeats=5, seed=2)
    rest = play({"p": Interrupting()}, WORLD, 40, repeats=3, seed=2, first_repeat=2)
    whole = begun.merge(rest)
    assert whole.complete
    Interrupting.n_begun = 3
    assert whole == play({"p": Interrupting()}, WORLD, 40, repeats=5, seed=2)


SCRIPT = """
import sys, time, numpy as np
from onward.bandits import OFUL, play
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
world = LinearWorld(SphereArms(10, 20), Stationary.random(20), Gaussian(0.1))
play({"p": OFUL()}, world, 20_000, repeats=2, n_jobs=int(sys.argv[1]))  # nothing is left to be compiled
print("ready", flush=True)
runs = play({"p": OFUL()}, world, 20_000, repeats=1000, n_jobs=int(sys.argv[1]))
print(runs.complete, 0 < runs.repeats < 1000, flush=True)
began = time.process_time()
time.sleep(0.5)
print("idle" if time.process_time() - began < 0.3 else "busy")
"""


def interrupted(n_jobs: int) -> list[str]:
    """What the script prints when it is interrupted in its second game."""
    with started([sys.executable, "-c", SCRIPT, str(n_jobs)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(2.0)  # some of a thousand games are done by then, on a busy machine too
        process.send_signal(signal.SIGINT)
        return str(process.stdout.read()).split()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_real_interrupt_returns_what_is_done(n_jobs: int) -> None:
    # A known fault, its cause not found: now and then (1 of 105 tries) an interrupt ends the process without a word.
    assert ["False", "True", "idle"] in (interrupted(n_jobs) for _ in range(3))


def test_actions_that_a_policy_refuses_end_the_game_with_its_error() -> None:
    world = LinearWorld(SphereArms(5, 3, radius=2.0), Stationary([1.0, 0.0, 0.0]), Gaussian(0.1))
    with pytest.raises(ValueError, match="norms of at most action_bound=1, got 2"):
        play({"p": OFUL(action_bound=1.0)}, world, 100)
    huge = LinearWorld(GivenArms(1e21 * np.eye(2)), Stationary([1.0, 0.0]), Gaussian(0.1))
    with pytest.raises(ValueError, match="finite numbers below"):
        play({"p": OFUL()}, huge, 100)


def test_a_changed_policy_plays_as_it_was_changed() -> None:
    class Stubborn(OFUL):
        def choose(self, actions: Any, available: Any = None) -> int:
            return 0

    runs = play({"p": Stubborn()}, WORLD, 30, chosen=True)
    assert runs.chosen is not None
    assert (runs.chosen == 0).all()


def test_an_own_policy_cannot_spoil_the_game_for_others() -> None:
    class Spoiling:
        def choose(self, actions: Matrix) -> int:
            actions *= 0.0
            return 0

        def learn(self, action: Vector, reward: float) -> None:
            action *= 0.0

    world = LinearWorld(GivenArms(np.eye(3)), Stationary([1.0, 0.0, 0.0]), Gaussian(0.1))
    alone = play({"OFUL": OFUL()}, world, 200, repeats=2)
    beside = play({"spoiling": Spoiling(), "OFUL": OFUL()}, world, 200, repeats=2)
    assert_array_equal(alone["OFUL"], beside["OFUL"])
    for environment in (world, Hidden(world)):
        for choice in (-1, 3, 1.0, None):
            bad = Spoiling()
            vars(bad)["choose"] = lambda actions, choice=choice: choice
            with pytest.raises(ValueError, match="'bad' must choose a whole number from 0 to 2 in round 1, got"):
                play({"bad": bad}, environment, 5)


def test_what_cannot_be_kept_is_seen_before_the_game() -> None:
    class Odd(Stepped):
        def describe(self) -> dict[str, Any]:
            return {"array": np.ones(2)}

    class Lost(Hidden):
        def start(self, seed: np.random.SeedSequence) -> Any:
            run = super().start(seed)
            run.means = lambda: np.full(6, np.nan)
            return run

    with pytest.raises(ValueError, match=r"describe\(\) must give plain text"):
        play({"p": Odd(OFUL())}, WORLD, 10**9, keep=[10**9])  # every round kept would be 8 GB
    with pytest.raises(ValueError, match=r"means must be finite numbers, got .* in round 1"):
        play({"p": OFUL()}, Lost(WORLD), 10)


def test_an_own_policy_and_an_own_world() -> None:
    class First:
        def choose(self, actions: Matrix) -> int:
            return 0

        def learn(self, action: Vector, reward: float) -> None:
            pass

    class Shrinking:
        """Fewer and fewer arms, the first the best."""

        def start(self, seed: np.random.SeedSequence) -> "Shrinking":
            self.left = 10
            return self

        def offer(self) -> Matrix:
            return np.eye(10)[: self.left]

        def means(self) -> Vector:
            return np.linspace(1.0, 0.1, 10)[: self.left]

        def reward(self, chosen: int) -> float:
            self.left = max(1, self.left - 1)
            return 1.0 - chosen / 10

    runs = play({"first": First(), "OFUL": OFUL(), "random": Random()}, Shrinking(), 20, repeats=2)
    assert (runs["first"] == 0).all()
    assert (runs["random"][:, -1] > 0).all()
    assert runs.settings["policies"]["first"] == {"class": "First"}


def test_own_policies_play_in_processes() -> None:
    stepped = play({"p": Stepped(LinTS())}, WORLD, 30, repeats=3, seed=1, n_jobs=2)
    assert_array_equal(stepped.regret, play({"p": LinTS()}, WORLD, 30, repeats=3, seed=1).regret)


def test_runs_say_what_was_played(tmp_path: Path) -> None:
    runs = play({"OFUL^f": OFUL(0.3), "random": Random()}, WORLD, 40, repeats=2, seed=4)
    assert runs.settings["policies"]["OFUL^f"]["lam"] == 0.3
    assert runs.settings["environment"]["change_points"] == [60]
    assert runs.complete
    runs.save(tmp_path / "runs.onward")
    assert_array_equal(Runs.load(tmp_path / "runs.onward").regret, runs.regret)


def test_progress_is_shown_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    play({"p": Greedy()}, WORLD, 10, repeats=3, progress=True)
    assert "3/3" in capsys.readouterr().err
    play({"p": Greedy()}, WORLD, 10, repeats=3)
    assert capsys.readouterr().err == ""


def test_bad_games_are_refused() -> None:
    good: dict[str, Any] = {"policies": {"p": Greedy()}, "environment": WORLD, "horizon": 5}
    for changes, message in (
        ({"policies": {}}, "at least one policy"),
        ({"policies": Greedy()}, "at least one policy by its name"),
        ({"policies": {1: Greedy()}}, "at least one policy by its name"),
        (
            {"policies": {"x": Greedy}},
            "methods choose and learn, got the class Greedy",
        ),
        ({"policies": {"x": 3}}, "policy 'x' must be an object with methods choose and learn, got int"),
        ({"horizon": 0}, "horizon must be a whole number >= 1, got 0"),
        ({"repeats": 0}, "repeats must be a whole number >= 1"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
        ({"keep": [3, 2]}, "keep must hold increasing rounds from 1 to 5"),
        ({"keep": [1, 6]}, "keep must hold increasing rounds from 1 to 5"),
        ({"environment": 3}, "environment must have a method start, got int"),
    ):
        with pytest.raises(ValueError, match=message):
            play(**(good | changes))
    knows = OFUL()
    knows.choose(np.ones((2, 3)))
    with pytest.raises(ValueError, match="actions have 2 features, but this policy knows 3"):
        play({"p": knows}, WORLD, 5)
