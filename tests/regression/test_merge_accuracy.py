"""Merged models beside one pass, at extremes and with columns that are nearly collinear.

What is compared are predictions of the rows that were learned, in units of the largest target. Coefficients are no
measure: along a direction in which the rows hardly differ they are as uncertain as that direction is small, in one pass
as much as merged. Nor are predictions alone where that direction is below rounding: there one pass itself is as far
from exact arithmetic as a merged model is. The measure is therefore the error times s, the sine of the smallest angle
between a column and those before it, λ included.
"""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from onward import RidgeRegressor
from onward.core import Information, TooExtremeError
from onward.core.types import Matrix, Vector

MERGES = 400
EPS = 2.0**-52
LIMIT = 64 * EPS  # 20 in 12,000 merges
REFUSED = 2e-11  # smaller sines are refused: by then a column is rounding


def _sine(state: Information) -> float:
    rows = np.sqrt(state.D)[:, None] * state.triangle()
    largest = np.abs(rows).max(axis=0)
    lengths = largest * np.sqrt(np.sum((rows / largest) ** 2, axis=0))
    return float((np.sqrt(state.D) / lengths).min())


def _problem(rng: np.random.Generator) -> tuple[Matrix, Vector, float, bool]:
    n, d = int(rng.integers(4, 30)), int(rng.integers(2, 5))
    X = rng.standard_normal((n, d))
    X[:, 1] = X[:, 0] + 10 ** rng.uniform(-16, -1) * X[:, 1]
    y = X @ rng.standard_normal(d) + rng.standard_normal(n) * rng.integers(0, 2)
    scales = 10 ** np.where(rng.random(3) < 0.5, 0.0, rng.uniform(-1, 1, 3) * (150, 150, 300))
    return X * scales[0], y * scales[1], float(scales[2]), bool(rng.integers(2))


def _exact(X: Matrix, y: Vector, lam: float) -> NDArray[np.float64]:
    """Ridge's predictions of the rows, by elimination in fractions."""
    rows, targets, d = [[Fraction(v) for v in row] for row in X.tolist()], [Fraction(v) for v in y.tolist()], X.shape[1]
    zero, own = Fraction(0), Fraction(lam)
    G = [[sum((r[i] * r[j] for r in rows), own if i == j else zero) for j in range(d)] for i in range(d)]
    b = [sum((r[i] * t for r, t in zip(rows, targets, strict=True)), zero) for i in range(d)]
    for i in range(d):
        for j in range(i + 1, d):
            share = G[j][i] / G[i][i]
            G[j] = [mine - share * theirs for mine, theirs in zip(G[j], G[i], strict=True)]
            b[j] -= share * b[i]
    theta = [zero] * d
    for i in reversed(range(d)):
        theta[i] = (b[i] - sum(G[i][k] * theta[k] for k in range(i + 1, d))) / G[i][i]
    return np.array([float(sum(v * t for v, t in zip(row, theta, strict=True))) for row in rows])


def test_merged_models_predict_the_rows_as_one_pass_does_or_refuse() -> None:
    rng, merged, refused, further = np.random.default_rng(0), 0, 0, 0
    for _ in range(MERGES):
        X, y, lam, intercept = _problem(rng)
        cut = int(rng.integers(1, len(y)))
        one, first, second = (RidgeRegressor(lam, fit_intercept=intercept) for _ in range(3))
        least = apart_least = 0.0
        try:
            one.fit(X, y), first.fit(X[:cut], y[:cut]), second.fit(X[cut:], y[cut:])
            least = _sine(one.information_)
            apart_least = min(_sine(each.information_) for each in (first, second))
            if least < REFUSED / 4:
                refused += 1
                before = first.information_.buffer.copy()
                with pytest.raises(TooExtremeError, match=r"cannot merge states.*rescale"):
                    first.merge(second)
                assert np.array_equal(first.information_.buffer, before)
                continue
            first.merge(second)
            apart = np.abs(first.predict(X) - one.predict(X)).max() / np.abs(y).max()
        except ValueError:
            assert least < 4 * REFUSED or apart_least < 1e-19
            continue
        merged += 1
        assert (first.information_.D > 0).all()
        assert (first.information_.loss >= 0).all()
        sine = min(_sine(one.information_), _sine(first.information_))
        assert apart <= LIMIT / sine
        if sine > 1e-4:
            assert apart <= 1e-9
        further += np.abs(first.coef_ - one.coef_).max() > 1e-9 * np.abs(one.coef_).max()
    assert merged + refused > 0.9 * MERGES
    assert merged > 0.7 * MERGES
    assert further > 5  # coefficients tell rounding, not merging


def test_where_merged_models_are_off_one_pass_is_too() -> None:
    rng, off, in_one_pass = np.random.default_rng(1), 0, 0
    for _ in range(150):
        X = rng.standard_normal((12, 3))
        X[:, 1] = X[:, 0] + 10 ** rng.uniform(-9, -7) * X[:, 1]
        y = X @ rng.standard_normal(3) + rng.standard_normal(12)
        one, first, second = (RidgeRegressor(1e-40, fit_intercept=False) for _ in range(3))
        first.fit(X[:5], y[:5]).merge(second.fit(X[5:], y[5:]))
        right = _exact(X, y, 1e-40)
        off += np.abs(first.predict(X) - right).max() > 1e-9
        in_one_pass += np.abs(one.fit(X, y).predict(X) - right).max() > 1e-9
    assert in_one_pass > 50
    assert off <= 1.2 * in_one_pass
