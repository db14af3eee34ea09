"""The same rows give the same blocks, whatever they are kept in, however they are cut, wherever reading goes on."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onward import ForwardRegressor
from onward.tables import DataError, Position, Table, stream
from onward.tables.encode import Block
from onward.tables.recipe import Missing
from tests.tables.files import CHOICE, WRITERS, Seen, mixed_table, open_stream, read, seen, small_pieces, text_of


def written(folder: Path, table: pl.DataFrame, ending: str, name: str = "table") -> Path:
    path = folder / f"{name}.{ending}"
    WRITERS[ending](table, path)
    return path


@pytest.mark.parametrize("ending", list(WRITERS))
@pytest.mark.parametrize("missing", ["skip", "zero"])
def test_every_format_gives_the_same_blocks(tmp_path: Path, ending: str, missing: Missing) -> None:
    table = mixed_table(1, 200)
    expected = seen(stream(written(tmp_path, table, "parquet", "expected"), Table(missing=missing, **CHOICE)))
    opened = stream(written(tmp_path, table, ending), Table(missing=missing, **CHOICE))
    assert seen(opened) == expected
    assert opened.read == 200
    lacking = table["y"].is_null() | table["w"].is_null()
    if missing == "skip":
        lacking = table.select(pl.any_horizontal(pl.all().is_null())).to_series()
    assert sum(opened.skipped.values()) == lacking.sum()
    if missing == "zero":
        kept = table.filter(~lacking)
        assert dict(opened.filled) == {name: kept[name].null_count() for name in ("a", "on", "n", "t", "c", "d")}


def test_what_the_blocks_hold(tmp_path: Path) -> None:
    table = mixed_table(2, 60)
    got = seen(stream(written(tmp_path, table, "csv"), Table(missing="zero", **CHOICE)))
    kept = table.with_row_index("row").drop_nulls(["y", "w"])
    assert got.rows == kept["row"].to_list()
    assert got.y is not None
    assert got.y.tolist() == kept["y"].to_list()
    assert got.weight.tolist() == kept["w"].to_list()
    columns = dict(zip(got.names, got.X.T, strict=True))
    assert columns["a"].tolist() == kept["a"].fill_null(0.0).to_list()
    assert columns["on"].tolist() == [float(value or 0) for value in kept["on"]]
    years = (kept["t"].dt.timestamp("us") - 946_684_800_000_000) / (365.2425 * 86_400e6)
    assert columns["t"].tolist() == pytest.approx(years.fill_null(0.0).to_list(), rel=1e-15)
    for name in ("c", "d"):
        for level in kept[name].drop_nulls().unique():
            assert columns[f"{name}={level}"].tolist() == [float(value == level) for value in kept[name]]
    firsts = [f"{name}={row[name]}" for row in kept.to_dicts() for name in ("c", "d") if row[name] is not None]
    assert got.names == ["a", "on", "n", "t", *dict.fromkeys(firsts)]


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    size=st.integers(1, 300),
    values=st.integers(1, 100),
    ending=st.sampled_from(list(WRITERS)),
)
def test_the_cut_does_not_matter(seed: int, n: int, size: int, values: int, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = mixed_table(seed, n)
        table[0, "y"], table[0, "w"], table[0, "a"], table[0, "n"], table[0, "t"] = 1.0, 1.0, 0.5, 1, table["t"].max()
        table = table.with_columns(pl.col("t", "on").backward_fill())
        path = written(Path(folder), table, ending)
        expected = seen(stream(path, Table(missing="zero", **CHOICE)))
        with small_pieces(size, values):
            assert seen(stream(path, Table(missing="zero", **CHOICE))) == expected


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    row=st.integers(0, 40),
    sizes=st.tuples(st.integers(20, 2000), st.integers(20, 2000)),
    ending=st.sampled_from(list(WRITERS)),
)
def test_going_on_from_any_row(seed: int, row: int, sizes: tuple[int, int], ending: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = mixed_table(seed, 40, lacking=0.05)
        written(folder, table[:15], ending, "part-1")
        written(folder, table[15:15], "csv" if "csv" in ending else ending, "part-2")
        written(folder, table[15:].select(sorted(table.columns)), ending, "part-10")
        whole = seen(stream(folder, Table(missing="skip", **CHOICE)))
        with small_pieces(sizes[0], sizes[0]):
            first = stream(folder, Table(missing="skip", **CHOICE))
            position, names = walked(first, row)
        assert Position.from_record(position.to_record()) == position
        with small_pieces(sizes[1], sizes[1]):
            rest = seen(stream(folder, Table(missing="skip", **CHOICE), start=position, known=names))
    if rest.rows:
        assert rest == whole.since(row)
    else:
        assert all(each < row for each in whole.rows)


def walked(opened: Any, row: int) -> tuple[Position, list[object]]:
    """The position before a row, and the features known there."""
    names: list[object] = [column.name for column in opened.recipe.plain]
    if row == 0:
        opened.close()
        return opened.position(0), names
    blocks = iter(opened)
    for block in blocks:
        names = block.names
        if block.first < row <= block.stop:
            position = opened.position(row)
            blocks.close()
            return position, names
    return opened.position(row), names  # the last rows were skipped


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_a_learner_learns_the_same_bits(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, mixed_table(3, 120), ending)

    def model() -> ForwardRegressor:
        learner = ForwardRegressor()
        for block in stream(path, Table(missing="zero", **CHOICE)):
            learner.learn_many(block, block.y, block.weight)
        return learner

    expected = model()
    for size in (37, 200, 1000):
        with small_pieces(size, size):
            got = model()
        assert list(got.feature_names_in_) == list(expected.feature_names_in_)
        for name in ("coef_", "intercept_", "online_loss_"):
            assert np.asarray(getattr(got, name)).tobytes() == np.asarray(getattr(expected, name)).tobytes()
        for name in ("U", "D"):
            assert getattr(got.information_, name).tobytes() == getattr(expected.information_, name).tobytes()


def test_parts_of_a_block(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,y\n1,1\n,2\n3,3\n4,4\n,5\n")
    (block,) = stream(path, Table("y", missing="skip"))
    head, tail = block.part(0, 2), block.part(2, 3)
    assert (head.first, head.stop, head.rows.tolist()) == (0, 3, [0, 2])
    assert (tail.first, tail.stop, tail.rows.tolist(), tail.X.tolist()) == (3, 5, [3], [[4.0]])


# Several files


def test_columns_in_another_order(tmp_path: Path) -> None:
    text_of(tmp_path, "x,z,y\n1,2,3\n", "1.csv")
    text_of(tmp_path, "y;z;x\n30;20;10\n", "2.csv")
    text_of(tmp_path, '{"z":200,"y":300,"x":100}\n', "3.jsonl")
    pl.DataFrame({"y": [3000], "more": ["?"], "x": [1000], "z": [2000.0]}).write_parquet(tmp_path / "4.parquet")
    got = read(tmp_path)
    assert got.names == ["x", "z"]
    assert got.X.tolist() == [[1, 2], [10, 20], [100, 200], [1000, 2000]]
    assert got.y is not None
    assert got.y.tolist() == [3, 30, 300, 3000]


NA = "; --na names texts that stand for missing values"
THIRD: dict[str, tuple[str, str | bytes, str]] = {
    "lacks a column": ("3.csv", "y\n1\n", "3.csv: there is no column 'x', expected it among 'y'"),
    "lacks a name": ("3.jsonl", '{"y":1}\n', "3.jsonl: there is no column 'x', expected it among 'y'"),
    "holds text": ("3.csv", "x,y\n1,1\nb,2\n", f"3.csv, line 3, column 'x': got 'b', expected a number{NA}"),
    "holds words": ("3.jsonl", '{"x":"b","y":1}\n', f"3.jsonl, line 1, column 'x': got 'b', expected a number{NA}"),
    "is empty": ("3.csv", "", "3.csv: the file is empty, expected a header with the names of the columns"),
}


@pytest.mark.parametrize("case", list(THIRD))
def test_a_wrong_third_file(tmp_path: Path, case: str) -> None:
    name, text, message = THIRD[case]
    for number in (1, 2, 4):
        text_of(tmp_path, "x,y\n1,2\n", f"{number}.csv")
    text_of(tmp_path, text, name)
    with pytest.raises(DataError) as error:
        read(tmp_path)
    assert str(error.value) == f"{tmp_path}/{message}"


def test_a_third_file_of_other_types(tmp_path: Path) -> None:
    for number, values in enumerate(([1], [2.5], ["b"]), start=1):
        pl.DataFrame({"x": values, "y": [1]}).write_parquet(tmp_path / f"{number}.parquet")
    with pytest.raises(DataError, match=r"3.parquet: column 'x' holds (large_)?string(_view)?, expected a number"):
        read(tmp_path)


@pytest.mark.parametrize("empty", [{1}, {2}, {3}, {1, 2}, {2, 3}])
def test_files_without_rows_among_others(tmp_path: Path, empty: set[int]) -> None:
    for number in (1, 2, 3):
        text_of(tmp_path, "c,y\n" + "a,1\n" * (number not in empty), f"{number}.csv")
    got = read(tmp_path, categorical=["c"])
    assert got.rows == list(range(3 - len(empty)))
    assert got.names == ["c=a"]


def test_no_rows_at_all(tmp_path: Path) -> None:
    text_of(tmp_path, "x,y\n", "1.csv")
    text_of(tmp_path, "x,y", "2.csv")
    text_of(tmp_path, "", "3.jsonl")
    with pytest.raises(DataError, match=r"1\.csv: there are no rows, nor in 2 more$"):
        read(tmp_path)
    for ending in ("parquet", "arrow", "ipc"):
        path = written(tmp_path, mixed_table(0, 3)[:0], ending)
        with pytest.raises(DataError, match=rf"table.{ending}: there are no rows$"):
            read(path, categorical=["c", "d"])


def test_reading_for_a_model(tmp_path: Path) -> None:
    learned = stream(text_of(tmp_path, "c,x,y\na,1,1\nb,2,2\n"), Table("y", categorical=("c",)))
    names = list(learned)[-1].names
    header_only = text_of(tmp_path, "x,c\n", "empty.csv")
    assert list(stream(header_only, None, recipe=learned.recipe, known=names)) == []
    got = seen(stream(text_of(tmp_path, "x,c\n5,b\n6,a\n", "new.csv"), None, recipe=learned.recipe, known=names))
    assert got.y is None
    assert (got.names, got.X.tolist()) == (["x", "c=a", "c=b"], [[5, 0, 1], [6, 1, 0]])
    with pytest.raises(ValueError, match="target must be 'y' as in the recipe, got 'x'"):
        stream(header_only, "x", recipe=learned.recipe)


# Positions


def test_positions_that_do_not_fit(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,y\n1,1\n2,2\n")
    opened = stream(path, "y")
    list(opened)
    assert [opened.position(row).skip for row in (0, 1, 2)] == [0, 1, 2]
    with pytest.raises(ValueError, match="expected a row from 0 to 2, which were read last, got 3"):
        opened.position(3)
    with pytest.raises(ValueError, match="read once"):
        list(opened)
    for start, message in {
        Position(0, 99, 0, 9): r"t\.csv: expected at least 99 bytes to go on; has the file changed\?",
        Position(0, 6, 0, 9): r"t\.csv: no line begins at byte 6; has the file changed\?",
        Position(1, 0, 0, 9): r"t\.csv: expected 2 files or more to go on, got 1",
    }.items():
        with pytest.raises(DataError, match=message):
            list(stream(path, "y", start=start))
    pl.DataFrame({"x": [1], "y": [2]}).write_parquet(tmp_path / "p.parquet")
    with pytest.raises(DataError, match=r"p\.parquet: expected at least 5 rows to go on"):
        list(stream(tmp_path / "p.parquet", "y", start=Position(0, 5, 0, 5)))


@example(skip=5)
@given(skip=st.integers(0, 6))
@settings(max_examples=5)
def test_errors_after_going_on_name_the_right_line(skip: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = text_of(Path(name), "x,y\n" + "1,1\n" * 6 + "1,\n")
        with pytest.raises(DataError, match="line 8, column 'y': the value is missing"):
            list(stream(path, "y", start=Position(0, 4, skip, skip)))


# Which columns


COLUMNS: dict[str, tuple[dict[str, Any], list[str] | str]] = {
    "all": (
        {},
        "expected numbers, but 'city', 'zip' hold text such as 'Rome' in 'city'; name such columns as categorical",
    ),
    "one text": ({"exclude": ["city"]}, "expected numbers, but 'zip' holds text such as 'I-1'; name such columns"),
    "without texts": ({"exclude": ["city", "zip"]}, ["x1", "x2", "w"]),
    "pattern": ({"features": ["x*"]}, ["x1", "x2"]),
    "order as asked": ({"features": ["w", "x2"]}, ["w", "x2"]),
    "pattern that fits the target": ({"features": ["*"], "exclude": ["[cz]i*"]}, ["x1", "x2", "w"]),
    "exclude by pattern": ({"exclude": ["x*", "city", "zip"]}, ["w"]),
    "weight is no feature": ({"weight": "w", "exclude": ["city", "zip"]}, ["x1", "x2"]),
    "a category counts as chosen": ({"features": ["x1"], "categorical": ["city"]}, ["x1", "city=Rome"]),
    "no such feature": ({"features": ["x3"]}, "there is no column 'x3', expected it among 'x1', 'city'"),
    "no such pattern": ({"exclude": ["q*"]}, "there is no column 'q*'"),
    "no such category": ({"categorical": ["q"]}, "there is no column 'q'"),
    "no such target": ({"target": "q"}, "there is no column 'q', expected it among"),
    "no such weight": ({"weight": "q"}, "there is no column 'q', expected it among"),
    "target as feature": ({"features": ["y", "x1"]}, "column 'y' is the target or the weight"),
    "target as category": ({"categorical": ["y"]}, "column 'y' is the target or the weight"),
    "text as target": ({"target": "city"}, "column 'city' holds text such as 'Rome', expected numbers"),
    "nothing left": ({"exclude": ["*"]}, "no column is left to be a feature beside 'y'"),
}


TEXTS: dict[str, tuple[str, str]] = {
    "decimals": ("x;y\n1,5;1\n2,5;2\n", "'x' holds text such as '1,5'; {name}; --decimal and --thousands say how"),
    "thousands": ('x,y\n7,1\n"1,234.5",2\n"1,300.5",3\n', "text such as '1,234.5'; {name}; --decimal and --thousands"),
    "of several": (
        "city,x,y\nRome,1.2.2026,1\n",
        "hold text such as '1.2.2026' in 'x'; {name}; --date-format says how",
    ),
    "in words": ("x,y\n3 May 2026,1\n", "'x' holds text such as '3 May 2026'; {name}$"),
    "currency": ("x,y\n$5,1\n", "text such as '$5'; {name}; a number is read where no sign of a currency"),
    "percent": ("x,y\n-5 %,1\n", "text such as '-5 %'; {name}; a number is read where no sign of a currency"),
    "no word of a language": ("x,y\nno,1\nse,2\ndk,3\n", "'x' holds text such as 'no'; {name}$"),
    "decimals of the target": ("y;x\n1,5;1\n", "column 'y' holds text such as '1,5', expected numbers; --decimal and"),
    "broken rows": ("x,y\nRome,1,2\n", "got 3 fields"),
}


@pytest.mark.parametrize("case", list(TEXTS))
def test_what_may_help_with_texts(tmp_path: Path, case: str) -> None:
    text, expected = TEXTS[case]
    expected = expected.format(name="name such columns as categorical (--categorical), or exclude them (--exclude)")
    with pytest.raises(DataError) as error:
        read(text_of(tmp_path, text))
    assert expected.removesuffix("$") in str(error.value)
    assert not expected.endswith("$") or str(error.value).endswith(expected[:-1])


def test_a_file_without_names_is_told_how_it_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"no column 'y', expected it among '0.5', 'Rome'; if the first .* \(--no-header\)$"
    ):
        read(text_of(tmp_path, "0.5,Rome\n1.5,Oslo\n"))
    with pytest.raises(DataError, match=r"no column 'y', expected it among 'c1', '2026'$"):
        read(text_of(tmp_path, "c1,2026\n1.5,2\n"))


def test_texts_of_a_frame_that_are_dates() -> None:
    frame = pl.DataFrame({"city": ["Rome", "Oslo"], "day": ["2026-01-31", None], "y": [1.0, 2.0]})
    with pytest.raises(DataError, match="to read 'day' as a time, say so in the schema"):
        stream(frame, Table("y"))
    assert stream(frame, Table("y", categorical=["city"], schema={"day": "time"})).recipe.kinds["day"] == "time"


@pytest.mark.parametrize("case", list(COLUMNS))
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_choosing_columns(tmp_path: Path, ending: str, case: str) -> None:
    options, expected = COLUMNS[case]
    table = pl.DataFrame({"x1": [1.0], "city": ["Rome"], "x2": [2], "y": [3.0], "zip": ["I-1"], "w": [1]})
    path = written(tmp_path, table, ending)
    if isinstance(expected, list):
        assert read(path, **options).names == expected
    else:
        with pytest.raises(DataError) as error:
            read(path, **options)
        assert str(error.value).startswith(f"{path}: {expected}")


def test_columns_without_a_name(tmp_path: Path) -> None:
    for text, place in (("x,,y\n0,1,2\n", 2), (",x,y\ntrue,1,2\n", 1)):
        path = text_of(tmp_path, text)
        with pytest.raises(DataError, match=f"column {place} has no name; exclude '', or give it a name"):
            read(path)
        assert read(path, exclude=[""]).names == ["x"]


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_the_index_of_a_data_frame_is_no_feature(tmp_path: Path, name: str) -> None:
    """Unless it is asked for, is not the first column, or holds something else than numbers."""
    path = text_of(tmp_path, f"{name},x,y\n0,1,2\n")
    got = open_stream(path)
    assert seen(got).names == ["x"]
    assert got.notes == [f"left out column {name!r}, the index of a data frame; name it in features to use it"]
    for options, names in (
        ({"features": [name, "x"]}, [name, "x"]),
        ({"target": name}, ["x", "y"]),
        ({"exclude": [name]}, ["x"]),
        ({"weight": name}, ["x"]),
    ):
        got = open_stream(path, **options)
        assert (seen(got).names, got.notes) == (names, [])
    if name:
        got = open_stream(path, categorical=[name])
        assert (seen(got).names, got.notes) == (["x", f"{name}=0"], [])
        got = open_stream(text_of(tmp_path, f"x,{name},y\n0,1,2\n", "later.csv"))
        assert (seen(got).names, got.notes) == (["x", name], [])
        got = open_stream(text_of(tmp_path, f"{name},x,y\n2026-01-31,1,2\n", "dates.csv"))
        assert (seen(got).names, got.notes) == ([name, "x"], [])


def test_a_name_that_is_nearly_right(tmp_path: Path) -> None:
    path = text_of(tmp_path, "Price,size,y\n1,2,3\n")
    wrong: dict[str, dict[str, Any]] = {"price": {"target": "price"}, "sise": {"features": ["sise"]}}
    for name, options in wrong.items():
        meant = "Price" if name == "price" else "size"
        with pytest.raises(DataError) as error:
            read(path, **options)
        assert str(error.value) == f"{path}: there is no column {name!r}; did you mean {meant!r}?"


def test_wrong_choices(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,y\n1,2\n")
    wrong: dict[str, dict[str, Any]] = {
        "missing must be one of error, skip, zero, got 'drop'": {"missing": "drop"},
        "separator must be one plain character, got ', '": {"separator": ", "},
        "separator must be one plain character, got '\"'": {"separator": '"'},
        "expected a target or a recipe, got neither": {"target": None},
        "column 'y' cannot be both the target and the weight": {"weight": "y"},
        "format must be one of csv, tsv, jsonl, parquet, ipc, got 'xlsx'": {"format": "xlsx"},
        "features must be a list of texts, got 'x'": {"features": "x"},
        "max_levels must be a whole number >= 1, got 0": {"max_levels": 0},
    }
    for message, options in wrong.items():
        with pytest.raises(ValueError, match=message):
            read(path, **options)


def test_a_stream_that_is_not_read_is_closed(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,y\n1,2\n")  # an open file that is let go of would warn, and so fail
    with stream(path, "y") as opened:
        assert (opened.names, opened.size, opened.read) == (["x"], 8, 0)
    opened = stream(path, "y")
    opened.close()
    whole: list[Block] = []
    with stream(path, "y") as opened:
        whole += opened
    assert opened.done == 8
    assert isinstance(seen(whole), Seen)
