"""How far the mean of a sample may be from what it estimates."""

import math

import numpy as np
from scipy.special import stdtrit

from onward.core.types import Vector


def normal(value: float, standard_error: float, delta: float, values: Vector) -> tuple[float, float]:
    """What the central limit theorem promises: right in the limit, and only then.

    The standard error is taken from the values, and is the less certain the fewer of them make it up: the quantile is
    that of a t distribution with as many degrees of freedom as the values' fourth moments say.
    """
    if not math.isfinite(standard_error):
        return -math.inf, math.inf
    reach = float(stdtrit(degrees_of_freedom(values), 1 - delta / 2)) * standard_error
    return value - reach, value + reach


def degrees_of_freedom(values: Vector) -> float:
    """How many normal values would give a variance that is known as well as that of these: at least 1, at most n − 1.

    2 s⁴ / Var(s²): for a few values that stand out far from all others, hardly more than their number.
    """
    squares = (values - values.mean()) ** 2
    total, most = float(squares.sum()), float(max(1, len(values) - 1))
    spread = float((squares**2).sum()) - total**2 / len(values)
    return min(most, max(1.0, 2 * total**2 / spread)) if spread > 0 else most


def empirical_bernstein(values: Vector, low: float, high: float, delta: float) -> tuple[float, float]:
    """For independent values in [low, high], at any sample size (Maurer and Pontil, 2009, Theorem 4, on both sides)."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return low, high
    log = math.log(4 / delta)
    reach = math.sqrt(2 * float(values.var(ddof=1)) * log / n) + 7 * (high - low) * log / (3 * (n - 1))
    return max(low, mean - reach), min(high, mean + reach)


def martingale_bernstein(values: Vector, low: float, high: float, delta: float) -> tuple[float, float]:
    """For values in [low, high] of which each may depend on those before it, at any sample size.

    The interval is about the mean of the values' conditional means. It is Theorem 4 of Howard et al. (2021) with the
    straight boundaries of slopes l = 2⁻ʲ / (high − low), j = 1 … 20, which share δ:
    Σ (v − E v) ≤ (log(1/α) + ψ(l) Σ (v − guess)²) / l, each guess being the mean of what came before.
    """
    n, width, mean = len(values), high - low, float(values.mean())
    if width <= 0:
        return low, high
    guesses = np.concatenate([[(low + high) / 2], np.cumsum(values)[:-1] / np.arange(1, n)])
    spread = float(((values - np.clip(guesses, low, high)) ** 2).sum())
    slopes = 0.5 ** np.arange(1, 21)
    psi = -np.log1p(-slopes) - slopes
    log = math.log(2 * len(slopes) / delta)
    reach = width * float(((log + psi * spread / width**2) / slopes).min()) / n
    return max(low, mean - reach), min(high, mean + reach)


def anytime(values: Vector, others: Vector, reach: float, low: float, high: float, delta: float) -> tuple[float, float]:
    """For the values of events that may depend on those before them, at every sample size at once.

    What is between its ends is the mean of the events' conditional means so far, which are in [low, high]. It may be
    looked at after each event, and one may stop when one likes.

    Args:
        values: in [0, 1] in the (conditional) mean and at least −reach, when measured from low in units of high − low.
        others: the same for what was missed: their means are 1 less those of the values.
        reach: see there.
        low, high: the range.
        delta: the interval may fail at any event at all with this probability.
    """
    lower = low + (high - low) * _anytime_lower(values, reach, delta / 2)
    upper = high - (high - low) * _anytime_lower(others, reach, delta / 2)
    return lower, upper


def _anytime_lower(values: Vector, reach: float, delta: float) -> float:
    """What the mean of conditional means in [0, 1] is above, of values that are at least −reach and have no upper end.

    exp(l Σ(v − E v) − ψ(l) Σ(v − guess)²), in units of 1 + reach and for guesses in [0, 1] that were made before, is a
    supermartingale for every l in [0, 1) (Fan, Grama and Liu, 2015; Waudby-Smith et al., 2022): so is the mean over
    several l, and it passes 1/δ with probability δ at most.
    """
    n, unit = len(values), 1.0 + reach
    guesses = np.concatenate([[0.5], np.cumsum(values)[:-1] / np.arange(1, n)])
    spread = float((((values - np.clip(guesses, 0.0, 1.0)) / unit) ** 2).sum())
    slopes = 0.5 ** np.arange(0.5, 14.0, 0.5)
    psi = -np.log1p(-slopes) - slopes
    most = math.log(len(slopes) / delta)
    inside, outside = 0.0, float(((most + psi * spread) / slopes).min())  # one slope alone gets there at the latest
    for _ in range(60):
        middle = (inside + outside) / 2
        exponents = slopes * middle - psi * spread
        top = float(exponents.max())
        if top + math.log(float(np.exp(exponents - top).sum())) < most:
            inside = middle
        else:
            outside = middle
    return min(1.0, max(0.0, float(values.mean()) - unit * outside / n))


def cut(lower: float, upper: float, low: float, high: float) -> tuple[float, float]:
    """The part of an interval that is in a range; the nearest end of the range if none is."""
    return min(max(lower, low), high), max(min(upper, high), low)


def with_error(value: float, error: float) -> str:
    """`1,234 ± 56`, `0.1234 ± 0.0056`: two digits of the error, and as many of the value as it leaves standing."""
    if not 0 < error < math.inf:
        return f"{value:.4g}" if math.isnan(error) else f"{value:.4g} ± {error:g}"
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{places}f} ± {error:,.{places}f}" if places < 8 else f"{value:.4g} ± {error:.2g}"
