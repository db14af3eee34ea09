"""What is asked about coefficients: one value, from which the command line has its options."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from onward.core.checks import positive

TUNED_FOR = 400  # of 100 to 10⁶ rows none has intervals more than 1.31 times as wide as those made for it


def _as_given(values: Sequence[str] | None) -> list[str]:
    """Texts as they came: a comma may be part of a name."""
    return [each.strip() for each in values or ()]


@dataclass(frozen=True)
class Inference:
    """Which contrasts are asked for, and how intervals for coefficients are made.

    Args:
        contrasts: each a coefficient (`treatment`), a combination (`b - a`, `treatment + 40*treatment:age`), or a
            category, for each of its levels less the first. A product of columns that is not among the terms of the
            table is added to them.
        simultaneous: let all intervals of a table hold at once (Bonferroni), not each by itself.
        robust: allow for noise whose spread differs from row to row; asymptotic.
        tuned_for: the number of rows for which intervals are to be narrowest. They hold at any.

    Raises:
        ValueError: if a contrast is no text, or `tuned_for` not positive.

    Example:
        >>> import polars as pl
        >>> from onward import Table, fit
        >>> from onward.progressive import Inference
        >>> columns = pl.DataFrame({"b": [0.0, 1.0] * 50, "y": [0.1, 0.5, 0.0, 0.7] * 25})
        >>> done = fit(columns, Table("y"), inference=Inference(contrasts=["b"]))
        >>> [effect] = done.contrasts()
        >>> effect.name, round(effect.estimate, 2), effect.lower > 0.0
        ('b', 0.55, True)
    """

    contrasts: Sequence[str] = field(
        default=(),
        metadata={
            "help": "Say how large a coefficient is, adjusted for all other columns, with an interval that holds at "
            "every row at once, so that you may stop whenever you like: a feature, such as treatment; a combination, "
            "such as 'b - a' or 'treatment + 40*treatment:age'; a category, for its levels less the first. Can be "
            "repeated. With --follow, printed as rows come.",
            "flags": ["--contrast"],
            "metavar": "NAME",
            "split": _as_given,
            "of": "model",
        },
    )
    simultaneous: bool = field(
        default=False,
        metadata={
            "help": "Let all intervals of a table hold at once (Bonferroni), not each by itself.",
            "flags": ["--simultaneous"],
            "of": "model",
        },
    )
    robust: bool = field(
        default=False,
        metadata={
            "help": "Allow for noise whose spread differs from row to row; holds once rows are many.",
            "flags": ["--robust"],
            "of": "pass",
        },
    )
    tuned_for: int = field(
        default=TUNED_FOR,
        metadata={
            "help": "The number of rows for which the intervals are narrowest, said beforehand; they hold at any.",
            "flags": ["--tuned-for"],
            "metavar": "ROWS",
            "of": "model",
        },
    )

    def __post_init__(self) -> None:
        positive("tuned_for", self.tuned_for)
        if isinstance(self.contrasts, str) or not all(
            isinstance(each, str) and each.strip() for each in self.contrasts
        ):
            raise ValueError(f"contrasts must be a list of texts, such as ['treatment'], got {self.contrasts!r}")
        object.__setattr__(self, "contrasts", tuple(dict.fromkeys(self.contrasts)))


PLAIN = Inference()
"""No contrasts, and intervals each by itself."""
