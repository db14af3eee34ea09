"""Passes of models that forget: intervals without sets, changes, and what a learner without times says of them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward import AutoRegressor, ForwardRegressor, Known, RidgeRegressor, Table, fit, load
from onward.progressive.coefficient_intervals import coefficient_columns
from onward.progressive.json_results import model_record
from onward.progressive.predicting import predict
from onward.progressive.report import write_fit_report
from onward.progressive.scoring import score
from onward.regression import OnlineRegressor
from tests.progressive.made_up import table, written

HOW: tuple[dict[str, Any], ...] = ({"half_life": 30.0}, {"half_life": "2h"}, {"window": 40})
TIMED = {"half_life": "2h"}


def timed(rows: int = 300, seed: int = 0) -> pl.DataFrame:
    frame = table(rows, seed).drop("w").drop_nulls()
    start = np.datetime64("2026-03-01T00:00", "us")
    return frame.with_columns(when=pl.Series(start + np.arange(len(frame)) * np.timedelta64(7, "m")))


def columns(how: dict[str, Any]) -> Table:
    return Table(
        "y", categorical=("city",), exclude=() if how == TIMED else ("when",), time="when" if how == TIMED else None
    )


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
def test_intervals_are_calibrated_and_coefficients_have_none(
    tmp_path: Path, learner: type[OnlineRegressor], how: dict[str, Any]
) -> None:
    frame = timed()
    done = fit(written(tmp_path, frame), columns(how), learner(0.5, **how), history=True, save=tmp_path / "m.onward")
    model = done.model
    assert done.method == "conformal"
    assert not model.has_sets()
    assert list(coefficient_columns(model, Known())) == ["feature", "estimate"]
    assert list(done.coefficients()) == ["feature", "estimate"]
    assert done.coefficients().to_frame().columns == ["feature", "estimate"]
    record = model_record(model, Known())
    assert record["intervals"] is None
    assert set(record["coefficients"][0]) == {"feature", "estimate"}
    frames: list[pl.DataFrame] = []
    later = frame.tail(20)  # at the times of rows that were learned it refuses to predict, so without
    predict(load(tmp_path / "m.onward"), later.drop("when"), frames.append)
    ends = model.interval(later.drop("when"), of="observation")
    assert_array_equal(np.column_stack([pl.concat(frames)[name] for name in ("lower", "upper")]), ends)
    assert np.isfinite(ends).all()
    if how != TIMED:  # to score, the times are read, too
        assert score(model, later).method == "conformal"


@pytest.mark.parametrize("how", HOW)
def test_reports_show_no_intervals_of_coefficients(tmp_path: Path, how: dict[str, Any]) -> None:
    done = fit(timed(), columns(how), ForwardRegressor(0.5, **how), history=True)
    write_fit_report(tmp_path / "report.html", done)
    assert "Lower" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("how", HOW[::2])
def test_one_that_was_not_calibrated_has_no_intervals(how: dict[str, Any]) -> None:
    frame = timed()
    model = fit(frame, columns(how), RidgeRegressor(**how), with_scores=False).model
    assert model.calibration_ is None
    frames: list[pl.DataFrame] = []
    predict(model, frame.tail(9), frames.append)
    assert pl.concat(frames)["lower"].null_count() == 9
    scored = score(model, frame.tail(9))
    assert (scored.method, scored.inside, scored.coverage) == (None, None, None)
    with pytest.raises(ValueError, match="not calibrated"):
        score(model, frame.tail(9), intervals="conformal")
    with pytest.raises(ValueError, match="calibrated intervals alone"):
        predict(model, frame.tail(9), frames.append, of="mean")


@pytest.mark.parametrize("how", HOW)
def test_after_a_change_it_starts_anew(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    frame = timed(1200)
    signs = np.where(np.arange(len(frame)) < 500, 3.0, -3.0)
    frame = frame.with_columns(y=pl.col("x") * pl.Series(signs) + pl.Series(0.1 * rng.normal(size=len(frame))))
    done = fit(frame, columns(how), RidgeRegressor(**how), on_change="restart")
    assert done.changes
    last = done.changes[-1].noticed
    anew = RidgeRegressor(**how)
    rest = fit(frame[last - 1 :], columns(how), anew, on_change="ignore").model
    last_five = frame.tail(5).drop("when") if how == TIMED else frame.tail(5)
    assert_allclose(done.model.predict(last_five), rest.predict(last_five), rtol=1e-12)
    assert done.model.n_seen_ == len(frame) - last + 1


def test_auto_takes_no_times() -> None:
    frame = timed(100)
    with pytest.raises(ValueError, match="auto forgets by rows") as error:
        fit(frame, columns(TIMED), AutoRegressor())
    assert "\n" not in str(error.value)
    X, y, times = np.eye(3), np.arange(3.0), np.arange(3.0)
    model = AutoRegressor().fit(X, y)
    before = model._buffer.copy()
    of_table = fit(frame, columns({}), AutoRegressor()).model
    for ask in (
        lambda: model.partial_fit(X, y, times=times),
        lambda: model.predict(X, times=times),
        lambda: model.learn_one(X[0], 1.0, time=3.0),
        lambda: model.predict_one(X[0], time=3.0),
        lambda: of_table.predict(frame, times=frame["when"]),
        lambda: of_table.learn_many(frame, times=frame["when"]),
    ):
        with pytest.raises(ValueError, match="auto forgets by rows"):
            ask()
    assert_array_equal(model._buffer, before)


def test_own_units_are_for_models_that_do_not_forget() -> None:
    for how in ({"half_life": 3.0}, {"window": 3}):
        with pytest.raises(ValueError, match="a model that forgets has its λ in the units of the data"):
            RidgeRegressor(units="own", **how).fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize(
    "flags", [["--half-life", "9"], ["--window", "9"], ["--time", "when"]], ids=lambda flags: flags[0]
)
def test_the_shell_wants_a_learner_beside_what_auto_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    from onward import cli

    data = written(tmp_path, timed(50))
    monkeypatch.setattr("sys.argv", ["onward", "fit", str(data), "-t", "y", *flags])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    assert f"--learner forward or ridge beside {flags[0]}" in " ".join(capfd.readouterr().err.replace("│", " ").split())
