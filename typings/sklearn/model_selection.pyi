from collections.abc import Mapping, Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

_EstimatorT = TypeVar("_EstimatorT")

def cross_val_score(
    estimator: object,
    X: object,
    y: object = None,
    *,
    groups: object = None,
    scoring: object = None,
    cv: object = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    params: Mapping[str, Any] | None = None,
    pre_dispatch: int | str = "2*n_jobs",
    error_score: object = ...,
) -> NDArray[np.float64]: ...

class GridSearchCV(BaseEstimator, Generic[_EstimatorT]):
    best_params_: dict[str, Any]
    def __init__(
        self,
        estimator: _EstimatorT,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        scoring: object = None,
        n_jobs: int | None = None,
        refit: bool | str = True,
        cv: object = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        error_score: object = ...,
        return_train_score: bool = False,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self: ...
    def predict(self, X: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: Any = None, **params: Any) -> float: ...
