"""Statements as the paper prints them that are not proven or do not hold. Not for use as bounds.

They are here to be compared with: each function says what is wrong and where docs/errata.md shows it. A function that
has the name of one in `onward.bounds` is about the same quantity.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onward.bounds.common import check, design, kappa, over_horizons, over_horizons_from, so_far, u
from onward.bounds.linear_algebra import smallest_positive_eigenvalues, unpenalized
from onward.confidence import noise_width
from onward.core.types import Vector

# A lower bound


@over_horizons_from(8)
def minimax_regret(horizon: Vector, *, d: int, target_bound: float) -> Vector:
    """The minimax lower bound with `log log d` for `log log T`: infinite, so false, at d = 1.  [Thm 2.3]

    Errata 9. Use `onward.bounds.minimax_regret`.
    """
    doubly = math.log(math.log(d)) if d > 1 else -math.inf
    return d * target_bound * target_bound * (np.log(horizon) - 3.0 - math.log(d) - doubly)


# Confidence widths


@over_horizons
def ridge_width(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed width of ridge's ellipsoid, σ √(d log((1 + tX²/(λd))/δ)) + √λ S: fails at d = 1.  [App C]

    Errata 3: `d log(1/δ)` should be `2 log(1/δ)`. The printed one is too small at d = 1, the same at d = 2, and larger
    than needed for d > 2. `onward.confidence` has the right one.
    """
    return _printed_width(horizon, d, lam, feature_bound, sigma, delta) + math.sqrt(lam) * theta_bound


@over_horizons
def forward_width(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed width of forward's ellipsoid, σ √(d log((1 + tX²/(λd))/δ)) + (√λ + X) S: fails at d = 1.  [App D]

    Errata 3: `d log(1/δ)` should be `2 log(1/δ)`. Errata 2: it is printed in the norm of G_t, and holds in the larger
    norm of G_{t+1}.
    """
    bias = (math.sqrt(lam) + feature_bound) * theta_bound
    return _printed_width(horizon, d, lam, feature_bound, sigma, delta) + bias


def least_squares_width(largest_eigenvalue: float, *, d: int, sigma: float, delta: float) -> float:
    """Printed bound on ‖θ_OLS − θ*‖² in the norm of Σxxᵀ, 8 σ² log(κ_d(e² λ_max)/δ): not scale-safe.  [App B]

    Errata 12: κ_d is 0 or negative for λ_max ≤ 1/e, where this is −inf or NaN although the rows may only have been
    measured in other units. `onward.bounds.truth_regret_to_best` bounds the same, at any scale.

    Args:
        largest_eigenvalue: λ_max of Σxxᵀ.
        d: coordinates.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.
    """
    check(largest_eigenvalue=largest_eigenvalue, d=d, sigma=sigma, delta=delta)
    return 8.0 * sigma * sigma * float(_log_kappa_d(np.array(math.e**2 * largest_eigenvalue), d) - math.log(delta))


# Regret to the truth


@over_horizons
def ridge_leading_term(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed leading term of ridge's regret, 2 κ σ² u_T (u_T/2 + log(2/δ)): no bound by itself.  [Thm 3.2]

    Errata 6: what is left out, o(log² T), is most of the regret at any horizon one meets; S does not occur at all. The
    bound is `onward.bounds.ridge_regret_to_truth`.
    """
    return kappa(lam, feature_bound) * _leading(u(horizon, d, lam, feature_bound), sigma, delta)


@over_horizons
def forward_leading_term(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed leading term of forward's regret, 2 σ² u_T (u_T/2 + log(2/δ)): no bound by itself.  [Thm 3.3]

    Errata 6: what is left out, o(log² T), is most of the regret at any horizon one meets; S does not occur at all. The
    bound is `onward.bounds.forward_regret_to_truth`.
    """
    return _leading(u(horizon, d, lam, feature_bound), sigma, delta)


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
    mixing: float,
    squares: float | Vector,
) -> Vector:
    """Printed explicit bound on ridge's regret to the truth: lacks a factor 2, and fails in hard cases.  [Eq 14]

    Errata 5: the regret has *twice* the sum Σ ε a, and the printed bound has the bound on that sum once. Errata 3: the
    width is the printed one. The bound is `onward.bounds.ridge_regret_to_truth`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.
        mixing: σ' > 0.
        squares: A = Σ ((θ − θ*)ᵀx)², which the printed form leaves as it is, for each horizon.
    """
    width = _printed_width(horizon, d, lam, feature_bound, sigma, delta / 2.0) + math.sqrt(lam) * theta_bound
    leading = width**2 * kappa(lam, feature_bound) * u(horizon, d, lam, feature_bound)
    return leading + _printed_tail(squares, sigma, delta / 2.0, mixing)


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
    mixing: float,
    squares: float | Vector,
) -> Vector:
    """Printed explicit bound on forward's regret to the truth: lacks a factor 2, and fails in hard cases.  [Eq 15]

    Errata 5: the bound on Σ ε a must count twice. Errata 4: it carries ridge's factor κ, which is not needed, and its
    last δ should be δ/2. Errata 3: the width is the printed one. The bound is `onward.bounds.forward_regret_to_truth`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.
        mixing: σ' > 0.
        squares: A = Σ ((θ − θ*)ᵀx)², which the printed form leaves as it is, for each horizon.
    """
    bias = (math.sqrt(lam) + feature_bound) * theta_bound
    width = _printed_width(horizon, d, lam, feature_bound, sigma, delta / 2.0) + bias
    leading = width**2 * kappa(lam, feature_bound) * u(horizon, d, lam, feature_bound)
    return leading + _printed_tail(squares, sigma, delta, mixing)


def hindsight_noise_sum(squares: Vector, *, sigma: float, delta: float, mixing: float) -> Vector:
    """Printed bound on |Σ ε (θ_T − θ*)ᵀx| with the *last* θ_T, for each A = Σ ((θ_T − θ*)ᵀx)²: false.  [Lem B.1]

    Errata 10: θ_T has seen every ε, so the sum is no martingale; it equals A, always. The bound, of order √A, fails as
    soon as A is large, as for d large. The theorem it serves holds all the same: `onward.bounds.truth_identity`.

    Args:
        squares: A.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.
        mixing: σ' > 0.
    """
    check(squares=squares, sigma=sigma, delta=delta, mixing=mixing)
    return _printed_tail(squares, sigma, delta, mixing)


# The unregularised forward algorithm


@dataclass(frozen=True)
class RankStructure:
    """What Thm E.1 is made of, for the rows of a run. As printed, not a bound.

    Attributes:
        rising: whether the rank rises, for each round (T,).
        full_rank_at: T_1, the first round (from 1) after which Σxxᵀ is regular; T if there is none.
        log_ratio: log(|G_T†|/|G_{T_1}†|) as printed, after each round, 0 up to T_1: *minus* what was gained since.
        start_cost: Σ log(X²/λ⁺) over the rounds up to T_1 that raise the rank.
    """

    rising: NDArray[np.bool_]
    full_rank_at: int
    log_ratio: Vector
    start_cost: float


def unregularized_forward_structure(X: object) -> RankStructure:
    """The rank-raising rounds and the log-ratio that the printed theorem is made of: not a bound.  [Thm E.1]

    Errata 13: the ratio of pseudo-determinants is upside down, so its logarithm is never positive.
    """
    rows = design(X)
    T, d = rows.shape
    _, q = unpenalized(rows, np.zeros(T))
    rising = np.isinf(q)
    full = int(np.flatnonzero(rising)[-1]) + 1 if np.count_nonzero(rising) == d else T
    gained = np.where(np.arange(T) < full, 0.0, np.log1p(q))
    largest = so_far(np.sqrt(np.einsum("ij,ij->i", rows, rows)))[-1]
    eigenvalues = smallest_positive_eigenvalues(rows[:full])[rising[:full]]
    return RankStructure(rising, full, -np.cumsum(gained), float(np.sum(np.log(largest**2 / eigenvalues))))


def unregularized_forward_regret_to_truth(X: object, *, sigma: float, delta: float) -> Vector:
    """Printed bound on the regret of the forward algorithm with λ = 0, after each round from T_1 on: fails.  [Thm E.1]

    Errata 13: its first term is negative, for the log-ratio has the wrong sign; what θ* costs before it is known, a
    factor 2, `d log T_1` and the mean of y are missing. NaN before T_1. With peeling parameters κ = α = 1, the only
    ones for which the paper gives κ_d. For targets that are bounded, a bound that holds is
    `onward.bounds.unregularized_forward_regret_to_best_along`.

    Args:
        X: the rows of the run (T, d).
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.
    """
    check(sigma=sigma, delta=delta)
    rows = design(X)
    T, d = rows.shape
    structure = unregularized_forward_structure(rows)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    t, largest, smallest = np.arange(1.0, T + 1.0), so_far(norms), np.minimum.accumulate(norms)
    if not smallest[-1] > 0:
        raise ValueError("X must have no row of zeros, got one: the printed bound divides by the smallest norm")
    log_kappa_d = _log_kappa_d(1.0 + t * largest**2 / (smallest * d), d)
    first = 8.0 * sigma**2 * (log_kappa_d + math.log(4.0 / delta)) * structure.log_ratio
    start = 2.0 * sigma**2 * math.log(4.0 * structure.full_rank_at / delta) * (d + structure.start_cost)
    return np.where(t < structure.full_rank_at, np.nan, first + start)


# Bandits


@over_horizons
def oful_regret(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed bound of OFUL for rewards in [−1, 1], with `log(λ + TX²/d)`: fails for λ < 1.  [Sec 4]

    Errata 14: the logarithm should be `log(1 + TX²/(λd))`. As printed it is 0, or has no root (NaN), where
    λ + TX²/d ≤ 1. The bound is `onward.bounds.oful_regret`.
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
    """
    width = noise_width(sigma, delta, u(horizon, d, lam, feature_bound)) + math.sqrt(lam) * theta_bound
    return 4.0 * width * np.sqrt(kappa(lam, feature_bound)) * _printed_root(horizon, d, lam, feature_bound)


@over_horizons
def oful_forward_regret(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed bound of OFUL^f, with `log(λ + TX²/d)`: fails for λ < 1.  [Thm 4.1]

    Errata 14, as in `oful_regret`. The bound is `onward.bounds.oful_forward_regret`.
    """
    bias = (math.sqrt(lam) + feature_bound) * theta_bound
    width = noise_width(sigma, delta, u(horizon, d, lam, feature_bound)) + bias
    return 4.0 * width * _printed_root(horizon, d, lam, feature_bound)


@over_horizons
def discounted_regret(
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
    it is not in general. Its β holds at each round by itself, not at all rounds at once.

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
    """
    X, S = feature_bound, theta_bound
    beta = _discounted_width(horizon, d, lam, X, sigma, delta, gamma) + math.sqrt(lam) * S
    gained = horizon * math.log(1.0 / gamma) + math.log1p(X * X / (d * lam * (1.0 - gamma)))
    return _drift(horizon, lam, X, S, gamma, drift, memory) + 2.0 * beta * np.sqrt(2.0 * d * horizon * gained)


@over_horizons
def discounted_forward_regret(
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

    Errata 19, as in `discounted_regret`, whose arguments it has; the paper leaves out the proof of the rest.
    """
    X, S = feature_bound, theta_bound
    beta = _discounted_width(horizon, d, lam, X, sigma, delta, gamma) + (math.sqrt(lam) + X) * S
    gained = horizon * math.log(1.0 / gamma) + math.log1p((2.0 - gamma) * X * X / (d * lam * (1.0 - gamma)))
    return _drift(horizon, lam, X, S, gamma, drift, memory) + 2.0 * beta * np.sqrt(d * horizon * gained)


def _printed_width(T: Vector, d: int, lam: float, X: float, sigma: float, delta: float) -> Vector:
    return sigma * np.sqrt(u(T, d, lam, X) + d * math.log(1.0 / delta))


def _printed_tail(squares: float | Vector, sigma: float, delta: float, mixing: float) -> Vector:
    A = np.asarray(squares, dtype=np.float64)
    return sigma * np.sqrt(2.0 * (1.0 / mixing**2 + A) * (0.5 * np.log1p(mixing**2 * A) + math.log(1.0 / delta)))


def _leading(gain: Vector, sigma: float, delta: float) -> Vector:
    return 2.0 * sigma**2 * gain * (gain / 2.0 + math.log(2.0 / delta))


def _log_kappa_d(x: Vector, d: int) -> Vector:
    """log κ_d(x), the paper's for κ = α = 1; −inf where κ_d is 0, NaN where it is negative."""
    log_x = np.log(x)
    rest = np.logaddexp(d * (math.log(12.0 * (d + 1) * math.sqrt(d)) + log_x), math.log(d))
    factor = 2.0 / 3.0 * math.pi**2 * (log_x - 1.0) ** 2 * np.ceil(log_x / 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(factor) + rest


def _printed_root(T: Vector, d: int, lam: float, X: float) -> Vector:
    with np.errstate(invalid="ignore"):
        return np.sqrt(T * d * np.log(lam + T * X * X / d))


def _discounted_width(T: Vector, d: int, lam: float, X: float, sigma: float, delta: float, gamma: float) -> Vector:
    seen = (1.0 - gamma ** (2.0 * T)) / (1.0 - gamma**2)
    return np.asarray(noise_width(sigma, delta, d * np.log1p(X * X * seen / (lam * d))))


def _drift(T: Vector, lam: float, X: float, S: float, gamma: float, drift: float, memory: int) -> Vector:
    return 2.0 * X * memory * drift + 4.0 * X**3 * S / lam * gamma**memory / (1.0 - gamma) * T
