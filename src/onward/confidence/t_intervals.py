"""Prediction intervals of ordinary least squares: the t interval for the next target."""

import numpy as np
from scipy.linalg import solve_triangular

from onward.confidence.choose import NO_SETS
from onward.core import Information
from onward.core.checks import probability
from onward.core.types import Matrix, Vector

EPS = float(np.finfo(np.float64).eps)
FAR = 1e-7  # the part of a row that may lie in a direction of which nothing is known: more than rounding makes of 0


class TIntervals:
    """Intervals for the target of a row by the t law, around ordinary least squares on the rows that were learned.

    One holds its row's target with probability 1 − δ, exactly, if the noise is Gaussian and the rows do not depend on
    it: at that row, not at all at once. Whatever λ and prior the state has is taken out of it.

    Attributes:
        freedom: rows with a weight, less the rank of their features.
    """

    def __init__(self, state: Information) -> None:
        """`state` has one target, and does not forget. It is read now, and may learn on."""
        if state.memory is not None:
            raise ValueError(NO_SETS)
        self._n_features, self._intercept = state.n_features, int(state.intercept)
        self._prior = state.prior[:, 0].copy()
        seen = state.D > 0  # without λ, a pivot is empty until the rank rises
        root = np.sqrt(state.D[seen])
        self._seen = seen
        # G = RᵀR and A = G − Λ = Rᵀ(I − MMᵀ)R with M = R⁻ᵀ√Λ, so that A need not be multiplied out.
        R = root[:, None] * state.triangle()[seen]
        self._R, self._rest = R[:, seen], R[:, ~seen]
        M = solve_triangular(self._R, np.diag(np.sqrt(state.lam[seen])), trans="T") if len(root) else self._R
        left, singular, _ = np.linalg.svd(M)
        known = 1.0 - singular**2
        self._is_known = known > 64 * len(root) * EPS
        self._axes, self._known = left, np.where(self._is_known, known, 1.0)
        share = left.T @ (root * state.c[seen, 0])  # Rθ along the axes, θ the ridge estimate less the prior
        lost = np.where(self._is_known, singular**2 / self._known, 0.0)
        self._estimate = np.where(self._is_known, share / self._known, 0.0)
        self.freedom = state.counted - int(np.count_nonzero(self._is_known))
        residual = max(float(state.loss[0]) - float(lost @ share**2), 0.0)
        self._spread = np.sqrt(residual / self.freedom) if self.freedom > 0 else np.inf

    def ends(self, X: Matrix, w: Vector, delta: float) -> Matrix:
        """Lower and upper ends (n, 2) for rows X (n, features) of weight w; infinite where too little is known."""
        from scipy.special import stdtrit  # here, so that what does without does not wait for it

        probability("delta", delta)
        rows = np.ones((len(X), self._n_features + self._intercept))
        rows[:, self._intercept :] = X
        out = np.tile([-np.inf, np.inf], (len(X), 1))
        if not (np.isfinite(self._spread) and len(X)):
            return out
        combined = solve_triangular(self._R, rows[:, self._seen].T, trans="T")  # the row as one of those of R
        apart = np.abs(self._rest.T @ combined - rows[:, ~self._seen].T).max(axis=0, initial=0.0)
        turned = self._axes.T @ combined
        beyond = np.abs(turned[~self._is_known]).max(axis=0, initial=0.0)
        with np.errstate(divide="ignore"):
            variance = 1.0 / w + np.sum(turned[self._is_known] ** 2 / self._known[self._is_known, None], axis=0)
        closed = (beyond <= FAR * np.sqrt(np.sum(turned**2, axis=0))) & (apart <= FAR * np.abs(rows).max(axis=1))
        center = self._estimate @ turned + rows @ self._prior
        reach = float(stdtrit(self.freedom, 1.0 - delta / 2)) * self._spread * np.sqrt(variance)
        out[closed, 0], out[closed, 1] = (center - reach)[closed], (center + reach)[closed]
        return out
