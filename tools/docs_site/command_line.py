"""The page of the command line, made of the typer app."""

import re
from typing import Any

import typer

BAR = "\\|"


def command_line_page() -> str:
    """Every command with its arguments, options and examples, as Markdown."""
    from onward.cli import app

    group: Any = typer.main.get_command(app)
    text = f"# The command line\n\n{group.help}\n\n`onward COMMAND --help` says the same on a terminal.\n"
    rows = "".join(
        f"| [`{path}`](#{_anchor(path)}) | {_sentence(command)} |\n" for path, command in _commands(group, "onward")
    )
    text += f"\n| command | |\n|---|---|\n{rows}"
    return text + "".join(_section(path, command) for path, command in _commands(group, "onward"))


def _commands(group: Any, path: str) -> list[tuple[str, Any]]:
    found = []
    for name, command in group.commands.items():
        here = f"{path} {name}"
        found += _commands(command, here) if hasattr(command, "commands") else [(here, command)]
    return found


def _anchor(path: str) -> str:
    return path.replace(" ", "-")


def _sentence(command: Any) -> str:
    return _cell((command.help or "").split("\n\n")[0])


def _cell(text: str) -> str:
    """A text that stays in its cell, where stars, angles, bars and the hyphens of options mean themselves."""
    words = " ".join(text.split())
    for sign in "\\*|<>[]_":
        words = words.replace(sign, f"\\{sign}")
    return re.sub(r"(?<![\w`-])--[a-z][a-z-]*", r"`\g<0>`", words)


def _section(path: str, command: Any) -> str:
    context = typer.Context(command, info_name=path)
    text = f"\n## {path}\n\n" + "\n\n".join(_cell(each) for each in (command.help or "").split("\n\n")) + "\n\n"
    pieces = " ".join(command.collect_usage_pieces(context))
    text += f"```text\n{path} {pieces}\n```\n"
    groups: dict[str, list[Any]] = {}
    for parameter in command.get_params(context):
        default = "Arguments" if parameter.param_type_name == "argument" else "Options"
        groups.setdefault(getattr(parameter, "rich_help_panel", None) or default, []).append(parameter)
    for title, parameters in groups.items():
        text += f"\n**{title}**\n\n| | |\n|---|---|\n"
        text += "".join(_row(parameter, context) for parameter in parameters)
    examples = (command.epilog or "").partition("\n\n")[2].replace("\n\n", "\n")
    return text + (f"\n```sh\n{examples}\n```\n" if examples else "")


def _row(parameter: Any, context: Any) -> str:
    """A line of a table: what typer itself says of a parameter, which is the same in all its versions."""
    names, said = parameter.get_help_record(context)
    names = re.sub(r"<list\[(.+)\]>", r"<\1>", names)
    parts = [f"`{part}`" for part in names.strip("[]{}").split(", ")]
    return f"| {', '.join(parts).replace('|', BAR)} | {_cell(said)} |\n"
