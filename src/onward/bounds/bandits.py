"""Pseudo-regret of optimistic policies on a linear bandit: with probability 1 − δ, at every round at once.

The bounds in constants hold for each noise width of the policy (determinant, trace, uniform), those along a trace for
the determinant width. The trace is that of the actions played with their rewards.
"""

import math

import numpy as np

from onward.bounds.common import along_trace, kappa, over_horizons, so_far, u
from onward.confidence import noise_width
from onward.core.trace import Trace
from onward.core.types import Vector


@over_horizons
def oful_regret(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Regret of OFUL, with ridge, is at most this: 2√2 max(X S, √β) √(T u_T).  [Thm 4.1]

    √β = √λ S + σ √(2 log(1/δ) + u_T). No round costs more than 2 X S, so the leverage of a round counts up to 1 only,
    and the paper's factor κ is not needed. The smaller of this and `oful_regret_with_kappa` is a bound as well.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action *offered* has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import oful_regret, oful_regret_with_kappa
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> oful_regret(1000, **said) < oful_regret_with_kappa(1000, **said)  # as κ is large
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    width = noise_width(sigma, delta, gain) + math.sqrt(lam) * theta_bound
    return 2.0 * np.maximum(feature_bound * theta_bound, width) * np.sqrt(2.0 * horizon * gain)


@along_trace
def oful_regret_along(trace: Trace, *, feature_bound: float, theta_bound: float, sigma: float, delta: float) -> Vector:
    """At every round of a game, regret of OFUL is at most 2 max(X S, √β) √(t Σ min(1, q)).  [Thm 4.1]

    Args:
        trace: the actions played and their rewards.
        feature_bound: X, no action *offered* has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import oful_regret, oful_regret_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = np.eye(2)[rng.integers(2, size=200)]
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = oful_regret_along(trace, feature_bound=1.0, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> before = oful_regret(200, d=2, lam=1.0, feature_bound=1.0, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> bool(bound[-1] < before)  # it knows what was played
        True
    """
    width = noise_width(sigma, delta, trace.gain) + math.sqrt(trace.lam) * theta_bound
    return 2.0 * np.maximum(feature_bound * theta_bound, width) * _root(np.minimum(1.0, trace.q))


@over_horizons
def oful_regret_with_kappa(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Regret of OFUL, with ridge, is at most this: 2 √(κ T u_T) (√λ S + σ √(2 log(1/δ) + u_T)).  [Thm 4.1]

    The paper's form, corrected. Where κ > 2 `oful_regret` is mostly smaller.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action played has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import oful_regret_with_kappa
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> bound = oful_regret_with_kappa([100, 400], **said)
        >>> 2.0 < round(float(bound[1] / bound[0]), 2) < 2.4  # it grows a little faster than √T
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    width = noise_width(sigma, delta, gain) + math.sqrt(lam) * theta_bound
    return 2.0 * width * np.sqrt(kappa(lam, feature_bound) * horizon * gain)


@along_trace
def oful_regret_with_kappa_along(trace: Trace, *, theta_bound: float, sigma: float, delta: float) -> Vector:
    """At every round of a game, regret of OFUL is at most 2 √(t Σq) (√λ S + σ √(2 log(1/δ) + I)).  [Thm 4.1]

    Args:
        trace: the actions played and their rewards.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import oful_regret_with_kappa, oful_regret_with_kappa_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = np.eye(2)[rng.integers(2, size=200)]
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = oful_regret_with_kappa_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> said = {"theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> before = oful_regret_with_kappa(200, d=2, lam=1.0, feature_bound=1.0, **said)
        >>> bool(bound[-1] < before)  # it knows what was played
        True
    """
    width = noise_width(sigma, delta, trace.gain) + math.sqrt(trace.lam) * theta_bound
    return 2.0 * width * _root(trace.q)


@over_horizons
def oful_forward_regret(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Regret of OFUL^f, with forward, is at most this: 2 √(T u_T) ((√λ + X) S + σ √(2 log(1/δ) + u_T)).  [Thm 4.1]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action played has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import oful_forward_regret, oful_regret_with_kappa
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> oful_forward_regret(1000, **said) < oful_regret_with_kappa(1000, **said)  # no factor κ
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    width = noise_width(sigma, delta, gain) + (math.sqrt(lam) + feature_bound) * theta_bound
    return 2.0 * width * np.sqrt(horizon * gain)


@along_trace
def oful_forward_regret_along(trace: Trace, *, theta_bound: float, sigma: float, delta: float) -> Vector:
    """At every round of a game, regret of OFUL^f is at most 2 √(t Σh) ((√λ + X) S + σ √(2 log(1/δ) + I)).  [Thm 4.1]

    X is the largest norm played so far.

    Args:
        trace: the actions played and their rewards.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import oful_forward_regret, oful_forward_regret_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = np.eye(2)[rng.integers(2, size=200)]
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = oful_forward_regret_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> before = oful_forward_regret(200, d=2, lam=1.0, feature_bound=1.0, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> bool(bound[-1] < before)  # it knows what was played
        True
    """
    bias = (math.sqrt(trace.lam) + so_far(trace.norms)) * theta_bound
    return 2.0 * (noise_width(sigma, delta, trace.gain) + bias) * _root(trace.h)


def _root(leverage: Vector) -> Vector:
    """√(t Σ leverage) at each round t: Cauchy and Schwarz over the rounds."""
    root: Vector = np.sqrt(np.arange(1.0, len(leverage) + 1.0) * np.cumsum(leverage))
    return root
