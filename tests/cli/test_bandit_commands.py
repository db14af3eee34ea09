"""`onward evaluate` and `onward simulate`, as one types them."""

import json
import re
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest

from onward.bandits import EpsilonGreedy, LoggedData, Random, evaluate, policy_value
from onward.bandits.labelled_world import Scaling
from onward.bandits.log_writer import LogWriter
from onward.bandits.policy_names import ALIASES, policy_kinds
from onward.cli import evaluate_command, simulate_command
from tests.cli.conftest import Run


def written(file: Path, wrong: float = 1.0) -> Path:
    rng = np.random.default_rng(70)
    with LogWriter(file) as log:
        for _ in range(400):
            actions = rng.standard_normal((3, 2))
            taken = int(rng.integers(3))
            reward = float(rng.random() < 1 / (1 + np.exp(-actions[taken, 0])))
            log.write(taken, actions, reward, propensity=wrong / 3)
    return file


def test_the_words_are_those_of_the_library() -> None:
    for name in ("Method", "Learn", "Interval"):
        assert get_args(getattr(evaluate_command, name)) == get_args(getattr(policy_value, name))
    assert get_args(simulate_command.Scaling) == get_args(Scaling)


def test_evaluate_says_what_evaluate_returns(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl")
    code, out, err = run("evaluate", file, "-p", "random", "-p", "egreedy epsilon=0.1", "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    log = LoggedData.read(file)
    values = [evaluate(p, log, method="dr", learn="all") for p in (Random(seed=0), EpsilonGreedy(0.1, seed=0))]
    for row, value in zip(said["policies"], values, strict=True):
        for name in ("value", "lower", "upper", "effective_sample_size"):
            assert row[name] == pytest.approx(getattr(value, name))
    gap = values[1].difference(values[0])
    assert said["policies"][1]["difference"]["mean"] == pytest.approx(gap.mean)
    assert said["policies"][1]["difference"]["p_value"] == pytest.approx(gap.p_value)
    assert gap.mean > 0.1
    assert said["log"]["events"] == 400


def test_evaluate_in_tables(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl")
    policy = EpsilonGreedy(0.1, seed=0)
    policy.learn(np.array([1.0, 0.0]), 1.0)
    policy.save(tmp_path / "p.onward")
    code, out, _ = run("evaluate", file, "-p", tmp_path / "p.onward", "-p", "random", "--reward-range", "0,1")
    assert code == 0
    for part in (
        "Reward an event, by dr",
        "p.onward",
        "random",
        "on the same events",
        "0 of 5 flagged",
        "(given): 0 to 1",
    ):
        assert part in out
    code, out, _ = run("evaluate", file, "-p", "random", "--method", "replay")
    assert code == 0
    assert "by replay" in out


def test_evaluate_warns_and_can_be_strict(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl", wrong=0.5)
    code, out, _ = run("evaluate", file, "-p", "random")
    assert code == 0
    assert "Warning (all): The mean weight is 2 ± 0 and should be 1" in out
    for method in ("dr", "replay"):
        assert run("evaluate", file, "-p", "random", "--method", method, "--strict")[0] == 1
    assert run("evaluate", written(tmp_path / "right.jsonl"), "-p", "random", "--strict")[0] == 0


def test_evaluate_a_wide_table(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(71)
    frame = pl.DataFrame({"x": rng.random(200), "arm": rng.integers(2, size=200), "p": 0.5, "won": rng.random(200)})
    frame.write_csv(tmp_path / "log.csv")
    names = ("--arms", "2", "--taken", "arm", "--propensity", "p", "--reward", "won")
    code, out, _ = run("evaluate", tmp_path / "log.csv", "-p", "disjoint greedy", *names, "--json")
    assert code == 0
    assert abs(json.loads(out)["policies"][0]["value"] - 0.5) < 0.15


def test_evaluate_refuses(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path / "log.jsonl")
    for arguments, code, message in (
        (("-p", "best"), 2, "there is no policy 'best'"),
        (("-p", "random", "-p", "random"), 2, "is given more than once"),
        (("-p", "random", "--interval", "anytime"), 2, "needs reward_range"),
        (("-p", "random", "--reward-range", "0"), 2, "expected LOW,HIGH, got '0'"),
        (("-p", "random", "--reward-range", "0,0.5"), 1, "rewards must be in reward_range=(0, 0.5)"),
        (("-p", "disjoint random"), 2, "disjoint arms need contexts"),
        (("-p", tmp_path / "none.onward"), 1, "none.onward"),
        (("-p", "random", "--features", "x"), 1, "holds decisions with what was offered; expected no features"),
        (("-p", "random", "--arms", "3"), 1, "holds decisions with what was offered; expected no arms"),
    ):
        came, _, err = run("evaluate", file, *arguments)
        assert came == code
        assert message in " ".join(err.split())
    sure = tmp_path / "sure.jsonl"
    with LogWriter(sure) as log:
        for _ in range(5):
            log.write(0, np.eye(2), 1.0, propensity=1.0)
    code, _, err = run("evaluate", sure, "-p", "random")
    assert code == 1
    assert err.startswith("onward: the log comes from a policy that left nothing to chance")
    assert run("evaluate", sure, "-p", "random", "--method", "dm", "--allow-deterministic")[0] == 0


def test_simulate_a_world(run: Run, tmp_path: Path) -> None:
    csv, plot = tmp_path / "regret.csv", tmp_path / "regret.png"
    game = ("--rounds", "200", "--repeats", "3", "--arms", "5", "--dimension", "3")
    code, out, err = run("simulate", "-p", "random", "-p", "greedy", *game, "--csv", csv, "--plot", plot, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert [row["policy"] for row in said["policies"]] == ["random", "greedy"]
    assert said["policies"][1]["difference"]["upper"] < 0
    last = pl.read_csv(csv).filter(pl.col("round") == 200)
    assert last["mean"].to_list() == pytest.approx([row["mean"] for row in said["policies"]])
    assert plot.read_bytes().startswith(b"\x89PNG")
    code, out, _ = run("simulate", "-p", "random", "-p", "greedy", *game)
    assert code == 0
    assert "3 repeats" in out
    assert "less the first" in out


def test_simulate_a_labelled_table(run: Run, tmp_path: Path) -> None:
    x = np.random.default_rng(72).standard_normal(60)
    pl.DataFrame({"x": x, "kind": np.where(x > 0, "up", "down")}).write_csv(tmp_path / "t.csv")
    table = ("--table", tmp_path / "t.csv", "--label", "kind", "--rounds", "100", "--repeats", "2")
    code, out, _ = run("simulate", "-p", "greedy", "-p", "random", *table, "--json")
    assert code == 0
    greedy, random = json.loads(out)["policies"]
    assert greedy["share_right"] > random["share_right"] + 0.2
    code, out, _ = run("simulate", "-p", "disjoint greedy", *table, "--json")
    assert code == 0
    assert json.loads(out)["policies"][0]["share_right"] > random["share_right"] + 0.2
    for arguments, message in (
        (("--table", tmp_path / "t.csv"), "--table and --label together"),
        ((*table, "--world", "ball"), "--world or --table, got both"),
        (("--world", "flat"), "there is no world 'flat'"),
        (("--delta", "2"), "between 0 and 1"),
        (("-p", "greedy"), "is given more than once"),
        ((*table, "--arms", "3"), "--arms is for a world, not for --table"),
        ((*table, "--sigma", "0"), "--sigma is for a world"),
        ((*table, "--dimension", "3"), "--dimension is for a world"),
        (("--features", "x"), "--features is for --table"),
        (("--scaling", "online"), "--scaling is for --table"),
        (("-p", "disjoint greedy"), "disjoint arms need contexts"),
        (("--plot", tmp_path / "regret.jpgg"), "expected a name that ends in .png, .svg, .pdf, got 'regret.jpgg'"),
    ):
        came, _, err = run("simulate", "-p", "greedy", *arguments)
        assert came == 2
        assert message in " ".join(err.split())


def test_help_says_which_policies_there_are(run: Run) -> None:
    """All of them by a name that works: a new one is missed here."""
    code, out, _ = run("simulate", "--help")
    assert code == 0
    words = set(re.findall(r"[a-z]+", out))
    named = {each for each in words if each in {*policy_kinds(), *ALIASES}}
    assert {ALIASES.get(each, each) for each in named} == {*policy_kinds()}
