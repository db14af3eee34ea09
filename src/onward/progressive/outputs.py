"""Files that will be written: an error now, rather than after an hour, if one cannot be or would destroy something."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from onward.tables.sources import Format, Source, described_by_name, files_of

Output = str | os.PathLike[str] | None


def check_outputs(
    sources: Source | Sequence[Source], outputs: Mapping[str, Output], format: Format | None = None
) -> None:
    """OSError or ValueError if an output (by what it is called) cannot be written, or is an input or another output."""
    given = {name: Path(path) for name, path in outputs.items() if path is not None}
    for path in given.values():
        check_target(path)
    taken: dict[Path, str] = {}
    for name, path in given.items():
        place = path.resolve()
        if place in taken:
            raise ValueError(f"{name} and {taken[place]} are both {path}: expected different files")
        taken[place] = name
    inputs = {file.path.resolve() for file in files_of(sources, format) if file.path is not None}
    if not inputs:  # standard input, or data frames
        return
    several = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    folders = [Path(each).resolve() for each in several if Path(each).is_dir()]
    for name, path in given.items():
        if path.resolve() in inputs:
            raise ValueError(f"{name} is {path}, which is read: expected another file")
        inside = any(folder in path.resolve().parents for folder in folders)
        if inside and described_by_name(path) is not None:
            raise ValueError(f"{name} is {path}, in a folder that is read: the next run would take it for data")


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
