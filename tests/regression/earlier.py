"""Models as earlier versions saved them, and how they were made.

PYTHONPATH=<a checkout of that version>/src python -m tests.regression.earlier tests/regression/files
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from onward import ForwardRegressor, RidgeRegressor

n = np.arange(1.0, 25.0)
X = np.column_stack([np.sin(n), np.cos(2 * n), np.sin(3 * n) + 0.1 * n])
y = X @ [1.0, -2.0, 0.5] + np.cos(7 * n)
Y = np.column_stack([y, y[::-1]])
w = 0.5 + n % 3


def _named(model: Any) -> Any:
    for row, target in zip(X[:6], y, strict=False):
        model.learn_one(dict(zip("ab", row.tolist(), strict=False)), float(target))
    for row, target in zip(X[6:], y[6:], strict=True):
        model.learn_one(dict(zip("abc", row.tolist(), strict=True)), float(target))
    return model


MADE: dict[str, Callable[[], Any]] = {
    "forward": lambda: ForwardRegressor(0.5).partial_fit(X, y, w),
    "no-intercept": lambda: RidgeRegressor(2.0, fit_intercept=False, clip=1.5).partial_fit(X, y),
    "prior": lambda: ForwardRegressor(prior_mean=[[1, 2, 3], [0, 1, 0]], prior_intercept=[0.5, 0]).partial_fit(X, Y),
    "targets": lambda: RidgeRegressor(0.1).partial_fit(X, Y, w),
    "names": lambda: _named(ForwardRegressor(0.3, prior_mean={"a": 1.0, "c": -1.0})),
    "unregularised": lambda: ForwardRegressor(0).partial_fit(X, y),
    "deficient": lambda: ForwardRegressor(0.0).partial_fit(X[:2], y[:2]),
}

if __name__ == "__main__":
    for name, make in MADE.items():
        make().save(Path(sys.argv[1]) / f"{name}.onward")
