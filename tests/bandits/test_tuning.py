"""Scales that are tuned as a policy plays, against the definition; λ and σ where none are told."""

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from onward.bandits import (
    OFUL,
    Disjoint,
    DLinUCB,
    LinTS,
    LinUCB,
    OracleRestart,
    Policy,
    SWLinUCB,
    play,
    replay_journal,
    rules,
)
from onward.bandits.buffers import head_in
from onward.bandits.environments import Gaussian, GivenArms, LinearWorld, SphereArms, Stationary
from onward.bandits.tuning import LEAST_SHARE, N_TUNING, RATE, TUNING
from onward.core.types import Matrix, Vector

MAKES: dict[str, Any] = {
    "LinUCB": lambda **more: LinUCB(seed=1, **more),
    "OFUL": lambda **more: OFUL(seed=1, **more),
    "forward": lambda **more: OFUL(seed=1, estimator="forward", **more),
    "LinTS": lambda **more: LinTS(seed=1, **more),
    "DLinUCB": lambda **more: DLinUCB(0.95, seed=1, **more),
    "SWLinUCB": lambda **more: SWLinUCB(30, seed=1, **more),
    "OracleRestart": lambda **more: OracleRestart((20,), seed=1, **more),
}


class Exp4:
    """The shares of scales from the gains, by the definition."""

    def __init__(self, n: int) -> None:
        self.gains, self.spread, self.rewards = np.zeros(n), 0.0, [0.0][:0]

    def shares(self) -> Vector:
        n = len(self.gains)
        rate = RATE * math.sqrt(math.log(n) / self.spread) if self.spread > 0 else 0.0
        weights = np.exp(rate * (self.gains - self.gains.max()))
        return np.asarray(LEAST_SHARE + (1 - n * LEAST_SHARE) * weights / weights.sum())

    def gain(self, each: Vector, reward: float) -> None:
        """`each` is the chance with which each scale makes the choice that was rewarded."""
        shares = self.shares() if not hasattr(self, "taken") else self.taken
        above = reward - np.mean(self.rewards) if self.rewards else 0.0
        gains = (each / (shares @ each) - 1.0) * above
        self.gains += gains
        self.spread += shares @ gains**2
        self.rewards.append(reward)


def chances_at_scales(policy: Policy, actions: Matrix) -> Matrix:
    """The chance of each action at each scale, from policies that have one scale and know the same."""
    rule, scales = policy.rule, int(policy._settings.numbers["scales"])
    del rule
    estimate = policy.estimate(actions)
    out = []
    for j in range(scales):
        scale = policy._settings.numbers["scale"] * 2.0**j
        width = np.sqrt(policy.leverage(actions)) * _level(policy) * scale
        index = estimate + width
        best = np.isclose(index, index.max(), rtol=1e-12, atol=0)
        out.append(best / best.sum())
    return np.array(out)


def _level(policy: Policy) -> float:
    state = policy.information()
    n = float(state.rows)
    if n == 0:
        return 1.0
    loss = float(state.factor.loss[0])
    squares = loss + float((state.D * state.factor.c[:, 0] ** 2).sum())
    d = len(state.D)
    return math.sqrt(loss / (n + 1) + (d / (n + d)) ** 2 * squares / n)


def test_scales_are_taken_by_the_definition() -> None:
    """LinUCB, whose indices are known: the probabilities are those of Exp4 on what each scale would choose."""
    rng, policy, reference = np.random.default_rng(0), LinUCB(lam=0.1, seed=1), Exp4(4)
    theta = rng.standard_normal(3)
    disagreed = 0
    for t in range(300):
        actions = rng.standard_normal((6, 3))
        if t == 0:
            policy.choose(actions[:1])
            policy.learn(actions[0], 0.3)
            reference.gain(np.ones(4), 0.3)
            continue
        each = chances_at_scales(policy, actions)
        shares = reference.shares()
        assert_allclose(policy.probabilities(actions), shares @ each, atol=1e-9)
        chosen = policy.choose(actions)
        reward = float(actions[chosen] @ theta + 3.0 * rng.standard_normal())
        policy.learn(actions[chosen], reward)
        reference.gain(each[:, chosen], reward)
        disagreed += len({tuple(row) for row in each}) > 1
    assert disagreed > 20
    assert reference.shares().max() > 0.3


@pytest.mark.parametrize("name", MAKES)
def test_choices_have_the_probabilities_that_are_told(name: str) -> None:
    policy, rng = MAKES[name](), np.random.default_rng(3)
    for actions in rng.standard_normal((25, 5, 3)):
        policy.learn(actions[policy.choose(actions)], float(actions[0, 0] + rng.standard_normal()))
    actions = rng.standard_normal((5, 3))
    chances = policy.probabilities(actions)
    shares = np.bincount([policy.choose(actions) for _ in range(3000)], minlength=5) / 3000
    assert chances.sum() == pytest.approx(1)
    assert np.abs(chances - shares).max() < 5 * math.sqrt(0.25 / 3000) + 0.01


def test_no_gain_without_a_choice_that_waits() -> None:
    """Rows of a log, rewards that come twice, and those that come too late are learned, and change no gain."""
    policy, rng = LinUCB(seed=0), np.random.default_rng(0)
    actions = rng.standard_normal((200, 4, 2))
    policy.learn_many(actions[0], np.arange(4.0))
    before = policy._buffer[-N_TUNING:].copy()
    chosen = [policy.choose(each) for each in actions]
    early = policy._buffer[-N_TUNING:].copy()
    about = len(TUNING.names or ())
    assert_array_equal(early[: about - 4], before[: about - 4])
    policy.learn(actions[0, chosen[0]], 5.0)  # longer ago than the ring reaches
    assert_array_equal(policy._buffer[-N_TUNING:], early)
    policy.learn(actions[199, chosen[199]], 1.0)
    policy.learn(actions[198, chosen[198]], 3.0)
    once = policy._buffer[-N_TUNING:].copy()
    assert once[:about].view(TUNING)["rewards"][0] == 2
    policy.learn(actions[198, chosen[198]], 3.0)
    assert_array_equal(policy._buffer[-N_TUNING:], once)
    assert policy.n_learned == 8
    policy.restart()
    assert not policy._buffer[-N_TUNING:].any()


@pytest.mark.parametrize("name", MAKES)
def test_the_compiled_game_and_files(name: str, tmp_path: Any) -> None:
    """Bit for bit, tuned scales included."""
    from tests.bandits.test_game import Stepped

    world = LinearWorld(SphereArms(20, 9, fresh=True), Stationary.random(9), Gaussian(0.3))
    policy = MAKES[name]()
    compiled = play({"p": policy}, world, 120, seed=3, chosen=True)
    stepped = play({"p": Stepped(MAKES[name]())}, world, 120, seed=3, chosen=True)
    assert_array_equal(np.asarray(compiled.chosen), np.asarray(stepped.chosen))
    rng = np.random.default_rng(0)
    for actions in rng.standard_normal((20, 5, 3)):
        policy.learn(actions[policy.choose(actions)], float(rng.standard_normal()))
    policy.save(tmp_path / "policy.onward")
    other = Policy.from_bytes((tmp_path / "policy.onward").read_bytes()) if hasattr(Policy, "from_bytes") else None
    if other is None:
        from onward import load

        other = load(tmp_path / "policy.onward")
    for actions in rng.standard_normal((20, 5, 3)):
        chosen, reward = policy.choose(actions), float(rng.standard_normal())
        assert other.choose(actions) == chosen
        for each in (policy, other):
            each.learn(actions[chosen], reward)
    assert_array_equal(policy._buffer, other._buffer)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_units_do_not_count(unit: float) -> None:
    """Of features and rewards: λ is in those of the first actions, σ and the gains in those of rewards."""
    rng = np.random.default_rng(5)
    games = [LinUCB(seed=2), LinUCB(seed=2), LinUCB(seed=2)]
    theta = rng.standard_normal(4)
    for actions in rng.standard_normal((60, 6, 4)):
        noise = float(rng.standard_normal())
        chosen = [games[0].choose(actions), games[1].choose(unit * actions), games[2].choose(actions)]
        assert len(set(chosen)) == 1
        reward = float(actions[chosen[0]] @ theta + noise)
        games[0].learn(actions[chosen[0]], reward)
        games[1].learn(unit * actions[chosen[0]], reward)
        games[2].learn(actions[chosen[0]], unit * reward)


def test_the_usual_lam() -> None:
    """The median of the squared lengths that come first; of a log that is its first row."""
    actions = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    chooses, learns = LinUCB(seed=0), LinUCB(seed=0)
    chooses.choose(actions)
    learns.learn_many(actions[:2], [1.0, 2.0])
    assert_array_equal(head_in(chooses._buffer).lam, [0.03 * 4.0] * 2)
    assert_array_equal(head_in(learns._buffer).lam, [0.03 * 25.0] * 2)
    nothing = LinUCB(seed=0)
    nothing.choose(np.zeros((2, 2)))
    assert_array_equal(head_in(nothing._buffer).lam, [0.03] * 2)


def test_a_feature_in_small_units_has_a_lam_of_its_own() -> None:
    """Three times its mean square where it comes; the least of all for what was 0 in the first rows."""
    actions = np.array([[5e4, 1.0, 0.0, 30.0], [4e4, 0.0, 0.0, 40.0], [-3e4, 2.0, 0.0, 50.0]])
    policy = LinUCB(seed=0)
    policy.choose(actions)
    least = 3.0 * 2.5
    longest = 0.03 * (4e4**2 + 40.0**2)
    assert_allclose(head_in(policy._buffer).lam, [longest, least, least, 3.0 * (900 + 1600 + 2500) / 3], rtol=1e-12)


def test_what_is_small_by_chance_has_the_lam_of_all() -> None:
    """Of one row a feature must be a hundredth in size, of many rows chance says more."""
    rng, uneven = np.random.default_rng(0), {1: 0, 10: 0, 100: 0}
    for rows in uneven:
        for _ in range(400):
            policy = LinUCB(seed=0)
            policy.choose(rng.standard_normal((rows, 5)))
            uneven[rows] += len(set(head_in(policy._buffer).lam)) > 1
    assert uneven[1] < 0.07 * 400
    assert uneven[10] == uneven[100] == 0


@pytest.mark.parametrize("make", [LinUCB, OFUL, LinTS])
def test_a_long_feature_does_not_hide_the_others(make: Callable[..., Policy]) -> None:
    """One in units a thousand times as small makes little difference: with one λ for all, twenty times the regret."""
    lost = {1.0: 0.0, 1000.0: 0.0}
    for unit in lost:
        rng, policy = np.random.default_rng(3), make(seed=1)
        theta = np.array([0.2, 0.5, -0.6, 0.4, -0.3])
        for actions in rng.standard_normal((600, 8, 5)):
            told = actions * np.array([unit, 1.0, 1.0, 1.0, 1.0])
            i, means = policy.choose(told), actions @ theta
            lost[unit] += float(means.max() - means[i])
            policy.learn(told[i], float(means[i]) + 0.3 * float(rng.standard_normal()))
    assert lost[1000.0] < 2.0 * lost[1.0]


def test_uneven_features_are_merged_and_saved() -> None:
    rng = np.random.default_rng(4)
    rows, rewards = rng.standard_normal((40, 4)) * [1e4, 1.0, 1.0, 1.0], rng.standard_normal(40)
    whole, first, second = (LinUCB(seed=0) for _ in range(3))
    for policy in (whole, first):
        policy.choose(rows[:10])
    second.choose(rows[10:20])
    whole.learn_many(rows, rewards)
    first.learn_many(rows[:20], rewards[:20])
    second.learn_many(rows[20:], rewards[20:])
    first.merge(second)
    assert_allclose(first.coef, whole.coef, rtol=1e-6)
    again = LinUCB.from_bytes(first.to_bytes())
    assert again.digest() == first.digest()


class Stepping(LinUCB):
    """Played at Python's speed, on the arms as they are."""

    def learn(self, action: Any, reward: Any, weight: Any = 1.0) -> None:
        super().learn(action, reward, weight)


def test_uneven_arms_are_not_played_in_their_span() -> None:
    """There are no units there."""
    arms = np.random.default_rng(0).standard_normal((12, 15)) * ([100.0] * 5 + [1.0] * 10)
    world = LinearWorld(GivenArms(arms), Stationary([1e-3] * 5 + [0.3] * 10), Gaussian(0.3))
    policies = {"compiled": LinUCB(1.0), "stepping": Stepping(1.0)}
    runs = play(policies, world, 200, repeats=3, seed=1, chosen=True)
    assert runs.chosen is not None
    assert_array_equal(runs.chosen[0], runs.chosen[1])


def test_arms_share_the_noise() -> None:
    """σ is estimated from all of them: an arm that has met few rewards, all alike, is not taken for free of noise."""
    rng, alpha = np.random.default_rng(0), 1.5
    arms = Disjoint(LinUCB(alpha, lam=0.5, seed=0), 3)
    rows: dict[int, list[tuple[Vector, float]]] = {0: [], 1: [], 2: []}
    for t in range(80):
        context, arm = rng.standard_normal(3), 0 if t % 4 else 1
        reward = float(rng.standard_normal()) if arm == 0 else 0.0
        arms.learn(arm, context, reward)
        rows[arm].append((context, reward))
    n, loss, squares = 0, 0.0, 0.0
    x = rng.standard_normal(3)
    parts = []
    for arm in range(3):
        X = np.array([row for row, _ in rows[arm]]).reshape(-1, 3)
        y = np.array([reward for _, reward in rows[arm]])
        G = 0.5 * np.eye(3) + X.T @ X
        theta = np.linalg.solve(G, X.T @ y)
        n, squares = n + len(y), squares + float(y @ y)
        loss += float(((y - X @ theta) ** 2).sum() + 0.5 * theta @ theta)
        parts.append((x @ theta, math.sqrt(x @ np.linalg.solve(G, x))))
    sigma = math.sqrt(loss / (n + 1) + (5 / (n + 5)) ** 2 * squares / n)
    assert_allclose(arms.index(x), [p + alpha * sigma * width for p, width in parts], rtol=1e-9)
    with pytest.raises(ValueError, match="theta_bound goes with sigma"):
        Disjoint(OFUL(theta_bound=1.0), 2)


def as_place(arm: object) -> int:
    assert isinstance(arm, int)
    return arm


@pytest.mark.parametrize("name", ["LinUCB", "OFUL", "LinTS"])
@pytest.mark.parametrize("explore", [0.0, 0.2])
def test_tuned_arms(name: str, explore: float) -> None:
    """One tuning for all arms: choices have the probabilities that are told, with rewards known by arm and context."""
    rng = np.random.default_rng(1)
    arms = Disjoint(MAKES[name](explore=explore), 4)
    assert arms.is_tuned
    context = np.ones(1)  # always the same, so that only the arm tells choices apart
    means = np.array([0.2, 0.5, 0.4, 0.1])
    for _ in range(60):
        arm = as_place(arms.choose(context))
        arms.learn(arm, context, float(means[arm] + 0.3 * rng.standard_normal()))
    record = arms._record.copy()
    assert record[: len(TUNING.names or ())].view(TUNING)["rewards"][0] == 60
    chances = arms.probabilities(context)
    shares = np.bincount([as_place(arms.choose(context)) for _ in range(3000)], minlength=4) / 3000
    assert chances.sum() == pytest.approx(1)
    assert np.abs(chances - shares).max() < 5 * math.sqrt(0.25 / 3000)
    drawn = [arms.draw_with_probability(context, np.empty(0, dtype=bool)) for _ in range(50)]
    for place, probability in drawn:
        assert probability == pytest.approx(chances[place])
    assert len(arms._record) == N_TUNING


def n_scales(policy: Any) -> int:
    """How many are taken now."""
    if isinstance(policy, Disjoint):
        return int(policy._record[: len(TUNING.names or ())].view(TUNING)["scales"][0])
    return int(head_in(policy._buffer).settings["scales"][0])


def played(policy: Any, rounds: int = 60) -> list[int]:
    """What it chooses on the way."""
    rng, chosen = np.random.default_rng(4), []
    for actions in rng.standard_normal((rounds, 4, 6)):
        seen = actions[0] if isinstance(policy, Disjoint) else actions
        chosen.append(policy.choose(seen))
        reward = float(0.3 * actions[chosen[-1], 0] + 2.0 * rng.standard_normal())
        policy.learn(*((chosen[-1], seen) if isinstance(policy, Disjoint) else (actions[chosen[-1]],)), reward)
    return chosen


@pytest.mark.parametrize("of_arms", [False, True])
def test_what_was_begun_with_other_scales_goes_on_with_them(
    of_arms: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Files, copies and journals of a version that tuned four of the theory's widths: to the same choices and bits."""

    def make() -> Any:
        return Disjoint(OFUL(seed=1), 4) if of_arms else OFUL(seed=1)

    with monkeypatch.context() as earlier:
        earlier.setattr(rules, "OF_WIDTHS", {"scale": 0.05, "scales": 4.0})
        old = make()
        played(old)
        data, copied, now = old.to_bytes(), pickle.dumps(old), played(make())
        with old.journal(tmp_path / "policy.journal"):
            expected = played(old)
    assert n_scales(old) == 4
    for again in (type(old).from_bytes(data), pickle.loads(copied)):
        assert n_scales(again) == 4
        assert played(again) == expected
        assert again.to_bytes() == old.to_bytes()
    assert replay_journal(tmp_path / "policy.journal").to_bytes() == old.to_bytes()
    new = make()
    assert played(new) != now
    assert n_scales(new) == 3


def test_which_scales_are_tuned() -> None:
    """As `Optimistic` says."""
    for policy, expected in (
        (LinUCB(), (0.25, 4)),
        (LinTS(), (0.25, 3)),
        (OFUL(), (0.06, 3)),
        (DLinUCB(), (0.06, 3)),
        (OFUL(estimator="forward"), (0.05, 4)),
        (OFUL(sigma=1.0, theta_bound=1.0, lam=1.0), (1.0, 0)),
        (OFUL(scale=0.3), (0.3, 0)),
    ):
        assert (policy._settings.numbers["scale"], policy._settings.numbers["scales"]) == expected
