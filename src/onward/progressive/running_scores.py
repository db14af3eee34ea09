"""The running scores of predictions, in compiled loops that give the same bits however the rows are batched."""

import numpy as np

from onward.core.compile import compiled, inlined
from onward.core.types import Vector
from onward.progressive.results import Scores

ROWS, WEIGHT, SQUARED, ABSOLUTE, MEAN_SQUARED, MEAN_ABSOLUTE, MEAN = range(7)


@inlined
def count(prediction: float, y: float, w: float, totals: Vector) -> None:
    """Add one row's losses, and those of the mean of the targets before it, to the totals."""
    error, from_mean = abs(prediction - y), abs(totals[MEAN] - y)
    totals[ROWS] += 1.0
    totals[WEIGHT] += w
    totals[SQUARED] += w * error * error
    totals[ABSOLUTE] += w * error
    totals[MEAN_SQUARED] += w * from_mean * from_mean
    totals[MEAN_ABSOLUTE] += w * from_mean
    if totals[WEIGHT] > 0.0:
        totals[MEAN] += w / totals[WEIGHT] * (y - totals[MEAN])


@compiled
def count_all(predictions: Vector, y: Vector, w: Vector, totals: Vector) -> None:
    """Add the losses of rows, in order. Overwrites `totals`."""
    for i in range(len(y)):
        count(predictions[i], y[i], w[i], totals)


def new_totals() -> Vector:
    """Nothing counted yet."""
    return np.zeros(MEAN + 1)


def scores(totals: Vector) -> Scores:
    """What the totals say."""
    return Scores(int(totals[ROWS]), *(float(value) for value in totals[WEIGHT:MEAN]))
