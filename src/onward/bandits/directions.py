"""Directions to average over, and the law of the distance along one, for the chances of a sampling rule."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaln

from onward.core.types import Matrix

LARGEST_BLOCK = 16  # of directions that are orthogonal to each other
LEAST_BLOCKS = 4  # for a standard error
_REACH = 9.0  # beyond so many deviations from √m the law has ended
_POINTS = 4096


class Law(NamedTuple):
    """Half the chance that a χ variable exceeds r, and the slope of that times the step, at multiples of the step."""

    table: Matrix  # (2, points)
    step: float


class Design(NamedTuple):
    """Directions, in blocks of one size that are independent of each other."""

    rows: Matrix
    blocks: int


@lru_cache(maxsize=64)
def chi_law(m: int) -> Law:
    """The law of the distance of a standard normal vector in m dimensions."""
    r, step = np.linspace(0.0, math.sqrt(m) + _REACH, _POINTS, retstep=True)
    with np.errstate(divide="ignore"):
        log_density = (m - 1) * np.log(r) if m > 1 else np.zeros_like(r)
    density = np.exp(log_density - r**2 / 2 - (m / 2 - 1) * math.log(2) - gammaln(m / 2))
    return Law(np.array([0.5 * gammaincc(m / 2, r**2 / 2), -0.5 * float(step) * density]), float(step))


@lru_cache(maxsize=64)
def spread_directions(m: int, count: int) -> Design:
    """About so many directions in m dimensions, each with its opposite, spread evenly: the same ones every time.

    Orthonormal blocks, turned by lot: each integrates quadratic forms exactly. In the plane a block is a fan.
    """
    rng = np.random.default_rng(m)
    if m == 1:
        return Design(np.ones((1, 1)), 1)
    if m == 2:
        size = max(1, -(-count // LEAST_BLOCKS))
        fan = np.pi * (np.arange(size) + rng.random((LEAST_BLOCKS, 1))) / size
        return Design(np.column_stack([np.cos(fan.ravel()), np.sin(fan.ravel())]), LEAST_BLOCKS)
    size = min(m, LARGEST_BLOCK)
    blocks = max(LEAST_BLOCKS, -(-count // size))
    rows = [np.linalg.qr(rng.standard_normal((m, size)))[0].T for _ in range(blocks)]
    return Design(np.ascontiguousarray(np.concatenate(rows)), blocks)


def drawn_directions(rng: np.random.Generator, m: int, count: int) -> Matrix:
    """So many directions drawn anew, each uniform, of any length: a fan in the plane."""
    if m == 1:
        return np.ones((1, 1))
    if m == 2:
        fan = np.pi * (np.arange(count) + rng.random()) / count
        return np.column_stack([np.cos(fan), np.sin(fan)])
    return rng.standard_normal((count, m))
