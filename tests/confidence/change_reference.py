"""A change alarm by the book: dense, slow, and with none of the code that it checks but its settings."""

import math
from typing import Any

import numpy as np

from onward.confidence import change_rows as rules
from onward.core.types import Matrix, Vector


def residuals(X: Matrix, y: Vector, w: Vector) -> Vector:
    """(y − xᵀθ)/√(1/w + xᵀG⁺x), θ by least squares over the rows before; NaN where a row is hardly in their span."""
    X = np.column_stack([np.ones(len(X)), X])
    out = np.full(len(X), np.nan)
    for t in range(1, len(X)):
        root = np.sqrt(w[:t, None])
        size = np.linalg.norm(X[:t] * root, axis=0)
        past, x = X[:t] * root / np.where(size > 0, size, 1.0), X[t] / np.where(size > 0, size, 1.0)
        if not x[size == 0].any():
            inverse = np.linalg.pinv(past.T @ past, rcond=1e-11, hermitian=True)
            coefficients = np.linalg.lstsq(past, y[:t] * root[:, 0], rcond=1e-9)[0]
            spanned = np.allclose(past.T @ past @ (inverse @ x), x, atol=1e-6)
            if spanned and w[t] * (x @ inverse @ x) <= rules.MOST_LEVERAGE:
                out[t] = (y[t] - x @ coefficients) / math.sqrt(1 / w[t] + x @ inverse @ x)
    return out


def e_values(X: Matrix, y: Vector, w: Vector) -> Vector:
    """The e-value after each row, of rows without zeros: every coordinate is open from the first row on."""
    X = np.column_stack([np.ones(len(X)), X]).astype(np.longdouble)  # λ is next to nothing
    d, memories = X.shape[1], rules.SHORTEST * rules.FACTOR ** np.arange(4)
    G = rules.RIDGE * w[0] * np.diag(X[0] ** 2)
    b, drawn = np.zeros(d, np.longdouble), np.zeros(d, np.longdouble)  # Σ w x y, of targets and of targets drawn in
    B, noise, evidence = np.zeros((4, d)), np.zeros(4), np.zeros(4)
    past: list[float] = []
    out, e = [], 1.0
    for t, x in enumerate(X):
        U, theta, robust_theta = _triangle(G)[0], _solve(G, b), _solve(G, drawn)
        q = float(x @ _solve(G, x))
        G = G + w[t] * np.outer(x, x)
        target = y[t]
        if w[t] * q <= rules.MOST_LEVERAGE:
            r, D = _forward(U, x), _triangle(G)[1]
            scale = math.sqrt(w[t] / (1 + w[t] * q))
            z, robust = (y[t] - x @ theta) * scale, (y[t] - x @ robust_theta) * scale
            n, variance = len(past), float(np.mean(np.square(past))) if past else 0.0
            deviation = math.sqrt(variance)
            if n >= rules.FIRST_BET and abs(robust) > rules.WINSORIZED * deviation:
                target = x @ robust_theta + math.copysign(rules.WINSORIZED * deviation, robust) / scale
            octave = int(math.log2(n + 1))
            mass = 1 / (2**octave * (octave + 1) * (octave + 2))
            ahead = 0.0
            if n > 1 and np.dot(past[1:], past[:-1]) > 0:
                ahead = np.dot(past[1:], past[:-1]) / np.dot(past[:-1], past[:-1]) * past[-1]
            learned, length = float(np.clip(robust, -3 * deviation, 3 * deviation)), t * q * scale**2
            for m in range(4):
                guess = t * scale * float((r / D) @ B[m])
                square, level = t * float(B[m] ** 2 @ (1 / D)), (1 + rules.LOUD * math.sqrt(2 / d)) * noise[m]
                won = 0.0
                if n >= max(rules.FIRST_BET, rules.PATIENCE * memories[m]) and square > level * variance:
                    stake = guess * (1 - level * variance / square) / variance
                    won = min(stake * z, stake * robust - max(0.0, stake * ahead))
                evidence[m] = (evidence[m] + mass) * (1 + float(np.clip(won, -0.9, 0.9)))
                step = 1 / (memories[m] + length)
                noise[m] = noise[m] * (1 - (2 - step * length) * step * length / d) + step**2 * length
                B[m] += step * (learned - guess) * scale * r
            spent = 1 - 1 / (octave + 1) + (n + 2 - 2**octave) * mass
            e = 1 - spent + float(evidence.mean())
            past.append(robust)
        b, drawn = b + w[t] * x * y[t], drawn + w[t] * x * target
        out.append(e)
    return np.array(out)


def _triangle(G: Any) -> tuple[Any, Any]:
    """U and D of G = UᵀDU."""
    left, U, D = G.copy(), np.eye(len(G), dtype=G.dtype), np.empty(len(G), dtype=G.dtype)
    for k in range(len(G)):
        D[k], U[k, k:] = left[k, k], left[k, k:] / left[k, k]
        left[k:, k:] -= D[k] * np.outer(U[k, k:], U[k, k:])
    return U, D


def _solve(G: Any, b: Any) -> Any:
    """G⁻¹b."""
    U, D = _triangle(G)
    return _back(U, _forward(U, b) / D)


def _forward(U: Any, b: Any) -> Any:
    """U⁻ᵀb."""
    out = b.copy()
    for k in range(len(b)):
        out[k + 1 :] -= U[k, k + 1 :] * out[k]
    return out


def _back(U: Any, b: Any) -> Any:
    """U⁻¹b."""
    out = b.copy()
    for k in range(len(b) - 1, -1, -1):
        out[k] -= U[k, k + 1 :] @ out[k + 1 :]
    return out
