"""The benchmark of the command line: its files hold the same rows, and what it says follows from what it measured."""

import json
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("threadpoolctl")

from benchmarks import own_data, own_data_child, own_data_files
from benchmarks.own_data import (
    FIT_CSV,
    FIT_PARQUET,
    PREDICT_CSV,
    PREDICT_PARQUET,
    READ_CSV,
    READ_PARQUET,
    RIVER,
    WABBIT,
    Contender,
    Spent,
)


def test_the_three_files_hold_the_same_rows(tmp_path: Path) -> None:
    files = own_data_files.write(tmp_path, "a", 50, 3, seed=1)
    table = pl.read_csv(files.csv)
    assert table.columns == ["x0", "x1", "x2", "y"]
    assert table.equals(pl.read_parquet(files.parquet))
    assert files.vw is not None
    lines = files.vw.read_text().splitlines()
    assert len(lines) == len(table) == 50
    for line, row in zip(lines, table.iter_rows(named=True), strict=True):
        target, _, features = line.partition(" | ")
        assert float(target) == row["y"]
        assert {name: float(value) for name, value in (each.split(":") for each in features.split())} == {
            name: row[name] for name in ("x0", "x1", "x2")
        }
    assert files.sizes() == {path.suffix[1:]: path.stat().st_size for path in (files.csv, files.parquet, files.vw)}


def test_more_rows_begin_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_data_files, "CHUNK", 8)
    few = pl.read_csv(own_data_files.write(tmp_path, "few", 5, 2, seed=1, vw=False).csv)
    many = pl.read_csv(own_data_files.write(tmp_path, "many", 20, 2, seed=1, vw=False).csv)
    assert (len(few), len(many)) == (5, 20)
    assert many[:5].equals(few)
    assert len(many.unique()) == 20
    assert not few.equals(pl.read_csv(own_data_files.write(tmp_path, "other", 5, 2, seed=2, vw=False).csv))


def test_a_child_reads_learns_and_fits(tmp_path: Path) -> None:
    files = own_data_files.write(tmp_path, "a", 300, 3, seed=0, vw=False)
    for path in (files.csv, files.parquet):
        found = own_data_child.read(str(path))
        assert found["rows"] == 300
        assert found["wall"] > 0 <= found["cpu"]
    fitted = own_data_child.fit(str(files.csv), str(files.parquet), *own_data.OPTIONS)
    assert fitted["wall"] > 0
    peak = own_data_child.peak(str(files.csv), *own_data.OPTIONS)["peak_mb"]
    assert peak is None or peak > 10
    with pytest.raises(SystemExit):
        own_data_child.peak(str(tmp_path / "none.csv"), *own_data.OPTIONS)
    if find_spec("river") is not None:
        learned = own_data_child.river(str(files.csv), "LinearRegression", "200")
        assert 0.5 < learned["rmse"] < math.sqrt(1.25) * 1.2, "worse than to predict 0"


def test_a_process_is_timed_and_its_failure_told() -> None:
    spent, out, _ = own_data.command([sys.executable, "-c", "print(sum(range(10**6)))"])
    assert out.strip() == str(sum(range(10**6)))
    assert 0 < spent.cpu < 10 * spent.wall
    with pytest.raises(RuntimeError, match="no such thing"):
        own_data.command([sys.executable, "-c", "raise SystemExit('no such thing')"])


def test_start_up_is_taken_off_and_the_best_round_counts() -> None:
    racer = Contender(lambda: Spent(9, 9))
    racer.runs, racer.starts = [Spent(5, 8), Spent(6, 7)], [Spent(2, 3), Spent(1, 4)]
    assert racer.best == Spent(4, 4)
    assert Contender(lambda: Spent(1, 1), runs=[Spent(3, 2)]).best == Spent(3, 2)


def times(fit_csv: float, fit_parquet: float, predict: float) -> dict[str, Spent]:
    every = {FIT_CSV: fit_csv, FIT_PARQUET: fit_parquet, READ_CSV: 1.0, READ_PARQUET: 0.5, WABBIT: 2.9}
    every |= {PREDICT_CSV: predict * fit_csv, PREDICT_PARQUET: predict * fit_parquet}
    return {name: Spent(seconds, seconds) for name, seconds in every.items()}


def test_targets_follow_the_measurements() -> None:
    peaks = {1000: {"csv": {"peak_mb": 250.0}, "parquet": {"peak_mb": 299.0}}}
    met = own_data.targets(times(1.39, 1.45, 1.4), {"onward --help": 0.4}, peaks)
    assert [target.met for target in met] == [True] * 7
    peaks[1000]["csv"]["peak_mb"] = 301.0
    missed = own_data.targets(times(1.5, 1.6, 1.6), {"onward --help": 0.6}, peaks)
    assert [target.met for target in missed] == [False] * 7
    unknown = own_data.targets({}, {"onward --help": 0.4}, {1000: {"csv": {"peak_mb": None}}})
    assert [target.met for target in unknown] == [None] * 5 + [True, None]


@pytest.mark.skipif(find_spec("vowpalwabbit") is None, reason="vowpalwabbit is not installed")
def test_vowpal_wabbit_learns_the_same_rows(tmp_path: Path) -> None:
    files = own_data_files.write(tmp_path, "a", 2000, 3, seed=0)
    assert files.vw is not None
    _, _, said = own_data.command(own_data.wabbit(files.vw))
    assert "number of examples = 2000" in said
    assert 0.5 < own_data.wabbit_rmse(said) < 1


def test_the_command_prints_and_writes_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []

    def command(arguments: Any) -> tuple[Spent, str, str]:
        asked.append(list(map(str, arguments)))
        return Spent(2.0, 1.0), json.dumps({"scores": {"rmse": 0.5}}), "average loss = 0.25\n"

    monkeypatch.setattr(own_data, "command", command)
    monkeypatch.setattr(
        own_data, "child", lambda what, *_: {"wall": 1.0, "cpu": 1.0, "rmse": 0.7, "peak_mb": 123.0, "seconds": 1.0}
    )
    monkeypatch.setattr(own_data, "QUICK", own_data.Settings(rows=100, river_rows=10, rounds=1, start_repeats=1))
    monkeypatch.setattr(own_data, "LARGE", 300)
    out = tmp_path / "new" / "out.json"
    own_data.main(["--quick", "--large", "--out", str(out), "--seed", "7", "--folder", str(tmp_path)])
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["settings"]["seed"] == 7
    assert set(record["memory"]) == {"100", "300"}
    outputs = ("", ", --predictions", ", --report")
    assert set(record["memory"]["300"]) == {kind + each for kind in ("csv", "parquet") for each in outputs}
    if find_spec("river") is not None:
        assert all(record["times"][name]["wall"] == 10.0 for name in RIVER), "10 of 100 rows, scaled up"
    if find_spec("vowpalwabbit") is not None:
        assert record["times"][WABBIT]["wall"] == 0.0, "start-up was not taken off"
        assert record["rmse"][WABBIT] == 0.5
    assert [path for path in tmp_path.iterdir() if path != out.parent] == [], "files were left behind"
    text = capsys.readouterr().out
    assert all(word in text for word in ("start-up apart", "peak memory", "targets", "onward --help"))
