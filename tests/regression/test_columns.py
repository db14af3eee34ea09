"""Models that know their columns: files, data frames and dicts of the same rows are the same to them."""

import contextlib
import copy
import importlib
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward import AutoRegressor, DataError, ForwardRegressor, RidgeRegressor, Table, fit, load
from onward.core.known import Known
from onward.progressive.predicting import predict
from onward.regression import OnlineRegressor
from onward.tables.encode_values import encode_frame, encode_row

CATEGORIES = ("city", "rank")
EITHER = pytest.mark.parametrize("learner", [AutoRegressor, ForwardRegressor])  # many states, or one with sets


KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "x": (pl.Float64, st.one_of(st.floats(-1e6, 1e6), st.just(-999.0))),
    "count": (pl.Int64, st.integers(-(2**53), 2**53)),
    "member": (pl.Boolean, st.booleans()),
    "born": (pl.Date, st.dates(date(1900, 1, 1), date(2100, 1, 1))),
    "when": (pl.Datetime("us"), st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))),
    "zoned": (pl.Datetime("us", "UTC"), st.datetimes(datetime(1900, 1, 1), timezones=st.just(UTC))),
    "took": (pl.Duration("us"), st.timedeltas(timedelta(-999), timedelta(999))),
    "clock": (pl.Time, st.times()),
    "city": (pl.String, st.sampled_from(["Rome", "Oslo", "=", "", "New York", "missing?"])),
    "rank": (pl.Int64, st.integers(0, 3)),
}


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Up to 12 rows of all kinds of columns; values are missing in at most two columns, so that some rows are whole."""
    n = draw(st.integers(1, 12))
    kinds = {"y": (pl.Float64, st.floats(-100, 100)), "w": (pl.Float64, st.floats(0, 4))} | KINDS
    holes = draw(st.sets(st.sampled_from(list(kinds)), max_size=2))
    columns = {}
    for name, (dtype, values) in kinds.items():
        cells = st.one_of(values, values, st.none()) if name in holes else values
        columns[name] = pl.Series(name, draw(st.lists(cells, min_size=n, max_size=n)), dtype=dtype)
    return pl.DataFrame(columns)


def start(frame: pl.DataFrame, missing: Any, learner: type[OnlineRegressor] = ForwardRegressor) -> OnlineRegressor:
    """A model that has learned a frame, with a whole row before it, so that there is something to learn."""
    whole = {
        "y": 1.0,
        "w": 1.0,
        "x": 0.5,
        "count": 2,
        "member": True,
        "born": date(2020, 1, 1),
        "when": datetime(2020, 1, 1, 5),
        "zoned": datetime(2020, 1, 1, 5, tzinfo=UTC),
        "took": timedelta(hours=3),
        "clock": time(3),
        "city": "Rome",
        "rank": 1,
    }
    first = pl.DataFrame([whole], schema=frame.schema)
    table = Table("y", categorical=CATEGORIES, weight="w", missing=missing, na=("-999", "missing?"))
    return fit(pl.concat([first, frame]), table, learner()).model


def streamed(model: OnlineRegressor, frame: pl.DataFrame) -> pl.DataFrame:
    made: list[pl.DataFrame] = []
    known = None if isinstance(model, AutoRegressor) else Known(sigma=1.0, theta_bound=5.0)
    predict(model, frame, made.append, known=known)
    return pl.concat(made).fill_null(np.nan)


def state(model: OnlineRegressor) -> tuple[list[str], bytes]:
    return list(model.feature_names_in_), model._fitted().buffer.tobytes()


rules = st.sampled_from(["skip", "zero"])


@settings(max_examples=60, deadline=None)
@given(tables(), tables(), tables(), rules, st.sampled_from([ForwardRegressor, RidgeRegressor, AutoRegressor]))
def test_streams_frames_and_dicts_are_one(
    before: pl.DataFrame, learned: pl.DataFrame, read: pl.DataFrame, missing: str, learner: type[OnlineRegressor]
) -> None:
    model = start(before, missing, learner)
    by_frame, by_dict, with_y = (copy.deepcopy(model) for _ in range(3))
    with contextlib.suppress(DataError):  # every row was skipped, or has no weight
        fit(learned, "y", model)
    by_frame.learn_many(learned)
    assert state(by_frame) == state(model)

    for row in learned.to_dicts():
        if row["y"] is not None:
            by_dict.learn_one(row, row["y"])
    assert state(by_dict) == state(model)

    given = learned.filter(pl.col("y").is_not_null(), pl.col("w").is_not_null())
    if len(given):
        with_y.predict_then_learn(given.drop("y", "w"), given["y"].to_numpy(), given["w"])
        assert state(with_y) == state(model)

    expected = streamed(model, read)
    assert np.array_equal(model.predict(read), expected["prediction"], equal_nan=True)
    assert np.array_equal(model.predict_many(read), expected["prediction"], equal_nan=True)
    assert np.array_equal(model.leverage(read), expected["leverage"], equal_nan=True)
    if learner is not AutoRegressor:  # which has no sets
        ends = model.interval(read, sigma=1.0, theta_bound=5.0, of="observation")
        assert np.array_equal(ends, expected.select("lower", "upper").to_numpy(), equal_nan=True)
    one_by_one = [model.predict_one(row) for row in read.to_dicts()]
    assert np.array_equal(one_by_one, expected["prediction"], equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(tables(), tables(), rules)
def test_a_row_is_encoded_as_the_frame_is(before: pl.DataFrame, read: pl.DataFrame, missing: str) -> None:
    model = start(before, missing)
    recipe, names = model.recipe_, list(model.feature_names_in_)
    assert recipe is not None
    encoded = encode_frame(recipe, names, read)
    assert encoded.names[: len(names)] == names
    rows = [encode_row(recipe, names, row) for row in read.to_dicts()]
    assert [place for place, row in enumerate(rows) if row is not None] == encoded.rows.tolist()
    for row, x in zip([row for row in rows if row is not None], encoded.X, strict=True):
        assert [row.get(str(name), 0.0) for name in encoded.names] == x.tolist()
        assert set(row) <= set(encoded.names)


def as_categorical(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("city").cast(pl.Categorical))


def as_enum(frame: pl.DataFrame) -> pl.DataFrame:
    levels = pl.Enum(frame["city"].drop_nulls().unique().to_list())
    return frame.with_columns(pl.col("city").cast(levels))


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    return frame.to_pandas()


def as_pandas_categorical(frame: pl.DataFrame) -> pd.DataFrame:
    return frame.to_pandas().astype({"city": "category"})


def as_nullable(frame: pl.DataFrame) -> pd.DataFrame:
    return frame.to_pandas().convert_dtypes()


def as_pyarrow(frame: pl.DataFrame) -> Any:
    return frame.to_arrow()


def as_counts(frame: pl.DataFrame) -> pl.DataFrame:
    """As databases without truths have them."""
    return frame.with_columns(pl.col("member").cast(pl.Int8))


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """As a text file is read by those who do not look for dates."""
    times = frame.select(
        pl.col("born").cast(pl.String),
        pl.col("when").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f"),
        pl.col("zoned").dt.strftime("%Y-%m-%d %H:%M:%S%.6f+00:00"),
        pl.col("clock").dt.strftime("%H:%M:%S%.6f"),
        pl.col("member").replace_strict({True: "yes", False: "no"}, return_dtype=pl.String),
    )
    return frame.with_columns(times)


FRAMES: list[Callable[[pl.DataFrame], Any]] = [
    as_categorical,
    as_enum,
    as_pandas,
    as_pandas_categorical,
    as_nullable,
    as_pyarrow,
    as_counts,
    as_texts,
]


@pytest.mark.parametrize("dressed", FRAMES)
@settings(max_examples=15, deadline=None)
@given(tables(), tables(), tables())
def test_every_kind_of_frame_is_the_same(
    dressed: Callable[[pl.DataFrame], Any], before: pl.DataFrame, learned: pl.DataFrame, read: pl.DataFrame
) -> None:
    before, learned, read = (frame.with_columns(micros(frame["clock"])) for frame in (before, learned, read))
    model = start(before, "skip")
    other = copy.deepcopy(model)
    model.learn_many(learned)
    other.learn_many(dressed(learned))
    assert state(other) == state(model)
    assert np.array_equal(other.predict(dressed(read)), model.predict(read), equal_nan=True)
    if isinstance(made := dressed(read), pd.DataFrame):
        one_by_one = [model.predict_one(row) for row in made.to_dict("records")]
        assert np.array_equal(one_by_one, model.predict(read), equal_nan=True)
        series = [model.predict_one(row) for _, row in made.iterrows()]
        assert np.array_equal(series, model.predict(read), equal_nan=True)


@pytest.mark.parametrize("dressed", FRAMES[:-2])
def test_every_kind_of_frame_is_learned_alike(dressed: Callable[[pl.DataFrame], Any]) -> None:
    rng = np.random.default_rng(1)
    n = 20
    frame = pl.DataFrame(
        {
            "y": rng.normal(size=n),
            "x": [None, *rng.normal(size=n - 1)],
            "count": pl.Series([*range(n - 1), None], dtype=pl.Int64),
            "member": [None, *[True, False] * 9, True],
            "born": [date(2000, 1, 1) + timedelta(days=k) for k in range(n - 1)] + [None],
            "when": [datetime(1999, 1, 1) + timedelta(hours=k) for k in range(n)],
            "city": [None, *rng.choice(["Rome", "Oslo"], n - 1)],
        }
    )
    table = Table("y", categorical=("city",), missing="zero")
    model = fit(frame, table).model
    other = fit(dressed(frame), table).model
    assert other.recipe_ == model.recipe_
    assert state(other) == state(model)


def micros(clock: pl.Series) -> pl.Series:
    """Times of day as pandas has them: objects, in microseconds."""
    return pl.Series("clock", clock.to_list(), dtype=pl.Time)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@EITHER
def test_files_frames_and_dicts_are_one(suffix: str, learner: type[OnlineRegressor], tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "y": rng.normal(size=50),
            "x": rng.normal(size=50),
            "born": [date(2000, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 9999, 50)],
            "member": rng.random(50) < 0.5,
            "city": rng.choice(["Rome", "Oslo", "Łódź"], 50),
        }
    )
    path = tmp_path / f"rows.{suffix}"
    write: dict[str, Callable[[Path], object]]
    write = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}
    write[suffix](path)
    model = fit(path, Table("y", categorical=("city",)), learner()).model
    by_dict, by_frame = fit(frame[:1], Table("y", categorical=("city",)), learner()).model, learner()
    for row in frame[1:].to_dicts():
        by_dict.learn_one(row, row["y"])
    by_frame.recipe_ = model.recipe_
    by_frame.learn_many(frame.to_pandas())
    assert state(by_dict) == state(model) == state(by_frame)
    model.save(tmp_path / "m.onward")
    loaded = load(tmp_path / "m.onward")
    new = frame.with_columns(city=pl.lit("Paris"))  # a level that nobody has seen
    for read in (frame, frame.to_pandas(), new):
        assert np.array_equal(loaded.predict(read), model.predict(read))
    assert np.array_equal(model.predict(new), [model.predict_one(row) for row in new.to_dicts()])
    assert not np.array_equal(model.predict(new), model.predict(frame))
    if learner is ForwardRegressor:
        assert np.isinf(model.interval(new, sigma=1.0, theta_bound=5.0)).all()
        assert np.isfinite(model.interval(frame, sigma=1.0, theta_bound=5.0)).all()
    texts = frame.with_columns(pl.col("born").cast(pl.String), pl.col("member").cast(pl.String)).to_dicts()
    assert np.array_equal(model.predict(frame), [model.predict_one(row) for row in texts])


SMALL = pl.DataFrame({"y": [1.0, 2.0, 4.0], "x": [0.0, 1.0, 1.0], "city": ["Rome", "Oslo", "Rome"]})


def small(missing: Any = "error", learner: type[OnlineRegressor] = ForwardRegressor, **more: Any) -> OnlineRegressor:
    return fit(SMALL, Table("y", categorical=("city",), missing=missing, **more), learner()).model


def test_features_themselves_are_taken_as_they_are() -> None:
    model = small()
    by_columns = model.predict(SMALL)
    features = pl.DataFrame({"x": SMALL["x"], "city=Rome": [1.0, 0.0, 1.0], "city=Oslo": [0.0, 1.0, 0.0]})
    recipe = model.recipe_
    assert recipe is not None
    for X in (features, encode_frame(recipe, list(model.feature_names_in_), SMALL)):
        assert np.array_equal(model.predict(X), by_columns)
        assert np.array_equal(model.interval(X), model.interval(SMALL))
        assert np.array_equal(model.leverage(X), model.leverage(SMALL))
    rows = [model.predict_one(row) for row in features.to_dicts()]
    assert np.array_equal(rows, by_columns)
    assert model.predict_one([0.0, 1.0, 0.0]) == by_columns[0]
    learned, by_feature = small(), small()
    learned.learn_many(SMALL)
    by_feature.learn_many(features, SMALL["y"].to_numpy())
    assert state(learned) == state(by_feature)


@EITHER
def test_what_lacks_a_column_is_refused_and_changes_nothing(learner: type[OnlineRegressor]) -> None:
    model = small(learner=learner)
    before = state(model)
    wrong = SMALL.rename({"city": "City"})
    calls: list[Callable[[], Any]] = [
        lambda: model.predict(wrong),
        lambda: model.predict_one(wrong.to_dicts()[0]),
        lambda: model.learn_one(wrong.to_dicts()[0], 1.0),
        lambda: model.learn_many(wrong),
        lambda: model.leverage(wrong),
        lambda: model.score(wrong),
        lambda: model.predict_then_learn(wrong),
        lambda: model.partial_fit(wrong),
    ]
    if learner is not AutoRegressor:  # which has no sets
        calls.append(lambda: model.interval(wrong))
    for call in calls:
        with pytest.raises(DataError, match=r"there is no column 'city'; did you mean 'City'\?"):
            call()
    with pytest.raises(DataError, match="there is no column 'y'"):
        model.learn_many(SMALL.drop("y"))
    with pytest.raises(DataError, match="there is no column 'w'"):
        small_weighted().learn_one({"x": 1.0, "city": "Rome"}, 1.0)
    assert state(model) == before


def small_weighted() -> OnlineRegressor:
    return fit(SMALL.with_columns(w=pl.Series([1.0, 2.0, 0.5])), Table("y", categorical=("city",), weight="w")).model


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("x", "many", r"column 'x': got 'many', expected a number"),
        ("x", [1], r"column 'x': got \[1\], expected a number"),
        ("x", None, r"column 'x': the value is missing"),
        ("x", np.inf, r"column 'x': got inf, expected a finite number"),
        ("city", None, r"column 'city': the value is missing"),
        ("born", 2020, r"column 'born': got 2020, expected a date"),
        ("member", 2, r"column 'member': got 2, expected true or false"),
        ("took", "long", r"column 'took': got 'long', expected a number of days"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_changes_nothing(column: str, value: Any, message: str) -> None:
    row = {"x": 1.0, "born": date(2020, 1, 1), "member": True, "took": timedelta(1), "city": "Rome"}
    model = fit(pl.DataFrame([row | {"y": 1.0}]), Table("y", categorical=("city",))).model
    before = state(model)
    with pytest.raises(DataError, match=message):
        model.predict_one(row | {column: value})
    with pytest.raises(DataError, match=message):
        model.learn_one(row | {column: value}, 1.0)
    assert state(model) == before


def test_numbers_are_truths_if_they_are_0_or_1() -> None:
    model = fit(pl.DataFrame({"y": [1.0, 2.0], "member": [True, False]}), "y").model
    with pytest.raises(DataError, match=r"row 2, column 'member': got 2, expected true or false"):
        model.predict(pl.DataFrame({"member": [1, 2]}))
    with pytest.raises(DataError, match="column 'member': got 2, expected true or false"):
        model.predict_one({"member": 2})


@EITHER
def test_a_frame_that_fails_half_way_changes_nothing(
    learner: type[OnlineRegressor], monkeypatch: pytest.MonkeyPatch
) -> None:
    from onward.tables import columnar

    monkeypatch.setattr(columnar, "VALUES", 3)  # a piece a row
    model = small(learner=learner)
    before = state(model)
    with pytest.raises(DataError, match="row 3, column 'x'"):
        model.learn_many(SMALL.with_columns(x=pl.Series([1.0, 2.0, None])))
    assert state(model) == before
    whole = small(learner=learner)
    model.learn_many(SMALL)
    monkeypatch.undo()
    whole.learn_many(SMALL)
    assert state(model) == state(whole)


def test_missing_values_as_the_model_has_it() -> None:
    holes = SMALL.with_columns(x=pl.Series([None, 1.0, 1.0]))
    with pytest.raises(DataError, match="the value is missing"):
        small().predict(holes)
    skipping, zero = small("skip"), small("zero")
    assert np.isnan(skipping.predict(holes)).tolist() == [True, False, False]
    assert np.isnan(skipping.interval(holes)[:, 0]).tolist() == [True, False, False]
    assert np.isnan(skipping.predict_one({"x": None, "city": "Rome"}))
    assert np.array_equal(zero.predict(holes), zero.predict(SMALL))
    assert np.isnan(skipping.learn_many(holes)).tolist() == [True, False, False]
    assert skipping.n_seen_ == 5
    assert skipping.learn_one({"x": None, "city": "Rome"}, 1.0).n_seen_ == 5
    every = SMALL.with_columns(x=pl.lit(None, dtype=pl.Float64))
    assert np.isnan(skipping.learn_many(every)).all()
    assert np.isnan(skipping.interval(every)).all()
    assert skipping.n_seen_ == 5
    with pytest.raises(ValueError, match="no row to score"):
        skipping.score(every)


@EITHER
def test_score_is_that_of_scikit_learn(learner: type[OnlineRegressor]) -> None:
    def r2_score(y: Any, predictions: Any, sample_weight: Any = None) -> float:
        return float(importlib.import_module("sklearn.metrics").r2_score(y, predictions, sample_weight=sample_weight))

    model, w = small("skip", learner), np.array([1.0, 2.0, 0.5])
    y = SMALL["y"].to_numpy()
    assert model.score(SMALL) == pytest.approx(r2_score(y, model.predict(SMALL)))
    assert model.score(SMALL, y[::-1]) == pytest.approx(r2_score(y[::-1], model.predict(SMALL)))
    assert model.score(SMALL, sample_weight=w) == pytest.approx(r2_score(y, model.predict(SMALL), sample_weight=w))
    holes = SMALL.with_columns(x=pl.Series([None, 1.0, 1.0]))
    assert model.score(holes) == pytest.approx(r2_score(y[1:], model.predict(SMALL)[1:]))
    weighted = small_weighted()
    expected = r2_score(y, weighted.predict(SMALL), sample_weight=w)
    assert weighted.score(SMALL.with_columns(w=w)) == pytest.approx(expected)
    new = SMALL.with_columns(city=pl.lit("Paris"))
    assert model.score(new) == pytest.approx(r2_score(y, model.predict(new)))
    with pytest.raises(ValueError, match="requires y"):
        ForwardRegressor().fit(np.eye(2), [1.0, 2.0]).score(np.eye(2))


def test_fit_forgets_the_columns() -> None:
    model = small()
    model.fit(SMALL[["x"]], SMALL["y"].to_numpy())
    assert model.recipe_ is None
    assert model.predict(SMALL[["x"]]).shape == (3,)


def test_decimals_and_nanoseconds_are_numbers() -> None:
    frame = pd.DataFrame(
        {"y": [1.0], "x": [Decimal("1.25")], "when": pd.to_datetime(["1969-12-31T23:59:59.123456789"])}
    ).astype({"when": "datetime64[ns]"})
    model = fit(frame, "y").model
    assert [c.kind for c in model.recipe_.columns] == ["number", "time"]  # type: ignore[union-attr]
    assert model.predict(frame)[0] == model.predict_one(frame.to_dict("records")[0])
    assert model.predict(frame)[0] == model.predict_one({"x": np.float32(1.25), "when": frame["when"].to_numpy()[0]})


def test_given_targets_must_fit() -> None:
    model = small()
    with pytest.raises(ValueError, match="y has 2 target column"):
        model.learn_many(SMALL, np.ones((3, 2)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.learn_many(SMALL, np.ones(2))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(SMALL[:0])
    assert model.n_seen_ == 3


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lam", 2.0),
        ("lam", {"x0": 1.0, None: 1.0}),
        ("fit_intercept", False),
        ("intercept_lam", 1.0),
        ("prior_mean", [0.0, 0.0]),
        ("prior_intercept", 1.0),
    ],
)
def test_parameters_of_what_was_learned_stay(learner: type[OnlineRegressor], name: str, value: Any) -> None:
    model = learner().set_params(**{name: value})
    assert model.get_params()[name] == value
    model = learner().fit(np.eye(2), [1.0, 2.0])
    model.set_params(**model.get_params(deep=False))
    with pytest.raises(ValueError, match=rf"{name} cannot become .*clone\(model\)"):
        model.set_params(**{name: value})
    assert model.get_params()[name] == learner().get_params()[name]


def test_clip_may_change() -> None:
    model = RidgeRegressor().fit(np.eye(2), [1.0, 20.0])
    assert model.set_params(clip=0.25).predict(np.eye(2)).tolist() == [0.25, 0.25]
    assert model.set_params(clip=None).predict(np.eye(2))[1] > 0.25


def test_intervals_know_what_is_known() -> None:
    model = small()
    known = Known(sigma=1.0, theta_bound=10.0)
    made: list[pl.DataFrame] = []
    predict(model, SMALL, made.append, known=known, of="mean")
    ends = model.interval(SMALL, sigma=1.0, theta_bound=10.0)
    assert np.array_equal(ends, pl.concat(made).select("lower", "upper").to_numpy())
