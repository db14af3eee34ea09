"""fit, compare, predict, show and merge, as one types them: results, exit codes, errors, nothing half-written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import ForwardRegressor, load
from tests.cli.conftest import Run
from tests.progressive.made_up import table, written

ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "COLUMNS": "100"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path, table().drop_nulls())


def test_fit_shows_scores_and_coefficients(run: Run, data: Path, tmp_path: Path) -> None:
    code, out, err = run("fit", data, "--target", "y", "--categorical", "city", "--weight", "w", "-s", tmp_path / "m")
    assert code == 0
    assert "Learned 377 of 377 rows" in out
    for word in ("RMSE", "MAE", "R²", "running mean", "(intercept)", "city=Oslo", "Model: "):
        assert word in out
    lines = err.splitlines()
    assert lines[0].split()[:3] == ["rmse", "since", "last"]
    assert [line.split()[3] for line in lines[1:]] == ["1", "2", "4", "8", "16", "32", "64", "128", "256"]
    assert load(tmp_path / "m").n_seen_ == 377


def test_json_is_one_strict_object_on_every_command(run: Run, data: Path, tmp_path: Path) -> None:
    def strict(text: str) -> Any:
        def refuse(name: str) -> None:
            raise AssertionError(name)

        return json.loads(text, parse_constant=refuse)

    options = ["--categorical", "city", "--exclude", "w"]
    code, out, err = run("fit", data, "-t", "y", *options, "--save", tmp_path / "m", "--json")
    assert (code, err) == (0, "")
    fitted = strict(out)
    assert fitted["rows"] == {"read": 377, "learned": 377, "skipped": {}}
    assert [each["feature"] for each in fitted["model"]["coefficients"]][:4] == ["(intercept)", "x", "z", "flag"]
    code, out, err = run("compare", data, "-t", "y", *options, "--lams", "0,1,1e3", "--json")
    assert (code, err) == (0, "")
    compared = strict(out)
    assert compared["lams"] == [0, 1, 1000]
    assert compared["learners"]["ridge"]["scores"][0] is None
    assert compared["auto"]["scores"] == fitted["scores"]
    assert compared["auto"]["leans_on"] == fitted["model"]["leans_on"]
    code, out, err = run("show", tmp_path / "m", "--json")
    assert (code, err) == (0, "")
    assert strict(out)["coefficients"] == fitted["model"]["coefficients"]
    code, out, err = run("predict", tmp_path / "m", data, "--json")
    assert (code, err) == (0, "")
    rows = [strict(line) for line in out.splitlines()]
    assert [row["row"] for row in rows] == list(range(1, 378))
    assert set(rows[0]) == {"row", "prediction", "lower", "upper", "leverage"}
    forward = ["--learner", "forward", "--save", tmp_path / "f"]
    code, out, err = run("fit", data, "-t", "y", *options, *forward, "--json")
    assert (code, err) == (0, "")
    fitted = strict(out)
    assert compared["learners"]["forward"]["scores"][1]["rmse"] == pytest.approx(fitted["scores"]["rmse"], rel=1e-9)
    (tmp_path / "copy").write_bytes((tmp_path / "f").read_bytes())
    code, out, err = run("merge", tmp_path / "f", tmp_path / "copy", "-s", tmp_path / "both", "--json")
    assert (code, err) == (0, "")
    assert strict(out)["rows"] == 754


def test_units_may_be_the_columns_own(run: Run, data: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(data)
    frame.with_columns(pl.col("x") * 1e6 - 7e6).write_csv(tmp_path / "other.csv")
    scores = []
    for path in (data, tmp_path / "other.csv"):
        options = ["-t", "y", "--categorical", "city", "--exclude", "w", "--units", "own", "--json"]
        code, out, err = run("fit", path, *options, "--learner", "forward", "--lam", "0.5", "-s", tmp_path / "m")
        assert (code, err) == (0, "")
        fitted = json.loads(out)
        scores.append(fitted["scores"]["rmse"])
        assert (fitted["model"]["lam"], fitted["model"]["intercept_lam"], fitted["model"]["units"]) == (0.5, 0.0, "own")
        assert "information_gain" not in fitted["model"]
        code, out, _ = run("compare", path, *options, "--lams", "0.5,1")
        assert json.loads(out)["learners"]["forward"]["scores"][0]["rmse"] == pytest.approx(scores[-1], rel=1e-12)
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
    code, out, _ = run("show", tmp_path / "m")
    assert "0.5 of the variance" in out
    assert "yes, not regularised" in out
    code, _, err = run("fit", data, "-t", "y", "--learner", "ridge", "--units", "own", "--no-intercept")
    assert code == 2
    assert "units='own' is for a constant that is not regularised" in err
    (tmp_path / "copy").write_bytes((tmp_path / "m").read_bytes())
    code, _, err = run("merge", tmp_path / "m", tmp_path / "copy", "-s", tmp_path / "both")
    assert code == 1
    assert "cannot merge models with units='own'" in one_line(err)


@pytest.mark.parametrize("learner", ["auto", "forward"])
def test_predict_is_what_the_model_says(run: Run, data: Path, tmp_path: Path, learner: str) -> None:
    run("fit", data, "-t", "y", "--categorical", "city", "--exclude", "w", "--learner", learner, "-s", tmp_path / "m")
    frame = pl.read_csv(data)
    new = frame[:5].with_columns(city=pl.Series(["Rome", "Oslo", "Cairo", "Bonn", "Lima"])).drop("y", "w")
    new.select(reversed(new.columns)).write_csv(tmp_path / "new.csv")  # in another order, without the target
    known = {"auto": [], "forward": ["--sigma", "0.3", "--theta-bound", "3"]}[learner]
    code, out, err = run("predict", tmp_path / "m", tmp_path / "new.csv", *known)
    assert code == 0
    assert one_line(err) == "onward: 1 value of categories that the model does not know: city=Cairo (1)."
    got = pl.read_csv(out.encode())
    model = load(tmp_path / "m")
    for row, record in enumerate(new.iter_rows(named=True)):
        x = {"x": record["x"], "z": record["z"], "flag": float(record["flag"]), f"city={record['city']}": 1.0}
        assert got["prediction"][row] == pytest.approx(model.predict_one(record), rel=1e-12)
        if record["city"] != "Cairo" and learner == "forward":
            values = np.array([[x.get(str(name), 0.0) for name in model.feature_names_in_]])
            low, high = model.interval(pl.DataFrame(values, schema=list(model.feature_names_in_)), 0.05, 0.3, 3.0,
                                       of="observation")[0]  # fmt: skip
            assert (got["lower"][row], got["upper"][row]) == pytest.approx((low, high), rel=1e-9)
    if learner == "auto":
        ends = model.interval(new, of="observation")
        np.testing.assert_allclose(got.select("lower", "upper").to_numpy(), ends, rtol=1e-12)
    else:
        assert got["lower"][2] == -np.inf  # nothing is known of Cairo
    for name in ("p.csv", "p.jsonl", "p.parquet"):
        code, out, err = run("predict", tmp_path / "m", tmp_path / "new.csv", "-o", tmp_path / name)
        assert (code, out) == (0, "")
    read = pl.read_parquet(tmp_path / "p.parquet")
    assert read["prediction"].to_list() == pytest.approx(got["prediction"].to_list())
    again = pl.read_csv(tmp_path / "p.csv", schema=read.schema)
    assert read.equals(again)


def test_a_model_that_was_not_calibrated_says_that_it_has_no_intervals(run: Run, data: Path, tmp_path: Path) -> None:
    run("fit", data, "-t", "y", "--categorical", "city", "--no-scores", "-q", "-s", tmp_path / "m")
    code, out, err = run("predict", tmp_path / "m", data)
    assert code == 0
    why = "the model has no intervals, since it was not calibrated as it learned; onward fit calibrates"
    assert one_line(err) == f"onward: {why}"
    assert pl.read_csv(out.encode())["upper"].is_null().all()
    code, out, err = run("score", tmp_path / "m", data)
    assert (code, err) == (0, "")
    assert f"T{why[1:]}." in out
    assert "0.95" not in out
    run("fit", data, "-t", "y", "--categorical", "city", "-q", "-s", tmp_path / "m")
    code, out, err = run("predict", tmp_path / "m", data)
    assert (code, err) == (0, "")
    assert np.isfinite(pl.read_csv(out.encode())["upper"].to_numpy()).all()
    assert "in conformal intervals for 0.95" in run("score", tmp_path / "m", data)[1]


def test_a_model_fitted_in_python_reads_columns_by_name(run: Run, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]})
    ForwardRegressor().fit(frame, [1.0, 2.0, 3.0]).save(tmp_path / "m")
    frame.write_csv(tmp_path / "d.csv")
    code, out, _ = run("predict", tmp_path / "m", tmp_path / "d.csv")
    assert code == 0
    expected = load(tmp_path / "m").predict(frame)
    np.testing.assert_allclose(pl.read_csv(out.encode())["prediction"], expected, rtol=1e-12)
    ForwardRegressor().fit(frame.to_numpy(), [1.0, 2.0, 3.0]).save(tmp_path / "nameless")
    code, _, err = run("predict", tmp_path / "nameless", tmp_path / "d.csv")
    assert code == 1
    assert "features without names" in err


def test_merging_is_learning_all_the_rows(run: Run, tmp_path: Path) -> None:
    frame = table().drop_nulls().drop("w")
    options = ["-t", "y", "--categorical", "city", "--learner", "forward", "-q", "-s"]
    parts = [written(tmp_path, frame[:100], "a.csv"), written(tmp_path, frame[100:], "b.csv")]
    for place, part in enumerate(parts):
        run("fit", part, *options, tmp_path / f"m{place}")
    run("fit", *parts, *options, tmp_path / "all")
    code, out, _ = run("merge", tmp_path / "m0", tmp_path / "m1", "--save", tmp_path / "merged")
    assert code == 0
    assert "Merged 2 models of 377 rows" in out
    merged, whole = load(tmp_path / "merged"), load(tmp_path / "all")
    assert list(merged.feature_names_in_) == list(whole.feature_names_in_)
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    forward = ["--learner", "forward"]
    run("fit", parts[1], "-t", "x", "--categorical", "city", *forward, "-q", "-s", tmp_path / "other")
    code, _, err = run("merge", tmp_path / "m0", tmp_path / "other", "--save", tmp_path / "merged2")
    assert (code, (tmp_path / "merged2").exists()) == (1, False)
    assert "the target is 'y' in one and 'x' in the other" in err


def test_models_of_auto_do_not_merge(run: Run, data: Path, tmp_path: Path) -> None:
    for name, learner in (("a", "auto"), ("b", "auto"), ("f", "forward")):
        run("fit", data, "-t", "y", "--categorical", "city", "--learner", learner, "-q", "-s", tmp_path / name)
    for first, second in (("a", "b"), ("a", "f"), ("f", "a")):
        code, out, err = run("merge", tmp_path / first, tmp_path / second, "--save", tmp_path / "merged")
        assert (code, out, (tmp_path / "merged").exists()) == (1, "", False)
        assert one_line(err) == (
            f"onward: {tmp_path / 'a'}: a model of auto weighs its learners in the order of the rows, so it cannot be "
            "merged: expected models of forward or ridge; to learn more rows, use onward fit --start"
        )


def one_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("onward: ")
    assert "Traceback" not in text
    return lines[0]


HEADER = "x,z,y\n"
ROWS = "".join(f"{i},{i % 7},{2 * i}\n" for i in range(50))
DATES = "".join(f"2026-01-{i:02},{i},{2 * i}\n" for i in range(1, 20))
BAD: dict[str, tuple[bytes, str]] = {
    "no-target.csv": (b"x,z\n1,2\n", "there is no column 'y', expected it among 'x', 'z'"),
    "words.csv": ((HEADER + ROWS + "oops,1,2\n").encode(), "line 52, column 'x': got 'oops', expected a number"),
    "dates.csv": (
        (HEADER + DATES + "2026-13-99,1,2\n").encode(),
        "line 21, column 'x': got '2026-13-99', expected a date",
    ),
    "short.csv": ((HEADER + ROWS + "1,2\n").encode(), "line 52: got 2 fields, expected 3"),
    "long.csv": ((HEADER + ROWS + "1,2,3,4\n").encode(), "line 52: got 4 fields, expected 3"),
    "nan.csv": ((HEADER + ROWS + "nan,1,2\n").encode(), "line 52, column 'x': the value is missing"),
    "infinite.csv": ((HEADER + ROWS + "inf,1,2\n").encode(), "line 52, column 'x': got inf, expected a finite number"),
    "empty.csv": (b"", "the file is empty"),
    "no-rows.csv": (HEADER.encode(), "no rows"),
    "latin.csv": ((HEADER + ROWS).encode() + b"caf\xe9,1,2\n", "line 52: not UTF-8 text"),
    "utf16.csv": ((HEADER + ROWS).encode("utf-16"), "UTF-16, expected UTF-8"),
    "twice.csv": (b"x,x,y\n1,2,3\n", "two columns are called 'x'"),
    "torn.parquet": (b"PAR1" + bytes(100), "cannot be read as Parquet"),
    "odd.xlsx": (b"PK", "cannot tell its format"),
    "torn.csv.gz": (b"\x1f\x8b\x08\x00", "cannot be read"),
    "half.jsonl": (b'{"x": 1, "z": 2, "y": 3}\n{"x": 1,\n', "line 2: not a JSON object"),
    "text.csv": (b"x,city,y\n1,Rome,2\n", "'city' holds text such as 'Rome'; name such columns as categorical"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_files_are_told_in_one_line(run: Run, tmp_path: Path, name: str) -> None:
    contents, message = BAD[name]
    (tmp_path / name).write_bytes(contents)
    model = tmp_path / "model"
    ForwardRegressor().fit(pl.DataFrame({"x": [1.0]}), [1.0]).save(model)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for command in ("fit", "compare"):
        extra = ["--save", model, "--predictions", tmp_path / "p.parquet"] if command == "fit" else []
        code, out, err = run(command, tmp_path / name, "-t", "y", "--json", *extra)
        assert (code, out) == (1, "")
        assert message in one_line(err)
        assert name in err
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_other_failures_are_one_line_too(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("fit", data, "-t", "y", "--categorical", "city", "-q", "-s", tmp_path / "m")
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    (tmp_path / "damaged").write_bytes((tmp_path / "m").read_bytes()[:-3])
    pl.DataFrame({"x": [1.0]}).write_csv(tmp_path / "narrow.csv")
    for arguments, message in (
        (["fit", tmp_path / "none.csv", "-t", "y"], "none.csv: there is no such file"),
        (["fit", tmp_path / "*.none", "-t", "y"], "no file fits this pattern"),
        (["fit", data, "-t", "y", "--categorical", "town"], "there is no column 'town'"),
        (["fit", data, "-t", "y", "-s", tmp_path / "no" / "m"], "does not exist"),
        (["fit", data, "-t", "y", "-s", tmp_path], "it is a folder"),
        (["predict", tmp_path / "m", tmp_path / "narrow.csv"], "there is no column 'z'"),
        (["predict", tmp_path / "m", data, "-o", folder], "it is a folder"),
        (["predict", tmp_path / "damaged", data], "its checksum does not match"),
        (["predict", data, data], "not an Onward model file"),
        (["show", tmp_path / "none"], "there is no such file"),
        (["show", tmp_path], "a folder, expected a model file"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (1, "")
        assert message in one_line(err)
    before = (tmp_path / "m").read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run("fit", data, "-t", "y", "--categorical", "city", "-q", "-s", tmp_path / "m")
    assert code == 1
    assert "No space left on device" in one_line(err)
    assert (tmp_path / "m").read_bytes() == before
    assert not list(tmp_path.glob(".m*"))


def test_wrong_calls_exit_with_2(run: Run, data: Path, tmp_path: Path) -> None:
    model = tmp_path / "m"
    run("fit", data, "-t", "y", "--categorical", "city", "-q", "-s", model)
    forgetting = ["--learner", "ridge", "--half-life", "9"]
    (tmp_path / "data").mkdir()
    written(tmp_path / "data", table(20).drop_nulls().drop("city"), "part.csv")
    for arguments, message in (
        (["fit", data], "--target"),
        (["fit", data, "-t", "y", "--lam", "-1", "--learner", "forward"], "lam must be 0 or"),
        (["fit", data, "-t", "y", "--lam", "0.1"], "auto chooses by itself: expected --learner forward or ridge"),
        (["fit", data, "-t", "y", "--no-intercept"], "expected --learner forward or ridge beside --no-intercept"),
        (["fit", data, "-t", "y", "--jobs", "2"], "cannot share the pass: expected --learner forward or ridge"),
        (["fit", data, "-t", "y", "--start", model, "--jobs", "2"], "expected no --jobs and no --backend"),
        (["fit", data, "-t", "y", "--lam", "0", "--learner", "ridge"], "lam must be positive for ridge"),
        (["fit", data, "-t", "y", "--delta", "2"], "delta must be"),
        (["fit", data, "-t", "y", "--sigma", "-1"], "sigma must be"),
        (["fit", data, "-t", "y", "--theta-bound", "1"], "expected sigma too"),
        (["fit", data, "-t", "y", "--separator", "ab"], "separator must be one plain character"),
        (["fit", "-", data, "-t", "y"], "cannot be read together with files"),
        (["fit", data, "-t", "y", "--predictions", tmp_path / "p.txt"], "expected a name that ends in .csv"),
        (["fit", data, "-t", "y", "--weight", "y"], "cannot be both the target and the weight"),
        (["fit", data, "-t", "y", "--save", tmp_path / "a", "--save-every", "soon"], "a time such as 30s, 5m or 1h"),
        (["fit", data, "-t", "y", "--save", data], "which is read: expected another file"),
        (["fit", data, "-t", "y", "--save", tmp_path / "a", "--report", tmp_path / "a"], "expected different files"),
        (["fit", tmp_path / "data", "-t", "y", "--predictions", tmp_path / "data" / "p.parquet"], "take it for data"),
        (["fit", data, "-t", "y", "--start", model, "--lam", "7"], "--lam is the model's own"),
        (["fit", data, "-t", "y", "--start", model, "--features", "x"], "--features is the model's own"),
        (["fit", data, "-t", "y", "--sigma", "1"], "expected --learner forward or ridge beside --sigma"),
        (["fit", data, "-t", "y", "--intervals", "t"], "expected --learner forward or ridge beside --intervals t"),
        (["fit", data, "-t", "y", "--start", model, "--sigma", "1"], "auto makes intervals for targets of past errors"),
        (
            ["fit", data, "-t", "y", *forgetting, "--sigma", "1"],
            "a model that forgets makes intervals for targets",
        ),
        (["fit", data, "-t", "y", *forgetting, "--intervals", "t"], "expected no --intervals t"),
        (["predict", model, data, "--sigma", "1"], "expected no --sigma"),
        (["predict", model, data, "--of", "mean"], "expected no --of mean"),
        (["score", model, data, "--intervals", "uniform"], "expected no --intervals uniform"),
        (["show", model, "--sigma", "1"], "expected no --sigma"),
        (["predict", model, data, "-o", tmp_path / "p.txt"], "expected a name that ends in .csv"),
        (["predict", model, data, "-o", data], "which is read"),
        (["show", model, "--delta", "5"], "delta must be"),
        (["merge", model, model, "-s", tmp_path / "both"], "given more than once"),
        (["fit", data, "-t", "y", "--missing", "drop"], "drop"),
        (["fit", data, "-t", "y", "--resume"], "expected save"),
        (["fit", data, "-t", "y", "--save-every", "5m"], "expected save"),
        (["compare", data, "-t", "y", "--lams", "1,x"], "expected numbers with commas between them, got 'x'"),
        (["compare", data, "-t", "y", "--jobs", "0"], "got 0"),
        (["merge", data, "-s", "m"], "expected at least two models"),
        (["nonsense"], "nonsense"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), arguments
        assert message in " ".join(err.replace("│", " ").split()), arguments
    assert data.read_text(encoding="utf-8").startswith("x,")


def test_debug_shows_where_an_error_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onward import cli

    monkeypatch.setattr(sys, "argv", ["onward", "fit", str(tmp_path / "none.csv"), "-t", "y", "--debug"])
    with pytest.raises(ValueError, match="there is no such file"):
        cli.main()


def onward(*arguments: object, **options: Any) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "onward", *map(str, arguments)],
        env=ENVIRONMENT,
        stdin=options.get("stdin"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_rows_from_a_pipe_are_predicted_as_they_arrive(run: Run, tmp_path: Path) -> None:
    frame = table().drop_nulls().drop("city", "w")
    run("fit", written(tmp_path, frame), "-t", "y", "-q", "-s", tmp_path / "m")
    process = onward("predict", tmp_path / "m", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    header, *rows = frame.write_csv().encode().splitlines(keepends=True)
    process.stdin.write(header)
    for number, row in enumerate(rows[:5], start=1):
        process.stdin.write(row)
        process.stdin.flush()
        if number == 1:
            assert process.stdout.readline().startswith(b"row,prediction")
        assert process.stdout.readline().startswith(f"{number},".encode())  # before the next row is sent
    process.stdin.close()
    process.stdin = None
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_stream_that_is_stopped_is_saved(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    frame = table().drop_nulls().drop("city", "w")
    process = onward("fit", "-", "-t", "y", "--save", tmp_path / "m", stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(frame.write_csv().encode())
    process.stdin.flush()
    while b" 256 " not in process.stderr.readline():
        pass
    time.sleep(0.5)  # the rest has arrived with them
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"Learned 377 of 377 rows" in out
    assert one_line(err.decode()) == f"onward: stopped after 377 rows, the model is in {tmp_path / 'm'}"
    assert load(tmp_path / "m").n_seen_ == 377


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are for POSIX")
def test_no_row_of_a_named_pipe_is_lost(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=20_000), "y": rng.normal(size=20_000)})
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    source = written(tmp_path, frame)
    copy = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), open(sys.argv[2], 'wb'))"
    writer = subprocess.Popen([sys.executable, "-c", copy, str(source), str(pipe)])
    code, out, _ = run("fit", pipe, "-t", "y", "--json")
    assert writer.wait(timeout=60) == 0
    assert (code, json.loads(out)["rows"]["learned"]) == (0, 20_000)


def test_the_index_that_pandas_writes_is_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(",a,y\n0,1.5,2\n1,2.5,3\n2,0.5,1\n", encoding="utf-8")
    for options, note in ((["--json"], True), (["--json", "--exclude", ""], False), (["--json", "-q"], False)):
        code, out, err = run("fit", tmp_path / "d.csv", "-t", "y", *options)
        assert code == 0
        assert [each["feature"] for each in json.loads(out)["model"]["coefficients"]] == ["(intercept)", "a"]
        assert ("onward: left out column '', the index of a data frame" in err) == note
    (tmp_path / "d.csv").write_text("a,,y\n0,1.5,2\n1,2.5,3\n2,0.5,1\n", encoding="utf-8")
    code, _, err = run("fit", tmp_path / "d.csv", "-t", "y", "-q")
    assert code == 1
    assert "column 2 has no name; exclude ''" in one_line(err)
    (tmp_path / "e.csv").write_text('"a,b",c,y\n1.5,1,2\n2.5,2,3\n', encoding="utf-8")
    code, out, _ = run("fit", tmp_path / "e.csv", "-t", "y", "--features", '"a,b"', "--json")
    assert [each["feature"] for each in json.loads(out)["model"]["coefficients"]] == ["(intercept)", "a,b"]


def test_values_beyond_numbers_are_told(run: Run, tmp_path: Path) -> None:
    pl.DataFrame({"x": [1e200, 1e-200, 1e180], "y": [1e200, 1.0, 1e190]}).write_csv(tmp_path / "d.csv")
    pl.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0], "w": [0.0, 0.0]}).write_csv(tmp_path / "w.csv")
    for command in ("fit", "compare"):
        code, _, err = run(command, tmp_path / "d.csv", "-t", "y", "-q")
        assert code == 1
        assert "rescale the columns" in one_line(err)
        code, _, err = run(command, tmp_path / "w.csv", "-t", "y", "--weight", "w", "-q")
        assert code == 1
        assert "every row has weight 0" in one_line(err)


def test_killed_it_goes_on_to_the_same_bits(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260_000, 6))
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(6)}).with_columns(
        kind=pl.Series(rng.choice(list("abcdefgh"), len(X))), y=pl.Series(X.sum(axis=1) + rng.normal(size=len(X)))
    )
    data = written(tmp_path, frame)  # some 35 MB: nine pieces
    options = ["-t", "y", "--categorical", "kind", "--predictions", tmp_path / "p.parquet", "--save", tmp_path / "m"]
    checkpoint = tmp_path / "m.checkpoint"
    kills = 0
    for pause in (0.0, 0.15, 0.3):
        process = onward("fit", data, *options, "--checkpoint-every", "1", "--resume")
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        while process.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_mtime_ns > before):
            time.sleep(0.002)
        time.sleep(pause)
        process.kill()
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
        if checkpoint.exists():  # unless it was done before it could be killed
            code, out, err = run("show", checkpoint, "--json")
            assert (code, err) == (0, "")
            assert 0 < json.loads(out)["rows"] <= len(frame)
    assert kills >= 1
    code, _, err = run("fit", data, *options, "--checkpoint-every", "1", "--resume", "-q")
    assert code == 0, err
    after = {name: (tmp_path / name).read_bytes() for name in ("m", "p.parquet")}
    assert not checkpoint.exists()
    code, _, err = run("fit", data, *options, "-q")
    assert code == 0, err
    assert {name: (tmp_path / name).read_bytes() for name in ("m", "p.parquet")} == after


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['onward', 'fit', '--help']\n"
        "from onward.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'polars', 'scipy', 'sklearn', 'pyarrow', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=ENVIRONMENT)


def test_every_command_has_help_with_examples(run: Run) -> None:
    for command in (
        "fit",
        "compare",
        "predict",
        "score",
        "show",
        "export",
        "merge",
        "serve",
        "reproduce",
        "explore",
        "simulate",
        "evaluate",
        "simulate-traffic",
    ):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert "Examples:" in out
        assert f"onward {command}" in out


def test_help_shows_no_type_of_flags_and_breaks_lines_at_the_edge_only() -> None:
    command = [sys.executable, "-m", "onward", "fit", "--help"]
    out = subprocess.run(
        command, check=True, capture_output=True, text=True, env=ENVIRONMENT | {"COLUMNS": "80"}
    ).stdout
    assert "--no-header" in out
    assert "<bool>" not in out
    assert "since 2000, true and false" in out  # where the docstring has a new line


def test_shells_complete_commands_and_options() -> None:
    def completed(words: str, place: int) -> str:
        asked = {"_ONWARD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        ran = subprocess.run(
            [str(Path(sys.executable).parent / "onward")], env=ENVIRONMENT | asked, capture_output=True, text=True
        )
        return ran.stdout

    assert "compare" in completed("onward com", 1)
    assert "--checkpoint-every" in completed("onward fit --check", 2)
    assert "skip" in completed("onward fit d.csv --missing s", 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--jobs", 0), "jobs must be -1 or at least 1, got 0"),
        (("--address", "tcp://somewhere:8786"), "expected --backend dask or ray"),
        (("--jobs", 2, "--backend", "loky", "--address", "tcp://somewhere:8786"), "expected no address"),
    ],
)
def test_workers_that_cannot_be_are_wrong_usage(
    run: Run, data: Path, options: tuple[object, ...], message: str
) -> None:
    code, _, err = run("fit", data, "-t", "y", "--categorical", "city", *options)
    assert code == 2
    assert message in " ".join(err.replace("│", " ").split())
