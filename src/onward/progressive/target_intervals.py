"""Intervals for the targets of the next rows, each by one method: see `onward.core.known.Method`."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from onward.confidence import (
    DELTAS,
    AnySet,
    ConformalIntervals,
    TIntervals,
    confidence_sets,
    interval_of_each,
    observation_reach,
)
from onward.confidence.assumptions import noise_bound
from onward.core.known import METHODS, Known, Method
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from onward.tables import Block


class Reader(Protocol):
    """What gives rows that are not learned their intervals."""

    def read(self, block: Block, predictions: Vector, leverages: Vector) -> Matrix:
        """Lower and upper ends (δ, n, 2) of a block's rows."""


class Intervals:
    """Intervals at several δ from the state that a model had a few rows ago: by sets of coefficients, or by the t law.

    A set holds at all rounds at once, and a t interval for whatever row comes later. So those of an earlier round serve
    every later row as well, if a little wider than its own would be; to make them for every row would cost O(d³) each.
    Of sets, half of each δ goes to the mean, half to the noise.

    Attributes:
        model: the model as it was when the state was taken; None before.
    """

    def __init__(
        self,
        deltas: Sequence[float],
        known: Known,
        method: Literal["t", "uniform"] | None,
        of: Literal["observation", "mean"] = "observation",
    ) -> None:
        """At the given δ, whatever the `delta` of what is known. Without a method there are none."""
        self.deltas = list(deltas)
        self._of, self._method = of, method
        self.model: OnlineRegressor | None = None
        self._known = known
        self._sets: list[tuple[AnySet, float]] = []
        self._exact: TIntervals | None = None

    def refresh(self, model: OnlineRegressor) -> None:
        """Take the state anew, from what the model has learned by now. Without regularisation there are no sets."""
        self.model = model.copy()
        if self._method == "t" and model._has_sets:
            self._exact = TIntervals(model.information_)
        if self._method != "uniform" or not model.has_sets():
            return
        state = model.state_for_sets()
        sigma, bound = noise_bound(state, self._known.sigma), self._known.theta_bound
        of_mean = self._of == "mean"
        deltas = self.deltas if of_mean else [delta / 2 for delta in self.deltas]
        kind: Literal["forward", "ridge"] = "forward" if model._read_out.shrinks else "ridge"
        sets = confidence_sets(state, kind, deltas, sigma, bound)
        self._sets = [
            (region, 0.0 if of_mean else observation_reach(region, delta, sigma))
            for region, delta in zip(sets, deltas, strict=True)
        ]

    def forget(self) -> None:
        """Know nothing, as before the first `refresh`."""
        self.model, self._sets, self._exact = None, [], None

    def read(self, block: Block, predictions: Vector, leverages: Vector) -> Matrix:
        """As in `Reader`."""
        return self.ends(block.X, block.weight)

    def ends(self, X: Matrix, w: Vector) -> Matrix:
        """Lower and upper ends for rows of weight w: (δ, n, 2). Infinite before the first `refresh`."""
        out = np.empty((len(self.deltas), len(X), 2))
        out[:, :, 0], out[:, :, 1] = -np.inf, np.inf
        if self.model is None or not (self._sets or self._exact is not None):
            return out
        width = self.model.information_.n_features
        known: slice | NDArray[np.bool_] = slice(None)
        rows = X
        if X.shape[1] > width:  # of a feature that was born since, the state says nothing
            known = ~np.any(X[:, width:] != 0.0, axis=1)
            rows = np.ascontiguousarray(X[known, :width])
            if not len(rows):
                return out
        if self._exact is not None:
            for place, delta in enumerate(self.deltas):
                out[place, known] = self._exact.ends(rows, w[known], delta)
            return out
        with np.errstate(divide="ignore"):
            spread = 1.0 / np.sqrt(w[known])  # a row of weight w has noise σ/√w
        intervals = interval_of_each([region for region, _ in self._sets], rows)
        for place, (ends, (_, reach)) in enumerate(zip(intervals, self._sets, strict=True)):
            around = reach * np.where(np.isinf(spread), 0.0, spread) if reach == 0 else reach * spread
            ends[:, 0] -= around
            ends[:, 1] += around
            out[place, known] = ends
        return out


class CalibratedIntervals:
    """Intervals at one δ from the calibration that a model has."""

    def __init__(self, calibration: ConformalIntervals, delta: float) -> None:
        """ValueError if it is not calibrated for δ."""
        self._calibration, self._place = calibration, calibration.place(delta)

    def read(self, block: Block, predictions: Vector, leverages: Vector) -> Matrix:
        """As in `Reader`."""
        lower, upper = self._calibration.intervals(predictions, leverages, block.weight)
        return np.column_stack([lower[:, self._place], upper[:, self._place]])[None]


class NoIntervals:
    """Ends that are NaN, for a model that has neither sets nor a calibration."""

    def read(self, block: Block, predictions: Vector, leverages: Vector) -> Matrix:
        """As in `Reader`."""
        return np.full((1, len(predictions), 2), np.nan)


def interval_reader(
    model: OnlineRegressor, known: Known, method: Method | None, of: Literal["observation", "mean"] = "observation"
) -> tuple[Method | None, Reader]:
    """What gives rows intervals at the δ of what is known, by the method that was asked for, or chosen.

    None is `uniform` for means, and if σ is known; else `conformal` if the model is calibrated, else `t`; and none at
    all if the model has not even that.
    """
    chooses = of == "observation" and method is None and known.sigma is None
    if chooses and model.calibration_ is None and not model._has_sets:
        return None, NoIntervals()
    chosen = model._interval_method(of, method, known.sigma)
    if chosen == "conformal":
        assert model.calibration_ is not None
        return chosen, CalibratedIntervals(model.calibration_, known.delta)
    made = Intervals([known.delta], known, chosen, of)
    made.refresh(model)
    return chosen, made


def calibration_of(model: OnlineRegressor, deltas: Sequence[float]) -> ConformalIntervals:
    """The model's calibration, to go on with; a new one if it has none, or not for all δ that are asked for."""
    wanted = {*DELTAS, *deltas}
    if model.calibration_ is None or not wanted <= set(model.calibration_.deltas):
        model.calibration_ = ConformalIntervals(sorted(wanted))
    return model.calibration_


def checked_method(method: object) -> Method:
    """One of the methods; ValueError if it is none."""
    for each in METHODS:
        if method == each:
            return each
    raise ValueError(f"intervals must be one of {', '.join(METHODS)}, got {method!r}")
