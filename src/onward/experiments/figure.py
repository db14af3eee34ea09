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
from onward.core.checks import whole
from onward.experiments.claims import Claim
from onward.json_values import to_json_values
from onward.pages.drawing import Drawing


@dataclass(frozen=True)
class Settings:
    """What all figures are told: the seed of everything random, and how often each experiment is repeated.

    Args:
        seed: of everything random.
        repeats: how often each experiment is repeated.
        undecided_times: up to so many times the repeats where a verdict is undecided; 1 adds none.

    Raises:
        ValueError: if a number of repeats is not whole and positive.

    Example:
        >>> from onward.experiments import Settings
        >>> Settings(repeats=10)
        Settings(seed=0, repeats=10, undecided_times=4)
    """

    seed: int = 0
    repeats: int = 100
    undecided_times: int = 4  # up to so many times the repeats where a verdict is undecided; 1 adds none

    def __post_init__(self) -> None:
        whole("repeats", self.repeats)
        whole("undecided_times", self.undecided_times)


C = TypeVar("C", bound=Settings)


@dataclass(frozen=True)
class Piece:
    """A part of a figure's work: its name, unique and fit for a file, and what to do.

    Args:
        name: unique in its figure, and fit for a file.
        about: what to do, by name.

    Example:
        >>> from onward.experiments import FIGURE_4B
        >>> [piece] = FIGURE_4B.pieces(FIGURE_4B.Config(repeats=2))
        >>> piece
        Piece(name='repeats-00000-00002', about={'part': 'repeats', 'start': 0, 'stop': 2})
    """

    name: str
    about: Mapping[str, Any]


class Figure(ABC, Generic[C]):
    """A figure of the paper, or one of ours. The frame of its results is that of all pieces, one below the other.

    Example:
        >>> from onward.experiments import FIGURES
        >>> figure = FIGURES["figure4b"]
        >>> figure.changed_settings(figure.Config(repeats=10))
        {'repeats': 10}
    """

    name: ClassVar[str]  # on the command line and of files
    title: ClassVar[str]
    of_paper: ClassVar[bool] = True  # or of ours
    source: ClassVar[str] = ""  # whose claims they are, if not the paper's nor ours
    Config: type[C]  # a frozen dataclass: every setting, the paper's by default
    quick_settings: ClassVar[Mapping[str, Any]]  # what a reduced run changes
    repeat_settings: ClassVar[Sequence[str]] = ("repeats",)  # settings that say how often something is repeated
    computing_modules: ClassVar[Sequence[ModuleType]] = ()  # whose code decides what a piece holds, beside its own

    @abstractmethod
    def groups(self, config: C) -> Mapping[str, int]:
        """The groups of repeats that can grow by themselves, by name, and how many repeats each has at first.

        Args:
            config: the settings.
        """

    @abstractmethod
    def cut(self, config: C, group: str, start: int, stop: int) -> Sequence[Piece]:
        """Some repeats of a group, cut into pieces that can be done apart and in any order.

        Args:
            config: the settings.
            group: its name.
            start, stop: the first repeat, and the one after the last.
        """

    def pieces(self, config: C) -> Sequence[Piece]:
        """All of the work, before repeats are added.

        Args:
            config: the settings.
        """
        return [piece for group, count in self.groups(config).items() for piece in self.cut(config, group, 0, count)]

    @abstractmethod
    def compute(self, config: C, piece: Piece) -> pl.DataFrame:
        """The results of one piece.

        Args:
            config: the settings.
            piece: which.
        """

    @abstractmethod
    def claims(self, config: C, frame: pl.DataFrame) -> Sequence[Claim]:
        """What the paper says of it, each with a verdict decided by a rule on the frame.

        Args:
            config: the settings.
            frame: the results of all pieces.
        """

    @abstractmethod
    def draw(self, config: C, frame: pl.DataFrame) -> Sequence[Drawing]:
        """The drawings, made from the frame alone.

        Args:
            config: the settings.
            frame: the results of all pieces.
        """

    def remarks(self, config: C) -> list[str]:
        """What a reader should know of the settings.

        Args:
            config: the settings.
        """
        changed = self.changed_settings(config)
        said = ", ".join(f"{key} = {value}" for key, value in changed.items())
        return [f"Settings other than the full run's: {said}."] if changed else []

    def changed_settings(self, config: C) -> dict[str, Any]:
        """Settings that are not those of the full run.

        Args:
            config: the settings.
        """
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


@dataclass(frozen=True)
class Progress(Generic[C]):
    """How many repeats each group of a figure has, and which pieces hold them."""

    figure: Figure[C]
    config: C
    counts: Mapping[str, int]
    pieces: Sequence[Piece]

    @classmethod
    def begin(cls, figure: Figure[C], config: C) -> "Progress[C]":
        """The repeats that every run has."""
        return cls(figure, config, dict(figure.groups(config)), list(figure.pieces(config)))

    def extend(self, frame: pl.DataFrame) -> "Progress[C]":
        """Twice the repeats, within the limit, of groups that an undecided verdict hangs on; itself if there are none.

        Repeat i is the same whatever else is run, so those added are the next ones, and all of this can be done again.
        """
        figure, config = self.figure, self.config
        if config.undecided_times <= 1:
            return self
        hanging = {
            group
            for claim in figure.claims(config, frame)
            for condition in claim.rule.open_conditions()
            for group in condition.groups
        }
        first, counts, pieces = figure.groups(config), dict(self.counts), list(self.pieces)
        for group in sorted(hanging):
            start, stop = counts[group], min(2 * counts[group], config.undecided_times * first[group])
            counts[group] = stop
            pieces += figure.cut(config, group, start, stop)
        return self if counts == self.counts else Progress(figure, config, counts, pieces)

    def added(self) -> dict[str, tuple[int, int]]:
        """Of each group that has grown: its repeats at first and now."""
        first = self.figure.groups(self.config)
        return {group: (first[group], count) for group, count in self.counts.items() if count > first[group]}


def run(figure: Figure[C], config: C) -> pl.DataFrame:
    """All of a figure, here and now. `onward.experiments.runner` does it in parallel and can be interrupted.

    Args:
        figure: which.
        config: its settings, as `figure.Config` makes them.

    Returns:
        The results of all pieces, one below the other.

    Example:
        >>> from onward.experiments import FIGURE_4B, run
        >>> config = FIGURE_4B.Config(repeats=2, horizon=50, kept=50, detection_window=20, undecided_times=1)
        >>> run(FIGURE_4B, config).columns
        ['policy', 'beta', 'repeat', 'round', 'regret']
    """
    progress, frames = Progress.begin(figure, config), list[pl.DataFrame]()
    while len(frames) < len(progress.pieces):
        frames += [figure.compute(config, piece) for piece in progress.pieces[len(frames) :]]
        progress = progress.extend(pl.concat(frames))
    return pl.concat(frames)


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
