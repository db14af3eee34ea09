"""Streams that break others, and what each round's answer is in 50-digit arithmetic."""

from collections.abc import Callable

import mpmath as mp
import numpy as np

from onward.core.types import Matrix, Vector

DIGITS = 50


def benign(rng: np.random.Generator, n: int, d: int) -> Matrix:
    return rng.standard_normal((n, d))


def norm_200(rng: np.random.Generator, n: int, d: int) -> Matrix:
    X = rng.standard_normal((n, d))
    X *= 200 / np.sqrt((X**2).sum(axis=1, keepdims=True))
    return X


def near_collinear(rng: np.random.Generator, n: int, d: int) -> Matrix:
    X = rng.standard_normal((n, d))
    X[:, 1] = X[:, 0] + 1e-7 * rng.standard_normal(n)
    return 1e5 * X


def vandermonde(rng: np.random.Generator, n: int, d: int) -> Matrix:
    return np.vander(rng.uniform(0, 1, n), d)


def badly_scaled(rng: np.random.Generator, n: int, d: int) -> Matrix:
    return rng.standard_normal((n, d)) * np.logspace(-6, 9, d)


STREAMS: dict[str, tuple[Callable[[np.random.Generator, int, int], Matrix], float]] = {
    "benign": (benign, 1.0),
    "lam 1e-12": (benign, 1e-12),
    "norm 200, lam 1e-5": (norm_200, 1e-5),
    "near-collinear at scale 1e5": (near_collinear, 1.0),
    "Vandermonde": (vandermonde, 1e-6),
    "columns from 1e-6 to 1e9": (badly_scaled, 1.0),
}


def stream(name: str, n: int = 60, d: int = 6, seed: int = 0) -> tuple[Matrix, Vector, float]:
    """X, y and λ of a named stream. Targets are of the size that the rows give them, with noise of the same size."""
    make, lam = STREAMS[name]
    rng = np.random.default_rng(seed)
    X = make(rng, n, d)
    scale = np.abs(X).max(axis=0)
    y = (X / scale) @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    return X, y, lam


def exact_rounds(
    X: Matrix, y: Vector, lam: float, w: Vector | None = None, digits: int = DIGITS
) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """p and q of every round, from the rows before it, with G and b kept in full precision."""
    n, d = X.shape
    w = np.ones(n) if w is None else w
    with mp.workdps(digits):
        G = mp.mpf(lam) * mp.eye(d)
        b = mp.zeros(d, 1)
        p, q = [], []
        for i in range(n):
            x = mp.matrix([mp.mpf(float(value)) for value in X[i]])
            solved = mp.lu_solve(G, x)
            p.append((solved.T * b)[0])
            q.append((solved.T * x)[0])
            G += mp.mpf(float(w[i])) * (x * x.T)
            b += mp.mpf(float(w[i])) * mp.mpf(float(y[i])) * x
        return p, q


def relative_error(got: Vector, exact: list[mp.mpf], floor: float = 0.0) -> float:
    """The largest relative error. Values below `floor` times the largest count as that large: where a prediction
    crosses zero, its relative error says nothing. A value that is exactly 0 must be got exactly, if there is no floor.
    """
    with mp.workdps(DIGITS):
        least = floor * max(abs(truth) for truth in exact)
        errors = [abs(mp.mpf(float(value)) - truth) for value, truth in zip(got, exact, strict=True)]
        sizes = [max(abs(truth), least) for truth in exact]
        return max(
            float(error / size) if size else (np.inf if error else 0.0)
            for error, size in zip(errors, sizes, strict=True)
        )


def sherman_morrison(X: Matrix, y: Vector, lam: float) -> tuple[Vector, Vector]:
    """What people use now: keep the inverse, update it row by row."""
    n, d = X.shape
    P, b = np.eye(d) / lam, np.zeros(d)
    p, q = np.empty(n), np.empty(n)
    for i, x in enumerate(X):
        g = P @ x
        p[i], q[i] = g @ b, x @ g
        P -= np.outer(g, g) / (1 + q[i])
        b += y[i] * x
    return p, q
