"""How max|y| grows with T where y = xᵀθ* + ε: Y of the bounds for any targets is no constant there."""

import math

import numpy as np

from onward.bounds.common import along_trace, over_horizons, so_far
from onward.core.trace import Trace
from onward.core.types import Vector

# Σ 1/(n log²n) over n ≥ 2 is 2.10974…: what the rounds take of δ, with round t for n = t + 1.
_SHARES = 2.1098


@over_horizons
def target_growth(horizon: Vector, *, feature_bound: float, theta_bound: float, sigma: float, delta: float) -> Vector:
    """max|y| is at most X S + σ √(2 log(4.22 (T + 1) log²(T + 1)/δ)), with probability 1 − δ for all T.  [Sec 2.3]

    Of δ, round t has a share that goes like 1/(t log²t), so the first order is σ √(2 log T), which Gaussian noise has.
    In Thm 2.1 and 2.2, this for Y gives bounds that hold with probability 1 − δ, and grow like log²T.

    Args:
        horizon: T, or several.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import target_growth, target_growth_at_least
        >>> said = {"feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0}
        >>> target_growth_at_least(1000, **said) < target_growth(1000, **said, delta=0.05)
        True
    """
    return feature_bound * theta_bound + _noise(horizon, sigma, delta)


@along_trace
def target_growth_along(trace: Trace, *, theta_bound: float, sigma: float, delta: float) -> Vector:
    """At every round of a run, max|y| so far is at most this, with probability 1 − δ.  [Sec 2.3]

    The largest so far of ‖x‖S + σ √(2 log(4.22 (t + 1) log²(t + 1)/δ)).

    Args:
        trace: the run.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import target_growth_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = target_growth_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> bool((np.abs(y) <= bound).all())
        True
    """
    return so_far(trace.norms * theta_bound + _noise(np.arange(1.0, len(trace.y) + 1.0), sigma, delta))


@over_horizons
def target_growth_at_least(horizon: Vector, *, feature_bound: float, theta_bound: float, sigma: float) -> Vector:
    """The mean of max|y| is at least this for independent Gaussian noise: σ √(log T/(π log 2)) − X S, or 0.  [Sec 2.3]

    The paper's σ C √(2 log T) − X S by Sudakov's minoration, with C = 1/√(2π log 2) = 0.479 (Kamath 2015; equality at
    T = 2). For T to infinity the mean over σ √(2 log T) tends to 1.

    Args:
        horizon: T, or several.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the standard deviation of the noise.

    Returns:
        The mean at least: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import target_growth_at_least
        >>> target_growth_at_least([2, 1000], feature_bound=0.0, theta_bound=0.0, sigma=1.0).round(2)  # 1/√π first
        array([0.56, 1.78])
    """
    grown = sigma * np.sqrt(np.log(horizon) / (math.pi * math.log(2.0)))
    return np.maximum(grown - feature_bound * theta_bound, 0.0)


def _noise(T: Vector, sigma: float, delta: float) -> Vector:
    """|ε_t| stays below this at every t: P(|ε| > s) ≤ 2 exp(−s²/2σ²), for each t its share of δ."""
    shares = 2.0 * _SHARES * (T + 1.0) * np.square(np.log(T + 1.0))
    return sigma * np.sqrt(2.0 * (np.log(shares) - math.log(delta)))
