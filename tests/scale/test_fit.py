"""A pass shared out over workers: the result of one pass in order, whatever the chunks and whoever does the work."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from onward.progressive.predictions import Spool
from onward.scale.records import Predicted
from onward.scale.work import Predict, Reduce

from onward import ForwardRegressor, RidgeRegressor, load, progressive, scale
from onward.progressive import Fit
from onward.scale import Engine, EngineError, chunks, chunks_of, work
from onward.tables import DataError
from onward.tables.sources import files_of
from tests.progressive.made_up import table, written

OPTIONS: dict[str, Any] = {"categorical": ["city"], "weight": "w", "missing": "skip", "lam": 0.3}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of 130, 0, 1 and 269 rows, in row groups of 90."""
    frame = table(400)
    (tmp_path / "data").mkdir()
    for place, (start, stop) in enumerate([(0, 130), (130, 130), (130, 131), (131, 400)]):
        written(tmp_path / "data", frame[start:stop], f"part-{place}.parquet")
    return tmp_path / "data"


def same(got: Fit, expected: Fit) -> None:
    assert list(got.model.feature_names_in_) == list(expected.model.feature_names_in_)
    np.testing.assert_allclose(got.model.coef_, expected.model.coef_, rtol=1e-9)
    assert got.model.information_gain_ == pytest.approx(expected.model.information_gain_, rel=1e-11)
    assert got.model.regularized_loss_ == pytest.approx(expected.model.regularized_loss_, rel=1e-10)
    assert (got.read, got.skipped, got.filled) == (expected.read, expected.skipped, expected.filled)
    assert got.scores.rows == expected.scores.rows


def scored_alike(got: Fit, expected: Fit) -> None:
    for name in ("weight", "squared", "absolute", "mean_squared", "mean_absolute"):
        assert getattr(got.scores, name) == pytest.approx(getattr(expected.scores, name), rel=1e-10)
    assert got.model.online_loss_ == pytest.approx(expected.model.online_loss_, rel=1e-10)


class Together:
    """An engine that pretends to have many workers, and does the work here, the last task first."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.backend = "loky"

    def started(self) -> Any:
        import contextlib

        @contextlib.contextmanager
        def workers() -> Iterator[Any]:
            yield self

        return workers()

    def run(self, function: Any, tasks: Any) -> Iterator[Any]:
        import pickle

        for place in reversed(range(len(tasks))):  # through pickle, as to another process
            yield place, pickle.loads(pickle.dumps(function(pickle.loads(pickle.dumps(tasks[place])))))


@pytest.mark.parametrize(
    ("workers", "rows", "learner"),
    [(1, 100, "forward"), (2, 10**6, "ridge"), (2, 100, "forward"), (3, 100, "ridge"), (50, 1, "forward")],
)
def test_any_workers_and_chunks_give_one_pass(
    tmp_path: Path, folder: Path, workers: int, rows: int, learner: Any
) -> None:
    options = OPTIONS | {"learner": learner}
    expected = progressive.fit(folder, "y", predictions=tmp_path / "one.parquet", **options)
    engine: Any = Together(workers)
    got = scale.fit(folder, "y", engine=engine, chunk_rows=rows, predictions=tmp_path / "many.parquet", **options)
    same(got, expected)
    scored_alike(got, expected)
    one, many = pl.read_parquet(tmp_path / "one.parquet"), pl.read_parquet(tmp_path / "many.parquet")
    assert one["row"].to_list() == many["row"].to_list()
    for column in ("target", "prediction", "leverage"):
        assert one[column].is_null().to_list() == many[column].is_null().to_list()
        np.testing.assert_allclose(many[column].drop_nulls(), one[column].drop_nulls(), rtol=1e-8, atol=1e-10)
    learned = scale.fit(folder, "y", engine=engine, chunk_rows=rows, with_scores=False, **options)
    same(learned, expected)
    assert np.isnan(learned.scores.rmse)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "many.parquet", "one.parquet"]


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
@pytest.mark.parametrize("constant", [0.0, 0.7])
def test_a_lam_for_each_feature_goes_along(tmp_path: Path, folder: Path, learner: Any, constant: float) -> None:
    options = {key: value for key, value in OPTIONS.items() if key != "lam"}
    names = list(progressive.fit(folder, "y", **options).model.feature_names_in_)
    lam = {None: 3.0, names[0]: 0.01, names[-1]: 50.0}
    expected = progressive.fit(folder, "y", start=learner(lam, intercept_lam=constant), **options)
    engine: Any = Together(3)
    for with_scores in (True, False):
        start = learner(lam, intercept_lam=constant)
        got = scale.fit(folder, "y", engine=engine, chunk_rows=100, start=start, with_scores=with_scores, **options)
        same(got, expected)
        np.testing.assert_array_equal(got.model.information_.lam, [constant, 0.01, *[3.0] * (len(names) - 2), 50.0])
    unfitted = Predicted(0, np.zeros(9), 0, Counter(), Counter(), learner([1.0, 2.0], intercept_lam=0.5), np.zeros(2))
    again: Any = Predicted.from_record(*unfitted.to_record()).model
    assert (list(again.lam), again.intercept_lam, type(again)) == ([1.0, 2.0], 0.5, learner)


def test_chunks_are_files_and_row_groups(folder: Path) -> None:
    names = [chunk.name.rpartition("/")[2] for chunk in chunks_of(files_of(folder), 150)]
    assert names == [
        "part-0.parquet",
        "part-1.parquet",
        "part-2.parquet",
        "part-3.parquet, row group 1",
        "part-3.parquet, row group 2",
        "part-3.parquet, row group 3",
    ]
    assert chunks_of(files_of(folder), 200)[-2].name.endswith("row groups 1 to 2")


def test_there_are_not_too_many_chunks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "ROWS", 90)
    assert len(chunks_of(files_of(folder))) == 7
    monkeypatch.setattr(chunks, "MOST", 2)
    assert len(chunks_of(files_of(folder))) == 5  # of 200 rows: only the last file has more


def test_text_files_are_chunks_too(tmp_path: Path) -> None:
    frame = table(300)
    files = [written(tmp_path, frame[:100], "a.csv"), written(tmp_path, frame[100:], "b.csv")]
    same(scale.fit(files, "y", engine=Engine(1), **OPTIONS), progressive.fit(files, "y", **OPTIONS))


def test_data_frames_are_chunks_too() -> None:
    frame = table(300)
    engine: Any = Together(2)
    got = scale.fit([frame[:90], frame[90:90], frame[90:]], "y", engine=engine, **OPTIONS)
    same(got, progressive.fit(frame, "y", **OPTIONS))


def test_going_on_with_a_model(tmp_path: Path, folder: Path) -> None:
    first = written(tmp_path, table(200, seed=5), "first.csv")
    progressive.fit(first, "y", save=tmp_path / "m", **OPTIONS)
    engine: Any = Together(3)
    got = scale.fit(folder, "y", engine=engine, chunk_rows=100, start=load(tmp_path / "m"))
    expected = progressive.fit(folder, "y", start=load(tmp_path / "m"))
    same(got, expected)
    scored_alike(got, expected)


def test_what_was_done_is_not_done_again(tmp_path: Path, folder: Path) -> None:
    done: list[int] = []

    class Failing(Together):
        def __init__(self, after: int) -> None:
            super().__init__(3)
            self.after = after

        def run(self, function: Any, tasks: Any) -> Iterator[Any]:
            for place, result in super().run(function, tasks):
                if self.after == 0:
                    raise EngineError("gone")
                self.after -= 1
                done.append(place)
                yield place, result

    options: dict[str, Any] = OPTIONS | {
        "chunk_rows": 100,
        "save": tmp_path / "m",
        "predictions": tmp_path / "p.parquet",
    }
    for after in (2, 3, 1):
        engine: Any = Failing(after)
        with pytest.raises(EngineError, match="gone"):
            scale.fit(folder, "y", engine=engine, resume=True, **options)
        assert not (tmp_path / "m").exists()
        assert not (tmp_path / "p.parquet").exists()
    engine = Failing(10**6)
    got = scale.fit(folder, "y", engine=engine, resume=True, **options)
    once = len(done)
    plain: Any = Together(3)
    expected = scale.fit(folder, "y", engine=plain, **(options | {"save": tmp_path / "again", "predictions": None}))
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    assert got.scores == expected.scores
    assert not list(tmp_path.glob("*.chunks"))
    done.clear()
    fresh: Any = Failing(10**6)
    scale.fit(folder, "y", engine=fresh, resume=False, **options)
    assert len(done) == once  # every task was done once in all, however often it was stopped


def test_what_was_kept_serves_another_number_of_workers(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the worker that predicts the front goes on after the last chunk that it was done with."""
    options: dict[str, Any] = OPTIONS | {"chunk_rows": 1, "save": tmp_path / "m", "predictions": tmp_path / "p.parquet"}

    class Dying(Together):
        def run(self, function: Any, tasks: Any) -> Iterator[Any]:
            for place, task in enumerate(tasks):
                if isinstance(task, Predict):
                    assert len(task.chunks) == 2
                    function(replace(task, chunks=task.chunks[:1]))
                else:
                    yield place, function(task)
            raise EngineError("gone")

    dying: Any = Dying(3)
    with pytest.raises(EngineError, match="gone"):
        scale.fit(folder, "y", engine=dying, resume=True, **options)
    predicted: list[int] = []
    one = Predict._one

    def counted(self: Predict, chunk: Any, place: int, done: Any) -> Any:
        predicted.append(place)
        return one(self, chunk, place, done)

    monkeypatch.setattr(Predict, "_one", counted)
    monkeypatch.setattr(Reduce, "__call__", None)  # what was reduced is not reduced again
    other: Any = Together(5)
    got = scale.fit(folder, "y", engine=other, resume=True, **options)
    assert sorted(predicted) == [1, 2, 3, 4, 5, 6]
    expected = progressive.fit(folder, "y", **OPTIONS)
    same(got, expected)
    scored_alike(got, expected)
    assert pl.read_parquet(tmp_path / "p.parquet")["row"].to_list() == list(range(1, 401))


def test_a_part_that_two_workers_write_is_whole(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was given up for dead may be writing on while another does its task again."""
    aside: set[str] = set()
    engine: Any = Together(2)
    original = Together.run

    class Twice(Together):
        def run(self, function: Any, tasks: Any) -> Iterator[Any]:
            for place, result in original(self, function, tasks):
                function(tasks[place])
                yield place, result

    twice: Any = Twice(2)
    scale.fit(folder, "y", engine=engine, predictions=tmp_path / "once.parquet", **OPTIONS)

    def noted(path: Path) -> Spool:
        aside.add(path.name)
        return Spool(path)

    monkeypatch.setattr(work, "Spool", noted)
    scale.fit(folder, "y", engine=twice, predictions=tmp_path / "twice.parquet", **OPTIONS)
    assert pl.read_parquet(tmp_path / "once.parquet").equals(pl.read_parquet(tmp_path / "twice.parquet"))
    assert len(aside) == 8  # four chunks, each written twice, never under one name


def test_nothing_is_written_where_nothing_can_be_learned(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    frame = pl.DataFrame({"x": [None, None], "y": [1.0, 2.0]}, schema={"x": pl.Float64, "y": pl.Float64})
    written(tmp_path / "data", frame, "a.parquet")
    options: dict[str, Any] = {"engine": Engine(1), "save": tmp_path / "m", "predictions": tmp_path / "p.parquet"}
    with pytest.raises(DataError, match="none of the 2 rows could be learned: 2 where x is missing"):
        scale.fit(tmp_path / "data", "y", missing="skip", **options)
    written(tmp_path / "data", frame[:0], "a.parquet")
    with pytest.raises(DataError, match="there are no rows"):
        scale.fit(tmp_path / "data", "y", missing="skip", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_chunk_that_cannot_be_read_is_named(tmp_path: Path, folder: Path) -> None:
    bad = folder / "part-3.parquet"
    contents = bytearray(bad.read_bytes())
    contents[200:3000] = bytes(2800)
    bad.write_bytes(contents)
    with pytest.raises(DataError, match=r"part-3\.parquet"):
        scale.fit(folder, "y", engine=Engine(1), save=tmp_path / "m", predictions=tmp_path / "p.parquet", **OPTIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_levels_are_limited_over_all_chunks(folder: Path) -> None:
    engine: Any = Together(2)
    with pytest.raises(DataError, match="'city': 4 levels, expected at most 3"):
        scale.fit(folder, "y", engine=engine, max_levels=3, chunk_rows=1, with_scores=False, **OPTIONS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": Engine(1), "resume": True}, "expected save"),
        ({"engine": Engine(1), "with_scores": False, "predictions": "p.parquet"}, "expected with_scores=True"),
        ({"engine": Engine(1), "delta": 2.0}, "delta must be"),
        ({"engine": Engine(1), "theta_bound": 2.0}, "expected sigma too"),
        ({"engine": Engine(1), "start": ForwardRegressor(prior_mean=[1.0])}, "expected a model without prior_mean"),
    ],
)
def test_wrong_settings_are_refused(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scale.fit(folder, "y", **options)


def test_engines_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = "spark"
    with pytest.raises(ValueError, match="backend must be one of loky, dask, ray, got 'spark'"):
        Engine(1, spark)
    with pytest.raises(ValueError, match="jobs must be -1 or at least 1, got 0"):
        Engine(0)
    with pytest.raises(ValueError, match="expected no address"):
        Engine(1, "loky", "tcp://somewhere:1")
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"dask is not installed; install it with: pip install 'onward\[dask\]'"):
        Engine(1, "dask")


def test_processes_of_this_machine(folder: Path) -> None:
    expected = progressive.fit(folder, "y", **OPTIONS)
    got = scale.fit(folder, "y", engine=Engine(2), chunk_rows=100, **OPTIONS)
    same(got, expected)
    scored_alike(got, expected)
    lams = [0.1, 1.0, 10.0]
    options = {name: value for name, value in OPTIONS.items() if name != "lam"}
    one = progressive.compare(folder, "y", lams=lams, **options)
    many = scale.compare(folder, "y", engine=Engine(2), lams=lams, **options)
    assert (many.scores, many.lams) == (one.scores, one.lams)
    for name in one.curves:
        np.testing.assert_array_equal(many.curves[name], one.curves[name])


def test_only_what_is_ours_is_removed(tmp_path: Path, folder: Path) -> None:
    kept = tmp_path / "m.chunks"
    kept.mkdir()
    (kept / "precious.txt").write_text("mine", encoding="utf-8")
    for resume in (True, False):
        scale.fit(folder, "y", engine=Engine(1), save=tmp_path / "m", resume=resume, **OPTIONS)
    assert [path.name for path in kept.iterdir()] == ["precious.txt"]


def test_another_model_to_start_from_is_another_run(tmp_path: Path, folder: Path) -> None:
    models = []
    for seed in (1, 2):
        progressive.fit(written(tmp_path, table(100, seed=seed), f"{seed}.csv"), "y", save=tmp_path / "s", **OPTIONS)
        models.append(load(tmp_path / "s"))

    class Stopping(Together):
        def run(self, function: Any, tasks: Any) -> Iterator[Any]:
            for number, done in enumerate(super().run(function, tasks)):
                if number == 2:
                    raise EngineError("gone")
                yield done

    stopping: Any = Stopping(3)
    with pytest.raises(EngineError):
        scale.fit(folder, "y", engine=stopping, chunk_rows=100, start=models[0], save=tmp_path / "m", resume=True)
    plain: Any = Together(3)
    got = scale.fit(folder, "y", engine=plain, chunk_rows=100, start=models[1], save=tmp_path / "m", resume=True)
    same(got, progressive.fit(folder, "y", start=load(tmp_path / "s")))


def test_frames_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected files to resume"):
        scale.fit(table(50), "y", engine=Engine(1), save=tmp_path / "m", resume=True, **OPTIONS)
