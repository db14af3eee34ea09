"""Which files are meant, and in which order."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onward import compare, fit
from onward.tables import DataError
from onward.tables.sources import find_files
from tests.tables.files import text_of


def names(files: object) -> list[str]:
    assert isinstance(files, list)
    return [file.path.name for file in files]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "_temporary").mkdir()
    for name in (
        "part-10.csv",
        "part-2.csv",
        "part-1.csv.gz",
        "part-02.csv",
        "_SUCCESS",
        ".hidden.csv",
        "_x.csv",
        "notes.txt",
        "sub/part-3.parquet",
        "_temporary/part-9.csv",
    ):
        text_of(tmp_path, "x,y\n", name)
    return tmp_path


def test_a_folder_and_a_pattern(folder: Path) -> None:
    ordered = ["part-1.csv.gz", "part-02.csv", "part-2.csv", "part-10.csv"]
    assert names(find_files(folder)) == [*ordered, "part-3.parquet"]
    assert names(find_files(f"{folder}/part-*")) == ordered
    assert names(find_files(f"{folder}/*.csv")) == ordered[1:]
    assert names(find_files(f"{folder}/_*.csv")) == ["_x.csv"]
    assert names(find_files(f"{folder}/**/*.parquet")) == ["part-3.parquet"]
    assert names(find_files([folder / "part-10.csv", folder / "part-2.csv"])) == ["part-10.csv", "part-2.csv"]


def test_formats(folder: Path) -> None:
    files = find_files([folder / "part-1.csv.gz", folder / "sub", folder / "part-2.csv"])
    assert [(file.format, file.compression) for file in files] == [("csv", "gzip"), ("parquet", None), ("csv", None)]
    (file,) = find_files(folder / "notes.txt", "jsonl")
    assert (file.format, file.size) == ("jsonl", 4)
    (given,) = find_files("-")
    assert (given.path, given.format, given.name, given.size) == (None, None, "standard input", None)


def test_what_cannot_be_meant(folder: Path) -> None:
    (folder / "empty").mkdir()
    text_of(folder, "", "t.parquet.gz")
    wrong: dict[str, str | list[str]] = {
        "no: there is no such file or folder": "no",
        "q*.csv: no file fits this pattern": "q*.csv",
        "empty: the folder holds no file that ends in .csv, .tsv": "empty",
        "notes.txt: cannot tell its format from its name; say which it is (--format csv), or": "notes.txt",
        "t.parquet.gz: parquet is compressed inside; expected a file without .gz": "t.parquet.gz",
        "part-2.csv: given more than once; its rows would be learned twice": ["part-2.csv", "part-*.csv"],
    }
    for message, source in wrong.items():
        sources = source if isinstance(source, list) else [source]
        with pytest.raises(DataError) as error:
            find_files([os.path.join(folder, each) for each in sources])
        assert str(error.value).startswith(f"{folder}/{message}")
    for problem, given in {"at least one": [], "cannot be read together": ["-", "x"]}.items():
        with pytest.raises(ValueError, match=problem):
            find_files(given)
    with pytest.raises(ValueError, match="not as parquet"):
        find_files("-", "parquet")


def test_a_name_with_the_signs_of_a_pattern(tmp_path: Path) -> None:
    text_of(tmp_path, "", "a[1].csv")
    text_of(tmp_path, "", "a1.csv")
    assert names(find_files(tmp_path / "a[1].csv")) == ["a[1].csv"]


@pytest.mark.parametrize(
    "source",
    [{"x": [1.0], "y": [2.0]}, {}, [{"x": 1.0, "y": 2.0}], np.ones((3, 2))],
    ids=["dict", "empty", "rows", "array"],
)
def test_what_can_become_a_data_frame_is_told_so(source: Any) -> None:
    with pytest.raises(TypeError, match=r"got .*; polars.DataFrame makes a data frame of it"):
        fit(source, "y")


@pytest.mark.parametrize("call", [fit, compare])
def test_targets_in_the_place_of_a_table_are_told_of(call: Any) -> None:
    with pytest.raises(ValueError, match=r"table must be a Table or the name of the target, got .*fit\(X, y\)"):
        call(np.ones((3, 2)), np.ones(3))
