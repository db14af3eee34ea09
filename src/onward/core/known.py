"""What is known of the noise and of the true coefficients: one value, checked where it is made.

The command line makes its options from the fields, with what their metadata says.
"""

from dataclasses import dataclass, field
from typing import Literal, get_args

from onward.core.checks import not_negative, positive, probability

Method = Literal["conformal", "t", "uniform"]
"""How the interval for the next target is made, and what then holds:

conformal: from the model's own past errors. Of the rows of a pass, the share that is missed tends to δ, whatever comes;
    of rows that are not learned, a share δ is missed if their errors are like those of late.
t: each row is missed with probability δ, if noise is Gaussian and rows do not depend on it; by least squares.
uniform: each row is missed with probability at most δ, for what is `Known`: half of δ for a set that holds the means of
    all rows at all rounds at once, half for the noise of the row.
"""
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class Known:
    """What intervals may rely on.

    Args:
        sigma: the noise is σ-sub-Gaussian; None if unknown: Gaussian noise, and rows that do not depend on it.
        theta_bound: S ≥ ‖θ* − θ_0‖, the constant included; None for sets that need no such bound. Needs `sigma`.
        delta: the probability with which intervals may fail.

    Raises:
        ValueError: if a number is out of its range, or if `theta_bound` comes without `sigma`.
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

    def __post_init__(self) -> None:
        probability("delta", self.delta)
        if self.sigma is not None:
            positive("sigma", self.sigma)
        if self.theta_bound is not None:
            not_negative("theta_bound", self.theta_bound)
            if self.sigma is None:
                raise ValueError(
                    f"theta_bound says nothing while sigma is unknown: expected sigma too, got {self.theta_bound}"
                )
