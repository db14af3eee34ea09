"""Runs taken apart and put together again, and pictures of many policies."""

from typing import Any

import matplotlib.figure
import numpy as np
import pytest

from onward.bandits import EpsilonGreedy, LinUCB, Random, Runs, play
from onward.bandits.environments import Gaussian, LinearWorld, SphereArms, Stationary

WORLD = LinearWorld(SphereArms(4, 3), Stationary([1.0, 0.0, 0.5]), Gaussian(0.3))
SWEEP = {f"α={alpha:g}": LinUCB(alpha) for alpha in np.geomspace(0.01, 10, 8)}


@pytest.fixture(scope="module")
def runs() -> Runs:
    return play(SWEEP | {"ε": EpsilonGreedy(0.1), "random": Random()}, WORLD, 60, 4, chosen=True, trace=True)


def test_parts_make_the_whole(runs: Runs) -> None:
    names = list(runs.names)
    assert runs.select(names[:3]).join(runs.select(names[3:])) == runs
    assert runs.select(repeats=[1, 3]).merge(runs.select(repeats=[0, 2])) == runs
    assert runs.select() == runs
    assert runs.select("ε").names == ("ε",)
    assert list(runs.select("ε").settings["policies"]) == ["ε"]


def test_a_selection_holds_what_was_asked_for(runs: Runs) -> None:
    some = runs.select(["random", "ε"], repeats=[2, 0], rounds=(10, 20))
    assert some.names == ("random", "ε")
    assert some.repeat_numbers == (2, 0)
    assert some.rounds.tolist() == list(range(10, 21))
    assert (some["random"] == runs["random"][[2, 0], 9:20]).all()
    assert some.chosen is not None
    assert runs.chosen is not None
    assert (some.chosen[1] == runs.chosen[runs.names.index("ε")][[2, 0]]).all()
    with pytest.raises(KeyError, match="there is no policy 'none'"):
        runs.select("none")
    with pytest.raises(ValueError, match="expected repeats among"):
        runs.select(repeats=[7])
    with pytest.raises(ValueError, match="no round from 70 to 80 was kept"):
        runs.select(rounds=(70, 80))


def test_policies_that_were_played_later_are_joined(runs: Runs) -> None:
    later = play({"late": LinUCB(0.5)}, WORLD, 60, 4, chosen=True, trace=True)
    both = runs.select("ε").join(later)
    assert both == play({"ε": EpsilonGreedy(0.1), "late": LinUCB(0.5)}, WORLD, 60, 4, chosen=True, trace=True)


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"seed": 1}, "these runs have seed=0, the others have seed=1"),
        ({"horizon": 61}, "horizon=60, the others have horizon=61"),
        ({"repeats": 3}, "repeat_numbers=\\(0, 1, 2, 3\\)"),
        ({"keep": 2}, "kept 60 rounds, the others 30"),
        ({"chosen": False}, "both or neither to have kept the chosen actions"),
        ({"trace": False}, "traced \\['reward'\\], the others \\[\\]"),
        ({"delay": 1}, "were played with"),
        ({"world": LinearWorld(SphereArms(4, 3), Stationary([1.0, 0.0, 0.4]), Gaussian(0.3))}, "were played with"),
        ({"name": "ε"}, "expected different policies, got ε in both"),
    ],
)
def test_unlike_runs_are_not_joined(runs: Runs, others: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "world": WORLD,
        "horizon": 60,
        "repeats": 4,
        "chosen": True,
        "trace": True,
        "name": "other",
    } | others
    policies, world = {given.pop("name"): LinUCB()}, given.pop("world")
    with pytest.raises(ValueError, match=message):
        runs.join(play(policies, world, **given))


def test_many_policies_are_ranked(runs: Runs) -> None:
    figure = runs.plot_final()
    assert isinstance(figure, matplotlib.figure.Figure)
    (axes,) = figure.axes
    shown = [label.get_text() for label in axes.get_yticklabels()]
    assert shown == [runs.names[i] for i in np.argsort(runs.mean()[:, -1], kind="stable")]
    assert shown[-1] == "random"


def test_a_sweep_is_drawn_over_its_parameter(runs: Runs) -> None:
    (axes,) = runs.plot_final("alpha").axes
    line = max(axes.get_lines(), key=lambda line: np.size(line.get_xdata()))
    assert np.asarray(line.get_xdata()) == pytest.approx(np.geomspace(0.01, 10, 8))
    assert np.asarray(line.get_ydata()) == pytest.approx(runs.mean()[:8, -1])
    legend = axes.get_legend()
    assert legend is not None
    assert {text.get_text() for text in legend.get_texts()} >= {"ε", "random"}
    assert axes.get_xscale() == "log"
    with pytest.raises(ValueError, match="no policy has the parameter 'none'; expected one of alpha"):
        runs.plot_final("none")
