"""Ordinary least squares, read from a state of whatever λ and prior: these are taken out of it."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.core import Information
from onward.core.types import Matrix, Vector

EPS = float(np.finfo(np.float64).eps)
DIGITS = 1024.0  # rounding moves an estimate by EPS·rows/share standard errors, about: by no more than 1/1000 of one
FAR = 1e-7  # the part of a direction that may lie where nothing is known: more than rounding makes of 0


def _solve(R: Matrix, right: Matrix, side: Literal["N", "T"]) -> Matrix:
    """R⁻¹ or R⁻ᵀ of columns. What is not finite is looked for in what comes of them.

    R has zeros below its diagonal, and none on it: nothing is eliminated, no rows are exchanged, and NumPy substitutes
    as a solver for triangles does. Turned round, Rᵀ is such a matrix, too. (scipy.linalg takes 16 MB to be there.)
    """
    if side == "T":
        R, right = R.T[::-1, ::-1], right[::-1]
    solved: Matrix = np.linalg.solve(R, right).astype(np.float64, copy=False)
    return solved if side == "N" else solved[::-1]


class Reading(NamedTuple):
    """What least squares says along directions v (n,). Where one is not known, the numbers mean nothing."""

    estimate: Vector  # vᵀθ
    variance: Vector  # vᵀA⁻¹v: the variance of the estimate, over that of the noise
    known: NDArray[np.bool_]  # whether the rows say anything of it


class OrdinaryLeastSquares:
    """The least squares of the rows in a state, without λ. It is read now: the state may learn on.

    With G = RᵀR (R = √D·U) and A = G − Λ the sums of the rows alone, A = Rᵀ(I − MMᵀ)R with M = R⁻ᵀ√Λ. So neither A nor
    an inverse is formed; directions in which the rows say nothing are those where M has a singular value of 1.

    Attributes:
        rows: how many rows have a weight.
        rank: of their features.
        freedom: rows less rank.
        residual: Σ w (y − xᵀθ)², the least there is.
    """

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def __init__(self, state: Information) -> None:
        """`state` has one target, and does not forget."""
        self._prior = state.prior[:, 0].copy()
        seen = state.D > 0  # without λ, a pivot is empty until the rank rises
        root = np.sqrt(state.D[seen])
        self._seen = seen
        R = root[:, None] * state.triangle()[seen]
        self._R, self._rest = R[:, seen], R[:, ~seen]
        if not np.isfinite(R).all():
            raise ValueError(
                "the squares of the rows overflow double precision in a direction: expected sums of squares below "
                "1e300; rescale the columns"
            )
        M = _solve(self._R, np.diag(np.sqrt(state.lam[seen])), "T") if len(root) else self._R
        if not np.isfinite(M).all():
            raise ValueError(
                "what λ is beside the rows overflows double precision: expected ratios of λ to sums of squares below "
                "1e300; rescale the columns"
            )
        left, singular, _ = np.linalg.svd(M)
        known = 1.0 - singular**2
        self._is_known = known > DIGITS * EPS * max(state.counted, len(root))
        self._axes, self._share = left, np.where(self._is_known, known, 1.0)
        along = left.T @ (root * state.c[seen, 0])  # Rθ along the axes, θ the ridge estimate less the prior
        lost = np.where(self._is_known, singular**2 / self._share, 0.0)
        self._estimate = np.where(self._is_known, along / self._share, 0.0)
        self.rows, self.rank = state.counted, int(np.count_nonzero(self._is_known))
        self.freedom = self.rows - self.rank
        shrunk = float(lost @ along**2)
        if not np.isfinite(shrunk):
            raise ValueError(
                "the squares of the targets overflow double precision: expected sums of squares below 1e300; rescale"
            )
        self.residual = max(float(state.loss[0]) - shrunk, 0.0)

    @property
    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def spread(self) -> float:
        """The estimate of σ; infinite while there are no degrees of freedom."""
        return float(np.sqrt(self.residual / self.freedom)) if self.freedom > 0 else np.inf

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def read(self, directions: Matrix) -> Reading:
        """Along each of the directions (n, d), over all coordinates, the constant included."""
        turned, known = self._turn(directions)
        variance = np.sum(turned[self._is_known] ** 2 / self._share[self._is_known, None], axis=0)
        return Reading(self._estimate @ turned + directions @ self._prior, variance, known)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def solve(self, directions: Matrix) -> Matrix:
        """A⁻¹v (n, d) of directions that are known: how the estimate along v hangs on Σ w x y."""
        turned, _ = self._turn(directions)
        out = np.zeros(directions.shape)
        if len(self._R):
            shares = np.where(self._is_known, 1.0 / self._share, 0.0)
            out[:, self._seen] = _solve(self._R, self._axes @ (shares[:, None] * turned), "N").T
        return out

    def _turn(self, directions: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
        """R⁻ᵀv along the axes (d, n), and whether v is known."""
        if not len(self._R):
            nowhere: NDArray[np.bool_] = np.abs(directions).max(axis=1, initial=0.0) == 0.0
            return np.zeros((0, len(directions))), nowhere
        combined = _solve(self._R, directions[:, self._seen].T, "T")  # v as one of the rows of R
        apart = np.abs(self._rest.T @ combined - directions[:, ~self._seen].T).max(axis=0, initial=0.0)
        turned = self._axes.T @ combined
        beyond = np.abs(turned[~self._is_known]).max(axis=0, initial=0.0)
        largest = np.abs(directions).max(axis=1, initial=0.0)
        known = (beyond <= FAR * np.sqrt(np.sum(turned**2, axis=0))) & (apart <= FAR * largest)
        return turned, known
