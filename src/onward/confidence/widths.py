"""How wide a set must be: the noise's part and the regularisation's part."""

import math
from typing import Literal

import numpy as np

from onward.core import Information
from onward.core.checks import positive, probability
from onward.core.types import Vector

Width = Literal["determinant", "trace", "uniform"]
Bias = Literal["tight", "paper"]


def information(state: Information, width: Width = "determinant", feature_bound: float | None = None) -> float:
    """The information gain I_t, or what bounds it: from tight to loose, `determinant`, `trace`, `uniform`.

    `uniform` is u_t = d log(1 + tX²/(λd)), with X the largest √w·‖x‖ seen unless `feature_bound` is given.
    """
    positive("lam", state.lam)
    d, lam = len(state.D), state.lam
    if feature_bound is not None:
        positive("feature_bound", feature_bound)
        if width != "uniform":
            raise ValueError(f"feature_bound is for width='uniform', got width={width!r}")
        if state.peak > feature_bound**2 * (1 + 1e-12):
            seen = math.sqrt(state.peak)
            raise ValueError(f"feature_bound must be at least the largest √w·‖x‖ seen, {seen:g}, got {feature_bound}")
    if width == "determinant":
        return state.information_gain
    if width == "trace":
        return d * math.log1p(state.trace / (lam * d))
    if width == "uniform":
        largest = state.peak if feature_bound is None else feature_bound**2
        return d * math.log1p(state.rows * largest / (lam * d))
    raise ValueError(f"width must be 'determinant', 'trace' or 'uniform', got {width!r}")


def noise_width(sigma: float, delta: float, gain: float | Vector) -> float | Vector:
    """σ√(2 log(1/δ) + I): what the noise can do to the estimate, in the norm of G, at all rounds at once."""
    positive("sigma", sigma)
    probability("delta", delta)
    return sigma * np.sqrt(gain - 2 * math.log(delta))


def bias_width(lam: float, squared_norm: float | Vector, bias: Bias = "tight") -> float | Vector:
    """What the regularisation does to the forward estimate at x, for each unit of S.

    `tight`: √(λ + ‖x‖²); `paper`: √λ + ‖x‖. At x = 0 both are ridge's √λ.
    """
    positive("lam", lam)
    if bias == "tight":
        return np.sqrt(lam + squared_norm)
    if bias == "paper":
        return math.sqrt(lam) + np.sqrt(squared_norm)
    raise ValueError(f"bias must be 'tight' or 'paper', got {bias!r}")
