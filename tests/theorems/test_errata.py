"""docs/errata.md, computed: each printed form fails where the page says so, the right one does not.

Each function below works an erratum through and returns the numbers that its section of the page shows, by label. The
page is compared with them, so it cannot drift.
"""

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onward import bounds
from onward.bounds import as_printed
from onward.core import Information
from onward.core.trace import Trace
from tests.theorems.games import Runs, failing, most
from tests.theorems.sequences import balanced
from tests.theorems.test_stochastic import HardCase

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
Numbers = dict[str, float]
ERRATA: dict[int, Callable[[], Numbers]] = {}


def erratum(number: int) -> Callable[[Callable[[], Numbers]], Callable[[], Numbers]]:
    def keep(worked: Callable[[], Numbers]) -> Callable[[], Numbers]:
        ERRATA[number] = worked
        return worked

    return keep


@erratum(1)
def index_of_the_third_algorithm() -> Numbers:
    """After 100 pulls of e_1 and one of e_2, the arm that is hardly known must get the wider noise term."""
    lam, sigma, delta = 1.0, 1.0, 0.01
    state = Information(2, 1, lam)
    X = np.eye(2)[[0] * 100 + [1]]
    state.absorb(X, np.zeros((101, 1)), np.ones(101))
    _, q = state.read(np.eye(2))
    printed = sigma * math.sqrt(2 * math.log(1 / delta) + bounds.information_gain(102, d=2, lam=lam, feature_bound=1.0))
    right = np.sqrt(q / (1 + q)) * printed
    assert right[1] > 5 * right[0]
    return {
        "printed, e_1": printed,
        "printed, e_2": printed,
        "right, e_1": float(right[0]),
        "right, e_2": float(right[1]),
    }


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
    """The setting of Figure 1, with ‖θ*‖ = 5."""
    rng = np.random.default_rng(6)
    X, theta, sigma, delta = rng.uniform(0.0, 1.0, (200, 5)), rng.standard_normal(5), 0.1, 0.1
    theta *= 5.0 / np.sqrt(theta @ theta)
    runs = Runs(X, theta, 1.0, sigma * rng.standard_normal((200, 1000)))
    trace, T, size = Trace.of(X, runs.y[:, 0].copy(), 1.0), np.arange(1, 201), math.sqrt(5.0)
    numbers: Numbers = {}
    for who, term, bound in (
        ("ridge", as_printed.ridge_leading_term, bounds.ridge_regret_to_truth_along),
        ("forward", as_printed.forward_leading_term, bounds.forward_regret_to_truth_along),
    ):
        printed = term(T, d=5, lam=1.0, feature_bound=size, sigma=sigma, delta=delta)
        right = bound(trace, theta_bound=5.0, sigma=sigma, delta=delta)
        rates = failing(runs.regret(who), printed[:, None]), failing(runs.regret(who), right[:, None])
        assert rates[1] <= most(delta, 1000) < 0.5 < rates[0]
        numbers |= {f"{who}, leading term, share of runs that exceed it": rates[0], f"{who}, bound": rates[1]}
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
    T = 1000
    X, y, lam = balanced(T, 1, 1.0 / T)
    trace = Trace.of(X, y, lam)
    reached = float(np.sum((trace.forward - y) ** 2)) - T  # hindsight has nothing better than θ = 0
    bound = bounds.forward_regret_to_best(
        T, d=1, lam=lam, feature_bound=1.0, target_bound=1.0, smallest_eigenvalue=float(T)
    )
    assert 2.0 < reached <= bound
    return {
        "regret of one round": regret,
        "with the next row": printed,
        "without": right,
        "regret at λ = 1/T, T = 1000": reached,
        "bound there": bound,
        "printed first order, 2dY²": 2.0,
    }


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


@erratum(13)
def unregularized() -> Numbers:
    T, sigma, delta = 100, 1.0, 0.1
    X = np.ones((T, 1))
    noise = sigma * np.random.default_rng(13).standard_normal((T, 1000))
    p, q = Information(1, 1000, 0.0).absorb(X, noise.copy(), np.ones(T))
    guess = np.where(np.isinf(q)[:, None], 0.0, p / (1 + np.where(np.isinf(q), 0.0, q))[:, None])
    regret = np.cumsum((guess - noise) ** 2 - noise**2, axis=0)
    printed = as_printed.unregularized_forward_regret_to_truth(X, sigma=sigma, delta=delta)
    structure = as_printed.unregularized_forward_structure(X)
    assert structure.full_rank_at == 1
    assert structure.rising.tolist() == [True] + [False] * (T - 1)
    np.testing.assert_allclose(structure.log_ratio, -np.log(np.arange(1, T + 1)))
    assert structure.start_cost == 0.0
    rate = failing(regret[-1:], printed[-1:, None])
    assert rate == 1.0
    # What does hold: Gaillard et al.'s, for the targets that came.
    against = [
        bool((regret[:, i] <= bounds.unregularized_forward_regret_to_best_along(X, noise[:, i])).all())
        for i in range(50)
    ]
    assert all(against)
    return {
        "printed bound": float(printed[-1]),
        "least regret of 1,000 runs": float(regret[-1].min()),
        "share of runs that exceed it": rate,
        "log-ratio as printed": float(structure.log_ratio[-1]),
    }


@erratum(14)
def logarithm_of_oful() -> Numbers:
    """One arm of norm 0.1 pays 0.1, another pays 0; λ = 0.01. The first 198 rounds have a printed bound of 0."""
    T, lam, X = 198, 0.01, 0.1
    printed = as_printed.oful_forward_regret(T, d=2, lam=lam, feature_bound=X, theta_bound=1.0, sigma=1.0, delta=0.1)
    again = as_printed.oful_regret(T, d=2, lam=lam, feature_bound=X, theta_bound=1.0, sigma=1.0, delta=0.1)
    kappa = as_printed.oful_regret_with_kappa(T, d=2, lam=lam, feature_bound=X, theta_bound=1.0, sigma=1.0, delta=0.1)
    early = as_printed.oful_regret(100, d=2, lam=lam, feature_bound=X, theta_bound=1.0, sigma=1.0, delta=0.1)
    right = bounds.oful_forward_regret(T, d=2, lam=lam, feature_bound=X, theta_bound=1.0, sigma=1.0, delta=0.1)
    assert max(printed, again, kappa) < 1e-4
    assert math.isnan(early)
    _, _, regret = two_arms(np.array([[0.1, 0.0], [0.0, 0.1]]), np.array([0.0, 1.0]), lam, 1.0, 0.1, T, 14, bias=True)
    assert max(printed, again, kappa) < regret <= right
    return {
        "printed at T = 198, below": 1e-4,
        "regret of OFUL^f in a game": regret,
        "right": right,
        "printed at T = 100": early,
    }


def two_arms(
    arms: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    theta: np.ndarray[tuple[int], np.dtype[np.float64]],
    lam: float,
    sigma: float,
    delta: float,
    T: int,
    seed: int,
    *,
    bias: bool,
) -> tuple[int, int, float]:
    """OFUL^f on two fixed arms along the axes: how often each was pulled, and the regret."""
    rng = np.random.default_rng(seed)
    size, means = np.abs(arms).max(1), arms @ theta
    S, noise = float(np.linalg.norm(theta)), sigma * rng.standard_normal(T)
    G, b, pulls = [lam, lam], [0.0, 0.0], [0, 0]
    log_inverse = 2 * math.log(1 / delta)
    for t in range(T):
        gain = math.log(G[0] / lam) + math.log(G[1] / lam)
        width = sigma * math.sqrt(log_inverse + gain)
        index = []
        for k in (0, 1):
            x = float(size[k])
            q = x * x / G[k]
            term = width + (math.sqrt(lam + x * x) * S if bias else 0.0)
            index.append(x * b[k] / G[k] / (1 + q) + math.sqrt(q / (1 + q)) * term)
        k = 0 if index[0] >= index[1] else 1
        x = float(size[k])
        G[k] += x * x
        b[k] += x * (float(means[k]) + float(noise[t]))
        pulls[k] += 1
    regret = float(pulls @ (means.max() - means))
    return pulls[0], pulls[1], regret


@erratum(15)
def appendix_f() -> Numbers:
    """No rows yet, λ = 1, X = 1, S = 10: ‖0 − θ*‖ in the norm of λI + xxᵀ is 10√2."""
    lam, X, S = 1.0, 1.0, 10.0
    off = math.sqrt(lam + X**2) * S
    printed, right = math.sqrt(lam) * (S + X), (math.sqrt(lam) + X) * S
    assert printed < off <= right
    # Rows that double the information each time, so h = 1/2: with X for X² the logarithm is too small.
    rows = np.sqrt(np.exp2(np.arange(30.0)))[:, None]
    trace = Trace.of(rows, np.ones(30), 1.0)
    largest = float(trace.norms.max())
    total = float(np.sum(trace.h))
    linear = math.log(1 + 30 * largest)
    square = bounds.leverage_after_sum(30, d=1, lam=1.0, feature_bound=largest)
    assert linear < total <= square
    return {
        "distance of θ_0(x) from θ*": off,
        "printed bias": printed,
        "right bias": right,
        "Σh": total,
        "with nL, L = X": linear,
        "with nX²": square,
    }


@erratum(16)
def kappa_of_oful() -> Numbers:
    lam, X = 1e-4, 1.0
    with_kappa = bounds.oful_regret_with_kappa(
        10_000, d=2, lam=lam, feature_bound=X, theta_bound=1.0, sigma=0.1, delta=0.1
    )
    without = bounds.oful_regret(10_000, d=2, lam=lam, feature_bound=X, theta_bound=1.0, sigma=0.1, delta=0.1)
    assert without < with_kappa / 10
    trace = Trace.of(np.array([[math.sqrt(lam)], [X]]), np.array([1.0, 0.0]), lam)
    ridge, forward = float(trace.p[1] ** 2), float(trace.forward[1] ** 2)
    assert ridge > 1e6 * forward
    return {
        "OFUL, with κ": with_kappa,
        "OFUL, without": without,
        "squared error of ridge at x_2": ridge,
        "squared error of forward at x_2": forward,
    }


@erratum(17)
def dropped_bias() -> Numbers:
    """Arms e_1, which pays 0.5, and 0.99 e_2, which pays 0.99; σ = 0.01."""
    arms, theta, lam, sigma, delta, T = np.diag([1.0, 0.99]), np.array([0.5, 1.0]), 1.0, 0.01, 0.01, 10_000
    bound = bounds.oful_forward_regret(
        T, d=2, lam=lam, feature_bound=1.0, theta_bound=float(np.linalg.norm(theta)), sigma=sigma, delta=delta
    )
    _, never, without = two_arms(arms, theta, lam, sigma, delta, T, 17, bias=False)
    _, _, kept = two_arms(arms, theta, lam, sigma, delta, T, 17, bias=True)
    assert never == 0
    assert kept <= bound < without
    return {"regret without the bias term": without, "regret with it": kept, "bound": bound}


@erratum(18)
def half_of_lambda() -> Numbers:
    """x = y = λ = 1, once: V = 2, b = 1."""
    printed, right = 1.0 / (1.0 + 0.5), 1.0 / (1.0 + 1.0)
    state = Information(1, 1, 1.0)
    state.absorb(np.ones((1, 1)), np.ones((1, 1)), np.ones(1))
    np.testing.assert_allclose(state.coefficients()[0, 0], right)
    assert printed != right
    return {"θ that minimises the printed objective": printed, "V⁻¹b": right}


@erratum(19)
def drift() -> Numbers:
    """One row (1, 0.1) before a drift of θ*, 10,000 rows (1, 0) after it, λ = 1e-4."""
    before, after = np.array([1.0, 0.1]), np.array([1.0, 0.0])
    M = np.outer(before, before)
    V = M + 10_000 * np.outer(after, after) + 1e-4 * np.eye(2)
    factor = float(np.linalg.norm(np.linalg.solve(V, M), 2))
    assert factor > 5.0
    # The bounds are still there to look at.
    for bound in (as_printed.dlinucb_regret, as_printed.dlinucb_forward_regret):
        value = bound(
            1000,
            d=2,
            lam=1.0,
            feature_bound=1.0,
            theta_bound=1.0,
            sigma=1.0,
            delta=0.1,
            gamma=0.99,
            drift=1.0,
            memory=100,
        )
        assert value > 0
    return {"the step takes this to be at most 1": factor}


@erratum(20)
def inputs() -> Numbers:
    refused = 0
    good = {"lam": 1.0, "delta": 0.1, "sigma": 1.0, "theta_bound": 1.0}
    for name, value in (("lam", 0.0), ("delta", 1.0), ("sigma", 0.0), ("theta_bound", -1.0)):
        with pytest.raises(ValueError, match=name):
            bounds.forward_regret_to_truth(10, d=1, feature_bound=1.0, **{**good, name: value})
        refused += 1
    return {"inputs refused of the four that are out of range": float(refused)}


def sections() -> dict[int, str]:
    parts = re.split(r"^## (\d+)\. ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def shown(text: str) -> dict[str, str]:
    """label → number, of the tables of a section."""
    cells = re.findall(r"^\| (.+?) \| `(.+?)` \|$", text, flags=re.MULTILINE)
    return dict(cells)


def written(value: float) -> str:
    """As the page writes numbers: four digits that count."""
    return f"{value:.4g}"


@pytest.mark.parametrize("number", range(1, 21))
def test_erratum(number: int) -> None:
    computed = {label: written(value) for label, value in ERRATA[number]().items()}
    assert shown(sections()[number]) == computed


def test_page_has_every_erratum() -> None:
    assert sorted(sections()) == list(range(1, 21)) == sorted(ERRATA)
    for text in sections().values():
        assert "**Printed:**" in text
        assert "**Right:**" in text
        assert "**Why:**" in text
