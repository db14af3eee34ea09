"""Axes of charts: how values lie on them, and where there are ticks with what text."""

import math
from dataclasses import dataclass, field

import numpy as np

from onward.core.types import Vector
from onward.pages.axis_limits import row_limits
from onward.pages.numbers import use_minus_signs

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Ticks:
    """Where they are, and their texts; small ones lie between them, some of them with a text."""

    places: list[float]
    texts: list[str]
    small: list[float] = field(default_factory=list)
    small_texts: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[float]:
        """The places of all of them."""
        return [*self.places, *self.small]

    @property
    def written(self) -> list[tuple[float, str]]:
        """Those with a text."""
        texts = [*self.texts, *self.small_texts]
        return [(place, text) for place, text in zip(self.all, texts, strict=True) if text]


@dataclass(frozen=True)
class Scale:
    """An axis: its limits, whether it is logarithmic, and its ticks."""

    low: float
    high: float
    ticks: Ticks
    log: bool = False

    def fractions(self, values: Vector) -> Vector:
        """Where values lie between the start and the end, 0 to 1; NaN for what has no place."""
        with np.errstate(all="ignore"):  # no place for NaN, nor for 0 on a logarithmic axis
            if self.log:
                start = math.log(self.low)
                logs = np.log(np.where(values > 0, values, np.nan))
                return np.asarray((logs - start) / (math.log(self.high) - start))
            return np.asarray((values - self.low) / (self.high - self.low))


def linear_scale(low: float, high: float, most: int = 9, *, percent: bool = False, whole: bool = False) -> Scale:
    """An axis with about `most` ticks at round numbers; of shares as percentages, or of whole numbers only."""
    factor = 100.0 if percent else 1.0
    places, texts = _round_numbers(factor * low, factor * high, most, whole=whole)
    shown = [f"{text} %" for text in texts] if percent else texts
    return Scale(low, high, Ticks([place / factor for place in places], shown))


def row_scale(rows: Vector, most: int = 6, *, small: bool = True) -> Scale:
    """A logarithmic axis of row numbers, from the first to the last, written out as long as they are short."""
    first, last = float(rows[0]), float(rows[-1])
    if last < 10 * first or last < 20:  # within a decade there would be hardly a tick
        places = np.unique(np.geomspace(first, last, 4).round()).tolist()
        return Scale(*row_limits(rows), Ticks(places, [f"{place:,.0f}" for place in places]), log=True)
    return log_scale(*row_limits(rows), most, written=last < 1e6, small=small)


def error_scale(low: float, high: float) -> Scale:
    """A logarithmic axis with 0.01 instead of powers of ten, where all numbers are short; and some between them."""
    written = low >= 1e-4 and high < 1e6
    return log_scale(low, high, written=written, between=written and high / low < 150)


def log_scale(
    low: float, high: float, most: int = 7, *, written: bool, small: bool = True, between: bool = False
) -> Scale:
    """Logarithmic, with ticks at powers of ten, `written` out or not, and small ones; texts at 2 and 5 if `between`."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    apart = max(1, math.ceil((last - first + 1) / most))
    powers = range(first, last + 1, apart)
    texts = [f"{10.0**power:,.12g}" if written else f"10{str(power).translate(_RAISED)}" for power in powers]
    ticks = Ticks([10.0**power for power in powers], texts)
    if small and apart == 1:
        for power in range(first - 1, last + 1):
            for digit in range(2, 10):
                place = float(f"{digit}e{power}")
                if low <= place <= high:
                    ticks.small.append(place)
                    ticks.small_texts.append(f"{place:,.12g}" if between and digit in (2, 5) else "")
    return Scale(low, high, ticks, log=True)


def _round_numbers(low: float, high: float, most: int, *, whole: bool) -> tuple[list[float], list[str]]:
    """Round numbers between, at most so many steps apart, and their texts."""
    least = (high - low) / most
    largest = max(abs(low), abs(high))
    if not 1e-12 * largest < least < math.inf or least < 1e-300:  # limits that floats can hardly tell apart
        return [low, high], [use_minus_signs(f"{each:.4g}") for each in (low, high)]
    power = math.floor(math.log10(least))
    steps = [step for step in _STEPS if not (whole and step == 2.5)]
    step = next(step for step in steps if step >= 0.999_999 * least / 10.0**power or step == 10.0)
    unit = step * 10.0**power
    if whole and unit < 1:
        step, power, unit = 1.0, 0, 1.0
    digits = power - (step == 2.5) + (step == 10.0)  # the power of ten of the last digit that is needed
    counts = range(math.ceil(low / unit - 1e-9), math.floor(high / unit + 1e-9) + 1)
    places = [count * unit for count in counts]
    return places, [_number(place, digits, large=largest >= 1e6 or digits < -6) for place in places]


def _number(value: float, digits: int, *, large: bool) -> str:
    """A number as far as a power of ten; if `large`, as a multiple of one."""
    if value == 0:
        return "0"
    if not large:
        return use_minus_signs(f"{value:,.{max(0, -digits)}f}")
    power = int(f"{value:.15e}".partition("e")[2])
    mantissa, _, power_text = f"{value:.{min(15, max(0, power - digits))}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return use_minus_signs(mantissa) + f"×10{str(int(power_text)).translate(_RAISED)}"
