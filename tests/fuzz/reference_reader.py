"""What a table holds by Python's csv and json, and by pyarrow used plainly; and whether rows that were read agree."""

import csv
import gzip
import io
import json
import math
import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from onward.tables import Recipe
from onward.tables.delimited import LONGEST_NAME
from tests.fuzz.mutations import Mutated

MISSING = {"", "NA", "N/A", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None", "<NA>", "?", "."}  # docs/own_data.md
TRUTHS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "t": 1.0, "f": 0.0, "1": 1.0, "0": 0.0}
_NUMBER = re.compile(
    r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE | re.ASCII
)
_SEPARATES = re.compile("[\x1c-\x1f]")  # white space to Python alone
_PADDING = re.compile(r"(?<=-)\s+")  # of months and days of one digit, as in 2026- 1-31
_DAY = re.compile(r"[+-]?\d+-\d+-\d+")
_SEPARATORS = ",;\t|"


class NoTable(Exception):  # noqa: N818
    """The reference reader refuses the file."""


class BeyondPython(Exception):  # noqa: N818
    """Dates and times that Python has no objects for: there is nothing to compare with."""


class Records(NamedTuple):
    """The names of the columns, and the values of each row by name: None where one lacks."""

    names: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    is_text: bool = True  # so that texts may stand for numbers


def read(path: Path, file: Mutated) -> Records:
    """The rows of a file; NoTable if it is none."""
    format, *packed = file.ending.split(".")
    try:
        if format in ("parquet", "arrow"):
            return _columnar(path, format)
        data = file.data
        if packed:
            data = _unpacked(packed[0], data) if file.plain is None else file.plain
        text = data.decode("utf-8").removeprefix("\ufeff")
    except (pa.ArrowException, OSError, EOFError, ValueError, zlib.error) as error:
        raise NoTable(str(error)) from error
    if "\x00" in text:
        raise NoTable("a NUL")
    return _json_lines(text) if format == "jsonl" else _delimited(text, format)


def _unpacked(way: str, data: bytes) -> bytes:
    if way == "gz":
        unpacked, rest = gzip.decompress(data), data
        while rest.strip(b"\0"):
            part = zlib.decompressobj(31)
            part.decompress(rest)
            rest = part.unused_data
        if rest:
            raise BeyondPython("zeros after the end, which Arrow takes for a part that is cut off")
        return unpacked
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read())


def _columnar(path: Path, format: str) -> Records:
    if format == "parquet":
        table = pq.read_table(path, use_threads=False)
    else:
        with pa.OSFile(str(path)) as source:
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            table = (ipc.open_file if is_file else ipc.open_stream)(source).read_all()
    table.validate(full=True)
    names = list(table.schema.names)
    try:
        columns = [column.to_pylist() for column in table.columns]
    except (OverflowError, ValueError) as error:
        raise BeyondPython(str(error)) from error
    return Records(names, [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)], False)


def _delimited(text: str, format: str) -> Records:
    lines = re.sub(r"\A(?: *\r?\n)*", "", text)
    separator = "\t" if format == "tsv" else _likely_separator(lines)
    limit = csv.field_size_limit(1 << 25)
    try:
        found = list(csv.reader(io.StringIO(lines, newline="\n"), delimiter=separator, strict=True))
    except csv.Error as error:
        raise NoTable(str(error)) from error
    finally:
        csv.field_size_limit(limit)
    if not found:
        raise NoTable("nothing")
    header, *body = found
    if any(len(name) > LONGEST_NAME for name in header):
        raise NoTable("a name that is too long")
    names = [name.strip() for name in header]
    rows = []
    for each in body:
        blank = len(each) < 2 and not "".join(each).strip()
        if blank and (len(names) > 1 or not each or each[0].isspace()):
            continue
        if len(each) != len(names):
            raise NoTable(f"{len(each)} fields")
        rows.append(dict(zip(names, each, strict=True)))
    return Records(names, rows)


def _likely_separator(text: str) -> str:
    first = re.match(r'(?:[^"\n]|"[^"]*")*', text)
    record = first.group() if first else ""
    bare = "".join(record.split('"')[::2])
    return max(_SEPARATORS, key=lambda each: (bare.count(each), each == ","))


def _constant(word: str) -> float | str:
    """Infinity as it is written, which a level is called by; NaN is a missing value."""
    return math.nan if word == "NaN" else word


def _json_lines(text: str) -> Records:
    rows = []
    for line in text.split("\n"):
        if line.strip():
            try:
                row = json.loads(line, object_pairs_hook=lambda pairs: dict(reversed(pairs)), parse_constant=_constant)
            except (ValueError, RecursionError) as error:
                raise NoTable(str(error)) from error
            if not isinstance(row, dict):
                raise NoTable("no object")
            rows.append(row)
    return Records(list(dict.fromkeys(name for row in rows for name in row)), rows)


# What values stand for


def as_number(value: Any) -> float | None:
    """The number that a value stands for, NaN where it lacks; None if it stands for none."""
    if value is None:
        return math.nan
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float | Decimal | np.floating):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text in MISSING:
        return math.nan
    if _SEPARATES.search(value):
        return None
    return float(text) if _NUMBER.fullmatch(text) else None


def as_truth(value: Any) -> float | None:
    """0 or 1, NaN where a value lacks; None if it is neither."""
    if value is None or (isinstance(value, str) and value.strip() in MISSING):
        return math.nan
    if isinstance(value, bool):
        return float(value)
    return TRUTHS.get(str(value).strip().lower())


def as_level(value: Any) -> str | None:
    """The level of a category; None where it lacks."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        whole = value.is_integer() and abs(value) < 1e15
        return str(int(value)) if whole else np.format_float_positional(value, trim="-")
    if isinstance(value, bool | int):
        return json.dumps(value)
    if not isinstance(value, str):
        return None
    return None if value.strip() in MISSING else value.strip()


def as_years(value: Any) -> float | None:
    """Years since 2000 of a day; None if it is not written as one."""
    if value is None or (isinstance(value, str) and value.strip() in MISSING):
        return math.nan
    try:
        days = (datetime.strptime(_PADDING.sub("", str(value).strip()), "%Y-%m-%d") - datetime(2000, 1, 1)).days
    except ValueError:
        return None
    return days / 365.2425


def is_plain(records: Records, target: str) -> bool:
    """Whether there is nothing to refuse: names that differ, and finite numbers in each row."""
    names = records.names
    if len(set(names)) != len(names) or target not in names or len(names) < 2 or "" in names or not records.rows:
        return False
    if any(len(name) > 100 or not name.isprintable() for name in names):
        return False
    if records.is_text and any(re.search(f'[{_SEPARATORS}]"', name) for name in names):
        return False  # in a header, a quote after what may be a separator opens a field
    given = [row.get(name) for row in records.rows for name in names]
    if not records.is_text and any(isinstance(each, str) for each in given):
        return False
    values = list(map(as_number, given))
    return all(each is not None and math.isfinite(each) for each in values)


class Rows(NamedTuple):
    """What a stream gave: the features by name, the targets, and the number of each row; and how many were read."""

    features: dict[str, np.ndarray[Any, np.dtype[np.float64]]]
    y: np.ndarray[Any, np.dtype[np.float64]]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    read: int


def difference(records: Records, recipe: Recipe, rows: Rows, missing: str) -> str | None:
    """In what rows that were read differ from the reference; None if in nothing."""
    if rows.read != len(records.rows):
        return f"{rows.read} rows, {len(records.rows)} by the reference"
    for place, number in enumerate(rows.numbers.tolist()):
        record = records.rows[number]
        target, y = record.get(recipe.target), float(rows.y[place])
        if y not in (as_number(target), as_truth(target)):
            return f"row {number}: target {y!r}, {target!r} by the reference"
        for column in recipe.columns:
            value = record.get(column.name)
            if column.kind == "category":
                level, start = as_level(value), f"{column.name}="
                if isinstance(value, float) and math.isinf(value):  # 1e400 in JSON, which is told as Python writes it
                    level = json.dumps(value)
                ones = {name for name, each in rows.features.items() if each[place] == 1 and name.startswith(start)}
                if ones != (set() if level is None else {start + level}):
                    return f"row {number}: {ones}, {value!r} by the reference"
            elif not _same(column.kind, value, float(rows.features[column.name][place]), missing):
                got = rows.features[column.name][place]
                return f"row {number}, {column.name!r}, a {column.kind}: {got!r}, {value!r} by the reference"
    return None


def _same(kind: str, value: Any, got: float, missing: str) -> bool:
    """Whether a feature is what the value of its column stands for."""
    if kind == "duration" or (kind == "time" and not isinstance(value, str | None)):
        return math.isfinite(got)
    expected = {"number": as_number, "boolean": as_truth, "time": as_years}[kind](value)
    if expected is None and kind == "time" and _DAY.fullmatch(_PADDING.sub("", str(value).strip())):
        return math.isfinite(got)  # years of other than four digits, which Python does not read
    if expected is None and kind == "number" and isinstance(value, bool):
        expected = float(value)
    if expected is None or (math.isnan(expected) and missing != "zero"):
        return False
    if math.isnan(expected):
        return got == 0
    return math.isclose(expected, got, rel_tol=1e-12, abs_tol=1e-12) if kind == "time" else got == expected
