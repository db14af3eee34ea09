"""The mean of the regret to the truth, exactly: rows fixed beforehand, noise uncorrelated of variance σ².

With G = A + λI before a row x, the error p − xᵀθ* of ridge has variance v = σ² xᵀG⁻¹AG⁻¹x and mean β = −λ xᵀG⁻¹θ*. The
error of forward is (p − xᵀθ* − qμ)/(1 + q), with μ = xᵀθ*. The regret of a round is a² + 2εa, of mean E a²:

    ridge       Σ v + β²
    forward     Σ (v + (β − qμ)²)/(1 + q)²

So forward has the smaller mean in a round with q > 0 if and only if qμ² − 2βμ < (2 + q)(v + β²). For λ → 0 and A
regular v is σ²q and β is 0, and that is (xᵀθ*)² < (2 + q)σ²: what forward shrinks is smaller than the noise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from onward.bounds.common import check, column, design, in_numbers
from onward.core.shown import brief
from onward.core.types import Matrix, Vector


@in_numbers
def ridge_expected_regret_to_truth(X: object, theta: object, *, lam: float, sigma: float) -> Vector:
    """Mean of the loss of online ridge less L(θ*), after each round, exactly: Σ v + β².  [Sec 3.3]

    Args:
        X: the rows (T, d), fixed beforehand.
        theta: θ* (d,).
        lam: λ > 0.
        sigma: σ, the standard deviation of the noise, which is uncorrelated.

    Returns:
        The mean after each round (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import ridge_expected_regret_to_truth
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((50, 2))
        >>> mean = ridge_expected_regret_to_truth(X, [0.6, -0.8], lam=1.0, sigma=1.0)
        >>> bool((np.diff(mean) >= 0.0).all()), mean.shape
        (True, (50,))
    """
    errors = _errors(X, theta, lam, sigma)
    return np.cumsum(errors.variance + errors.bias**2)


@in_numbers
def forward_expected_regret_to_truth(X: object, theta: object, *, lam: float, sigma: float) -> Vector:
    """Mean of the loss of forward less L(θ*), after each round, exactly: Σ (v + (β − qμ)²)/(1 + q)².  [Sec 3.3]

    Args:
        X: the rows (T, d), fixed beforehand.
        theta: θ* (d,).
        lam: λ > 0.
        sigma: σ, the standard deviation of the noise, which is uncorrelated.

    Returns:
        The mean after each round (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import forward_expected_regret_to_truth, ridge_expected_regret_to_truth
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((50, 2))
        >>> said = {"theta": [0.6, -0.8], "lam": 0.01, "sigma": 2.0}
        >>> forward, ridge = forward_expected_regret_to_truth(X, **said), ridge_expected_regret_to_truth(X, **said)
        >>> bool(forward[-1] < ridge[-1])  # the noise is larger than what is to be learned
        True
    """
    errors = _errors(X, theta, lam, sigma)
    bias = errors.bias - errors.leverage * errors.mean
    return np.cumsum((errors.variance + bias**2) / (1.0 + errors.leverage) ** 2)


@in_numbers
def forward_beats_ridge(mean: object, *, leverage: object, sigma: float) -> NDArray[np.bool_]:
    """Whether forward has the smaller expected regret in a round: (xᵀθ*)² < (2 + q)σ², for small λ.  [Sec 3.3]

    Exact in the limit λ → 0, once the rows span all coordinates.

    Args:
        mean: xᵀθ*, one number or one for each round.
        leverage: q = xᵀG⁻¹x before the row, as many; infinite where nothing was known.
        sigma: σ, the standard deviation of the noise, which is uncorrelated.

    Returns:
        True or False, one for each of mean.

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> from onward.bounds import forward_beats_ridge
        >>> forward_beats_ridge([1.0, 3.0], leverage=[0.1, 0.1], sigma=1.0)
        array([ True, False])
    """
    check(mean=mean, sigma=sigma)
    squares, q = np.square(np.asarray(mean, dtype=np.float64)), np.asarray(leverage)
    if q.dtype.kind not in "iuf" or q.shape != squares.shape or not (q >= 0).all():
        raise ValueError(f"leverage must be numbers >= 0, as many as of mean, got {brief(leverage)}")
    return np.asarray(squares < (2.0 + q) * sigma * sigma)


class _Errors(NamedTuple):
    """Of ridge, before each row: q, v, β, and μ = xᵀθ*."""

    leverage: Vector
    variance: Vector
    bias: Vector
    mean: Vector


def _errors(X: object, theta: object, lam: float, sigma: float) -> _Errors:
    """From orthogonal factors R of the rows and of the rows with √λ I: v is a sum of squares, O(d³) a row."""
    check(lam=lam, sigma=sigma)
    rows = design(X)
    T, d = rows.shape
    truth = column("theta", theta, d)
    penalty = np.sqrt(lam) * np.eye(d)
    R: Matrix = np.zeros((d, d))
    q, v, beta = np.empty(T), np.empty(T), np.empty(T)
    for t, x in enumerate(rows):
        upper = np.linalg.qr(np.vstack([R, penalty])).R  # upperᵀ upper = G
        half = solve_triangular(upper, x, trans="T")
        z = solve_triangular(upper, half)  # G⁻¹x
        q[t], v[t], beta[t] = half @ half, sigma**2 * np.sum((R @ z) ** 2), -lam * (z @ truth)
        R = np.linalg.qr(np.vstack([R, x])).R
    return _Errors(q, v, beta, rows @ truth)
