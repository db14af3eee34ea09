"""What the paper prints on OFUL and D-LinUCB, each with ridge and with forward."""

import math

import numpy as np

from onward.bounds.common import kappa, over_horizons, u
from onward.confidence import noise_width
from onward.core.types import Vector


@over_horizons
def oful_regret(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed bound of OFUL for rewards in [−1, 1], with `log(λ + TX²/d)`: fails for λ < 1.  [Sec 4]

    Errata 14: the logarithm should be `log(1 + TX²/(λd))`. As printed it is 0, or has no root (NaN), where
    λ + TX²/d ≤ 1. The bound is `onward.bounds.oful_regret`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import oful_regret
        >>> from onward import bounds
        >>> said = {"d": 2, "lam": 0.001, "feature_bound": 0.01, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> printed, bound = oful_regret(20_000, **said), bounds.oful_regret(20_000, **said)
        >>> printed < bound
        True
    """
    width = noise_width(sigma, delta, u(horizon, d, lam, feature_bound)) + math.sqrt(lam) * theta_bound
    return 4.0 * width * _printed_root(horizon, d, lam, feature_bound)


@over_horizons
def oful_regret_with_kappa(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed bound of OFUL without bounded rewards, with `log(λ + TX²/d)`: fails for λ < 1.  [Thm 4.1]

    Errata 14, as in `oful_regret`; errata 16: κ comes from the analysis, not from the policy. The bounds are
    `onward.bounds.oful_regret_with_kappa` and `onward.bounds.oful_regret`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import oful_regret_with_kappa
        >>> from onward import bounds
        >>> said = {"d": 2, "lam": 0.001, "feature_bound": 0.01, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> printed, bound = oful_regret_with_kappa(20_000, **said), bounds.oful_regret_with_kappa(20_000, **said)
        >>> printed < bound
        True
    """
    width = noise_width(sigma, delta, u(horizon, d, lam, feature_bound)) + math.sqrt(lam) * theta_bound
    return 4.0 * width * np.sqrt(kappa(lam, feature_bound)) * _printed_root(horizon, d, lam, feature_bound)


@over_horizons
def oful_forward_regret(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed bound of OFUL^f, with `log(λ + TX²/d)`: fails for λ < 1.  [Thm 4.1]

    Errata 14, as in `oful_regret`. The bound is `onward.bounds.oful_forward_regret`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import oful_forward_regret
        >>> from onward import bounds
        >>> said = {"d": 2, "lam": 0.001, "feature_bound": 0.01, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> printed, bound = oful_forward_regret(20_000, **said), bounds.oful_forward_regret(20_000, **said)
        >>> printed < bound
        True
    """
    bias = (math.sqrt(lam) + feature_bound) * theta_bound
    width = noise_width(sigma, delta, u(horizon, d, lam, feature_bound)) + bias
    return 4.0 * width * _printed_root(horizon, d, lam, feature_bound)


@over_horizons
def dlinucb_regret(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    theta_bound: float,
    sigma: float,
    delta: float,
    gamma: float,
    drift: float,
    memory: int,
) -> Vector:
    """Printed bound on the regret of D-LinUCB when θ* drifts: unproven.  [Thm F.1]

    Errata 19: the step that leads to the drift term 2 X D B_T takes a product of two matrices for a contraction, which
    it is not in general. Its β holds at each round by itself, not at all rounds at once. A bound that is proven is
    `onward.bounds.dlinucb_regret`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.
        gamma: γ, the discount.
        drift: B_T ≥ Σ ‖θ*_t − θ*_{t+1}‖.
        memory: D ≥ 1, any number of rounds to look back on.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import dlinucb_regret
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> still, moving = (dlinucb_regret(1000, **said, gamma=0.99, drift=drift, memory=500) for drift in (0.0, 1.0))
        >>> round(moving - still, 6)  # 2 X D B_T
        1000.0
    """
    X, S = feature_bound, theta_bound
    beta = _discounted_width(horizon, d, lam, X, sigma, delta, gamma) + math.sqrt(lam) * S
    gained = horizon * math.log(1.0 / gamma) + math.log1p(X * X / (d * lam * (1.0 - gamma)))
    return _drift(horizon, lam, X, S, gamma, drift, memory) + 2.0 * beta * np.sqrt(2.0 * d * horizon * gained)


@over_horizons
def dlinucb_forward_regret(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    theta_bound: float,
    sigma: float,
    delta: float,
    gamma: float,
    drift: float,
    memory: int,
) -> Vector:
    """Printed bound on the regret of D-LinUCB^f when θ* drifts: unproven.  [Thm F.2]

    Errata 19, as in `dlinucb_regret`, whose arguments it has; the paper leaves out the proof of the rest. A
    bound that is proven is `onward.bounds.dlinucb_forward_regret`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.
        gamma: γ, the discount.
        drift: B_T ≥ Σ ‖θ*_t − θ*_{t+1}‖.
        memory: D ≥ 1, any number of rounds to look back on.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import dlinucb_forward_regret
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> said |= {"gamma": 0.99, "memory": 500}
        >>> still, moving = (dlinucb_forward_regret(1000, **said, drift=drift) for drift in (0.0, 1.0))
        >>> round(moving - still, 6)  # 2 X D B_T
        1000.0
    """
    X, S = feature_bound, theta_bound
    beta = _discounted_width(horizon, d, lam, X, sigma, delta, gamma) + (math.sqrt(lam) + X) * S
    gained = horizon * math.log(1.0 / gamma) + math.log1p((2.0 - gamma) * X * X / (d * lam * (1.0 - gamma)))
    return _drift(horizon, lam, X, S, gamma, drift, memory) + 2.0 * beta * np.sqrt(d * horizon * gained)


def _printed_root(T: Vector, d: int, lam: float, X: float) -> Vector:
    with np.errstate(invalid="ignore"):
        return np.sqrt(T * d * np.log(lam + T * X * X / d))


def _discounted_width(T: Vector, d: int, lam: float, X: float, sigma: float, delta: float, gamma: float) -> Vector:
    seen = (1.0 - gamma ** (2.0 * T)) / (1.0 - gamma**2)
    return np.asarray(noise_width(sigma, delta, d * np.log1p(X * X * seen / (lam * d))))


def _drift(T: Vector, lam: float, X: float, S: float, gamma: float, drift: float, memory: int) -> Vector:
    return 2.0 * X * memory * drift + 4.0 * X**3 * S / lam * gamma**memory / (1.0 - gamma) * T
