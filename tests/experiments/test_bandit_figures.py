"""Figures 3 and 4 in miniature, and their verdicts on results that are made up to come out each way."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward.experiments import base, figure3, figure4a, figure4b
from onward.experiments.bandit_games import kept_rounds, of
from onward.experiments.base import Claim

SMALL3 = figure3.Config(repeats=3, fresh_repeats=2, horizon=60, d=12, n_arms=4, kept=8)
SMALL4 = figure4a.Config(repeats=3, horizon=120, kept=6)


def verdicts(claims: Any) -> dict[str, str]:
    return {claim.name: claim.verdict for claim in claims}


def test_figure_3_in_miniature() -> None:
    frame = base.run(figure3, SMALL3)
    assert frame.select("arms", "norm", "index", "policy").unique().height == 24
    assert frame.filter(arms="fixed")["repeat"].n_unique() == 3
    assert frame.filter(arms="fresh")["repeat"].n_unique() == 2
    assert frame["round"].max() == 60
    for claim in figure3.claims(SMALL3, frame):
        assert isinstance(claim, Claim)
        assert len(claim.numbers) == 12
    drawings = figure3.draw(SMALL3, frame)
    assert [drawing.name for drawing in drawings] == ["figure3-fixed", "figure3-fresh"]
    for drawing in drawings:
        assert [len(panel.lines) for panel in drawing.panels] == [4, 2, 2] * 2
        assert all(panel.axes.get_xscale() == panel.axes.get_yscale() == "log" for panel in drawing.panels)


def test_figure_3_plays_what_it_says() -> None:
    players = figure3.policies(figure3.Config())
    assert players["OFUL^f printed"].width == "printed"
    assert players["OFUL^f no-bias"].bias == players["OFUL no-bias"].bias == "none"
    assert {(p.lam, p.delta, p.sigma) for p in players.values()} == {(1e-5, 1e-3, 0.1**0.5)}
    for arms, norm in itertools.product(figure3.ARMS, figure3.NORMS):
        world = figure3.world(figure3.Config(), arms, norm)
        assert (world.dimension, world.n_arms, world.action_bound) == (100, 10, 200.0)
        assert world.arms.fresh is (arms == "fresh")


def made_up(forward: dict[tuple[str, str, str], float]) -> pl.DataFrame:
    """OFUL loses 100 ± 1 in every variant, OFUL^f so many times as much."""
    rng = np.random.default_rng(0)
    rows = []
    for key in itertools.product(figure3.ARMS, figure3.NORMS, figure3.INDICES):
        for repeat in range(20):
            base_regret = 100 + rng.standard_normal()
            for policy, times in (("OFUL", 1.0), ("OFUL^f", forward[key])):
                rows.append((*key, policy, repeat, 10, times * (base_regret + 0.1 * rng.standard_normal())))
    return pl.DataFrame(rows, schema=["arms", "norm", "index", "policy", "repeat", "round", "regret"], orient="row")


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((1.0, 1.0), ("supported", "not supported")),
        ((0.3, 0.3), ("supported", "supported")),
        ((0.3, 3.0), ("partly", "partly")),
        ((3.0, 3.0), ("not supported", "not supported")),
        ((1.0, 0.3), ("supported", "partly")),
    ],
)
def test_verdicts_of_figure_3_come_out_each_way(times: tuple[float, float], expected: tuple[str, str]) -> None:
    keys = list(itertools.product(figure3.ARMS, figure3.NORMS, figure3.INDICES))
    frame = made_up({key: times[i >= 6] for i, key in enumerate(keys)})
    assert tuple(verdicts(figure3.claims(figure3.Config(), frame)).values()) == expected


@pytest.mark.parametrize("figure", [figure4a, figure4b])
def test_figure_4_in_miniature(figure: Any) -> None:
    config = figure.Config(repeats=3, horizon=120, kept=6)
    frame = base.run(figure, config)
    players = {"D-LinUCB", "D-LinUCB^f", "SW-LinUCB", "LinUCB", "dLinUCB"}
    assert set(frame["policy"]) == players | ({"LinUCB-OR"} if figure is figure4a else set())
    (drawing,) = figure.draw(config, frame)
    assert len(drawing.panels[0].lines) == frame["policy"].n_unique()
    assert np.allclose(drawing.panels[0].lines[0].y, of(frame, "D-LinUCB").mean(axis=0))
    assert len(figure.claims(config, frame)) == 2


def test_figure_4_has_the_published_settings() -> None:
    abrupt, slow = figure4a.Config(), figure4b.Config()
    assert abrupt.gamma == pytest.approx(0.99412, abs=1e-5)
    assert abrupt.window == 169
    assert (slow.variation, slow.window) == (1.5703, 387)
    assert figure4a._figure.world(abrupt).theta.change_points == (1000, 2000, 3000)
    assert figure4a._figure.world(abrupt).theta.variation(6000) == pytest.approx(abrupt.variation)
    assert figure4b._figure.world(slow).theta.variation(3000) == pytest.approx(slow.variation, abs=1e-4)


@pytest.mark.parametrize(
    ("forward", "window", "expected"),
    [
        (1.0, 0.7, ("supported", "supported")),
        (1.5, 1.4, ("not supported", "not supported")),
        (1.1, 1.0, ("partly", "partly")),
    ],
)
def test_verdicts_of_figure_4_come_out_each_way(forward: float, window: float, expected: tuple[str, str]) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for repeat in range(30):
        for policy, times in (("D-LinUCB", 1.0), ("D-LinUCB^f", forward), ("SW-LinUCB", window)):
            rows.append((policy, repeat, 10, times * 100 + rng.standard_normal()))
    frame = pl.DataFrame(rows, schema=["policy", "repeat", "round", "regret"], orient="row")
    assert tuple(verdicts(figure4a.claims(SMALL4, frame)).values()) == expected
    opposite = {"supported": "not supported", "not supported": "supported", "partly": "partly"}
    assert tuple(verdicts(figure4b.claims(SMALL4, frame)).values()) == (expected[0], opposite[expected[1]])


def test_rounds_are_kept_to_the_last() -> None:
    for log in (True, False):
        rounds = kept_rounds(1000, 20, log)
        assert (rounds[0], rounds[-1]) == (1, 1000)
        assert (np.diff(rounds) > 0).all()
        assert 10 <= len(rounds) <= 22
