"""Where predictions go: standard output as they are made, or a file that appears when it is whole."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import polars as pl
import pyarrow.parquet as pq

from onward.progressive.outputs import check_target
from onward.storage import replacing

Write = Callable[[pl.DataFrame], None]
ENDINGS = (".csv", ".jsonl", ".ndjson", ".parquet", ".pq")


def check_ending(path: str | os.PathLike[str]) -> str:
    """The ending of a file's name; ValueError if it is none that we can write."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path}: expected a name that ends in {', '.join(ENDINGS)}, got {ending or 'no ending'!r}")
    return ending


@contextmanager
def sink(path: str | os.PathLike[str] | None, stream: IO[bytes] | None, *, json: bool = False) -> Iterator[Write]:
    """A function that takes data frames, one after the other.

    Without a path they go to the stream, flushed each time: CSV, or JSON lines. A file's format goes by its ending; it
    takes its name only when all went well.
    """
    if path is None:
        assert stream is not None
        yield _text_writer(stream, json)
        return
    target, ending = Path(path), check_ending(path)
    check_target(target)
    with replacing(target) as temporary, open(temporary, "wb") as file:
        if ending in (".parquet", ".pq"):
            with _parquet_writer(file) as write:
                yield write
        else:
            yield _text_writer(file, ending != ".csv")


def _text_writer(stream: IO[bytes], json: bool) -> Write:
    header = True

    def write(frame: pl.DataFrame) -> None:
        nonlocal header
        text = io.BytesIO()
        if json:
            frame.write_ndjson(text)
        else:
            frame.write_csv(text, include_header=header)
        header = False
        stream.write(text.getvalue())
        stream.flush()

    return write


@contextmanager
def _parquet_writer(file: IO[bytes]) -> Iterator[Write]:
    writer: pq.ParquetWriter | None = None

    def write(frame: pl.DataFrame) -> None:
        nonlocal writer
        table = frame.to_arrow()
        if writer is None:
            writer = pq.ParquetWriter(file, table.schema, compression="zstd")
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
