"""Text that is compressed, that comes through a pipe, and that comes slowly."""

import gzip
import io
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from onward.tables import DataError, Position, Table, stream
from tests.processes import started
from tests.tables.files import CHOICE, mixed_table, read, seen, small_pieces, text_of

TEXT = "x,y\n" + "".join(f"{i},{i % 7}\n" for i in range(2000))


def pretend(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_standard_input_in_place_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    table = mixed_table(4, 100)
    data = (table.write_csv() if kind == "csv" else table.write_ndjson()).encode()
    expected = seen(stream(text_of(tmp_path, data, f"t.{kind}"), Table(missing="zero", **CHOICE)))
    for size in (1 << 22, 50):
        with small_pieces(size):
            for prefix in (b"", b"\xef\xbb\xbf", b"\n\n"):
                pretend(monkeypatch, prefix + data)
                opened = stream("-", Table(missing="zero", **CHOICE))
                assert seen(opened) == expected
                assert (opened.size, opened.done) == (None, len(prefix + data))


def test_going_on_in_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1 << 22, 64):
        with small_pieces(size):
            pretend(monkeypatch, TEXT.encode())
            opened = stream("-", "y")
            blocks = iter(opened)
            block = next(blocks)
            position = opened.position(block.stop - 1)
            del blocks
            pretend(monkeypatch, TEXT.encode())
            assert seen(stream("-", "y", start=position)).rows == list(range(block.stop - 1, 2000))
    pretend(monkeypatch, TEXT.encode())
    with pytest.raises(DataError, match="standard input: expected at least 999,999 bytes to go on"):
        list(stream("-", "y", start=Position(0, 999_999, 0, 5)))


SLOW = """
import sys, time
from onward.tables import Table, stream
got = []
for block in stream("-", Table("y", missing="skip", categorical=["c"])):
    for row, x, y in zip(block.rows, block.X, block.y):
        print(row, dict(zip(block.names, x.tolist())), y, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="how pipes are waited for")
def test_rows_that_arrive_slowly_are_given_at_once() -> None:
    """Fragments that split lines; each row comes out before the next one goes in."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started([sys.executable, "-c", textwrap.dedent(SLOW)], env=environment, **pipes) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        for part in (b"\xef", b"\xbb\xbfx,c", b",y", b"\n", b"1,", b'"a\n', b'b",1'):
            run.stdin.write(part)
            run.stdin.flush()
            time.sleep(0.02)
        run.stdin.write(b"\n")
        run.stdin.flush()
        assert run.stdout.readline() == b"0 {'x': 1.0, 'c=a\\nb': 1.0} 1.0\n"
        for row in range(1, 4):
            for piece in (f"{row}", f".5,c{row},", f"{row}\n"):
                run.stdin.write(piece.encode())
                run.stdin.flush()
            assert run.stdout.readline().startswith(
                f"{row} {{'x': {row}.5, 'c=a\\nb': 0.0".encode().replace(b"\n", b"\\n")
            )
        run.stdin.write(b"5,a,9")
        run.stdin.close()
        assert run.stdout.readline().startswith(b"4 {'x': 5.0")
        assert run.wait(10) == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT.encode(),))
    writer.start()
    assert read(path).rows == list(range(2000))
    writer.join(10)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT.encode() + b"a,1\n",))
    writer.start()
    with pytest.raises(DataError, match=r"pipe\.csv, line 2002, column 'x': got 'a', expected a number"):
        read(path)
    writer.join(10)


def test_no_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="standard input: cannot be read as bytes"):
        stream("-", "y")


def broken(data: bytes) -> bytes:
    half = bytearray(data)
    half[len(half) // 2] ^= 255
    return bytes(half)


def test_compressed_files(tmp_path: Path) -> None:
    zipped = gzip.compress(TEXT.encode())
    packed = pa.compress(TEXT.encode(), codec="zstd", asbytes=True)
    more = (gzip.compress(b"5,5\n"), pa.compress(b"5,5\n", codec="zstd", asbytes=True))
    for name, data, rest in (("t.csv.gz", zipped, more[0]), ("t.csv.zst", packed, more[1])):
        assert len(read(text_of(tmp_path, data + rest, name)).rows) == 2001  # written in two goes
        checked = [broken(data)] if data is zipped else []  # this zstd has no sum to check
        for wrong in (data[: len(data) // 2], *checked, data + b"more", TEXT.encode()):
            path = text_of(tmp_path, wrong, name)
            with pytest.raises(DataError) as error, small_pieces(1000):
                read(path)
            assert str(error.value).startswith(f"{path}: cannot be read (")
        with pytest.raises(DataError, match=r"the file is empty|cannot be read"):
            read(text_of(tmp_path, b"", name))
    with pytest.raises(DataError, match=r"x\.csv: expected text, got a binary file"):
        read(text_of(tmp_path, zipped, "x.csv"))


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    path = text_of(tmp_path, "x,y\n1,2\n")
    opened = [text_of(tmp_path, "x,y\n1,2\n", name) for name in ("1.csv", "2.csv")]
    whole = stream(opened, "y")
    opened[1].unlink()
    with pytest.raises(DataError, match=r"2\.csv: cannot be opened \(No such file or directory\)"):
        list(whole)
    path.rename(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet: cannot be read as Parquet \("):
        read(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").rename(tmp_path / "t.arrow")
    with pytest.raises(DataError, match=r"t\.arrow: cannot be read as Arrow IPC \("):
        read(tmp_path / "t.arrow")
