"""What an evaluation on logged data says, and how far it is to be trusted."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.special import stdtr

from onward.bandits import mean_intervals
from onward.bandits.mean_intervals import with_error
from onward.bandits.weight_checks import Diagnostics
from onward.core.shown import brief
from onward.core.shown_html import html_values, interval_text
from onward.core.types import Vector

Method = Literal["replay", "ips", "snips", "dm", "dr", "switch", "dros"]
Learn = Literal["matched", "all", "none"]
Interval = Literal["normal", "empirical_bernstein", "anytime"]
RangeFrom = Literal["given", "log"]

RELIABLE = 50
"""Below so many effective samples, the normal interval is not to be trusted."""


@dataclass(frozen=True, repr=False)
class Value:
    """What a policy would have earned an event, by estimate.

    Attributes:
        method: how it was estimated.
        learn: what the policy learned on the way.
        value: the estimate.
        standard_error: of the estimate.
        lower, upper: the interval.
        delta: the probability with which it may fail.
        interval: how it was made.
        events: in the log.
        matched: those that count: where the policy could take what was taken.
        effective_sample_size: (Σ w)² / Σ w².
        largest_weight: the largest π(taken) / propensity.
        clipped: how many weights were cut.
        shrinkage: of "switch" and "dros".
        reward_range: in which rewards lie.
        range_from: whether that was given, or seen in the log.
        diagnostics: checks of the propensities.
        warnings: what speaks against believing it.
        terms: (n,), what each event says.
        log: the log, for comparing with another policy.

    Example:
        >>> import numpy as np
        >>> from onward.bandits import Greedy, LoggedData, evaluate
        >>> rng = np.random.default_rng(1)
        >>> taken = rng.integers(2, size=400)
        >>> rewards = taken + rng.uniform(-0.1, 0.1, 400)
        >>> log = LoggedData([[[1.0, 0.0], [0.0, 1.0]]] * 400, taken, np.full(400, 0.5), rewards)
        >>> policy = Greedy(seed=0)
        >>> policy.learn([0.0, 1.0], 1.0)  # it takes the second action, which pays 1
        >>> value = evaluate(policy, log, method="snips")
        >>> round(value.value, 1), value.lower < 1.0 < value.upper
        (1.0, True)
    """

    method: Method
    learn: Learn
    value: float
    """The estimate, the mean of `terms`; NaN if `replay` or `snips` found no event that counts. That of few events, or
    of large weights, may lie outside the range of the reward, and so outside the interval: see `value_inside`."""
    standard_error: float
    """Infinite if fewer than two events count. With shrinkage its bias, as estimated, is counted in."""
    lower: float
    upper: float
    """An interval that holds the policy's value with probability 1 − delta, if its assumptions hold: cut to the
    range of the reward."""
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
    shrinkage: float | None = None
    """The threshold that "switch" chose, or the λ of "dros"; None if no weight was shrunken."""
    reward_range: tuple[float, float] = (-math.inf, math.inf)
    """Where intervals are cut."""
    range_from: RangeFrom = "log"
    """Whether that was given, or is from the least to the largest reward of the log."""
    diagnostics: Diagnostics | None = None
    """What the weights and the log's propensities look like; None for `replay`."""
    warnings: tuple[str, ...] = ()
    """What speaks against believing the estimate, in sentences."""
    terms: Vector | None = field(default=None, repr=False, compare=False)
    """For each event what it says of the value, (n,): their mean is the estimate; None for `replay`."""
    log: Any = field(default=None, repr=False, compare=False)
    """The log that it comes from."""

    @property
    def value_inside(self) -> float:
        """The estimate, or if it is outside the interval, the end of that which is nearest."""
        return min(max(self.value, self.lower), self.upper)

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """`warnings`, and what is said of an estimate that is outside its own interval."""
        if math.isnan(self.value) or self.value_inside == self.value:
            return self.warnings
        low, high = self.reward_range
        said = (
            f"The estimate itself, {self.value:.4g}, is outside its interval, which is cut to the range of rewards "
            f"[{low:.4g}, {high:.4g}]: the events that count are too few, or their weights too uneven."
        )
        return (*self.warnings, said)

    @property
    def reliable(self) -> bool:
        """Whether there are enough effective samples (50) for the normal interval to mean something."""
        return self.effective_sample_size >= RELIABLE

    def difference(self, other: "Value", delta: float | None = None) -> "ValueDifference":
        """By how much this policy would have earned more than another on the same log, event by event.

        Both meet the same events, so most of what is noise in each cancels out: the interval is narrower than the two
        values' intervals would make one believe.

        Args:
            other: another policy of the same design.
            delta: the probability with which the interval may fail.
        """
        if self.terms is None or other.terms is None:
            raise ValueError("values by replay cannot be paired: each policy is judged on other events")
        if self.log is not other.log or self.method != other.method:
            raise ValueError(
                f"expected two values of one log by one method, got {brief(self.method)} and {other.method!r} "
                f"of {'one log' if self.log is other.log else 'two logs'}"
            )
        delta = self.delta if delta is None else delta
        gaps, width = self.terms - other.terms, self.reward_range[1] - self.reward_range[0]
        mean, error = self.value - other.value, math.inf
        if len(gaps) > 1 and min(self.matched, other.matched) > 1:
            error = float(gaps.std(ddof=1)) / math.sqrt(len(gaps))
        lower, upper = mean_intervals.cut(*mean_intervals.normal(mean, error, delta, gaps), -width, width)
        far = abs(mean) / error if error > 0 else math.inf if mean else 0.0
        p_value = 2 * float(stdtr(mean_intervals.degrees_of_freedom(gaps), -far)) if error < math.inf else 1.0
        return ValueDifference(self, other, mean, error, lower, upper, delta, p_value)

    def __str__(self) -> str:
        text = (
            f"{self.method}: {with_error(self.value, self.standard_error)} an event, "
            f"{100 * (1 - self.delta):g}% interval [{self.lower:.4g}, {self.upper:.4g}]; "
            f"{self.matched:,} of {self.events:,} events count, like {self.effective_sample_size:,.0f} of equal weight"
        )
        if self.clipped:
            text += f"; {self.clipped:,} weights clipped"
        if not self.reliable:
            text += f"; NOT RELIABLE: fewer than {RELIABLE} effective samples"
        return "\n".join([text, *(f"  warning: {each}" for each in self.all_warnings)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = {
            "value": with_error(self.value, self.standard_error),
            f"{100 * (1 - self.delta):g}% interval": interval_text(self.lower, self.upper),
            "made as": self.interval,
            "events": f"{self.events:,}, of which {self.matched:,} count",
            "effective sample size": f"{self.effective_sample_size:.4g}",
            "largest weight": f"{self.largest_weight:.4g}",
        }
        return html_values(f"Value, by {self.method}", shown, [f"Warning: {each}" for each in self.all_warnings])


@dataclass(frozen=True, repr=False)
class ValueDifference:
    """What one policy would have earned an event more than another, on the same log."""

    first: Value
    second: Value
    mean: float
    """The value of the first less that of the second."""
    standard_error: float
    lower: float
    upper: float
    """A normal interval of the paired differences; the difference is inside with probability 1 − delta."""
    delta: float
    p_value: float
    """Of the hypothesis that both earn the same, two-sided."""

    def __str__(self) -> str:
        return (
            f"{self.first.method}: {with_error(self.mean, self.standard_error)} an event more, "
            f"{100 * (1 - self.delta):g}% interval [{self.lower:.4g}, {self.upper:.4g}], p-value {self.p_value:.2g}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = {
            "difference": with_error(self.mean, self.standard_error),
            f"{100 * (1 - self.delta):g}% interval": interval_text(self.lower, self.upper),
            "p-value": f"{self.p_value:.2g}",
        }
        return html_values(f"Difference of two values, by {self.first.method}", shown)


def reward_bounds(reward: Vector, given: tuple[float, float] | None) -> tuple[tuple[float, float], RangeFrom]:
    """The range of rewards that was given, or that of the log; an error if a reward is outside."""
    if given is None:
        return (float(reward.min()), float(reward.max())), "log"
    low, high = given
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"reward_range must be two finite numbers, low <= high, got {brief(given)}")
    inside = (reward >= low) & (reward <= high)
    if not inside.all():
        event = int(np.argmin(inside))
        raise ValueError(f"rewards must be in reward_range=({low:g}, {high:g}), got {reward[event]:g} in event {event}")
    return (float(low), float(high)), "given"
