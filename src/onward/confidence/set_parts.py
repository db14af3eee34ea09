"""What all sets need: rows over their coordinates, ends around a middle, ellipses, volumes."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.confidence.widths import largest_lam
from onward.core import Information, kernel
from onward.core.shown import brief
from onward.core.shown_html import html_values, interval_text
from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.tables.number_arrays import as_numbers


class SetByEnds:
    """What sets share that say of rows over all coordinates how far they reach: `_ends`. Most are bounded."""

    state: Information
    center: Vector

    def _ends(self, rows: Matrix) -> Matrix:
        raise NotImplementedError

    @property
    def bounded(self) -> bool:
        """Whether the set is bounded in every direction."""
        return True

    @property
    def log_volume(self) -> float:
        """The logarithm of the volume; inf if the set is unbounded."""
        raise NotImplementedError

    @property
    def volume(self) -> float:
        """What `log_volume` is the logarithm of; inf if the set is unbounded."""
        return exp_or_inf(self.log_volume)

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def interval(self, X: ArrayLike) -> Matrix:
        """Lower and upper ends (n, 2) of xᵀθ over the set, that at x if each x has its own; ±inf if unbounded.

        Args:
            X: rows (n, features), or one row.
        """
        return self._ends(full_rows(self.state, X))

    @np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
    def coordinates(self) -> Matrix:
        """Lower and upper ends (d, 2) of each coordinate of θ: `interval` at each unit vector."""
        return self._ends(np.eye(len(self.center)))

    def _repr_html_(self) -> str:
        ends = self.coordinates()
        shown = {
            f"coordinate {place}": f"{center:.4g} in {interval_text(*each)}"
            for place, (center, each) in enumerate(zip(self.center, ends, strict=True))
        }
        return html_values(type(self).__name__, shown, ["All coordinates at once."])


def own_scale(state: Information) -> Vector:
    """√(λ̄/λ_j): x_j times it and θ_j over it are coordinates in which λ is the largest λ̄ for each."""
    return np.sqrt(largest_lam(state) / state.lam)


def full_rows(state: Information, X: ArrayLike) -> Matrix:
    """Rows over all coordinates: behind the constant, if there is one."""
    rows = feature_rows(state, X)
    return np.column_stack([np.ones(len(rows)), rows]) if state.intercept else rows


def feature_rows(state: Information, X: ArrayLike) -> Matrix:
    """Rows over the features, laid out as compiled loops take them; ValueError if they are no such rows."""
    if hasattr(X, "columns"):
        raise ValueError(
            "a set takes arrays, in the order of the model's features; ask the model's interval for frames"
        )
    given = as_numbers(X, "x", "one row of numbers or a table of them")
    rows = np.atleast_2d(np.require(given, dtype=np.float64, requirements=["C", "A", "W"]))
    if rows.ndim != 2:
        raise ValueError(f"x must be one row or a table of rows, got shape {rows.shape}")
    if rows.shape[1] != state.n_features:
        raise ValueError(f"x has {counted(rows.shape[1], 'feature')}, but this set is over {state.n_features}")
    if not np.isfinite(sum_of_squares(rows)) and not np.isfinite(rows).all():
        raise ValueError(f"x must hold finite numbers, got {rows[~np.isfinite(rows)][0]}")
    return rows


def check_pair(first: int, second: int, d: int, points: int) -> None:
    """ValueError unless two coordinates and a number of points can be drawn."""
    if first == second or not (0 <= first < d and 0 <= second < d):
        raise ValueError(f"first and second must be different coordinates from 0 to {d - 1}, got {first} and {second}")
    if points < 1:
        raise ValueError(f"points must be at least 1, got {points}")


def coordinates_of(theta: ArrayLike, d: int) -> Vector:
    """θ as an array of d finite numbers; ValueError if it is none."""
    vector = as_numbers(theta, "theta", f"{d} finite numbers")
    if vector.shape != (d,) or not np.isfinite(vector).all():
        raise ValueError(
            f"theta must hold {d} finite numbers (the constant first, if there is one), got {brief(theta)}"
        )
    return vector


def product(rows: Matrix, columns: Matrix) -> Matrix:
    """rows @ columns, whose last bits do not depend on the other rows."""
    return kernel.multiply(np.ascontiguousarray(rows), False, np.ascontiguousarray(columns))


def interval_around(middle: Vector, reach: Vector) -> Matrix:
    """Lower and upper ends (n, 2); ValueError if one is no number, as what it is made of has overflowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        ends = np.column_stack([middle - reach, middle + reach])
    check_ends(ends)
    return ends


def check_ends(ends: NDArray[np.float64]) -> None:
    """ValueError if an end of an interval is no number, or ends cross: what they are made of has overflowed."""
    if not (ends[..., 0] <= ends[..., 1]).all():
        raise ValueError(
            "an interval overflows double precision: expected rows whose squares, and their ratios to those learned, "
            "stay between 1e-300 and 1e300; rescale the columns"
        )


def ellipse(center: Vector, covariance: Matrix, points: int) -> Matrix:
    """Points (points, 2) on the ellipse of a covariance around a center."""
    values, vectors = np.linalg.eigh(covariance)
    angles = np.linspace(0, 2 * np.pi, points)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    points_around: Matrix = center + ((vectors * np.sqrt(np.maximum(values, 0))) @ circle).T
    return points_around


def log_ball(d: int) -> float:
    """The logarithm of the volume of the unit ball."""
    return d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)


def log_or_minus_inf(value: float) -> float:
    """log, −inf at 0."""
    return math.log(value) if value > 0 else -math.inf


def exp_or_inf(value: float) -> float:
    """exp, inf where it overflows."""
    return math.exp(value) if value < 709 else math.inf
