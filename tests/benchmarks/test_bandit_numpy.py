"""The NumPy policies that serve as a yardstick do what the paper says, by its definitions and not by their updates."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.linalg.blas import dgemm

from benchmarks import bandit_blas, bandit_numpy
from onward.core.types import Matrix, Vector

LAM, SIGMA, S, DELTA = 0.3, 0.7, 1.3, 0.05
KNOWN: dict[str, Any] = {"lam": LAM, "sigma": SIGMA, "theta_bound": S, "delta": DELTA}
Rows = Sequence[tuple[Vector, float]]
Index = Callable[[Vector, Rows], float]
"""An action's index, from the rows that were learned and nothing else."""


def rounds(count: int, d: int, k: int = 20) -> tuple[Matrix, Matrix, Vector]:
    """Actions of norm at most 1, means and noise."""
    rng = np.random.default_rng(3)
    actions = rng.standard_normal((count, k, d))
    actions *= rng.random((count, k, 1)) / np.linalg.norm(actions, axis=2, keepdims=True)
    return actions, actions @ np.linspace(-1, 1, d), SIGMA * rng.standard_normal(count)


def weighted(rows: Rows, weights: Sequence[float], d: int) -> tuple[Matrix, Vector]:
    """λI + Σ w x xᵀ and Σ w y x."""
    V, b = LAM * np.eye(d), np.zeros(d)
    for (x, y), w in zip(rows, weights, strict=True):
        V += w * np.outer(x, x)
        b += w * y * x
    return V, b


def oful(x: Vector, rows: Rows) -> float:
    G, b = weighted(rows, [1.0] * len(rows), len(x))
    gain = np.linalg.slogdet(G)[1] - len(x) * math.log(LAM)
    width = math.sqrt(LAM) * S + SIGMA * math.sqrt(2 * math.log(1 / DELTA) + gain)
    return float(x @ np.linalg.solve(G, b) + width * math.sqrt(x @ np.linalg.solve(G, x)))


def forward_oful(x: Vector, rows: Rows) -> float:
    G, b = weighted(rows, [1.0] * len(rows), len(x))
    gain = np.linalg.slogdet(G)[1] - len(x) * math.log(LAM)
    G_x = G + np.outer(x, x)
    width = math.sqrt(LAM + x @ x) * S + SIGMA * math.sqrt(2 * math.log(1 / DELTA) + gain)
    return float(x @ np.linalg.solve(G_x, b) + width * math.sqrt(x @ np.linalg.solve(G_x, x)))


def discounted(x: Vector, rows: Rows, gamma: float, forward: bool) -> float:
    d, t = len(x), len(rows)
    V, b = weighted(rows, [gamma ** (t - 1 - s) for s in range(t)], d)
    W, _ = weighted(rows, [gamma ** (2 * (t - 1 - s)) for s in range(t)], d)
    bias = math.sqrt(LAM)
    if forward:
        V, W, bias = V + np.outer(x, x), W + np.outer(x, x), math.sqrt(LAM + x @ x)
    seen = sum(gamma ** (2 * s) for s in range(t)) / (LAM * d)
    beta = bias * S + SIGMA * math.sqrt(2 * math.log(1 / DELTA) + d * math.log(1 + seen))
    g = np.linalg.solve(V, x)
    return float(g @ b + beta * math.sqrt(g @ W @ g))


def windowed(x: Vector, rows: Rows, window: int) -> float:
    recent = rows[-window:]
    G, b = weighted(recent, [1.0] * len(recent), len(x))
    width = math.sqrt(LAM) * S + SIGMA * math.sqrt(len(x) * math.log((1 + window / LAM) / DELTA))
    return float(x @ np.linalg.solve(G, b) + width * math.sqrt(x @ np.linalg.solve(G, x)))


def restarted(x: Vector, rows: Rows, after: int) -> float:
    return oful(x, rows[after:] if len(rows) >= after else rows)


CASES: dict[str, tuple[Callable[[int], Any], Index]] = {
    "OFUL": (lambda d: bandit_numpy.OFUL(d, **KNOWN), oful),
    "OFUL^f": (lambda d: bandit_numpy.ForwardOFUL(d, **KNOWN), forward_oful),
    "D": (lambda d: bandit_numpy.DLinUCB(d, 0.9, **KNOWN), lambda x, rows: discounted(x, rows, 0.9, forward=False)),
    "D^f": (
        lambda d: bandit_numpy.ForwardDLinUCB(d, 0.9, **KNOWN),
        lambda x, rows: discounted(x, rows, 0.9, forward=True),
    ),
    "SW": (lambda d: bandit_numpy.SWLinUCB(d, 15, **KNOWN), lambda x, rows: windowed(x, rows, 15)),
    "restart": (lambda d: bandit_numpy.RestartingOFUL(d, [40], **KNOWN), lambda x, rows: restarted(x, rows, 40)),
    "no failure": (lambda d: bandit_numpy.DetectingLinUCB(d, **KNOWN), oful),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("d", [2, 5])
def test_the_index_is_the_definition(name: str, d: int) -> None:
    make, index = CASES[name]
    policy = make(d)
    rows: list[tuple[Vector, float]] = []
    for actions, means, noise in zip(*rounds(60, d), strict=True):
        indices = [index(x, rows) for x in actions]
        assert policy.index(actions) == pytest.approx(indices, rel=1e-9)
        i = policy.choose(actions)
        assert i == indices.index(max(indices))
        policy.learn(actions[i], means[i] + noise)
        rows.append((actions[i], float(means[i] + noise)))


def test_detection_drops_what_fails_and_starts_anew() -> None:
    actions, means, noise = rounds(600, 2)
    means[300:] *= -1
    settings = KNOWN | {"sigma": 0.1}
    detecting = bandit_numpy.DetectingLinUCB(2, **settings)
    first, ages = detecting.models[0][0], []
    for t in range(600):
        i = detecting.choose(actions[t])
        detecting.learn(actions[t, i], means[t, i] + 0.1 * noise[t])
        ages.append(len(detecting.models[-1][1]))
    assert ages[:300] == [min(t + 1, 200) for t in range(300)], "nothing changed, and yet it started anew"
    assert 0 in ages[300:330], "it did not see the change"
    assert all(model is not first for model, _ in detecting.models), "it kept what fails"
    plain = bandit_numpy.play(bandit_numpy.OFUL(2, **settings), actions, means, 0.1 * noise)
    told = bandit_numpy.play(bandit_numpy.RestartingOFUL(2, [300], **settings), actions, means, 0.1 * noise)
    found = bandit_numpy.play(bandit_numpy.DetectingLinUCB(2, **settings), actions, means, 0.1 * noise)
    assert told[-1] < found[-1] < plain[-1] / 2


def test_sampling_spreads_like_the_confidence_set() -> None:
    policy = bandit_numpy.LinTS(2, **KNOWN)
    policy.learn(np.array([2.0, 1.0]), 20.0)
    spread = np.linalg.cholesky(policy.inverse) @ np.random.default_rng(0).standard_normal((2, 20_000))
    assert np.cov(spread) == pytest.approx(np.linalg.inv(LAM * np.eye(2) + [[4, 2], [2, 1]]), rel=0.05)
    # The first of two opposite arms is chosen as often as the normal law says.
    x = np.array([0.0, 1.0])
    mean, sd = policy.theta @ x, policy.alpha * math.sqrt(x @ policy.inverse @ x)
    share = np.mean([policy.choose(np.stack([x, -x])) == 0 for _ in range(4000)])
    expected = 0.5 * (1 + math.erf(mean / sd / math.sqrt(2)))
    assert 0.7 < expected < 0.9
    assert abs(share - expected) < 4 * math.sqrt(0.25 / 4000)


def test_disjoint_is_a_policy_for_each_arm() -> None:
    rng = np.random.default_rng(0)
    together, apart = bandit_numpy.Disjoint(3, 4, **KNOWN), [bandit_numpy.OFUL(3, **KNOWN) for _ in range(4)]
    for context, arm in zip(rng.standard_normal((50, 3)), rng.integers(4, size=50), strict=True):
        index = [one.index_of(context) for one in apart]
        assert together.index(context) == pytest.approx(index, rel=1e-9)
        together.learn(int(arm), context, float(arm))
        apart[arm].learn(context, float(arm))


# The best loops choose and learn in one call, so what is checked is that each choice was the best by the definition.

LOOPS: dict[str, tuple[Callable[[int, int], bandit_blas.Loop], Index]] = {
    "OFUL": (lambda d, k: bandit_blas.OFUL(d, k, **KNOWN), oful),
    "OFUL pruned": (lambda d, k: bandit_blas.PrunedOFUL(d, k, **KNOWN), oful),
    "OFUL^f": (lambda d, k: bandit_blas.ForwardOFUL(d, k, **KNOWN), forward_oful),
    "OFUL^f pruned": (lambda d, k: bandit_blas.PrunedForwardOFUL(d, k, **KNOWN), forward_oful),
    "D": (lambda d, k: bandit_blas.DLinUCB(d, k, 0.9, **KNOWN), CASES["D"][1]),
    "D pruned": (lambda d, k: bandit_blas.PrunedDLinUCB(d, k, 0.9, **KNOWN), CASES["D"][1]),
    "SW": (lambda d, k: bandit_blas.SWLinUCB(d, k, 15, **KNOWN), CASES["SW"][1]),
    "SW pruned": (lambda d, k: bandit_blas.PrunedSWLinUCB(d, k, 15, **KNOWN), CASES["SW"][1]),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("scale", [1.0, 30.0], ids=["widths matter", "estimates matter"])
def test_the_best_loops_play_the_best_action_by_definition(name: str, d: int, scale: float) -> None:
    make, index = LOOPS[name]
    loop = make(d, 20)
    rows: list[tuple[Vector, float]] = []
    for actions, means, noise in zip(*rounds(80, d), strict=True):
        values = [index(x, rows) for x in actions]
        rewards = (scale * means + noise).tolist()
        i = loop.play(actions, rewards)
        assert i == values.index(max(values))
        rows.append((actions[i], rewards[i]))


def test_windows_hold_what_they_should() -> None:
    wide, narrow = bandit_blas.SWLinUCB(3, 20, 15, **KNOWN), bandit_blas.PrunedSWLinUCB(3, 20, 15, **KNOWN)
    rows: list[tuple[Vector, float]] = []
    for actions, means, noise in zip(*rounds(80, 3), strict=True):
        rewards = (means + noise).tolist()
        i = wide.play(actions, rewards)
        assert narrow.play(actions, rewards) == i
        rows.append((actions[i], rewards[i]))
        V, b = weighted(rows[-15:], [1.0] * min(15, len(rows)), 3)
        inverse, theta = np.linalg.inv(V), np.linalg.solve(V, b)
        assert wide.M[:, :3] == pytest.approx(inverse, abs=1e-9)
        assert pytest.approx(inverse, abs=1e-9) == narrow.P
        assert wide.M[:, 3] == pytest.approx(theta, abs=1e-9)
        assert narrow.theta == pytest.approx(theta, abs=1e-9)


@pytest.mark.parametrize("d", [2, 5])
def test_pruning_leaves_actions_out(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(alpha: float, a: Matrix, b: Matrix) -> Matrix:
        read.append(b.shape[1])
        return dgemm(alpha, a, b)

    monkeypatch.setattr(bandit_blas, "dgemm", counted)
    loop = bandit_blas.PrunedOFUL(d, 20, **KNOWN)
    for actions, means, noise in zip(*rounds(20, d), strict=True):
        loop.play(actions, (means + noise).tolist())
    assert 0 < sum(read) < 20 * 20


def test_fixed_actions_are_kept_up_to_date() -> None:
    actions, means, noise = rounds(80, 3)
    loop = bandit_blas.FixedOFUL(actions[0], **KNOWN)
    rows: list[tuple[Vector, float]] = []
    for each in noise:
        values = [oful(x, rows) for x in actions[0]]
        rewards = (means[0] + each).tolist()
        i = loop.play(actions[0], rewards)
        assert values[i] == pytest.approx(max(values), rel=1e-9)
        assert loop.values == pytest.approx(values, rel=1e-9)
        rows.append((actions[0, i], rewards[i]))


@pytest.mark.parametrize("kind", [bandit_blas.Disjoint, bandit_blas.PackedDisjoint, bandit_blas.EarlyDisjoint])
def test_the_best_disjoint_loops_keep_a_model_for_each_arm(
    kind: type[bandit_blas.Disjoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bandit_blas.EarlyDisjoint, "ROOM", 16)  # less than it needs
    rng = np.random.default_rng(1)
    loop, learned = kind(3, 4, **KNOWN), [list[tuple[Vector, float]]() for _ in range(4)]
    for context in rng.standard_normal((60, 3)):
        values = [oful(context, rows) for rows in learned]
        rewards = rng.standard_normal(4).tolist()
        i = loop.play(context, rewards)
        assert values[i] == pytest.approx(max(values), rel=1e-9)
        learned[i].append((context, rewards[i]))
    assert min(len(rows) for rows in learned) > 3


def test_the_root_of_the_best_sampling_is_one() -> None:
    loop = bandit_blas.LinTS(3, 20, **KNOWN)
    rows: list[tuple[Vector, float]] = []
    for actions, means, noise in zip(*rounds(80, 3), strict=True):
        rewards = (means + noise).tolist()
        i = loop.play(actions, rewards)
        rows.append((actions[i], rewards[i]))
    V, b = weighted(rows, [1.0] * len(rows), 3)
    assert np.linalg.inv(loop.S @ loop.S.T) == pytest.approx(V, rel=1e-9)
    assert loop.theta == pytest.approx(np.linalg.solve(V, b), rel=1e-9)
    samples = (np.array([loop.sample() for _ in range(20_000)]) - loop.theta) / loop.radius.now()
    spread, inverse = np.cov(samples.T), np.linalg.inv(V)
    assert np.abs(spread - inverse).max() < 0.05 * np.abs(inverse).max() < np.abs(spread - 1.2 * inverse).max()
    assert loop.radius.gain == pytest.approx(np.linalg.slogdet(V)[1] - 3 * math.log(LAM), rel=1e-9)


def test_regret_adds_up() -> None:
    class First:
        def choose(self, actions: Matrix) -> int:
            return 0

        def learn(self, action: Vector, reward: float) -> None:
            learned.append(reward)

    learned: list[float] = []
    means = np.array([[1.0, 3.0], [2.0, 0.0], [0.0, 1.0]])
    regret = bandit_numpy.play(First(), np.zeros((3, 2, 1)), means, np.array([0.5, 0.0, 0.25]))
    assert regret.tolist() == [2.0, 2.0, 3.0]
    assert learned == [1.5, 2.0, 0.25]


def test_only_ties_are_left_to_the_other_player() -> None:
    actions, means, noise = rounds(40, 2)
    actions[0] /= np.linalg.norm(actions[0], axis=1, keepdims=True)  # all as good, at first
    alone = np.array([0] * 40)
    policy = bandit_numpy.OFUL(2, **KNOWN)
    for t in range(40):
        alone[t] = 7 if t == 0 else policy.choose(actions[t])
        policy.learn(actions[t, alone[t]], means[t, alone[t]] + noise[t])
    others = alone.copy()
    others[20] = (alone[20] + 1) % 20  # no tie: not to be followed
    regret, ties = bandit_numpy.follow(bandit_numpy.OFUL(2, **KNOWN), actions, means, noise, others)
    assert ties == 1
    assert regret.tolist() == bandit_numpy.regret(means, alone).tolist()
