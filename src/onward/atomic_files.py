"""Files that are written wholly or not at all: beside the old one first, which stays until the new one is on disk."""

import contextlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_OLD = 86_400.0  # seconds after which nobody writes to a temporary file any more


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file beside `path` to write to. It takes its name once it is on disk; after an error nothing is left of it."""
    target = Path(path).resolve()  # a link stays a link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot save to {path}: the folder {target.parent} does not exist")
    _clear_left_over(target)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.strerror:  # a full disk, say: of which file, the system does not tell
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    _sync_folder(target.parent)


def _clear_left_over(target: Path) -> None:
    """Remove what a process that was killed left beside the file: ours by name and owner, and older than a day."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.tmp")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name):
                with contextlib.suppress(OSError):  # another process may have been quicker
                    about = entry.stat(follow_symlinks=False)
                    own = stat.S_ISREG(about.st_mode) and (not hasattr(os, "geteuid") or about.st_uid == os.geteuid())
                    if own and about.st_mtime < time.time() - _OLD:
                        os.unlink(entry.path)


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file wholly or not at all: an earlier one at `path` stays until the new one is on disk."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def _mode(target: Path) -> int:
    """The permissions that the file has, or that a new file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets folders be opened."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
