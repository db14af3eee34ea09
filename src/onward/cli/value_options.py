"""Options of the command line that are made from the fields of a value, such as `Table`: told once, with the value."""

import csv
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import Field, fields
from enum import Enum
from typing import Annotated, Any

import typer

Command = Callable[..., None]


def options_for(
    value: type, name: str, panel: str, *, only: Callable[[Field[Any]], bool] = lambda field: True
) -> Callable[[Command], Command]:
    """Decorator: in the place of the parameter `name`, the command takes an option for each field of a value.

    The fields' metadata hold `flags` and `help`, and may hold `choices`, `metavar`, a function `parse` of the
    text and, for lists, a function `split`.
    The command gets the value, made of what was given; what is wrong with it is a wrong call.
    """
    taken = [field for field in fields(value) if "flags" in field.metadata and only(field)]

    def decorate(command: Command) -> Command:
        def wrapped(**given: Any) -> None:
            with usage():
                made = value(**{field.name: _plain(given.pop(field.name), field) for field in taken})
            command(**given, **{name: made})

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            own = [_parameter(each, panel) for each in taken] if parameter.name == name else [parameter]
            parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__doc__, wrapped.__annotations__ = command.__doc__, {}
        return wrapped

    return decorate


def _parameter(field: Field[Any], panel: str) -> inspect.Parameter:
    about, default = field.metadata, field.default
    kind: Any
    shown: Any = False
    if about.get("choices"):
        kind = _enumeration(field.name, about["choices"])
        default, shown = (kind(default), True) if default is not None else (None, False)
    elif isinstance(default, bool):
        kind, default = bool, False  # a flag; that of a field that is true says no
    elif isinstance(default, int | float):
        kind, shown = type(default), True
    elif _is_list(field) or _is_mapping(field):
        kind, default = list[str], None
    elif "parse" in about:
        kind = str
    else:
        kind = float if "float" in str(field.type) else str
    if default is None:
        kind = kind | None
    option = typer.Option(
        *about["flags"],
        help=about["help"],
        metavar=about.get("metavar"),
        rich_help_panel=panel,
        show_default=shown,
    )
    required = about.get("required", False)
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=Annotated[str if required else kind, option],
    )


def _enumeration(name: str, choices: Sequence[str]) -> Any:
    make: Any = Enum  # of names that are known only now, which a type checker does not follow
    return make(name.capitalize(), {each: each for each in choices}, type=str)


def _is_list(field: Field[Any]) -> bool:
    return "Sequence" in str(field.type)


def _is_mapping(field: Field[Any]) -> bool:
    return "Mapping" in str(field.type)


def _plain(value: Any, field: Field[Any]) -> Any:
    """An option's value as the field has it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool):
        return value != field.default
    if "parse" in field.metadata and value is not None:
        return field.metadata["parse"](value)
    if _is_list(field):
        names = tuple(field.metadata.get("split", split_names)(value))
        return names or field.default
    if _is_mapping(field):
        return dict(_split_pair(each, field.metadata["flags"][0]) for each in split_names(value))
    return value


def split_names(values: list[str] | None) -> list[str]:
    """Names that may come one by one or with commas between them; in double quotes where a comma is part of one."""
    found = []
    for value in values or []:
        found += [each.strip() for each in next(csv.reader([value], skipinitialspace=True)) or [""]]
    return found


def _split_pair(text: str, flag: str) -> tuple[str, str]:
    name, found, value = text.rpartition("=")
    if not found:
        raise typer.BadParameter(f"expected NAME=VALUE, got {text!r}", param_hint=flag)
    return name.strip(), value.strip()


def given_options(context: typer.Context) -> set[str]:
    """The names of the parameters that were given on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


@contextmanager
def usage() -> Iterator[None]:
    """What is wrong with the settings is a wrong call; what is wrong with the data is not."""
    from onward.tables.errors import DataError

    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
