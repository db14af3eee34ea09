"""Policies that version 0.1.0 saved go on as they would have then: files/ was written by it, with what it did next."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from onward import load, storage
from onward.bandits import OFUL, Disjoint, EpsilonGreedy, Policy, SWLinUCB
from onward.bandits.settings import N_SETTINGS, memory_at
from onward.core.types import Matrix

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def rounds(n: int, d: int, seed: int) -> list[tuple[Matrix, float]]:
    rng = np.random.default_rng(seed)
    return [(rng.standard_normal((4, d)), float(rng.standard_normal() + (3 if t > n // 2 else 0))) for t in range(n)]


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "Disjoint"])
def test_an_old_policy_goes_on_as_it_would_have(name: str, tmp_path: Path) -> None:
    policy = load(FILES / f"{name}.onward")
    assert isinstance(policy, Policy)
    policy.reward("late", 0.7)
    expected, chosen, index = EXPECTED[name], [], np.empty(0)
    for t, (actions, reward) in enumerate(rounds(20, 6, 4)):
        if t == 10:  # and once it is saved anew
            policy.save(tmp_path / "policy.onward")
            policy = load(tmp_path / "policy.onward")
        index = policy.index(actions)
        chosen.append(policy.choose(actions))
        policy.learn(actions[chosen[-1]], reward)
    assert chosen == expected["chosen"]
    assert policy.n_learned == expected["learned"]
    assert_allclose(index, expected["last_index"], rtol=1e-9)


def test_an_old_policy_for_each_arm_does_too() -> None:
    policy = load(FILES / "Disjoint.onward")
    assert isinstance(policy, Disjoint)
    chosen = []
    for actions, reward in rounds(12, 3, 4):
        chosen.append(policy.choose(actions[0]))
        policy.learn(chosen[-1], actions[0], reward)
    assert chosen == EXPECTED["Disjoint"]["chosen"]
    assert_allclose(policy.index(rounds(12, 3, 4)[-1][0][0]), EXPECTED["Disjoint"]["last_index"], rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "policy", [OFUL(bias="tight", seed=1), SWLinUCB(3, bias="tight", seed=1), EpsilonGreedy(seed=1)], ids=repr
)
def test_files_with_fewer_settings_go_on(policy: Policy, d: int, tmp_path: Path) -> None:
    """Files from before there was a choice of radius: 24 settings in a buffer, and none of that choice."""
    policy, rng = copy.deepcopy(policy), np.random.default_rng(0)
    for x in rng.standard_normal((8, d)):
        policy.learn(x, float(x.sum()))
    own = {"generator": policy.generator.bit_generator.state, "dimension": d, "pending": []}
    described = {name: value for name, value in policy.describe().items() if name != "radius"}
    kept = 4 + 3 * d
    head = np.zeros((24 + kept + 7) // 8 * 8)
    head[:24], head[24 : 24 + kept] = policy._buffer[:24], policy._buffer[N_SETTINGS : N_SETTINGS + kept]
    buffer = np.concatenate([head, policy._buffer[memory_at(d) :]])
    storage.save(tmp_path / "old.onward", "policy", described | own, {"pending": np.empty((0, d)), "buffer": buffer})
    again = load(tmp_path / "old.onward")
    actions = rng.standard_normal((5, d))
    assert np.array_equal(again.index(actions), policy.index(actions))
    assert again.describe() == policy.describe()
