from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

class _Linear(RegressorMixin, BaseEstimator):
    coef_: NDArray[np.float64]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    def predict(self, X: Any) -> NDArray[np.float64]: ...

class Ridge(_Linear):
    intercept_: float | NDArray[np.float64]
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 0.0001,
        solver: str = "auto",
        positive: bool = False,
        random_state: int | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self: ...

class RidgeCV(_Linear):
    intercept_: float | NDArray[np.float64]
    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self: ...

class SGDRegressor(_Linear):
    intercept_: NDArray[np.float64]
    def __init__(
        self,
        loss: str = "squared_error",
        *,
        penalty: str | None = "l2",
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 0.001,
        shuffle: bool = True,
        verbose: int = 0,
        epsilon: float = 0.1,
        random_state: int | None = None,
        learning_rate: str = "invscaling",
        eta0: float = 0.01,
        power_t: float = 0.25,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        average: bool | int = False,
    ) -> None: ...
    def fit(
        self, X: Any, y: Any, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> Self: ...
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self: ...
