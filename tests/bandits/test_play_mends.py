"""Games and what is told of them: unlike masks, failures, many policies in a picture, and what is refused."""

from typing import Any

import numpy as np
import pytest

from onward.bandits import (
    ContextWorld,
    Disjoint,
    Greedy,
    Hybrid,
    LinUCB,
    LoggedData,
    LogWarning,
    Named,
    NamedArms,
    Random,
    Runs,
    compare_policies,
    evaluate,
    from_classification,
    play,
)

WORLD = ContextWorld(np.eye(3))


def test_runs_with_unlike_masks_are_not_joined() -> None:
    masks = np.random.default_rng(0).random((20, 3)) < 0.5
    masks[:, 0] = True
    turned = masks[::-1].copy()  # of the same share
    first, same, other = (
        play({name: Random()}, WORLD, 20, 2, available=each)
        for name, each in (("one", masks), ("two", np.vstack([masks, masks])), ("three", turned))
    )
    assert first.join(same).names == ("one", "two")
    with pytest.raises(ValueError, match="cannot join: these runs were played with"):
        first.join(other)


class Fails:
    """A policy that gives up in one repeat."""

    def __init__(self) -> None:
        self.fails = False

    def reseed(self, seed: np.random.SeedSequence) -> None:
        self.fails = seed.spawn_key[0] == 1

    def choose(self, actions: Any) -> int:
        if self.fails:
            raise RuntimeError("no")
        return 0

    def learn(self, action: Any, reward: float) -> None:
        pass


def test_failures_are_counted_and_said() -> None:
    players: dict[str, Any] = {"random": Random(), "fails": Fails(), "wide": Disjoint(Greedy(), 4)}
    runs = play(players, WORLD, 10, 3, on_error="record")
    assert runs.summary()["failed"].to_list() == [0, 1, 3]
    gap = runs.difference("random", "fails")
    assert np.isnan(gap.mean)
    assert str(gap) == "random − fails: nan, because fails failed in 1 of 3 repeats"
    wide = [failure for failure in runs.failures if failure.policy == "wide"]
    assert [failure.error for failure in wide] == [
        "ValueError: the policy has 4 arms, but the world has means of shape (3,)"
    ] * 3
    assert "failed" not in play({"random": Random()}, WORLD, 10, 3).summary().columns
    with pytest.raises(ValueError, match="the policy has 4 arms, but the world has means"):
        play({"wide": players["wide"]}, WORLD, 10)


def test_a_picture_of_many_policies_holds_its_legend() -> None:
    names = [f"disjoint linucb alpha={i} lam=0.1" for i in range(30)]
    figure = Runs(names, np.random.default_rng(1).random((30, 2, 5))).plot()
    figure.draw_without_rendering()
    (ax,) = figure.axes
    legend = ax.get_legend()
    assert legend is not None
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
    assert ax.get_window_extent().width > 0.4 * figure.bbox.width
    looks = {(line.get_color(), str(line.get_linestyle()), str(line._dash_pattern)) for line in ax.lines}  # type: ignore[attr-defined]
    assert len(looks) == 30


def test_policies_that_take_names_are_refused_where_arrays_are_meant() -> None:
    log = LoggedData(np.ones((4, 2, 3)), [0, 1, 0, 1], [0.5] * 4, [0.0, 1.0, 0.0, 1.0])
    for policy in (Named(LinUCB()), NamedArms(Disjoint(LinUCB(), 2)), Hybrid(LinUCB(), 2)):
        name: Any = type(policy).__name__
        one: Any = policy
        with pytest.raises(ValueError, match=f"a {name} cannot be judged on a log of arrays"):
            evaluate(one, log, method="snips")
        with pytest.raises(ValueError, match=f"policy 'one' is a {name}, which plays in no world yet"):
            play({"one": one}, WORLD, 10)


def test_a_comparison_of_policies_that_know_nothing_warns() -> None:
    rng = np.random.default_rng(2)
    log = LoggedData(rng.standard_normal((200, 3, 2)), rng.integers(0, 3, 200), np.full(200, 1 / 3), rng.random(200))
    with pytest.warns(LogWarning, match=r"learned nothing \(LinUCB\)"):
        compare_policies(log, LinUCB(seed=0), Random(seed=0), method="ips")
    compare_policies(log, LinUCB(seed=0), Random(seed=0), method="ips", learn="all")


def test_labels_that_are_none_are_refused() -> None:
    X = np.arange(40.0).reshape(40, 1)
    wrong_labels: list[tuple[Any, str]] = [
        (np.where(np.arange(40) == 7, np.nan, 1.0), r"got nan in row 7"),
        (["a"] * 39 + [None], "a class in each row, got None in row 39"),
        (np.arange(40) / 3, "got 40 different values in 40 rows"),
    ]
    for y, message in wrong_labels:
        with pytest.raises(ValueError, match=message):
            from_classification(X, y)
    run = from_classification(X, np.arange(40) % 3).start(0)
    for wrong in (-1, 3, 0.5):
        with pytest.raises(ValueError, match="chosen must be a whole number from 0 to 2"):
            run.reward(wrong)  # type: ignore[arg-type]
