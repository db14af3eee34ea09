"""The same indices the way they are usually programmed, in float64: what the bar is there to tell apart."""

from collections.abc import Sequence

import numpy as np

from onward.core.types import Vector

Rows = Sequence[tuple[Vector, float]]


def dense(rows: Rows, x: Vector, lam: float) -> tuple[float, float]:
    """p and q of x, with V and b rebuilt from the rows and solved anew."""
    V, b = lam * np.eye(len(x)), np.zeros(len(x))
    for row, y in rows:
        V += np.outer(row, row)
        b += y * row
    solved = np.linalg.solve(V, x)
    return float(solved @ b), float(solved @ x)


def sherman_morrison(rows: Rows, x: Vector, lam: float) -> tuple[float, float]:
    """p and q of x, with the inverse of V kept and updated row by row."""
    inverse, b = np.eye(len(x)) / lam, np.zeros(len(x))
    for row, y in rows:
        g = inverse @ row
        inverse -= np.outer(g, g) / (1 + row @ g)
        b += y * row
    return float(x @ inverse @ b), float(x @ inverse @ x)


def index(p: float, q: float, x: Vector, information: float, *, lam: float, forward: bool) -> float:
    """OFUL's index at σ = S = 1, δ = 0.01 and the tight bias, from p, q and the information gain."""
    noise = np.sqrt(2 * np.log(100) + information)
    if forward:
        return float(p / (1 + q) + np.sqrt(q / (1 + q)) * (np.sqrt(lam + x @ x) + noise))
    return float(p + np.sqrt(q) * (np.sqrt(lam) + noise))
