"""Models that learned apart add up, whatever the sizes of λ and of values: to what one pass gives, or not at all."""

import numpy as np

from onward import RidgeRegressor
from onward.core import Information, TooExtremeError


def distance(merged: Information, one: Information) -> float:
    """How far apart the coefficients are, in the units of what was learned: no scale of a column counts."""
    theta = merged.coefficients()[:, 0] - one.coefficients()[:, 0]
    size = np.sqrt(one.D) @ np.abs(one.c[:, 0]) + np.sqrt(one.loss[0])
    return float(np.sqrt(one.D) @ np.abs(one.triangle() @ theta) / size)


def test_merging_is_learning_in_one_pass_or_refused() -> None:
    rng = np.random.default_rng(0)
    merged, refused, worst = 0, 0, 0.0
    for case in range(600):
        d, n = int(rng.integers(1, 6)), int(rng.integers(2, 12))
        scale = 10.0 ** (rng.uniform(-150, 150, d) if case % 2 else np.full(d, rng.uniform(-150, 150)))
        X = rng.standard_normal((n, d)) * (scale if case % 3 else 10.0 ** rng.uniform(-3, 3, d))
        y = rng.standard_normal(n) * 10.0 ** rng.uniform(-140, 150)
        lam, cut = 10.0 ** rng.uniform(-300, 300), int(rng.integers(1, n))
        one, a, b = (RidgeRegressor(lam, fit_intercept=bool(case % 5)) for _ in range(3))
        with np.errstate(over="ignore"):
            try:
                one.fit(X, y), a.fit(X[:cut], y[:cut]), b.fit(X[cut:], y[cut:])
            except ValueError:
                continue  # nothing to compare with
            before = a.information_.buffer.copy()
            try:
                a.merge(b)
            except TooExtremeError:
                assert np.array_equal(a.information_.buffer, before, equal_nan=True)
                refused += 1
                continue
        state = a.information_
        assert (state.D[state.lam > 0] > 0).all()
        assert (state.D >= 0).all()
        assert (state.loss >= 0).all()
        worst = max(worst, distance(state, one.information_))
        merged += 1
    assert merged > 400
    assert refused < 60
    assert worst < 1e-9


def test_columns_that_are_alike_never_leave_a_negative_pivot() -> None:
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(300):
        X = rng.standard_normal((8, 3)) * 10.0 ** rng.uniform(-100, 100)
        X[:, 1] = X[:, 0]
        y, lam = rng.standard_normal(8), 10.0 ** rng.uniform(-300, 100)
        try:
            a, b = (RidgeRegressor(lam).fit(rows, target) for rows, target in ((X[:4], y[:4]), (X[4:], y[4:])))
            a.merge(b)
        except TooExtremeError:
            refused += 1
            continue
        assert (a.information_.D[1:] >= 0.99 * lam).all()
        assert (a.information_.loss >= 0).all()
    assert 0 < refused < 150  # where rounding would be taken for λ
