"""The sets where σ and S are known: the ridge set and forward's sets; and what every set can be asked."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from onward.confidence.set_parts import (
    SetByEnds,
    check_pair,
    coordinates_of,
    ellipse,
    full_rows,
    interval_around,
    log_ball,
    log_or_minus_inf,
    own_scale,
    product,
)
from onward.confidence.widths import Bias, bias_width, largest_lam
from onward.core import Information, kernel
from onward.core.types import Matrix, Vector


class ConfidenceSet(Protocol):
    """What every set can be asked.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import ConfidenceSet
        >>> model = RidgeRegressor(fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
        >>> region: ConfidenceSet = model.confidence_set(sigma=0.1, theta_bound=3.0)
        >>> region.contains([1.0, 2.0]), region.contains([9.0, 9.0])
        (True, False)
    """

    @property
    def center(self) -> Vector:
        """The estimate (d,) that the set lies around."""

    @property
    def radius(self) -> float:
        """How far the set reaches, in its own norm."""

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded in every direction."""

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume; inf if the set is unbounded."""

    @property
    def volume(self) -> float:
        """The volume; inf if the set is unbounded."""

    def contains(self, theta: ArrayLike) -> bool:
        """Whether θ (d,) is in the set.

        Args:
            theta: θ (d,).
        """

    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set, for rows X (n, features) or one row; ±inf if unbounded."""

    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate of θ over the set; ±inf if unbounded."""

    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the set's shadow on two coordinates, to draw the ellipse; NaN if unbounded.

        Args:
            first: the numbers of the coordinates.
            second: the numbers of the coordinates.
        """


@dataclass(frozen=True)
class Ellipsoid(SetByEnds):
    """{θ : ‖θ − center‖ ≤ radius} in the norm of a state's G. The ridge set, and the forward set at one x.  [§3]

    Attributes:
        state: the state whose G gives the norm.
        center: the estimate (d,).
        radius: how far it reaches, in that norm.

    Example:
        >>> from onward import RidgeRegressor
        >>> model = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
        >>> region = model.confidence_set(delta=0.05, sigma=1.0, theta_bound=1.0)
        >>> type(region).__name__, region.center.round(6), round(region.radius, 3)
        ('Ellipsoid', array([0.5, 1. ]), 2.894)
        >>> region.interval([1.0, 1.0]).round(2)
        array([[-1.39,  4.39]])
    """

    state: Information
    center: Vector
    radius: float

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume."""
        return log_ball(len(self.center)) + len(self.center) * log_or_minus_inf(self.radius) - self.state.log_det / 2

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def contains(self, theta: ArrayLike) -> bool:
        """Whether θ (d,) is in the set.

        Args:
            theta: θ (d,).
        """
        apart = coordinates_of(theta, len(self.center)) - self.center
        return self.state.norm(apart) <= self.radius

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the set's shadow on two coordinates.

        Args:
            first: the numbers of the coordinates.
            second: the numbers of the coordinates.
        """
        check_pair(first, second, len(self.center), points)
        axes = np.zeros((3, len(self.center)))
        axes[[0, 2], first] = axes[[1, 2], second] = 1.0
        a, b, both = self.state.leverages(axes)
        covariance = np.array([[a, (both - a - b) / 2], [(both - a - b) / 2, b]])
        return ellipse(self.center[[first, second]], self.radius**2 * covariance, points)

    def _ends(self, rows: Matrix) -> Matrix:
        return interval_around(
            product(rows, self.center[:, None])[:, 0], self.radius * np.sqrt(self.state.leverages(rows))
        )


@dataclass(frozen=True)
class ForwardSet(SetByEnds):
    """The forward algorithm's sets, one for each x: `at(x)`. They hold for all x at once.  [§3; Alg. 3]

    Intervals for xᵀθ* are taken from x's own set; with `bias="sharp"` they are narrower than any set in the norm of
    G + xxᵀ makes them: with h = q/(1+q), (1−h) times the ridge interval plus h times the interval ±‖x‖S around xᵀθ_0,
    for the forward estimate is that mixture of the ridge estimate and 0. At x = 0 it is the ridge set: that is what
    `center`, `radius`, `contains` and the rest speak of where no x is given.

    Attributes:
        state: the state.
        center, radius: of the set at x = 0, which is ridge's.
        noise: what the noise can do, σ√(2 log 1/δ + I).
        theta_bound: S.
        bias: how its intervals are made: "sharp", "tight" or "paper".

    Example:
        >>> from onward import ForwardRegressor
        >>> model = ForwardRegressor(lam=1.0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
        >>> region = model.confidence_set(delta=0.05, sigma=1.0, theta_bound=1.0)
        >>> region.at([1.0, 1.0]).center.round(6)  # the forward estimate at this x
        array([0.125, 0.625])
        >>> region.interval([1.0, 1.0]).round(2)
        array([[-1.4,  2.9]])
    """

    state: Information
    center: Vector  # θ_t, the ridge estimate, the prior included
    radius: float  # W, at x = 0
    noise: float
    theta_bound: float
    bias: Bias

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def at(self, x: ArrayLike) -> Ellipsoid:
        """The set around θ_t(x) = (G + xxᵀ)⁻¹b, in the norm of G + xxᵀ; if sharp, of radius W + √h ‖x‖S."""
        rows = full_rows(self.state, x)
        if len(rows) != 1:
            raise ValueError(f"x must be one row, got {len(rows)}")
        state = self.state.copy()
        state.absorb(rows[:, state.intercept :].copy(), np.zeros((1, state.n_targets)), np.ones(1))
        share = state.leverages(rows) if self.bias == "sharp" else np.zeros(1)  # after x: h
        radius = float(self._radii(rows, share)[0])
        return Ellipsoid(state, state.coefficients()[:, 0] + state.prior[:, 0], radius)

    @property
    def _at_zero(self) -> Ellipsoid:
        return Ellipsoid(self.state, self.center, self.radius)

    def _radii(self, rows: Matrix, share: Vector) -> Vector:
        """The radius at each row of leverage h: ‖x‖² is in the coordinates in which λ is the same for each."""
        if self.bias == "sharp":
            return self.radius + np.sqrt(share) * self._ball(rows)
        squares = self._squares(rows)
        radii: Vector = self.noise + bias_width(largest_lam(self.state), squares, self.bias) * self.theta_bound
        return radii

    def _squares(self, rows: Matrix) -> Vector:
        squares: Vector = np.einsum("ij,ij->i", rows * own_scale(self.state), rows * own_scale(self.state))
        return squares

    def _ball(self, rows: Matrix) -> Vector:
        """‖x‖S for each row: no xᵀ(θ* − θ_0) is larger."""
        ball: Vector = np.sqrt(self._squares(rows)) * self.theta_bound
        return ball

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume of the set at x = 0."""
        return self._at_zero.log_volume

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def contains(self, theta: ArrayLike, x: ArrayLike | None = None) -> bool:
        """Whether θ (d,) is in the set at x.

        Args:
            theta: θ (d,).
        """
        return (self._at_zero if x is None else self.at(x)).contains(theta)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the shadow of the set at x = 0 on two coordinates.

        Args:
            first: the numbers of the coordinates.
            second: the numbers of the coordinates.
        """
        return self._at_zero.boundary(first, second, points)

    def _ends(self, rows: Matrix) -> Matrix:
        p, q = np.empty((len(rows), self.state.n_targets)), np.empty(len(rows))
        kernel.read_coordinates(self.state.buffer, rows, p, q)
        middle = p[:, 0] / (1 + q) + product(rows, self.state.prior)[:, 0]
        if self.bias == "sharp":
            return interval_around(middle, (self.radius * np.sqrt(q) + q * self._ball(rows)) / (1 + q))
        return interval_around(middle, self._radii(rows, q) * np.sqrt(q / (1 + q)))
