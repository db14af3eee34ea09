"""Where a pass puts its predictions: a file that appears when it is whole, or standard output as they are made.

A Parquet file cannot be gone on with after a crash. Where a pass can be resumed, rows are written aside first, as Arrow
messages one after the other: what came after the last checkpoint is cut off, and the rest is the same to the last byte.
"""

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from onward.core.types import Vector
from onward.progressive.frame_writers import Write, open_writer

COLUMNS = ("target", "prediction", "lower", "upper", "leverage")
GROUP = 1 << 16  # rows in a row group, whatever the blocks they came in
MANY = 256  # frames that wait to be written
_EMPTY = pl.DataFrame(schema={"row": pl.Int64} | dict.fromkeys(COLUMNS, pl.Float64))


class PredictionFile(Protocol):
    """What a pass hands its predictions to."""

    def write(self, frame: pl.DataFrame) -> None:
        """Add rows: a column `row` that rises, counted from 1, and the others."""

    def finish(self, stop: int) -> None:
        """All is written: rows until `stop` − 1 that none came for were skipped, and are null."""

    def close(self) -> None:
        """Let go of it; nothing is left of a file that was not finished."""


def prediction_frame(rows: NDArray[np.int64], *columns: Vector) -> pl.DataFrame:
    """Numbers of rows (n,) from 1, and the columns, as a frame; ends of intervals that are NaN are null."""
    frame = pl.DataFrame({"row": rows} | dict(zip(COLUMNS, map(np.ascontiguousarray, columns), strict=True)))
    return frame.with_columns(pl.col("lower", "upper").fill_nan(None))


def with_kept(frame: pl.DataFrame, kept: pl.DataFrame, first: int) -> pl.DataFrame:
    """A row for each of those that are kept, the first of which is number `first`: nulls where `frame` has none."""
    if not kept.width:
        return frame
    rows = pl.DataFrame({"row": np.arange(first, first + len(kept))})
    return rows.join(frame, on="row", how="left", maintain_order="left").hstack(kept)


class DirectFile:
    """Predictions on their way to a file, a row group at a time."""

    def __init__(self, path: str | os.PathLike[str], first: int = 1) -> None:
        """`first` is the number of the first row."""
        self._stack = ExitStack()
        self._write: Write = self._stack.enter_context(open_writer(path))
        self._pool = self._stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="onward-writer"))
        self._writing: Future[None] | None = None  # the group that is being written while rows are learned
        self._begin = self._next = first  # the number of the next row to be written
        self._waiting: list[pl.DataFrame] = []
        self._finished = False

    def write(self, frame: pl.DataFrame) -> None:
        """As in `PredictionFile`."""
        self._waiting.append(frame)
        if len(self._waiting) > MANY:  # rows that come one by one would take a hundred times their memory
            self._waiting = [pl.concat(self._waiting).rechunk()]
        if frame["row"][-1] >= self._next + GROUP:
            self._write_until(self._next + (frame["row"][-1] - self._next) // GROUP * GROUP)

    def _write_until(self, stop: int) -> None:
        """Write the rows before `stop` in groups; those that did not come are null."""
        rows = pl.concat(self._waiting) if self._waiting else _EMPTY
        numbers, taken = rows["row"].to_numpy(), 0
        for first in range(self._next, max(stop, self._next + (stop == self._begin)), GROUP):
            last = min(first + GROUP, stop)
            until = int(np.searchsorted(numbers, last))
            group, taken = rows[taken:until], until
            if len(group) < last - first:
                every = pl.DataFrame({"row": np.arange(first, last)})
                group = every.join(group, on="row", how="left", maintain_order="left")
            self._wait()
            self._writing = self._pool.submit(self._write, group.rechunk())
        self._next = stop
        self._waiting = [rows[taken:]] if taken < len(rows) else []

    def _wait(self) -> None:
        """Wait for the group that is being written; what went wrong with it is raised here."""
        if self._writing is not None:
            self._writing.result()

    def finish(self, stop: int) -> None:
        """As in `PredictionFile`."""
        self._write_until(stop)
        self._wait()
        self._finished = True
        self._stack.close()

    def close(self) -> None:
        """As in `PredictionFile`."""
        if not self._finished:
            self._finished = True
            with contextlib.suppress(_UnfinishedError):
                self._stack.__exit__(_UnfinishedError, _UnfinishedError(), None)


class _UnfinishedError(Exception):
    """Tells the writer of a file that it must not take its name."""


class Spool:
    """Predictions that are written aside, so that another run can go on after a crash; the file is made at the end."""

    def __init__(self, path: str | os.PathLike[str], keep: int = 0) -> None:
        """Go on after the first `keep` bytes of what an earlier run wrote aside; 0 to start anew."""
        self.path = Path(path)
        self._aside = self.path.with_name(f".{self.path.name}.rows")
        if keep and (not self._aside.exists() or self._aside.stat().st_size < keep):
            raise ValueError(f"cannot go on with {path}: {self._aside} is missing or too short; start without resuming")
        self._file: BinaryIO = self._aside.open("r+b" if keep else "w+b")
        self._file.truncate(keep)
        self._file.seek(keep)

    def write(self, frame: pl.DataFrame) -> None:
        """As in `PredictionFile`."""
        table = frame.to_arrow()
        messages = [] if self._file.tell() else [table.schema.serialize()]
        messages += [batch.serialize() for batch in table.to_batches()]
        try:
            for message in messages:
                self._file.write(message)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._aside)) from error

    def settle(self) -> int:
        """Bring what was written to the disk; how many bytes it is."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._aside)) from error
        return self._file.tell()

    def finish(self, stop: int) -> None:
        """As in `PredictionFile`. What was written aside stays until `discard`: a checkpoint may still need it."""
        made = DirectFile(self.path)
        try:
            for frame in self._frames():
                made.write(frame)
            made.finish(stop)
        finally:
            made.close()

    def _frames(self) -> Iterator[pl.DataFrame]:
        import pyarrow as pa
        import pyarrow.ipc as ipc

        self.settle()
        self._file.seek(0)
        if self._aside.stat().st_size:
            for batch in ipc.open_stream(self._file):
                yield pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))

    def close(self) -> None:
        """Let go of what was written aside, and leave it there for another run to go on with."""
        with contextlib.suppress(OSError):  # a full disk was told of when it was met
            self._file.close()

    def discard(self) -> None:
        """Remove what was written aside."""
        self.close()
        with contextlib.suppress(OSError):
            self._aside.unlink()
