"""What the paper prints on the forward algorithm with λ = 0."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onward.bounds.as_printed.printed_regression import log_kappa_d
from onward.bounds.common import check, design, so_far
from onward.bounds.linear_algebra import smallest_positive_eigenvalues, unpenalized
from onward.core.types import Vector


@dataclass(frozen=True)
class RankStructure:
    """What Thm E.1 is made of, for the rows of a run. As printed, not a bound.

    Attributes:
        rising: whether the rank rises, for each round (T,).
        full_rank_at: T_1, the first round (from 1) after which Σxxᵀ is regular; T if there is none.
        log_ratio: log(|G_T†|/|G_{T_1}†|) as printed, after each round, 0 up to T_1: *minus* what was gained since.
        start_cost: Σ log(X²/λ⁺) over the rounds up to T_1 that raise the rank.

    Example:
        >>> from onward.bounds.as_printed import unregularized_forward_structure
        >>> unregularized_forward_structure([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]).rising
        array([ True, False,  True])
    """

    rising: NDArray[np.bool_]
    full_rank_at: int
    log_ratio: Vector
    start_cost: float


def unregularized_forward_structure(X: object) -> RankStructure:
    """The rank-raising rounds and the log-ratio that the printed theorem is made of: not a bound.  [Thm E.1]

    Errata 13: the ratio of pseudo-determinants is upside down, so its logarithm is never positive.

    Args:
        X: the rows of the run (T, d).

    Returns:
        What the theorem is made of.

    Raises:
        ValueError: if X is not finite, or of another shape.

    Example:
        >>> from onward.bounds.as_printed import unregularized_forward_structure
        >>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
        >>> structure = unregularized_forward_structure(X)
        >>> structure.full_rank_at, bool((structure.log_ratio <= 0.0).all())
        (3, True)
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
    ones for which the paper gives κ_d. Errata 22: X²/γ with γ the smallest norm is no ratio, so the bound changes with
    the unit of the rows. The bound is `onward.bounds.unregularized_forward_regret_to_truth_along`.

    Args:
        X: the rows of the run (T, d).
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ.

    Returns:
        The printed value after each round (T,).

    Raises:
        ValueError: if a parameter is out of its range, or a row of X is zero.

    Example:
        >>> import numpy as np
        >>> from onward.bounds.as_printed import unregularized_forward_regret_to_truth
        >>> X = [[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
        >>> printed = unregularized_forward_regret_to_truth(X, sigma=1.0, delta=0.05)
        >>> np.isnan(printed)  # before the rows have full rank
        array([ True,  True, False, False])
    """
    check(sigma=sigma, delta=delta)
    rows = design(X)
    T, d = rows.shape
    structure = unregularized_forward_structure(rows)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    t, largest, smallest = np.arange(1.0, T + 1.0), so_far(norms), np.minimum.accumulate(norms)
    if not smallest[-1] > 0:
        raise ValueError("X must have no row of zeros, got one: the printed bound divides by the smallest norm")
    kappa_d = log_kappa_d(1.0 + t * largest**2 / (smallest * d), d)
    first = 8.0 * sigma**2 * (kappa_d + math.log(4.0 / delta)) * structure.log_ratio
    start = 2.0 * sigma**2 * math.log(4.0 * structure.full_rank_at / delta) * (d + structure.start_cost)
    return np.where(t < structure.full_rank_at, np.nan, first + start)
