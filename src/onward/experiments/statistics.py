"""How claims are decided: estimates with intervals, from repeats."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

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
