"""Intervals for the targets of the next rows, from a set of coefficients that was taken a few rows ago.

A confidence set of this kind holds at all rounds at once. So the set of an earlier round serves every later row as
well, if a little wider than its own would be; to make one for every row would cost O(d³) each.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onward.confidence import Ellipsoid, ForwardSet, QuadraticSet, confidence_sets, interval_of_each, observation_reach
from onward.core.known import Known
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor


class Intervals:
    """Intervals at several δ, for means or for observations: there, half of each δ goes to the mean, half to the noise.

    Attributes:
        model: the model as it was when the sets were taken; None before.
        region: the set of its coefficients, at the δ of what is known; None before, and without regularisation.
    """

    def __init__(
        self, deltas: Sequence[float], known: Known, of: Literal["observation", "mean"] = "observation"
    ) -> None:
        """At the given levels, whatever the `delta` of what is known: none for a model that forgets."""
        self.deltas = list(deltas)
        self._of = of
        self.model: OnlineRegressor | None = None
        self.region: Ellipsoid | ForwardSet | QuadraticSet | None = None
        self._known = known
        self._sets: list[tuple[Ellipsoid | ForwardSet | QuadraticSet, float]] = []

    def refresh(self, model: OnlineRegressor) -> None:
        """Take the sets anew, from what the model has learned by now. Without regularisation there are none."""
        if not self.deltas:
            return
        self.model = model.copy()
        if not model.has_sets():
            return
        state = model.state_for_sets()
        sigma, bound = self._known.sigma, self._known.theta_bound
        of_mean = self._of == "mean"
        deltas = self.deltas if of_mean else [delta / 2 for delta in self.deltas]
        *sets, self.region = confidence_sets(state, model._kind, [*deltas, self._known.delta], sigma, bound)
        self._sets = [
            (region, 0.0 if of_mean else observation_reach(region, delta, sigma))
            for region, delta in zip(sets, deltas, strict=True)
        ]

    def ends(self, X: Matrix, w: Vector) -> Matrix:
        """Lower and upper ends for rows of weight w: (δ, n, 2). Infinite before the first `refresh`."""
        out = np.empty((len(self.deltas), len(X), 2))
        out[:, :, 0], out[:, :, 1] = -np.inf, np.inf
        if self.model is None or not self._sets:
            return out
        width = self.model.information_.n_features
        known: slice | NDArray[np.bool_] = slice(None)
        rows = X
        if X.shape[1] > width:  # of a feature that was born since, the set says nothing
            known = ~np.any(X[:, width:] != 0.0, axis=1)
            rows = np.ascontiguousarray(X[known, :width])
            if not len(rows):
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
