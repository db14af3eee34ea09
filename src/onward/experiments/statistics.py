"""How claims are decided: estimates with intervals, from repeats."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from onward.core.types import Matrix

LEVEL = 0.99  # of all intervals behind verdicts: there are some dozens of them


@dataclass(frozen=True)
class Estimate:
    """A number from repeats, with its interval."""

    value: float
    lower: float
    upper: float
    repeats: int

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.lower:.3g}, {self.upper:.3g}]"

    def exp(self) -> "Estimate":
        """Of e to the number."""
        return Estimate(_exp(self.value), _exp(self.lower), _exp(self.upper), self.repeats)

    def record(self) -> dict[str, float]:
        """As plain values."""
        return {"value": self.value, "lower": self.lower, "upper": self.upper, "repeats": self.repeats}


def mean(values: ArrayLike, level: float = LEVEL) -> Estimate:
    """The mean of repeats, with Student's interval."""
    array = np.asarray(values, dtype=np.float64)
    n = len(array)
    if n < 2:
        return Estimate(float(array.mean()), -math.inf, math.inf, n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * array.std(ddof=1) / math.sqrt(n))
    middle = float(array.mean())
    return Estimate(middle, middle - half, middle + half, n)


def median(values: ArrayLike, level: float = LEVEL) -> Estimate:
    """The median of repeats, with the interval between two of them that holds for any law."""
    array = np.sort(np.asarray(values, dtype=np.float64))
    n = len(array)
    below = int(stats.binom.ppf((1 - level) / 2, n, 0.5))  # so many repeats or fewer lie below it with that chance
    if below < 1:
        return Estimate(float(np.median(array)), -math.inf, math.inf, n)
    return Estimate(float(np.median(array)), float(array[below - 1]), float(array[n - below]), n)


def ratio(a: ArrayLike, b: ArrayLike, level: float = LEVEL) -> Estimate:
    """The ratio of the means of paired repeats, mean(a)/mean(b), by the delta method on its logarithm.

    Both must have positive means. Pairs are of the same repeat, so what they share cancels.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    n, top, bottom = len(x), float(x.mean()), float(y.mean())
    if not (top > 0 and bottom > 0):
        return Estimate(math.nan, -math.inf, math.inf, n)
    if n < 2:
        return Estimate(top / bottom, 0.0, math.inf, n)
    spread = float((x / top - y / bottom).std(ddof=1)) / math.sqrt(n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * spread
    return Estimate(top / bottom, top / bottom * math.exp(-half), top / bottom * math.exp(half), n)


def log_contrast(columns: Matrix, weights: ArrayLike, level: float = LEVEL) -> Estimate:
    """Σ w log(mean of a column) over paired repeats, by the delta method.

    With weights 1 and −1 it is the logarithm of `ratio`; a ratio of ratios and the slope of a power law are others.

    Args:
        columns: a column for each quantity, a row for each repeat (n, k). All means must be positive.
        weights: w, one for each column (k,).
        level: of the interval.
    """
    w, means, n = np.asarray(weights, dtype=np.float64), columns.mean(axis=0), len(columns)
    if not (means > 0).all():
        return Estimate(math.nan, -math.inf, math.inf, n)
    value = float(np.sum(w * np.log(means)))
    if n < 2:
        return Estimate(value, -math.inf, math.inf, n)
    spread = float(np.sum(columns / means * w, axis=1).std(ddof=1)) / math.sqrt(n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * spread
    return Estimate(value, value - half, value + half, n)


def exponent(columns: Matrix, at: ArrayLike, level: float = LEVEL) -> Estimate:
    """The power a in mean ∝ atᵃ: least-squares slope of log(mean of a column) against log(at), of each column."""
    x = np.log(np.asarray(at, dtype=np.float64))
    centred = x - x.mean()
    return log_contrast(columns, centred / np.sum(centred**2), level)


def spread(columns: Matrix, level: float = LEVEL) -> Estimate:
    """The largest mean over the smallest, of paired repeats with a column for each setting.

    The two columns are chosen by the same repeats, so where all are alike it errs to the large side, by about a
    standard error.
    """
    means = columns.mean(axis=0)
    return ratio(columns[:, int(np.argmax(means))], columns[:, int(np.argmin(means))], level)


def excess(wide: Matrix, narrow: Matrix, level: float = LEVEL) -> Estimate:
    """How many times the `spread` of some columns is that of others, of the same repeats."""
    chosen = [each[:, int(pick(each.mean(axis=0)))] for each in (wide, narrow) for pick in (np.argmax, np.argmin)]
    return log_contrast(np.column_stack(chosen), (1.0, -1.0, -1.0, 1.0), level).exp()


def _exp(x: float) -> float:
    return math.inf if x > 700 else math.exp(x)
