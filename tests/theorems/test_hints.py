"""Forward with hints, and with a constant that is not regularised: what it costs, on runs made to break the bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from onward import ForwardRegressor, bounds
from onward.core import Information
from onward.core.types import Matrix, Vector
from tests.theorems.sequences import Run, doubling, runs


def constant_first(X: Matrix) -> Matrix:
    return np.column_stack([np.ones(len(X)), X])


def free_minimum(X: Matrix, y: Vector, lam: float, w: Vector) -> Vector:
    """min L(θ) + λ‖θ‖² over θ and a constant that has no λ, after each round, by dense least squares."""
    T, d = X.shape
    minima = np.empty(T)
    for t in range(1, T + 1):
        root = np.sqrt(w[:t])
        A = np.vstack([root[:, None] * constant_first(X[:t]), np.sqrt(lam) * np.eye(d, d + 1, 1)])
        b = np.concatenate([root * y[:t], np.zeros(d)])
        # Columns far apart in scale: each is brought to length 1, or lstsq would drop the shorter.
        scale = np.maximum(np.sqrt((A**2).sum(axis=0)), 1e-300)
        minima[t - 1] = np.sum((A / scale @ np.linalg.lstsq(A / scale, b, rcond=None)[0] - b) ** 2)
    return minima


def check(X: Matrix, y: Vector, lam: float, w: Vector) -> float:
    """The bound holds at every round; how much of it was needed at the last."""
    guess = ForwardRegressor(lam).predict_then_learn(X, y, w)
    regret = np.cumsum(w * (guess - y) ** 2) - free_minimum(X, y, lam, w)
    bound = bounds.centred_forward_regret_to_penalized_along(X, y, lam=lam, sample_weight=w)
    scale = float(np.sum(w * y**2) + np.sum(w * (guess - y) ** 2))
    assert (regret <= bound * (1 + 1e-9) + 1e-9 * scale).all(), (regret - bound).max()
    _, q, p, mean, centred = quantities(X, y, lam, w)
    first = np.isinf(q)
    a, b = w * np.where(first, 1.0, q), w * np.where(first, 1.0, centred)
    h, h_c = np.where(first, 1.0, a / (1 + a)), np.where(first, 1.0, b / (1 + b))
    split = np.cumsum(w * h_c * (y - mean) ** 2 + w * (h - h_c) * (y - p) ** 2)
    assert (bound <= split * (1 + 1e-9) + 1e-9 * scale).all()
    return float(regret[-1] / bound[-1]) if bound[-1] > 0 else 1.0


def quantities(X: Matrix, y: Vector, lam: float, w: Vector) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """Forward's predictions, q, p, the mean and q_c before each row, by dense algebra."""
    A, T = constant_first(X), len(y)
    out = np.zeros((5, T))
    for t in range(T):
        weight = w[:t].sum()
        if weight == 0:
            out[:, t] = 0, np.inf, 0, 0, np.inf
            continue
        G = np.diag(np.append(0.0, np.full(X.shape[1], lam))) + A[:t].T @ (w[:t, None] * A[:t])
        mean = w[:t] @ y[:t] / weight
        row, centred = A[t], A[t] - w[:t] @ A[:t] / weight
        p = row @ np.linalg.solve(G, A[:t].T @ (w[:t] * y[:t]))
        q, q_c = row @ np.linalg.solve(G, row), centred @ np.linalg.solve(G, centred)
        out[:, t] = mean + (p - mean) / (1 + w[t] * q_c), q, p, mean, q_c
    return out[0], out[1], out[2], out[3], out[4]


@given(st.integers(0, 2**32), st.sampled_from((0.01, 1.0, 30.0)))
@settings(max_examples=50)
def test_the_centred_prediction_is_one_with_a_hint(seed: int, lam: float) -> None:
    rng = np.random.default_rng(seed)
    X, y, w = rng.standard_normal((15, 2)) + 3, 7 + rng.standard_normal(15), rng.uniform(0, 2, 15)
    w[rng.random(15) < 0.2] = 0.0
    guess, q, p, mean, q_c = quantities(X, y, lam, w)
    assert_allclose(ForwardRegressor(lam).predict_then_learn(X, y, w), guess, rtol=1e-8, atol=1e-8)
    seen = np.isfinite(q) & (w > 0)
    assert_allclose(q[seen] - q_c[seen], 1 / (np.cumsum(w) - w)[seen], rtol=1e-8)
    a, b = w[seen] * q[seen], w[seen] * q_c[seen]
    kappa = b * (1 + a) / ((1 + b) * a)
    assert ((kappa >= -1e-12) & (kappa <= 1 + 1e-12)).all()
    hint = p[seen] + kappa * (mean[seen] - p[seen])
    assert_allclose((p[seen] + a * hint) / (1 + a), guess[seen], rtol=1e-8)


@given(runs(), st.sampled_from((0.0, 5.0, -100.0)), st.booleans())
@settings(max_examples=150)
def test_regret_of_the_free_constant(run: Run, shift: float, weighted: bool) -> None:
    X, y, lam = run
    w = np.random.default_rng(len(y)).choice([0.0, 0.3, 1.0, 4.0], len(y)) if weighted else np.ones(len(y))
    check(X, y + shift, lam, w)


def greedy(T: int, d: int, lam: float, shift: float, rng: np.random.Generator) -> Run:
    """Of some rows and y = shift ± 1, take at each round what the regret rises by most."""
    pool = np.concatenate([np.zeros((1, d)), np.eye(d), 3 * np.eye(d), rng.standard_normal((20, d))])
    state = Information(d, 1, np.append(0.0, np.full(d, lam)), intercept=True)
    X, y = np.empty((T, d)), np.empty(T)
    for t in range(T):
        best = (-np.inf, 0, 0.0)
        p, q = state.read(pool)
        for i in range(len(pool)):
            for sign in (-1.0, 1.0):
                target = shift + sign
                if t == 0:
                    rise = target**2
                else:
                    mean, q_c = state.c[0, 0], q[i] - 1 / state.D[0]
                    guess = mean + (p[i, 0] - mean) / (1 + q_c)
                    rise = (guess - target) ** 2 - (target - p[i, 0]) ** 2 / (1 + q[i])
                best = max(best, (rise, i, target))
        X[t], y[t] = pool[best[1]], best[2]
        state.absorb(X[t : t + 1], y[t : t + 1, None].copy(), np.ones(1))
    return X, y, lam


@pytest.mark.parametrize(("d", "lam"), [(1, 0.05), (1, 2.0), (3, 0.05), (3, 2.0)])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_regret_of_the_free_constant_against_adversaries(d: int, lam: float, shift: float) -> None:
    X, y, _ = greedy(40, d, lam, shift, np.random.default_rng(d))
    needed = check(X, y, lam, np.ones(40))
    assert needed > 0.5  # so that half the bound is broken
    # A shift costs nothing but in the first round; a forward that shrinks to 0 pays for it in all of them.
    along, plain = (bounds.centred_forward_regret_to_penalized_along(X, y - by, lam=lam) for by in (0.0, shift))
    assert_allclose(along - y[0] ** 2, plain - (y[0] - shift) ** 2, rtol=1e-8, atol=1e-8)


@given(runs(), st.integers(0, 2**32))
@settings(max_examples=100)
def test_regret_with_any_hints(run: Run, seed: int) -> None:
    X, y, lam = run
    rng = np.random.default_rng(seed)
    p, q = Information(X.shape[1], 1, lam).absorb(X, y[:, None].copy(), np.ones(len(y)))
    hints = y + rng.normal(size=len(y)) * rng.choice([0.0, 1.0, 10.0])
    guess = (p[:, 0] + q * hints) / (1 + q)
    regret = np.cumsum((guess - y) ** 2) - np.cumsum((y - p[:, 0]) ** 2 / (1 + q))
    bound = bounds.hinted_forward_regret_to_penalized_along(y, leverage=q, hints=hints)
    scale = float(np.sum(y**2) + np.sum(guess**2) + np.sum(p**2))
    assert (regret <= bound * (1 + 1e-9) + 1e-9 * scale).all()


def test_the_bound_is_tight() -> None:
    """Without features the regret is the bound; with hints that are p as well, for then nothing is shrunk."""
    y = np.random.default_rng(0).normal(size=30) + 4
    X = np.zeros((30, 1))
    guess = ForwardRegressor(1.0).predict_then_learn(X, y)
    regret = np.cumsum((guess - y) ** 2) - free_minimum(X, y, 1.0, np.ones(30))
    assert_allclose(regret, bounds.centred_forward_regret_to_penalized_along(X, y, lam=1.0), rtol=1e-9)
    X, y, lam = doubling(20)
    p, q = Information(1, 1, lam).absorb(X, y[:, None].copy(), np.ones(20))
    regret = np.cumsum((p[:, 0] - y) ** 2 * q / (1 + q))
    assert_allclose(bounds.hinted_forward_regret_to_penalized_along(y, leverage=q, hints=p[:, 0]), regret, rtol=1e-9)
