"""What a learner can promise at every round: confidence sets, and intervals for rows."""

from collections.abc import Sequence
from typing import Any, Literal, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from onward.confidence import (
    DELTAS,
    AnySet,
    ConformalIntervals,
    SetChoices,
    SetInBall,
    TIntervals,
    confidence_set,
    observation_reach,
)
from onward.confidence.assumptions import noise_bound
from onward.confidence.choose import NO_SETS
from onward.confidence.set_parts import check_ends
from onward.core import Information, TooExtremeError
from onward.core.another_lam import with_lam
from onward.core.checks import probability
from onward.core.known import METHODS, Method
from onward.core.shown import brief
from onward.core.types import Vector
from onward.regression.alone import alone
from onward.regression.merging import MergeableLearner
from onward.regression.start import constant_lam_of_sets
from onward.tables import blocks


class Guarantees(MergeableLearner):
    """The part of a learner that speaks of uncertainty. Every statement holds at all rounds at once."""

    _why_no_sets = NO_SETS  # where it has none

    @alone
    def confidence_set(
        self,
        delta: float = 0.05,
        sigma: float | None = None,
        theta_bound: float | None = None,
        *,
        target: int | None = None,
        **choices: Unpack[SetChoices],
    ) -> AnySet:
        """A set that holds the true coefficients at every round at once, with probability at least 1 − delta.

        Args:
            delta: the probability that it may fail, ever.
            sigma: the noise is sigma-sub-Gaussian; None if unknown: Gaussian noise, and rows that do not depend on it.
                With other noise that set can fail far more often than delta, above all with an intercept or rows that
                are not centred (rare shocks: in most runs). Where all targets are 0 or 1, None stands for ½.
            theta_bound: S ≥ ‖θ* − θ_0‖, the constant included; None for the set that needs no such bound. With a λ for
                each coordinate, the norm is √(Σ λ_j/λ̄ (θ*_j − θ_0j)²), λ̄ the largest of them: never more. A constant
                that is not regularised has a λ here all the same: see `state_for_sets`.
            target: which one, if the model has several.
            choices: width, bias, radius and feature_bound, of the sets that need them: see `SetChoices`. Without any,
                the narrowest that is proven for what is known and has a closed form.

        `onward.confidence.RunningIntersection` takes the sets of all rounds into intervals that never widen. A model
        that forgets has no such set, nor intervals or a table of coefficients from it: ValueError.

        Returns:
            A set of `onward.confidence`, with `contains`, `interval` and `coordinates`.

        Raises:
            ValueError: if a number is out of its range, or the model forgets.
        """
        self._check_sets()
        count = self.information_.n_targets
        given = 0 if target is None and count == 1 else target
        if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given < count:
            raise ValueError(
                f"target must be one of 0 to {count - 1} for a model of {count} targets, got {brief(target)}"
            )
        state = self.state_for_sets(given)
        kind: Literal["forward", "ridge"] = "forward" if self._read_out.shrinks else "ridge"
        return confidence_set(state, kind, delta, noise_bound(state, sigma), theta_bound, **choices)

    def state_for_sets(self, target: int = 0) -> Information:
        """A copy of the state of one target, which sets are made from; there are none if it is not `regularized`.

        Sets need a λ > 0 for each coordinate that was fixed before the rows came. A constant that the model does not
        regularise gets one here: `lam`, if that is a number, its default, if it is a dict that has one, else 1; and
        with units="own", features have `lam` in the units of the data. So the sets are those of a model that had had
        these λ from the start. TooExtremeError, with units="own", while the rows say too little beside the λ they made.
        ValueError for a model that forgets, of which there are none.
        """
        self._check_sets()
        state = self.information_.of_target(target)
        lam = state.lam.copy()
        if state.intercept and state.lam[0] == 0.0:
            lam[0] = constant_lam_of_sets(self.lam)
        if self.information_.own_units:
            lam[1:] = self.information_.relative[1:]
        return state if np.array_equal(lam, state.lam) else with_lam(state, lam)

    def has_sets(self) -> bool:
        """Whether there are confidence sets by now."""
        try:
            return self._has_sets and self.state_for_sets().regularized
        except TooExtremeError:
            return False

    def _check_sets(self) -> None:
        if not self._has_sets:
            raise ValueError(self._why_no_sets)

    @alone
    def calibrate(self, deltas: float | Sequence[float] = DELTAS) -> Self:
        """From now on, keep how far targets are from their predictions as rows are learned, for `conformal` intervals.

        Rows that are learned are predicted beforehand anyhow, so that it costs little: 0.2 µs for each of many, 1 to
        2 µs for a single one. What was kept before is dropped; `fit` starts anew; `onward.fit` calibrates by itself.
        For models of one target.

        Args:
            deltas: the probabilities δ of a miss for which intervals will be asked: one number or several.

        Returns:
            The model itself.
        """
        if self._state is not None and self._state.state.n_targets > 1:
            raise ValueError(f"a calibrated model has one target, got {self._state.state.n_targets}")
        self.calibration_ = ConformalIntervals(deltas)
        return self

    def _intervals(
        self,
        X: Any,
        how: Method,
        delta: float,
        sigma: float | None,
        theta_bound: float | None,
        of: Literal["mean", "observation"],
        choices: SetChoices,
    ) -> NDArray[np.float64]:
        """`interval` for rows whose columns are the features, by a method other than past errors."""
        probability("delta", delta)
        fitted, rows = self._readable(X)
        out = np.empty((rows.shape[0], fitted.state.n_targets, 2))
        if how == "t":
            exact = [TIntervals(self.information_.of_target(target)) for target in range(fitted.state.n_targets)]
            with np.errstate(over="ignore", invalid="ignore"):
                for where, block, _ in blocks(rows):
                    for target, each in enumerate(exact):
                        out[where, target] = each.ends(block, np.ones(len(block)), delta)
            check_ends(out)
            return out[:, 0] if fitted.flat else out
        share = delta if of == "mean" else delta / 2
        sets = [
            self.confidence_set(share, sigma, theta_bound, target=target, **choices)
            for target in range(fitted.state.n_targets)
        ]
        with np.errstate(over="ignore", invalid="ignore"):
            for where, block, _ in blocks(rows):
                for target, region in enumerate(sets):
                    out[where, target] = region.interval(block)
        if not any(isinstance(region, SetInBall) and region.empty for region in sets):
            check_ends(out)
        if of == "observation":
            for target, region in enumerate(sets):
                bound = noise_bound(self.state_for_sets(target), sigma)
                reach = observation_reach(region, delta / 2, bound)
                out[:, target, 0] -= reach
                out[:, target, 1] += reach
        return out[:, 0] if fitted.flat else out

    def _interval_method(self, of: str, method: Method | None, sigma: float | None) -> Method:
        """How intervals are made; ValueError if they cannot be made so."""
        if not isinstance(of, str) or of not in ("mean", "observation"):
            raise ValueError(f"of must be 'mean' or 'observation', got {brief(of)}")
        if method is not None and not (isinstance(method, str) and method in METHODS):
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {brief(method)}")
        if not self._has_sets:
            self._check_calibrated_alone(of, method, sigma)
        if of == "mean" and method not in (None, "uniform"):
            raise ValueError(f"intervals for the mean of a target are 'uniform', got {brief(method)}")
        if sigma is not None and method not in (None, "uniform"):
            raise ValueError(f"sigma is for 'uniform' intervals, got {brief(method)}")
        exact = self._has_sets and self.calibration_ is None
        how: Method = "uniform" if of == "mean" or sigma is not None else "t" if exact else "conformal"
        how = how if method is None else method
        if how == "conformal" and self.calibration_ is None:
            raise ValueError(
                "the model is not calibrated: expected one of onward.fit, or calibrate() before it learned"
            )
        return how

    def _check_calibrated_alone(self, of: str, method: Method | None, sigma: float | None) -> None:
        """ValueError if other intervals are asked for than those of past errors."""
        alone = f"{type(self).__name__} has calibrated intervals alone, for observations"
        if method not in (None, "conformal"):
            raise ValueError(f"{alone}, got {brief(method)}: {self._why_no_sets}")
        if of == "mean":
            raise ValueError(f"{alone}: expected of='observation', got 'mean'. {self._why_no_sets}")
        if sigma is not None:
            raise ValueError(f"{alone}, which take no sigma, got {brief(sigma)}: {self._why_no_sets}")

    def _calibrated_intervals(
        self, predictions: NDArray[np.float64], leverages: Vector, delta: float
    ) -> NDArray[np.float64]:
        """Those by past errors, of rows with these predictions and leverages."""
        if predictions.ndim == 2:  # of one target that comes in a column
            return self._calibrated_intervals(np.ascontiguousarray(predictions[:, 0]), leverages, delta)[:, None]
        assert self.calibration_ is not None
        place = self.calibration_.place(delta)
        lower, upper = self.calibration_.intervals(predictions, leverages)
        ends = np.column_stack([lower[:, place], upper[:, place]])
        ends[np.isnan(predictions)] = np.nan  # rows that are skipped
        return ends
