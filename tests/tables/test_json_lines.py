"""JSON lines as people write them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.tables import DataError, Table, json_lines, stream
from tests.tables.files import read, seen, small_pieces, text_of

GOOD: dict[str, tuple[str, dict[str, Any], list[list[float]], list[float]]] = {
    "plain": ('{"x":1,"y":2}\n{"y":4.5,"x":3}\n', {}, [[1], [3]], [2, 4.5]),
    "no newline at the end": ('{"x":1,"y":2}\n{"x":3,"y":4}', {}, [[1], [3]], [2, 4]),
    "blank lines, CRLF, spaces": ('\n{"x": 1, "y": 2 }\r\n\r\n \n {"x":3,"y":4}\r\n\n', {}, [[1], [3]], [2, 4]),
    "mark of UTF-8": ('\ufeff{"x":1,"y":2}\n', {}, [[1]], [2]),
    "missing, skipped": ('{"x":1,"y":1}\n{"y":2}\n{"x":null,"y":3}\n{"x":4}\n{}\n', {"missing": "skip"}, [[1]], [1]),
    "missing, zero": ('{"x":1,"y":1}\n{"y":2}\n{"x":null,"y":3}\n', {"missing": "zero"}, [[1], [0], [0]], [1, 2, 3]),
    "NaN is missing": ('{"x":NaN,"y":1}\n{"x":"NaN","y":1}\n{"x":2,"y":2}\n', {"missing": "skip"}, [[2]], [2]),
    "truths": ('{"x":true,"y":1}\n{"x":false,"y":2}\n', {}, [[1], [0]], [1, 2]),
    "truths as words": ('{"x":true,"y":1}\n{"x":"no","y":2}\n{"x":1,"y":2}\n', {}, [[1], [0], [1]], [1, 2, 2]),
    "a true target": ('{"x":1,"y":true}\n{"x":2,"y":false}\n', {}, [[1], [2]], [1, 0]),
    "numbers as words": ('{"x":"1.5","y":"2"}\n{"x":2,"y":3}\n', {}, [[1.5], [2]], [2, 3]),
    "large and small": ('{"x":123456789012345678901234567890,"y":1e-320}\n', {}, [[1.2345678901234568e29]], [1e-320]),
    "own marks": (
        '{"x":-999,"y":1}\n{"x":-999.0,"y":2}\n{"x":"-","y":3}\n{"x":4,"y":4}\n',
        {"missing": "skip", "na": ["-999", "-"]},
        [[4]],
        [4],
    ),
    "own marks, numbers only": (
        '{"x":-999,"y":1}\n{"x":-999.0,"y":2}\n{"x":4,"y":4}\n',
        {"missing": "skip", "na": ["-999"]},
        [[4]],
        [4],
    ),
    "of two values of one name, the first": ('{"x":1,"x":2,"y":3}\n{"x":"5","x":6,"y":7}\n', {}, [[1], [5]], [3, 7]),
    "nested, but not used": ('{"x":1,"z":[1,{"a":2}],"y":2}\n', {"exclude": ["z"]}, [[1]], [2]),
    "dates": ('{"x":"2000-01-01","y":2}\n', {}, [[0]], [2]),
}


@pytest.mark.parametrize("size", [1 << 22, 7])
@pytest.mark.parametrize("patient", [False, True])
@pytest.mark.parametrize("case", list(GOOD))
def test_files_that_can_be_read(
    tmp_path: Path, case: str, size: int, patient: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, options, X, y = GOOD[case]
    if patient:
        monkeypatch.setattr(json_lines.JsonLinesReader, "_parsed", json_lines.JsonLinesReader._patiently)
    with small_pieces(size):
        got = read(text_of(tmp_path, text, "t.jsonl"), **options)
    assert got.X.tolist() == X
    assert got.y is not None
    assert got.y.tolist() == y


FAR = 400
PLAIN = '{"x":1,"c":"a","y":2}\n' * FAR

BAD: dict[str, tuple[str | bytes, str]] = {
    "not JSON": (PLAIN + "{'x':1}\n", f", line {FAR + 1}: not a JSON object (Expecting property name"),
    "cut off": (PLAIN + '\n{"x":1,\n' + PLAIN, f", line {FAR + 2}: not a JSON object ("),
    "a list": (PLAIN + "[1,2]\n", f", line {FAR + 1}: expected a JSON object, got [1, 2]"),
    "a list at once": ('[{"x":1,"y":2}]\n', ", line 1: expected a JSON object, got [{"),
    "a number": (PLAIN + "5\n", f", line {FAR + 1}: expected a JSON object, got 5"),
    "two objects": (PLAIN + '{"x":1} {"y":2}\n', f", line {FAR + 1}: not a JSON object (Extra data"),
    "deep": (PLAIN + '{"x":' + "[" * 100_000 + "}\n", f", line {FAR + 1}: not a JSON object ("),
    "latin-1": (
        PLAIN.encode() + b'{"x":1,"c":"\xe9"}\n',
        f", line {FAR + 1}: not UTF-8 text (invalid continuation byte: byte 0xe9)",
    ),
    "a word": (PLAIN + '{"x":"b","c":"a","y":2}\n', f", line {FAR + 1}, column 'x': got 'b', expected a number"),
    "true": (PLAIN + '{"x":true,"c":"a","y":2}\n', f", line {FAR + 1}, column 'x': got True, expected a number"),
    "nested": (PLAIN + '{"x":[1],"c":"a","y":2}\n', f", line {FAR + 1}, column 'x': got [1], expected a number"),
    "a nested category": (
        PLAIN + '{"x":1,"c":["a"],"y":2}\n',
        f", line {FAR + 1}, column 'c': got ['a'], expected text",
    ),
    "missing": (PLAIN + '{"c":"a","y":2}\n', f", line {FAR + 1}, column 'x': the value is missing, expected a number"),
    "a missing category": (
        PLAIN + '{"x":1,"y":2}\n',
        f", line {FAR + 1}, column 'c': the value is missing, expected a cat",
    ),
    "NaN": (PLAIN + '{"x":NaN,"c":"a","y":2}\n', f", line {FAR + 1}, column 'x': the value is missing"),
    "infinite": (PLAIN + '{"x":Infinity,"c":"a","y":2}\n', f", line {FAR + 1}, column 'x': got inf, expected a finite"),
    "too large": (PLAIN + '{"x":1e400,"c":"a","y":2}\n', f", line {FAR + 1}, column 'x': got inf, expected a finite"),
    "empty": ("", ": there are no rows"),
    "NUL": (PLAIN.encode() + b'{"x":1,"c":"\x00"}\n', f", line {FAR + 1}: got a NUL byte, expected text"),
}


@pytest.mark.parametrize("case", list(BAD))
@pytest.mark.parametrize("size", [1 << 22, 1000])
def test_what_is_wrong_is_named(tmp_path: Path, case: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text, message = BAD[case]
    path = text_of(tmp_path, text, "t.jsonl")
    monkeypatch.setattr(json_lines, "SAMPLE", 500)
    with small_pieces(size), pytest.raises(DataError) as error:
        read(path, categorical=["c"])
    assert str(error.value).startswith(f"{path}{message}"), str(error.value)
    assert "\n" not in str(error.value)


def test_nested_values_cannot_be_features(tmp_path: Path) -> None:
    path = text_of(tmp_path, '{"x":[1],"y":2}\n', "t.jsonl")
    with pytest.raises(
        DataError, match=r"t\.jsonl: column 'x' holds a list or an object, expected numbers; exclude it"
    ):
        read(path)


FLOAT = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=10)
@given(
    values=st.lists(st.one_of(FLOAT, st.integers(-(10**25), 10**25), st.booleans(), st.text(max_size=3)), min_size=20)
)
def test_texts_are_written_as_polars_writes_them(values: list[Any]) -> None:
    """So that levels have one name, whichever way a chunk is read."""
    text = "\n".join(json.dumps({"x": value}) for value in values)
    frame = pl.read_ndjson(text.encode(), schema={"x": pl.String})
    assert [json_lines._text(value) for value in values] == frame["x"].to_list()


def test_ordinary_files_take_the_quick_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"x":1,"d":"2000-01-01","b":true,"c":"a","y":1}\n{"x":2,"d":null,"b":false,"y":2}\n'
    opened = stream(text_of(tmp_path, text, "t.jsonl"), Table("y", categorical=("c",), missing="zero"))
    monkeypatch.setattr(json_lines.JsonLinesReader, "_patiently", None)
    assert seen(opened).X.tolist() == [[1, 0, 1, 1], [2, 0, 0, 0]]
    opened = stream(text_of(tmp_path, '{"x":"1","y":"2"}\n', "t.jsonl"), "y")
    assert seen(opened).X.tolist() == [[1]]
