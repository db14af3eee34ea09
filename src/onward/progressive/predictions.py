"""The file of predictions: written aside as plain numbers while rows are learned, turned into Parquet at the end.

A Parquet file cannot be gone on with after a crash. Plain numbers can: what was written after the last checkpoint is
cut off, and the rest is the same to the last byte.
"""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from onward.core.types import Matrix, Vector
from onward.storage import replacing

COLUMNS = ("target", "prediction", "lower", "upper", "leverage")
_RECORD = 8 * (1 + len(COLUMNS))  # the row's number, and the columns
GROUP = 1 << 16  # rows in a row group


def check_name(path: str | os.PathLike[str]) -> None:
    """ValueError if the name speaks of something else than Parquet."""
    if Path(path).suffix.lower() not in (".parquet", ".pq"):
        raise ValueError(
            f"predictions are written as Parquet: expected a name that ends in .parquet or .pq, got {path}"
        )


class Spool:
    """Rows of predictions on their way to a Parquet file."""

    def __init__(self, path: str | os.PathLike[str], keep: int = 0) -> None:
        """Go on after the first `keep` bytes of what an earlier run wrote aside; 0 to start anew."""
        self.path = Path(path)
        self._aside = self.path.with_name(f".{self.path.name}.rows")
        if keep and (not self._aside.exists() or self._aside.stat().st_size < keep):
            raise ValueError(f"cannot go on with {path}: {self._aside} is missing or too short; start without resuming")
        self._file: BinaryIO = self._aside.open("r+b" if keep else "w+b")
        self._file.truncate(keep)
        self._file.seek(keep)

    def write(self, rows: Vector, columns: Matrix) -> None:
        """Add rows: their numbers in the stream, and (n, 5) the columns."""
        try:
            self._file.write(np.column_stack([rows, columns]).astype("<f8").tobytes())
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

    def finish(self, read: int, before: int = 0, compression: str = "zstd") -> None:
        """Make the Parquet file, with a row for each of the `read` rows of the stream: null where one was skipped.

        Rows are numbered from 1, after the `before` rows of what came before the stream.

        What was written aside stays until `discard`: until then another run could still go on from a checkpoint.
        """
        self.settle()
        self._file.seek(0)
        schema = pa.schema([("row", pa.int64()), *((name, pa.float64()) for name in COLUMNS)])
        with (
            replacing(self.path) as temporary,
            pq.ParquetWriter(str(temporary), schema, compression=compression) as writer,
        ):
            waiting = self._next()
            for first in range(0, read, GROUP):
                stop = min(first + GROUP, read)
                table = np.full((stop - first, len(COLUMNS)), np.nan)
                given = np.zeros(stop - first, dtype=np.bool_)
                while waiting is not None and waiting[0, 0] < stop:
                    inside = int(np.searchsorted(waiting[:, 0], stop))
                    places = waiting[:inside, 0].astype(np.int64) - first
                    table[places], given[places] = waiting[:inside, 1:], True
                    waiting = waiting[inside:] if inside < len(waiting) else self._next()
                columns = {name: pa.array(table[:, j], mask=~given) for j, name in enumerate(COLUMNS)}
                rows = pa.array(before + np.arange(first + 1, stop + 1))
                writer.write_table(pa.table({"row": rows, **columns}, schema=schema))

    def _next(self) -> Matrix | None:
        data = self._file.read(GROUP * _RECORD)
        return np.frombuffer(data, dtype="<f8").reshape(-1, 1 + len(COLUMNS)) if data else None

    def close(self) -> None:
        """Let go of what was written aside, and leave it there for another run to go on with."""
        with contextlib.suppress(OSError):  # a full disk was told of when it was met
            self._file.close()

    def discard(self) -> None:
        """Remove what was written aside."""
        self.close()
        with contextlib.suppress(OSError):
            self._aside.unlink()
