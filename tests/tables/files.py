"""Tables to write in every format, and what a stream of them should give."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from onward.core.types import Matrix, Vector
from onward.tables import Stream, Table, columnar, encode, lines, stream
from onward.tables.encode import Block

LEVELS = ("Rome", "a,b", 'say "hi"', "two\nlines", "x=y", "é", "[1]", "{", ";", "a\tb", 'lone"')


def mixed_table(seed: int, n: int, lacking: float = 0.1) -> pl.DataFrame:
    """Every kind of column that all formats know, with some values missing."""
    r = np.random.default_rng(seed)

    def hole(values: list[Any]) -> list[Any]:
        return [None if r.random() < lacking else value for value in values]

    begin = datetime(1990, 1, 1)
    return pl.DataFrame(
        {
            "a": pl.Series(hole((r.normal(size=n) * 10.0 ** r.integers(-9, 9, n)).tolist()), dtype=pl.Float64),
            "c": pl.Series(hole([LEVELS[i] for i in r.integers(0, len(LEVELS), n)]), dtype=pl.String),
            "on": pl.Series(hole((r.random(n) < 0.5).tolist()), dtype=pl.Boolean),
            "y": pl.Series(hole(r.normal(size=n).tolist()), dtype=pl.Float64),
            "n": pl.Series(hole(r.integers(-5, 5, n).tolist()), dtype=pl.Int64),
            "t": pl.Series(
                hole([begin + timedelta(microseconds=int(u)) for u in r.integers(0, 2**50, n)]), dtype=pl.Datetime("us")
            ),
            "d": pl.Series(hole([f"v{i}" for i in r.integers(0, 4, n)]), dtype=pl.String),
            "w": pl.Series(hole(r.random(n).tolist()), dtype=pl.Float64),
        }
    )


CHOICE: dict[str, Any] = {"target": "y", "categorical": ["c", "d"], "weight": "w"}


def _csv(separator: str) -> Callable[[pl.DataFrame, Path], None]:
    return lambda table, path: table.write_csv(path, separator=separator)


def _compressed(codec: str) -> Callable[[pl.DataFrame, Path], None]:
    def write(table: pl.DataFrame, path: Path) -> None:
        data = table.write_csv().encode()
        path.write_bytes(gzip.compress(data, 1) if codec == "gzip" else pa.compress(data, codec=codec, asbytes=True))

    return write


WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "csv": _csv(","),
    "tsv": _csv("\t"),
    "semicolon.csv": _csv(";"),
    "csv.gz": _compressed("gzip"),
    "csv.zst": _compressed("zstd"),
    "jsonl": lambda table, path: table.write_ndjson(path),
    "jsonl.gz": lambda table, path: _nothing(path.write_bytes(gzip.compress(table.write_ndjson().encode(), 1))),
    "parquet": lambda table, path: table.write_parquet(path, row_group_size=7),
    "arrow": lambda table, path: table.write_ipc(path, record_batch_size=5),
    "ipc": lambda table, path: table.write_ipc_stream(path),
}


def _nothing(_: object) -> None:
    return None


@dataclass(frozen=True)
class Seen:
    """All that a stream gave, as if in one block."""

    names: list[object]
    X: Matrix
    y: Vector | None
    weight: Vector
    rows: list[int]
    births: list[tuple[int, int]]  # (row, features) wherever features are added

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Seen)
        same_y = (self.y is None and other.y is None) or bits(self.y) == bits(other.y)
        return (
            same_y
            and (self.names, self.rows, self.births) == (other.names, other.rows, other.births)
            and bits(self.X) == bits(other.X)
            and bits(self.weight) == bits(other.weight)
        )

    def since(self, row: int) -> "Seen":
        keep = np.array(self.rows) >= row
        births = [(self.births_before(row)[0], self.births_before(row)[1])]
        births += [(at, width) for at, width in self.births if at > births[0][0]]
        return Seen(
            self.names,
            self.X[keep],
            None if self.y is None else self.y[keep],
            self.weight[keep],
            [each for each in self.rows if each >= row],
            births,
        )

    def births_before(self, row: int) -> tuple[int, int]:
        """The first row that is kept from `row` on, and how many features there are in it."""
        first = next((each for each in self.rows if each >= row), row)
        return first, max((width for at, width in self.births if at <= first), default=0)


def bits(values: Vector | Matrix | None) -> bytes:
    assert values is not None
    return np.ascontiguousarray(values).tobytes() + str(values.shape).encode()


def seen(blocks: Stream | list[Block]) -> Seen:
    """What the blocks hold; they must follow upon each other without a gap."""
    given = list(blocks)
    for before, after in pairwise(given):
        assert before.stop == after.first
    width = max((block.X.shape[1] for block in given), default=0)
    names = given[-1].names if given else []
    births: list[tuple[int, int]] = []
    for block in given:
        assert block.X.flags.c_contiguous
        assert block.X.flags.writeable
        assert block.names == names[: len(block.names)]
        assert block.X.shape == (len(block.rows), len(block.names))
        assert len(block.rows) > 0
        if not births or births[-1][1] < len(block.names):
            births.append((int(block.rows[0]), len(block.names)))
    X = np.zeros((sum(len(block.rows) for block in given), width))
    at = 0
    for block in given:
        X[at : at + len(block.rows), : block.X.shape[1]] = block.X
        at += len(block.rows)
    ys = [block.y for block in given if block.y is not None]
    return Seen(
        list(names),
        X,
        np.concatenate(ys) if ys else None,
        np.concatenate([block.weight for block in given]) if given else np.zeros(0),
        [int(row) for block in given for row in block.rows],
        births,
    )


@contextmanager
def small_pieces(size: int, values: int = 1 << 19) -> Iterator[None]:
    """Read so many bytes, or values, at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", size)
        patch.setattr(columnar, "VALUES", values)
        patch.setattr(encode, "VALUES", values)
        yield


def text_of(tmp_path: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def open_stream(source: Any, **options: Any) -> Stream:
    """A stream by what a `Table` and `stream` take, in one."""
    more = {name: options.pop(name) for name in ("recipe", "known", "start") if name in options}
    return stream(source, Table(**{"target": "y", **options}), **more)


def read(source: Any, **options: Any) -> Seen:
    return seen(open_stream(source, **options))
