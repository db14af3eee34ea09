"""Figures 3 and 4 in miniature, and their verdicts on results that are made up to come out each way."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward.bandits import DLinUCB, Optimistic
from onward.experiments import FIGURE_3, FIGURE_4A, FIGURE_4B, run
from onward.experiments.bandit_games import regret_matrix, spaced_rounds
from onward.experiments.changing_worlds import BETAS, make_players
from onward.experiments.figure3 import make_players as make_figure3_players
from onward.experiments.figure3 import make_world
from onward.experiments.figure3_settings import ARMS, NORMS, VARIANTS, Variant

SMALL3 = FIGURE_3.Config(
    repeats=3,
    undecided_times=1,
    fresh_repeats=2,
    horizon=60,
    d=12,
    n_arms=4,
    kept=8,
    map_lams=(1e-5, 1.0),
    map_horizon=30,
    map_repeats=2,
)
SMALL4 = FIGURE_4A.Config(repeats=3, undecided_times=1, horizon=120, kept=6)


def verdicts(claims: Any) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in claims}


def test_figure_3_in_miniature() -> None:
    frame = run(FIGURE_3, SMALL3)
    curves, cells = frame.filter(part="curves"), frame.filter(part="map")
    assert curves.select("arms", "norm", "index", "policy").unique().height == 24
    assert cells.select("arms", "norm", "index", "policy", "lam").unique().height == 48
    assert curves.filter(arms="fixed")["repeat"].n_unique() == 3
    assert curves.filter(arms="fresh")["repeat"].n_unique() == 2
    assert (curves["round"].max(), cells["round"].unique().to_list()) == (60, [30])
    found = FIGURE_3.claims(SMALL3, frame)
    assert [claim.id for claim in found] == ["never-much-worse", "less-regret", "more-robust"]
    drawings = FIGURE_3.draw(SMALL3, frame)
    names = ["figure3-fixed", "figure3-fixed-log", "figure3-fresh", "figure3-fresh-log", "figure3-map"]
    assert [drawing.name for drawing in drawings] == names
    for drawing in drawings[:4]:
        assert [len(panel.lines) for panel in drawing.panels] == [4, 2, 2] * 2
        scales = {(panel.axes.get_xscale(), panel.axes.get_yscale()) for panel in drawing.panels}
        assert scales == {("log" if drawing.name.endswith("log") else "linear", "log")}


def test_figure_3_draws_the_quartiles_where_they_are() -> None:
    """One repeat in four loses next to nothing: the band reaches down to it, however far that is below the mean."""
    frame = run(FIGURE_3, SMALL3)
    few = frame.with_columns(
        regret=pl.when(pl.col("repeat") == 0).then(1e-6 * pl.col("regret")).otherwise(pl.col("regret"))
    )
    (drawing, *_) = FIGURE_3.draw(SMALL3, few)
    line, axes = drawing.panels[0].lines[0], drawing.panels[0].axes
    regret = regret_matrix(few.filter(part="curves"), policy="OFUL", arms="fixed", norm="full", index="full")
    assert np.allclose(np.asarray(line.lower), np.quantile(regret, 0.25, axis=0))
    drawn = np.concatenate([np.asarray(path.vertices)[:, 1] for path in axes.collections[0].get_paths()])
    assert drawn.min() == pytest.approx(np.asarray(line.lower).min())


def test_figure_3_plays_what_it_says() -> None:
    players = make_figure3_players(FIGURE_3.Config(), 1e-5)
    rules = {(each.labels["policy"], each.labels["index"]): each.policy.parameters for each in players}
    assert rules["OFUL^f", "printed"]["width"] == "printed"
    assert rules["OFUL^f", "no-bias"]["bias"] == rules["OFUL", "no-bias"]["bias"] == "none"
    assert {each.labels["lam"] for each in players} == {1e-5}
    told = {(each.policy.lam, each.policy.known.delta, each.policy.known.sigma) for each in players}
    assert told == {(1e-5, 1e-3, 0.1**0.5)}
    for arms, norm in itertools.product(ARMS, NORMS):
        world = make_world(FIGURE_3.Config(), arms, norm)
        assert (world.dimension, world.n_arms, world.action_bound) == (100, 10, 200.0)
        assert world.arms.fresh is (arms == "fresh")


def made_up(forward: dict[Variant, float], small: float = 1.0) -> pl.DataFrame:
    """OFUL loses 100 ± 1 in every variant, OFUL^f so many times that; the smallest λ costs OFUL `small` times 100."""
    rng = np.random.default_rng(0)
    rows = []
    lams = FIGURE_3.Config().map_lams
    cells = [("curves", 1e-5, 1.0), *(("map", lam, small if lam == 1e-5 else 1.0) for lam in lams)]
    for key, (part, lam, cost) in itertools.product(VARIANTS, cells):
        for repeat in range(30):
            regret = 100 + rng.standard_normal()
            for policy, times in (("OFUL", cost), ("OFUL^f", forward[key])):
                noisy = times * (regret + 0.1 * rng.standard_normal())
                rows.append((part, key.arms, key.norm, key.index, float(lam), policy, repeat, 10, noisy))
    columns = ["part", "arms", "norm", "index", "lam", "policy", "repeat", "round", "regret"]
    return pl.DataFrame(rows, schema=columns, orient="row")


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
    frame = made_up({key: times[i >= 6] for i, key in enumerate(VARIANTS)})
    found = verdicts(FIGURE_3.claims(FIGURE_3.Config(), frame))
    assert (found["never-much-worse"], found["less-regret"]) == expected


@pytest.mark.parametrize(("small", "expected"), [(3.0, "supported"), (1.1, "not supported"), (0.5, "not supported")])
def test_robustness_of_figure_3_is_about_lambda(small: float, expected: str) -> None:
    """Whatever the level: OFUL^f loses ten times as much at every λ, and may still be the more robust one."""
    frame = made_up(dict.fromkeys(VARIANTS, 10.0), small)
    assert verdicts(FIGURE_3.claims(FIGURE_3.Config(), frame))["more-robust"] == expected


def test_settings_out_of_range_are_refused() -> None:
    for make, message in (
        (lambda: FIGURE_3.Config(kept=0), "kept must be a whole number >= 1, got 0"),
        (lambda: FIGURE_3.Config(fresh_repeats=0), "fresh_repeats must be a whole number >= 1"),
        (lambda: FIGURE_3.Config(map_lams=(1.0,)), "at least two values"),
        (lambda: FIGURE_4A.Config(d=1), "d must be a whole number >= 2, got 1"),
        (lambda: FIGURE_4A.Config(repeats=0), "repeats must be a whole number >= 1"),
        (lambda: FIGURE_3.Config(theta_norm=2.0), "theta_bound must be at least theta_norm = 2, got 1"),
        (lambda: FIGURE_3.Config(theta_law="cube"), "theta_law must be 'sphere' or 'ball', got 'cube'"),
        (lambda: FIGURE_4A.Config(variation=1e9), "variation must be below"),
        (lambda: FIGURE_4A.Config(width="printed"), "width must be one of uniform, determinant, got 'printed'"),
        (lambda: FIGURE_4A.Config(betas=("loose",)), "beta and betas must be among unchanged, tight"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize("figure", [FIGURE_4A, FIGURE_4B])
def test_figure_4_in_miniature(figure: Any) -> None:
    config = figure.Config(repeats=3, undecided_times=1, horizon=120, kept=6)
    frame = run(figure, config)
    players = {"D-LinUCB", "D-LinUCB^f", "SW-LinUCB", "LinUCB", "dLinUCB"}
    assert set(frame["policy"]) == players | ({"LinUCB-OR"} if figure is FIGURE_4A else set())
    assert set(frame.filter(policy="D-LinUCB^f")["beta"]) == set(BETAS)
    regret, by_beta = figure.draw(config, frame)
    assert len(regret.panels[0].lines) == frame["policy"].n_unique()
    assert np.allclose(regret.panels[0].lines[0].y, regret_matrix(frame, policy="D-LinUCB").mean(axis=0))
    own = regret_matrix(frame, policy="D-LinUCB^f", beta=config.beta)
    assert np.allclose(regret.panels[0].lines[1].y, own.mean(axis=0))
    assert all(words in by_beta.alternative for words in BETAS.values())
    assert len(figure.claims(config, frame)) == 2


@pytest.mark.parametrize("width", ["uniform", "determinant"])
def test_figure_4_plays_what_it_says(width: str) -> None:
    """All have the same kind of width, and an unchanged β is D-LinUCB's own."""
    config = FIGURE_4A.Config(width=width, theta_bound=2.0, lam=0.3, delta=0.05)
    players = {(each.labels["policy"], each.labels["beta"]): each.policy for each in make_players(config, [20])}
    assert len(players) == 5 + len(BETAS)
    for (_, beta), policy in players.items():
        if beta != "unchanged":
            assert policy.parameters["width"] == width
            assert policy.parameters["bias"] == (beta or "tight")
    rule = players["D-LinUCB^f", "unchanged"].rule
    assert isinstance(rule, Optimistic)
    reread = DLinUCB(
        config.gamma, 0.3, sigma=1.0, delta=0.05, estimator="ridge", width=rule.width, bias="none",
        theta_bound=2.0, action_bound=1.0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(40):
        arms = rng.standard_normal((5, 2))
        arms /= np.maximum(1.0, np.linalg.norm(arms, axis=1))[:, None]
        np.testing.assert_allclose(reread.index(arms), players["D-LinUCB", ""].index(arms), rtol=1e-9)
        for policy in (reread, players["D-LinUCB", ""]):
            policy.learn(arms[0], float(arms[0, 0]))


def test_figure_4_has_the_published_settings() -> None:
    abrupt, slow = FIGURE_4A.Config(), FIGURE_4B.Config()
    assert abrupt.gamma == pytest.approx(0.99412, abs=1e-5)
    assert abrupt.window == 169
    assert (slow.variation, slow.window) == (1.5703, 387)
    assert FIGURE_4A.make_world(abrupt).theta.change_points == (1000, 2000, 3000)
    assert FIGURE_4A.make_world(abrupt).theta.variation(6000) == pytest.approx(abrupt.variation)
    assert FIGURE_4B.make_world(slow).theta.variation(3000) == pytest.approx(slow.variation, abs=1e-4)


def changing(policies: dict[tuple[str, str], float], repeats: int = 60) -> pl.DataFrame:
    """Policies, with their β, that lose so many times 100 ± 1."""
    rng = np.random.default_rng(0)
    rows = [
        (policy, beta, repeat, 10, times * 100 + rng.standard_normal())
        for repeat in range(repeats)
        for (policy, beta), times in policies.items()
    ]
    return pl.DataFrame(rows, schema=["policy", "beta", "repeat", "round", "regret"], orient="row")


def rivals(window: float, **betas: float) -> dict[tuple[str, str], float]:
    forward = {("D-LinUCB^f", beta): betas.get(beta, betas["tight"]) for beta in BETAS}
    return {("D-LinUCB", ""): 1.0, ("SW-LinUCB", ""): window, **forward}


@pytest.mark.parametrize(
    ("forward", "window", "expected"),
    [
        (1.0, 0.7, ("supported", "supported")),
        (1.5, 1.4, ("not supported", "not supported")),
        (1.1, 1.0, ("undecided", "undecided")),
    ],
)
def test_verdicts_of_figure_4_come_out_each_way(forward: float, window: float, expected: tuple[str, str]) -> None:
    frame = changing(rivals(window, tight=forward))
    assert tuple(verdicts(FIGURE_4A.claims(SMALL4, frame)).values()) == expected
    slow = verdicts(FIGURE_4B.claims(SMALL4, frame))
    assert slow["forward-on-par"] == expected[0]
    better = "supported" if window > 1.1 else "not supported" if window < 1 else "undecided"
    assert slow["d-linucb-better"] == better


def test_another_beta_makes_it_partly_so() -> None:
    claim = FIGURE_4B.claims(SMALL4, changing(rivals(1.0, tight=1.2, unchanged=1.0)))[0]
    assert claim.verdict == "partly"
    assert claim.regime == BETAS["unchanged"]
    assert f"with {BETAS['unchanged']}: " in claim.finding


def test_too_few_repeats_decide_nothing() -> None:
    frame = changing(rivals(2.0, tight=1.0), repeats=1)
    assert set(verdicts(FIGURE_4A.claims(SMALL4, frame)).values()) == {"undecided"}


def test_rounds_are_kept_to_the_last() -> None:
    for log in (True, False):
        rounds = spaced_rounds(1000, 20, log)
        assert (rounds[0], rounds[-1]) == (1, 1000)
        assert (np.diff(rounds) > 0).all()
        assert 10 <= len(rounds) <= 22
    assert spaced_rounds(60, 120, log=False)[0] == 1
