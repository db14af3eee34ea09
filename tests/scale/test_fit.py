"""A pass shared out over workers: the result of one pass in order, whatever the chunks and whoever does the work."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import ForwardRegressor, RidgeRegressor, Table, load, progressive, scale
from onward.atomic_files import replacing
from onward.progressive import Fit, frame_writers
from onward.progressive.running_scores import new_totals
from onward.regression import OnlineRegressor
from onward.scale import Engine, EngineError, chunks, chunks_of
from onward.scale.chunk_results import Predicted
from onward.scale.tasks import Predict, Reduce
from onward.tables import DataError
from onward.tables.sources import find_files
from tests.progressive.made_up import table, written

TABLE = Table("y", categorical=("city",), weight="w", missing="skip")


def new() -> OnlineRegressor:
    """A model that has learned nothing; a fit changes it."""
    return ForwardRegressor(0.3)


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
    [
        (1, 100, ForwardRegressor),
        (2, 10**6, RidgeRegressor),
        (2, 100, ForwardRegressor),
        (3, 100, RidgeRegressor),
        (50, 1, ForwardRegressor),
    ],
)
def test_any_workers_and_chunks_give_one_pass(
    tmp_path: Path, folder: Path, workers: int, rows: int, learner: type[OnlineRegressor]
) -> None:
    expected = progressive.fit(folder, TABLE, learner(0.3), predictions=tmp_path / "one.parquet")
    engine: Any = Together(workers)
    got = scale.fit(folder, TABLE, learner(0.3), engine=engine, chunk_rows=rows, predictions=tmp_path / "many.parquet")
    same(got, expected)
    scored_alike(got, expected)
    one, many = pl.read_parquet(tmp_path / "one.parquet"), pl.read_parquet(tmp_path / "many.parquet")
    assert one["row"].to_list() == many["row"].to_list()
    for column in ("target", "prediction", "leverage"):
        assert one[column].is_null().to_list() == many[column].is_null().to_list()
        np.testing.assert_allclose(many[column].drop_nulls(), one[column].drop_nulls(), rtol=1e-8, atol=1e-10)
    learned = scale.fit(folder, TABLE, learner(0.3), engine=engine, chunk_rows=rows, with_scores=False)
    same(learned, expected)
    assert np.isnan(learned.scores.rmse)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "many.parquet", "one.parquet"]


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
@pytest.mark.parametrize("constant", [0.0, 0.7])
def test_a_lam_for_each_feature_goes_along(tmp_path: Path, folder: Path, learner: Any, constant: float) -> None:
    names = list(progressive.fit(folder, TABLE).model.feature_names_in_)
    lam = {None: 3.0, names[0]: 0.01, names[-1]: 50.0}
    expected = progressive.fit(folder, TABLE, learner(lam, intercept_lam=constant))
    engine: Any = Together(3)
    for with_scores in (True, False):
        start = learner(lam, intercept_lam=constant)
        got = scale.fit(folder, TABLE, start, engine=engine, chunk_rows=100, with_scores=with_scores)
        same(got, expected)
        np.testing.assert_array_equal(got.model.information_.lam, [constant, 0.01, *[3.0] * (len(names) - 2), 50.0])
    unfitted = Predicted(0, new_totals(), 0, Counter(), Counter(), learner([1.0, 2.0], intercept_lam=0.5), np.zeros(2))
    again: Any = Predicted.from_record(*unfitted.to_record()).model
    assert (list(again.lam), again.intercept_lam, type(again)) == ([1.0, 2.0], 0.5, learner)


def test_chunks_are_files_and_row_groups(folder: Path) -> None:
    names = [chunk.name.rpartition("/")[2] for chunk in chunks_of(find_files(folder), 150)]
    assert names == [
        "part-0.parquet",
        "part-1.parquet",
        "part-2.parquet",
        "part-3.parquet, row group 1",
        "part-3.parquet, row group 2",
        "part-3.parquet, row group 3",
    ]
    assert chunks_of(find_files(folder), 200)[-2].name.endswith("row groups 1 to 2")


def test_there_are_not_too_many_chunks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "ROWS", 90)
    assert len(chunks_of(find_files(folder))) == 7
    monkeypatch.setattr(chunks, "MOST", 2)
    assert len(chunks_of(find_files(folder))) == 5  # of 200 rows: only the last file has more


def test_text_files_are_chunks_too(tmp_path: Path) -> None:
    frame = table(300)
    files = [written(tmp_path, frame[:100], "a.csv"), written(tmp_path, frame[100:], "b.csv")]
    same(scale.fit(files, TABLE, new(), engine=Engine(1)), progressive.fit(files, TABLE, new()))


def test_data_frames_are_chunks_too() -> None:
    frame = table(300)
    engine: Any = Together(2)
    got = scale.fit([frame[:90], frame[90:90], frame[90:]], TABLE, new(), engine=engine)
    same(got, progressive.fit(frame, TABLE, new()))


def test_going_on_with_a_model(tmp_path: Path, folder: Path) -> None:
    first = written(tmp_path, table(200, seed=5), "first.csv")
    progressive.fit(first, TABLE, new(), save=tmp_path / "m")
    engine: Any = Together(3)
    got = scale.fit(folder, "y", load(tmp_path / "m"), engine=engine, chunk_rows=100)
    expected = progressive.fit(folder, "y", load(tmp_path / "m"))
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

    options: dict[str, Any] = {
        "chunk_rows": 100,
        "save": tmp_path / "m",
        "predictions": tmp_path / "p.parquet",
    }
    for after in (2, 3, 1):
        engine: Any = Failing(after)
        with pytest.raises(EngineError, match="gone"):
            scale.fit(folder, TABLE, new(), engine=engine, resume=True, **options)
        assert not (tmp_path / "m").exists()
        assert not (tmp_path / "p.parquet").exists()
    engine = Failing(10**6)
    got = scale.fit(folder, TABLE, new(), engine=engine, resume=True, **options)
    once = len(done)
    plain: Any = Together(3)
    again = options | {"save": tmp_path / "again", "predictions": None}
    expected = scale.fit(folder, TABLE, new(), engine=plain, **again)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    assert got.scores == expected.scores
    assert not list(tmp_path.glob("*.chunks"))
    done.clear()
    fresh: Any = Failing(10**6)
    scale.fit(folder, TABLE, new(), engine=fresh, checkpoint_every=1, **options)
    assert len(done) == once  # every task was done once in all, however often it was stopped


def test_what_was_kept_serves_another_number_of_workers(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the worker that predicts the front goes on after the last chunk that it was done with."""
    options: dict[str, Any] = {"chunk_rows": 1, "save": tmp_path / "m", "predictions": tmp_path / "p.parquet"}

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
        scale.fit(folder, TABLE, new(), engine=dying, resume=True, **options)
    predicted: list[int] = []
    one = Predict._one

    def counted(self: Predict, chunk: Any, place: int, done: Any) -> Any:
        predicted.append(place)
        return one(self, chunk, place, done)

    monkeypatch.setattr(Predict, "_one", counted)
    monkeypatch.setattr(Reduce, "__call__", None)  # what was reduced is not reduced again
    other: Any = Together(5)
    got = scale.fit(folder, TABLE, new(), engine=other, resume=True, **options)
    assert sorted(predicted) == [1, 2, 3, 4, 5, 6]
    expected = progressive.fit(folder, TABLE, new())
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
    scale.fit(folder, TABLE, new(), engine=engine, predictions=tmp_path / "once.parquet")

    @contextmanager
    def noted(path: Path) -> Iterator[Path]:
        with replacing(path) as temporary:
            if path.name.startswith("part-"):
                aside.add(temporary.name)
            yield temporary

    monkeypatch.setattr(frame_writers, "replacing", noted)
    scale.fit(folder, TABLE, new(), engine=twice, predictions=tmp_path / "twice.parquet")
    assert pl.read_parquet(tmp_path / "once.parquet").equals(pl.read_parquet(tmp_path / "twice.parquet"))
    assert len(aside) == 8  # four chunks, each written twice, never under one name


def test_predictions_go_to_a_folder_or_a_file_of_text(tmp_path: Path, folder: Path) -> None:
    """A folder holds a part for each chunk, and nothing of an earlier run."""
    engine: Any = Together(2)
    scale.fit(folder, TABLE, new(), engine=engine, predictions=tmp_path / "p.parquet")
    expected = pl.read_parquet(tmp_path / "p.parquet")
    for rows, parts in ((1, 7), (150, 6)):
        scale.fit(folder, TABLE, new(), engine=engine, chunk_rows=rows, predictions=f"{tmp_path}/parts/")
        names = sorted(path.name for path in (tmp_path / "parts").iterdir())
        assert names == [f"part-{place:06d}.parquet" for place in range(parts)]
        got = pl.concat([pl.read_parquet(tmp_path / "parts" / name) for name in names])
        assert got["row"].to_list() == expected["row"].to_list()
        np.testing.assert_allclose(got["prediction"].drop_nulls(), expected["prediction"].drop_nulls(), rtol=1e-8)
    scale.fit(folder, TABLE, new(), engine=engine, predictions=tmp_path / "p.csv")
    text = pl.read_csv(tmp_path / "p.csv", schema=expected.schema)
    assert text.equals(expected)


def test_nothing_is_written_where_nothing_can_be_learned(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    frame = pl.DataFrame({"x": [None, None], "y": [1.0, 2.0]}, schema={"x": pl.Float64, "y": pl.Float64})
    written(tmp_path / "data", frame, "a.parquet")
    options: dict[str, Any] = {"engine": Engine(1), "save": tmp_path / "m", "predictions": tmp_path / "p.parquet"}
    with pytest.raises(DataError, match="none of the 2 rows could be learned: 2 where x is missing"):
        scale.fit(tmp_path / "data", Table("y", missing="skip"), **options)
    written(tmp_path / "data", frame[:0], "a.parquet")
    with pytest.raises(DataError, match="there are no rows"):
        scale.fit(tmp_path / "data", Table("y", missing="skip"), **options)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_chunk_that_cannot_be_read_is_named(tmp_path: Path, folder: Path) -> None:
    bad = folder / "part-3.parquet"
    contents = bytearray(bad.read_bytes())
    contents[200:3000] = bytes(2800)
    bad.write_bytes(contents)
    with pytest.raises(DataError, match=r"part-3\.parquet"):
        scale.fit(folder, TABLE, engine=Engine(1), save=tmp_path / "m", predictions=tmp_path / "p.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_levels_are_limited_over_all_chunks(folder: Path) -> None:
    engine: Any = Together(2)
    with pytest.raises(DataError, match="'city': 4 levels, expected at most 3"):
        scale.fit(folder, replace(TABLE, max_levels=3), engine=engine, chunk_rows=1, with_scores=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": Engine(1), "resume": True}, "expected save"),
        ({"engine": Engine(1), "with_scores": False, "predictions": "p.parquet"}, "expected with_scores=True"),
        ({"engine": Engine(1), "checkpoint_every": 5}, "expected save"),
        ({"engine": Engine(1), "save": "m", "save_every": 5}, "expected neither with workers"),
        ({"engine": Engine(1), "follow": print}, "expected neither with workers"),
        ({"engine": Engine(1), "table": Table()}, "expected a table with a target, got none"),
        ({"engine": Engine(1), "model": ForwardRegressor(-1.0)}, "lam must be 0 or a number between"),
        ({"engine": Engine(1), "model": ForwardRegressor(prior_mean=[1.0])}, "expected a model without prior_mean"),
    ],
)
def test_wrong_settings_are_refused(folder: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scale.fit(folder, **({"table": "y"} | options))


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
    expected = progressive.fit(folder, TABLE, new())
    got = scale.fit(folder, TABLE, new(), engine=Engine(2), chunk_rows=100)
    same(got, expected)
    scored_alike(got, expected)
    lams = [0.1, 1.0, 10.0]
    one = progressive.compare(folder, TABLE, lams=lams)
    many = scale.compare(folder, TABLE, engine=Engine(2), lams=lams)
    assert (many.scores, many.lams) == (one.scores, one.lams)
    for name in one.curves:
        np.testing.assert_array_equal(many.curves[name], one.curves[name])


def test_only_what_is_ours_is_removed(tmp_path: Path, folder: Path) -> None:
    kept = tmp_path / "m.chunks"
    kept.mkdir()
    (kept / "precious.txt").write_text("mine", encoding="utf-8")
    scale.fit(folder, TABLE, engine=Engine(1), save=tmp_path / "m", resume=True)
    scale.fit(folder, TABLE, engine=Engine(1), save=tmp_path / "m", checkpoint_every=1)
    assert [path.name for path in kept.iterdir()] == ["precious.txt"]


def test_another_model_to_start_from_is_another_run(tmp_path: Path, folder: Path) -> None:
    models = []
    for seed in (1, 2):
        data = written(tmp_path, table(100, seed=seed), f"{seed}.csv")
        progressive.fit(data, TABLE, new(), save=tmp_path / "s")
        models.append(load(tmp_path / "s"))

    class Stopping(Together):
        def run(self, function: Any, tasks: Any) -> Iterator[Any]:
            for number, done in enumerate(super().run(function, tasks)):
                if number == 2:
                    raise EngineError("gone")
                yield done

    stopping: Any = Stopping(3)
    with pytest.raises(EngineError):
        scale.fit(folder, "y", models[0], engine=stopping, chunk_rows=100, save=tmp_path / "m", resume=True)
    plain: Any = Together(3)
    got = scale.fit(folder, "y", models[1], engine=plain, chunk_rows=100, save=tmp_path / "m", resume=True)
    same(got, progressive.fit(folder, "y", load(tmp_path / "s")))


def test_frames_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected files to resume"):
        scale.fit(table(50), TABLE, engine=Engine(1), save=tmp_path / "m", resume=True)


def test_a_folder_of_predictions_holds_nothing_else(tmp_path: Path, folder: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "other.parquet").write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"holds 'other.parquet', which would be read with them: expected an empty folder"
    ):
        scale.fit(folder, TABLE, engine=Engine(1), predictions=f"{parts}/")
