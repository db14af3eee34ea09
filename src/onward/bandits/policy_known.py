"""What is known of the noise and of the truth."""

import math
from dataclasses import dataclass

from scipy.special import erfinv

from onward.core.checks import LARGEST_BOUND, not_negative, positive, probability


@dataclass(frozen=True)
class Known:
    """What is known of the noise and of the true coefficients.

    Args:
        sigma: σ, the noise is σ-sub-Gaussian; None to estimate it from the rewards, and to give up the guarantee.
        theta_bound: S ≥ ‖θ* − θ_0‖, or with a λ for each coordinate S ≥ √(Σ λ_j/λ̄ (θ*_j − θ_0j)²), λ̄ the
            largest; None if nothing is known: then no index has an S-term.
        delta: δ, the probability that some index is not optimistic, ever.
        action_bound: X, for the uniform width: no action is longer. None: the longest offered so far.

    Raises:
        ValueError: if a number is out of its range.

    Example:
        >>> from onward.bandits import OFUL, Known, Policy
        >>> Known(sigma=0.5, theta_bound=2.0)
        Known(sigma=0.5, theta_bound=2.0, delta=0.01, action_bound=None)
        >>> Policy(known=Known(sigma=0.5, theta_bound=2.0)).known == OFUL(sigma=0.5, theta_bound=2.0).known
        True
    """

    sigma: float | None = None
    theta_bound: float | None = None
    delta: float = 0.01
    action_bound: float | None = None

    def __post_init__(self) -> None:
        checked = {"delta": probability("delta", self.delta)}
        if self.sigma is not None:
            checked["sigma"] = positive("sigma", self.sigma, LARGEST_BOUND)
        if self.theta_bound is not None:
            checked["theta_bound"] = not_negative("theta_bound", self.theta_bound, LARGEST_BOUND)
        if self.action_bound is not None:
            checked["action_bound"] = positive("action_bound", self.action_bound, LARGEST_BOUND)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def slack(self) -> float:
        """How many σ Gaussian noise takes a reward from its mean, but for probability δ."""
        return math.sqrt(2) * float(erfinv(1 - self.delta))

    def settings(self) -> dict[str, float]:
        """The settings of compiled code."""
        bound = float("inf") if self.action_bound is None else self.action_bound
        return {
            "sigma": self.sigma or 0.0,
            "theta_bound": self.theta_bound or 0.0,
            "delta": self.delta,
            "action_bound": bound,
        }
