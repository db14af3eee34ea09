"""The command line. What a command needs is imported when it runs, so that help is quick."""

import contextlib
import io
import os
import signal
import sys
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from onward.cli import (
    compare_command,
    evaluate_command,
    explore_command,
    export_command,
    fit_command,
    merge_command,
    predict_command,
    reproduce_command,
    score_command,
    serve_command,
    service_command,
    show_command,
    simulate_command,
    simulate_traffic_command,
    warm_up_command,
)
from onward.cli.terminal import say
from onward.core.extras import MissingExtraError
from onward.core.shown import printable_lines
from onward.core.stopping import SIGNALS, StoppedError, forget_signals, raise_stop, unheeded


def _without_types(params: list[Any]) -> list[Any]:
    """Parameters whose flags are shown without a type: they take no value."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


def _paragraphs(text: str | None) -> str:
    """A docstring with each paragraph in one line: a terminal breaks it where it ends."""
    return "\n\n".join(" ".join(each.split()) for each in (text or "").split("\n\n"))


app = typer.Typer(
    name="onward",
    cls=_Group,
    help="Online linear regression and linear bandits, with guarantees that hold at every round.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, module in (
    ("fit", fit_command),
    ("compare", compare_command),
    ("predict", predict_command),
    ("score", score_command),
    ("show", show_command),
    ("export", export_command),
    ("merge", merge_command),
    ("evaluate", evaluate_command),
    ("simulate", simulate_command),
    ("simulate-traffic", simulate_traffic_command),
    ("serve", serve_command),
    ("reproduce", reproduce_command),
    ("explore", explore_command),
    ("warm-up", warm_up_command),
):
    app.command(name, cls=_Command, help=_paragraphs(module.command.__doc__), epilog=module.EXAMPLES)(module.command)

_service = typer.Typer(cls=_Group, help=service_command.HELP, no_args_is_help=True)
_tokens = typer.Typer(cls=_Group, help="Tokens of those who may call the service.", no_args_is_help=True)
for group, commands in ((_service, service_command.COMMANDS), (_tokens, service_command.TOKEN_COMMANDS)):
    for name, (function, example) in commands.items():
        epilog = f"Example:\n\n{example}"
        group.command(name, cls=_Command, help=_paragraphs(function.__doc__), epilog=epilog)(function)
_service.add_typer(_tokens, name="tokens")
app.add_typer(_service, name="service")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"onward {version('onward')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="On an error, show where it came from.")] = False,
) -> None:
    """Options of all commands; --debug is taken out by `main`, so that it may stand anywhere."""


# typer has it from click, or from its own copy of click.
_UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])
# Read by libraries when they are loaded. The matrices are small: threads would wait for each other longer than they
# work. Arrow's own allocator keeps some 25 MB more than the system's.
_SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


def _end_in_order() -> None:
    """Let SIGTERM and SIGHUP end the program as Ctrl-C does: services are stopped so, and terminals closed."""
    forget_signals()
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(ValueError):  # in a thread, where signals cannot be seen to
                signal.signal(number, raise_stop)


def main() -> None:
    """Run a command: 0 if it went well, 1 if it failed, 2 if it was called wrongly; errors are one line."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # λ, where the terminal knows no Greek
    _end_in_order()
    debug = "--debug" in sys.argv[1:]
    sys.argv[1:] = [each for each in sys.argv[1:] if each != "--debug"]
    try:
        code = app(standalone_mode=False)
        if code == 128 + signal.SIGINT:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
    except StoppedError as stopped:
        say(f"onward: stopped{stopped.saying or _going_on(sys.argv[1:])}", err=True)
        sys.exit(128 + stopped.number)
    except (KeyboardInterrupt, typer.Abort):
        say(f"onward: stopped{_going_on(sys.argv[1:])}", err=True)
        sys.exit(128 + signal.SIGINT)
    except _UsageError as error:
        _show(error)
        sys.exit(2)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        number = unheeded()
        if number is not None:  # what was interrupted made an error of it
            say("onward: stopped", err=True)
            sys.exit(128 + number)
        if debug:
            raise
        say(f"onward: {_line(error)}", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _show(error: BaseException) -> None:
    show = getattr(error, "show", None)
    if isinstance(message := getattr(error, "message", None), str):
        error.message = printable_lines(message)  # type: ignore[attr-defined]
    if callable(show):
        show()


def _going_on(arguments: list[str]) -> str:
    """What a command that was stopped can be told to do."""
    if arguments[:1] == ["reproduce"]:
        return "; started again with the same settings, it goes on where it was"
    if arguments[:1] == ["fit"] and any(each.startswith("--checkpoint-every") for each in arguments):
        return "; with --resume it goes on from the last checkpoint"
    return ""


def _line(error: Exception) -> str:
    """The error in one line; what nobody foresaw says so."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, ValueError | OSError | MissingExtraError):
        return text
    return f"unexpected {type(error).__name__}: {text}; --debug shows where it came from"
