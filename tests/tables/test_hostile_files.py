"""Files that are made to break a reader: one line with the place, and memory that stays flat."""

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import onward
from onward import RidgeRegressor
from onward.tables import DataError, Table, columnar, lines, parquet_pages, stream
from onward.tables.arrow_messages import largest_decompressed
from onward.tables.kinds import guess, guess_each
from onward.tables.notation import Notation
from onward.tables.parquet_pages import largest_decompressed as largest_pages

MARGIN = 100  # MB that a hostile file may take beyond a small one


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


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> int:
    """MB that a process may take: those of one with a small file, which depend on Python and libraries, and more."""
    path = tmp_path_factory.mktemp("small") / "t.csv"
    path.write_text("a,y\n1,2\n3,4\n", encoding="utf-8")
    said, size = _read(path)
    assert (said, size < 600) == ("fitted", True)
    return size + MARGIN


@pytest.mark.parametrize(
    ("name", "start"), [("t.csv.gz", b"a,y\n1,2\n3,"), ("t.jsonl.gz", b'{"a":1,"y":2}\n{"a":"'), ("h.csv.gz", b"a,y")]
)
def test_a_line_without_end_is_refused_in_flat_memory(tmp_path: Path, flat: int, name: str, start: bytes) -> None:
    path = tmp_path / name
    with gzip.open(path, "wb", 1) as file:
        file.write(start)
        for _ in range(256):
            file.write(b"1" * (1 << 20))
    assert path.stat().st_size < 2 << 20
    said, size = _read(path)
    assert f"a record is longer than {lines.LONGEST >> 20} MB" in said
    assert size < flat


def test_a_record_of_a_million_fields_is_told_in_flat_memory(tmp_path: Path, flat: int) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\n1,2\n3," + b"," * 2_000_000 + b"\n")
    said, size = _read(path)
    assert "line 3: got 2000002 fields, expected 2" in said
    assert size < flat


def test_a_long_text_that_comes_often_is_read_in_flat_memory(tmp_path: Path, flat: int) -> None:
    path = tmp_path / "t.parquet"
    text = pa.array(["z" * (1 << 20)]).dictionary_encode()
    often = pa.table({"k": text.take(pa.array([0] * 3000)), "y": np.zeros(3000)})
    pq.write_table(often, path, compression="zstd", dictionary_pagesize_limit=1 << 30, store_schema=False)
    assert path.stat().st_size < 100_000
    said, size = _read(path, categorical=("k",))
    assert said == "fitted"
    assert size < flat + 500  # 3 GB, were all written out at once


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


def test_compressed_pages_that_are_too_large_are_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, numbers = tmp_path / "t.parquet", np.repeat(np.arange(50.0), 4000)
    texts = pa.array([f"{i % 700:020}" for i in range(len(numbers))])
    table = pa.table({"x": numbers, "y": numbers[::-1], "k": texts, "unread": texts})
    for version in ("1.0", "2.0"):
        pq.write_table(
            table,
            path,
            compression="zstd",
            use_dictionary=["k"],
            data_page_size=100_000,
            write_batch_size=1000,
            row_group_size=150_000,
            data_page_version=version,
            write_page_index=version == "2.0",
        )
        metadata = pq.ParquetFile(path).metadata
        size, pages = largest_pages(path, metadata, range(2), ("x", "y"))
        assert 2 * 100_000 < size < 2 * 110_000
        assert pages == 12
        assert largest_pages(path, metadata, range(2), ("k",))[0] > 24 * 700  # its dictionary counts
        how = onward.Table("y", exclude=("k", "unread"))
        assert onward.fit(path, how, RidgeRegressor()).scores.rows == len(numbers)
        monkeypatch.setattr(columnar, "LARGEST_PAGES", 200_000)
        with pytest.raises(DataError, match=r"pages of the columns take .* bytes of memory, expected at most 200,000"):
            onward.fit(path, how, RidgeRegressor())
        monkeypatch.undo()
        monkeypatch.setattr(parquet_pages, "MOST_PAGES", 2)
        with pytest.raises(DataError, match="more than 2 pages in a row group"):
            onward.fit(path, how, RidgeRegressor())
        monkeypatch.undo()


# More columns than a model can have


@pytest.mark.parametrize("columns", [16_000, 300_000])
def test_a_header_that_is_too_wide_is_refused_at_once(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "t.csv"
    names = ",".join(f"c{number}" for number in range(columns))
    path.write_text(f"{names},y\n{','.join(['1.5'] * columns)},2\n")
    begin = time.process_time()  # of this process: others may be busy
    with pytest.raises(DataError, match=f"t.csv: with {columns:,} features a model needs"):
        stream(path, "y")
    assert time.process_time() - begin < 2
    if columns < 100_000:
        with stream(path, Table("y", features=["c1", "c2"])) as rows:
            assert rows.names == ["c1", "c2"]


def test_new_names_on_each_line_take_no_more_than_their_text(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"y": 1, "c{number}": 1.5}}\n' for number in range(60_000)))
    begin = time.process_time()
    with pytest.raises(DataError, match="the value is missing"):
        list(stream(path, "y"))
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2.5"],
        ["1", ""],
        ["nan", "1"],
        ["NaN", "nan"],
        ["true", "no"],
        ["1", "true"],
        [" 1 ", "2"],
        ["2026-01-31", ""],
        ["1", "x", "2"],
        ["inf", "1"],
        ["x", "y"],
    ],
)
def test_many_columns_are_guessed_like_one(values: list[str]) -> None:
    column = pl.Series("a", values, dtype=pl.String)
    for notation in (Notation(), Notation(na=("1",)), Notation(decimal=","), Notation(date_format="%Y-%m-%d")):
        for told_by in ("few", "many"):
            one = guess(column, notation, told_by)
            assert guess_each(column.to_frame(), notation, told_by) == {"a": one}
