"""The sets where σ and S are known: the ridge set, forward's sets, and the ridge set within the ball of S."""

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from onward.confidence.quadratic import LeastSquares
from onward.confidence.set_parts import (
    around,
    check_ends,
    check_pair,
    coordinates_of,
    ellipse,
    exp_or_inf,
    full_rows,
    log_ball,
    log_or_minus_inf,
    own_scale,
    product,
    set_html,
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
class Ellipsoid:
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

    bounded = True

    def _repr_html_(self) -> str:
        return set_html(self)

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume."""
        return log_ball(len(self.center)) + len(self.center) * log_or_minus_inf(self.radius) - self.state.log_det / 2

    @property
    def volume(self) -> float:
        """The volume."""
        return exp_or_inf(self.log_volume)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def contains(self, theta: ArrayLike) -> bool:
        """Whether θ (d,) is in the set.

        Args:
            theta: θ (d,).
        """
        apart = coordinates_of(theta, len(self.center)) - self.center
        return self.state.norm(apart) <= self.radius

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set.

        Args:
            X: rows (n, features), or one row.
        """
        return self._ends(full_rows(self.state, X))

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate of θ over the set."""
        return self._ends(np.eye(len(self.center)))

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
        return around(product(rows, self.center[:, None])[:, 0], self.radius * np.sqrt(self.state.leverages(rows)))


@dataclass(frozen=True)
class ForwardSet:
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

    bounded = True

    def _repr_html_(self) -> str:
        return set_html(self)

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

    @property
    def volume(self) -> float:
        """The volume of the set at x = 0."""
        return self._at_zero.volume

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def contains(self, theta: ArrayLike, x: ArrayLike | None = None) -> bool:
        """Whether θ (d,) is in the set at x.

        Args:
            theta: θ (d,).
        """
        return (self._at_zero if x is None else self.at(x)).contains(theta)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ, each over the set at that x.

        Args:
            X: rows (n, features), or one row.
        """
        return self._ends(full_rows(self.state, X))

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate, each over the set at that unit vector."""
        return self._ends(np.eye(len(self.center)))

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
            return around(middle, (self.radius * np.sqrt(q) + q * self._ball(rows)) / (1 + q))
        return around(middle, self._radii(rows, q) * np.sqrt(q / (1 + q)))


@dataclass(frozen=True)
class SetInBall:
    """{θ : Σ w(y − xᵀθ)² ≤ R², ‖θ − θ_0‖ ≤ S}: what ridge's ellipsoid holds of what can be true (Flynn et al. 2023).

    Ends of intervals are the least, over α ≥ 0, of what the ellipsoid with λ = α would give: λ itself gives ridge's
    joint ellipsoid, α → ∞ the ball. So no interval is wider than either's; each takes a search of its own. If σ or S is
    told too small, nothing may be left: the set is `empty`, its volume 0 and its intervals NaN.

    Attributes:
        state: the state.
        center, radius: of ridge's ellipsoid.
        theta_bound: S, the radius of the ball.
        fitted: least squares on the rows.
        budget: R², how much the squared residuals may be.

    Example:
        >>> from onward import RidgeRegressor
        >>> model = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1.0, 0.0], [0.0, 1.0]], [0.4, 0.6])
        >>> region = model.confidence_set(delta=0.05, sigma=0.5, theta_bound=1.0, radius="convex")
        >>> region.empty, region.interval([1.0, 0.0]).round(2)
        (False, array([[-0.99,  1.  ]]))
    """

    state: Information
    center: Vector  # θ_t, the ridge estimate
    radius: float  # of ridge's ellipsoid, which is around this set
    theta_bound: float
    fitted: LeastSquares = field(repr=False)
    budget: float = field(repr=False)  # R² less the squared residuals of least squares

    bounded = True

    def _repr_html_(self) -> str:
        return set_html(self)

    @property
    def _around(self) -> Ellipsoid:
        return Ellipsoid(self.state, self.center, self.radius)

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume of the smaller of ellipsoid and ball: this set's is at most that."""
        if self.empty:
            return -math.inf
        scale, d = own_scale(self.state), len(self.center)
        ball = log_ball(d) + d * log_or_minus_inf(self.theta_bound) + float(np.sum(np.log(scale)))
        return min(self._around.log_volume, ball)

    @property
    def volume(self) -> float:
        """The volume of the smaller of ellipsoid and ball: this set's is at most that."""
        return exp_or_inf(self.log_volume)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def contains(self, theta: ArrayLike) -> bool:
        """Whether θ (d,) is in the set.

        Args:
            theta: θ (d,).
        """
        scale, given = own_scale(self.state), coordinates_of(theta, len(self.center))
        apart = self.fitted.axes.T @ ((given - self.fitted.center) / scale)
        length = float(np.linalg.norm((given - self.state.prior[:, 0]) / scale))
        return float(self.fitted.eigenvalues @ apart**2) <= self.budget and length <= self.theta_bound

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set.

        Args:
            X: rows (n, features), or one row.
        """
        return self._ends(full_rows(self.state, X))

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate of θ over the set."""
        return self._ends(np.eye(len(self.center)))

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the set's shadow on two coordinates.

        Args:
            first: the numbers of the coordinates.
            second: the numbers of the coordinates.
        """
        check_pair(first, second, len(self.center), points)
        angles = np.linspace(0, 2 * np.pi, points)
        rows = np.zeros((points, len(self.center)))
        rows[:, first], rows[:, second] = np.cos(angles), np.sin(angles)
        along = product(rows * own_scale(self.state), self.fitted.axes)
        alpha = self._least(along)[1]
        leverage = 1.0 / (self.fitted.eigenvalues + alpha[:, None])
        pull = along * leverage
        length = np.sqrt(np.sum(along * pull, axis=1, keepdims=True))
        furthest = self._moments * leverage + pull / length * np.sqrt(self._rest(alpha))[:, None]
        theta = product(furthest, np.ascontiguousarray(self.fitted.axes.T)) * own_scale(self.state)
        return np.asarray(theta[:, [first, second]] + self.state.prior[[first, second], 0])

    @property
    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def empty(self) -> bool:
        """Whether no θ can be true: those that explain the rows well enough are all longer than S.

        Of these the shortest is a ridge estimate, of the α at which its squared residuals are just few enough.
        """
        values, moments = self.fitted.eigenvalues, self._moments
        known = values > 0
        own = moments[known] / values[known]  # least squares

        def excess(alpha: float) -> float:
            return float(np.sum(values[known] * (own * (1.0 - values[known] / (values[known] + alpha))) ** 2))

        if self.budget < 0:
            return True
        low, high = -700.0, 700.0  # of log α
        if excess(math.exp(high)) <= self.budget:
            return False  # 0 is one of them
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(math.exp(middle)) <= self.budget else (low, middle)
        shortest = float(np.linalg.norm(own * values[known] / (values[known] + math.exp(high))))
        return shortest > self.theta_bound * (1 + 1e-9)

    @property
    def _moments(self) -> Vector:
        """Σ w x(y − xᵀθ_0) along the axes."""
        apart = (self.fitted.center - self.state.prior[:, 0]) / own_scale(self.state)
        moments: Vector = self.fitted.eigenvalues * (self.fitted.axes.T @ apart)
        return moments

    def _rest(self, alpha: Vector) -> Vector:
        """The squared radius of the ellipsoid with λ = α: R² + αS² less the least regularised loss."""
        values = self.fitted.eigenvalues
        with np.errstate(divide="ignore", invalid="ignore"):  # the square of a moment itself may overflow
            own = np.where(values > 0, (self._moments / np.sqrt(values)) ** 2, 0.0)  # of what least squares explains
        kept = np.sum(own * (alpha[:, None] / (values + alpha[:, None])), axis=1)
        rest: Vector = np.maximum(self.budget + alpha * self.theta_bound**2 - kept, 0.0)
        return np.where(np.isfinite(kept), rest, np.nan)  # nothing would be left of it, rather than no number

    def _least(self, along: Matrix) -> tuple[Vector, Vector]:
        """The largest xᵀ(θ − θ_0) over the set for rows along the axes, by search over log α; and α there.

        Whatever α the search ends at, the end that it gives holds.
        """

        def ends(log_alpha: Vector) -> Vector:
            alpha = np.exp(log_alpha)
            leverage = 1.0 / (self.fitted.eigenvalues + alpha[:, None])
            size = np.sqrt(np.sum(along**2 * leverage, axis=1) * self._rest(alpha))
            out: Vector = np.sum(along * self._moments * leverage, axis=1) + size
            return out

        largest = max(largest_lam(self.state), float(self.fitted.eigenvalues.max(initial=0.0)))
        # α counts by αS² beside the budget, however vague S is.
        smallest = min(largest_lam(self.state), largest * 1e-12, 1e-6 * self.budget / max(self.theta_bound**2, 1e-200))
        smallest = max(smallest, 1e-290)
        low, high = np.full(len(along), math.log(smallest)), np.full(len(along), math.log(largest) + 14.0)
        golden = (math.sqrt(5) - 1) / 2
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = ends(left), ends(right)
        for _ in range(80):
            smaller = at_left < at_right
            low, high = np.where(smaller, low, left), np.where(smaller, right, high)
            new = np.where(smaller, high - golden * (high - low), low + golden * (high - low))
            at_new = ends(new)
            left, right = np.where(smaller, new, right), np.where(smaller, left, new)
            at_left, at_right = np.where(smaller, at_new, at_right), np.where(smaller, at_left, at_new)
        best = np.where(at_left < at_right, left, right)
        ridge = np.full(len(along), math.log(largest_lam(self.state)))
        least, at_ridge = np.minimum(at_left, at_right), ends(ridge)
        ball = np.sqrt(np.sum(along**2, axis=1)) * self.theta_bound
        best = np.where(at_ridge < least, ridge, best)
        return np.minimum(np.minimum(least, at_ridge), ball), np.exp(best)

    def _ends(self, rows: Matrix) -> Matrix:
        along = product(rows * own_scale(self.state), self.fitted.axes)
        if self.empty:
            return np.full((len(rows), 2), np.nan)
        middle = product(rows, self.state.prior)[:, 0]
        ends = np.column_stack([middle - self._least(-along)[0], middle + self._least(along)[0]])
        ends = np.sort(ends, axis=1)  # of a set of about one point, rounding may put them the other way round
        check_ends(ends)
        return ends
