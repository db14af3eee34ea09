"""What is known: the one state that learners, confidence sets and bandits share."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.linalg import lstsq, solve_triangular

from onward.core import kernel
from onward.core.simd import padded
from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector

REMOVAL_MARGIN = 1e-6  # a row may be removed while what is left in its direction is this share of what was there


class TooExtremeError(ValueError):
    """Values so far apart that double precision cannot hold what would be learned from them."""


class Information:
    """The regularised least-squares problem of all rows seen, factored.

    It stands for the quadratic  Σ w (y − xᵀθ)² + λ‖θ‖²  of every θ, as  loss + ‖c − Uθ‖²_D  with
    G = λI + Σ w xxᵀ = UᵀDU. States of rows that are apart add up (`merge`): with λ = 0 they form a monoid.

    Attributes:
        U: unit upper triangle of shape (d, d padded); only what is above the diagonal counts (see the kernel).
        D: pivots (d,). Without regularisation a pivot is 0 until the rank fills it.
        c: coefficients (d, m) of the factored system, a column for each target.
        loss: min over θ of the quadratic, for each target (m,).
        lam: λ.
        tally: rows absorbed, those of them with a weight, the largest w‖x‖². Numbers in an array, for the compiled
            loops to keep with the rest; read them as `rows`, `counted` and `peak`.
        intercept: whether coordinate 0 is a constant 1, which the rows that are given then lack.
    """

    def __init__(self, n_features: int, n_targets: int = 1, lam: float = 1.0, intercept: bool = False) -> None:
        d = n_features + intercept
        self.U: Matrix = np.zeros((d, padded(d)))
        self.D: Vector = np.full(d, float(lam))
        self.c: Matrix = np.zeros((d, n_targets))
        self.loss: Vector = np.zeros(n_targets)
        self.lam = float(lam)
        self.tally: Vector = np.zeros(3)
        self.intercept = bool(intercept)

    # What is known

    @property
    def n_features(self) -> int:
        """How many values a row has, the constant not counted."""
        return len(self.D) - self.intercept

    @property
    def rows(self) -> int:
        """How many rows were absorbed."""
        return int(self.tally[0])

    @property
    def counted(self) -> int:
        """How many of them had a weight other than 0."""
        return int(self.tally[1])

    @property
    def peak(self) -> float:
        """The largest w‖x‖² absorbed."""
        return float(self.tally[2])

    @property
    def n_targets(self) -> int:
        """How many targets share the factorisation."""
        return int(self.c.shape[1])

    @property
    def rank(self) -> int:
        """How many directions are known; all of them if λ > 0."""
        return int(np.count_nonzero(self.D))

    @property
    def log_det(self) -> float:
        """log det G; −inf while the rank is deficient."""
        return float(np.sum(np.log(self.D))) if self.D.all() else -math.inf

    @property
    def information_gain(self) -> float:
        """I = log det G − d log λ = Σ log(1 + w q).  Infinite for λ = 0 once a row other than 0 was seen."""
        if self.lam == 0:
            return math.inf if self.rank else 0.0
        with np.errstate(over="ignore"):
            ratio = self.D / self.lam
        return float(np.sum(np.where(np.isfinite(ratio), np.log(ratio), np.log(self.D) - math.log(self.lam))))

    @property
    def trace(self) -> float:
        """Σ w ‖x‖² = tr(G) − dλ."""
        above = self.triangle() - np.eye(len(self.D))
        return float(max(0.0, np.sum(self.D @ np.square(above)) + np.sum(self.D - self.lam)))

    def norm(self, vector: Vector) -> float:
        """√(vᵀGv) of a vector over all coordinates."""
        return math.sqrt(float(self.D @ np.square(self.triangle() @ vector)))

    def of_target(self, target: int) -> Self:
        """A copy that knows of one target only."""
        other = self.copy()
        other.c, other.loss = self.c[:, [target]], self.loss[[target]]
        return other

    def triangle(self) -> Matrix:
        """U with its unit diagonal, and without the padding."""
        d = len(self.D)
        return np.triu(self.U[:, :d], 1) + np.eye(d)

    def second_moment(self) -> Matrix:
        """G = UᵀDU, multiplied out. For looking at, not for computing with."""
        U = self.triangle()
        return U.T @ (self.D[:, None] * U)

    def coefficients(self) -> Matrix:
        """θ = G⁻¹b, of shape (d, m); the shortest of all minimisers while the rank is deficient."""
        d = len(self.D)
        if d == 0:
            return self.c.copy()
        if self.D.all():
            theta: Matrix = solve_triangular(self.U[:, :d], self.c, unit_diagonal=True, check_finite=False)
            return theta
        known = np.flatnonzero(self.D)
        if not len(known):
            return np.zeros_like(self.c)
        # Full row rank and consistent, so D does not matter here. gelsy does not mind rows of any scale.
        theta = lstsq(self.triangle()[known], self.c[known], lapack_driver="gelsy", cond=0.0, check_finite=False)[0]
        return theta

    def read(self, X: Matrix) -> tuple[Matrix, Vector]:
        """For each row of X: p = xᵀG⁻¹b of shape (n, m), and the leverage q = xᵀG⁻¹x of shape (n,).

        A row outside the span of the rows seen (only for λ = 0) has p = 0 and q = inf.
        """
        p, q = np.empty((len(X), self.n_targets)), np.empty(len(X))
        kernel.read(X, self.intercept, self.U, self.D, self.c, p, q)
        return p, q

    # What changes it

    def absorb(self, X: Matrix, Y: Matrix, w: Vector, ordinary: bool | None = None) -> tuple[Matrix, Vector]:
        """Learn rows X (n, features) with targets Y (n, m) and weights w ≥ 0, in order.

        All are finite, float64 and C-contiguous: the border sees to that. `ordinary` is what `is_ordinary` says of them
        for callers that have asked. Returns p and q of each row before it was learned, as `read` gives them. Raises
        ValueError, and changes nothing, if the numbers cannot hold the result.
        """
        self._check(X, Y, w)
        p, q = np.empty((len(X), self.n_targets)), np.empty(len(X))
        state = (self.U, self.D, self.c, self.loss, self.tally)
        if self.is_ordinary(sum_of_squares(X), Y, w) if ordinary is None else ordinary:
            kernel.absorb(X, Y, w, self.intercept, *state, p, q)
            return p, q
        before = self.copy()
        try:
            taken = kernel.absorb(X, Y, w, self.intercept, *state, p, q)
            if taken < len(X) or not self._holds(p, q):
                raise TooExtremeError(
                    "the rows cannot be learned in double precision: expected values whose squares and ratios stay "
                    f"between 1e-300 and 1e300, got magnitudes up to {_largest(X):.3g} in X and {_largest(Y):.3g} in y "
                    f"with lam={self.lam:g}; rescale the columns"
                )
        except BaseException:
            self.restore(before)
            raise
        return p, q

    def _check(self, X: Matrix, Y: Matrix, w: Vector) -> None:
        """The loops trust what they are given."""
        for name, array, shape in (
            ("X", X, (len(X), self.n_features)),
            ("Y", Y, (len(X), self.n_targets)),
            ("w", w, (len(X),)),
        ):
            if array.shape != shape or array.dtype != np.float64 or not array.flags.carray:
                raise ValueError(
                    f"{name} must be a writeable C-contiguous float64 array of shape {shape}, "
                    f"got {array.dtype} of shape {array.shape}"
                )

    def merge(self, other: "Information", places: Sequence[int] | None = None) -> None:
        """Add what another state knows from rows of its own; λ is counted once.

        The other has the same λ or none (0): a part that was started without regularisation is added as it is.
        `places` says which coordinate of this state each of the other's is; None if they are the same.
        """
        d = len(self.D)
        places = range(len(other.D)) if places is None else places
        fits = len(places) == len(other.D) and all(0 <= place < d for place in places)
        mine, theirs = (self.lam, self.n_targets, self.intercept), (other.lam, other.n_targets, other.intercept)
        if not fits or mine[1:] != theirs[1:] or other.lam not in (self.lam, 0.0):
            raise ValueError(
                f"cannot merge states: expected lam, targets, intercept {mine} on at most {d} coordinates, "
                f"got {theirs} on {len(other.D)}"
            )
        embedding = np.zeros((len(places), d))
        embedding[np.arange(len(places)), places] = 1.0
        before = self.copy()
        try:
            rows = other.triangle() @ embedding
            if not self.D.all():
                # Sizes below the diagonal of U: what is rounding in the other factor must not pass for data here.
                sizes = (np.tril(other.U[:, : len(other.D)], -1).T + np.eye(len(other.D))) @ embedding
                taken = kernel.absorb_factor(rows, sizes, other.c, other.D, self.U, self.D, self.c, self.loss)
                if taken < len(rows) or not self._holds(self.c, self.D):
                    raise TooExtremeError(
                        "cannot merge states: their values are too far apart for double precision; rescale"
                    )
            else:
                self._absorb_coordinates(rows, other.c, other.D)
                if other.lam > 0:
                    # Both brought their λI. What stays is at least λI, so taking one away is well conditioned.
                    self._absorb_coordinates(embedding, np.zeros_like(other.c), np.full(len(places), -self.lam))
            self.loss += other.loss
        except BaseException:
            self.restore(before)
            raise
        self.tally[:2] += other.tally[:2]
        self.tally[2] = max(self.peak, other.peak)

    def regularize(self, weight: float) -> None:
        """Add weight·I to G (take it away, if negative): absorb the unit rows with target 0."""
        d = len(self.D)
        self._absorb_coordinates(np.eye(d), np.zeros_like(self.c), np.full(d, float(weight)))

    def grow(self, count: int) -> None:
        """Add coordinates that were 0 in every row so far: exact, at any time."""
        d = len(self.D) + count
        U = np.zeros((d, padded(d)))
        U[: len(self.D), : len(self.D)] = self.U[:, : len(self.D)]
        self.U = U
        self.D = np.concatenate([self.D, np.full(count, self.lam)])
        self.c = np.concatenate([self.c, np.zeros((count, self.n_targets))])

    def discount(self, gamma: float) -> None:
        """Let the past count γ times as much, λI with it (`regularize` gives it back)."""
        if not 0 < gamma <= 1:
            raise ValueError(f"gamma must be in (0, 1], got {gamma!r}")
        self.D *= gamma
        self.loss *= gamma

    def remove(self, x: Vector, y: Vector, w: float = 1.0) -> None:
        """Forget one row with its targets, as if it had never been seen.

        Raises ValueError, and changes nothing, if the row cannot have been learned with that weight or if too little
        is left in its direction to be trusted; a caller that has the rows then builds the state anew.
        """
        X = np.ascontiguousarray(x, dtype=np.float64).reshape(1, -1)
        _, q = self.read(X)
        left = 1.0 - w * q[0]
        if not left > REMOVAL_MARGIN:
            raise ValueError(
                f"cannot remove the row: {left:.3g} of the information in its direction would be left, "
                f"expected more than {REMOVAL_MARGIN:g}"
            )
        tally = self.tally.copy()
        self.absorb(X, np.ascontiguousarray(y, dtype=np.float64).reshape(1, -1), np.array([-float(w)]))
        self.tally = tally - [1, bool(w), 0]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(writeable(state))

    def copy(self) -> Self:
        """A state that can be changed without touching this one."""
        other = object.__new__(type(self))
        other.restore(self)
        return other

    def restore(self, saved: "Information") -> None:
        """Become what a copy was."""
        for name, value in vars(saved).items():
            setattr(self, name, value.copy() if isinstance(value, np.ndarray) else value)

    def _absorb_coordinates(self, rows: Matrix, targets: Matrix, weights: Vector) -> None:
        """Absorb rows over all coordinates, the constant included; they are no observations, so none is counted."""
        tally, intercept = self.tally.copy(), self.intercept
        self.intercept = False
        try:
            self.absorb(np.ascontiguousarray(rows), np.ascontiguousarray(targets), weights)
        finally:
            self.tally, self.intercept = tally, intercept

    def is_ordinary(self, squares: float, Y: Matrix, w: Vector) -> bool:
        """Whether nothing can overflow or underflow: true of nearly all data, and cheap to see."""
        largest = max(squares, sum_of_squares(Y), sum_of_squares(w))
        return bool(largest < kernel.ORDINARY**2) and kernel.ordinary(self.D, self.c)

    def _holds(self, p: Matrix, q: Vector) -> bool:
        """Whether everything came out as a number. q may be inf, but only where the rank rose."""
        finite = all(np.isfinite(array).all() for array in (self.U, self.D, self.c, self.loss, p))
        overflowed = np.isnan(q) if self.lam == 0 else ~np.isfinite(q)
        return finite and not overflowed.any() and bool((self.D >= 0).all())


def writeable(state: dict[str, Any]) -> dict[str, Any]:
    """Attributes as they came from a pickle, with arrays that can be written to: those of a memory map may not be."""
    return {name: np.require(v, requirements=["W"]) if isinstance(v, np.ndarray) else v for name, v in state.items()}


def _largest(array: Matrix) -> float:
    return float(np.abs(array).max(initial=0.0))
