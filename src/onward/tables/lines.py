"""Text files as chunks of whole lines, some megabytes at a time: from disk, compressed, or as they arrive."""

import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from onward.core.stopping import raise_unheeded
from onward.tables.decoding import Decoder
from onward.tables.errors import DataError
from onward.tables.sources import File

CHUNK = 1 << 21  # bytes: long enough to forget the overhead of a chunk, short enough for a small memory
PARSERS = 2  # threads that parse chunks: one cannot keep up with a learner of few features
OPEN_LINES = 100  # of a record that arrives: more than any real one, so a quote must be open
LONGEST = 1 << 23  # bytes of one record: more than any real one, so a quote must be open, or it is a bomb

Cut = Callable[[bytes], int]
"""How many bytes from the start of some text are whole records; 0 if none is complete."""


@dataclass(frozen=True)
class Chunk:
    """Whole lines, where they start in the file (bytes), and how many lines stand before them."""

    data: bytes
    start: int
    line: int


def cut_unless_blank(cut: Cut) -> Cut:
    """The same cut for the first rows of a file, by which it is told what columns hold: blank ones tell nothing."""

    def told(data: bytes) -> int:
        length = cut(data)
        text = data[:length].decode("utf-8", "replace").removeprefix("\ufeff")
        return length if text.replace('"', "").strip() else 0

    return told


def halves(chunk: Chunk, cut: Cut) -> tuple[Chunk, Chunk] | None:
    """A chunk in two, cut between records; None if it is a single one."""
    data, low, high = chunk.data, len(chunk.data) // 2, len(chunk.data)
    length = cut(data[:low])
    if length == 0 and cut(data):  # the first record's end, searched by halves: each cut looks at all before it
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if cut(data[:middle]) else (middle, high)
        length = cut(data[:high])
    if length in (0, len(data)):
        return None
    return Chunk(data[:length], chunk.start, chunk.line), Chunk(
        data[length:], chunk.start + length, chunk.line + data.count(b"\n", 0, length)
    )


class Bytes(Protocol):
    """What text is read from."""

    def read(self, size: int) -> bytes:
        """At least one byte and at most `size`; none at the end."""

    def close(self) -> None:
        """Let go of it."""


class _Arriving:
    """Standard input or a pipe: whatever has arrived, so that a row is not kept waiting for the next ones.

    It is read by its descriptor, never through Python's buffer: a thread that waits in there holds a lock, on which the
    program would break when it ends.
    """

    def __init__(self, descriptor: int, stop: int | None, *, ours: bool) -> None:
        self._descriptor, self._stop, self._ours = descriptor, stop, ours
        self.stopped = False  # by a signal, so that the last line may not be whole
        if stop is None:
            raise_unheeded()

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        total = 0
        while total < size and self.has_more_within(0.0 if parts else None):
            self.stopped = self._stop is not None and bool(select.select([self._stop], [], [], 0.0)[0])
            if self.stopped:
                break
            parts.append(os.read(self._descriptor, size - total))
            total += len(parts[-1])
            if not parts[-1]:
                break
        return b"".join(parts)

    def has_more_within(self, seconds: float | None) -> bool:
        """Whether something comes, or all is said, within that time; None for however long it takes."""
        watched = [self._descriptor] if self._stop is None else [self._descriptor, self._stop]
        return os.name != "posix" or bool(select.select(watched, [], [], seconds)[0])

    def close(self) -> None:
        if self._ours:
            os.close(self._descriptor)


class _Replaced:
    """What stands in the place of standard input and has no descriptor."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        return self._stream.read1(size)

    def close(self) -> None:
        """It is not ours."""


class _Compressed:
    def __init__(self, file: File) -> None:
        import pyarrow as pa  # here, so that plain text does not wait for it

        self._raw = pa.OSFile(str(file.path))
        self._stream = pa.CompressedInputStream(self._raw, file.compression)

    def read(self, size: int) -> bytes:
        return bytes(self._stream.read(size))

    @property
    def done(self) -> int:
        """Bytes of the compressed file that were read."""
        return 0 if self._raw.closed else int(self._raw.tell())

    def close(self) -> None:
        self._stream.close()
        self._raw.close()


class TextFile:
    """A text file that is read once, from the start or from a line's first byte.

    `seeks` says whether it can be read from the middle, `arrives` whether it comes through a pipe. Its first bytes can
    be looked at before reading.
    """

    def __init__(self, file: File, stop: int | None = None, encoding: str | None = None, *, alone: bool = True) -> None:
        """`stop` is a descriptor that becomes readable when no more is to be read of what arrives.

        Text of another encoding than UTF-8 is decoded as it comes, and its bytes are counted as those of UTF-8. If the
        file is read `alone`, its chunks may be parsed by more than one thread (`parsers`); what arrives is not, as a
        row may tell how the next ones are to be read.
        """
        self.file = file
        self._decoder = None if encoding is None else Decoder(file.name, encoding)
        plain = file.path is not None and file.path.is_file()
        self.seeks = plain and file.compression is None and encoding is None
        self.arrives = not plain and file.compression is None
        self.parsers = min(PARSERS, os.cpu_count() or 1) if alone and not self.arrives else 1
        self._source = self._open(stop)
        self._done = 0
        self._first = b""
        self._ended = False
        self._counted = (0, 0)  # bytes before the chunk of the latest error, and the lines in them

    def _open(self, stop: int | None) -> Bytes:
        file = self.file
        if file.path is None:
            stream = getattr(sys.stdin, "buffer", None)
            if stream is None:
                raise DataError("standard input: cannot be read as bytes")
            try:
                return _Arriving(stream.fileno(), stop, ours=False)
            except (AttributeError, OSError):  # a caller in Python may have put something else in its place
                return _Replaced(stream)
        try:
            if file.compression is not None:
                return _Compressed(file)
            if self.arrives:
                # Not to wait here until somebody writes to it: nobody could stop that.
                descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
                os.set_blocking(descriptor, True)
                return _Arriving(descriptor, stop, ours=True)
            return open(file.path, "rb", buffering=0)
        except OSError as error:
            raise DataError(f"{file.name}: cannot be opened ({_reason(error)})") from error

    @property
    def done(self) -> int:
        """Bytes on disk that were read so far; of standard input, bytes that came."""
        return self._source.done if isinstance(self._source, _Compressed) else self._done

    def head(self, cut: Cut, size: int) -> bytes:
        """The file's first bytes: a whole record at least, and `size` bytes if they are there.

        Of what arrives, one whole record is enough: nothing waits for more. Without one, this is all there is.
        """
        while not self._ended and not (len(self._first) >= size and cut(self._first)):
            if isinstance(self._source, _Arriving) and cut(self._first) and not self._source.has_more_within(0.0):
                break
            if len(self._first) > LONGEST:
                raise self._too_long()
            data = self._read()
            self._first += data
            self._ended = not data
            self._check_text()
        return self._first

    def sample(self, cut: Cut, start: int, size: int) -> Chunk:
        """The first rows, by which it is told what columns hold: whole records in `size` bytes from `start` on.

        Where not one is whole, as many as are in twice, four times, … as many bytes; all there is, if none is whole
        there. So it is the same in whatever chunks the file is read.
        """
        told = cut_unless_blank(cut)
        while True:
            first = self.head(lambda data: told(data[start:]), start + size)
            body = first[start:]
            length = told(body[:size])
            if length or len(body) <= size:
                return Chunk(body[: length or len(body)], start, first.count(b"\n", 0, start))
            size *= 2

    def _check_text(self) -> None:
        if self._first.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError(f"{self.file.name}: the text is UTF-16, expected UTF-8; name its encoding (--encoding)")
        if self._first.startswith(b"PAR1") or b"\x00" in self._first[:4096]:
            raise DataError(f"{self.file.name}: expected text, got a binary file")

    def _read(self) -> bytes:
        try:
            data = self._source.read(CHUNK)
        except OSError as error:
            raise DataError(f"{self.file.name}: cannot be read ({_reason(error)})") from error
        self._done += len(data)
        if self._decoder is None:
            return data
        text = self._decoder.decode(data)
        return text if text or not data else self._read()  # a part of a letter is no end

    def chunks(self, start: int, cut: Cut) -> Iterator[Chunk]:
        """The file from byte `start` on, where a line begins; nothing that was looked at before is lost."""
        rest, line = b"", 0
        if isinstance(self._source, io.RawIOBase) and self.seeks:
            data = self._sought(self._source, start)
        else:
            data, self._first, skip = self._first or self._read(), b"", start
            while skip and len(data) <= skip:
                skip -= len(data)
                line += data.count(b"\n")
                data = self._read()
                if skip and not data:
                    raise self._too_short(start)
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
                raise self._too_long()
            rest = whole[length:]
            if self.arrives and rest.count(b"\n") >= OPEN_LINES:  # a quote must be open: nobody waits for its end
                yield Chunk(rest[: rest.rfind(b"\n") + 1], start, line)
                line += rest.count(b"\n", 0, rest.rfind(b"\n") + 1)
                start, rest = start + rest.rfind(b"\n") + 1, rest[rest.rfind(b"\n") + 1 :]
            data = self._read()
        stopped = isinstance(self._source, _Arriving) and self._source.stopped
        if rest.strip(b" \r\n") and not stopped:
            yield Chunk(rest, start, line)

    def _sought(self, source: io.RawIOBase, start: int) -> bytes:
        """The bytes from `start` on, which must be there, after a line's end."""
        try:
            size = source.seek(0, io.SEEK_END)
            if start > size:
                raise self._too_short(start)
            source.seek(max(0, start - 1))
            if start and source.read(1) != b"\n" and start < size:
                raise DataError(f"{self.file.name}: no line begins at byte {start:,}; has the file changed?")
        except OSError as error:
            raise DataError(f"{self.file.name}: cannot be read ({_reason(error)})") from error
        self._done = start
        return self._read()

    def check_nulls(self, chunk: Chunk) -> None:
        """DataError if there is a NUL byte in a chunk, which parsers take for the end of a text, or for nothing."""
        place = chunk.data.find(b"\x00")
        if place >= 0:
            line = self.lines_before(chunk) + chunk.data.count(b"\n", 0, place) + 1
            raise DataError(f"{self.file.name}, line {line}: got a NUL byte, expected text")

    def _too_long(self) -> DataError:
        return DataError(
            f"{self.file.name}: a record is longer than {LONGEST >> 20} MB; is a quote left open, or is this not a "
            "text file with a record on each line?"
        )

    def _too_short(self, start: int) -> DataError:
        return DataError(f"{self.file.name}: expected at least {start:,} bytes to go on; has the file changed?")

    def lines_before(self, chunk: Chunk) -> int:
        """How many lines stand before a chunk. Counted when it is asked for: only an error needs it."""
        if not self.seeks or self.file.path is None:
            return chunk.line
        counted, lines = self._counted if self._counted[0] <= chunk.start else (0, 0)
        left = chunk.start - counted
        with open(self.file.path, "rb") as file:
            file.seek(counted)
            while left > 0 and (data := file.read(min(1 << 22, left))):
                lines += data.count(b"\n")
                left -= len(data)
        self._counted = (chunk.start, lines)
        return lines

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()


def _reason(error: OSError) -> str:
    return error.strerror or (str(error).splitlines() or [type(error).__name__])[0]
