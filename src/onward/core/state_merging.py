"""States of rows that are apart are added up: their factors are sums, in which λ counts once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onward.core import forgetting, kernel
from onward.core.lam_words import described
from onward.core.row_memory import forgets_between
from onward.core.too_extreme import TooExtremeError
from onward.core.types import Matrix, Vector

if TYPE_CHECKING:
    from onward.core.state import Information

_SLACK = 1e-6  # of shares that are 1/2 at least
# Rounding turns a column by some ε. What it makes up along a direction that only λ knows goes with the square of that
# over the sine: 1e-13 of the targets, at most, at a sine of 3e-10, so that 1e-10 or less is left here.
_LEAST_SINE = 2e-11
# Before they are merged, states of few rows have pivots of λ alone, and rightly so. But rows whose sizes are further
# apart leave rounding of one another in the triangle.
_LEAST_SINE_APART = 1e-20


def merge_states(state: "Information", other: "Information", places: Sequence[int] | None = None) -> None:
    """`Information.merge`: the state itself takes over what the other knows."""
    d = len(state.D)
    if state.own_units or other.own_units:
        raise ValueError("cannot merge states whose λ is in own units: each depends on the rows that it has seen")
    places = range(len(other.D)) if places is None else places
    fits = len(places) == len(other.D) and all(0 <= place < d for place in places)
    mine, theirs = (state.n_targets, state.intercept), (other.n_targets, other.intercept)
    given = other.lam.any()
    if not fits or mine != theirs or (given and not np.array_equal(state.lam[list(places)], other.lam)):
        raise ValueError(
            f"cannot merge states: expected lam, targets, intercept {(described(state.lam), *mine)} on at most {d} "
            f"coordinates, got {(described(other.lam), *theirs)} on {len(other.D)}"
        )
    left = forgets_between(state, other)
    if given:
        _check_sine(state, _LEAST_SINE_APART)
        _check_sine(other, _LEAST_SINE_APART)
    embedding = np.zeros((len(places), d))
    embedding[np.arange(len(places)), places] = 1.0
    before = state.buffer.copy()
    try:
        if left < 1.0:
            forgetting.forget(state.buffer, left)
        scale, weights = _near_one(other.D)
        rows, targets = scale * (other.triangle() @ embedding), scale * other.c
        if not state.D.all():
            # Sizes below the diagonal of U: what is rounding in the other factor must not pass for data here.
            sizes = scale * ((np.tril(other.U[:, : len(other.D)], -1).T + np.eye(len(other.D))) @ embedding)
            taken = kernel.absorb_factor(state.buffer, rows, sizes, targets, weights)
            if taken < len(rows) or not state.holds(state.c, state.D):
                raise TooExtremeError(
                    "cannot merge states: their values are too far apart for double precision; rescale"
                )
        else:
            state.absorb_coordinates(rows, targets, weights)
        with np.errstate(over="ignore"):
            state.loss[:] += other.loss
        if given:
            _take_out_lam(state, embedding, other.lam)
            _check_sine(state, _LEAST_SINE)
        elif state.lam.any():
            _check_outweighed(state)
        with np.errstate(over="ignore"):
            sums = [state.loss, state.online_loss + other.online_loss, state.header["weight"] + other.header["weight"]]
        if not all(np.isfinite(each).all() for each in sums):
            raise TooExtremeError("cannot merge states: their losses add up to more than double precision can hold")
    except BaseException:
        state.buffer[:] = before
        raise
    counts, theirs_counted = state.factor.counts, other.factor.counts
    for name in ("seen", "counted"):
        counts[name] += theirs_counted[name]
    counts["peak"] = max(state.peak, other.peak)
    state.online_loss += other.online_loss
    state.header["weight"] += other.header["weight"]
    if other.rows and state.memory is not None:
        for name in ("time", "first_time") if np.isnan(state.header["time"][0]) else ("time",):
            state.header[name] = other.header[name]


def _check_sine(state: "Information", least: float) -> None:
    """Refuse a state along some direction of which there is rounding only, and no λ that outweighs it."""
    sine = state.least_sine()
    if not sine >= least:
        raise TooExtremeError(
            f"cannot merge states: with lam={described(state.lam)} a column differs from those before it by "
            f"{sine:.2g} of its size, expected at least {least:g}: less is rounding in double precision; "
            "rescale or leave out columns, take a larger lam, or merge parts with lam=0"
        )


def _check_outweighed(state: "Information") -> None:
    """Refuse a state with λ that took in a part without, where rounding of the part's columns outweighs λ.

    A pivot is the least of xᵀGx with x_j = 1 and 0 behind: with x = U⁻¹e_j, λ has xᵀΛx of it, and rows have the rest.
    Of columns that are alike the parts leave the pivot empty, so that λ has all of it: then there is nothing to refuse.
    Nor where all is ordinary: rows then bring columns that are alike more rounding than a small λ, and fit as well.
    """
    if kernel.ordinary(state.buffer):
        return
    suspects = np.flatnonzero(state.sines() < _LEAST_SINE)
    if not len(suspects):
        return
    with np.errstate(all="ignore"):  # a share beyond all numbers is none
        directions = np.linalg.solve(state.triangle(), np.eye(len(state.D))[:, suspects])
        of_lam = np.sum(state.lam[:, None] / state.D[suspects] * directions * directions, axis=0)
    if not (of_lam >= 0.5).all():
        raise TooExtremeError(
            f"cannot merge the part: with lam={described(state.lam)} a column differs from those before it by less "
            f"than {_LEAST_SINE:g} of its size, which is rounding in double precision, and by more than λ; rescale or "
            "leave out columns, or take a larger lam"
        )


def _take_out_lam(state: "Information", embedding: Matrix, lam: Vector) -> None:
    """Count λ once where it was brought twice: by the coordinates of `embedding` (k, d), whose λ is `lam` (k,).

    What stays is at least as much as what goes: of the information along a coordinate, and of the loss, as twice
    the regularised loss is no less than the loss with twice the λ. So it is well conditioned; and if less than half
    is left, it was rounding that was taken for λ.
    """
    with_lam, before = np.flatnonzero(lam), state.loss.copy()
    scale, weights = _near_one(lam[with_lam])
    nothing = np.zeros((len(with_lam), state.n_targets))
    q = state.absorb_coordinates(scale * embedding[with_lam], nothing, -weights)
    regularized = state.lam > 0
    with np.errstate(over="ignore"):  # a share beyond all numbers is enough
        left = [1.0 - weights * q, 0.5 * state.D[regularized] / state.lam[regularized]]
    enough = all((share >= 0.5 - _SLACK).all() for share in left)
    if not enough or (state.loss < (0.5 - _SLACK) * before).any():
        raise TooExtremeError(
            f"cannot merge states: with lam={described(state.lam)} their values are too large for double precision "
            "to tell λ from rounding; rescale the columns, or merge parts with lam=0"
        )


def _near_one(weights: Vector) -> tuple[Matrix, Vector]:
    """By which powers of two (n, 1) to multiply rows of these weights, and the weights that they have then: about 1.

    A weight's product with a pivot may be beyond double precision where neither is. Powers of two change no digit.
    """
    exponents = np.frexp(weights)[1] // 2
    return np.ldexp(1.0, exponents)[:, None], np.ldexp(weights, -2 * exponents)
