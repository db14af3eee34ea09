"""Which class a policy in a file is of, and with which arguments it is made again."""

import inspect
from collections.abc import Mapping
from functools import wraps
from typing import Any

import numpy as np

from onward.bandits.design import from_plain, part_from_plain, plain_part

_LIBRARY = "onward."
_classes: dict[str, type[Any]] = {}


def register(cls: type[Any]) -> None:
    """Know a class by its name in files. A class of the same name in the same module takes its place."""
    _classes[class_name(cls)] = cls


def is_own(cls: type[Any]) -> bool:
    """Whether a class is of this library."""
    return cls.__module__.startswith(_LIBRARY)


def class_name(cls: type[Any]) -> str:
    """The name of a class in files: that alone for those of this library, with the module for all others."""
    return cls.__name__ if is_own(cls) else f"{cls.__module__}.{cls.__qualname__}"


def find_class(name: str) -> type[Any]:
    """The class of that name, or ValueError."""
    if name in _classes:
        return _classes[name]
    if "." not in name:  # earlier files: a user's class by its name alone
        alike = [cls for cls in _classes.values() if cls.__name__ == name]
        if len(alike) == 1:
            return alike[0]
    raise ValueError(f"made by the class {name}, which is not known here: expected it to be imported or defined first")


# Arguments of a user's classes


def is_parameter(policy: Any, name: str) -> bool:
    """Whether a policy that is made has a parameter of that name; a user's class may still set its own for once."""
    inherited: Any = next(each for each in type(policy).__mro__ if is_own(each) and "parameters" in vars(each))
    if name in inherited.parameters.fget(policy):
        return True
    return name in policy.__dict__ and name in (policy.parameters if policy._arguments is None else policy._arguments)


def note_arguments(cls: type[Any]) -> None:
    """Let a user's class note with which arguments it is made: with them it is made again when a file is loaded."""
    init = vars(cls).get("__init__")
    if init is None or is_own(cls):
        return

    @wraps(init)
    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        if "_arguments" not in self.__dict__:  # not a base class of what is made
            self._arguments = _own_arguments(self, args, kwargs)
        init(self, *args, **kwargs)

    cls.__init__ = noting


def _own_arguments(policy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """With which arguments a user's class was called, by name; None if its `parameters` say what to make it of."""
    cls = type(policy)
    makes = _first_with(cls, "__init__")
    if is_own(makes):
        return None
    tells = _first_with(cls, "parameters")
    if not is_own(tells) and issubclass(tells, makes):
        return None
    try:
        bound = inspect.signature(makes.__init__).bind(policy, *args, **kwargs)
    except TypeError:
        return None  # its `__init__` says what is wrong
    kinds = {parameter.kind for parameter in bound.signature.parameters.values()}
    if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY} & kinds:
        return {"*": list(bound.args[1:]), **bound.kwargs}
    named: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        collects = bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        named |= value if collects else {name: value}
    return named


def plain_arguments(policy: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as plain values, without the seed, as files hold what became of it; ValueError if one is not plain."""
    return {name: _plain(policy, name, value) for name, value in arguments.items() if name != "seed"}


def _plain(policy: Any, name: str, value: Any) -> Any:
    part = plain_part(value)
    if part is not None:
        return part
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(policy, name, each) for each in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(policy, name, each) for key, each in value.items()}
    raise ValueError(
        f"cannot describe {type(policy).__name__}: its argument {name}={value!r} is no plain value (a number, text, "
        "None, a list or dict of these, an array, a memory, a rule or Known). Give it a property `parameters` with "
        "plain values that make it again"
    )


def make_policy(description: Mapping[str, Any]) -> Any:
    """A policy of the class and the arguments in a description."""
    given = dict(description)
    cls = find_class(given.pop("policy"))
    if "arguments" not in given:
        return cls(**from_plain(given))
    arguments = {name: _value(value) for name, value in given["arguments"].items()}
    policy = cls(*arguments.pop("*", ()), **arguments)
    if policy.design.plain() != given["design"]:
        raise ValueError(
            f"{cls.__name__} made of another design than the one in the file: got {policy.design.plain()}, "
            f"expected {given['design']}"
        )
    return policy


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(each) for each in value]
    if isinstance(value, dict):
        part = part_from_plain(value)
        return {key: _value(each) for key, each in value.items()} if part is None else part
    return value


def _first_with(cls: type[Any], name: str) -> type[Any]:
    """The class of the family that defines a name."""
    return next(each for each in cls.__mro__ if name in vars(each))
