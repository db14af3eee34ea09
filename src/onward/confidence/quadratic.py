"""The sets that need no bound on θ*: along the axes of the rows, and open where no row has been."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.confidence.set_parts import (
    SetByEnds,
    check_pair,
    coordinates_of,
    ellipse,
    feature_rows,
    interval_around,
    log_ball,
    log_or_minus_inf,
    own_scale,
    product,
)
from onward.core import Information, kernel
from onward.core.types import Matrix, Vector


class LeastSquares(NamedTuple):
    """Ordinary least squares in a state: A's axes and eigenvalues, the estimate, and the squared residuals there."""

    axes: Matrix
    eigenvalues: Vector
    center: Vector
    residual: float


@dataclass(frozen=True)
class QuadraticSet(SetByEnds):
    """{θ : Σ m_i e_i² ≤ radius²}, e the deviation from `center` along the axes of A = Σ xxᵀ.  [§3]

    With a λ for each coordinate, A and e are in the coordinates in which λ is the same for each (`own_scale`).
    Where m_i = 0 nothing is known: the set is unbounded along that axis. Where m_i < 0 for some i the region is open to
    all sides, and every interval is (−inf, inf).

    Attributes:
        state: the state.
        center: least squares (d,).
        radius: how far it reaches.
        axes: the axes of A, in columns.
        stiffness: m of each axis.
        fitted: least squares on the rows.
        sigma_unknown: whether it was made without σ.

    Example:
        >>> from onward import RidgeRegressor
        >>> model = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1.0]] * 50, [2.0] * 50)
        >>> region = model.confidence_set(delta=0.05, sigma=1.0)  # without theta_bound
        >>> type(region).__name__, region.center.round(6), region.bounded
        ('QuadraticSet', array([2.]), True)
        >>> region.interval([1.0]).round(2)
        array([[1.55, 2.45]])
    """

    state: Information
    center: Vector
    radius: float
    axes: Matrix = field(repr=False)  # orthonormal columns
    stiffness: Vector = field(repr=False)  # m
    fitted: LeastSquares = field(repr=False)  # what it was made from
    sigma_unknown: bool = False

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded in every direction."""
        return bool((self.stiffness > 0).all())

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume; inf if the set is unbounded."""
        if not self.bounded:
            return math.inf
        d, scale = len(self.center), own_scale(self.state)
        return (
            log_ball(d) + d * log_or_minus_inf(self.radius) + float(np.sum(np.log(scale) - np.log(self.stiffness) / 2))
        )

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def contains(self, theta: ArrayLike) -> bool:
        """Whether θ (d,) is in the set.

        Args:
            theta: θ (d,).
        """
        apart = self.axes.T @ ((coordinates_of(theta, len(self.center)) - self.center) / own_scale(self.state))
        return float(np.sum(self.stiffness * apart**2)) <= self.radius**2

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set; ±inf where it is unbounded.

        Args:
            X: rows (n, features), or one row.
        """
        return self._ends(feature_rows(self.state, X), self.state.intercept)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the set's shadow on two coordinates; NaN if that is unbounded.

        Args:
            first: the numbers of the coordinates.
            second: the numbers of the coordinates.
        """
        check_pair(first, second, len(self.center), points)
        pair = np.eye(len(self.center))[[first, second]]
        if not np.isfinite(self._ends(pair)).all():
            return np.full((points, 2), np.nan)
        along = (pair * own_scale(self.state)) @ self.axes
        stiff = self.stiffness > 0
        covariance = (along[:, stiff] / self.stiffness[stiff]) @ along[:, stiff].T
        return ellipse(self.center[[first, second]], self.radius**2 * covariance, points)

    def _ends(self, rows: Matrix, intercept: bool = False) -> Matrix:
        """The ends for rows over all coordinates; or over the features alone, behind a constant."""
        return quadratic_ends([self], rows, intercept)[0]


def quadratic_ends(regions: Sequence[QuadraticSet], rows: Matrix, intercept: bool) -> list[Matrix]:
    """Lower and upper ends (n, 2) over each of some sets of one estimate and axes; ±inf where a set is unbounded."""
    first = regions[0]
    scale, center = own_scale(first.state), first.center
    with np.errstate(divide="ignore"):
        inverses = np.array([np.where(each.stiffness > 0, 1.0 / each.stiffness, 0.0) for each in regions])
    middle, reach = np.empty(len(rows)), np.empty((len(regions), len(rows)))
    axes = np.ascontiguousarray(scale[:, None] * first.axes)
    kernel.reaches(rows, intercept, center, axes, inverses, middle, reach)
    out = []
    for each, own_reach in zip(regions, reach, strict=True):
        own_reach *= each.radius
        if not each.bounded:
            own_reach[_open_rows(each, rows, intercept)] = np.inf
        out.append(interval_around(middle, own_reach))
    return out


def _open_rows(region: QuadraticSet, rows: Matrix, intercept: bool) -> NDArray[np.bool_]:
    """Whether a set is unbounded along a row."""
    own = (np.column_stack([np.ones(len(rows)), rows]) if intercept else rows) * own_scale(region.state)
    size = np.sqrt(np.einsum("ij,ij->i", own, own))
    if (region.stiffness < 0).any():
        open_all: NDArray[np.bool_] = size > 0
        return open_all
    # Not by BLAS: an interval must not depend, in its last bits, on the rows that it is asked for together with.
    open_along: NDArray[np.bool_] = np.abs(product(own, region.axes[:, ~(region.stiffness > 0)])).max(axis=1) > (
        1e-12 * size
    )
    return open_along
