"""One pass over a file: what it learns, what it says of it, and that nothing depends on how the rows came."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from onward import AutoRegressor, ForwardRegressor, Known, RidgeRegressor, Table, load
from onward.progressive import Fit, Progress, fit, learning_pass
from onward.progressive.coefficient_intervals import coefficient_columns
from onward.progressive.interval_course import IntervalCourse
from onward.regression import OnlineRegressor
from onward.tables import DataError
from tests.progressive.made_up import small_pieces, table, written

EITHER = pytest.mark.parametrize("learner", [AutoRegressor, ForwardRegressor])  # many states, or one with sets
TABLE = Table("y", categorical=("city",), weight="w", missing="skip")
WITH_CITY = Table("y", categorical=("city",))


def dense(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """The same features by hand: x, z, flag, then cities as they are first seen."""
    frame = frame.drop_nulls()
    cities = frame["city"].unique(maintain_order=True).to_list()
    columns = [frame["x"], frame["z"], frame["flag"].cast(float), *((frame["city"] == c).cast(float) for c in cities)]
    X = np.column_stack([column.to_numpy() for column in columns])
    return X, frame["y"].to_numpy(), frame["w"].to_numpy(), ["x", "z", "flag", *(f"city={c}" for c in cities)]


@pytest.mark.parametrize("new", [lambda: ForwardRegressor(0.3), lambda: RidgeRegressor(0.3), AutoRegressor])
def test_it_is_what_the_learner_does_row_by_row(tmp_path: Path, new: Callable[[], OnlineRegressor]) -> None:
    frame = table()
    data = written(tmp_path, frame)
    out = tmp_path / "out.parquet"
    result = fit(data, TABLE, new(), predictions=out)
    X, y, w, names = dense(frame)
    model = new()
    expected = model.predict_then_learn(X, y, w)
    assert list(result.model.feature_names_in_) == names
    np.testing.assert_allclose(result.model.coef_, model.coef_, rtol=1e-9)
    errors, means = expected - y, np.concatenate([[0.0], (np.cumsum(w * y) / np.cumsum(w))[:-1]]) - y
    assert result.scores.rows == len(y)
    assert result.scores.rmse == pytest.approx(math.sqrt(np.sum(w * errors**2) / w.sum()), rel=1e-9)
    assert result.scores.mae == pytest.approx(np.sum(w * np.abs(errors)) / w.sum(), rel=1e-9)
    assert result.scores.mean_rmse == pytest.approx(math.sqrt(np.sum(w * means**2) / w.sum()), rel=1e-9)
    assert result.scores.r2 == pytest.approx(1 - np.sum(w * errors**2) / np.sum(w * means**2), rel=1e-9)
    assert (result.read, sum(result.skipped.values())) == (len(frame), len(frame) - len(y))
    written_out = pl.read_parquet(out)
    assert written_out["row"].to_list() == list(range(1, len(frame) + 1))
    assert (written_out["prediction"].is_null() == frame["z"].is_null()).all()
    np.testing.assert_allclose(written_out["prediction"].drop_nulls(), expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(written_out["target"].drop_nulls(), y)


def test_leverages_and_intervals_are_from_before_each_row(tmp_path: Path) -> None:
    frame = table(120).drop("city", "w").drop_nulls()
    out = tmp_path / "out.parquet"
    known = Known(0.3, 3.0, 0.1)
    fit(written(tmp_path, frame), "y", ForwardRegressor(0.5), known=known, intervals="uniform", predictions=out)
    got = pl.read_parquet(out)
    model = ForwardRegressor(0.5)
    X = np.column_stack([frame["x"], frame["z"], frame["flag"].cast(float)])
    for row in range(len(frame)):
        if row:
            assert got["leverage"][row] == pytest.approx(model.leverage(X[row : row + 1])[0], rel=1e-9)
            low, high = model.interval(X[row : row + 1], 0.1, 0.3, 3.0, of="observation")[0]
            if row <= 20:  # at first the sets are taken at every row
                assert (got["lower"][row], got["upper"][row]) == pytest.approx((low, high), rel=1e-9)
            else:  # then they are up to a twentieth of the rows old, so a little wider
                assert 0.97 * (high - low) < got["upper"][row] - got["lower"][row] < 1.2 * (high - low)
        else:
            assert (got["lower"][row], got["upper"][row]) == (-math.inf, math.inf)
        model.learn_one(X[row], frame["y"][row])


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
@pytest.mark.parametrize("size", [300, 1500, 1 << 20])
@EITHER
def test_the_result_does_not_depend_on_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learner: type[OnlineRegressor], name: str, size: int
) -> None:
    data = written(tmp_path, table(), name)

    def run(out: str) -> Fit:
        predictions = tmp_path / f"{out}.parquet"
        return fit(data, TABLE, learner(), predictions=predictions, history=True, save=tmp_path / out)

    whole = run("whole")
    small_pieces(monkeypatch, size)
    pieces = run("pieces")
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "pieces.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert pieces.scores == whole.scores
    assert pieces.history is not None
    assert whole.history is not None
    for field in ("estimate", "lower", "upper", "misses", "open", "weights"):
        np.testing.assert_array_equal(getattr(pieces.history, field), getattr(whole.history, field))
    for column, values in whole.history.sample.items():
        np.testing.assert_array_equal(pieces.history.sample[column], values)
    for field in IntervalCourse.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(pieces.history.course, field), getattr(whole.history.course, field))


@pytest.mark.parametrize("resumable", [False, True])
def test_predictions_are_the_same_in_every_format(tmp_path: Path, resumable: bool) -> None:
    data = written(tmp_path, table(100))
    followed: list[pl.DataFrame] = []
    more: dict[str, Any] = {"save": tmp_path / "m", "checkpoint_every": 1} if resumable else {}
    for name in ("p.parquet", "p.pq", "p.csv", "p.jsonl", "p.ndjson"):
        fit(data, TABLE, predictions=tmp_path / name, **more)
    fit(data, TABLE, follow=followed.append)
    expected = pl.read_parquet(tmp_path / "p.parquet")
    assert pl.read_parquet(tmp_path / "p.pq").equals(expected)
    assert pl.read_csv(tmp_path / "p.csv", schema=expected.schema).equals(expected)
    assert pl.concat(followed).equals(expected.drop_nulls("prediction"))
    finite = expected.with_columns(pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64)))  # as JSON has it
    for name in ("p.jsonl", "p.ndjson"):
        assert pl.read_ndjson(tmp_path / name, schema=expected.schema).equals(finite)


class _CrashError(Exception):
    pass


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
@EITHER
def test_stopped_anywhere_it_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learner: type[OnlineRegressor], name: str
) -> None:
    small_pieces(monkeypatch)
    data = written(tmp_path, table(), name)
    whole = fit(data, TABLE, learner(), predictions=tmp_path / "whole.parquet", history=True, save=tmp_path / "whole")
    model, out = tmp_path / "model", tmp_path / "out.parquet"
    options: dict[str, Any] = {"save": model, "predictions": out, "checkpoint_every": 1, "history": True}

    def run(crash_after: int) -> Any:
        calls = 0

        def watch(progress: Progress) -> None:
            nonlocal calls
            calls += 1
            if calls > crash_after:
                raise _CrashError

        return fit(data, TABLE, learner(), resume=True, watch=watch, **options)

    # Each run calls `watch` for the powers of two and the pieces that it gets through.
    steps = [2, 10, 3, 2, 3]
    for step in steps:
        with pytest.raises(_CrashError):
            run(step)
        assert not model.exists()
        assert not out.exists()
    result = run(10_000)
    assert model.read_bytes() == (tmp_path / "whole").read_bytes()
    assert out.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert (result.scores, result.read, result.skipped) == (whole.scores, whole.read, whole.skipped)
    assert result.history is not None
    assert whole.history is not None
    for field in ("estimate", "lower", "weights"):
        np.testing.assert_array_equal(getattr(result.history, field), getattr(whole.history, field))
    np.testing.assert_array_equal(result.history.misses, whole.history.misses)
    np.testing.assert_array_equal(result.history.sample["row"], whole.history.sample["row"])
    for field in IntervalCourse.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(result.history.course, field), getattr(whole.history.course, field))
    assert sorted(path.name for path in tmp_path.iterdir() if "model" in path.name or "out" in path.name) == [
        "model",
        "out.parquet",
    ]


def test_a_checkpoint_of_other_settings_or_data_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch)
    data = written(tmp_path, table().drop_nulls())
    options: dict[str, Any] = {"table": WITH_CITY, "save": tmp_path / "model", "checkpoint_every": 1}

    def crash(progress: Progress) -> None:
        if progress.read > 200:
            raise _CrashError

    with pytest.raises(_CrashError):
        fit(data, watch=crash, **options)
    for other, message in (
        ({"known": Known(delta=0.1)}, "delta was 0.05, now it is 0.1"),
        ({"model": AutoRegressor(lams=[7.0])}, r"model was .*'lams': \(0\.001, .*, now it is .*'lams': \[7\.0"),
        ({"model": RidgeRegressor()}, "model was .'AutoRegressor', .*, now it is .'RidgeRegressor', "),
        ({"model": fit(data, WITH_CITY).model}, "started from was 'nothing', now it is "),
        ({"table": replace(WITH_CITY, exclude=("x",))}, "exclude was"),
        ({"table": replace(WITH_CITY, missing="skip")}, "missing was 'error'"),
        ({"predictions": tmp_path / "p.parquet"}, "predictions was None"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(data, resume=True, **(options | other))
    whole_text = data.read_text(encoding="utf-8")
    data.write_text(whole_text + whole_text.splitlines()[-1] + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"cannot go on with other data: .* bytes then and has .* now"):
        fit(data, resume=True, **options)
    data.write_text(whole_text.replace("Rome", "Roma"), encoding="utf-8")
    with pytest.raises(ValueError, match="begins or ends otherwise than it did then"):
        fit(data, resume=True, **options)
    data.write_text(whole_text, encoding="utf-8")
    fit(data, resume=True, **options)


def test_a_failed_pass_leaves_everything_as_it_was(tmp_path: Path) -> None:
    good = written(tmp_path, table().drop_nulls(), "good.csv")
    model, out = tmp_path / "model", tmp_path / "out.parquet"
    fit(good, WITH_CITY, save=model, predictions=out)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    text = good.read_text(encoding="utf-8").splitlines()
    text[150] = text[150].replace(",", ",oops", 1)
    bad = tmp_path / "bad.csv"
    bad.write_text("\n".join(text), encoding="utf-8")
    with pytest.raises(DataError, match=r"bad\.csv, line 151, column 'z': got 'oops"):
        fit(bad, WITH_CITY, save=model, predictions=out)
    bad.unlink()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@EITHER
def test_going_on_with_a_model_is_one_pass_over_both(tmp_path: Path, learner: type[OnlineRegressor]) -> None:
    frame = table()
    both = fit(written(tmp_path, frame), TABLE, learner(), save=tmp_path / "both")
    fit(written(tmp_path, frame[:150], "a.csv"), TABLE, learner(), save=tmp_path / "first")
    later = fit(written(tmp_path, frame[150:], "b.csv"), "y", load(tmp_path / "first"))
    assert list(later.model.feature_names_in_) == list(both.model.feature_names_in_)
    np.testing.assert_array_equal(later.model._fitted().buffer, both.model._fitted().buffer)
    np.testing.assert_array_equal(later.model.coef_, both.model.coef_)
    assert later.model.online_loss_ == both.model.online_loss_
    with pytest.raises(DataError, match="the model was made to predict 'y', not 'x'"):
        fit(tmp_path / "b.csv", "x", load(tmp_path / "first"))


def test_progress_is_told_at_powers_of_two(tmp_path: Path) -> None:
    seen: list[Progress] = []
    fit(written(tmp_path, table(300).drop_nulls()), WITH_CITY, watch=seen.append)
    marks = [progress.scores.rows for progress in seen if progress.mark]
    assert marks == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert seen[-1].done == seen[-1].size == (tmp_path / "data.csv").stat().st_size


def test_intervals_of_observations_keep_their_level(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.7 * rng.normal(size=4000)
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(3)} | {"y": y})
    result = fit(written(tmp_path, frame), "y", ForwardRegressor(), intervals="uniform", history=True)
    history = result.history
    assert history is not None
    judged = history.rows[-1] - history.open[-1]
    assert (history.misses[-1] <= history.deltas * judged).all()
    assert (history.misses[-1] > 0).sum() >= 3  # the wide levels do miss, so something is judged
    assert list(history.deltas) == [0.5, 0.2, 0.1, 0.05, 0.01]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": ForwardRegressor(-1.0)}, "lam must be 0 or a number between"),
        ({"model": RidgeRegressor(0.0)}, "lam must be positive for ridge"),
        ({"checkpoint_every": 5}, "checkpoints lie beside the saved model"),
        ({"resume": True}, "checkpoints lie beside the saved model"),
        ({"save_every": "5m"}, "save_every says when, not where"),
        ({"checkpoint_every": 0, "save": "m"}, "checkpoint_every must be a number of rows or a time .*, got 0"),
        ({"save_every": "5 weeks", "save": "m"}, "save_every must be a number of rows or a time .*, got '5 weeks'"),
        ({"table": Table(exclude=("x",))}, "expected a table with a target, got none"),
        ({"predictions": "p.txt"}, "expected a name that ends in .csv, .jsonl, .ndjson, .parquet, .pq, got '.txt'"),
        ({"predictions": "p/"}, "expected a name that does not end in /"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(written(tmp_path, table(10).drop_nulls().drop("city")), **({"table": "y"} | options))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Known(delta=1.0), "delta must be"),
        (lambda: Known(theta_bound=1.0), "theta_bound says nothing while sigma is unknown"),
        (lambda: Known(sigma=0.0), "sigma must be"),
        (lambda: Table("y", missing=cast(Any, "drop")), "missing must be one of error, skip, zero"),
    ],
)
def test_wrong_values_are_refused_where_they_are_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_readings_make_no_intervals_while_none_has_a_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def columns(model: OnlineRegressor, *known: Any) -> dict[str, Any]:
        asked.append(model.n_seen_)
        return coefficient_columns(model, *known)

    monkeypatch.setattr(learning_pass, "coefficient_columns", columns)
    X = np.random.default_rng(0).standard_normal((100, 3))
    frame = pl.DataFrame({**{f"x{j}": X[:, j] for j in range(3)}, "y": X @ np.ones(3)})
    history = fit(frame, "y", ForwardRegressor(), history=True).history
    assert history is not None
    rows = history.rows
    assert asked == rows[rows > 64].tolist()
    assert len(asked) > 1
    assert np.isneginf(history.lower[rows <= 64]).all()
    assert np.isposinf(history.upper[rows <= 64]).all()
    assert np.isfinite(history.lower[-1]).all()
    asked.clear()
    known = fit(frame[:8], "y", ForwardRegressor(), history=True, known=Known(sigma=1.0, theta_bound=20.0)).history
    assert known is not None  # its intervals are made without scales
    assert asked == known.rows.tolist()
    assert np.isfinite(known.lower[-1]).all()
