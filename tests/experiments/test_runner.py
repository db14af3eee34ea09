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
from onward.experiments.estimates import mean
from onward.experiments.figure import change_settings
from onward.experiments.figure4a import Figure4a
from onward.experiments.repeat_frame import split_repeats
from onward.experiments.runner import Outcome, digest, run_figures
from onward.experiments.verdicts import Condition, Rule
from onward.pages.drawing import Drawing
from onward.scale import Engine

TINY = FIGURE_4A.Config(repeats=23, undecided_times=1, horizon=120, kept=6)


def whole(folder: Path, jobs: int = 1, config: Any = TINY) -> pl.DataFrame:
    return run_figures([FIGURE_4A], {"figure4a": config}, folder, Engine(jobs))["figure4a"].frame


class Backwards(Figure4a):
    def cut(self, config: Any, group: str, start: int, stop: int) -> Sequence[Piece]:
        return super().cut(config, group, start, stop)[::-1]


def test_jobs_and_order_make_no_difference(tmp_path: Path) -> None:
    expected = run(FIGURE_4A, TINY)
    assert whole(tmp_path / "one").equals(expected)
    assert whole(tmp_path / "two", jobs=2).equals(expected)
    found = run_figures([Backwards()], {"figure4a": TINY}, tmp_path / "three", Engine(1))["figure4a"].frame
    order = ["policy", "beta", "repeat", "round"]
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

    def groups(self, config: SlowConfig) -> dict[str, int]:
        return {"all": config.pieces}

    def cut(self, config: SlowConfig, group: str, start: int, stop: int) -> list[Piece]:
        return [Piece(f"{i:03d}", {"number": i}) for i in range(start, stop)]

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

        def cut(self, config: SlowConfig, group: str, start: int, stop: int) -> list[Piece]:
            return [Piece(f"{i:03d}", {"number": i, "size": self.size}) for i in range(start, stop, self.size)]

        def compute(self, config: SlowConfig, piece: Piece) -> pl.DataFrame:
            return pl.DataFrame({"number": range(piece.about["number"], piece.about["number"] + piece.about["size"])})

    for size in (5, 10, 5):
        outcome = run_figures([Cut(size)], {"slow": SlowConfig(pieces=20)}, tmp_path, Engine(1))["slow"]
        assert outcome.frame["number"].to_list() == list(range(20))


NOT_COMPUTING = {"claims", "estimates", "figure", "repeat_lines", "verdicts"}


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
        for names in re.findall(r"^from onward\.experiments import (\([^)]*\)|.*)$", text, flags=re.MULTILINE):
            needed |= set(re.findall(r"\w+", names))
        left = {each for each in needed if not each.endswith(("_claims", "_drawings"))}
        assert left <= {*own, *NOT_COMPUTING}, (name, module)


def test_other_code_is_other_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source.py"
    source.write_text("a = 1")
    monkeypatch.setattr(Figure4a, "source_files", lambda self: [source])
    pieces = FIGURE_4A.pieces(TINY)
    before = digest(FIGURE_4A, TINY, pieces)
    assert digest(FIGURE_4A, TINY, pieces) == before
    source.write_text("a = 2")
    assert digest(FIGURE_4A, TINY, pieces) != before


@dataclass(frozen=True)
class StudyConfig(Settings):
    repeats: int = 8
    easy: float = 5.0  # the means of two groups of normal numbers, which are held to the line 0
    hard: float = 0.5


class Study(Figure[StudyConfig]):
    name = "study"
    title = "study"
    Config = StudyConfig
    quick_settings: ClassVar[dict[str, Any]] = {}

    def groups(self, config: StudyConfig) -> dict[str, int]:
        return {"easy": config.repeats, "hard": config.repeats}

    def cut(self, config: StudyConfig, group: str, start: int, stop: int) -> list[Piece]:
        return split_repeats(group, start, stop, 3)

    def compute(self, config: StudyConfig, piece: Piece) -> pl.DataFrame:
        part, repeats = piece.about["part"], range(piece.about["start"], piece.about["stop"])
        middle = getattr(config, part)
        values = [middle + np.random.default_rng([config.seed, i]).standard_normal() for i in repeats]
        return pl.DataFrame({"part": part, "repeat": repeats, "value": values})

    def claims(self, config: StudyConfig, frame: pl.DataFrame) -> Sequence[Claim]:
        return [
            Claim(
                id=group,
                statement="It is above 0.",
                rule=Rule("", Condition("mean", found, "above", 0.0, (group,))),
                numbers={},
                findings=[],
                regimes=[],
            )
            for group in ("easy", "hard")
            for found in (mean(frame.filter(part=group)["value"]),)
        ]

    def draw(self, config: StudyConfig, frame: pl.DataFrame) -> Sequence[Drawing]:
        return []


def study(folder: Path, jobs: int = 1, **changes: Any) -> Outcome:
    return run_figures([Study()], {"study": StudyConfig(**changes)}, folder, Engine(jobs))["study"]


def count(frame: pl.DataFrame) -> dict[str, int]:
    assert not frame.select("part", "repeat").is_duplicated().any()
    return {group: len(frame.filter(part=group)) for group in ("easy", "hard")}


def test_repeats_are_added_where_a_verdict_is_undecided(tmp_path: Path) -> None:
    outcome = study(tmp_path / "first", undecided_times=16)
    counts = count(outcome.frame)
    assert counts["easy"] == 8
    assert counts["hard"] in (16, 32, 64, 128)
    assert outcome.added == {"hard": (8, counts["hard"])}
    assert {claim.verdict for claim in Study().claims(StudyConfig(), outcome.frame)} == {"supported"}
    before = study(tmp_path / "second", undecided_times=counts["hard"] // 16)  # one step less, and it is open yet
    assert Study().claims(StudyConfig(), before.frame)[1].verdict == "undecided"
    # As if they had been asked for at once: repeat i is the same in every run.
    order = ["part", "repeat"]
    at_once = run(Study(), StudyConfig(repeats=counts["hard"])).filter(pl.col("part") == "hard")
    assert outcome.frame.filter(part="hard").sort(order).equals(at_once.sort(order))
    assert run(Study(), StudyConfig(undecided_times=16)).equals(outcome.frame)
    assert study(tmp_path / "third", jobs=2, undecided_times=16).frame.equals(outcome.frame)


def test_the_limit_on_repeats_is_kept(tmp_path: Path) -> None:
    for times, expected in ((1, 8), (2, 16), (3, 24), (5, 40)):
        outcome = study(tmp_path, hard=0.0, undecided_times=times)
        assert count(outcome.frame) == {"easy": 8, "hard": expected}
        assert Study().claims(StudyConfig(), outcome.frame)[1].verdict == "undecided"


def test_a_higher_limit_goes_on_from_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study(tmp_path, hard=0.0, undecided_times=4)
    done: list[str] = []
    compute = Study.compute

    def noted(self: Study, config: StudyConfig, piece: Piece) -> pl.DataFrame:
        done.append(piece.name)
        return compute(self, config, piece)

    monkeypatch.setattr(Study, "compute", noted)
    outcome = study(tmp_path, hard=0.0, undecided_times=8)
    assert outcome.added == {"hard": (8, 64)}
    assert min(done) == "hard-00032-00035"
    assert study(tmp_path, hard=0.0, undecided_times=2).added == {"hard": (8, 16)}


def test_a_run_that_was_stopped_adds_the_same_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_run = study(tmp_path / "whole", undecided_times=16)
    compute, calls = Study.compute, [0]

    def stopped(self: Study, config: StudyConfig, piece: Piece) -> pl.DataFrame:
        calls[0] += 1
        if calls[0] > 7:
            raise KeyboardInterrupt
        return compute(self, config, piece)

    monkeypatch.setattr(Study, "compute", stopped)
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path / "stopped", undecided_times=16)
    monkeypatch.undo()
    resumed = study(tmp_path / "stopped", undecided_times=16)
    assert resumed.frame.equals(whole_run.frame)
    assert resumed.added == whole_run.added


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
        ({"rounds": "3"}, "expected one of seed, repeats, undecided_times, horizon, lam, sizes, exact"),
        ({"horizon": "many"}, "horizon must be like 10, got 'many'"),
        ({"exact": "perhaps"}, "exact must be like True, got 'perhaps'"),
    ):
        with pytest.raises(ValueError, match=message):
            change_settings(Config(), changes)
