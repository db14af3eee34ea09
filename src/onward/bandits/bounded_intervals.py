"""Intervals of a policy's value that rely on the range of rewards, and hold at any size."""

from onward.bandits import mean_intervals
from onward.bandits.policy_value import Interval, Method
from onward.core.types import Vector


def bounded_interval(
    method: Method,
    interval: Interval,
    values: Vector,
    weights: Vector,
    reward: Vector,
    largest: float,
    bounds: tuple[float, float],
    delta: float,
    tied: bool,
) -> tuple[float, float]:
    """An interval that relies on the range of rewards, and holds at any size."""
    low, high = bounds
    if interval == "anytime":
        width = high - low
        if width <= 0:
            return bounds
        # Weighed rewards need no bound of the weights, as w·r and w·(1 − r) are at least 0. So where large weights make
        # the doubly robust interval wide, that of the rewards is not; each may fail in half of the cases.
        each = delta if method == "ips" else delta / 2
        shares = (reward - low) / width
        lower, upper = mean_intervals.anytime(weights * shares, weights * (1 - shares), 0.0, low, high, each)
        if method == "dr":
            shares = (values - low) / width
            ends = mean_intervals.anytime(shares, 1 - shares, largest, low, high, each)
            lower, upper = max(lower, ends[0]), min(upper, ends[1])
        return min(lower, upper), max(lower, upper)
    if method == "ips":
        low, high = min(0.0, largest * low), max(0.0, largest * high)
    else:
        low, high = low - largest * (high - low), high + largest * (high - low)
    bernstein = mean_intervals.martingale_bernstein if tied else mean_intervals.empirical_bernstein
    return bernstein(values, low, high, delta)
