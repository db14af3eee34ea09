"""What weighing experts costs: games against the weights, scales that explode, and rules for which the bound fails."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward import AutoRegressor, bounds
from onward.bounds import expert_advice
from onward.core.aggregation import WAYS, combine, learn_errors, mixture_size, new_weights, view_mixture, weigh
from onward.core.types import Matrix, Vector

Adversary = Callable[[int, Vector, Vector, float], float]  # round, experts, ways, prediction → target
Rule = Callable[
    [int, Vector, Vector], float
]  # round, experts, ways → a prediction in place of that of polynomial weights


class Round(NamedTuple):
    """After a round: losses of polynomial weights and of the whole less those of experts, and what bounds them."""

    potential: Vector  # Φ, and what bounds it; then both of the rule over the ways
    polynomial: Vector  # (K,)
    polynomial_bound: Vector
    top: float
    top_bound: float
    loss: float


def play(
    experts: Matrix, target: Adversary, w: Vector, rule: Rule | None = None, top: Rule | None = None
) -> list[Round]:
    """Weigh experts (T, K) against targets that are chosen once the predictions are known."""
    T, K = experts.shape
    mixture = view_mixture(np.zeros(mixture_size(K)), 0, K)
    weights = new_weights(K)
    wide = weights.experts.shape[1]
    said, ways, ones, scratch = np.zeros(wide), np.zeros(WAYS), np.ones(wide), np.zeros((2, wide))
    losses, played = np.zeros(2), []
    low = high = 0.0
    for t in range(T):
        weigh(mixture, weights, ones)
        said[:K] = experts[t]
        prediction = combine(weights, said, ways)
        if rule is not None:
            ways[0] = rule(t, experts[t], ways)
        if top is not None:
            prediction = top(t, experts[t], ways)
        y = target(t, experts[t], ways, prediction)
        low, high = min(low, y), max(high, y)
        losses += w[t] * np.square([ways[0] - y, prediction - y])
        learn_errors(mixture, said, ways, prediction, y, w[t], 1e-9 * (high - low), ones, scratch)
        s = mixture.totals[0]
        phis = [
            np.sum(np.maximum(regret, 0) ** 2 / (peak + squares)) if peak > 0 else 0.0
            for regret, squares, peak in (
                (mixture.regret, mixture.squares, s["peak"]),
                (mixture.top_regret, mixture.top_squares, s["top_peak"]),
            )
        ]
        bound = expert_advice._regret(mixture.squares, s["peak"], s["potential"], s["error"])
        over = expert_advice._regret(mixture.top_squares[:1], s["top_peak"], s["top_potential"], s["top_error"])
        played.append(
            Round(
                np.array([phis[0], s["potential"], phis[1], s["top_potential"]]),
                losses[0] - mixture.loss,
                bound + s["ignored"],
                float(losses[1] - losses[0]),
                float(over[0] + s["top_sum"] + s["ignored"]),
                float(losses.sum() + mixture.loss.max()),
            )
        )
    return played


def check(played: list[Round]) -> None:
    for each in played:
        scale = 1e-12 * each.loss
        assert each.potential[0] <= each.potential[1] * (1 + 1e-9) + 1e-12
        assert each.potential[2] <= each.potential[3] * (1 + 1e-9) + 1e-12
        assert (each.polynomial <= each.polynomial_bound + scale).all()
        assert each.top <= each.top_bound + scale
        assert (each.polynomial + each.top <= each.polynomial_bound + each.top_bound + scale).all()


def needed(played: list[Round]) -> float:
    """How much of the bound of polynomial weights was needed at most."""
    return max(float((each.polynomial / np.maximum(each.polynomial_bound, 1e-300)).max()) for each in played)


def against(_: int, experts: Vector, ways: Vector, prediction: float) -> float:
    return -1.0 if prediction > 0 else 1.0


def against_polynomial(_: int, experts: Vector, ways: Vector, prediction: float) -> float:
    return -1.0 if ways[0] > 0 else 1.0


def for_the_first(_: int, experts: Vector, ways: Vector, prediction: float) -> float:
    """As far on the first expert's side of the prediction as it may be."""
    return 1.0 if experts[0] > prediction else -1.0


def switching(t: int, experts: Vector, ways: Vector, prediction: float) -> float:
    """What an expert says, another one every so often."""
    return float(experts[(t // 17) % len(experts)])


ADVERSARIES: dict[str, Adversary] = {
    "against": against,
    "against polynomial": against_polynomial,
    "for the first": for_the_first,
    "switching": switching,
}


@given(
    st.integers(0, 2**32),
    st.sampled_from(sorted(ADVERSARIES)),
    st.integers(1, 9),
    st.sampled_from(["constant", "random", "alternating", "close"]),
    st.sampled_from(["even", "exploding", "fading", "jumping"]),
)
@settings(max_examples=150)
def test_regret_of_weighing_on_any_sequence(seed: int, adversary: str, K: int, kind: str, scales: str) -> None:
    rng = np.random.default_rng(seed)
    T = 60
    experts = rng.standard_normal((T, K))
    if kind == "constant":
        experts = np.tile(np.linspace(-1, 1, K), (T, 1))
    elif kind == "alternating":
        experts = np.where(np.add.outer(np.arange(T), np.arange(K)) % 2, 1.0, -1.0)
    elif kind == "close":
        experts = 1e-3 * experts + rng.standard_normal((T, 1))
    scale = np.ones(T)
    if scales == "exploding":
        scale = 10.0 ** np.linspace(-6, 6, T)
    elif scales == "fading":
        scale = 10.0 ** np.linspace(6, -6, T)
    elif scales == "jumping":
        scale = 10.0 ** rng.integers(-3, 4, T).astype(float)
    made, w = ADVERSARIES[adversary], rng.uniform(0.1, 3, T)
    target: Adversary = lambda t, e, ways, p: scale[t] * made(t, e / scale[t], ways / scale[t], p / scale[t])  # noqa: E731
    check(play(experts * scale[:, None], target, w))


def test_half_of_the_bound_would_be_too_little() -> None:
    rng = np.random.default_rng(1)
    games = [play(rng.standard_normal((80, 2)), for_the_first, np.ones(80)) for _ in range(5)]
    for played in games:
        check(played)
    assert 0.5 < max(map(needed, games)) <= 1.0
    shares = [each.potential[0] / each.potential[1] for played in games for each in played if each.potential[1] > 0]
    assert 0.4 < max(shares) <= 1.0


def test_other_rules_break_the_bound() -> None:
    """The bound is one of the weights, not of the bookkeeping: it fails for those who follow the leader."""
    T = 2000
    experts, w = np.tile([1.0, -1.0], (T, 1)), np.ones(T)
    check(play(experts, against, w))
    costs = np.zeros(2)

    def leader(_: int, said: Vector, ways: Vector) -> float:
        return float(said[np.argmin(costs)])

    def spoil(_: int, said: Vector, ways: Vector, prediction: float) -> float:
        y = 0.1 * (-1.0 if ways[0] > 0 else 1.0)
        costs[:] += (said - y) ** 2
        return y

    last = play(experts, spoil, w, rule=leader)[-1]
    assert (last.polynomial > 2 * last.polynomial_bound).any()
    last = play(experts, against, w, top=lambda t, said, ways: -float(ways[0]) or 1.0)[-1]
    assert last.top > 2 * last.top_bound


def test_the_potential_is_what_was_added_in_each_round() -> None:
    """From all regrets anew, with rows in which all say the same among them."""
    rng = np.random.default_rng(2)
    T, K = 50, 3
    experts, y = rng.standard_normal((T, K)) * 10.0 ** rng.integers(-4, 4, (T, 1)), rng.standard_normal(T)
    experts[::7] = experts[::7, :1]
    played = play(experts, lambda t, *_: float(y[t]), np.ones(T))
    rounds, phi, peak, squares, R = 0, 0.0, 0.0, np.zeros(K), np.zeros(K)
    low = high = 0.0
    for t in range(T):
        p = np.maximum(R, 0) / (peak + squares) if peak > 0 else np.zeros(K)
        p = p / p.sum() if p.sum() > 0 else np.full(K, 1 / K)
        low, high = min(low, y[t]), max(high, y[t])
        r = 2 * (p @ experts[t] - y[t]) * (p @ experts[t] - experts[t])
        if np.abs(p @ experts[t] - experts[t]).max() > 1e-9 * (high - low):
            spent = (r**2 / (peak + squares)).sum() if peak > 0 else math.inf
            phi = min(phi + spent, (math.sqrt(phi) + math.sqrt(K / 2)) ** 2)
            R, squares, peak = R + r, squares + r**2, max(peak, (r**2).max())
            rounds += 1
        assert played[t].potential[1] == pytest.approx(phi, rel=1e-9)
    assert rounds == T - len(experts[::7])


# The learner itself


def losses(model: AutoRegressor, first: float) -> Vector:
    """Loss of the ensemble less that of each expert, but for the first row."""
    return np.asarray(model.online_loss_ - first - model.experts_["loss"])


@pytest.mark.parametrize("kind", ["against", "switching", "exploding", "noise"])
def test_the_learner_is_never_far_behind_its_best_expert(kind: str) -> None:
    rng = np.random.default_rng(3)
    T = 400
    X, theta = rng.standard_normal((T, 2)), rng.standard_normal((4, 2))
    model, first, bound = AutoRegressor(), 0.0, np.zeros(1)
    for t in range(T):
        y = float(X[t] @ theta[0] + rng.standard_normal())
        if kind == "against" and t:
            y = -1.0 if model.predict_one(X[t]) > 0 else 1.0
        elif kind == "switching":
            y = float(X[t] @ theta[t // 100])
        elif kind == "exploding":
            y *= 1e3 ** (t // 100)
        model.learn_one(X[t], y)
        first = first if t else y**2
        bound = bounds.aggregation_regret_so_far(model.ensemble_)
        assert (losses(model, first) <= bound * (1 + 1e-9) + 1e-9 * model.online_loss_).all()
    Y = np.sqrt(np.max(model.ensemble_.views.bounds**2))
    totals = model.ensemble_.mixture().totals[0]
    assert bound.max() <= bounds.aggregation_regret(T, experts=44, target_bound=Y, growth=1e12)
    assert max(totals["error"], totals["top_error"]) <= 16 * Y**2
    assert max(totals["peak"], totals["top_peak"]) <= (48 * Y**2) ** 2


def test_several_targets_have_bounds_of_their_own() -> None:
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((50, 2)), rng.standard_normal((50, 2)) * [1.0, 10.0]
    model = AutoRegressor().fit(X, Y)
    singles = [AutoRegressor().fit(X, Y[:, h]) for h in range(2)]
    for h in range(2):
        bound = bounds.aggregation_regret_so_far(model.ensemble_, target=h)
        np.testing.assert_allclose(bound, bounds.aggregation_regret_so_far(singles[h].ensemble_), rtol=1e-9)


# From constants


def bounded(adversary: Adversary) -> Adversary:
    return lambda *args: float(np.clip(adversary(*args), -1, 1))


def test_the_bound_from_constants_holds_and_grows_like_logarithms() -> None:
    rng = np.random.default_rng(5)
    for K in (1, 2, 10):
        for adversary in ADVERSARIES.values():
            experts = np.clip(rng.standard_normal((300, K)), -3, 3)
            experts[0] = np.linspace(-1, 1, K)
            played = play(experts, bounded(adversary), np.ones(300))
            T = np.arange(1.0, 301.0)
            closed = bounds.aggregation_regret(T, experts=K, target_bound=1.0, growth=1e8)
            realised = [float(each.polynomial_bound.max() + each.top_bound) for each in played]
            assert (realised <= closed).all()
            potential = expert_advice._potential(T, K, 1e8)
            assert all(each.potential[1] <= most for each, most in zip(played, potential, strict=True))
            weighted = expert_advice._potential(T, WAYS, 1e8 * ((T + 1) / 2) ** 2)
            assert all(each.potential[3] <= most for each, most in zip(played, weighted, strict=True))
    few, many = bounds.aggregation_regret(np.array([10**3, 10**6]), experts=44, target_bound=1.0, growth=1e6)
    assert many < 4 * few
    assert bounds.aggregation_regret(100, experts=44, target_bound=3.0, growth=10.0) == pytest.approx(
        9 * bounds.aggregation_regret(100, experts=44, target_bound=1.0, growth=10.0)
    )
