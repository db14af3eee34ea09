"""Two read-outs of one state: online ridge, and forward, which is ridge shrunk by its own leverage."""

import math
import numbers
import os
from collections.abc import Hashable, Mapping
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from onward import storage
from onward.core import Information, kernel
from onward.core.types import Matrix, Vector
from onward.regression.guarantees import Guarantees
from onward.regression.knowledge import Knowledge
from onward.regression.prior import Prior, prior_matrix, prior_of
from onward.tables import (
    ArrayRows,
    Recipe,
    Rows,
    as_mapping,
    as_row,
    as_rows,
    as_target,
    as_targets,
    as_weights,
    blocks,
    in_one_block,
    placed,
)

Row = ArrayLike | Mapping[Any, float]
Learned = tuple[NDArray[np.float64], Vector]
"""Predictions and leverages, each from just before its row was learned."""

_FLOAT64 = np.dtype(np.float64)
_PLAIN = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})


class OnlineRegressor(Guarantees, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """What both learners share. Everything is checked, and learned, before anything of the model is replaced."""

    _knowledge: Knowledge | None = None
    _row_shape: tuple[int, ...]
    _quick: Information | None = None  # the state, if the one-row path may take the short way
    recipe_: Recipe | None = None  # how the columns of a table became the features, where that is known

    def __init__(
        self,
        lam: float = 1.0,
        *,
        fit_intercept: bool = True,
        prior_mean: Prior = None,
        prior_intercept: ArrayLike = 0.0,
    ) -> None:
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.prior_mean = prior_mean
        self.prior_intercept = prior_intercept

    # The read-out, which makes a learner

    def _read_out(self, base: Matrix | None, p: Matrix, q: Vector, w: Vector) -> Matrix:
        """Predictions from the prior's part (None for zero), p = xᵀG⁻¹b and the leverage q, for rows of weight w."""
        raise NotImplementedError

    def _read_out_one(self, p: float, q: float, w: float) -> float:
        """`_read_out` of one row, one target and no prior."""
        return p / (1.0 + w * q) if self._shrinks else min(max(p, -self._clip), self._clip)

    _shrinks = False  # whether a prediction is divided by 1 + leverage

    @property
    def _clip(self) -> float:
        return math.inf

    def _check_settings(self) -> None:
        if not isinstance(self.lam, numbers.Real) or not (self.lam == 0 or 1e-300 <= self.lam <= 1e300):
            raise ValueError(f"lam must be 0 or a number between 1e-300 and 1e300, got {self.lam!r}")

    # Tables: scikit-learn's protocol, and the online one

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows in order."""
        rows, targets, weights, flat = self._checked(X, y, sample_weight)
        if not weights.any():
            raise ValueError("sample_weight must not be zero for every row of a fit, got all zeros")
        self._begin(X, rows, targets, weights, flat)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn further rows, in order."""
        self.predict_then_learn(X, y, sample_weight)
        return self

    @overload
    def predict_then_learn(
        self, X: Any, y: Any, sample_weight: Any = None, *, return_leverage: Literal[False] = False
    ) -> NDArray[np.float64]: ...

    @overload
    def predict_then_learn(
        self, X: Any, y: Any, sample_weight: Any = None, *, return_leverage: Literal[True]
    ) -> Learned: ...

    def predict_then_learn(
        self, X: Any, y: Any, sample_weight: Any = None, *, return_leverage: bool = False
    ) -> NDArray[np.float64] | Learned:
        """The online protocol: for each row in order, predict it, then learn its target.

        Returns the predictions, of the shape of y; with `return_leverage`, also each row's leverage (n,) at that time.
        They are the same, to the last bit, whether the rows come one at a time, in batches or all at once. A row of
        weight w counts like the row √w·x with target √w·y, so the forward prediction is p / (1 + w q).
        """
        rows, targets, weights, flat = self._checked(X, y, sample_weight)
        if self._knowledge is None:
            learned = self._begin(X, rows, targets, weights, flat)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
            learned = self._go_on(self._knowledge, rows, targets, weights, flat)
        return learned if return_leverage else learned[0]

    def predict(self, X: Any, sample_weight: Any = None) -> NDArray[np.float64]:
        """Predict each row as if it came next. `sample_weight` is the weight with which it would be learned."""
        knowledge, rows = self._readable(X)
        weights = as_weights(sample_weight, rows.shape[0])
        out = np.empty((rows.shape[0], knowledge.state.n_targets))
        for where, block, _ in blocks(rows):
            p, q = knowledge.state.read(block)
            _checked_leverages(knowledge, q)
            out[where] = self._read_out(knowledge.base(block), p, q, _writeable(weights[where]))
        return _shaped(_checked_predictions(out), knowledge.flat)

    def leverage(self, X: Any) -> Vector:
        """xᵀG⁻¹x for each row: how little is known in its direction. Forward is ridge, divided by 1 + leverage."""
        knowledge, rows = self._readable(X)
        out = np.empty(rows.shape[0])
        for where, block, _ in blocks(rows):
            out[where] = _checked_leverages(knowledge, knowledge.state.read(block)[1])
        return out

    def _readable(self, X: Any) -> tuple[Knowledge, Rows]:
        knowledge = self._fitted()
        rows = as_rows(X, self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return knowledge, rows

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Matrix, Vector, bool]:
        self._check_settings()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        rows = as_rows(X, self)
        targets, flat = as_targets(y, rows.shape[0])
        weights = as_weights(sample_weight, rows.shape[0])
        return rows, targets, weights, flat

    def _begin(self, X: Any, rows: Rows, targets: Matrix, weights: Vector, flat: bool) -> Learned:
        # As scikit-learn has it: names count only if they are text.
        names = rows.names if all(isinstance(name, str) for name in rows.names or ()) else None
        knowledge = self._new_knowledge(rows.shape[1], targets.shape[1], flat, names)
        predictions, leverages = self._learn(knowledge, rows, targets, weights)
        validate_data(self, X, reset=True, skip_check_array=True)
        self._commit(knowledge)
        return _shaped(predictions, flat), leverages

    def _go_on(self, knowledge: Knowledge, rows: Rows, targets: Matrix, weights: Vector, flat: bool) -> Learned:
        _check_targets(knowledge, targets, flat)
        # A block is learned or refused as a whole; several need a copy to be thrown away if a later one is refused.
        knowledge = knowledge if in_one_block(rows) else knowledge.copy()
        predictions, leverages = self._learn(knowledge, rows, targets, weights)
        self._commit(knowledge)
        return _shaped(predictions, flat), leverages

    def _learn(self, knowledge: Knowledge, rows: Rows, targets: Matrix, weights: Vector) -> Learned:
        predictions, leverages = np.empty_like(targets), np.empty(rows.shape[0])
        for where, block, squares in blocks(rows):
            w = _writeable(weights[where])
            predictions[where], leverages[where] = knowledge.learn(block, targets[where], w, self._read_out, squares)
        return predictions, leverages

    # One row at a time, and rows by name

    def predict_one(self, x: Row, sample_weight: float = 1.0) -> Any:
        """Predict one row: an array, or a dict of named features in which missing names count as 0.

        Before anything was learned the prediction is the prior's: 0, if none was given. Returns a number, or an array
        of shape (m,) if the model has several targets.
        """
        state = self._quick
        if state is not None and type(sample_weight) is float and 0.0 <= sample_weight < kernel.ORDINARY:
            row = self._plain_row(x)
            if row is not None:
                p, q = kernel.read_one(row, state.intercept, state.U, state.D, state.c)
                if p - p == 0.0 and q - q == 0.0:  # both finite; what is not is looked into below
                    return self._read_out_one(p, q, sample_weight)
        names, values = _named_row(x)
        weights = as_weights(sample_weight, 1)
        knowledge = self._knowledge
        if knowledge is None:  # nothing learned: what is predicted is the prior's part
            self._check_settings()
            knowledge = self._new_knowledge(values.shape[1], None, None, names)
            names = None
        prediction = self._read_named(knowledge, names, values, weights)[0][0]
        return float(prediction[0]) if knowledge.flat else prediction

    def learn_one(self, x: Row, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row. A name first seen in a dict becomes a new feature, exactly as if it had been there, at 0."""
        state = self._quick
        if state is not None and type(y) in _PLAIN and type(sample_weight) in _PLAIN:
            row = self._plain_row(x)
            if row is not None and abs(y) < kernel.ORDINARY and abs(sample_weight) < kernel.ORDINARY:
                knowledge = self._fitted()
                factor = (state.intercept, state.U, state.D, state.c, state.loss, state.tally)
                if kernel.absorb_one(
                    row, float(y), float(sample_weight), *factor, self._shrinks, self._clip, knowledge.online_loss
                ):
                    if type(x) is dict:
                        knowledge.open = True
                    return self
        names, values = _named_row(x)
        targets, flat = as_target(y)
        self._learn_named(names, ArrayRows(values), targets, as_weights(sample_weight, 1), flat)
        return self

    @overload
    def predict_many(
        self, X: Any, sample_weight: Any = None, *, return_leverage: Literal[False] = False
    ) -> NDArray[np.float64]: ...

    @overload
    def predict_many(self, X: Any, sample_weight: Any = None, *, return_leverage: Literal[True]) -> Learned: ...

    def predict_many(
        self, X: Any, sample_weight: Any = None, *, return_leverage: bool = False
    ) -> NDArray[np.float64] | Learned:
        """`predict` for a data frame by the names of its columns, like `predict_one` with a dict for each row."""
        names, rows = _named_table(X)
        weights = as_weights(sample_weight, rows.shape[0])
        knowledge = self._knowledge
        if knowledge is None:  # nothing learned: what is predicted is the prior's part
            self._check_settings()
            knowledge = self._new_knowledge(rows.shape[1], None, None, names)
            names = None
        out, leverages = np.empty((rows.shape[0], knowledge.state.n_targets)), np.empty(rows.shape[0])
        for where, block, _ in blocks(rows):
            out[where], leverages[where] = self._read_named(knowledge, names, block, _writeable(weights[where]))
        predictions = _shaped(out, knowledge.flat)
        return (predictions, leverages) if return_leverage else predictions

    @overload
    def learn_many(
        self, X: Any, y: Any, sample_weight: Any = None, *, return_leverage: Literal[False] = False
    ) -> NDArray[np.float64]: ...

    @overload
    def learn_many(self, X: Any, y: Any, sample_weight: Any = None, *, return_leverage: Literal[True]) -> Learned: ...

    def learn_many(
        self, X: Any, y: Any, sample_weight: Any = None, *, return_leverage: bool = False
    ) -> NDArray[np.float64] | Learned:
        """`predict_then_learn` for a data frame by the names of its columns, like `learn_one` with a dict for each row.

        Columns may come in any order; new names become new features, missing ones count as 0.
        """
        names, rows = _named_table(X)
        targets, flat = as_targets(y, rows.shape[0])
        learned = self._learn_named(names, rows, targets, as_weights(sample_weight, rows.shape[0]), flat)
        return learned if return_leverage else learned[0]

    def _plain_row(self, x: object) -> Vector | None:
        """x as the compiled loop for one row takes it, if that is quickly done; None for whatever else it may be."""
        if type(x) in (np.ndarray, list, tuple):
            row = x if type(x) is np.ndarray else _as_array(x)
            if row is None or row.shape != self._row_shape or row.dtype.kind not in "fiub":
                return None
            # Any other type or layout would be compiled for anew.
            return row if row.dtype == _FLOAT64 and row.flags.carray else np.array(row, dtype=np.float64)
        if type(x) is dict and self._fitted().names is not None:
            columns, row = self._fitted().columns, np.zeros(self._row_shape)
            for name, value in x.items():
                column = columns.get(name)
                if column is None or type(value) not in _PLAIN or not -kernel.ORDINARY < value < kernel.ORDINARY:
                    return None
                row[column] = value
            return row
        return None

    def _read_named(self, knowledge: Knowledge, names: list[Hashable] | None, X: Matrix, w: Vector) -> Learned:
        known, places, unknown = _match(knowledge, names, X.shape[1])
        rows = (
            X if names is None else placed(ArrayRows(X[:, known]), places, knowledge.state.n_features).block(0, len(X))
        )
        p, q = knowledge.state.read(rows)
        _checked_leverages(knowledge, q)
        base = knowledge.base(rows)
        for column in unknown:
            # As growing would have it: a new coordinate knows nothing, so only its leverage and its prior count.
            x = X[:, column]
            if knowledge.state.lam > 0:
                q += x**2 / knowledge.state.lam
            else:
                q[x != 0.0] = np.inf
                p[x != 0.0] = 0.0
            prior = prior_of(self.prior_mean, (names or [])[column])
            if prior:
                base = (0.0 if base is None else base) + np.repeat((prior * x)[:, None], p.shape[1], axis=1)
        return _checked_predictions(self._read_out(base, p, q, w)), q

    def _learn_named(
        self, names: list[Hashable] | None, rows: Rows, targets: Matrix, weights: Vector, flat: bool
    ) -> Learned:
        self._check_settings()
        knowledge = self._knowledge
        if knowledge is None:
            knowledge = self._new_knowledge(rows.shape[1], targets.shape[1], flat, names)
            knowledge.open = names is not None
        elif names is not None:
            known, places, unknown = _match(knowledge, names, rows.shape[1])
            if unknown:
                knowledge = knowledge.copy()
                new = [names[column] for column in unknown]
                width = knowledge.state.n_features
                knowledge.grow(new, [prior_of(self.prior_mean, name) for name in new])
                placing = dict(zip(known, places, strict=True)) | {c: width + i for i, c in enumerate(unknown)}
                places = [placing[column] for column in range(len(names))]
            rows = placed(rows, places, knowledge.state.n_features)
        else:
            _match(knowledge, None, rows.shape[1])
        learned = self._go_on(knowledge, rows, targets, weights, flat)
        self._fitted().open |= names is not None
        return learned

    # Models that learned apart

    def merge(self, other: "OnlineRegressor") -> Self:
        """Add what another model learned from rows of its own: as if this one had seen them too.

        Both must be of one kind, with the same settings, targets and features; models that learned by name may know
        different names, and end up with all of them. `online_loss_` becomes the sum of what both lost on their rows.
        """
        if type(other) is not type(self):
            raise ValueError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}")
        theirs = other.get_params(deep=False)
        for name, mine in self.get_params(deep=False).items():
            if not _equal(mine, theirs[name]):
                raise ValueError(f"cannot merge: this model has {name}={mine!r}, the other has {name}={theirs[name]!r}")
        if self.recipe_ is not None and other.recipe_ is not None:
            difference = self.recipe_.difference(other.recipe_)
            if difference is not None:
                raise ValueError(f"cannot merge: {difference}")
        if other._knowledge is None:
            return self
        if self._knowledge is None:
            self._commit(other._knowledge.copy())
            self.recipe_ = self.recipe_ or other.recipe_
            return self
        return self._merge(self._knowledge.copy(), other._knowledge)

    def merge_part(self, part: "OnlineRegressor") -> Self:
        """Add what was learned by a part that was started without regularisation, `ForwardRegressor(lam=0)`.

        Parts add up among themselves with `merge`, in any grouping, and serve a model of any λ, ridge or forward: the
        whole is what it would be, had it learned the parts' rows. `online_loss_` then adds what the parts lost.
        """
        if part.lam != 0 or bool(part.fit_intercept) != bool(self.fit_intercept):
            raise ValueError(
                f"cannot merge the part: expected lam=0 and fit_intercept={bool(self.fit_intercept)}, "
                f"got lam={part.lam} and fit_intercept={bool(part.fit_intercept)}"
            )
        if part._knowledge is None:
            return self
        added = part._knowledge
        if self._knowledge is None:
            names = None if added.names is None else list(added.names)
            knowledge = self._new_knowledge(added.state.n_features, added.state.n_targets, added.flat, names)
        else:
            knowledge = self._knowledge.copy()
        return self._merge(knowledge, added)

    def restate_online_loss(self, loss: float) -> None:
        """Say what the predictions cost, where parts were merged and their rows predicted by others."""
        self._fitted().online_loss[:] = loss

    def _merge(self, knowledge: Knowledge, added: Knowledge) -> Self:
        if (knowledge.flat, knowledge.state.n_targets) != (added.flat, added.state.n_targets):
            raise ValueError(
                f"cannot merge: this model has {_describe(knowledge.state.n_targets, knowledge.flat)}, "
                f"the other has {_describe(added.state.n_targets, added.flat)}"
            )
        new = knowledge.missing(added)
        knowledge.grow(new, [prior_of(self.prior_mean, name) for name in new])
        knowledge.merge(added)
        self._commit(knowledge)
        return self

    # Model files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `onward.load` reads; to go on from it is exactly to go on from here."""
        storage.save(path, self._kind, *self.to_record())

    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        settings, arrays = self._fitted().to_record()
        parameters: dict[str, Any] = {}
        for name, value in self.get_params(deep=False).items():
            value = as_mapping(value)
            if isinstance(value, Mapping):
                if not all(isinstance(key, str | int) for key in value):
                    raise ValueError(
                        f"cannot save: the names in {name} must be text or whole numbers, got {list(value)}"
                    )
                parameters[name] = {"names": list(value), "values": [float(each) for each in value.values()]}
            elif value is not None and np.ndim(value) > 0:
                arrays[f"parameter {name}"] = np.asarray(value, dtype=np.float64)
            else:
                parameters[name] = value.item() if isinstance(value, np.generic) else value
        recipe = None if self.recipe_ is None else self.recipe_.to_record()
        return settings | {"parameters": parameters, "recipe": recipe}, arrays

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The model that a file holds."""
        parameters = dict(settings["parameters"])
        for name, value in parameters.items():
            if isinstance(value, dict):
                parameters[name] = dict(zip(value["names"], value["values"], strict=True))
        prefix = "parameter "
        parameters |= {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
        model = cls(**parameters)
        model._check_settings()
        model._commit(Knowledge.from_record(settings, arrays))
        if settings.get("recipe") is not None:
            model.recipe_ = Recipe.from_record(settings["recipe"])
        return model

    # What was learned

    @property
    def information_(self) -> Information:
        """The state itself."""
        return self._fitted().state

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The ridge coefficients, (features,) or (targets, features). Forward shares them: it has one θ for each x."""
        theta = self._theta()[int(self.information_.intercept) :].T
        return theta[0] if self._fitted().flat else theta

    @property
    def intercept_(self) -> Any:
        """The coefficient of the constant, a number or (targets,); 0 without one."""
        theta = self._theta()
        constant = theta[0] if self.information_.intercept else np.zeros(theta.shape[1])
        return self._scalar(constant)

    @property
    def n_seen_(self) -> int:
        """How many rows were learned."""
        return self.information_.rows

    @property
    def information_gain_(self) -> float:
        """I = log det G − d log λ = Σ log(1 + w q)."""
        return self.information_.information_gain

    @property
    def regularized_loss_(self) -> Any:
        """min over θ of Σ w (y − xᵀθ)² + λ‖θ − θ_0‖², exactly, over all rows learned."""
        return self._scalar(self.information_.loss)

    @property
    def online_loss_(self) -> Any:
        """Σ w (ŷ − y)² of the predictions that were made, or would have been, just before each row was learned."""
        return self._scalar(self._fitted().online_loss)

    def _theta(self) -> Matrix:
        knowledge = self._fitted()
        theta = knowledge.state.coefficients()
        return theta if knowledge.prior is None else theta + knowledge.prior

    def _scalar(self, values: Vector) -> Any:
        return float(values[0]) if self._fitted().flat else values.copy()

    # Housekeeping

    def _new_knowledge(
        self, n_features: int, n_targets: int | None, flat: bool | None, names: list[Hashable] | None
    ) -> Knowledge:
        """Nothing learned yet. Without targets to go by (None), there are as many as the prior has."""
        prior = prior_matrix(
            self.prior_mean, self.prior_intercept, bool(self.fit_intercept), n_features, n_targets, names
        )
        m = n_targets if n_targets is not None else 1 if prior is None else prior.shape[1]
        state = Information(n_features, m, self.lam, bool(self.fit_intercept))
        return Knowledge(state, np.zeros(m), prior, names, open=False, flat=m == 1 if flat is None else flat)

    def _commit(self, knowledge: Knowledge) -> None:
        """From here on the model is what was learned."""
        self._knowledge = knowledge
        self._quick = knowledge.state if knowledge.flat and knowledge.prior is None else None
        self._row_shape = (knowledge.state.n_features,)
        self.n_features_in_ = knowledge.state.n_features
        if knowledge.names is not None:
            self.feature_names_in_ = np.empty(len(knowledge.names), dtype=object)
            self.feature_names_in_[:] = knowledge.names

    def _fitted(self) -> Knowledge:
        if self._knowledge is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit', 'partial_fit', 'learn_one' or "
                "'predict_then_learn' with appropriate arguments before using this estimator."
            )
        return self._knowledge

    def __sklearn_is_fitted__(self) -> bool:
        return self._knowledge is not None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@storage.kind("forward")
class ForwardRegressor(OnlineRegressor):
    """The forward algorithm (Vovk–Azoury–Warmuth): ridge, shrunk by its own leverage.

    It predicts p / (1 + q), with p the ridge prediction and q = xᵀG⁻¹x the leverage of the row: where little is known,
    it says little.  [Alg. 2; for lam=0, App. E]

    Args:
        lam: regularisation λ ≥ 0. With 0, a row that raises the rank is predicted as 0.
        fit_intercept: add a constant feature, regularised like the others.
        prior_mean: coefficients to start from and shrink towards: an array of the shape of `coef_`, or a dict of names.
        prior_intercept: the same for the constant.
    """

    _kind: Literal["forward", "ridge"] = "forward"
    _shrinks = True

    def _read_out(self, base: Matrix | None, p: Matrix, q: Vector, w: Vector) -> Matrix:
        predictions = kernel.shrink(p, q, w)
        return predictions if base is None else base + predictions


@storage.kind("ridge")
class RidgeRegressor(OnlineRegressor):
    """Online ridge regression: predicts p = xᵀG⁻¹b from the rows before.  [Alg. 1]

    Args:
        lam: regularisation λ > 0.
        fit_intercept: add a constant feature, regularised like the others.
        clip: bound Y on the predictions, which are clipped to [−Y, Y]; None for no bound.
        prior_mean: coefficients to start from and shrink towards: an array of the shape of `coef_`, or a dict of names.
        prior_intercept: the same for the constant.
    """

    _kind: Literal["forward", "ridge"] = "ridge"

    def __init__(
        self,
        lam: float = 1.0,
        *,
        fit_intercept: bool = True,
        clip: float | None = None,
        prior_mean: Prior = None,
        prior_intercept: ArrayLike = 0.0,
    ) -> None:
        super().__init__(lam, fit_intercept=fit_intercept, prior_mean=prior_mean, prior_intercept=prior_intercept)
        self.clip = clip

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.lam == 0:
            raise ValueError("lam must be positive for ridge, got 0; ForwardRegressor takes lam=0")
        if self.clip is not None and not (isinstance(self.clip, numbers.Real) and self.clip > 0):
            raise ValueError(f"clip must be None or a positive number, got {self.clip!r}")

    def _read_out(self, base: Matrix | None, p: Matrix, q: Vector, w: Vector) -> Matrix:
        predictions = p if base is None else base + p
        return predictions if self.clip is None else np.clip(predictions, -self.clip, self.clip)

    @property
    def _clip(self) -> float:
        return math.inf if self.clip is None else float(self.clip)


def _named_row(x: Row) -> tuple[list[Hashable] | None, Matrix]:
    """One row as an array (1, features) of finite numbers, with names if it is a dict or a named series."""
    x = as_mapping(x)
    if isinstance(x, Mapping):
        return list(x), as_row(list(x.values()), list(x))
    return None, as_row(x)


def _named_table(X: Any) -> tuple[list[Hashable] | None, Rows]:
    rows = as_rows(X, min_columns=0)
    if rows.names is None:
        raise ValueError(f"X must be a data frame with named columns, got {type(X).__name__}")
    if len(set(rows.names)) < len(rows.names):
        raise ValueError(f"X must have different column names, got {rows.names}")
    return rows.names, rows


def _match(knowledge: Knowledge, names: list[Hashable] | None, width: int) -> tuple[list[int], list[int], list[int]]:
    """Which columns are known, where they stand in the model, and which columns are not known."""
    expected = knowledge.state.n_features
    if names is None:
        if width != expected:
            raise ValueError(f"x has {width} features, but this model was fitted with {expected}")
        return list(range(width)), list(range(width)), []
    if knowledge.names is None:
        raise ValueError(
            f"x has named features, but this model was fitted with {expected} features without names; expected an array"
        )
    position = [knowledge.columns.get(name) for name in names]
    known = [column for column, place in enumerate(position) if place is not None]
    unknown = [column for column, place in enumerate(position) if place is None]
    return known, [place for place in position if place is not None], unknown


def _shaped(predictions: Matrix, flat: bool) -> NDArray[np.float64]:
    return predictions[:, 0] if flat else predictions


def _describe(count: int, flat: bool) -> str:
    return "a single target" if flat else f"{count} target column(s)"


def _check_targets(knowledge: Knowledge, targets: Matrix, flat: bool) -> None:
    came, expected = _describe(targets.shape[1], flat), _describe(knowledge.state.n_targets, knowledge.flat)
    if came != expected:
        raise ValueError(f"y has {came}, but this model was fitted with {expected}")


def _writeable(values: Vector) -> Vector:
    """A read-only array would be compiled for anew."""
    return np.require(values, requirements=["C", "W"])


def _as_array(x: object) -> NDArray[Any] | None:
    try:
        return np.array(x)
    except (OverflowError, ValueError):
        return None  # whatever it is, it is explained elsewhere


def _checked_leverages(knowledge: Knowledge, q: Vector) -> Vector:
    """Infinite is what nothing is known of, and only without regularisation; otherwise it is an overflow."""
    if knowledge.state.lam > 0 and not np.isfinite(q).all():
        raise ValueError(
            "a leverage overflows double precision: expected ‖x‖² / lam below 1e300, "
            f"with lam={knowledge.state.lam:g}; rescale the columns"
        )
    return q


def _checked_predictions(predictions: Matrix) -> Matrix:
    if not np.isfinite(predictions).all():
        raise ValueError(
            "a prediction overflows double precision: expected values whose products with the coefficients stay below "
            "1e300; rescale the columns"
        )
    return predictions


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) or isinstance(b, Mapping) or a is None or b is None:
        return type(a) is type(b) and bool(a == b)
    return np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b)))
