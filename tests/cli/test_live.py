"""Rows that arrive through a pipe: learned as they come, and saved however the stream ends."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import AutoRegressor, Table, fit, load
from tests.cli.conftest import Run, Stream
from tests.processes import started
from tools.live_streams import CODES, run_stream

ONWARD = [sys.executable, "-m", "onward"]


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_however_a_stream_ends_what_was_read_is_saved(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda seed: run_stream(seed, tmp_path, seconds=1.0), range(len(CODES))))
    assert {outcome.ending for outcome in outcomes} == set(CODES)
    assert [(seed, outcome.faults) for seed, outcome in enumerate(outcomes) if outcome.faults] == []


FIT = ("fit", "-", "-t", "y")


def test_a_bad_row_is_named_and_the_rows_before_it_are_saved(stream: Stream, tmp_path: Path) -> None:
    rows = "".join(f"{i},{2 * i}\n" for i in range(50))
    code, _, errors = stream([f"x,y\n{rows}51,oops\n52,1\n"], *FIT, "--save", tmp_path / "m")
    assert code == 1
    assert errors.splitlines()[-1].startswith(
        "onward: standard input, line 52, column 'y': got 'oops', expected a number;"
    )
    assert load(tmp_path / "m").n_seen_ == 50


def test_bad_rows_can_be_skipped_and_are_counted(stream: Stream, tmp_path: Path) -> None:
    bad = {7: "1,oops", 20: "1,2,3", 33: "inf,1", 34: '"1"x,2'}
    lines = [bad.get(i, f"{i % 5},{(i * 7) % 11}") for i in range(60)]
    text = "\n".join(["x,y", *lines]) + "\n"
    path = tmp_path / "d.csv"
    path.write_text(text)
    predictions = tmp_path / "p.parquet"
    result = fit(path, Table("y", bad_rows="skip"), predictions=predictions)
    assert (result.read, result.scores.rows) == (60, 56)
    assert result.skipped == {"the row cannot be read": 3, "x is infinite": 1}
    assert sum(note.startswith(f"skipped: {path}, line ") for note in result.notes) == 3
    assert any(
        note.startswith(f"skipped: {path}, line 9, column 'y': got 'oops', expected a number") for note in result.notes
    )
    kept = [i for i in range(60) if i not in bad]
    expected = AutoRegressor()
    expected.learn_many(pl.DataFrame({"x": [float(i % 5) for i in kept]}), [float((i * 7) % 11) for i in kept])
    np.testing.assert_array_equal(result.model.coef_, expected.coef_)
    written = pl.read_parquet(predictions)
    assert written["row"].to_list() == list(range(1, 61))
    assert written.filter(pl.col("prediction").is_null())["row"].to_list() == [i + 1 for i in sorted(bad)]
    _, out, _ = stream([text], *FIT, "--bad-rows", "skip", "--json", "--quiet")
    assert json.loads(out)["rows"] == {"read": 60, "learned": 56, "skipped": dict(result.skipped)}


@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [("true", "2.5", "number"), ("", "2026-01-31", "time"), ("NA", "yes", "boolean"), ("", "7", "number")],
)
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_what_a_column_holds_is_widened_by_later_rows(
    stream: Stream, tmp_path: Path, first: str, later: str, kind: str, format: str
) -> None:
    rows = [(first, 1.0), (first, 2.0), (later, 3.0), (later, 5.0)]
    if format == "csv":
        lines = ["x,z,y", *(f"{x},{i},{y}" for i, (x, y) in enumerate(rows))]
    else:
        lines = [json.dumps({"x": x or None, "z": i, "y": y}) for i, (x, y) in enumerate(rows)]
    # One after the other, so that the first row alone tells what columns hold.
    texts = [f"{line}\n" for line in lines]
    code, _, errors = stream(texts, *FIT, "--missing", "zero", "--save", tmp_path / "m", "--quiet")
    assert (code, errors) == (0, "")
    recipe = load(tmp_path / "m").recipe_
    assert {column.name: column.kind for column in recipe.columns}["x"] == kind
    assert load(tmp_path / "m").n_seen_ == 4


def test_a_schema_says_what_the_first_row_does_not(stream: Stream, tmp_path: Path) -> None:
    text = "when,city,y\n,1,1\n2026-01-31,2,2\n2026-02-28,1,3\n"
    schema = ["--schema", "when=time,city=category"]
    code, _, errors = stream([text], *FIT, *schema, "--missing", "skip", "--save", tmp_path / "m")
    assert code == 0, errors
    model = load(tmp_path / "m")
    assert list(model.feature_names_in_) == ["when", "city=2", "city=1"]
    code, _, errors = stream([text], *FIT, "--schema", "when=date")
    assert code == 2
    assert "number, boolean, time, duration, category" in " ".join(errors.split())


def test_the_model_is_saved_along_the_way(tmp_path: Path) -> None:
    model = tmp_path / "m"
    process = subprocess.Popen(
        [*ONWARD, "fit", "-", "-t", "y", "--save", str(model), "--save-every", "0.2s", "--quiet"],
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(b"x,y\n1,2\n2,3\n")
        process.stdin.flush()
        end = time.monotonic() + 60
        while not model.exists() and time.monotonic() < end:  # though no further row comes
            time.sleep(0.05)
        assert load(model).n_seen_ == 2
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


@pytest.mark.parametrize("every", ["0", "-3", "soon", "3x", 0, 1.5, True])
def test_what_is_no_distance_is_refused(tmp_path: Path, every: Any) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="save_every must be a number of rows or a time such as 30s"):
        fit(path, "y", save=tmp_path / "m", save_every=every)


def test_a_checkpoint_is_a_model(run: Run, stream: Stream, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(100)))

    class _StopError(Exception):
        pass

    def stop(progress: Any) -> None:
        if progress.scores.rows == 100:
            raise _StopError

    from onward.tables import lines

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", 200)
        with pytest.raises(_StopError):
            fit(path, "y", save=tmp_path / "m", checkpoint_every=1, watch=stop)
    checkpoint = tmp_path / "m.checkpoint"
    model = load(checkpoint)
    assert 0 < model.n_seen_ < 100
    assert not (tmp_path / "m").exists()
    _, shown, _ = run("show", checkpoint, "--json")
    assert json.loads(shown)["rows"] == model.n_seen_
    code, predicted, errors = run("predict", checkpoint, path)
    assert code == 0, errors
    assert predicted.count("\n") == 101
    code, _, errors = stream([path.read_text()], *FIT, "--start", checkpoint, "--save", tmp_path / "n")
    assert code == 0, errors
    assert load(tmp_path / "n").n_seen_ == model.n_seen_ + 100


def test_a_quote_that_is_left_open_costs_one_line(tmp_path: Path) -> None:
    good = [f"{i % 7},{i % 5}" for i in range(300)]
    text = "\n".join(["x,y", *good[:50], '"oops,1', *good[50:]]) + "\n"
    path = tmp_path / "d.csv"
    path.write_text(text)
    result = fit(path, Table("y", bad_rows="skip"))
    assert (result.read, result.scores.rows, result.skipped) == (301, 300, {"the row cannot be read": 1})
    assert f"{path}, line 52: cannot be read as a record" in result.notes[0]
    command = [*ONWARD, "fit", "-", "-t", "y", "--save", str(tmp_path / "m"), "--quiet"]
    with started(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(text.encode())
        process.stdin.flush()
        assert process.wait(60) == 1  # though the pipe stays open
        assert b"standard input, line 52: cannot be read as a record" in process.stderr.read()
    assert load(tmp_path / "m").n_seen_ == 50


def test_a_stream_that_ends_in_a_bad_row_keeps_its_predictions(stream: Stream, tmp_path: Path) -> None:
    rows = "".join(f"{i % 7},{i % 5}\n" for i in range(100))
    out = tmp_path / "p.csv"
    text = f"x,y\n{rows}1e200,3\n{rows}"
    code, _, errors = stream([text], *FIT, "--save", tmp_path / "m", "--predictions", out, "-q")
    assert code == 1
    assert "onward: row 101 of the data: " in errors  # after a line on compiling, if that took long
    assert "the model is in" not in errors  # quiet
    assert load(tmp_path / "m").n_seen_ == 100
    assert pl.read_csv(out)["row"].to_list() == list(range(1, 101))
    code, _, errors = stream([text], *FIT, "--save", tmp_path / "n", "--follow")
    assert code == 1
    *_, saved, last = errors.splitlines()
    assert saved == f"onward: learned 100 rows before this, the model is in {tmp_path / 'n'}:"
    assert last.startswith("onward: row 101 of the data: ")
    assert load(tmp_path / "n").n_seen_ == 100
    _, _, errors = stream([text], *FIT, "--follow")
    assert "the model is in" not in errors  # none was saved
    _, skipped, _ = stream([text], *FIT, "--bad-rows", "skip", "--json", "-q")
    assert json.loads(skipped)["rows"]["skipped"] == {"its numbers are too large": 1}


@pytest.mark.skipif(os.name != "posix", reason="named pipes of POSIX")
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_waiting_ends_with_a_signal(tmp_path: Path, command: str) -> None:
    """For a pipe that nobody writes to yet, and for the next row of a prediction."""
    path = tmp_path / "d.csv"
    path.write_text("x,y\n1,2\n2,3\n3,5\n")
    fit(path, "y", save=tmp_path / "m")
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    options = {"fit": ["fit", str(pipe), "-t", "y", "-q"], "predict": ["predict", str(tmp_path / "m"), "-"]}[command]
    with started([*ONWARD, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if command == "predict":
            process.stdin.write(b"x\n1\n")
            process.stdin.flush()
            process.stdout.readline()
        else:
            time.sleep(5)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


def test_a_misspelt_output_is_refused(tmp_path: Path) -> None:
    wrong: Any = {"sav": tmp_path / "m"}
    with pytest.raises(TypeError, match="unexpected argument 'sav', expected one of save, "):
        fit(pl.DataFrame({"x": [1.0], "y": [2.0]}), "y", **wrong)
