"""Pieces of work: done in any order and number, stopped and gone on with, the result is the same."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward.experiments import FIGURES, base, figure4a, runner
from onward.experiments.base import Piece
from onward.scale import Engine

TINY = figure4a.Config(repeats=23, horizon=120, kept=6)


def whole(folder: Path, jobs: int = 1, config: Any = TINY) -> pl.DataFrame:
    return runner.run({"figure4a": figure4a}, {"figure4a": config}, folder, Engine(jobs))["figure4a"].frame


def test_jobs_and_order_make_no_difference(tmp_path: Path) -> None:
    expected = base.run(figure4a, TINY)
    assert whole(tmp_path / "one").equals(expected)
    assert whole(tmp_path / "two", jobs=2).equals(expected)
    backwards: Any = SimpleNamespace(pieces=lambda config: figure4a.pieces(config)[::-1], compute=figure4a.compute)
    runner.run({"figure4a": backwards}, {"figure4a": TINY}, tmp_path / "three")
    assert whole(tmp_path / "three").equals(expected)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    first = whole(tmp_path)
    said: list[tuple[str, int, int]] = []

    def never(*_: object) -> pl.DataFrame:
        raise AssertionError("computed again")

    again: Any = SimpleNamespace(pieces=figure4a.pieces, compute=never)
    outcome = runner.run(
        {"figure4a": again},
        {"figure4a": TINY},
        tmp_path,
        advance=lambda *state: said.append(state),
    )["figure4a"]
    assert outcome.frame.equals(first)
    assert outcome.seconds > 0
    assert said == [("figure4a", 3, 3)]
    with pytest.raises(AssertionError, match="computed again"):  # other settings are other work
        runner.run({"figure4a": again}, {"figure4a": replace(TINY, seed=1)}, tmp_path)


@dataclass(frozen=True)
class SlowConfig:
    seed: int = 0
    pieces: int = 40


SCRIPT = """
import sys
from pathlib import Path
from tests.experiments.test_runner import slow
from onward.experiments import runner
from onward.scale import Engine
runner.run({"slow": slow}, {"slow": slow.Config()}, Path(sys.argv[1]), Engine(2))
print("done")
"""


def slow_compute(config: SlowConfig, piece: Piece) -> pl.DataFrame:
    time.sleep(0.05)
    rng = np.random.default_rng([config.seed, piece.about["number"]])
    return pl.DataFrame({"number": [piece.about["number"]] * 3, "value": rng.standard_normal(3)})


def slow_pieces(config: SlowConfig) -> list[Piece]:
    return [Piece(f"{i:03d}", {"number": i}) for i in range(config.pieces)]


slow: Any = SimpleNamespace(NAME="slow", TITLE="slow", Config=SlowConfig, pieces=slow_pieces, compute=slow_compute)


def test_killed_and_started_again_it_gives_the_identical_result(tmp_path: Path) -> None:
    """kill -9 while pieces are being computed and written; then go on."""
    folder = tmp_path / "pieces"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], env=environment, start_new_session=True)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("*/*.parquet"))) < 5:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = len(list(folder.glob("*/*.parquet")))
    assert 5 <= done < 40
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], env=environment, capture_output=True, text=True, check=True
    )
    assert finished.stdout == "done\n"
    config = SlowConfig()
    resumed = runner.run({"slow": slow}, {"slow": config}, folder)["slow"].frame
    expected = pl.concat([slow_compute(config, piece) for piece in slow_pieces(config)])
    assert resumed.equals(expected)


def test_a_piece_that_cannot_be_read_is_done_again(tmp_path: Path) -> None:
    first = whole(tmp_path)
    one, two, *_ = sorted(tmp_path.rglob("*.parquet"))
    one.write_bytes(one.read_bytes()[:100])
    two.write_bytes(b"")
    assert whole(tmp_path).equals(first)


def test_another_cut_into_pieces_is_other_work(tmp_path: Path) -> None:
    def cut(size: int) -> Any:
        def pieces(config: SlowConfig) -> list[Piece]:
            return [Piece(f"{i:03d}", {"number": i, "size": size}) for i in range(0, config.pieces, size)]

        def compute(config: SlowConfig, piece: Piece) -> pl.DataFrame:
            return pl.DataFrame({"number": range(piece.about["number"], piece.about["number"] + piece.about["size"])})

        return SimpleNamespace(pieces=pieces, compute=compute)

    for size in (5, 10, 5):
        outcome = runner.run({"slow": cut(size)}, {"slow": SlowConfig(pieces=20)}, tmp_path, Engine(1))["slow"]
        assert outcome.frame["number"].to_list() == list(range(20))


def test_every_figure_says_which_code_computes_it() -> None:
    folder = Path(runner.__file__).parent
    assert set(runner.COMPUTING) == set(FIGURES)
    for name, modules in runner.COMPUTING.items():
        assert name in modules
        for module in modules:
            text = (folder / f"{module}.py").read_text(encoding="utf-8")
            needed = set(re.findall(r"^from onward\.experiments\.(\w+) import", text, flags=re.MULTILINE))
            drawing = {"base", "statistics", "bands", "judging", f"{name}_drawings", f"{name}_claims"}
            assert needed <= {*modules, *drawing}, (name, module)
        files = {path.relative_to(folder.parent).as_posix() for path in runner.computing_files(name)}
        assert {"core/factor.py", "bandits/memories/window.py", f"experiments/{name}.py"} <= files


def test_a_piece_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken(config: SlowConfig, piece: Piece) -> pl.DataFrame:
        if piece.about["number"] == 2:
            raise ValueError("no luck")
        return slow_compute(config, piece)

    failing: Any = SimpleNamespace(pieces=slow_pieces, compute=broken)
    with pytest.raises(ValueError, match="no luck"):
        runner.run({"slow": failing}, {"slow": SlowConfig(pieces=4)}, tmp_path, Engine(1))
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["000.parquet", "001.parquet"]


def test_settings_are_read_from_text() -> None:
    @dataclass(frozen=True)
    class Config:
        horizon: int = 10
        lam: float = 0.5
        sizes: tuple[int, ...] = (1, 2)
        exact: bool = True

    changed = base.with_settings(Config(), {"horizon": "20", "lam": "1e-3", "sizes": "3,4,5", "exact": "false"})
    assert changed == Config(20, 1e-3, (3, 4, 5), False)
    for changes, message in (
        ({"rounds": "3"}, "there is no setting 'rounds'; expected one of horizon, lam, sizes, exact"),
        ({"horizon": "many"}, "horizon must be like 10, got 'many'"),
        ({"exact": "perhaps"}, "exact must be like True, got 'perhaps'"),
    ):
        with pytest.raises(ValueError, match=message):
            base.with_settings(Config(), changes)
