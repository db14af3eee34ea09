"""One row at a time into an ensemble: the loops that Python calls for every row.

A row that such a loop does not take is refused (NaN or False) and changes nothing: its caller looks at it closely.
"""

import math
from functools import cache

import numpy as np

from onward.core.calibration import learn_error
from onward.core.compile import compiled, inlined
from onward.core.ensemble import ENSEMBLE, N_ENSEMBLE, ensemble_size, view_ensemble
from onward.core.ensemble_rows import learn_ensemble, read_ensemble
from onward.core.factor import ORDINARY
from onward.core.fast_path import close
from onward.core.single import Loops
from onward.core.types import Matrix, Vector
from onward.core.views import as_matrix

COMPILED_FROM = "0eb74c39d8135006"  # other files whose code is compiled into this one: see tools/digests.py


@inlined
def _loaded(x: Vector) -> Matrix:
    """A row of numbers as a matrix of one row; of none, if a number is not finite or extreme."""
    X = np.empty((1, len(x)))
    for j in range(len(x)):
        value = x[j]
        if not abs(value) < ORDINARY:
            return X[:0]
        X[0, j] = value
    return X


@compiled
def ordinary_rows(X: Matrix, Y: Matrix, w: Vector) -> bool:
    """Whether no number is so large or small that learning it could overflow, among others like it."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if not abs(X[i, j]) < ORDINARY:
                return False
        for h in range(Y.shape[1]):
            if not abs(Y[i, h]) < ORDINARY:
                return False
        if not (w[i] == 0.0 or 1.0 / ORDINARY < w[i] < ORDINARY):
            return False
    return True


@compiled
def learn_row_tracked(buffer: Vector, calibration: Vector, x: Vector, y: float) -> bool:
    """Learn one row with one target, and let a calibration learn its error; False, and nothing changed, if refused."""
    ensemble, X = view_ensemble(buffer), _loaded(x)
    fits = X.shape[0] > 0 and len(x) == ensemble.scale.shape[0] and ensemble.online_loss.shape[0] == 1
    if not (fits and abs(y) < ORDINARY) or ensemble.header[0].extreme != 0.0:
        return False
    target, prediction, leverage = np.empty((1, 1)), np.empty((1, 1)), np.empty(1)
    target[0, 0] = y
    learn_ensemble(buffer, X, target, np.ones(1), prediction, leverage)
    learn_error(calibration, prediction[0, 0], leverage[0], y, 1.0)
    return True


@cache
def closed_buffer() -> Vector:
    """A buffer of no features and three targets: every row is refused."""
    buffer = np.zeros(ensemble_size(1, 3, 1, 1, 1))
    header = buffer[:N_ENSEMBLE].view(ENSEMBLE)
    header["coordinates"], header["targets"], header["lams"], header["memories"], header["means"] = 1, 3, 1, 1, 1
    return buffer


@cache
def ensemble_loops(single: bool) -> Loops:
    """The loops for rows of weight 1, with one target or several, closed: see `core.single.row_loops`.

    For tuples there are none: to compile all of an ensemble for each number of names would take long, and to make them
    arrays first is a step more, in which another thread may put another buffer in the place of this one.
    """

    @compiled
    def predict(buffer: Vector, x: Vector) -> float:
        ensemble, X = view_ensemble(buffer), _loaded(x)
        if X.shape[0] == 0 or len(x) != ensemble.scale.shape[0] or ensemble.online_loss.shape[0] != 1:
            return math.nan
        out = np.empty((1, 1))
        read_ensemble(buffer, X, np.ones(1), out, np.empty(1))
        return float(out[0, 0])

    @compiled
    def learn(buffer: Vector, x: Vector, y: float) -> bool:
        ensemble, X = view_ensemble(buffer), _loaded(x)
        if X.shape[0] == 0 or len(x) != ensemble.scale.shape[0] or ensemble.online_loss.shape[0] != 1:
            return False
        if not abs(y) < ORDINARY or ensemble.header[0].extreme != 0.0:
            return False
        target = np.empty((1, 1))
        target[0, 0] = y
        learn_ensemble(buffer, X, target, np.ones(1), np.empty((1, 1)), np.empty(1))
        return True

    @compiled
    def predict_all(buffer: Vector, x: Vector) -> Vector:
        ensemble, X = view_ensemble(buffer), _loaded(x)
        m = ensemble.online_loss.shape[0]
        out = np.empty(m)
        if X.shape[0] == 0 or len(x) != ensemble.scale.shape[0]:
            out[0] = math.nan
            return out
        read_ensemble(buffer, X, np.ones(1), as_matrix(out, 1, m), np.empty(1))
        for h in range(m):
            if not math.isfinite(out[h]):
                out[0] = math.nan
        return out

    @compiled
    def learn_all(buffer: Vector, x: Vector, y: Vector) -> bool:
        ensemble, X = view_ensemble(buffer), _loaded(x)
        m = ensemble.online_loss.shape[0]
        if X.shape[0] == 0 or len(x) != ensemble.scale.shape[0] or y.shape[0] != m:
            return False
        if ensemble.header[0].extreme != 0.0:
            return False
        target = np.empty((1, m))
        for h in range(m):
            if not abs(y[h]) < ORDINARY:
                return False
            target[0, h] = y[h]
        learn_ensemble(buffer, X, target, np.ones(1), np.empty((1, m)), np.empty(1))
        return True

    loops: Loops = (predict, learn) if single else (predict_all, learn_all)
    buffer = closed_buffer()
    close(loops[0], buffer, np.zeros(1))
    close(loops[1], buffer, np.zeros(1), 0.0 if single else np.zeros(2))
    return loops
