"""Random Fourier features [Rahimi & Recht 2007]: cosines whose inner products are about exp(−γ‖x − x'‖²)."""

import hashlib
import math
from statistics import NormalDist

import numpy as np

from onward.core.types import Matrix, Vector

_NORMAL = NormalDist()
_AT_ONCE = 64  # rows: what they make stays in the cache


def uniform(address: str) -> float:
    """A number in (0, 1), by the name of its place: the same on every machine, whatever else was drawn."""
    digest = hashlib.sha256(address.encode()).digest()
    return ((int.from_bytes(digest[:8], "big") >> 12) + 0.5) / 2.0**52


def direction(gamma: float, address: str) -> float:
    """One coordinate of a feature's direction, from N(0, 2γ)."""
    return math.sqrt(2 * gamma) * _NORMAL.inv_cdf(uniform(address))


def shift(address: str) -> float:
    """Of a feature, uniform on [0, 2π)."""
    return 2 * math.pi * uniform(address)


def cosines(columns: list[Vector], directions: list[Vector], shifts: Vector, rows: int) -> Matrix:
    """The features of so many rows, (n, features), from columns (n,) and for each of them its directions (features,).

    Operations on each number alone, one column after the other: a product of matrices may sum in another order for
    other numbers of rows. Angles that are not finite stay, so that they are noticed.
    """
    out = np.repeat(shifts[None], rows, axis=0)
    scale = math.sqrt(2 / len(shifts))
    with np.errstate(all="ignore"):
        for start in range(0, len(out), _AT_ONCE):
            angles = out[start : start + _AT_ONCE]
            for column, weights in zip(columns, directions, strict=True):
                angles += column[start : start + _AT_ONCE, None] * weights
            angles[:] = np.where(np.isfinite(angles), scale * np.cos(angles), angles)
    return out
