"""Results of finished chunks on disk, for resuming."""

import contextlib
import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onward.atomic_files import write_atomically
from onward.core.checks import whole
from onward.scale import chunk_results
from onward.scale.chunk_results import Predicted
from onward.scale.summary import Summary

_OURS = re.compile("[0-9a-f]{16}")


class ChunkCache:
    """A folder with a file for each chunk that is done; nothing is cached if `folder` is None."""

    def __init__(self, folder: Path | None, about: Any, resume: bool) -> None:
        """`about` is all that decides the results: what was cached of anything else does not count."""
        self.folder: Path | None = None
        if folder is None:
            return
        digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]
        self.folder = folder.resolve() / digest
        if folder.is_dir():
            for other in folder.iterdir():  # what other runs left; nothing that is not ours
                if _OURS.fullmatch(other.name) and not (resume and other.name == digest):
                    shutil.rmtree(other)
        self.folder.mkdir(parents=True, exist_ok=True)

    def front(self, chunks: int, most: int) -> int:
        """How many chunks are the front: as in the run that this one goes on with, whose cluster may have been larger.

        If this is the first, as many as are given. There are at most so many: what says otherwise does not count.
        """
        if self.folder is None:
            return chunks
        path = self.folder / "front.json"
        with contextlib.suppress(OSError, ValueError, RecursionError):
            return whole("front", json.loads(path.read_bytes()), 1, most)
        write_atomically(path, json.dumps(chunks).encode())
        return chunks

    @property
    def lead(self) -> Path | None:
        """Where the worker that predicts the front keeps how far it is."""
        return None if self.folder is None else self.folder / "lead"

    def reduced(self, place: int) -> Summary | None:
        """The cached result of a chunk that was reduced."""
        return None if self.folder is None else chunk_results.read(self._path(Summary, place), Summary)

    def predicted(self, place: int, parts: Sequence[Path]) -> Predicted | None:
        """The cached result of chunks that were predicted, if the files of their predictions are there, too."""
        if self.folder is None or not all(map(_is_parquet, parts)):
            return None
        return chunk_results.read(self._path(Predicted, place), Predicted)

    def put(self, place: int, result: Summary | Predicted) -> None:
        """Cache the result of a chunk."""
        if self.folder is not None:
            chunk_results.write(self._path(type(result), place), result)

    def _path(self, kind: type[Summary | Predicted], place: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{'reduced' if kind is Summary else 'predicted'}-{place:06d}"

    def remove(self) -> None:
        """Remove what has served."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # unless something else lies there
                self.folder.parent.rmdir()


def _is_parquet(path: Path) -> bool:
    """Whether a file is there and whole, as far as its last bytes tell."""
    try:
        pq.ParquetFile(path).close()
    except (OSError, pa.ArrowException):
        return False
    return True
