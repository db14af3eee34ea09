"""Files that are made to break a reader: one line with the place, and memory that stays flat."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import onward
from onward import RidgeRegressor
from onward.tables import DataError, columnar, lines
from onward.tables.arrow_messages import largest_decompressed

FLAT = 300  # MB that a small process may take: libraries and compiled code take 200


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"a,b,y\n1,2,3\n4,5,6\n', "lines 1 to 3"),
        ('a,"b,y\n1,2,3\n4,"5",6\n', "lines 1 to 3"),
        ('"a"x,b,y\n1,2,3\n', "line 1"),
        ('\n\n"a,b,y\n1,2,"3\n4,5,6\n', "lines 3 to 4"),
    ],
)
def test_quotes_of_a_header_that_do_not_match_are_told_with_the_place(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=f"t.csv, {place}: the quotes of the header do not match"):
        onward.fit(path, "y", RidgeRegressor())


@pytest.mark.parametrize("kind", ["file.arrow", "stream.arrow", "file.parquet"])
def test_a_name_that_is_no_utf8_is_told(tmp_path: Path, kind: str) -> None:
    table, path = pa.table({"b": [1.0, 2.0], "name": [1.0, 2.0], "y": [1.0, 2.0]}), tmp_path / kind
    if kind == "file.parquet":
        pq.write_table(table, path)
    else:
        with (ipc.new_file if kind == "file.arrow" else ipc.new_stream)(path, table.schema) as writer:
            writer.write(table)
    path.write_bytes(path.read_bytes().replace(b"name", b"na\xff\xfe"))
    with pytest.raises(DataError, match=r"column b'na\\xff\\xfe': its name is not UTF-8 text") as caught:
        onward.fit(path, "y", RidgeRegressor())
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + ', "y": 1}', "line 3: not a JSON object .nested too deeply"),
        ('{"a": ' + "9" * 10_000 + ', "y": 1}', "line 3: not a JSON object .a whole number of too many digits"),
    ],
)
def test_json_that_python_does_not_take(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "y": 1}\n{"a": 2, "y": 2}\n' + text + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=words):
        onward.fit(path, "y", RidgeRegressor())


def test_a_header_of_too_many_columns_is_refused_before_it_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y" + b"," * 1_000_001 + b"\n1,2\n")
    with pytest.raises(DataError, match="line 1: the header has more than 1,000,000 columns"):
        onward.fit(path, "y", RidgeRegressor())


# Bombs: each in a process of its own, whose memory is told at the end


def _read(path: Path, **columns: object) -> tuple[str, int]:
    """What came of a file, and how many MB the process took at most (rusage would count what its parent took)."""
    code = (
        "import re, sys, onward\n"
        "try:\n"
        f"    onward.fit(sys.argv[1], onward.Table('y', **{columns!r}), onward.RidgeRegressor()); said = 'fitted'\n"
        "except onward.tables.DataError as error:\n"
        "    said = str(error)\n"
        "print(said)\n"
        "print(int(re.search('VmHWM:[^0-9]+([0-9]+) kB', open('/proc/self/status').read())[1]) >> 10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    said, size = done.stdout.strip().split("\n")
    return said, int(size)


@pytest.mark.parametrize(
    ("name", "start"), [("t.csv.gz", b"a,y\n1,2\n3,"), ("t.jsonl.gz", b'{"a":1,"y":2}\n{"a":"'), ("h.csv.gz", b"a,y")]
)
def test_a_line_without_end_is_refused_in_flat_memory(tmp_path: Path, name: str, start: bytes) -> None:
    path = tmp_path / name
    with gzip.open(path, "wb", 1) as file:
        file.write(start)
        for _ in range(256):
            file.write(b"1" * (1 << 20))
    assert path.stat().st_size < 2 << 20
    said, size = _read(path)
    assert f"a record is longer than {lines.LONGEST >> 20} MB" in said
    assert size < FLAT


def test_a_record_of_a_million_fields_is_told_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\n1,2\n3," + b"," * 2_000_000 + b"\n")
    said, size = _read(path)
    assert "line 3: got 2000002 fields, expected 2" in said
    assert size < FLAT


def test_a_long_text_that_comes_often_is_read_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    text = pa.array(["z" * (1 << 20)]).dictionary_encode()
    often = pa.table({"k": text.take(pa.array([0] * 3000)), "y": np.zeros(3000)})
    pq.write_table(often, path, compression="zstd", dictionary_pagesize_limit=1 << 30, store_schema=False)
    assert path.stat().st_size < 100_000
    said, size = _read(path, categorical=("k",))
    assert said == "fitted"
    assert size < FLAT + 500  # 3 GB, were all written out at once


def test_a_compressed_batch_that_is_too_large_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, texts = np.zeros(100_000), pa.array(["a"] * 100_000).dictionary_encode()
    table = pa.table({"x": numbers, "y": numbers, "k": texts})
    for make in (ipc.new_file, ipc.new_stream):
        path = tmp_path / "t.arrow"
        with make(path, table.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write(table)
        source = pa.memory_map(str(path))
        assert 1_600_000 <= largest_decompressed(source) < 2_500_000
        source.close()
        assert onward.fit(path, onward.Table("y", exclude=("k",)), RidgeRegressor()).scores.rows == 100_000
        monkeypatch.setattr(columnar, "LARGEST_BATCH", 1_000_000)
        with pytest.raises(DataError, match=r"a compressed batch takes .* bytes of memory, expected at most 1,000,000"):
            onward.fit(path, "y", RidgeRegressor())
        monkeypatch.undo()
