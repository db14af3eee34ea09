"""The sets' geometry: what they contain, where they end, how large they are, and where nothing is known."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from onward import ForwardRegressor, RidgeRegressor
from onward.confidence import (
    Bias,
    ConfidenceSet,
    Ellipsoid,
    ForwardSet,
    QuadraticSet,
    RunningIntersection,
    Width,
    bias_width,
    information,
    needed_noise_width,
    noise_width,
    observation_reach,
)
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor

LEARNERS = [ForwardRegressor, RidgeRegressor]
KNOWN: dict[str, dict[str, Any]] = {
    "sigma and S": {"sigma": 1.0, "theta_bound": 2.0},
    "sigma": {"sigma": 1.0},
    "nothing": {},
}


def data(seed: int, n: int = 40, d: int = 3) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + rng.standard_normal(n)


def dense(model: OnlineRegressor) -> tuple[Matrix, Vector]:
    """G and b over all coordinates, as sets have them: a constant has `lam`, too."""
    state = model.information_
    G, b = state.second_moment(), state.second_moment() @ state.coefficients()[:, 0]
    if state.intercept and state.lam[0] == 0:
        G[0, 0] += model.lam
    return G, b


@given(st.integers(0, 2**32), st.sampled_from(LEARNERS), st.booleans(), st.sampled_from([1e-3, 1.0, 30.0]))
def test_radii_and_regions_are_those_of_the_paper(
    seed: int, learner: type[OnlineRegressor], intercept: bool, lam: float
) -> None:
    X, y = data(seed)
    model = learner(lam, fit_intercept=intercept).fit(X, y)
    G, b = dense(model)
    d = len(b)
    gain = np.linalg.slogdet(G)[1] - d * math.log(lam)
    noise = 1.5 * math.sqrt(2 * math.log(1 / 0.03) + gain)
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(3)
    full = np.concatenate([[1.0], x]) if intercept else x
    theta = np.linalg.solve(G, b) + 0.3 * rng.standard_normal(d)

    apart = np.linalg.solve(G, b) - theta
    joint = model.confidence_set(0.03, 1.5, 2.0)
    W = math.sqrt(noise**2 + lam * 4)
    assert joint.radius == pytest.approx(W)
    assert joint.contains(theta) == (math.sqrt(apart @ G @ apart) <= W)
    leverage = float(full @ np.linalg.solve(G, full))
    h = leverage / (1 + leverage)
    if isinstance(joint, ForwardSet):
        length = math.sqrt(full @ full)
        middle = (1 - h) * float(full @ np.linalg.solve(G, b))
        reach = math.sqrt(h * (1 - h)) * W + h * length * 2
        assert_allclose(joint.interval(x)[0], [middle - reach, middle + reach], rtol=1e-7, atol=1e-9)
        assert joint.at(x).radius == pytest.approx(W + math.sqrt(h) * length * 2)

    chosen_bias: Bias = "tight"
    region = model.confidence_set(0.03, 1.5, 2.0, radius="sum", bias=chosen_bias)
    assert region.contains(theta) == (math.sqrt(apart @ G @ apart) <= noise + math.sqrt(lam) * 2)
    if isinstance(region, ForwardSet):
        at, G_x = region.at(x), G + np.outer(full, full)
        center = np.linalg.solve(G_x, b)
        factors: dict[Bias, float] = {
            "tight": math.sqrt(lam + full @ full),
            "paper": math.sqrt(lam) + math.sqrt(full @ full),
        }
        for bias, factor in factors.items():
            chosen = model.confidence_set(0.03, 1.5, 2.0, bias=bias)
            assert isinstance(chosen, ForwardSet)
            assert chosen.at(x).radius == pytest.approx(noise + factor * 2)
        assert_allclose(at.center, center, rtol=1e-7, atol=1e-9)
        reach = at.radius * math.sqrt(full @ np.linalg.solve(G_x, full))
        assert_allclose(region.interval(x)[0], [full @ center - reach, full @ center + reach], rtol=1e-7, atol=1e-9)
        assert_allclose(at.interval(x), region.interval(x), rtol=1e-7, atol=1e-9)
        assert region.contains(theta, x) == at.contains(theta)
    else:
        reach = region.radius * math.sqrt(full @ np.linalg.solve(G, full))
        assert_allclose(region.interval(x)[0], [full @ region.center - reach, full @ region.center + reach], rtol=1e-7)

    A = G - lam * np.eye(d)
    free = model.confidence_set(0.03, 1.5, mixture=lam)
    inverse = np.linalg.inv(A)
    reach = noise * math.sqrt(full @ inverse @ G @ inverse @ full)
    middle = float(full @ inverse @ b)
    assert_allclose(free.interval(x)[0], [middle - reach, middle + reach], rtol=1e-6, atol=1e-8)
    left = b - A @ theta
    assert free.contains(theta) == (left @ np.linalg.solve(G, left) <= noise**2)

    unknown = model.confidence_set(0.03, mixture=lam)
    design = np.column_stack([np.ones(len(X)), X]) if intercept else X
    residual = y - design @ theta
    s, gradient = residual @ residual, design.T @ residual
    process = -gain / 2 - len(y) / 2 * math.log(1 - gradient @ np.linalg.solve(G, gradient) / s)
    assert unknown.contains(theta) == (process < math.log(1 / 0.03))


@given(st.integers(0, 2**32), st.sampled_from(["determinant", "trace", "uniform"]), st.sampled_from([1e-6, 0.3, 1e4]))
def test_sets_without_a_bound_do_not_depend_on_the_model_s_lam(seed: int, width: Width, lam: float) -> None:
    """Their λ' is 1 unless told, or in proportion to a λ for each coordinate, the largest of which it replaces."""
    X, y = data(seed)
    both: list[dict[str, Any]] = [{"sigma": 1.5}, {}]
    for known in both:
        plain = RidgeRegressor(1.0).fit(X, y).confidence_set(0.03, **known, width=width)
        other = RidgeRegressor(lam).fit(X, y).confidence_set(0.03, **known, width=width)
        assert_allclose(other.interval(X), plain.interval(X), rtol=1e-5, atol=1e-8)
        told = RidgeRegressor(lam).fit(X, y).confidence_set(0.03, **known, width=width, mixture=0.2)
        each = np.array([1.0, 3.0, 0.5]) * lam
        own = RidgeRegressor(0.2).fit(X, y).confidence_set(0.03, **known, width=width, mixture=0.2)
        assert_allclose(told.interval(X), own.interval(X), rtol=1e-5, atol=1e-8)
        shared = RidgeRegressor(each, intercept_lam=lam).fit(X, y).confidence_set(0.03, **known, mixture=3 * lam)
        usual = RidgeRegressor(each, intercept_lam=lam).fit(X, y).information_
        gain = usual.information_gain
        assert shared.radius == pytest.approx(
            noise_width(1.5, 0.03, gain)
            if known
            else math.sqrt(-math.expm1((2 * math.log(0.03) - gain) / 40) * _residual(X, y)),
            rel=1e-5,
        )


def _residual(X: Matrix, y: Vector) -> float:
    design = np.column_stack([np.ones(len(X)), X])
    return float(np.sum((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2))


def some_sets() -> list[tuple[str, ConfidenceSet]]:
    X, y = data(3)
    return [
        (f"{learner.__name__}, {name} known", learner(0.5, fit_intercept=False).fit(X, y).confidence_set(**known))
        for learner in LEARNERS
        for name, known in KNOWN.items()
    ]


@pytest.mark.parametrize(("name", "region"), some_sets(), ids=[name for name, _ in some_sets()])
def test_intervals_end_where_the_set_ends(name: str, region: ConfidenceSet) -> None:
    rng = np.random.default_rng(0)
    assert region.contains(region.center)
    inside = 0
    member: ConfidenceSet = region
    for x in rng.standard_normal((20, 3)):
        if isinstance(region, ForwardSet):
            member = region.at(x)
        lower, upper = member.interval(x)[0]
        for _ in range(50):
            theta = member.center + rng.standard_normal(3) * rng.uniform(0, 2)
            if member.contains(theta):
                inside += 1
                assert lower - 1e-9 <= x @ theta <= upper + 1e-9
        # The end is reached: just inside there is a member, just outside there is none along that line.
        direction = _furthest(member, x)
        assert member.contains(member.center + 0.999 * direction)
        assert not member.contains(member.center + 1.001 * direction)
        assert x @ (member.center + direction) == pytest.approx(upper, rel=1e-6)
    assert inside > 50


def _furthest(member: ConfidenceSet, x: Vector) -> Vector:
    """The deviation from the center at which xᵀθ is largest."""
    if isinstance(member, QuadraticSet):
        along: Vector = member.axes @ ((member.axes.T @ x) / member.stiffness)
    else:
        assert isinstance(member, Ellipsoid)
        along = np.asarray(np.linalg.solve(member.state.second_moment(), x), dtype=np.float64)
    direction: Vector = along * (member.radius / math.sqrt(x @ along))
    return direction


@pytest.mark.parametrize(("name", "region"), some_sets(), ids=[name for name, _ in some_sets()])
def test_volume_and_shadow(name: str, region: ConfidenceSet) -> None:
    rng = np.random.default_rng(1)
    ends = region.coordinates() if not isinstance(region, ForwardSet) else region.at(np.zeros(3)).coordinates()
    box = ends[:, 1] - ends[:, 0]
    points = ends[:, 0] + rng.random((20_000, 3)) * box
    share = np.mean([region.contains(point) for point in points])
    assert region.volume == pytest.approx(share * np.prod(box), rel=0.03)
    assert region.log_volume == pytest.approx(math.log(region.volume))
    shadow = region.boundary(0, 2, points=400)
    assert_allclose(shadow.min(axis=0), ends[[0, 2], 0], rtol=1e-3, atol=1e-3)
    assert_allclose(shadow.max(axis=0), ends[[0, 2], 1], rtol=1e-3, atol=1e-3)
    assert_allclose(shadow[0], shadow[-1])


def test_what_is_unbounded_says_so() -> None:
    X = np.zeros((30, 3))
    X[:, :2] = np.random.default_rng(0).standard_normal((30, 2))
    model = ForwardRegressor(0.5, fit_intercept=False).fit(X, X[:, 0] + np.random.default_rng(1).standard_normal(30))
    for region in (model.confidence_set(sigma=1.0), model.confidence_set()):
        assert not region.bounded
        assert region.volume == math.inf
        assert np.isfinite(region.interval([[1.0, -2.0, 0.0]])).all()
        assert_array_equal(region.interval([[1.0, 0.0, 1e-6]]), [[-math.inf, math.inf]])
        assert_array_equal(region.interval([[0.0, 0.0, 0.0]]), [[0.0, 0.0]])
        assert_array_equal(np.isinf(region.coordinates()), [[False] * 2, [False] * 2, [True] * 2])
        assert np.isnan(region.boundary(0, 2)).all()
        assert np.isfinite(region.boundary(0, 1)).all()
        assert region.contains([*region.center[:2], 1e9])
    few = ForwardRegressor(0.5, fit_intercept=False).fit(X[:3], [1.0, 2.0, 0.5])
    assert_array_equal(few.interval(X[:2]), [[-math.inf, math.inf]] * 2)  # too few rows to know σ: open to all sides
    assert few.confidence_set(sigma=1.0, theta_bound=1.0).bounded


def test_a_large_lambda_does_not_invent_knowledge() -> None:
    X, y = data(0)
    X[:, 2] = 1e-9 * X[:, 2]  # invisible beside λ in double precision
    model = RidgeRegressor(1e4, fit_intercept=False).fit(X, y)
    assert_array_equal(model.interval([[0.0, 0.0, 1.0]], sigma=1.0), [[-math.inf, math.inf]])


@given(st.integers(0, 2**32), st.sampled_from(LEARNERS), st.sampled_from(sorted(KNOWN)))
def test_prior_and_weights_move_the_set_with_them(seed: int, learner: type[OnlineRegressor], known: str) -> None:
    """With a prior mean θ_0 the set is that of the residuals, shifted; weights w are rows √w·x with targets √w·y."""
    X, y = data(seed)
    rng = np.random.default_rng(seed)
    prior, w = rng.standard_normal(3), rng.uniform(0.1, 3, len(y))
    given_prior = learner(fit_intercept=False, prior_mean=prior).fit(X, y, w)
    root = np.sqrt(w)
    plain = learner(fit_intercept=False).fit(root[:, None] * X, root * (y - X @ prior))
    a, b = given_prior.confidence_set(**KNOWN[known]), plain.confidence_set(**KNOWN[known])
    assert_allclose(a.center, b.center + prior, rtol=1e-6, atol=1e-8)
    assert a.radius == pytest.approx(b.radius, rel=1e-7)
    shifted = b.interval(X[:5]) + (X[:5] @ prior)[:, None]
    assert_allclose(a.interval(X[:5]), shifted, rtol=1e-5, atol=1e-7)


def test_rows_of_weight_zero_do_not_count() -> None:
    X, y = data(0)
    w = np.ones(len(y))
    w[10:] = 0
    for learner in LEARNERS:
        with_zeros, without = learner().fit(X, y, w), learner().fit(X[:10], y[:10])
        assert with_zeros.information_.counted == 10
        assert_allclose(with_zeros.interval(X), without.interval(X))
        one = learner()
        for x, target, weight in zip(X, y, w, strict=True):
            one.learn_one(x, target, weight)
        assert one.information_.counted == 10


def test_tables_targets_and_the_coefficient_table() -> None:
    X, y = data(0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    both = ForwardRegressor().fit(frame, np.column_stack([y, -2 * y]))
    single = ForwardRegressor().fit(frame, -2 * y)
    intervals = both.interval(frame, sigma=1.0, theta_bound=1.0)
    assert intervals.shape == (40, 2, 2)
    assert_allclose(intervals[:, 1], single.interval(frame, sigma=1.0, theta_bound=1.0))
    table = pd.DataFrame(single.coefficient_table(sigma=1.0))
    assert list(table["feature"]) == ["(intercept)", "a", "b", "c"]
    assert_allclose(table["estimate"], [single.intercept_, *single.coef_])
    assert (table["lower"] < table["estimate"]).all()
    assert (table["estimate"] < table["upper"]).all()
    assert_allclose(both.coefficient_table(sigma=1.0, target=1)["lower"], table["lower"])
    with pytest.raises(ValueError, match="target must be one of 0 to 1 for a model of 2 targets, got None"):
        both.confidence_set(sigma=1.0)


def test_widths_are_ordered() -> None:
    X, y = data(0)
    state = RidgeRegressor(0.3).fit(X, y).state_for_sets()
    tight, trace, uniform, given_bound = (
        information(state),
        information(state, "trace"),
        information(state, "uniform"),
        information(state, "uniform", 100.0),
    )
    assert tight < trace < uniform < given_bound
    weighted = RidgeRegressor(0.3).fit(X, y, np.full(40, 100.0)).state_for_sets()
    assert information(weighted) < information(weighted, "trace") < information(weighted, "uniform")
    squares = (X**2).sum(axis=1) + 1
    assert trace == pytest.approx(4 * math.log1p(squares.sum() / (0.3 * 4)))
    assert uniform == pytest.approx(4 * math.log1p(40 * squares.max() / (0.3 * 4)))
    assert bias_width(0.3, 4.0, "tight") < bias_width(0.3, 4.0, "paper")
    assert noise_width(2.0, 0.1, 3.0) == pytest.approx(2 * math.sqrt(2 * math.log(10) + 3))
    widths: list[Width] = ["determinant", "trace", "uniform"]
    radii = [RidgeRegressor(0.3).fit(X, y).confidence_set(0.1, 1.0, 1.0, width=width).radius for width in widths]
    assert radii == sorted(radii)


def test_a_set_does_not_change_when_the_model_learns_on() -> None:
    X, y = data(0)
    model = ForwardRegressor().fit(X, y)
    regions = [model.confidence_set(**known) for known in KNOWN.values()]
    before = [region.interval(X[:3]) for region in regions]
    model.partial_fit(X, y)
    for region, ends in zip(regions, before, strict=True):
        assert_array_equal(region.interval(X[:3]), ends)


def test_running_intersection_never_widens() -> None:
    X, y = data(2, n=200)
    model = RidgeRegressor(fit_intercept=False)
    sequence = RunningIntersection(np.eye(3))
    widths, single = [], []
    for x, target in zip(X, y, strict=True):
        model.learn_one(x, target)
        region = model.confidence_set(0.05, 1.0, 3.0)
        sequence.update(region)
        single.append(np.diff(region.interval(np.eye(3)))[:, 0])
        widths.append(np.diff(sequence.interval())[:, 0])
    assert (np.diff(widths, axis=0) <= 1e-12).all()
    assert (np.array(widths) <= np.array(single) + 1e-12).all()
    assert (np.diff(single, axis=0) > 1e-12).any()  # a single round's interval does widen now and then
    assert not sequence.empty
    sequence.update(RidgeRegressor(fit_intercept=False).fit(X, y + 50 * X[:, 0]).confidence_set(0.05, 1.0, 3.0))
    assert sequence.empty


@pytest.mark.parametrize("sigma", [1.0, None])
def test_intervals_of_observations_hold_as_often_as_they_say(sigma: float | None) -> None:
    misses, kept, delta = 0, 0, 0.2
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 2))
        y = X @ np.array([0.6, -0.8]) + rng.standard_normal(30)
        model = ForwardRegressor(fit_intercept=False).fit(X[:-1], y[:-1])
        lower, upper = model.interval(X[-1:], delta, sigma, of="observation", method="uniform")[0]
        mean = model.interval(X[-1:], delta / 2, sigma)[0]
        assert lower < mean[0] < mean[1] < upper
        misses += not lower <= y[-1] <= upper
        kept += not lower + (upper - lower) / 3 <= y[-1] <= upper - (upper - lower) / 3  # a third of it is too short
    assert misses <= 1500 * delta
    assert kept > 1500 * delta / 2


def test_levels_beside_a_constant_leave_observations_bounded() -> None:
    """A constant beside 0/1 levels that add up to it: one direction is never seen, and no row needs it."""
    misses, runs, delta = 0, 400, 0.2
    for run in range(runs):
        rng = np.random.default_rng(run)
        levels = np.eye(3)[rng.integers(0, 3, 61)]
        X = np.column_stack([rng.standard_normal(61), levels])
        y = X @ [1.0, 0.5, -0.5, 2.0] + 0.3 * rng.standard_normal(61)
        model = ForwardRegressor(1.0).fit(X[:60], y[:60])
        assert not model.confidence_set(delta).bounded
        lower, upper = model.interval(X[60:], delta, of="observation", method="uniform")[0]
        assert np.isfinite([lower, upper]).all()
        misses += not lower <= y[60] <= upper
        outside = np.array([[0.0, 1.0, 1.0, 0.0]])  # two levels at once: nobody knows
        assert np.isinf(model.interval(outside, delta, of="observation", method="uniform")).all()
    assert misses <= runs * delta


BAD: list[tuple[dict[str, Any], str]] = [
    ({"delta": 0.0}, "delta must be a number strictly between 0 and 1, got 0.0"),
    ({"delta": 1.0}, "delta must be .* got 1.0"),
    ({"delta": math.nan}, "delta must be .* got nan"),
    ({"delta": "0.1"}, "delta must be .* got '0.1'"),
    ({"sigma": 0.0}, "sigma must be a number > 0, got 0.0"),
    ({"sigma": -1.0}, "sigma must be a number > 0, got -1.0"),
    ({"sigma": math.inf}, "sigma must be a number > 0, got inf"),
    ({"sigma": 1.0, "theta_bound": -1.0}, "theta_bound must be a number >= 0, got -1.0"),
    ({"sigma": 1.0, "theta_bound": math.nan}, "theta_bound must be .* got nan"),
    ({"theta_bound": 1.0}, "theta_bound says nothing while sigma is unknown"),
    ({"sigma": 1.0, "width": "wide"}, "width must be 'determinant', 'trace' or 'uniform', got 'wide'"),
    ({"sigma": 1.0, "theta_bound": 1.0, "bias": "none"}, "bias must be 'sharp', 'tight' or 'paper', got 'none'"),
    ({"sigma": 1.0, "feature_bound": 1.0}, "feature_bound is for width='uniform', got width='determinant'"),
    (
        {"sigma": 1.0, "width": "uniform", "feature_bound": 0.1},
        "feature_bound must be at least the largest √w·‖x‖ seen",
    ),
    ({"sigma": 1.0, "width": "uniform", "feature_bound": -1.0}, "feature_bound must be a number > 0, got -1.0"),
]


@pytest.mark.parametrize(("settings", "message"), BAD)
@pytest.mark.parametrize("learner", LEARNERS)
def test_bad_parameters(learner: type[OnlineRegressor], settings: dict[str, Any], message: str) -> None:
    X, y = data(0)
    model = learner().fit(X, y)
    for ask in (model.confidence_set, model.coefficient_table, lambda **s: model.interval(X, **s)):
        with pytest.raises(ValueError, match=message):
            ask(**settings)


def test_bad_questions() -> None:
    X, y = data(0)
    region = ForwardRegressor().fit(X, y).confidence_set(sigma=1.0, theta_bound=1.0)
    assert isinstance(region, ForwardSet)
    with pytest.raises(ValueError, match="x has 2 features, but this set is over 3"):
        region.interval([[1.0, 2.0]])
    with pytest.raises(ValueError, match="x must hold finite numbers"):
        region.interval([[1.0, math.nan, 2.0]])
    with pytest.raises(ValueError, match="theta must hold 4 finite numbers"):
        region.contains([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="x must be one row, got 2"):
        region.at(X[:2])
    median: Any = "median"
    with pytest.raises(ValueError, match="of must be 'mean' or 'observation', got 'median'"):
        ForwardRegressor().fit(X, y).interval(X, of=median)
    with pytest.raises(ValueError, match=r"lam must be a number > 0, got 0\.0"):
        ForwardRegressor(0.0).fit(X, y).interval(X, sigma=1.0)


@pytest.mark.parametrize("scale", [1e3, 1e5, 1e6, 1e8])
@pytest.mark.parametrize("sigma", [1.0, 1e-4])
def test_columns_of_very_different_scale(scale: float, sigma: float) -> None:
    """An offset column of another scale: the sets without S must neither lose the truth nor give up."""
    misses, open_ends = {"sigma": 0, "nothing": 0}, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((50, 3))
        X[:, 2] += 3.0
        theta = np.array([1.0, 2.0, 3.0 / scale])
        X[:, 2] *= scale
        model = RidgeRegressor(fit_intercept=False).fit(X, X @ theta + sigma * rng.standard_normal(50))
        for name, known in (("sigma", sigma), ("nothing", None)):
            region = model.confidence_set(0.05, known)
            ends = region.interval(np.eye(3)[:2])
            open_ends += int(np.isinf(ends).sum())
            misses[name] += bool((ends[:, 0] > theta[:2]).any() or (ends[:, 1] < theta[:2]).any())
    assert max(misses.values()) <= 6
    assert open_ends == 0 or scale >= 1e8


def test_sets_take_arrays_only() -> None:
    X, y = data(0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="a set takes arrays"):
        ForwardRegressor().fit(frame, y).confidence_set().interval(frame[["c", "a", "b"]])


def test_more_bad_questions() -> None:
    X, y = data(0)
    model = ForwardRegressor().fit(X, y)
    targets: list[Any] = [0.5, True, "a", 1]
    for target in targets:
        with pytest.raises(ValueError, match="target must be"):
            model.confidence_set(target=target)
    region = model.confidence_set(sigma=1.0)
    for pair in ((0, 9), (1, 1), (-1, 0)):
        with pytest.raises(ValueError, match="different coordinates from 0 to 3"):
            region.boundary(*pair)
    bad: Any = "foo"
    with pytest.raises(ValueError, match="bias must be"):
        model.interval(X, bias=bad)
    with pytest.raises(ValueError, match="kind must be"):
        needed_noise_width(X, y, np.ones(3), 1.0, bad)
    with pytest.raises(ValueError, match=r"must have shapes \(T, d\)"):
        needed_noise_width(X, y, np.ones(2), 1.0, "free")
    with pytest.raises(ValueError, match="unknown sigma"):
        observation_reach(region, 0.1, None)
    with pytest.raises(ValueError, match="delta must be"):
        observation_reach(region, 3.0, 1.0)
    with pytest.raises(ValueError, match="must hold finite numbers"):
        RunningIntersection([[math.nan, 1.0]])


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_whose_products_overflow_are_refused(learner: type[OnlineRegressor]) -> None:
    model = learner(fit_intercept=False).fit([[3.8e9, -3.7e9]], [-3.9e153], [1e-10])
    region = model.confidence_set(sigma=1e77, theta_bound=1e100)
    with pytest.raises(ValueError, match="an interval overflows double precision"):
        region.interval([[2.7e299, 1.4e299]])


def test_no_interval_loses_its_width_to_an_overflow() -> None:
    """The square of an eigenvalue of 1e200 is infinite, and a direction that stiff would have no width."""
    model = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1e100, 1.0], [1.0, 1e77]], [1.0, 1.0])
    small = RidgeRegressor(lam=1.0, fit_intercept=False).fit([[1e10, 1.0], [1.0, 1e7]], [1.0, 1.0])
    ends = model.interval([[1e90, 1.0]], sigma=1.0)[0]
    usual = small.interval([[1.0, 0.0]], sigma=1.0)[0]
    assert ends[1] - ends[0] > usual[1] - usual[0] > 1e-9


def _set_ends(model: OnlineRegressor, rows: Matrix | None, **known: Any) -> Matrix:
    region = model.confidence_set(**known)
    return region.coordinates() if rows is None else region.interval(rows)


def _table(model: OnlineRegressor) -> Vector:
    model.coefficient_table()
    return np.zeros(1)


def test_extremes_give_numbers_or_refusals_and_no_warnings() -> None:
    rng, refused, made = np.random.default_rng(0), 0, 0
    for case in range(120):
        n, d = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        X, y = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-150, 150, (n, d)), rng.standard_normal(n)
        rows = rng.standard_normal((2, d)) * 10.0 ** rng.uniform(-150, 250, (2, d))
        sigma, S, lam = 10.0 ** rng.uniform(-100, 100, 3)
        try:
            model = LEARNERS[case % 2](lam, fit_intercept=bool(case % 3)).fit(X, y * 10.0 ** rng.uniform(-100, 100))
        except ValueError:
            continue
        ends: list[Callable[[], Any]] = [
            partial(model.interval, rows, sigma=sigma),
            partial(model.interval, rows, of="observation"),
            partial(_set_ends, model, rows, sigma=sigma, theta_bound=S),
            partial(_set_ends, model, None, sigma=sigma, theta_bound=S),
            partial(_set_ends, model, rows),
            partial(_table, model),
        ]
        for each in ends:
            try:
                assert not np.isnan(each()).any()
                made += 1
            except ValueError as error:
                refused += "rescale" in str(error)
    assert made > 200
    assert refused > 20


@pytest.mark.parametrize(
    "bad", [pd.NaT, pd.NA, np.datetime64("2026-01-01"), "z" * 100_000, None, pytest.param(10**400, id="huge"), object()]
)
def test_sets_take_numbers_alone(bad: Any) -> None:
    region = RidgeRegressor().fit(np.eye(2), [1.0, 2.0]).confidence_set(sigma=1.0, theta_bound=1.0)
    calls: list[Callable[[], Any]] = [
        lambda: region.interval(np.array([[1.0, bad]], dtype=object)),
        lambda: region.interval([1.0, bad]),
        lambda: region.contains([1.0, 2.0, bad]),
        lambda: RunningIntersection([[1.0, bad]]),
        lambda: RunningIntersection(bad),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must") as caught:
            call()
        assert len(str(caught.value)) < 300
    with pytest.raises(ValueError, match="x must hold numbers, got dates"):
        region.interval(np.array([["2026-01-01", "NaT"]], dtype="M8[D]"))
