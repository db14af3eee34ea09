"""`onward reproduce` and the command line around it, as one types it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from onward.cli import app
from onward.experiments import FIGURES
from onward.experiments.reproduction import configure
from tests.processes import started

TINY = [
    "--repeats", "2", "--jobs", "1", "--undecided-times", "1",
    "--set", "figure4a.horizon=60", "--set", "figure4a.kept=5",
    "--set", "figure4b.horizon=60", "--set", "figure4b.kept=5",
]  # fmt: skip


def test_everything_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["reproduce", "figure4a", "figure4b", "--out", str(out), *TINY])
    assert result.exit_code == 0, result.output
    assert "report.html" in result.output.replace("\n", "")
    assert "D-LinUCB^f compares on par" in " ".join(result.output.split())
    for name in ("figure4a", "figure4b"):
        assert {path.suffix for path in (out / "figures").glob(f"{name}*")} == {".png", ".svg", ".pdf"}
        assert pl.read_parquet(out / "results" / f"{name}.parquet")["repeat"].n_unique() == 2
    claims = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    assert {claim["figure"] for claim in claims} == {"figure4a", "figure4b"}
    assert {claim["verdict"] for claim in claims} <= {"supported", "partly", "not supported", "undecided"}
    assert "Settings other than the full run" in (out / "report.html").read_text(encoding="utf-8")
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != "report.html"}
    again = CliRunner().invoke(app, ["reproduce", "figure4a", "figure4b", "--out", str(out), *TINY])
    assert again.exit_code == 0, again.output
    after = {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and path.name != "report.html"}
    assert after == before
    more = CliRunner().invoke(
        app, ["reproduce", "figure4a", "figure4b", "--out", str(out), *TINY, "--undecided-times", "3"]
    )
    assert more.exit_code == 0, more.output
    assert pl.read_parquet(out / "results" / "figure4a.parquet")["repeat"].n_unique() == 6
    assert "Repeats were added where a verdict was undecided: repeats from 2 to 6." in (out / "report.html").read_text()
    assert "undecided" in more.output
    alone = CliRunner().invoke(app, ["reproduce", "figure4b", "--out", str(out), *TINY[:6], *TINY[10:]])
    assert alone.exit_code == 0, alone.output
    assert not list((out / "figures").glob("figure4a*"))  # what an earlier run left is not part of this one
    assert [path.name for path in (out / "results").iterdir()] == ["figure4b.parquet"]


def test_wrong_calls_say_what_was_expected(tmp_path: Path) -> None:
    for arguments, message in (
        (["figure5"], "there is no 'figure5'; expected some of figure1"),
        (["figure4a", "--set", "figure4a.rounds=3"], "there is no setting 'rounds'"),
        (["figure4a", "--set", "horizon=3"], "expected FIGURE.SETTING=VALUE"),
        (["figure4a", "--set", "figure4a.horizon"], "expected FIGURE.SETTING=VALUE"),
        (["figure4a", "--set", "figure3.horizon=3"], "figure3 is not among the figures to run"),
        (["figure4a", "--repeats", "0"], "repeats must be at least 1"),
        (["figure4a", "--undecided-times", "0"], "undecided_times must be at least 1, got 0"),
        (["figure1", "--set", "figure1.undecided_times=0"], "undecided_times must be a whole number >= 1, got 0"),
        (["figure2", "--set", "figure2.theta_law=cube"], "theta_law must be one of 'sphere', 'ball', got 'cube'"),
        (["figure4a", "--set", "figure4a.beta=loose"], "beta and betas must be among unchanged, tight, paper"),
        (["figure4a", "--jobs", "0"], "expected a number other than 0"),
        (["figure4a", "--set", "figure4a.d=1"], "d must be a whole number >= 2, got 1"),
    ):
        result = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "out")])
        said = " ".join(result.output.replace("│", " ").split())
        assert result.exit_code == 2, (arguments, said)
        assert message in said, said
        assert not (tmp_path / "out").exists()


def test_a_failure_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    command = [sys.executable, "-m", "onward", "reproduce", "figure4a", *TINY[:6], "--out", str(tmp_path / "file")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("onward: ")


def test_an_interrupt_is_one_line(tmp_path: Path) -> None:
    out, short = tmp_path / "out", ["--set", "figure3.horizon=5000"]  # so that the first pieces are soon done
    command = [sys.executable, "-m", "onward", "reproduce", "figure3", "--out", str(out), *short]
    with started(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        assert "figure3: 0 of" in process.stderr.readline()
        deadline = time.monotonic() + 200
        while len(list(out.glob("pieces/*/*.parquet"))) < 4:  # by then all workers have started
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read().strip().splitlines()
    assert process.returncode == 130
    assert any(line.startswith("onward: stopped; started again") for line in said)
    assert not any("Traceback" in line for line in said)


@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "--help"], ["--version"]])
def test_help_needs_none_of_the_heavy_libraries(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom onward.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit:\n    pass\n"
        "heavy = {'numba', 'numpy', 'polars', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "heavy: []" in result.stderr
    assert "Usage" in result.stdout or "onward 0" in result.stdout


def test_configurations_are_the_papers_unless_told_otherwise() -> None:
    assert configure([]) == {name: each.Config() for name, each in FIGURES.items()}
    for name, figure in FIGURES.items():
        changed = figure.changed_settings(configure([name], quick=True)[name])
        assert changed == dict(figure.quick_settings) != {}
    assert configure(["figure4a"], seed=3)["figure4a"].seed == 3
    assert configure(["figure3"], repeats=7)["figure3"] == FIGURES["figure3"].Config(repeats=7, fresh_repeats=7)
    assert FIGURES["figure3"].quick_settings["horizon"] < FIGURES["figure3"].Config().horizon
