"""What is written to a terminal. Names come from data: what a terminal would obey in them is shown as an escape."""

import functools
import sys
from typing import TYPE_CHECKING, Any

import typer

from onward.core.shown import printable_lines

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """A line, or several, to standard output or standard error."""
    typer.echo(printable_lines(text), err=err, nl=nl)


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
