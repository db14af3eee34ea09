"""Parquet and Arrow IPC: every type, row groups of any size, and files that are broken."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from onward.tables import DataError, Table, columnar, parquet_pages, stream
from onward.tables.arrow_columns import content_of
from onward.tables.columnar import ParquetReader
from onward.tables.sources import find_files
from onward.tables.times import as_times
from tests.tables.files import mixed_table, read, seen, small_pieces

YEAR = 365.2425


def saved(tmp_path: Path, table: pa.Table, ending: str) -> Path:
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with open(path, "wb") as file:
            writer = ipc.new_stream(file, table.schema)
            writer.write(table)
            writer.close()
    return path


ROME = ZoneInfo("Europe/Rome")
TYPES: dict[str, tuple[Any, Any, float]] = {
    **{str(dtype): (dtype, 5, 5.0) for dtype in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(dtype): (dtype, 5, 5.0) for dtype in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "a large whole number": (pa.int64(), 2**53 + 1, float(2**53)),
    "the largest": (pa.uint64(), 2**64 - 1, 2.0**64),
    "float32": (pa.float32(), 0.5, 0.5),
    "float16": (pa.float16(), np.float16(0.5), 0.5),
    "decimal": (pa.decimal128(10, 3), Decimal("1.005"), 1.005),
    "boolean": (pa.bool_(), True, 1.0),
    "date": (pa.date32(), date(2001, 1, 1), 366 / YEAR),
    "date64": (pa.date64(), date(2001, 1, 1), 366 / YEAR),
    "moment": (pa.timestamp("us"), datetime(2000, 1, 2, 12), 1.5 / YEAR),
    "moment in s": (pa.timestamp("s"), datetime(2000, 1, 2, 12), 1.5 / YEAR),
    "moment in ns": (pa.timestamp("ns"), datetime(1999, 12, 31), -1 / YEAR),
    "moment with zone": (pa.timestamp("ms", "Europe/Rome"), datetime(2000, 1, 2, 13, tzinfo=ROME), 1.5 / YEAR),
    "duration": (pa.duration("ms"), timedelta(days=1, hours=6), 1.25),
    "time": (pa.time64("us"), time(6), 0.25),
    "time in s": (pa.time32("s"), time(12), 0.5),
    "numbers, coded": (pa.dictionary(pa.int8(), pa.int64()), 7, 7.0),
    "nothing": (pa.null(), None, 0.0),
}


@pytest.mark.parametrize("ending", ["parquet", "ipc"])
@pytest.mark.parametrize("case", list(TYPES))
def test_types_that_become_numbers(tmp_path: Path, ending: str, case: str) -> None:
    dtype, value, expected = TYPES[case]
    array = (
        pa.array([value, None], pa.int64()).dictionary_encode() if "coded" in case else pa.array([value, None], dtype)
    )
    path = saved(tmp_path, pa.table({"x": array, "y": pa.array([1.0, 2.0])}), ending)
    opened = stream(path, Table("y", missing="zero"))
    assert seen(opened).X[:, 0] == pytest.approx([expected, 0.0], rel=1e-15)
    assert opened.filled["x"] == 2 - (value is not None)


@pytest.mark.parametrize("ending", ["parquet", "ipc"])
def test_types_that_become_categories(tmp_path: Path, ending: str) -> None:
    values = ["b", "a", "b", None, "NA"]
    arrays = {
        "s": pa.array(values),
        "l": pa.array(values, pa.large_string()),
        "d": pa.array(values).dictionary_encode(),
        "i": pa.array([3, 1, 3, None, 9]),
        "b": pa.array([True, False, True, None, False]),
    }
    path = saved(tmp_path, pa.table({**arrays, "y": pa.array([1.0, 2, 3, 4, 5])}), ending)
    for name in arrays:
        got = read(path, features=[], categorical=[name], missing="zero", na=["NA", "9"])
        levels = {"i": ["3", "1"], "b": ["true", "false"]}.get(name, ["b", "a"])
        assert got.names == [f"{name}={level}" for level in levels]
        assert got.X[:4].tolist() == [[1, 0], [0, 1], [1, 0], [0, 0]]
    polars = pl.DataFrame(
        {
            "c": pl.Series(values[:3], dtype=pl.Categorical),
            "e": pl.Series(values[:3], dtype=pl.Enum(["a", "b"])),
            "y": [1, 2, 3],
        }
    )
    polars.write_parquet(tmp_path / "p.parquet")
    polars.write_ipc(tmp_path / "p.arrow")
    for ending in ("parquet", "arrow"):
        assert read(tmp_path / f"p.{ending}", categorical=["c", "e"]).names == ["c=b", "e=b", "c=a", "e=a"]


def test_numbers_that_stand_for_missing_values(tmp_path: Path) -> None:
    path = saved(tmp_path, pa.table({"x": pa.array([-999, 1, 2]), "y": pa.array([1.0, 2.0, -999.0])}), "parquet")
    assert read(path, missing="skip", na=["-999", "-"]).rows == [1]


def test_types_that_cannot_become_numbers(tmp_path: Path) -> None:
    odd = {
        "list": pa.array([[1], [2]]),
        "struct": pa.array([{"a": 1}, {"a": 2}]),
        "bytes": pa.array([b"1", b"2"]),
        "long decimals": pa.array([Decimal(1), Decimal(2)], pa.decimal256(40)),  # polars ends in a panic
    }
    for name, array in odd.items():
        path = saved(tmp_path, pa.table({name: array, "x": pa.array([1, 2]), "y": pa.array([1, 2])}), "parquet")
        for options in ({}, {"categorical": [name]}):
            with pytest.raises(DataError) as error:
                read(path, **options)
            assert str(error.value).startswith(f"{path}: column {name!r} holds {str(array.type)[:4]}")
            assert str(error.value).endswith(", expected numbers; exclude it")
        assert read(path, exclude=[name]).names == ["x"]
    for dtype in (pa.month_day_nano_interval(), pa.run_end_encoded(pa.int32(), pa.int64()), pa.uuid()):
        assert content_of(dtype) == str(dtype)


def test_zones_that_nobody_knows(tmp_path: Path) -> None:
    array = pa.array([946_684_800], pa.timestamp("s", "Nowhere/Else"))
    path = saved(tmp_path, pa.table({"x": array, "y": pa.array([1])}), "ipc")
    assert read(path).X.tolist() == [[0.0]]


def test_texts_that_are_not_utf8(tmp_path: Path) -> None:
    array = pa.array([b"\xe9"]).cast(pa.binary()).view(pa.string())
    path = saved(tmp_path, pa.table({"c": array, "y": pa.array([1])}), "ipc")
    with pytest.raises(DataError, match=r"t\.ipc: column 'c' holds string that cannot be read as text"):
        read(path, categorical=["c"])


@pytest.mark.parametrize(
    "dtype", [pa.date32(), pa.timestamp("s"), pa.timestamp("ms"), pa.duration("s"), pa.duration("ms")], ids=str
)
def test_times_beyond_all_calendars(tmp_path: Path, dtype: pa.DataType) -> None:
    """Polars panics where it is to show a date beyond its calendar, and takes seconds beyond 64 bits for others."""
    day = dtype == pa.date32()
    array = pa.array([0, 1, 2**31 - 1 if day else 2**62], pa.int32() if day else pa.int64()).view(dtype)
    path = saved(tmp_path, pa.table({"x": array, "y": pa.array([1, 2, 3])}), "ipc")
    with pytest.raises(
        DataError, match=r"t\.ipc: column 'x' holds .* that cannot be read as .*(290,000|out of bounds)"
    ):
        read(path)
    times = pl.Series("t", pl.from_arrow(array))
    if times.dtype in (pl.Date, pl.Datetime("ms")) and dtype != pa.timestamp("s"):
        with pytest.raises(ValueError, match="times: a value is beyond 290,000 years"):
            as_times(times, 3)


@pytest.mark.parametrize("codec", [8, 9, 20, 63])
def test_a_codec_that_nobody_knows(tmp_path: Path, codec: int) -> None:
    """Asked for the name of such a codec, pyarrow ends the process."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0], "y": [2.0]}), path, compression="snappy")
    told = b"\x18\x01x\x15"  # the end of the column's path, and the field of the codec
    path.write_bytes(path.read_bytes().replace(told + b"\x02", told + bytes([2 * codec])))
    with pytest.raises(
        DataError, match=r"t\.parquet: cannot be read on as Parquet \("
    ):  # in words that hang on its version
        read(path)


@pytest.mark.parametrize("ending", ["parquet", "ipc"])
def test_what_is_said_of_columns_need_not_be_text(tmp_path: Path, ending: str) -> None:
    fields = [pa.field(name, pa.float64(), metadata={b"\xff": b"\xfe"}) for name in "xy"]
    path = saved(tmp_path, pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], pa.schema(fields)), ending)
    assert read(path).X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "ipc"])
def test_broken_files(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    table = mixed_table(1, 5000, 0.0).select("a", "y")
    if ending == "parquet":
        table.write_parquet(path, row_group_size=1000, compression="zstd")
    elif ending == "arrow":
        table.write_ipc(path, record_batch_size=1000)
    else:
        table.write_ipc_stream(path)
    data = path.read_bytes()
    for wrong in (data[: len(data) // 2], data[:5], b"", b"x,y\n1,2\n", data[:100] + b"\xff" * 3000 + data[3100:]):
        path.write_bytes(wrong)
        try:
            read(path, missing="skip")
        except DataError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert len(wrong) == len(data)  # numbers without a sum to check them: nobody can tell


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_row_groups_of_any_size(tmp_path: Path, ending: str) -> None:
    parts = [
        pa.table({"x": pa.array(range(n), pa.int64()), "y": pa.array([1.0] * n, pa.float64())})
        for n in (3, 0, 1, 50, 0)
    ]
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        with pq.ParquetWriter(path, parts[0].schema) as writer:
            for part in parts:
                writer.write_table(part)
        (file,) = find_files(path)
        assert ParquetReader(file).row_groups == [3, 0, 1, 50, 0]
    else:
        with open(path, "wb") as sink, ipc.new_file(sink, parts[0].schema) as out:
            for part in parts:
                out.write(part)
    for values in (1, 8, 1 << 19):
        with small_pieces(1, values):
            blocks = list(stream(path, "y"))
            assert seen(blocks).X[:, 0].tolist() == [*range(3), 0, *range(50)]
            assert max(len(block.rows) for block in blocks) <= max(1, values // 2)


def test_one_part_of_the_row_groups(tmp_path: Path) -> None:
    pl.DataFrame({"x": range(10), "y": range(10)}).write_parquet(tmp_path / "t.parquet", row_group_size=3)
    (file,) = find_files(tmp_path / "t.parquet")
    reader = ParquetReader(file, groups=range(1, 3))
    pieces = list(reader.pieces({"x": "number"}, 4))
    assert [value for piece in pieces for value in piece.frame["x"]] == [4, 5, 6, 7, 8]
    assert pieces[0].where(0) == f"{file.name}, row 5"
    reader.close()


def test_memory_does_not_grow_with_the_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that were looked at, nothing is mapped any more; large ones are read one by one, small ones together."""
    frame = pl.DataFrame({"x": np.arange(1000.0), "y": np.arange(1000.0)})
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=100, compression="uncompressed", statistics=False)
    (file,) = find_files(tmp_path / "t.parquet")
    mapped: list[Any] = []
    measure = parquet_pages._measure_chunk

    def measured(data: Any, chunk: Any) -> tuple[int, int]:
        assert all(each.closed for each in mapped if each is not data)
        mapped.append(data)
        return measure(data, chunk)

    monkeypatch.setattr(parquet_pages, "_measure_chunk", measured)
    reader = ParquetReader(file)
    [[chunk]] = parquet_pages.chunks_of(reader._file.metadata, [0], ["x"])
    size = chunk.total_uncompressed_size
    for most, lengths in ((1, [1] * 10), (3 * size, [3, 3, 3, 1]), (10**9, [10])):
        monkeypatch.setattr(columnar, "TOGETHER", most)
        assert [len(some) for some in reader._few_at_a_time(range(10), ["x"])] == lengths
        assert [group for some in reader._few_at_a_time(range(10), ["x"]) for group in some] == list(range(10))
        pieces = list(reader.pieces({"x": "number"}, 150))
        assert [value for piece in pieces for value in piece.frame["x"]] == list(range(150, 1000))
    assert len({id(each) for each in mapped}) == 3 * 9
    reader.close()


def test_where_something_is_wrong(tmp_path: Path) -> None:
    pl.DataFrame({"x": [*range(99), None], "y": [1] * 100}).write_parquet(tmp_path / "t.parquet", row_group_size=30)
    with small_pieces(1, 20), pytest.raises(DataError, match=r"t\.parquet, row 100, column 'x': the value is missing"):
        read(tmp_path / "t.parquet")


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["x", "x", "y"])
    with pytest.raises(DataError, match=r"t\.ipc: two columns are called 'x'"):
        read(saved(tmp_path, table, "ipc"))
    frame = pd.DataFrame([[1, 2, 3]], columns=["x", "x", "y"])
    with pytest.raises(DataError, match=r"^data frame 1: two columns are called 'x'; expected different names$"):
        stream(frame, "y")


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_data_frames_are_read_like_files(tmp_path: Path, library: str) -> None:
    frame = pl.DataFrame({"a": [1, 2, None, 4], "c": ["u", "v", "u", "w"], "y": [0.5, 1.5, 2.5, 3.5]})
    frame.write_parquet(tmp_path / "d.parquet")
    every: dict[str, Any] = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}
    native = every[library]
    table = Table("y", categorical=("c",), missing="skip")
    expected = list(stream(tmp_path / "d.parquet", table))
    for source in (native, [native[:1], native[1:3], native[3:]]):
        got = list(stream(source, table))
        np.testing.assert_array_equal(np.concatenate([b.rows for b in got]), np.concatenate([b.rows for b in expected]))
        assert got[-1].names == expected[-1].names
        np.testing.assert_array_equal(got[-1].X[-1], expected[-1].X[-1])
    with pytest.raises(DataError, match="data frame 1: there is no column 'z'"):
        stream(native, "z")
    with pytest.raises(ValueError, match="cannot be read together with files"):
        stream([native, tmp_path / "d.parquet"], "y")
