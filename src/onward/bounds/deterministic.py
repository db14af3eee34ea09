"""Regret against any targets whatever: nothing is assumed but bounds on features and targets."""

import math

import numpy as np

from onward.bounds.common import along_trace, check, in_numbers, over_horizons, over_horizons_from, so_far, u
from onward.core.trace import Trace
from onward.core.types import Vector


@over_horizons
def ridge_regret_to_penalized(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, target_bound: float
) -> Vector:
    """Loss of online ridge less min_θ (L(θ) + λ‖θ‖²) is at most this: 4 Y² u_T.  [Thm 2.1]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        target_bound: Y, neither a target nor a *prediction* of ridge is larger in absolute value. To have that without
            looking at the predictions, clip them to [−Y, Y]: the bound holds for clipped ridge too.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import forward_regret_to_penalized, ridge_regret_to_penalized
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "target_bound": 1.0}
        >>> ridge_regret_to_penalized(100, **said) / forward_regret_to_penalized(100, **said)
        4.0
    """
    return 4.0 * target_bound * target_bound * u(horizon, d, lam, feature_bound)


@along_trace
def ridge_regret_to_penalized_along(trace: Trace, *, clip: float | None = None) -> Vector:
    """At every round of a run, loss of ridge less min_θ (L(θ) + λ‖θ‖²) is at most 4 max(|y|, |p|)² Σh.  [Thm 2.1]

    Args:
        trace: the run.
        clip: the predictions were clipped to [−clip, clip]; no target may be larger.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range, or a target larger than clip.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import ridge_regret_to_penalized_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> least = np.cumsum((trace.p - y) ** 2 / (1.0 + trace.q))  # min (L(θ) + λ‖θ‖²)
        >>> regret = np.cumsum((trace.p - y) ** 2) - least
        >>> bool((regret <= ridge_regret_to_penalized_along(trace)).all())
        True
    """
    p = trace.p
    if clip is not None:
        if (np.abs(trace.y) > clip).any():
            raise ValueError(f"clip must be at least the largest |y|, {np.abs(trace.y).max():g}, got {clip!r}")
        p = np.clip(p, -clip, clip)
    Y = so_far(np.maximum(np.abs(trace.y), np.abs(p)))
    return 4.0 * Y * Y * np.cumsum(trace.h)


@in_numbers
def ridge_regret_to_penalized_small_loss(penalized_loss: Vector, *, lam: float, feature_bound: float) -> Vector:
    """Loss of online ridge less the penalised minimum is at most X²/λ times that minimum, whatever the targets.  [Eq 4]

    Nothing is assumed of targets or predictions: where some θ does well, ridge does.

    Args:
        penalized_loss: min_θ (L(θ) + λ‖θ‖²), one number or one for each round.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.

    Returns:
        The bound, in the shape of penalized_loss.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import ridge_regret_to_penalized_small_loss
        >>> ridge_regret_to_penalized_small_loss([10.0, 20.0], lam=4.0, feature_bound=2.0)
        array([10., 20.])
    """
    check(penalized_loss=penalized_loss, lam=lam, feature_bound=feature_bound)
    return feature_bound * feature_bound / lam * np.asarray(penalized_loss, dtype=np.float64)


@along_trace
def ridge_regret_to_penalized_small_loss_along(trace: Trace) -> Vector:
    """At every round, loss of ridge less the penalised minimum is at most max q times that minimum.  [Eq 4]

    The minimum is Σ (p − y)²/(1 + q), exactly, and the loss Σ (p − y)².

    Args:
        trace: the run.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import ridge_regret_to_penalized_small_loss_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> least = np.cumsum((trace.p - y) ** 2 / (1.0 + trace.q))  # min (L(θ) + λ‖θ‖²)
        >>> regret = np.cumsum((trace.p - y) ** 2) - least
        >>> bool((regret <= ridge_regret_to_penalized_small_loss_along(trace) + 1e-9).all())
        True
    """
    return so_far(trace.q) * np.cumsum((trace.p - trace.y) ** 2 / (1.0 + trace.q))


@over_horizons
def forward_regret_to_penalized(
    horizon: Vector, *, d: int, lam: float, feature_bound: float, target_bound: float
) -> Vector:
    """Loss of the forward algorithm less min_θ (L(θ) + λ‖θ‖²) is at most this: Y² u_T.  [Thm 2.2]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        target_bound: Y, no target is larger in absolute value; predictions may be.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import forward_regret_to_penalized
        >>> bound = forward_regret_to_penalized([10, 100, 1000], d=2, lam=1.0, feature_bound=1.0, target_bound=1.0)
        >>> bound.round(1)  # it grows like log T
        array([ 3.6,  7.9, 12.4])
    """
    return target_bound * target_bound * u(horizon, d, lam, feature_bound)


@along_trace
def forward_regret_to_penalized_along(trace: Trace) -> Vector:
    """At every round of a run, loss of forward less min_θ (L(θ) + λ‖θ‖²) is at most max|y|² Σh.  [Thm 2.2]

    Args:
        trace: the run.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import forward_regret_to_penalized_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> least = np.cumsum((trace.p - y) ** 2 / (1.0 + trace.q))  # min (L(θ) + λ‖θ‖²)
        >>> regret = np.cumsum((trace.forward - y) ** 2) - least
        >>> bool((regret <= forward_regret_to_penalized_along(trace) + 1e-9).all())
        True
    """
    Y = so_far(np.abs(trace.y))
    return Y * Y * np.cumsum(trace.h)


@over_horizons
def ridge_regret_to_best(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    target_bound: float,
    smallest_eigenvalue: float | Vector,
) -> Vector:
    """Loss of online ridge less min_θ L(θ) is at most this: 4 Y² u_T + λ Y² T / λ⁺.  [Cor 2.3.1]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        target_bound: Y, neither a target nor a prediction is larger in absolute value, as in Thm 2.1.
        smallest_eigenvalue: λ⁺, the smallest positive eigenvalue of Σxxᵀ (see `smallest_positive_eigenvalues`), one
            for each horizon if these are several. The bound is infinite where it is 0.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import forward_regret_to_best, ridge_regret_to_best
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "target_bound": 1.0}
        >>> bound = ridge_regret_to_best(100, **said, smallest_eigenvalue=50.0)
        >>> forward_regret_to_best(100, **said, smallest_eigenvalue=50.0) < bound
        True
        >>> ridge_regret_to_best(100, **said, smallest_eigenvalue=0.0)
        inf
    """
    Y2 = target_bound * target_bound
    return 4.0 * Y2 * u(horizon, d, lam, feature_bound) + _penalty(lam, Y2 * horizon, smallest_eigenvalue)


@along_trace
def ridge_regret_to_best_along(trace: Trace, *, smallest_eigenvalue: Vector, clip: float | None = None) -> Vector:
    """At every round of a run, loss of ridge less min_θ L(θ) is at most 4 max(|y|, |p|)² Σh + λ Σy²/λ⁺.  [Cor 2.3.1]

    Args:
        trace: the run.
        smallest_eigenvalue: λ⁺ of Σxxᵀ after each round, as `smallest_positive_eigenvalues` gives it.
        clip: the predictions were clipped to [−clip, clip]; no target may be larger.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range, or a target larger than clip.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import ridge_regret_to_best_along, smallest_positive_eigenvalues
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = ridge_regret_to_best_along(trace, smallest_eigenvalue=smallest_positive_eigenvalues(X))
        >>> best = np.sum((y - X @ np.linalg.lstsq(X, y)[0]) ** 2)
        >>> bool(np.sum((trace.p - y) ** 2) - best <= bound[-1])
        True
    """
    regret = ridge_regret_to_penalized_along(trace, clip=clip)
    return regret + _penalty(trace.lam, np.cumsum(trace.y**2), smallest_eigenvalue)


@over_horizons
def forward_regret_to_best(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    feature_bound: float,
    target_bound: float,
    smallest_eigenvalue: float | Vector,
) -> Vector:
    """Loss of the forward algorithm less min_θ L(θ) is at most this: Y² u_T + λ Y² T / λ⁺.  [Cor 2.3.1]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.
        target_bound: Y, no target is larger in absolute value.
        smallest_eigenvalue: λ⁺, the smallest positive eigenvalue of Σxxᵀ (see `smallest_positive_eigenvalues`), one
            for each horizon if these are several. The bound is infinite where it is 0.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import forward_regret_to_best
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0, "target_bound": 1.0}
        >>> bound = forward_regret_to_best([100, 1000], **said, smallest_eigenvalue=[50.0, 500.0])
        >>> bound.round(1)  # what λ costs stays as it is where the eigenvalue grows like T
        array([ 9.9, 14.4])
    """
    Y2 = target_bound * target_bound
    return Y2 * u(horizon, d, lam, feature_bound) + _penalty(lam, Y2 * horizon, smallest_eigenvalue)


@along_trace
def forward_regret_to_best_along(trace: Trace, *, smallest_eigenvalue: Vector) -> Vector:
    """At every round of a run, loss of forward less min_θ L(θ) is at most max|y|² Σh + λ Σy²/λ⁺.  [Cor 2.3.1]

    Args:
        trace: the run.
        smallest_eigenvalue: λ⁺ of Σxxᵀ after each round, as `smallest_positive_eigenvalues` gives it.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import forward_regret_to_best_along, smallest_positive_eigenvalues
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bound = forward_regret_to_best_along(trace, smallest_eigenvalue=smallest_positive_eigenvalues(X))
        >>> best = np.sum((y - X @ np.linalg.lstsq(X, y)[0]) ** 2)
        >>> bool(np.sum((trace.forward - y) ** 2) - best <= bound[-1])
        True
    """
    penalty = _penalty(trace.lam, np.cumsum(trace.y**2), smallest_eigenvalue)
    return forward_regret_to_penalized_along(trace) + penalty


@over_horizons_from(8)
def minimax_regret(horizon: Vector, *, d: int, target_bound: float) -> Vector:
    """Whatever the algorithm, some rows and targets make L − min_θ L(θ) at least this, for T ≥ 8.  [Thm 2.3]

    Quoted from Gaillard et al. 2019, d Y² (log T − 3 − log d − log log T), not proven here: rows in [0, 1]^d, known
    beforehand, targets in [−Y, Y].

    Args:
        horizon: T, or several; at least 8.
        d: coordinates.
        target_bound: Y.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range, or a horizon less than 8.

    Example:
        >>> from onward.bounds import forward_regret_to_penalized, minimax_regret
        >>> minimax_regret(10**6, d=2, target_bound=1.0) < forward_regret_to_penalized(
        ...     10**6, d=2, lam=1.0, feature_bound=2**0.5, target_bound=1.0
        ... )
        True
    """
    return d * target_bound * target_bound * (np.log(horizon) - 3.0 - math.log(d) - np.log(np.log(horizon)))


def _penalty(lam: float, squares: Vector, smallest_eigenvalue: float | Vector) -> Vector:
    """λ Σy² / λ⁺ ≥ λ‖θ‖² of the best θ: what the penalised minimum may exceed the minimum by."""
    eigenvalue = np.broadcast_to(np.asarray(smallest_eigenvalue, dtype=np.float64), np.shape(squares))
    penalty: Vector = np.full(np.shape(squares), np.inf)
    return np.divide(lam * squares, eigenvalue, out=penalty, where=eigenvalue > 0)
