"""Data frames, one after the other, into a file that appears when it is whole, or onto standard output."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

import polars as pl

from onward.atomic_files import replacing
from onward.progressive.spreadsheet_text import quote_formulas

Write = Callable[[pl.DataFrame], None]
TextFormat = Literal["csv", "jsonl"]
ENDINGS = (".csv", ".jsonl", ".ndjson", ".parquet", ".pq")


def check_ending(path: str | os.PathLike[str]) -> str:
    """The ending of a file's name; ValueError if it is none that we can write."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path}: expected a name that ends in {', '.join(ENDINGS)}, got {ending or 'no ending'!r}")
    return ending


def check_target(path: str | os.PathLike[str]) -> None:
    """OSError if a file cannot be written there."""
    target = Path(path)
    if not str(path) or target.is_dir():
        raise IsADirectoryError(f"cannot write to {str(path)!r}: it is a folder")
    folder = target.resolve().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write to {path}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write to {path}: the folder {folder} cannot be written to")


@contextmanager
def open_writer(
    path: str | os.PathLike[str] | None, stream: IO[bytes] | None = None, text: TextFormat = "csv"
) -> Iterator[Write]:
    """A function that takes data frames, one after the other.

    Without a path they go to the stream as text, flushed each time. A file's format goes by its ending; it takes its
    name only when all went well. In CSV, a text that a spreadsheet would take for a formula has an apostrophe in front.
    """
    if path is None:
        assert stream is not None
        yield _text_writer(stream, text)
        return
    target, ending = Path(path), check_ending(path)
    check_target(target)
    with replacing(target) as temporary, open(temporary, "wb") as file:
        if ending in (".parquet", ".pq"):
            with _parquet_writer(file) as write:
                yield write
        else:
            yield _text_writer(file, "csv" if ending == ".csv" else "jsonl")


def _text_writer(stream: IO[bytes], text: TextFormat) -> Write:
    header = True

    def write(frame: pl.DataFrame) -> None:
        nonlocal header
        out = io.BytesIO()
        if text == "jsonl":
            frame.write_ndjson(out)
        else:
            quote_formulas(frame).write_csv(out, include_header=header)
        header = False
        stream.write(out.getvalue())
        stream.flush()

    return write


@contextmanager
def _parquet_writer(file: IO[bytes]) -> Iterator[Write]:
    import pyarrow.parquet as pq  # here: other formats do without

    writer: pq.ParquetWriter | None = None

    def write(frame: pl.DataFrame) -> None:
        nonlocal writer
        table = frame.to_arrow()
        if writer is None:
            texts = [
                field.name for field in table.schema if str(field.type) in ("string", "large_string", "string_view")
            ]
            # Numbers hardly repeat: to look for those that do would take three times as long as to write them.
            writer = pq.ParquetWriter(
                file, table.schema, compression="zstd", compression_level=1, use_dictionary=texts or False
            )
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
