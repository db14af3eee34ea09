"""The exact interval of a binomial share."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from onward.core.types import Vector


def binomial_interval(successes: ArrayLike, trials: int, level: float) -> tuple[Vector, Vector]:
    """Lower and upper ends for the chance of success, which hold it with at least the level (Clopper and Pearson).

    Args:
        successes: counts, each out of `trials`.
        trials: at least 1.
        level: of the interval, such as 0.95.
    """
    k = np.asarray(successes, dtype=np.float64)
    tail = (1 - level) / 2
    lower = np.where(k > 0, betaincinv(np.maximum(k, 1), trials - k + 1, tail), 0.0)
    upper = np.where(k < trials, betaincinv(k + 1, np.maximum(trials - k, 1), 1 - tail), 1.0)
    return lower, upper
