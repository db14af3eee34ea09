"""What an ensemble has learned, and what its features and targets mean: `FittedState`, for many states at once."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from onward import storage
from onward.confidence import ConformalIntervals
from onward.core.ensemble_single import closed_buffer, ensemble_loops, learn_row_tracked
from onward.core.ensemble_state import EnsembleState
from onward.core.single import Loops
from onward.core.types import Matrix, Vector
from onward.regression.fitted import FittedState, NewFeatures, ReadOut
from onward.regression.half_life import NO_TIMES
from onward.regression.record_checks import check_names, names_to_record


@dataclass
class FittedEnsemble:
    """An ensemble with everything that is needed to go on from it. What it predicts is its own: a read-out is not."""

    state: EnsembleState
    names: list[Hashable] | None  # of the features, in order
    open: bool  # whether names not seen before are welcome
    flat: bool  # whether targets come without a second axis

    def __post_init__(self) -> None:
        self.columns = {name: column for column, name in enumerate(self.names or ())}

    @property
    def closed_buffer(self) -> Vector:
        """What these loops refuse everything for."""
        return closed_buffer()

    @property
    def buffer(self) -> Vector:
        """What the loops for one row take."""
        return self.state.buffer

    def learn(
        self,
        X: Matrix,
        Y: Matrix,
        w: Vector,
        squares: float,
        read_out: ReadOut,
        p: Matrix,
        q: Vector,
        times: Vector = NO_TIMES,
    ) -> None:
        """Learn rows in order; overwrites p and q with predictions and leverages as of just before each.

        Rows have no times, here and elsewhere: `times_for` sees to that.
        """
        self.state.learn(X, Y, w, p, q)

    def predict(
        self, X: Matrix, w: Vector, read_out: ReadOut, new: NewFeatures | None = None, times: Vector = NO_TIMES
    ) -> tuple[Matrix, Vector]:
        """Predictions (n, m) and leverages (n,) of rows of weights w, each as if it came next."""
        state = self.state
        if new is not None and new.X.shape[1]:
            state, X = state.copy(), np.hstack([X, new.X])
            state.grow(new.X.shape[1])
        p, q = state.read(np.ascontiguousarray(X), w)
        if not np.isfinite(p).all():
            raise ValueError(
                "a prediction overflows double precision: expected values whose squares and ratios stay between 1e-300 "
                "and 1e300; rescale the columns"
            )
        return p, q

    def leverages(self, X: Matrix) -> Vector:
        """The leverage of each row (n,), averaged over the experts by their weights; infinite before the first row.

        It is infinite, too, where the squares of a row overflow, whatever an expert weighs that says so.
        """
        leverages = self.state.read(X, np.ones(len(X)))[1]
        return np.where(np.isnan(leverages), np.inf, leverages)

    # One row, which is refused, changing nothing, where it needs a closer look

    def row_loops(self, read_out: ReadOut, count: int | None = None) -> Loops | None:
        """The loops for single rows of weight 1, in arrays; for tuples of so many numbers there are none."""
        return ensemble_loops(self.flat) if count is None else None

    def predict_row(self, x: Vector, w: float, time: float, read_out: ReadOut) -> Any:
        """The prediction of one row, a number or (m,); None if it is refused."""
        if w != 1.0 or time == time:  # a time
            return None
        prediction = ensemble_loops(self.flat)[0](self.buffer, x)
        first = prediction if self.flat else prediction[0]
        return prediction if first == first else None  # not NaN

    def learn_row(
        self,
        x: Vector,
        y: Any,
        w: float,
        time: float,
        read_out: ReadOut,
        calibration: ConformalIntervals | None = None,
    ) -> bool:
        """Learn one row with its target, a number or (m,); False if it is refused. A calibration learns its error."""
        if w != 1.0 or time == time:  # a time
            return False
        if calibration is not None:
            if not self.flat:  # as in `FittedState.learn_row`
                return False
            return learn_row_tracked(self.buffer, calibration.buffer, x, y)
        return bool(ensemble_loops(self.flat)[1](self.buffer, x, y))

    def copy(self) -> Self:
        """A copy that can be learned on without touching this one."""
        return replace(self, state=self.state.copy(), names=None if self.names is None else list(self.names))

    def grow(self, names: Sequence[Hashable], lams: Sequence[float], priors: Sequence[float]) -> None:
        """Add features that were 0 in every row so far. An ensemble has neither λ nor a prior for single features."""
        if not names:
            return
        self.state.grow(len(names))
        self.columns |= {name: len(self.columns) + i for i, name in enumerate(names)}
        self.names = list(self.columns)
        self.open = True

    # Model files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file."""
        settings = {"names": names_to_record(self.names), "open": self.open, "flat": self.flat}
        return settings, {"ensemble": self.state.buffer}

    @classmethod
    def from_record(cls, settings: dict[str, Any], arrays: storage.Arrays) -> Self:
        """What `to_record` described; ValueError or KeyError if it does not fit together."""
        state, names = EnsembleState.from_buffer(np.asarray(arrays["ensemble"])), settings["names"]
        check_names(names, state.n_features)
        if settings["flat"] and state.n_targets != 1:
            raise ValueError(f"expected one target, got {state.n_targets}")
        return cls(state, names, bool(settings["open"]), bool(settings["flat"]))


Fitted: TypeAlias = FittedState | FittedEnsemble
