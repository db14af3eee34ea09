"""What is written to a terminal. Names come from data: what a terminal would obey in them is shown as an escape."""

import codecs
import functools
import io
import sys
from typing import IO, TYPE_CHECKING, Any

import typer

from onward.core.shown import printable_lines

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """A line, or several, to standard output or standard error."""
    typer.echo(printable_lines(text), err=err, nl=nl)


def data_output() -> IO[bytes]:
    """Standard output for data, which stay as they are in files and pipes; a terminal is shown escapes."""
    return _Escaping(sys.stdout.buffer) if sys.stdout.isatty() else sys.stdout.buffer


class _Escaping(io.BytesIO):
    """Passes text on, with what a terminal would obey as escapes."""

    def __init__(self, out: IO[bytes]) -> None:
        super().__init__()
        self._out, self._decoder = out, codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> int:
        """Write UTF-8 text; a letter may come in two parts."""
        self._out.write(printable_lines(self._decoder.decode(bytes(data))).encode())
        return len(data)

    def flush(self) -> None:
        """Let everything be seen."""
        self._out.flush()


def console() -> "Console":
    """Standard output; wide enough elsewhere than on a terminal that nothing is cut off."""
    made: Console = _console_type()() if sys.stdout.isatty() else _console_type()(width=120, soft_wrap=True)
    return made


@functools.cache
def _console_type() -> Any:
    from rich.console import Console
    from rich.text import Text

    class PlainConsole(Console):
        """Takes every text as it is: neither markup nor emoji of rich, nor anything that a terminal obeys."""

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(printable_lines(text), **(options | {"markup": False, "emoji": False}))

    return PlainConsole
