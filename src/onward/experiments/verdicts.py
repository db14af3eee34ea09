"""The rules of claims as data: which estimate must lie on which side of which line.

    never_worse = Condition("regret over OFUL's", estimate, "below", 1.25, ("curves",))
    rule = Rule("…", full=Every([never_worse]), partial=Some([…]))
    rule.verdict, rule.open_conditions

An interval that straddles its line leaves a condition open; so does a mean that one repeat makes up. Whoever runs the
figure adds repeats to the groups behind open conditions, as long as the verdict hangs on them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from onward.experiments.estimates import Estimate

Verdict = Literal["supported", "partly", "not supported", "undecided"]
Side = Literal["above", "below"]


class Question(Protocol):
    """What a rule asks: it holds, it does not, or that is open yet."""

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None while it is open."""

    def open_conditions(self) -> "Iterator[Condition]":
        """The conditions that leave it open; none if it is decided."""


@dataclass(frozen=True)
class Condition:
    """That a number lies on one side of a line."""

    name: str  # of the number
    estimate: Estimate
    side: Side
    line: float
    groups: tuple[str, ...]  # of repeats that it comes from

    @property
    def holds(self) -> bool | None:
        """Whether the interval lies on that side; None if it straddles the line or cannot be trusted."""
        if self.estimate.above(self.line):
            return self.side == "above"
        if self.estimate.below(self.line):
            return self.side == "below"
        return None

    def open_conditions(self) -> "Iterator[Condition]":
        """Itself, while it is open."""
        if self.holds is None:
            yield self

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return {"of": self.name, "side": self.side, "line": self.line, "holds": self.holds}


@dataclass(frozen=True)
class Every:
    """That the answer to all of some questions is yes."""

    questions: Sequence[Question]

    @property
    def holds(self) -> bool | None:
        """False as soon as one does not hold."""
        found = [each.holds for each in self.questions]
        return False if False in found else None if None in found else True

    def open_conditions(self) -> Iterator[Condition]:
        """Those of its questions."""
        if self.holds is None:
            for each in self.questions:
                yield from each.open_conditions()


@dataclass(frozen=True)
class Some:
    """That the answer to one of some questions is yes, at least."""

    questions: Sequence[Question]

    @property
    def holds(self) -> bool | None:
        """True as soon as one holds."""
        found = [each.holds for each in self.questions]
        return True if True in found else None if None in found else False

    def open_conditions(self) -> Iterator[Condition]:
        """Those of its questions."""
        if self.holds is None:
            for each in self.questions:
                yield from each.open_conditions()


NEVER = Some(())


def within(name: str, estimate: Estimate, lower: float, upper: float, groups: tuple[str, ...]) -> Every:
    """That a number lies between two lines."""
    return Every([Condition(name, estimate, "above", lower, groups), Condition(name, estimate, "below", upper, groups)])


@dataclass(frozen=True)
class Rule:
    """How a claim is decided, so that it could have come out otherwise: in words, and as what is asked."""

    words: str
    full: Question  # supported if it holds;
    partial: Question = NEVER  # partly if only this does

    @property
    def possible(self) -> tuple[Verdict, ...]:
        """The verdicts that are not ruled out."""
        full, partial = self.full.holds, self.partial.holds
        found: list[Verdict] = [] if full is False else ["supported"]
        if full is not True:
            found += [] if partial is False else ["partly"]
            found += [] if partial is True else ["not supported"]
        return tuple(found)

    @property
    def verdict(self) -> Verdict:
        """The one verdict that is possible, or that it is undecided."""
        return self.possible[0] if len(self.possible) == 1 else "undecided"

    def open_conditions(self) -> list[Condition]:
        """What the verdict hangs on."""
        if self.full.holds is None:
            return list(self.full.open_conditions())
        return [] if self.full.holds else list(self.partial.open_conditions())


def split_by_answer(questions: Mapping[Any, Question]) -> tuple[list[Any], list[Any]]:
    """Where the answer is yes, and where that is open."""
    return (
        [key for key, each in questions.items() if each.holds],
        [key for key, each in questions.items() if each.holds is None],
    )
