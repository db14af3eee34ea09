"""Values with intervals that come from a checkpoint."""

import numpy as np

from onward.core.types import Matrix, Vector


def check_values(name: str, values: Matrix | Vector, lower: Matrix | Vector, upper: Matrix | Vector) -> None:
    """Values that are finite, with intervals whose ends are in order, or both NaN where a set is empty."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite, got {values[~np.isfinite(values)].flat[0]}")
    if not ((lower <= upper) | (np.isnan(lower) & np.isnan(upper))).all():
        raise ValueError(f"{name} must have intervals whose ends are in order, got others")
