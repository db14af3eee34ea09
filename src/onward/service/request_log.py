"""The server's log: a JSON line for each request and each message, without what requests say, ids or tokens."""

import asyncio
import functools
import logging
import sys
import time
import traceback
from typing import TYPE_CHECKING, TextIO

import msgspec

if TYPE_CHECKING:
    from onward.service.routes import Route

_encode = msgspec.json.Encoder().encode
_WAIT = 0.2  # seconds for which lines are gathered: writing each by itself would cost more than a decision


def _moment(seconds: float) -> str:
    whole = int(seconds)
    return f"{_second(whole)}.{int(1000 * (seconds - whole)):03d}Z"


@functools.lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


class JsonLines(logging.Formatter):
    """Messages of libraries and of the server itself as JSON lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        said = {"time": _moment(record.created), "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            said["trace"] = _trace(record.exc_info[1])
        return _encode(said).decode()


def _trace(error: BaseException | None) -> str:
    """Where an error came from: files, lines and its kind, but not its message, which may hold what was sent."""
    if error is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    return " > ".join([f"{each.filename}:{each.lineno} {each.name}" for each in frames] + [type(error).__name__])


class RequestLog:
    """Writes a line for each request, some at a time."""

    def __init__(self, level: int = logging.INFO, file: TextIO | None = None) -> None:
        self._level, self._file = level, file
        self._lines: list[str] = []

    def request(
        self, method: str, route: "Route | None", status: int, seconds: float, loop: str | None, request_id: str
    ) -> None:
        """Note a request that was answered."""
        level = logging.ERROR if status == 500 else logging.INFO
        if level < self._level:
            return
        # Put together by hand: all of these are plain, as methods, routes' paths, checked names and ids are.
        where = "" if route is None else route.path
        name = "" if loop is None else f'"loop":"{loop}",'
        word = "error" if level == logging.ERROR else "info"
        said = method if method.isalpha() and len(method) < 12 else "other"
        self._write(
            f'{{"time":"{_moment(time.time())}","level":"{word}","message":"request","method":"{said}",'
            f'"route":"{where}","status":{status},"ms":{1000 * seconds:.2f},{name}"request_id":"{request_id}"}}\n'
        )

    def failure(self, error: BaseException, request_id: str) -> None:
        """Note an error that nobody foresaw."""
        line = {"time": _moment(time.time()), "level": "error", "message": "unexpected error", "trace": _trace(error)}
        self._write(_encode(line | {"request_id": request_id}).decode() + "\n")

    def warn(self, message: str, request_id: str) -> None:
        """Note what is wrong here, which whoever asked is not told in full."""
        line = {"time": _moment(time.time()), "level": "warning", "message": message, "request_id": request_id}
        self._write(_encode(line).decode() + "\n")

    def _write(self, line: str) -> None:
        self._lines.append(line)
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_later(_WAIT, self.flush)
        elif len(self._lines) > 2000:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        lines, self._lines = self._lines, []
        if lines:
            file = self._file or sys.stderr
            file.write("".join(lines))
            file.flush()
