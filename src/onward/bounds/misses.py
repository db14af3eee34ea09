"""How far the share of misses of online conformal intervals can be from δ, whatever comes."""

import numpy as np

from onward.bounds.common import over_horizons
from onward.core.calibration import FEWEST
from onward.core.calibration_lanes import MOST_EXCESS
from onward.core.types import Vector


@over_horizons
def conformal_misses(horizon: Vector, *, error_ratio: float) -> Vector:
    """|misses/T − δ| of `ConformalIntervals` is at most this, on any T rows (after Angelopoulos et al. 2023).

    Their integrator needs to know how large errors can be. Here that is learned: an error that is more than twice the
    largest so far, P, may be missed once more. As P forgets, it can do so log₂(T r) times, and once before P > 0. So
    in all (2·33 + 3 + log₂(T r))/T, of which 2 are for the first rows, whose intervals are infinite. Rows count that
    have a prediction and a weight > 0, but for those whose interval is one point, which their target hits.

    Of intervals at several δ, each is widened to hold those of the k larger δ. Its misses are no more than this, too;
    how many fewer than δ there can be, each of the k raises by 4·33/T.

    Args:
        horizon: T, or several.
        error_ratio: r, the largest error over the first that is not 0, in units of √(1/w + q) each.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import conformal_misses
        >>> conformal_misses([1000, 100_000], error_ratio=100.0).round(4)
        array([0.0856, 0.0009])
    """
    return (2.0 * (MOST_EXCESS + 1.0) + 1.0 + FEWEST + np.log2(horizon * error_ratio)) / horizon
