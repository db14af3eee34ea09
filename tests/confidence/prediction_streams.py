"""Streams of online predictions for tests of intervals, written down before any rule for intervals was tried."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onward import RidgeRegressor
from onward.core.types import Matrix, Vector

D = 5


@dataclass(frozen=True)
class Predicted:
    """Rows as a learner met them: each prediction and leverage is from before its target was seen."""

    predictions: Vector
    leverages: Vector
    y: Vector


def _features(rng: np.random.Generator, n: int) -> Matrix:
    return rng.standard_normal((n, D))


def _linear(rng: np.random.Generator, n: int, noise: Callable[[Matrix], Vector]) -> tuple[Matrix, Vector]:
    X = _features(rng, n)
    return X, X @ rng.standard_normal(D) + 3.0 + noise(X)


def gaussian(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    return _linear(rng, n, lambda X: rng.standard_normal(n))


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    return _linear(rng, n, lambda X: rng.standard_t(3, n))


def skewed(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    return _linear(rng, n, lambda X: rng.exponential(1.0, n) - 1.0)


def rare_shocks(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    return _linear(rng, n, lambda X: rng.standard_normal(n) * np.where(rng.random(n) < 0.02, 10.0, 1.0))


def heteroscedastic(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    return _linear(rng, n, lambda X: np.exp(0.7 * X[:, 0]) * rng.standard_normal(n))


def drifting_scale(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    scale = np.exp(np.sin(2 * np.pi * np.arange(n) / 2000))
    return _linear(rng, n, lambda X: scale * rng.standard_normal(n))


def sudden_scale(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    scale = np.repeat([1.0, 3.0, 0.5], [n // 3, n // 3, n - 2 * (n // 3)])
    return _linear(rng, n, lambda X: scale * rng.standard_normal(n))


def bursts(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    """Quiet and wild times of about 100 rows, as in prices."""
    wild = np.cumsum(rng.random(n) < 0.01) % 2
    return _linear(rng, n, lambda X: np.where(wild, 3.0, 1.0) * rng.standard_normal(n))


def level_shifts(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    levels = 5.0 * rng.standard_normal(n // 1000 + 1)
    return _linear(rng, n, lambda X: levels[np.arange(n) // 1000] + rng.standard_normal(n))


def trend(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    return _linear(rng, n, lambda X: np.arange(n) / 500.0 + rng.standard_normal(n))


def moving_coefficients(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    walk = np.cumsum(0.03 * rng.standard_normal((n, D)), axis=0)
    return _linear(rng, n, lambda X: np.sum(X * walk, axis=1) + rng.standard_normal(n))


def correlated(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    """Noise that stays on one side for about ten rows."""

    def noise(X: Matrix) -> Vector:
        out, last = np.empty(n), 0.0
        for t, fresh in enumerate(rng.standard_normal(n)):
            out[t] = last = 0.9 * last + fresh
        return out

    return _linear(rng, n, noise)


def binary(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    X = _features(rng, n)
    chance = 1.0 / (1.0 + np.exp(-(X @ rng.standard_normal(D)) + 1.0))
    return X, (rng.random(n) < chance).astype(float)


def rare_ones(rng: np.random.Generator, n: int) -> tuple[Matrix, Vector]:
    X = _features(rng, n)
    return X, (rng.random(n) < 0.1 / (1.0 + np.exp(-X[:, 0]))).astype(float)


STREAMS = (
    gaussian,
    heavy_tails,
    skewed,
    rare_shocks,
    heteroscedastic,
    drifting_scale,
    sudden_scale,
    bursts,
    level_shifts,
    trend,
    moving_coefficients,
    correlated,
    binary,
    rare_ones,
)


def predicted(stream: Callable[[np.random.Generator, int], tuple[Matrix, Vector]], seed: int, n: int) -> Predicted:
    """A stream with ridge's online predictions of it."""
    X, y = stream(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAMS.index(stream),))), n)
    predictions, leverages = RidgeRegressor(lam=1.0).predict_then_learn(X, y, return_leverage=True)
    return Predicted(predictions, leverages, y)
