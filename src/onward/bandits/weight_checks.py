"""What the weights of a log look like under a policy, and warnings where they speak against the estimate."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from onward.bandits.logs import LoggedData
from onward.bandits.propensity_checks import Check, checked_propensities
from onward.core.types import Vector

FALSE_ALARMS = 0.005
"""The mean weight is flagged with this probability if all is right, as far as means are normal."""
MARGIN = 0.05
"""And only if it is farther than this from 1: of a large log a smaller error is significant, and harmless."""
CARRYING = 10.0
"""Fewer events than this that carry the variance of the weights are flagged: a mean of so few is not normal."""
FEW = 0.05
"""Effective samples that are a smaller share of the events are flagged."""


@dataclass(frozen=True)
class Diagnostics:
    """The weights w = π(taken) / propensity of a log, before any clipping, and checks of its propensities."""

    events: int
    mean_weight: float
    """1 in expectation: more says that propensities are too small, less that they are too large or that the policy
    takes actions that the log had next to no chance to take."""
    mean_weight_error: float
    """Its standard error."""
    mean_weight_p_value: float
    """Of the hypothesis that it is 1, two-sided, normal."""
    effective_sample_size: float
    """(Σw)² / Σw²."""
    largest_weight: float
    largest_share: float
    """The largest weight's share of their sum."""
    carrying: float
    """(Σw²)³ / (Σw³)²: about how many events carry the variance of the weights; n if all weights are equal."""
    zero_share: float
    """The share of events in which the policy would never have taken what was taken."""
    unsupported: float | None
    """The policy's probability, in the mean, of actions that the log gave no chance; None if the log holds only the
    propensities of what was taken."""
    certain_share: float
    """The share of events with a propensity of 1 though there was a choice."""
    least_propensity: float
    checks: tuple[Check, ...]
    """Of the log's propensities, whatever the policy."""

    @property
    def is_mean_weight_off(self) -> bool:
        """Whether the mean weight is farther from 1 than chance explains, so that weighed estimates are wrong."""
        limit = NormalDist().inv_cdf(1 - FALSE_ALARMS / 2)
        return abs(self.mean_weight - 1) - MARGIN > limit * self.mean_weight_error

    def warnings(self) -> list[str]:
        """What is wrong, a sentence each."""
        found = []
        off, error = self.mean_weight - 1, self.mean_weight_error
        if self.is_mean_weight_off:
            reason = (
                "the propensities in the log are too small"
                if off > 0
                else "the propensities in the log are too large, or the policy takes actions that the log hardly could"
            )
            found.append(
                f"The mean weight is {self.mean_weight:.3g} ± {error:.2g} and should be 1: {reason}, "
                "so weighed estimates are wrong."
            )
        found += [each.sentence for each in self.checks if each.flagged]
        if self.unsupported:
            found.append(
                f"{self.unsupported:.1%} of what the policy does had no chance in the log: of that it says nothing."
            )
        found += _certain_warnings(self.certain_share)
        if self.carrying < CARRYING:
            found.append(
                f"Few events decide: it is as if {self.carrying:.1f} of them made up the variance of the weights (the "
                f"largest is {self.largest_weight:.4g}). Trust interval='anytime', not the normal one."
            )
        if self.effective_sample_size < FEW * self.events:
            found.append(
                f"The {self.events:,} events say as much as {self.effective_sample_size:,.0f} of equal weight: "
                "the policy is far from the one that wrote the log."
            )
        return found


def replay_warnings(log: LoggedData, matched: int) -> list[str]:
    """What speaks against an estimate by replay: the log's propensities, by which events are kept, and few events."""
    found = [each.sentence for each in checked_propensities(log) if each.flagged]
    found += _certain_warnings(certain_share(log))
    if matched < FEW * len(log):
        found.append(
            f"Replay counts {matched:,} of {len(log):,} events: the policy does something else than the log, or the "
            "least propensity is very small. Weighing methods such as 'dr' use all events."
        )
    return found


def _certain_warnings(share: float) -> list[str]:
    if share <= 0.5:
        return []
    return [
        f"{share:.0%} of the events had a propensity of 1: nothing else was tried there, so the log cannot tell what "
        "other actions would have earned."
    ]


def diagnose(log: LoggedData, weights: Vector, unsupported: Vector | None) -> Diagnostics:
    """The diagnostics of a policy's weights on a log."""
    n, total = len(weights), float(weights.sum())
    mean = total / n
    error = float(weights.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    z = abs(mean - 1) / error if error > 0 else (math.inf if mean != 1 else 0.0)
    return Diagnostics(
        events=n,
        mean_weight=mean,
        mean_weight_error=error,
        mean_weight_p_value=2 * NormalDist().cdf(-z),
        effective_sample_size=total**2 / float(weights @ weights) if total > 0 else 0.0,
        largest_weight=float(weights.max()),
        largest_share=float(weights.max()) / total if total > 0 else 1.0,
        carrying=_carrying(weights),
        zero_share=float((weights == 0).mean()),
        unsupported=None if unsupported is None else float(unsupported.mean()),
        certain_share=certain_share(log),
        least_propensity=float(log.propensity.min()),
        checks=checked_propensities(log),
    )


def _carrying(weights: Vector) -> float:
    scaled = weights / max(float(weights.max()), 1e-300)
    cubes = float((scaled**3).sum())
    return float((scaled**2).sum()) ** 3 / cubes**2 if cubes > 0 else 0.0


def certain_share(log: LoggedData) -> float:
    """The share of events with a propensity of 1, of those in which there was a choice."""
    choice = log.actions.sizes > 1
    return float((log.propensity[choice] >= 1).mean()) if choice.any() else 0.0


def refuse_deterministic(log: LoggedData) -> None:
    """An error if whoever wrote the log tried nothing."""
    choice = log.actions.sizes > 1
    tried = int((log.propensity[choice] < 1).sum())
    if choice.any() and tried < max(1, 0.01 * int(choice.sum())):
        raise ValueError(
            f"the log comes from a policy that left nothing to chance: {int(choice.sum()) - tried:,} of "
            f"{int(choice.sum()):,} events with a choice have propensity 1, so nothing in it tells what another "
            "action would have earned. Log a policy that explores (explore=ε, Thompson sampling). A reward model alone "
            "may be asked all the same: method='dm' with allow_deterministic=True, which believes the model everywhere"
        )


def model_alone_warning() -> str:
    """What is to be said of the direct method."""
    return (
        "The direct method believes its reward model, and the log does not tell how wrong that is: "
        "its interval is the whole range of rewards."
    )
