"""How claims are decided: estimates with intervals, from repeats."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from onward.confidence.binomial import binomial_interval
from onward.core.types import Matrix, Vector

LEVEL = 0.99  # of all intervals behind verdicts: there are some dozens of them
TRUSTED = 0.05  # a mean of which one repeat makes up more says little, and its interval holds less often than it says


@dataclass(frozen=True)
class Estimate:
    """A number from repeats, with its interval."""

    value: float
    lower: float
    upper: float
    repeats: int
    top_share: float = 0.0  # the largest share of one repeat in a mean behind it

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.lower:.3g}, {self.upper:.3g}]"

    @property
    def trusted(self) -> bool:
        """Whether no repeat makes up much of a mean. With heavy tails one does, and the interval is too short."""
        return self.top_share <= TRUSTED

    @property
    def mark(self) -> str:
        """What to put before it: "≈ " if it is not to be trusted."""
        return "" if self.trusted else "≈ "

    @property
    def marked(self) -> str:
        """As text, marked if it is not to be trusted."""
        return f"{self.mark}{self}"

    @property
    def brief(self) -> str:
        """The same with two digits, for a table."""
        return f"{self.mark}{self.value:.2g} [{self.lower:.2g}, {self.upper:.2g}]"

    @property
    def percent(self) -> str:
        """The same in percent."""
        low, high = (f"{100 * edge:.3g}" for edge in (self.lower, self.upper))
        return f"{self.mark}{100 * self.value:.3g} % [{low}, {high}]"

    @property
    def signed(self) -> str:
        """The same with its sign, for a power."""
        return f"{self.mark}{self.value:+.2g} [{self.lower:+.2g}, {self.upper:+.2g}]".replace("-", "−")

    def above(self, limit: float) -> bool:
        """Whether it is surely larger: its interval lies above the limit, and it can be trusted."""
        return self.trusted and self.lower > limit

    def below(self, limit: float) -> bool:
        """Whether it is surely smaller."""
        return self.trusted and self.upper < limit

    def within(self, lower: float, upper: float) -> bool:
        """Whether it surely lies between."""
        return self.above(lower) and self.below(upper)

    def exp(self) -> "Estimate":
        """Of e to the number."""
        return Estimate(_exp(self.value), _exp(self.lower), _exp(self.upper), self.repeats, self.top_share)

    def record(self) -> dict[str, float]:
        """As plain values."""
        return {
            "value": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "repeats": self.repeats,
            "top_share": self.top_share,
        }


UNKNOWN = Estimate(math.nan, -math.inf, math.inf, 0, 1.0)  # decides nothing


def top_shares(columns: Matrix) -> Vector:
    """Of each column, the largest share of one repeat in its mean; 1 or more where the mean is not positive."""
    means = np.maximum(columns.mean(axis=0), 0.0)
    largest = np.abs(columns).max(axis=0) / len(columns)
    shares: Vector = np.divide(largest, means, out=np.full(len(means), np.inf), where=means > 0)
    return shares


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


def share(hits: ArrayLike, level: float = LEVEL) -> Estimate:
    """Of repeats, the share with a property, with Clopper and Pearson's interval, which holds at least that often."""
    each = np.asarray(hits, dtype=np.bool_)
    n, k = len(each), int(each.sum())
    lower, upper = binomial_interval(k, n, level)
    return Estimate(k / n, float(lower), float(upper), n)


def ratio(a: ArrayLike, b: ArrayLike, level: float = LEVEL) -> Estimate:
    """The ratio of the means of paired repeats, mean(a)/mean(b), by the delta method on its logarithm.

    Both must have positive means. Pairs are of the same repeat, so what they share cancels.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    n, top, bottom = len(x), float(x.mean()), float(y.mean())
    top_share = float(top_shares(np.column_stack([x, y])).max())
    if not (top > 0 and bottom > 0):
        return Estimate(math.nan, -math.inf, math.inf, n, top_share)
    if n < 2:
        return Estimate(top / bottom, 0.0, math.inf, n, top_share)
    spread = float((x / top - y / bottom).std(ddof=1)) / math.sqrt(n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * spread
    return Estimate(top / bottom, top / bottom * math.exp(-half), top / bottom * math.exp(half), n, top_share)


def log_contrast(columns: Matrix, weights: ArrayLike, level: float = LEVEL) -> Estimate:
    """Σ w log(mean of a column) over paired repeats, by the delta method.

    With weights 1 and −1 it is the logarithm of `ratio`; a ratio of ratios and the slope of a power law are others.

    Args:
        columns: a column for each quantity, a row for each repeat (n, k). All means must be positive.
        weights: w, one for each column (k,).
        level: of the interval.
    """
    w, means, n = np.asarray(weights, dtype=np.float64), columns.mean(axis=0), len(columns)
    top_share = float(top_shares(columns[:, w != 0.0]).max(initial=0.0))
    if not (means > 0).all():
        return Estimate(math.nan, -math.inf, math.inf, n, top_share)
    value = float(np.sum(w * np.log(means)))
    if n < 2:
        return Estimate(value, -math.inf, math.inf, n, top_share)
    spread = float(np.sum(columns / means * w, axis=1).std(ddof=1)) / math.sqrt(n)
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * spread
    return Estimate(value, value - half, value + half, n, top_share)


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


def quotient(a: Estimate, b: Estimate) -> Estimate:
    """Of two positive estimates from different repeats: the interval holds if both theirs do."""
    if not (a.lower > 0 and b.lower > 0):
        return UNKNOWN
    share = max(a.top_share, b.top_share)
    return Estimate(a.value / b.value, a.lower / b.upper, a.upper / b.lower, min(a.repeats, b.repeats), share)


def _exp(x: float) -> float:
    return math.inf if x > 700 else math.exp(x)
