"""The state that the same rows would have made with another λ: G and b are sums, to which λ brings its own part."""

import numpy as np

from onward.core.state import Information
from onward.core.too_extreme import TooExtremeError
from onward.core.types import Vector

LEAST_LEFT = 1e-6  # where less is left of what is known in a direction, so few digits of it are left


def with_lam(state: Information, lam: Vector) -> Information:
    """A copy with this λ (d,) for each coordinate, in the units of the data: as if it had been so from the start.

    TooExtremeError where λ was so much larger before that nothing else is left in some direction.
    """
    other = Information(state.n_features, state.n_targets, state.lam, state.intercept, state.prior)
    other.take_factor(state)
    change = np.asarray(lam, dtype=np.float64) - state.lam
    for chosen in (np.flatnonzero(change > 0), np.flatnonzero(change < 0)):
        rows = np.eye(len(change))[chosen]
        q = other.absorb_coordinates(rows, np.zeros((len(rows), other.n_targets)), change[chosen])
        if (change[chosen] < 0).any() and (1.0 + change[chosen] * q).min() < LEAST_LEFT:
            raise TooExtremeError(
                "the rows say too little beside the λ that the state has: another cannot be put in its place"
            )
    other.lam[:] = lam
    return other
