"""The sharper sets: joint, regret as radius, within the ball, and forward's sharp intervals."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import binom

from onward import ForwardRegressor, RidgeRegressor
from onward.confidence import Ellipsoid, ForwardSet, Radius, SetInBall, needed_noise_width, noise_width
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from tests.confidence.worlds import SETTINGS, Setting, runs

RUNS, DELTA = 1000, 0.1
LIMIT = int(binom.ppf(1 - 1e-4, RUNS, DELTA))


@cache
def worst_ratios(setting: Setting) -> dict[str, Vector]:
    """For each set, in each run, the largest ratio over rounds of the squares: what must be reached to what is."""
    X, noise, thetas = runs(setting, RUNS, seed=5)
    out: dict[str, list[float]] = {}
    lam, sigma = setting.lam, setting.sigma
    extra = 2 * sigma**2 * math.log(1 / DELTA)
    for x, e, theta in zip(X, noise, thetas, strict=True):
        y = x @ theta + e
        trace = Trace.of(x, y, lam)
        ridge = needed_noise_width(x, y, theta, lam, "ridge") ** 2
        loss = np.cumsum((y - trace.p) ** 2 / (1 + trace.q))
        joint = noise_width(sigma, DELTA, trace.gain) ** 2
        residual = np.cumsum(e**2)
        now = {"joint": ridge / (joint + lam), "convex": (residual - loss) / joint}
        for name, predicted in (("ridge", trace.p), ("forward", trace.p / (1 + trace.q))):
            online = np.cumsum((y - predicted) ** 2)
            now[f"regret of {name}"] = ridge / (lam + np.maximum(online - loss, 0) + extra)
            now[f"free regret of {name}"] = (residual - online) / extra  # R cancels: both sides lose least squares'
        before = np.concatenate([[noise_width(sigma, DELTA, 0.0) ** 2], joint[:-1]])
        h = trace.q / (1 + trace.q)
        reach = np.sqrt(h * (1 - h) * (before + lam)) + h * trace.norms
        now["sharp"] = ((1 - h) * trace.p - x @ theta) ** 2 / reach**2
        for name, ratio in now.items():
            out.setdefault(name, []).append(float(ratio.max()))
    return {name: np.array(values) for name, values in out.items()}


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_sharper_sets_fail_at_most_as_often_as_they_may(setting: Setting) -> None:
    for name, ratios in worst_ratios(setting).items():
        assert (ratios > 1).sum() <= LIMIT, name


def test_half_the_radius_is_found_out() -> None:
    """Where what regularisation does is small beside the noise."""
    for name, ratios in worst_ratios(Setting(1, 1.0, "basis", "gaussian", 30.0)).items():
        assert (ratios > 1).sum() <= LIMIT < (ratios > 0.25).sum(), name


# Through the learners


def data(seed: int, n: int = 40, d: int = 3) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X, theta = rng.standard_normal((n, d)), rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    return X, X @ theta + 0.5 * rng.standard_normal(n), theta


@pytest.mark.parametrize("learner", [ForwardRegressor, RidgeRegressor])
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([1e-3, 1.0, 30.0]), st.integers(1, 40))
def test_regret_as_radius(learner: type[OnlineRegressor], seed: int, intercept: bool, lam: float, n: int) -> None:
    """From the losses that a learner keeps; without S, around least squares."""
    X, y, _ = data(seed, n)
    lams: dict[str, Any] = {"fit_intercept": intercept} | ({"intercept_lam": lam} if intercept else {})
    model = learner(lam, **lams).fit(X, y)
    extra = 2 * 0.7**2 * math.log(1 / 0.03)
    R = max(model.online_loss_ - model.regularized_loss_, 0.0)
    region = model.confidence_set(0.03, 0.7, 2.0, radius="regret")
    assert region.radius == pytest.approx(math.sqrt(lam * 4 + R + extra))
    free = model.confidence_set(0.03, 0.7, radius="regret")
    design = np.column_stack([np.ones(n), X]) if intercept else X
    theta, left, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    residual = float(left[0]) if left.size else float(np.sum((y - design @ theta) ** 2))
    assert free.radius == pytest.approx(math.sqrt(max(model.online_loss_ - residual, 0.0) + extra), rel=1e-5)
    assert free.bounded == (rank == design.shape[1])
    if free.bounded and n > 2 * design.shape[1]:
        x = design[0]
        reach = free.radius * math.sqrt(x @ np.linalg.solve(design.T @ design, x))
        assert_allclose(free.interval(X[0])[0], [x @ theta - reach, x @ theta + reach], rtol=1e-6, atol=1e-8)


def in_ball(seed: int, S: float, lam: Any = 1.0, n: int = 12, prior: Any = None) -> tuple[SetInBall, OnlineRegressor]:
    X, y, _ = data(seed, n)
    model = RidgeRegressor(lam, fit_intercept=False, prior_mean=prior).fit(X, y)
    region = model.confidence_set(0.05, 0.5, S, radius="convex")
    assert isinstance(region, SetInBall)
    return region, model


@pytest.mark.parametrize("S", [0.8, 1.2, 3.0])
@pytest.mark.parametrize("lam", [1e-3, 1.0, [0.1, 1.0, 10.0]], ids=str)
def test_ends_within_the_ball_are_the_furthest_points(lam: Any, S: float) -> None:
    """Against a solver for the two constraints; and points just outside are none of the set's."""
    prior = [0.1, -0.2, 0.3]
    region, model = in_ball(7, S, lam, prior=prior)
    X, y, _ = data(7, 12)
    lams = np.broadcast_to(lam, 3)
    scale = np.sqrt(lams / lams.max())
    gain = model.information_gain_
    most = model.regularized_loss_ + noise_width(0.5, 0.05, gain) ** 2
    limits: Any = [
        {"type": "ineq", "fun": lambda theta: (most - np.sum((y - X @ theta) ** 2)) / most},
        {"type": "ineq", "fun": lambda theta: 1 - np.sum((scale * (theta - prior)) ** 2) / S**2},
    ]
    rng = np.random.default_rng(0)
    assert region.contains(region.interval(np.eye(3)).mean(axis=1))
    for x in rng.standard_normal((6, 3)):
        lower, upper = region.interval(x)[0]
        for sign, end in ((1.0, upper), (-1.0, -lower)):
            row = -sign * x
            found = minimize(row.__matmul__, region.center, constraints=limits, tol=1e-12)
            assert end == pytest.approx(-found.fun, rel=1e-5, abs=1e-6)
            inward = region.interval(np.eye(3)).mean(axis=1)
            assert region.contains(inward + 0.9999 * (found.x - inward))
            assert not region.contains(inward + 1.001 * (found.x - inward))


@given(st.integers(0, 2**32), st.sampled_from([0.5, 2.0, 20.0]), st.sampled_from([1e-3, 1.0, 1e3]), st.integers(1, 60))
def test_no_interval_is_wider_than_that_of_a_larger_set(seed: int, S: float, lam: float, n: int) -> None:
    """convex ⊂ joint ∩ ball ⊂ joint ⊂ sum; and forward's sharp ⊂ tight ⊂ paper, each ends inside the other's."""
    X, y, _ = data(seed, n)
    new = np.random.default_rng(seed).standard_normal((5, 3)) * np.logspace(-1, 1, 5)[:, None]
    ridge, forward = (kind(lam, fit_intercept=False).fit(X, y) for kind in (RidgeRegressor, ForwardRegressor))
    choices: list[Radius] = ["convex", "joint", "sum"]
    convex, joint, total = (ridge.confidence_set(0.05, 0.5, S, radius=radius).interval(new) for radius in choices)
    if np.isnan(convex).any():
        return  # S is told too small: nothing is left
    ball = np.sqrt((new**2).sum(axis=1)) * S
    sharp = forward.confidence_set(0.05, 0.5, S).interval(new)
    tight = forward.confidence_set(0.05, 0.5, S, bias="tight").interval(new)
    paper = forward.confidence_set(0.05, 0.5, S, bias="paper").interval(new)
    nested = [(convex, joint), (joint, total), (convex, np.column_stack([-ball, ball])), (convex, sharp)]
    for inner, outer in [*nested, (sharp, tight), (tight, paper)]:
        room = 1e-9 * (1 + np.abs(outer).max())
        assert (inner[:, 0] >= outer[:, 0] - room).all()
        assert (inner[:, 1] <= outer[:, 1] + room).all()


def test_a_vague_bound_leaves_what_the_rows_say() -> None:
    """However large S is, the ends are no wider than around least squares: α = 0."""
    X, _, _ = data(7, 40)
    x = np.array([1.0, 0.0, 0.0])
    for S in (1e4, 1e8, 1e12):
        vague, model = in_ball(7, S, n=40)
        least = model.confidence_set(0.05, 0.5).center @ x
        reach = math.sqrt(vague.budget * (x @ np.linalg.solve(X.T @ X, x)))
        assert_allclose(vague.interval(x)[0], [least - reach, least + reach], rtol=1e-4)


def test_what_cannot_be_true_is_empty() -> None:
    for S, empty in ((0.3, True), (1.2, False)):
        region, _ = in_ball(7, S, n=200)
        assert region.empty == empty
        ends = region.interval(np.eye(3))
        assert np.isnan(ends).all() if empty else (ends[:, 0] < ends[:, 1]).all()
        assert (region.volume == 0) == empty
    large, _ = in_ball(7, 10.0, lam=1e15, n=40)
    assert large.contains(data(7, 40)[2])  # nothing cancels


def test_a_set_within_a_ball_can_be_drawn() -> None:
    region, _ = in_ball(3, 1.1, n=6)
    shadow = region.boundary(0, 2, points=300)
    ends = region.coordinates()[[0, 2]]
    assert_allclose(shadow.max(axis=0), ends[:, 1], rtol=1e-3)
    assert_allclose(shadow.min(axis=0), ends[:, 0], rtol=1e-3)
    assert region.log_volume == pytest.approx(math.log(region.volume))
    assert region.volume <= Ellipsoid(region.state, region.center, region.radius).volume


def test_sharp_sets_at_x_hold_what_their_intervals_say() -> None:
    X, y, _ = data(5)
    region = ForwardRegressor(0.3, fit_intercept=False).fit(X, y).confidence_set(0.05, 0.5, 1.0)
    assert isinstance(region, ForwardSet)
    for x in np.random.default_rng(2).standard_normal((20, 3)):
        (inner,), (outer,) = region.interval(x), region.at(x).interval(x)
        assert outer[0] <= inner[0] <= inner[1] <= outer[1]


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: _ridge().confidence_set(radius="joint"), "expected sigma too, got radius='joint'"),
    (lambda: _ridge().confidence_set(sigma=1.0, radius="joint"), "expected theta_bound too, or radius='regret'"),
    (lambda: _forward().confidence_set(sigma=1.0, theta_bound=1.0, radius="convex"), "expected a ridge model"),
    (
        lambda: _forward().confidence_set(sigma=1.0, theta_bound=1.0, radius="joint", bias="tight"),
        "bias='tight' goes with radius='sum', got radius='joint'",
    ),
    (lambda: _ridge().confidence_set(sigma=1.0, theta_bound=1.0, radius=_other("best")), "radius must be 'joint'"),
]


def _other(value: Any) -> Any:
    return value


def _ridge() -> OnlineRegressor:
    return RidgeRegressor().fit([[1.0]], [2.5])


def _forward() -> OnlineRegressor:
    return ForwardRegressor().fit([[1.0]], [2.5])


@pytest.mark.parametrize(("ask", "message"), BAD)
def test_choices_that_do_not_fit(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()
