"""The ledger against its definitions, and what it shows."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from onward import ForwardRegressor, RidgeRegressor
from onward.core.types import Matrix, Vector
from onward.ledger import MEANING, Ledger


def run(seed: int, n: int = 30, d: int = 3) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X, theta = rng.standard_normal((n, d)), rng.standard_normal(d)
    theta /= np.sqrt(theta @ theta)
    return X, X @ theta + 0.5 * rng.standard_normal(n), theta


@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([1e-3, 1.0, 20.0]))
def test_every_column_is_what_it_says(seed: int, intercept: bool, lam: float) -> None:
    X, y, theta = run(seed)
    full = np.column_stack([np.ones(len(X)), X]) if intercept else X
    true = np.concatenate([[0.0], theta]) if intercept else theta
    ledger = Ledger.of(X, y, lam, fit_intercept=intercept, theta=true, sigma=0.5, theta_bound=1.0)
    assert list(ledger.columns) == list(MEANING)
    ridge = RidgeRegressor(lam, fit_intercept=intercept, intercept_lam=lam).predict_then_learn(X, y)
    forward = ForwardRegressor(lam, fit_intercept=intercept, intercept_lam=lam).predict_then_learn(X, y)
    assert_allclose(ledger["ridge"], ridge, rtol=1e-8, atol=1e-9)
    assert_allclose(ledger["forward"], forward, rtol=1e-8, atol=1e-9)
    best, penalized = [], []
    for t in range(1, len(y) + 1):
        A, b = full[:t], y[:t]
        fitted = np.linalg.lstsq(A, b, rcond=None)[0]
        best.append(((b - A @ fitted) ** 2).sum())
        fitted = np.linalg.solve(lam * np.eye(A.shape[1]) + A.T @ A, A.T @ b)
        penalized.append(((b - A @ fitted) ** 2).sum() + lam * fitted @ fitted)
    assert_allclose(ledger["best_loss"], best, rtol=1e-6, atol=1e-8)
    assert_allclose(ledger["penalized_loss"], penalized, rtol=1e-6, atol=1e-8)
    assert_allclose(ledger["true_loss"], np.cumsum((y - full @ true) ** 2))
    assert_allclose(ledger["ridge_loss"], np.cumsum((ridge - y) ** 2), rtol=1e-8)
    assert_allclose(ledger["ridge_regret"], np.cumsum((ridge - y) ** 2) - best, rtol=1e-5, atol=1e-6)
    assert_allclose(ledger["forward_regret_to_truth"], ledger["forward_loss"] - ledger["true_loss"])
    # The terms telescope exactly.
    scale = ledger["ridge_loss"][-1]
    assert_allclose(
        np.cumsum(ledger["ridge_first"]), ledger["ridge_loss"] - ledger["penalized_loss"], rtol=1e-8, atol=1e-10 * scale
    )
    assert_allclose(
        np.cumsum(ledger["forward_first"] - ledger["forward_second"]),
        ledger["forward_loss"] - ledger["penalized_loss"],
        rtol=1e-8,
        atol=1e-10 * scale,
    )
    # What was promised for certain holds.
    for name in ("ridge", "forward"):
        gap = ledger[f"{name}_bound_to_penalized"] - (ledger[f"{name}_loss"] - ledger["penalized_loss"])
        assert (gap >= -1e-9 * scale).all()


def test_bounds_to_the_truth_hold_as_often_as_they_say() -> None:
    misses = {"ridge": 0, "forward": 0}
    for seed in range(300):
        X, y, theta = run(seed, n=60)
        ledger = Ledger.of(X, y, 0.1, theta=theta, sigma=0.5, theta_bound=1.0, delta=0.1)
        for name in misses:
            misses[name] += bool((ledger[f"{name}_regret_to_truth"] > ledger[f"{name}_bound_to_truth"]).any())
    assert max(misses.values()) <= 45  # δ = 0.1 allows 30, give or take three standard deviations


def test_frames_in_and_out() -> None:
    X, y, _ = run(0)
    ledger = Ledger.of(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert "true_loss" not in ledger.columns
    backends: list[Literal["polars", "pandas", "pyarrow"]] = ["polars", "pandas", "pyarrow"]
    for backend in backends:
        frame = ledger.to_frame(backend)
        assert type(frame).__module__.startswith(backend)
        assert frame.shape == (30, len(ledger.columns))
    assert list(ledger.to_frame("pandas")["round"][:2]) == [1, 2]


def test_plots_with_and_without_the_truth(tmp_path: Path) -> None:
    X, y, theta = run(0, n=300)
    for ledger, lines in (
        (Ledger.of(X, y), 4),
        (Ledger.of(X, y, theta=theta), 2),
        (Ledger.of(X, y, theta=theta, sigma=0.5, theta_bound=1.0), 4),
    ):
        figure = ledger.plot()
        assert [len(axis.lines) for axis in figure.axes] == [lines, 3]
        figure.savefig(tmp_path / "ledger.png")
        assert (tmp_path / "ledger.png").stat().st_size > 10_000


BAD: list[tuple[dict[str, Any], str]] = [
    ({"lam": 0.0}, "lam"),
    ({"lam": -1.0}, "lam"),
    ({"sigma": 1.0}, "sigma and theta_bound go together"),
    ({"sigma": -1.0, "theta_bound": 1.0}, "sigma must be"),
    ({"delta": 2.0}, "delta must be"),
    ({"theta": [1.0]}, "theta must hold 3 finite numbers"),
    ({"y": [1.0]}, "X has 30 rows, but y has inconsistent numbers of samples: 1"),
    ({"y": np.ones((30, 2))}, "y must be a single target"),
    ({"X": [[float("nan")]], "y": [1.0]}, "NaN in row 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_runs(change: dict[str, Any], message: str) -> None:
    X, y, _ = run(0)
    with pytest.raises(ValueError, match=message):
        Ledger.of(**({"X": X, "y": y} | change))
