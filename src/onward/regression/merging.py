"""Models that learned apart, and model files."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from onward import storage
from onward.confidence import ConformalIntervals
from onward.confidence.anytime import Anchors
from onward.confidence.sandwich import Sandwich
from onward.core.durations import as_microseconds, duration_text
from onward.core.shown import brief
from onward.regression.alone import alone
from onward.regression.batches import describe_targets
from onward.regression.ensembles import Fitted
from onward.regression.fitted import FittedState
from onward.regression.half_life import memory_of
from onward.regression.named import NamedLearner
from onward.regression.start import lam_of, prior_of, same_setting
from onward.tables import Recipe, as_mapping
from onward.tables.recipe_checks import check_recipe_of_model

_PARAMETER = "parameter "  # before the name of a setting that is an array


class MergeableLearner(NamedLearner):
    """Adds what others have learned, and is written to files."""

    def merge(self, other: "MergeableLearner") -> Self:
        """Add what another model learned from rows of its own: as if this one had seen them too.

        If they have a half-life, the other's rows are the later ones. Windows cannot be merged.
        Both must be of one kind, with the same settings, targets and features; models that learned by name may know
        different names, and end up with all of them. `online_loss_` becomes the sum of what both lost on their rows. Of
        two calibrations the other's stays, as its rows are the later ones. Robust intervals stay if both have them.

        Predictions of the rows agree with those of one pass to 1e-9 of the largest target, or the models are refused;
        of columns that in one of them are collinear but for a share s < 1e-5, λ included, to about 1e-14 / s, as two
        orders of the same rows do (1e-12 / s at worst). Coefficients along such a direction agree no better than
        rounding leaves them in one pass. With s < 2e-11 they are refused: there λ is below 1e-21 of a column's squares,
        or rows are of sizes too far apart.
        """
        if type(other) is not type(self):
            raise ValueError(f"cannot merge a {type(other).__name__} into a {type(self).__name__}")
        return self._merge_learner(other.copy())  # other threads may teach it meanwhile

    @alone
    def _merge_learner(self, other: "MergeableLearner") -> Self:
        self._check_mergeable()
        theirs = other.get_params(deep=False)
        for name, mine in self.get_params(deep=False).items():
            if not same_setting(mine, theirs[name]):
                raise ValueError(
                    f"cannot merge: this model has {name}={brief(mine)}, the other has {name}={brief(theirs[name])}"
                )
        if self.recipe_ is not None and other.recipe_ is not None:
            difference = self.recipe_.difference(other.recipe_)
            if difference is not None:
                raise ValueError(f"cannot merge: {difference}")
        elif self.recipe_ is not None and other._state is not None:
            self.recipe_.levels(other._state.names or [])  # an error for features that its columns do not make
        if other._state is None:
            return self
        if self._state is None:
            self._commit(other._state.copy())
            self.recipe_ = self.recipe_ or other.recipe_
            self.anchors_ = None if other.anchors_ is None else other.anchors_.copy()
            self.sandwich_ = None if other.sandwich_ is None else other.sandwich_.copy()
            self._tracks_sandwich = other._tracks_sandwich
        else:
            self._merge(self._state.copy(), other._state)
            self._merge_sandwich(other)
        if other.calibration_ is not None and other.calibration_.n_learned:
            self.calibration_ = other.calibration_.copy()  # errors cannot be put together: the later ones count
        if self.recipe_ is not None and other.recipe_ is not None and other.recipe_.lags:
            self.recipe_ = replace(self.recipe_, memory=other.recipe_.memory)  # the other's rows are the later ones
        return self

    def merge_part(self, part: "MergeableLearner") -> Self:
        """Add what was learned by a part that was started without regularisation, `ForwardRegressor(lam=0)`.

        Parts add up among themselves with `merge`, in any grouping, and serve a model of any λ, ridge or forward: the
        whole is what it would be, had it learned the parts' rows. `online_loss_` then adds what the parts lost.
        """
        if not isinstance(part, MergeableLearner):
            raise ValueError(f"cannot merge the part: expected a model with lam=0, got {brief(part)}")
        return self._merge_part(part.copy())

    @alone
    def _merge_part(self, part: "MergeableLearner") -> Self:
        self._check_mergeable()
        if not _is_zero(part.lam) or part.intercept_lam or bool(part.fit_intercept) != bool(self.fit_intercept):
            raise ValueError(
                f"cannot merge the part: expected lam=0 and fit_intercept={bool(self.fit_intercept)}, "
                f"got lam={brief(part.lam)} and fit_intercept={bool(part.fit_intercept)}"
            )
        if memory_of(part.half_life, part.window) != memory_of(self.half_life, self.window):
            raise ValueError(
                f"cannot merge the part: expected half_life={brief(self.half_life)} and window={brief(self.window)}, "
                f"got half_life={brief(part.half_life)} and window={brief(part.window)}"
            )
        if part._state is None:
            return self
        added = part._state
        if self._state is None:
            names = None if added.names is None else list(added.names)
            fitted = self._new_state(added.state.n_features, added.state.n_targets, added.flat, names)
        else:
            fitted = self._state.copy()
        self._merge(fitted, added)
        self.sandwich_, self._tracks_sandwich = None, False  # nobody predicted the part's rows with this model
        return self

    def restate_online_loss(self, loss: float) -> None:
        """Say what the predictions cost, where parts were merged and their rows predicted by others.

        Args:
            loss: Σ w (ŷ − y)² of the predictions that were made.
        """
        self.information_.online_loss[:] = loss

    def _check_mergeable(self) -> None:
        if self.units == "own":
            raise ValueError(
                "cannot merge models with units='own': their λ depends on the rows that each has seen; expected "
                "units='raw'"
            )

    def _merge(self, fitted: Fitted, added: Fitted) -> Self:
        assert isinstance(fitted, FittedState)  # others refuse to merge
        assert isinstance(added, FittedState)
        mine, theirs = (describe_targets(each.state.n_targets, each.flat) for each in (fitted, added))
        if mine != theirs:
            raise ValueError(f"cannot merge: this model has {mine}, the other has {theirs}")
        new = fitted.missing(added)
        fitted.grow(new, [lam_of(self.lam, name) for name in new], [prior_of(self.prior_mean, name) for name in new])
        fitted.merge(added)
        self._commit(fitted)
        return self

    def _merge_sandwich(self, other: "MergeableLearner") -> None:
        """Add what robust intervals need of the other's rows; without it there are none any more."""
        mine, theirs = self.sandwich_, other.sandwich_
        if mine is None or theirs is None:
            self.sandwich_, self._tracks_sandwich = None, False
            return
        fitted, added = self._fitted(), other._fitted()
        constant = int(fitted.state.intercept)
        names = range(added.state.n_features) if added.names is None else [fitted.columns[n] for n in added.names]
        self.sandwich_ = mine.copy().merge(
            theirs, fitted.state.n_features, [*range(constant), *(constant + j for j in names)]
        )

    # Model files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `onward.load` reads; to go on from it is exactly to go on from here.

        Args:
            path: the name of the file.
        """
        storage.save(path, self._kind, *self.to_record())

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        return storage.to_bytes(self._kind, *self.to_record())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` gave, or a file of `save` holds: to go on exactly from there.

        Args:
            data: the bytes.
        """
        model = storage.from_bytes(data)
        if not isinstance(model, cls):
            raise storage.StorageError(f"bytes: hold a {type(model).__name__}, expected {cls.__name__}")
        return model

    @alone
    def to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """Settings and arrays for a model file, which `from_record` takes."""
        settings, arrays = self._fitted().to_record()
        parameters, own = self.parameters_to_record()
        recipe = None if self.recipe_ is None else self.recipe_.to_record()
        if self.calibration_ is not None:
            arrays["calibration"] = self.calibration_.buffer
        if self.anchors_ is not None and len(self.anchors_):
            settings["anchors"] = self.anchors_.to_record()
        if self.sandwich_ is not None:
            arrays["sandwich"] = self.sandwich_.to_array()
        return settings | {"parameters": parameters, "recipe": recipe}, arrays | own

    @classmethod
    def from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Self:
        """The model that a file holds.

        Args:
            settings: plain values by name.
            arrays: arrays by name.
        """
        model = cls.from_parameters(settings["parameters"], arrays)
        model._commit(cls._fitted_from_record(settings, arrays))
        if settings.get("recipe") is not None:
            model.recipe_ = Recipe.from_record(settings["recipe"])
            check_recipe_of_model(model.recipe_, model._fitted().names, model._fitted().state.n_features)
            if not model._fitted().flat:
                raise ValueError("a model with a recipe has a single target, which comes without a second axis")
        if "calibration" in arrays:
            model.calibration_ = ConformalIntervals.from_buffer(arrays["calibration"])
        if settings.get("anchors") is not None:
            model.anchors_ = Anchors.from_record(settings["anchors"])
        if "sandwich" in arrays:
            state = model._fitted().state
            model.sandwich_ = Sandwich.from_array(arrays["sandwich"], state.n_features, state.intercept)
            model._tracks_sandwich = True
        return model

    @classmethod
    def _fitted_from_record(cls, settings: storage.Settings, arrays: storage.Arrays) -> Fitted:
        return FittedState.from_record(settings, arrays)

    def parameters_to_record(self) -> tuple[storage.Settings, storage.Arrays]:
        """The parameters that the model was made with, for a file; ValueError if one was set to what no model has."""
        self._check_settings()
        parameters: storage.Settings = {}
        arrays: storage.Arrays = {}
        for name, value in self.get_params(deep=False).items():
            value = as_mapping(value)
            if isinstance(value, Mapping):
                if not all(key is None or isinstance(key, str | int) for key in value):
                    raise ValueError(
                        f"cannot save: the names in {name} must be text or whole numbers, got {list(value)}"
                    )
                parameters[name] = {"names": list(value), "values": [float(each) for each in value.values()]}
            elif not isinstance(value, str) and (span := as_microseconds(value)) is not None:
                parameters[name] = duration_text(span)
            elif value is not None and np.ndim(value) > 0:
                arrays[_PARAMETER + name] = np.asarray(value, dtype=np.float64)
            else:
                parameters[name] = value.item() if isinstance(value, np.generic) else value
        return parameters, arrays

    @classmethod
    def from_parameters(cls, parameters: storage.Settings, arrays: storage.Arrays) -> Self:
        """A model that has learned nothing, of the parameters in a file.

        Args:
            arrays: arrays by name.
        """
        own: dict[str, Any] = {"intercept_lam": None} | {  # in files from before it was a setting, it was as lam
            name.removeprefix(_PARAMETER): each for name, each in arrays.items() if name.startswith(_PARAMETER)
        }
        for name, value in parameters.items():
            if isinstance(value, list) or (isinstance(value, dict) and not _are_numbers(value["values"])):
                raise ValueError(f"parameter {name} must be a number, text, or numbers by name, got {brief(value)}")
            own[name] = dict(zip(value["names"], value["values"], strict=True)) if isinstance(value, dict) else value
        model = cls(**own)
        model._check_settings()
        return model


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(v, int | float) and abs(v) < 1e308 for v in values)


def _is_zero(lam: Any) -> bool:
    return not isinstance(lam, Mapping) and not np.any(lam)
