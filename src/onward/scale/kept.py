"""What chunks came to, kept on disk as it comes in, so that a run that was stopped does not do it again."""

import contextlib
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from onward import storage
from onward.scale.summary import Summary
from onward.scale.work import Predicted

KIND = "chunk"


class Kept:
    """A folder with a file for each chunk that is done; nothing is kept if `folder` is None."""

    def __init__(self, folder: Path | None, about: Any, resume: bool) -> None:
        """`about` is all that decides the results: what was kept of anything else does not count."""
        self.folder: Path | None = None
        if folder is None:
            return
        digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]
        self.folder = folder / digest
        if folder.exists() and not (resume and self.folder.exists()):
            shutil.rmtree(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, what: str, place: int) -> "Summary | Predicted | None":
        """What was kept of a chunk, if it was and can be read."""
        path = self._path(what, place)
        if path is None or not path.exists():
            return None
        try:
            kind, settings, arrays = storage.read(path)
            if kind != KIND:
                return None
            return (Summary if what == "reduced" else Predicted).from_record(settings, arrays)
        except (storage.StorageError, KeyError, TypeError, ValueError):
            return None  # damaged: it is done again

    def put(self, what: str, place: int, result: "Summary | Predicted") -> None:
        """Keep what a chunk came to."""
        path = self._path(what, place)
        if path is not None:
            storage.save(path, KIND, *result.to_record())

    def _path(self, what: str, place: int) -> Path | None:
        return None if self.folder is None else self.folder / f"{what}-{place:06d}"

    def remove(self) -> None:
        """Remove what has served."""
        if self.folder is not None:
            with contextlib.suppress(OSError):
                shutil.rmtree(self.folder.parent)
