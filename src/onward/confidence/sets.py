"""The sets themselves, and what can be asked of each."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.confidence.widths import Bias, bias_width, largest_lam
from onward.core import Information, kernel
from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector
from onward.core.words import counted


class ConfidenceSet(Protocol):
    """What every set can be asked."""

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
        """Whether θ (d,) is in the set."""

    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set, for rows X (n, features) or one row; ±inf if unbounded."""

    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate of θ over the set; ±inf if unbounded."""

    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the set's shadow on two coordinates, to draw the ellipse; NaN if unbounded."""


@dataclass(frozen=True)
class Ellipsoid:
    """{θ : ‖θ − center‖ ≤ radius} in the norm of a state's G. The ridge set, and the forward set at one x.  [§3]"""

    state: Information
    center: Vector
    radius: float

    bounded = True

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume."""
        return _log_ball(len(self.center)) + len(self.center) * _log(self.radius) - self.state.log_det / 2

    @property
    def volume(self) -> float:
        """The volume."""
        return _exp(self.log_volume)

    def contains(self, theta: ArrayLike) -> bool:
        """Whether θ (d,) is in the set."""
        apart = _coordinates_of(theta, len(self.center)) - self.center
        return self.state.norm(apart) <= self.radius

    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set."""
        return self._ends(_full_rows(self.state, X))

    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate of θ over the set."""
        return self._ends(np.eye(len(self.center)))

    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the set's shadow on two coordinates."""
        _check_pair(first, second, len(self.center), points)
        axes = np.zeros((3, len(self.center)))
        axes[[0, 2], first] = axes[[1, 2], second] = 1.0
        a, b, both = self.state.leverages(axes)
        covariance = np.array([[a, (both - a - b) / 2], [(both - a - b) / 2, b]])
        return _ellipse(self.center[[first, second]], self.radius**2 * covariance, points)

    def _ends(self, rows: Matrix) -> Matrix:
        return _around(_product(rows, self.center[:, None])[:, 0], self.radius * np.sqrt(self.state.leverages(rows)))


@dataclass(frozen=True)
class ForwardSet:
    """The forward algorithm's sets, one for each x: `at(x)`. They hold for all x at once.  [§3; Alg. 3]

    Intervals for xᵀθ* are taken from x's own set. At x = 0 it is the ridge set: that is what `center`, `radius`,
    `contains` and the rest speak of where no x is given.
    """

    state: Information
    ridge: Vector  # θ_t, the prior included
    noise: float
    theta_bound: float
    bias: Bias

    bounded = True

    def at(self, x: ArrayLike) -> Ellipsoid:
        """The set around θ_t(x) = (G + xxᵀ)⁻¹b, in the norm of G + xxᵀ."""
        rows = _full_rows(self.state, x)
        if len(rows) != 1:
            raise ValueError(f"x must be one row, got {len(rows)}")
        state = self.state.copy()
        state.absorb(rows[:, state.intercept :].copy(), np.zeros((1, state.n_targets)), np.ones(1))
        return Ellipsoid(state, state.coefficients()[:, 0] + state.prior[:, 0], float(self._radii(rows)[0]))

    @property
    def _at_zero(self) -> Ellipsoid:
        return Ellipsoid(self.state, self.ridge, float(self._radii(np.zeros((1, len(self.ridge))))[0]))

    def _radii(self, rows: Matrix) -> Vector:
        """The radius at each row: ‖x‖² is in the coordinates in which λ is the same for each."""
        squares = np.einsum("ij,ij->i", rows * own_scale(self.state), rows * own_scale(self.state))
        radii: Vector = self.noise + bias_width(largest_lam(self.state), squares, self.bias) * self.theta_bound
        return radii

    @property
    def center(self) -> Vector:
        """θ_t, the ridge estimate."""
        return self._at_zero.center

    @property
    def radius(self) -> float:
        """The radius at x = 0."""
        return self._at_zero.radius

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume of the set at x = 0."""
        return self._at_zero.log_volume

    @property
    def volume(self) -> float:
        """The volume of the set at x = 0."""
        return self._at_zero.volume

    def contains(self, theta: ArrayLike, x: ArrayLike | None = None) -> bool:
        """Whether θ (d,) is in the set at x."""
        return (self._at_zero if x is None else self.at(x)).contains(theta)

    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ, each over the set at that x."""
        return self._ends(_full_rows(self.state, X))

    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate, each over the set at that unit vector."""
        return self._ends(np.eye(len(self.ridge)))

    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the shadow of the set at x = 0 on two coordinates."""
        return self._at_zero.boundary(first, second, points)

    def _ends(self, rows: Matrix) -> Matrix:
        p, q = np.empty((len(rows), self.state.n_targets)), np.empty(len(rows))
        kernel.read_coordinates(self.state.buffer, rows, p, q)
        middle = p[:, 0] / (1 + q) + _product(rows, self.state.prior)[:, 0]
        return _around(middle, self._radii(rows) * np.sqrt(q / (1 + q)))


class LeastSquares(NamedTuple):
    """Ordinary least squares in a state: A's axes and eigenvalues, the estimate, and the squared residuals there."""

    axes: Matrix
    eigenvalues: Vector
    center: Vector
    residual: float


@dataclass(frozen=True)
class QuadraticSet:
    """{θ : Σ m_i e_i² ≤ radius²}, e the deviation from `center` along the axes of A = Σ xxᵀ.  [§3]

    With a λ for each coordinate, A and e are in the coordinates in which λ is the same for each (`own_scale`).
    Where m_i = 0 nothing is known: the set is unbounded along that axis. Where m_i < 0 for some i the region is open to
    all sides, and every interval is (−inf, inf).
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
        return _log_ball(d) + d * _log(self.radius) + float(np.sum(np.log(scale) - np.log(self.stiffness) / 2))

    @property
    def volume(self) -> float:
        """The volume; inf if the set is unbounded."""
        return _exp(self.log_volume)

    def contains(self, theta: ArrayLike) -> bool:
        """Whether θ (d,) is in the set."""
        apart = self.axes.T @ ((_coordinates_of(theta, len(self.center)) - self.center) / own_scale(self.state))
        return float(np.sum(self.stiffness * apart**2)) <= self.radius**2

    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set; ±inf where it is unbounded."""
        return self._ends(feature_rows(self.state, X), self.state.intercept)

    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate of θ over the set; ±inf where it is unbounded."""
        return self._ends(np.eye(len(self.center)))

    def boundary(self, first: int, second: int, points: int = 200) -> Matrix:
        """Points (points, 2) around the set's shadow on two coordinates; NaN if that is unbounded."""
        _check_pair(first, second, len(self.center), points)
        pair = np.eye(len(self.center))[[first, second]]
        if not np.isfinite(self._ends(pair)).all():
            return np.full((points, 2), np.nan)
        along = (pair * own_scale(self.state)) @ self.axes
        stiff = self.stiffness > 0
        covariance = (along[:, stiff] / self.stiffness[stiff]) @ along[:, stiff].T
        return _ellipse(self.center[[first, second]], self.radius**2 * covariance, points)

    def _ends(self, rows: Matrix, intercept: bool = False) -> Matrix:
        """The ends for rows over all coordinates; or over the features alone, behind a constant."""
        return quadratic_ends([self], rows, intercept)[0]


def interval_of_each(regions: Sequence[Ellipsoid | ForwardSet | QuadraticSet], X: ArrayLike) -> list[Matrix]:
    """`interval` of several sets that differ in their δ alone: what is dear to compute is done once for all."""
    if all(isinstance(each, QuadraticSet) for each in regions):
        state = regions[0].state
        return quadratic_ends(cast(Sequence[QuadraticSet], regions), feature_rows(state, X), state.intercept)
    return [each.interval(X) for each in regions]


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
        out.append(_around(middle, own_reach))
    return out


def _open_rows(region: QuadraticSet, rows: Matrix, intercept: bool) -> NDArray[np.bool_]:
    """Whether a set is unbounded along a row."""
    own = (np.column_stack([np.ones(len(rows)), rows]) if intercept else rows) * own_scale(region.state)
    size = np.sqrt(np.einsum("ij,ij->i", own, own))
    if (region.stiffness < 0).any():
        open_all: NDArray[np.bool_] = size > 0
        return open_all
    # Not by BLAS: an interval must not depend, in its last bits, on the rows that it is asked for together with.
    open_along: NDArray[np.bool_] = np.abs(_product(own, region.axes[:, ~(region.stiffness > 0)])).max(axis=1) > (
        1e-12 * size
    )
    return open_along


def own_scale(state: Information) -> Vector:
    """√(λ̄/λ_j): x_j times it and θ_j over it are coordinates in which λ is the largest λ̄ for each."""
    return np.sqrt(largest_lam(state) / state.lam)


def _full_rows(state: Information, X: ArrayLike) -> Matrix:
    """Rows over all coordinates: behind the constant, if there is one."""
    rows = feature_rows(state, X)
    return np.column_stack([np.ones(len(rows)), rows]) if state.intercept else rows


def feature_rows(state: Information, X: ArrayLike) -> Matrix:
    """Rows over the features, laid out as compiled loops take them; ValueError if they are no such rows."""
    if hasattr(X, "columns"):
        raise ValueError(
            "a set takes arrays, in the order of the model's features; ask the model's interval for frames"
        )
    rows = np.atleast_2d(np.require(X, dtype=np.float64, requirements=["C", "A", "W"]))
    if rows.ndim != 2:
        raise ValueError(f"x must be one row or a table of rows, got shape {rows.shape}")
    if rows.shape[1] != state.n_features:
        raise ValueError(f"x has {counted(rows.shape[1], 'feature')}, but this set is over {state.n_features}")
    if not np.isfinite(sum_of_squares(rows)) and not np.isfinite(rows).all():
        raise ValueError(f"x must hold finite numbers, got {rows[~np.isfinite(rows)][0]}")
    return rows


def _check_pair(first: int, second: int, d: int, points: int) -> None:
    if first == second or not (0 <= first < d and 0 <= second < d):
        raise ValueError(f"first and second must be different coordinates from 0 to {d - 1}, got {first} and {second}")
    if points < 1:
        raise ValueError(f"points must be at least 1, got {points}")


def _coordinates_of(theta: ArrayLike, d: int) -> Vector:
    vector = np.asarray(theta, dtype=np.float64)
    if vector.shape != (d,) or not np.isfinite(vector).all():
        raise ValueError(f"theta must hold {d} finite numbers (the constant first, if there is one), got {theta!r}")
    return vector


def _product(rows: Matrix, columns: Matrix) -> Matrix:
    return kernel.multiply(np.ascontiguousarray(rows), False, np.ascontiguousarray(columns))


def _around(middle: Vector, reach: Vector) -> Matrix:
    return np.column_stack([middle - reach, middle + reach])


def _ellipse(center: Vector, covariance: Matrix, points: int) -> Matrix:
    values, vectors = np.linalg.eigh(covariance)
    angles = np.linspace(0, 2 * np.pi, points)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    points_around: Matrix = center + ((vectors * np.sqrt(np.maximum(values, 0))) @ circle).T
    return points_around


def _log_ball(d: int) -> float:
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf
