from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

class Pipeline(BaseEstimator):
    steps: list[tuple[str, Any]]
    def __init__(
        self,
        steps: Sequence[tuple[str, Any]],
        *,
        transform_input: list[str] | None = None,
        memory: object = None,
        verbose: bool = False,
    ) -> None: ...
    def __getitem__(self, ind: int | str | slice) -> Any: ...
    def set_output(self, *, transform: str | None = None) -> Self: ...
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self: ...
    def predict(self, X: Any, **params: Any) -> NDArray[np.float64]: ...
    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> float: ...

def make_pipeline(
    *steps: object, memory: object = None, transform_input: list[str] | None = None, verbose: bool = False
) -> Pipeline: ...
