"""`onward explore`: a page to play with, opened in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from onward.cli.terminal import say

EXAMPLES = """Examples:

onward explore

onward explore --out explorer.html --no-browser"""


def command(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where to write the page.",
            show_default="explorer.html in a new temporary folder",
        ),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Write the page, and open nothing.")] = False,
) -> None:
    """Open the explorer: one page to play with ridge and forward, noise and λ, tests that are peeked at, and arms.

    The page is one file that needs neither a server nor a network. What is on show stands in its address, and each part
    can be copied as Python that gives the same numbers.
    """
    import tempfile
    import webbrowser

    from onward.atomic_files import write_atomically
    from onward.explorer import explorer_page

    path = Path(tempfile.mkdtemp(prefix="onward-")) / "explorer.html" if out is None else out
    write_atomically(path, explorer_page().encode())
    opened = not no_browser and webbrowser.open(path.resolve().as_uri())
    say(f"{path}" if opened or no_browser else f"{path}: no browser was found; open this file in one")
