"""Regret of the forward algorithm with λ = 0, which predicts 0 in a round that raises the rank.

Between such rounds the rows stay in the span of those before. There, with A = Σxxᵀ and q = xᵀA†x, it predicts
p/(1 + q), p = xᵀA†b, and p − xᵀθ* = xᵀA†Σxε. On the span A† ≤ (1 + λ'/λ⁺)(A + λ'I)⁻¹ for any λ' > 0, with λ⁺ the
smallest positive eigenvalue of A, so that |p − xᵀθ*| ≤ √q σ √((1 + λ'/λ⁺)(2 log(1/δ) + I(λ'))) at all rounds at once,
where I(λ') is the information gain with λ'.
"""

import math

import numpy as np

from onward.bounds.common import before_each, check, column, design, in_numbers, over_horizons, so_far, with_noise
from onward.bounds.linear_algebra import leverages_after, smallest_positive_eigenvalues, unpenalized
from onward.confidence import noise_width
from onward.core.shown import brief
from onward.core.state import Information
from onward.core.types import Vector


@in_numbers
def unregularized_forward_regret_to_truth_along(
    X: object, *, lam: float, theta_bound: float, sigma: float, delta: float, mixing: float | None = None
) -> Vector:
    """At every round, loss of forward with λ = 0 less L(θ*) is at most this, with probability 1 − δ.  [Thm E.1]

    B + 2·tail(B), where B has (‖x‖S)² for a round that raises the rank, and for any other
    (√(h(1 − h)) σ √((1 + λ'/λ⁺)(2 log(2/δ) + I(λ'))) + h‖x‖S)², with λ⁺ and I(λ') from before the row. The noise is
    σ-sub-Gaussian given the past, and rows may depend on all that came before.

    Args:
        X: the rows of the run (T, d).
        lam: λ' > 0, chosen beforehand. It is the bound's: the learner has none.
        theta_bound: S ≥ ‖θ*‖.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        mixing: σ' > 0, see `noise_sum`; 1/σ by default.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import unregularized_forward_regret_to_truth_along
        >>> X = np.random.default_rng(0).standard_normal((100, 2))
        >>> bound = unregularized_forward_regret_to_truth_along(X, lam=1.0, theta_bound=1.0, sigma=1.0, delta=0.05)
        >>> bool((np.diff(bound) > 0.0).all()), bound.shape
        (True, (100,))
    """
    check(lam=lam, theta_bound=theta_bound, sigma=sigma, delta=delta, mixing=mixing)
    rows = design(X)
    T, d = rows.shape
    _, q = unpenalized(rows, np.zeros(T))
    _, penalized = Information(d, 1, lam).absorb(rows, np.zeros((T, 1)), np.ones(T))
    raised = np.isinf(q)
    q = np.where(raised, 0.0, q)
    eigenvalue = before_each(smallest_positive_eigenvalues(rows))
    stretch = np.sqrt(1.0 + np.divide(lam, eigenvalue, out=np.zeros(T), where=eigenvalue > 0))
    noise = noise_width(sigma, delta / 2.0, before_each(np.cumsum(np.log1p(penalized)))) * stretch
    bias = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * theta_bound
    errors = np.where(raised, bias, np.sqrt(q) / (1.0 + q) * noise + q / (1.0 + q) * bias)
    return with_noise(np.cumsum(errors**2), sigma, delta, mixing)


@over_horizons
def unregularized_forward_regret_to_best(
    horizon: Vector, *, d: int, feature_bound: float, target_bound: float, smallest_eigenvalue: float | Vector
) -> Vector:
    """Loss of forward with λ = 0 less min_θ L(θ) is at most Y² r (1 + log(T/r) + log(X²/λ⁺)), r = min(d, T).  [Thm E.2]

    After Gaillard et al. 2019, with r log(T/r) for their d log T, and one λ⁺ for all rounds that raise the rank. The
    determinant of A on its span rises by 1 + q in a round that keeps the rank and by the squared distance of x from the
    span, at least λ⁺, in one that raises it; it ends at most at (TX²/r)^r.

    Args:
        horizon: T, or several.
        d: coordinates.
        feature_bound: X, no row has a larger norm.
        target_bound: Y, no target is larger in absolute value.
        smallest_eigenvalue: λ⁺ ≤ X², at most the smallest positive eigenvalue of Σxxᵀ (see
            `smallest_positive_eigenvalues`) after each round that raises the rank. The bound is infinite where it is 0.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range, or the smallest eigenvalue larger than X².

    Example:
        >>> from onward.bounds import unregularized_forward_regret_to_best
        >>> said = {"d": 1, "feature_bound": 1.0, "target_bound": 1.0}
        >>> unregularized_forward_regret_to_best([1, 100], **said, smallest_eigenvalue=1.0).round(3)  # 1 + log T
        array([1.   , 5.605])
    """
    eigenvalue, largest = np.asarray(smallest_eigenvalue, dtype=np.float64), feature_bound * feature_bound
    if largest == 0.0:
        return np.zeros_like(horizon)
    if (eigenvalue > largest * (1.0 + 1e-12)).any():
        text = f"smallest_eigenvalue must be at most feature_bound², {largest:g}"
        raise ValueError(f"{text}, as it is after the first row, got {brief(smallest_eigenvalue)}")
    ratio = np.divide(largest, eigenvalue, out=np.full_like(eigenvalue, math.inf), where=eigenvalue > 0)
    r = np.minimum(d, horizon)
    return target_bound * target_bound * r * (1.0 + np.log(horizon / r) + np.log(np.maximum(ratio, 1.0)))


@in_numbers
def unregularized_forward_regret_to_best_along(X: object, y: object) -> Vector:
    """At every round, loss of the forward algorithm with λ = 0 less min_θ L(θ) is at most max|y|² Σh.  [Thm E.2]

    Quoted from Gaillard et al. 2019, Theorem 11, its first inequality. h = xᵀG†x is 1 in a round that raises the rank.

    Args:
        X: the rows of the run (T, d).
        y: its targets (T,).

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> from onward.bounds import unregularized_forward_regret_to_best_along
        >>> unregularized_forward_regret_to_best_along([[1.0], [1.0], [1.0]], [1.0, -1.0, 1.0]).round(3)  # 1, 1/2, 1/3
        array([1.   , 1.5  , 1.833])
    """
    rows = design(X)
    Y = so_far(np.abs(column("y", y, len(rows))))
    return Y * Y * np.cumsum(leverages_after(rows))
