"""The server's settings: a TOML file, over which the command line goes.

database = "sqlite:///log.db"
listen = "127.0.0.1:8000"
log_level = "info"
retain = "90d"

[limits]
actions = 100
rate = 500

[loops.news]
policy = {name = "LinTS", seed = 7}
reward = {wait = "2h", default = 0}

[models.prices]
learner = "ridge"
"""

import tomllib
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from onward.service.closed_values import validation_message
from onward.service.configuration import LoopConfig, ModelConfig, Span
from onward.service.limits import Limits
from onward.service.loop_checks import check_retain
from onward.service.request_errors import RequestError

LogLevel = Literal["debug", "info", "warning", "error"]


class ServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a server is told."""

    database: str = "sqlite:///onward.db"
    listen: str = "127.0.0.1:8000"
    log_level: LogLevel = "info"
    stop_seconds: Annotated[float, msgspec.Meta(ge=0.0, le=3600.0)] = 10.0
    """So long may requests take that are under way when the server is told to stop."""
    retain: Span | None = None
    """For how long entries of the log are kept, of loops and models that do not say themselves; null: for ever."""
    limits: Limits = Limits()
    loops: dict[str, LoopConfig] = {}
    """Loops that are made at the start, unless they are there already."""
    models: dict[str, ModelConfig] = {}


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int


def read_settings(path: Path | None, **over: str | None) -> ServerSettings:
    """The settings of a file, if there is one, under what was given by name."""
    given = {}
    if path is not None:
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: expected TOML: {error}") from error
    given |= {name: value for name, value in over.items() if value is not None}
    try:
        settings = msgspec.convert(given, ServerSettings)
    except msgspec.ValidationError as error:
        said, place = validation_message(error, ServerSettings)
        raise ValueError(f"{path}: {said}{f' ({place})' if place else ''}".removeprefix("None: ")) from error
    try:
        check_retain(settings.retain)
    except RequestError as error:
        raise ValueError(f"{path}: {error} (retain)") from error
    both = sorted({*settings.loops} & {*settings.models})
    if both:
        raise ValueError(f"{path}: expected each name once, got {both[0]!r} as a loop and as a model")
    return settings


def parse_address(text: str) -> Address:
    """HOST:PORT; an address of IPv6 stands in brackets."""
    host, found, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (found and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError(f"expected HOST:PORT as the address to listen on, such as 127.0.0.1:8000, got {text!r}")
    return Address(host, int(port))
