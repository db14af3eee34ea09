from typing import Any

from numpy.typing import ArrayLike, NDArray

class TimeSeriesRegressor:
    def __init__(self, estimator: Any, method: str, cv: Any, *, agg_function: str) -> None: ...
    def fit(self, X: ArrayLike, y: ArrayLike) -> TimeSeriesRegressor: ...
    def predict(
        self,
        X: ArrayLike,
        *,
        ensemble: bool,
        confidence_level: float,
        optimize_beta: bool,
        allow_infinite_bounds: bool,
    ) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def adapt_conformal_inference(
        self,
        X: ArrayLike,
        y: ArrayLike,
        gamma: float,
        confidence_level: float,
        ensemble: bool,
        optimize_beta: bool,
    ) -> TimeSeriesRegressor: ...
    def update(self, X: ArrayLike, y: ArrayLike, *, ensemble: bool) -> TimeSeriesRegressor: ...
