"""Regret of forward with discounting, to any path of coefficients u_1, …, u_T: dynamic regret.

Discounted forward predicts ŷ_t = x_tᵀ(P_t + x_tx_tᵀ)⁻¹γb_{t−1}, with b_t = γb_{t−1} + y_tx_t and

    P_t = γG_{t−1},                 G_0 = λI    where λ fades with the rows, as Jacobsen and Cutkosky have it (`fading`)
    P_t = γG_{t−1} + (1 − γ)λI,     G_0 = λI    where it is kept, as `ForwardRegressor(half_life=…)` keeps it

and G_t = P_t + x_tx_tᵀ. Let F_t(u) = λ_t‖u‖² + Σ_{s≤t} γ^(t−s)(y_s − x_sᵀu)², with λ_t = γ^tλ or λ_t = λ: then
F_t = γF_{t−1} + ℓ_t, and (1 − γ)λ‖u‖² more where λ is kept. A round of forward costs at most h_ty_t² more than the
minimum of F_t exceeds that of γF_{t−1}, with h_t = x_tᵀG_t⁻¹x_t; and ℓ_t(u_t) is F_t − γF_{t−1} at u_t. So for any path

    Σ (ŷ_t − y_t)² − Σ (x_tᵀu_t − y_t)² ≤ γλ‖u_1‖² + γ Σ_{t<T} [F_t(u_{t+1}) − F_t(u_t)] + Σ h_ty_t²
                                          + (1 − γ)λ Σ ‖u_t‖²   where λ is kept

and Σ h_t ≤ Σ log(1 + q_t) = Σ (log det G_t − log det P_t), where log det P_t ≥ log det G_{t−1} − d log(1/γ), and,
where λ is kept, log det(P_t/λ) ≥ γ log det(G_{t−1}/λ), as the logarithm of a determinant is concave.

To weigh the d log(1/γ) of each round with its own y_t², beside max y² log det(G_T/λ), would be smaller, but is no
bound: log det G_t falls in rounds with short rows, and a y of 0 there takes back nothing of what later rounds cost.
"""

import numpy as np

from onward.bounds.common import check, column, design, in_numbers, over_horizons
from onward.core.forgetting import learn_rows
from onward.core.row_memory import RowMemory
from onward.core.state import Information
from onward.core.types import Matrix, Vector


@over_horizons
def discounted_forward_regret_to_path(
    horizon: Vector,
    *,
    d: int,
    lam: float,
    gamma: float,
    feature_bound: float,
    target_bound: float,
    theta_bound: float,
    drift: float,
    fading: bool = False,
) -> Vector:
    """Loss of discounted forward less that of any path of coefficients.  [Jacobsen and Cutkosky 2024, discounting]

    Args:
        horizon: T, or several.
        d: coordinates.
        lam: λ > 0.
        gamma: γ, what a round leaves of those before: 2^(−1/half_life).
        feature_bound: X, no row has a larger norm.
        target_bound: Y, no target is larger in absolute value.
        theta_bound: S, no u_t has a larger norm.
        drift: Σ‖u_{t+1} − u_t‖ over the path.
        fading: whether λ fades with the rows; else it is kept, as `ForwardRegressor(half_life=…)` does.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import discounted_forward_regret_to_path
        >>> said = {"d": 1, "lam": 1.0, "gamma": 0.99, "feature_bound": 1.0, "target_bound": 1.0, "theta_bound": 1.0}
        >>> still, moving = (discounted_forward_regret_to_path(1000, **said, drift=drift) for drift in (0.0, 2.0))
        >>> still < moving
        True
    """
    X, Y, S, T = feature_bound, target_bound, theta_bound, horizon
    counted = -np.expm1(T * np.log(gamma)) / (1.0 - gamma)  # Σ γ^(T−t)
    moved = 2.0 * gamma * drift * (lam * S + X * (X * S + Y) * counted)
    start = gamma * lam * S * S + np.zeros_like(T)
    spread = X * X * counted / (lam * d)
    if fading:
        gain = d * (np.log(gamma**T + spread) + T * np.log(1.0 / gamma))
    else:
        start = start + (1.0 - gamma) * lam * S * S * T
        gain = d * np.log1p(spread) * (1.0 + (1.0 - gamma) * (T - 1.0))
    bound: Vector = start + moved + Y * Y * np.minimum(gain, T)
    return bound


@in_numbers
def discounted_forward_regret_to_path_along(
    X: object, y: object, path: object, *, lam: float, gamma: float, fading: bool = False
) -> Vector:
    """Loss of discounted forward less that of a path u, at every round.  [Jacobsen and Cutkosky 2024, discounting]

    γλ‖u_1‖² + γ Σ [F_t(u_{t+1}) − F_t(u_t)] + Σ h_ty_t², and (1 − γ)λ Σ‖u_t‖² where λ is kept, on any sequence.

    Args:
        X: the rows (T, d).
        y: the targets (T,).
        path: u_t for each round (T, d), or one u (d,) for all.
        lam: λ > 0.
        gamma: γ, what a round leaves of those before: 2^(−1/half_life).
        fading: whether λ fades with the rows; else it is kept, as `ForwardRegressor(half_life=…)` does.

    Returns:
        The bound after each round (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import discounted_forward_predictions, discounted_forward_regret_to_path_along
        >>> rng = np.random.default_rng(0)
        >>> X, path = np.ones((200, 1)), np.linspace(0.0, 3.0, 200)[:, None]  # a mean that moves
        >>> y = path[:, 0] + rng.standard_normal(200)
        >>> predicted = discounted_forward_predictions(X, y, lam=1.0, gamma=0.9)
        >>> regret = np.cumsum((predicted - y) ** 2 - (y - path[:, 0]) ** 2)
        >>> bool((regret <= discounted_forward_regret_to_path_along(X, y, path, lam=1.0, gamma=0.9)).all())
        True
    """
    check(lam=lam, gamma=gamma)
    rows = design(X)
    targets, u = column("y", y, len(rows)), _path(path, rows)
    _, q = _run(rows, targets, lam, gamma, fading)
    squares = np.einsum("ij,ij->i", u, u)
    bound: Vector = gamma * lam * squares[0] + np.cumsum(q / (1.0 + q) * targets**2)
    if not fading:
        bound += (1.0 - gamma) * lam * np.cumsum(squares)
    bound += gamma * _moved(rows, targets, u, lam, gamma, fading)
    return bound


@in_numbers
def discounted_forward_predictions(X: object, y: object, *, lam: float, gamma: float, fading: bool = False) -> Vector:
    """What discounted forward predicts, each row before its target.  [Jacobsen and Cutkosky 2024, discounting]

    Args:
        X: the rows (T, d).
        y: the targets (T,).
        lam: λ > 0.
        gamma: γ, what a round leaves of those before: 2^(−1/half_life).
        fading: whether λ fades with the rows; else it is kept, as `ForwardRegressor(half_life=…, fit_intercept=False)`
            does, which predicts the same.

    Returns:
        The predictions (T,).

    Raises:
        ValueError: if an array or a parameter is out of its range.

    Example:
        >>> from onward.bounds import discounted_forward_predictions
        >>> discounted_forward_predictions([[1.0], [1.0], [1.0]], [2.0, 2.0, 2.0], lam=1.0, gamma=0.5).round(3)
        array([0.   , 0.4  , 0.545])
    """
    check(lam=lam, gamma=gamma)
    rows = design(X)
    return _run(rows, column("y", y, len(rows)), lam, gamma, fading)[0]


def _run(X: Matrix, y: Vector, lam: float, gamma: float, fading: bool) -> tuple[Vector, Vector]:
    """The predictions, and the leverages q_t = x_tᵀP_t⁻¹x_t before each row."""
    state = Information(X.shape[1], 1, lam, memory=RowMemory(half_life=1.0))
    state.header["decay"] = gamma
    if fading:
        state.lam[:], state.D[:] = 0.0, gamma * lam  # which the first row finds
    p, q = np.empty((len(X), 1)), np.empty(len(X))
    learn_rows(state.buffer, X, y[:, None].copy(), np.ones(len(X)), np.empty(0), np.empty((0, 0)), True, np.inf, p, q)
    return p[:, 0], q


def _moved(X: Matrix, y: Vector, u: Matrix, lam: float, gamma: float, fading: bool) -> Vector:
    """Σ_{s<t} [F_s(u_{s+1}) − F_s(u_s)] for each t: what it costs the path to move."""
    out, total = np.zeros(len(X)), 0.0
    A, b, left = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1]), lam
    for t in range(len(X) - 1):
        A, b, left = gamma * A + np.outer(X[t], X[t]), gamma * b + y[t] * X[t], gamma * left
        step, both = u[t + 1] - u[t], u[t + 1] + u[t]
        total += step @ (A @ both + (left if fading else lam) * both - 2.0 * b)
        out[t + 1] = total
    return out


def _path(path: object, X: Matrix) -> Matrix:
    text = f"path must be an array of finite numbers of shape {X.shape}, or {X.shape[1:]}"
    array = np.asarray(path)
    if array.dtype.kind not in "iuf" or array.shape not in (X.shape, X.shape[1:]) or not np.isfinite(array).all():
        raise ValueError(f"{text}, got {array.dtype} of shape {array.shape}")
    return np.ascontiguousarray(np.broadcast_to(array, X.shape), dtype=np.float64)
