"""Online conformal intervals for the next target, from the errors of the predictions before it."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from onward.confidence.t_quantiles import t_quantiles
from onward.core import calibration
from onward.core.calibration_lanes import TABLE
from onward.core.checks import probability
from onward.core.sharing import Shared
from onward.core.shown import brief
from onward.core.shown_html import html_values
from onward.core.types import Matrix, Vector
from onward.core.views import owned
from onward.tables.number_arrays import as_array

ONE = 1.0  # the weight of a row that none was given for
DELTAS = (0.5, 0.2, 0.1, 0.05, 0.01)  # at which a model is calibrated unless others are asked for


class ConformalIntervals(Shared):
    """Intervals at one or several δ for the next target, whatever predicts it.

    The share of misses tends to δ on any bounded sequence (Angelopoulos, Candès and Tibshirani 2023; how fast:
    `onward.bounds.conformal_misses`): nothing is assumed of the noise, of the model or of the order of rows. It is a
    share of all rows, not a probability for each: rows that are harder to predict than their leverage tells are missed
    more often. From two errors on, intervals are finite; the first are close to t intervals, then each end follows the
    quantile of the errors on its own side. `onward.core.calibration` has the formulas; there is no step size to choose.

    Args:
        deltas: the shares of misses, one or several. Intervals of a smaller δ contain those of a larger one.

    Attributes:
        deltas: the same in the order of the intervals: the largest δ, with the narrowest ones, first.

    Raises:
        ValueError: if there is no δ, or one is not in (0, 1).

    Example:
        >>> import numpy as np
        >>> from onward.confidence import ConformalIntervals
        >>> rng = np.random.default_rng(0)
        >>> intervals, missed = ConformalIntervals(0.1), 0
        >>> for y in rng.standard_exponential(2000):  # whatever law the errors have
        ...     low, high = intervals.predict(1.0, leverage=0.0)
        ...     missed += not low <= y <= high
        ...     intervals = intervals.update(1.0, 0.0, y)
        >>> round(missed / 2000, 2)
        0.1
    """

    def __init__(self, deltas: float | Sequence[float] = (0.05,)) -> None:
        given = sorted(
            {
                probability("deltas", delta)
                for delta in np.ravel(as_array(deltas, "deltas", "a number or several")).tolist()
            },
            reverse=True,
        )
        if not given:
            raise ValueError("deltas must hold at least one number, got none")
        if 1.0 - given[-1] / 2 == 1.0:
            raise ValueError(f"deltas must be 3e-16 or more, got {given[-1]:g}")
        self.deltas = given
        self.buffer: Vector = np.empty(calibration.calibration_size(len(given)))
        z = np.array([NormalDist().inv_cdf(1.0 - delta / 2) for delta in given])
        inflation = np.empty((len(given), TABLE + 2))
        for k, delta in enumerate(given):
            inflation[k, :-2] = t_quantiles(delta) / z[k]
        inflation[:, -2], inflation[:, -1] = (z**2 + 1) / 4, (5 * z**4 + 16 * z**2 + 3) / 96  # Cornish and Fisher 1937
        density = np.array([NormalDist().pdf(each) for each in z])
        calibration.begin(self.buffer, np.array(given), z, density, inflation)

    @property
    def n_learned(self) -> int:
        """Errors that were learned."""
        with self._lock:
            return int(self.buffer[: calibration.N_HEADER].view(calibration.HEADER)["rows"][0])

    def predict(self, prediction: float, leverage: float, weight: float = ONE) -> tuple[Vector, Vector]:
        """Lower and upper ends (δ,) for the target of the next row; infinite where nothing is known of it.

        Args:
            prediction: of the row.
            leverage: of the row.
            weight: of the row.
        """
        ends, row = np.empty((2, len(self.deltas))), (float(prediction), float(leverage), float(weight))
        with self._lock:
            calibration.put_interval(self.buffer, *row, ends)
        return ends[0], ends[1]

    def update(self, prediction: float, leverage: float, y: float, weight: float = ONE) -> Self:
        """Learn how far a target was from its prediction.

        A row of weight 0, and one without a finite prediction and leverage, changes nothing.

        Args:
            y: targets (n,).
        """
        row = float(prediction), float(leverage), float(y), float(weight)
        with self._lock:
            learned = calibration.learn_error(self.buffer, *row)
        if not learned:
            raise ValueError(f"y must be finite, and weight finite and >= 0, got {brief(y)} and {weight!r}")
        return self

    def intervals(
        self, predictions: ArrayLike, leverages: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Matrix, Matrix]:
        """Lower and upper ends (n, δ) for the targets of rows that are not learned.

        They leave out how `predict` and `track` make up for misses so far, which is for the next row: many rows would
        all make up for the same. They miss a share δ of rows with errors like those of late.

        Args:
            predictions: (n,).
            leverages: (n,).
            sample_weight: the weight of each row, (n,); None for 1.
        """
        predictions, leverages, w = _rows(predictions, leverages, sample_weight)
        lower, upper = np.empty((2, len(predictions), len(self.deltas)))
        with self._lock:
            calibration.put_intervals(self.buffer, predictions, leverages, w, lower, upper)
        return lower, upper

    def track(
        self, predictions: ArrayLike, leverages: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[Matrix, Matrix]:
        """Lower and upper ends (n, δ) for each row in order, made before its target is learned.

        Predictions and leverages are from before the row's target was seen, too. The same bits come in any batching.

        Args:
            predictions: (n,).
            y: targets (n,).
            sample_weight: the weight of each row, (n,); None for 1.
        """
        predictions, leverages, w = _rows(predictions, leverages, sample_weight)
        targets = _vector(y)
        if targets.shape != predictions.shape:
            raise ValueError(f"y must have a value for each of {len(predictions)} rows, got shape {targets.shape}")
        if not np.isfinite(targets).all():
            raise ValueError("y must be finite, got a NaN or an infinity")
        return self.track_block(predictions, leverages, targets, w)

    def track_block(self, predictions: Vector, leverages: Vector, y: Vector, w: Vector) -> tuple[Matrix, Matrix]:
        """`track` for rows that were checked when they were read: arrays (n,), float64, contiguous and writeable.

        Args:
            predictions: (n,).
            leverages: (n,).
            y: targets (n,).
            w: weights (n,); None for 1.
        """
        lower, upper = np.empty((2, len(predictions), len(self.deltas)))
        with self._lock:  # and not the interpreter's
            calibration.track_rows(self.buffer, predictions, leverages, y, w, lower, upper)
        return lower, upper

    def place(self, delta: float) -> int:
        """Where δ stands among `deltas`; ValueError if it does not.

        Args:
            delta: δ, one of `deltas`.
        """
        if delta not in self.deltas:
            known = ", ".join(f"{each:g}" for each in self.deltas)
            raise ValueError(
                f"delta must be one that the model is calibrated for, {known}, got {delta!r} (t intervals take any)"
            )
        return self.deltas.index(delta)

    def copy(self) -> Self:
        """A copy that can learn on without touching this one."""
        with self._lock:
            return self.from_buffer(self.buffer.copy())

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"deltas": list(self.deltas), "buffer": self.buffer.copy()}

    @classmethod
    def from_buffer(cls, buffer: Vector) -> Self:
        """The intervals whose state is in a buffer, as in a file; ValueError if there are none."""
        count = buffer[0] if buffer.ndim == 1 and len(buffer) else np.nan
        size = calibration.calibration_size(int(count)) if count >= 1 else -1
        if len(buffer) != size or not np.isfinite(buffer).all():
            raise ValueError(f"no state of intervals: expected {size} finite numbers, got shape {buffer.shape}")
        made, deltas = cls.__new__(cls), np.empty(int(count))
        made.buffer = _vector(buffer)
        calibration.put_deltas(made.buffer, deltas)
        made.deltas = [probability("deltas", delta) for delta in deltas.tolist()]
        made._check()
        return made

    def _check(self) -> None:
        """ValueError if the state, as it came from a file, is none that errors can have led to."""
        state = owned(self.buffer, calibration.view_calibration(self.buffer))
        header = state.header[0]
        if not (header["rows"] == int(header["rows"]) and 0 <= header["learned"] <= header["rows"] < 2**53):
            raise ValueError(f"errors must be counts, got {header['rows']} and {header['learned']}")
        sizes = np.concatenate([state.weight, state.scale, [header["peak"]]])
        if not ((sizes >= 0).all() and state.weight.sum() > 0 and (state.density > 0).all()):
            raise ValueError("weights, scales and densities of intervals must not be negative")
        if self.deltas != sorted(set(self.deltas), reverse=True) or not (np.abs(self.buffer) < 1e300).all():
            raise ValueError(f"deltas must fall, with numbers that double precision can hold, got {self.deltas}")

    def __repr__(self) -> str:
        return f"ConformalIntervals({self.deltas}), {self.n_learned} errors learned"

    def _repr_html_(self) -> str:
        return html_values("ConformalIntervals", {"δ": repr(self.deltas), "errors learned": f"{self.n_learned:,}"})


def _vector(values: ArrayLike) -> Vector:
    return np.require(values, dtype=np.float64, requirements=["C", "W"])


def _rows(
    predictions: ArrayLike, leverages: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Vector, Vector, Vector]:
    """Predictions, leverages and weights (n,) as the loops take them."""
    p, q = _vector(predictions), _vector(leverages)
    if p.ndim != 1 or q.shape != p.shape:
        raise ValueError(f"predictions and leverages must have shape (n,) both, got {p.shape} and {q.shape}")
    w = np.ones(len(p)) if sample_weight is None else _vector(sample_weight)
    if w.shape != p.shape:
        raise ValueError(f"sample_weight must have a value for each of {len(p)} rows, got shape {w.shape}")
    if not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError("sample_weight must be finite and not negative")
    return p, q, w
