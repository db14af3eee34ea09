"""Bounds that hold with probability 1 − δ: how often they fail, counted, and that a smaller one fails too often."""

import numpy as np
import pytest

from onward import bounds
from onward.bounds import as_printed
from onward.core.trace import Trace
from onward.core.types import Matrix, Vector
from tests.theorems.games import NOISES, Runs, failing, most, play
from tests.theorems.sequences import rows

COUNT = 2000
SETTINGS = [  # design, d, λ, σ, S, noise
    ("gaussian", 1, 1e-2, 1.0, 1.0, "gaussian"),
    ("gaussian", 3, 1.0, 0.1, 2.0, "rademacher"),
    ("basis", 2, 10.0, 1.0, 0.0, "uniform"),
    ("sparse", 5, 0.1, 2.0, 1.0, "gaussian"),
    ("growing", 2, 1.0, 0.5, 1.0, "rademacher"),
    ("repeated", 3, 100.0, 1.0, 0.3, "gaussian"),
]


def setting(index: int) -> tuple[Runs, Trace, float, float]:
    design, d, lam, sigma, S, noise = SETTINGS[index]
    rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(index,)))
    X = rows(design, 30 if design == "growing" else 150, d, rng)
    theta = rng.standard_normal(d)
    theta *= S / np.sqrt(theta @ theta)
    runs = Runs(X, theta, lam, sigma * NOISES[noise](rng, (len(X), COUNT)))
    return runs, Trace.of(X, runs.y[:, 0].copy(), lam), sigma, S


@pytest.mark.parametrize("delta", [0.1, 0.05])
@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_regret_to_the_truth(index: int, delta: float) -> None:
    runs, trace, sigma, S = setting(index)
    T, d, lam, X = np.arange(1, len(trace.y) + 1), trace.d, trace.lam, float(trace.norms.max())
    for mixing in (None, 0.1, 10.0):
        along = {
            "ridge": bounds.ridge_regret_to_truth_along(trace, theta_bound=S, sigma=sigma, delta=delta, mixing=mixing),
            "forward": bounds.forward_regret_to_truth_along(
                trace, theta_bound=S, sigma=sigma, delta=delta, mixing=mixing
            ),
        }
        whole = {
            who: bound(T, d=d, lam=lam, feature_bound=X, theta_bound=S, sigma=sigma, delta=delta, mixing=mixing)
            for who, bound in (
                ("ridge", bounds.ridge_regret_to_truth),
                ("forward", bounds.forward_regret_to_truth),
            )
        }
        for who in along:
            assert failing(runs.regret(who), along[who][:, None]) <= most(delta, COUNT)
            assert (along[who] <= whole[who] * (1 + 1e-12)).all()


class HardCase:
    """λ so large that nothing is learned: each error is X S, and only the noise decides. B is A, nearly."""

    def __init__(self, count: int = 20_000, horizon: int = 50) -> None:
        rng = np.random.default_rng(11)
        self.T, self.X, self.count = np.arange(1, horizon + 1), np.ones((horizon, 1)), count
        self.runs = Runs(self.X, np.ones(1), 1e6, rng.standard_normal((horizon, count)))
        self.trace = Trace.of(self.X, self.runs.y[:, 0].copy(), 1e6)

    def right(self, who: str, delta: float) -> Vector:
        bound = bounds.ridge_regret_to_truth if who == "ridge" else bounds.forward_regret_to_truth
        return bound(self.T, d=1, lam=1e6, feature_bound=1.0, theta_bound=1.0, sigma=1.0, delta=delta)

    def printed(self, who: str, delta: float) -> Matrix:
        bound = as_printed.ridge_regret_to_truth if who == "ridge" else as_printed.forward_regret_to_truth
        squares = self.runs.squares(who)
        return np.column_stack(
            [
                bound(
                    self.T,
                    d=1,
                    lam=1e6,
                    feature_bound=1.0,
                    theta_bound=1.0,
                    sigma=1.0,
                    delta=delta,
                    mixing=1.0,
                    squares=column,
                )
                for column in squares.T[:: self.count // 1000]
            ]
        )


@pytest.mark.parametrize("who", ["ridge", "forward"])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_regret_to_the_truth_in_a_hard_case(who: str, delta: float) -> None:
    hard = HardCase()
    regret, bound = hard.runs.regret(who), hard.right(who, delta)
    limit = most(delta, hard.count)
    assert 0 < failing(regret, bound[:, None]) <= limit
    # The errors are S X at every round, so that is what the bound exceeds; half of the excess is not enough.
    sure = hard.runs.squares(who)
    assert failing(regret, sure + 0.5 * (bound[:, None] - sure)) > limit


@pytest.mark.parametrize("delta", [0.1, 0.05])
@pytest.mark.parametrize("index", range(len(SETTINGS)))
def test_truth_regret_to_the_best(index: int, delta: float) -> None:
    runs, trace, sigma, _ = setting(index)
    eigenvalue = bounds.smallest_eigenvalues(runs.X)
    along = bounds.truth_regret_to_best_along(trace, sigma=sigma, delta=delta, smallest_eigenvalue=eigenvalue)
    assert failing(runs.gap(), along[:, None]) <= most(delta, COUNT)
    whole = bounds.truth_regret_to_best(
        np.arange(1, len(trace.y) + 1),
        d=trace.d,
        lam=trace.lam,
        feature_bound=float(trace.norms.max()),
        sigma=sigma,
        delta=delta,
        smallest_eigenvalue=eigenvalue,
    )
    assert (along <= whole * (1 + 1e-12)).all()
    assert np.isfinite(whole[-1])


def test_truth_regret_to_the_best_is_no_wider_than_needed() -> None:
    # One coordinate, many rounds: half of the bound fails too often.
    rng = np.random.default_rng(17)
    X, lam, delta = np.ones((3000, 1)), 3.0, 0.1
    runs = Runs(X, np.zeros(1), lam, rng.standard_normal((3000, COUNT)))
    trace = Trace.of(X, runs.y[:, 0].copy(), lam)
    bound = bounds.truth_regret_to_best_along(
        trace, sigma=1.0, delta=delta, smallest_eigenvalue=bounds.smallest_eigenvalues(X)
    )
    gap = runs.gap()
    assert failing(gap, bound[:, None]) <= most(delta, COUNT) < failing(gap, 0.5 * bound[:, None])


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
@pytest.mark.parametrize("mixing", [0.1, None])
def test_noise_sum(noise: str, mixing: float | None) -> None:
    rng = np.random.default_rng(19)
    # A factor that looks at the noise before it, as predictions do: larger after a loss.
    sigma, delta = 2.0, 0.1
    drawn = sigma * NOISES[noise](rng, (2000, COUNT))
    factor = np.ones_like(drawn)
    factor[1:] += drawn[:-1] < 0
    total, squares = np.abs(np.cumsum(drawn * factor, axis=0)), np.cumsum(factor**2, axis=0)
    bound = bounds.noise_sum(squares, sigma=sigma, delta=delta, mixing=mixing)
    assert failing(total, bound) <= most(delta, COUNT) < failing(total, 0.6 * bound)


@pytest.mark.parametrize("noise", ["gaussian", "rademacher"])
def test_reward_noise_sum(noise: str) -> None:
    sigma, delta = 2.0, 0.1
    total = np.abs(np.cumsum(sigma * NOISES[noise](np.random.default_rng(20), (3000, COUNT)), axis=0))
    for mixing in (None, 1.0):
        bound = bounds.reward_noise_sum(np.arange(1, 3001), sigma=sigma, delta=delta, mixing=mixing)[:, None]
        assert failing(total, bound) <= most(delta, COUNT) < failing(total, 0.6 * bound)


@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("norm", [0.5, 3.0])
def test_bandits(lam: float, norm: float) -> None:
    theta, sigma, delta, horizon, games = np.array([0.6, -0.8]), 0.5, 0.1, 200, 100
    T = np.arange(1, horizon + 1)
    for estimator in ("ridge", "forward"):
        regrets, actions, rewards = play(
            estimator,
            games=games,
            horizon=horizon,
            arms=8,
            lam=lam,
            theta=theta,
            sigma=sigma,
            delta=delta,
            norm=norm,
            seed=23,
        )
        traces = [Trace.of(X, y, lam) for X, y in zip(actions, rewards, strict=True)]
        if estimator == "forward":
            whole = [
                bounds.oful_forward_regret(
                    T, d=2, lam=lam, feature_bound=norm, theta_bound=1.0, sigma=sigma, delta=delta
                )
            ]
            along = [
                [bounds.oful_forward_regret_along(trace, theta_bound=1.0, sigma=sigma, delta=delta)] for trace in traces
            ]
        else:
            whole = [
                bound(T, d=2, lam=lam, feature_bound=norm, theta_bound=1.0, sigma=sigma, delta=delta)
                for bound in (bounds.oful_regret, bounds.oful_regret_with_kappa)
            ]
            along = [
                [
                    bounds.oful_regret_along(trace, feature_bound=norm, theta_bound=1.0, sigma=sigma, delta=delta),
                    bounds.oful_regret_with_kappa_along(trace, theta_bound=1.0, sigma=sigma, delta=delta),
                ]
                for trace in traces
            ]
        for form, constants in enumerate(whole):
            data = np.array([each[form] for each in along])
            assert failing(regrets.T, data.T) <= most(delta, games)
            assert (data <= constants * (1 + 1e-12)).all()
            # Not idle either: a fortieth of it fails.
            assert failing(regrets.T, data.T / 40.0) > 0
