"""The ridge set within the ball of S: of what its ellipsoid holds, what can be true."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from onward.confidence.quadratic import LeastSquares
from onward.confidence.set_parts import (
    SetByEnds,
    check_ends,
    check_pair,
    coordinates_of,
    log_ball,
    log_or_minus_inf,
    own_scale,
    product,
)
from onward.confidence.sets import Ellipsoid
from onward.confidence.widths import largest_lam
from onward.core import Information
from onward.core.types import Matrix, Vector


@dataclass(frozen=True)
class SetInBall(SetByEnds):
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
