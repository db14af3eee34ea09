"""One row at a time, and rows by name."""

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np

from onward.core.factor import ORDINARY
from onward.core.fast_path import FLOAT64, is_float64_array
from onward.core.single import Loops
from onward.core.squares import sum_of_squares
from onward.core.types import Matrix, Vector
from onward.regression.alone import alone
from onward.regression.base import Learned
from onward.regression.batches import Batch, BatchLearner, shaped, writeable
from onward.regression.ensembles import Fitted
from onward.regression.fitted import NewFeatures
from onward.regression.half_life import in_a_list, moment_of, times_ahead, times_for
from onward.regression.name_matching import Row, match_names, named_row, named_table
from onward.regression.start import lam_of, prior_of
from onward.tables import (
    ArrayRows,
    CheckedRows,
    as_mapping,
    as_target,
    as_targets,
    as_weights,
    blocks,
    placed,
)
from onward.tables.times import Times

ONE = 1.0  # the weight of a row that none was given for
_NUMBERS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
_ARRAY = np.ndarray
FEW_NAMES = 16  # each number of names up to it is compiled for when it first comes: half a second, once


class NamedLearner(BatchLearner):
    """Learns and predicts single rows, and rows whose features are known by their names.

    A row goes straight to the compiled loop if it can be had as a vector (`_row`). What it then refuses, and whatever
    else comes, takes the way of tables: there it is looked at closely, and explained if it cannot be taken.
    """

    _loops: Loops | None = None  # where plain rows go straight to, once closed
    _dict_loops: Loops | None = None  # and the values of a dict with the names of the model in their order
    _names_in_order: list[Hashable] | None = None  # these names, once such a dict has come

    def predict_one(self, x: Row, sample_weight: float = ONE, time: Any = None) -> Any:
        """Predict one row: an array, or a dict of named features in which missing names count as 0.

        Of a model that has learned from a table, a dict holds a value for each of the table's columns; where one is
        missing and the model skips such rows, the prediction is NaN. Before anything was learned the prediction is the
        prior's: 0, if none was given. Returns a number, or an array of shape (m,) if the model has several targets.
        Of a model with a half-life in time, `time` is when the row comes; without it, when the latest one came.

        Args:
            x: one row: an array (features,), or a dict of named features.
            sample_weight: the weight of each row, (n,); None for 1.

        Returns:
            A number, or an array (m,) of a model with several targets.
        """
        row: Any = x
        loops = self._loops
        if type(x) is not _ARRAY:
            if self.recipe_ is not None:
                time = self._time(x, learning=False) if time is None else time
                if (x := self._features(x)) is None:
                    return np.nan
                row = self._row(x)
            elif type(x) is dict and self._dict_loops and [*x] == self._names_in_order:
                row, loops = tuple(x.values()), self._dict_loops
            else:
                row = self._row(x)
        if loops and row is not None and sample_weight is ONE and time is None and self.clip is None:
            try:
                prediction = loops[0](self._buffer, row)
                if self._flat:
                    if prediction == prediction:  # not NaN
                        return prediction
                elif prediction[0] == prediction[0]:
                    return prediction
            except TypeError:
                pass  # not as the loops take it
        return self._predict_closely(x, row, sample_weight, time)

    @alone
    def _predict_closely(self, x: Row, row: Any, sample_weight: Any, time: Any) -> Any:
        """Predict what the loops did not take as it came."""
        row = _vector(row, self._row_shape)
        if row is not None and self._state is not None:
            self._loops = self._state.row_loops(self._read_out)
            w = sample_weight if type(sample_weight) is float else _number(sample_weight)
            prediction = self._state.predict_row(row, w, moment_of(self._state.state, time), self._read_out)
            if prediction is not None:
                return prediction
        names, values = named_row(x)
        weights = as_weights(sample_weight, 1)
        fitted, names = self._fitted_or_new(names, values.shape[1])
        moments = times_ahead(fitted.state, self.half_life, in_a_list(time), 1)
        predictions = self._read_named(fitted, names, values, weights, moments)[0][0]
        return float(predictions[0]) if fitted.flat else predictions

    def learn_one(self, x: Row, y: Any, sample_weight: float = ONE, time: Any = None) -> Self:
        """Learn one row. A name first seen in a dict becomes a new feature, exactly as if it had been there, at 0.

        Of a model that has learned from a table, a dict holds a value for each of the table's columns, and for those of
        the weight and the time unless `sample_weight` and `time` are given; a level first seen becomes a new feature,
        and a row that is skipped for a missing value changes nothing. `time` is when the row comes, for a half-life in
        time: a number or a date, not before that of the latest row.

        Args:
            x: the row: an array, or a dict.
            y: its target: a number, or (m,) of a model with several targets.

        Returns:
            The model itself.

        Raises:
            ValueError: if the row cannot be taken, as of a value that is not finite. The model is then as it was.
        """
        row: Any = x
        loops = self._loops
        if type(x) is not _ARRAY:
            if self.recipe_ is not None:
                if self.recipe_.lags and isinstance(as_mapping(x), Mapping):
                    return self._learn_row(as_mapping(x), y, sample_weight, time)
                time = self._time(x, learning=True) if time is None else time
                if sample_weight is ONE and self.recipe_.weight is not None:
                    sample_weight = self._weight(x)
                if sample_weight is None or (x := self._features(x)) is None:
                    return self
                row = self._row(x)
            elif type(x) is dict and self._dict_loops and [*x] == self._names_in_order:
                row, loops = tuple(x.values()), self._dict_loops
            else:
                row = self._row(x)
        plain = sample_weight is ONE and time is None and self.clip is None
        if plain and loops and row is not None and self.calibration_ is None and not self._tracks_sandwich:
            try:
                if loops[1](self._buffer, row, y):  # without a lock: see alone.py
                    return self if row is x else self._opened(x)
            except TypeError:
                pass
        return self._learn_closely(x, row, y, sample_weight, time)

    @alone
    def _learn_closely(self, x: Row, row: Any, y: Any, sample_weight: Any, time: Any) -> Self:
        """Learn what the loops did not take as it came."""
        calibration = self.calibration_
        row = None if self._tracks_sandwich else _vector(row, self._row_shape)
        if row is not None and self._state is not None:
            self._loops = self._state.row_loops(self._read_out)
            w = sample_weight if type(sample_weight) is float else _number(sample_weight)
            target = (y if type(y) is float else _number(y)) if self._flat else _vector(y, self._target_shape)
            moment = moment_of(self._state.state, time)
            if target is not None and self._state.learn_row(row, target, w, moment, self._read_out, calibration):
                return self._opened(x)
        names, values = named_row(x)
        targets, flat = as_target(y)
        weights = as_weights(sample_weight, 1)
        self._learn_named(names, Batch(ArrayRows(values), targets, flat, weights, in_a_list(time)))
        return self

    def _learn_row(self, x: Mapping[str, Any], y: Any, sample_weight: Any, time: Any) -> Self:
        """Learn a row to which later ones look back."""
        raise NotImplementedError

    def _features(self, x: Any) -> Any:
        """The features of a row with the recipe's columns, None if it is skipped; what is no dict is taken as it is."""
        from onward.tables.encode_values import encode_row  # what arrays do not need is not loaded for them

        x = as_mapping(x)
        assert self.recipe_ is not None
        names = () if self._state is None else self._state.names or ()
        return encode_row(self.recipe_, names, x) if isinstance(x, Mapping) else x

    def _weight(self, x: Any) -> Any:
        """The weight of a row by the recipe; None if the row is skipped."""
        from onward.tables.encode_values import row_weight

        x = as_mapping(x)
        assert self.recipe_ is not None
        return row_weight(self.recipe_, x) if isinstance(x, Mapping) else ONE

    def _time(self, x: Any, *, learning: bool) -> Any:
        """The time of a row by the recipe; None if it has none, or none is needed."""
        if self.recipe_ is None or self.recipe_.time is None or self.half_life is None:
            return None
        from onward.tables.encode_values import row_time

        x = as_mapping(x)
        return row_time(self.recipe_, x, learning=learning) if isinstance(x, Mapping) else None

    def _opened(self, x: object) -> Self:
        """The model, to which new names are welcome once it has learned a dict."""
        if type(x) is dict and self._state is not None:
            self._state.open = True
        return self

    def _row(self, x: Any) -> Vector | None:
        """x as the compiled loop for one row takes it, if that is quickly done; None for whatever else it may be."""
        if type(x) is not dict:
            return _vector(x, self._row_shape)
        if [*x] == self._names_in_order:
            return _vector(list(x.values()), self._row_shape)
        fitted = self._state
        if fitted is None or fitted.names is None:
            return None
        columns, row = fitted.columns, np.zeros(self._row_shape or 0)
        for name, value in x.items():
            column = columns.get(name)
            if column is None or type(value) not in _NUMBERS or not -ORDINARY < value < ORDINARY:
                return None
            row[column] = value
        if len(x) == len(columns) and list(columns) == list(x):  # next time it is taken in one go
            self._names_in_order = [*x]
            if 0 < len(x) <= FEW_NAMES:
                self._dict_loops = fitted.row_loops(self._read_out, len(x))
        return row

    @alone
    def _predict_by_name(self, X: Any, sample_weight: Any, times: Any) -> Learned:
        """`predict_many` for rows whose columns are features by name."""
        names, rows = named_table(X)
        weights = as_weights(sample_weight, rows.shape[0])
        fitted, names = self._fitted_or_new(names, rows.shape[1])
        moments = times_ahead(fitted.state, self.half_life, times, rows.shape[0])
        out, leverages = np.empty((rows.shape[0], fitted.state.n_targets)), np.empty(rows.shape[0])
        for where, block, _ in blocks(rows):
            read = self._read_named(fitted, names, block, writeable(weights[where]), moments[where])
            out[where], leverages[where] = read
        return shaped(out, fitted.flat), leverages

    def _learn_by_name(self, X: Any, y: Any, sample_weight: Any, times: Any) -> Learned:
        """`learn_many` for such rows."""
        self._require(y)
        names, rows = named_table(X)
        targets, flat = as_targets(y, rows.shape[0])
        weights = as_weights(sample_weight, rows.shape[0])
        return self._learn_named(names, Batch(rows, targets, flat, weights, times))

    @alone
    def learn_block(
        self,
        X: Matrix,
        y: Vector,
        w: Vector,
        names: list[Hashable],
        times: Times | None = None,
        squares: float | None = None,
    ) -> Learned:
        """`learn_many` for rows that were checked when they were read; predictions and leverages.

        X is float64, C-contiguous and finite, as are y and w (which is not negative); the names differ. The features
        of the model must come first, in its order, as those of a stream that was opened with its names do. To let a
        calibration learn their errors is left to the caller.

        Args:
            times: when each row comes, numbers or dates that do not fall, for a half-life in time; None otherwise.
            squares: the sum of the squares of X, where it is known.
        """
        fitted, grown = self._state, False
        if fitted is None:
            fitted, grown = self._new_state(len(names), 1, True, names), True
        elif not fitted.flat or fitted.names is None or names[: len(fitted.names)] != fitted.names:
            return self._learn_by_name(CheckedRows(X, names), y, w, times)
        elif len(names) > len(fitted.names):
            new, fitted, grown = names[len(fitted.names) :], fitted.copy(), True
            fitted.grow(new, [lam_of(self.lam, name) for name in new], [prior_of(self.prior_mean, n) for n in new])
        predictions, leverages = np.empty((len(X), 1)), np.empty(len(X))
        squares = sum_of_squares(X) if squares is None else squares
        moments = times_for(fitted.state, self.half_life, times, len(X))
        self._reserve(fitted, len(X))
        fitted.learn(X, y.reshape(-1, 1), w, squares, self._read_out, predictions, leverages, moments)
        fitted.open = True
        if grown:
            self._commit(fitted)
        if self._tracks_sandwich:
            self._keep_errors(X, predictions[:, 0], y, w)
        return predictions[:, 0], leverages

    def _fitted_or_new(self, names: list[Hashable] | None, n_features: int) -> tuple[Fitted, list[Hashable] | None]:
        """What to read rows with these names against, and the names that are still to be matched with it."""
        if self._state is not None:
            return self._state, names
        self._check_settings()  # nothing learned: what is predicted is the prior's part
        return self._new_state(n_features, None, None, names), None

    def _read_named(self, fitted: Fitted, names: list[Hashable] | None, X: Matrix, w: Vector, times: Vector) -> Learned:
        known, places, unknown = match_names(fitted, names, X.shape[1])
        if names is None:
            return fitted.predict(X, w, self._read_out, times=times)
        rows = placed(ArrayRows(X[:, known]), places, fitted.state.n_features).block(0, len(X))
        others = [names[column] for column in unknown]
        lams, priors = [lam_of(self.lam, name) for name in others], [prior_of(self.prior_mean, n) for n in others]
        return fitted.predict(rows, w, self._read_out, NewFeatures(X[:, unknown], lams, priors), times)

    def _learn_named(self, names: list[Hashable] | None, batch: Batch) -> Learned:
        self._check_settings()
        rows = batch.rows
        fitted = self._state
        if fitted is None:
            fitted = self._new_state(rows.shape[1], batch.targets.shape[1], batch.flat, names)
            fitted.open = names is not None
        elif names is not None:
            known, places, unknown = match_names(fitted, names, rows.shape[1])
            if unknown:
                fitted = fitted.copy()
                new, width = [names[column] for column in unknown], fitted.state.n_features
                lams, priors = [lam_of(self.lam, name) for name in new], [prior_of(self.prior_mean, n) for n in new]
                fitted.grow(new, lams, priors)
                placing = dict(zip(known, places, strict=True)) | {c: width + i for i, c in enumerate(unknown)}
                places = [placing[column] for column in range(len(names))]
            rows = placed(rows, places, fitted.state.n_features)
        else:
            match_names(fitted, None, rows.shape[1])
        learned = self._go_on(fitted, batch._replace(rows=rows))
        self._fitted().open |= names is not None
        return learned


def _vector(values: Any, shape: tuple[int] | None) -> Vector | None:
    """An array, list or tuple as a vector of this shape, laid out as the loops take it, if it is one of numbers."""
    if is_float64_array(values, 1) and values.shape == shape:
        return values
    if type(values) not in (list, tuple, np.ndarray):
        return None
    try:
        array = np.array(values)
    except (OverflowError, ValueError):
        return None
    if array.shape != shape or array.dtype.kind not in "fiub":
        return None
    return array if array.dtype is FLOAT64 else array.astype(np.float64)


def _number(value: Any) -> float:
    """A number of some usual type; NaN, which the compiled loops refuse, for whatever else it may be."""
    return float(value) if type(value) in _NUMBERS and -ORDINARY < value < ORDINARY else np.nan
