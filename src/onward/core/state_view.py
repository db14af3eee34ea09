"""A state as it is read: its parts by name, and what follows from them."""

import math

import numpy as np

from onward.core import kernel
from onward.core.factor import Factor, information_gain, weighted_trace
from onward.core.row_memory import RowMemory
from onward.core.too_extreme import TooExtremeError
from onward.core.types import Matrix, Records, Vector
from onward.core.views import owned

_NO_PRIOR = np.empty((0, 0))


class StateView:
    """The part of `Information` that changes nothing."""

    buffer: Vector
    header: Records
    lam: Vector
    relative: Vector
    varied: Vector
    online_loss: Vector
    prior: Matrix
    factor: Factor

    def bind(self, buffer: Vector) -> None:
        """Take this buffer for the state's own."""
        state = owned(buffer, kernel.view_state(buffer))
        self.buffer, self.header = buffer, state.header
        self.lam, self.online_loss, self.prior, self.factor = state.lam, state.online_loss, state.prior, state.factor
        self.relative, self.varied = state.relative, state.varied

    @property
    def U(self) -> Matrix:  # noqa: N802
        """The triangle."""
        return self.factor.U

    @property
    def D(self) -> Vector:  # noqa: N802
        """The pivots."""
        return self.factor.D

    @property
    def c(self) -> Matrix:
        """The coefficients of the factored system."""
        return self.factor.c

    @property
    def loss(self) -> Vector:
        """The least value of the quadratic, for each target."""
        return self.factor.loss

    @property
    def intercept(self) -> bool:
        """Whether coordinate 0 is a constant."""
        return bool(self.header["intercept"][0])

    @property
    def own_units(self) -> bool:
        """Whether λ is in the features' own units."""
        return bool(self.header["own"][0])

    @property
    def n_features(self) -> int:
        """How many values a row has, the constant not counted."""
        return len(self.D) - self.intercept

    @property
    def rows(self) -> int:
        """How many rows were absorbed."""
        return int(self.factor.counts["seen"][0])

    @property
    def counted(self) -> int:
        """How many of them had a weight other than 0."""
        return int(self.factor.counts["counted"][0])

    @property
    def peak(self) -> float:
        """The largest w‖x‖² absorbed."""
        return float(self.factor.counts["peak"][0])

    @property
    def tally(self) -> Vector:
        """`rows`, `counted` and `peak` as numbers: a copy."""
        return np.array([self.rows, self.counted, self.peak])

    @tally.setter
    def tally(self, numbers: Vector) -> None:
        self.factor.counts[0] = tuple(numbers)

    @property
    def memory(self) -> RowMemory | None:
        """How it forgets; None if all rows count alike."""
        return RowMemory.read(self.header)

    @property
    def time(self) -> float:
        """The time of the latest row; NaN if rows have none."""
        return float(self.header["time"][0]) if self.memory is not None else math.nan

    @property
    def weight(self) -> float:
        """Σ w of a state that forgets, as far as rows still count."""
        return float(self.header["weight"][0])

    @property
    def n_targets(self) -> int:
        """How many targets share the factorisation."""
        return int(self.c.shape[1])

    @property
    def rank(self) -> int:
        """How many directions are known; all of them if λ > 0."""
        return int(np.count_nonzero(self.D))

    @property
    def regularized(self) -> bool:
        """Whether λ > 0 for each coordinate."""
        return bool((self.lam > 0).all())

    @property
    def log_det(self) -> float:
        """log det G; −inf while the rank is deficient."""
        return float(np.sum(np.log(self.D))) if self.D.all() else -math.inf

    @property
    def information_gain(self) -> float:
        """I = log det G − Σ log λ = Σ log(1 + w q).  Infinite if a λ is 0, once a row other than 0 was seen."""
        if not self.regularized:
            return math.inf if np.any(self.lam < self.D) else 0.0
        return information_gain(self.factor, self.lam)

    @property
    def trace(self) -> float:
        """Σ w ‖x‖² = tr(G) − Σ λ."""
        return self.scaled_trace(np.ones(len(self.D)))

    def scaled_trace(self, weights: Vector) -> float:
        """Σ_j weights_j Σ w x_j² over all rows.

        Args:
            weights: of each row, or of each coordinate.
        """
        return max(0.0, weighted_trace(self.factor, weights) - float(weights @ self.lam))

    def norm(self, vector: Vector) -> float:
        """√(vᵀGv) of a vector over all coordinates."""
        with np.errstate(over="ignore", invalid="ignore"):  # infinite, or no number, where squares overflow
            return math.sqrt(float(self.D @ np.square(self.triangle() @ vector)))

    def triangle(self) -> Matrix:
        """U with its unit diagonal, and without the padding."""
        d = len(self.D)
        return np.triu(self.U[:, :d], 1) + np.eye(d)

    def least_sine(self) -> float:
        """The smallest of `sines`; 1 without coordinates."""
        return float(self.sines().min(initial=1.0))

    def sines(self) -> Vector:
        """The sine of the angle between each column and those before it (d,), λ included; 1 at right angles.

        The smaller it is, the more of that column's pivot is rounding. Empty pivots count as 1.
        """
        roots = np.sqrt(self.D)
        columns = roots[:, None] * self.triangle()
        largest = np.abs(columns).max(axis=0, initial=0.0)
        known = np.flatnonzero(self.D)
        shares = columns[:, known] / largest[known]
        sines = np.ones(len(roots))
        sines[known] = roots[known] / largest[known] / np.sqrt(np.sum(shares * shares, axis=0))
        return sines

    def second_moment(self) -> Matrix:
        """G = UᵀDU, multiplied out. For looking at, not for computing with."""
        U = self.triangle()
        return U.T @ (self.D[:, None] * U)

    def coefficients(self) -> Matrix:
        """θ = G⁻¹b, of shape (d, m), without the prior; the shortest of all minimisers while the rank is deficient."""
        d = len(self.D)
        if d == 0:
            return self.c.copy()
        known = np.flatnonzero(self.D)
        if not len(known):
            return np.zeros_like(self.c)
        from scipy.linalg import lstsq, solve_triangular  # here: who only learns and predicts does without its 16 MB

        if len(known) == d:
            theta: Matrix = solve_triangular(self.U[:, :d], self.c, unit_diagonal=True, check_finite=False)
        else:
            # Full row rank and consistent, so D does not matter here. gelsy does not mind rows of any scale.
            rows, told = self.triangle()[known], self.c[known]
            theta = lstsq(rows, told, lapack_driver="gelsy", cond=0.0, check_finite=False)[0]
        if not np.isfinite(theta).all():
            raise TooExtremeError(
                "the coefficients are beyond double precision: columns are too far apart in size; rescale them"
            )
        return theta

    def base(self, X: Matrix) -> Matrix:
        """The prior's part of predictions (n, m); without rows if the prior mean is 0.

        Args:
            X: rows (n, features), or one row.
        """
        return kernel.multiply(X, self.intercept, self.prior) if self.header["has_prior"][0] else _NO_PRIOR

    def read(self, X: Matrix, w: Vector | None = None) -> tuple[Matrix, Vector]:
        """For each row of X: p = xᵀG⁻¹b of shape (n, m), and the leverage q = xᵀG⁻¹x of shape (n,).

        A row outside the span of the rows seen (only where λ is 0) has p = 0 and q = inf. The weights (1 if None) say
        what λ a row would give to features that first vary in it, in own units.

        Args:
            w: weights (n,); None for 1.

        Returns:
            p (n, m) and q (n,).
        """
        p, q = np.empty((len(X), self.n_targets)), np.empty(len(X))
        kernel.read(self.buffer, X, np.ones(len(X)) if w is None else w, p, q)
        return p, q

    def leverages(self, rows: Matrix) -> Vector:
        """The leverage (n,) of rows over all coordinates, the constant included."""
        p, q = np.empty((len(rows), self.n_targets)), np.empty(len(rows))
        kernel.read_coordinates(self.buffer, np.ascontiguousarray(rows), p, q)
        return q
