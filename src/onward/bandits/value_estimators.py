"""Estimators of a policy's value from weighed events: each gives a term for every event, whose mean is the estimate."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onward.bandits.log_walk import Walk
from onward.bandits.policy_value import Method
from onward.core.types import Vector

N_CANDIDATES = 25  # strengths of shrinkage that are tried


@dataclass(frozen=True)
class Terms:
    """What an estimator made of a log."""

    values: Vector
    """(n,); their mean is the estimate, and their spread is that of the events' influence on it."""
    bias: float = 0.0
    """How far shrinking the weights has moved the estimate, as the log has it ..."""
    bias_error: float = 0.0
    """... and the standard error of that."""
    shrinkage: float | None = None
    """The threshold of "switch", the λ of "dros"; None where weights are as they are."""

    @property
    def standard_error(self) -> float:
        """Of the estimate, with the bias of shrinkage counted in, and that it is not known exactly."""
        return math.hypot(_error(self.values), self.bias, self.bias_error)

    @property
    def expected_error(self) -> float:
        """By which a strength of shrinkage is chosen: root of variance and squared bias."""
        return math.hypot(_error(self.values), self.bias)


def terms(method: Method, walk: Walk, weights: Vector, reward: Vector, shrinkage: float | None = None) -> Terms:
    """The estimate by a method other than replay. Without a given shrinkage, "switch" and "dros" choose their own."""
    n, total = len(reward), float(weights.sum())
    if method == "ips":
        return Terms(weights * reward)
    if method == "dm":
        return Terms(walk.expected)
    if method == "dr":
        return Terms(walk.expected + weights * walk.residuals)
    if method == "snips":
        if total <= 0:
            return Terms(np.full(n, math.nan))
        value = float(weights @ reward) / total
        # What an event moves the ratio by, to first order.
        return Terms(value + weights * (reward - value) * (n / total))
    shrunken = SHRINKING[method]
    if shrinkage is not None:
        return _shrunken(walk, weights, shrunken(weights, shrinkage), shrinkage)
    return min(
        (_shrunken(walk, weights, shrunken(weights, each), each) for each in _candidates(method, weights)),
        key=lambda each: each.expected_error,
    )


def switched(weights: Vector, threshold: float) -> Vector:
    """Weights up to a threshold; beyond, the model alone is believed (Wang, Agarwal and Dudík, 2017)."""
    return np.where(weights <= threshold, weights, 0.0)


def optimistically_shrunken(weights: Vector, lam: float) -> Vector:
    """λw / (w² + λ), at most √λ / 2 (Su, Dimakopoulou, Krishnamurthy and Dudík, 2020)."""
    return weights if math.isinf(lam) else lam * weights / (weights**2 + lam)


SHRINKING: dict[Method, Callable[[Vector, float], Vector]] = {"switch": switched, "dros": optimistically_shrunken}


def _candidates(method: Method, weights: Vector) -> list[float]:
    """Strengths to try, from next to none up to the model alone."""
    positive = weights[weights > 0]
    if not len(positive):
        return [math.inf]
    if method == "switch":
        return [*np.quantile(positive, np.linspace(0.5, 1.0, N_CANDIDATES)).tolist(), math.inf]
    return [*(float(positive.max()) ** 2 * np.geomspace(1e-4, 1e2, N_CANDIDATES)).tolist(), math.inf]


def _shrunken(walk: Walk, weights: Vector, shrunken: Vector, shrinkage: float) -> Terms:
    """With the bias taken to be the mean of the corrections that were left out."""
    gaps = (weights - shrunken) * walk.residuals
    return Terms(
        walk.expected + shrunken * walk.residuals,
        abs(float(gaps.mean())),
        _error(gaps) if gaps.any() else 0.0,
        None if math.isinf(shrinkage) else shrinkage,
    )


def _error(values: Vector) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
