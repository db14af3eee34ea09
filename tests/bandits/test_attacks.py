"""What a review found: policies that travel, that are told NaN, that cancel, that were changed in a file."""

import math
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from onward import ForwardRegressor, load, storage
from onward.bandits import (
    OFUL,
    Detecting,
    Disjoint,
    LinTS,
    Optimistic,
    OracleRestart,
    Policy,
    Window,
    index_function,
    play,
    width_function,
)
from onward.bandits import choosing as choosing_loops
from onward.bandits.buffers import acting
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary
from onward.bandits.settings import N_SETTINGS, memory_at
from onward.core.types import Matrix, Vector


def constant_index(level: float) -> Any:
    @index_function
    def level_of(estimate: float, leverage: float, square: float, radius: float, rounds: float) -> float:
        return level + 0.0 * estimate

    return level_of


@width_function
def no_width(gain: float, rounds: float, dimension: float, lam: float, sigma: float, delta: float) -> float:
    return math.nan * gain


@width_function
def pessimistic(gain: float, rounds: float, dimension: float, lam: float, sigma: float, delta: float) -> float:
    return -sigma * math.sqrt(gain + 1.0)


class Stepped:
    """A player in Python: with it, a game is played in processes."""

    def choose(self, actions: Matrix) -> int:
        return 0

    def learn(self, action: Vector, reward: float) -> None:
        pass


def test_functions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    low, high = (Policy(rule=Optimistic(index=constant_index(level)), seed=0) for level in (0.1, 10.0))
    for i, policy in enumerate((low, high)):
        policy.learn([1.0, 0.0], 1.0)
        policy.save(tmp_path / f"{i}.onward")
    assert low.describe() != high.describe()
    assert load(tmp_path / "0.onward").index(np.eye(2)).tolist() == [0.1, 0.1]
    assert load(tmp_path / "1.onward").index(np.eye(2)).tolist() == [10.0, 10.0]


def test_a_pickled_policy_calls_its_functions_where_they_are(tmp_path: Path) -> None:
    """In another process their addresses are others; that of this one would end it."""
    policy = Policy(rule=Optimistic(index=constant_index(3.0)), seed=0)
    policy.learn([1.0, 0.0], 1.0)
    arms = Disjoint(Policy(rule=Optimistic(index=constant_index(4.0)), seed=0), 2)
    arms.learn(0, [1.0, 0.0], 1.0)
    (tmp_path / "both").write_bytes(pickle.dumps((policy, arms)))
    code = (
        "import pickle, numpy as np; "
        f"policy, arms = pickle.loads(open({str(tmp_path / 'both')!r}, 'rb').read()); "
        "print(policy.index(np.eye(2)), arms.index([1.0, 0.0]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["[3.", "3.]", "[4.", "4.]"]), done.stderr


def test_policies_with_functions_play_in_processes() -> None:
    world = LinearWorld(SphereArms(4, 2), Stationary.random(2), Gaussian(0.1))
    policies: dict[str, Any] = {"own": Policy(rule=Optimistic(index=constant_index(1.0))), "stepped": Stepped()}
    alone, shared = (play(policies, world, 20, repeats=2, n_jobs=jobs, progress=False) for jobs in (1, 2))
    assert_array_equal(alone.regret, shared.regret)


def test_policies_from_a_read_only_memory_map_go_on(tmp_path: Path) -> None:
    policy, arms = OFUL(seed=0), Disjoint(OFUL(seed=0), 2)
    policy.learn(np.ones(40), 1.0)
    arms.learn(0, np.ones(40), 1.0)
    joblib.dump((policy, arms), tmp_path / "both.pkl")
    mapped, mapped_arms = joblib.load(tmp_path / "both.pkl", mmap_mode="r")
    for each in (policy, mapped):
        each.choose(np.eye(40))
        each.learn(np.ones(40), 2.0)
    assert_array_equal(mapped.index(np.eye(40)), policy.index(np.eye(40)))
    mapped_arms.learn(1, np.ones(40), 2.0)
    assert mapped_arms.n_learned == {0: 1, 1: 1}


@pytest.mark.parametrize("k", [10, 40])
def test_a_width_that_is_no_number_is_refused_however_many_actions(k: int) -> None:
    rng = np.random.default_rng(0)
    policy, arms = OFUL(width=no_width, seed=0), Disjoint(OFUL(width=no_width, seed=0), k)
    with pytest.raises(ValueError, match="must be a number for every action, got NaN"):
        policy.choose(rng.standard_normal((k, 8)))
    with pytest.raises(ValueError, match="must be a number for every action, got NaN"):
        arms.choose(rng.standard_normal(8))


@pytest.mark.parametrize("scale_or_width", [0.0, 1e-12, pessimistic])
def test_the_largest_index_is_chosen_where_bounds_say_little(scale_or_width: Any) -> None:
    """No width, a negative one, and estimates that are what is left of much larger terms."""
    rng, settings = np.random.default_rng(1), {"estimator": "ridge", "seed": 0}
    more = {"width": scale_or_width} if callable(scale_or_width) else {"scale": scale_or_width}
    policy = OFUL(1e-3, **settings, **more)  # type: ignore[arg-type]
    theta = rng.standard_normal(8)
    for _ in range(50):
        x = rng.standard_normal(8)
        policy.learn(x, float(100 * x @ theta))
    for _ in range(50):
        actions = rng.standard_normal((200, 8))
        actions -= np.outer(actions @ theta, theta) / (theta @ theta)
        index = policy.index(actions)
        assert index[policy.choose(actions)] == index.max()


def test_arms_refuse_an_index_in_python() -> None:
    class Mine(OFUL):
        def index(self, actions: Any) -> Vector:
            return -np.asarray(actions)[:, 0]

    with pytest.raises(ValueError, match="the index of Mine is its own, in Python"):
        Disjoint(Mine(), 2)


def test_sampling_by_a_printed_index_is_refused() -> None:
    with pytest.raises(ValueError, match="expected another width to sample by"):
        LinTS(width="printed", bias="paper")


def test_a_failing_index_leaves_no_trace() -> None:
    class Failing(OFUL):
        def index(self, actions: Any) -> Vector:
            raise RuntimeError

    policy = Failing(seed=0)
    with pytest.raises(RuntimeError):
        policy.choose(np.eye(8))
    assert policy.dimension is None


def test_change_points_go_on_after_a_warm_start() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    policy = OracleRestart([5, 10], seed=0)
    for i in range(7):
        policy.learn(X[i], float(y[i]))
    policy.start_from(ForwardRegressor(0.1, fit_intercept=False).fit(X, y))
    for i in range(2):
        policy.learn(X[i], float(y[i]))
    assert policy.information().rows == 42
    policy.learn(X[0], 1.0)
    assert policy.information().rows == 0


def test_the_short_cut_does_not_wear_out() -> None:
    """However long a window has played, its rows are as many as count."""
    policy, rng = Policy(Window(5), Optimistic(scale=0.25), seed=0), np.random.default_rng(0)
    policy.learn(10 * rng.standard_normal(8), 1.0)
    acting(policy._buffer).factor.counts["seen"] = 1e12
    read = choosing_loops.choose(
        policy._buffer, np.empty(0), rng.standard_normal((100, 8)) * rng.random((100, 1)), np.empty(0, dtype=bool)
    )[2]
    assert np.isinf(read).any()


@pytest.mark.parametrize("what", [np.eye(3).view(np.matrix), [], [[]]])
def test_the_short_way_refuses_like_the_long_one(what: Any) -> None:
    fresh, hot = OFUL(seed=0), OFUL(seed=0)
    for _ in range(3):
        hot.choose(np.eye(3) + 0.1)
    messages = []
    for policy in (fresh, hot):
        try:
            messages.append(f"chose {policy.choose(what)}")
        except ValueError as error:
            messages.append(str(error).split(":")[0])
    assert messages[0] == messages[1]


@pytest.mark.parametrize("memory", [Window(4), Detecting(4)])
def test_a_changed_file_is_refused(memory: Any, tmp_path: Path) -> None:
    policy = Policy(memory, seed=0)
    for i in range(6):
        policy.learn(np.eye(3)[i % 3], 1.0)
    settings = policy.describe() | {
        "generator": policy.generator.bit_generator.state,
        "dimension": 3,
        "pending": [],
        "n_settings": N_SETTINGS,
    }
    buffer = policy._buffer.copy()
    buffer[memory_at(3)] = 1e12  # the first number of its header
    storage.save(tmp_path / "changed.onward", "policy", settings, {"pending": np.empty((0, 3)), "buffer": buffer})
    with pytest.raises(ValueError, match=r"next_slot of a window|n_models of a detector"):
        load(tmp_path / "changed.onward")


def test_dicts_are_predicted_by_several_threads() -> None:
    rng = np.random.default_rng(0)
    rows = [dict(zip("abcde", row, strict=True)) for row in rng.standard_normal((50, 5)).tolist()]
    model = ForwardRegressor()
    for row in rows:
        model.learn_one(row, sum(row.values()))
    expected = [model.predict_one(row) for row in rows]
    wrong: list[int] = []

    def ask() -> None:
        for _ in range(200):
            wrong.extend(i for i, row in enumerate(rows) if model.predict_one(row) != expected[i])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with pytest.raises(ValueError, match="a"):
        model.predict_one({**rows[0], "a": 10**400})
