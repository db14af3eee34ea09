"""Counts that come from files, where every number is a float."""

import numpy as np
from numpy.typing import NDArray


def check_counts(name: str, values: NDArray[np.float64]) -> None:
    """ValueError unless these are whole numbers, not negative, that double precision can count to."""
    with np.errstate(invalid="ignore"):
        counts = (values >= 0) & (values < 2.0**53) & (values == np.floor(values))
    if not counts.all():
        raise ValueError(f"{name} must be counts, got {values[~counts].flat[0]}")
