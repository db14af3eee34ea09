"""What Python calls of the compiled loops: each takes a learner's whole state as one buffer, and rows.

A call from Python costs as much as what it does, and more for each array that it is given: so there is one, and names
are looked up inside.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from onward.core import deficient, tiles
from onward.core.compile import compiled, inlined
from onward.core.factor import (
    ORDINARY,
    Factor,
    absorb_row,
    aligned,
    count_row,
    factor_size,
    is_ordinary,
    new_scratch,
    read_row,
    view_factor,
)
from onward.core.plain import close
from onward.core.simd import fma
from onward.core.types import Matrix, Records, Vector
from onward.core.views import as_matrix, part, records_of

COMPILED_FROM = "ede1d6595ef595a9"  # other files whose code is compiled into this one: see tools/digests.py

STATE = np.dtype(
    [
        ("intercept", "f8"),  # 1 if coordinate 0 is a constant 1, which the rows that are given then lack
        ("coordinates", "f8"),  # d
        ("targets", "f8"),  # m
        ("has_prior", "f8"),  # 0 while the prior mean is 0 everywhere
    ]
)
N_STATE = 4
_as_header = records_of(STATE)


class State(NamedTuple):
    """Views of a learner's buffer."""

    header: Records
    lam: Vector  # (d,): λ of each coordinate
    online_loss: Vector  # (m,): Σ w (ŷ − y)²
    prior: Matrix  # (d, m): the mean to start from; the factor learns what is left of the targets
    factor: Factor


@compiled
def state_size(d: int, m: int) -> int:
    """Numbers in the buffer of a state."""
    return aligned(N_STATE + d + m + d * m) + factor_size(d, m)


@inlined
def view_state(buffer: Vector) -> State:
    """The state in a buffer. The only place that knows where things are."""
    header = _as_header(part(buffer, 0, N_STATE))
    d, m = int(header[0].coordinates), int(header[0].targets)
    online_loss = N_STATE + d
    prior = online_loss + m
    return State(
        header,
        part(buffer, N_STATE, online_loss),
        part(buffer, online_loss, prior),
        as_matrix(part(buffer, prior, prior + d * m), d, m),
        view_factor(buffer, aligned(prior + d * m), d, m),
    )


@compiled
def absorb(buffer: Vector, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector) -> int:
    """Absorb rows: see `tiles.absorb_rows`. The prior's part of Y is taken away already."""
    state = view_state(buffer)
    return tiles.absorb_rows(state.factor, X, Y, w, state.header[0].intercept != 0.0, p, q)


@compiled
def absorb_coordinates(buffer: Vector, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector) -> int:
    """Absorb rows over all coordinates, the constant included; they are no observations, so none is counted."""
    factor = view_state(buffer).factor
    counts = factor.counts.copy()
    taken = tiles.absorb_rows(factor, X, Y, w, False, p, q)
    factor.counts[:] = counts
    return taken


@compiled
def absorb_factor(buffer: Vector, X: Matrix, E: Matrix, Y: Matrix, w: Vector) -> int:
    """Absorb another factor's rows into one with empty pivots: see `deficient.absorb_factor`."""
    return deficient.absorb_factor(view_state(buffer).factor, X, E, Y, w)


@compiled
def read(buffer: Vector, X: Matrix, p: Matrix, q: Vector) -> None:
    """What is known of each row of X, as `absorb` would say. Overwrites p and q."""
    state = view_state(buffer)
    tiles.read_rows(state.factor, X, state.header[0].intercept != 0.0, p, q)


@compiled
def read_coordinates(buffer: Vector, X: Matrix, p: Matrix, q: Vector) -> None:
    """`read` of rows over all coordinates, the constant included."""
    tiles.read_rows(view_state(buffer).factor, X, False, p, q)


@compiled
def ordinary(buffer: Vector) -> bool:
    """Whether the factor is full and far from the ends of the floating-point range."""
    return is_ordinary(view_state(buffer).factor)


# One row: the same arithmetic in the same order as for many


@inlined
def _predict(buffer: Vector, x: Vector, w: float, shrinks: bool, clip: float) -> float:
    """The prediction of one row with one target; NaN if it is not finite or if only the guarded way will do."""
    state = view_state(buffer)
    if not _fits(state, x):
        return math.nan
    scratch, base, square = _loaded(state, x)
    if not (square < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return math.nan
    p, q = read_row(state.factor, scratch, scratch)
    prediction = _read_out(base, p, q, w, shrinks, clip)
    return prediction if math.isfinite(prediction) else math.nan


@inlined
def _learn(buffer: Vector, x: Vector, y: float, w: float, shrinks: bool, clip: float) -> bool:
    """Absorb a row with one target, and add the loss of its prediction to the online loss; whether it was taken.

    A row that is not taken changes nothing: it holds a value that is not finite, or numbers so large or small, in the
    row or in the factor, that only the guarded way will do. All that changes changes here, so that an interrupt comes
    before or after it.
    """
    state = view_state(buffer)
    if not _fits(state, x):
        return False
    scratch, base, square = _loaded(state, x)
    left = y - base
    if not (fma(left, left, square) < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return False
    p, q = absorb_row(state.factor, scratch, left, w, 0, True, scratch)
    count_row(state.factor, w, square)
    error = _read_out(base, p, q, w, shrinks, clip) - y
    state.online_loss[0] += w * (error * error)
    return True


@inlined
def _fits(state: State, x: Vector) -> bool:
    """Whether the row has as many values as the state has features, and there is one target."""
    d, m = state.factor.c.shape
    return bool(x.shape[0] + int(state.header[0].intercept) == d and m == 1)


@compiled
def predict_one(buffer: Vector, x: Vector, w: float, shrinks: bool, clip: float) -> float:
    """The prediction of one row of weight w, with one target; NaN if only the guarded way will do."""
    return _predict(buffer, x, w, shrinks, clip)


@compiled
def learn_one(buffer: Vector, x: Vector, y: float, w: float, shrinks: bool, clip: float) -> bool:
    """Learn one row of weight w, with one target; False, and nothing changed, if only the guarded way will do."""
    return _learn(buffer, x, y, w, shrinks, clip)


# The same for weight 1 and no clipping: from Python a call costs more the more it is given


@compiled
def predict_forward(buffer: Vector, x: Vector) -> float:
    """`predict_one` of forward."""
    return _predict(buffer, x, 1.0, True, np.inf)


@compiled
def learn_forward(buffer: Vector, x: Vector, y: float) -> bool:
    """`learn_one` of forward."""
    return _learn(buffer, x, y, 1.0, True, np.inf)


@compiled
def predict_ridge(buffer: Vector, x: Vector) -> float:
    """`predict_one` of ridge."""
    return _predict(buffer, x, 1.0, False, np.inf)


@compiled
def learn_ridge(buffer: Vector, x: Vector, y: float) -> bool:
    """`learn_one` of ridge."""
    return _learn(buffer, x, y, 1.0, False, np.inf)


@inlined
def _predict_targets(buffer: Vector, x: Vector, w: float, shrinks: bool, clip: float) -> Vector:
    """`_predict` for several targets; the first is NaN if one is not finite or if only the guarded way will do."""
    state = view_state(buffer)
    d, m = state.factor.c.shape
    out, more = np.empty(m), np.zeros((2, m))
    out[0] = math.nan
    if x.shape[0] + int(state.header[0].intercept) != d:
        return out
    scratch, _, square = _loaded(state, x)
    if not (square < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return out
    p, q = read_row(state.factor, scratch, more)
    more[0, 0] = p
    for h in range(m):
        out[h] = _read_out(_base(state, x, h), more[0, h], q, w, shrinks, clip)
    if not np.isfinite(out).all():
        out[0] = math.nan
    return out


@inlined
def _learn_targets(buffer: Vector, x: Vector, y: Vector, w: float, shrinks: bool, clip: float) -> bool:
    """`_learn` for several targets."""
    state = view_state(buffer)
    d, m = state.factor.c.shape
    if x.shape[0] + int(state.header[0].intercept) != d or y.shape[0] != m:
        return False
    more, bases = np.zeros((2, m)), np.empty(m)
    scratch, _, square = _loaded(state, x)
    largest = square
    for h in range(m):
        bases[h] = _base(state, x, h)
        more[1, h] = y[h] - bases[h]
        largest = fma(more[1, h], more[1, h], largest)
    if not (largest < ORDINARY * ORDINARY and 0.0 <= w < ORDINARY and is_ordinary(state.factor)):
        return False
    more[0, 0], q = absorb_row(state.factor, scratch, more[1, 0], w, 0, True, more)
    count_row(state.factor, w, square)
    for h in range(m):
        error = _read_out(bases[h], more[0, h], q, w, shrinks, clip) - y[h]
        state.online_loss[h] += w * (error * error)
    return True


@compiled
def predict_targets(buffer: Vector, x: Vector, w: float, shrinks: bool, clip: float) -> Vector:
    """`predict_one` for several targets: the first is NaN if only the guarded way will do."""
    return _predict_targets(buffer, x, w, shrinks, clip)


@compiled
def learn_targets(buffer: Vector, x: Vector, y: Vector, w: float, shrinks: bool, clip: float) -> bool:
    """`learn_one` for several targets."""
    return _learn_targets(buffer, x, y, w, shrinks, clip)


@compiled
def predict_forward_targets(buffer: Vector, x: Vector) -> Vector:
    """`predict_targets` of forward."""
    return _predict_targets(buffer, x, 1.0, True, np.inf)


@compiled
def learn_forward_targets(buffer: Vector, x: Vector, y: Vector) -> bool:
    """`learn_targets` of forward."""
    return _learn_targets(buffer, x, y, 1.0, True, np.inf)


@compiled
def predict_ridge_targets(buffer: Vector, x: Vector) -> Vector:
    """`predict_targets` of ridge."""
    return _predict_targets(buffer, x, 1.0, False, np.inf)


@compiled
def learn_ridge_targets(buffer: Vector, x: Vector, y: Vector) -> bool:
    """`learn_targets` of ridge."""
    return _learn_targets(buffer, x, y, 1.0, False, np.inf)


_PLAIN_LOOPS: dict[tuple[str, bool], tuple[Callable[..., Any], Callable[..., Any]]] = {
    ("forward", True): (predict_forward, learn_forward),
    ("ridge", True): (predict_ridge, learn_ridge),
    ("forward", False): (predict_forward_targets, learn_forward_targets),
    ("ridge", False): (predict_ridge_targets, learn_ridge_targets),
}


@cache
def plain_loops(kind: Literal["forward", "ridge"], single: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The loops that predict and learn plain rows of weight 1, with one target or several. They take nothing else."""
    predict, learn = _PLAIN_LOOPS[kind, single]
    buffer, x = np.zeros(state_size(1, 2)), np.zeros(2)  # for rows of one value: these two are refused
    buffer[:N_STATE].view(STATE)["coordinates"], buffer[:N_STATE].view(STATE)["targets"] = 1, 2
    close(predict, buffer, x)
    close(learn, buffer, x, 0.0 if single else np.zeros(2))
    return predict, learn


@inlined
def _loaded(state: State, x: Vector) -> tuple[Matrix, float, float]:
    """A row behind its constant, in scratch; the prior's part of the first target; and ‖x‖²."""
    d = state.factor.D.shape[0]
    scratch, square, lead = new_scratch(d), 0.0, d - x.shape[0]
    if lead > 0:
        scratch[0, 0] = 1.0
        square = 1.0
    for j in range(x.shape[0]):
        scratch[0, j + lead] = x[j]
        square = fma(x[j], x[j], square)
    return scratch, _base(state, x, 0), square


@inlined
def _base(state: State, x: Vector, target: int) -> float:
    """The prior's part of a prediction, as `multiply` has it."""
    if state.header[0].has_prior == 0.0:
        return 0.0
    lead = state.factor.D.shape[0] - x.shape[0]
    base = state.prior[0, target] if lead > 0 else 0.0
    for j in range(x.shape[0]):
        base = fma(x[j], state.prior[j + lead, target], base)
    return base


@inlined
def _read_out(base: float, p: float, q: float, w: float, shrinks: bool, clip: float) -> float:
    """Forward's prediction, base + p / (1 + wq), or ridge's, base + p within ±clip."""
    return base + p / (1.0 + w * q) if shrinks else min(max(base + p, -clip), clip)


# What a prior mean and the online loss need. Row by row and in order, so that batches make no difference.


@compiled
def multiply(X: Matrix, intercept: bool, theta: Matrix) -> Matrix:
    """xᵀθ for each row of X and each column of θ: the same bits for a row, whatever rows stand beside it."""
    out = np.empty((X.shape[0], theta.shape[1]))
    lead = 1 if intercept else 0
    for i in range(X.shape[0]):
        for h in range(theta.shape[1]):
            out[i, h] = theta[0, h] if intercept else 0.0
        for j in range(X.shape[1]):
            x = X[i, j]
            for h in range(theta.shape[1]):
                out[i, h] = fma(x, theta[j + lead, h], out[i, h])
    return out


@compiled
def shrink(p: Matrix, q: Vector, w: Vector) -> Matrix:
    """The forward read-out p / (1 + wq). Where q is infinite p is 0, and so is the read-out, even if w is 0."""
    out = np.empty_like(p)
    if p.shape[1] == 1:  # the same, in vectors
        flat_p, flat_out = p.reshape(p.size), out.reshape(p.size)
        for i in range(p.size):
            value = flat_p[i] / (1.0 + w[i] * q[i])
            flat_out[i] = value if q[i] != np.inf else 0.0
    else:
        for i in range(p.shape[0]):
            for h in range(p.shape[1]):
                out[i, h] = p[i, h] / (1.0 + w[i] * q[i]) if q[i] != np.inf else 0.0
    return out


@compiled
def add_squared_errors(predictions: Matrix, Y: Matrix, w: Vector, total: Vector) -> None:
    """Add Σ w (ŷ − y)² to `total`, for each target."""
    for h in range(Y.shape[1]):
        t = total[h]
        for i in range(Y.shape[0]):
            error = predictions[i, h] - Y[i, h]
            t += w[i] * (error * error)
        total[h] = t
