"""Terms: what they mean, and that neither the cut of the rows nor a stop changes a bit of them."""

import math
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward import RidgeRegressor, fit, storage
from onward.core.types import Matrix
from onward.tables import Column, DataError, Position, Recipe, Stream, Table, lines, stream
from onward.tables.sources import find_files
from onward.tables.terms import columns_at_once, columns_in, parse_term, split_terms
from tests.tables.files import WRITERS, small_pieces

TERMS = (
    "log(x)",
    "sqrt(z)",
    "x^2",
    "lag(y, 1)",
    "lag(x, 3)",
    "lag(log(lag(x, 1)), 2)",
    "x:z",
    "x:city",
    "lag(z, 1):city",
    "city:kind",
    "weekday(when)",
    "month(when)",
    "hour(when)",
    "spline(x, -1, 2, 6)",
    "random(3, 0.7, x, z)",
)


def made(seed: int, n: int) -> pl.DataFrame:
    """Numbers of either sign, times and categories, with some values missing but the target."""
    r = np.random.default_rng(seed)

    def hole(values: list[Any]) -> list[Any]:
        return [None if r.random() < 0.1 else value for value in values]

    begin = datetime(1999, 12, 25)
    return pl.DataFrame(
        {
            "x": pl.Series(hole(r.normal(size=n).tolist()), dtype=pl.Float64),
            "z": pl.Series(hole(r.exponential(size=n).tolist()), dtype=pl.Float64),
            "when": pl.Series(
                hole([begin + timedelta(hours=int(h)) for h in r.integers(0, 10**5, n)]), dtype=pl.Datetime
            ),
            "city": pl.Series(hole([("Rome", "Oslo", "a:b", "a\\")[i] for i in r.integers(0, 4, n)]), dtype=pl.String),
            "kind": pl.Series(hole([("b", "b:c", "k")[i] for i in r.integers(0, 3, n)]), dtype=pl.String),
            "y": r.normal(size=n),
        }
    )


def table_of(terms: tuple[str, ...] = TERMS, **options: Any) -> Table:
    return Table("y", **{"exclude": ("kind",), "categorical": ("city",), "terms": terms, "missing": "zero"} | options)


class Seen:
    """All rows of a stream, with their names and everything that a cut could change."""

    def __init__(self, rows: Stream) -> None:
        self.values: list[dict[str, float]] = []
        self.rows: list[int] = []
        self.names: list[str] = []
        for block in rows:
            for row, values in zip(block.rows.tolist(), block.X, strict=True):
                self.values.append({str(name): float(value) for name, value in zip(block.names, values, strict=True)})
                self.rows.append(row)
            self.names = [str(name) for name in block.names]
        self.counts = (dict(rows.skipped), dict(rows.filled))
        self.memory = rows.recipe.memory.to_record()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seen) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "t.csv"
    made(1, 60).write_csv(place)
    return place


def column(seen: Seen, name: str) -> list[float]:
    return [row[name] for row in seen.values]


# What terms mean


def test_what_terms_are(path: Path) -> None:
    table = pl.read_csv(path, try_parse_dates=True)
    got = Seen(stream(path, table_of()))
    assert got.rows == list(range(60))

    def expected(values: Sequence[float | None]) -> list[float]:
        return [0.0 if value is None else value for value in values]

    x, z, y = (table[name].to_list() for name in ("x", "z", "y"))
    logs = [math.log(value) if value is not None and value > 0 else None for value in x]
    start: list[float | None] = [None] * 3
    assert column(got, "log(x)") == pytest.approx(expected(logs), rel=1e-15)
    assert column(got, "sqrt(z)") == expected([None if value is None else math.sqrt(value) for value in z])
    assert column(got, "square(x)") == expected([None if value is None else value * value for value in x])
    assert column(got, "lag(y, 1)") == expected([None, *y[:-1]])
    assert column(got, "lag(x, 3)") == expected(start + x[:-3])
    assert column(got, "lag(log(lag(x, 1)), 2)") == pytest.approx(expected(start + logs[:-3]), rel=1e-15)
    products = [None if a is None or b is None else a * b for a, b in zip(x, z, strict=True)]
    assert column(got, "x:z") == expected(products)
    cities = table["city"].to_list()
    last = got.values[-1]
    for city in ("Rome", "Oslo", "a:b", "a\\"):
        assert f"x:city={city}" in last
        mine = [value if c == city else None for value, c in zip(x, cities, strict=True)]
        assert [row.get(f"x:city={city}", 0.0) for row in got.values] == expected(mine)
        earlier = [value if c == city else None for value, c in zip([None, *z[:-1]], cities, strict=True)]
        assert [row.get(f"lag(z, 1):city={city}", 0.0) for row in got.values] == expected(earlier)


def test_combinations_of_levels_have_a_name_each(tmp_path: Path) -> None:
    """a:b with c, and a with b:c, are different ones."""
    place = tmp_path / "t.csv"
    place.write_text("one,two,y\na:b,c,1\na,b:c,2\n" + "a\\,b,3\n")
    got = Seen(stream(place, Table("y", exclude=("one", "two"), terms=("one:two",))))
    assert got.names == [r"one:two=a\:b:c", r"one:two=a:b\:c", r"one:two=a\\:b"]
    assert [list(row.values()) for row in got.values] == [[1], [0, 1], [0, 0, 1]]


@pytest.mark.parametrize(
    ("term", "moments", "turns"),
    [
        ("weekday(t)", ["2026-01-05", "2026-01-06 23:59:59", "2026-01-11", "1926-01-04"], [0, 1 / 7, 6 / 7, 0]),
        ("month(t)", ["2026-01-31 23:59:59.999", "2026-02-01", "1969-12-31", "2100-07-01"], [0, 1 / 12, 11 / 12, 0.5]),
        (
            "hour(t)",
            ["2026-01-05", "1926-01-05 06:00:00", "2026-01-05 18:30:00", "1980-05-05"],
            [0, 0.25, 18.5 / 24, 0],
        ),
    ],
)
def test_cycles(tmp_path: Path, term: str, moments: list[str], turns: list[float]) -> None:
    place = tmp_path / "t.csv"
    place.write_text("t,y\n" + "".join(f"{each},1\n" for each in moments))
    got = Seen(stream(place, Table("y", exclude=("t",), terms=(term,))))
    assert got.names == [f"sin({term})", f"cos({term})"]
    angles = 2 * np.pi * np.array(turns)
    assert column(got, f"sin({term})") == pytest.approx(np.sin(angles).tolist(), abs=1e-12)
    assert column(got, f"cos({term})") == pytest.approx(np.cos(angles).tolist(), abs=1e-12)


def features(tmp_path: Path, term: str, columns: dict[str, Any]) -> Matrix:
    place = tmp_path / "t.parquet"
    n = len(next(iter(columns.values())))
    pl.DataFrame({**columns, "y": np.ones(n)}).write_parquet(place)
    seen = Seen(stream(place, Table("y", exclude=tuple(columns), terms=(term,))))
    return np.array([list(row.values()) for row in seen.values])


def test_splines_are_those_of_scipy_and_stay_at_the_ends(tmp_path: Path) -> None:
    from scipy.interpolate import BSpline

    low, high, count = -2.0, 3.0, 7
    x = np.random.default_rng(0).uniform(low, high, 200)
    step = (high - low) / (count - 3)
    knots = low + step * np.arange(-3, count + 1)
    got = features(tmp_path, f"spline(x, {low}, {high}, {count})", {"x": x})
    assert np.allclose(got, BSpline.design_matrix(x, knots, 3).toarray(), rtol=0, atol=1e-12)
    ends = features(tmp_path, f"spline(x, {low}, {high}, {count})", {"x": np.array([low, low - 5, high, high + 9])})
    assert ends[0].tolist() == ends[1].tolist() == pytest.approx([1 / 6, 2 / 3, 1 / 6, 0, 0, 0, 0])
    assert ends[2].tolist() == ends[3].tolist() == pytest.approx([0, 0, 0, 0, 1 / 6, 2 / 3, 1 / 6])


def test_random_features_are_those_of_the_kernel(tmp_path: Path) -> None:
    r = np.random.default_rng(0)
    columns = {"a": r.normal(size=40), "b": r.normal(size=40)}
    X = np.column_stack(list(columns.values()))

    def error(gamma: float, count: int) -> float:
        Z = features(tmp_path, f"random({count}, {gamma}, a, b)", columns)
        kernel = np.exp(-0.8 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
        return float(np.sqrt(np.mean((Z @ Z.T - kernel) ** 2)))

    assert error(0.8, 4000) < 0.02 < error(0.4, 4000)  # its error is about 1/√n
    assert error(0.8, 100) > 0.05


def test_random_features_are_the_same_everywhere(tmp_path: Path) -> None:
    """Digits that were written down once: a saved model is worth nothing if its directions change."""
    got = features(tmp_path, "random(3, 0.5, a, b)", {"a": np.array([1.0]), "b": np.array([-2.0])})
    assert got[0].tolist() == pytest.approx(DIGITS, rel=1e-12)


DIGITS = [0.5826406955785601, -0.4183910457187159, -0.022678744196238103]


# The cut of the rows, and stops


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    size=st.integers(1, 400),
    values=st.integers(1, 100),
    ending=st.sampled_from(["csv", "parquet", "jsonl"]),
    term=st.sampled_from([*((each,) for each in TERMS), TERMS]),
    missing=st.sampled_from(["zero", "skip"]),
    drop_first=st.booleans(),
)
def test_the_cut_does_not_matter(
    seed: int, n: int, size: int, values: int, ending: str, term: tuple[str, ...], missing: str, drop_first: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place, data = Path(folder) / f"t.{ending}", made(seed, n)
        data[0, "x"], data[0, "z"], data[0, "when"], data[0, "city"] = 1.0, 1.0, datetime(2000, 1, 1), "Rome"
        WRITERS[ending](data, place)
        table = table_of(term, missing=missing, drop_first=drop_first)
        expected = Seen(stream(place, table))
        with small_pieces(size, values):
            assert Seen(stream(place, table)) == expected


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), data=st.data(), missing=st.sampled_from(["zero", "skip"]))
def test_a_stream_goes_on_exactly(seed: int, n: int, data: st.DataObject, missing: str) -> None:
    """From any row that a position can be asked for, also by way of a file, and with the model's recipe."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        place, values = Path(folder) / "t.csv", made(seed, n)
        values[0, "x"], values[0, "z"], values[0, "when"], values[0, "city"] = 1.0, 1.0, datetime(2000, 1, 1), "Rome"
        values.write_csv(place)
        patch.setattr(lines, "CHUNK", data.draw(st.integers(20, 600)))
        table = table_of(missing=missing, drop_first=data.draw(st.booleans()))
        whole = Seen(stream(place, table))
        after = data.draw(st.integers(1, n))
        rows = stream(place, table)
        blocks = list(islice(rows, after))
        if len(blocks) < after:
            return
        block = blocks[-1]
        row = data.draw(st.integers(block.first, block.stop))
        position = Position.from_record(rows.position(row).to_record())
        recipe, names = Recipe.from_record(rows.recipe.to_record()), [str(name) for name in block.names]
        rest = stream(place, table, recipe=recipe, known=names, start=position)
        got = Seen(rest)
        assert got.rows == [each for each in whole.rows if each >= row]
        known = len(whole.rows) - len(got.rows)
        for mine, theirs in zip(got.values, whole.values[known:], strict=True):
            assert {k: v for k, v in mine.items() if v} == {k: v for k, v in theirs.items() if v}
        assert got.memory == whole.memory


def test_a_second_file_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    data = made(3, 50)
    whole, parts = tmp_path / "whole.csv", [tmp_path / "1.csv", tmp_path / "2.csv"]
    data.write_csv(whole)
    data[:20].write_csv(parts[0])
    data[20:].write_csv(parts[1])
    expected = Seen(stream(whole, table_of()))
    first = stream(parts[0], table_of())
    Seen(first)
    second = Seen(stream(parts[1], table_of(), recipe=first.recipe, known=first.names))
    nonzero = [[{k: v for k, v in row.items() if v} for row in rows] for rows in (second.values, expected.values[20:])]
    assert nonzero[0] == nonzero[1]
    assert second.memory == expected.memory
    apart = Seen(
        stream(
            parts[1],
            table_of(),
            recipe=Recipe.from_record(
                {name: each for name, each in first.recipe.to_record().items() if name != "memory"}
            ),
            known=first.names,
        )
    )
    assert apart.values != second.values


# What lacks


def test_rows_before_a_lag_is_known_are_skipped_without_an_error(tmp_path: Path) -> None:
    place = tmp_path / "t.csv"
    place.write_text("x,y\n1,10\n2,20\n3,30\n4,40\n")
    rows = stream(place, Table("y", terms=("lag(y, 2)",)))
    got = Seen(rows)
    assert got.rows == [2, 3]
    assert column(got, "lag(y, 2)") == [10.0, 20.0]
    assert dict(rows.skipped) == {"lag(y, 2) is not known yet": 2}


def test_targets_that_are_not_there_are_not_known(tmp_path: Path) -> None:
    """The first row goes on after the last one learned; then the file's own targets, if it has some."""
    table = Table("y", terms=("lag(y, 1)",))
    (tmp_path / "old.csv").write_text("x,y\n1,10\n2,20\n")
    for text, lags in (("x,y\n3,30\n4,\n5,50\n", [20.0, 30.0]), ("x\n3\n4\n5\n", [20.0])):
        (tmp_path / "new.csv").write_text(text)
        old = stream(tmp_path / "old.csv", table)
        list(old)
        files = find_files(tmp_path / "new.csv")
        recipe = Recipe.from_record(old.recipe.to_record() | {"missing": "skip"})
        rows = Stream(files, Table(), recipe=recipe, known=old.names)
        got = Seen(rows)
        assert column(got, "lag(y, 1)") == lags
        reason = "lag(y, 1) is missing" if "y" in text else "lag(y, 1) is not known yet"
        assert dict(rows.skipped) == {reason: 3 - len(lags)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"terms": ("log(x)",)},
            r"t\.csv, line 3, term log\(x\) \(x = -1\.0\): the value is missing, expected a number",
        ),
        ({"terms": ("x:lag(x, 1)",)}, None),
        ({"terms": ("log(w)",)}, r"t\.csv: there is no column 'w'"),
        ({"terms": ("log(citi)",)}, r"did you mean 'city'\?"),
        ({"terms": ("log(y)",)}, r"has the target 'y' in it, .*expected it in a lag, such as lag\(y, 1\)"),
        ({"terms": ("x:y",)}, "has the target"),
        ({"terms": ("log(city)",)}, "needs numbers, but 'city' holds categories"),
        ({"terms": ("hour(x)",)}, "needs dates or times, but column 'x' holds numbers"),
        (
            {"terms": ("big^2",)},
            r"t\.csv, line 2, term square\(big\) \(big = 1e\+200\): got inf, expected a finite number",
        ),
    ],
)
def test_errors_name_the_place_and_the_values(tmp_path: Path, options: dict[str, Any], message: str | None) -> None:
    place = tmp_path / "t.csv"
    place.write_text("x,city,big,y\n1,Rome,1e200,1\n-1,Oslo,1,2\n2,Rome,1,3\n")
    table = Table("y", features=("x",), **options)
    if message is None:
        assert Seen(stream(place, table)).rows == [1, 2]
        return
    with pytest.raises(DataError, match=message):
        list(stream(place, table))


def test_two_features_of_one_name(tmp_path: Path) -> None:
    place = tmp_path / "t.csv"
    place.write_text("x,log(x),y\n1,2,1\n")
    with pytest.raises(DataError, match=r"two features would be called 'log\(x\)'; rename a column"):
        stream(place, Table("y", terms=("log(x)",)))
    place.write_text("x,c,x:c=1,y\n1,a,2,1\n")
    with pytest.raises(DataError, match="a level of 'x:c' may be called 'x:c=1'"):
        stream(place, Table("y", categorical=("c",), terms=("x:c",)))


# How terms are written


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("log( x )", "log(x)"),
        ("x^2", "square(x)"),
        ("my column^2", "square(my column)"),
        ("`a:b`:`c,d`", "`a:b`:`c,d`"),
        ("lag(y,1)", "lag(y, 1)"),
        ("lag(log(y),2):a", "lag(log(y), 2):a"),
        ("spline(x,0,1e1,5)", "spline(x, 0, 10, 5)"),
        ("spline(x,-.5,1e20,5)", "spline(x, -0.5, 1e+20, 5)"),
        ("random(10,.5,a,log(b))", "random(10, 0.5, a, log(b))"),
    ],
)
def test_a_term_has_one_text(text: str, canonical: str) -> None:
    term = parse_term(text)
    assert term.text == canonical
    assert parse_term(canonical) == term
    assert Table("y", terms=(text, canonical)).terms == (canonical,)


WRONG = {
    "x": "is a column: name it in features",
    "": "it ends too early",
    "log(x": "got 'its end' where",
    "log(x) y": "got 'y' after its end",
    "sin(x)": "there is no function 'sin'",
    "lag(x)": "'lag' has other arguments",
    "lag(x, 0)": "must be a whole number from 1",
    "lag(x, 1.5)": "must be a whole number from 1",
    "lag(x, k)": "got 'k' where a number should be",
    "spline(x, 1, 0, 5)": "the grid must go up",
    "spline(x, 0, 1, 3)": "must be a whole number from 4",
    "random(5, 0, x)": "gamma must be positive",
    "log(a:b)": "a:b is no single number in each row",
    "hour(log(x))": "'hour' has other arguments",
    "x^3": "only 2 is known",
    "a:": "it ends too early",
    ":a": "got ':' where a column",
    "`a": "a backquote is not closed",
}


@pytest.mark.parametrize("text", list(WRONG))
def test_what_is_no_term(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected log\(x\)") as error:
        Table("y", terms=(text,))
    assert WRONG[text] in str(error.value)


def test_columns_of_terms() -> None:
    term = parse_term("lag(a, 1):b:log(c)")
    assert columns_in(term) == ["a", "b", "c"]
    assert columns_at_once(term) == ["b", "c"]
    assert split_terms(["lag(y, 1), a:b", "`x,y`^2", "random(1, 2, a)"]) == [
        "lag(y, 1)",
        "a:b",
        "`x,y`^2",
        "random(1, 2, a)",
    ]


# Recipes


def test_a_recipe_of_before_there_were_terms_is_read() -> None:
    old = {"target": "y", "columns": [["x", "number"]], "weight": None, "missing": "error", "na": []}
    assert Recipe.from_record(old) == Recipe("y", (Column("x", "number"),))


def test_recipes_with_other_terms_do_not_fit(path: Path) -> None:
    with stream(path, table_of(("log(x)",))) as first, stream(path, table_of(("x^2",))) as second:
        one, other = first.recipe, second.recipe
    assert one.difference(other) == "the term log(x) is in one but not in the other"
    assert one.difference(Recipe.from_record(one.to_record())) is None
    assert Recipe.from_record(one.to_record()) == one
    with pytest.raises(ValueError, match=r"'square\(x\)' comes from none of the columns .* none of the terms"):
        one.levels(["x", "square(x)"])


def test_single_values_of_any_library_go_into_terms() -> None:
    rows = pl.DataFrame(
        {"when": [datetime(2026, 1, day) for day in range(1, 21)], "x": [2.0] * 20, "y": [1.0, 3.0] * 10}
    )
    model = fit(rows, Table("y", terms=["weekday(when)"], missing="skip")).model
    moment = datetime(2026, 2, 1)
    expected = model.predict(pl.DataFrame({"when": [moment], "x": [2.0]}))[0]
    for value in (moment, np.datetime64(moment, "ns"), np.datetime64(moment, "s"), pd.Timestamp(moment)):
        assert model.predict_one({"when": value, "x": np.float32(2.0)}) == expected
    assert np.isnan(model.predict_one({"when": pd.NaT, "x": 2.0}))


# Terms and recipes that come with a file


LONG = {
    "many factors": (":".join(["a"] * 300_000), "at most 20,000 characters"),
    "factors": (":".join(["a"] * 200), "at most 100 factors"),
    "deep": ("log(" * 3000 + "a" + ")" * 3000, "inside each other"),
    "directions": (f"random(10000, 1, {', '.join('abcdefghijklmnopqrstuvwxyz')})", "at most 200,000"),
    "a long name": ("f" * 19_000 + "(a)", "there is no function"),
    "no text": (7, "must be text"),
}


@pytest.mark.parametrize("case", LONG)
def test_terms_that_are_too_much_are_refused_at_once(case: str) -> None:
    text, said = LONG[case]
    begin = time.perf_counter()
    with pytest.raises(ValueError, match=said) as caught:
        parse_term(cast(str, text))
    assert time.perf_counter() - begin < 0.5
    assert len(str(caught.value)) < 600


def test_a_model_whose_recipe_lies_is_not_loaded(tmp_path: Path) -> None:
    table = Table(
        "y", categorical=("city",), exclude=("kind",), terms=("log(x)", "lag(z, 2)", "x:city"), missing="zero"
    )
    model = fit(made(1, 60), table, RidgeRegressor()).model
    assert storage.from_bytes(model.to_bytes()).recipe_ == model.recipe_
    assert model.recipe_ is not None
    columns = model.recipe_.to_record()["columns"]
    lies: list[dict[str, Any]] = [
        {"terms": [":".join(["x"] * 300_000), "lag(z, 2)"]},
        {"terms": ["log(x)", "lag(z, 3)", "x:city"]},  # another lag than the memory has
        {"terms": ["log(x)", "lag(z, 2)"]},
        {"terms": ["log(q)", "lag(z, 2)", "x:city"]},
        {"terms": ["hour(x)", "log(x)", "lag(z, 2)", "x:city"]},
        {"terms": ["log(y)", "lag(z, 2)", "x:city"]},
        {"terms": [3]},
        {"columns": columns + columns[:1]},
        {"columns": [["y", "number"], *columns[1:]]},
        {"columns": columns[1:]},
        {"columns": [*columns, ["other", "number"]]},
        {"columns": "xy"},
        {"time": ["when2", "category"]},
        {"time": columns[0]},
        {"decimal": 5},
        {"thousands": [1]},
        {"date_format": 7},
        {"na": "x"},
        {"missing": []},
        {"drop_first": 1},
        {"memory": {"lags": {"lag(z, 2)": [1.0]}, "first_levels": {}}},
        {"memory": {"lags": {"lag(z, 2)": [10**400, 1.0]}, "first_levels": {}}},
        {"memory": {"lags": {"lag(q, 2)": [1.0, 1.0]}, "first_levels": {}}},
        {"memory": {"lags": [], "first_levels": {}}},
        {"memory": {"lags": {}, "first_levels": {"city": 3}}},
    ]
    for lie in lies:
        settings_, arrays = model.to_record()
        settings_["recipe"] = settings_["recipe"] | lie
        with pytest.raises(storage.StorageError, match=r"fit together \(ValueError") as caught:
            storage.from_bytes(storage.to_bytes("ridge", settings_, arrays))
        assert len(str(caught.value)) < 500


def test_a_model_with_other_features_is_not_merged_into_one_with_a_recipe() -> None:
    model = fit(made(1, 60), table_of(("log(x)",)), RidgeRegressor()).model
    other = RidgeRegressor()
    other.learn_one({"q": 1.0}, 2.0)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="'q' comes from none of the columns"):
        model.merge(other)
    assert model.to_bytes() == before
