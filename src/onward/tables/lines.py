"""Text files as chunks of whole lines, some megabytes at a time: from disk, compressed, or as they arrive."""

import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from onward.tables.errors import DataError
from onward.tables.sources import File

CHUNK = 1 << 22  # bytes: long enough to forget the overhead of a chunk, short enough for a small memory
LONGEST = 1 << 27  # bytes of one record: more than any real one, so a quote must be open


@dataclass(frozen=True)
class Chunk:
    """Whole lines, where they start in the file (bytes), and how many lines stand before them."""

    data: bytes
    start: int
    line: int


class Bytes(Protocol):
    """What text is read from."""

    def read(self, size: int) -> bytes:
        """At least one byte and at most `size`; none at the end."""

    def close(self) -> None:
        """Let go of it."""


class _Arriving:
    """Standard input: whatever has arrived, so that a row is not kept waiting for the next ones."""

    def __init__(self) -> None:
        # A test, or a caller in Python, may have put something else in the place of standard input.
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise DataError("standard input: cannot be read as bytes")
        self._stream = stream
        try:
            self._descriptor: int | None = stream.fileno()
        except (AttributeError, OSError, io.UnsupportedOperation):
            self._descriptor = None

    def read(self, size: int) -> bytes:
        if self._descriptor is None:
            return bytes(self._stream.read(size))
        parts = [os.read(self._descriptor, size)]
        total = len(parts[0])
        while parts[-1] and total < size and _is_ready(self._descriptor):
            parts.append(os.read(self._descriptor, size - total))
            total += len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        pass


class _Compressed:
    def __init__(self, file: File) -> None:
        self._raw = pa.OSFile(str(file.path))
        self._stream = pa.CompressedInputStream(self._raw, file.compression)

    def read(self, size: int) -> bytes:
        return bytes(self._stream.read(size))

    @property
    def done(self) -> int:
        """Bytes of the compressed file that were read."""
        return int(self._raw.tell())

    def close(self) -> None:
        self._stream.close()
        self._raw.close()


class TextFile:
    """A text file that is read once, from the start or from a line's first byte.

    `seeks` says whether it can be read from the middle. The first chunk can be looked at before reading.
    """

    def __init__(self, file: File) -> None:
        self.file = file
        self.seeks = file.path is not None and file.compression is None
        self._source = self._open()
        self._done = 0
        self._first: bytes | None = None

    def _open(self) -> Bytes:
        file = self.file
        if file.path is None:
            return _Arriving()
        try:
            return open(file.path, "rb", buffering=0) if file.compression is None else _Compressed(file)
        except OSError as error:
            raise DataError(f"{file.name}: cannot be opened ({_reason(error)})") from error

    @property
    def done(self) -> int:
        """Bytes on disk that were read so far; of standard input, bytes that came."""
        return self._source.done if isinstance(self._source, _Compressed) else self._done

    def head(self) -> bytes:
        """The first bytes, as many as one reading gives, without the mark that some programs put before UTF-8."""
        if self._first is None:
            self._first = self._read()
            if self._first.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise DataError(f"{self.file.name}: the text is UTF-16, expected UTF-8")
            if self._first.startswith(b"PAR1") or b"\x00" in self._first[:4096]:
                raise DataError(f"{self.file.name}: expected text, got a binary file")
        return self._first

    def more_head(self) -> bytes:
        """`head`, with one more reading if there is any."""
        self._first = self.head() + self._read()
        return self._first

    def _read(self) -> bytes:
        try:
            data = self._source.read(CHUNK)
        except OSError as error:
            raise DataError(f"{self.file.name}: cannot be read ({_reason(error)})") from error
        self._done += len(data)
        return data

    def chunks(self, start: int, cut: Callable[[bytes], int]) -> Iterator[Chunk]:
        """The file from byte `start` on, where a line begins.

        `cut(data)` says how many bytes from the start of `data` are whole records; 0 if none is complete.
        """
        rest, line = b"", 0
        if self.seeks:
            self._seek(start)
            data = self._read()
        else:
            data, skip = self.head(), start
            while len(data) <= skip:
                skip -= len(data)
                line += data.count(b"\n")
                data = self._read()
                if not data:
                    return
            line += data.count(b"\n", 0, skip)
            data = data[skip:]
        while data:
            whole = rest + data if rest else data
            length = cut(whole)
            if length:
                yield Chunk(whole[:length], start, line)
                start += length
                if not self.seeks:
                    line += whole.count(b"\n", 0, length)
            elif len(whole) > LONGEST:
                raise DataError(
                    f"{self.file.name}: a record is longer than {LONGEST >> 20} MB; is a quote left open, or is this "
                    "not a text file with a record on each line?"
                )
            rest = whole[length:]
            data = self._read()
        if rest.strip():
            yield Chunk(rest, start, line)

    def _seek(self, start: int) -> None:
        if isinstance(self._source, io.RawIOBase):
            self._source.seek(start)
            self._done = start

    def lines_before(self, chunk: Chunk) -> int:
        """How many lines stand before a chunk. Counted when it is asked for: only an error needs it."""
        if not self.seeks or self.file.path is None:
            return chunk.line
        lines, left = 0, chunk.start
        with open(self.file.path, "rb") as file:
            while left > 0 and (data := file.read(min(CHUNK, left))):
                lines += data.count(b"\n")
                left -= len(data)
        return lines

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


def _is_ready(descriptor: int) -> bool:
    """Whether there is more to read without waiting."""
    return os.name == "posix" and bool(select.select([descriptor], [], [], 0)[0])


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
