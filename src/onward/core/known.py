"""What is known of the noise and of the true coefficients: one value, checked where it is made.

The command line makes its options from the fields, with what their metadata says.
"""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from onward.core.checks import LARGEST_BOUND, finite, not_negative, positive, probability
from onward.core.shown import brief

Method = Literal["conformal", "t", "uniform"]
"""How the interval for the next target is made, and what then holds:

conformal: from the model's own past errors. Of the rows of a pass, the share that is missed tends to δ, whatever comes;
    of rows that are not learned, a share δ is missed if their errors are like those of late.
t: each row is missed with probability δ, if noise is Gaussian and rows do not depend on it; by least squares.
uniform: each row is missed with probability at most δ, for what is `Known`: half of δ for a set that holds the means of
    all rows at all rounds at once, half for the noise of the row.
"""
METHODS: tuple[Method, ...] = get_args(Method)


def parse_bounds(text: str) -> tuple[float, float]:
    """Two numbers with a comma between them; ValueError if it is something else."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"bounds must be two numbers with a comma between them, such as 0,1, got {text!r}") from None
    return low, high


def _ends(bounds: object) -> tuple[float, float]:
    """The lower and the upper one of two finite numbers; ValueError if they are something else."""
    try:
        low, high = (finite("bounds", end) for end in bounds)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not low < high:
        raise ValueError(f"bounds must be two finite numbers, the lower one first, got {brief(bounds)}")
    return low, high


@dataclass(frozen=True)
class Known:
    """What intervals may rely on.

    Args:
        sigma: the noise is σ-sub-Gaussian; None if unknown: Gaussian noise, and rows that do not depend on it.
        theta_bound: S ≥ ‖θ* − θ_0‖, the constant included; None for sets that need no such bound. Needs `sigma`.
        delta: the probability with which intervals may fail.
        bounds: the least and the greatest target that there can be. Noise is then sub-Gaussian with half their distance
            (Hoeffding 1963), which becomes `sigma`, if none is given.

    Raises:
        ValueError: if a number is out of its range, or if `theta_bound` comes without `sigma`.

    Example:
        >>> from onward import Known
        >>> Known(bounds=(0, 1)).sigma  # targets within bounds: the noise is half their distance at most
        0.5
        >>> Known(theta_bound=1.0)
        Traceback (most recent call last):
            ...
        ValueError: theta_bound says nothing while sigma is unknown: expected sigma too, got 1.0
    """

    sigma: float | None = field(
        default=None,
        metadata={
            "help": "The noise is σ-sub-Gaussian. Without it: Gaussian noise of unknown spread.",
            "flags": ["--sigma"],
        },
    )
    theta_bound: float | None = field(
        default=None,
        metadata={
            "help": "S ≥ ‖θ*‖, the constant included; needs --sigma. Without it: sets that need no bound.",
            "flags": ["--theta-bound"],
        },
    )
    delta: float = field(
        default=0.05, metadata={"help": "The probability with which intervals may fail.", "flags": ["--delta"]}
    )

    bounds: tuple[float, float] | None = field(
        default=None,
        metadata={
            "help": "Targets stay within these bounds, such as 0,1: noise is then sub-Gaussian with σ half their "
            "distance, without --sigma.",
            "flags": ["--bounds"],
            "metavar": "LOW,HIGH",
            "parse": parse_bounds,
        },
    )

    def __post_init__(self) -> None:
        probability("delta", self.delta)
        if self.bounds is not None:
            low, high = _ends(self.bounds)
            object.__setattr__(self, "bounds", (low, high))
            if self.sigma is None:
                object.__setattr__(self, "sigma", (high - low) / 2)
        if self.sigma is not None:
            positive("sigma", self.sigma, LARGEST_BOUND)
        if self.theta_bound is not None:
            not_negative("theta_bound", self.theta_bound, LARGEST_BOUND)
            if self.sigma is None:
                raise ValueError(
                    f"theta_bound says nothing while sigma is unknown: expected sigma too, got {self.theta_bound}"
                )
