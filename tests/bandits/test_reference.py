"""The reference against what can be said of the indices without it: closed forms, limits and cases done by hand."""

import itertools
from math import erf, log, sqrt

import mpmath as mp
import numpy as np
import pytest

from onward.core.types import Vector
from tests.bandits import plain
from tests.bandits.reference import (
    DIGITS,
    Bias,
    Estimator,
    Kind,
    ReferencePolicy,
    Width,
    information,
    read,
    remember,
    remember_runs,
    unit_upper,
)
from tests.bandits.streams import STREAMS, Stream

ESTIMATORS: tuple[Estimator, ...] = ("forward", "ridge")
WIDTHS: tuple[Width, ...] = ("determinant", "trace", "uniform")
BAR = 1e-9  # test_indices.py holds the policies to it
BIASES: tuple[Bias, ...] = ("tight", "paper", "none")


def play(policy: ReferencePolicy, stream: Stream) -> list[mp.mpf]:
    """Every index of every round."""
    out: list[mp.mpf] = []
    for actions, told in stream.rounds:
        out += policy.index(actions)
        policy.offered(actions)
        for x, y in told:
            policy.learn(x, y)
    return out


def distance(first: list[mp.mpf], second: list[mp.mpf]) -> float:
    with mp.workdps(DIGITS):
        return float(max(abs(a - b) / (1 + abs(b)) for a, b in zip(first, second, strict=True)))


def test_one_dimension_by_hand() -> None:
    """Rows 2, 1 with rewards 3, −1 and λ = 0.5: V = 5.5, b = 5; asked for x = 3, where q = 18/11."""
    S, sigma, delta = 1.5, 0.3, 0.05
    widths = {"determinant": log(11), "trace": log(1 + 5 / 0.5), "uniform": log(1 + 2 * 9 / 0.5)}
    q, p = 18 / 11, 30 / 11
    for (width, J), bias in itertools.product(widths.items(), BIASES):
        noise = sigma * sqrt(2 * log(1 / delta) + J)
        forward_bias = {"tight": sqrt(0.5 + 9), "paper": sqrt(0.5) + 3, "none": 0.0}[bias]
        ridge_bias = 0.0 if bias == "none" else sqrt(0.5)
        expected: dict[Estimator, float] = {
            "ridge": p + 2 * sqrt(q) * (ridge_bias * S + noise),
            "forward": p / (1 + q) + 2 * sqrt(q / (1 + q)) * (forward_bias * S + noise),
        }
        for estimator, value in expected.items():
            policy = ReferencePolicy(
                kind="OFUL", lam=0.5, sigma=sigma, theta_bound=S, delta=delta, estimator=estimator,
                width=next(w for w in WIDTHS if w == width), bias=bias, radius="sum", scale=2.0,
            )  # fmt: skip
            policy.learn([2.0], 3.0)
            policy.learn([1.0], -1.0)
            assert float(policy.index([[3.0]])[0]) == pytest.approx(value, rel=1e-14)


def test_sharp_by_hand() -> None:
    """V = 5.5 and b = 5 as above, x = 3: q = 9/5.5, and the index is (p + 3W/√5.5 + 3q S)/(1 + q), cut to 3S if asked.

    W² is 0.5 S² + σ²(2 log(1/δ) + log 11).
    """
    sigma, S, delta = 0.7, 1.3, 0.2
    q, p = 9 / 5.5, 15 / 5.5
    W = sqrt(0.5 * S**2 + sigma**2 * (2 * log(1 / delta) + log(11)))
    value = (p + 3 / sqrt(5.5) * W + 3 * q * S) / (1 + q)
    for clipped, expected in ((False, value), (True, min(value, 3 * S))):
        policy = ReferencePolicy(kind="OFUL", lam=0.5, sigma=sigma, theta_bound=S, delta=delta, clipped=clipped)
        policy.learn([2.0], 3.0)
        policy.learn([1.0], -1.0)
        assert float(policy.index([[3.0]])[0]) == pytest.approx(expected, rel=1e-14)
    assert value > 3 * S


def test_discounted_by_hand() -> None:
    """Rows 2 then 1, rewards 3 then −1, λ = 0.5, γ = 1/2: V = 3.5, Ṽ = 2.5, b = 2; asked for x = 3."""
    squares = 1 + 4 / 4
    widths = {"determinant": log(5), "trace": log(1 + squares / 0.5), "uniform": log(1 + 9 * 1.25 / 0.5)}
    for width, J in widths.items():
        noise = sqrt(2 * log(100) + J)
        expected: dict[Estimator, float] = {
            "ridge": 6 / 3.5 + 3 * sqrt(2.5) / 3.5 * (sqrt(0.5) + noise),
            "forward": 6 / 12.5 + 3 * sqrt(11.5) / 12.5 * (sqrt(9.5) + noise),
        }
        for estimator, value in expected.items():
            policy = ReferencePolicy(
                kind="DLinUCB",
                gamma=0.5,
                lam=0.5,
                estimator=estimator,
                bias="tight",
                width=next(w for w in WIDTHS if w == width),
            )
            policy.learn([2.0], 3.0)
            policy.learn([1.0], -1.0)
            assert float(policy.index([[3.0]])[0]) == pytest.approx(value, rel=1e-14)


def test_window_by_hand() -> None:
    """Window 1: only the row 1 with reward −1 counts, so V = 1.5; the printed β takes τ = 1, not the rounds."""
    policy = ReferencePolicy(kind="SWLinUCB", window=1, lam=0.5, estimator="ridge", width="uniform", delta=0.2)
    policy.learn([2.0], 3.0)
    policy.learn([1.0], -1.0)
    beta = sqrt(0.5) + sqrt(log((1 + 9 / 0.5) / 0.2))
    assert float(policy.index([[3.0]])[0]) == pytest.approx(-3 / 1.5 + 3 / sqrt(1.5) * beta, rel=1e-14)
    policy = ReferencePolicy(kind="SWLinUCB", window=5, lam=0.5, estimator="ridge", width="uniform", delta=0.2)
    beta = sqrt(0.5) + sqrt(log((1 + 5 * 9 / 0.5) / 0.2))
    assert float(policy.index([[3.0]])[0]) == pytest.approx(3 / sqrt(0.5) * beta, rel=1e-14)


def test_information_in_two_dimensions_by_hand() -> None:
    """Rows (1, 0) and (2, 0), λ = 0.5, X = 3: the dimension counts outside the logarithm and inside."""
    memory = remember((((1.0, 0.0), 0.0), ((2.0, 0.0), 0.0)), 2, 0.5, 1.0)
    widths: dict[Width, float] = {"determinant": log(11), "trace": 2 * log(1 + 5), "uniform": 2 * log(1 + 2 * 9)}
    for width, expected in widths.items():
        assert float(information(memory, width, mp.mpf(3))) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("gamma", [0.5, 0.95, 1.0])
@pytest.mark.parametrize("name", ["benign, d=2", "norm 200, lam 1e-5, d=3"])
def test_the_forward_definition_is_its_closed_form(gamma: float, name: str) -> None:
    lam, rounds = STREAMS[name]
    learned = tuple((tuple(map(float, x)), y) for one in rounds for x, y in one.told)
    x = tuple(map(float, rounds[0].actions[0]))
    memory = remember(learned, len(x), lam, gamma)
    p, spread = read(memory, x, "ridge")
    forward, forward_spread = read(memory, x, "forward")
    with mp.workdps(DIGITS):
        v = mp.matrix([mp.mpf(value) for value in x])
        q = (v.T * mp.lu_solve(memory.V, v))[0]
        assert abs(forward - p / (1 + q)) < 1e-30 * abs(p)
        assert abs(forward_spread**2 - (spread**2 + q**2) / (1 + q) ** 2) < 1e-30
        if gamma == 1:
            assert abs(spread**2 - q) < 1e-30 * q


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("width", WIDTHS)
def test_policies_that_forget_nothing_are_oful(estimator: Estimator, width: Width) -> None:
    stream = STREAMS["benign, d=2"]

    def answers(kind: Kind, gamma: float = 1.0, window: int = 1000, sigma: float = 1.0) -> list[mp.mpf]:
        return play(
            ReferencePolicy(
                kind=kind,
                lam=stream.lam,
                estimator=estimator,
                width=width,
                gamma=gamma,
                window=window,
                sigma=sigma,
                radius="sum",
            ),
            stream,
        )

    assert distance(answers("DLinUCB"), answers("OFUL")) == 0
    assert (
        distance(answers("DLinUCB", gamma=1 - 1e-12), answers("OFUL"))
        < 1e-9
        < distance(answers("DLinUCB", gamma=0.999), answers("OFUL"))
    )
    assert distance(answers("OracleRestart"), answers("OFUL")) == 0
    assert distance(answers("DetectingLinUCB", sigma=30), answers("OFUL", sigma=30)) == 0
    if width != "uniform":
        assert (
            distance(answers("SWLinUCB"), answers("OFUL"))
            == 0
            < distance(answers("SWLinUCB", window=3), answers("OFUL"))
        )


def test_memory_by_recursion() -> None:
    """Algorithm 4's recursions, with (1 − γ)λI put back every round, give the sums of the definition."""
    lam, rounds = STREAMS["mixed norms, d=3"]
    learned = tuple((tuple(map(float, x)), y) for one in rounds for x, y in one.told)
    memory = remember(learned, 3, lam, 0.9)
    with mp.workdps(DIGITS):
        g, I = mp.mpf(0.9), mp.eye(3)  # noqa: E741
        V, V_tilde, b = mp.mpf(lam) * I, mp.mpf(lam) * I, mp.zeros(3, 1)
        for x, y in learned:
            v = mp.matrix([mp.mpf(value) for value in x])
            V = g * V + v * v.T + (1 - g) * mp.mpf(lam) * I
            V_tilde = g**2 * V_tilde + v * v.T + (1 - g**2) * mp.mpf(lam) * I
            b = g * b + mp.mpf(y) * v
        for ours, theirs in ((memory.V, V), (memory.V_tilde, V_tilde), (memory.b, b)):
            assert mp.norm(ours - theirs) < 1e-40 * mp.norm(theirs)


def test_runs_of_one_action_by_geometric_sums() -> None:
    runs = [((1.0, 2.0), [0.5, -1.0, 2.0]), ((3.0, -1.0), [1.0, 0.0])]
    rows = tuple((x, y) for x, rewards in runs for y in rewards)
    ours, theirs = remember_runs(runs, 0.1, 0.8), remember(rows, 2, 0.1, 0.8)
    with mp.workdps(DIGITS):
        assert mp.norm(ours.V - theirs.V) + mp.norm(ours.V_tilde - theirs.V_tilde) + mp.norm(ours.b - theirs.b) < 1e-40
        assert abs(ours.squares - theirs.squares) < 1e-40
    assert ours.learned == theirs.learned == 5


def test_the_largest_norm_offered_counts_even_unlearned() -> None:
    policy = ReferencePolicy(kind="OFUL", width="uniform")
    policy.learn([1.0], 0.0)
    alone = policy.index([[1.0]])[0]
    assert policy.index([[1.0], [5.0]])[0] > alone  # the set asked about counts ...
    assert policy.index([[1.0]])[0] == alone  # ... but asking leaves no trace
    policy.offered([[5.0]])
    offered = policy.index([[1.0]])[0]
    assert offered == policy.index([[1.0], [5.0]])[0] > alone
    policy.restart()
    policy.learn([1.0], 0.0)
    assert policy.index([[1.0]])[0] == offered
    policy.learn([7.0], 0.0)
    policy.restart()
    policy.learn([1.0], 0.0)
    assert policy.index([[1.0]])[0] == policy.index([[1.0], [7.0]])[0] > offered  # learned counts as offered


def test_the_oracle_starts_anew_at_each_change_point() -> None:
    stream = STREAMS["benign, d=2"]
    policy = ReferencePolicy(kind="OracleRestart", change_points=(3, 7), width="uniform")
    fresh = ReferencePolicy(kind="OFUL", width="uniform")
    for t, (actions, told) in enumerate(stream.rounds):
        if t in (3, 7):
            largest, fresh = fresh.largest, ReferencePolicy(kind="OFUL", width="uniform")
            fresh.largest = largest
        assert policy.index(actions) == fresh.index(actions)
        for one in (policy, fresh):
            one.offered(actions)
            one.learn(*told[0])


def test_detection_by_hand() -> None:
    """One arm x = 1, rewards 0 and then 10 with σ = 0.1: every record is known, and so is every model.

    With τ = 4 and δ₂ = 0.5, cb after m records is √(log 2/(2m)): 0.589, 0.416, 0.340, 0.294. After four hits, the
    first model fails each round: badness 1/4 (good), 2/4 (≥ 0.294 + 0.1: no longer good, so one is added, but below
    0.294 + 0.3: kept), 3/4 (dropped).
    """
    policy = ReferencePolicy(
        kind="DetectingLinUCB", window=4, failure_delta=0.5, tolerance=0.1, delta=0.3, sigma=0.1, lam=0.01
    )
    seen = []
    for y in (0.0, 0.0, 0.0, 0.0, 10.0, 10.0, 10.0):
        policy.learn([1.0], y)
        seen.append([model.records.copy() for model in policy.models])
    assert seen[3] == [[0, 0, 0, 0]]
    assert seen[4] == [[0, 0, 0, 0, 1]]
    assert seen[5] == [[0, 0, 0, 0, 1, 1], []]
    # The new model does not believe 10 either (|θ| ≤ 1): badness 1 ≥ 0.589 + 0.3, so both go and another comes.
    assert seen[6] == [[]]


def test_a_model_does_not_learn_what_it_does_not_believe() -> None:
    policy = ReferencePolicy(kind="DetectingLinUCB", sigma=0.1)
    for y in (0.1, 50.0, 0.2):
        policy.learn([1.0], y)
    assert [(model.records, model.learned) for model in policy.models] == [([0, 1, 0], (((1.0,), 0.1), ((1.0,), 0.2)))]


def test_which_model_of_detection_plays() -> None:
    """Least badness − √(log τ)·cb: at birth −0.5√(log τ); ties to the oldest."""
    policy = ReferencePolicy(kind="DetectingLinUCB", window=4, failure_delta=0.5)
    new, one_hit, one_failure, also_hit = (type(policy.models[0])() for _ in range(4))
    one_hit.records, one_failure.records, also_hit.records = [0], [1], [0]
    policy.models = [one_failure, new, one_hit, also_hit]
    assert policy.playing is one_hit
    policy.models = [one_failure, new]
    assert policy.playing is new
    full, older = type(new)(records=[1, 0, 0, 0, 0]), type(new)(records=[0, 0, 0, 1, 0, 0, 0, 0])
    policy.models = [older, full]  # both have four hits in the window
    assert policy.playing is older


def test_detection_slack_is_the_normal_quantile() -> None:
    """A fresh model without reach (scale = 0) believes |y| up to √2 σ erfinv(1 − δ)."""
    slack = sqrt(2) * 0.7 * float(mp.erfinv(0.9))
    assert erf(slack / 0.7 / sqrt(2)) == pytest.approx(0.9, abs=1e-12)
    for y, record in ((0.999 * slack, 0), (-0.999 * slack, 0), (1.001 * slack, 1), (-1.001 * slack, 1)):
        policy = ReferencePolicy(kind="DetectingLinUCB", sigma=0.7, delta=0.1, scale=0.0)
        policy.learn([1.0, 0.0], y)
        assert policy.models[0].records == [record]


def test_thompson_draws_have_the_right_covariance() -> None:
    """z = xᵀU⁻¹D^{−1/2}η, so the η-gradient's squared length is q: for forward that is h after division by 1 + q."""
    lam, rounds = STREAMS["norm 200, lam 1e-5, d=3"]
    for estimator in ESTIMATORS:
        policy = ReferencePolicy(kind="LinTS", lam=lam, estimator=estimator, scale=0.5)
        optimist = ReferencePolicy(kind="OFUL", lam=lam, estimator=estimator, bias="tight", radius="sum", scale=0.5)
        for one in (policy, optimist):
            for entry in rounds:
                one.learn(*entry.told[0])
        actions = rounds[0].actions
        gradients = [policy.sampled(actions, row) for row in np.eye(3)]
        for k, part in enumerate(optimist.parts(actions)):
            with mp.workdps(DIGITS):
                length = mp.sqrt(mp.fsum(g[k].reach ** 2 for g in gradients))
                assert abs(length - part.reach) < 1e-30 * part.reach
            assert gradients[0][k].read_out == part.read_out


def test_factor() -> None:
    V = remember((((1.0, 2.0, 3.0), 0.0), ((0.0, -1.0, 5.0), 0.0)), 3, 0.1, 1.0).V
    with mp.workdps(DIGITS):
        U, D = unit_upper(V)
        assert mp.norm(U.T * mp.diag(D) * U - V) < 1e-45
    assert [U[i, j] for i in range(3) for j in range(i + 1)] == [1, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_usual_programs_agree_where_it_is_easy_and_miss_the_bar_where_it_is_not(estimator: Estimator) -> None:
    """Kept inverses and rebuilt matrices lose λ = 1e-5 beside 200²: the bar of the policies' tests tells them apart."""

    def worst(name: str, program: str) -> float:
        stream = STREAMS[name]
        policy = ReferencePolicy(kind="OFUL", lam=stream.lam, estimator=estimator, bias="tight", radius="sum")
        read_plain = {"dense": plain.dense, "Sherman–Morrison": plain.sherman_morrison}[program]
        rows: list[tuple[Vector, float]] = []
        gain, error = 0.0, 0.0
        for actions, told in stream.rounds:
            for x, part in zip(actions, policy.parts(actions), strict=True):
                p, q = read_plain(rows, x, stream.lam)
                got = plain.index(p, q, x, gain, lam=stream.lam, forward=estimator == "forward")
                error = max(error, abs(float((mp.mpf(got) - part.value) / part.size)))
            for x, y in told:
                gain += float(np.log1p(read_plain(rows, x, stream.lam)[1]))
                rows.append((x, y))
                policy.learn(x, y)
        return error

    for program in ("dense", "Sherman–Morrison"):
        assert worst("benign, d=2", program) < 1e-13
        assert worst("near a line, lam 1e-5, d=3", program) > BAR
        if estimator == "ridge":
            assert worst("norm 200, lam 1e-5, d=5", program) > BAR
