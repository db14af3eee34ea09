"""What noise of any spread does to coefficients: the sums behind heteroscedasticity-robust standard errors."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from onward.core import Information, TooExtremeError
from onward.core.squares import weighted_squares
from onward.core.types import Matrix, Vector


class Sandwich:
    """Σ w² ê² xxᵀ, with ê the error of the prediction that was made before the row was learned.

    With it the variance of vᵀθ is (A⁻¹v)ᵀ(Σ w² ê² xxᵀ)(A⁻¹v), whatever spread each row's noise has (White 1980; with
    errors of predictions in the place of residuals). Errors are larger than the noise where little is known, so that it
    errs on the safe side. Divided by √(1 + leverage) they would not be, but then the first rows of a kind count for too
    little: with one row in 20 treated, 42% of A/A tests were significant at some row, at δ = 5%; as it is, 5%.

    Alone it is not to be trusted while few rows of a kind have come: among targets of which 5% are 1, the first that
    are treated may all be 0, with next to no errors (one row in 50 treated: 65% of A/A tests ever significant). So
    intervals take the larger of this variance and that of noise of one spread.

    Attributes:
        state: the sums as a factor, without λ.
    """

    def __init__(self, n_features: int, intercept: bool) -> None:
        self.state = Information(n_features, 1, 0.0, intercept)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def learn(self, X: Matrix, predictions: Vector, y: Vector, w: Vector) -> Self:
        """Add rows (n, features), which may have features more than those before, at their end."""
        self._grow(X.shape[1])
        weights = (w * (y - predictions)) ** 2
        if self.state.rows == 0 and self.state.intercept:  # before the first row, not even the mean is known
            weights[np.flatnonzero(w > 0)[:1]] = 0.0
        try:
            self.state.absorb(np.ascontiguousarray(X), np.zeros((len(X), 1)), weights)
        except TooExtremeError:  # the rows are learned already: what they make of intervals is beyond numbers
            self.state.loss[0] = np.inf
        return self

    def _grow(self, n_features: int) -> None:
        if n_features > self.state.n_features:
            self.state.grow(n_features - self.state.n_features, 0.0)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def variances(self, solved: Matrix) -> Vector:
        """The variance of the estimate along each direction v, of which A⁻¹v are given (n, d)."""
        d = len(self.state.D)
        turned = solved[:, :d] @ self.state.triangle().T
        variances: Vector = turned**2 @ self.state.D + self.state.loss[0]
        return np.where(np.isnan(variances), np.inf, variances)

    def merge(self, other: "Sandwich", n_features: int, places: Sequence[int]) -> Self:
        """Add the sums of other rows; `places` says which coordinate each of the other's is, of those that come."""
        self._grow(n_features)
        self.state.merge(other.state, places[: len(other.state.D)])
        return self

    def copy(self) -> Self:
        """One that can learn on without touching this one."""
        other = object.__new__(type(self))
        other.state = self.state.copy()
        return other

    def to_array(self) -> Matrix:
        """For a model file: the triangle, the pivots, how many rows, and whether a number was lost."""
        state, d = self.state, len(self.state.D)
        return np.vstack([state.U[:, :d], state.D, np.full(d, state.rows), np.full(d, state.loss[0] == np.inf)])

    @classmethod
    def from_array(cls, array: Matrix, n_features: int, intercept: bool) -> Self:
        """What `to_array` gave; ValueError if it cannot be that."""
        d = array.shape[1] if array.ndim == 2 else 0
        if array.shape != (d + 3, d) or not 0 < d <= n_features + intercept or not np.isfinite(array).all():
            raise ValueError(
                f"a sandwich of {n_features} features must be finite and of shape (d + 3, d), got {array.shape}"
            )
        if (array[d:] < 0).any():
            raise ValueError("the pivots of a sandwich must not be negative")
        made = cls(d - intercept, intercept)
        made.state.U[:, :d], made.state.D[:] = array[:d], array[d]
        squares = weighted_squares(array[d], made.state.triangle())
        if not np.isfinite(squares).all():
            raise ValueError("the triangle of a sandwich must be of numbers whose squares double precision can hold")
        # Rows that come to sums so large are looked at as they are learned.
        made.state.tally = np.array([array[d + 1, 0], array[d + 1, 0], squares.max()])
        made.state.loss[0] = np.inf if array[d + 2].any() else 0.0
        return made
