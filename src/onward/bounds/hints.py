"""Forward with a guess at the next target, and what follows for a constant that is not regularised.

Forward predicts as if the target to come were 0. Given a guess ỹ, it predicts as if it were ỹ:

    ŷ = xᵀ(G + xxᵀ)⁻¹(b + ỹx) = (p + qỹ) / (1 + q)

With e = y − p and f = y − ỹ a round costs (y − ŷ)² − e²/(1 + q) = q(2ef − e² + qf²)/(1 + q)² more than the penalised
minimum rises by. That is at most hf², with h = q/(1 + q), because 2ef − e² ≤ f².

Forward with a constant that is not regularised predicts m + (p − m)/(1 + q_c), with m the mean of the targets so far
and q_c = q − 1/n the leverage of the centred row. It is forward with the guess ỹ = p + κ(m − p), where
κ = q_c(1 + q)/((1 + q_c)q) lies between 0 and 1. And since hκ = h_c = q_c/(1 + q_c), by the inequality of Jensen

    Σ h(y − ỹ)² ≤ Σ h_c(y − m)² + Σ (h − h_c)(y − p)²

where forward that shrinks to 0 has Σ hy²: a shift of all targets costs nothing but in the first round. A row of weight
w has wq for q, and counts w times.
"""

from typing import Any

import numpy as np

from onward.bounds.common import column, design, in_numbers
from onward.core.checks import positive
from onward.core.state import Information
from onward.core.types import Vector


@in_numbers
def hinted_forward_regret_to_penalized_along(
    y: object, *, leverage: object, hints: object, sample_weight: object = None
) -> Vector:
    """Loss of forward with hints ỹ less the penalised minimum: Σ h(y − ỹ)².  [Jacobsen and Cutkosky 2024, hints]

    At every round, on any sequence.

    Args:
        y: the targets (T,).
        leverage: q = xᵀG⁻¹x of each row (T,), from the rounds before; infinite where nothing was known.
        hints: ỹ, the guess at each target (T,), made before it was seen.
        sample_weight: of each row (T,); None for 1.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> from onward.bounds import hinted_forward_regret_to_penalized_along
        >>> said = {"y": [5.0, 5.2], "leverage": [1.0, 0.5]}
        >>> zero = hinted_forward_regret_to_penalized_along(**said, hints=[0.0, 0.0])
        >>> good = hinted_forward_regret_to_penalized_along(**said, hints=[5.0, 5.0])
        >>> bool((good < zero).all())  # a good guess at the target costs less
        True
    """
    q = np.asarray(leverage)
    T = max(q.size, np.asarray(y).size, np.asarray(hints).size)
    targets, w = column("y", y, T), _weights(sample_weight, T)
    infinite: Any = np.isposinf(q) if q.dtype.kind == "f" else False
    finite = column("leverage", np.where(infinite, 0.0, q) if np.any(infinite) else q, T)
    if (finite < 0).any():
        raise ValueError(f"leverage must be >= 0, got {finite.min()}")
    h = np.where(infinite, 1.0, w * finite / (1.0 + w * finite))
    return np.cumsum(w * h * (targets - column("hints", hints, T)) ** 2)


@in_numbers
def centred_forward_regret_to_penalized_along(
    X: object, y: object, *, lam: float, sample_weight: object = None
) -> Vector:
    """Loss of `ForwardRegressor(lam)`, its constant free, less min L + λ‖θ‖².  [Jacobsen and Cutkosky 2024, hints]

    At every round, on any sequence: `hinted_forward_regret_to_penalized_along` of the guesses that it makes. θ has no
    constant in ‖θ‖.

    Args:
        X: the rows of the run (T, d), without the constant.
        y: its targets (T,).
        lam: λ > 0 of the features.
        sample_weight: of each row (T,); None for 1.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import centred_forward_regret_to_penalized_along
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((50, 2))
        >>> y = X @ [0.6, -0.8] + rng.standard_normal(50)
        >>> one, shifted = (centred_forward_regret_to_penalized_along(X, y + by, lam=1.0) for by in (0.0, 100.0))
        >>> bool(np.allclose(np.diff(one), np.diff(shifted)))  # a shift of all targets costs in the first round alone
        True
    """
    rows = design(X)
    T, d = rows.shape
    targets, w = column("y", y, T), _weights(sample_weight, T)
    state = Information(d, 1, np.append(0.0, np.full(d, positive("lam", lam))), intercept=True)
    p, q = state.absorb(rows, targets[:, None].copy(), w)
    weight = np.cumsum(w) - w
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(weight > 0, (np.cumsum(w * targets) - w * targets) / weight, 0.0)
        centred, full = w * np.maximum(q - 1.0 / weight, 0.0), w * q
        toward = np.where(full > 0, centred * (1.0 + full) / ((1.0 + centred) * full), 0.0)
    hints = np.where(weight > 0, p[:, 0] + toward * (mean - p[:, 0]), 0.0)
    return hinted_forward_regret_to_penalized_along(targets, leverage=q, hints=hints, sample_weight=w)


def _weights(sample_weight: object, T: int) -> Vector:
    w = np.ones(T) if sample_weight is None else column("sample_weight", sample_weight, T)
    if (w < 0).any():
        raise ValueError(f"sample_weight must be >= 0, got {w.min()}")
    return w
