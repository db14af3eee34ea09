"""The inequalities that the theorems are made of."""

import numpy as np

from onward.bounds.common import along_trace, check, in_numbers, kappa, over_horizons, so_far, tail, u
from onward.core.trace import Trace
from onward.core.types import Vector


@over_horizons
def information_gain(horizon: Vector, *, d: int, lam: float, feature_bound: float) -> Vector:
    """log det G_T − d log λ = Σ log(1 + q) is at most this: u_T = d log(1 + T X²/(λ d)).  [Lem B.2]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import information_gain
        >>> round(information_gain(100, d=1, lam=1.0, feature_bound=1.0), 3)  # log 101
        4.615
    """
    return u(horizon, d, lam, feature_bound)


@along_trace
def information_gain_along(trace: Trace) -> Vector:
    """At every round of a run, log det G − d log λ is at most d log(1 + Σ‖x‖²/(λ d)).  [Lem B.2]

    Args:
        trace: the run.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import information_gain_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bool((trace.gain <= information_gain_along(trace) + 1e-9).all())
        True
    """
    return trace.d * np.log1p(np.cumsum(trace.norms**2) / (trace.lam * trace.d))


@over_horizons
def leverage_before_sum(horizon: Vector, *, d: int, lam: float, feature_bound: float) -> Vector:
    """Σ xᵀG⁻¹x with G before each row, which is what ridge pays for, is at most this: κ u_T.  [Lem C.1]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import leverage_after_sum, leverage_before_sum
        >>> said = {"d": 2, "lam": 0.01, "feature_bound": 1.0}
        >>> leverage_before_sum(100, **said) > 20 * leverage_after_sum(100, **said)  # κ is 21.7
        True
    """
    return kappa(lam, feature_bound) * u(horizon, d, lam, feature_bound)


@along_trace
def leverage_before_sum_along(trace: Trace) -> Vector:
    """At every round of a run, Σq is at most κ I, with κ from the largest row so far.  [Lem C.1]

    Args:
        trace: the run.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import leverage_before_sum_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bool((np.cumsum(trace.q) <= leverage_before_sum_along(trace) + 1e-9).all())
        True
    """
    return kappa(trace.lam, so_far(trace.norms)) * trace.gain


@over_horizons
def leverage_after_sum(horizon: Vector, *, d: int, lam: float, feature_bound: float) -> Vector:
    """Σ xᵀG⁻¹x with G after each row, which is what forward pays for, is at most this: u_T.  [Lem B.2]

    Also for a sum that starts after T0 rounds: `lam` is then the smallest eigenvalue of G after these, and `horizon`
    the number of rounds from T0 + 1 on.

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        feature_bound: X, no row has a larger norm.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import information_gain, leverage_after_sum
        >>> said = {"d": 2, "lam": 1.0, "feature_bound": 1.0}
        >>> leverage_after_sum(100, **said) == information_gain(100, **said)
        True
    """
    return u(horizon, d, lam, feature_bound)


@along_trace
def leverage_after_sum_along(trace: Trace) -> Vector:
    """At every round of a run, Σh is at most the information gain I.  [Lem B.2]

    Args:
        trace: the run.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if the trace is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import leverage_after_sum_along
        >>> from onward.core import Trace
        >>> rng, theta = np.random.default_rng(0), np.array([0.6, -0.8])
        >>> X = rng.standard_normal((200, 2))
        >>> y = X @ theta + rng.standard_normal(200)
        >>> trace = Trace.of(X, y, lam=1.0)
        >>> bool((np.cumsum(trace.h) <= leverage_after_sum_along(trace)).all())
        True
    """
    return trace.gain


@in_numbers
def noise_sum(squares: Vector, *, sigma: float, delta: float, mixing: float | None = None) -> Vector:
    """|Σ ε a| is at most this at every round at once, with probability 1 − δ.  [Lem C.2] [Lem D.1]

    σ √(2 (A + 1/σ'²) log(√(1 + σ'²A)/δ)) with A = Σ a², where a is known before ε. In the theorems a is the error of
    the prediction, (θ − θ*)ᵀx.

    Args:
        squares: A after each round.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails.
        mixing: σ' > 0. Any will do, if chosen beforehand: the bound is least, relative to √A, for A around 10/σ'². The
            default 1/σ makes the bound scale with σ² when targets are rescaled.

    Returns:
        The bound, in the shape of squares.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import noise_sum
        >>> noise = np.random.default_rng(0).standard_normal(1000)
        >>> bound = noise_sum(np.arange(1.0, 1001.0), sigma=1.0, delta=0.05)  # factors a of 1
        >>> bool((np.abs(np.cumsum(noise)) <= bound).all())
        True
    """
    check(squares=squares, sigma=sigma, delta=delta, mixing=mixing)
    return tail(np.asarray(squares, dtype=np.float64), sigma, delta, mixing)


@over_horizons
def reward_noise_sum(horizon: Vector, *, sigma: float, delta: float, mixing: float | None = None) -> Vector:
    """Rewards received differ in sum from their means by at most this, for all T at once.  [Thm 4.1]

    σ √(2 (T + 1/σ'²) log(√(1 + σ'²T)/δ)), with probability 1 − δ: `noise_sum` with factors 1. Added to a bound on the
    pseudo-regret of a policy it bounds what the means of the best actions exceed the rewards received by, at the sum
    of both δ.

    Args:
        horizon: T, or several.
        sigma: σ, the noise is σ-sub-Gaussian.
        delta: δ, the probability that it fails at some round.
        mixing: σ' > 0, chosen beforehand. The bound is least, relative to √T, for T around 10/σ'²; 0.1 by default.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import noise_sum, reward_noise_sum
        >>> reward_noise_sum(1000, sigma=1.0, delta=0.05) == float(noise_sum(1000.0, sigma=1.0, delta=0.05, mixing=0.1))
        True
    """
    return tail(horizon, sigma, delta, 0.1 if mixing is None else mixing)
