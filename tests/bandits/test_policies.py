"""What every policy promises, whatever its estimator, memory and rule."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward import ForwardRegressor, RidgeRegressor, load
from onward.bandits import (
    OFUL,
    DetectingLinUCB,
    DLinUCB,
    EpsilonGreedy,
    Greedy,
    Known,
    LinTS,
    Optimistic,
    OracleRestart,
    Policy,
    Random,
    SWLinUCB,
)
from onward.bandits.memories.window import memory_in as window_in
from onward.core.types import Matrix, Vector

Make = Callable[..., Policy]

MAKES: dict[str, Make] = {
    "OFUL": lambda **more: OFUL(0.5, seed=1, **more),
    "DLinUCB": lambda **more: DLinUCB(0.9, 0.5, seed=1, **more),
    "SWLinUCB": lambda **more: SWLinUCB(12, 0.5, seed=1, **more),
    "OracleRestart": lambda **more: OracleRestart((7, 30), 0.5, seed=1, **more),
    "DetectingLinUCB": lambda **more: DetectingLinUCB(20, 0.5, seed=1, sigma=0.1, **more),
    "LinTS": lambda **more: LinTS(0.5, seed=1, **more),
    "Greedy": lambda **more: Greedy(0.5, seed=1, **more),
    "EpsilonGreedy": lambda **more: EpsilonGreedy(0.3, 0.5, seed=1, **more),
    "Random": lambda **more: Random(seed=1),
}
ESTIMATORS = ("ridge", "forward")
by_name = pytest.mark.parametrize("name", MAKES)
by_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def rounds(n: int, d: int = 3, seed: int = 0) -> list[tuple[Matrix, float]]:
    """Action sets of changing size and content, and what the chosen one pays; the world changes on the way."""
    rng = np.random.default_rng(seed)
    return [
        (rng.standard_normal((int(rng.integers(1, 7)), d)), float(rng.standard_normal() + (5 if t > n // 2 else 0)))
        for t in range(n)
    ]


def played(policy: Policy, game: list[tuple[Matrix, float]]) -> list[int]:
    chosen = []
    for actions, reward in game:
        chosen.append(policy.choose(actions))
        policy.learn(actions[chosen[-1]], reward)
    return chosen


def snapshot(policy: Policy) -> tuple[Any, ...]:
    return (
        policy._buffer.tobytes(),
        str(policy.generator.bit_generator.state),
        tuple(policy.pending),
        policy.dimension,
    )


@by_name
@by_estimator
def test_choose_takes_the_largest_index_and_looking_changes_nothing(name: str, estimator: str) -> None:
    policy = MAKES[name](estimator=estimator)
    for actions, reward in rounds(50):
        before = snapshot(policy)
        index = policy.index(actions)
        policy.estimate(actions)
        policy.probabilities(actions, samples=3)
        assert snapshot(policy) == before
        chosen = policy.choose(actions)
        if name not in ("EpsilonGreedy", "Random"):
            assert index[chosen] == index.max()
        policy.learn(actions[chosen], reward)


@by_name
@by_estimator
@pytest.mark.parametrize("stop", [0, 1, 25, 60])
def test_a_saved_policy_goes_on_to_the_last_bit(name: str, estimator: str, stop: int, tmp_path: Path) -> None:
    game = rounds(90)
    policy = MAKES[name](estimator=estimator)
    played(policy, game[:stop])
    for i, key in enumerate(("late", 7, "never")):
        policy.decide(game[i][0], key)
    policy.save(tmp_path / "policy.onward")
    other = load(tmp_path / "policy.onward")
    assert type(other) is type(policy)
    assert other.parameters == policy.parameters
    for one in (policy, other):
        one.reward(7, 0.25)
        one.reward("late", -1.0)
    assert played(policy, game[stop:]) == played(other, game[stop:])
    assert snapshot(policy) == snapshot(other)
    assert tuple(policy.pending) == ("never",)


@by_name
@by_estimator
def test_a_log_is_learned_as_its_rows_are(name: str, estimator: str) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    one, many, frame = (MAKES[name](estimator=estimator) for _ in range(3))
    for x, reward in zip(X, y, strict=True):
        one.learn(x, reward)
    many.learn_many(X[:25], y[:25])
    many.learn_many(X[25:], y[25:])
    frame.learn_many(pd.DataFrame(X, columns=list("abc")), pd.Series(y))
    assert snapshot(many) == snapshot(frame)
    if name != "OracleRestart":  # which takes a log for the past, and does not count it
        assert snapshot(one)[1:] == snapshot(many)[1:]
        assert np.array_equal(one.index(X[:4]), many.index(X[:4]))
    assert one.n_learned == many.n_learned == 40


@by_name
def test_rewards_come_late_and_in_any_order(name: str) -> None:
    one = {"scale": 0.3} if name == "LinTS" else {}  # what tuned scales would do is noted with each way of sampling
    policy, direct = MAKES[name](**one), MAKES[name](**one)
    game = rounds(30)
    chosen = [policy.decide(actions, key).action for key, (actions, _) in enumerate(game)]
    assert policy.n_learned == 0
    assert tuple(policy.pending) == tuple(range(30))
    order = np.random.default_rng(0).permutation(30).tolist()
    policy.reward_many({key: game[key][1] for key in order[:10]})
    for key in order[10:]:
        policy.reward(key, game[key][1])
    [direct.choose(actions) for actions, _ in game]
    for key in order:
        direct.learn(game[key][0][chosen[key]], game[key][1])
    assert np.array_equal(policy._buffer, direct._buffer)
    assert not policy.pending


def test_a_decision_is_remembered_as_it_was() -> None:
    policy, actions = OFUL(), np.eye(2)
    chosen = policy.decide(actions, "a").action
    actions[:] = 9.0
    policy.reward("a", 1.0)
    direct = OFUL()
    direct.learn(np.eye(2)[chosen], 1.0)
    assert np.array_equal(policy.coef, direct.coef)


@by_name
def test_every_key_counts_once(name: str) -> None:
    policy = MAKES[name]()
    actions = np.eye(3)
    with pytest.raises(ValueError, match="no decision waits under key 'a'"):
        policy.reward("a", 1.0)
    policy.decide(actions, "a")
    policy.decide(actions, "b")
    policy.decide(actions, "c")
    for call, message in (
        (lambda: policy.decide(actions, "a"), "already waits under key 'a'"),
        (lambda: policy.decide(actions, 1.5), "key must be text or a whole number, got 1.5"),
        (lambda: policy.reward("z", 1.0), "no decision waits under key 'z'"),
        (lambda: policy.reward("a", np.nan), "finite"),
        (lambda: policy.reward_many({"a": 1.0, "z": 1.0}), "no decision waits under key 'z'"),
        (lambda: policy.reward_many({"a": 1.0, "b": np.inf}), "finite"),
        (lambda: policy.cancel("z"), "no decision waits"),
    ):
        before = snapshot(policy)
        with pytest.raises(ValueError, match=message):
            call()
        assert snapshot(policy) == before
    policy.reward("a", 1.0)
    policy.cancel("b")
    assert tuple(policy.pending) == ("c",)
    with pytest.raises(ValueError, match="its reward has come already"):
        policy.reward("a", 1.0)


@by_name
@pytest.mark.parametrize("learned", [0, 9])
def test_bad_input_is_one_clear_error_and_changes_nothing(name: str, learned: int) -> None:
    policy = MAKES[name]()
    played(policy, rounds(learned))
    good = np.ones((4, 3))
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: policy.choose(np.empty((0, 3))), "no action given"),
        (lambda: policy.choose(good, available=np.zeros(4, dtype=bool)), "no action is available"),
        (lambda: policy.choose(good, available=[True]), r"available must have shape \(4,\)"),
        (lambda: policy.choose(good, available=[0.5, 1, 1, 1]), "true or false"),
        (lambda: policy.choose(np.where(np.eye(4, 3) > 0, np.nan, 1.0)), "finite numbers.* nan in row 0"),
        (lambda: policy.choose(np.full((2, 3), np.inf)), "finite numbers.* inf in row 0"),
        (lambda: policy.choose(np.full((2, 3), 1e200)), "finite numbers below 6e.19"),
        (lambda: policy.choose(np.ones(3)), "a row for each action"),
        (lambda: policy.choose([["a", "b"]]), "actions must hold numbers, got text"),
        (lambda: policy.index(np.full((1, 3), np.nan)), "nan in row 0"),
        (lambda: policy.learn([1.0, np.nan, 0.0], 1.0), "finite numbers"),
        (lambda: policy.learn([[1.0, 2.0, 0.0]], 1.0), "one row"),
        (lambda: policy.learn([1.0, 2.0, 3.0], np.nan), "reward must be a finite number.* nan"),
        (lambda: policy.learn([1.0, 2.0, 3.0], 1e300), "reward must be a finite number"),
        (lambda: policy.learn([1.0, 2.0, 3.0], other("much")), "reward must be a finite number"),
        (lambda: policy.learn_many(good, [1.0, 2.0, np.nan, 1.0]), "nan in position 2"),
        (lambda: policy.learn_many(good, [1.0]), "rewards must be 4 numbers"),
        (lambda: policy.decide(np.full((2, 3), np.nan), "k"), "nan in row 0"),
    ]
    if learned:
        wrong += [
            (lambda: policy.choose(np.ones((2, 4))), "actions have 4 features, but this policy knows 3"),
            (lambda: policy.learn(np.ones(2), 1.0), "actions have 2 features, but this policy knows 3"),
        ]
    for call, message in wrong:
        before = snapshot(policy)
        with pytest.raises(ValueError, match=message):
            call()
        assert snapshot(policy) == before, message


def other(value: Any) -> Any:
    """What the types forbid, as a caller without types would give it."""
    return value


def test_settings_out_of_range_are_refused() -> None:
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: OFUL(0.0), "lam must be a number > 0, or one for each feature, got 0.0"),
        (lambda: OFUL(1e-40), "lam must be between 1e-15 and 1e15"),
        (lambda: DLinUCB(1e-160), "gamma must be at least 1e-100"),
        (lambda: OracleRestart(other(5)), "change_points must be whole numbers in a list, got 5"),
        (lambda: OFUL(delta=1.0), "delta must be a number strictly between 0 and 1, got 1.0"),
        (lambda: OFUL(sigma=0.0), "sigma must be a number > 0"),
        (lambda: OFUL(theta_bound=-1.0), "theta_bound must be a number >= 0"),
        (lambda: OFUL(scale=-1.0), "scale must be a number >= 0"),
        (lambda: OFUL(action_bound=0.0), "action_bound must be a number > 0"),
        (lambda: OFUL(estimator=other("lasso")), "estimator must be one of 'ridge', 'forward', got 'lasso'"),
        (lambda: OFUL(width=other("narrow")), "width must be one of 'determinant', 'trace', 'uniform'"),
        (
            lambda: OFUL(index=other("clipped")),
            "index must be made by @index_function, got 'clipped'; clipped=True cuts",
        ),
        (lambda: OFUL(width="printed", bias="paper", clipped=True), "expected none beside width='printed'"),
        (lambda: OFUL(bias=other("some")), "bias must be one of 'sharp', 'tight', 'paper', 'none'"),
        (lambda: SWLinUCB(0), "window must be a whole number >= 1, got 0"),
        (lambda: SWLinUCB(other(2.5)), "window must be a whole number >= 1, got 2.5"),
        (lambda: DLinUCB(0.0), r"gamma must be a number in \(0, 1\], got 0.0"),
        (lambda: DLinUCB(1.01), r"gamma must be a number in \(0, 1\], got 1.01"),
        (lambda: DLinUCB(float("nan")), r"gamma must be a number in \(0, 1\], got nan"),
        (lambda: OracleRestart((5, 5)), r"change_points must increase, got \[5, 5\]"),
        (lambda: OracleRestart((0,)), "each of change_points must be a whole number >= 1, got 0"),
        (lambda: EpsilonGreedy(1.5), "epsilon must be a number from 0 to 1, got 1.5"),
        (lambda: DetectingLinUCB(failure_delta=0.0), "failure_delta must be"),
        (lambda: DetectingLinUCB(tolerance=-1.0), "tolerance must be"),
    ]
    for call, message in wrong:
        with pytest.raises(ValueError, match=message):
            call()


def test_an_action_longer_than_said_is_refused() -> None:
    policy = OFUL(action_bound=1.0, width="uniform")
    policy.choose(np.eye(2))
    before = snapshot(policy)
    for call in (lambda: policy.choose([[0.6, 0.9]]), lambda: policy.learn([0.6, 0.9], 1.0)):
        with pytest.raises(ValueError, match=r"at most action_bound=1, got 1.08\d* in row 0"):
            call()
        assert snapshot(policy) == before
    policy.choose(np.full((3, 2), 0.5**0.5))  # norm 1 up to rounding
    edge = np.array([[1.0 + 4e-13, 0.0]])
    assert policy.choose(edge) == 0
    learned = policy.n_learned
    policy.learn(edge[0], 1.0)
    policy.learn_many(edge, [1.0])
    assert policy.n_learned == learned + 2
    with pytest.raises(ValueError, match="action_bound"):
        policy.learn_many([[1.0 + 7e-13, 0.0]], [1.0])


@by_name
def test_ties_are_broken_at_random_and_masks_are_kept(name: str) -> None:
    policy = MAKES[name]()
    actions = np.ones((5, 3))
    available = [True, False, True, True, False]
    counts = np.bincount([policy.choose(actions, available) for _ in range(600)], minlength=5)
    assert counts[[1, 4]].sum() == 0
    assert counts[[0, 2, 3]].min() > 150  # 200 expected, standard deviation 11.5
    assert np.allclose(policy.probabilities(actions, available), [1 / 3, 0, 1 / 3, 1 / 3, 0])


@pytest.mark.parametrize("name", ["OFUL", "EpsilonGreedy", "Random", "LinTS"])
def test_probabilities_are_those_of_choosing(name: str) -> None:
    policy = MAKES[name]()
    played(policy, rounds(10))
    actions = rounds(1, seed=5)[0][0]
    actions = np.vstack([actions, actions[:1]])
    chances = policy.probabilities(actions, samples=4000)
    shares = np.bincount([policy.choose(actions) for _ in range(4000)], minlength=len(actions)) / 4000
    assert chances.sum() == pytest.approx(1)
    assert np.abs(chances - shares).max() < 5 * np.sqrt(0.25 / 4000) * 2**0.5


def test_a_fresh_policy_that_samples_knows_its_chances() -> None:
    chances = LinTS(seed=0).probabilities(np.eye(4), samples=4000)
    assert np.abs(chances - 0.25).max() < 0.05


def test_a_policys_random_numbers_are_not_its_worlds() -> None:
    policy = LinTS(seed=0, lam=1.0)
    sampled = policy.index(np.eye(3)) / policy.index(np.eye(3))[0]
    world = np.random.default_rng(0).standard_normal(3)
    assert not np.allclose(sampled, world / world[0])


def test_settings_are_fixed() -> None:
    policy = OFUL(scale=1.0)
    with pytest.raises(AttributeError, match=r"scale is fixed once a policy is made: make another one with scale=2.0"):
        policy.scale = 2.0
    with pytest.raises(AttributeError, match=r"known is fixed once a policy is made"):
        policy.known = Known(sigma=2.0)
    with pytest.raises(AttributeError, match=r"cannot assign to field 'scale'"):
        policy.rule.scale = 2.0  # type: ignore[attr-defined]
    assert policy.rule == Optimistic(scale=1.0, radius="joint")


def test_keys_may_be_numpys_whole_numbers() -> None:
    policy = OFUL(seed=0)
    policy.decide(np.eye(2), np.int64(3))
    assert tuple(policy.pending) == (3,)
    policy.reward(3, 1.0)


def test_the_same_seed_gives_the_same_game() -> None:
    game = rounds(40)
    for name, make in MAKES.items():
        assert played(make(), game) == played(make(), game), name
    assert played(LinTS(seed=1), game) != played(LinTS(seed=2), game)


@by_estimator
@pytest.mark.parametrize("name", ["OFUL", "DLinUCB", "SWLinUCB", "DetectingLinUCB"])
def test_restarting_is_starting_but_for_the_longest_action(name: str, estimator: str) -> None:
    policy, fresh = (MAKES[name](estimator=estimator, width="uniform", action_bound=9.0, scale=0.3) for _ in range(2))
    played(policy, rounds(40))
    policy.restart()
    for actions, reward in rounds(30, seed=3):
        assert np.array_equal(policy.index(actions), fresh.index(actions))
        for one in (policy, fresh):
            one.learn(actions[0], reward)
    assert policy.n_learned == 70


@by_estimator
def test_the_oracle_is_oful_since_the_last_change(estimator: Any) -> None:
    more: Any = {"lam": 0.1, "scale": 0.3, "estimator": estimator}
    oracle, since = OracleRestart((5, 12), **more), OFUL(**more)
    for t, (actions, reward) in enumerate(rounds(30)):
        if t in (5, 12):
            since = OFUL(**more)
        assert np.array_equal(oracle.index(actions), since.index(actions))
        oracle.learn(actions[0], reward)
        since.learn(actions[0], reward)


def test_a_warm_start_does_not_move_the_change_points() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    oracle, plain = OracleRestart((5,), scale=0.3), OFUL(scale=0.3)
    oracle.learn_many(X[:50], y[:50])
    plain.learn_many(X[:50], y[:50])
    for t in range(50, 60):
        assert np.array_equal(oracle.index(X[:3]), plain.index(X[:3]))
        oracle.learn(X[t], y[t])
        plain.learn(X[t], y[t])
        if t == 54:
            plain.restart()


@pytest.mark.parametrize("ratio", [2.0, 3.0, 7.0])
@pytest.mark.parametrize("window", [8, 12])
@pytest.mark.parametrize("lam", [1e-5, 1e-12])
def test_a_window_of_shrinking_rows_keeps_its_digits(ratio: float, window: int, lam: float) -> None:
    """Each row that leaves takes nearly all of its direction with it, many times in a row."""
    n = 3 * window
    X, y = 200.0 * ratio ** -np.arange(n)[:, None] * np.ones((1, 1)), np.cos(np.arange(n))
    policy = SWLinUCB(window, lam, width="determinant", sigma=1.0, theta_bound=1.0)
    for t in range(n):
        policy.learn(X[t], y[t])
        rows, rewards = X[max(0, t + 1 - window) : t + 1, 0], y[max(0, t + 1 - window) : t + 1]
        with mp.workdps(50):
            G = mp.mpf(lam) + mp.fsum(mp.mpf(float(x)) ** 2 for x in rows)
            b = mp.fsum(mp.mpf(float(x)) * mp.mpf(float(r)) for x, r in zip(rows, rewards, strict=True))
            noise = mp.sqrt(2 * mp.log(1 / mp.mpf(0.01)) + mp.log(G / mp.mpf(lam)))
            exact = b / G, (mp.sqrt(mp.mpf(lam)) + noise) / mp.sqrt(G)
        got = policy.index(np.ones((1, 1)))[0]
        assert abs(got - float(sum(exact))) <= 1e-9 * float(abs(exact[0]) + exact[1])


@pytest.mark.parametrize("short", [True, False])
def test_a_window_of_rows_short_beside_lam_is_made_anew_once_in_its_length(short: bool) -> None:
    """λ holds up every direction then, and rounding cannot come to count more, whatever leaves."""
    rng, d, window = np.random.default_rng(0), 30, 40
    X = rng.standard_normal((3 * window, d))
    X *= (1.0 if short else 30.0) / np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.standard_normal(len(X))
    policy = SWLinUCB(window, 0.1, sigma=1.0, theta_bound=1.0)
    times_anew = 0
    for t in range(len(X)):
        policy.learn(X[t], y[t])
        if t >= window:  # from now on a row leaves for each that comes
            times_anew += window_in(policy._buffer, d, window).ring.header["n_removed"][0] == 0.0
            rows = X[t + 1 - window : t + 1]
            direct = np.einsum("ij,ij->i", X[:5], np.linalg.solve(rows.T @ rows + 0.1 * np.eye(d), X[:5].T).T)
            assert np.allclose(policy.leverage(X[:5]), direct, rtol=1e-11)
    assert (times_anew == 2) == short


@given(st.integers(1, 6), st.integers(0, 30), st.integers(1, 40), st.sampled_from(ESTIMATORS), st.integers(0, 99))
def test_a_window_is_oful_on_the_last_rows(d: int, extra: int, window: int, estimator: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((window + extra, d)) * 10.0 ** rng.uniform(-2, 2, (window + extra, 1))
    y = rng.standard_normal(len(X))
    sliding = SWLinUCB(window, 0.1, estimator=estimator, width="determinant", scale=0.3)
    sliding.learn_many(X, y)
    plain = OFUL(0.1, estimator=estimator, radius="sum", scale=0.3)
    plain.learn_many(X[-window:], y[-window:])
    actions = rng.standard_normal((5, d))
    assert np.allclose(sliding.index(actions), plain.index(actions), rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.5, 0.99, 1 - 1e-9])
def test_discounting_does_not_wind_up(gamma: float) -> None:
    """A constant action for long: V stays at its fixed point, λI elsewhere, and nothing grows or vanishes."""
    x, lam, n = np.array([3.0, 4.0, 0.0]), 0.1, 20_000
    policy = DLinUCB(gamma, lam, estimator="ridge", width="determinant")
    policy.learn_many(np.tile(x, (n, 1)), np.full(n, 2.0))
    weight = -np.expm1(n * np.log(gamma)) / (1 - gamma)
    G = policy.information().second_moment()
    assert np.allclose(G, lam * np.eye(3) + weight * np.outer(x, x), rtol=1e-9)
    assert policy.estimate(x[None])[0] == pytest.approx(2.0 * weight * 25 / (lam + weight * 25), rel=1e-9)


@pytest.mark.parametrize("name", ["OFUL", "SWLinUCB", "OracleRestart", "LinTS", "Greedy", "DetectingLinUCB"])
def test_what_is_known_is_the_regressors_state(name: str) -> None:
    """The information behind a policy is that of a regressor on the same rows: for confidence sets, too."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((9, 3)), 0.1 * rng.standard_normal(9)
    for lam in (0.01, 2.0):
        make: Any = type(MAKES[name]())
        policy = make(lam=lam, seed=0)
        policy.learn_many(X[:6], y[:6])
        model = ForwardRegressor(lam=lam, fit_intercept=False).fit(X[:6], y[:6])
        mine, theirs = policy.information(), model.information_
        assert (set(mine.lam), mine.rows, mine.counted) == ({lam}, 6, 6)
        assert mine.peak == pytest.approx(theirs.peak)
        assert np.allclose(mine.second_moment(), theirs.second_moment(), rtol=1e-12)
        assert np.allclose(mine.loss, theirs.loss, rtol=1e-9)
        assert mine.information_gain == pytest.approx(theirs.information_gain)
        again = OFUL(lam, estimator="forward")
        again.start_from(mine)
        assert np.allclose(again.estimate(X), model.predict(X), rtol=1e-12)


def test_a_discounted_loss_is_the_discounted_problems() -> None:
    rng = np.random.default_rng(3)
    X, y, gamma, lam = rng.standard_normal((12, 3)), rng.standard_normal(12), 0.8, 0.5
    policy = DLinUCB(gamma, lam)
    policy.learn_many(X, y)
    w = gamma ** np.arange(11, -1, -1)
    theta = policy.coef
    exact = float(np.sum(w * (y - X @ theta) ** 2) + lam * theta @ theta)
    assert policy.information().loss[0] == pytest.approx(exact, rel=1e-9)


def test_many_dimensions_and_little_regularisation() -> None:
    """The product of the pivots would overflow."""
    rng = np.random.default_rng(0)
    d, lam = 60, 1e-15
    X, y = 1e4 * rng.standard_normal((200, d)), rng.standard_normal(200)
    policy = OFUL(lam, radius="sum", sigma=1.0, theta_bound=1.0)
    policy.learn_many(X, y)
    gain = np.linalg.slogdet(X.T @ X + lam * np.eye(d))[1] - d * np.log(lam)
    assert gain > 710  # the logarithm of the largest number
    q = X[0] @ np.linalg.solve(X.T @ X + lam * np.eye(d), X[0])
    radius = lam**0.5 + np.sqrt(2 * np.log(100) + gain)
    added = policy.index(X[:1])[0] - policy.estimate(X[:1])[0]
    assert added == pytest.approx(radius * np.sqrt(q), rel=1e-9)


def test_a_discounted_policy_starts_from_a_model_with_both_its_factors() -> None:
    rng = np.random.default_rng(0)
    X, y, actions = rng.standard_normal((50, 4)), rng.standard_normal(50), rng.standard_normal((6, 4))
    model = RidgeRegressor(lam=0.5, fit_intercept=False).fit(X, y)
    G = X.T @ X + 0.5 * np.eye(4)
    added = {}
    for width in ("determinant", "trace", "uniform"):
        policy = DLinUCB(0.9, 0.5, sigma=1.0, theta_bound=1.0, width=other(width))
        policy.choose(10.0 * actions)
        policy.start_from(model)
        reach = np.sqrt(np.einsum("ij,ij->i", actions, np.linalg.solve(G, actions.T).T))
        added[width] = (policy.index(actions) - policy.estimate(actions)) / reach
        assert np.allclose(added[width], added[width][0])  # V and Ṽ are both G
    longest = 100 * np.max(np.sum(actions**2, axis=1))
    gain = 4 * np.log1p(50 * longest / (0.5 * 4))
    assert added["uniform"][0] == pytest.approx(0.5**0.5 + np.sqrt(2 * np.log(100) + gain))
    assert added["determinant"][0] < added["trace"][0] < added["uniform"][0]


@by_estimator
@pytest.mark.parametrize("name", ["OFUL", "DLinUCB", "OracleRestart", "DetectingLinUCB", "LinTS", "Greedy"])
def test_a_policy_starts_from_a_fitted_model(name: str, estimator: str) -> None:
    rng = np.random.default_rng(0)
    X, y, actions = rng.standard_normal((50, 4)), rng.standard_normal(50), rng.standard_normal((6, 4))
    model = (RidgeRegressor if estimator == "ridge" else ForwardRegressor)(lam=0.5, fit_intercept=False).fit(X, y)
    policy = MAKES[name](estimator=estimator)
    policy.start_from(model)
    assert np.allclose(policy.estimate(actions), model.predict(actions), rtol=1e-12)
    assert policy.n_learned == 50
    if name in ("OFUL", "LinTS"):
        for width in ("determinant", "trace", "uniform"):
            warm, learned = (MAKES[name](estimator=estimator, width=width) for _ in range(2))
            warm.start_from(model.information_)
            learned.learn_many(X, y)
            assert np.allclose(warm.index(actions), learned.index(actions), rtol=1e-12)
    policy.learn(actions[0], 1.0)
    assert model.n_seen_ == 50  # the model is left alone


def test_models_that_do_not_fit_are_refused() -> None:
    X, y = np.eye(3), np.ones(3)
    plain = ForwardRegressor(lam=0.5, fit_intercept=False)
    wrong: list[tuple[Policy, Any, str]] = [
        (OFUL(0.5), ForwardRegressor(lam=0.5).fit(X, y), "intercept, lam of 1, False, 0.5, got 1, True, 0.5"),
        (OFUL(0.4), plain.fit(X, y), "False, 0.4, got 1, False, 0.5"),
        (OFUL(0.5), copy.deepcopy(plain).fit(X, np.eye(3)), "got 3, False"),
        (SWLinUCB(5, 0.5), plain.fit(X, y), "a window needs rows"),
        (Random(), plain.fit(X, y), "learns nothing"),
        (
            OFUL(0.5),
            ForwardRegressor(lam=0.5, fit_intercept=False, prior_mean=[1.0, 0, 0]).fit(X, y),
            "model with another prior",
        ),
    ]
    for policy, model, message in wrong:
        before = snapshot(policy)
        with pytest.raises(ValueError, match=message):
            policy.start_from(model)
        assert snapshot(policy) == before
    started = OFUL(0.5)
    started.choose(np.ones((2, 2)))
    with pytest.raises(ValueError, match="the model has 3 features, but this policy knows 2"):
        started.start_from(plain.fit(X, y))


def test_scale_multiplies_what_is_added() -> None:
    game, actions = rounds(20), rounds(1, seed=9)[0][0]
    for name in ("OFUL", "DLinUCB", "SWLinUCB", "OracleRestart", "LinTS"):
        added = []
        for scale in (0.0, 1.0, 2.5):
            policy = MAKES[name](scale=scale)
            for offered, reward in game:
                policy.learn(offered[0], reward)
            added.append(policy.index(actions) - policy.estimate(actions))
        assert np.array_equal(added[0], 0 * added[0])
        assert np.allclose(added[2], 2.5 * added[1])


def test_the_index_as_printed() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((9, 3)) * np.linspace(1, 3, 9)[:, None], rng.standard_normal(9)
    lam, sigma, S, delta, d = 0.3, 0.4, 1.5, 0.05, 3
    known: dict[str, Any] = {"sigma": sigma, "theta_bound": S, "delta": delta, "bias": "paper"}
    policy = OFUL(lam, width="printed", estimator="forward", **known)
    policy.choose(100 * X)  # what was offered does not count, only what was played
    policy.learn_many(X, y)
    actions = 4 * rng.standard_normal((5, 3))
    expected = []
    for x in actions:
        G = lam * np.eye(d) + X.T @ X + np.outer(x, x)
        longest = max(x @ x, (X**2).sum(axis=1).max())
        noise = sigma * np.sqrt(2 * np.log((1 + 10 * longest / (lam * d)) ** (d / 2) / delta))
        norm = np.sqrt(x @ np.linalg.solve(G, x))
        expected.append(x @ np.linalg.solve(G, X.T @ y) + norm * (np.sqrt(lam) + np.linalg.norm(x)) * S + noise)
    assert np.allclose(policy.index(actions), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="expected estimator='forward' and bias='paper', got 'ridge'"):
        OFUL(width="printed", estimator="ridge", **known)


def test_a_detector_notices_that_the_world_turned_round() -> None:
    rng = np.random.default_rng(0)
    policy, theta = DetectingLinUCB(50, 1.0, sigma=0.1, estimator="ridge"), np.array([1.0, 0.0])

    def play(n: int, theta: Vector) -> None:
        for _ in range(n):
            actions = rng.uniform(-0.7, 0.7, (10, 2))
            i = policy.choose(actions)
            policy.learn(actions[i], float(actions[i] @ theta + 0.1 * rng.standard_normal()))

    play(300, theta)
    assert policy.n_models == 1
    assert np.allclose(policy.coef, theta, atol=0.1)
    play(300, -theta)
    assert np.allclose(policy.coef, -theta, atol=0.1)


def test_a_corrupt_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.onward"
    policy = OFUL()
    played(policy, rounds(5))
    policy.save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="truncated or altered"):
        load(path)


def test_policies_show_what_they_are() -> None:
    policy = OFUL(0.5, estimator="ridge")
    assert repr(policy).startswith("OFUL(lam=0.5, estimator='ridge', sigma=None")
    assert Policy.described(policy.describe()).parameters == policy.parameters
    assert policy.lam == 0.5
    with pytest.raises(AttributeError, match="no attribute 'lambda_'"):
        policy.lambda_  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ValueError, match="nothing is known yet"):
        policy.information()
