"""Sharper bounds on the regret of OFUL and OFUL^f: they hold, and no term of them can be spared."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from onward import bounds
from onward.bounds.common import Radius
from onward.core.trace import Trace
from tests.theorems.games import failing, most, play

GAMES, HORIZON = 100, 200


@pytest.mark.parametrize("radius", ["joint", "sum"])
@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("norm", [0.5, 3.0])
def test_sharp_bounds_of_policies(lam: float, norm: float, radius: Radius) -> None:
    theta, sigma, delta, T = np.array([0.6, -0.8]), 0.5, 0.1, np.arange(1, HORIZON + 1)
    game: dict[str, Any] = {"games": GAMES, "horizon": HORIZON, "arms": 8, "lam": lam, "theta": theta, "sigma": sigma}
    game |= {"delta": delta, "norm": norm, "seed": 31, "radius": radius}
    known: dict[str, Any] = {"theta_bound": 1.0, "sigma": sigma, "delta": delta, "radius": radius}
    for estimator in ("ridge", "sharp"):
        regrets, actions, rewards = play(estimator, **game)
        traces = [Trace.of(X, y, lam) for X, y in zip(actions, rewards, strict=True)]
        if estimator == "ridge":
            along = [bounds.oful_regret_sharp_along(trace, feature_bound=norm, **known) for trace in traces]
            whole = bounds.oful_regret_sharp(T, d=2, lam=lam, feature_bound=norm, **known)
            old = bounds.oful_regret
        else:
            along = [bounds.oful_forward_regret_sharp_along(trace, **known) for trace in traces]
            whole = bounds.oful_forward_regret_sharp(T, d=2, lam=lam, feature_bound=norm, **known)
            old = bounds.oful_forward_regret
        data = np.array(along)
        assert failing(regrets.T, data.T) <= most(delta, GAMES)
        assert failing(regrets.T, data.T / 10.0) > 0
        assert (data <= whole * (1 + 1e-12)).all()
        known_before: dict[str, Any] = {"theta_bound": 1.0, "sigma": sigma, "delta": delta}
        assert (whole <= old(T, d=2, lam=lam, feature_bound=norm, **known_before) * (1 + 1e-12)).all()


def test_the_first_round_costs_what_the_bounds_say() -> None:
    """Arms ±x of norm X, nothing known, λ tiny: the indices are the same, and the wrong arm costs 2XS."""
    X, S = 7.0, 2.0
    trace = Trace.of(np.array([[-X]]), np.array([-X * S]), 1e-6)
    known: dict[str, Any] = {"theta_bound": S, "sigma": 0.1, "delta": 0.05}
    forward = bounds.oful_forward_regret_sharp_along(trace, **known)[0]
    assert 2.0 * X * S <= forward <= 1.001 * 2.0 * X * S
    assert bounds.oful_regret_sharp_along(trace, feature_bound=X, **known)[0] == 2.0 * X * S


def test_the_noise_part_is_needed() -> None:
    """Arms ±1, the estimate 0 and θ* at the edge of the set: 1 is played, and pays −√q W where −1 pays √q W.

    So the round costs 2√q W, by either index.
    """
    sigma, delta, lam, n = 1.0, 0.05, 1.0, 400
    trace = Trace.of(np.ones((n + 1, 1)), np.zeros(n + 1), lam)
    q = 1.0 / (lam + n)
    W = math.sqrt(sigma**2 * (2.0 * math.log(1.0 / delta) + math.log(1.0 + n / lam)) + lam)
    cost = 2.0 * math.sqrt(q) * W
    for bound in (
        bounds.oful_regret_sharp_along(trace, feature_bound=1.0, theta_bound=1.0, sigma=sigma, delta=delta),
        bounds.oful_forward_regret_sharp_along(trace, theta_bound=1.0, sigma=sigma, delta=delta),
    ):
        assert cost * (1 - 1e-12) <= bound[-1] - bound[-2] <= 1.02 * cost


def test_rewards_that_are_bounded() -> None:
    """Means in [−1, 1] although X S is 50: no round counts more than 2; and 2√2 for the constant would do, too."""
    known: dict[str, Any] = {"theta_bound": 5.0, "sigma": 0.1, "delta": 0.05}
    trace = Trace.of(10.0 * np.eye(3), np.zeros(3), 1e-3)
    assert_allclose(
        bounds.oful_regret_sharp_along(trace, feature_bound=10.0, reward_bound=1.0, **known), [2.0, 4.0, 6.0]
    )
    assert_allclose(bounds.oful_regret_sharp_along(trace, feature_bound=10.0, **known), [100.0, 200.0, 300.0])
    whole: dict[str, Any] = {"d": 3, "lam": 1e-3, "feature_bound": 10.0, **known}
    T, gain = 1000, bounds.information_gain(1000, d=3, lam=1e-3, feature_bound=10.0)
    beta = math.sqrt(1e-3) * 5.0 + 0.1 * math.sqrt(2.0 * math.log(20.0) + gain)
    bound = bounds.oful_regret_sharp(T, reward_bound=1.0, radius="sum", **whole)
    assert_allclose(bound, 2.0 * max(1.0, beta) * math.sqrt(T * gain / math.log(2.0)))
    assert bound < 2.0 * math.sqrt(2.0) * max(1.0, beta) * math.sqrt(T * gain)
    # A bound on rewards that is larger than X S says nothing.
    assert bounds.oful_regret_sharp(T, reward_bound=99.0, **whole) == bounds.oful_regret_sharp(T, **whole)


def test_what_theta_costs_forward_grows_like_a_logarithm() -> None:
    """Thm 4.1 has (√λ + X) S √(T u_T), which at T = 10⁶ and X S = 200 is what the bound is made of."""
    known: dict[str, Any] = {
        "d": 10,
        "lam": 1.0,
        "feature_bound": 200.0,
        "theta_bound": 1.0,
        "sigma": 0.3,
        "delta": 0.01,
    }
    sharp, old = bounds.oful_forward_regret_sharp(10**6, **known), bounds.oful_forward_regret(10**6, **known)
    assert sharp < old / 20.0
