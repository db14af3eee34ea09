"""What the paper prints on ridge and forward: widths, leading terms and explicit bounds that fail or are loose."""

import math

import numpy as np

from onward.bounds.common import check, kappa, over_horizons, over_horizons_from, u
from onward.core.types import Vector


@over_horizons_from(8)
def minimax_regret(horizon: Vector, *, d: int, target_bound: float) -> Vector:
    """The minimax lower bound with `log log d` for `log log T`: infinite, so false, at d = 1.  [Thm 2.3]

    Errata 9. Use `onward.bounds.minimax_regret`.

    Args:
        horizon: T, or several; at least 8.
        d: coordinates.
        target_bound: Y.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range, or a horizon less than 8.

    Example:
        >>> from onward.bounds.as_printed import minimax_regret
        >>> minimax_regret(100, d=1, target_bound=1.0)
        inf
    """
    doubly = math.log(math.log(d)) if d > 1 else -math.inf
    return d * target_bound * target_bound * (np.log(horizon) - 3.0 - math.log(d) - doubly)


@over_horizons
def target_growth(horizon: Vector, *, sigma: float, delta: float) -> Vector:
    """Printed bound on max|y| up to each T, σ √(2 log(T/δ)), for all T at once: false.  [App E]

    Errata 22: it pays for one round, not for all that there are, and it lacks the mean of y. Use
    `onward.bounds.target_growth`.

    Args:
        horizon: T, or several.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import target_growth
        >>> from onward import bounds
        >>> bound = bounds.target_growth(1000, feature_bound=0.0, theta_bound=0.0, sigma=1.0, delta=0.05)
        >>> target_growth(1000, sigma=1.0, delta=0.05) < bound
        True
    """
    return sigma * np.sqrt(2.0 * np.log(horizon / delta))


# Confidence widths


@over_horizons
def ridge_width(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed width of ridge's ellipsoid, σ √(d log((1 + tX²/(λd))/δ)) + √λ S: fails at d = 1.  [App C]

    Errata 3: `d log(1/δ)` should be `2 log(1/δ)`. The printed one is too small at d = 1, the same at d = 2, and larger
    than needed for d > 2. `onward.confidence` has the right one.

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
        >>> from onward import bounds
        >>> from onward.bounds.as_printed import ridge_width
        >>> from onward.confidence import noise_width
        >>> said = {"lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> right = noise_width(1.0, 0.05, bounds.information_gain(100, d=1, lam=1.0, feature_bound=1.0)) + 1.0
        >>> bool(ridge_width(100, d=1, **said) < right)  # too small
        True
    """
    return _printed_width(horizon, d, lam, feature_bound, sigma, delta) + math.sqrt(lam) * theta_bound


@over_horizons
def forward_width(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, theta_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed width of forward's ellipsoid, σ √(d log((1 + tX²/(λd))/δ)) + (√λ + X) S: fails at d = 1.  [App D]

    Errata 3: `d log(1/δ)` should be `2 log(1/δ)`. Errata 2: it is printed in the norm of G_t, and holds in the larger
    norm of G_{t+1}.

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
        >>> from onward.bounds.as_printed import forward_width, ridge_width
        >>> said = {"lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> round(forward_width(100, d=1, **said) - ridge_width(100, d=1, **said), 9)  # X S
        1.0
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

    Returns:
        The printed value.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import least_squares_width
        >>> least_squares_width(0.1, d=2, sigma=1.0, delta=0.05)  # although it is a square
        -inf
    """
    check(largest_eigenvalue=largest_eigenvalue, d=d, sigma=sigma, delta=delta)
    return 8.0 * sigma * sigma * float(log_kappa_d(np.array(math.e**2 * largest_eigenvalue), d) - math.log(delta))


# Regret to the truth


@over_horizons
def ridge_leading_term(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed leading term of ridge's regret, 2 κ σ² u_T (u_T/2 + log(2/δ)): no bound by itself.  [Thm 3.2]

    Errata 6, a caution: what is left out, o(log² T), can be most of the regret in the first rounds; S does not occur at
    all. The bound is `onward.bounds.ridge_regret_to_truth`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import ridge_leading_term
        >>> from onward import bounds
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> ridge_leading_term(100, **said) < bounds.ridge_regret_to_truth(100, **said, theta_bound=1.0)
        True
    """
    return kappa(lam, feature_bound) * _leading(u(horizon, d, lam, feature_bound), sigma, delta)


@over_horizons
def forward_leading_term(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, sigma: float, delta: float
) -> Vector:
    """Printed leading term of forward's regret, 2 σ² u_T (u_T/2 + log(2/δ)): no bound by itself.  [Thm 3.3]

    Errata 6, a caution: what is left out, o(log² T), can be most of the regret in the first rounds; S does not occur at
    all. The bound is `onward.bounds.forward_regret_to_truth`.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import forward_leading_term
        >>> from onward import bounds
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> forward_leading_term(100, **said) < bounds.forward_regret_to_truth(100, **said, theta_bound=1.0)
        True
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

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import ridge_regret_to_truth
        >>> from onward import bounds
        >>> said = {"d": 1, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> ridge_regret_to_truth(100, **said, mixing=1.0, squares=20.0) < bounds.ridge_regret_to_truth(100, **said)
        True
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

    Returns:
        The printed value: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import forward_regret_to_truth
        >>> from onward import bounds
        >>> said = {"d": 1, "lam": 1.0, "feature_bound": 1.0, "theta_bound": 1.0, "sigma": 1.0, "delta": 0.05}
        >>> forward_regret_to_truth(100, **said, mixing=1.0, squares=20.0) < bounds.forward_regret_to_truth(100, **said)
        True
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

    Returns:
        The printed value, in the shape of squares.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds.as_printed import hindsight_noise_sum
        >>> A = 100.0  # and the sum is A
        >>> bool(hindsight_noise_sum(A, sigma=1.0, delta=0.05, mixing=1.0) < A)
        True
    """
    check(squares=squares, sigma=sigma, delta=delta, mixing=mixing)
    return _printed_tail(squares, sigma, delta, mixing)


def _printed_width(T: Vector, d: int, lam: float, X: float, sigma: float, delta: float) -> Vector:
    return sigma * np.sqrt(u(T, d, lam, X) + d * math.log(1.0 / delta))


def _printed_tail(squares: float | Vector, sigma: float, delta: float, mixing: float) -> Vector:
    A = np.asarray(squares, dtype=np.float64)
    return sigma * np.sqrt(2.0 * (1.0 / mixing**2 + A) * (0.5 * np.log1p(mixing**2 * A) + math.log(1.0 / delta)))


def _leading(gain: Vector, sigma: float, delta: float) -> Vector:
    return 2.0 * sigma**2 * gain * (gain / 2.0 + math.log(2.0 / delta))


def log_kappa_d(x: Vector, d: int) -> Vector:
    """log κ_d(x), the paper's for κ = α = 1; −inf where κ_d is 0, NaN where it is negative."""
    log_x = np.log(x)
    rest = np.logaddexp(d * (math.log(12.0 * (d + 1) * math.sqrt(d)) + log_x), math.log(d))
    factor = 2.0 / 3.0 * math.pi**2 * (log_x - 1.0) ** 2 * np.ceil(log_x / 2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(factor) + rest
