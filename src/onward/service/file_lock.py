"""A lock beside a file, so that one server works on it."""

import fcntl
import os
from pathlib import Path

from onward.service.store_errors import StoreError


class FileLock:
    """The right to serve from a database file; it ends with the process, however that ends."""

    def __init__(self, path: Path) -> None:
        path = path.resolve()  # a link to the file is the same file
        self._file = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 20).decode() or "unknown"
            os.close(self._file)
            raise StoreError(
                f"the database {path} is served already, by process {holder}: expected one server for a file of "
                "SQLite; for several, use PostgreSQL"
            ) from error
        os.truncate(self._file, 0)
        os.write(self._file, str(os.getpid()).encode())

    def release(self) -> None:
        """Let another have it."""
        os.close(self._file)
