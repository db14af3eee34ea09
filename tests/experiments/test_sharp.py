"""The section on the sharp index in miniature, and its verdicts on regrets that are made up."""

import io
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward.experiments import FIGURE_3, FIGURE_4B, SHARP, run
from onward.experiments.bandit_games import regret_matrix
from onward.experiments.sharp import INDICES, make_players

SMALL = SHARP.Config(
    repeats=3, undecided_times=1, fresh_repeats=2, horizon=80, d=12, n_arms=4, slow_horizon=120, kept=8
)
WORLDS = ("fixed-full", "fixed-uniform", "fresh-full", "fresh-uniform", "slow")


def test_in_miniature() -> None:
    frame = run(SHARP, SMALL)
    assert list(SMALL.worlds) == list(WORLDS)
    assert frame.select("part", "estimator", "index").unique().height == len(WORLDS) * len(INDICES)
    assert frame.filter(part="slow")["round"].max() == 120
    assert frame.filter(part="fresh-full")["repeat"].n_unique() == 2
    ratios, curves = SHARP.draw(SMALL, frame)
    assert [len(panel.lines) for panel in curves.panels] == [5] * 5
    plain = regret_matrix(frame, part="slow", estimator="ridge", index="plain")
    np.testing.assert_allclose(curves.panels[-1].lines[0].y, plain.mean(axis=0))
    for drawing in (ratios, curves):
        drawing.figure.savefig(io.BytesIO())
    found = SHARP.claims(SMALL, frame)
    assert [claim.id for claim in found] == ["fixed-arms", "less-than-tight", "clipped", "clipped-slow", "slow-change"]
    assert all(claim.ours for claim in found)


def test_it_is_played_in_the_worlds_of_the_figures() -> None:
    """With the paper's index it is figure 3's OFUL^f and figure 4b's D-LinUCB^f, round for round."""
    config = SHARP.Config(repeats=2, undecided_times=1, fresh_repeats=2, horizon=60, d=12, n_arms=4, slow_horizon=120)
    frame = run(SHARP, config)
    third = FIGURE_3.Config(
        repeats=2, undecided_times=1, fresh_repeats=2, horizon=60, d=12, n_arms=4, map_horizon=2, map_repeats=1
    )
    theirs = run(FIGURE_3, third).filter(part="curves", index="full")
    for world in WORLDS[:4]:
        arms, norm = world.split("-")
        for policy, estimator, index in (("OFUL", "ridge", "plain"), ("OFUL^f", "forward", "tight")):
            ours = regret_matrix(frame, part=world, estimator=estimator, index=index, round=60)
            expected = regret_matrix(theirs, arms=arms, norm=norm, policy=policy, round=60)
            np.testing.assert_allclose(ours, expected, rtol=1e-9)
    slow = run(FIGURE_4B, FIGURE_4B.Config(repeats=2, undecided_times=1, horizon=120))
    for beta, index in (("tight", "tight"), ("sharp", "sharp")):
        ours = regret_matrix(frame, part="slow", estimator="forward", index=index, round=120)
        expected = regret_matrix(slow, policy="D-LinUCB^f", beta=beta, round=120)
        np.testing.assert_allclose(ours, expected, rtol=1e-9)


@pytest.mark.parametrize("slow", [False, True])
def test_the_indices_are_what_they_are_said_to_be(slow: bool) -> None:
    """Sharp is between ridge's index and ‖x‖S by the leverage, and clipped is the lesser of both."""
    players = {
        (each.labels["estimator"], each.labels["index"]): each.policy for each in make_players(SHARP.Config(d=3), slow)
    }
    rng = np.random.default_rng(2)
    cut = 0
    for _ in range(30):
        arms = rng.standard_normal((6, 3))
        arms /= np.linalg.norm(arms, axis=1)[:, None]
        most = np.ones(6)  # S = 1
        ridge, q = players["ridge", "plain"].index(arms), players["ridge", "plain"].leverage(arms)
        h = q / (1 + q)
        cut += int((ridge > most).any())
        np.testing.assert_allclose(players["ridge", "clipped"].index(arms), np.minimum(ridge, most), rtol=1e-9)
        np.testing.assert_allclose(players["forward", "sharp"].index(arms), (1 - h) * ridge + h * most, rtol=1e-9)
        assert (players["forward", "tight"].index(arms) > players["forward", "sharp"].index(arms)).any()
        for policy in players.values():
            policy.learn(arms[0], float(arms[0, 0]))
    assert cut > 0  # clipping was tried


def made_up(**times: float) -> pl.DataFrame:
    """Ridge loses 100 ± 1 everywhere, the others so many times that; `sharp_slow` is for one world."""
    rng = np.random.default_rng(0)
    rows = []
    for world in WORLDS:
        for estimator, index in INDICES:
            for repeat in range(40):
                here = times.get(f"{index}_{world.replace('-', '_')}", times.get(index, 1.0))
                rows.append((world, estimator, index, repeat, 10, here * (100 + rng.standard_normal())))
    return pl.DataFrame(rows, schema=["part", "estimator", "index", "repeat", "round", "regret"], orient="row")


def verdicts(**times: float) -> dict[str, Any]:
    return {claim.id: claim.verdict for claim in SHARP.claims(SMALL, made_up(**times))}


def test_verdicts_come_out_each_way() -> None:
    assert verdicts(sharp=6.0, tight=50.0)["fixed-arms"] == "supported"
    assert verdicts(sharp=9.0, tight=50.0)["fixed-arms"] == "not supported"
    assert verdicts(sharp=8.0, tight=50.0)["fixed-arms"] == "undecided"
    assert verdicts(sharp=6.0, tight=50.0)["less-than-tight"] == "supported"
    assert verdicts(sharp=6.0, tight=50.0, tight_slow=3.0)["less-than-tight"] == "partly"
    assert verdicts(sharp=6.0, tight=3.0)["less-than-tight"] == "not supported"
    assert verdicts(clipped=1.0)["clipped"] == "supported"
    assert verdicts(clipped=1.0, clipped_fresh_full=3.0)["clipped"] == "partly"
    assert verdicts(clipped=1.0, clipped_fresh_full=1.05)["clipped"] == "undecided"
    assert verdicts(clipped=1.0, clipped_slow=3.0)["clipped"] == "supported"
    assert verdicts(clipped=1.0, clipped_slow=3.0)["clipped-slow"] == "not supported"
    assert verdicts(clipped=1.2)["clipped"] == "not supported"
    assert verdicts(sharp_slow=1.0)["slow-change"] == "supported"
    assert verdicts(sharp_slow=1.2)["slow-change"] == "not supported"
