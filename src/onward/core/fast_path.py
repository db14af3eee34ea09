"""The short way in: arrays that compiled loops take as they are. All else goes the long way, and is explained there.

A loop that Python calls for every row is compiled for one kind of array and closed: given anything else it raises
TypeError at once, which costs nothing where it does not happen. To look at the array first would cost as much as the
row.
"""

from collections.abc import Callable
from typing import Any, TypeGuard, cast

import numpy as np

from onward.core.types import Matrix

FLOAT64 = np.dtype(np.float64)


def close(loop: Callable[..., Any], *example: Any) -> None:
    """Compile a loop for arguments of these types, and for no others from now on."""
    loop(*example)
    cast(Any, loop).disable_compile()


def is_float64_array(value: object, ndim: int) -> TypeGuard[Matrix]:
    """Whether a value is an array of numbers as the loops take it, but for its shape and its values."""
    return type(value) is np.ndarray and value.dtype is FLOAT64 and value.ndim == ndim and value.flags.carray
