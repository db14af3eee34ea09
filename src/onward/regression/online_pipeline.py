"""A transformer before a learner, with all that the learner can do online."""

import copy
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from onward import storage
from onward.core.checks import whole
from onward.core.shown import brief, shortened
from onward.core.types import Matrix, Vector
from onward.core.words import counted
from onward.regression.estimator import Estimator
from onward.regression.learners import OnlineRegressor
from onward.regression.name_matching import Row
from onward.regression.random_features import transform_one
from onward.regression.transformer_files import (
    check_transformer,
    names_from_record,
    transformer_from_record,
    transformer_to_record,
)
from onward.tables import as_mapping

if TYPE_CHECKING:
    from sklearn.utils import Tags

_LONGEST = 1000  # characters of what a transformer says
_OF_MODEL, _OF_TRANSFORMER = "model ", "transformer "  # before the names of arrays in files


@storage.kind("pipeline")
class OnlinePipeline(Estimator):
    """Rows go through a transformer, and what comes out is learned: scikit-learn's pipeline for the online protocol.

    `fit` fits both, as scikit-learn's does. The online methods (`partial_fit`, `predict_then_learn`, `learn_one`,
    `predict_one`) leave the transformer as it is: a prediction would otherwise depend on rows that came later. So it
    must be fitted, or need no fitting, as `RandomFeatures`. Model and transformer that are given stay as they are;
    `model_` and `transformer_` are what has learned, and everything else a learner knows is asked of `model_`.

    Args:
        transformer: with `transform`: `RandomFeatures`, or one of scikit-learn, such as `RBFSampler`, `Nystroem`, or a
            pipeline of several.
        model: a learner of this library.

    Example:
        >>> import numpy as np
        >>> from onward import ForwardRegressor, OnlinePipeline, RandomFeatures
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-3, 3, (400, 1))
        >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(400)
        >>> curve = OnlinePipeline(RandomFeatures(gamma=1.0, n=50), ForwardRegressor(lam=0.1))
        >>> online = curve.predict_then_learn(X, y)
        >>> float(np.abs(curve.predict([[0.0], [1.0]]) - np.sin([0.0, 2.0])).max()) < 0.2
        True
    """

    model_: OnlineRegressor
    transformer_: Any
    n_features_in_: int
    learns_names_: bool  # there once a row of names was learned
    feature_names_in_: NDArray[np.object_]

    def __init__(self, transformer: Any, model: OnlineRegressor) -> None:
        self.transformer = transformer
        self.model = model

    # Both at once

    def fit(self, X: Any, y: Any, **given: Any) -> Self:
        """Forget everything, fit the transformer to X, then learn the rows in order.

        Args:
            y: targets: (n,), or (n, targets).
            given: keyword arguments of the model's method of this name.
        """
        from sklearn.base import clone

        self._check_parts()
        transformer = clone(self.transformer)
        rows = transformer.fit(X).transform(X)
        model = clone(self.model).fit(_dense(rows), y, **given)
        self._check_columns(X, reset=True)
        self.transformer_, self.model_ = transformer, model
        return self

    def partial_fit(self, X: Any, y: Any, **given: Any) -> Self:
        """Learn further rows, in order.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            y: targets: (n,), or (n, targets).
            given: keyword arguments of the model's method of this name.
        """
        self.predict_then_learn(X, y, **given)
        return self

    def predict_then_learn(self, X: Any, y: Any, **given: Any) -> Any:
        """The online protocol, as the model has it: for each row in order, predict it, then learn its target.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            y: targets: (n,), or (n, targets).
            given: keyword arguments of the model's method of this name.
        """
        transformer, model = self._begun()
        rows = _transformed(transformer, X)
        first = not hasattr(self, "n_features_in_")
        if not first:
            self._check_columns(X)
        learned = model.predict_then_learn(rows, y, **given)
        if first:
            self._check_columns(X, reset=True)
        self.transformer_, self.model_ = transformer, model
        return learned

    def learn_one(self, x: Row, y: Any, **given: Any) -> Self:
        """Learn one row: an array, or a dict if the transformer takes names.

        Args:
            x: one row: an array (features,), or a dict of named features.
            y: its target: a number, or (m,) of a model with several.
            given: keyword arguments of the model's method of this name.
        """
        transformer, model = self._begun()
        row = self._row(transformer, x)
        model.learn_one(row, y, **given)
        if isinstance(as_mapping(x), Mapping):
            self.learns_names_ = True
        elif not hasattr(self, "n_features_in_"):
            self.n_features_in_ = len(np.asarray(x))
        self.transformer_, self.model_ = transformer, model
        return self

    def predict_one(self, x: Row, **given: Any) -> Any:
        """Predict one row.

        Args:
            x: one row: an array (features,), or a dict of named features.
            given: keyword arguments of the model's method of this name.
        """
        transformer, model = self._begun()
        return model.predict_one(self._row(transformer, x), **given)

    def predict(self, X: Any, **given: Any) -> NDArray[np.float64]:
        """Predict each row as if it came next.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            given: keyword arguments of the model's method of this name.
        """
        return self._learned().predict(self._rows(X), **given)

    def leverage(self, X: Any) -> Vector:
        """φᵀG⁻¹φ of each row's features φ: with a kernel, the posterior variance by λ.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
        """
        return self._learned().leverage(self._rows(X))

    def interval(self, X: Any, *arguments: Any, **given: Any) -> NDArray[np.float64]:
        """Lower and upper ends for each row: the model's `interval`, of the features.

        Args:
            X: rows: an array, a sparse matrix or a data frame, (n, features).
            arguments: positional arguments of the model's method of this name.
            given: keyword arguments of the model's method of this name.
        """
        return self._learned().interval(self._rows(X), *arguments, **given)

    def calibrate(self, *arguments: Any, **given: Any) -> Self:
        """From now on, keep the errors of rows that are learned, for `conformal` intervals.

        Args:
            arguments: positional arguments of the model's method of this name.
            given: keyword arguments of the model's method of this name.
        """
        transformer, model = self._begun()
        model.calibrate(*arguments, **given)
        self.transformer_, self.model_ = transformer, model
        return self

    # Parts

    def _begun(self) -> tuple[Any, OnlineRegressor]:
        """What learns: of the parts that were given, copies, if nothing was learned yet."""
        if hasattr(self, "model_"):
            return self.transformer_, self.model_
        from sklearn.base import clone
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        self._check_parts()
        try:
            check_is_fitted(self.transformer)
        except NotFittedError as error:
            raise NotFittedError(
                f"the transformer must be fitted before rows are learned one after the other: give "
                f"{type(self.transformer).__name__}(…).fit(some rows), or call fit; got one that is not fitted"
            ) from error
        return copy.deepcopy(self.transformer), clone(self.model)

    def _check_parts(self) -> None:
        if not hasattr(self.transformer, "transform"):
            raise ValueError(f"transformer must have a method transform, got {brief(self.transformer)}")
        if not isinstance(self.model, OnlineRegressor):
            raise ValueError(f"model must be a learner of onward, such as ForwardRegressor(), got {brief(self.model)}")

    def _learned(self) -> OnlineRegressor:
        if not hasattr(self, "model_"):
            self._begun()  # which may have more to say
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: call fit or learn rows first")
        return self.model_

    def _rows(self, X: Any) -> Matrix:
        self._learned()
        rows = _transformed(self.transformer_, X)
        if hasattr(self, "n_features_in_"):
            self._check_columns(X)
        return rows

    def _row(self, transformer: Any, x: Row) -> Vector:
        named = hasattr(self, "feature_names_in_") or hasattr(self, "learns_names_")
        if isinstance(as_mapping(x), Mapping):
            if hasattr(self, "n_features_in_") and not named:
                raise ValueError("x must be an array, as before, whose columns have no names, got a dict of names")
        elif named:
            raise ValueError(f"x must be a dict of names, as before, got {type(x).__name__}")
        elif hasattr(self, "n_features_in_"):
            shape = np.asarray(x).shape
            if shape != (self.n_features_in_,):
                raise ValueError(
                    f"x must be one row of {counted(self.n_features_in_, 'feature')}, as before, got shape {shape}"
                )
        return transform_one(transformer, x)

    def _check_columns(self, X: Any, reset: bool = False) -> None:
        """Remember how many columns there are and their names, or see to it that they are those."""
        from sklearn.utils.validation import validate_data

        validate_data(self, X=X, reset=reset, skip_check_array=True)

    def __sklearn_tags__(self) -> "Tags":
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.transformer).input_tags.sparse
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    # Model files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file that `onward.load` reads. Of transformers: `RandomFeatures`, and some of scikit-learn.

        Args:
            path: the name of the file.
        """
        model = self._learned()
        settings, arrays = model.to_record()
        described, own = transformer_to_record(self.transformer_)
        named = {_OF_MODEL + name: each for name, each in arrays.items()}
        named |= {_OF_TRANSFORMER + name: each for name, each in own.items()}
        own_settings: storage.Settings = {"kind": model._kind, "model": settings, "transformer": described}
        if hasattr(self, "n_features_in_"):
            own_settings["columns"] = self.n_features_in_
        own_settings["learns_names"] = hasattr(self, "learns_names_")
        if hasattr(self, "feature_names_in_"):
            own_settings["names"] = list(self.feature_names_in_)
        storage.save(path, "pipeline", own_settings, named)

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The pipeline in a model file.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        from sklearn.base import clone

        def part(prefix: str) -> storage.Arrays:
            return {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}

        model = storage.made(settings["kind"], settings["model"], part(_OF_MODEL))
        if not isinstance(model, OnlineRegressor):
            raise ValueError(f"a {type(model).__name__}, expected a learner")
        transformer = transformer_from_record(settings["transformer"], part(_OF_TRANSFORMER))
        pipeline = cls(transformer, clone(model))
        pipeline.transformer_, pipeline.model_ = transformer, model
        columns = whole("columns", settings["columns"]) if "columns" in settings else None
        if columns is not None:
            pipeline.n_features_in_ = columns
        check_transformer(transformer, columns, model.n_features_in_)
        if settings.get("learns_names"):  # earlier files do not say
            pipeline.learns_names_ = True
        if "names" in settings:
            pipeline.feature_names_in_ = names_from_record(settings["names"])
            if len(pipeline.feature_names_in_) != columns:
                raise ValueError(f"{len(pipeline.feature_names_in_)} names for {columns} columns")
        return pipeline


def _transformed(transformer: Any, X: Any) -> Matrix:
    try:
        return _dense(transformer.transform(X))
    except ValueError as error:
        if len(words := str(error)) <= _LONGEST:
            raise
        raise ValueError(shortened(words, _LONGEST)) from None  # it may name columns of any length


def _dense(rows: Any) -> Matrix:
    array = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    return np.ascontiguousarray(array, dtype=np.float64)
