"""Claims as data: statement, rule, measured values and verdict. One template makes the sentences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from onward.experiments.estimates import LEVEL, TRUSTED, Estimate
from onward.experiments.verdicts import Question, Rule, Verdict, split_by_answer
from onward.pages.numbers import format_number, use_minus_signs

VERDICT_WORDS: dict[Verdict, str] = {
    "supported": "supported",
    "partly": "partly supported",
    "not supported": "not supported",
    "undecided": "undecided",
}
DISTRUST = f"An estimate is undecided if one repeat makes up more than {TRUSTED:.0%} of a mean behind it."


@dataclass(frozen=True)
class Finding:
    """A measured value that is said in a sentence: what it is, and how it is written."""

    words: str
    value: Estimate | float
    form: Literal["number", "percent", "power"] = "number"
    note: str = ""  # in brackets after the value
    headline: bool = False  # it is the effect, or part of it, in a table of all claims

    @property
    def text(self) -> str:
        """The value to be read, with its interval."""
        if not isinstance(self.value, Estimate):
            return format_number(self.value)
        if math.isnan(self.value.value):
            return "undecided"
        forms = {"number": self.value.marked, "percent": self.value.percent, "power": self.value.signed}
        return use_minus_signs(forms[self.form])

    @property
    def brief(self) -> str:
        """The same with few digits."""
        if isinstance(self.value, Estimate) and self.form == "number" and not math.isnan(self.value.value):
            return use_minus_signs(self.value.brief)
        return self.text


@dataclass(frozen=True)
class Regime:
    """Where something held, of all that was tried: values of a symbol, or named variants without one."""

    held: Sequence[float | str]
    tried: Sequence[float | str]
    symbol: str = ""
    words: str = ""  # what held there
    undecided: Sequence[float | str] = ()  # where that is open

    @classmethod
    def of(cls, questions: Mapping[Any, Question], symbol: str = "", words: str = "") -> "Regime":
        """Where the answer is yes, of the values that were tried."""
        held, undecided = split_by_answer(questions)
        return cls(held, list(questions), symbol, words, undecided)


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and what our runs say to it.

    Args:
        id: short and unique within its figure, such as "robust-to-lambda".
        statement: what the paper says, in plain words.
        rule: what decides it, written down before the runs.
        numbers: measured values by name: estimates, or plain values.
        findings: those of them that matter.
        regimes: where it held, of all that was tried.
        comments: sentences that the measured values call for.
        ours: whether the paper does not ask it.

    Example:
        >>> from onward.experiments import FIGURE_4B, run
        >>> config = FIGURE_4B.Config(repeats=2, horizon=50, kept=50, detection_window=20, undecided_times=1)
        >>> claims = FIGURE_4B.claims(config, run(FIGURE_4B, config))
        >>> [(claim.id, claim.verdict) for claim in claims]  # of so few rounds
        [('forward-on-par', 'undecided'), ('d-linucb-better', 'undecided')]
    """

    id: str  # short and unique within its figure, such as "robust-to-lambda"
    statement: str  # the paper's claim, in plain words
    rule: Rule
    numbers: Mapping[str, Any]  # measured values by name: estimates, or plain values
    findings: Sequence[Finding]  # those of them that matter
    regimes: Sequence[Regime]
    comments: Sequence[str] = ()  # sentences that the measured values call for
    ours: bool = False  # a question of our own, that the paper does not ask

    @property
    def verdict(self) -> Verdict:
        """What the rule says."""
        return self.rule.verdict

    @property
    def possible_words(self) -> list[str]:
        """The verdicts that are not ruled out, in words."""
        return [VERDICT_WORDS[verdict] for verdict in self.rule.possible]

    @property
    def undecided_because(self) -> list[str]:
        """The numbers that an undecided verdict hangs on, with the line that they should leave."""
        said = []
        for each in self.rule.open_conditions():
            why = f"straddles {each.line:.4g}" if each.estimate.trusted else "rests too much on one repeat"
            said.append(f"{each.name} ({Finding('', each.estimate).text}, {each.estimate.repeats:,} repeats) {why}")
        return list(dict.fromkeys(said))

    @property
    def records(self) -> dict[str, Any]:
        """The numbers as plain values."""
        return {key: value.record() if isinstance(value, Estimate) else value for key, value in self.numbers.items()}

    @property
    def finding(self) -> str:
        """What we found, in sentences with the values that matter."""
        return f"{self._sentence('values')} {self.commentary}".rstrip()

    @property
    def commentary(self) -> str:
        """What is to be said of the values, without them."""
        return self._sentence("comments")

    @property
    def effect(self) -> str:
        """The effect in a few words with its interval, for a table."""
        return self._sentence("effect")

    @property
    def regime(self) -> str:
        """Where it holds, in words."""
        return self._sentence("regime")

    def _sentence(self, macro: str) -> str:
        template = _SENTENCES.get_template("claim_sentences.txt")
        text: str = getattr(template.module, macro)(self)
        return " ".join(text.split())


def list_values(values: Sequence[float | str]) -> str:
    """Values in a row: "0.1, 0.3 and 1"."""
    words = [value if isinstance(value, str) else f"{value:.3g}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _count_doubtful(claim: Claim) -> tuple[int, int]:
    """How many estimates there are, and how many are not to be trusted."""
    estimates = [value for value in claim.numbers.values() if isinstance(value, Estimate)]
    return len(estimates), sum(not each.trusted for each in estimates)


_SENTENCES = Environment(loader=PackageLoader("onward", "experiments"), undefined=StrictUndefined)  # plain text
_SENTENCES.globals |= {"count_doubtful": _count_doubtful, "level": LEVEL, "trusted": TRUSTED}
_SENTENCES.filters |= {"listed": list_values}
