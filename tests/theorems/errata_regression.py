"""Errata on regression, worked through: Sections 2 and 3, Appendices A to D, and the inputs of all bounds."""

import math

import numpy as np
import pytest

from onward import bounds
from onward.bounds import as_printed
from onward.core.trace import Trace
from tests.theorems.errata_registry import Numbers, erratum
from tests.theorems.games import Runs, failing, most
from tests.theorems.test_stochastic import HardCase


@erratum(2)
def outer_product() -> Numbers:
    """θ_t = G⁻¹Xᵀε + θ* − G⁻¹(λI + xxᵀ)θ*, G with the next row x; xᵀx is a number and does not fit."""
    rng = np.random.default_rng(2)
    X, x, theta, lam = rng.standard_normal((6, 2)), np.array([1.0, 2.0]), np.array([1.0, -1.0]), 1.0
    noise = rng.standard_normal(6)
    G = lam * np.eye(2) + X.T @ X
    after = G + np.outer(x, x)
    estimate = np.linalg.solve(after, X.T @ (X @ theta + noise))
    base = np.linalg.solve(after, X.T @ noise) + theta
    right = base - np.linalg.solve(after, (lam * np.eye(2) + np.outer(x, x)) @ theta)
    printed = base - np.linalg.solve(after, (lam + x @ x) * theta)
    off = estimate - theta
    np.testing.assert_allclose(right, estimate, atol=1e-12)
    assert off @ after @ off > off @ G @ off
    return {
        "distance of the printed expression from θ_t": float(np.linalg.norm(printed - estimate)),
        "distance of the right one, below": 1e-12,
    }


@erratum(3)
def width_at_one_coordinate() -> Numbers:
    runs, T, lam, delta = 4000, np.arange(1, 3001), 10.0, 0.1
    noise = np.random.default_rng(3).standard_normal((3000, runs))
    off = np.abs(np.cumsum(noise, axis=0)) / np.sqrt(lam + T)[:, None]  # ‖θ_t − θ*‖ in the norm of G_t, θ* = 0
    printed = as_printed.ridge_width(T, d=1, lam=lam, feature_bound=1.0, theta_bound=0.0, sigma=1.0, delta=delta)
    right = np.sqrt(2 * np.log(1 / delta) + bounds.information_gain(T, d=1, lam=lam, feature_bound=1.0))
    rates = failing(off, printed[:, None]), failing(off, right[:, None])
    assert rates[1] <= most(delta, runs) < rates[0]
    loose = as_printed.forward_width(
        100, d=10, lam=1.0, feature_bound=1.0, theta_bound=0.0, sigma=1.0, delta=delta
    ) / np.sqrt(2 * np.log(1 / delta) + bounds.information_gain(100, d=10, lam=1.0, feature_bound=1.0))
    assert loose > 1
    return {
        "printed, share of runs that leave the set": rates[0],
        "right, share of runs that leave the set": rates[1],
        "printed width over the right one at d = 10": float(loose),
    }


@erratum(4)
def factor_kappa_for_forward() -> Numbers:
    lam, X = 0.01, 10.0
    leading = bounds.leverage_before_sum(100, d=2, lam=lam, feature_bound=X)
    right = bounds.leverage_after_sum(100, d=2, lam=lam, feature_bound=X)
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((100, 2))
    rows *= X / np.sqrt((rows**2).sum(1, keepdims=True))
    paid = float(np.sum(Trace.of(rows, np.ones(100), lam).h))
    assert paid <= right < leading
    return {"printed, κ u": leading, "right, u": right, "Σh on random rows": paid}


@erratum(5)
def factor_two() -> Numbers:
    hard, delta = HardCase(), 0.01
    numbers: Numbers = {}
    for who in ("ridge", "forward"):
        regret = hard.runs.regret(who)
        printed = failing(regret[:, :: hard.count // 1000], hard.printed(who, delta))
        right = failing(regret, hard.right(who, delta)[:, None])
        assert right <= most(delta, hard.count) < most(delta, 1000) < printed
        numbers |= {f"{who}, printed, share of runs that exceed it": printed, f"{who}, right": right}
    return numbers


@erratum(6)
def leading_terms() -> Numbers:
    """The setting of Figure 1, rows and θ* of each run its own."""
    T, sigma, delta, size, count = np.arange(1, 201), 0.1, 0.1, math.sqrt(5.0), 500
    numbers: Numbers = {}
    for norm in (1.0, 0.1):
        rng = np.random.default_rng(6)
        over = dict.fromkeys(("ridge", "forward"), 0)
        above = dict.fromkeys(over, 0)
        for _ in range(count):
            X, theta = rng.uniform(0.0, 1.0, (200, 5)), rng.standard_normal(5)
            theta *= norm / np.sqrt(theta @ theta)
            runs = Runs(X, theta, 1.0, sigma * rng.standard_normal((200, 1)))
            trace = Trace.of(X, runs.y[:, 0].copy(), 1.0)
            for who, term, bound in (
                ("ridge", as_printed.ridge_leading_term, bounds.ridge_regret_to_truth_sharp_along),
                ("forward", as_printed.forward_leading_term, bounds.forward_regret_to_truth_sharp_along),
            ):
                leading = term(T, d=5, lam=1.0, feature_bound=size, sigma=sigma, delta=delta)
                regret = runs.regret(who)[:, 0]
                over[who] += bool((regret > leading).any())
                above[who] += bool((regret > bound(trace, theta_bound=norm, sigma=sigma, delta=delta)).any())
        for who in over:
            assert above[who] / count <= most(delta, count)
            numbers[f"{who}, ‖θ*‖ = {norm:g}, share of runs that exceed the leading term"] = over[who] / count
    return numbers


@erratum(7)
def arbitrary_start() -> Numbers:
    """x = 1, y = 0, λ = 1, one round, and ridge starts from θ_0 = 10."""
    start, h = 10.0, 0.5
    regret, printed = start**2, (start - 0.0) ** 2 * h
    assert regret > printed
    trace = Trace.of(np.array([[1.0], [1.0]]), np.array([0.0, 3.0]), 1.0)
    loss = float(np.sum((trace.p - trace.y) ** 2)) - 9.0 * 2.0 / 3.0  # min over θ of θ² + (θ − 3)² + θ² is 6
    np.testing.assert_allclose(bounds.ridge_identity(trace).regret[-1], loss)
    return {"regret from θ_0 = 10": regret, "printed right-hand side": printed}


@erratum(8)
def next_row_in_the_corollary() -> Numbers:
    """One row 0.1, λ = 0.1, y = 1; the next row would be 10."""
    x, lam = 0.1, 0.1
    regret = 1.0  # forward says 0, and hindsight fits y
    printed = bounds.forward_regret_to_best(
        1, d=1, lam=lam, feature_bound=x, target_bound=1.0, smallest_eigenvalue=x**2 + 10.0**2
    )
    right = bounds.forward_regret_to_best(1, d=1, lam=lam, feature_bound=x, target_bound=1.0, smallest_eigenvalue=x**2)
    assert printed < regret <= right
    return {"regret of one round": regret, "with the next row": printed, "without": right}


@erratum(9)
def lower_bound_at_one_coordinate() -> Numbers:
    T = 1000
    printed = bounds.as_printed.minimax_regret(T, d=1, target_bound=1.0)
    right = bounds.minimax_regret(T, d=1, target_bound=1.0)
    assert right <= T < printed  # who always says 0 never pays more than T Y²
    return {"printed, d = 1": printed, "finite form": right, "the most that predicting 0 can cost": float(T)}


@erratum(10)
def martingale_in_hindsight() -> Numbers:
    rng = np.random.default_rng(10)
    d, T, delta = 50, 200, 0.1
    X = rng.standard_normal((T, d))
    noise = rng.standard_normal((T, 500))
    off = np.linalg.lstsq(X, noise, rcond=None)[0]  # θ_T − θ*, for each run
    sums, squares = np.sum(noise * (X @ off), axis=0), np.sum((X @ off) ** 2, axis=0)
    np.testing.assert_allclose(sums, squares, rtol=1e-9)
    printed = as_printed.hindsight_noise_sum(squares, sigma=1.0, delta=delta, mixing=1.0)
    rate = float(np.mean(np.abs(sums) > printed))
    assert rate == 1.0
    exact = bounds.truth_identity(X, noise[:, 0], np.zeros(d))[-1]
    np.testing.assert_allclose(exact, squares[0], rtol=1e-9)
    bound = bounds.truth_regret_to_best(
        T,
        d=d,
        lam=1.0,
        feature_bound=float(np.sqrt((X**2).sum(1)).max()),
        sigma=1.0,
        delta=delta,
        smallest_eigenvalue=bounds.smallest_eigenvalues(X)[-1],
    )
    right = float(np.mean(squares > bound))
    assert right <= most(delta, 500)
    return {
        "share of runs that exceed the printed bound": rate,
        "mean of the sum": float(np.mean(sums)),
        "mean of the printed bound": float(np.mean(printed)),
        "share of runs that exceed the bound on R − R̄": right,
    }


@erratum(11)
def where_the_sum_starts() -> Numbers:
    """One row 1, λ = 0.01, T0 = T = 1: the printed sum has the row that T0 has already counted."""
    lam = 0.01
    h = 1.0 / (lam + 1.0)
    bound = bounds.leverage_after_sum(1, d=1, lam=lam + 1.0, feature_bound=1.0)
    assert 0.0 <= bound < h
    return {"sum from T0": h, "bound": bound, "sum from T0 + 1": 0.0}


@erratum(12)
def scale_of_kappa_d() -> Numbers:
    scales = (1.0, 0.01)
    values = {scale: as_printed.least_squares_width(scale, d=1, sigma=1.0, delta=0.1) for scale in scales}
    assert values[1.0] > 0
    assert math.isnan(values[0.01])
    # κ_d is 0 in between: log(0).
    assert as_printed.least_squares_width(0.1, d=1, sigma=1.0, delta=0.1) == -math.inf
    # The same ten rows in other units: what is bounded does not change, nor does the bound, if λ comes along.
    right = {
        scale: bounds.truth_regret_to_best(
            10, d=1, lam=scale, feature_bound=math.sqrt(scale / 10), sigma=1.0, delta=0.1, smallest_eigenvalue=scale
        )
        for scale in scales
    }
    assert max(right.values()) - min(right.values()) < 1e-12
    return {
        "printed, λ_max = 1": values[1.0],
        "printed, λ_max = 0.1": -math.inf,
        "printed, λ_max = 0.01": values[0.01],
        "right, at every scale": right[1.0],
    }


@erratum(20)
def inputs() -> Numbers:
    refused = 0
    good = {"lam": 1.0, "delta": 0.1, "sigma": 1.0, "theta_bound": 1.0}
    for name, value in (("lam", 0.0), ("delta", 1.0), ("sigma", 0.0), ("theta_bound", -1.0)):
        with pytest.raises(ValueError, match=name):
            bounds.forward_regret_to_truth(10, d=1, feature_bound=1.0, **{**good, name: value})
        refused += 1
    return {"inputs refused of the four that are out of range": float(refused)}


@erratum(21)
def lost_dimension() -> Numbers:
    """d = 10, T = 10⁶; then basis rows in turn, for which the mean of the regret is known exactly."""
    d, T = 10, 10**6
    sums, width = d * math.log(T), d * math.log(math.log(T))
    printed = d * math.log(T) * math.log(math.log(T))
    assert printed < sums * width / 5.0
    n, coordinates = 5000, 5
    X = np.eye(coordinates)[np.arange(n) % coordinates]
    exact = bounds.forward_expected_regret_to_truth(X, np.zeros(coordinates), lam=1e-6, sigma=1.0)
    order = coordinates * math.log(n)
    slope = float(exact[-1] - exact[n // 10 - 1]) / (coordinates * math.log(10.0))
    assert abs(slope - 1.0) < 0.01  # dσ² log T it is, in the mean
    return {
        "printed, dσ² log T log log T": printed,
        "the product of the two factors": sums * width,
        "mean of forward's regret, exactly": float(exact[-1]),
        "dσ² log T there": order,
    }
