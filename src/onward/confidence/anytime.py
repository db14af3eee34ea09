"""Intervals for coefficients and contrasts, one direction at a time, that hold at every row at once.

Lindon, Ham, Tingley and Bojinov 2022. Noise is Gaussian of one unknown variance (over the rows' weights), and rows do
not depend on it. With z = 1/(vᵀA⁻¹v) the information along v, s the residual sum of squares of least squares,
ν = rows − rank + 1, e = vᵀθ − m, and a number λ' > 0,

    E = √(λ'/(λ' + z)) · (1 − (z e)²/((z + λ')(s + z e²)))^(−ν/2)

is, if vᵀθ* = m, a martingale that starts at 1: the likelihood ratio of what does not change when any multiples of the
other columns are added to the targets or these are scaled, with vᵀθ*/σ − m/σ drawn from N(0, 1/λ'). So E ≥ 1/δ ever
with probability at most δ (Ville), {m : E < 1/δ} is an interval that holds at all rows at once, and min(1, 1/E) is a
p-value whenever one stops. The smallest such p ever seen is one, too.

*λ' must be one number at all rows.* Given all rows' features the proof takes these for fixed, so λ' may be made of
features, past or future, but never of targets; and it must not be made anew at each look. With λ' = const·z/rows each
time E is no martingale: in 10,000 rows, a column that counts time is missed in 10% of runs at δ = 5%, and one that
grows like 1.02^row in 82%. Yet λ' is in the units of z, those of a column squared, which nobody states beforehand. So
it is made of the features once, when an interval is first asked for (an *anchor*), and kept: λ' = rate·N/8, with `rate`
the information that a row brought until then. It is the best λ' for the N rows that are stated with that question
(`tuned_for`), never for those that there are: who asks again as a file grows would have a new λ' each time, and a
threshold that stays where it is. At z = 8λ' the interval is narrowest, at δ = 0.05 or so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onward.confidence.ordinary import OrdinaryLeastSquares
from onward.confidence.sandwich import Sandwich
from onward.core.checks import positive, probability
from onward.core.inference import TUNED_FOR
from onward.core.shown import brief, printable
from onward.core.shown_html import html_values, interval_text
from onward.core.types import Matrix, Vector

LEAST_FREEDOM = 4  # degrees of freedom before which features say too little of their scale
BEST = 8.0  # z over λ' where intervals are narrowest: 8.2 for δ = 0.05, 13.5 for 0.005, and flat around it

Direction = tuple[tuple[int, float], ...]
"""The coordinates of a direction that are not 0, with their weights."""


class Anchors:
    """How much information a row brings along each direction that was asked for, as of when it first was.

    It depends on features alone. A direction of which too little is known has none, until it is asked for again. With
    it stands the number of rows that intervals are tuned for, as it was then said: later questions keep both.

    Attributes:
        frozen: whether no direction gets one for now.
    """

    def __init__(self) -> None:
        self._taken: dict[Direction, tuple[float, float]] = {}  # information for each row, rows to be tuned for
        self.frozen = False

    def __len__(self) -> int:
        return len(self._taken)

    def cover(self, d: int) -> bool:
        """Whether each of the first d coordinates has one."""
        return all(((j, 1.0),) in self._taken for j in range(d))

    def take(
        self, directions: Matrix, variance: Vector, known: NDArray[np.bool_], freedom: int, tuned_for: float
    ) -> Matrix:
        """Information for each row, and rows that it is tuned for, of each direction (n, 2); NaN for none.

        Those that have none get one of their variance over that of the noise, if it is `known`, and of `tuned_for`.
        """
        out = np.full((len(directions), 2), np.nan)
        for place, direction in enumerate(directions):
            key = tuple((int(j), float(direction[j])) for j in np.flatnonzero(direction))
            if key not in self._taken and known[place] and freedom >= LEAST_FREEDOM and not self.frozen:
                # Of normal features, z is about as much as so many rows bring: the others went to the other columns.
                self._taken[key] = (1.0 / (float(variance[place]) * (freedom + 1)), tuned_for)
            if key in self._taken:
                out[place] = self._taken[key]
        return out

    def copy(self) -> "Anchors":
        """Anchors that can be added to without touching these."""
        other = Anchors()
        other._taken = dict(self._taken)
        return other

    def moved(self, places: Sequence[int]) -> "Anchors":
        """The same where coordinates have other places."""
        other = Anchors()
        other._taken = {
            tuple(sorted((places[j], weight) for j, weight in key)): values for key, values in self._taken.items()
        }
        return other

    def to_record(self) -> list[list[Any]]:
        """For a model file: a direction, its information for each row, and the rows that it is tuned for."""
        return [[[list(pair) for pair in key], *values] for key, values in self._taken.items()]

    @classmethod
    def from_record(cls, record: Sequence[Sequence[Any]]) -> Self:
        """What `to_record` gave; ValueError if it is not that."""
        made = cls()
        for key, rate, tuned_for in record:
            if not (0 <= rate < math.inf and 0 < tuned_for < math.inf):
                raise ValueError(f"an anchor must have information and rows, got {brief(rate)} and {tuned_for!r}")
            made._taken[tuple((int(j), float(weight)) for j, weight in key)] = float(rate), float(tuned_for)
        return made


class Estimates(NamedTuple):
    """What is known along directions, each (n,)."""

    estimate: Vector  # that of least squares; NaN where nothing is known
    standard_error: Vector
    lower: Vector
    upper: Vector
    log_e_value: Vector
    tuned_for: Vector  # the rows for which intervals are narrowest: as said first; NaN before anything is known

    @property
    def e_value(self) -> Vector:
        """Evidence against the value that was asked about: at least 1/δ ever with probability δ, if that is true."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.log_e_value))

    @property
    def p_value(self) -> Vector:
        """1/E, or 1: a p-value whenever one stops to look."""
        return np.asarray(np.exp(-np.maximum(self.log_e_value, 0.0)))


@dataclass(frozen=True)
class Contrast:
    """A coefficient, or a combination of some, with an interval that holds at every row at once."""

    name: str
    estimate: float  # by least squares; NaN where nothing is known
    standard_error: float
    lower: float
    upper: float
    log_e_value: float
    null: float  # what e-value and p-value are against
    delta: float
    rows: int
    robust: bool
    tuned_for: float  # the rows for which the interval is narrowest: as said first; NaN before anything is known

    @property
    def e_value(self) -> float:
        """Evidence against `null`: it gets to 1/δ ever with probability at most δ, if that is the truth."""
        return math.exp(self.log_e_value) if self.log_e_value < 709 else math.inf

    @property
    def p_value(self) -> float:
        """1/E, or 1: a p-value whenever one stops to look; the smallest that was ever seen is one, too."""
        return math.exp(-max(self.log_e_value, 0.0))

    def __str__(self) -> str:
        return (
            f"{printable(self.name)}: {self.estimate:.4g}, {100 * (1 - self.delta):g}% interval "
            f"{interval_text(self.lower, self.upper)} at every row at once; against {self.null:g}: "
            f"e-value {self.e_value:.4g}, p-value {self.p_value:.2g} ({self.rows:,} rows)"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = {
            "estimate": f"{self.estimate:.4g}",
            f"{100 * (1 - self.delta):g}% interval": interval_text(self.lower, self.upper),
            "e-value": f"{self.e_value:.4g}",
            "p-value": f"{self.p_value:.2g}",
            "rows": f"{self.rows:,}",
        }
        return html_values(f"{self.name}, at every row at once", shown)


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def anytime_estimates(
    fitted: OrdinaryLeastSquares,
    anchors: Anchors,
    directions: Matrix,
    delta: float,
    *,
    null: float = 0.0,
    tuned_for: float = TUNED_FOR,
    together: int = 1,
    sandwich: Sandwich | None = None,
) -> Estimates:
    """Estimates along directions (n, d) with intervals that hold, each by itself, at all rows at once.

    Args:
        fitted: least squares on the rows so far.
        anchors: what is known of λ'; directions that are new to it are added.
        directions: over all coordinates, the constant included.
        delta: the probability with which an interval may fail, ever.
        null: the value of each contrast that e-values speak against.
        tuned_for: the number of rows for which intervals are to be narrowest, for directions that are new to `anchors`:
            to be said beforehand, so that others keep what was said first.
        together: of how many intervals all must hold (Bonferroni): e-values are divided by it.
        sandwich: what it takes to allow for noise whose spread differs from row to row; asymptotic. Standard errors
            are then the larger of the robust and the plain one.
    """
    log_level = 2.0 * (math.log(together) - math.log(probability("delta", delta)))
    estimate, variance, known = fitted.read(directions)
    if not np.isfinite(estimate[known]).all():
        raise ValueError(
            "an estimate overflows double precision: expected directions and rows whose squares and ratios stay "
            "between 1e-300 and 1e300; rescale the columns"
        )
    known = known & (variance > 0)
    taken = anchors.take(directions, variance, known, fitted.freedom, positive("tuned_for", tuned_for))
    with np.errstate(all="ignore"):
        rho = 1.0 / (variance * taken[:, 0] * taken[:, 1] / BEST)
    anchored = known & np.isfinite(rho)
    rho = np.where(anchored, rho, 0.0)
    variance = np.where(known, variance, 1.0)
    error = fitted.spread * np.sqrt(variance)
    if sandwich is not None:  # the larger of both: a few rows of a kind may have small errors by chance alone
        error = np.maximum(error, np.sqrt(sandwich.variances(fitted.solve(directions))))
    error = np.where(known, error, np.inf)
    wide = standard_errors(rho, fitted.freedom, log_level)
    reach = np.where(np.isinf(wide), np.inf, error) * np.where(np.isinf(wide), 1.0, wide)  # the error may be 0
    middle = np.where(known, estimate, 0.0)
    log_e = log_e_values(middle - null, error, rho, fitted.freedom) - math.log(together)
    return Estimates(
        np.where(known, estimate, np.nan),
        np.where(np.isfinite(error), error, np.nan),
        middle - reach,
        middle + reach,
        np.where(anchored, log_e, -math.log(together)),
        taken[:, 1],
    )


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def standard_errors(rho: Vector, freedom: int, log_level: float) -> Vector:
    """How many standard errors an interval reaches, where z is ρλ': √(g·f/(ρ/(1 + ρ) − g)), or everywhere."""
    if freedom < 1:
        return np.full(len(rho), np.inf)
    g = -np.expm1(-(log_level + np.log1p(rho)) / (freedom + 1))
    left = rho / (1.0 + rho) - g
    with np.errstate(all="ignore"):
        return np.where(left > 0, np.sqrt(g * freedom / left), np.inf)


@np.errstate(all="ignore")  # what overflows is infinite, or refused as no number
def log_e_values(distance: Vector, error: Vector, rho: Vector, freedom: int) -> Vector:
    """log E of estimates so far off, with these standard errors."""
    share = 1.0 / (1.0 + rho)  # λ'/(λ' + z)
    with np.errstate(all="ignore"):
        gain = (1.0 - share) * distance**2 / (error**2 * freedom + share * distance**2)
    gain = np.where(distance == 0.0, 0.0, gain)
    return np.asarray(-0.5 * np.log1p(rho) + 0.5 * (freedom + 1) * np.log1p(np.where(np.isnan(gain), 0.0, gain)))
