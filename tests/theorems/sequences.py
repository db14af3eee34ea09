"""Runs to try the bounds on: random ones, worst cases, and adversaries that see the prediction before they answer."""

import numpy as np
from hypothesis import strategies as st

from onward.core import Information
from onward.core.types import Matrix, Vector

Run = tuple[Matrix, Vector, float]  # X, y, λ

DESIGNS = ("gaussian", "basis", "growing", "repeated", "collinear", "sparse")
ANSWERS = ("random", "constant", "alternating", "against ridge", "against forward")


def rows(kind: str, T: int, d: int, rng: np.random.Generator) -> Matrix:
    X = rng.standard_normal((T, d))
    if kind == "basis":
        X = np.eye(d)[np.arange(T) % d]
    elif kind == "growing":
        X *= 1.5 ** np.arange(T)[:, None]
    elif kind == "repeated":
        X = X[rng.integers(0, min(T, d), T)]
    elif kind == "collinear":
        X = X[:, :1] * rng.standard_normal(d)
    elif kind == "sparse":
        X[rng.random((T, d)) < 0.6] = 0.0
    return X


def answers(kind: str, X: Matrix, Y: float, lam: float, rng: np.random.Generator) -> Vector:
    """Targets in [−Y, Y]. Those `against` a learner lie as far from its prediction as they may."""
    T = len(X)
    if kind == "random":
        return rng.uniform(-Y, Y, T)
    if kind == "constant":
        return np.full(T, Y)
    if kind == "alternating":
        return np.where(np.arange(T) % 2, -Y, Y)
    state, y = Information(X.shape[1], 1, lam), np.empty(T)
    for t in range(T):
        p, q = state.read(X[t : t + 1])
        seen = p[0, 0] / (1.0 + q[0]) if kind == "against forward" else p[0, 0]
        y[t] = -Y if seen > 0 else Y
        state.absorb(X[t : t + 1], y[t : t + 1, None].copy(), np.ones(1))
    return y


@st.composite
def runs(draw: st.DrawFn) -> Run:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    T, d = draw(st.integers(1, 25)), draw(st.integers(1, 5))
    lam = draw(st.sampled_from((1e-4, 0.1, 1.0, 30.0, 1e4)))
    X = rows(draw(st.sampled_from(DESIGNS)), T, d, rng) * draw(st.sampled_from((1e-2, 1.0, 50.0)))
    return X, answers(draw(st.sampled_from(ANSWERS)), X, draw(st.sampled_from((0.1, 1.0, 7.0))), lam, rng), lam


def greedy(who: str, T: int, d: int, lam: float, rng: np.random.Generator) -> Run:
    """Of some rows and y = ±1, take at each round what the learner's regret rises by most."""
    pool = np.concatenate([np.eye(d), rng.standard_normal((20, d))])
    pool[d:] /= np.sqrt((pool[d:] ** 2).sum(1, keepdims=True))
    state, X, y = Information(d, 1, lam), np.empty((T, d)), np.empty(T)
    for t in range(T):
        p, q = state.read(pool)
        h = q / (1.0 + q)
        sign = np.where(p[:, 0] > 0, -1.0, 1.0)
        forward = h - q * (p[:, 0] / (1.0 + q)) ** 2
        best = int(np.argmax(forward if who == "forward" else (p[:, 0] - sign) ** 2 * h))
        X[t], y[t] = pool[best], sign[best]
        state.absorb(X[t : t + 1], y[t : t + 1, None].copy(), np.ones(1))
    return X, y, lam


def doubling(T: int) -> Run:
    """Each row twice the last, and y = ∓3/2 where ridge says ±3/2: always as wrong as it can be, at h = 3/4."""
    y = np.where(np.arange(T) % 2, -1.5, 1.5)
    y[0] = 1.0
    return np.sqrt(3.0) * np.exp2(np.arange(T))[:, None], y, 1.0


def balanced(T: int, d: int, lam: float) -> Run:
    """Basis rows in turn, and targets 1 and −1 in turn for each: forward has nothing to predict but 0."""
    index = np.arange(T)
    return np.eye(d)[index % d], np.where((index // d) % 2, -1.0, 1.0), lam


def penalized_minimum(X: Matrix, y: Vector, lam: float) -> Vector:
    """min_θ (L(θ) + λ‖θ‖²) after each round, by dense least squares on the rows with √λ I appended."""
    d = X.shape[1]
    minima = np.empty(len(y))
    for t in range(1, len(y) + 1):
        A, b = np.vstack([X[:t], np.sqrt(lam) * np.eye(d)]), np.concatenate([y[:t], np.zeros(d)])
        theta = np.linalg.lstsq(A, b, rcond=None)[0]
        minima[t - 1] = np.sum((A @ theta - b) ** 2)
    return minima


def minimum(X: Matrix, y: Vector) -> Vector:
    """min_θ L(θ) after each round, by dense least squares."""
    minima = np.empty(len(y))
    for t in range(1, len(y) + 1):
        theta = np.linalg.lstsq(X[:t], y[:t], rcond=None)[0]
        minima[t - 1] = np.sum((X[:t] @ theta - y[:t]) ** 2)
    return minima
