"""Predictions for files: a line for each row, whatever is skipped."""

from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest

from onward import ForwardRegressor
from onward.progressive import fit
from onward.progressive.frame_writers import open_writer
from onward.progressive.predicting import predict
from onward.tables import DataError, Table
from tests.progressive.made_up import small_pieces, table, written


@pytest.mark.parametrize("size", [40, 700, 1 << 20])
def test_there_is_a_row_for_each_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    frame = table().drop("w")
    model = fit(written(tmp_path, frame), Table("y", categorical=("city",), missing="skip")).model
    holes = frame.with_columns(z=pl.when(pl.int_range(pl.len()) >= 380).then(None).otherwise(pl.col("z")))
    data = written(tmp_path, holes, "new.csv")
    whole: list[pl.DataFrame] = []
    notes = predict(model, data, whole.append)
    assert notes.skipped == {"z is missing": holes["z"].null_count()}
    small_pieces(monkeypatch, size)
    parts: list[pl.DataFrame] = []
    assert predict(model, data, parts.append) == notes
    got = pl.concat(parts)
    assert got.equals(pl.concat(whole))
    assert got["row"].to_list() == list(range(1, len(frame) + 1))
    assert (got["prediction"].is_null() == holes["z"].is_null()).all()
    filled: list[pl.DataFrame] = []
    assert not predict(model, data, filled.append, missing="zero").skipped
    assert pl.concat(filled)["prediction"].null_count() == 0
    with pytest.raises(DataError, match="column 'z': the value is missing"):
        predict(model, data, filled.append, missing="error")


def test_intervals_for_means_are_within_those_for_targets(tmp_path: Path) -> None:
    frame = table().drop("w", "city").drop_nulls()
    data = written(tmp_path, frame)
    model = fit(data, "y", ForwardRegressor()).model
    ends = []
    kinds: tuple[Literal["observation", "mean"], ...] = ("observation", "mean")
    for of in kinds:
        made: list[pl.DataFrame] = []
        predict(model, data, made.append, of=of, intervals="uniform")
        ends.append(pl.concat(made).select("lower", "upper").to_numpy())
    assert (ends[0][:, 0] < ends[1][:, 0]).all()
    assert (ends[1][:, 1] < ends[0][:, 1]).all()
    expected = model.interval(frame.select("x", "z", pl.col("flag").cast(pl.Float64)), 0.05)
    np.testing.assert_allclose(ends[1], expected, rtol=1e-9)


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    path.write_text("earlier", encoding="utf-8")

    def stop_half_way() -> None:
        with open_writer(path) as write:
            write(pl.DataFrame({"a": [1.0]}))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        stop_half_way()
    assert [file.name for file in tmp_path.iterdir()] == ["p.parquet"]
    assert path.read_text(encoding="utf-8") == "earlier"
    with open_writer(path) as write:
        write(pl.DataFrame({"a": [1.0]}))
        write(pl.DataFrame({"a": [2.0]}))
    assert pl.read_parquet(path)["a"].to_list() == [1.0, 2.0]
