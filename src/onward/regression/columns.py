"""Data frames that have the columns of the table which a model has learned from: text, dates, truths and all.

A model that knows its columns (`recipe_`) takes them from a frame by name, and ignores others. A row that its recipe
skips for a missing value is not learned; what is said of it is NaN, where `onward predict` has null. Arrays, checked
rows and frames of the features themselves are taken as they are.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from onward.confidence import SetChoices
from onward.core.checks import probability
from onward.core.known import Method
from onward.core.types import Vector
from onward.regression.alone import alone
from onward.regression.base import Learned
from onward.regression.batches import describe_targets
from onward.regression.half_life import in_a_list
from onward.regression.named import ONE
from onward.regression.recipe_rows import RecipeLearner, count_rows
from onward.tables import CheckedRows, as_targets, as_weights


class ColumnLearner(RecipeLearner):
    """Adds, to everything that takes tables, those that are read by the recipe."""

    @alone
    def predict(self, X: Any, sample_weight: Any = None, times: Any = None) -> NDArray[np.float64]:
        """Predict each row as if it came next. `sample_weight` is the weight with which it would be learned.

        Of a data frame with the columns that the model has learned from, a row that is skipped for a missing value has
        NaN; a level that the model does not know is a feature of which it knows nothing. Of a model with a half-life in
        time, `times` says when each row would come; without, it is when the latest row came.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).

        Returns:
            Predictions, (n,) or (n, targets).
        """
        if self._reads_columns(X):
            return self._read_columns(X, sample_weight, times)[0]
        return self._predict_in_order(X, sample_weight, times)

    def leverage(self, X: Any) -> Vector:
        """xᵀG⁻¹x for each row: how little is known in its direction. Forward shrinks by it.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).

        Returns:
            Leverages, (n,).
        """
        return self._read_columns(X, None, None)[1] if self._reads_columns(X) else self._leverage_in_order(X)

    @overload
    def predict_many(
        self, X: Any, sample_weight: Any = None, times: Any = None, *, return_leverage: Literal[False] = False
    ) -> NDArray[np.float64]: ...

    @overload
    def predict_many(
        self, X: Any, sample_weight: Any = None, times: Any = None, *, return_leverage: Literal[True]
    ) -> Learned: ...

    @alone
    def predict_many(
        self, X: Any, sample_weight: Any = None, times: Any = None, *, return_leverage: bool = False
    ) -> NDArray[np.float64] | Learned:
        """`predict` for a data frame by the names of its columns, like `predict_one` with a dict for each row.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            sample_weight: the weight of each row, (n,); None for 1.
            times: when each row comes, numbers or dates that do not fall, for a half-life in time; None otherwise.
            return_leverage: whether to give the leverages beside the predictions.
        """
        if self._reads_columns(X):
            read = self._read_columns(X, sample_weight, times)
        else:
            read = self._predict_by_name(X, sample_weight, times)
        return read if return_leverage else read[0]

    @overload
    def predict_then_learn(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        *,
        return_leverage: Literal[False] = False,
    ) -> NDArray[np.float64]: ...

    @overload
    def predict_then_learn(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None, *, return_leverage: Literal[True]
    ) -> Learned: ...

    @alone
    def predict_then_learn(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None, *, return_leverage: bool = False
    ) -> NDArray[np.float64] | Learned:
        """The online protocol: for each row in order, predict it, then learn its target.

        Returns the predictions, of the shape of y; with `return_leverage`, also each row's leverage (n,) at that time.
        They are the same, to the last bit, whether the rows come one at a time, in batches or all at once. A row of
        weight w counts like the row √w·x with target √w·y, so forward has w q for the leverage q.

        `times` has a number or a date for each row, for a half-life in time; they must not fall. A row is predicted
        from what is left of those before at its own time.

        Of a data frame with the columns that the model has learned from, y may be left out, and is then the column of
        the target; so are the weights and the times. A row that is skipped for a missing value has NaN.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            sample_weight: the weight of each row, (n,); None for 1.

        Returns:
            Predictions of the shape of y; with `return_leverage`, a pair of these and the leverages (n,).

        Raises:
            ValueError: if a value is not finite or shapes do not fit; nothing was learned then.
        """
        if self._reads_columns(X):
            learned = self._learn_columns(X, y, sample_weight, times)
        else:
            learned = self._learn_in_order(X, y, sample_weight, times)
        return learned if return_leverage else learned[0]

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None) -> Self:
        """Learn further rows, in order.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            y: targets: (n,), or (n, targets).
            sample_weight: the weight of each row, (n,); None for 1.
            times: when each row comes, numbers or dates that do not fall, for a half-life in time; None otherwise.

        Returns:
            The model itself.
        """
        self.predict_then_learn(X, y, sample_weight, times)
        return self

    @overload
    def learn_many(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        *,
        return_leverage: Literal[False] = False,
    ) -> NDArray[np.float64]: ...

    @overload
    def learn_many(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None, *, return_leverage: Literal[True]
    ) -> Learned: ...

    @alone
    def learn_many(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None, *, return_leverage: bool = False
    ) -> NDArray[np.float64] | Learned:
        """`predict_then_learn` for a data frame by the names of its columns, like `learn_one` with a dict for each row.

        Columns may come in any order. Without a recipe, new names become new features, and missing ones count as 0.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            y: targets: (n,), or (n, targets).
            sample_weight: the weight of each row, (n,); None for 1.
            times: when each row comes, numbers or dates that do not fall, for a half-life in time; None otherwise.
            return_leverage: whether to give the leverages beside the predictions.
        """
        if self._reads_columns(X):
            learned = self._learn_columns(X, y, sample_weight, times)
        else:
            learned = self._learn_by_name(X, y, sample_weight, times)
        return learned if return_leverage else learned[0]

    @alone
    def interval(
        self,
        X: Any,
        delta: float = 0.05,
        sigma: float | None = None,
        theta_bound: float | None = None,
        of: Literal["mean", "observation"] = "mean",
        *,
        method: Method | None = None,
        **choices: Unpack[SetChoices],
    ) -> NDArray[np.float64]:
        """Lower and upper ends for each row, of shape (n, 2), or (n, targets, 2) for several targets.

        `of="mean"`: for xᵀθ*, for all rows and rounds at once, with probability at least 1 − delta (for each target).
        `of="observation"`: for the target that the row would come with, of weight 1, by a `method`:

        - `conformal`: a share delta of rows is missed, if errors are like those of late, whatever they are. For models
          that were calibrated as they learned, by `onward.fit` or after `calibrate`, at the δ they have. (Of a
          pass itself, the share that is missed tends to delta whatever comes.)
        - `t`: a row is missed with probability delta, if the noise is Gaussian and the rows do not depend on it.
        - `uniform`: a row is missed with probability at most delta: half of it goes to its mean, half to the noise.
        - None: `uniform` if `sigma` is given, which only that relies on; else `conformal` if the model is calibrated;
          else `t`.

        The other arguments are those of `confidence_set`. An end is infinite where nothing is known, as of a row with a
        level that the model does not know (for `conformal`, as far off as the row's leverage says), and NaN where the
        recipe skips the row for a missing value.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            theta_bound: S ≥ ‖θ* − θ_0‖, as of `confidence_set`.
            choices: how the set is made: see `SetChoices`.

        Returns:
            Ends (n, 2), or (n, targets, 2).
        """
        rows, how = X, self._interval_method(of, method, sigma)
        if how == "conformal":
            probability("delta", delta)
            return self._calibrated_intervals(self.predict(X), self.leverage(X), delta)
        if columns := self._reads_columns(X):
            from onward.tables.encode_values import encode_frame

            names = self._fitted().names or []
            encoded = encode_frame(self._own_recipe(), names, X)
            rows = CheckedRows(np.ascontiguousarray(encoded.X[:, : len(names)]), names)
            unknown = encoded.X[:, len(names) :].any(axis=1)
            out = np.full((count_rows(X), 2), np.nan)
            if not len(encoded.X):
                return out
        ends = self._intervals(rows, how, delta, sigma, theta_bound, of, choices)
        if not columns:
            return ends
        ends[unknown] = -np.inf, np.inf
        out[encoded.rows] = ends
        return out

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of the predictions, 1 − Σ w (ŷ − y)² / Σ w (y − ȳ)², as scikit-learn has it.

        Of a data frame with the columns that the model has learned from, y may be left out, and is then the column of
        the target; so are the weights. Rows that are skipped for a missing value do not count.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            sample_weight: the weight of each row, (n,); None for 1.
        """
        if not self._reads_columns(X):
            self._require(y)
            from sklearn.metrics import r2_score

            predicted = self.predict(X)
            given, flat = as_targets(y, len(predicted))
            counts = None if sample_weight is None else as_weights(sample_weight, len(predicted))
            if given.size != predicted.size:
                own = describe_targets(self.n_targets_, predicted.ndim == 1)
                raise ValueError(f"y has {describe_targets(given.shape[1], flat)}, but this model has {own}")
            return float(r2_score(given, predicted.reshape(given.shape), sample_weight=counts))
        predictions, targets, weights = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        for block in self._blocks_with_target(X, y, sample_weight):
            assert block.y is not None
            predictions.append(self.predict_many(block))
            targets.append(block.y)
            weights.append(block.weight)
        if len(predictions) == 1:
            raise ValueError(f"there is no row to score: a value is missing in all {count_rows(X)}")
        return r_squared(*map(np.concatenate, (predictions, targets, weights)))

    @alone
    def _learn_row(self, x: Mapping[str, Any], y: Any, sample_weight: Any, time: Any) -> Self:
        """Learn a row to which later ones look back: as a table of one row, which keeps what they need."""
        import polars as pl

        weight, frame = None if sample_weight is ONE else [sample_weight], {name: [value] for name, value in x.items()}
        self.learn_many(pl.DataFrame(frame, strict=False), [y], weight, in_a_list(time))
        return self


def r_squared(predictions: Vector, y: Vector, w: Vector) -> float:
    """1 − Σ w (ŷ − y)² / Σ w (y − ȳ)²; where targets are all one, 1 for perfect predictions and 0 for others."""
    if not w.any():
        return np.nan
    squared, spread = float(w @ (predictions - y) ** 2), float(w @ (y - w @ y / w.sum()) ** 2)
    return 1.0 - squared / spread if spread > 0 else float(squared == 0)
