"""The command line. What a command needs is imported when it runs, so that help is quick."""

import sys
from typing import Annotated

import click
import typer

from onward.cli import reproduce

app = typer.Typer(
    name="onward",
    help="Online linear regression and linear bandits, with guarantees that hold at every round.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("reproduce", epilog=reproduce.EXAMPLES)(reproduce.command)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"onward {version('onward')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="On an error, show where it came from.")] = False,
) -> None:
    _State.debug = debug


INTERRUPTED = 130  # what shells say of a program that was stopped by Ctrl-C


class _State:
    debug = False


def main() -> None:
    """Run a command: 0 if it went well, 1 if it failed, 2 if it was called wrongly; errors are one line."""
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (ValueError, OSError) as error:
        if _State.debug:
            raise
        typer.echo(f"onward: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
    if code == INTERRUPTED:
        typer.echo("onward: stopped; started again with the same settings, it goes on where it was", err=True)
    sys.exit(code if isinstance(code, int) else 0)
