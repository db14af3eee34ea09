"""Sums of squares: of an array, in one thread; of columns, weighted."""

import numpy as np

from onward.core.compile import compiled
from onward.core.factor import square_of
from onward.core.types import Matrix, Vector

COMPILED_FROM = "141bd2a9aa5e2300"  # other files whose code is compiled into this one: see tools/digests.py


def sum_of_squares(array: Matrix | Vector) -> float:
    """The sum of the squares of all values; inf or NaN if one is. It must be float64, contiguous and writeable."""
    return _sum_of_squares(array.reshape(-1))


@compiled
def _sum_of_squares(values: Vector) -> float:
    return square_of(values)


def weighted_squares(weights: Vector, columns: Matrix) -> Vector:
    """Σ_k weights_k x_kj² of each column: no square is taken that double precision cannot hold where the sum is one."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sum(np.square(np.sqrt(weights)[:, None] * columns), axis=0))
