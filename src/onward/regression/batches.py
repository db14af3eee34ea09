"""Tables of rows: scikit-learn's protocol, and the online one."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onward.confidence import ConformalIntervals
from onward.core.shown import several
from onward.core.types import Matrix, Vector
from onward.regression.alone import alone
from onward.regression.base import Learned, Learner
from onward.regression.ensembles import Fitted
from onward.regression.half_life import times_ahead, times_for
from onward.tables import (
    CheckedRows,
    Rows,
    as_rows,
    as_targets,
    as_weights,
    blocks,
    frame_columns,
    in_one_block,
    placed,
)

LONGEST_MESSAGE = 290  # characters of what is told of columns that do not fit


class Batch(NamedTuple):
    """Rows that are learned together, checked by themselves."""

    rows: Rows
    targets: Matrix  # (n, targets)
    flat: bool  # whether targets come without a second axis
    weights: Vector
    times: Any


class BatchLearner(Learner):
    """Learns and predicts tables, their columns in the order of the first one."""

    @alone
    def fit(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> Self:
        """Forget everything, then learn the rows in order. `times` is as in `predict_then_learn`.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            y: targets: (n,), or (n, targets).
            sample_weight: the weight of each row, (n,); None for 1.

        Returns:
            The model itself.
        """
        batch = self._checked(X, y, sample_weight, times)
        if not batch.weights.any():
            raise ValueError("sample_weight must not be zero for every row of a fit, got all zeros")
        self._begin(X, batch)
        if self.recipe_ is not None:
            self.recipe_ = None  # forgotten with the rest: these rows came as features
        return self

    def _learn_in_order(self, X: Any, y: Any, sample_weight: Any, times: Any) -> Learned:
        """`predict_then_learn` for rows whose columns are the features, in their order."""
        batch = self._checked(X, y, sample_weight, times)
        if self._state is None:
            return self._begin(X, batch)
        self._check_columns(X)
        return self._go_on(self._state, batch)

    def _predict_in_order(self, X: Any, sample_weight: Any, times: Any) -> NDArray[np.float64]:
        """`predict` for such rows."""
        fitted, rows = self._readable(X)
        weights = as_weights(sample_weight, rows.shape[0])
        moments = times_ahead(fitted.state, self.half_life, times, rows.shape[0])
        out = np.empty((rows.shape[0], fitted.state.n_targets))
        for where, block, _ in blocks(rows):
            w = writeable(weights[where])
            out[where] = fitted.predict(block, w, self._read_out, times=moments[where])[0]
        return shaped(out, fitted.flat)

    @alone
    def _leverage_in_order(self, X: Any) -> Vector:
        """`leverage` of such rows."""
        fitted, rows = self._readable(X)
        out = np.empty(rows.shape[0])
        for where, block, _ in blocks(rows):
            out[where] = fitted.leverages(block)
        return out

    def _readable(self, X: Any) -> tuple[Fitted, Rows]:
        fitted = self._fitted()
        rows = as_rows(X)
        if isinstance(rows, CheckedRows):
            return fitted, _in_order(fitted, rows)
        self._check_columns(X)
        return fitted, rows

    def _checked(self, X: Any, y: Any, sample_weight: Any, times: Any) -> Batch:
        self._check_settings()
        self._require(y)
        rows = as_rows(X)
        targets, flat = as_targets(y, rows.shape[0])
        return Batch(rows, targets, flat, as_weights(sample_weight, rows.shape[0]), times)

    def _check_columns(self, X: Any) -> None:
        """An error if the columns are not those that the model was fitted with."""
        if type(X) is np.ndarray and not hasattr(self, "feature_names_in_") and X.shape[1] == self.n_features_in_:
            return
        self._validate_columns(X, reset=False)

    def _note_columns(self, X: Any) -> None:
        """Take the columns for those of the model: their number, and their names if they have any."""
        if type(X) is np.ndarray and not hasattr(self, "feature_names_in_"):
            self.n_features_in_ = X.shape[1]
            return
        self._validate_columns(X, reset=True)

    def _validate_columns(self, X: Any, reset: bool) -> None:
        names = frame_columns(X)
        if names is not None and len({isinstance(name, str) for name in names}) > 1:
            raise TypeError(f"X must have columns whose names are all text, got {several(names)}")
        from sklearn.utils.validation import validate_data  # here, so that what needs no look does not wait for it

        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except (TypeError, ValueError) as error:
            if isinstance(error, ValueError) and len(str(error)) <= LONGEST_MESSAGE:
                raise
            known = several(getattr(self, "feature_names_in_", ()))
            raise ValueError(
                f"the columns of X must be those that the model was fitted with, {known}, got {several(names or ())}"
            ) from error

    def _require(self, y: Any) -> None:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")

    def _begin(self, X: Any, batch: Batch) -> Learned:
        rows = batch.rows
        # As scikit-learn has it: names count only if they are text.
        names = rows.names if all(isinstance(name, str) for name in rows.names or ()) else None
        fitted = self._new_state(rows.shape[1], batch.targets.shape[1], batch.flat, names)
        learned = self._learn(fitted, batch)
        self._note_columns(X)
        self._commit(fitted)
        if self.calibration_ is not None:
            self.calibration_ = ConformalIntervals(self.calibration_.deltas)
        self.anchors_ = self.sandwich_ = None
        return self._tracked(batch, *learned)

    def _go_on(self, fitted: Fitted, batch: Batch) -> Learned:
        came = describe_targets(batch.targets.shape[1], batch.flat)
        expected = describe_targets(fitted.state.n_targets, fitted.flat)
        if came != expected:
            raise ValueError(f"y has {came}, but this model was fitted with {expected}")
        # A block is learned or refused as a whole; several need a copy to be thrown away if a later one is refused.
        fitted = fitted if in_one_block(batch.rows) else fitted.copy()
        learned = self._learn(fitted, batch)
        self._commit(fitted)
        return self._tracked(batch, *learned)

    def _tracked(self, batch: Batch, predictions: Matrix, leverages: Vector) -> Learned:
        """What was learned, after calibration and sandwich have learned from it, too."""
        self._track(predictions, leverages, batch.targets, batch.weights)
        if self._tracks_sandwich:
            for where, block, _ in blocks(batch.rows):
                self._keep_errors(block, predictions[where, 0], batch.targets[where, 0], batch.weights[where])
        return shaped(predictions, batch.flat), leverages

    def _track(self, predictions: Matrix, leverages: Vector, targets: Matrix, weights: Vector) -> None:
        """Let the calibration learn how far rows that were learned lay from their predictions."""
        if self.calibration_ is not None:
            columns = writeable(predictions[:, 0]), leverages, writeable(targets[:, 0]), writeable(weights)
            self.calibration_.track_block(*columns)

    def _learn(self, fitted: Fitted, batch: Batch) -> Learned:
        rows, targets, weights = batch.rows, batch.targets, batch.weights
        predictions, leverages = np.empty_like(targets), np.empty(rows.shape[0])
        moments = times_for(fitted.state, self.half_life, batch.times, rows.shape[0])
        self._reserve(fitted, rows.shape[0])
        constant = weights.strides == (0,)  # one number for all rows: written out once, for the longest block
        w = np.empty(0)
        for where, block, squares in blocks(rows):
            w = w[: len(block)] if constant and len(w) >= len(block) else writeable(weights[where])
            out = predictions[where], leverages[where]
            fitted.learn(block, targets[where], w, squares, self._read_out, *out, moments[where])
        return predictions, leverages


def _in_order(fitted: Fitted, rows: CheckedRows) -> Rows:
    """Rows of exactly the model's features, in its order; ValueError if they are others."""
    if fitted.names is None or set(rows.names) != set(fitted.names):
        known = several(fitted.names or ())
        raise ValueError(f"the rows have features {several(rows.names)}, but this model was fitted with {known}")
    return placed(rows, [fitted.columns[name] for name in rows.names], len(fitted.names))


def shaped(predictions: Matrix, flat: bool) -> NDArray[np.float64]:
    """Predictions in the shape that targets come in."""
    return predictions[:, 0] if flat else predictions


def describe_targets(count: int, flat: bool) -> str:
    """What targets a model has, in words."""
    return "a single target" if flat else f"{count} target column(s)"


def writeable(values: Vector) -> Vector:
    """A read-only array would be compiled for anew."""
    return np.require(values, requirements=["C", "W"])
