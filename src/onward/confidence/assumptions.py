"""What holds, and what is assumed for it: one line, to stand where an interval is printed."""

from typing import Literal

import numpy as np

from onward.core import Information
from onward.core.known import Known, Method

LINEAR = "the target is linear in the columns"
OF_TARGETS: dict[Method, str] = {
    "conformal": "The share of rows that are missed tends to {delta:g}, whatever comes: nothing is assumed.",
    "t": "Each row is missed with probability {delta:g}, if noise is Gaussian, of one variance, and rows do not depend "
    "on it.",
    "uniform": "Each row is missed with probability at most {delta:g}, if the target is linear and {noise}.",
}
"""Of intervals for targets, by their method."""


def describe_target_intervals(method: Method, known: Known, *, learned: bool = True) -> str:
    """What holds of intervals for targets: of a pass, or of rows that are not learned."""
    if method == "conformal" and not learned:
        return f"A share of {known.delta:g} of the rows is missed, if their errors are like those of late."
    return OF_TARGETS[method].format(delta=known.delta, noise=describe_noise(known.sigma, known.bounds))


def describe_noise(sigma: float | None, bounds: tuple[float, float] | None = None) -> str:
    """What a confidence set assumes of noise and rows."""
    if sigma is None:
        return "noise is Gaussian, and rows do not depend on it"
    if bounds is not None:
        return f"targets stay within [{bounds[0]:g}, {bounds[1]:g}]; rows may depend on those before"
    return f"noise is σ-sub-Gaussian, σ = {sigma:g}; rows may depend on those before"


def describe_coefficient_intervals(
    method: Literal["anytime", "uniform"],
    delta: float,
    *,
    sigma: float | None = None,
    bounds: tuple[float, float] | None = None,
    simultaneous: bool = False,
    robust: bool = False,
    binary: bool = False,
) -> str:
    """What holds of intervals for coefficients."""
    share = f"with probability {1 - delta:g}"
    if method == "uniform":
        return f"All intervals hold at every row at once {share}, if {LINEAR} and {describe_noise(sigma, bounds)}."
    which = "All intervals hold" if simultaneous else "Each interval holds"
    if robust:
        return (
            f"{which} at every row at once {share}, about, once rows are many (asymptotic), if {LINEAR} and rows do "
            "not depend on the noise, which may be of any kind."
        )
    said = (
        f"{which} at every row at once {share}, if {LINEAR}, noise is Gaussian, of one variance, and rows do not "
        "depend on it."
    )
    if binary:
        said += " Targets are 0 or 1: it holds nearly, not exactly, and less so where few rows are treated."
    return said


def noise_bound(state: Information, sigma: float | None) -> float | None:
    """σ for a confidence set: the one that is given; else ½ where all targets are 0 or 1, which are not Gaussian.

    Rows must have weight 1 for that, as Σ w = n tells: a set takes a row of weight w for one whose noise is √w times
    smaller, which that of a bounded target is not.
    """
    if sigma is not None or not has_binary_targets(state):
        return sigma
    return 0.5 if abs(state.D[0] - state.lam[0] - state.counted) <= 1e-9 * state.D[0] else None


def has_binary_targets(state: Information) -> bool:
    """Whether all targets that were learned are 0 or 1, as a state with a constant and one target tells.

    Then Σ w y² = Σ w y, and else only by an unlikely accident: y² − y is more than 0 outside of [0, 1], less inside.
    """
    if not (state.intercept and state.counted and state.D[0] > 0) or state.prior.any():
        return False
    first = float(state.D[0] * state.c[0, 0])  # Σ w y, the first of UᵀDc
    with np.errstate(over="ignore"):  # then they are neither 0 nor 1
        squares = float(state.loss[0] + state.D @ state.c[:, 0] ** 2)
    return first > 0 and abs(squares - first) <= 1e-9 * squares
