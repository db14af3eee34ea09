"""One row at a time: the same arithmetic in the same order as for many, in calls from Python that cost little.

A row that such a loop does not take is refused (NaN or False) and changes nothing: its caller looks at it closely.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from onward.core.calibration import learn_error
from onward.core.compile import compiled, inlined
from onward.core.factor import ORDINARY, absorb_row, count_row, is_ordinary, new_scratch, read_row
from onward.core.fast_path import close
from onward.core.forgetting import EVERYTHING, REFUSED, ahead, learn_single, may_come
from onward.core.kernel import (
    N_STATE,
    STATE,
    State,
    centred_leverage,
    read_out,
    shrinks_to_mean,
    state_size,
    view_state,
)
from onward.core.simd import fma
from onward.core.types import Matrix, Vector

COMPILED_FROM = "a2616e55355dd7ce"  # other files whose code is compiled into this one: see tools/digests.py

Row: TypeAlias = Vector | tuple[float, ...]
Loops: TypeAlias = tuple[Callable[..., Any], Callable[..., Any]]
"""(buffer, x) → prediction, and (buffer, x, y) → whether the row was learned: for weight 1, no time and no clipping."""


@inlined
def _predict(buffer: Vector, x: Row, w: float, shrinks: bool, clip: float) -> float:
    """The prediction of one row with one target; NaN if it is not finite or if only the guarded way will do.

    The buffer is that of the state as the row finds it.
    """
    state = view_state(buffer)
    if not _fits(state, x):
        return math.nan
    scratch, base, square = _loaded(state, x)
    if not (square < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return math.nan
    if _varies_first(state, x):
        return math.nan
    p, q = read_row(state.factor, scratch, scratch)
    mean, weight = _constant(state, 0, shrinks)
    prediction = read_out(base, mean, p, centred_leverage(q, weight), w, shrinks, clip)
    return prediction if math.isfinite(prediction) else math.nan


@inlined
def _learn(
    buffer: Vector, x: Row, y: float, w: float, time: float, shrinks: bool, clip: float
) -> tuple[bool, float, float]:
    """Absorb a row with one target, and add the loss of its prediction to the online loss.

    Whether it was taken; and its prediction and leverage from before.

    A row that is not taken changes nothing: it holds a value that is not finite, or numbers so large or small, in the
    row or in the factor, that only the guarded way will do. All that changes changes here, so that an interrupt comes
    before or after it.
    """
    state = view_state(buffer)
    if not _fits(state, x):
        return False, math.nan, math.nan
    scratch, base, square = _loaded(state, x)
    left = y - base
    if not (fma(left, left, square) < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return False, math.nan, math.nan
    if _changes_lam(state, x):
        return False, math.nan, math.nan
    if state.header[0].memory != EVERYTHING or time == time:
        return _learn_forgetting(buffer, scratch, y, base, w, time, square, shrinks, clip)
    mean, weight = _constant(state, 0, shrinks)
    p, q = absorb_row(state.factor, scratch, left, w, 0, True, scratch)
    count_row(state.factor, w, square)
    prediction = read_out(base, mean, p, centred_leverage(q, weight), w, shrinks, clip)
    error = prediction - y
    state.online_loss[0] += w * (error * error)
    return True, prediction, q


@inlined
def _fits(state: State, x: Row) -> bool:
    """Whether the row has as many values as the state has features, and there is one target."""
    d, m = state.factor.c.shape
    return bool(len(x) + int(state.header[0].intercept) == d and m == 1)


@compiled
def _learn_forgetting(
    buffer: Vector,
    scratch: Matrix,
    y: float,
    base: float,
    w: float,
    time: float,
    square: float,
    shrinks: bool,
    clip: float,
) -> tuple[bool, float, float]:
    """`_learn` for a state that forgets, from where the row is in scratch."""
    targets, bases, p = np.empty(1), np.empty(1), np.empty(1)
    targets[0], bases[0] = y, base
    q = learn_single(buffer, scratch, targets, bases, w, time, square, shrinks, clip, p)
    return q != REFUSED, float(p[0]), q


@compiled
def predict_one(buffer: Vector, x: Row, w: float, time: float, shrinks: bool, clip: float) -> float:
    """The prediction of one row of weight w, with one target; NaN if only the guarded way will do.

    `time` is NaN where rows have none, or for the time of the latest.
    """
    if not may_come(view_state(buffer), time):
        return math.nan
    return _predict(ahead(buffer, time), x, w, shrinks, clip)


@compiled
def learn_one(buffer: Vector, x: Row, y: float, w: float, time: float, shrinks: bool, clip: float) -> bool:
    """Learn one row of weight w, with one target; False, and nothing changed, if only the guarded way will do."""
    return _learn(buffer, x, y, w, time, shrinks, clip)[0]


@compiled
def learn_one_tracked(
    buffer: Vector, calibration: Vector, x: Row, y: float, w: float, time: float, shrinks: bool, clip: float
) -> bool:
    """`learn_one`, and let a calibration learn how far the target was from its prediction."""
    taken, prediction, q = _learn(buffer, x, y, w, time, shrinks, clip)
    if taken:
        learn_error(calibration, prediction, q, y, w)
    return taken


@inlined
def _predict_targets(buffer: Vector, x: Row, w: float, shrinks: bool, clip: float) -> Vector:
    """`_predict` for several targets; the first is NaN if one is not finite or if only the guarded way will do."""
    state = view_state(buffer)
    d, m = state.factor.c.shape
    out, more = np.empty(m), np.zeros((2, m))
    out[0] = math.nan
    if len(x) + int(state.header[0].intercept) != d:
        return out
    scratch, _, square = _loaded(state, x)
    if not (square < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return out
    if _varies_first(state, x):
        return out
    p, q = read_row(state.factor, scratch, more)
    more[0, 0] = p
    for h in range(m):
        mean, weight = _constant(state, h, shrinks)
        out[h] = read_out(_base(state, x, h), mean, more[0, h], centred_leverage(q, weight), w, shrinks, clip)
    if not np.isfinite(out).all():
        out[0] = math.nan
    return out


@inlined
def _learn_targets(buffer: Vector, x: Row, y: Vector, w: float, time: float, shrinks: bool, clip: float) -> bool:
    """`_learn` for several targets."""
    state = view_state(buffer)
    d, m = state.factor.c.shape
    if len(x) + int(state.header[0].intercept) != d or y.shape[0] != m:
        return False
    more, bases, means = np.zeros((2, m)), np.empty(m), np.empty(m)
    scratch, _, square = _loaded(state, x)
    largest = square
    for h in range(m):
        bases[h] = _base(state, x, h)
        more[1, h] = y[h] - bases[h]
        largest = fma(more[1, h], more[1, h], largest)
    if not (largest < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return False
    if _changes_lam(state, x):
        return False
    if state.header[0].memory != EVERYTHING or time == time:
        return learn_single(buffer, scratch, y, bases, w, time, square, shrinks, clip, means) != REFUSED
    weight = np.inf
    for h in range(m):
        means[h], weight = _constant(state, h, shrinks)
    more[0, 0], q = absorb_row(state.factor, scratch, more[1, 0], w, 0, True, more)
    count_row(state.factor, w, square)
    for h in range(m):
        error = read_out(bases[h], means[h], more[0, h], centred_leverage(q, weight), w, shrinks, clip) - y[h]
        state.online_loss[h] += w * (error * error)
    return True


@compiled
def predict_targets(buffer: Vector, x: Row, w: float, time: float, shrinks: bool, clip: float) -> Vector:
    """`predict_one` for several targets: the first is NaN if only the guarded way will do."""
    if not may_come(view_state(buffer), time):
        return np.full(1, math.nan)
    return _predict_targets(ahead(buffer, time), x, w, shrinks, clip)


@compiled
def learn_targets(buffer: Vector, x: Row, y: Vector, w: float, time: float, shrinks: bool, clip: float) -> bool:
    """`learn_one` for several targets."""
    return _learn_targets(buffer, x, y, w, time, shrinks, clip)


# The same for weight 1, no time and no clipping: from Python a call costs more the more it is given


@cache
def closed_buffer() -> Vector:
    """A buffer of no coordinates and three targets: every row is refused."""
    buffer = np.zeros(state_size(0, 3, False, 0))
    buffer[:N_STATE].view(STATE)["targets"] = 3
    return buffer


@cache
def row_loops(shrinks: bool, single: bool, count: int | None = None) -> Loops:
    """The loops of forward (`shrinks`) or ridge, with one target or several, closed.

    Rows come in arrays or, if `count` is given, in tuples of so many numbers: for few, quicker than to make an array.
    """

    @compiled
    def predict(buffer: Vector, x: Row) -> float:
        return _predict(ahead(buffer, np.nan), x, 1.0, shrinks, np.inf)

    @compiled
    def learn(buffer: Vector, x: Row, y: float) -> bool:
        return _learn(buffer, x, y, 1.0, np.nan, shrinks, np.inf)[0]

    @compiled
    def predict_all(buffer: Vector, x: Row) -> Vector:
        return _predict_targets(ahead(buffer, np.nan), x, 1.0, shrinks, np.inf)

    @compiled
    def learn_all(buffer: Vector, x: Row, y: Vector) -> bool:
        return _learn_targets(buffer, x, y, 1.0, np.nan, shrinks, np.inf)

    loops: Loops = (predict, learn) if single else (predict_all, learn_all)
    buffer = closed_buffer()
    row = np.zeros(1) if count is None else (0.0,) * count
    close(loops[0], buffer, row)
    close(loops[1], buffer, row, 0.0 if single else np.zeros(2))
    return loops


@inlined
def _varies_first(state: State, x: Row) -> bool:
    """Whether λ is in own units, and a feature has a second value here that has had one only."""
    if state.header[0].unvaried > 0.0:
        for j in range(len(x)):
            if state.varied[j + 1] == 0.0 and x[j] != state.factor.U[0, j + 1]:
                return True
    return False


@inlined
def _changes_lam(state: State, x: Row) -> bool:
    """Whether λ is in own units, and not the same before and after this row."""
    about = state.header[0]
    due = about.own != 0.0 and state.factor.counts[0].counted + 1.0 >= about.refresh
    return due or _varies_first(state, x)


@inlined
def _loaded(state: State, x: Row) -> tuple[Matrix, float, float]:
    """A row behind its constant, in scratch; the prior's part of the first target; and ‖x‖²."""
    d = state.factor.D.shape[0]
    scratch, square, lead = new_scratch(d), 0.0, d - len(x)
    if lead > 0:
        scratch[0, 0] = 1.0
        square = 1.0
    for j in range(len(x)):
        scratch[0, j + lead] = x[j]
        square = fma(x[j], x[j], square)
    return scratch, _base(state, x, 0), square


@inlined
def _constant(state: State, target: int, shrinks: bool) -> tuple[float, float]:
    """The mean that forward shrinks to, and Σw; 0 and inf, so that the constant has no leverage, if it shrinks to 0."""
    if shrinks and shrinks_to_mean(state):
        return state.factor.c[0, target], state.factor.D[0]
    return 0.0, np.inf


@inlined
def _base(state: State, x: Row, target: int) -> float:
    """The prior's part of a prediction, as `multiply` has it."""
    if state.header[0].has_prior == 0.0:
        return 0.0
    lead = state.factor.D.shape[0] - len(x)
    base = state.prior[0, target] if lead > 0 else 0.0
    for j in range(len(x)):
        base = fma(x[j], state.prior[j + lead, target], base)
    return base
