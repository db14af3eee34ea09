"""Regret when y = xᵀθ* + ε with σ-sub-Gaussian noise ε: with probability 1 − δ, at every round at once."""

import math

import numpy as np

from onward.bounds.common import along_trace, kappa, over_horizons, so_far, u, with_noise
from onward.confidence import noise_width
from onward.core.trace import Trace
from onward.core.types import Vector


@over_horizons
def truth_regret_to_best(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    sigma: float,
    delta: float,
    smallest_eigenvalue: float | Vector,
) -> Vector:
    """L(θ*) − min_θ L(θ), by which the two regrets differ, is at most (1 + λ/λ_min) σ² (2 log(1/δ) + u_T).  [Thm 3.1]

    Its exact value along a run is `truth_identity`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: any λ > 0, chosen beforehand; it need not be the learner's.
        feature_bound: X, no row has a larger norm.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        smallest_eigenvalue: λ_min of Σxxᵀ (see `smallest_eigenvalues`), one for each horizon if these are several. The
            bound is infinite where it is 0.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import truth_regret_to_best
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> truth_regret_to_best([10, 100], **said, smallest_eigenvalue=[0.0, 40.0]).round(1)
        array([ inf, 14.2])
    """
    return _truth(u(horizon, d, lam, feature_bound), lam, sigma, delta, smallest_eigenvalue)


@along_trace
def truth_regret_to_best_along(trace: Trace, *, sigma: float, delta: float, smallest_eigenvalue: Vector) -> Vector:
    """At every round of a run, L(θ*) − min_θ L(θ) is at most (1 + λ/λ_min) σ² (2 log(1/δ) + I).  [Thm 3.1]

    Args:
        trace: the run; its λ is the bound's.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        smallest_eigenvalue: λ_min of Σxxᵀ after each round, as `smallest_eigenvalues` gives it.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import smallest_eigenvalues, truth_identity, truth_regret_to_best_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> least = smallest_eigenvalues(X)
        >>> bound = truth_regret_to_best_along(trace, sigma=1.0, delta=0.05, smallest_eigenvalue=least)
        >>> bool((truth_identity(X, y, theta) <= bound).all())
        True
    """
    return _truth(trace.gain, trace.lam, sigma, delta, smallest_eigenvalue)


@over_horizons
def ridge_regret_to_truth(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    theta_bound: float,
    sigma: float,
    delta: float,
    mixing: float | None = None,
) -> Vector:
    """Loss of online ridge less L(θ*) is at most this, with probability 1 − δ for all T at once.  [Thm 3.2] [Eq 14]

    B + 2σ √(2 (1/σ'² + B) log(√(1 + σ'²B)/(δ/2))), where B = (σ √(2 log(2/δ) + u_T) + √λ S)² κ u_T bounds the sum of
    the squared errors of the predictions. Neither targets nor predictions need be bounded.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        mixing: σ' > 0, see `noise_sum`; 1/σ by default.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import ridge_regret_to_truth
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> bound = ridge_regret_to_truth([100, 1000], **said)
        >>> bool(bound[0] < bound[1] < 3 * bound[0])  # it grows like log²T
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    bias = math.sqrt(lam) * theta_bound
    return _regret(gain, kappa(lam, feature_bound) * gain, bias, sigma, delta, mixing)


@along_trace
def ridge_regret_to_truth_along(
    trace: Trace, *, theta_bound: float, sigma: float, delta: float, mixing: float | None = None
) -> Vector:
    """At every round of a run, loss of ridge less L(θ*) is at most this, with probability 1 − δ.  [Thm 3.2]

    The bound of `ridge_regret_to_truth` with the information gain I for u_T, and Σq for κ u_T.

    Args:
        trace: the run.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        mixing: σ' > 0, see `noise_sum`; 1/σ by default.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import ridge_regret_to_truth_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = ridge_regret_to_truth_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> regret = np.cumsum((trace.p - y) ** 2 - (y - X @ theta) ** 2)
        >>> bool((regret <= bound).all())
        True
    """
    bias = math.sqrt(trace.lam) * theta_bound
    return _regret(trace.gain, np.cumsum(trace.q), bias, sigma, delta, mixing)


@over_horizons
def forward_regret_to_truth(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    theta_bound: float,
    sigma: float,
    delta: float,
    mixing: float | None = None,
) -> Vector:
    """Loss of the forward algorithm less L(θ*) is at most this, with probability 1 − δ for all T.  [Thm 3.3] [Eq 15]

    As `ridge_regret_to_truth`, with B = (σ √(2 log(2/δ) + u_T) + (√λ + X) S)² u_T: without the factor κ, which grows
    as X²/λ does.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        mixing: σ' > 0, see `noise_sum`; 1/σ by default.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import forward_regret_to_truth, ridge_regret_to_truth
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> forward_regret_to_truth(1000, **said) < ridge_regret_to_truth(1000, **said)  # no factor κ
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    bias = (math.sqrt(lam) + feature_bound) * theta_bound
    return _regret(gain, gain, bias, sigma, delta, mixing)


@along_trace
def forward_regret_to_truth_along(
    trace: Trace, *, theta_bound: float, sigma: float, delta: float, mixing: float | None = None
) -> Vector:
    """At every round of a run, loss of forward less L(θ*) is at most this, with probability 1 − δ.  [Thm 3.3]

    The bound of `forward_regret_to_truth` with the information gain I in the width, Σh for u_T, and the largest row so
    far for X.

    Args:
        trace: the run.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        mixing: σ' > 0, see `noise_sum`; 1/σ by default.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import forward_regret_to_truth_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = forward_regret_to_truth_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> regret = np.cumsum((trace.forward - y) ** 2 - (y - X @ theta) ** 2)
        >>> bool((regret <= bound).all())
        True
    """
    bias = (math.sqrt(trace.lam) + so_far(trace.norms)) * theta_bound
    return _regret(trace.gain, np.cumsum(trace.h), bias, sigma, delta, mixing)


def _regret(
    gain: Vector, leverage: Vector, bias: float | Vector, sigma: float, delta: float, mixing: float | None
) -> Vector:
    """Half of δ is spent on where θ is, half on the noise that the errors are multiplied with."""
    return with_noise(np.square(noise_width(sigma, delta / 2.0, gain) + bias) * leverage, sigma, delta, mixing)


def _truth(gain: Vector, lam: float, sigma: float, delta: float, smallest_eigenvalue: float | Vector) -> Vector:
    eigenvalue = np.broadcast_to(np.asarray(smallest_eigenvalue, dtype=np.float64), np.shape(gain))
    ratio = np.divide(lam, eigenvalue, out=np.full(np.shape(gain), np.inf), where=eigenvalue > 0)
    bound: Vector = (1.0 + ratio) * np.square(noise_width(sigma, delta, gain))
    return bound
