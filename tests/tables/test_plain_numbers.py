"""Text that holds nothing but numbers: each is the float that Python makes of it, and what is none is left alone."""

import math
import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.core.types import Matrix
from onward.tables import DataError, Table, delimited, lines, stream
from onward.tables.kinds import read_texts
from onward.tables.missing_texts import MISSING
from onward.tables.number_kernel import _HIGHEST, _LOWEST
from onward.tables.plain_numbers import plain_numbers
from onward.tables.recipe import Kind


def read(text: str, columns: Sequence[str] = ("x", "y"), separator: str = ",", kind: Kind = "number") -> Matrix | None:
    """All columns of a text, two of them apart."""
    found = plain_numbers(text.encode(), separator, columns, dict.fromkeys(columns, kind), columns[:-1])
    return None if found is None else np.column_stack([found[0], found[1].to_numpy()])


def of_each(texts: Sequence[str]) -> Matrix:
    """What each text is read as, on its own line; NaN for one that is left alone."""
    found = read("".join(f"12345678,{text}\n" for text in texts))
    if found is not None:
        return found[:, 1]
    each = [read(f"12345678,{text}\n") for text in texts]
    return np.array([math.nan if one is None else one[0, 1] for one in each])


def bits(values: Matrix) -> Matrix:
    return np.ascontiguousarray(values, dtype=np.float64).view(np.int64)


# Those that are next to no normal float are left alone, and have tests of their own.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: value == 0 or abs(value) > 1e-300)
WRITTEN = st.one_of(
    FLOATS.map(repr),
    FLOATS.map("{:.18e}".format),
    st.tuples(st.floats(-1e9, 1e9), st.integers(0, 9)).map(lambda pair: f"{pair[0]:.{pair[1]}f}"),
    st.integers(-(10**19) + 1, 10**19 - 1).map(str),
    st.tuples(st.integers(0, 10**12), st.integers(0, 30)).map(lambda pair: f"0.{'0' * pair[1]}{pair[0]}"),
    st.tuples(st.integers(0, 10**7), st.integers(-99, 99), st.sampled_from("eE")).map(
        lambda each: f"{each[0]}{each[2]}{each[1]:+}"
    ),
)


@given(st.lists(WRITTEN, min_size=1, max_size=40))
def test_numbers_are_those_that_python_reads(texts: list[str]) -> None:
    assert np.array_equal(bits(of_each(texts)), bits(np.array([float(text) for text in texts])))


def test_every_power_of_ten_with_as_many_digits_as_there_may_be() -> None:
    """Each power of five is right to its last bit: whole numbers of 64 bits try them all."""
    rng = np.random.default_rng(0)
    for q in range(_LOWEST, _HIGHEST + 1):
        texts = [f"{w}e{q}" for w in [*rng.integers(2**53, 10**18, 40), 1, 3, 9_999_999_999_999_999_999]]
        expected = np.array([float(text) for text in texts])
        normal = (expected > 1e-300) & np.isfinite(expected)
        assert np.array_equal(bits(of_each(texts)[normal]), bits(expected[normal])), q


def test_half_way_between_two_floats_the_even_one_is_taken() -> None:
    rng = np.random.default_rng(1)
    texts = []
    for power in range(-60, 12):
        for m in rng.integers(2**52, 2**53, 200).tolist():
            middle = Fraction(2 * m + 1) * Fraction(2) ** power
            for places in range(20):
                scaled = middle * 10**places
                if scaled.denominator == 1 and scaled.numerator < 10**19:
                    texts += [f"{scaled.numerator}e-{places}", f"{scaled.numerator + 1}e-{places}"]
                    break
    assert len(texts) > 2000
    assert np.array_equal(bits(of_each(texts)), bits(np.array([float(text) for text in texts])))


def test_floats_of_any_bits() -> None:
    rng = np.random.default_rng(2)
    made = [struct.unpack("d", rng.bytes(8))[0] for _ in range(20_000)]
    values = [value for value in made if math.isfinite(value) and abs(value) > 1e-300]
    assert np.array_equal(bits(of_each([repr(value) for value in values])), bits(np.array(values)))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "-",
            "+",
            "..",
            "-.",
            "e5",
            "1e",
            "1e+",
            "1e00005",
            "+-1",
            "- 1",
            "1 1",
            "\t1",
            "1_0",
            "Nan",
            "inf",
            "-Infinity",
        ),
        *("0x10", "1.2.3", "1e5.0", "1-2", "--1", "é", "１", "1e400", "1e-400", "5e-324", "12345678901234567890"),
        *("1\r1", "1;2", '"1"', "true", "NAs", "na", "1/2", "1:2", "123a5678", "1234567a", "12345678a", "1\x00"),
    ],
)
def test_what_is_no_number_is_left_alone(text: str) -> None:
    assert read(f"12345678,{text}\n1,1\n") is None
    assert read(f"1,1\n{text},12345678\n") is None


@pytest.mark.parametrize("mark", MISSING)
@pytest.mark.parametrize("around", ["", " ", "   "])
def test_texts_for_missing_values(mark: str, around: str) -> None:
    text = f"{around}{mark}{around}"
    found = read(f"12345678,{text}\n{text},1\r\n1,{text}\r\n")
    assert found is not None
    assert np.isnan(found).tolist() == [[False, True], [True, False], [False, True]]
    assert read(f"12345678,{mark or 'x'}{mark or 'x'}\n") is None


@given(WRITTEN, st.integers(0, 12), st.integers(0, 12), st.booleans())
def test_spaces_around_a_number_and_a_plus_before_it_do_not_count(
    text: str, before: int, after: int, plus: bool
) -> None:
    written = " " * before + ("+" if plus and not text.startswith("-") else "") + text + " " * after
    assert np.array_equal(bits(of_each([written])), bits(np.array([float(text)])))


MOMENTS = st.builds(
    lambda moment, between, digits, zone: (
        f"{moment:%Y-%m-%d}{between}{moment:%H:%M:%S}{f'.{moment.microsecond:06}'[: digits + 1] * (digits > 0)}{zone}"
    ),
    st.datetimes(datetime(1000, 1, 1)),
    st.sampled_from(" T"),
    st.integers(0, 6),
    st.sampled_from(["", "Z"]),
)
SHORT = st.builds(
    lambda moment, form: moment.strftime(form),
    st.datetimes(datetime(1000, 1, 1)),
    st.sampled_from(["%Y-%m-%d", " %Y-%m-%d ", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"]),
)


@settings(max_examples=50)
@given(st.lists(st.one_of(MOMENTS, SHORT, st.sampled_from(["", "NA"])), min_size=1, max_size=20))
def test_times_are_those_that_polars_reads(texts: list[str]) -> None:
    found = read("".join(f"2026-01-31,{text}\n" for text in texts), kind="time")
    assert found is not None
    values, wrong = read_texts(pl.Series(texts), "time")
    assert wrong is None
    assert np.array_equal(bits(found[:, 1]), bits(values.to_numpy()))


def test_every_day_of_the_calendar() -> None:
    days = [date(1896, 1, 1) + timedelta(days=each) for each in range(0, 150_000, 1)]
    found = read("".join(f"{day},2000-01-01\n" for day in days), kind="time")
    assert found is not None
    assert np.array_equal(np.rint(found[:, 0] * 365.2425), [(day - date(2000, 1, 1)).days for day in days])


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2026-13-01",
            "2026-00-10",
            "2026-02-29",
            "2100-02-29",
            "2026-04-31",
            "2026-01-00",
            "0000-01-01",
            "2026-1-01",
        ),
        *("2026-01-01 24:00", "2026-01-01 12:60", "2026-01-01T12:00:60", "2026-01-01x12:00", "2026-01-01T12:00Z"),
        *("2026-01-01T12:00:00.", "2026-01-01T12:00:00.1234567", "2026-01-01T12:00:00+01:00", "2026-01-01 12"),
        *("2026-01-01 12:00:0", "2026/01/01", "20260101", "1.5", "2026-01-011", "x026-01-01", "２026-01-01", "today"),
    ],
)
def test_what_is_no_such_time_is_left_alone(text: str) -> None:
    assert read(f"2026-01-31,{text}\n", kind="time") is None


@pytest.mark.parametrize("text", ["1\n", "1,2,3\n", "\n", "1,2\n\n", "1,2\n3\n", ",,\n", "1,2\n3", "1,2\n3,4,5"])
def test_lines_of_other_lengths_are_left_alone(text: str) -> None:
    assert read(text) is None


@given(
    st.lists(st.lists(st.one_of(st.just(""), WRITTEN), min_size=3, max_size=3), min_size=1, max_size=30),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_any_lines(rows: list[list[str]], separator: str, end: str, ends: bool) -> None:
    text = end.join(separator.join(row) for row in rows) + end * ends
    found = read(text, "abc", separator)
    if not ends and rows[-1][-1] == "" and end == "\n":
        text += end
    assert found is not None
    expected = np.array([[float(value) if value else math.nan for value in row] for row in rows])
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


def test_an_empty_line_is_no_missing_value_of_a_single_column() -> None:
    assert plain_numbers(b"1\n\n2\n", ",", ["x"], {"x": "number"}, ["x"]) is None


def test_lines_without_contents_are_not_made_room_for() -> None:
    columns = [f"c{j}" for j in range(2000)]
    assert plain_numbers(b"\n" * 1_000_000, ",", columns, dict.fromkeys(columns, "number"), columns) is None


@pytest.mark.parametrize("column", ["y", "x,y"])
def test_blank_lines_tell_nothing_of_what_a_column_holds(column: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    first = "1," * (column.count(","))
    rows = "".join(f"{first}{i}\n\n\n" for i in range(20))
    path.write_text(f"{column}\n{rows}{first}oops\n{first}7\n", encoding="utf-8")
    read = stream(path, Table("y", terms=["lag(y, 1)"], bad_rows="skip"))
    assert sum(len(block.X) for block in read) == 19  # not the first, nor the one after the word
    assert "line 62, column 'y': got 'oops', expected a number" in read.notes[-1]


def test_columns_that_are_not_wanted_may_hold_any_text_but_quotes() -> None:
    found = plain_numbers("a b,1,x;\n,2,é−\n".encode(), ",", ["s", "x", "t"], {"x": "number"}, [])
    assert found is not None
    assert found[1]["x"].to_list() == [1.0, 2.0]
    assert plain_numbers(b'"a",1,x\n', ",", ["s", "x", "t"], {"x": "number"}, []) is None
    assert plain_numbers("ä,1,x\n".encode("latin-1"), ",", ["s", "x", "t"], {"x": "number"}, []) is None


@pytest.mark.parametrize("separator", [".", "-", "e", "5", "§"])
def test_a_separator_that_numbers_have_is_left_to_others(separator: str) -> None:
    assert (
        plain_numbers(f"1{separator}2\n".encode(), separator, ["x", "y"], {"x": "number", "y": "number"}, ["x"]) is None
    )


TABLES = {
    "plain": "x,z,y\n" + "".join(f"{i / 7},{-i},{i * 1e-9}\n" for i in range(500)),
    "texts for missing values": "x,z,y\n" + "".join(f"{i / 7 if i % 5 else 'NA'}, {-i} ,{i}\n" for i in range(500)),
    "missing": "x,z,y\n" + "".join(f"{i / 7 if i % 5 else ''},{-i},{i}\n" for i in range(500)),
    "text beside": "x,name,z,y\n" + "".join(f"{i},a{i},{i / 3},{i}\n" for i in range(500)),
    "a word late": "x,z,y\n" + "".join(f"{i},{i / 3 if i != 450 else '0.' + 25 * '3'},{i}\n" for i in range(500)),
    "a quote late": "x,z,y\n" + "".join(f'{i},{i / 3 if i != 450 else """"5.5" """.strip()},{i}\n' for i in range(500)),
    "a blank line late": "x,z,y\n" + "".join(f"{i},{i / 3},{i}\n" + "\n" * (i == 450) for i in range(500)),
    "dates": "x,when,z,y\n" + "".join(f"{i / 3},{date(2020, 1, 1) + timedelta(days=i)},{i},{i}\n" for i in range(500)),
    "moments and a word": "x,when,name,y\n"
    + "".join(f"{i / 3},{datetime(2020, 1, 1) + timedelta(seconds=i * i)},é{i % 3},{i}\n" for i in range(500)),
    "booleans": "x,on,y\n" + "".join(f"{i / 3},{i % 3 == 0},{i}\n" for i in range(500)),
    "weights": "w,x,y,z\n" + "".join(f"{1 + i % 3},{i / 3},{i},{i % 11}\n" for i in range(500)),
    "no line feed at the end": "x,z,y\n1,2,3\n4,5,6",
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("chunk", [200, 1 << 20])
def test_a_stream_has_the_same_bits_whichever_way_it_is_read(
    name: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLES[name], encoding="utf-8")
    monkeypatch.setattr(lines, "CHUNK", chunk)
    names = TABLES[name].partition("\n")[0].split(",")
    exclude, weight = ["name"] if "name" in names else [], "w" if "w" in names else None
    table = Table("y", missing="zero", exclude=exclude, weight=weight)
    taken: list[bool] = []

    def counted(*arguments: Any) -> Any:
        found = plain_numbers(*arguments)
        if arguments[3]:  # else it is looked at what columns hold
            taken.append(found is not None)
        return found

    found = []
    for way in (counted, lambda *_: None):
        monkeypatch.setattr(delimited, "plain_numbers", way)
        rows = stream(path, table)
        blocks = list(rows)
        X, y = np.concatenate([block.X for block in blocks]), np.concatenate([block.y for block in blocks])
        found.append((X, y, np.concatenate([block.weight for block in blocks]), dict(rows.filled)))
    assert any(taken) == (chunk == 200 or "late" not in name)
    for one, other in zip(found[0][:3], found[1][:3], strict=True):
        assert np.array_equal(bits(one), bits(other))
    assert found[0][3] == found[1][3]
    assert len(found[0][0]) == TABLES[name].rstrip("\n").replace("\n\n", "\n").count("\n")


NUMBERS = st.one_of(st.sampled_from(["0", "1", "-2.5", "7e3"]), WRITTEN)
ODD = st.sampled_from(["", "NA", " 1.5 ", "+2", "5e-324", "0." + 25 * "7", "x", '"7"', "1/2", "1,5", "\t3", "é", "1\r"])
WHENS = st.one_of(
    st.dates(date(1990, 1, 1)).map(str), st.sampled_from(["2024-02-29 12:30:00.5", "", "2023-02-29", "1"])
)
WORDS = st.sampled_from(["Rome", "Oslo", "Zürich", "", "NA", '"a, b"', "1.5"])
LINES = st.tuples(
    st.one_of(NUMBERS, NUMBERS, ODD),
    WORDS,
    WHENS,
    st.sampled_from(["true", "false", "", "1"]),
    st.one_of(NUMBERS, NUMBERS, ODD),
).map(",".join)
OPTIONS: list[dict[str, Any]] = [
    {"categorical": ["word"]},
    {"categorical": ["word"], "bad_rows": "skip", "keep": ["word", "x"]},
    {"exclude": ["word", "when"], "weight": "x", "bad_rows": "skip"},
    {"categorical": ["word"], "drop_first": True, "terms": ["x:word", "lag(x, 1)", "month(when)"], "bad_rows": "skip"},
    {"exclude": ["word"], "time": "when", "bad_rows": "skip"},
    {"exclude": ["word"], "date_format": "%Y-%m-%d", "na": ["7"], "bad_rows": "skip"},
]


def outcome(path: Path, table: Table) -> Any:
    """All that a stream gives, or the error that it ends in."""
    try:
        rows = stream(path, table)
        blocks = list(rows)
    except DataError as error:
        return str(error)
    arrays = [[block.X, block.y, block.weight] for block in blocks]
    values = [[np.asarray(each).tobytes() for each in block] for block in arrays]
    kept = [block.kept.rows() for block in blocks]
    times = [None if block.times is None else block.times.values.tolist() for block in blocks]
    told = [block.names for block in blocks], dict(rows.skipped), dict(rows.filled), rows.notes, rows.recipe, rows.read
    numbers = [block.rows.tolist() for block in blocks]
    return values, numbers, kept, times, told, repr(rows.position(rows.read))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(LINES, min_size=1, max_size=25),
    st.sampled_from(OPTIONS),
    st.sampled_from(["error", "skip", "zero"]),
    st.sampled_from([40, 300, 1 << 20]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_any_table_gives_the_same_whichever_way_it_is_read(
    rows: list[str], options: dict[str, Any], missing: Any, chunk: int, end: str
) -> None:
    text = f"x,word,when,on,y{end}" + "1,Rome,2024-01-01,true,2\n" + "".join(f"{row}{end}" for row in rows)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.encode())
        patch.setattr(lines, "CHUNK", chunk)
        table = Table("y", missing=missing, **options)
        quick = outcome(path, table)
        patch.setattr(delimited, "plain_numbers", lambda *_: None)
        patch.setattr(delimited, "are_plain_lines", lambda *_: False)
        assert outcome(path, table) == quick


def test_missing_values_of_a_number_that_is_only_multiplied_with_a_level_count_as_zero(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,city,y\n1,Rome,3\n,Oslo,6\n7,Rome,9\n", encoding="utf-8")
    blocks = list(stream(path, Table("y", categorical=["city"], features=["city"], terms=["x:city"], missing="zero")))
    assert [row.tolist() for block in blocks for row in block.X] == [[1.0, 1.0], [0, 0, 1, 0], [1, 7, 0, 0]]
