"""Bandits and gymnasium: its own checks, what the world would do by itself, and policies that learn in it."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from numpy.random import SeedSequence
from numpy.typing import NDArray

from onward.bandits.environments import (
    Abrupt,
    BoxArms,
    Gaussian,
    GivenArms,
    LinearWorld,
    RandomTheta,
    RandomWalk,
    SphereArms,
    Stationary,
    UniformNormArms,
)
from onward.integrations.gymnasium import BanditEnv, play_gymnasium

Array = NDArray[np.float64]

WORLDS = {
    "sphere": LinearWorld(SphereArms(5, 3, radius=2.0), Stationary.random(3), Gaussian(0.1)),
    "given": LinearWorld(GivenArms([[1, 0], [0, 1], [-1, 3]]), RandomWalk(RandomTheta(2), 0.1), Gaussian(0.1)),
    "box": LinearWorld(BoxArms(4, 2), Abrupt([(1, 0), (0, 1)], (7,)), None),
    "line": LinearWorld(SphereArms(2, 1, radius=0.3), Stationary([1.0]), None),
}
each_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


class Greedy:
    """Least squares, played greedily after a first look at each arm in turn."""

    def __init__(self, looks: int = 0) -> None:
        self.looks, self.rows, self.rewards = looks, list[Array](), list[float]()
        self.moments: tuple[Any, Any] = (0.0, 0.0)

    def choose(self, actions: Array, available: NDArray[np.bool_] | None = None) -> int:
        if len(self.rows) < self.looks:
            return len(self.rows) % len(actions)
        G, b = self.moments
        return int(
            np.argmax(actions @ np.linalg.solve(0.01 * np.eye(actions.shape[1]) + G, b + np.zeros(actions.shape[1])))
        )

    def learn(self, action: Array, reward: float) -> None:
        self.rows.append(action)
        self.rewards.append(reward)
        self.moments = (self.moments[0] + np.outer(action, action), self.moments[1] + reward * action)


class Chance(Greedy):
    """Any arm, whatever was learned."""

    def __init__(self) -> None:
        super().__init__()
        self.rng = np.random.default_rng(987)
        self.seen: list[Array] = []

    def choose(self, actions: Array, available: NDArray[np.bool_] | None = None) -> int:
        self.seen.append(actions)
        return int(self.rng.integers(len(actions)))


# Worlds as environments


@each_world
@pytest.mark.parametrize("horizon", [None, 3, 50])
def test_passes_gymnasiums_own_checks(world: LinearWorld, horizon: int | None) -> None:
    check_env(BanditEnv(world, horizon), skip_render_check=True)


@each_world
def test_an_episode_is_the_run_of_its_seed(world: LinearWorld) -> None:
    env, run = BanditEnv(world, horizon=20), world.start(SeedSequence(3))
    observation, info = env.reset(seed=3)
    assert info == {}
    assert env.action_space == spaces.Discrete(world.n_arms)
    for t in range(20):
        assert observation.dtype == np.float64
        assert env.observation_space.contains(observation)
        np.testing.assert_array_equal(observation, run.offer())
        means, chosen = run.means(), t % world.n_arms
        observation, reward, terminated, truncated, info = env.step(np.int64(chosen))
        assert reward == run.reward(chosen)
        assert type(reward) is type(info["regret"]) is float
        assert (terminated, truncated) == (False, t == 19)
        assert set(info) == {"regret", "means"}
        assert info["regret"] == means.max() - means[chosen]
        np.testing.assert_array_equal(info["means"], means)
    with pytest.raises(gymnasium.error.ResetNeeded, match="ended after its 20 rounds"):
        env.step(np.int64(0))


def test_the_bounds_of_observations_are_those_of_the_arms() -> None:
    world = LinearWorld(UniformNormArms(3, 1, radius=200.0), Stationary([1.0]), None)
    space = BanditEnv(world).observation_space
    assert isinstance(space, spaces.Box)
    assert space.shape == (3, 1)
    assert space.dtype == np.float64
    np.testing.assert_allclose([space.low, space.high], [np.full((3, 1), -200.0), np.full((3, 1), 200.0)], rtol=1e-11)
    # In one dimension every arm of the sphere is at the bound: none may be outside by a last digit.
    env = BanditEnv(LinearWorld(SphereArms(50, 1, radius=0.3), Stationary([1.0]), None))
    observation, _ = env.reset(seed=0)
    for _ in range(100):
        assert env.observation_space.contains(observation)
        observation, *_ = env.step(np.int64(0))


def test_resets_without_a_seed_go_on_from_the_last_seed() -> None:
    def observations(env: BanditEnv, seeds: list[int | None]) -> list[bytes]:
        return [env.reset(seed=seed)[0].tobytes() for seed in seeds]

    env = BanditEnv(WORLDS["sphere"])
    first = observations(env, [1, None, None])
    assert len(set(first)) == 3
    assert observations(env, [1, None, None]) == observations(BanditEnv(WORLDS["sphere"]), [1, None, None]) == first
    assert not set(observations(env, [2, None, None])) & set(first)


def test_a_world_of_ones_own_is_an_environment() -> None:
    class Run:
        def __init__(self, rows: int) -> None:
            self.rows, self.played = rows, 0

        def offer(self) -> Array:
            return np.eye(2) if self.played < 2 else np.ones((self.rows, 2))

        def means(self) -> Array:
            return np.array([0.0, 1.0])

        def reward(self, chosen: int) -> float:
            self.played += 1
            return float(chosen)

    class Own:
        def __init__(self, rows: int) -> None:
            self.rows = rows

        def start(self, seed: SeedSequence) -> Run:
            return Run(self.rows)

    env = BanditEnv(Own(2), horizon=5)
    assert env.observation_space == spaces.Box(-np.inf, np.inf, (2, 2), np.float64)
    assert play_gymnasium(Chance(), env, episodes=2).lengths.tolist() == [5, 5]
    with pytest.raises(ValueError, match=r"offers actions of shape \(3, 2\), but began with \(2, 2\)"):
        play_gymnasium(Chance(), BanditEnv(Own(3), horizon=5))


def test_refuses_steps_and_settings_that_make_no_sense() -> None:
    env = BanditEnv(WORLDS["sphere"], horizon=2)
    with pytest.raises(gymnasium.error.ResetNeeded, match="has not begun"):
        env.step(np.int64(0))
    env.reset(seed=0)
    for action in (5, -1):
        with pytest.raises(ValueError, match=rf"action must be a whole number from 0 to 4, got .*{action}"):
            env.step(np.int64(action))
    env.step(np.int64(4))
    make: Callable[..., Any] = BanditEnv
    for horizon in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=f"horizon must be a whole number >= 1, got {horizon}"):
            make(WORLDS["sphere"], horizon)


# Policies in environments


def test_a_policy_learns_in_a_world() -> None:
    world = LinearWorld(SphereArms(5, 3), Stationary([1.0, 0.0, 0.0]), Gaussian(0.1))
    best = world.start(SeedSequence(0)).rounds(300).means.max(axis=1).mean()
    greedy = play_gymnasium(Greedy(looks=5), BanditEnv(world, horizon=300), seed=0).rewards[0].mean()
    chance = play_gymnasium(Chance(), BanditEnv(world, horizon=300), seed=0).rewards[0].mean()
    # The best arm earns about 0.67 a round. The noise of a mean of 300 is 0.006, that of a chance arm 0.03: 5 sigmas.
    assert greedy > best - 0.05
    assert abs(chance) < 0.17
    # A policy that is not told the rewards learns nothing: it always takes the first arm.
    untold = play_gymnasium(Greedy(), BanditEnv(world, horizon=300), seed=0, learn=False).rewards[0].mean()
    assert abs(untold) < 0.17


def test_what_is_learned_is_what_was_played() -> None:
    policy, world = Chance(), WORLDS["sphere"]
    episodes = play_gymnasium(policy, BanditEnv(world, horizon=10), episodes=3, seed=4)
    assert episodes.lengths.tolist() == [10, 10, 10]
    assert np.concatenate(episodes.rewards).tolist() == policy.rewards
    np.testing.assert_allclose(episodes.totals, [rewards.sum() for rewards in episodes.rewards], rtol=1e-12)
    run = world.start(SeedSequence(4))
    rng = np.random.default_rng(987)
    for row, reward in zip(policy.rows[:10], policy.rewards[:10], strict=True):
        chosen = int(rng.integers(world.n_arms))
        np.testing.assert_array_equal(row, run.offer()[chosen])
        assert reward == run.reward(chosen)
    again = play_gymnasium(Chance(), BanditEnv(world, horizon=10), episodes=3, seed=4)
    assert np.concatenate(again.rewards).tolist() == policy.rewards
    assert len({policy.seen[t].tobytes() for t in (0, 10, 20)}) == 3  # only the first episode is the seed's


def test_max_steps_ends_an_episode() -> None:
    for env in (BanditEnv(WORLDS["box"]), BanditEnv(WORLDS["box"], horizon=100)):
        policy = Chance()
        assert play_gymnasium(policy, env, episodes=2, max_steps=7).lengths.tolist() == [7, 7]
        assert len(policy.rows) == 14
    assert play_gymnasium(Chance(), BanditEnv(WORLDS["box"], horizon=3), max_steps=7).lengths.tolist() == [3]


@pytest.mark.parametrize(("name", "n", "d"), [("FrozenLake-v1", 4, 17), ("CartPole-v1", 2, 5), ("Blackjack-v1", 2, 46)])
def test_plays_what_gymnasium_brings(name: str, n: int, d: int) -> None:
    env = gymnasium.make(name)
    policy = Chance()
    episodes = play_gymnasium(policy, env, episodes=5, seed=1)
    assert len(episodes.totals) == 5
    assert len(policy.rows) == episodes.lengths.sum() >= 5
    assert {actions.shape for actions in policy.seen} == {(n, n * d)}
    first = spaces.utils.flatten(env.observation_space, env.reset(seed=1)[0])
    for i, action in enumerate(policy.seen[0]):
        blocks = action.reshape(n, d)
        np.testing.assert_array_equal(blocks[i], [1.0, *first])
        assert not np.delete(blocks, i, axis=0).any()
    if name == "CartPole-v1":  # one point for each step
        np.testing.assert_array_equal(episodes.totals, episodes.lengths)
    env.close()


class Guess(gymnasium.Env[Any, Any]):
    """One step an episode: the observation tells which action, of those from `start`, pays."""

    def __init__(self, observation_space: spaces.Space[Any], start: int = 0) -> None:
        self.observation_space, self.first = observation_space, start
        self.action_space = spaces.Discrete(3, start=start)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.shown = self.observation_space.sample()
        return self.shown, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        flat = spaces.utils.flatten(self.observation_space, self.shown)
        paying = int(np.argmax(np.asarray(flat)[:3]))
        return self.shown, float(action - self.first == paying), True, False, {}


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3, start=5),
        spaces.MultiDiscrete([3, 2]),
        spaces.Box(-1.0, 1.0, (3,), np.float32),
        spaces.Tuple((spaces.Discrete(3), spaces.Box(-1.0, 1.0, (2, 2), np.float64))),
        spaces.Dict({"a": spaces.Discrete(3), "b": spaces.MultiBinary(2)}),
    ],
    ids=lambda space: type(space).__name__,
)
@pytest.mark.parametrize("start", [0, -7])
def test_observations_of_any_kind_are_learned_from(space: spaces.Space[Any], start: int) -> None:
    learned = play_gymnasium(Greedy(looks=150), Guess(space, start), episodes=300, seed=0).totals[150:].mean()
    chance = play_gymnasium(Chance(), Guess(space, start), episodes=300, seed=0).totals.mean()
    assert chance < 0.5 < 0.7 < learned  # chance is 1/3, its standard deviation 0.027


def test_features_may_be_given() -> None:
    def features(observation: Any, n: int) -> list[list[float]]:
        """Whether the action is the one shown: a single number."""
        return [[float(i == observation)] for i in range(n)]

    policy = Greedy(looks=10)
    env = Guess(spaces.Discrete(3))
    assert play_gymnasium(policy, env, episodes=100, seed=0, features=features).totals[10:].all()
    assert {row.shape for row in policy.rows} == {(1,)}


def test_refuses_what_a_policy_cannot_play() -> None:
    play: Callable[..., Any] = play_gymnasium
    world, guess = BanditEnv(WORLDS["box"], horizon=3), Guess(spaces.Discrete(3))
    with pytest.raises(ValueError, match=r"action space must be Discrete.*got Box"):
        play(Chance(), gymnasium.make("Pendulum-v1"))
    with pytest.raises(ValueError, match="never ends: expected max_steps"):
        play(Chance(), BanditEnv(WORLDS["box"]))
    with pytest.raises(ValueError, match="episodes must be a whole number >= 1, got 0"):
        play(Chance(), world, episodes=0)
    with pytest.raises(ValueError, match="max_steps must be a whole number >= 1, got 0"):
        play(Chance(), world, max_steps=0)
    for shape in ((2, 5), (3,), (3, 1, 1)):
        with pytest.raises(ValueError, match=r"features must return shape \(3, d\).*got shape"):
            play(Chance(), guess, features=lambda observation, n, shape=shape: np.zeros(shape))
    with pytest.raises(ValueError, match="no fixed number of features: expected `features`"):
        play(Chance(), Guess(spaces.Sequence(spaces.Discrete(3))))

    class Astray(Chance):
        def choose(self, actions: Array, available: NDArray[np.bool_] | None = None) -> int:
            return len(actions)

    with pytest.raises(ValueError, match="must choose a number from 0 to 2, got 3"):
        play(Astray(), guess)


# Without gymnasium


def without_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "gymnasium"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "onward.integrations.gymnasium")


def test_says_what_to_install_without_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gymnasium(monkeypatch)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ImportError, match=r'pip install "onward\[gymnasium\]"') as caught:
        importlib.import_module("onward.integrations.gymnasium")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_does_not_blame_gymnasium_for_what_gymnasium_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_gymnasium(monkeypatch)
    (tmp_path / "gymnasium").mkdir()
    (tmp_path / "gymnasium" / "__init__.py").write_text("import no_such_module_as_this\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_as_this"):
        importlib.import_module("onward.integrations.gymnasium")
