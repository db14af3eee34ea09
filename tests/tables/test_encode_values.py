"""Frames and single rows become the features that a stream makes of them."""

import tempfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.tables import Column, DataError, Recipe, Stream, Table, encode_frame, encode_row, stream
from onward.tables.memory import Memory
from onward.tables.recipe import Kind
from onward.tables.sources import find_files
from tests.tables.test_terms import TERMS, made, table_of

Rows = list[dict[str, float]]


def nonzero(names: Any, values: Any) -> dict[str, float]:
    return {str(name): float(value) for name, value in zip(names, values, strict=True) if value}


def learned(path: Path, table: Table) -> tuple[Recipe, list[str]]:
    rows = stream(path, table)
    for _ in rows:
        pass
    return rows.recipe, rows.names


def by_stream(path: Path, recipe: Recipe, names: list[str]) -> tuple[Rows, list[str]]:
    found: Rows = []
    order = dict.fromkeys(names)
    for block in Stream(find_files(path), Table(), recipe=recipe, known=names):
        found += [nonzero(block.names, values) for values in block.X]
        order |= dict.fromkeys(map(str, block.names))
    return found, list(order)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    term=st.sampled_from([*((each,) for each in TERMS), TERMS]),
    drop_first=st.booleans(),
    with_target=st.booleans(),
    library=st.sampled_from(["polars", "pandas", "pyarrow"]),
)
def test_frames_and_rows_are_what_a_stream_makes(
    seed: int, n: int, term: tuple[str, ...], drop_first: bool, with_target: bool, library: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder) / "old.csv", Path(folder) / "new.csv"
        made(5, 40)[:30].write_csv(old)
        values = made(seed, n) if with_target else made(seed, n).drop("y")
        values.write_csv(new)
        recipe, names = learned(old, table_of(term, drop_first=drop_first))
        expected, order = by_stream(new, recipe, names)
        if library == "pandas":
            frame: Any = values.to_pandas()
            frame["city"] = frame["city"].astype("category")
        else:
            frame = values if library == "polars" else values.to_arrow()
        got = encode_frame(recipe, names, frame)
        assert [nonzero(got.names, row) for row in got.X] == expected
        assert [str(name) for name in got.names] == order
        # Each row on its own knows of the rows before it what the recipe says: here those before the first row.
        first_names, first = encode_row(recipe, names, values.to_dicts()[0])
        assert nonzero(first_names, first) == expected[0]
        assert len(set(first_names)) == len(first_names)
        assert [str(name) for name in first_names[: len(names)]] == names
        if not recipe.lags:
            for row, wanted in zip(values.to_dicts(), expected, strict=True):
                assert nonzero(*encode_row(recipe, names, row)) == wanted


def recipe_of(missing: Any = "error", **kinds: Kind) -> Recipe:
    return Recipe("y", tuple(Column(name, kind) for name, kind in kinds.items()), missing=missing)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("number", ["1.5", 1.5, np.float32(1.5), "  1.5"]),
        ("number", [1, True, np.int8(1), "1", 1.0]),
        ("boolean", [True, "yes", "TRUE", np.bool_(True)]),
        (
            "time",
            [
                date(2026, 1, 31),
                datetime(2026, 1, 31),
                "2026-01-31",
                np.datetime64("2026-01-31"),
                pd.Timestamp("2026-01-31"),
            ],
        ),
        ("category", ["3", 3, np.int64(3)]),
    ],
)
def test_values_in_whatever_form(kind: Kind, values: list[Any]) -> None:
    recipe = recipe_of(v=kind)
    expected: tuple[list[Any], Any] | None = None
    for value in values:
        names, got = encode_row(recipe, ["v"] if kind != "category" else [], {"v": value, "other": "ignored"})
        rows = encode_frame(recipe, ["v"] if kind != "category" else [], pd.DataFrame({"v": [value]}))
        assert (rows.names, rows.X[0].tolist()) == (names, got.tolist())
        if expected is None:
            expected = (names, got.tolist())
        assert (names, got.tolist()) == expected


@pytest.mark.parametrize("missing", ["error", "skip"])
@pytest.mark.parametrize("value", [None, float("nan"), pd.NA, "NA", ""])
def test_what_is_missing_is_an_error_unless_it_counts_as_zero(missing: Any, value: Any) -> None:
    recipe = recipe_of(missing, x="number")
    message = r"column 'x': the value is missing, expected a number"
    with pytest.raises(DataError, match="the row, " + message):
        encode_row(recipe, ["x"], {"x": value})
    with pytest.raises(DataError, match="data frame 1, row 2, " + message):
        encode_frame(recipe, ["x"], pl.DataFrame({"x": ["1", None if value is None or value is pd.NA else str(value)]}))
    filling = recipe_of("zero", x="number", c="category")
    assert encode_row(filling, ["x"], {"x": value, "c": None})[1].tolist() == [0.0]
    assert encode_frame(filling, ["x"], pl.DataFrame({"x": [None], "c": [None]})).X.tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("kinds", "row", "message"),
    [
        ({"price": "number"}, {"Price": 1.0}, "there is no column 'price'; did you mean 'Price'?"),
        ({"price": "number"}, {"a": 1.0}, "there is no column 'price', expected it among 'a'"),
        ({"x": "number"}, {"x": "one"}, "column 'x': got 'one', expected a number"),
        ({"x": "number"}, {"x": date(2026, 1, 1)}, "column 'x' holds date32[day], expected a number"),
        ({"x": "number"}, {"x": float("inf")}, "column 'x': got inf, expected a finite number"),
        ({"x": "time"}, {"x": "31.01.2026"}, "column 'x': got '31.01.2026', expected a date or time such as"),
        ({"x": "boolean"}, {"x": "maybe"}, "column 'x': got 'maybe', expected true or false"),
        ({"x": "category"}, {"x": None}, "column 'x': the value is missing, expected a category"),
    ],
)
def test_errors_are_the_same_for_a_frame_and_a_row(kinds: dict[str, Kind], row: dict[str, Any], message: str) -> None:
    recipe = recipe_of(**kinds)
    for encode in (
        lambda: encode_row(recipe, [], row),
        lambda: encode_frame(recipe, [], pd.DataFrame({name: [value] for name, value in row.items()})),
    ):
        with pytest.raises(DataError) as error:
            encode()
        assert message in str(error.value)
    assert not isinstance(error.value, KeyError)


def test_a_number_too_large_for_a_float() -> None:
    with pytest.raises(DataError, match="got inf, expected a finite number"):
        encode_row(recipe_of(x="number"), ["x"], {"x": 10**400})


def test_a_lag_that_is_not_known_is_an_error() -> None:
    recipe = Recipe.from_record(
        recipe_of(x="number").to_record() | {"terms": ["lag(x, 1)"], "memory": Memory().to_record()}
    )
    with pytest.raises(DataError, match=r"lag\(x, 1\) is not known yet"):
        encode_row(recipe, [], {"x": 1.0})
    with pytest.raises(DataError, match=r"lag\(x, 1\) is not known yet in 1 of its rows"):
        encode_frame(recipe, [], pl.DataFrame({"x": [1.0, 2.0]}))


def test_a_frame_without_rows() -> None:
    got = encode_frame(recipe_of(x="number", c="category"), ["x", "c=a"], pl.DataFrame({"x": [], "c": []}))
    assert got.shape == (0, 2)
