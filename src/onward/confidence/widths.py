"""How wide a set must be: the noise's part and the regularisation's part. Compiled: sets and policies call the same.

With a λ for each coordinate, everything is as with one λ for all in coordinates of their own scale: x_j √(λ̄/λ_j) and
θ_j √(λ_j/λ̄), with λ̄ the largest λ. So S bounds √(Σ λ_j/λ̄ (θ*_j − θ_0j)²), which is never more than ‖θ* − θ_0‖, and
where formulas have ‖x‖² there stands Σ λ̄/λ_j x_j².
"""

import math
from typing import Literal, TypeVar

import numpy as np

from onward.core import Information
from onward.core.checks import LARGEST_BOUND, positive, probability
from onward.core.compile import compiled
from onward.core.shown import brief
from onward.core.types import Vector

Width = Literal["determinant", "trace", "uniform"]
Bias = Literal["sharp", "tight", "paper"]
Radius = Literal["joint", "sum", "regret", "convex"]
Number = TypeVar("Number", float, Vector)


@compiled
def bounded_gain(d: float, scaled_squares: float) -> float:
    """d log(1 + Σ w‖x‖²_{Λ⁻¹} / d): no information gain is larger, by the inequality of the means."""
    return d * math.log1p(scaled_squares / d)


@compiled
def radius_of_noise(sigma: float, delta: float, gain: Number) -> Number:
    """σ√(2 log(1/δ) + I)."""
    root: Number = np.sqrt(gain - 2.0 * math.log(delta))
    return sigma * root


@compiled
def radius_of_window(sigma: float, delta: float, d: float, scaled_squares: float) -> float:
    """σ√(d log((1 + τX²/λ)/δ)), of a window of τ rows (Cheung et al. 2019)."""
    return sigma * math.sqrt(d * (math.log1p(scaled_squares) - math.log(delta)))


@compiled
def radius_of_both(noise: Number, bias: float, joint: bool) -> Number:
    """The radius of ridge's set, from what noise and regularisation can do: √(noise² + bias²), or their sum.

    `joint` (Flynn et al. 2023): with likelihood ratios mixed over N(θ_0, σ²Λ⁻¹), Σ w(y − xᵀθ*)² is at all rounds at
    most the regularised loss + σ²(2 log(1/δ) + I); and with λ‖θ* − θ_0‖² it is that loss + ‖θ_t − θ*‖².
    """
    radius: Number = np.sqrt(noise * noise + bias * bias) if joint else noise + bias
    return radius


@compiled
def radius_of_bias(lam: float, square: Number, tight: bool) -> Number:
    """What regularisation does to the forward estimate at x for each unit of S: √(λ + ‖x‖²), or √λ + ‖x‖."""
    width: Number = np.sqrt(lam + square) if tight else math.sqrt(lam) + np.sqrt(square)
    return width


def information(
    state: Information,
    width: Width = "determinant",
    feature_bound: float | None = None,
    eigenvalues: Vector | None = None,
    mixture: float | None = None,
) -> float:
    """The information gain I_t, or what bounds it: from tight to loose, `determinant`, `trace`, `uniform`.

    `uniform` is u_t = d log(1 + tX²/(λd)), with X the largest √w·‖x‖ seen unless `feature_bound` is given, and λ the
    smallest.

    Args:
        state: the state.
        width: "determinant", "trace" or "uniform".
        feature_bound: X, for `uniform`; None for the largest seen.
        eigenvalues: of the rows, in the coordinates in which λ is the same for each, for `mixture`.
        mixture: give that of a state with this λ' in the place of the largest λ, others in proportion.

    Returns:
        The gain, in nats.

    Raises:
        ValueError: if there is no such width, or feature_bound is less than what was seen or not for that width.

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.confidence import information
        >>> state = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1.0, 0.0]] * 3, [1.0] * 3).information_
        >>> [round(information(state, width), 3) for width in ("determinant", "trace", "uniform")]  # log 4, 2 log 2.5
        [1.386, 1.833, 1.833]
    """
    least, d = smallest_lam(state), len(state.D)
    if feature_bound is not None:
        positive("feature_bound", feature_bound)
        if width != "uniform":
            raise ValueError(f"feature_bound is for width='uniform', got width={width!r}")
        if state.peak > feature_bound**2 * (1 + 1e-12):
            seen = math.sqrt(state.peak)
            raise ValueError(f"feature_bound must be at least the largest √w·‖x‖ seen, {seen:g}, got {feature_bound}")
    larger = 1.0 if mixture is None else largest_lam(state) / mixture
    if width == "determinant":
        if eigenvalues is None or mixture is None:
            return state.information_gain
        return float(np.log1p(eigenvalues / mixture).sum())
    if width == "trace":
        return bounded_gain(float(d), larger * state.scaled_trace(1.0 / state.lam))
    if width == "uniform":
        largest = state.peak if feature_bound is None else feature_bound**2
        return bounded_gain(float(d), larger * state.rows * largest / least)
    raise ValueError(f"width must be 'determinant', 'trace' or 'uniform', got {brief(width)}")


def smallest_lam(state: Information) -> float:
    """The smallest λ; ValueError if it is 0, for then there are no sets."""
    least = float(state.lam.min()) if len(state.lam) else 1.0
    if least == 0.0 < state.lam.max(initial=0.0):
        free = "the constant (intercept_lam)" if state.intercept and state.lam[0] == 0.0 else "a feature"
        raise ValueError(f"lam must be a number > 0 for every coordinate of a confidence set, got 0 for {free}")
    return positive("lam", least)


def largest_lam(state: Information) -> float:
    """λ̄, the largest λ."""
    return float(state.lam.max()) if len(state.lam) else 1.0


def noise_width(sigma: float, delta: float, gain: Number) -> Number:
    """σ√(2 log(1/δ) + I): what the noise can do to the estimate, in the norm of G, at all rounds at once.

    Args:
        sigma: σ of the noise.
        delta: δ.
        gain: I, a number or an array.

    Returns:
        The width, of the shape of the gain.

    Example:
        >>> from onward.confidence import noise_width
        >>> round(noise_width(1.0, 0.05, 2.0), 4)  # √(2 log 20 + 2)
        2.8269
    """
    return radius_of_noise(positive("sigma", sigma, LARGEST_BOUND), probability("delta", delta), gain)


def bias_width(lam: float, squared_norm: Number, bias: Bias = "tight") -> Number:
    """What the regularisation does to the forward estimate at x, for each unit of S, in the norm of G + xxᵀ.

    `tight`: √(λ + ‖x‖²); `paper`: √λ + ‖x‖. At x = 0 both are ridge's √λ. With a λ for each coordinate, λ is the
    largest and ‖x‖² is Σ λ/λ_j x_j². (`sharp` is no such width: there the part of x itself has a leverage of its own.)

    Args:
        lam: λ.
        squared_norm: ‖x‖², a number or an array.
        bias: "tight" or "paper".

    Returns:
        The width, of the shape of the squared norm.

    Raises:
        ValueError: if bias is neither "tight" nor "paper", or λ not positive.

    Example:
        >>> from onward.confidence import bias_width
        >>> bias_width(1.0, 3.0), round(bias_width(1.0, 3.0, "paper"), 3)
        (2.0, 2.732)
    """
    if bias not in ("tight", "paper"):
        raise ValueError(f"the bias of a width must be 'tight' or 'paper', got {brief(bias)}")
    return radius_of_bias(positive("lam", lam), squared_norm, bias == "tight")
