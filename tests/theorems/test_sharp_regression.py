"""Sharper bounds on the regret to the truth: they hold, a smaller one does not, and how much smaller they are."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from onward import bounds
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from tests.theorems.games import NOISES, Runs, failing, most
from tests.theorems.sequences import Run, runs
from tests.theorems.test_stochastic import COUNT, SETTINGS, HardCase, setting

SHARP: dict[str, Callable[..., Vector]] = {
    "ridge": bounds.ridge_regret_to_truth_sharp_along,
    "forward": bounds.forward_regret_to_truth_sharp_along,
}
SHARP_WHOLE: dict[str, Callable[..., Vector]] = {
    "ridge": bounds.ridge_regret_to_truth_sharp,
    "forward": bounds.forward_regret_to_truth_sharp,
}
OLD: dict[str, Callable[..., Vector]] = {
    "ridge": bounds.ridge_regret_to_truth_along,
    "forward": bounds.forward_regret_to_truth_along,
}
OLD_WHOLE: dict[str, Callable[..., Vector]] = {
    "ridge": bounds.ridge_regret_to_truth,
    "forward": bounds.forward_regret_to_truth,
}
SEEN: dict[str, Callable[..., Vector]] = {
    "ridge": bounds.ridge_regret_to_truth_seen_along,
    "forward": bounds.forward_regret_to_truth_seen_along,
}


@pytest.mark.parametrize("who", SHARP)
@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_sharp_regret_to_the_truth(index: int, who: str) -> None:
    runs, trace, sigma, S = setting(index)
    T, d, lam, X = np.arange(1, len(trace.y) + 1), trace.d, trace.lam, float(trace.norms.max())
    for delta in (0.1, 0.05):
        for mixing in (None, 0.1, 10.0):
            known = {"theta_bound": S, "sigma": sigma, "delta": delta, "mixing": mixing}
            along = SHARP[who](trace, **known)
            assert failing(runs.regret(who), along[:, None]) <= most(delta, COUNT)
            whole = SHARP_WHOLE[who](T, d=d, lam=lam, feature_bound=X, **known)
            assert (along <= whole * (1 + 1e-12)).all()
            assert (along <= OLD[who](trace, **known) * (1 + 1e-12)).all()
            assert (whole <= OLD_WHOLE[who](T, d=d, lam=lam, feature_bound=X, **known) * (1 + 1e-12)).all()


@pytest.mark.parametrize("who", SHARP)
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_half_of_the_excess_is_not_enough(who: str, delta: float) -> None:
    """λ so large that nothing is learned: the errors are S at every round, and twice the tail is needed."""
    hard = HardCase()
    regret, sure = hard.runs.regret(who), hard.runs.squares(who)
    known = {"theta_bound": 1.0, "sigma": 1.0, "delta": delta}
    limit = most(delta, hard.count)
    for bound in (
        SHARP[who](hard.trace, **known),
        SHARP_WHOLE[who](hard.T, d=1, lam=1e6, feature_bound=1.0, **known),
    ):
        assert failing(regret, bound[:, None]) <= limit
        assert failing(regret, sure + 0.5 * (bound[:, None] - sure)) > limit


class Errors:
    """Many runs on rows of ones, and the squares of the errors that B must cover, δ/2 of which is for the radius."""

    def __init__(self, lam: float, theta: float, horizon: int = 400, count: int = COUNT) -> None:
        rng = np.random.default_rng(41)
        self.X = np.ones((horizon, 1))
        self.runs = Runs(self.X, np.full(1, theta), lam, NOISES["gaussian"](rng, (horizon, count)))
        self.trace = Trace.of(self.X, self.runs.y[:, 0].copy(), lam)

    def errors(self, who: str) -> Matrix:
        return np.abs(self.runs.predictions(who) - self.runs.mean)


def radius(trace: Trace, S: float, delta: float, *, noise: float = 1.0, bias: float = 1.0) -> Vector:
    """The joint radius before each round, σ = 1, each part of its square scaled."""
    gain = np.concatenate(([0.0], trace.gain[:-1]))
    joint: Vector = np.sqrt(noise * (2.0 * np.log(1.0 / delta) + gain) + bias * trace.lam * S * S)
    return joint


@pytest.mark.parametrize("delta", [0.1, 0.02])
def test_neither_part_of_the_joint_radius_can_be_halved(delta: float) -> None:
    for lam, theta, smaller in ((1.0, 0.0, {"noise": 0.5}), (1e4, 1.0, {"bias": 0.5})):
        case = Errors(lam, theta)
        for who in ("ridge", "forward"):
            q, own = case.trace.q, abs(theta)
            width = np.sqrt(q) if who == "ridge" else np.sqrt(q) / (1 + q)
            rest = 0.0 if who == "ridge" else case.trace.h * own
            right = width * radius(case.trace, own, delta) + rest
            wrong = width * radius(case.trace, own, delta, **smaller) + rest
            # That is what the bound is made of: half of its δ is for the radius.
            squares = np.cumsum(right**2)
            bound = SHARP[who](case.trace, theta_bound=own, sigma=1.0, delta=2.0 * delta)
            assert_allclose(bound, squares + 2.0 * bounds.noise_sum(squares, sigma=1.0, delta=delta), rtol=1e-12)
            assert failing(case.errors(who), right[:, None]) <= most(delta, COUNT)
            assert failing(case.errors(who), wrong[:, None]) > most(delta, COUNT)


def test_forward_pays_for_its_own_row() -> None:
    """The first round: forward predicts 0 and is off by ‖x‖S; a bound with half of h‖x‖S does not cover that."""
    trace = Trace.of(np.array([[100.0]]), np.array([0.0]), 1e-4)
    W = radius(trace, 1.0, 0.05)
    q, h, norm = trace.q, trace.h, trace.norms
    assert (np.sqrt(q) / (1 + q) * W + h * norm >= 100.0).all()
    assert (np.sqrt(q) / (1 + q) * W + 0.5 * h * norm < 100.0).all()
    bound = bounds.forward_regret_to_truth_sharp_along(trace, theta_bound=1.0, sigma=1.0, delta=0.1)
    assert 100.0**2 <= bound[0] <= 1.2 * 100.0**2


def test_sharp_bounds_on_runs_of_figure_1() -> None:
    """d = 5, rows uniform in [0, 1]⁵, σ = 0.1, λ = 1, ‖θ*‖ = 1, T = 200, 100 runs: how many times smaller.

    Forward: 3 and more from round 20 on, 4.4 to 5.6 at the end. Ridge gains less, 1.8 to 1.9 at the end, for its
    paper's form has no term in X S to lose. What has seen the targets is 15 times smaller and more, for both.
    """
    least, last, seen = {}, {}, {}
    ratios = {who: np.empty((100, 200)) for who in SHARP}
    by_seen = {who: np.empty((100, 200)) for who in SHARP}
    known = {"theta_bound": 1.0, "sigma": 0.1, "delta": 0.05}
    for i in range(100):
        rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(i,)))
        X, theta = rng.uniform(0.0, 1.0, (200, 5)), rng.standard_normal(5)
        theta /= np.sqrt(theta @ theta)
        trace = Trace.of(X, X @ theta + 0.1 * rng.standard_normal(200), 1.0)
        for who in SHARP:
            old = OLD[who](trace, **known)
            ratios[who][i] = old / SHARP[who](trace, **known)
            by_seen[who][i] = old / SEEN[who](trace, theta_bound=1.0)
    for who in SHARP:
        least[who], last[who], seen[who] = ratios[who].min(0), ratios[who][:, -1], by_seen[who].min(0)
    assert (least["forward"][19:] > 3.0).all()
    assert last["forward"].min() > 4.4
    assert (least["ridge"] > 1.3).all()
    assert 1.8 < last["ridge"].min() <= last["ridge"].max() < 2.0
    assert (seen["forward"][19:] > 3.0).all()
    assert (seen["ridge"][19:] > 3.0).all()
    assert min(seen["forward"][-1], seen["ridge"][-1]) > 15.0


@given(runs())
@settings(max_examples=60)
def test_regret_to_any_truth_from_the_targets_seen(run: Run) -> None:
    """Whatever θ* is: exact but for the distance of θ_T from it, which is 0 at θ* = θ_T."""
    X, y, lam = run
    trace = Trace.of(X, y, lam)
    d, T = X.shape[1], len(y)
    A, b = np.vstack([X, np.sqrt(lam) * np.eye(d)]), np.concatenate([y, np.zeros(d)])
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    rng = np.random.default_rng(T)
    for who, predictions in (("ridge", trace.p), ("forward", trace.forward)):
        loss = np.cumsum((predictions - y) ** 2)
        slack = 1e-9 * (loss[-1] + np.sum(y**2))
        for theta in (best, best + rng.standard_normal(d), np.zeros(d)):
            S = float(np.sqrt(theta @ theta))
            regret = loss - np.cumsum((y - X @ theta) ** 2)
            bound = SEEN[who](trace, theta_bound=S)
            assert (regret <= bound + slack).all()
            off = float(np.sum((A @ (theta - best)) ** 2))
            assert_allclose(bound[-1] - regret[-1], off, atol=slack + 1e-9 * off)
