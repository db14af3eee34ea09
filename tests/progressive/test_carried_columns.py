"""Columns that are carried to the predictions, and lags that go on from one run to the next."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import AutoRegressor, ForwardRegressor, load, scale
from onward.progressive import Progress, fit
from onward.progressive.predicting import predict
from onward.regression import OnlineRegressor
from onward.tables import DataError, Table
from tests.progressive.made_up import small_pieces, table, written
from tools.run_onward import onward

KEPT = {"id": [f"r{i:03d}" for i in range(400)], "number": [f"{i:05d}" for i in range(400)]}


def carried(folder: Path, name: str = "data.csv", rows: int = 400) -> Path:
    frame = table(rows).with_columns(pl.Series(key, values[:rows]) for key, values in KEPT.items())
    # The last row is skipped, after which nothing comes; and so are many in a row, more than there are in a piece.
    skipped = pl.int_range(pl.len()).is_between(120, 160) | (pl.int_range(pl.len()) == rows - 1)
    frame = frame.with_columns(pl.when(~skipped).then("z").alias("z"))
    return written(folder, frame, name)


def options(**more: Any) -> Table:
    return Table("y", **{"categorical": ("city",), "missing": "skip", "keep": ("id", "num*"), **more})


def read(path: Path) -> pl.DataFrame:
    match path.suffix:
        case ".csv":
            return pl.read_csv(path, schema_overrides={"number": pl.String})
        case ".parquet":
            return pl.read_parquet(path)
    return pl.read_ndjson(path)


# Columns


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("source", ["data.csv", "data.parquet"])
def test_columns_are_carried_to_the_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, resumable: bool, source: str
) -> None:
    small_pieces(monkeypatch)
    data, out = carried(tmp_path, source), tmp_path / f"predictions{ending}"
    more: dict[str, Any] = {"save": tmp_path / "m.onward", "checkpoint_every": 50} if resumable else {}
    done = fit(data, options(), predictions=out, **more)
    got = read(out)
    assert got.columns == ["row", "target", "prediction", "lower", "upper", "leverage", "id", "number"]
    assert got["id"].to_list() == KEPT["id"]
    assert got["number"].to_list() == KEPT["number"]
    assert "id" not in done.model.feature_names_in_
    assert got["prediction"].null_count() == sum(done.skipped.values()) > 0
    fit(data, options(keep=(), exclude=("id", "number")), predictions=tmp_path / f"plain{ending}")
    assert got.drop("id", "number").equals(read(tmp_path / f"plain{ending}"))


def test_what_follows_has_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch)
    frames: list[pl.DataFrame] = []
    done = fit(carried(tmp_path), options(), follow=frames.append)
    got = pl.concat(frames)
    assert got["id"].to_list() == [KEPT["id"][row - 1] for row in got["row"]]
    assert len(got) == done.scores.rows


def test_predict_carries_them_in_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = carried(tmp_path)
    model = fit(data, options()).model
    small_pieces(monkeypatch)
    for source in (data, carried(tmp_path, "data.parquet")):
        frames: list[pl.DataFrame] = []
        predict(model, source, frames.append, Table(keep=("id",)))
        got = pl.concat(frames)
        assert got.columns == ["row", "prediction", "lower", "upper", "leverage", "id"]
        assert got["id"].to_list() == KEPT["id"]
        assert got["prediction"].null_count() > 0


def test_a_kept_column_is_a_feature_where_it_is_named(tmp_path: Path) -> None:
    """And it is carried as it was written, whatever became of it."""
    path = tmp_path / "t.csv"
    path.write_text("x,code,y\n1,007,1\n 2.50,008,2\nNA,,3\n")
    fit(path, Table("y", features=("x",), keep=("x", "code"), missing="skip"), predictions=tmp_path / "p.csv")
    got = pl.read_csv(tmp_path / "p.csv", infer_schema=False)
    assert got["x"].to_list() == ["1", " 2.50", "NA"]
    assert got["code"].to_list() == ["007", "008", None]


def test_types_are_kept_where_there_are_some(tmp_path: Path) -> None:
    frame = table(50).with_columns(pl.int_range(50).alias("n"), pl.Series("big", [2**60 + i for i in range(50)]))
    frame = frame.with_columns(pl.col("city").cast(pl.Categorical))
    fit(written(tmp_path, frame, "d.parquet"), options(keep=("n", "big", "city")), predictions=tmp_path / "p.parquet")
    got = pl.read_parquet(tmp_path / "p.parquet")
    assert [got[name].dtype for name in ("n", "big", "city")] == [pl.Int64, pl.Int64, pl.String]
    assert got["big"].to_list() == frame["big"].to_list()


def test_json_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"x":1,"id":7,"y":1}\n{"x":2,"id":"a","y":2}\n{"x":3,"y":3}\n{"x":4,"id":[1],"y":3}\n')
    fit(path, Table("y", keep=("id",)), predictions=tmp_path / "p.jsonl")
    assert pl.read_ndjson(tmp_path / "p.jsonl")["id"].to_list() == ["7", "a", None, "[1]"]


def test_columns_that_cannot_be_kept(tmp_path: Path) -> None:
    data = carried(tmp_path)
    with pytest.raises(DataError, match="there is no column 'ID'; did you mean 'id'"):
        fit(data, options(keep=("ID",)))
    with pytest.raises(DataError, match="there is no column 'nothing\\*'"):
        predict(fit(data, options()).model, data, lambda frame: None, Table(keep=("nothing*",)))
    frame = table(20).with_columns(pl.Series("target", range(20)), pl.Series("many", [[1]] * 20))
    path = written(tmp_path, frame, "d.parquet")
    with pytest.raises(DataError, match="'target' cannot be kept: predictions have a column of that name"):
        fit(path, options(keep=("targ*",), exclude=("many",)))
    with pytest.raises(DataError, match=r"column 'many' holds .*, which cannot be kept"):
        fit(path, options(keep=("many",)))


# Lags from one run to the next

LAGS = ("lag(y, 1)", "lag(x, 3)", "lag(y, 1):city", "hour(when)")


def series(folder: Path, rows: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    when = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2027, 1, 1), "1h", eager=True)[:rows]
    return table(rows).with_columns(when.alias("when"), y=pl.Series(np.cumsum(rng.normal(size=rows))))


def lagged(**more: Any) -> Table:
    return Table("y", **{"categorical": ("city",), "missing": "skip", "terms": LAGS, "exclude": ("when",), **more})


def bits(model: Any) -> bytes:
    """All that a model has learned."""
    return bytes(model._fitted().buffer.tobytes())


def same(one: Any, other: Any) -> None:
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    assert bits(one) == bits(other)
    assert one.recipe_ == other.recipe_
    assert one.recipe_.memory.to_record() == other.recipe_.memory.to_record()


@pytest.mark.parametrize("learner", [AutoRegressor, ForwardRegressor])
def test_going_on_with_a_model_is_one_pass_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learner: type[OnlineRegressor]
) -> None:
    small_pieces(monkeypatch)
    frame = series(tmp_path)
    # The last rows of the first part are skipped, pieces of them as a whole, and still they are those before the next.
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()).is_between(160, 199).not_()).then("w").alias("w"))
    table = lagged(weight="w")
    whole = fit(written(tmp_path, frame, "whole.csv"), table, learner(), save=tmp_path / "whole.onward").model
    fit(written(tmp_path, frame[:200], "1.csv"), table, learner(), save=tmp_path / "first.onward")
    second = written(tmp_path, frame[200:], "2.csv")
    both = fit(second, Table("y"), load(tmp_path / "first.onward")).model
    same(both, whole)
    same(load(tmp_path / "whole.onward"), whole)
    forgetful = load(tmp_path / "first.onward")
    forgetful.recipe_ = type(forgetful.recipe_).from_record(
        {key: value for key, value in forgetful.recipe_.to_record().items() if key != "memory"}
    )
    assert bits(fit(second, Table("y"), forgetful).model) != bits(whole)


@pytest.mark.parametrize("crash_after", [1, 4, 9])
@pytest.mark.parametrize(("drop_first", "learner"), [(False, AutoRegressor), (True, ForwardRegressor)])
def test_stopped_anywhere_it_goes_on_to_the_same_bits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    crash_after: int,
    drop_first: bool,
    learner: type[OnlineRegressor],
) -> None:
    small_pieces(monkeypatch)
    data = written(tmp_path, series(tmp_path))
    table = lagged(keep=("when",), drop_first=drop_first, missing="zero")
    whole = fit(data, table, learner(), predictions=tmp_path / "whole.csv").model
    calls = 0

    def crash(progress: Progress) -> None:
        nonlocal calls
        calls += 1
        if calls > crash_after:
            raise RuntimeError("crash")

    outputs: Any = {"save": tmp_path / "m.onward", "checkpoint_every": 1, "predictions": tmp_path / "p.csv"}
    with pytest.raises(RuntimeError, match="crash"):
        fit(data, table, learner(), watch=crash, **outputs)
    done = fit(data, table, learner(), resume=True, **outputs)
    same(done.model, whole)
    same(load(tmp_path / "m.onward"), whole)
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_predictions_go_on_after_the_last_row_learned(tmp_path: Path) -> None:
    frame = series(tmp_path).fill_null(0.0)
    model = fit(written(tmp_path, frame[:200], "1.csv"), lagged()).model
    new = written(tmp_path, frame[200:], "2.csv")
    frames: list[pl.DataFrame] = []
    predict(model, new, frames.append)
    got = pl.concat(frames)
    assert got["prediction"].null_count() == 0
    first = model.predict_one({name: frame[200, name] for name in frame.columns})
    assert got[0, "prediction"] == first
    features = AutoRegressor()  # the same state, of features that know of no columns
    features._commit(model._fitted())
    first = features.predict_one(
        {
            **{name: frame[200, name] for name in ("x", "z", "w")},
            "flag": float(frame[200, "flag"]),
            "lag(y, 1)": frame[199, "y"],
            "lag(x, 3)": frame[197, "x"],
            f"lag(y, 1):city={frame[200, 'city']}": frame[199, "y"],
            f"city={frame[200, 'city']}": 1.0,
            "sin(hour(when))": np.sin(2 * np.pi * frame[200, "when"].hour / 24),
            "cos(hour(when))": np.cos(2 * np.pi * frame[200, "when"].hour / 24),
        }
    )
    assert got[0, "prediction"] == pytest.approx(first, rel=1e-9)
    notes = predict(model, written(tmp_path, frame[200:].drop("y"), "3.csv"), frames.append)
    assert dict(notes.skipped) == {"lag(y, 1) is not known yet": 199}


def test_merged_models_go_on_after_the_rows_of_the_last(tmp_path: Path) -> None:
    frame = series(tmp_path).fill_null(0.0)
    first, second = (
        fit(written(tmp_path, part, f"{place}.csv"), lagged(), ForwardRegressor()).model
        for place, part in enumerate((frame[:200], frame[200:]))
    )
    assert second.recipe_ is not None
    last = second.recipe_.memory.to_record()
    assert last["lags"]["lag(y, 1)"] == [frame[399, "y"]]
    merged = first.merge(second).recipe_
    assert merged is not None
    assert merged.memory.to_record() == last


# Many workers


def test_workers_know_terms_first_levels_and_kept_columns_but_no_lags(tmp_path: Path) -> None:
    frame = series(tmp_path).with_columns(pl.Series("id", KEPT["id"]))
    files = [written(tmp_path, frame[start : start + 130], f"{start:03d}.parquet") for start in (0, 130, 260)]
    terms = ("log(w)", "x:city", "hour(when)", "spline(x, -2, 2, 5)", "random(3, 1, x, w)")
    table = lagged(terms=terms, drop_first=True, keep=("id",))
    here = fit(files, table, ForwardRegressor(), predictions=tmp_path / "here.parquet")
    there = scale.fit(
        files, table, ForwardRegressor(), engine=scale.Engine(1), predictions=tmp_path / "there.parquet", chunk_rows=90
    )
    assert there.model.feature_names_in_.tolist() == here.model.feature_names_in_.tolist()
    assert "city=Rome" not in here.model.feature_names_in_
    assert np.allclose(there.model.coef_, here.model.coef_, rtol=1e-6)
    assert pl.read_parquet(tmp_path / "there.parquet")["id"].to_list() == KEPT["id"][:390]
    assert there.model.recipe_ is not None
    assert here.model.recipe_ is not None
    assert there.model.recipe_.memory.to_record() == here.model.recipe_.memory.to_record()
    with pytest.raises(ValueError, match=r"know no rows before their own, as lag\(y, 1\) needs: expected no lags"):
        scale.fit(files, lagged(keep=("id",)), ForwardRegressor(), engine=scale.Engine(1))


# The command line


def test_the_command_line_has_it_all(tmp_path: Path) -> None:
    rows = "".join(f"{i}.01.2026;1.{i:03d},5;Zürich{i % 2};k{i};{i},25\n" for i in range(1, 29))
    (tmp_path / "t.csv").write_bytes(rows.encode("latin-1"))
    common = ("--no-header", "--encoding", "latin-1", "--keep", "c4")
    said = onward(
        *("fit", "t.csv", "-t", "c5", *common, "--decimal", ",", "--thousands", ".", "--date-format", "%d.%m.%Y"),
        *("--categorical", "c3", "--drop-first", "--add", "lag(c5, 1), c2:c3", "--add", "weekday(c1)", "--follow"),
        *("--save", "m.onward"),
        folder=tmp_path,
    )
    lines = said.out.splitlines()
    assert lines[0] == "row,target,prediction,lower,upper,leverage,c4"
    assert lines[1].startswith("2,2.25,")
    assert lines[1].endswith(",k2")
    names = load(tmp_path / "m.onward").feature_names_in_.tolist()
    wanted = ["c1", "c2", "lag(c5, 1)", "sin(weekday(c1))", "cos(weekday(c1))", "c3=Zürich1", "c2:c3=Zürich1"]
    assert names == wanted
    said = onward("predict", "m.onward", "t.csv", *common, folder=tmp_path)
    assert said.out.splitlines()[0] == "row,prediction,lower,upper,leverage,c4"
    assert len(said.out.splitlines()) == 29
    assert said.out.splitlines()[28].endswith(",k28")
    shown = onward("show", "m.onward", folder=tmp_path).out
    assert "lag(c5, 1), c2:c3, weekday(c1)" in shown
    said = onward("fit", "t.csv", "-t", "c5", "--start", "m.onward", "--add", "c2^2", folder=tmp_path, expected=2)
    assert "--add is the model's own" in said.err
    said = onward("fit", "t.csv", "-t", "c5", "--add", "sin(c2)", folder=tmp_path, expected=2)
    assert "there is no function 'sin'" in said.err
