"""What is exported computes what the model computes: SQL in SQLite, the terms by hand."""

import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward import DataError, ForwardRegressor, RidgeRegressor, Table, fit
from onward.progressive.exporting import export_record, export_terms, sql_expression, sql_select
from onward.regression import OnlineRegressor

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ODD = ['say "when"', "it's", "a--b", "select", "λ; drop table data", "%s", "a=b", "x\ny", " "]


def in_sqlite(model: OnlineRegressor, frame: pl.DataFrame, table: str = "data") -> np.ndarray[Any, Any]:
    """The predictions that SQLite makes of the exported SELECT; NaN for NULL."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in frame.columns]
    called = '"' + table.replace('"', '""') + '"'
    with closing(sqlite3.connect(":memory:")) as database:
        plain = all(name.isidentifier() for name in frame.columns)
        columns = quoted if plain else [f"c{place}" for place in range(len(quoted))]
        database.execute(f"CREATE TABLE {called} ({', '.join(columns)})")
        for column, name in zip(columns, quoted, strict=True):
            if not plain:  # one at a time, which takes seconds for a thousand
                database.execute(f"ALTER TABLE {called} RENAME COLUMN {column} TO {name}")
        marks = ", ".join("?" * len(quoted))
        database.executemany(f"INSERT INTO {called} VALUES ({marks})", [[_stored(v) for v in r] for r in frame.rows()])
        return np.array(list(database.execute(sql_select(model, table))), dtype=np.float64)[:, 0]


def _stored(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value.total_seconds() / 86400 if isinstance(value, timedelta) else value


def ridge(model: OnlineRegressor, frame: pl.DataFrame) -> np.ndarray[Any, Any]:
    """What ridge predicts from the state that a model has learned: forward does not shrink a row without weight."""
    return model.predict_many(frame, np.zeros(len(frame)))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[pl.DataFrame, list[str]]:
    n = draw(st.integers(1, 8))
    names = draw(st.lists(st.one_of(texts, st.sampled_from(ODD)), min_size=6, max_size=6, unique_by=str.lower))
    levels = draw(st.lists(st.one_of(texts, st.sampled_from(ODD)), min_size=1, max_size=4, unique=True))
    numbers = st.lists(st.one_of(st.none(), st.floats(-1e3, 1e3), st.just(-999.0)), min_size=n, max_size=n)
    moments = st.datetimes(datetime(1950, 1, 1), datetime(2050, 1, 1)).map(lambda t: t.replace(microsecond=0))
    columns: dict[str, tuple[Any, Any]] = {
        names[0]: (pl.Float64, numbers),
        names[1]: (pl.Int64, st.lists(st.one_of(st.none(), st.integers(-99, 99)), min_size=n, max_size=n)),
        names[2]: (pl.Boolean, st.lists(st.one_of(st.none(), st.booleans()), min_size=n, max_size=n)),
        names[3]: (pl.Datetime("us"), st.lists(st.one_of(st.none(), moments), min_size=n, max_size=n)),
        names[4]: (pl.String, st.lists(st.one_of(st.none(), st.sampled_from(levels)), min_size=n, max_size=n)),
        names[5]: (pl.Int64, st.lists(st.one_of(st.none(), st.integers(0, 2)), min_size=n, max_size=n)),
    }
    frame = pl.DataFrame(
        {name: pl.Series(name, draw(values), dtype=dtype) for name, (dtype, values) in columns.items()}
    )
    return frame, names


@settings(max_examples=80, deadline=None)
@given(worlds(), st.sampled_from(["skip", "zero"]), st.sampled_from([ForwardRegressor, RidgeRegressor]), texts)
def test_sqlite_predicts_as_ridge_does(
    world: tuple[pl.DataFrame, list[str]], missing: Any, learner: type[OnlineRegressor], table: str
) -> None:
    frame, names = world
    target = "the target of it all"
    row = {names[0]: 1.0, names[1]: 2, names[2]: True, names[3]: datetime(2010, 1, 1), names[4]: "one", names[5]: 1}
    whole = pl.concat([pl.DataFrame([row], schema=frame.schema), frame])
    data = whole.with_columns(pl.Series(target, np.linspace(-5.0, 7.0, len(whole))))
    na = ("-999", "it's")
    table_of = Table(target, categorical=(names[4], names[5]), missing=missing, na=na)
    try:
        model = fit(data, table_of, learner()).model
    except DataError:  # a column without a name, or one that is called as a level of another
        return
    read = pl.concat([frame, frame.with_columns(pl.lit("nobody's level").alias(names[4])), whole])
    expected = ridge(model, read)
    made = in_sqlite(model, read, table or "data")
    assert np.array_equal(np.isnan(made), np.isnan(expected))
    assert np.allclose(made, expected, rtol=1e-9, atol=1e-9, equal_nan=True)


def small(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_a_column_that_is_not_there_is_an_error_not_a_text() -> None:
    model = fit(small(y=[1.0, 2.0], x=[0.0, 1.0]), "y").model
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        in_sqlite(model, small(z=[1.0]))


def test_more_terms_than_sqlite_takes_in_a_row() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(3, 1500)), schema=[f"x{j}" for j in range(1500)])
    model = fit(frame.with_columns(y=pl.Series([1.0, 2.0, 3.0])), "y", RidgeRegressor()).model
    assert np.allclose(in_sqlite(model, frame), ridge(model, frame), rtol=0, atol=1e-9)


def test_spans_are_days_and_priors_count() -> None:
    frame = small(y=[1.0, 2.0], took=[timedelta(hours=5), timedelta(days=2)], city=["Rome", "Oslo"])
    start = RidgeRegressor(prior_mean={"city=Paris": 3.0, "city=Rome": 1.0, "took": 0.5}, prior_intercept=2.0)
    model = fit(frame, Table("y", categorical=("city",)), start).model
    read = frame.with_columns(city=pl.Series(["Paris", "Rome"]))
    assert np.allclose(in_sqlite(model, read), model.predict(read), rtol=0, atol=1e-9)
    sql = sql_select(model)
    assert sql.startswith("-- took: a number of days\nSELECT ")
    assert sql_expression(model) in sql


def test_terms_add_up() -> None:
    frame = small(y=[1.0, 2.0, 5.0], x=[1.0, 2.0, 0.0], city=["Rome", "Oslo", "Rome"])
    model = fit(frame, Table("y", categorical=("city",)), RidgeRegressor()).model
    terms = export_terms(model)
    assert [(t["feature"], t["column"], t["kind"], t["level"]) for t in terms] == [
        ("(intercept)", None, None, None),
        ("x", "x", "number", None),
        ("city=Rome", "city", "category", "Rome"),
        ("city=Oslo", "city", "category", "Oslo"),
    ]
    theta = {t["feature"]: t["coefficient"] for t in terms}
    assert model.predict(frame)[1] == pytest.approx(theta["(intercept)"] + 2 * theta["x"] + theta["city=Oslo"])
    record = export_record(model)
    assert (record["target"], record["prediction"], record["terms"]) == ("y", "ridge", terms)
    assert record["note"] is None
    bare = fit(frame, Table("y", categorical=("city",)), RidgeRegressor(fit_intercept=False)).model
    assert [t["feature"] for t in export_terms(bare)] == ["x", "city=Rome", "city=Oslo"]


def test_what_the_coefficients_leave_out_is_said() -> None:
    """Auto's are the average of its learners': its predictions, but for forward's shrinking and bounds that matter."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=60), "city": rng.choice(["Rome", "Oslo"], 60)})
    frame = frame.with_columns(y=3 * pl.col("x") + (pl.col("city") == "Rome") + pl.Series(rng.normal(size=60)))
    columns = Table("y", categorical=("city",))
    auto, forward = fit(frame, columns).model, fit(frame, columns, ForwardRegressor()).model
    assert np.allclose(in_sqlite(auto, frame), ridge(auto, frame), rtol=0, atol=1e-9)
    assert not np.allclose(in_sqlite(auto, frame), auto.predict(frame), rtol=0, atol=1e-3)
    far = frame.with_columns(x=pl.lit(1e3))
    assert np.abs(auto.predict(far)).max() < 100 < in_sqlite(auto, far).min()
    for model, words in ((auto, "those of forward are shrunk, and all are kept near the targets"), (forward, "shrunk")):
        assert words in export_record(model)["note"]
        first, second = sql_select(model).splitlines()[:2]
        assert first == f"-- {export_record(model)['note']}"
        assert second.startswith("SELECT ")
    assert (export_record(auto)["prediction"], export_record(forward)["prediction"]) == ("average of ridges", "ridge")


def test_models_that_were_not_told_of_columns() -> None:
    named = RidgeRegressor().fit(small(x=[1.0, 2.0]), [1.0, 2.0])
    assert np.allclose(in_sqlite(named, small(x=[3.0])), named.predict(small(x=[3.0])))
    with pytest.raises(ValueError, match="features without names"):
        sql_select(RidgeRegressor().fit(np.eye(2), [1.0, 2.0]))
    with pytest.raises(ValueError, match="one target, got one of 2"):
        sql_select(RidgeRegressor().fit(small(x=[1.0, 2.0]), np.eye(2)))
    with pytest.raises(ValueError, match="without clip"):
        sql_select(RidgeRegressor(clip=1.0).fit(small(x=[1.0, 2.0]), [1.0, 2.0]))
    with pytest.raises(ValueError, match="NUL"):
        sql_select(named, "a\0b")
