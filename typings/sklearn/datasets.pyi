from typing import Literal

import numpy as np
from numpy.typing import NDArray

def load_diabetes(*, return_X_y: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def load_iris() -> Bunch: ...

class Bunch:
    data: NDArray[np.float64]
    target: NDArray[np.int64]
    target_names: NDArray[np.str_]
