"""Which intervals the rows of a pass get, and those that its model gives afterwards."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward import AutoRegressor, ForwardRegressor, Known, RidgeRegressor, Table, fit, load
from onward.confidence import DELTAS, ConformalIntervals, TIntervals
from onward.core.known import METHODS, Method
from onward.progressive.interval_drawings import draw_calibration
from onward.progressive.predicting import predict
from onward.progressive.scoring import score
from onward.scale import Engine, parallel_fit
from tests.progressive.made_up import small_pieces, table, written

COLUMNS = Table("y", categorical=("city",), weight="w", missing="skip")


def tracked(predictions: pl.DataFrame, w: pl.Series, delta: float = 0.05) -> pl.DataFrame:
    """The same predictions with intervals made of their errors."""
    prediction, leverage, y = (predictions[name].to_numpy() for name in ("prediction", "leverage", "target"))
    lower, upper = ConformalIntervals((*DELTAS, delta)).track(prediction, leverage, y, w.to_numpy())
    level = sorted({*DELTAS, delta}, reverse=True).index(delta)
    return predictions.with_columns(lower=lower[:, level], upper=upper[:, level])


@pytest.mark.parametrize("delta", [0.05, 0.07])
@pytest.mark.parametrize("history", [False, True])
def test_intervals_are_made_of_the_errors_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delta: float, history: bool
) -> None:
    small_pieces(monkeypatch)
    frame = table(600)
    out = tmp_path / "p.parquet"
    done = fit(written(tmp_path, frame), COLUMNS, known=Known(delta=delta), predictions=out, history=history)
    got, kept = pl.read_parquet(out).drop_nulls("prediction"), frame.filter(pl.col("z").is_not_null())
    assert got.equals(tracked(got, kept["w"], delta))
    assert done.method == "conformal"
    calibration = done.model.calibration_
    assert calibration is not None
    assert calibration.n_learned == len(got) - 1  # of the first row nothing was known
    assert set(calibration.deltas) == {*DELTAS, delta}
    if done.history is not None:
        missed = (got["target"] < got["lower"]) | (got["target"] > got["upper"])
        assert done.history.misses[-1, list(done.history.deltas).index(delta)] == missed.sum()


def test_the_model_gives_the_same_intervals_after_it_was_saved(tmp_path: Path) -> None:
    data, new = written(tmp_path, table(400)), table(50, seed=1)
    done = fit(data, COLUMNS, save=tmp_path / "m.onward")
    loaded = load(tmp_path / "m.onward")
    calibration = done.model.calibration_
    assert calibration is not None
    assert_array_equal(loaded.calibration_.buffer, calibration.buffer)
    for delta in (0.05, 0.2):
        ends = done.model.interval(new, delta, of="observation")
        assert_array_equal(ends, loaded.interval(new, delta, of="observation", method="conformal"))
        level = calibration.deltas.index(delta)
        lower, upper = calibration.intervals(loaded.predict(new), loaded.leverage(new))
        skipped = new["z"].is_null().to_numpy()
        assert np.isnan(ends[skipped]).all()
        assert_array_equal(ends[~skipped], np.column_stack([lower[:, level], upper[:, level]])[~skipped])
        made: list[pl.DataFrame] = []
        predict(loaded, new.with_columns(w=1.0), made.append, known=Known(delta=delta))
        assert_array_equal(pl.concat(made).select("lower", "upper").to_numpy(), ends)
    with pytest.raises(ValueError, match=r"calibrated for, 0.5, 0.2, 0.1, 0.05, 0.01, got 0.07"):
        loaded.interval(new, 0.07, of="observation")


def test_a_resumed_pass_goes_on_with_its_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch)
    data = written(tmp_path, table(600))
    whole = fit(data, COLUMNS, predictions=tmp_path / "whole.parquet")
    save, out = tmp_path / "m.onward", tmp_path / "p.parquet"

    def stop(progress: Any) -> None:
        if progress.read > 300:
            raise RuntimeError("stop")

    arguments: dict[str, Any] = {"save": save, "predictions": out, "checkpoint_every": 50}
    with pytest.raises(RuntimeError, match="stop"):
        fit(data, COLUMNS, watch=stop, **arguments)
    resumed = fit(data, COLUMNS, resume=True, **arguments)
    assert whole.model.calibration_ is not None
    assert resumed.model.calibration_ is not None
    assert_array_equal(resumed.model.calibration_.buffer, whole.model.calibration_.buffer)
    assert pl.read_parquet(out).equals(pl.read_parquet(tmp_path / "whole.parquet"))
    with pytest.raises(RuntimeError, match="stop"):
        fit(data, COLUMNS, RidgeRegressor(), watch=stop, **arguments)
    with pytest.raises(ValueError, match="intervals was 'conformal', now it is 't'"):
        fit(data, COLUMNS, RidgeRegressor(), resume=True, intervals="t", **arguments)


def test_a_model_that_goes_on_keeps_its_calibration(tmp_path: Path) -> None:
    frame = table(400).drop("w").drop_nulls()
    both = fit(frame, Table("y", categorical=("city",))).model
    first = fit(frame[:200], Table("y", categorical=("city",))).model
    fit(frame[200:], "y", first)
    assert first.calibration_ is not None
    assert both.calibration_ is not None
    assert_array_equal(first.calibration_.buffer, both.calibration_.buffer)
    fit(frame[200:], "y", first, known=Known(delta=0.07))  # for which it is not calibrated yet
    assert first.calibration_.n_learned == len(frame) - 200


def test_frames_and_rows_with_the_columns_of_the_table_are_calibrated_on() -> None:
    frame = table(400)
    whole, by_frame, by_row = (fit(part, COLUMNS).model for part in (frame, frame[:200], frame[:200]))
    by_frame.learn_many(frame[200:])
    for row in frame[200:].to_dicts():
        by_row.learn_one(row, row["y"])
    assert whole.calibration_ is not None
    for model in (by_frame, by_row):
        assert model.calibration_ is not None
        assert_array_equal(model.calibration_.buffer, whole.calibration_.buffer)


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
def test_t_intervals_are_those_of_the_rows_before(tmp_path: Path, learner: type[ForwardRegressor]) -> None:
    frame = table(120).drop("city").drop_nulls()
    out = tmp_path / "p.parquet"
    done = fit(written(tmp_path, frame), Table("y", weight="w"), learner(0.5), intervals="t", predictions=out)
    got = pl.read_parquet(out)
    X = np.column_stack([frame["x"], frame["z"], frame["flag"].cast(float)])
    y, w = frame["y"].to_numpy(), frame["w"].to_numpy()
    for row in (1, 5, 12, 20):  # at first the state is taken at every row
        model = learner(0.5).partial_fit(X[:row], y[:row], w[:row])
        expected = TIntervals(model.information_).ends(X[row : row + 1], w[row : row + 1], 0.05)[0]
        assert_allclose((got["lower"][row], got["upper"][row]), expected, rtol=1e-6)
    assert done.method == "t"
    assert done.model.calibration_ is not None  # for later
    model = learner(0.5).fit(X, y)
    assert_allclose(
        model.interval(X[:3], of="observation"), TIntervals(model.information_).ends(X[:3], np.ones(3), 0.05)
    )


def test_width_and_coverage_of_each_method(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    frame = pl.DataFrame(X, schema=list("abcd")).with_columns(
        y=pl.Series(10 + X @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(3000))
    )
    width: dict[str, float] = {}
    inside: dict[str, float] = {}
    methods: tuple[Method, ...] = ("conformal", "t", "uniform")
    for method in methods:
        fit(frame, "y", ForwardRegressor(), intervals=method, predictions=tmp_path / "p.parquet")
        got = pl.read_parquet(tmp_path / "p.parquet")[100:]
        y, lower, upper = (got[name].to_numpy() for name in ("target", "lower", "upper"))
        width[method] = float(np.mean(upper - lower))
        inside[method] = float(np.mean((lower <= y) & (y <= upper)))
    assert_allclose(inside["conformal"], 0.95, atol=0.003)
    assert_allclose(inside["t"], 0.95, atol=0.012)  # three standard errors
    assert inside["uniform"] > 0.97
    assert 0.95 < width["conformal"] / width["t"] < 1.05
    assert width["uniform"] > 1.2 * width["t"]


class WithoutSets(RidgeRegressor):
    """A learner whose state gives no sets, as one that forgets."""

    _has_sets = False

    def confidence_set(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("it has none")


def test_a_learner_without_sets_has_calibrated_intervals(tmp_path: Path) -> None:
    data, out = written(tmp_path, table(300)), tmp_path / "p.parquet"
    for asked in METHODS[1:]:
        with pytest.raises(ValueError, match=f"intervals must be conformal here, got '{asked}'"):
            fit(data, COLUMNS, WithoutSets(0.5), intervals=asked)
    done = fit(data, COLUMNS, WithoutSets(0.5), predictions=out, history=True)
    assert done.method == "conformal"
    expected = tmp_path / "expected.parquet"
    fit(data, COLUMNS, RidgeRegressor(0.5), predictions=expected)
    assert pl.read_parquet(out).equals(pl.read_parquet(expected))
    new = table(20, seed=1).drop_nulls()
    assert np.isfinite(done.model.interval(new, of="observation")).all()
    with pytest.raises(ValueError, match="WithoutSets has calibrated intervals alone, for observations, got 't'"):
        done.model.interval(new, of="observation", method="t")
    with pytest.raises(ValueError, match="calibrated intervals alone, for observations: expected of='observation'"):
        done.model.interval(new)
    with pytest.raises(ValueError, match=r"calibrated intervals alone, .*, which take no sigma, got 1\.0"):
        done.model.interval(new, sigma=1.0, of="observation")


def test_auto_that_is_not_calibrated_predicts_without_intervals(tmp_path: Path) -> None:
    frame = table(300).drop("w").drop_nulls()
    model, made = fit(frame, Table("y", categorical=("city",)), with_scores=False).model, list[pl.DataFrame]()
    assert isinstance(model, AutoRegressor)
    assert model.calibration_ is None
    predict(model, frame, made.append)
    got = pl.concat(made)
    assert_array_equal(got["prediction"], model.predict(frame))
    assert got["lower"].is_null().all()
    assert got["upper"].is_null().all()
    scored = score(model, frame)
    assert (scored.inside, scored.method) == (None, None)
    with pytest.raises(ValueError, match="the model is not calibrated"):
        predict(model, frame, made.append, intervals="conformal")
    with pytest.raises(ValueError, match="the model is not calibrated"):
        model.interval(frame, of="observation")


def test_scores_say_how_intervals_were_made() -> None:
    frame = table(500).drop("w").drop_nulls()
    model = fit(frame[:300], Table("y", categorical=("city",)), ForwardRegressor()).model
    held_out = frame[300:]
    assert score(model, held_out).method == "conformal"
    assert score(model, held_out, intervals="t").method == "t"
    assert score(model, held_out, known=Known(sigma=0.3)).method == "uniform"
    with pytest.raises(ValueError, match="sigma is for 'uniform' intervals, got 't'"):
        score(model, held_out, known=Known(sigma=0.3), intervals="t")
    ends = model.interval(held_out, of="observation")
    y = held_out["y"].to_numpy()
    assert score(model, held_out).inside == ((ends[:, 0] <= y) & (y <= ends[:, 1])).sum()
    model.calibration_ = None
    assert score(model, held_out).method == "t"
    with pytest.raises(ValueError, match="the model is not calibrated"):
        score(model, held_out, intervals="conformal")
    wrong: Any = "exact"
    with pytest.raises(ValueError, match="one of conformal, t, uniform, got 'exact'"):
        score(model, held_out, intervals=wrong)
    with pytest.raises(ValueError, match="one of conformal, t, uniform, got 'exact'"):
        fit(frame, "y", intervals=wrong)


def test_with_workers_chunks_go_on_from_the_first_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of it: the first chunks are as in one pass; a later one knows their errors, and its own."""
    frame = table(900).drop("w").drop_nulls()
    data, columns = tmp_path / "data.parquet", Table("y", categorical=("city",))
    frame.write_parquet(data, row_group_size=200)
    one, many = tmp_path / "one.parquet", tmp_path / "many.parquet"
    fit(data, columns, ForwardRegressor(), predictions=one)
    monkeypatch.setattr(parallel_fit._Job, "_front", lambda job: 2)  # as of two workers, but done in this process
    done = parallel_fit.fit(data, columns, engine=Engine(1), chunk_rows=200, predictions=many)
    a, b = pl.read_parquet(one), pl.read_parquet(many)
    assert_allclose(b["prediction"], a["prediction"], rtol=1e-6, atol=1e-8)
    assert_array_equal(a[:400].to_numpy(), b[:400].to_numpy())
    first = [a[name][:400].to_numpy() for name in ("prediction", "leverage", "target")]
    for start in (400, 600, 800):
        calibration = ConformalIntervals(DELTAS)
        calibration.track(*first)
        chunk = b[start : start + 200]
        lower, upper = calibration.track(*(chunk[name].to_numpy() for name in ("prediction", "leverage", "target")))
        assert_array_equal(chunk["lower"], lower[:, 3])
        assert_array_equal(chunk["upper"], upper[:, 3])
    assert done.method == "conformal"
    assert done.model.calibration_ is not None
    assert_array_equal(done.model.calibration_.buffer, calibration.buffer)


def test_the_report_says_what_its_intervals_promise() -> None:
    history = fit(table(100).drop("w").drop_nulls(), Table("y", categorical=("city",)), history=True).history
    assert history is not None
    said = {
        "conformal": "tends to 1 − δ, whatever comes",
        "t": "They are t intervals",
        "uniform": "the more cautious the intervals",
    }
    methods: tuple[Method, ...] = ("conformal", "t", "uniform")
    for method in methods:
        caption = draw_calibration(history, method).caption
        assert [name for name, words in said.items() if words in caption] == [method]
