"""What an evaluation on logged data says, and how far it is to be trusted."""

from dataclasses import dataclass
from typing import Literal

from onward.bandits.mean_intervals import with_error

Method = Literal["replay", "ips", "snips", "dr"]
Learn = Literal["matched", "all", "none"]
Interval = Literal["normal", "empirical_bernstein"]

RELIABLE = 50
"""Below so many effective samples, the normal interval is not to be trusted."""


@dataclass(frozen=True)
class Value:
    """What a policy would have earned an event, by estimate."""

    method: Method
    learn: Learn
    value: float
    """The estimate; NaN if `replay` or `snips` found no event that counts."""
    standard_error: float
    """Infinite if fewer than two events count."""
    lower: float
    upper: float
    """An interval that holds the policy's value with probability 1 − delta, if its assumptions hold."""
    delta: float
    interval: Interval
    events: int
    """Events in the log."""
    matched: int
    """Events that count: accepted by `replay`, of positive weight for the others."""
    effective_sample_size: float
    """(Σw)² / Σw²: how many events of equal weight would say as much."""
    largest_weight: float
    clipped: int
    """How many weights were cut down to `clip`."""

    @property
    def reliable(self) -> bool:
        """Whether there are enough effective samples (50) for the normal interval to mean something."""
        return self.effective_sample_size >= RELIABLE

    def __str__(self) -> str:
        text = (
            f"{self.method}: {with_error(self.value, self.standard_error)} an event, "
            f"{100 * (1 - self.delta):g}% interval [{self.lower:.4g}, {self.upper:.4g}]; "
            f"{self.matched:,} of {self.events:,} events count, like {self.effective_sample_size:,.0f} of equal weight"
        )
        if self.clipped:
            text += f"; {self.clipped:,} weights clipped"
        return text if self.reliable else text + f"; NOT RELIABLE: fewer than {RELIABLE} effective samples"
