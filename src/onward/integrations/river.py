"""The learners as river regressors, for river's pipelines, evaluations and ensembles.

    from river import datasets, evaluate, metrics
    from onward.integrations.river import AutoRegressor

    evaluate.progressive_val_score(datasets.TrumpApproval(), AutoRegressor(), metrics.MAE())

A feature is known by its name: one that was never seen before becomes a new coordinate, exactly as if it had been there
at 0, and one that a row lacks counts as 0.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.typing import IntoDataFrame, IntoSeries

from onward import regression
from onward.integrations.wrapped_learners import Features, Wrapped, WrappedAuto, WrappedForward, WrappedRidge

try:
    from river import base
except ModuleNotFoundError as error:
    if error.name != "river":
        raise
    raise ImportError('onward.integrations.river needs river: pip install "onward[river]"', name="river") from None

__all__ = [
    "AutoRegressor",
    "ForwardRegressor",
    "MultiTargetAutoRegressor",
    "MultiTargetForwardRegressor",
    "MultiTargetRidgeRegressor",
    "RidgeRegressor",
]


class _OneTarget(Wrapped, base.MiniBatchRegressor):
    @classmethod
    def from_onward(cls, model: regression.OnlineRegressor) -> Self:
        """Go on in river from where an onward model stands. The model is shared, not copied.

        Args:
            model: of the same kind.

        Returns:
            A river regressor that holds the model.

        Raises:
            TypeError: if the model is of another kind.
            ValueError: if it was fitted without names, or with several targets.
        """
        wrapped = cls()
        if type(model) is not type(wrapped.model):
            expected = type(wrapped.model).__name__
            raise TypeError(f"expected an onward {expected}, got {type(model).__name__}")
        if model.__sklearn_is_fitted__():
            if not hasattr(model, "feature_names_in_"):
                raise ValueError(
                    f"river's rows are dicts of named features, but this model was fitted with {model.n_features_in_} "
                    "features without names; expected one that learned from dicts or from a frame"
                )
            if np.ndim(model.online_loss_):
                raise ValueError(f"expected a model of a single target, got {len(model.online_loss_)} target column(s)")
        wrapped.model = model
        return wrapped

    def learn_one(self, x: Features, y: float, w: float = 1.0) -> None:
        """Learn one row with weight w.

        Args:
            x: features by name.
            y: the target.
            w: the weight.

        Raises:
            ValueError: if the row cannot be learned; the model stays as it was.
        """
        if np.ndim(y):
            raise ValueError(f"y must be a number for a regressor of one target, got shape {np.shape(y)}")
        self.model.learn_one(x, y, w)

    def predict_one(self, x: Features) -> float:
        """Predict one row. Before anything was learned: the prior's prediction, 0 if none was given.

        Args:
            x: features by name.

        Returns:
            The prediction.
        """
        return float(self._predict(x))

    def learn_many(self, X: IntoDataFrame, y: IntoSeries, w: float | IntoSeries | None = None) -> None:
        """Learn the rows of a frame in order, as `learn_one` would: all of them, or none if one is refused.

        The columns may differ from call to call. `w` is one weight for all rows, or a series of them.

        Args:
            X: a frame.
            y: a series of targets.
            w: one weight for all rows, or a series.

        Raises:
            ValueError: if a row cannot be learned; the model stays as it was.
        """
        shape = np.shape(np.asarray(y))
        if len(shape) != 1:
            raise ValueError(f"y must be a series for a regressor of one target, got shape {shape}")
        if len(_frame(X)) or shape[0]:
            self.model.learn_many(X, y, w)

    def predict_many(self, X: IntoDataFrame) -> Any:
        """Predict each row of a frame; returns a series of the frame's kind, with its index.

        Args:
            X: a frame.

        Returns:
            A series of the frame's kind.
        """
        frame = _frame(X)
        if len(frame) and self.model.__sklearn_is_fitted__():
            values = self.model.predict_many(X)
        else:
            names: list[Hashable] = list(frame.columns)
            rows = (dict(zip(names, row, strict=True)) for row in frame.iter_rows())
            values = np.array([self.predict_one(x) for x in rows], dtype=np.float64)
        series = nw.new_series("", values, nw.Float64, backend=frame.implementation).to_native()
        if (index := nw.maybe_get_index(frame)) is not None:
            series.index, series.name = index, None
        return series


class _ManyTargets(Wrapped, base.MultiTargetRegressor):
    # The targets' names, in the model's order; none before a row was learned.
    targets: tuple[Hashable, ...] = ()

    def learn_one(self, x: Features, y: Mapping[Any, float], w: float = 1.0, **kwargs: Any) -> None:
        """Learn one row with weight w. Every row must have the targets of the first.

        What river hands to all steps of a pipeline, and is for others, is passed over.

        Args:
            x: features by name.
            y: targets by name.
            w: the weight.
            kwargs: not used.

        Raises:
            ValueError: if the row cannot be learned, or has other targets.
        """
        targets = self.targets or tuple(y)
        if len(y) != len(targets) or any(name not in y for name in targets):
            raise ValueError(f"y has targets {list(y)}, but this model was fitted with {list(targets)}")
        self.model.learn_one(x, [y[name] for name in targets], w)
        self.targets = targets

    def predict_one(self, x: Features) -> dict[Hashable, float]:
        """Predict one row. Before anything was learned the targets are not known: an empty dict.

        Args:
            x: features by name.

        Returns:
            The predictions by name.
        """
        if not self.targets:
            return {}
        return dict(zip(self.targets, self._predict(x).tolist(), strict=True))


class AutoRegressor(WrappedAuto, _OneTarget):
    """Ridge and forward over many λ and memories, weighed by how they do: `onward.AutoRegressor` in `.model`.

    There is nothing to tune, and no scaler is needed: λ is in the features' own units.

    Args:
        lams: λ > 0 of the experts, relative to the features' own scale.
        half_lives: memories of the experts: rows after which a row counts half; None for one that keeps all alike.

    Raises:
        ValueError: if a setting is out of its range.

    Example:
        >>> from onward.integrations.river import AutoRegressor
        >>> model = AutoRegressor()
        >>> for km in (1.0, 2.0, 3.0, 4.0):
        ...     model.learn_one({"km": km}, 3.0 + 2.0 * km)
        >>> 9.0 < model.predict_one({"km": 4.0}) < 12.0
        True
    """


class ForwardRegressor(WrappedForward, _OneTarget):
    """The forward algorithm (Vovk–Azoury–Warmuth) as a river regressor: `onward.ForwardRegressor` in `.model`.

    It predicts p / (1 + q), with p the ridge prediction and q = xᵀG⁻¹x the leverage of the row: where little is known,
    it says little.  [Alg. 2; for lam=0, App. E]

    Args:
        lam: regularisation λ ≥ 0: a number, or a dict of names, in which None stands for all that it does not name.
            With 0, a row that raises the rank is predicted as the prior's part alone.
        fit_intercept: add a constant feature.
        intercept_lam: λ ≥ 0 of the constant; None for `lam`, or its default if that is a dict.
        units: "raw" or "own": whether λ is in the units of the data, or the variance of each feature by now.
        half_life: after so many rows a row counts half as much; None if all count alike.
        window: only the last `window` rows count; None for all.
        prior_mean: coefficients to start from and shrink towards: a dict of names, or an array in the order of the
            first row.
        prior_intercept: the same for the constant.

    Raises:
        ValueError: if a setting is out of its range.

    Example:
        >>> from onward.integrations.river import ForwardRegressor
        >>> model = ForwardRegressor(lam=1e-6)
        >>> for km in (1.0, 2.0, 3.0, 4.0):
        ...     model.learn_one({"km": km}, 3.0 + 2.0 * km)
        >>> model.predict_one({"km": 4.0}) < 11.0  # it says a little less than ridge
        True
    """


class RidgeRegressor(WrappedRidge, _OneTarget):
    """Online ridge regression as a river regressor: `onward.RidgeRegressor` in `.model`.  [Alg. 1]

    Args:
        lam: regularisation λ > 0: a number, or a dict of names, in which None stands for all that it does not name.
        fit_intercept: add a constant feature.
        intercept_lam: λ ≥ 0 of the constant; None for `lam`, or its default if that is a dict.
        units: "raw" or "own": whether λ is in the units of the data, or the variance of each feature by now.
        half_life: after so many rows a row counts half as much; None if all count alike.
        window: only the last `window` rows count; None for all.
        clip: bound Y on the predictions, which are clipped to [−Y, Y]; None for no bound.
        prior_mean: coefficients to start from and shrink towards: a dict of names, or an array in the order of the
            first row.
        prior_intercept: the same for the constant.

    Raises:
        ValueError: if a setting is out of its range.

    Example:
        >>> from onward.integrations.river import RidgeRegressor
        >>> model = RidgeRegressor(lam=1e-6)
        >>> for km in (1.0, 2.0, 3.0, 4.0):
        ...     model.learn_one({"km": km}, 3.0 + 2.0 * km)
        >>> round(model.predict_one({"km": 5.0}), 3)
        13.0
    """


class MultiTargetAutoRegressor(WrappedAuto, _ManyTargets):
    """`AutoRegressor` for a dict of targets. They share the experts' states; each target weighs them for itself.

    Args:
        lams: λ > 0 of the experts, relative to the features' own scale.
        half_lives: memories of the experts: rows after which a row counts half; None for one that keeps all alike.

    Raises:
        ValueError: if a setting is out of its range.

    Example:
        >>> from onward.integrations.river import MultiTargetAutoRegressor
        >>> model = MultiTargetAutoRegressor()
        >>> for km in (1.0, 2.0, 3.0, 4.0):
        ...     model.learn_one({"km": km}, {"fare": 3.0 + 2.0 * km, "time": 10.0 * km})
        >>> sorted(model.predict_one({"km": 5.0}))
        ['fare', 'time']
    """


class MultiTargetForwardRegressor(WrappedForward, _ManyTargets):
    """`ForwardRegressor` for a dict of targets. They share one state, so many cost little more than one.

    Args:
        lam: regularisation λ ≥ 0: a number, or a dict of names, in which None stands for all that it does not name.
            With 0, a row that raises the rank is predicted as the prior's part alone.
        fit_intercept: add a constant feature.
        intercept_lam: λ ≥ 0 of the constant; None for `lam`, or its default if that is a dict.
        units: "raw" or "own": whether λ is in the units of the data, or the variance of each feature by now.
        half_life: after so many rows a row counts half as much; None if all count alike.
        window: only the last `window` rows count; None for all.
        prior_mean: coefficients to start from and shrink towards, as in `ForwardRegressor`, for every target alike.
        prior_intercept: the same for the constant.

    Raises:
        ValueError: if a setting is out of its range.

    Example:
        >>> from onward.integrations.river import MultiTargetForwardRegressor
        >>> model = MultiTargetForwardRegressor(lam=1e-6)
        >>> for km in (1.0, 2.0, 3.0, 4.0):
        ...     model.learn_one({"km": km}, {"fare": 3.0 + 2.0 * km, "time": 10.0 * km})
        >>> sorted(model.predict_one({"km": 5.0}))
        ['fare', 'time']
    """


class MultiTargetRidgeRegressor(WrappedRidge, _ManyTargets):
    """`RidgeRegressor` for a dict of targets. They share one state, so many cost little more than one.

    Args:
        lam: regularisation λ > 0: a number, or a dict of names, in which None stands for all that it does not name.
        fit_intercept: add a constant feature.
        intercept_lam: λ ≥ 0 of the constant; None for `lam`, or its default if that is a dict.
        units: "raw" or "own": whether λ is in the units of the data, or the variance of each feature by now.
        half_life: after so many rows a row counts half as much; None if all count alike.
        window: only the last `window` rows count; None for all.
        clip: bound Y on the predictions, which are clipped to [−Y, Y]; None for no bound.
        prior_mean: coefficients to start from and shrink towards, as in `RidgeRegressor`, for every target alike.
        prior_intercept: the same for the constant.

    Raises:
        ValueError: if a setting is out of its range.

    Example:
        >>> from onward.integrations.river import MultiTargetRidgeRegressor
        >>> model = MultiTargetRidgeRegressor(lam=1e-6)
        >>> for km in (1.0, 2.0, 3.0, 4.0):
        ...     model.learn_one({"km": km}, {"fare": 3.0 + 2.0 * km, "time": 10.0 * km})
        >>> {name: round(value, 3) for name, value in model.predict_one({"km": 5.0}).items()}
        {'fare': 13.0, 'time': 50.0}
    """


def _frame(X: IntoDataFrame) -> nw.DataFrame[Any]:
    return nw.from_native(X, eager_only=True)
