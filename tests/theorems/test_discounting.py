"""Forward that forgets: its regret to coefficients that move, in games made to break the bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from onward import ForwardRegressor, bounds
from onward.core.types import Matrix, Vector
from tests.theorems.sequences import DESIGNS, rows

Game = tuple[Matrix, Vector, Matrix, float, float]  # X, y, path, λ, γ


def dense(X: Matrix, y: Vector, lam: float, gamma: float, fading: bool) -> tuple[Vector, Vector]:
    """Predictions and h = xᵀG_t⁻¹x by the definition."""
    d = X.shape[1]
    G, b, predictions, h = lam * np.eye(d), np.zeros(d), np.empty(len(y)), np.empty(len(y))
    for t, x in enumerate(X):
        G = gamma * G + np.outer(x, x) + (0.0 if fading else (1.0 - gamma) * lam) * np.eye(d)
        predictions[t], h[t] = np.linalg.solve(G, np.stack([gamma * b, x], axis=1)).T @ x
        b = gamma * b + y[t] * x
    return predictions, h


def regret(game: Game, fading: bool) -> Vector:
    X, y, path, lam, gamma = game
    predictions = bounds.discounted_forward_predictions(X, y, lam=lam, gamma=gamma, fading=fading)
    return np.cumsum((predictions - y) ** 2 - (np.einsum("ij,ij->i", X, path) - y) ** 2)


def along(game: Game, fading: bool) -> Vector:
    X, y, path, lam, gamma = game
    return bounds.discounted_forward_regret_to_path_along(X, y, path, lam=lam, gamma=gamma, fading=fading)


def from_constants(game: Game, fading: bool) -> Vector:
    X, y, path, lam, gamma = game
    steps = np.diff(path, axis=0)
    return bounds.discounted_forward_regret_to_path(
        np.arange(1, len(y) + 1),
        d=X.shape[1],
        lam=lam,
        gamma=gamma,
        feature_bound=float(np.sqrt((X**2).sum(1).max())),
        target_bound=float(np.abs(y).max()),
        theta_bound=float(np.sqrt((path**2).sum(1).max())),
        drift=float(np.sqrt((steps**2).sum(1)).sum()),
        fading=fading,
    )


def greedy(T: int, d: int, lam: float, gamma: float, rng: np.random.Generator) -> Game:
    """Of some rows and y = ±1, take what adds most to forward's loss; the path lies on every target."""
    pool = np.concatenate([np.eye(d), rng.standard_normal((12, d)), np.zeros((1, d))])
    X, y, path = np.zeros((T, d)), np.zeros(T), np.zeros((T, d))
    u = np.zeros(d)
    for t in range(T):
        trials = []
        for x in pool:
            X[t] = x
            guess = dense(X[: t + 1], y[: t + 1], lam, gamma, False)[0][-1]
            trials.append((abs(guess), -1.0 if guess > 0 else 1.0) if x.any() else (-0.5, 0.0))
        best = int(np.argmax([trial[0] for trial in trials]))
        X[t], y[t] = pool[best], trials[best][1]
        if X[t].any():
            u = u + X[t] * (y[t] - X[t] @ u) / (X[t] @ X[t])
        path[t] = u
    return X, y, path, lam, gamma


@st.composite
def games(draw: st.DrawFn) -> Game:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    T, d = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    lam, gamma = draw(st.sampled_from((1e-3, 0.3, 1.0, 20.0))), draw(st.sampled_from((0.05, 0.5, 0.9, 0.99, 0.9999)))
    design = draw(st.sampled_from([each for each in DESIGNS if each != "growing"]))
    X = rows(design, T, d, rng) * draw(st.sampled_from((0.1, 1.0, 8.0)))
    path = draw(st.sampled_from((0.0, 0.02, 1.0))) * rng.standard_normal((T, d))
    path = np.cumsum(path, axis=0) + rng.standard_normal(d)
    y = np.einsum("ij,ij->i", X, path) + draw(st.sampled_from((0.0, 0.3, 3.0))) * rng.standard_normal(T)
    if draw(st.booleans()):  # targets that have nothing to do with the path
        y = rng.choice([-1.0, 0.0, 1.0], T)
    return X, y, path, lam, gamma


@pytest.mark.parametrize("fading", [True, False])
@given(games())
@settings(max_examples=100)
def test_regret_to_any_path(fading: bool, game: Game) -> None:
    y, lost, bound = game[1], regret(game, fading), along(game, fading)
    slack = 1e-7 * (np.abs(bound) + np.abs(lost).max() + y @ y + 1.0)
    assert (lost <= bound + slack).all()
    assert (bound <= from_constants(game, fading) + slack).all()


@pytest.mark.parametrize("fading", [True, False])
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.98])
def test_regret_against_an_adversary(fading: bool, gamma: float) -> None:
    game = greedy(60, 2, 0.5, gamma, np.random.default_rng(0))
    lost, bound = regret(game, fading), along(game, fading)
    assert (lost <= bound).all()
    assert (bound <= from_constants(game, fading) * (1 + 1e-12)).all()
    assert lost[-1] > 20  # it is one


@given(games(), st.booleans())
@settings(max_examples=50)
def test_predictions_are_those_of_the_definition(game: Game, fading: bool) -> None:
    X, y, _, lam, gamma = game
    if fading and gamma < 0.5:  # what is left of λ is too little for a dense solver
        return
    got = bounds.discounted_forward_predictions(X, y, lam=lam, gamma=gamma, fading=fading)
    assert_allclose(got, dense(X, y, lam, gamma, fading)[0], rtol=1e-6, atol=1e-6 * (1 + np.abs(y).max()))
    if not fading:
        model = ForwardRegressor(lam, fit_intercept=False, half_life=-1.0 / np.log2(gamma))
        assert_allclose(model.predict_then_learn(X, y), got, rtol=1e-9, atol=1e-9)


def repeated(gamma: float, gap: int, times: int) -> Game:
    """The same row and target again and again, with so many empty rounds between that all is forgotten."""
    X = np.zeros((gap * times, 1))
    X[::gap] = 1.0
    return X, X[:, 0].copy(), np.ones_like(X), 0.1, gamma


@pytest.mark.parametrize("fading", [True, False])
def test_no_term_can_be_halved(fading: bool) -> None:
    """Each term is needed: with half of it, the rest of the bound fails in some game."""
    # γλ‖u_1‖²: one round, in which there is nothing to go by.
    game = np.ones((1, 1)), np.ones(1), np.ones((1, 1)), 0.5, 1 - 1e-9
    assert along(game, fading)[0] - 0.5 * 0.5 < regret(game, fading)[0] <= along(game, fading)[0]
    # Σ h y²: each target comes once, in a direction of its own.
    game = np.eye(30), np.ones(30), np.ones((30, 30)), 0.01, 1 - 1e-9
    noise = np.sum(1 / 1.01)
    assert along(game, fading)[-1] - 30 * 0.5 * noise < regret(game, fading)[-1] <= along(game, fading)[-1]
    # What moving costs: the path turns once, and what was learned before is long remembered.
    path = np.where(np.arange(600) < 20, -1.0, 1.0)[:, None]
    game = np.ones((600, 1)), path[:, 0].copy(), path, 0.01, 1 - 1e-6
    turning = 4.0 * 20
    assert along(game, fading)[-1] - 0.5 * turning < regret(game, fading)[-1] <= along(game, fading)[-1]


def test_a_lam_that_is_kept_costs_in_every_round() -> None:
    """Without (1 − γ)λΣ‖u‖² the bound fails: a large λ lets forward say little for ever. Where λ fades, it need not."""
    T, lam, gamma = 2000, 1e3, 0.9
    game = np.ones((T, 1)), np.ones(T), np.ones((T, 1)), lam, gamma
    lost, bound = regret(game, fading=False)[-1], along(game, fading=False)[-1]
    assert bound - (1 - gamma) * lam * T < lost <= bound
    assert regret(game, fading=True)[-1] < 0.2 * lost


@pytest.mark.parametrize(("gamma", "gap"), [(0.5, 20), (0.9, 100), (0.99, 1500)])
def test_log_terms_weighed_with_each_target_are_no_bound(gamma: float, gap: int) -> None:
    """d log(1/γ) Σ y² beside max y² log(…), in place of d log(1/γ) T max y², fails where rows of 0 come between."""
    X, y, _, lam, _ = game = repeated(gamma, gap, 60)
    counted = np.sum(gamma ** (len(y) - 1.0 - np.arange(len(y))) * X[:, 0] ** 2)
    smaller = gamma * lam + np.log1p(counted / lam) + np.log(1 / gamma) * (y @ y)
    assert regret(game, fading=True)[-1] > smaller
    assert regret(game, fading=True)[-1] <= from_constants(game, fading=True)[-1]


def test_numbers_by_hand() -> None:
    X, y, path = np.array([[2.0]]), np.array([3.0]), np.array([[1.5]])
    for fading, G in ((True, 0.5 + 4.0), (False, 1.0 + 4.0)):
        bound = along((X, y, path, 1.0, 0.5), fading)
        kept = 0.0 if fading else 0.5 * 1.5**2
        assert bound == pytest.approx([0.5 * 1.5**2 + kept + 9.0 * 4.0 / G])
