"""Pseudo-regret of optimistic policies, sharper than in the paper: with probability 1 − δ, at every round at once.

With W the radius of ridge's set before the round and q, h the leverages of the action played,

    OFUL                    a round costs at most 2 min(M, √q W), where M bounds the mean of every action
    OFUL^f, sharp index     at most 2 √(h(1 − h)) W + 2h‖x‖S

The sharp index is (1 − h)(p + √q W) + h‖x‖S: optimistic, as a mean of two numbers that are not below xᵀθ*, and not
further above it than that. As in `bounds.bandits`, forms in constants hold for each noise width of the policy, those
along a trace, of the actions played with their rewards, for the determinant width.
"""

import math

import numpy as np

from onward.bounds.common import Radius, along_trace, before_each, over_horizons, ridge_radius, u
from onward.core.trace import Trace
from onward.core.types import Vector


@over_horizons
def oful_regret_sharp(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    theta_bound: float,
    sigma: float,
    delta: float,
    reward_bound: float | None = None,
    radius: Radius = "joint",
) -> Vector:
    """Regret of OFUL, with ridge, is at most this: 2 max(M, W_T) √(T min(T, u_T/log 2)).  [Thm 4.1] [Sec 4]

    min(1, q) ≤ log(1 + q)/log 2, and at most 1 a round. Also of OFUL with its index clipped at ‖x‖S, which is
    optimistic too and not larger.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action *offered* has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        reward_bound: M, no action offered has a larger mean in absolute value; X S unless given.
        radius: the policy's: `joint` √(σ² (2 log(1/δ) + u_T) + λS²), or `sum` as in the paper.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import oful_regret, oful_regret_sharp
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> oful_regret_sharp(1000, **said) < oful_regret(1000, **said)
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    W = ridge_radius(gain, lam, theta_bound, sigma, delta, radius)
    most = largest_mean(feature_bound, theta_bound, reward_bound)
    return 2.0 * np.maximum(most, W) * np.sqrt(horizon * np.minimum(horizon, gain / math.log(2.0)))


@along_trace
def oful_regret_sharp_along(
    trace: Trace,
    *,
    feature_bound: float,
    theta_bound: float,
    sigma: float,
    delta: float,
    reward_bound: float | None = None,
    radius: Radius = "joint",
) -> Vector:
    """At every round of a game, regret of OFUL is at most 2 Σ min(M, √q W).  [Thm 4.1] [Sec 4]

    Args:
        trace: the actions played and their rewards.
        feature_bound: X, no action *offered* has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        reward_bound: M, no action offered has a larger mean in absolute value; X S unless given.
        radius: the policy's, `joint` or `sum`.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import oful_regret_along, oful_regret_sharp_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = np.eye(2)[rng.integers(2, size=200)]
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> sharp = oful_regret_sharp_along(trace, feature_bound=1.0, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> bool((sharp <= oful_regret_along(trace, feature_bound=1.0, theta_bound=1.0, sigma=1.0, delta=0.05)).all())
        True
    """
    W = ridge_radius(before_each(trace.gain), trace.lam, theta_bound, sigma, delta, radius)
    most = largest_mean(feature_bound, theta_bound, reward_bound)
    return 2.0 * np.cumsum(np.minimum(most, np.sqrt(trace.q) * W))


@over_horizons
def oful_forward_regret_sharp(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    theta_bound: float,
    sigma: float,
    delta: float,
    radius: Radius = "joint",
) -> Vector:
    """Regret of OFUL^f with the sharp index is at most this: 2 W_T √(T u_T) + 2 X S u_T.  [Thm 4.1]

    With T for u_T where that is less, as h ≤ 1. What θ* costs grows like log T, not like √(T log T): the first order
    is OFUL's, without bounded rewards.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action played has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        radius: of ridge's index in the policy's: `joint` √(σ² (2 log(1/δ) + u_T) + λS²), or `sum` as in the paper.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import oful_forward_regret, oful_forward_regret_sharp
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> oful_forward_regret_sharp(1000, **said) < oful_forward_regret(1000, **said)
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    W = ridge_radius(gain, lam, theta_bound, sigma, delta, radius)
    leverage = np.minimum(horizon, gain)
    return 2.0 * W * np.sqrt(horizon * leverage) + 2.0 * feature_bound * theta_bound * leverage


@along_trace
def oful_forward_regret_sharp_along(
    trace: Trace, *, theta_bound: float, sigma: float, delta: float, radius: Radius = "joint"
) -> Vector:
    """At every round, regret of OFUL^f with the sharp index is at most 2 Σ (√(h(1 − h)) W + h‖x‖S).  [Thm 4.1]

    Args:
        trace: the actions played and their rewards.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        radius: of ridge's index in the policy's, `joint` or `sum`.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import oful_forward_regret_along, oful_forward_regret_sharp_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = np.eye(2)[rng.integers(2, size=200)]
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> sharp = oful_forward_regret_sharp_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> bool((sharp <= oful_forward_regret_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)).all())
        True
    """
    W = ridge_radius(before_each(trace.gain), trace.lam, theta_bound, sigma, delta, radius)
    return 2.0 * np.cumsum(np.sqrt(trace.q) / (1.0 + trace.q) * W + trace.h * trace.norms * theta_bound)


def largest_mean(feature_bound: float, theta_bound: float, reward_bound: float | None) -> float:
    """M: no action's mean is larger in absolute value."""
    largest = feature_bound * theta_bound
    return largest if reward_bound is None else min(reward_bound, largest)
