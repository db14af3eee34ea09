"""`onward serve`: decisions and predictions over HTTP."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from onward.core.extras import missing_extra

EXAMPLES = """Examples:

onward serve --database sqlite:///log.db --listen 127.0.0.1:8000

onward serve --database postgresql://onward@db/onward --config serve.toml"""

# As in onward.service.server_settings, which help must not wait for.
LogLevel = Literal["debug", "info", "warning", "error"]


def command(
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            metavar="URL",
            envvar="ONWARD_DATABASE",
            help="Where the log is: sqlite:///path, or postgresql://user@host/name for several servers.",
            show_default="sqlite:///onward.db",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Where to listen. Without tokens in the database, this machine's own addresses only.",
            show_default="127.0.0.1:8000",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="TOML with these options (database, listen, log_level), and tables: limits, and loops.NAME and "
            "models.NAME for what is made at the start.",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            "--log-level",
            help="What is logged, as JSON lines on standard error: from info on, requests.",
            show_default="info",
        ),
    ] = None,
) -> None:
    """Serve decisions and predictions over HTTP, learned from rewards and kept in a database.

    A reward that was acknowledged is never lost: it is in the log, and the state is made of the log. Stopped by
    SIGTERM or Ctrl-C, it finishes what is under way and exits with 0. /docs says what can be asked.
    """
    try:
        from onward.service.server import serve
        from onward.service.server_settings import parse_address, read_settings
    except ModuleNotFoundError as error:
        raise missing_extra("onward serve", error, "serve") from None

    settings = read_settings(config, database=database, listen=listen, log_level=log_level)
    try:
        parse_address(settings.listen)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--listen") from error
    serve(settings)
