"""Rows of a data frame as a model's recipe reads them: block by block, and said of each row that it skips."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from onward.regression.base import Learned
from onward.regression.batches import describe_targets, writeable
from onward.regression.coefficients import CoefficientLearner
from onward.tables import Block, Recipe, as_targets, as_weights, frame_columns
from onward.tables.times import Times, as_times


class RecipeLearner(CoefficientLearner):
    """Predicts and learns data frames that are read by the recipe."""

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

        names, n = self._fitted().names or [], count_rows(X)
        weights, moments = as_weights(sample_weight, n), None if times is None else as_times(times, n)
        predictions, leverages = np.full(n, np.nan), np.full(n, np.nan)
        for block in encode_blocks(self._own_recipe(), names, X, times=moments):
            w, when = writeable(weights[block.rows]), self._times_of(block, times)
            read = self._predict_by_name(block, w, when)
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

        n = count_rows(X)
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
        blocks, n = self._blocks_with_target(X, y, sample_weight, times, recipes.append), count_rows(X)
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


def count_rows(X: Any) -> int:
    """Of a data frame; ValueError if there is none."""
    n = int(X.shape[0])
    if n == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    return n
