"""How wide an index reaches, and the index of one action. Compiled: `confidence` has the formulas."""

import math

import numpy as np

from onward.bandits.functions import call_index, call_width
from onward.bandits.model import Model
from onward.bandits.settings import (
    AS_PRINTED,
    BY_CONSTANTS,
    BY_DETERMINANT,
    BY_FUNCTION,
    BY_MULTIPLE,
    BY_TRACE,
    FORWARD,
    NO_BIAS,
    NOT_FINITE,
    RIDGE,
    SHARP,
    TIGHT,
    TOO_LONG,
    Head,
)
from onward.confidence.widths import bounded_gain, radius_of_bias, radius_of_both, radius_of_noise, radius_of_window
from onward.core.compile import inlined
from onward.core.factor import ORDINARY, Factor, information_gain, load_row, read_row, weighted_trace
from onward.core.simd import fma
from onward.core.types import Matrix, Records, Vector

COMPILED_FROM = "79952744d7c72d68"  # other files whose code is compiled into this one: see tools/digests.py


@inlined
def checked_square(settings: Records, longest: float) -> float:
    """The largest squared norm, or a negative status."""
    if not longest < ORDINARY * ORDINARY:
        return NOT_FINITE
    bound: float = settings[0].action_bound
    return TOO_LONG if longest > bound * bound * (1.0 + 1e-12) else longest


@inlined
def longest_counted(head: Head, longest: float) -> float:
    """X² of the uniform width: as given, or the largest offered so far, `longest` among them."""
    bound: float = head.settings[0].action_bound
    return bound * bound if bound < np.inf else max(longest, head.log[0].offered)


@inlined
def noise_level(head: Head, factor: Factor) -> float:
    """σ as told; else estimated from the rewards that V = `factor` knows.

    σ̂² = L/(n + 1) + (d/(n + d))² Σ y²/n, with L the regularised loss: e² is of size σ²(1 + q) for the error e of a
    prediction, and L adds up e²/(1 + q). The mean square counts while there are few rewards for each coefficient: what
    was not met yet may be as far from 0 as what was, however little noise there is.
    """
    settings = head.settings[0]
    if settings.sigma > 0.0:
        told: float = settings.sigma
        return told
    n, loss, total = noise_sums(settings.gamma, factor)
    return level_of(n, loss, total, settings.dimension)


@inlined
def noise_sums(gamma: float, factor: Factor) -> tuple[float, float, float]:
    """How many rewards count, the regularised loss, and Σ y²."""
    counts = factor.counts[0]
    n = counts.counted if gamma == 1.0 else (1.0 - gamma**counts.seen) / (1.0 - gamma)
    loss = max(factor.loss[0], 0.0)
    total = loss
    for k in range(factor.D.shape[0]):
        total = fma(factor.D[k] * factor.c[k, 0], factor.c[k, 0], total)
    return n, loss, total


@inlined
def level_of(n: float, loss: float, total: float, d: float) -> float:
    """σ̂ of a model with d coefficients from its `noise_sums`; 1 before there are any.

    A detector's model may have met surprises only, whose squares are in the loss.
    """
    if not n > 0.0:
        return math.sqrt(loss) if loss > 0.0 else 1.0
    early = d / (n + d)
    return math.sqrt(max(loss, 0.0) / (n + 1.0) + early * early * max(total, 0.0) / n)


@inlined
def noise_radius(head: Head, V: Factor, factor: Factor, rows: float, window: float, longest: float) -> float:
    """Scale times what the noise can do to the estimate, in the norm of the factor; `window` is 0 if there is none."""
    settings = head.settings[0]
    d, width = settings.dimension, settings.width
    scale: float = settings.scale
    sigma = noise_level(head, V)
    if width == BY_MULTIPLE:
        multiple: float = settings.multiple
        return scale * multiple * sigma
    if width == BY_CONSTANTS and window > 0.0:
        radius = radius_of_window(sigma, settings.delta, d, window * longest / settings.lam_least)
        return scale * radius
    if width in (BY_DETERMINANT, BY_FUNCTION):
        gain = information_gain(factor, head.lam)
        if width == BY_FUNCTION:
            return scale * call_width(
                int(settings.width_function), gain, rows, d, settings.lam_most, sigma, settings.delta
            )
    elif width == BY_TRACE:
        gain = bounded_gain(d, max(0.0, weighted_trace(factor, 1.0 / head.lam) - head.lam.shape[0]))
    else:
        gain = bounded_gain(d, rows * longest / settings.lam_least)
    return scale * radius_of_noise(sigma, settings.delta, gain)


@inlined
def is_even_radius(head: Head) -> bool:
    """Whether the radius is ridge's, the same for every action."""
    settings = head.settings[0]
    return bool(settings.estimator == RIDGE or settings.bias in (SHARP, NO_BIAS))


@inlined
def whole_radius(head: Head, noise: float, square: float) -> float:
    """The radius of noise and bias at an action of that (scaled) squared norm; `noise` has the scale already."""
    settings = head.settings[0]
    bound: float = settings.scale * settings.theta_bound
    if settings.bias == NO_BIAS:
        return noise
    if settings.estimator == RIDGE or settings.bias == SHARP:
        return radius_of_both(noise, bound * math.sqrt(settings.lam_most), settings.joint != 0.0)
    return noise + bound * radius_of_bias(settings.lam_most, square, settings.bias == TIGHT)


@inlined
def is_sharp(head: Head) -> bool:
    """Whether the index is between ridge's and what ‖x‖S allows."""
    return bool(head.settings[0].estimator == FORWARD and head.settings[0].bias == SHARP)


@inlined
def sharpened(index: float, q: float, most: float) -> float:
    """Forward's index between ridge's and `most`, times the scale, by the share that the leverage has."""
    return fma(q, most, index) / (1.0 + q)


@inlined
def scaled_square(head: Head, x: Vector) -> float:
    """Σ λ̄/λ_j x_j², with λ̄ the largest λ."""
    total = 0.0
    for j in range(x.shape[0]):
        total = fma(head.scales[j] * x[j], x[j], total)
    return total


@inlined
def prior_part(head: Head, x: Vector) -> float:
    """xᵀθ_0."""
    total = 0.0
    for j in range(x.shape[0]):
        total = fma(x[j], head.prior[j], total)
    return total


@inlined
def optimistic_index(
    p: float, q: float, reach: float, radius: float, forward: bool, double: bool
) -> tuple[float, float]:
    """Index and estimate from p, the leverage and the squared norm that the radius multiplies."""
    if not forward:
        return p + radius * math.sqrt(reach), p
    share = 1.0 / (1.0 + q)
    p *= share
    if double:
        return p + radius * math.sqrt(fma(q, q, reach)) * share, p
    return p + radius * math.sqrt(q * share), p


@inlined
def printed_index(head: Head, rows: float, peak: float, p: float, q: float, square: float) -> tuple[float, float]:
    """Algorithm 3's index as it is printed, and the estimate: the noise stands outside the product with ‖x‖."""
    settings = head.settings[0]
    lam, share = settings.lam_most, 1.0 / (1.0 + q)
    gain = bounded_gain(settings.dimension, (rows + 1.0) * max(peak, square) / lam)
    noise = radius_of_noise(settings.sigma, settings.delta, gain)
    bias = settings.theta_bound * radius_of_bias(lam, square, False)
    p *= share
    return p + settings.scale * (bias * math.sqrt(q * share) + noise), p


@inlined
def read_single(head: Head, model: Model, x: Vector, square: float, scratch: Matrix) -> tuple[float, float]:
    """Index and estimate that an optimistic rule has from a model of one action, without the prior's part."""
    settings, counts = head.settings[0], model.factor.counts[0]
    forward = settings.estimator == FORWARD
    load_row(x, scratch)
    p, q = read_row(model.factor, scratch, scratch)
    if settings.width == AS_PRINTED:
        return printed_index(head, counts.counted, counts.peak, p, q, square)
    radius = noise_radius(head, model.factor, model.factor, counts.counted, 0.0, longest_counted(head, square))
    if settings.index_function != 0.0:
        base = prior_part(head, x)
        index = call_index(int(settings.index_function), p + base, q, square, radius, counts.counted)
        return index - base, p / (1.0 + q) if forward else p
    own_square = square if settings.even != 0.0 else scaled_square(head, x)
    radius = whole_radius(head, radius, own_square)
    if is_sharp(head):
        index = optimistic_index(p, q, q, radius, False, False)[0]
        most = settings.scale * settings.theta_bound * math.sqrt(own_square)
        return sharpened(index, q, most), p / (1.0 + q)
    return optimistic_index(p, q, q, radius, forward, False)
