"""Models as earlier versions saved them, and how they were made.

PYTHONPATH=<a checkout of that version>/src python -m tests.regression.earlier tests/regression/files/<what it had>

Those in `files` itself are from before `intercept_lam` was a setting, those in `files/intercept_lam` from when it was
None, as `lam`, by default.
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


def _forward(lam: float = 1.0, **settings: Any) -> Any:
    return ForwardRegressor(lam, intercept_lam=None, **settings)


def _ridge(lam: float = 1.0, **settings: Any) -> Any:
    return RidgeRegressor(lam, intercept_lam=None, **settings)


MADE: dict[str, Callable[[], Any]] = {
    "forward": lambda: _forward(0.5).partial_fit(X, y, w),
    "no-intercept": lambda: _ridge(2.0, fit_intercept=False, clip=1.5).partial_fit(X, y),
    "prior": lambda: _forward(prior_mean=[[1, 2, 3], [0, 1, 0]], prior_intercept=[0.5, 0]).partial_fit(X, Y),
    "targets": lambda: _ridge(0.1).partial_fit(X, Y, w),
    "names": lambda: _named(_forward(0.3, prior_mean={"a": 1.0, "c": -1.0})),
    "unregularised": lambda: _forward(0).partial_fit(X, y),
    "deficient": lambda: _forward(0.0).partial_fit(X[:2], y[:2]),
}
TO_ZERO = ("unregularised", "deficient")  # forward then shrank to 0 where the constant has no λ; now, to the mean

if __name__ == "__main__":
    for name, make in MADE.items():
        make().save(Path(sys.argv[1]) / f"{name}.onward")
