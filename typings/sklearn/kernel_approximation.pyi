from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

class RBFSampler(TransformerMixin, BaseEstimator):
    def __init__(self, *, gamma: float | str = 1.0, n_components: int = 100, random_state: object = None) -> None: ...
    def fit(self, X: Any, y: Any = None) -> Self: ...
    def transform(self, X: Any) -> NDArray[np.float64]: ...

class Nystroem(TransformerMixin, BaseEstimator):
    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        random_state: object = None,
        n_jobs: int | None = None,
    ) -> None: ...
    def fit(self, X: Any, y: Any = None) -> Self: ...
    def transform(self, X: Any) -> NDArray[np.float64]: ...
