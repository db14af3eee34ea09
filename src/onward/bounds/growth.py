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
    """
    grown = sigma * np.sqrt(np.log(horizon) / (math.pi * math.log(2.0)))
    return np.maximum(grown - feature_bound * theta_bound, 0.0)


def _noise(T: Vector, sigma: float, delta: float) -> Vector:
    """|ε_t| stays below this at every t: P(|ε| > s) ≤ 2 exp(−s²/2σ²), for each t its share of δ."""
    shares = 2.0 * _SHARES * (T + 1.0) * np.square(np.log(T + 1.0))
    return sigma * np.sqrt(2.0 * (np.log(shares) - math.log(delta)))
