"""CSV as people write it."""

import csv
import gzip
import io
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.tables import DataError, Table, delimited, records, stream
from tests.tables.files import read, seen, small_pieces, text_of


def years(*when: int) -> float:
    year, month, day, hour, minute, second, micro = (*when, *(0,) * (7 - len(when)))
    moment = datetime(year, month, day, hour, minute, second, micro, tzinfo=UTC)
    return (moment - datetime(2000, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) / (365.2425 * 86_400_000_000)


GOOD: dict[str, tuple[str | bytes, dict[str, Any], list[Any], list[float]]] = {
    "plain": ("x,y\n1,2\n3,4\n", {}, [[1], [3]], [2, 4]),
    "no newline at the end": ("x,y\n1,2\n3,4", {}, [[1], [3]], [2, 4]),
    "CRLF": ("x,y\r\n1,2\r\n3,4\r\n", {}, [[1], [3]], [2, 4]),
    "mark of UTF-8": (b"\xef\xbb\xbfx,y\n1,2\n", {}, [[1]], [2]),
    "blank lines": ("\n\r\n \nx,y\n\n1,2\n\n  \n\r\n3,4\n\n\n", {}, [[1], [3]], [2, 4]),
    "blank lines and CRLF": ("x,y\r\n\r\n1,2\r\n\r\n3,4\r\n\r\n", {}, [[1], [3]], [2, 4]),
    "spaces": (" x , y \n 1 , 2 \n 3,4\n", {}, [[1], [3]], [2, 4]),
    "quoted numbers": ('"x","y"\n"1","2"\n3,"4"\n', {}, [[1], [3]], [2, 4]),
    "quotes and spaces": ('x,y\n" 1 ","2"\n', {}, [[1]], [2]),
    "forms of numbers": ("x,y\n+1,2.\n.5,1E2\n-0,1e-3\n", {}, [[1], [0.5], [-0.0]], [2, 100, 0.001]),
    "a half comes late": ("x,y\n" + "1,1\n" * 5000 + "0.5,1\n", {}, [[1]] * 5000 + [[0.5]], [1] * 5001),
    "separator of the header": ('a|"b|,,";y\n1;2\n', {}, [[1]], [2]),
    "separator as told": ("x/y\n1/2\n", {"separator": "/"}, [[1]], [2]),
    "booleans": ("x,y\ntrue,1\nFALSE,2\nTrue,3\n", {}, [[1], [0], [1]], [1, 2, 3]),
    "a boolean target": ("x,y\n1,true\n2,False\n", {}, [[1], [2]], [1, 0]),
    "dates": ("x,y\n2000-01-01,1\n2026-01-31,2\n", {}, [[0], [years(2026, 1, 31)]], [1, 2]),
    "moments": (
        "x,y\n2026-01-31T12:00:00Z,1\n2026-01-31 14:00:00+02:00,2\n2026-01-31T12:00:00.000,3\n2026-01-31 12:00,4\n"
        "2026-01-31 10:00:00-02,5\n2026-01-31 12:00:00.5,6\n",
        {},
        [[years(2026, 1, 31, 12)]] * 5 + [[years(2026, 1, 31, 12, 0, 0, 500_000)]],
        [1, 2, 3, 4, 5, 6],
    ),
    "missing, skipped": (
        "x,y\nNA,1\n2,\nNaN,3\nnull,4\n#N/A,5\n,6\n7,7\n -nan ,8\n",
        {"missing": "skip"},
        [[7]],
        [7],
    ),
    "missing, zero": ('x,y\n"NA",1\n,2\n" ",3\nNone,4\n', {"missing": "zero"}, [[0]] * 4, [1, 2, 3, 4]),
    "own marks": (
        "x,y\n-999,1\n-,2\n3,3\n-999.5,4\n",
        {"missing": "skip", "na": ["-999", "-"]},
        [[3], [-999.5]],
        [3, 4],
    ),
    "the last column is often empty": (
        'y,s,x\n1,"a,b",\n2,,\n3,c,3\n4,"a\n,b",\n',
        {"missing": "zero", "exclude": ["s"]},
        [[0], [0], [3], [0]],
        [1, 2, 3, 4],
    ),
    "stray quotes in a column that is not used": (
        'x,s,y\n1,5" pipe,1\n2,6" pipe,2\n3,7" pipe,3\n',
        {"exclude": ["s"]},
        [[1], [2], [3]],
        [1, 2, 3],
    ),
    "a long line": (
        "x,s,y\n1," + "a" * 300_000 + ',1\n2,"' + "b\n" * 200_000 + '",2\n',
        {"exclude": ["s"]},
        [[1], [2]],
        [1, 2],
    ),
    "a header on two lines": ('"x\nx",y\n1,2\n', {}, [[1]], [2]),
    "NUL looks like text elsewhere": ("x,y\n1,2\n", {"format": "csv"}, [[1]], [2]),
    "a row of missing values": ("y\tx\n1\t1\n\t\n", {"missing": "skip", "format": "tsv"}, [[1]], [1]),
    "the same without a newline": ("y\tx\n1\t1\n\t", {"missing": "skip", "format": "tsv"}, [[1]], [1]),
}


@pytest.mark.parametrize("size", [1 << 22, 16])
@pytest.mark.parametrize("case", list(GOOD))
def test_files_that_can_be_read(tmp_path: Path, case: str, size: int) -> None:
    text, options, X, y = GOOD[case]
    if size == 16 and len(text) > 10_000:
        size = 30_000
    with small_pieces(size):
        got = read(text_of(tmp_path, text), **options)
    np.testing.assert_allclose(got.X, X, rtol=1e-15)
    assert got.y is not None
    assert got.y.tolist() == y


def test_rows_of_missing_values_count(tmp_path: Path) -> None:
    for end in ("", "\n"):
        opened = stream(text_of(tmp_path, "y\tx\n1\t1\n\t" + end), Table("y", missing="skip", format="tsv"))
        assert seen(opened).rows == [0]
        assert (opened.read, dict(opened.skipped)) == (2, {"y is missing": 1})


def test_one_column(tmp_path: Path) -> None:
    recipe = stream(text_of(tmp_path, "x,y\n1,2\n"), Table("y", missing="skip"))
    recipe.close()
    path = text_of(tmp_path, 'x\n1\n\n2\nNA\n  \n""\n3\n', "one.csv")
    assert seen(stream(path, None, recipe=recipe.recipe)).rows == [0, 1, 4]
    with small_pieces(3):
        assert seen(stream(path, None, recipe=recipe.recipe)).rows == [0, 1, 4]
    with pytest.raises(DataError, match=r"one\.csv: no column is left to be a feature beside 'x'"):
        read(path, target="x")


FAR = 3000
PLAIN = "x,s,y\n" + '1,"a\nb",2\n' * FAR  # two lines a record
LINE = 2 * FAR + 2  # of what comes next

BAD: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "empty": ("", {}, ": the file is empty, expected a header with the names of the columns"),
    "blank": ("\n \r\n", {}, ": the file is empty, expected a header"),
    "a header only": ("x,y\n", {}, ": there are no rows"),
    "a header without newline": ("x,y", {}, ": there are no rows"),
    "a header and blank lines": ("x,y\n\n \n", {}, ": there are no rows"),
    "two columns of one name": ("x,x,y\n1,2,3\n", {}, ": two columns are called 'x'; expected different names"),
    "short": (PLAIN + "1,2\n" + "1,a,2\n", {}, f", line {LINE}: got 2 fields, expected 3 as in the header"),
    "short, beside a quoted separator": (
        PLAIN + '1,"a,b",2\n1,c\n',
        {"missing": "skip", "exclude": ["s"]},
        f", line {LINE + 1}: got 2 fields, expected 3",
    ),
    "short, the last column often empty": (
        "y,x,s\n1,2,\n1,2\n",
        {"exclude": ["s"]},
        ", line 3: got 2 fields, expected 3",
    ),
    "one field": (PLAIN + "1\n", {}, f", line {LINE}: got 1 field, expected 3 as in the header"),
    "long": (PLAIN + "1,a,2,3\n", {}, f", line {LINE}: got 4 fields, expected 3 as in the header"),
    "long by a separator": (PLAIN + "1,a,2,\n", {}, f", line {LINE}: got 4 fields, expected 3 as in the header"),
    "long first": ("x,y\n1,2,3\n", {}, ", line 2: got 3 fields, expected 2 as in the header"),
    "an open quote": (
        PLAIN + '1,"a,2\n' + "1,a,2\n" * 9,
        {},
        f", line {LINE}: cannot be read as a record (unexpected end",
    ),
    "an open quote at a number": (PLAIN + '1,a,"2', {}, f", line {LINE}: cannot be read as a record (unexpected end"),
    "more after a quote": (PLAIN + '1,"a"b,2\n', {}, f", line {LINE}: cannot be read as a record (',' expected after"),
    "an open quote in the header": ('"x,y\n1,2\n', {}, ", lines 1 to 2: the quotes of the header do not match"),
    "NUL at the start": (b"x,y\n1,\x002\n", {}, ": expected text, got a binary file"),
    "NUL": (PLAIN.encode() + b"1,a\x00,2\n", {}, f", line {LINE}: got a NUL byte, expected text"),
    "UTF-16": ("x,y\n1,2\n".encode("utf-16"), {}, ": the text is UTF-16, expected UTF-8"),
    "UTF-16 without a mark": ("x,y\n1,2\n".encode("utf-16-le"), {}, ": expected text, got a binary file"),
    "latin-1": (
        PLAIN.encode() + "1,é,2\n".encode("latin-1"),
        {},
        f", line {LINE}: not UTF-8 text (invalid continuation byte: byte 0xe9)",
    ),
    "latin-1 in the header": ("é,y\n1,2\n".encode("latin-1"), {}, ", line 1: the header is not UTF-8 text"),
    "a word": (PLAIN + "b,a,2\n", {}, f", line {LINE}, column 'x': got 'b', expected a number; --na names"),
    "a word for the target": (PLAIN + "1,a,b\n", {}, f", line {LINE}, column 'y': got 'b', expected a number"),
    "a thousand with a comma": (
        'x,y\n1,2\n1,2\n"1,000",2\n',
        {},
        ", line 4, column 'x': got '1,000', expected a number; --decimal and --thousands say how numbers are written",
    ),
    "a decimal comma": ("x;y\n1;2\n1;2\n1,5;2\n", {}, ", line 4, column 'x': got '1,5', expected a number"),
    "true among numbers": ("x,y\n3,2\n3,2\ntrue,2\n", {}, ", line 4, column 'x': got 'true', expected a number"),
    "a number among booleans": (
        "x,y\n" + "true,2\n" * 900 + "2,2\n",
        {},
        ", line 902, column 'x': got '2', expected true or false",
    ),
    "no date": (
        "x,y\n" + "2026-01-31,2\n" * 900 + "31.1.2026,2\n",
        {},
        ", line 902, column 'x': got '31.1.2026', expected a date or time such as 2026-01-31 or 2026-01-31T12:00:00; -",
    ),
    "missing": (PLAIN + ",a,2\n", {}, f", line {LINE}, column 'x': the value is missing, expected a number; choose"),
    "NaN": (PLAIN + "NaN,a,2\n", {}, f", line {LINE}, column 'x': the value is missing, expected a number; choose"),
    "a missing target": (PLAIN + "1,a,\n", {}, f", line {LINE}, column 'y': the value is missing"),
    "infinite": (PLAIN + "1,a,2\n-inf,a,2\n", {}, f", line {LINE + 1}, column 'x': got -inf, expected a finite number"),
    "too large": (PLAIN + "1,a,1e400\n", {}, f", line {LINE}, column 'y': got inf, expected a finite number"),
    "infinite and zero": (
        PLAIN + "inf,a,2\n",
        {"missing": "zero"},
        f", line {LINE}, column 'x': got inf, expected a finite",
    ),
    "returns only": (
        "x,y\r1,2\r",
        {},
        ", line 1: cannot be read as a header (a return without a line feed, outside of quotes; write the file with",
    ),
    "a lone return": (PLAIN + "1,a\r,2\n", {}, f", line {LINE}: cannot be read as a record (a return without a line"),
}


@pytest.mark.parametrize("case", list(BAD))
@pytest.mark.parametrize("way", ["whole", "chunks", "gz", "pipe"])
def test_what_is_wrong_is_named(tmp_path: Path, case: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, options, message = BAD[case]
    options = {"categorical": ["s"], **options} if b"s" in _bytes(text).split(b"\n")[0] else dict(options)
    if "exclude" in options:
        options.pop("categorical", None)
    data = _bytes(text)
    if way == "pipe":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        source: Any = "-"
        options["format"] = "csv"
    elif way == "gz":
        source = text_of(tmp_path, gzip.compress(data, 1), "t.csv.gz")
    else:
        source = text_of(tmp_path, data)
    monkeypatch.setattr(delimited, "SAMPLE", 1000)
    if case in ("a number among booleans", "true among numbers") and way == "pipe":  # few rows may have told its kind
        assert read(source, **options).X[-1] == [2.0 if case == "a number among booleans" else 1.0]
        return
    with small_pieces(5000 if way == "chunks" else 1 << 22), pytest.raises(DataError) as error:
        read(source, **options)
    name = "standard input" if way == "pipe" else str(source)
    assert str(error.value).startswith(name + message), str(error.value)
    assert "\n" not in str(error.value)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def test_a_quote_that_stays_open_does_not_eat_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onward.tables.lines.LONGEST", 1 << 14)
    path = text_of(tmp_path, 'x,s,y\n1,a,1\n1,"a,1\n' + "1,a,1\n" * 20_000)
    with (
        small_pieces(1 << 12),
        pytest.raises(DataError, match=r"t\.csv: a record is longer than 0 MB; is a quote left"),
    ):
        read(path, categorical=["s"])
    path = text_of(tmp_path, "x" * 50_000)
    with small_pieces(1 << 12), pytest.raises(DataError, match=r"t\.csv: a record is longer than 0 MB"):
        read(path)


def test_a_column_that_is_missing_at_first(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,z,y\n" + "1,,1\n" * 70_000 + "1,2.5,1\n")
    opened = stream(path, Table("y", missing="zero"))
    assert seen(opened).X[-1].tolist() == [1, 2.5]
    assert dict(opened.filled) == {"z": 70_000}


CELL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["NA", "", " 1", "2 ", "nan", "x", "1e5", "+3", "inf", "?"]),
)
WORD = st.text(alphabet='ab",;\n\r\té ', max_size=4)


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(CELL, WORD, st.integers(0, 9)), min_size=1, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    end=st.sampled_from(["\n", "\r\n"]),
    size=st.integers(5, 60),
)
def test_quick_and_patient_reading_agree(rows: list[tuple[str, str, int]], quoting: Any, end: str, size: int) -> None:
    """What polars reads, as records one by one; an error of one is an error of the other."""
    out = io.StringIO(newline="")
    csv.writer(out, quoting=quoting, lineterminator=end).writerows([("x", "s", "y"), ("1", "a", 1), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = text_of(Path(folder), out.getvalue())

        def outcome() -> object:
            try:
                got = read(path, missing="skip", categorical=["s"], features=["x"])
                return got.names, got.rows, got.X.tobytes()
            except DataError as error:
                return str(error)

        quick = outcome()
        with small_pieces(size):
            assert outcome() == quick
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "is_tidy", lambda data, separator: False)
            assert outcome() == quick


def test_ordinary_files_take_the_quick_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces, marks for missing values, dates, booleans and quotes are no reason to go record by record."""
    text = 'x,d,b,c,y\n1.5,2026-01-31,true,"a, b",1\n' + " 2 ,NA,FALSE,,2 \n" * 30_000
    opened = stream(text_of(tmp_path, text), Table("y", categorical=("c",), missing="zero"))
    monkeypatch.setattr(records.Records, "texts", None)
    assert seen(opened).X[:2] == pytest.approx(np.array([[1.5, years(2026, 1, 31), 1, 1], [2, 0, 0, 0]]), rel=1e-15)
