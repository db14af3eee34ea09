"""`onward score` and `onward export`, as one types them."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from onward import RidgeRegressor, Table, fit, load
from tests.cli.conftest import Run


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A model and data that it can read."""
    rng = np.random.default_rng(3)
    x, city = rng.normal(size=80), rng.choice(["Rome", "Oslo"], 80)
    frame = pl.DataFrame({"y": 2 * x + (city == "Rome") + rng.normal(size=80), "x": x, "city": city})
    data, model = tmp_path / "data.csv", tmp_path / "m.onward"
    frame.write_csv(data)
    fit(data, Table("y", categorical=("city",), missing="skip"), RidgeRegressor(), save=model)
    return model, data


def test_score_says_what_score_returns(run: Run, files: tuple[Path, Path]) -> None:
    model, data = files
    code, out, err = run("score", model, data, "--json", "--delta", "0.2")
    said = json.loads(out)
    assert (code, err) == (0, "")
    learned, frame = load(model), pl.read_csv(data)
    error = learned.predict(frame) - frame["y"].to_numpy()
    assert said["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert said["mae"] == pytest.approx(np.abs(error).mean())
    assert said["r2"] == pytest.approx(learned.score(frame))
    ends = learned.interval(frame, 0.2, of="observation")
    inside = (ends[:, 0] <= frame["y"].to_numpy()) & (frame["y"].to_numpy() <= ends[:, 1])
    assert said["intervals"]["coverage"] == pytest.approx(inside.mean())
    assert said["rows"] == {"read": 80, "scored": 80, "skipped": {}}
    code, out, _ = run("score", model, data)
    assert code == 0
    assert "y of" in out
    assert "scored 80 of 80 rows" in out
    for word in ("RMSE", "MAE", "R²", "in conformal intervals for 0.95"):
        assert word in out
    assert load(model).n_seen_ == 80


def test_intervals_are_made_as_asked_for(run: Run, files: tuple[Path, Path]) -> None:
    model, data = files
    learned, frame = load(model), pl.read_csv(data)
    for method in ("conformal", "t", "uniform"):
        code, out, _ = run("predict", model, data, "--intervals", method)
        ends = pl.read_csv(out.encode()).select("lower", "upper").to_numpy()
        assert code == 0
        np.testing.assert_allclose(ends, learned.interval(frame, of="observation", method=method), rtol=1e-9)
        how = ("--learner", "ridge", "--intervals", method)
        code, out, _ = run("fit", data, "-t", "y", "--categorical", "city", *how, "--json")
        assert (code, json.loads(out)["intervals"]) == (0, {"method": method, "delta": 0.05})
        said = json.loads(run("score", model, data, "--intervals", method, "--json")[1])
        assert said["intervals"]["method"] == method
    assert json.loads(run("score", model, data, "--sigma", "1", "--json")[1])["intervals"]["method"] == "uniform"
    code, _, err = run("predict", model, data, "--of", "mean", "--intervals", "t")
    assert code == 1
    assert "intervals for the mean of a target are 'uniform', got 't'" in " ".join(err.split())
    code, _, err = run("predict", model, data, "--delta", "0.07")
    assert code == 1
    assert "calibrated for, 0.5, 0.2, 0.1, 0.05, 0.01, got 0.07" in " ".join(err.split())
    assert run("fit", data, "-t", "y", "--intervals", "exact")[0] == 2


def test_score_tells_of_rows_that_did_not_count(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    model, _ = files
    other = tmp_path / "other.csv"
    other.write_text("city,x,y\nRome,1,2\nRome,NA,2\nParis,1,3\n")
    code, out, _ = run("score", model, other)
    assert code == 0
    assert "scored 2 of 3 rows" in out
    assert "Skipped 1 row: 1 where x is missing." in out
    assert "1 value of categories that the model does not know: city=Paris (1)." in out
    assert run("score", model, other, "--missing", "error")[0] == 1
    other.write_text("city,x\nRome,1\n")
    code, _, err = run("score", model, other)
    assert (code, err.count("\n")) == (1, 1)
    assert "there is no column 'y'" in err


def test_export_in_every_format(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    learned, frame = load(model), pl.read_csv(data)
    code, out, err = run("export", model)
    assert (code, err) == (0, "")
    record = json.loads(out)
    assert (record["target"], record["missing"]) == ("y", "skip")
    values = tmp_path / "c.csv"
    assert run("export", model, "--format", "csv", "--out", values) == (0, "", "")
    rows = list(csv.DictReader(values.read_text(encoding="utf-8").splitlines()))
    assert [float(row["coefficient"]) for row in rows] == [term["coefficient"] for term in record["terms"]]
    assert [row["feature"] for row in rows] == ["(intercept)", *learned.feature_names_in_]
    assert rows[-1]["level"] in ("Rome", "Oslo")
    code, out, _ = run("export", model, "--format", "sql", "--table", "my trips")
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute('CREATE TABLE "my trips" (y, x, city)')
        database.executemany('INSERT INTO "my trips" VALUES (?, ?, ?)', frame.rows())
        made = [value for (value,) in database.execute(out)]
    assert made == pytest.approx(learned.predict(frame).tolist(), rel=1e-9)


def test_export_refuses_what_makes_no_sense(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    assert run("export", model, "--table", "t")[0] == 2
    assert run("export", model, "--out", tmp_path / "no" / "c.json")[0] == 1
    assert run("export", data)[0] == 1
    RidgeRegressor().fit(np.eye(2), [1.0, 2.0]).save(tmp_path / "bare.onward")
    code, _, err = run("export", tmp_path / "bare.onward", "--format", "sql")
    assert (code, err.count("\n")) == (1, 1)
    assert "2 features without names" in err
