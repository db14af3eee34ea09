"""Confidence sets that hold at every round at once, with probability at least 1 − δ.

Noise is σ-sub-Gaussian given the past, θ* is fixed, and rows may be chosen in view of everything before (for the set
with unknown σ: Gaussian noise, and rows that do not depend on it). With weights, √w·noise must be σ-sub-Gaussian. Where
a model has a prior mean θ_0, S bounds ‖θ* − θ_0‖. Coordinates are all of a model's: the constant first, if it has one.
With a λ for each of them, λ below is the largest, and S is in the norm √(Σ λ_j/λ (θ*_j − θ_0j)²), which is never more.

| known              | set                                                                         | class          |
|--------------------|-----------------------------------------------------------------------------|----------------|
| σ, S (ridge)       | ‖θ_t − θ*‖ in the norm of G ≤ W = √(σ²(2 log 1/δ + I) + λS²)                | `Ellipsoid`    |
| the same, "convex" | Σ w(y − xᵀθ*)² ≤ regularised loss + σ²(2 log 1/δ + I), ‖θ* − θ_0‖ ≤ S       | `SetInBall`    |
| σ, S (forward)     | abs(xᵀθ_t(x) − xᵀθ*) ≤ √(h(1−h)) W + h‖x‖S, h = q/(1+q), all x              | `ForwardSet`   |
| σ                  | ‖b − Aθ*‖ in the norm of G⁻¹ ≤ σ√(2 log 1/δ + I)                            | `QuadraticSet` |
| nothing (Gaussian) | exp(−I/2) (1 − Q/s)^(−n/2) < 1/δ at θ*                                      | `QuadraticSet` |

The paper's own, wider everywhere: `radius="sum"`, W = σ√(2 log 1/δ + I) + √λS, and for forward `bias="tight"` or
"paper", ‖θ_t(x) − θ*‖ in the norm of G + xxᵀ ≤ σ√(2 log 1/δ + I) + bias(x) S. What predictions have cost can take the
place of the information gain, `radius="regret"`: narrower where σ is told too large. See `SetChoices`.

(Theorem 1 of Tirinzoni et al. 2020, which the paper quotes, leaves its constant open, so it gives no set to compute.)
"""

from onward.confidence.change_alarm import Change, ChangeAlarm
from onward.confidence.choose import (
    AnySet,
    SetChoices,
    confidence_set,
    confidence_sets,
    interval_of_each,
    observation_reach,
)
from onward.confidence.conformal import DELTAS, ConformalIntervals
from onward.confidence.quadratic import QuadraticSet
from onward.confidence.sequence import RunningIntersection, needed_noise_width
from onward.confidence.set_in_ball import SetInBall
from onward.confidence.sets import ConfidenceSet, Ellipsoid, ForwardSet
from onward.confidence.t_intervals import TIntervals
from onward.confidence.widths import Bias, Radius, Width, bias_width, information, noise_width

__all__ = [
    "DELTAS",
    "AnySet",
    "Bias",
    "Change",
    "ChangeAlarm",
    "ConfidenceSet",
    "ConformalIntervals",
    "Ellipsoid",
    "ForwardSet",
    "QuadraticSet",
    "Radius",
    "RunningIntersection",
    "SetChoices",
    "SetInBall",
    "TIntervals",
    "Width",
    "bias_width",
    "confidence_set",
    "confidence_sets",
    "information",
    "interval_of_each",
    "needed_noise_width",
    "noise_width",
    "observation_reach",
]
