from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

class _AdaptiveFilter:
    n: int
    w: NDArray[np.float64]
    def __init__(self, n: int, mu: float, w: NDArray[np.float64] | Literal["random", "zeros"] = "random") -> None: ...
    def predict(self, x: NDArray[np.float64]) -> float: ...
    def adapt(self, d: float, x: NDArray[np.float64]) -> None: ...
    def run(
        self, d: NDArray[np.float64], x: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...

class FilterRLS(_AdaptiveFilter):
    eps: float
    R: NDArray[np.float64]
    def __init__(self, n: int, mu: float = 0.1, eps: float = 0.001, **kwargs: Any) -> None: ...
