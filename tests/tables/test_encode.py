"""What is done where a value lacks, and how levels become features."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward import ForwardRegressor
from onward.tables import Column, DataError, Recipe, Table, encode, stream
from tests.tables.files import read, seen, small_pieces, text_of

LACKING = "x,c,w,y\n1,a,1,1\n,a,1,1\n1,,1,1\n1,a,,1\n1,a,1,\n,,,\n2,b,1,2\n"


def opened(tmp_path: Path, text: str, **options: Any) -> Any:
    return stream(text_of(tmp_path, text), Table(**{"target": "y", "categorical": ["c"], "weight": "w", **options}))


@pytest.mark.parametrize("size", [1 << 22, 6])
def test_rows_are_counted_once(tmp_path: Path, size: int) -> None:
    with small_pieces(size):
        skipping = opened(tmp_path, LACKING, missing="skip")
        assert seen(skipping).rows == [0, 6]
        assert dict(skipping.skipped) == {"y is missing": 2, "w is missing": 1, "x is missing": 1, "c is missing": 1}
        assert not skipping.filled
        filling = opened(tmp_path, LACKING, missing="zero")
        got = seen(filling)
        assert got.rows == [0, 1, 2, 6]
        assert got.X.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 0], [2, 0, 1]]
        assert dict(filling.skipped) == {"y is missing": 2, "w is missing": 1}
        assert dict(filling.filled) == {"x": 1, "c": 1}


@pytest.mark.parametrize(
    ("row", "column", "what"),
    [
        (",a,1,1", "x", "a number"),
        ("1,,1,1", "c", "a category"),
        ("1,a,,1", "w", "a number"),
        ("1,a,1,", "y", "a number"),
    ],
)
def test_missing_values_are_errors_unless_told(tmp_path: Path, row: str, column: str, what: str) -> None:
    with pytest.raises(
        DataError, match=rf"t\.csv, line 3, column '{column}': the value is missing, expected {what}; cho"
    ):
        list(opened(tmp_path, f"x,c,w,y\n1,a,1,1\n{row}\n"))


@pytest.mark.parametrize("column", ["x", "w", "y"])
@pytest.mark.parametrize("missing", ["error", "skip", "zero"])
def test_infinite_values(tmp_path: Path, column: str, missing: str) -> None:
    row = ",".join("inf" if name == column else "1" for name in ("x", "c", "w", "y"))
    got = opened(tmp_path, f"x,c,w,y\n{row}\n2,a,1,2\n", missing=missing)
    if missing == "skip":
        assert seen(got).rows == [1]
        assert dict(got.skipped) == {f"{column} is infinite": 1}
    else:
        with pytest.raises(DataError, match=rf"t\.csv, line 2, column '{column}': got inf, expected a finite number"):
            list(got)


def test_negative_weights(tmp_path: Path) -> None:
    for missing in ("error", "skip", "zero"):
        with pytest.raises(DataError, match=r"line 3, column 'w': got -0.5, expected a weight that is not negative"):
            list(opened(tmp_path, "x,c,w,y\n1,a,0,1\n1,a,-0.5,1\n", missing=missing))
    skipping = opened(tmp_path, "x,c,w,y\n1,a,0,1\n1,a,-0.5,\n", missing="skip")
    assert seen(skipping).weight.tolist() == [0]


@pytest.mark.parametrize("size", [1 << 22, 9])
def test_levels_are_born_where_they_are_first_seen(tmp_path: Path, size: int) -> None:
    text = "c,d,x,y\n" + "b,q,1,1\n" * 3 + "a,q,1,1\n" + "z,z,NA,1\n" + "b,p,1,1\n" * 2 + "z,a,1,1\n"
    with small_pieces(size):
        got = seen(stream(text_of(tmp_path, text), Table("y", categorical=("d", "c"), missing="skip")))
    # In a row, by the order of the columns; a row that is skipped brings no levels.
    assert got.names == ["x", "c=b", "d=q", "c=a", "d=p", "c=z", "d=a"]
    assert got.births == [(0, 3), (3, 4), (5, 5), (7, 7)]
    assert got.rows == [0, 1, 2, 3, 5, 6, 7]


def test_too_many_levels(tmp_path: Path) -> None:
    text = "c,d,y\n" + "".join(f"l{i % 4},m{i % 3},1\n" for i in range(20))
    path = text_of(tmp_path, text)
    assert len(read(path, categorical=["c", "d"], max_levels=4).names) == 7
    with pytest.raises(DataError, match=r"t\.csv, line 5, column 'c': more than 3 levels; is it a category\?"):
        read(path, categorical=["c", "d"], max_levels=3)
    with pytest.raises(DataError, match=r"t\.csv, line 5, column 'c': more than 3 levels"):
        read(path, categorical=["c", "d"], max_levels=3, known=["c=l0", "c=l1", "c=l2"])


def test_rows_before_a_level_too_many_are_handed_out_if_they_come_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "c,y\n" + "".join(f"l{i},1\n" for i in range(20))

    def handed(source: str | Path) -> list[int]:
        found: list[int] = []
        with pytest.raises(DataError, match=r"line 5, column 'c': more than 3 levels"):
            found.extend(
                row for block in stream(source, Table("y", categorical=("c",), max_levels=3)) for row in block.rows
            )
        return found

    assert handed(text_of(tmp_path, text)) == []  # of a file none is learned in vain
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert handed("-") == [0, 1, 2]


def test_known_levels_keep_their_places(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,c,y\n1,b,1\n2,new,1\n")
    got = read(path, categorical=["c"], known=["x", "c=a=1", "c=b"])
    assert got.names == ["x", "c=a=1", "c=b", "c=new"]
    assert got.X.tolist() == [[1, 0, 1, 0], [2, 0, 0, 1]]
    with pytest.raises(ValueError, match="the feature 'q' comes from none of the columns"):
        read(path, categorical=["c"], known=["q"])


def test_names_that_could_be_taken_for_each_other(tmp_path: Path) -> None:
    path = text_of(tmp_path, "a,a=b,y\nb=c,c,1\n")
    with pytest.raises(DataError, match="a level of 'a' and column 'a=b' may get one name; rename a column"):
        read(path, categorical=["a", "a=b"])
    recipe = Recipe("y", (Column("a=1", "number"), Column("a", "category")))
    assert recipe.levels(["a=1", "a=2=3"]) == [("a", "2=3")]
    path = text_of(tmp_path, "a,a=1,y\n2,0,1\n1,0,1\n")
    with pytest.raises(DataError, match="line 3, column 'a': its level '1' would be a second feature called 'a=1'"):
        list(stream(path, "y", recipe=recipe))
    assert read(path, target=None, recipe=recipe).names == ["a=1", "a=2"]


@pytest.mark.parametrize("size", [1 << 22, 10])
def test_unknown_levels_without_a_target(tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe("y", (Column("x", "number"), Column("c", "category"), Column("d", "category")), missing="zero")
    n = 50
    rows = [(i, f"c{i % 5}" if i % 3 else None, f"id{i}") for i in range(n)]
    pl.DataFrame(rows, schema=["x", "c", "d"], orient="row").write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(encode, "UNKNOWN", 7)
    with small_pieces(size):
        given = stream(tmp_path / "t.csv", None, recipe=recipe, known=["x", "c=c1", "d=id3"])
        blocks = list(given)
    assert given.names == ["x", "c=c1", "d=id3"]  # what is not known is forgotten
    at = 0
    for block in blocks:
        assert block.names[:3] == ["x", "c=c1", "d=id3"]
        assert len(set(block.names)) == len(block.names) <= 3 + 2 * 7
        for values in block.X:
            x, c, d = rows[at]
            named = {name: value for name, value in zip(block.names, values, strict=True) if value}
            assert named == ({"x": x} if x else {}) | {f"d={d}": 1} | ({f"c={c}": 1} if c else {})
            at += 1
    assert at == n
    model = ForwardRegressor()
    model.learn_many(pl.DataFrame({"x": [1.0], "c=c1": [1.0]}), np.array([1.0]))
    assert [len(model.predict_many(block)) for block in blocks] == [len(block.rows) for block in blocks]


def test_many_levels_take_no_more_memory_than_few(tmp_path: Path) -> None:
    n = 40_000
    path = tmp_path / "t.csv"
    pl.DataFrame({"c": [f"l{min(i, 900)}" for i in range(n)], "y": range(n)}).write_csv(path)
    blocks = stream(path, Table("y", categorical=("c",)))
    assert max(block.X.size for block in blocks) <= encode.VALUES < 900 * n


def test_large_numbers_are_no_infinite_ones(tmp_path: Path) -> None:
    assert read(text_of(tmp_path, "x,y\n1e200,1\n-1e200,1\n")).X.tolist() == [[1e200], [-1e200]]


@pytest.mark.parametrize("make", [lambda recipe: recipe, lambda recipe: Recipe.from_record(recipe.to_record())])
def test_recipes(make: Callable[[Recipe], Recipe]) -> None:
    recipe = make(Recipe("y", (Column("x", "number"), Column("c", "category")), "w", "skip", ("-",)))
    assert recipe.difference(Recipe("y", (Column("c", "category"), Column("x", "number")))) is None
    assert recipe.difference(Recipe("z", recipe.columns)) == "the target is 'y' in one and 'z' in the other"
    other = recipe.difference(Recipe("y", (Column("x", "time"), Column("c", "category"))))
    assert other == "the column 'x' as a number is in one but not in the other"
    with pytest.raises(ValueError, match="unknown kind of column"):
        Recipe.from_record({**recipe.to_record(), "columns": [["x", "magic"]]})
