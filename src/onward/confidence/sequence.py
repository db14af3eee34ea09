"""Sets over time: a sequence that never widens, and whether sets hold where θ* is known."""

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from onward.confidence.sets import ConfidenceSet
from onward.core import Information
from onward.core.checks import positive
from onward.core.shown import brief
from onward.core.shown_html import html_values, interval_text
from onward.core.types import Matrix, Vector
from onward.tables.number_arrays import as_numbers


class RunningIntersection:
    """Intervals for fixed rows that never widen: at each round, intersected with what was known before.

    Each set holds at all rounds at once, so their intersection does too, with the same δ. If it ever becomes empty,
    an assumption (σ, S, linearity, a fixed θ*) is wrong.

    Args:
        X: the rows, (n, features).

    Raises:
        ValueError: if X is no row or table of finite numbers.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import RunningIntersection
        >>> model, means = RidgeRegressor(fit_intercept=False), RunningIntersection([[1.0, 0.0]])
        >>> for y in (1.0, 3.0, 2.0):
        ...     region = model.learn_one([1.0, 0.0], y).confidence_set(sigma=1.0, theta_bound=3.0)
        ...     means = means.update(region)
        >>> means.empty, means.interval().round(2)
        (False, array([[-0.52,  3.3 ]]))
    """

    def __init__(self, X: ArrayLike) -> None:
        self.rows = np.atleast_2d(as_numbers(X, "X", "one row of numbers or a table of them"))
        if self.rows.ndim != 2:
            raise ValueError(f"X must be one row or a table of rows, got shape {self.rows.shape}")
        if not np.isfinite(self.rows).all():
            raise ValueError(f"X must hold finite numbers, got {self.rows[~np.isfinite(self.rows)][0]}")
        self._ends: Matrix = np.tile([-np.inf, np.inf], (len(self.rows), 1))

    def __repr__(self) -> str:
        shown = ", ".join(interval_text(*ends) for ends in self._ends[:3])
        return f"RunningIntersection({len(self.rows)} rows: {shown}{', …' if len(self.rows) > 3 else ''})"

    def _repr_html_(self) -> str:
        ends = {f"row {place}": interval_text(*each) for place, each in enumerate(self._ends)}
        return html_values("RunningIntersection", ends)

    def update(self, current: ConfidenceSet) -> Self:
        """Take in the set of this round.

        Args:
            current: the set of this round.
        """
        now = current.interval(self.rows)
        self._ends = np.column_stack([np.maximum(self._ends[:, 0], now[:, 0]), np.minimum(self._ends[:, 1], now[:, 1])])
        return self

    def interval(self) -> Matrix:
        """Lower and upper ends (n, 2) for the rows, from all rounds so far."""
        return self._ends.copy()

    @property
    def empty(self) -> bool:
        """Whether the sets contradict each other for some row."""
        return bool((self._ends[:, 0] > self._ends[:, 1]).any())


# Whether a set holds, in simulations where θ* is known


def needed_noise_width(
    X: Matrix, y: Vector, theta: Vector, lam: float | Vector, kind: Literal["free", "ridge", "forward"]
) -> Vector:
    """The least ‖·‖ that each round's set must allow to hold θ*, for rounds 1 … T in one pass of O(d²) a row.

    `free`: ‖Σ xε‖ in the norm of G_t⁻¹, after round t. `ridge`: ‖θ_t − θ*‖ in the norm of G_t. `forward`: before
    round t, ‖θ_{t−1}(x_t) − θ*‖ in the norm of G_{t−1} + x_t x_tᵀ. Compare with the sets' radii.
    `lam` is a number, or one for each coordinate.

    Args:
        X: rows (T, d).
        y: targets (T,).
        theta: θ* (d,).
        kind: "free", "ridge" or "forward".

    Returns:
        (T,), one for each round.

    Raises:
        ValueError: if there is no such kind, or shapes do not fit together.

    Example:
        >>> import numpy as np
        >>> from onward.confidence import needed_noise_width
        >>> X, theta = np.array([[1.0], [1.0]]), np.array([0.0])
        >>> needed_noise_width(X, np.array([1.0, 1.0]), theta, 1.0, "ridge").round(3)  # √2 · 1/2 and √3 · 2/3
        array([0.707, 1.155])
    """
    for value in as_numbers(lam, "lam", "a number, or one for each coordinate").ravel():
        positive("lam", float(value))
    if kind not in ("free", "ridge", "forward"):
        raise ValueError(f"kind must be 'free', 'ridge' or 'forward', got {brief(kind)}")
    X = np.ascontiguousarray(as_numbers(X, "X", "a table of numbers"))
    y, theta = as_numbers(y, "y", "an array of numbers"), as_numbers(theta, "theta", "an array of numbers")
    if X.ndim != 2 or np.shape(y) != X.shape[:1] or theta.shape != X.shape[1:]:
        shapes = (X.shape, np.shape(y), theta.shape)
        raise ValueError(f"X, y and theta must have shapes (T, d), (T,) and (d,), got {shapes}")
    noise = y - X @ theta
    state = Information(X.shape[1], 1, lam)
    if kind != "free":
        state.c[:, 0] = -theta  # b starts at −Λθ*, so b_t becomes Σ xε − Λθ* = G_t (θ_t − θ*)
    start = float(state.lam @ theta**2) if kind != "free" else 0.0
    p, q = state.absorb(X, np.ascontiguousarray(noise[:, None]), np.ones(len(X)))
    # ‖b‖² in the norm of G⁻¹ grows by y² − (y − p)²/(1 + q) with every row.
    squares = start + np.cumsum(noise**2 - (noise - p[:, 0]) ** 2 / (1 + q))
    if kind == "forward":
        before = np.concatenate([[start], squares[:-1]])
        guess = -(X @ theta)  # a row x with target −xᵀθ* turns b into (G + xxᵀ)(θ(x) − θ*)
        squares = before + guess**2 - (guess - p[:, 0]) ** 2 / (1 + q)
    return np.sqrt(np.maximum(squares, 0.0))
