"""Models that learned apart add up, whatever the sizes of λ and of values: to what one pass gives, or not at all."""

import numpy as np
import pandas as pd
import pytest

from onward import ForwardRegressor, RidgeRegressor
from onward.core import Information, TooExtremeError
from tests.fuzz.merges import merged


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
    assert merged > 330
    assert refused < 200  # mostly models of fewer rows than columns whose λ is below rounding
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
    assert 0 < refused < 220  # where rounding would be taken for λ: where it is below 1e-21 of the columns' squares


def test_rows_of_sizes_far_apart_are_merged_rightly() -> None:
    X = np.array([[2.4e59, -1e-102], [5e-31, -2.6e-11], [-1.8e139, -7e-70]])
    y = np.array([1.0, 2.0, 3.0])
    model, other = (RidgeRegressor(1e-10, fit_intercept=False).fit(X[rows], y[rows]) for rows in ([0], [1, 2]))
    predictions = model.merge(other).predict(X)
    assert predictions == pytest.approx([-4.0000000000000006e-80, 1.3519999999908605e-11, 3.0], rel=1e-12)  # exactly


def test_a_merge_that_is_refused_changes_nothing() -> None:
    X, y = np.ones((3, 2)), np.array([1.0, 2.0, 3.0])
    model, other = (RidgeRegressor(1e-45, fit_intercept=False).fit(X[rows], y[rows]) for rows in ([0], [1, 2]))
    before, others = model.to_bytes(), other.to_bytes()
    with pytest.raises(TooExtremeError, match=r"with lam=1e-45 a column differs .* expected at least 1e-20"):
        model.merge(other)
    assert (model.to_bytes(), other.to_bytes()) == (before, others)


def test_equal_columns_are_merged_rightly_or_refused() -> None:
    """One pass is right here by luck: columns that are the same cancel exactly in it."""
    refused = 0
    for i, lam in enumerate(10.0 ** np.arange(-40.0, 7.0)):
        rng = np.random.default_rng(i)
        X, y = np.repeat(rng.standard_normal((9, 1)), 2, axis=1), rng.standard_normal(9)
        one, model, other = (
            RidgeRegressor(lam, fit_intercept=False).fit(X[rows], y[rows])
            for rows in (slice(None), slice(4), slice(4, None))
        )
        try:
            model.merge(other)
        except TooExtremeError:
            assert lam < 1e-17
            refused += 1
            continue
        assert np.abs(model.predict(X) - one.predict(X)).max() < 1e-9 * np.abs(y).max()
    assert refused > 15


def test_models_of_usual_sizes_are_never_refused() -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d, n = int(rng.integers(1, 51)), int(rng.integers(2, 200))
        X, lam = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d), 10.0 ** rng.uniform(-6, 6)
        X[:, d // 2] = X[:, 0]  # collinear, as a sum of levels is with the constant
        X[:, d - 1] = 1.0
        y, cut = rng.standard_normal(n), int(rng.integers(1, n))
        one, model, other = (RidgeRegressor(lam) for _ in range(3))
        model.fit(X[:cut], y[:cut]).merge(other.fit(X[cut:], y[cut:]))
        assert np.abs(model.predict(X) - one.fit(X, y).predict(X)).max() < 1e-9 * np.abs(y).max()


@pytest.mark.parametrize("seed", [105332, 113569, 102247, 104071, 104173])
def test_rows_that_take_pivots_over_are_merged_rightly(seed: int) -> None:
    """Values 10^±150 apart, in parts and in weights: rounding of U's old rows was data of the parts' columns."""
    assert merged(seed) == []


@pytest.mark.parametrize("seed", [106274, 112856])
def test_a_part_whose_rounding_outweighs_lam_is_refused(seed: int) -> None:
    (words,) = merged(seed)
    assert "cannot merge the part" in words
    assert "rounding in double precision" in words


@pytest.mark.parametrize("lam", [1e-9, 1.0])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_parts_of_ordinary_rows_are_never_refused(scale: float, lam: float) -> None:
    """Levels beside the constant, columns that are alike or sums of others, and models of few rows."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = (8, 40, 4000)[seed % 3]
        levels, X = np.eye(4)[rng.integers(4, size=n)], scale * rng.standard_normal((n, 4))
        X[:, 1], X[:, 2] = X[:, 0], 100.0 * X[:, 0] if seed % 2 else X[:, 0] + X[:, 3]
        X, y = np.column_stack([levels, X]), rng.standard_normal(n)
        whole = ForwardRegressor(lam)
        for rows in np.array_split(np.arange(n), 8):
            whole.merge_part(ForwardRegressor(lam=0).fit(X[rows], y[rows]))
        assert (whole.information_.D[1:] > 0.1 * lam).all()


def test_refusals_of_settings_names_and_priors_are_short() -> None:
    names = [f"name{i}" for i in range(300)]
    tables = [pd.DataFrame(np.eye(300), columns=columns) for columns in (names, [f"{name}x" for name in names])]
    lams = [RidgeRegressor(lam=dict.fromkeys(names, value)) for value in (1.0, 2.0)]
    fitted = [RidgeRegressor().fit(table, np.ones(300)) for table in tables]
    another = RidgeRegressor().fit(tables[0], np.ones(300))
    another.information_.set_prior(np.ones((301, 1)))
    for model, other in (lams, fitted, (fitted[0], another)):
        with pytest.raises(ValueError, match="cannot merge: this model") as caught:
            model.merge(other)
        assert len(str(caught.value)) < 300
