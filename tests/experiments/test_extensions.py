"""Graphs and tasks in miniature, and their verdicts on results that are made up to come out each way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from onward.bandits import MetaOFUL
from onward.bandits.structured_worlds import SmoothTheta
from onward.cli import app
from onward.experiments import EXTENSIONS, FIGURES, GRAPH_BANDITS, TASK_BANDITS, run
from onward.experiments.graph_bandits import make_players as make_graph_players
from onward.experiments.graph_settings import INDICES, POLICIES
from onward.experiments.reproduction import configure
from onward.experiments.task_bandits import make_players as make_task_players
from onward.experiments.task_claims import task_regrets
from onward.experiments.task_settings import ESTIMATORS, STARTS

GRAPHS = GRAPH_BANDITS.Config(repeats=2, undecided_times=1, horizon=20, sizes=(8, 12), kept=4)
TASKS = TASK_BANDITS.Config(repeats=2, undecided_times=1, n_tasks=4, rounds=10)


def verdicts(claims: Any) -> dict[str, str]:
    return {claim.id: claim.verdict for claim in claims}


def test_graphs_in_miniature() -> None:
    frame = run(GRAPH_BANDITS, GRAPHS)
    assert frame.select("part", "policy", "index", "nodes").unique().height == 4 * 4 * 2 * 2
    assert frame["repeat"].n_unique() == 2
    assert (frame["regret"] >= 0).all()
    dimensions = frame.filter(pl.col("part") == "geometric-sigma0.1").select("repeat", "nodes", "dimension").unique()
    assert dimensions.height == 4  # each graph has its own
    assert [claim.id for claim in GRAPH_BANDITS.claims(GRAPHS, frame)] == [
        "beats-oful",
        "scales-with-dimension",
        "forward-helps",
    ]
    curves, sizes = GRAPH_BANDITS.draw(GRAPHS, frame)
    assert [len(panel.lines) for panel in curves.panels] == [4] * 8
    assert [len(panel.lines) for panel in sizes.panels] == [5] * 4
    first, second = (GRAPHS.make_basis("preferential", 12, repeat) for repeat in (0, 1))
    assert not np.allclose(first.eigenvalues, second.eigenvalues)


def test_graph_policies_are_told_the_truth() -> None:
    rewards = SmoothTheta(GRAPHS.make_basis("geometric", 12, 0), 5)
    players = {
        (each.labels["policy"], each.labels["index"]): each.policy for each in make_graph_players(GRAPHS, rewards, 0.5)
    }
    assert len(players) == 8
    for (name, index), policy in players.items():
        kind, estimator = POLICIES[str(name)]
        assert policy.estimator == estimator
        assert policy.parameters["bias"] == ("none" if index == "no-bias" else "sharp")
        assert policy.lam is not None
        lams = np.broadcast_to(np.asarray(policy.lam), 12)
        reach = policy.known.theta_bound * np.sqrt(lams.max())  # ‖α*‖ in the norm of the λ
        for seed in range(20):
            alpha = rewards.draw(np.random.default_rng(seed))
            assert np.sqrt(lams @ alpha**2) <= reach * (1 + 1e-12)
        assert (lams[0] == lams[-1]) == (kind == "plain")


def made_up_graphs(regret: Callable[[str, str, str, float], float]) -> tuple[Any, pl.DataFrame]:
    """Regrets by policy, index, world and nodes, with 5% of noise; the dimension grows as √N."""
    config, rng, rows = GRAPH_BANDITS.Config(repeats=60), np.random.default_rng(0), []
    for world in config.worlds:
        for nodes in config.sizes:
            for repeat in range(60):
                for policy in POLICIES:
                    for index in INDICES:
                        value = regret(policy, index, world, nodes) * (1 + 0.05 * rng.standard_normal())
                        rows.append((world, policy, index, float(nodes), np.sqrt(nodes), repeat, 400, value))
    names = ["part", "policy", "index", "nodes", "dimension", "repeat", "round", "regret"]
    return config, pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (
            lambda policy, index, world, n: {"SpectralUCB": n**0.3, "SpectralUCB^f": 0.8 * n**0.3}.get(policy, n),
            ("supported", "supported", "supported"),
        ),
        (
            lambda policy, index, world, n: {
                "SpectralUCB": n**0.3 if "geo" in world else 2 * n,
                "SpectralUCB^f": n,
            }.get(policy, n),
            ("partly", "partly", "partly"),
        ),
        (
            lambda policy, index, world, n: {"SpectralUCB": 2 * n, "SpectralUCB^f": 3 * n}.get(policy, n),
            ("not supported", "not supported", "not supported"),
        ),
        (lambda policy, index, world, n: n**0.5, ("undecided", "undecided", "undecided")),
    ],
    ids=["as they say", "on some graphs", "nowhere", "all alike"],
)
def test_verdicts_of_graphs(regret: Any, expected: tuple[str, ...]) -> None:
    config, frame = made_up_graphs(regret)
    assert tuple(verdicts(GRAPH_BANDITS.claims(config, frame)).values()) == expected


def test_tasks_in_miniature() -> None:
    frame = run(TASK_BANDITS, TASKS)
    assert frame.select("part", "start", "estimator").unique().height == 6 * 4 * 2
    assert frame["round"].unique().sort().to_list() == [10, 20, 30, 40]
    each = task_regrets(frame, "sigma0.1-spread0.3", "learned", "ridge")
    total = frame.filter(part="sigma0.1-spread0.3", start="learned", estimator="ridge", repeat=0, round=40)[
        "regret"
    ].item()
    assert each[0].sum() == pytest.approx(total)
    first = {start: task_regrets(frame, "sigma0.1-spread0.3", start, "ridge")[:, 0] for start in STARTS}
    assert np.allclose(first["zero"], first["learned"])  # in the first task there is nothing to learn from
    assert np.allclose(first["zero"], first["proven"])
    assert len(TASK_BANDITS.claims(TASKS, frame)) == 5
    (drawing,) = TASK_BANDITS.draw(TASKS, frame)
    assert [len(panel.lines) for panel in drawing.panels] == [8] * 6


def test_task_policies_are_told_the_truth() -> None:
    players = {
        (each.labels["start"], each.labels["estimator"]): each.policy for each in make_task_players(TASKS, 0.5, 0.3)
    }
    zero: Any = players["zero", "ridge"]
    oracle: Any = players["oracle", "forward"]
    assert (zero.known.theta_bound, zero.prior_mean) == (1.3, None)
    assert (oracle.known.theta_bound, oracle.prior_mean) == (0.3, (1.0, 0.0, 0.0, 0.0, 0.0))
    for start, trust in (("learned", "spread"), ("proven", "proven")):
        meta = players[start, "ridge"]
        assert isinstance(meta, MetaOFUL)
        assert (meta.trust, meta.spread, meta.rounds, meta.policy.known.theta_bound) == (trust, 0.3, 10, 1.3)


def made_up_tasks(regret: Callable[[str, str, float], float]) -> tuple[Any, pl.DataFrame]:
    """Regrets of a task by start, estimator and spread, with 5% of noise."""
    config, rng, rows = TASK_BANDITS.Config(n_tasks=4, rounds=10), np.random.default_rng(0), []
    for world, (_, spread) in config.worlds.items():
        for start in STARTS:
            for estimator in ESTIMATORS:
                each = regret(start, estimator, spread) * (1 + 0.05 * rng.standard_normal((100, 4)))
                for repeat, totals in enumerate(np.cumsum(each, axis=1)):
                    for task, total in enumerate(totals, 1):
                        rows.append((world, start, estimator, repeat, 10 * task, total))
    names = ["part", "start", "estimator", "repeat", "round", "regret"]
    return config, pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize(
    ("regret", "expected"),
    [
        (
            lambda start, estimator, r: (
                {"zero": 10, "learned": 4 + 3 * r, "proven": 8, "oracle": 4 + 3 * r}[start]
                * (0.5 if estimator == "forward" else 1)
            ),
            ("supported",) * 5,
        ),
        (
            lambda start, estimator, r: (
                {"zero": 10, "learned": 4 + 25 * r, "proven": 11 + 10 * r, "oracle": 6}[start]
                * (0.5 + r if estimator == "forward" else 1)
            ),
            ("partly", "partly", "supported", "not supported", "partly"),
        ),
        (
            lambda start, estimator, r: (
                {"zero": 10, "learned": 12 - r, "proven": 13, "oracle": 4}[start]
                * (1.5 if estimator == "forward" else 1)
            ),
            ("not supported",) * 5,
        ),
    ],
    ids=["as they say", "with little spread", "nowhere"],
)
def test_verdicts_of_tasks(regret: Any, expected: tuple[str, ...]) -> None:
    config, frame = made_up_tasks(regret)
    assert tuple(verdicts(TASK_BANDITS.claims(config, frame)).values()) == expected


def test_extensions_are_a_family_of_their_own(tmp_path: Path) -> None:
    assert list(configure(["extensions"])) == list(EXTENSIONS) == ["graphs", "tasks"]
    assert list(configure([])) == list(FIGURES)
    assert list(configure(["tasks", "figure1"])) == ["figure1", "tasks"]
    tiny = ["--repeats", "2", "--undecided-times", "1", "--jobs", "1", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(
        app, ["reproduce", "tasks", *tiny, "--set", "tasks.n_tasks=2", "--set", "tasks.rounds=5"]
    )
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "No figure of the paper is in this run" in page
    assert "What Cella et al. (2020) and we say of it" in page
    assert [path.stem for path in (tmp_path / "out" / "figures").glob("*.png")] == ["tasks"]


@pytest.mark.parametrize(
    ("figure", "settings", "message"),
    [
        (GRAPH_BANDITS, {"sizes": (3, 20)}, "each of sizes must be a whole number >= 5, got 3"),
        (GRAPH_BANDITS, {"sizes": (20,)}, "at least two numbers of nodes that increase"),
        (GRAPH_BANDITS, {"sigmas": (0.0,)}, "each of sigmas must be a number > 0"),
        (TASK_BANDITS, {"spreads": (0.3, 0.1)}, "at least two numbers that increase"),
        (TASK_BANDITS, {"n_tasks": 1}, "n_tasks must be a whole number >= 2"),
    ],
)
def test_settings_out_of_range(figure: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figure.Config(**settings)
