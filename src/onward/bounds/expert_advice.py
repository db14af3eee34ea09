"""What it costs to weigh experts instead of knowing the best of them, on any sequence.

*Polynomial weights* (ML-Poly, Gaillard et al. 2014). With f = Σ p_k f_k the prediction, r_k = 2w(f − y)(f − f_k) is at
least what f loses more than expert k in a round, R_k = Σ r_k, and Σ p_k r_k = 0. The weights are p_k ∝ η_k (R_k)₊, with
η_k = 1/(P + Σ r_k²) and P the largest r² of any expert so far: η_k never grows. Let Φ = Σ_k η_k (R_k)₊². In a round

    Φ' ≤ Σ_k η_k (R_k + r_k)₊² ≤ Φ + 2 Σ_k η_k (R_k)₊ r_k + Σ_k η_k r_k² = Φ + Σ_k η_k r_k²             (1)
    √Φ' ≤ √(Σ_k η'_k (R_k)₊²) + √(Σ_k η'_k r_k²) ≤ √Φ + √(K/2)                                         (2)

The first because the middle term is 0, the second because r_k² is in P' and in Σ r_k², so that η'_k r_k² ≤ ½. The
smaller of the two is added up in every round (`potential`), and R_k ≤ √((P + Σ r_k²) Φ). For squared errors that is
more than it seems: a round adds r_k − w(f − f_k)² to the difference of the losses, and r_k² ≤ 4E w(f − f_k)² with E the
largest w(f − y)². So with D = Σ w(f − f_k)² the difference is at most √((P + 4ED) Φ) − D, whatever D is:

    loss − loss_k ≤ √((P + Σ r_k²) Φ)   and   loss − loss_k ≤ EΦ + √(PΦ)                               (3)

The second does not grow with the rounds, but for Φ, which grows like K log T: in (1), if r_k² ≤ 4P for all k, then
η_k r_k² ≤ (4/log 5) log(1 + η_k r_k²), and these add up to log(η_k(first)/η_k(last)). Rounds with a larger r_k², of
which there are at most log₄(growth of P), take (2).

*The rule over the ways* weighs the polynomial weights and two others in the same manner, but round t counts t + 1 times
(the first row of all is not among the rounds). So what is bounded by (3) is C_t ≥ Σ_s (s + 1)/(t + 1) d_s, with d the
difference of the losses of the whole and of the polynomial weights in a round. By summation by parts

    Σ_t d_t ≤ C_T + Σ_{t<T} C_t / (t + 2)                                                              (4)

*Rows in which all say the same*, to a billionth of the interval of the targets, are no rounds: weights would be ratios
of rounding errors. What they can cost is added as it is (`ignored`).
"""

import math

import numpy as np

from onward.bounds.common import in_numbers, over_horizons
from onward.core.aggregation import NEAR, WAYS
from onward.core.checks import whole
from onward.core.ensemble_state import EnsembleState
from onward.core.shown import brief
from onward.core.types import Vector

# With targets in [−Y, Y], what experts say is in [−3Y, 3Y], and no two of them are further apart than 3 · 2Y.
_ERROR = (1 + 3) ** 2  # E ≤ 16 Y²
_REGRET = 2 * (1 + 3) * 6  # √P ≤ 48 Y²


@in_numbers
def aggregation_regret_so_far(ensemble: EnsembleState, *, target: int = 0) -> Vector:
    """Loss of an ensemble less that of each expert, (K,), at most.  [Gaillard et al. 2014, second order]

    On any sequence, from what was seen of it. Losses are Σ w(ŷ − y)² over all rows but the first, which nobody knows
    anything of.

    Args:
        ensemble: the state, `AutoRegressor.ensemble_`.
        target: which one, by its number.

    Returns:
        The bound, one for each expert (K,).

    Raises:
        ValueError: if ensemble is no ensemble, or it has no such target.

    Example:
        >>> import numpy as np
        >>> from onward.bounds import aggregation_regret_so_far
        >>> from onward import AutoRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((100, 2))
        >>> model = AutoRegressor().partial_fit(X, X @ [0.6, -0.8] + rng.standard_normal(100))
        >>> bound = aggregation_regret_so_far(model.ensemble_)
        >>> bool((bound > 0.0).all()), bound.shape == model.weights_.shape
        (True, True)
    """
    if not isinstance(ensemble, EnsembleState):
        raise ValueError(f"ensemble must be an onward.core.ensemble_state.EnsembleState, got {brief(ensemble)}")
    mixture = ensemble.mixture(whole("target", target, 0))
    totals = {name: float(mixture.totals[name][0]) for name in mixture.totals.dtype.names or ()}
    polynomial = _regret(mixture.squares, totals["peak"], totals["potential"], totals["error"])
    top = _regret(mixture.top_squares[0], totals["top_peak"], totals["top_potential"], totals["top_error"])
    return polynomial + top + totals["top_sum"] + totals["ignored"]


@over_horizons
def aggregation_regret(horizon: Vector, *, experts: int, target_bound: float, growth: float) -> Vector:
    """Loss of an ensemble less that of its best expert, at most.  [Gaillard et al. 2014, second order]

    On any sequence of rows of weight at most 1; over all rows but the first, which nobody knows anything of. It grows
    like Y² (K log T + log² T).

    Args:
        horizon: T, or several.
        experts: K, how many are weighed.
        target_bound: Y, no target is larger in absolute value; what experts say is clipped to [−3Y, 3Y] then.
        growth: (48 Y²/r)² for the first r that is not 0, of a weighing against what it weighs: how much the experts are
            closer to each other, or to the target, in the first round than they ever may be. It counts as a logarithm.

    Returns:
        The bound: a number for one horizon, an array for several.

    Raises:
        ValueError: if a parameter is out of its range.

    Example:
        >>> from onward.bounds import aggregation_regret
        >>> said = {"target_bound": 1.0, "growth": 100.0}
        >>> aggregation_regret(1000, experts=10, **said) < aggregation_regret(1000, experts=20, **said)
        True
    """
    Y2 = target_bound * target_bound
    polynomial = _most(_potential(horizon, experts, growth), Y2)
    top = _most(_potential(horizon, WAYS, growth * np.square((horizon + 1.0) / 2.0)), Y2)
    return polynomial + top * (1.0 + np.log((horizon + 2.0) / 2.0)) + _ignored(horizon, Y2)


def _regret(squares: Vector, peak: float, potential: float, error: float) -> Vector:
    """The smaller of (3)."""
    return np.minimum(np.sqrt((peak + squares) * potential), error * potential + math.sqrt(peak * potential))


def _potential(T: Vector, K: int, growth: float | Vector) -> Vector:
    """Φ after T rounds: leaps of the largest r² by more than 4 take (2), all others (1)."""
    leaps = 0.5 * np.log2(growth)
    smooth = 4.0 / math.log(5.0) * K * np.log((T + 1.0) * growth)
    root: Vector = math.sqrt(K / 2.0) * (1.0 + leaps) + np.sqrt(smooth)
    return np.square(root)


def _most(potential: Vector, Y2: float) -> Vector:
    """The second of (3), from the largest E and P that there can be."""
    bound: Vector = Y2 * (_ERROR * potential + _REGRET * np.sqrt(potential))
    return bound


def _ignored(T: Vector, Y2: float) -> Vector:
    """Of rows in which all experts, or all ways, are within NEAR · 2Y of the prediction."""
    return 2.0 * T * (2.0 * (1 + 3) * NEAR * 2.0) * Y2
