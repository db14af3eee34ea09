"""What an experiment is: a configuration, then pieces of work, then results, then claims, then a drawing.

Every figure is a module with the same five names, so that one runner serves them all:

    NAME, TITLE                      what it is called on the command line and in the report
    Config                           a frozen dataclass: every setting, the paper's by default
    pieces(config)                   the work, cut into pieces that can be done apart and in any order
    compute(config, piece)           one piece, as a tidy frame
    claims(config, frame)            what the paper says of it, each with a verdict decided by a rule
    draw(config, frame)              the drawings, made from the frame alone

The frame is that of all pieces, one below the other in the order of `pieces`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Protocol

import polars as pl

from onward.json_values import to_json_values
from onward.pages.drawing import Drawing

Verdict = Literal["supported", "partly", "not supported"]


@dataclass(frozen=True)
class Piece:
    """A part of an experiment's work: its name, unique and fit for a file, and what to do."""

    name: str
    about: Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and what our runs say to it."""

    name: str  # short and unique within its figure, such as "robust-to-lambda"
    says: str  # the paper's claim, in plain words
    verdict: Verdict
    finding: str  # what we found, in a sentence or two with the figures that matter
    rule: str  # how the verdict is decided, so that it could have come out otherwise
    regime: str  # where it holds; "everywhere tried" or "nowhere tried" if so
    numbers: Mapping[str, Any] = field(default_factory=dict)  # effect sizes with their uncertainty, plain values
    short: str = ""  # the effect in a few words with its interval, for a table
    ours: bool = False  # a question of our own, that the paper does not ask


class Experiment(Protocol):
    """A figure's module."""

    NAME: str
    TITLE: str
    Config: type[Any]

    def pieces(self, config: Any) -> Sequence[Piece]:
        """The work."""

    def compute(self, config: Any, piece: Piece) -> pl.DataFrame:
        """One piece of it."""

    def claims(self, config: Any, frame: pl.DataFrame) -> Sequence[Claim]:
        """What the paper says of it, and what came out."""

    def draw(self, config: Any, frame: pl.DataFrame) -> Sequence[Drawing]:
        """The pictures."""


def run(experiment: Experiment, config: Any) -> pl.DataFrame:
    """All of an experiment, here and now. `onward.experiments.runner` does it in parallel and can be interrupted."""
    return pl.concat([experiment.compute(config, piece) for piece in experiment.pieces(config)])


def settings_of(config: Any) -> dict[str, Any]:
    """The settings as plain values, in order."""
    settings: dict[str, Any] = to_json_values(asdict(config))
    return settings


def with_settings(config: Any, changes: Mapping[str, str]) -> Any:
    """The configuration with settings changed to what a text says, of the type that they had."""
    known = {each.name: getattr(config, each.name) for each in fields(config)}
    values = {}
    for name, text in changes.items():
        if name not in known:
            raise ValueError(f"there is no setting {name!r}; expected one of {', '.join(known)}")
        values[name] = _parsed(name, text, known[name])
    return replace(config, **values)


def _parsed(name: str, text: str, like: Any) -> Any:
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(like, tuple):
            kind = type(like[0]) if like else float
            return tuple(kind(part) for part in text.split(",") if part)
        return type(like)(text)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{name} must be like {like!r}, got {text!r}") from None
