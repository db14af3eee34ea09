"""A labelled table as a bandit, and policies by name."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.random import SeedSequence
from numpy.testing import assert_allclose, assert_array_equal

from onward.bandits import Disjoint, EpsilonGreedy, LinUCB, Random, evaluate, play
from onward.bandits.labelled_world import from_classification
from onward.bandits.named_worlds import NAMED_WORLDS, labelled_file, named_world
from onward.bandits.policy_names import named_policy, policy_kinds

RNG = np.random.default_rng(60)
X = np.column_stack([RNG.standard_normal((90, 2)), np.full(90, 7.0)])
Y = np.array(["b", "a", "c"])[np.argmax(X[:, :2] @ [[3.0, -3.0, 0.0], [0.0, 0.0, 2.0]], axis=1)]
WORLD = from_classification(X, Y)


def test_rows_in_blocks_and_one_for_the_right_class() -> None:
    run = WORLD.start(SeedSequence(1))
    order = np.random.default_rng(SeedSequence(1)).permutation(90)
    scaled = np.column_stack([(X[:, :2] - X[:, :2].mean(axis=0)) / X[:, :2].std(axis=0), np.zeros(90), np.ones(90)])
    for t in range(200):  # more than twice through the table
        if t < 90:
            row, label = scaled[order[t]], Y[order[t]]
            assert_allclose(run.context(), row)
            assert_array_equal(run.means(), [label == name for name in ("a", "b", "c")])
        offer = run.offer()
        assert offer.shape == (3, 12)
        assert_array_equal(offer.reshape(3, 3, 4)[np.arange(3), np.arange(3)], [run.context()] * 3)
        assert np.count_nonzero(offer) == 3 * np.count_nonzero(run.context())
        right = int(np.argmax(run.means()))
        chosen = t % 3
        assert run.reward(chosen) == float(chosen == right)


def test_scaling_on_the_way_knows_what_came_and_no_more() -> None:
    world = from_classification(X, Y, scaling="online", intercept=False)
    run, order = world.start(SeedSequence(2)), np.random.default_rng(SeedSequence(2)).permutation(90)
    for t in range(30):
        seen = X[order[: t + 1]]
        spread = np.where(seen.std(axis=0) > 1e-12, seen.std(axis=0), 1.0)
        assert_allclose(run.context(), (seen[-1] - seen.mean(axis=0)) / spread, atol=1e-9)
        run.reward(0)
    raw = from_classification(X, Y, scaling=None, intercept=False)
    assert_array_equal(raw.start(SeedSequence(2)).context(), X[order[0]])


def test_it_is_played_and_learned() -> None:
    runs = play({"random": Random(), "greedy": EpsilonGreedy(0.1)}, WORLD, 300, repeats=3, seed=4)
    again = play({"greedy": EpsilonGreedy(0.1), "random": Random()}, WORLD, 300, repeats=3, seed=4)
    assert_array_equal(runs["greedy"], again["greedy"])
    assert abs(runs["random"][:, -1].mean() - 200) < 30
    assert runs["greedy"][:, -1].mean() < 90
    assert runs.settings["environment"]["scaling"] == "beforehand"


def test_a_log_of_it() -> None:
    policy = EpsilonGreedy(0.3, seed=0)
    log = WORLD.log(policy, n=400, seed=3)
    assert policy.n_learned == 0
    assert len(log) == 400
    assert log.contexts is not None
    assert set(np.round(log.propensity, 6)) <= {0.1, 0.8, 0.333333, 0.45}  # with ties among two or three
    assert 0.6 < log.reward.mean() < 0.9
    apart = WORLD.log(Disjoint(EpsilonGreedy(0.3, seed=0), ["a", "b", "c"]), n=400, seed=3)
    assert_array_equal(apart.contexts, log.contexts)
    assert len(WORLD.log()) == 90
    assert set(WORLD.log().propensity) == {1 / 3}
    value = evaluate(Disjoint(EpsilonGreedy(0.1, seed=1), 3), log, method="dr", learn="all")
    assert value.warnings == ()
    assert 0.6 < value.value < 1.0


BAD: list[tuple[Any, Any, dict[str, Any], str]] = [
    ([["a"]], [0], {}, "X must be a table of numbers"),
    ([1.0, 2.0], [0, 1], {}, r"X must be finite numbers of shape \(n, c\), got shape \(2,\)"),
    ([[1.0], [np.nan]], [0, 1], {}, "X must be finite numbers"),
    ([[1.0], [2.0]], [0], {}, r"y must have shape \(2,\) as X has 2 rows, got \(1,\)"),
    ([[1.0], [2.0]], [1, 1], {}, r"y must hold at least two classes, got \[1\]"),
    ([[1.0], [2.0]], [0, 1], {"scaling": "later"}, "scaling must be one of beforehand, online or None, got 'later'"),
]


@pytest.mark.parametrize(("rows", "labels", "settings", "message"), BAD)
def test_what_is_no_labelled_table(rows: Any, labels: Any, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_classification(rows, labels, **settings)


def test_labelled_files(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    pl.DataFrame({"x": [1.0, 2.0, 4.0], "city": ["Rome", "Oslo", "Rome"], "kind": ["u", "v", "u"]}).write_csv(file)
    world = labelled_file(file, "kind", scaling=None)
    assert (world.n_arms, world.n_features) == (2, 4)
    assert_array_equal(world.rows, [[1, 0, 1], [2, 1, 0], [4, 0, 1]])
    assert labelled_file(file, "kind", ["x"]).n_features == 2
    with pytest.raises(ValueError, match="there is no column 'sort'"):
        labelled_file(file, "sort")
    file.write_text("x,kind\n1,u\n,v\n", encoding="utf-8")
    with pytest.raises(ValueError, match="column 'x' holds nothing in row 1, expected a value"):
        labelled_file(file, "kind")


def test_policies_by_name() -> None:
    assert named_policy("LinUCB alpha=1 lam=0.5").describe() == LinUCB(alpha=1, lam=0.5).describe()
    assert policy_kinds()["linucb"] is LinUCB
    assert type(named_policy("thompson")).__name__ == "LinTS"
    assert named_policy("epsilon-greedy epsilon=0.3").describe()["epsilon"] == 0.3
    assert named_policy("oful estimator=forward").estimator == "forward"  # type: ignore[union-attr]
    apart = named_policy("disjoint linucb", n_arms=4)
    assert isinstance(apart, Disjoint)
    assert len(apart.arms) == 4
    for text, message in (
        ("", "expected the name of a policy, got nothing"),
        ("best", "there is no policy 'best'; expected one of "),
        ("linucb 3", "expected parameter=value, got '3'"),
        ("linucb beta=3", "policy 'linucb beta=3': LinUCB has no parameter 'beta'"),
        ("linucb alpha=-1", "policy 'linucb alpha=-1': alpha must be"),
        ("disjoint linucb", "disjoint arms need contexts"),
    ):
        with pytest.raises(ValueError, match=message):
            named_policy(text)


@pytest.mark.parametrize("name", NAMED_WORLDS)
def test_worlds_by_name(name: str) -> None:
    run = named_world(name, arms=7, features=3, sigma=0.1, rounds=50).start(0)
    assert run.offer().shape == (7, 3)
    assert np.linalg.norm(run.offer(), axis=1).max() <= 1 + 1e-9
