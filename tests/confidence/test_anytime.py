"""Intervals for one direction at a time: against the formula written out, the integral behind it, and simulations."""

import math
import os
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.datasets import load_diabetes

import onward
from onward import AutoRegressor, ForwardRegressor, RidgeRegressor, Table
from onward.confidence.anytime import BEST, LEAST_FREEDOM, Anchors, anytime_estimates, log_e_values, standard_errors
from onward.confidence.ordinary import OrdinaryLeastSquares
from onward.core import Information
from onward.core.inference import TUNED_FOR, Inference
from onward.core.types import Matrix, Vector
from onward.regression import OnlineRegressor
from tests.confidence.test_t_intervals import learned
from tools import peeking

DELTA = 0.05


def rows_of(n: int, d: int, seed: int = 0) -> tuple[Matrix, Vector, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)
    return X, X @ rng.standard_normal(d) + 3 + 0.7 * rng.standard_normal(n), rng.uniform(0.2, 3.0, n)


def dense(A: Matrix, y: Vector, w: Vector, v: Vector, lam: float, m: float, delta: float) -> tuple[float, ...]:
    """Estimate, standard error, half-width and log E, as in the paper's appendix of formulas, with inverses and all."""
    inverse = np.linalg.inv(A.T @ (w[:, None] * A))
    theta = inverse @ (A.T @ (w * y))
    s, z, nu = float(w @ (y - A @ theta) ** 2), 1 / float(v @ inverse @ v), len(y) - A.shape[1] + 1
    g = 1 - math.exp(-(2 * math.log(1 / delta) + math.log(1 + z / lam)) / nu)
    under = z * (z / (z + lam) - g)
    e = float(v @ theta) - m
    log_e = -0.5 * math.log(1 + z / lam) - nu / 2 * math.log(1 - (z * e) ** 2 / ((z + lam) * (s + z * e**2)))
    return float(v @ theta), math.sqrt(s / (nu - 1) / z), math.sqrt(g * s / under) if under > 0 else math.inf, log_e


def mixture_of(A: Matrix, w: Vector, v: Vector, tuned_for: float = TUNED_FOR) -> float:
    """λ' of a direction that is first asked for after these rows."""
    z = 1 / float(v @ np.linalg.inv(A.T @ (w[:, None] * A)) @ v)
    return float(z / (len(A) - A.shape[1] + 1) * tuned_for / BEST)


@pytest.mark.parametrize("lam", [0.0, 1e-3, 1.0, 50.0])
@pytest.mark.parametrize("tuned_for", [30, 30_000])
def test_intervals_and_e_values_are_those_of_the_formula(lam: float, tuned_for: int) -> None:
    X, y, w = rows_of(60, 4)
    A = np.column_stack([np.ones(60), X])
    directions = np.vstack([np.eye(5), [0, 1, -1, 0, 0], [1, 2, 0, 0.5, -3]])
    fitted = OrdinaryLeastSquares(learned(X, y, w, lam, prior=0.3))
    found = anytime_estimates(fitted, Anchors(), directions, DELTA, null=0.4, tuned_for=tuned_for)
    for place, v in enumerate(directions):
        estimate, error, reach, log_e = dense(A, y, w, v, mixture_of(A, w, v, tuned_for), 0.4, DELTA)
        assert_allclose(found.estimate[place], estimate, rtol=1e-8)
        assert_allclose(found.standard_error[place], error, rtol=1e-8)
        assert_allclose([found.lower[place], found.upper[place]], [estimate - reach, estimate + reach], rtol=1e-7)
        assert_allclose(found.log_e_value[place], log_e, rtol=1e-7, atol=1e-9)
    assert np.isfinite(found.lower).all() == (tuned_for == 30)


@pytest.mark.parametrize("make", [lambda: RidgeRegressor(7.0), lambda: ForwardRegressor(units="own"), AutoRegressor])
def test_all_learners_have_the_intervals_of_least_squares(make: type[OnlineRegressor]) -> None:
    X, y, w = rows_of(80, 3)
    A = np.column_stack([np.ones(80), X])
    table = make().fit(X[:50], y[:50], w[:50]).partial_fit(X[50:], y[50:], w[50:]).coefficient_table()
    for place, v in enumerate(np.eye(4)):
        estimate, error, reach, log_e = dense(A, y, w, v, mixture_of(A, w, v), 0.0, DELTA)
        assert_allclose(table["estimate"][place], estimate, rtol=1e-6)
        assert_allclose(table["standard_error"][place], error, rtol=1e-6)
        assert_allclose(table["upper"][place] - table["estimate"][place], reach, rtol=1e-6)
        assert_allclose(table["log_e_value"][place], log_e, rtol=1e-6, atol=1e-8)
        assert_allclose(table["p_value"][place], min(1.0, math.exp(-log_e)), rtol=1e-5)


@pytest.mark.parametrize(("freedom", "rho", "t"), [(4, 3.0, 1.5), (7, 0.4, 3.0), (12, 20.0, 0.3), (25, 8.0, 4.0)])
def test_an_e_value_is_the_likelihood_ratio_of_the_mixture(freedom: int, rho: float, t: float) -> None:
    """∫ N(δ; 0, 1/λ') M(δ)/M(0) dδ, with M the likelihood over other coefficients and, scale-free, over σ."""
    z, error = 2.5, 0.8
    e, s, nu = t * error, error**2 * z * freedom, freedom + 1
    lam = z / rho

    def over_sigma(effect: float) -> float:
        def integrand(log_sigma: float) -> float:
            sigma = math.exp(log_sigma)
            return math.exp(-nu * log_sigma - (s + z * (e - effect * sigma) ** 2) / (2 * sigma**2))

        return quad(integrand, -6, 8, limit=300, epsabs=0, epsrel=1e-10)[0]

    def integrand(effect: float) -> float:
        return math.sqrt(lam / (2 * math.pi)) * math.exp(-lam * effect**2 / 2) * over_sigma(effect)

    reach = 10 / math.sqrt(lam)
    ratio = quad(integrand, -reach, reach, points=[0.0, e / error], limit=300, epsrel=1e-9)[0] / over_sigma(0.0)
    found = log_e_values(np.array([e]), np.array([error]), np.array([rho]), freedom)[0]
    assert_allclose(found, math.log(ratio), rtol=1e-6, atol=1e-8)


def test_an_interval_holds_what_its_e_value_does_not_speak_against() -> None:
    X, y, _ = rows_of(100, 3)
    model = ForwardRegressor().fit(X, y)
    effect = model.contrast({"x0": 1.0, "x1": -2.0}, 0.1)
    for end in (effect.lower, effect.upper):
        assert_allclose(model.contrast({"x0": 1.0, "x1": -2.0}, null=end).e_value, 10.0, rtol=1e-9)
    assert model.contrast({"x0": 1.0, "x1": -2.0}, null=effect.upper + 1e-3).e_value > 10
    assert model.contrast({"x0": 1.0, "x1": -2.0}, null=effect.estimate).e_value < 1
    assert effect.name == "x0 - 2*x1"


def test_neither_units_nor_zeros_of_columns_matter() -> None:
    X, y, _ = rows_of(90, 3)
    plain = ForwardRegressor().fit(X, y).coefficient_table()
    scales, shifts = np.array([1e-6, 1e5, 3.0]), np.array([1e-6, 2e6, -7.0])
    for make in (lambda: ForwardRegressor(1e-9), AutoRegressor):
        other = make().fit(X * scales + shifts, -40 * y).coefficient_table()
        for name in ("log_e_value", "p_value"):
            assert_allclose(other[name][1:], plain[name][1:], rtol=1e-6, atol=1e-9)
        assert_allclose(other["lower"][1:] * scales, -40 * plain["upper"][1:], rtol=1e-6)
        assert_allclose(other["upper"][1:] * scales, -40 * plain["lower"][1:], rtol=1e-6)


def test_what_cannot_be_told_apart_is_open_alone() -> None:
    rng = np.random.default_rng(3)
    level, x = rng.integers(0, 3, 200), rng.standard_normal(200)
    X = np.column_stack([x, np.eye(3)[level], np.full(200, 5.0)])
    y = x + level + rng.standard_normal(200)
    for model in (RidgeRegressor(), ForwardRegressor(0.0), AutoRegressor()):
        table = model.fit(X, y).coefficient_table()
        assert np.isfinite(table["upper"]).tolist() == [False, True, False, False, False, False]
        assert np.isnan(table["estimate"]).tolist() == [True, False, True, True, True, True]
        assert table["p_value"][2:].tolist() == [1.0] * 4
        between = model.contrast([0, -1, 0, 1, 0])
        assert_allclose(between.estimate, y[level == 2].mean() - y[level == 0].mean(), atol=0.5)
        assert between.p_value < 1e-6


@pytest.mark.parametrize("n", [100, 3000])
def test_where_λ_outweighs_a_column_its_estimate_is_right_or_open(n: int) -> None:
    is_open = []
    for power in np.arange(4.0, 10.0, 0.25):
        X, y, w = rows_of(n, 3, seed=int(4 * power))
        A = np.column_stack([np.ones(n), X])
        expected, error, _, _ = dense(A, y, w, np.eye(4)[1], 1.0, 0.0, DELTA)
        scale = 10.0**-power
        found = RidgeRegressor(1.0).fit(X * [scale, 1.0, 1.0], y, w).contrast("x0")
        is_open.append(math.isnan(found.estimate))
        if not is_open[-1]:
            assert abs(found.estimate * scale - expected) < 0.01 * error
            assert_allclose(found.standard_error * scale, error, rtol=1e-3)
    assert not is_open[0]
    assert is_open == sorted(is_open)


def test_before_rows_say_anything_intervals_are_open_and_nothing_is_evidence() -> None:
    X, y, _ = rows_of(20, 3)
    model = ForwardRegressor().partial_fit(X[:1], y[:1])
    for n in range(1, 20):
        table = model.coefficient_table()
        is_open = n < 4 + LEAST_FREEDOM
        assert not (is_open and np.isfinite(table["upper"]).any())
        assert not (is_open and (table["p_value"] != 1).any())
        model.partial_fit(X[n : n + 1], y[n : n + 1])
    exact = RidgeRegressor(1e-3).fit(X, X @ [1.0, 0.0, -1.0] + 2).contrast("x0", null=0.5, tuned_for=20)
    most = 8 * (1 + BEST * 17 / 20) ** 8  # E is at most (1 + ρ)^(freedom/2), however small the errors are
    assert 0.1 * most < exact.e_value <= most
    assert_allclose(exact.p_value, 1 / exact.e_value)


def test_widths_on_the_diabetes_data() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = ForwardRegressor().fit(X[:400], y[:400])
    one, every, joint = (
        (table["upper"] - table["lower"]) / 2
        for table in (
            model.coefficient_table(),
            model.coefficient_table(simultaneous=True),
            model.coefficient_table(method="uniform"),
        )
    )
    errors = model.coefficient_table()["standard_error"]
    assert 2.5 < (one / errors).max() <= 3.5
    assert (one / errors).max() < (every / errors).max() <= 4.2
    assert (joint / errors).min() > 9
    assert_allclose(every, (model.coefficient_table(DELTA / 11)["upper"] - model.coefficient_table()["estimate"]))


# Coverage


def ever_missed(d: int, design: str, streams: int, rows: int, *, scale: float = 1.0, anew: bool = False) -> float:
    """The share of streams in which the interval of one coefficient ever missed it, looked at after every row.

    `scale` is that of the intervals; `anew` makes λ' of the features again at every look.
    """
    rng = np.random.default_rng(d)
    A, b, squares = np.zeros((streams, d, d)), np.zeros((streams, d)), np.zeros(streams)
    rate, missed = np.full(streams, np.nan), np.zeros(streams, dtype=bool)
    for row in range(rows):
        x = rng.standard_normal((streams, d))
        x[:, 0] = 1.0
        if design == "time":
            x[:, -1] = row / 10
        if design == "growing":
            x[:, -1] = 1.02**row
        if design == "late":
            x[:, -1] = (x[:, -1] > 1.5) * (row > 100)
        y = x @ np.ones(d) + rng.standard_normal(streams)
        A += x[:, :, None] * x[:, None]
        b += x * y[:, None]
        squares += y**2
        freedom = row + 1 - d
        if freedom < LEAST_FREEDOM:
            continue
        pivot = np.where(A[:, -1, -1] > 0, 1.0, np.inf)
        solved = np.linalg.solve(A + 1e-12 * np.eye(d), np.stack([b, np.broadcast_to(np.eye(d)[-1], b.shape)], axis=2))
        variance = solved[:, -1, 1] * pivot
        s = np.maximum(squares - np.einsum("sd,sd->s", b, solved[:, :, 0]), 1e-12)
        rate = np.where(np.isnan(rate) | anew, 1 / (variance * (freedom + 1)), rate)
        rate[rate == 0] = np.nan
        rho = np.nan_to_num(1 / (variance * rate * TUNED_FOR / BEST))
        with np.errstate(invalid="ignore"):
            reach = np.sqrt(s / freedom * variance) * standard_errors(rho, freedom, -2 * math.log(DELTA))
            missed |= np.abs(solved[:, -1, 0] - 1.0) > scale * reach
    return float(missed.mean())


LIMIT = 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / 500)  # of 500 streams, δ and the 99.5% quantile of chance


@pytest.mark.parametrize(
    ("d", "design", "rows"),
    [(1, "normal", 1500), (2, "time", 1000), (4, "normal", 600), (9, "normal", 400), (3, "late", 800)],
)
def test_intervals_hold_at_every_row_at_once(d: int, design: str, rows: int) -> None:
    assert ever_missed(d, design, 500, rows) <= LIMIT < ever_missed(d, design, 500, rows, scale=0.5)


def test_a_mixture_that_is_made_anew_at_every_look_is_none() -> None:
    """Why anchors are kept: where a column grows, rows bring more and more information."""
    kept, made_anew = (ever_missed(2, "growing", 500, 700, anew=anew) for anew in (False, True))
    assert kept <= LIMIT < 0.15 < made_anew


def test_no_peeking_makes_an_a_a_test_significant() -> None:
    world = peeking.WORLDS["normal noise (proven)"]
    found = peeking.ever_significant(world, 500, 2000)
    assert found["anytime"].mean() <= LIMIT < 0.3 < found["t test"].mean()
    assert peeking.ever_significant(world, 500, 2000, scale=0.5)["anytime"].mean() > LIMIT


def test_robust_intervals_hold_where_the_spread_of_noise_differs() -> None:
    found = peeking.ever_significant(peeking.WORLDS["the same, one in 10 treated"], 500, 2000)
    assert found["robust"].mean() <= LIMIT < 0.5 < found["anytime"].mean()


@pytest.mark.parametrize("treated", ["one in 10 treated", "one in 50 treated"])
def test_robust_intervals_hold_where_few_are_treated_and_few_targets_are_1(treated: str) -> None:
    """A small group of zeros has no errors: its own spread alone would make 30% and 65% of these significant."""
    world = peeking.WORLDS[f"0/1, one in 20, {treated}"]
    assert peeking.ever_significant(world, 500, 2000)["robust"].mean() <= LIMIT
    assert peeking.ever_significant(world, 500, 2000, scale=0.3)["robust"].mean() > LIMIT


def test_robust_errors_are_never_below_the_plain_ones() -> None:
    rng = np.random.default_rng(8)
    treated, y = (np.arange(400) % 50 == 0).astype(np.float64), (rng.random(400) < 0.05).astype(np.float64)
    y[treated == 1] = 0.0
    model = RidgeRegressor().track_sandwich().fit(treated[:, None], y)
    assert model.sandwich_ is not None
    solved = OrdinaryLeastSquares(model.information_).solve(np.array([[0.0, 1.0]]))
    plain, robust = model.contrast("x0"), model.contrast("x0", robust=True)
    assert math.sqrt(model.sandwich_.variances(solved)[0]) < 0.5 * plain.standard_error
    assert robust.standard_error == plain.standard_error


def test_the_tool_plays_what_models_say() -> None:
    rng = np.random.default_rng(5)
    sums, rows = peeking.Sums(1), []
    for _ in range(150):
        t, x = (rng.random(1) < 0.4).astype(np.float64), rng.standard_normal(1)
        y = x + (1 + t) * rng.standard_normal(1)
        sums.learn(t, x, y)
        rows.append((t[0], x[0], y[0]))
    data, look = np.array(rows), sums.look()
    model = RidgeRegressor(1.0).track_sandwich().fit(data[:, :2], data[:, 2])
    for robust, error in ((False, look.error), (True, look.robust)):
        effect = model.contrast("x0", robust=robust)
        assert_allclose([effect.estimate, effect.standard_error], [look.estimate[0], error[0]], rtol=1e-9)
    plain = model.contrast("x0")
    rho = BEST * (look.freedom + 1) / TUNED_FOR
    expected = log_e_values(look.estimate, look.error, np.array([rho]), look.freedom)[0]
    assert_allclose(plain.log_e_value, expected, rtol=1e-9)
    assert np.isnan(peeking.Sums(1)._solve()).all()


# Anchors


def test_the_scale_of_features_is_fixed_when_it_is_first_asked_for(tmp_path: Path) -> None:
    X, y, _ = rows_of(600, 2)
    X[100:, 0] *= 30  # brings more information with each row than at first
    early, late = ForwardRegressor().fit(X[:100], y[:100]), ForwardRegressor().fit(X, y)
    early.contrast("x0")
    kept = early.copy()
    early.save(tmp_path / "m.onward")
    for model in (early, kept, onward.load(tmp_path / "m.onward")):
        model.partial_fit(X[100:], y[100:])
        effect = model.contrast("x0")
        v, A = np.array([0.0, 1.0, 0.0]), np.column_stack([np.ones(600), X])
        lam = mixture_of(A[:100], np.ones(100), v)
        _, _, reach, log_e = dense(A, y, np.ones(600), v, lam, 0.0, DELTA)
        assert_allclose([effect.upper - effect.estimate, effect.log_e_value], [reach, log_e], rtol=1e-8)
        assert effect.upper - effect.lower > 1.05 * (late.contrast("x0").upper - late.contrast("x0").lower)
    assert_allclose(early.fit(X, y).contrast("x0").upper, late.contrast("x0").upper)  # a new beginning


def test_an_anchor_is_of_features_alone() -> None:
    X, y, _ = rows_of(50, 2)
    first, second = ForwardRegressor().fit(X, y), ForwardRegressor().fit(X, np.sin(1000 * y))
    for model in (first, second):
        model.note_scales()
    assert first.anchors_ is not None
    assert second.anchors_ is not None
    assert_allclose(
        np.array([each[1:] for each in first.anchors_.to_record()]), [e[1:] for e in second.anchors_.to_record()]
    )
    with pytest.raises(ValueError, match="an anchor must have information"):
        Anchors.from_record([[[[0, 1.0]], -1.0, 3.0]])


def test_the_number_of_rows_that_intervals_are_tuned_for_is_kept(tmp_path: Path) -> None:
    X, y, _ = rows_of(300, 2)
    model = ForwardRegressor().fit(X[:200], y[:200])
    first = model.contrast("x0", tuned_for=10_000)
    model.save(tmp_path / "m.onward")
    for again in (model, model.copy(), onward.load(tmp_path / "m.onward")):
        assert again.contrast("x0") == first
        assert again.contrast("x0", tuned_for=50).tuned_for == 10_000
        assert again.contrast("x1").tuned_for == TUNED_FOR
    other = ForwardRegressor().fit(X[:200], y[:200]).contrast("x0")
    assert other.upper - other.lower < 0.9 * (first.upper - first.lower)


def growing_rows(n: int) -> pl.DataFrame:
    """A column that counts time, so that rows bring more and more information, and one that is 0 at first."""
    rng = np.random.default_rng(12)
    late = (rng.random(n) < 0.3) * (np.arange(n) > 150)
    return pl.DataFrame({"time": np.arange(n) / 7, "late": late.astype(np.int64), "y": rng.standard_normal(n)})


@pytest.mark.parametrize("tuned_for", [400, 5000])
def test_a_file_a_pipe_and_a_file_that_has_grown_have_one_scale(tmp_path: Path, tuned_for: int) -> None:
    rows, asked = growing_rows(2000), Inference(contrasts=["time", "late", "time - late"], tuned_for=tuned_for)
    path, pipe = tmp_path / "rows.csv", tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    anchors, reaches = [], []
    for n in (300, 2000):
        rows[:n].write_csv(path)
        done = onward.fit(path, Table("y"), inference=asked)
        assert done.model.anchors_ is not None
        anchors.append(done.model.anchors_.to_record())
        found = done.contrasts()
        reaches.append([(each.upper - each.estimate) / each.standard_error for each in found])
        Thread(target=lambda: pipe.write_bytes(path.read_bytes())).start()
        frames: list[pl.DataFrame] = []
        piped = onward.fit(pipe, Table("y"), inference=asked, follow=frames.append)
        assert piped.contrasts() == found
        Thread(target=lambda: pipe.write_bytes(path.read_bytes())).start()
        onward.fit(pipe, Table("y"), inference=asked, save=tmp_path / "m.onward")
        saved = onward.load(tmp_path / "m.onward")
        assert [saved.contrast(each) for each in ("time", "late")] == found[:2]  # whatever number is the default
    assert anchors[0] == anchors[1]
    assert {each.tuned_for for each in found} == {tuned_for}
    if tuned_for == 400:  # from where they are narrowest on, intervals reach more standard errors, without end
        assert (np.array(reaches[1]) > np.array(reaches[0]) + 0.05)[0]


# What robust intervals keep


def test_robust_intervals_are_the_same_whichever_way_rows_come(tmp_path: Path) -> None:
    X, y, w = rows_of(60, 3)
    names = ["a", "b", "c"]
    whole = RidgeRegressor(2.0).track_sandwich().fit(X, y, w)
    single, dicts, blocks = (RidgeRegressor(2.0).track_sandwich() for _ in range(3))
    for place, (x, target, weight) in enumerate(zip(X, y, w, strict=True)):
        single.learn_one(x, target, weight)
        dicts.learn_one(dict(zip(names, x.tolist(), strict=True)), target, weight)
        if place % 20 == 19:
            part = slice(place - 19, place + 1)
            blocks.learn_block(X[part], y[part], w[part], list(names))
    expected = whole.coefficient_table(robust=True)
    whole.save(tmp_path / "m.onward")
    saved = onward.load(tmp_path / "m.onward")
    for model in (single, dicts, blocks, saved, whole.copy()):
        found = model.coefficient_table(robust=True)
        assert_allclose(found["standard_error"], expected["standard_error"], rtol=1e-9)
    robust = _sandwich_errors(X, y, w, RidgeRegressor(2.0).predict_then_learn(X, y, w))
    plain = whole.coefficient_table()["standard_error"]
    assert (robust > plain).any()
    assert_allclose(expected["standard_error"], np.maximum(robust, plain), rtol=1e-8)  # the sandwich, written out
    saved.partial_fit(X, y)
    assert (saved.coefficient_table(robust=True)["standard_error"] < expected["standard_error"]).all()


def _sandwich_errors(X: Matrix, y: Vector, w: Vector, predictions: Vector) -> Vector:
    A = np.column_stack([np.ones(len(X)), X])
    inverse = np.linalg.inv(A.T @ (w[:, None] * A))
    squares = (w * (y - predictions)) ** 2
    squares[0] = 0.0
    return np.asarray(np.sqrt(np.diag(inverse @ (A.T @ (squares[:, None] * A)) @ inverse)))


def test_robust_intervals_of_merged_models_know_the_errors_of_both() -> None:
    X, y, _ = rows_of(80, 2)
    one, other = RidgeRegressor().track_sandwich(), RidgeRegressor().track_sandwich()
    for place, (x, target) in enumerate(zip(X, y, strict=True)):
        row = {"a": x[0], "b": x[1]} if place < 40 else {"b": x[1], "a": x[0], "c": float(place % 3)}
        (one if place < 40 else other).learn_one(row, target)
    assert one.sandwich_ is not None
    assert other.sandwich_ is not None
    sums = np.zeros((4, 4))
    sums[:3, :3] += one.sandwich_.state.second_moment()
    order = [0, 2, 1, 3]
    sums[np.ix_(order, order)] += other.sandwich_.state.second_moment()
    one.merge(other)
    assert_allclose(one.sandwich_.state.second_moment(), sums, rtol=1e-9)
    one.merge(RidgeRegressor().learn_one({"a": 1.0}, 2.0))
    with pytest.raises(ValueError, match="robust intervals are for models that have kept"):
        one.contrast("a", robust=True)


def test_robust_intervals_go_on_after_a_merge_or_are_refused() -> None:
    X, y, _ = rows_of(300, 2)
    whole = RidgeRegressor().track_sandwich().fit(X, y).coefficient_table(robust=True)
    merged = RidgeRegressor().merge(RidgeRegressor().track_sandwich().fit(X[:50], y[:50])).partial_fit(X[50:], y[50:])
    assert_allclose(merged.coefficient_table(robust=True)["standard_error"], whole["standard_error"], rtol=1e-9)
    forgot = RidgeRegressor().track_sandwich().merge(RidgeRegressor().fit(X[:50], y[:50])).partial_fit(X[50:], y[50:])
    parts = RidgeRegressor().track_sandwich().fit(X[:50], y[:50]).merge_part(ForwardRegressor(0.0).fit(X[50:], y[50:]))
    for model in (forgot, parts, parts.copy().partial_fit(X, y)):
        with pytest.raises(ValueError, match="robust intervals are for models that have kept"):
            model.contrast("x0", robust=True)


def test_a_number_too_large_leaves_robust_intervals_open() -> None:
    X, y, _ = rows_of(40, 1)
    model = RidgeRegressor(fit_intercept=False).track_sandwich().fit(X, y)
    model.partial_fit(np.array([[1e100]]), np.array([1e140]))
    assert np.isinf(model.contrast("x0", robust=True).upper)


# What can be asked


def test_contrasts_are_asked_for_by_name_or_by_weights() -> None:
    X, y, _ = rows_of(50, 2)
    frame = {"a": X[:, 0], "b": X[:, 1]}
    import pandas as pd

    model = ForwardRegressor().fit(pd.DataFrame(frame), y)
    same = [model.contrast(each) for each in ("a", {"a": 1.0}, [1.0, 0.0], [0.0, 1.0, 0.0], {"a": 1.0, "b": 0.0})]
    assert {each.upper for each in same} == {same[0].upper}
    assert model.contrast({"(intercept)": 1.0}).estimate == model.coefficient_table()["estimate"][0]
    for wrong, message in (
        ("c", "there is no coefficient of 'c'"),
        ([1.0], "a contrast must have 2 weights, for the features, or 3"),
        ({"a": 0.0}, "not all of them 0"),
        ([np.nan, 1.0], "finite weights"),
    ):
        with pytest.raises(ValueError, match=message):
            model.contrast(wrong)
    with pytest.raises(ValueError, match="delta must be"):
        model.contrast("a", 1.5)
    with pytest.raises(ValueError, match="tuned_for must be"):
        model.contrast("a", tuned_for=0)
    with pytest.raises(ValueError, match="target must be one of 0 to 0"):
        model.contrast("a", target=1)


def test_tables_of_a_set_are_asked_for_by_what_they_rely_on() -> None:
    X, y, _ = rows_of(50, 2)
    model = RidgeRegressor().fit(X, y)
    columns = ["feature", "estimate", "lower", "upper"]
    relying: list[dict[str, Any]] = [{"sigma": 1.0}, {"method": "uniform"}, {"width": "trace"}]
    for settings in relying:
        assert list(model.coefficient_table(**settings)) == columns
    region = model.confidence_set()
    assert_allclose(model.coefficient_table(method="uniform")["lower"], region.coordinates()[:, 0])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"method": "anytime", "sigma": 1.0}, "sigma is for 'uniform'"),
        ({"method": "uniform", "robust": True}, "are for 'anytime'"),
        ({"method": "bayes"}, "method must be 'anytime' or 'uniform'"),
    ]
    for settings, message in wrong:
        with pytest.raises(ValueError, match=message):
            model.coefficient_table(**settings)
    with pytest.raises(ValueError, match="a model that forgets"):
        RidgeRegressor(half_life=20).fit(X, y).coefficient_table()
    with pytest.raises(ValueError, match="expected None among half_lives"):
        AutoRegressor(half_lives=(10.0,)).fit(X, y).contrast("x0")
    with pytest.raises(ValueError, match="must come before the first row"):
        model.track_sandwich()
    with pytest.raises(ValueError, match=r"robust intervals are not to be had here: .* forgets"):
        RidgeRegressor(half_life=20).track_sandwich()
    for together in (0, -1, 2.5):
        with pytest.raises(ValueError, match="together must be a whole number >= 1"):
            model.contrast("x0", together=together)  # type: ignore[arg-type]
    for null in (np.nan, np.inf):
        with pytest.raises(ValueError, match="null must be a finite number"):
            model.contrast("x0", null=null)
    with pytest.raises(ValueError, match="one target"):
        RidgeRegressor().track_sandwich().fit(X, np.column_stack([y, y]))


def test_several_targets_have_contrasts_of_their_own() -> None:
    X, y, w = rows_of(60, 2)
    both = RidgeRegressor().fit(X, np.column_stack([y, -y]), w)
    alone = RidgeRegressor().fit(X, y, w).contrast("x0")
    assert_allclose(both.contrast("x0", target=0).upper, alone.upper)
    assert_allclose(both.contrast("x0", target=1).lower, -alone.upper)


def test_the_state_of_all_rows_of_an_ensemble_is_that_of_one_learner() -> None:
    X, y, w = rows_of(70, 3)
    X[:, 2] = 4.0
    state = AutoRegressor(lams=(0.5,)).fit(X, y, w).ensemble_.state_of_all_rows()
    assert state is not None
    lam = np.append(0.0, [0.5 * np.ptp(X[:, j]) ** 2 / 12 if j < 2 else 1.0 for j in range(3)])
    lam[1:3] = state.lam[1:3]  # a scale that grows grows by half at least
    other = Information(3, 1, lam, intercept=True)
    other.absorb(X, y[:, None].copy(), w)
    assert_allclose(OrdinaryLeastSquares(state).residual, OrdinaryLeastSquares(other).residual, rtol=1e-8)
    assert_allclose(state.second_moment()[:3, :3], other.second_moment()[:3, :3], rtol=1e-9)
    assert (state.lam[1:3] >= 0.5 * np.ptp(X[:, :2], axis=0) ** 2 / 12 * (1 - 1e-9)).all()
