"""What a learner can say of its coefficients: a table of them, and contrasts, each with an interval."""

from collections.abc import Hashable, Mapping
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from onward.confidence.anytime import Anchors, Contrast, Estimates, anytime_estimates
from onward.confidence.assumptions import has_binary_targets
from onward.confidence.choose import SetChoices
from onward.confidence.ordinary import OrdinaryLeastSquares
from onward.core import Information
from onward.core.checks import finite, is_hashable, is_real, whole
from onward.core.inference import TUNED_FOR
from onward.core.shown import brief, several
from onward.core.types import Matrix, Vector
from onward.regression.alone import alone
from onward.regression.guarantees import Guarantees
from onward.tables import as_mapping
from onward.tables.number_arrays import as_numbers

CONSTANT = "(intercept)"  # the name of the constant's coefficient
MOST_WEIGHT = 1e100  # in a contrast: squares of its products with what was learned must be numbers
CoefficientMethod = Literal["anytime", "uniform"]


class CoefficientLearner(Guarantees):
    """The part of a learner that speaks of coefficients, one by one."""

    @alone
    def coefficient_table(
        self,
        delta: float = 0.05,
        sigma: float | None = None,
        theta_bound: float | None = None,
        *,
        method: CoefficientMethod | None = None,
        simultaneous: bool = False,
        robust: bool = False,
        tuned_for: float = TUNED_FOR,
        target: int | None = None,
        **choices: Unpack[SetChoices],
    ) -> dict[str, Any]:
        """Each coefficient with an interval that holds at every row at once: a dict of columns.

        `anytime` intervals, which all learners that do not forget have, `AutoRegressor` included, are those of
        `contrast`: columns `feature`, `estimate`, `standard_error`, `lower`, `upper`, `e_value`, `log_e_value` (for
        where that overflows) and `p_value`, these three against a coefficient of 0. The estimate is that of least
        squares, NaN where nothing is known of it; `coef_` has the model's own.

        `uniform` ones are those of `confidence_set`, which hold for all features at once, and of all combinations of
        them: columns `feature`, `estimate`, `lower`, `upper`. The estimate is the ridge coefficient; forward's
        intervals lie around its own, which is smaller.

        Args:
            delta: the probability with which an interval may fail, ever.
            sigma: the noise is sigma-sub-Gaussian, for `uniform`.
            theta_bound: S ≥ ‖θ* − θ_0‖, for `uniform`, beside `sigma`.
            method: `anytime` or `uniform`; None for `uniform` if `sigma` is given, which only that relies on.
            simultaneous: let all `anytime` intervals hold at once (Bonferroni, over the coefficients that there are).
            robust: as of `contrast`.
            tuned_for: as of `contrast`.
            target: which one, if the model has several.
            choices: how the set is made, for `uniform`: see `SetChoices`.

        Returns:
            Columns by name, which every data frame library takes.
        """
        fitted = self._fitted()
        chosen = (
            method
            if method is not None
            else ("anytime" if sigma is None and theta_bound is None and not choices else "uniform")
        )
        if not isinstance(chosen, str) or chosen not in ("anytime", "uniform"):
            raise ValueError(f"method must be 'anytime' or 'uniform', got {brief(method)}")
        for what, said in (("simultaneous", simultaneous), ("robust", robust)):
            if not isinstance(said, bool | np.bool_):
                raise ValueError(f"{what} must be True or False, got {brief(said)}")
        names = self._coordinate_names()
        if chosen == "uniform":
            if simultaneous or robust:
                raise ValueError("simultaneous and robust are for 'anytime' intervals, got 'uniform'")
            region = self.confidence_set(delta, sigma, theta_bound, target=target, **choices)
            ends = region.coordinates()
            theta = self._theta()[:, target or 0]
            return {"feature": names, "estimate": theta, "lower": ends[:, 0], "upper": ends[:, 1]}
        given: dict[str, Any] = {"sigma": sigma, "theta_bound": theta_bound, **choices}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is for 'uniform' intervals, got 'anytime'")
        d = fitted.state.n_features + int(fitted.state.intercept)
        found = self._estimates(np.eye(d), delta, 0.0, tuned_for, robust, target, together=d if simultaneous else 1)
        return {
            "feature": names,
            "estimate": found.estimate,
            "standard_error": found.standard_error,
            "lower": found.lower,
            "upper": found.upper,
            "e_value": found.e_value,
            "log_e_value": found.log_e_value,
            "p_value": found.p_value,
        }

    @alone
    def contrast(
        self,
        weights: Hashable | Mapping[Any, float] | ArrayLike,
        delta: float = 0.05,
        *,
        null: float = 0.0,
        tuned_for: float = TUNED_FOR,
        robust: bool = False,
        together: int = 1,
        target: int | None = None,
    ) -> Contrast:
        """A combination of coefficients with an interval that holds at every row at once, and evidence against a value.

        It is about least squares on all rows that were learned, adjusted for all columns, whatever λ the model has.
        The interval holds for this contrast at all rows at once with probability 1 − delta, so that one may look after
        every row and stop when one likes, if the noise is Gaussian, of one variance over the weights, and the rows do
        not depend on it (Lindon, Ham, Tingley and Bojinov 2022).

        The features' scale is fixed when a contrast is first asked for (`onward.fit` does so for all coefficients):
        whether that is early or late must not depend on the targets, nor may `tuned_for`.

        Args:
            weights: the name of a feature, for its coefficient; a dict of names, in which the constant is
                "(intercept)"; or an array, over the features, or over all coefficients, the constant first.
            delta: the probability with which the interval may fail, ever.
            null: the value that `e_value` and `p_value` speak against.
            tuned_for: the number of rows for which the interval is to be narrowest; it is valid at any. It is fixed
                when a contrast is first asked for, and kept with the model: the result says which number counts.
            robust: allow for noise whose spread differs from row to row: asymptotic, and for models that have kept what
                it takes since `track_sandwich()`.
            together: of so many contrasts all must hold at once (Bonferroni).
            target: which one, if the model has several.

        Returns:
            A `Contrast`: its estimate, standard error, interval, e-value and p-value.
        """
        null = finite("null", null)
        whole("together", together, most=2**53)
        name, direction = self._direction(weights)
        if not (np.abs(direction) <= MOST_WEIGHT).all():
            largest = direction[np.argmax(np.abs(direction))]
            raise ValueError(f"the weights of a contrast must be numbers up to {MOST_WEIGHT:g}, got {largest:g}")
        found = self._estimates(direction[None], delta, null, tuned_for, robust, target, together)
        values = {field: float(column[0]) for field, column in found._asdict().items()}
        return Contrast(name, **values, null=null, delta=delta, rows=self.n_seen_, robust=robust)

    @alone
    def track_sandwich(self) -> Self:
        """From now on, keep as rows are learned what `robust` intervals need: it costs about as much as a learner.

        For models of one target that do not forget and have learned nothing yet; `fit` starts anew.
        """
        if not self._has_contrasts:
            raise ValueError(f"robust intervals are not to be had here: {self._why_no_sets}")
        if self._state is not None and self.n_seen_:
            raise ValueError(f"track_sandwich() must come before the first row, got {self.n_seen_:,} learned")
        self._tracks_sandwich = True
        return self

    def has_binary_targets(self) -> bool:
        """Whether all targets that were learned are 0 or 1."""
        return self.n_targets_ == 1 and self._has_contrasts and has_binary_targets(self._state_of_all_rows(0))

    def note_scales(self, tuned_for: float = TUNED_FOR) -> None:
        """Fix the features' scale in the intervals of all coefficients of which something is known by now.

        Args:
            tuned_for: the number of rows for which intervals are to be narrowest.
        """
        if self._has_contrasts and not self._anchors().cover(len(self._coordinate_names())):
            state = self._state_of_all_rows(0)
            directions = np.eye(len(state.D))
            anytime_estimates(OrdinaryLeastSquares(state), self._anchors(), directions, 0.05, tuned_for=tuned_for)

    def _estimates(
        self,
        directions: Matrix,
        delta: float,
        null: float,
        tuned_for: float,
        robust: bool,
        target: int | None,
        together: int = 1,
    ) -> Estimates:
        count = self.n_targets_
        given = 0 if target is None and count == 1 else target
        if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < count:
            raise ValueError(
                f"target must be one of 0 to {count - 1} for a model of {count} targets, got {brief(target)}"
            )
        if not isinstance(robust, bool | np.bool_):
            raise ValueError(f"robust must be True or False, got {brief(robust)}")
        if robust and self.sandwich_ is None:
            raise ValueError(
                "robust intervals are for models that have kept what they need: expected track_sandwich() before the "
                "first row, or onward.fit(…, inference=Inference(robust=True))"
            )
        return anytime_estimates(
            OrdinaryLeastSquares(self._state_of_all_rows(given)),
            self._anchors(),
            directions,
            delta,
            null=null,
            tuned_for=tuned_for,
            together=together,
            sandwich=self.sandwich_ if robust else None,
        )

    def _state_of_all_rows(self, target: int) -> Information:
        """The state of one target in which all rows count alike; ValueError if there is none."""
        if not self._has_contrasts:
            raise ValueError(self._why_no_sets)
        return self.information_.of_target(target)

    def _anchors(self) -> Anchors:
        if self.anchors_ is None:
            self.anchors_ = Anchors()
        return self.anchors_

    def _coordinate_names(self) -> list[Hashable]:
        """The names of all coefficients, the constant's first."""
        fitted = self._fitted()
        names = fitted.names if fitted.names is not None else [f"x{j}" for j in range(fitted.state.n_features)]
        return [*([CONSTANT] if fitted.state.intercept else []), *names]

    def _direction(self, weights: Any) -> tuple[str, Vector]:
        """A contrast's name, and its weights over all coordinates (d,)."""
        names, given = self._coordinate_names(), as_mapping(weights)
        places = {name: place for place, name in enumerate(names)}
        direction = np.zeros(len(names))
        if isinstance(given, str) or is_real(given) or (is_hashable(given) and given in places):
            given = {given: 1.0}
        if isinstance(given, Mapping):
            for name, weight in given.items():
                if name not in places:
                    raise ValueError(f"there is no coefficient of {brief(name)}: {several(names)[1:-1]} are there")
                direction[places[name]] = finite(f"the weight of {brief(name)}", weight)
            said = describe_contrast(given)
        else:
            vector = as_numbers(
                given, "a contrast", "the name of a coefficient, a dict of names, or an array of weights"
            )
            constant = int(self._fitted().state.intercept)
            if vector.shape == (len(names) - constant,):
                direction[constant:] = vector
            elif vector.shape == (len(names),):
                direction[:] = vector
            else:
                raise ValueError(
                    f"a contrast must have {len(names) - constant} weights, for the features, or {len(names)}, with "
                    f"the constant first, got shape {vector.shape}"
                )
            said = describe_contrast({name: w for name, w in zip(names, direction, strict=True) if w})
        if not np.isfinite(direction).all() or not direction.any():
            raise ValueError(f"a contrast must have finite weights, not all of them 0, got {brief(weights)}")
        return said, direction


def describe_contrast(weights: Mapping[Any, float]) -> str:
    """A combination of coefficients as a person would write it: "b - 2*a"."""
    text = ""
    for name, weight in weights.items():
        size = "" if abs(weight) == 1 else f"{abs(weight):g}*"
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        text += f"{sign}{size}{name}"
    return text
