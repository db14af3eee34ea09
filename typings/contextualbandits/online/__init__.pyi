from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

class LinUCB:
    def __init__(
        self,
        nchoices: int | Sequence[Any],
        alpha: float = 1.0,
        lambda_: float = 1.0,
        fit_intercept: bool = True,
        use_float: bool = True,
        *,
        random_state: int | np.random.Generator | None = None,
    ) -> None: ...
    def partial_fit(self, X: NDArray[np.float64], a: ArrayLike, r: ArrayLike) -> Self: ...
    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]: ...
