"""Prediction intervals of ordinary least squares: the t interval for the next target."""

import numpy as np

from onward.confidence.choose import NO_SETS
from onward.confidence.ordinary import OrdinaryLeastSquares
from onward.core import Information
from onward.core.checks import probability
from onward.core.shown_html import html_values
from onward.core.types import Matrix, Vector


class TIntervals:
    """Intervals for the target of a row by the t law, around ordinary least squares on the rows that were learned.

    One holds its row's target with probability 1 − δ, exactly, if the noise is Gaussian and the rows do not depend on
    it: at that row, not at all at once. Whatever λ and prior the state has is taken out of it.

    Attributes:
        freedom: rows with a weight, less the rank of their features.

    Raises:
        ValueError: if the state forgets: then there are no such intervals.

    Example:
        >>> import numpy as np
        >>> from onward import RidgeRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((50, 2))
        >>> model = RidgeRegressor().fit(X, X @ [1.0, 2.0] + rng.standard_normal(50))
        >>> model.interval([[0.0, 0.0]], of="observation", method="t").round(0)  # made by `TIntervals`
        array([[-2.,  2.]])
    """

    def __init__(self, state: Information) -> None:
        """`state` has one target, and does not forget. It is read now, and may learn on."""
        if state.memory is not None:
            raise ValueError(NO_SETS)
        self._n_features, self._intercept = state.n_features, int(state.intercept)
        self._fitted = OrdinaryLeastSquares(state)
        self.freedom = self._fitted.freedom

    def __repr__(self) -> str:
        return f"TIntervals({self._n_features} features, {self.freedom:g} degrees of freedom)"

    def _repr_html_(self) -> str:
        return html_values("TIntervals", {"features": self._n_features, "degrees of freedom": f"{self.freedom:g}"})

    def ends(self, X: Matrix, w: Vector, delta: float) -> Matrix:
        """Lower and upper ends (n, 2) for rows X (n, features) of weight w; infinite where too little is known.

        Args:
            delta: δ, one of `deltas`.
        """
        from scipy.special import stdtrit  # here, so that what does without does not wait for it

        probability("delta", delta)
        rows = np.ones((len(X), self._n_features + self._intercept))
        rows[:, self._intercept :] = X
        out = np.tile([-np.inf, np.inf], (len(X), 1))
        spread = self._fitted.spread
        if not (np.isfinite(spread) and len(X)):
            return out
        center, variance, closed = self._fitted.read(rows)
        with np.errstate(divide="ignore"):
            variance = 1.0 / w + variance
        reach = float(stdtrit(self.freedom, 1.0 - delta / 2)) * spread * np.sqrt(variance)
        out[closed, 0], out[closed, 1] = (center - reach)[closed], (center + reach)[closed]
        return out
