"""Which set to use for what is known, and how far the next observation can be from its mean."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np

from onward.confidence.sets import Ellipsoid, ForwardSet, LeastSquares, QuadraticSet, own_scale
from onward.confidence.widths import Bias, Width, bias_width, information, largest_lam, noise_width
from onward.core import Information
from onward.core.checks import not_negative, positive, probability

NO_SETS = (
    "a model that forgets has no confidence set, and no intervals from one: these hold where all rows count alike and "
    "the coefficients stay the same. Use calibrated intervals for observations, or a model without half_life and window"
)
EPS = float(np.finfo(np.float64).eps)


def confidence_set(
    state: Information,
    kind: Literal["ridge", "forward"],
    delta: float = 0.05,
    sigma: float | None = None,
    theta_bound: float | None = None,
    *,
    width: Width = "determinant",
    bias: Bias = "tight",
    feature_bound: float | None = None,
) -> Ellipsoid | ForwardSet | QuadraticSet:
    """The set for what is known. With a λ for each coordinate, theta_bound is on √(Σ λ_j/λ̄ (θ*_j − θ_0j)²).

    `state` has one target and is kept, not copied: hand in a copy (`of_target` makes one) if it will learn on.
    """
    (region,) = confidence_sets(
        state, kind, [delta], sigma, theta_bound, width=width, bias=bias, feature_bound=feature_bound
    )
    return region


def confidence_sets(
    state: Information,
    kind: Literal["ridge", "forward"],
    deltas: Sequence[float],
    sigma: float | None = None,
    theta_bound: float | None = None,
    *,
    width: Width = "determinant",
    bias: Bias = "tight",
    feature_bound: float | None = None,
) -> list[Ellipsoid | ForwardSet | QuadraticSet]:
    """`confidence_set` for each of several δ: what is dear to compute is the same for all of them."""
    for delta in deltas:
        probability("delta", delta)
    if state.memory is not None:
        raise ValueError(NO_SETS)
    gain = information(state, width, feature_bound)
    bias_width(1.0, 0.0, bias)  # an unknown bias is refused whatever is known
    if sigma is None:
        if theta_bound is not None:
            raise ValueError(
                f"theta_bound says nothing while sigma is unknown: expected sigma too, got theta_bound={theta_bound}"
            )
        fitted = fit_least_squares(state)
        return [_unknown_sigma_set(state, fitted, delta, gain) for delta in deltas]
    noises = [float(noise_width(sigma, delta, gain)) for delta in deltas]
    if theta_bound is None:
        fitted = fit_least_squares(state)
        return [_free_set(state, fitted, noise) for noise in noises]
    not_negative("theta_bound", theta_bound)
    center = state.coefficients()[:, 0] + state.prior[:, 0]
    if kind == "forward":
        return [ForwardSet(state, center, noise, theta_bound, bias) for noise in noises]
    return [Ellipsoid(state, center, noise + math.sqrt(largest_lam(state)) * theta_bound) for noise in noises]


def _free_set(state: Information, fitted: LeastSquares, noise: float) -> QuadraticSet:
    """No bound on θ*: (b − Aθ)ᵀ G⁻¹ (b − Aθ) ≤ noise², so m = α²/(α + λ) for A's eigenvalues α."""
    alpha = fitted.eigenvalues
    return QuadraticSet(state, fitted.center, noise, fitted.axes, alpha**2 / (alpha + largest_lam(state)), fitted)


def _unknown_sigma_set(state: Information, fitted: LeastSquares, delta: float, gain: float) -> QuadraticSet:
    """σ unknown: Q < γ s with γ = 1 − exp(−(2 log(1/δ) + I)/n), so m = α (α/(α + λ) − γ) and radius² = γ s_0."""
    alpha = fitted.eigenvalues
    n = state.counted
    gamma = -math.expm1((2 * math.log(delta) - gain) / n) if n else 1.0
    share = alpha / (alpha + largest_lam(state))
    # Below what rounding can tell from 0, a direction is open rather than wrongly closed.
    stiffness = np.where(alpha > 0, alpha * (share - gamma), -1.0 if n == 0 else 0.0)
    radius = math.sqrt(gamma * fitted.residual)
    return QuadraticSet(state, fitted.center, radius, fitted.axes, stiffness, fitted, sigma_unknown=True)


def fit_least_squares(state: Information) -> LeastSquares:
    """Ordinary least squares in a state; eigenvalues are 0 where rounding could have made them.

    All in the coordinates in which λ is the same for each (`own_scale`), but for A⁺b + θ_0, which is in the model's.
    From singular values of √D·U, never from G multiplied out: that would square the spread of the columns' scales.
    """
    d, lam, scale = len(state.D), largest_lam(state), own_scale(state)
    root = np.sqrt(state.D)
    left, singular, right = np.linalg.svd(root[:, None] * state.triangle() * scale)
    alpha = singular**2 - lam
    alpha[alpha <= 64 * d * EPS * (singular * singular[:1] + lam)] = 0.0
    known = alpha > 0
    share = left.T @ (root * state.c[:, 0])  # b along the axes, over the singular values
    center = scale * (right.T[:, known] @ (singular[known] * share[known] / alpha[known])) + state.prior[:, 0]
    shrunk = float(np.sum(share[known] ** 2 * lam / alpha[known]))
    loss, total = float(state.loss[0]), float(state.loss[0] + share @ share)  # the latter is Σ w y²
    # What rounding may have taken off is given back: rather too wide than too narrow.
    rounding = 64 * d * EPS * (math.sqrt(max(loss, 0.0) * total) + shrunk + EPS * total)
    return LeastSquares(right.T, alpha, center, max(loss - shrunk, 0.0) + rounding)


def _smaller_root(s: float, K: float) -> float:
    """The smaller u with u − s log u = K; 0 if there is none, as there is where K is below its least value, at u = s.

    The left side falls and is convex up to s, so that Newton's steps from the left rise to the solution.
    """
    if s - s * math.log(s) >= K:
        return 0.0
    u = math.exp(-K / s)
    for _ in range(200):
        step = (u - s * math.log(u) - K) * u / (s - u)
        if not step > 4 * EPS * u:
            break
        u += step
    return u


# The next observation


def observation_reach(region: QuadraticSet | Ellipsoid | ForwardSet, delta: float, sigma: float | None) -> float:
    """How far the next observation can be from its mean, with probability 1 − δ.

    With σ known: σ√(2 log(2/δ)). Without, for Gaussian noise: half of δ goes to an upper bound on σ that holds at all
    rounds, half to the Gaussian quantile. The mean must be known at a δ of its own: add the two by the union bound.
    """
    probability("delta", delta)
    if sigma is not None:
        return positive("sigma", sigma) * math.sqrt(2 * math.log(2 / delta))
    if not isinstance(region, QuadraticSet) or not region.sigma_unknown:
        raise ValueError("sigma must be given unless the set is the one for unknown sigma, got None")
    return _sigma_bound(region, delta / 2) * NormalDist().inv_cdf(1 - delta / 4)


def _sigma_bound(region: QuadraticSet, delta: float) -> float:
    """An upper bound on σ at all rounds: s(θ*)/σ² cannot stay below a line that a mixture martingale draws.

    With v = s/σ², M = Γ(a + n/2)/Γ(a) · aᵃ (a + v/2)^(−a−n/2) e^(v/2) is a martingale that starts at 1 (likelihood
    ratios, their precisions mixed by a Gamma law with a = 1/2), so M < 1/δ for all n with probability 1 − δ. s(θ*) is
    at most its largest value on the region.
    """
    n, a = region.state.counted, 0.5
    alpha, residual = region.fitted.eigenvalues, region.fitted.residual
    seen = alpha > 0  # along directions that no row has shown, s does not change: the region may be open there
    if n < 1 or not (region.stiffness[seen] > 0).all():
        return math.inf

    # M = 1/δ, solved for u = a + v/2: u − s log u = K.
    s = a + n / 2
    K = a - math.log(delta) - math.lgamma(s) + math.lgamma(a) - a * math.log(a)
    least = 2 * (_smaller_root(s, K) - a)
    if not least > 0:
        return math.inf
    largest = residual + region.radius**2 * float(np.max(alpha[seen] / region.stiffness[seen], initial=0.0))
    return math.sqrt(largest / least)
