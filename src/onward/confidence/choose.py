"""Which set to use for what is known, and how far the next observation can be from its mean."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from onward.confidence.quadratic import LeastSquares, QuadraticSet, quadratic_ends
from onward.confidence.set_in_ball import SetInBall
from onward.confidence.set_parts import feature_rows, own_scale
from onward.confidence.sets import Ellipsoid, ForwardSet
from onward.confidence.widths import (
    Bias,
    Radius,
    Width,
    information,
    largest_lam,
    noise_width,
    radius_of_both,
    smallest_lam,
)
from onward.core import Information
from onward.core.checks import LARGEST_BOUND, not_negative, positive, probability
from onward.core.shown import brief
from onward.core.types import Matrix, Vector

NO_SETS = (
    "a model that forgets has no confidence set, and no intervals from one: these hold where all rows count alike and "
    "the coefficients stay the same. Use calibrated intervals for observations, or a model without half_life and window"
)
EPS = float(np.finfo(np.float64).eps)


AnySet = Ellipsoid | ForwardSet | SetInBall | QuadraticSet
Kind = Literal["ridge", "forward"]


class SetChoices(TypedDict, total=False):
    """How a set is made of what is known; without any of these, the narrowest that is proven and has a closed form.

    width: the information gain itself, `determinant`, or what bounds it: `trace`, `uniform` (as in the paper).
    bias: of forward's sets: `sharp`; in the norm of G + xxᵀ `tight` √(λ + ‖x‖²) or `paper` √λ + ‖x‖.
    radius: with σ and S, `joint` √(σ²(2 log 1/δ + I) + λS²), `sum` σ√(2 log 1/δ + I) + √λS (as in the paper, and the
        only one for `tight` and `paper`), `regret` √(λS² + online loss − regularised loss + 2σ² log 1/δ), or for ridge
        `convex`, the set within the ball of S, narrower still and slower to read. With σ alone, `regret` is around
        least squares: ‖θ − θ_OLS‖² in the norm of A ≤ online loss − squared residuals + 2σ² log 1/δ.
    mixture: λ' > 0 of sets without S, whose center is least squares whatever λ the model has: the set is narrowest
        where so much is known in a direction as about eight times λ'. A number fixed before the rows came; 1 unless
        told. (With a λ_j for each coordinate, λ' λ_j/λ̄ is that of each, λ̄ the largest.)
    feature_bound: X ≥ √w·‖x‖ for `uniform`; None for the largest seen.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import SetChoices
        >>> model = RidgeRegressor(fit_intercept=False).fit([[1.0]] * 20, [2.0] * 20)
        >>> as_in_the_paper = SetChoices(radius="sum", width="uniform")
        >>> told = {"sigma": 1.0, "theta_bound": 2.0}
        >>> model.confidence_set(**told).radius < model.confidence_set(**told, **as_in_the_paper).radius
        True
    """

    width: Width
    bias: Bias
    radius: Radius | None
    mixture: float | None
    feature_bound: float | None


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def confidence_set(
    state: Information,
    kind: Kind,
    delta: float = 0.05,
    sigma: float | None = None,
    theta_bound: float | None = None,
    **choices: Unpack[SetChoices],
) -> AnySet:
    """The set for what is known. With a λ for each coordinate, theta_bound is on √(Σ λ_j/λ̄ (θ*_j − θ_0j)²).

    `state` has one target and is kept, not copied: hand in a copy (`of_target` makes one) if it will learn on.

    Args:
        kind: "ridge" or "forward".
        delta: the probability that it may fail, ever.
        sigma: the noise is sigma-sub-Gaussian; None if unknown.
        choices: see `SetChoices`.

    Returns:
        The set, as the table in `onward.confidence` has it.

    Raises:
        ValueError: if a number is out of its range, or a choice does not go with what is known.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import confidence_set
        >>> state = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1.0]] * 8, [2.0] * 8).information_
        >>> confidence_set(state, "ridge", 0.05, sigma=1.0, theta_bound=2.0).interval([1.0]).round(2)
        array([[0.61, 2.94]])
    """
    (region,) = confidence_sets(state, kind, [delta], sigma, theta_bound, **choices)
    return region


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def confidence_sets(
    state: Information,
    kind: Kind,
    deltas: Sequence[float],
    sigma: float | None = None,
    theta_bound: float | None = None,
    *,
    width: Width = "determinant",
    bias: Bias = "sharp",
    radius: Radius | None = None,
    mixture: float | None = None,
    feature_bound: float | None = None,
) -> list[AnySet]:
    """`confidence_set` for each of several δ: what is dear to compute is the same for all of them.

    Args:
        state: with one target, kept, not copied.
        kind: "ridge" or "forward".
        deltas: the δ.
        sigma, theta_bound: as of `confidence_set`.
        width, bias, radius, mixture, feature_bound: see `SetChoices`.

    Returns:
        A set for each δ.

    Raises:
        ValueError: as of `confidence_set`.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import confidence_sets
        >>> state = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1.0]] * 8, [2.0] * 8).information_
        >>> loose, tight = confidence_sets(state, "ridge", [0.01, 0.2], sigma=1.0, theta_bound=2.0)
        >>> loose.radius > tight.radius
        True
    """
    for delta in deltas:
        probability("delta", delta)
    if state.memory is not None:
        raise ValueError(NO_SETS)
    smallest_lam(state)
    if bias not in ("sharp", "tight", "paper"):
        raise ValueError(f"bias must be 'sharp', 'tight' or 'paper', got {brief(bias)}")
    if radius not in (None, "joint", "sum", "regret", "convex"):
        raise ValueError(f"radius must be 'joint', 'sum', 'regret' or 'convex', got {brief(radius)}")
    if theta_bound is None:
        lam = positive("mixture", 1.0 if mixture is None else mixture)
        if sigma is None and radius is not None:
            raise ValueError(f"a radius is chosen where sigma is known: expected sigma too, got radius={radius!r}")
        if radius not in (None, "regret"):
            raise ValueError(f"radius={radius!r} is made of S: expected theta_bound too, or radius='regret'")
        fitted = fit_least_squares(state)
        gain = information(state, width, feature_bound, fitted.eigenvalues, lam)
        if sigma is None:
            return [_unknown_sigma_set(state, fitted, delta, gain, lam) for delta in deltas]
        if radius == "regret":
            return [_regret_set(state, fitted, sigma, delta) for delta in deltas]
        return [_free_set(state, fitted, float(noise_width(sigma, delta, gain)), lam) for delta in deltas]
    if sigma is None:
        raise ValueError(
            f"theta_bound says nothing while sigma is unknown: expected sigma too, got theta_bound={brief(theta_bound)}"
        )
    if mixture is not None:
        raise ValueError(
            f"mixture is for sets without theta_bound, which have the model's λ, got mixture={brief(mixture)}"
        )
    gain = information(state, width, feature_bound)
    S = not_negative("theta_bound", theta_bound, LARGEST_BOUND)
    if kind == "forward" and bias != "sharp" and radius not in (None, "sum"):
        raise ValueError(f"bias={bias!r} goes with radius='sum', got radius={radius!r}: expected bias='sharp'")
    if kind == "forward" and radius == "convex":
        raise ValueError(
            "radius='convex' is of ridge's set, and forward's intervals lie around it: expected a ridge model"
        )
    center, root = state.coefficients()[:, 0] + state.prior[:, 0], math.sqrt(largest_lam(state)) * S
    paper = radius == "sum" or (kind == "forward" and bias != "sharp")
    sets: list[AnySet] = []
    for delta in deltas:
        noise = float(noise_width(sigma, delta, gain))
        W = float(radius_of_both(noise, root, not paper))
        if radius == "regret":
            W = math.hypot(root, math.sqrt(_regret(state, float(state.loss[0]), sigma, delta)))  # root² may overflow
        if kind == "forward":
            sets.append(ForwardSet(state, center, W, noise, S, bias))
        else:
            sets.append(_set_in_ball(state, center, W, S, noise) if radius == "convex" else Ellipsoid(state, center, W))
    return sets


def interval_of_each(regions: Sequence[AnySet], X: ArrayLike) -> list[Matrix]:
    """`interval` of several sets that differ in their δ alone: what is dear to compute is done once for all.

    Args:
        regions: sets of one state.
        X: rows (n, features), or one row.

    Returns:
        Ends (n, 2) for each set.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import confidence_sets, interval_of_each
        >>> state = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1.0]] * 8, [2.0] * 8).information_
        >>> regions = confidence_sets(state, "ridge", [0.01, 0.2], sigma=1.0, theta_bound=2.0)
        >>> [ends.round(2).tolist() for ends in interval_of_each(regions, [1.0])]
        [[[0.47, 3.09]], [[0.75, 2.8]]]
    """
    if all(isinstance(each, QuadraticSet) for each in regions):
        state = regions[0].state
        return quadratic_ends(cast(Sequence[QuadraticSet], regions), feature_rows(state, X), state.intercept)
    return [each.interval(X) for each in regions]


def _regret(state: Information, loss: float, sigma: float, delta: float) -> float:
    """What predictions have cost beyond a loss, + 2σ² log(1/δ): regret as a radius (Jun and Kim 2024).

    Each prediction was made before its target came, so that exp((Σ w(y − xᵀθ*)² − online loss)/2σ²) is a
    supermartingale whoever made them: Σ w(y − xᵀθ*)² is at all rounds at most the online loss + 2σ² log(1/δ).
    """
    return max(float(state.online_loss[0]) - loss, 0.0) - 2 * sigma**2 * math.log(delta)


def _regret_set(state: Information, fitted: LeastSquares, sigma: float, delta: float) -> QuadraticSet:
    """No bound on θ*: ‖θ − θ_OLS‖² in the norm of A is at most the regret to least squares + 2σ² log(1/δ)."""
    radius = math.sqrt(_regret(state, fitted.residual, sigma, delta))
    return QuadraticSet(state, fitted.center, radius, fitted.axes, fitted.eigenvalues, fitted)


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def _set_in_ball(state: Information, center: Vector, radius: float, S: float, noise: float) -> SetInBall:
    fitted, lam = fit_least_squares(state), largest_lam(state)
    apart = fitted.axes.T @ ((fitted.center - state.prior[:, 0]) / own_scale(state))
    alpha = fitted.eigenvalues
    shrunk = float(np.sum(alpha * (lam / (alpha + lam)) * apart**2))  # regularised loss less squared residuals
    return SetInBall(state, center, radius, S, fitted, noise**2 + shrunk)


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def _free_set(state: Information, fitted: LeastSquares, noise: float, lam: float) -> QuadraticSet:
    """No bound on θ*: (b − Aθ)ᵀ G⁻¹ (b − Aθ) ≤ noise² with G = A + λ'I, so m = α²/(α + λ') for A's eigenvalues α."""
    alpha = fitted.eigenvalues
    return QuadraticSet(state, fitted.center, noise, fitted.axes, alpha * (alpha / (alpha + lam)), fitted)


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def _unknown_sigma_set(state: Information, fitted: LeastSquares, delta: float, gain: float, lam: float) -> QuadraticSet:
    """σ unknown: Q < γ s with γ = 1 − exp(−(2 log(1/δ) + I)/n), so m = α (α/(α + λ') − γ) and radius² = γ s_0."""
    alpha = fitted.eigenvalues
    n = state.counted
    gamma = -math.expm1((2 * math.log(delta) - gain) / n) if n else 1.0
    share = alpha / (alpha + lam)
    # Below what rounding can tell from 0, a direction is open rather than wrongly closed.
    stiffness = np.where(alpha > 0, alpha * (share - gamma), -1.0 if n == 0 else 0.0)
    radius = math.sqrt(gamma * fitted.residual)
    return QuadraticSet(state, fitted.center, radius, fitted.axes, stiffness, fitted, sigma_unknown=True)


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def fit_least_squares(state: Information) -> LeastSquares:
    """Ordinary least squares in a state; eigenvalues are 0 where rounding could have made them.

    All in the coordinates in which λ is the same for each (`own_scale`), but for A⁺b + θ_0, which is in the model's.
    From singular values of √D·U, never from G multiplied out: that would square the spread of the columns' scales.
    """
    d, lam, scale = len(state.D), largest_lam(state), own_scale(state)
    root = np.sqrt(state.D)
    scaled = root[:, None] * state.triangle() * scale
    finite = bool(np.isfinite(scaled).all())
    left, singular, right = np.linalg.svd(scaled if finite else np.eye(d))  # which does not end on others
    alpha = singular**2 - lam
    if not (finite and np.isfinite(alpha).all()):
        raise ValueError(
            "the squares of the rows overflow double precision in a direction: expected sums of squares below 1e300; "
            "rescale the columns"
        )
    alpha[alpha <= 64 * d * EPS * (singular * singular[:1] + lam)] = 0.0
    known = alpha > 0
    share = left.T @ (root * state.c[:, 0])  # b along the axes, over the singular values
    center = scale * (right.T[:, known] @ (singular[known] * share[known] / alpha[known])) + state.prior[:, 0]
    shrunk = float(np.sum(share[known] ** 2 * (lam / alpha[known])))
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


def observation_reach(region: AnySet, delta: float, sigma: float | None) -> float:
    """How far the next observation can be from its mean, with probability 1 − δ.

    With σ known: σ√(2 log(2/δ)). Without, for Gaussian noise: half of δ goes to an upper bound on σ that holds at all
    rounds, half to the Gaussian quantile. The mean must be known at a δ of its own: add the two by the union bound.

    Args:
        region: a set of the model.
        delta: δ.
        sigma: the noise is sigma-sub-Gaussian; None if unknown.

    Returns:
        The distance.

    Raises:
        ValueError: if sigma is None and the set is not the one for unknown σ.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import observation_reach
        >>> model = RidgeRegressor(fit_intercept=False).fit([[1.0]] * 8, [2.0] * 8)
        >>> round(observation_reach(model.confidence_set(sigma=1.0, theta_bound=2.0), 0.05, 1.0), 3)
        2.716
    """
    probability("delta", delta)
    if sigma is not None:
        return positive("sigma", sigma, LARGEST_BOUND) * math.sqrt(2 * math.log(2 / delta))
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
    largest = residual + region.radius * region.radius * float(
        np.max(alpha[seen] / region.stiffness[seen], initial=0.0)
    )
    return math.sqrt(largest / least)
