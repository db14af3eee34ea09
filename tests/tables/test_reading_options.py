"""Numbers, dates and text as people write them, files without a header, and many levels."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from onward.tables import DataError, Recipe, Table, levels, stream
from tests.tables.files import seen, small_pieces, text_of


def values(path: Path, **options: Any) -> list[list[float]]:
    found: list[list[float]] = seen(stream(path, Table("y", **options))).X.tolist()
    return found


# Numbers

EUROPEAN = "x;y\n1.234,5;1\n-1.234.567,25;2\n12;3\n0,5;4\n1,5e3;5\n"


@pytest.mark.parametrize("size", [1 << 22, 8])
def test_marks_inside_numbers(tmp_path: Path, size: int) -> None:
    with small_pieces(size):
        path = text_of(tmp_path, EUROPEAN)
        got = values(path, decimal=",", thousands=".")
        assert got == [[1234.5], [-1234567.25], [12.0], [0.5], [1500.0]]
        path = text_of(tmp_path, 'x,y\n"1,234.5",1\n"12,34,567",2\n7.25,3\n')
        assert values(path, thousands=",") == [[1234.5], [1234567.0], [7.25]]
        path = text_of(tmp_path, "x;y\n1,5;1\n-2,25;2\n NA ;3\n")
        assert values(path, decimal=",", missing="zero") == [[1.5], [-2.25], [0.0]]
        path = text_of(tmp_path, "x,y\n1 234,1\n5 678 901,2\n")
        assert values(path, thousands=" ") == [[1234.0], [5678901.0]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "x;y\n1,5;1\n2,5;1\n1.234;2\n",
            {"decimal": ","},
            "line 4, column 'x': got '1.234', expected a number such as 1234,5",
        ),
        (
            "x;y\n1.5;1\n1.234;2\n1;3\n",
            {"decimal": ",", "thousands": "."},
            "line 2, column 'x': got '1.5', expected a number such as 1.234,5",
        ),
        (
            'x,y\n1,1\n1,1\n"1,23",2\n',
            {"thousands": ","},
            "line 4, column 'x': got '1,23', expected a number such as 1,234.5",
        ),
        ('x,y\n1,1\n1,1\n"1,2345",2\n', {"thousands": ","}, "line 4, column 'x': got '1,2345'"),
    ],
)
def test_a_number_of_another_custom_is_an_error(
    tmp_path: Path, text: str, options: dict[str, Any], message: str
) -> None:
    """1.234 is 1234 to one and 1.234 to another: nothing is guessed."""
    with pytest.raises(DataError) as error:
        values(text_of(tmp_path, text), **options)
    assert message in str(error.value)


def test_numbers_of_json_are_programs_numbers(tmp_path: Path) -> None:
    path = text_of(tmp_path, '{"x":1.5,"y":1}\n{"x":"2,5","y":2}\n{"x":"1.000","y":3.25}\n', "t.jsonl")
    got = seen(stream(path, Table("y", decimal=",", thousands=".")))
    assert got.X.tolist() == [[1.5], [2.5], [1000.0]]
    assert got.y is not None
    assert got.y.tolist() == [1.0, 2.0, 3.25]


# Dates


@pytest.mark.parametrize("size", [1 << 22, 12])
@pytest.mark.parametrize(
    ("format", "texts"),
    [
        ("%d.%m.%Y", ["31.01.2026", "01.12.1999"]),
        ("%m/%d/%y %H:%M", ["01/31/26 00:00", "12/01/99 00:00"]),
        ("%Y%m%d", ["20260131", "19991201"]),
        ("%d %b %Y %H:%M:%S.%f", ["31 Jan 2026 00:00:00.000", "01 Dec 1999 00:00:00.0"]),
    ],
)
def test_dates_as_they_are_written(tmp_path: Path, size: int, format: str, texts: list[str]) -> None:
    expected = values(text_of(tmp_path, "t,y\n2026-01-31,1\n1999-12-01,2\n"))
    path = text_of(tmp_path, "t,y\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts)), "own.csv")
    with small_pieces(size):
        assert values(path, date_format=format) == expected


def test_a_date_of_another_form_is_an_error(tmp_path: Path) -> None:
    path = text_of(tmp_path, "t,y\n31.01.2026,1\n")
    with stream(path, Table("y", date_format="%d.%m.%Y")) as opened:
        recipe = opened.recipe
    other = text_of(tmp_path, "t,y\n31.01.2026,1\n2026-01-31,1\n", "other.csv")
    with pytest.raises(DataError, match=r"line 3, column 't': got '2026-01-31', expected a date as in %d\.%m\.%Y"):
        list(stream(other, Table("y"), recipe=Recipe.from_record(recipe.to_record())))


@pytest.mark.parametrize("size", [1 << 22, 30])
def test_dates_of_several_forms_in_one_column(tmp_path: Path, size: int) -> None:
    """The form that was read last is tried first; the others are read all the same."""
    forms = ["2026-01-31", "2026-01-31 00:00:00", "2026-01-31T00:00:00.000", "2026/01/31", "2026-01-31T01:00:00+01:00"]
    path = text_of(tmp_path, "t,y\n" + "".join(f"{each},1\n" for each in [*forms, *reversed(forms)]))
    with small_pieces(size):
        got = values(path)
    assert len(got) == 10
    assert {row[0] for row in got} == {got[0][0]}


# Marks for missing values


@pytest.mark.parametrize("size", [1 << 22, 12])
def test_a_new_mark_in_a_later_chunk(tmp_path: Path, size: int) -> None:
    """Marks are looked for as they are met: each comes first in some chunk."""
    marks = ["NA", "", "null", "None", "-", "NaN", "?", "NA"]
    path = text_of(
        tmp_path, "x,z,y\n1,2,3\n" + "".join(f"{mark},{i},1\n{i},{mark},1\n" for i, mark in enumerate(marks))
    )
    with small_pieces(size):
        got = values(path, missing="zero", na=("-",))
    assert got == [[1.0, 2.0], *(row for i in range(8) for row in ([0.0, float(i)], [float(i), 0.0]))]


# Encodings


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8", "utf-8-sig", "shift_jis"])
@pytest.mark.parametrize("size", [1 << 22, 3])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_encodings(tmp_path: Path, encoding: str, size: int, ending: str) -> None:
    import gzip

    city = "東京" if encoding == "shift_jis" else "Zürich"
    data = f"x,{city},y\n1,{city},1\n2,Rom,2\n".encode(encoding)
    path = text_of(tmp_path, gzip.compress(data) if ending.endswith("gz") else data, f"t.{ending}")
    with small_pieces(size):
        opened = stream(path, Table("y", categorical=(city,), encoding=encoding))
        got = seen(opened)
    assert got.names == ["x", f"{city}={city}", f"{city}=Rom"]
    assert got.X.tolist() == [[1, 1, 0], [2, 0, 1]]


def test_a_stream_of_another_encoding_goes_on(tmp_path: Path) -> None:
    text = "city,x,y\n" + "".join(f"{'é' * (i % 5)}é,{i},1\n" for i in range(30))
    path = text_of(tmp_path, text.encode("utf-16"))
    table = Table("y", categorical=("city",), encoding="utf-16")
    with small_pieces(16):
        whole = seen(stream(path, table))
        opened = stream(path, table)
        for block in opened:
            if block.stop > 11:
                break
        position = opened.position(block.first)
        rest = seen(stream(path, table, recipe=opened.recipe, known=opened.names, start=position))
    assert rest.rows == list(range(block.first, 30))
    assert rest.X[:, 0].tolist() == whole.X[block.first :, 0].tolist()


def test_what_is_no_text_of_the_encoding_names_its_line(tmp_path: Path) -> None:
    path = text_of(tmp_path, b"c,y\nab,1\n\xff\xffa,2\n")
    for size in (1 << 22, 1, 5):
        with small_pieces(size), pytest.raises(DataError, match=r"t\.csv, line 3: not ascii text \(.*: 0xff\)"):
            list(stream(path, Table("y", categorical=("c",), encoding="ascii")))
    with pytest.raises(DataError, match=r"line 3: not UTF-8 text \(.*\); name its encoding \(--encoding\)"):
        list(stream(path, Table("y", categorical=("c",))))
    with pytest.raises(DataError, match=r"the text is UTF-16, expected UTF-8; name its encoding \(--encoding\)"):
        list(stream(text_of(tmp_path, "x,y\n1,1\n".encode("utf-16")), Table("y")))


# Header


@pytest.mark.parametrize("size", [1 << 22, 4])
def test_a_file_without_a_header(tmp_path: Path, size: int) -> None:
    path = text_of(tmp_path, "\n1,2,3\n4,5,6\n")
    with small_pieces(size):
        got = seen(stream(path, Table("c3", header=False)))
    assert (got.names, got.X.tolist(), got.rows) == (["c1", "c2"], [[1.0, 2.0], [4.0, 5.0]], [0, 1])
    with pytest.raises(DataError, match=r"t\.csv, line 4, column 'c1': got 'x', expected a number"):
        list(stream(text_of(tmp_path, "\n1,2\n1,2\nx,2\n"), Table("c2", header=False)))


# First levels


@pytest.mark.parametrize("size", [1 << 22, 7])
def test_the_first_level_makes_no_feature(tmp_path: Path, size: int) -> None:
    path = text_of(tmp_path, "x,c,d,y\n,b,p,1\n2,a,p,1\n3,b,q,1\n4,c,p,1\n5,c,q,1\n")
    table = Table("y", categorical=("c", "d"), terms=("x:c", "c:d"), drop_first=True, missing="skip")
    with small_pieces(size):
        opened = stream(path, table)
        got = seen(opened)
    assert dict(opened.recipe.memory.first_levels) == {"c": "a", "d": "p"}  # the first row is skipped
    assert got.names == ["x", "c=b", "d=q", "x:c=b", "c:d=b:q", "c=c", "x:c=c", "c:d=c:q"]
    assert got.X.tolist() == [
        [2, 0, 0, 0, 0, 0, 0, 0],
        [3, 1, 1, 3, 1, 0, 0, 0],
        [4, 0, 0, 0, 0, 1, 4, 0],
        [5, 0, 1, 0, 0, 1, 5, 1],
    ]
    new = text_of(tmp_path, "x,c,d\n1,a,p\n1,z,p\n", "new.csv")
    known = Recipe.from_record(opened.recipe.to_record())
    rows = list(stream(new, None, recipe=known, known=opened.names))
    assert [str(name) for name in rows[0].names][len(got.names) :] == ["c=z", "x:c=z"]


# Many levels


def test_too_many_levels_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pl.DataFrame({"c": [f"v{i}" for i in range(20_000)], "y": np.ones(20_000)}).write_csv(path)
    with pytest.raises(DataError) as error:
        next(iter(stream(path, Table("y", categorical=("c",), max_levels=50_000))))
    assert re.search(
        r"t\.csv, line 20001: column 'c' has 20,000 levels so far; with 20,000 features a model needs 3\.2 GB, "
        r"expected at most 2 GB; leave out columns",
        str(error.value),
    )
    path.write_text("x,y\n1,1\n")
    with pytest.raises(DataError, match=r"with 20,001 features a model needs 3\.2 GB"):
        stream(path, Table("y", terms=("random(10000, 1, x)", "random(10000, 2, x)")))


def test_many_levels_are_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MANY", 5)
    path = text_of(tmp_path, "c,y\n" + "".join(f"v{i},1\n" for i in range(20)))
    with small_pieces(30):
        opened = stream(path, Table("y", categorical=("c",)))
        list(opened)
    assert len(opened.notes) == 1
    assert re.match(
        r"\d+ features so far: the model takes 0 MB, and about [\d,]+ rows are learned in a sec", opened.notes[0]
    )


# Wrong options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decimal": ";"}, "decimal must be one of"),
        ({"thousands": "12"}, "thousands must be one character"),
        ({"thousands": "3"}, "no part of a number"),
        ({"thousands": "."}, "thousands and decimal must differ"),
        ({"date_format": "%d.%m"}, "with a year"),
        ({"date_format": "day"}, "with a year"),
        ({"encoding": "klingon"}, "encoding must be one such as"),
        ({"encoding": "rot13"}, "encoding must be one such as"),
        ({"encoding": 8}, "encoding must be one such as"),
        ({"header": "no"}, "header must be true or false"),
        ({"drop_first": 1}, "drop_first must be true or false"),
        ({"keep": ("row",)}, "column 'row' cannot be kept"),
        ({"keep": "id"}, "keep must be a list"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Table("y", **options)
