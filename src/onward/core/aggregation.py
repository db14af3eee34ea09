"""Weights of experts that need no learning rate and no known range: three ways to weigh, and a fourth over the three.

1. *polynomial*: ML-Poly (Gaillard, Stoltz, van Erven 2014) on linearised losses: weights ∝ (R_k)₊ / (peak + Σ r²), with
   R_k the regret against expert k. It has a bound on any sequence (`bounds.aggregation_regret`).
2. *exponential*: weights ∝ exp(−½ (L_k − min L) / s²), with L_k the squared errors of expert k and s² the mean of those
   of the best: what Gaussian noise of that size would make of them.
3. *recent*: the same with errors that count half after `RECENT` rows.

A polynomial rule over these three, in which row t counts t times as much as the first, decides whom to follow: so the
bound of the first is kept, and the quicker two are used where they are better.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from onward.core.compile import compiled, inlined
from onward.core.simd import dot_from, fma, padded
from onward.core.types import Matrix, Records, Vector
from onward.core.views import part, records_of

COMPILED_FROM = "7d5dff2715e1c065"  # other files whose code is compiled into this one: see tools/digests.py

WAYS = 3
RECENT = 10.0
PERFECT = 1e-250  # errors as small as this have no ratios: those of old rows that fade end here
NEAR = 1e-9  # of the targets' interval: experts that are as near to each other say the same, but for rounding
_FADING = 2.0 ** (-1.0 / RECENT)

TOTALS = np.dtype(
    [
        ("rows", "f8"),  # with a weight
        ("weight", "f8"),  # Σ w
        ("recent_weight", "f8"),  # the same, fading
        ("peak", "f8"),  # the largest squared regret of a row against an expert
        ("potential", "f8"),  # what bounds Σ_k (R_k)₊² / (peak + Σ r_k²)
        ("error", "f8"),  # the largest w (f − y)²
        ("top_peak", "f8"),  # the same three for the rule over the ways, in which rows fade
        ("top_potential", "f8"),
        ("top_error", "f8"),
        ("top_sum", "f8"),  # Σ over rows t of what bounded its regret then / (t + 2)
        ("ignored", "f8"),  # Σ of the largest regret of rows in which all said the same
    ]
)
N_TOTALS = 11
_as_totals = records_of(TOTALS)


class Mixture(NamedTuple):
    """What is known of K experts from their errors in one target: views of a buffer."""

    totals: Records
    regret: Vector  # (K,): Σ r, r = 2w(f − y)(f − f_k) with f the polynomial weighing's prediction
    squares: Vector  # (K,): Σ r²
    loss: Vector  # (K,): Σ w (f_k − y)²
    recent: Vector  # (K,): the same, fading
    top_regret: Vector  # (WAYS,)
    top_squares: Vector  # (WAYS,)


class Weights(NamedTuple):
    """Of experts in each way of weighing, and of the ways."""

    experts: Matrix  # (WAYS, padded K)
    ways: Vector  # (WAYS,)


@inlined
def mixture_size(K: int) -> int:
    """Numbers in the buffer of a mixture."""
    return N_TOTALS + 4 * K + 2 * WAYS


@inlined
def view_mixture(buffer: Vector, at: int, K: int) -> Mixture:
    """The mixture that begins at `at`. The only place that knows where things are."""
    regret = at + N_TOTALS
    top = regret + 4 * K
    return Mixture(
        _as_totals(part(buffer, at, regret)),
        part(buffer, regret, regret + K),
        part(buffer, regret + K, regret + 2 * K),
        part(buffer, regret + 2 * K, regret + 3 * K),
        part(buffer, regret + 3 * K, top),
        part(buffer, top, top + WAYS),
        part(buffer, top + WAYS, top + 2 * WAYS),
    )


padded_to = inlined(padded)


@inlined
def new_weights(K: int) -> Weights:
    """Room for the weights of K experts."""
    return Weights(np.zeros((WAYS, padded_to(K))), np.zeros(WAYS))


@intrinsic
def _biased_power(typingctx: Any, biased: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.shl(args[0], ir.IntType(64)(52)), ir.DoubleType())

    return types.float64(types.int64), codegen


_power_of_two = cast(Callable[[Any], float], _biased_power)
"""2^(n − 1023), for 0 < n < 2047: by its bits."""


@inlined
def exp(x: float) -> float:
    """eˣ for x ≤ 0, at least e^−700: to about 2 ulp, in steps that a loop over many can take in vectors."""
    x = max(x, -700.0)
    n = np.floor(fma(x, 1.4426950408889634, 0.5))
    r = fma(-n, 1.9082149292705877e-10, fma(-n, 0.6931471803691238, x))
    s = 1.0 / 6227020800.0
    s = fma(s, r, 1.0 / 479001600.0)
    s = fma(s, r, 1.0 / 39916800.0)
    s = fma(s, r, 1.0 / 3628800.0)
    s = fma(s, r, 1.0 / 362880.0)
    s = fma(s, r, 1.0 / 40320.0)
    s = fma(s, r, 1.0 / 5040.0)
    s = fma(s, r, 1.0 / 720.0)
    s = fma(s, r, 1.0 / 120.0)
    s = fma(s, r, 1.0 / 24.0)
    s = fma(s, r, 1.0 / 6.0)
    s = fma(s, r, 0.5)
    s = fma(s, r, 1.0)
    s = fma(s, r, 1.0)
    return s * _power_of_two(np.int64(n) + 1023)


@inlined
def _least(values: Vector) -> float:
    """The smallest value: four at a time, as one alone waits for itself."""
    n = values.shape[0]
    a = b = c = d = values[0]
    k = 0
    while k + 4 <= n:
        a = values[k] if values[k] < a else a
        b = values[k + 1] if values[k + 1] < b else b
        c = values[k + 2] if values[k + 2] < c else c
        d = values[k + 3] if values[k + 3] < d else d
        k += 4
    while k < n:
        a = values[k] if values[k] < a else a
        k += 1
    a = b if b < a else a
    c = d if d < c else c
    return float(c if c < a else a)


@inlined
def _greatest(values: Vector) -> float:
    n = values.shape[0]
    a = b = c = d = values[0]
    k = 0
    while k + 4 <= n:
        a = values[k] if values[k] > a else a
        b = values[k + 1] if values[k + 1] > b else b
        c = values[k + 2] if values[k + 2] > c else c
        d = values[k + 3] if values[k + 3] > d else d
        k += 4
    while k < n:
        a = values[k] if values[k] > a else a
        k += 1
    a = b if b > a else a
    c = d if d > c else c
    return float(c if c > a else a)


@inlined
def _polynomial(regret: Vector, squares: Vector, peak: float, out: Vector) -> None:
    """Weights ∝ (R)₊ / (peak + Σ r²), all alike where nobody has a regret against anyone. Overwrites `out`."""
    K = regret.shape[0]
    if peak > 0.0:
        for k in range(K):
            ahead = regret[k] if regret[k] > 0.0 else 0.0
            out[k] = ahead / (peak + squares[k])
    else:
        for k in range(K):
            out[k] = 0.0


@inlined
def _exponential(loss: Vector, weight: float, out: Vector) -> None:
    """Weights ∝ exp(−½ (L − min L) / s²), s² = min L / Σ w; all alike of those that are right. Overwrites `out`."""
    least = _least(loss)
    if least > PERFECT:
        rate = 0.5 * weight / least
        for k in range(loss.shape[0]):
            out[k] = exp(rate * (least - loss[k]))
    else:
        for k in range(loss.shape[0]):
            out[k] = 1.0 if loss[k] <= PERFECT else 0.0


@inlined
def _normalize(weights: Matrix, way: int, ones: Vector, K: int) -> None:
    total = dot_from(weights, way, ones, 0)
    if total > 0.0:
        share = 1.0 / total
        for k in range(K):
            weights[way, k] *= share
    else:
        for k in range(K):
            weights[way, k] = 1.0 / K


@inlined
def weigh(mixture: Mixture, weights: Weights, ones: Vector) -> None:
    """The weights that the next row is predicted with. Overwrites `weights`; `ones` are as many as a padded row has."""
    K, totals = mixture.regret.shape[0], mixture.totals[0]
    _polynomial(mixture.regret, mixture.squares, totals.peak, weights.experts[0])
    _exponential(mixture.loss, totals.weight, weights.experts[1])
    _exponential(mixture.recent, totals.recent_weight, weights.experts[2])
    for way in range(WAYS):
        _normalize(weights.experts, way, ones, K)
    _polynomial(mixture.top_regret, mixture.top_squares, totals.top_peak, weights.ways)
    total = weights.ways[0] + weights.ways[1] + weights.ways[2]
    for way in range(WAYS):
        weights.ways[way] = weights.ways[way] / total if total > 0.0 else 1.0 / WAYS


@compiled
def weights_of(mixture: Mixture) -> Weights:
    """The weights that the next row is predicted with, for Python."""
    weights = new_weights(mixture.regret.shape[0])
    weigh(mixture, weights, np.ones(weights.experts.shape[1]))
    return weights


@inlined
def combine(weights: Weights, said: Vector, ways: Vector) -> float:
    """The prediction from what the experts said. Overwrites `ways` with that of each way of weighing."""
    prediction = 0.0
    for way in range(WAYS):
        ways[way] = dot_from(weights.experts, way, said, 0)
        prediction = fma(weights.ways[way], ways[way], prediction)
    return prediction


@inlined
def learn_errors(
    mixture: Mixture,
    said: Vector,
    ways: Vector,
    prediction: float,
    y: float,
    w: float,
    near: float,
    ones: Vector,
    scratch: Matrix,
) -> None:
    """Take note of what the experts said of a row of target y and weight w > 0. Overwrites the mixture and scratch.

    `ways` and `prediction` are what `combine` gave; scratch has two rows as long as a row of weights, padded with 0.
    Where all are within `near` of the prediction, nobody has a regret: it would be of rounding, and weights are ratios.
    """
    totals, K = mixture.totals[0], mixture.regret.shape[0]
    regret, squares, loss, recent = mixture.regret, mixture.squares, mixture.loss, mixture.recent
    square, share = scratch[0], scratch[1]
    followed = ways[0]
    missed = followed - y
    gradient, peak = 2.0 * w * missed, totals.peak
    for k in range(K):
        r = gradient * (followed - said[k])
        square[k] = r * r
        error = said[k] - y
        cost = w * (error * error)
        loss[k] += cost
        recent[k] = fma(_FADING, recent[k], cost)
    largest = _greatest(square)
    if near > 0.0 and largest > (gradient * near) * (gradient * near):
        for k in range(K):
            share[k] = square[k] / (peak + squares[k])
            regret[k] += gradient * (followed - said[k])
            squares[k] += square[k]
        totals.potential = _risen(totals.potential, dot_from(scratch, 1, ones, 0) if peak > 0.0 else np.inf, K)
        totals.peak = largest if largest > peak else peak
    else:
        totals.ignored += math.sqrt(largest)
    cost = w * (missed * missed)
    totals.error = cost if cost > totals.error else totals.error
    totals.rows += 1.0
    totals.weight += w
    totals.recent_weight = fma(_FADING, totals.recent_weight, w)
    _learn_ways(mixture, ways, prediction, y, w, near)


@inlined
def _learn_ways(mixture: Mixture, ways: Vector, prediction: float, y: float, w: float, near: float) -> None:
    """Let the rule over the ways know of a row, which counts more than the one before: row t by t/(t−1)."""
    totals, regret, squares = mixture.totals[0], mixture.top_regret, mixture.top_squares
    fading = totals.rows / (totals.rows + 1.0)
    faded, missed = fading * fading, prediction - y
    gradient, peak, largest, spent = 2.0 * w * missed, totals.top_peak * faded, 0.0, 0.0
    for way in range(WAYS):
        r = gradient * (prediction - ways[way])
        largest = r * r if r * r > largest else largest
        squares[way] *= faded
        regret[way] *= fading
        spent += r * r / (peak + squares[way])
    if near > 0.0 and largest > (gradient * near) * (gradient * near):
        for way in range(WAYS):
            r = gradient * (prediction - ways[way])
            regret[way] += r
            squares[way] = fma(r, r, squares[way])
        totals.top_potential = _risen(totals.top_potential, spent if peak > 0.0 else np.inf, WAYS)
        peak = largest if largest > peak else peak
    else:
        totals.ignored += math.sqrt(largest)
    totals.top_peak = peak
    cost = w * (missed * missed)
    totals.top_error = max(fading * totals.top_error, cost)
    bound = polynomial_regret(squares[0], peak, totals.top_potential, totals.top_error)
    totals.top_sum += bound / (totals.rows + 2.0)


# Bounds: see `bounds.aggregation`


@inlined
def _risen(potential: float, spent: float, K: int) -> float:
    """What bounds Σ_k η_k (R_k)₊² after a row that has added at most `spent` to it, or √(K/2) to its root."""
    if spent <= 0.5 * K:
        return potential + spent
    root = math.sqrt(potential) + math.sqrt(0.5 * K)
    return min(potential + spent, root * root)


@inlined
def polynomial_regret(squares: float, peak: float, potential: float, error: float) -> float:
    """What the loss of polynomial weights exceeds that of an expert by, at most: see `bounds.polynomial_regret`."""
    root = math.sqrt((peak + squares) * potential)
    return min(root, error * potential + math.sqrt(peak * potential))
