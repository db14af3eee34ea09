"""The difference of two policies in one game: paired, as both met the same arms and noise in each repeat."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy import special

from onward.core.checks import probability
from onward.core.shown import printable
from onward.core.shown_html import html_values, interval_text

if TYPE_CHECKING:
    from onward.bandits.runs import Runs


@dataclass(frozen=True)
class Difference:
    """Final regret of `first` less that of `second`, over repeats in which both met the same arms and noise."""

    first: str
    second: str
    mean: float
    standard_error: float
    lower: float
    upper: float
    """A t-interval: the mean difference is inside with probability 1 − delta, if the repeats' are near to normal."""
    delta: float
    repeats: int
    why_nan: str = ""
    """Why there is no number: which of the two failed, and how often."""

    def __str__(self) -> str:
        if self.why_nan:
            return f"{self._name}: nan, because {self.why_nan}"
        return (
            f"{self._name}: {self.mean:.4g}, {100 * (1 - self.delta):g}% interval "
            f"{interval_text(self.lower, self.upper)} over {self.repeats} repeats"
        )

    __repr__ = __str__

    @property
    def _name(self) -> str:
        return printable(f"{self.first} − {self.second}")

    def _repr_html_(self) -> str:
        shown = {
            "difference": f"{self.mean:.4g} ± {self.standard_error:.2g}",
            f"{100 * (1 - self.delta):g}% interval": interval_text(self.lower, self.upper),
            "repeats": f"{self.repeats:,}",
        }
        why = [f"No number, because {self.why_nan}."] if self.why_nan else []
        return html_values(f"Final regret, {self._name}", shown, why)


def difference(runs: "Runs", first: str, second: str, delta: float) -> Difference:
    """See `Runs.difference`."""
    probability("delta", delta)
    if runs.repeats < 2:
        raise ValueError(f"a difference with its interval needs at least 2 repeats, got {runs.repeats}")
    gaps = runs[first][:, -1] - runs[second][:, -1]
    mean, error = float(gaps.mean()), float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
    reach = float(special.stdtrit(len(gaps) - 1, 1 - delta / 2)) * error
    failed = {name: runs.failed(name) for name in (first, second)} if math.isnan(mean) else {}
    said = [f"{name} failed in {times} of {runs.repeats} repeats" for name, times in failed.items() if times]
    ends = mean - reach, mean + reach
    return Difference(first, second, mean, error, *ends, delta, len(gaps), " and ".join(said))
