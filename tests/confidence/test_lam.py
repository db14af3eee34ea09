"""A λ for each coordinate: as one λ for all on columns of another scale, and as sure as it says."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom

from onward import ForwardRegressor, RidgeRegressor
from onward.confidence import ForwardSet, bias_width, needed_noise_width, noise_width
from onward.core import Information
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

LEARNERS = [ForwardRegressor, RidgeRegressor]
KNOWN: dict[str, dict[str, Any]] = {
    "sigma and S": {"sigma": 1.0, "theta_bound": 2.0},
    "paper's bias, trace": {"sigma": 1.0, "theta_bound": 2.0, "width": "trace", "bias": "paper"},
    "sigma": {"sigma": 1.0},
    "nothing": {},
}


def by_hand(
    learner: type[OnlineRegressor], seed: int, intercept: bool, n: int = 40
) -> tuple[OnlineRegressor, OnlineRegressor, Vector, Matrix]:
    """A model with a λ for each coordinate; the same with one λ on scaled columns, the constant among them; the scales;
    and further rows.
    """
    rng = np.random.default_rng(seed)
    X, w, new = rng.standard_normal((n, 3)), rng.uniform(0.1, 2, n), rng.standard_normal((6, 3))
    y = 1.0 + X @ rng.standard_normal(3) + rng.standard_normal(n)
    lam, prior = 10.0 ** rng.uniform(-2, 2, 3 + intercept), rng.standard_normal(3 + intercept)
    own: dict[str, Any] = {"intercept_lam": lam[0], "prior_intercept": prior[0]} if intercept else {}
    each = learner(lam[intercept:], fit_intercept=intercept, prior_mean=prior[intercept:], **own).fit(X, y, w)
    scale = np.sqrt(lam.max() / lam)
    full = np.column_stack([np.ones(n), X]) if intercept else X
    scaled = learner(lam.max(), fit_intercept=False, prior_mean=prior / scale).fit(full * scale, y, w)
    return each, scaled, scale, new


@given(st.integers(0, 2**32), st.sampled_from(LEARNERS), st.booleans(), st.sampled_from(list(KNOWN)))
def test_sets_are_those_of_scaled_columns(
    seed: int, learner: type[OnlineRegressor], intercept: bool, known: str
) -> None:
    each, scaled, scale, new = by_hand(learner, seed, intercept)
    full = np.column_stack([np.ones(len(new)), new]) if intercept else new
    assert_allclose(each.predict(new), scaled.predict(full * scale), rtol=1e-9, atol=1e-9)
    assert_allclose(each.leverage(new), scaled.leverage(full * scale), rtol=1e-9)
    assert each.regularized_loss_ == pytest.approx(scaled.regularized_loss_, rel=1e-9)
    assert each.information_gain_ == pytest.approx(scaled.information_gain_, rel=1e-9)
    a, b = (model.confidence_set(0.03, **KNOWN[known]) for model in (each, scaled))
    assert a.radius == pytest.approx(b.radius, rel=1e-9)
    assert_allclose(a.center, scale * b.center, rtol=1e-9, atol=1e-9)
    assert_allclose(a.interval(new), b.interval(full * scale), rtol=1e-9, atol=1e-9)
    assert a.bounded == b.bounded
    assert a.log_volume == pytest.approx(b.log_volume + np.log(scale).sum(), rel=1e-9)
    rng = np.random.default_rng(seed)
    for reach in (0.1, 0.5, 2.0):
        theta = a.center + reach * rng.standard_normal(len(scale))
        assert a.contains(theta) == b.contains(theta / scale)
    if isinstance(a, ForwardSet) and isinstance(b, ForwardSet):
        at_a, at_b = a.at(new[0]), b.at(full[0] * scale)
        assert at_a.radius == pytest.approx(at_b.radius, rel=1e-9)
        assert_allclose(at_a.center, scale * at_b.center, rtol=1e-9, atol=1e-9)
        assert_allclose(a.coordinates(), b.interval(np.diag(scale)), rtol=1e-9, atol=1e-9)
    else:
        assert_allclose(a.coordinates(), scale[:, None] * b.coordinates(), rtol=1e-9, atol=1e-9)
        if a.bounded:
            shadow = a.boundary(0, 2, 4001)
            assert_allclose(shadow.min(axis=0), a.coordinates()[[0, 2], 0], rtol=1e-4, atol=1e-4)
            assert_allclose(shadow.max(axis=0), a.coordinates()[[0, 2], 1], rtol=1e-4, atol=1e-4)
    assert_allclose(
        each.interval(new, 0.1, of="observation", **KNOWN[known]),
        scaled.interval(full * scale, 0.1, of="observation", **KNOWN[known]),
        rtol=1e-9,
        atol=1e-9,
    )


def test_theta_bound_is_in_the_norm_of_lam() -> None:
    """√(Σ λ_j/λ̄ (θ_j − θ_0j)²): it is that of ‖b − Gθ*‖'s part in the norm of G⁻¹ before the first row."""
    lam, theta = np.array([0.01, 4.0, 100.0]), np.array([3.0, -2.0, 0.5])
    bound = math.sqrt(float(lam / lam.max() @ theta**2))
    state = Information(3, 1, lam)
    assert state.norm(theta) == pytest.approx(math.sqrt(lam.max()) * bound)
    assert bound < np.linalg.norm(theta)


@pytest.mark.parametrize("settings", [{"lam": [0.0, 1.0]}, {"lam": [0.0, 1.0], "intercept_lam": 0.0}, {"lam": 0.0}])
def test_sets_ask_for_regularisation_of_features(settings: dict[str, Any]) -> None:
    model = ForwardRegressor(**({"intercept_lam": 1.0} | settings)).fit(np.eye(2), np.ones(2))
    for known in KNOWN.values():
        with pytest.raises(ValueError, match="lam must be a number > 0"):
            model.confidence_set(0.05, **known)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from(LEARNERS), st.sampled_from(list(KNOWN)), st.integers(0, 30))
def test_sets_regularise_a_free_constant(seed: int, learner: type[OnlineRegressor], known: str, n: int) -> None:
    """As if it had had this λ from the start: `lam` or its default, else 1. The model itself keeps none."""
    rng = np.random.default_rng(seed)
    X, y, new = rng.standard_normal((n, 2)), 5 + rng.standard_normal((n, 2)), rng.standard_normal((4, 2))
    names = ["a", "b"]
    given: dict[str, Any] = {"prior_mean": [1.0, -1.0], "prior_intercept": 0.5}
    each: list[tuple[Any, float]] = [(0.3, 0.3), ({"a": 2.0, None: 0.1}, 0.1), ({"a": 2.0, "b": 3.0}, 1.0)]
    for lam, own in [*each, ([2.0, 3.0], 1.0)]:
        free, regularised = learner(lam, **given), learner(lam, intercept_lam=own, **given)
        for model in (free, regularised):
            if isinstance(lam, dict):
                model.prior_mean = {"a": 1.0, "b": -1.0}
            model.learn_one(dict.fromkeys(names, 0.0), [0.0, 0.0], 0.0)  # whatever comes, there is a state
            for x, targets in zip(X, y, strict=True):
                model.learn_one(dict(zip(names, x.tolist(), strict=True)), targets)
        a, b = (model.confidence_set(0.03, target=1, **KNOWN[known]) for model in (free, regularised))
        assert a.bounded == b.bounded
        assert_allclose(a.interval(new), b.interval(new), rtol=1e-8, atol=1e-8)
        assert_allclose(a.center, b.center, rtol=1e-8, atol=1e-8)
        assert a.radius == pytest.approx(b.radius, rel=1e-8, abs=1e-7)  # it is the root of a difference
        assert free.information_.lam[0] == 0.0


# Coverage: λ spread over four decades, a prior, every round


RUNS, ROUNDS, DELTA = 2000, 100, 0.1
LAM = np.logspace(-2, 2, 5)
SIGMA = 100.0  # beside it the bias term is small, so that half the radius is found out


@cache
def worst_ratios() -> dict[str, Vector]:
    """For each set, in each run: the largest ratio over rounds of what the set must reach to what it does reach."""
    rng = np.random.default_rng(11)
    out: dict[str, list[float]] = {"free": [], "ridge": [], "forward": [], "unknown sigma": []}
    for _ in range(RUNS):
        X = np.tile(np.eye(5), (ROUNDS // 5, 1)) * rng.uniform(0.5, 40, (ROUNDS, 1))
        theta, prior = rng.standard_normal(5), rng.standard_normal(5)
        noise = SIGMA * rng.standard_normal(ROUNDS)
        y, apart = X @ (theta - prior) + noise, theta - prior  # what is left of the targets
        bound = math.sqrt(float(LAM / LAM.max() @ apart**2))
        q = Information(5, 1, LAM).absorb(X, y[:, None].copy(), np.ones(ROUNDS))[1]
        gain = np.cumsum(np.log1p(q))
        before = np.concatenate([[0.0], gain[:-1]])
        width, widths_before = noise_width(SIGMA, DELTA, gain), noise_width(SIGMA, DELTA, before)
        free = needed_noise_width(X, y, apart, LAM, "free")
        squares = (X**2 * (LAM.max() / LAM)).sum(axis=1)
        out["free"].append((free / width).max())
        ridge = needed_noise_width(X, y, apart, LAM, "ridge")
        out["ridge"].append((ridge / (width + math.sqrt(LAM.max()) * bound)).max())
        forward = needed_noise_width(X, y, apart, LAM, "forward")
        out["forward"].append((forward / (widths_before + bias_width(float(LAM.max()), squares) * bound)).max())
        gamma = -np.expm1((2 * math.log(DELTA) - gain) / np.arange(1, ROUNDS + 1))
        out["unknown sigma"].append(math.sqrt((free**2 / np.cumsum(noise**2) / gamma).max()))
    return {name: np.array(values) for name, values in out.items()}


@pytest.mark.parametrize("name", ["free", "ridge", "forward", "unknown sigma"])
def test_sets_hold_as_often_as_they_say_and_halves_of_them_do_not(name: str) -> None:
    limit = int(binom.ppf(1 - 1e-4, RUNS, DELTA))
    ratios = worst_ratios()[name]
    assert (ratios > 1).sum() <= limit < (ratios > 0.5).sum()


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_was_simulated_is_what_learners_give(learner: type[OnlineRegressor]) -> None:
    rng = np.random.default_rng(3)
    X, theta, prior = rng.standard_normal((60, 5)), rng.standard_normal(5), rng.standard_normal(5)
    y = X @ theta + rng.standard_normal(60)
    bound = math.sqrt(float(LAM / LAM.max() @ (theta - prior) ** 2))
    model = learner(LAM, fit_intercept=False, prior_mean=prior).fit(X[:-1], y[:-1])
    gain = model.information_gain_
    joint = math.hypot(noise_width(1.0, DELTA, gain), math.sqrt(LAM.max()) * bound)
    assert model.confidence_set(DELTA, 1.0, bound).radius == pytest.approx(joint)
    region = model.confidence_set(DELTA, 1.0, bound, bias="tight", radius="sum")
    assert region.radius == pytest.approx(noise_width(1.0, DELTA, gain) + math.sqrt(LAM.max()) * bound)
    needed = needed_noise_width(X[:-1], (y - X @ prior)[:-1], theta - prior, LAM, "ridge")[-1]
    assert model.information_.norm(region.center - theta) == pytest.approx(needed, rel=1e-6)
    if isinstance(region, ForwardSet):
        at = region.at(X[-1])
        needed = needed_noise_width(X, y - X @ prior, theta - prior, LAM, "forward")[-1]
        assert at.state.norm(at.center - theta) == pytest.approx(needed, rel=1e-6)
        square = float(X[-1] ** 2 @ (LAM.max() / LAM))
        assert at.radius == pytest.approx(noise_width(1.0, DELTA, gain) + bias_width(float(LAM.max()), square) * bound)
