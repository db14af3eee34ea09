"""Which files are meant by a path, a pattern, a folder, or several of these, and in which order."""

import glob
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from onward.core.checks import is_iterable
from onward.core.shown import came
from onward.tables.errors import DataError
from onward.tables.table import Format

STANDARD_INPUT = "-"

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".feather": "ipc",
}
TO_FRAME = "; polars.DataFrame makes a data frame of it"  # what may help with records or columns that are none
_COMPRESSED: dict[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}

Source = str | os.PathLike[str] | Any
"""A path, a pattern, a folder, "-" for standard input; or a data frame of any library that narwhals knows."""


@dataclass(frozen=True)
class File:
    """A file to read; `path` is None for standard input, whose format may be left to its first byte (None)."""

    path: Path | None
    format: Format | None
    compression: Literal["gzip", "zstd"] | None = None

    @property
    def name(self) -> str:
        """As a person would call it."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def comes_once(self) -> bool:
        """Whether it cannot be read again: standard input, and pipes that have a name."""
        return not isinstance(self, Frame) and (self.path is None or (self.path.exists() and not self.path.is_file()))

    @property
    def size(self) -> int | None:
        """Bytes on disk; None for what comes once, 0 for a file that is gone."""
        if self.path is None or self.comes_once:
            return None
        try:
            return self.path.stat().st_size
        except OSError:
            return 0


@dataclass(frozen=True, eq=False)
class Frame(File):
    """A data frame in memory, in the place of a file; `number` counts those that are read together."""

    frame: Any = None
    number: int = 1

    @property
    def name(self) -> str:
        """As a person would call it."""
        return f"data frame {self.number}"

    @property
    def size(self) -> int:
        """Bytes of its numbers, about."""
        rows, columns = self.frame.shape
        return 8 * int(rows) * int(columns)


def name_files(files: Sequence[File]) -> str:
    """Files as a person would name them together."""
    return files[0].name if len(files) == 1 else f"{files[0].name} … {files[-1].name} ({len(files)} files)"


def find_files(source: Source | Sequence[Source], format: Format | None = None) -> list[File]:
    """The files that are meant, in order: as given, and by name within a pattern or a folder.

    Names are ordered as people count: part-2 comes before part-10. Hidden files, and those whose names begin with an
    underscore, are left out of patterns and folders; so are files of a folder whose endings say nothing to us.

    Args:
        source: a file, pattern, folder or data frame, or several; "-" is standard input.
        format: of the files; None for what their names say.

    Returns:
        The files.

    Raises:
        ValueError: if there is none, or if files, data frames and standard input come together.
        DataError: if one is not there, is given twice, or its name says no format.
        TypeError: if it is no file and no data frame.

    Example:
        >>> from pathlib import Path
        >>> from onward.tables import find_files
        >>> for name in ("part-10.csv", "part-2.csv"):
        ...     _ = Path(name).write_text("x,y")
        >>> [file.path.name for file in find_files("part-*.csv")]
        ['part-2.csv', 'part-10.csv']
    """
    if isinstance(source, bytes) or not (
        isinstance(source, str | os.PathLike) or _is_frame(source) or is_iterable(source)
    ):
        raise TypeError(f"expected files or data frames, got {came(source)}")
    if isinstance(source, Mapping):  # whose keys would be taken for names of files
        raise TypeError(f"expected files or data frames, got {came(source)}{TO_FRAME}")
    sources: list[Any] = [source] if isinstance(source, str | os.PathLike) or _is_frame(source) else list(source)
    if not sources:
        raise ValueError("expected at least one file, got none")
    for each in sources:
        if isinstance(each, bytes) or not (isinstance(each, str | os.PathLike) or _is_frame(each)):
            more = TO_FRAME if isinstance(each, Mapping) or hasattr(source, "__array__") else ""
            raise TypeError(f"expected files or data frames, got {came(source if more else each)}{more}")
    if any(_is_frame(each) for each in sources):
        if not all(_is_frame(each) for each in sources):
            raise ValueError("data frames cannot be read together with files")
        return [Frame(None, None, frame=frame, number=place) for place, frame in enumerate(sources, start=1)]
    if STANDARD_INPUT in map(str, sources):
        if len(sources) > 1:
            raise ValueError("standard input (-) cannot be read together with files")
        if format in ("parquet", "ipc"):
            raise ValueError(f"standard input is read as csv, tsv or jsonl, not as {format}")
        return [File(None, format)]
    files = [file for each in sources for file in _expand_source(os.fspath(each), format)]
    seen: set[Path] = set()
    for file in files:
        place = file.path.resolve() if file.path is not None else Path()
        if place in seen:
            raise DataError(f"{file.name}: given more than once; its rows would be learned twice")
        seen.add(place)
    return files


def _is_frame(source: object) -> bool:
    return hasattr(source, "shape") and (hasattr(source, "columns") or hasattr(source, "column_names"))


def _expand_source(source: str, format: Format | None) -> list[File]:
    path = Path(source)
    if path.is_dir():
        found = [each for each in path.rglob("*") if each.is_file() and not _hidden(each.relative_to(path))]
        known = [each for each in found if format or described_by_name(each)]
        if not known:
            raise DataError(f"{source}: the folder holds no file that ends in {_endings()}")
        return [_file(each, format) for each in sorted(known, key=_as_counted)]
    if path.exists():
        return [_file(path, format)]
    if glob.has_magic(source):
        found = [each for each in map(Path, glob.glob(source, recursive=True)) if each.is_file()]
        if not path.name.startswith("_"):
            found = [each for each in found if not _hidden(Path(each.name))]
        if not found:
            raise DataError(f"{source}: no file fits this pattern")
        return [_file(each, format) for each in sorted(found, key=_as_counted)]
    raise DataError(f"{source}: there is no such file or folder")


def _file(path: Path, format: Format | None) -> File:
    compression = _COMPRESSED.get(path.suffix.lower())
    described = format or described_by_name(path)
    if described is None:
        raise DataError(
            f"{path}: cannot tell its format from its name; say which it is (--format csv), "
            f"or let it end in {_endings()}"
        )
    if compression and described in ("parquet", "ipc"):
        raise DataError(f"{path}: {described} is compressed inside; expected a file without {path.suffix}")
    return File(path, described, compression)


def described_by_name(path: Path) -> Format | None:
    """The format that a file's name speaks of, if any."""
    if path.suffix.lower() in _COMPRESSED:
        path = path.with_suffix("")
    return _SUFFIXES.get(path.suffix.lower())


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _as_counted(path: Path) -> list[tuple[int, int, str]]:
    """A key that puts part-2 before part-10; equal numbers by how they are written."""
    pieces = re.split(r"(\d+)", str(path))
    return [(1, int(piece), piece) if piece.isdecimal() else (0, 0, piece) for piece in pieces]


def _endings() -> str:
    return ", ".join(_SUFFIXES) + " (csv, tsv and jsonl also with .gz or .zst)"
