"""Arrays that stay as they are."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """The array itself, which nobody can write to any more."""
    array.flags.writeable = False
    return array
