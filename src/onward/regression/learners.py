"""Two read-outs of one state: online ridge, and forward, which is ridge shrunk by its own leverage."""

import math
from typing import Literal

from numpy.typing import ArrayLike

from onward import storage
from onward.core.checks import is_real
from onward.core.shown import brief
from onward.regression.columns import ColumnLearner
from onward.regression.fitted import ReadOut
from onward.regression.half_life import HalfLife
from onward.regression.start import Lam, Prior, Units, check_lam

_FORWARD, _RIDGE = ReadOut(shrinks=True, clip=math.inf), ReadOut(shrinks=False, clip=math.inf)


class OnlineRegressor(ColumnLearner):
    """What `ForwardRegressor`, `RidgeRegressor` and `AutoRegressor` share: the class to ask for with `isinstance`.

    Args:
        lam: regularisation λ ≥ 0.
        fit_intercept: add a constant feature.
        intercept_lam: λ ≥ 0 of the constant.
        units: what λ is in, "raw" or "own".
        half_life: let the past fade; None to count all rows alike.
        window: only the last `window` rows count; None for all.
        prior_mean: coefficients to start from and shrink towards.
        prior_intercept: the same for the constant.

    Example:
        >>> from onward import AutoRegressor, RidgeRegressor
        >>> from onward.regression import OnlineRegressor
        >>> isinstance(RidgeRegressor(), OnlineRegressor), issubclass(AutoRegressor, OnlineRegressor)
        (True, True)
    """


@storage.kind("forward")
class ForwardRegressor(OnlineRegressor):
    """The forward algorithm (Vovk–Azoury–Warmuth): ridge, shrunk by its own leverage.

    With fit_intercept=False, or with intercept_lam > 0, it predicts p / (1 + q), with p the ridge prediction and
    q = xᵀG⁻¹x the leverage of the row: where little is known, it says little.  [Alg. 2; for lam=0, App. E]

    With a constant that is not regularised, as by default, it shrinks to the mean m of the targets so far instead of to
    0: it predicts m + (p − m) / (1 + q_c), with q_c the leverage of the centred row, which is q − 1/n after n rows.
    `bounds.centred_forward_regret_to_penalized_along` says what that can cost (Jacobsen and Cutkosky 2024).

    Args:
        lam: regularisation λ ≥ 0: a number, an array (features,), or a dict of names, in which None stands for all that
            it does not name. With 0, a row that raises the rank is predicted as what it shrinks to.
        fit_intercept: add a constant feature.
        intercept_lam: λ ≥ 0 of the constant: 0 not to regularise it; None for `lam`, if that is a number, or its
            default, if it is a dict.
        units: what λ is in: "raw", as in the paper, for the units of the data; "own" for the variance that each feature
            has by now, so that predictions stay the same when columns are scaled or shifted (see `core.own_units`).
        half_life: let the past fade, so that a row counts half as much after so many rows, or so long: a number of
            rows; or, of rows with times (`times=…`), a number in their unit, or a duration ("12h", "30d", a timedelta)
            if they are dates. λ does not fade. None to count all rows alike.
        window: only the last `window` rows count; None for all.
        prior_mean: coefficients to start from and shrink towards: an array of the shape of `coef_`, or a dict of names.
        prior_intercept: the same for the constant.

    Raises:
        ValueError: when it first learns or predicts, if a setting is out of its range.

    Example:
        >>> import numpy as np
        >>> from onward import ForwardRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((200, 2))
        >>> y = 3.0 + X @ [2.0, -1.0] + 0.1 * rng.standard_normal(200)
        >>> model = ForwardRegressor(lam=1.0)
        >>> online = model.predict_then_learn(X, y)  # each row is predicted before its target is seen
        >>> model.coef_.round(1), round(model.intercept_, 1)
        (array([ 2., -1.]), 3.0)
        >>> round(model.predict_one([1.0, 1.0]), 1)
        4.0
        >>> model = ForwardRegressor().learn_one({"km": 2.0}, 7.0).learn_one({"km": 4.0, "night": 1.0}, 14.0)
        >>> list(model.feature_names_in_)
        ['km', 'night']
    """

    _kind: Literal["forward", "ridge", "auto"] = "forward"

    @property
    def _read_out(self) -> ReadOut:
        return _FORWARD


@storage.kind("ridge")
class RidgeRegressor(OnlineRegressor):
    """Online ridge regression: predicts p = xᵀG⁻¹b from the rows before.  [Alg. 1]

    Args:
        lam: regularisation λ > 0: a number, an array (features,), or a dict of names, in which None stands for all that
            it does not name.
        fit_intercept: add a constant feature.
        intercept_lam: λ ≥ 0 of the constant: 0 not to regularise it, then the prediction before the first row is the
            prior's part alone; None for `lam`, if that is a number, or its default, if it is a dict.
        units: what λ is in: "raw", as in the paper, for the units of the data; "own" for the variance that each feature
            has by now, so that predictions stay the same when columns are scaled or shifted (see `core.own_units`).
        half_life: let the past fade, so that a row counts half as much after so many rows, or so long: a number of
            rows; or, of rows with times (`times=…`), a number in their unit, or a duration ("12h", "30d", a timedelta)
            if they are dates. λ does not fade. None to count all rows alike.
        window: only the last `window` rows count; None for all.
        clip: bound Y on the predictions, which are clipped to [−Y, Y]; None for no bound.
        prior_mean: coefficients to start from and shrink towards: an array of the shape of `coef_`, or a dict of names.
        prior_intercept: the same for the constant.

    Raises:
        ValueError: when it first learns or predicts, if a setting is out of its range.

    Example:
        >>> from onward import RidgeRegressor
        >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
        >>> model = RidgeRegressor(lam=2.0).fit(X, y)
        >>> model.coef_.round(6), round(model.intercept_, 6)
        (array([1.]), 2.0)
        >>> model.predict([[3.0]]).round(6)
        array([5.])
        >>> model.learn_one([3.0], 7.0).n_seen_
        4
    """

    _kind: Literal["forward", "ridge", "auto"] = "ridge"

    def __init__(
        self,
        lam: Lam = 1.0,
        *,
        fit_intercept: bool = True,
        intercept_lam: float | None = 0.0,
        units: Units = "raw",
        half_life: HalfLife | None = None,
        window: int | None = None,
        clip: float | None = None,
        prior_mean: Prior = None,
        prior_intercept: ArrayLike = 0.0,
    ) -> None:
        super().__init__(
            lam,
            fit_intercept=fit_intercept,
            intercept_lam=intercept_lam,
            units=units,
            half_life=half_life,
            window=window,
            prior_mean=prior_mean,
            prior_intercept=prior_intercept,
        )
        self.clip = clip

    def _check_settings(self) -> None:
        check_lam(self.lam, self.intercept_lam, positive=True)
        super()._check_settings()
        try:
            fits = self.clip is None or (is_real(self.clip) and float(self.clip) > 0)
        except OverflowError:  # a whole number that no float can hold
            fits = False
        if not fits:
            raise ValueError(f"clip must be None or a positive number, got {brief(self.clip)}")

    @property
    def _read_out(self) -> ReadOut:
        return _RIDGE if self.clip is None else ReadOut(shrinks=False, clip=float(self.clip))


def learner_name(model: OnlineRegressor) -> str:
    """What a learner is called on the command line, and in files.

    Args:
        model: a learner.

    Returns:
        "auto", "forward" or "ridge".

    Example:
        >>> from onward import RidgeRegressor
        >>> from onward.regression import learner_name
        >>> learner_name(RidgeRegressor())
        'ridge'
    """
    return model._kind
