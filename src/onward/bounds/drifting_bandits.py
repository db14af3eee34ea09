"""Pseudo-regret of D-LinUCB when θ* drifts: with probability 1 − δ over T rounds.

Let V = Σ γ^(t−1−s) x_sx_sᵀ + λI before round t, and Δ_p = θ*_p − θ*_{p+1}. Drift takes the estimate at x off by

    |xᵀV⁻¹ Σ_s γ^(t−1−s) x_sx_sᵀ(θ*_s − θ*_t)| ≤ Σ_p Σ_{s≤p} γ^(t−1−s) |xᵀV⁻¹x_s| |x_sᵀΔ_p|
                                               ≤ X √(xᵀV⁻¹x) Σ_p ‖Δ_p‖ √(γ^(t−1−p)/(1 − γ))

by Cauchy and Schwarz over s, because Σ γ^(t−1−s)(xᵀV⁻¹x_s)² ≤ xᵀV⁻¹x. That is at most X²/λ, and X²/(λ + X²) with
V + xxᵀ for V, as forward has it. Summed over t, and twice, for the best action and for the one played:

    ridge       2 (1 + √γ) X² B_T / (√λ (1 − γ)^(3/2))
    forward     2 (1 + √γ) X² B_T / (√(λ + X²) (1 − γ)^(3/2))

The rate in γ is that of Wang, Zhao and Zhou 2023; no factor of d is needed. The rest is as without drift: the width is
at most β √q, or β √h, Σ log(1 + q) ≤ d T log(1/γ) + d log(1 + X²/(λd(1 − γ))), and no round costs more than 2XS.

β holds at one round, so the policy must be run with δ/T, which is what makes it hold at all rounds up to T.
"""

import math

import numpy as np

from onward.bounds.common import over_horizons
from onward.core.types import Vector


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
) -> Vector:
    """Regret of D-LinUCB, run with δ/T, is at most this with probability 1 − δ, however θ* drifts.  [Thm F.1]

    2 (1 + √γ) X² B_T/(√λ (1 − γ)^(3/2)) + 2 max(X S, β_T) √(T d (T log(1/γ) + log(1 + X²/(λd(1 − γ))))/log 2), with
    β_T = √λ S + σ √(2 log(T/δ) + d log(1 + X² (1 − γ^(2T))/(λd(1 − γ²)))). For each noise width of the policy.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action *offered* has a larger norm.
        theta_bound: S, no θ*_t has a larger norm.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails. The policy's own is δ/T.
        gamma: γ, the discount.
        drift: B_T ≥ Σ ‖θ*_t − θ*_{t+1}‖.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import dlinucb_regret
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> said |= {"gamma": 0.999}
        >>> bound = dlinucb_regret(1000, **said, drift=0.01)
        >>> dlinucb_regret(1000, **said, drift=0.0) < bound < dlinucb_regret(2000, **said, drift=0.01)
        True
    """
    X, S = feature_bound, theta_bound
    beta = math.sqrt(lam) * S + _noise(horizon, d, lam, X, sigma, delta, gamma)
    gained = _gained(horizon, d, lam, X, gamma)
    learned = 2.0 * np.maximum(X * S, beta) * np.sqrt(horizon * gained / math.log(2.0))
    return _drift(X, gamma, drift, math.sqrt(lam)) + learned


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
) -> Vector:
    """Regret of D-LinUCB^f, run with δ/T, is at most this with probability 1 − δ, however θ* drifts.  [Thm F.2]

    2 (1 + √γ) X² B_T/(√(λ + X²) (1 − γ)^(3/2)) + 2 β_T √(T d (T log(1/γ) + log(1 + X²/(λd(1 − γ))))), with (√λ + X) S
    in β_T for √λ S. For each noise width of the policy, and for its bias `sharp`, `tight` or `paper`:
    of the sharp index a round costs at most 2√(h(1 − h)) β + 2h‖x‖S beside drift, with ridge's β, which is not more.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no action *offered* has a larger norm.
        theta_bound: S, no θ*_t has a larger norm.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails. The policy's own is δ/T.
        gamma: γ, the discount.
        drift: B_T ≥ Σ ‖θ*_t − θ*_{t+1}‖.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import dlinucb_forward_regret, dlinucb_regret
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> said |= {"gamma": 0.999}
        >>> dlinucb_forward_regret(1000, **said, drift=1.0) < dlinucb_regret(1000, **said, drift=1.0)
        True
    """
    X, S = feature_bound, theta_bound
    beta = (math.sqrt(lam) + X) * S + _noise(horizon, d, lam, X, sigma, delta, gamma)
    learned = 2.0 * beta * np.sqrt(horizon * _gained(horizon, d, lam, X, gamma))
    return _drift(X, gamma, drift, math.hypot(math.sqrt(lam), X)) + learned


def _noise(T: Vector, d: int, lam: float, X: float, sigma: float, delta: float, gamma: float) -> Vector:
    """What the noise can do at each of T rounds: δ/T for each."""
    counted = -np.expm1(2.0 * T * math.log(gamma)) / (1.0 - gamma * gamma)
    width: Vector = sigma * np.sqrt(2.0 * np.log(T / delta) + d * np.log1p(X * X * counted / (lam * d)))
    return width


def _gained(T: Vector, d: int, lam: float, X: float, gamma: float) -> Vector:
    """Σ log(1 + q) is at most this."""
    return d * (T * math.log(1.0 / gamma) + math.log1p(X * X / (d * lam * (1.0 - gamma))))


def _drift(X: float, gamma: float, drift: float, least: float) -> float:
    """What drift costs, with `least` the root of the smallest that x's own part of V can be."""
    return 2.0 * (1.0 + math.sqrt(gamma)) * X * X * drift / (least * math.sqrt(1.0 - gamma) * (1.0 - gamma))
