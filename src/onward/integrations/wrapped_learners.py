"""Learners inside river's regressors: what all of these share, and the settings of each kind."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from numpy.typing import ArrayLike

from onward import regression
from onward.regression.auto import HALF_LIVES, LAMS
from onward.regression.start import Lam, Units

Features = Mapping[Any, float]


class Wrapped:
    """What river asks of any of them. The settings are the wrapped learner's, so they are kept in one place only."""

    model: regression.OnlineRegressor

    def _predict(self, x: Features) -> Any:
        try:
            return self.model.predict_one(x)
        except ValueError:
            # river's MinMaxScaler makes NaN of a feature that it has not seen yet. The model has not seen it either, so
            # the row is predicted without it; a NaN in a feature that the model knows is refused.
            known = set(getattr(self.model, "feature_names_in_", ()))
            seen = {name: value for name, value in x.items() if name in known or value == value}
            if len(seen) == len(x):
                raise
            return self.model.predict_one(seen)

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of what was learned. river would walk through everything in reach, and with it all compiled code."""
        fitted = self.model._state
        if fitted is None:
            return sys.getsizeof(self.model)
        names = sum(sys.getsizeof(name) for name in fitted.names or ())
        return sys.getsizeof(self.model) + fitted.buffer.nbytes + names


class WrappedAuto(Wrapped):
    """One with the settings of `AutoRegressor`."""

    model: regression.AutoRegressor

    def __init__(self, *, lams: Sequence[float] = LAMS, half_lives: Sequence[float | None] = HALF_LIVES) -> None:
        self.model = regression.AutoRegressor(lams=lams, half_lives=half_lives)

    @property
    def lams(self) -> Sequence[float]:
        """λ of the experts."""
        return self.model.lams

    @property
    def half_lives(self) -> Sequence[float | None]:
        """Memories of the experts."""
        return self.model.half_lives


class WrappedRegularized(Wrapped):
    """One with the settings that ridge and forward share."""

    @property
    def lam(self) -> Lam:
        """Regularisation λ."""
        return self.model.lam

    @property
    def intercept_lam(self) -> float | None:
        """λ of the constant."""
        return self.model.intercept_lam

    @property
    def units(self) -> Units:
        """What λ is in."""
        return self.model.units

    @property
    def half_life(self) -> float | None:
        """After so many rows a row counts half; None if all count alike. river's rows have no times."""
        return cast(float | None, self.model.half_life)

    @property
    def window(self) -> int | None:
        """How many rows count; None for all."""
        return self.model.window

    @property
    def fit_intercept(self) -> bool:
        """Whether there is a constant feature."""
        return self.model.fit_intercept

    @property
    def prior_mean(self) -> ArrayLike | Mapping[Any, float] | None:
        """The coefficients to start from."""
        return self.model.prior_mean

    @property
    def prior_intercept(self) -> ArrayLike:
        """The constant's coefficient to start from."""
        return self.model.prior_intercept


class WrappedForward(WrappedRegularized):
    """One with the settings of `ForwardRegressor`."""

    model: regression.ForwardRegressor

    def __init__(
        self,
        lam: Lam = 1.0,
        *,
        fit_intercept: bool = True,
        intercept_lam: float | None = 0.0,
        units: Units = "raw",
        half_life: float | None = None,
        window: int | None = None,
        prior_mean: ArrayLike | Mapping[Any, float] | None = None,
        prior_intercept: float = 0.0,
    ) -> None:
        self.model = regression.ForwardRegressor(
            lam,
            fit_intercept=fit_intercept,
            intercept_lam=intercept_lam,
            units=units,
            half_life=half_life,
            window=window,
            prior_mean=prior_mean,
            prior_intercept=prior_intercept,
        )


class WrappedRidge(WrappedRegularized):
    """One with the settings of `RidgeRegressor`."""

    model: regression.RidgeRegressor

    def __init__(
        self,
        lam: Lam = 1.0,
        *,
        fit_intercept: bool = True,
        intercept_lam: float | None = 0.0,
        units: Units = "raw",
        half_life: float | None = None,
        window: int | None = None,
        clip: float | None = None,
        prior_mean: ArrayLike | Mapping[Any, float] | None = None,
        prior_intercept: float = 0.0,
    ) -> None:
        self.model = regression.RidgeRegressor(
            lam,
            fit_intercept=fit_intercept,
            intercept_lam=intercept_lam,
            units=units,
            half_life=half_life,
            window=window,
            clip=clip,
            prior_mean=prior_mean,
            prior_intercept=prior_intercept,
        )

    @property
    def clip(self) -> float | None:
        """The bound on the predictions. It is the one setting that what was learned does not hang on: `mutate` it."""
        return self.model.clip

    @clip.setter
    def clip(self, clip: float | None) -> None:
        self.model.clip = clip

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"clip"}
