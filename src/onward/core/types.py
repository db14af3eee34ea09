"""The array types that every layer speaks of."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
Words = NDArray[np.uint64]
Records = NDArray[np.void]
"""An array of one record: numbers with names, in a buffer. A record itself cannot be handed on in compiled code."""
