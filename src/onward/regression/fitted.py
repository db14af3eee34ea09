"""What a learner has learned: the state, and what its coordinates and targets mean."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from onward import storage
from onward.confidence import ConformalIntervals
from onward.core import Information, TooExtremeError, kernel
from onward.core.forgetting import learn_rows
from onward.core.interrupts import interrupts_deferred
from onward.core.lam_words import described
from onward.core.row_memory import RowMemory, reserve, rows_from_record, rows_to_record
from onward.core.shown import brief, several
from onward.core.single import (
    Loops,
    closed_buffer,
    learn_one,
    learn_one_tracked,
    learn_targets,
    predict_one,
    predict_targets,
    row_loops,
)
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.regression.half_life import NO_TIMES
from onward.regression.record_checks import check_moments, check_names, check_pivots, check_record, names_to_record

_NO_ROWS = np.empty((0, 0))
_MOMENTS = ("first_time", "time", "weight")  # what a state that forgets keeps beside the factor


class ReadOut(NamedTuple):
    """What a learner predicts from its state."""

    shrinks: bool  # forward, which shrinks by the leverage; ridge if not
    clip: float  # the bound on ridge's predictions


class NewFeatures(NamedTuple):
    """Features of some rows that a state does not know: it would grow by them."""

    X: Matrix  # (n, features)
    lam: Sequence[float]
    prior: Sequence[float]


@dataclass
class FittedState:
    """A state with everything that is needed to go on from it: to learn rows and to predict them, many or one."""

    state: Information
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

        `squares` is the sum of the squares of X, and `times` are checked already, by `times_for`. Changes nothing of
        the state if it raises.
        """
        state = self.state
        base = state.base(X)
        left = Y - base if len(base) else Y
        if state.memory is not None:
            self._learn_forgetting(X, Y, w, state.is_ordinary(squares, left, w), times, base, read_out, p, q)
            return
        if not state.own_units and state.is_ordinary(squares, left, w):
            state.check(X, left, w, p, q)
            kernel.learn(state.buffer, X, Y, w, base, left, *read_out, p, q)
            return
        before, constant = state.buffer.copy(), kernel.constant_pivot(state.buffer)
        with interrupts_deferred():
            state.absorb(X, left, w, False, (p, q))
            kernel.read_out_rows(constant, left, base, p, q, w, *read_out)
            total = state.online_loss.copy()
            kernel.add_squared_errors(p, Y, w, total)
            if not np.isfinite(total).all():
                state.buffer[:] = before
                raise TooExtremeError(
                    "the rows cannot be learned in double precision: the squared error of a prediction is beyond "
                    "1e300; rescale the columns"
                )
            state.online_loss[:] = total

    def _learn_forgetting(
        self,
        X: Matrix,
        Y: Matrix,
        w: Vector,
        ordinary: bool,
        times: Vector,
        base: Matrix,
        read_out: ReadOut,
        p: Matrix,
        q: Vector,
    ) -> None:
        state, memory = self.state, self.state.memory
        assert memory is not None
        state.check(X, Y, w, p, q)
        reserve(state, len(X))
        if ordinary and (memory.window is None or state.regularized):  # no pivot can be empty
            learn_rows(state.buffer, X, Y, w, times, base, *read_out, p, q)
            return
        before = state.buffer.copy()
        with interrupts_deferred():
            taken = learn_rows(state.buffer, X, Y, w, times, base, *read_out, p, q)
            if taken < len(X) or not state.holds(p, q) or not np.isfinite(state.online_loss).all():
                state.buffer[:] = before
                raise TooExtremeError(
                    "the rows cannot be learned in double precision: expected values whose squares and ratios stay "
                    f"between 1e-300 and 1e300, with lam={described(state.lam)}; rescale the columns"
                )

    def predict(
        self,
        X: Matrix,
        w: Vector,
        read_out: ReadOut,
        new: NewFeatures | None = None,
        times: Vector = NO_TIMES,
    ) -> tuple[Matrix, Vector]:
        """Predictions (n, m) and leverages (n,) of rows of weights w, each as if it came next.

        Of features that the state does not know only the leverage and the prior count, as growing would have it. Where
        rows have times, each is predicted at its own; without, at that of the latest row learned.
        """
        if not len(times):
            return self._ahead(np.nan)._predict_now(X, w, read_out, new)
        p, q = np.empty((len(X), self.state.n_targets)), np.empty(len(X))
        for time in np.unique(times):
            rows = np.flatnonzero(times == time)
            added = None if new is None else new._replace(X=new.X[rows])
            at_once = self._ahead(float(time))._predict_now(np.ascontiguousarray(X[rows]), w[rows], read_out, added)
            p[rows], q[rows] = at_once
        return p, q

    def _ahead(self, time: float) -> "FittedState":
        """What a row that comes at this time finds."""
        state = self.state.ahead(time)
        return self if state is self.state else replace(self, state=state)

    def _predict_now(self, X: Matrix, w: Vector, read_out: ReadOut, new: NewFeatures | None) -> tuple[Matrix, Vector]:
        if self.state.own_units and new is not None and new.X.shape[1]:
            grown = replace(self, state=self.state.copy())
            grown.state.grow(new.X.shape[1], new.lam, np.array(new.prior)[:, None])
            return grown._predict_now(np.ascontiguousarray(np.column_stack([X, new.X])), w, read_out, None)
        base, (p, q) = self.state.base(X), self.state.read(X, w)
        self._check_leverages(q)
        for x, lam, prior in zip(new.X.T, new.lam, new.prior, strict=True) if new is not None else ():
            if lam > 0:
                q += x**2 / lam
            else:
                q[x != 0.0] = np.inf
                p[x != 0.0] = 0.0
            if prior:
                base = (base if len(base) else 0.0) + np.repeat((prior * x)[:, None], p.shape[1], axis=1)
        kernel.read_out_rows(kernel.constant_pivot(self.buffer), _NO_ROWS, base, p, q, w, *read_out)
        if not np.isfinite(p).all():
            raise ValueError(
                "a prediction overflows double precision: expected values whose products with the coefficients stay "
                "below 1e300; rescale the columns"
            )
        return p, q

    def leverages(self, X: Matrix) -> Vector:
        """xᵀG⁻¹x of each row (n,); infinite where nothing is known, and only without regularisation."""
        ahead = self._ahead(np.nan)
        return ahead._check_leverages(ahead.state.read(X)[1])

    def _check_leverages(self, q: Vector) -> Vector:
        if self.state.D.all() and not np.isfinite(q).all():
            raise ValueError(
                "a leverage overflows double precision: expected ‖x‖² / lam below 1e300, "
                f"with lam={described(self.state.lam)}; rescale the columns"
            )
        return q

    # One row, which is refused, changing nothing, where it needs a closer look: see `core.single`

    def row_loops(self, read_out: ReadOut, count: int | None = None) -> Loops:
        """The loops for single rows of weight 1, in arrays or in tuples of so many numbers, without clipping."""
        return row_loops(read_out.shrinks, self.flat, count)

    def predict_row(self, x: Vector, w: float, time: float, read_out: ReadOut) -> Any:
        """The prediction of one row, a number or (m,); None if it is refused. The time is NaN if none was given."""
        if self.flat:
            prediction = predict_one(self.buffer, x, w, time, *read_out)
            return prediction if prediction == prediction else None  # not NaN
        predictions = predict_targets(self.buffer, x, w, time, *read_out)
        return predictions if predictions[0] == predictions[0] else None

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
        if calibration is not None:
            if not self.flat:  # the loop that tracks takes a number; one target in an array goes the guarded way
                return False
            return learn_one_tracked(self.buffer, calibration.buffer, x, y, w, time, *read_out)
        return (learn_one if self.flat else learn_targets)(self.buffer, x, y, w, time, *read_out)

    def copy(self) -> Self:
        """A copy that can be learned on without touching this one."""
        return replace(self, state=self.state.copy(), names=None if self.names is None else list(self.names))

    def grow(self, names: Sequence[Hashable], lams: Sequence[float], priors: Sequence[float]) -> None:
        """Add features that were 0 in every row so far, with a λ and a prior mean each."""
        if not names:
            return
        self.state.grow(len(names), lams, np.array(priors)[:, None])
        self.columns |= {name: len(self.columns) + i for i, name in enumerate(names)}
        self.names = list(self.columns)
        self.open = True

    def missing(self, other: "FittedState") -> list[Hashable]:
        """The names that only the other knows; an error if the features of the two do not fit together."""
        mine, theirs = self.state.n_features, other.state.n_features
        if self.names is None or other.names is None:
            if self.names is not other.names:
                raise ValueError("cannot merge: only one of the models has named features")
            if mine != theirs:
                raise ValueError(f"cannot merge: this model has {counted(mine, 'feature')}, the other has {theirs}")
            return []
        new = [name for name in other.names if name not in self.columns]
        if (new or mine != theirs) and not (self.open or other.open):
            raise ValueError(
                f"cannot merge: this model has features {several(self.names)}, the other has {several(other.names)}"
            )
        return new

    def merge(self, other: "FittedState") -> None:
        """Add what another learned from rows of its own. All of its features must be known here."""
        places = list(range(len(other.state.D)))
        if self.names is not None and other.names is not None:
            lead = int(self.state.intercept)
            places = [*range(lead), *(lead + self.columns[name] for name in other.names)]
        mine, theirs = self.state.prior[places], other.state.prior
        if not np.array_equal(mine, theirs):
            raise ValueError(
                f"cannot merge: this model started from coefficients {brief(mine.T.tolist())}, "
                f"the other from {brief(theirs.T.tolist())}"
            )
        self.state.merge(other.state, places)
        self.open = self.open or other.open

    # Model files

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file."""
        state = self.state
        lam = (state.relative if state.own_units else state.lam).tolist()
        settings = {
            "lam": lam[0] if len(set(lam)) == 1 else lam,
            "intercept": state.intercept,
            "names": names_to_record(self.names),
            "open": self.open,
            "flat": self.flat,
        }
        arrays = {"U": state.U, "D": state.D, "c": state.c, "loss": state.loss, "tally": state.tally}
        arrays["online_loss"] = state.online_loss
        if state.prior.any():
            arrays["prior"] = state.prior
        if state.own_units:
            arrays |= {"own_lam": state.lam, "varied": state.varied}
        if state.memory is not None:
            settings["memory"] = vars(state.memory)
            arrays["moments"] = np.array([float(state.header[name][0]) for name in _MOMENTS])
            if state.memory.window is not None:
                arrays["ring"], arrays["rows"] = rows_to_record(state)
        return settings, arrays

    @classmethod
    def from_record(cls, settings: dict[str, Any], arrays: storage.Arrays) -> Self:
        """What `to_record` described; ValueError or KeyError if it does not fit together."""
        intercept, names = settings["intercept"], settings["names"]
        d, m = check_record(settings, arrays)
        lam = np.broadcast_to(np.array(settings["lam"], dtype=np.float64), (d,))  # earlier files: one number for all
        if not (np.isfinite(lam).all() and (lam >= 0).all()):
            raise ValueError(f"lam must be finite and not negative, got {brief(settings['lam'])}")
        own = "own_lam" in arrays
        memory = None if settings.get("memory") is None else RowMemory(**settings["memory"])  # earlier files: none
        state = Information(d - intercept, m, lam, intercept, own_units=own, memory=memory)
        state.U[:], state.D[:], state.c[:], state.loss[:] = (arrays[name] for name in ("U", "D", "c", "loss"))
        state.tally, state.online_loss[:] = arrays["tally"], arrays["online_loss"]
        state.set_prior(arrays.get("prior", 0.0))
        if own:
            state.lam[:] = arrays["own_lam"]
            state.set_varied(arrays["varied"])
        check_pivots(state)
        if memory is not None:
            check_moments(memory, arrays["moments"])
            for name, value in zip(_MOMENTS, arrays["moments"], strict=True):
                state.header[name] = value
            if memory.window is not None:
                rows_from_record(state, arrays["ring"], arrays["rows"])
        check_names(names, state.n_features)
        return cls(state, names, settings["open"], settings["flat"])
