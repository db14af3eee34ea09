"""Pieces of work: done in any order and number, stopped and gone on with, the result is the same."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from onward.experiments import FIGURE_4A, FIGURES, Claim, Figure, Piece, Settings, run
from onward.experiments.figure import change_settings
from onward.experiments.figure4a import Figure4a
from onward.experiments.runner import digest, run_figures
from onward.pages.drawing import Drawing
from onward.scale import Engine

TINY = FIGURE_4A.Config(repeats=23, horizon=120, kept=6)


def whole(folder: Path, jobs: int = 1, config: Any = TINY) -> pl.DataFrame:
    return run_figures([FIGURE_4A], {"figure4a": config}, folder, Engine(jobs))["figure4a"].frame


class Backwards(Figure4a):
    def pieces(self, config: Any) -> Sequence[Piece]:
        return super().pieces(config)[::-1]


def test_jobs_and_order_make_no_difference(tmp_path: Path) -> None:
    expected = run(FIGURE_4A, TINY)
    assert whole(tmp_path / "one").equals(expected)
    assert whole(tmp_path / "two", jobs=2).equals(expected)
    found = run_figures([Backwards()], {"figure4a": TINY}, tmp_path / "three", Engine(1))["figure4a"].frame
    order = ["policy", "repeat", "round"]
    assert found.sort(order).equals(expected.sort(order))


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = whole(tmp_path)
    said: list[tuple[str, int, int]] = []

    def never(*_: object) -> pl.DataFrame:
        raise AssertionError("computed again")

    monkeypatch.setattr(Figure4a, "compute", never)
    outcome = run_figures([FIGURE_4A], {"figure4a": TINY}, tmp_path, advance=lambda *state: said.append(state))[
        "figure4a"
    ]
    assert outcome.frame.equals(first)
    assert outcome.seconds > 0
    assert said == [("figure4a", 3, 3)]
    with pytest.raises(AssertionError, match="computed again"):  # other settings are other work
        run_figures([FIGURE_4A], {"figure4a": replace(TINY, seed=1)}, tmp_path, Engine(1))


@dataclass(frozen=True)
class SlowConfig(Settings):
    pieces: int = 40


class Slow(Figure[SlowConfig]):
    name = "slow"
    title = "slow"
    Config = SlowConfig
    quick_settings: ClassVar[dict[str, Any]] = {}

    def pieces(self, config: SlowConfig) -> list[Piece]:
        return [Piece(f"{i:03d}", {"number": i}) for i in range(config.pieces)]

    def compute(self, config: SlowConfig, piece: Piece) -> pl.DataFrame:
        time.sleep(0.05)
        rng = np.random.default_rng([config.seed, piece.about["number"]])
        return pl.DataFrame({"number": [piece.about["number"]] * 3, "value": rng.standard_normal(3)})

    def claims(self, config: SlowConfig, frame: pl.DataFrame) -> Sequence[Claim]:
        return []

    def draw(self, config: SlowConfig, frame: pl.DataFrame) -> Sequence[Drawing]:
        return []


SCRIPT = """
import sys
from pathlib import Path
from tests.experiments.test_runner import Slow, SlowConfig
from onward.experiments.runner import run_figures
from onward.scale import Engine
run_figures([Slow()], {"slow": SlowConfig()}, Path(sys.argv[1]), Engine(2))
print("done")
"""


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
    resumed = run_figures([Slow()], {"slow": config}, folder)["slow"].frame
    assert resumed.equals(run(Slow(), config))


def test_a_piece_that_cannot_be_read_is_done_again(tmp_path: Path) -> None:
    first = whole(tmp_path)
    one, two, *_ = sorted(tmp_path.rglob("*.parquet"))
    one.write_bytes(one.read_bytes()[:100])
    two.write_bytes(b"")
    assert whole(tmp_path).equals(first)


def test_another_cut_into_pieces_is_other_work(tmp_path: Path) -> None:
    class Cut(Slow):
        def __init__(self, size: int) -> None:
            self.size = size

        def pieces(self, config: SlowConfig) -> list[Piece]:
            return [Piece(f"{i:03d}", {"number": i, "size": self.size}) for i in range(0, config.pieces, self.size)]

        def compute(self, config: SlowConfig, piece: Piece) -> pl.DataFrame:
            return pl.DataFrame({"number": range(piece.about["number"], piece.about["number"] + piece.about["size"])})

    for size in (5, 10, 5):
        outcome = run_figures([Cut(size)], {"slow": SlowConfig(pieces=20)}, tmp_path, Engine(1))["slow"]
        assert outcome.frame["number"].to_list() == list(range(20))


NOT_COMPUTING = {"claims", "estimates", "figure", "repeat_lines", "verdicts", "changing_claims", "changing_drawings"}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_which_code_computes_it(name: str) -> None:
    files = FIGURES[name].source_files()
    assert len(set(files)) == len(files)
    folder = Path(sys.modules[type(FIGURES[name]).__module__].__file__ or "").parent
    found = {path.relative_to(folder.parent).as_posix() for path in files}
    assert {"core/factor.py", "bandits/memories/window.py", f"experiments/{name}.py"} <= found
    own = {path.stem for path in files if path.parent == folder}
    for module in own:
        text = (folder / f"{module}.py").read_text(encoding="utf-8")
        needed = set(re.findall(r"^from onward\.experiments\.(\w+) import", text, flags=re.MULTILINE))
        for line in re.findall(r"^from onward\.experiments import (.*)$", text, flags=re.MULTILINE):
            needed |= set(line.split(", "))
        assert needed <= {*own, *NOT_COMPUTING, f"{name}_claims", f"{name}_drawings"}, (name, module)


def test_other_code_is_other_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source.py"
    source.write_text("a = 1")
    monkeypatch.setattr(Figure4a, "source_files", lambda self: [source])
    pieces = FIGURE_4A.pieces(TINY)
    before = digest(FIGURE_4A, TINY, pieces)
    assert digest(FIGURE_4A, TINY, pieces) == before
    source.write_text("a = 2")
    assert digest(FIGURE_4A, TINY, pieces) != before


def test_a_piece_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    class Broken(Slow):
        def compute(self, config: SlowConfig, piece: Piece) -> pl.DataFrame:
            if piece.about["number"] == 2:
                raise ValueError("no luck")
            return super().compute(config, piece)

    with pytest.raises(ValueError, match="no luck"):
        run_figures([Broken()], {"slow": SlowConfig(pieces=4)}, tmp_path, Engine(1))
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["000.parquet", "001.parquet"]


def test_settings_are_read_from_text() -> None:
    @dataclass(frozen=True)
    class Config(Settings):
        horizon: int = 10
        lam: float = 0.5
        sizes: tuple[int, ...] = (1, 2)
        exact: bool = True

    changed = change_settings(Config(), {"horizon": "20", "lam": "1e-3", "sizes": "3,4,5", "exact": "false"})
    assert changed == Config(horizon=20, lam=1e-3, sizes=(3, 4, 5), exact=False)
    for changes, message in (
        ({"rounds": "3"}, "there is no setting 'rounds'; expected one of seed, repeats, horizon, lam, sizes, exact"),
        ({"horizon": "many"}, "horizon must be like 10, got 'many'"),
        ({"exact": "perhaps"}, "exact must be like True, got 'perhaps'"),
    ):
        with pytest.raises(ValueError, match=message):
            change_settings(Config(), changes)
