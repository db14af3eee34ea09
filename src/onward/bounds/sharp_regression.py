"""Regret to the truth, sharper than in the paper: each round is bounded with what was known before it.

The error of a prediction is, with W the joint radius (`common.ridge_radius`) before the round,

    ridge       |p − xᵀθ*| ≤ √q W
    forward     (1 − h)(p − xᵀθ*) − h xᵀθ*, so at most √(h(1 − h)) W + h‖x‖S

because forward predicts (1 − h)p and (1 − h)√q = √(h(1 − h)). What forward pays for θ* being unknown, h‖x‖S, goes like
1/n where the paper's √h (√λ + X) S goes like 1/√n. By Cauchy and Schwarz the square is at most h (W² + ‖x‖²S²).

Who has seen the targets can do better, without a probability: the regret to the truth is

    L − L(θ*) = L − min_θ (L(θ) + λ‖θ‖²) + λ‖θ*‖² − ‖θ_T − θ*‖² in the norm of G

and the first difference is known exactly (`ridge_identity`, `forward_identity`). These are the `_seen_along`.

As for all bounds on the regret to the truth, the noise is σ-sub-Gaussian given the past, rows may depend on all that
came before, there is one λ for all coordinates, no prior mean, and every weight is 1.
The `_seen_along` assume nothing of the noise.
"""

import numpy as np

from onward.bounds.common import along_trace, before_each, kappa, over_horizons, ridge_radius, u, with_noise
from onward.bounds.identities import forward_identity, ridge_identity
from onward.core.trace import Trace
from onward.core.types import Vector


@over_horizons
def ridge_regret_to_truth_sharp(
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
    """Loss of online ridge less L(θ*) is at most this, with probability 1 − δ for all T at once.  [Thm 3.2]

    As `ridge_regret_to_truth`, with B = (σ² (2 log(2/δ) + u_T) + λS²) κ u_T: never larger.

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
        >>> from onward.bounds import ridge_regret_to_truth, ridge_regret_to_truth_sharp
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> ridge_regret_to_truth_sharp(1000, **said) < ridge_regret_to_truth(1000, **said)
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    squares = np.square(ridge_radius(gain, lam, theta_bound, sigma, delta / 2.0)) * kappa(lam, feature_bound) * gain
    return with_noise(squares, sigma, delta, mixing)


@along_trace
def ridge_regret_to_truth_sharp_along(
    trace: Trace, *, theta_bound: float, sigma: float, delta: float, mixing: float | None = None
) -> Vector:
    """At every round of a run, loss of ridge less L(θ*) is at most this, with probability 1 − δ.  [Thm 3.2]

    As `ridge_regret_to_truth_sharp`, with B = Σ q W², W² = σ² (2 log(2/δ) + I) + λS² before each round.

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
        >>> from onward.bounds import ridge_regret_to_truth_sharp_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = ridge_regret_to_truth_sharp_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> regret = np.cumsum((trace.p - y) ** 2 - (y - X @ theta) ** 2)
        >>> bool((regret <= bound).all())
        True
    """
    W = ridge_radius(before_each(trace.gain), trace.lam, theta_bound, sigma, delta / 2.0)
    return with_noise(np.cumsum(trace.q * W * W), sigma, delta, mixing)


@over_horizons
def forward_regret_to_truth_sharp(
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
    """Loss of the forward algorithm less L(θ*) is at most this, with probability 1 − δ for all T at once.  [Thm 3.3]

    As `forward_regret_to_truth`, with B = (σ² (2 log(2/δ) + u_T) + (λ + X²) S²) min(T, u_T): never larger.

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
        >>> from onward.bounds import forward_regret_to_truth, forward_regret_to_truth_sharp
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> forward_regret_to_truth_sharp(1000, **said) < forward_regret_to_truth(1000, **said)
        True
    """
    gain = u(horizon, d, lam, feature_bound)
    squares = np.square(ridge_radius(gain, lam, theta_bound, sigma, delta / 2.0)) + (feature_bound * theta_bound) ** 2
    return with_noise(squares * np.minimum(horizon, gain), sigma, delta, mixing)


@along_trace
def forward_regret_to_truth_sharp_along(
    trace: Trace, *, theta_bound: float, sigma: float, delta: float, mixing: float | None = None
) -> Vector:
    """At every round of a run, loss of forward less L(θ*) is at most this, with probability 1 − δ.  [Thm 3.3]

    As `forward_regret_to_truth_sharp`, with B = Σ (√(h(1 − h)) W + h‖x‖S)², W² = σ² (2 log(2/δ) + I) + λS² before each
    round.

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
        >>> from onward.bounds import forward_regret_to_truth_sharp_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = forward_regret_to_truth_sharp_along(trace, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> regret = np.cumsum((trace.forward - y) ** 2 - (y - X @ theta) ** 2)
        >>> bool((regret <= bound).all())
        True
    """
    W = ridge_radius(before_each(trace.gain), trace.lam, theta_bound, sigma, delta / 2.0)
    errors = np.sqrt(trace.q) / (1.0 + trace.q) * W + trace.h * trace.norms * theta_bound
    return with_noise(np.cumsum(errors**2), sigma, delta, mixing)


@along_trace
def ridge_regret_to_truth_seen_along(trace: Trace, *, theta_bound: float) -> Vector:
    """At every round of a run, loss of ridge less L(θ*) is at most Σ (p − y)² h + λS², surely.  [Thm 3.2]

    For every θ* with ‖θ*‖ ≤ S and any noise, from the targets that were seen.

    Args:
        trace: the run.
        theta_bound: S ≥ ‖θ*‖.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import ridge_regret_to_truth_seen_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = ridge_regret_to_truth_seen_along(trace, theta_bound=1.0)
        >>> regret = np.cumsum((trace.p - y) ** 2 - (y - X @ theta) ** 2)
        >>> bool((regret <= bound).all())
        True
    """
    return ridge_identity(trace).regret + trace.lam * theta_bound * theta_bound


@along_trace
def forward_regret_to_truth_seen_along(trace: Trace, *, theta_bound: float) -> Vector:
    """At every round of a run, loss of forward less L(θ*) is at most Σ y² h − Σ q ŷ² + λS², surely.  [Thm 3.3]

    For every θ* with ‖θ*‖ ≤ S and any noise, from the targets that were seen.

    Args:
        trace: the run.
        theta_bound: S ≥ ‖θ*‖.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import forward_regret_to_truth_seen_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = forward_regret_to_truth_seen_along(trace, theta_bound=1.0)
        >>> regret = np.cumsum((trace.forward - y) ** 2 - (y - X @ theta) ** 2)
        >>> bool((regret <= bound).all())
        True
    """
    return forward_identity(trace).regret + trace.lam * theta_bound * theta_bound
