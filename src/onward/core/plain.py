"""The short way in: what compiled loops take as it is. Everything else goes the long way, where errors are explained."""

from typing import TypeGuard

import numpy as np

from onward.core.types import Matrix

FLOAT64 = np.dtype(np.float64)


def is_plain(value: object, ndim: int) -> TypeGuard[Matrix]:
    """Whether a value is an array of numbers as the loops take it, but for its shape and its values, which they see to.

    Any other type or layout would be compiled for anew.
    """
    return type(value) is np.ndarray and value.dtype is FLOAT64 and value.ndim == ndim and value.flags.carray
