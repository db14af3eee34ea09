"""Those that a comparison lets run beside each other, learned and scored in loops that let other threads run."""

import numpy as np

from onward.core import Information
from onward.core.compile import unlocked
from onward.core.ensemble_rows import learn_ensemble
from onward.core.kernel import absorb, constant_pivot, read_out_rows
from onward.core.types import Matrix, Vector
from onward.progressive.running_scores import count, new_totals
from onward.regression import AutoRegressor

COMPILED_FROM = "500ba1e288dbc685"  # other files whose code is compiled into this one: see tools/digests.py


@unlocked
def learn_and_score(
    buffer: Vector, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector, ridge: Vector, forward: Vector
) -> int:
    """`absorb`, and the losses of both read-outs added to their totals. Returns how many rows were absorbed."""
    constant = constant_pivot(buffer)
    taken = absorb(buffer, X, Y, w, p, q)
    for i in range(taken):
        count(p[i, 0], Y[i, 0], w[i], ridge)
    read_out_rows(constant, Y, np.empty((0, 0)), p[:taken], q, w, True, np.inf)
    for i in range(taken):
        count(p[i, 0], Y[i, 0], w[i], forward)
    return taken


@unlocked
def learn_ensemble_and_score(
    buffer: Vector, X: Matrix, Y: Matrix, w: Vector, p: Matrix, q: Vector, totals: Vector
) -> None:
    """`learn_ensemble`, and the losses added to the totals."""
    learn_ensemble(buffer, X, Y, w, p, q)
    for i in range(Y.shape[0]):
        count(p[i, 0], Y[i, 0], w[i], totals)


class AutoContender:
    """`AutoRegressor` at its defaults: a state, and its totals. `failed` is as in `Contender`."""

    def __init__(self) -> None:
        self.totals = new_totals()
        self.failed: int | None = None
        self.state = AutoRegressor().new_ensemble(0, 1)

    def learn(self, X: Matrix, y: Vector, w: Vector, first: int) -> None:
        """Learn rows; features beyond those known are new. `first` is the first row's number."""
        if self.failed is not None:
            return
        if X.shape[1] > self.state.n_features:
            self.state.grow(X.shape[1] - self.state.n_features)
        p, q = np.empty((len(X), 1)), np.empty(len(X))
        learn_ensemble_and_score(self.state.buffer, X, y.reshape(-1, 1), w, p, q, self.totals)
        if not np.isfinite(self.totals).all():
            self.failed = first


class Contender:
    """One λ: a state, and the totals of ridge and of forward, which read it each in its own way.

    `failed` says at which row of the stream numbers were no longer enough, and None while they are.
    """

    def __init__(self, lam: float, intercept: bool, own_units: bool = False) -> None:
        self.lam = lam
        self.ridge, self.forward = new_totals(), new_totals()
        self.failed: int | None = None
        self._state = Information(0, 1, 0.0, intercept, own_units=own_units)  # the constant is not regularised

    def learn(self, X: Matrix, y: Vector, w: Vector, first: int) -> None:
        """Learn rows; features beyond those known are new. `first` is the first row's number."""
        if self.failed is not None:
            return
        state = self._state
        if X.shape[1] > state.n_features:
            state.grow(X.shape[1] - state.n_features, self.lam)
        p, q = np.empty((len(X), 1)), np.empty(len(X))
        taken = learn_and_score(state.buffer, X, y.reshape(-1, 1), w, p, q, self.ridge, self.forward)
        if taken < len(X) or not (np.isfinite(self.ridge).all() and np.isfinite(self.forward).all()):
            self.failed = first + max(0, taken - 1)
