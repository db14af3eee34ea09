from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

class LearningPolicy:
    class LinUCB(NamedTuple):
        alpha: float = 1.0
        l2_lambda: float = 1.0
        scale: bool = False

class MAB:
    def __init__(
        self,
        arms: list[Any],
        learning_policy: LearningPolicy.LinUCB,
        neighborhood_policy: None = None,
        seed: int = 123456,
        n_jobs: int = 1,
        backend: str | None = None,
    ) -> None: ...
    def fit(
        self, decisions: Sequence[Any], rewards: Sequence[float], contexts: NDArray[np.float64] | None = None
    ) -> None: ...
    def partial_fit(
        self, decisions: Sequence[Any], rewards: Sequence[float], contexts: NDArray[np.float64] | None = None
    ) -> None: ...
    def predict(self, contexts: NDArray[np.float64] | None = None) -> Any: ...
