"""Data frames that have the columns of the table which a model has learned from: text, dates, truths and all.

A model that knows its columns (`recipe_`) takes them from a frame by name, and ignores others. A row that its recipe
skips for a missing value is not learned; what is said of it is NaN, where `onward predict` has null. Arrays, checked
rows and frames of the features themselves are taken as they are.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Literal, Self, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from onward.confidence import SetChoices
from onward.core.known import Method
from onward.core.types import Vector
from onward.regression.alone import alone
from onward.regression.base import Learned
from onward.regression.batches import describe_targets, writeable
from onward.regression.coefficients import CoefficientLearner
from onward.tables import Block, CheckedRows, Recipe, as_targets, as_weights, frame_columns
from onward.tables.times import Times, as_times


class ColumnLearner(CoefficientLearner):
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
        return super().predict(X, sample_weight, times)

    def leverage(self, X: Any) -> Vector:
        """xᵀG⁻¹x for each row: how little is known in its direction. Forward shrinks by it.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).

        Returns:
            Leverages, (n,).
        """
        return self._read_columns(X, None, None)[1] if self._reads_columns(X) else super().leverage(X)

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
            read = super().predict_many(X, sample_weight, times, return_leverage=True)
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
            learned = super().predict_then_learn(X, y, sample_weight, times, return_leverage=True)
        return learned if return_leverage else learned[0]

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
            learned = super().learn_many(X, y, sample_weight, times, return_leverage=True)
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
        if columns := how != "conformal" and self._reads_columns(X):  # else predictions are read, and they see to it
            from onward.tables.encode_values import encode_frame

            names = self._fitted().names or []
            encoded = encode_frame(self._own_recipe(), names, X)
            rows = CheckedRows(np.ascontiguousarray(encoded.X[:, : len(names)]), names)
            unknown = encoded.X[:, len(names) :].any(axis=1)
            out = np.full((_count_rows(X), 2), np.nan)
            if not len(encoded.X):
                return out
        ends = super().interval(rows, delta, sigma, theta_bound, of, method=how, **choices)
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
            raise ValueError(f"there is no row to score: a value is missing in all {_count_rows(X)}")
        return r_squared(*map(np.concatenate, (predictions, targets, weights)))

    # By the recipe

    def _reads_columns(self, X: Any) -> bool:
        """Whether X is a data frame to be read by the recipe; DataError if it should be, and lacks a column."""
        if self.recipe_ is None or (columns := frame_columns(X)) is None:
            return False
        from onward.tables.encode_values import has_columns

        return has_columns(self.recipe_, self._feature_names(), columns, "the data frame")

    def _own_recipe(self) -> Recipe:
        assert self.recipe_ is not None
        return self.recipe_

    def _feature_names(self) -> Sequence[Any]:
        return [] if self._state is None else self._state.names or []

    def _read_columns(self, X: Any, sample_weight: Any, times: Any) -> Learned:
        from onward.tables.encode_values import encode_blocks

        names, n = self._fitted().names or [], _count_rows(X)
        weights, moments = as_weights(sample_weight, n), None if times is None else as_times(times, n)
        predictions, leverages = np.full(n, np.nan), np.full(n, np.nan)
        for block in encode_blocks(self._own_recipe(), names, X, times=moments):
            w, when = writeable(weights[block.rows]), self._times_of(block, times)
            read = super().predict_many(block, w, when, return_leverage=True)
            predictions[block.rows], leverages[block.rows] = read
        return predictions, leverages

    def _times_of(self, block: Block, given: Any) -> Times | None:
        """The times of a block's rows, if the model goes by them; or if some were given, so that it can refuse them."""
        return None if self.half_life is None and given is None else block.times

    def _blocks_with_target(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        times: Any = None,
        remember: Callable[[Recipe], None] | None = None,
    ) -> Iterator[Block]:
        """The frame's rows with targets, weights and times, its own or those that are given."""
        from onward.tables.encode_values import encode_blocks

        n = _count_rows(X)
        targets, weights = None, None if sample_weight is None else writeable(as_weights(sample_weight, n))
        if y is not None:
            matrix, flat = as_targets(y, n)
            if not flat:
                raise ValueError(f"y has {describe_targets(matrix.shape[1], flat)}, but this model has a single target")
            targets = matrix[:, 0]
        names, remember = self._feature_names(), remember if self._own_recipe().lags else None
        return encode_blocks(
            self._own_recipe(),
            names,
            X,
            learning=True,
            y=targets,
            weight=weights,
            times=None if times is None else as_times(times, n),
            latest=self.latest_time,
            remember=remember,
        )

    def _learn_columns(self, X: Any, y: Any, sample_weight: Any, times: Any) -> Learned:
        self._check_settings()
        recipes: list[Recipe] = []
        blocks, n = self._blocks_with_target(X, y, sample_weight, times, recipes.append), _count_rows(X)
        predictions, leverages = np.full(n, np.nan), np.full(n, np.nan)
        first, second = next(blocks, None), next(blocks, None)
        targets, weights = np.zeros((n, 1)), np.zeros(n)  # of weight 0, rows that are skipped
        # A block is learned or refused as a whole; several need a copy to be thrown away if a later one is refused.
        learner = self if second is None else self.copy()
        for block in chain(*([each] for each in (first, second) if each is not None), blocks):
            assert block.y is not None
            learned = learner.learn_block(block.X, block.y, block.weight, block.names, self._times_of(block, times))
            predictions[block.rows], leverages[block.rows] = learned
            targets[block.rows, 0], weights[block.rows] = block.y, block.weight
        if learner is not self and learner._state is not None:
            self._commit(learner._state)
            self.sandwich_ = learner.sandwich_
        self._track(predictions[:, None], leverages, targets, weights)
        if recipes:
            self.recipe_ = recipes[-1]
        return predictions, leverages

    @alone
    def copy(self) -> Self:
        """A model of the same parameters that has learned the same, and learns on without touching this one."""
        copied = copy.copy(self)
        if self._state is not None:
            copied._commit(self._state.copy())
        if self.calibration_ is not None:
            copied.calibration_ = self.calibration_.copy()
        if self.anchors_ is not None:
            copied.anchors_ = self.anchors_.copy()
        if self.sandwich_ is not None:
            copied.sandwich_ = self.sandwich_.copy()
        return copied


def _count_rows(X: Any) -> int:
    """Of a data frame; ValueError if there is none."""
    n = int(X.shape[0])
    if n == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    return n


def r_squared(predictions: Vector, y: Vector, w: Vector) -> float:
    """1 − Σ w (ŷ − y)² / Σ w (y − ȳ)²; where targets are all one, 1 for perfect predictions and 0 for others."""
    if not w.any():
        return np.nan
    squared, spread = float(w @ (predictions - y) ** 2), float(w @ (y - w @ y / w.sum()) ** 2)
    return 1.0 - squared / spread if spread > 0 else float(squared == 0)
