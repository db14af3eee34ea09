"""What every learner is made of: settings, a read-out, and a fitted state with what can be asked of it."""

import copy
import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onward.confidence import ConformalIntervals
from onward.confidence.anytime import Anchors
from onward.confidence.sandwich import Sandwich
from onward.core import Information
from onward.core.lam_words import described_lam
from onward.core.row_memory import reserve
from onward.core.sharing import Shared
from onward.core.shown import brief
from onward.core.single import Loops
from onward.core.types import Matrix, Vector
from onward.regression.alone import alone
from onward.regression.ensembles import Fitted
from onward.regression.estimator import Estimator
from onward.regression.fitted import FittedState, ReadOut
from onward.regression.half_life import HalfLife, describe_memory, memory_of
from onward.regression.start import Lam, Prior, Units, check_lam, check_units, lam_vector, prior_matrix, same_setting
from onward.tables import Recipe

if TYPE_CHECKING:
    from sklearn.utils import Tags

Learned = tuple[NDArray[np.float64], Vector]
"""Predictions and leverages, each from just before its row was learned."""

_CACHED = ("_loops", "_dict_loops", "_names_in_order", "_lock")


class Learner(Shared, Estimator):
    """Everything is checked, and learned, before anything of the model is replaced: by `_commit`."""

    _kind: Literal["forward", "ridge", "auto"]
    _state: Fitted | None = None
    _learned_with: tuple[str, ...] = (  # parameters of the state
        "lam",
        "fit_intercept",
        "intercept_lam",
        "units",
        "half_life",
        "window",
        "prior_mean",
        "prior_intercept",
    )
    recipe_: Recipe | None = None  # how the columns of a table became the features, where that is known
    calibration_: ConformalIntervals | None = None  # what past errors say of the next, where they were kept
    anchors_: Anchors | None = None  # the features' scale in intervals for coefficients, once these were asked for
    sandwich_: Sandwich | None = None  # what robust intervals need, where it was kept
    _tracks_sandwich = False

    # For one row at a time, from the fitted state: its buffer, and what rows and targets must look like.
    _buffer: Vector
    _flat: bool
    _row_shape: tuple[int] | None = None
    _target_shape: tuple[int]
    _loops: Loops | None
    _dict_loops: Loops | None
    _names_in_order: list[Hashable] | None

    def __init__(
        self,
        lam: Lam = 1.0,
        *,
        fit_intercept: bool = True,
        intercept_lam: float | None = 0.0,
        units: Units = "raw",
        half_life: HalfLife | None = None,
        window: int | None = None,
        prior_mean: Prior = None,
        prior_intercept: ArrayLike = 0.0,
    ) -> None:
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.intercept_lam = intercept_lam
        self.units = units
        self.half_life = half_life
        self.window = window
        self.prior_mean = prior_mean
        self.prior_intercept = prior_intercept

    # What makes a learner

    clip: float | None = None

    @property
    def _read_out(self) -> ReadOut:
        raise NotImplementedError

    def _check_settings(self) -> None:
        check_lam(self.lam, self.intercept_lam, positive=False)
        if not isinstance(self.fit_intercept, bool | int | np.bool_) or self.fit_intercept not in (0, 1):
            raise ValueError(f"fit_intercept must be True or False, got {brief(self.fit_intercept)}")
        check_units(self.units, self.lam, bool(self.fit_intercept), self.intercept_lam)
        if memory_of(self.half_life, self.window) is not None and self.units == "own":
            raise ValueError("a model that forgets has its λ in the units of the data: expected units='raw', got 'own'")

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn has it; ValueError for one that contradicts what the model has learned.

        Args:
            params: parameters by name.
        """
        for name, value in params.items() if self._state is not None else ():
            if name in self._learned_with and not same_setting(getattr(self, name), value):
                raise ValueError(
                    f"{name} cannot become {value!r}: this model has learned with {name}={getattr(self, name)!r}. Fit "
                    f"another: {type(self).__name__}({name}=…), or sklearn.base.clone(model).set_params({name}=…)"
                )
        super().set_params(**params)
        return self

    @property
    def forgets(self) -> bool:
        """Whether rows count less, or no more, as others come or as time goes by."""
        return self.half_life is not None or self.window is not None

    @property
    def _has_sets(self) -> bool:
        """Whether its state gives confidence sets and t intervals; calibrated intervals every learner has."""
        return not self.forgets

    @property
    def _has_contrasts(self) -> bool:
        """Whether there are intervals for coefficients: those of least squares, in which all rows count alike."""
        return not self.forgets

    # What was learned

    @property
    def information_(self) -> Information:
        """The state itself."""
        fitted = self._fitted()
        assert isinstance(fitted, FittedState)
        return fitted.state

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The ridge coefficients, (features,) or (targets, features). Forward shares them: it has one θ for each x."""
        theta = self._theta()[int(self._fitted().state.intercept) :].T
        return theta[0] if self._fitted().flat else theta

    @property
    def intercept_(self) -> Any:
        """The coefficient of the constant, a number or (targets,); 0 without one."""
        theta = self._theta()
        return self._scalar(theta[0] if self._fitted().state.intercept else np.zeros(theta.shape[1]))

    @property
    def n_seen_(self) -> int:
        """How many rows were learned."""
        return self._fitted().state.rows

    @property
    def information_gain_(self) -> float:
        """I = log det G − Σ log λ; = Σ log(1 + w q), if all rows count alike."""
        return self.information_.information_gain

    @property
    def regularized_loss_(self) -> Any:
        """min over θ of Σ w (y − xᵀθ)² + Σ λ_j (θ_j − θ_0j)², exactly, over all rows learned, as far as they count."""
        return self._scalar(self.information_.loss)

    @property
    def online_loss_(self) -> Any:
        """Σ w (ŷ − y)² of the predictions that were made, or would have been, just before each row was learned."""
        return self._scalar(self._fitted().state.online_loss)

    @property
    def n_targets_(self) -> int:
        """How many targets the model has."""
        return self._fitted().state.n_targets

    @property
    def latest_time(self) -> float:
        """The time of the latest row learned, in µs since 2000 if it was a date; NaN if rows have none."""
        state = None if self._state is None else self._state.state
        return state.time if isinstance(state, Information) else math.nan

    def describe(self) -> dict[str, str]:
        """What the model is, for a person: its settings by their names."""
        state = self.information_
        return {
            "λ": described_lam(state),
            "constant": ("yes" if state.lam[0] else "yes, not regularised") if state.intercept else "no",
            **({} if state.memory is None else {"memory": describe_memory(state.memory)}),
        }

    def _mean_squares(self) -> Vector:
        """The mean of x² of each coordinate over the rows (d,), the constant first."""
        state = self.information_
        squares = np.maximum(state.D @ np.square(state.triangle()) - state.lam, 0.0)  # the diagonal of Σ w xxᵀ
        if state.memory is not None:
            weight = state.weight
        else:
            weight = state.D[0] - state.lam[0] if state.intercept else float(max(state.counted, 1))
        return np.asarray(squares / weight) if weight > 0 else squares

    @alone
    def _theta(self) -> Matrix:
        return self.information_.coefficients() + self.information_.prior

    def _next_theta(self) -> Matrix:
        """The coefficients as the next row would find them: λ counts for more where rows count for less by then."""
        state = self.information_.ahead()
        return state.coefficients() + state.prior

    def _scalar(self, values: Vector) -> Any:
        return float(values[0]) if self._fitted().flat else values.copy()

    # Housekeeping

    def _new_state(
        self, n_features: int, n_targets: int | None, flat: bool | None, names: list[Hashable] | None
    ) -> Fitted:
        """Nothing learned yet. Without targets to go by (None), there are as many as the prior has."""
        intercept = bool(self.fit_intercept)
        prior = prior_matrix(self.prior_mean, self.prior_intercept, intercept, n_features, n_targets, names)
        lam = lam_vector(self.lam, self.intercept_lam, intercept, n_features, names)
        m = prior.shape[1]
        if self.calibration_ is not None and m > 1:
            raise ValueError(f"a calibrated model has one target, got {m}")
        if self._tracks_sandwich and m > 1:
            raise ValueError(f"robust intervals are for models of one target, got {m}")
        memory = memory_of(self.half_life, self.window)
        state = Information(n_features, m, lam, intercept, prior, own_units=self.units == "own", memory=memory)
        return FittedState(state, names, open=False, flat=m == 1 if flat is None else flat)

    def _commit(self, fitted: Fitted) -> None:
        """From here on the model is what was learned."""
        self._state = fitted
        state = fitted.state
        self._buffer, self._flat = fitted.buffer, fitted.flat
        self._names_in_order = self._loops = self._dict_loops = None
        self._row_shape, self._target_shape = (state.n_features,), (state.n_targets,)
        self.n_features_in_ = state.n_features
        if fitted.names is not None:
            self.feature_names_in_ = np.empty(len(fitted.names), dtype=object)
            self.feature_names_in_[:] = fitted.names

    def _keep_errors(self, X: Matrix, predictions: Vector, y: Vector, w: Vector) -> None:
        """Let the sums of robust intervals learn rows, in the order of the model's features."""
        if self.sandwich_ is None:
            self.sandwich_ = Sandwich(X.shape[1], self._fitted().state.intercept)
        self.sandwich_.learn(X, predictions, y, w)

    def _reserve(self, fitted: Fitted, rows: int) -> None:
        """See to it that there is room for rows in a window."""
        if isinstance(fitted, FittedState):
            reserve(fitted.state, rows)

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

    @alone
    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _CACHED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._state is not None:
            self._buffer = self._state.buffer  # what was one array may have become two

    def _fitted(self) -> Fitted:
        if self._state is None:
            from sklearn.exceptions import NotFittedError  # here, so that what is fitted does not wait for it

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit', 'partial_fit', 'learn_one' or "
                "'predict_then_learn' with appropriate arguments before using this estimator."
            )
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return self._state is not None

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
