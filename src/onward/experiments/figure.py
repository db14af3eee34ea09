"""What a figure of the paper is: settings, then pieces of work, then results, then claims and drawings."""

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

import polars as pl

import onward
from onward.experiments.claims import Claim
from onward.json_values import to_json_values
from onward.pages.drawing import Drawing


@dataclass(frozen=True)
class Settings:
    """What all figures are told: the seed of everything random, and how often each experiment is repeated."""

    seed: int = 0
    repeats: int = 100


C = TypeVar("C", bound=Settings)


@dataclass(frozen=True)
class Piece:
    """A part of a figure's work: its name, unique and fit for a file, and what to do."""

    name: str
    about: Mapping[str, Any]


class Figure(ABC, Generic[C]):
    """A figure of the paper. The frame of its results is that of all pieces, one below the other."""

    name: ClassVar[str]  # on the command line and of files
    title: ClassVar[str]
    Config: type[C]  # a frozen dataclass: every setting, the paper's by default
    quick_settings: ClassVar[Mapping[str, Any]]  # what a reduced run changes
    repeat_settings: ClassVar[Sequence[str]] = ("repeats",)  # settings that say how often something is repeated
    computing_modules: ClassVar[Sequence[ModuleType]] = ()  # whose code decides what a piece holds, beside its own

    @abstractmethod
    def pieces(self, config: C) -> Sequence[Piece]:
        """The work, cut into pieces that can be done apart and in any order."""

    @abstractmethod
    def compute(self, config: C, piece: Piece) -> pl.DataFrame:
        """The results of one piece."""

    @abstractmethod
    def claims(self, config: C, frame: pl.DataFrame) -> Sequence[Claim]:
        """What the paper says of it, each with a verdict decided by a rule on the frame."""

    @abstractmethod
    def draw(self, config: C, frame: pl.DataFrame) -> Sequence[Drawing]:
        """The drawings, made from the frame alone."""

    def remarks(self, config: C) -> list[str]:
        """What a reader should know of the settings."""
        changed = self.changed_settings(config)
        said = ", ".join(f"{key} = {value}" for key, value in changed.items())
        return [f"Settings other than the full run's: {said}."] if changed else []

    def changed_settings(self, config: C) -> dict[str, Any]:
        """Settings that are not those of the full run."""
        usual = settings_values(self.Config(seed=config.seed))
        return {key: value for key, value in settings_values(config).items() if value != usual[key]}

    def source_files(self) -> list[Path]:
        """The code that decides what a piece holds: not that which decides claims, draws or reports."""
        package = Path(onward.__file__).parent
        files = [
            path for room in ("core", "confidence", "bounds", "bandits") for path in (package / room).rglob("*.py")
        ]
        general = (*Figure.__mro__, *Settings.__mro__)
        classes = [each for each in (*type(self).__mro__, *self.Config.__mro__) if each not in general]
        modules = {*self.computing_modules, *(sys.modules[each.__module__] for each in classes)}
        return sorted(files + [Path(inspect.getfile(module)) for module in modules])


def run(figure: Figure[C], config: C) -> pl.DataFrame:
    """All of a figure, here and now. `onward.experiments.runner` does it in parallel and can be interrupted."""
    return pl.concat([figure.compute(config, piece) for piece in figure.pieces(config)])


def settings_values(config: Any) -> dict[str, Any]:
    """The settings as plain values, in order."""
    values: dict[str, Any] = to_json_values(asdict(config))
    return values


def change_settings(config: C, changes: Mapping[str, str]) -> C:
    """The configuration with settings changed to what a text says, of the type that they had."""
    known = {each.name: getattr(config, each.name) for each in fields(config)}
    values = {}
    for name, text in changes.items():
        if name not in known:
            raise ValueError(f"there is no setting {name!r}; expected one of {', '.join(known)}")
        values[name] = _parse_setting(name, text, known[name])
    return replace(config, **values)


def _parse_setting(name: str, text: str, like: Any) -> Any:
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(like, tuple):
            kind = type(like[0]) if like else float
            return tuple(kind(part) for part in text.split(",") if part)
        return type(like)(text)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{name} must be like {like!r}, got {text!r}") from None
