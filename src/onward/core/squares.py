"""Σ x² of an array, in one thread."""

import numpy as np

from onward.core.types import Matrix, Vector

_THREADED = 8192  # values from which BLAS may wake its threads: for so little work that costs many times the work


def sum_of_squares(array: Matrix | Vector) -> float:
    """The sum of the squares of all values; inf or NaN if one is, without a warning."""
    with np.errstate(over="ignore", invalid="ignore"):
        if array.size < _THREADED:
            return float(np.vdot(array, array))
        flat = array.reshape(-1)
        return float(np.einsum("i,i->", flat, flat))
