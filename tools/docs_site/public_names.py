"""What is public: the names in `__all__` of the public modules, each with the page that describes it."""

import importlib
import inspect
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

MODULES = (
    "onward",
    "onward.regression",
    "onward.bandits",
    "onward.bandits.environments",
    "onward.bandits.structured_worlds",
    "onward.bandits.graphs",
    "onward.confidence",
    "onward.bounds",
    "onward.tables",
    "onward.progressive",
    "onward.scale",
    "onward.experiments",
    "onward.service",
    "onward.ledger",
    "onward.storage",
    "onward.core",
    "onward.integrations.river",
    "onward.integrations.gymnasium",
)
Kind = Literal["class", "exception", "function", "data", "module"]


@dataclass(frozen=True)
class PublicName:
    """A name of a public module. `home` is the module that it is described under: the first of `MODULES` with it."""

    module: str
    name: str
    kind: Kind
    home: str

    @property
    def path(self) -> str:
        """Where it is described, as a dotted name."""
        return f"{self.home}.{self.name}"


def exported(module: ModuleType) -> list[str]:
    """The public names of a module: its `__all__`, or what it defines without an underscore in front."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name for name, value in vars(module).items() if not name.startswith("_") and _is_defined_in(module, name, value)
    ]


def _is_defined_in(module: ModuleType, name: str, value: Any) -> bool:
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__module__ == module.__name__
    return name.isupper() and isinstance(value, str | bytes | int | tuple | dict) and not isinstance(value, bool)


def kind_of(value: Any) -> Kind:
    """How a value is described."""
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def public_names(modules: tuple[str, ...] = MODULES) -> list[PublicName]:
    """Every public name of the modules, in their order; an object of several modules has one home."""
    homes: dict[tuple[int, str], str] = {}
    found = []
    for path in modules:
        module = importlib.import_module(path)
        for name in sorted(exported(module), key=lambda each: (each.isupper() or each[0].islower(), each.lower())):
            value = getattr(module, name)
            home = homes.setdefault((id(value), name), path)
            found.append(PublicName(path, name, kind_of(value), home))
    return found
