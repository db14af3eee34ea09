"""How often the change alarm is false, how soon it comes, and what it costs: the figures of docs/guarantees.md.

    python tools/change_alarm.py                    all tables: some minutes
    python tools/change_alarm.py --repeats 100      sooner, with coarser shares
    python tools/change_alarm.py --only false       one of: false, delays, costs

Repeat i of a world draws from `SeedSequence(0, spawn_key=(i,))`, whatever else is run.
"""

import argparse
import time
from collections.abc import Callable, Hashable
from functools import partial

import numpy as np
from scipy.signal import lfilter

from onward import RidgeRegressor
from onward.confidence import ChangeAlarm
from onward.confidence.binomial import binomial_interval
from onward.core.types import Matrix, Vector

ROWS, FEATURES, DELTA = 20_000, 7, 0.05
Rows = tuple[Matrix, Vector]
World = Callable[[np.random.Generator], Rows]


def _linear(noise: Callable[[np.random.Generator, Matrix], Vector], d: int = FEATURES) -> World:
    """Standard normal features, a linear relation, and this noise, which may look at the features."""

    def make(rng: np.random.Generator) -> Rows:
        X = rng.standard_normal((ROWS, d))
        return X, X @ rng.standard_normal(d) + noise(rng, X)

    return make


def _normal(rng: np.random.Generator, X: Matrix) -> Vector:
    return rng.standard_normal(len(X))


def _correlated(share: float) -> Callable[[np.random.Generator, Matrix], Vector]:
    return lambda rng, X: lfilter([1.0], [1.0, -share], _normal(rng, X))


def _volatile(rng: np.random.Generator, X: Matrix) -> Vector:
    """GARCH(1, 1): calm and wild times."""
    shocks, variance = _normal(rng, X), 1.0
    for t, shock in enumerate(shocks):
        shocks[t] = shock * np.sqrt(variance)
        variance = 0.05 + 0.1 * shocks[t] ** 2 + 0.85 * variance
    return shocks


def _outliers(rng: np.random.Generator, X: Matrix) -> Vector:
    return np.where(rng.random(len(X)) < 0.01, 20.0, 1.0) * _normal(rng, X)


def _louder(rng: np.random.Generator, X: Matrix) -> Vector:
    return np.where(np.arange(len(X)) < len(X) // 2, 1.0, 3.0) * _normal(rng, X)


def _yes_or_no(constant: float) -> World:
    def make(rng: np.random.Generator) -> Rows:
        X = rng.standard_normal((ROWS, FEATURES))
        log_odds = 0.5 * X @ rng.standard_normal(FEATURES) + constant
        return X, (rng.random(ROWS) < 1 / (1 + np.exp(-log_odds))).astype(np.float64)

    return make


def _counts(rng: np.random.Generator) -> Rows:
    X = rng.standard_normal((ROWS, FEATURES))
    return X, rng.poisson(np.exp(np.clip(0.3 * X @ rng.standard_normal(FEATURES) - 1, -5, 3))).astype(np.float64)


def _curved(rng: np.random.Generator) -> Rows:
    X = rng.standard_normal((ROWS, FEATURES))
    return X, X @ rng.standard_normal(FEATURES) + X[:, 0] ** 2 + X[:, 1] * X[:, 2] + rng.standard_normal(ROWS)


def _long_tails(rng: np.random.Generator) -> Rows:
    X = rng.standard_t(3, (ROWS, FEATURES))
    return X, X @ rng.standard_normal(FEATURES) + (1 + abs(X[:, 0])) * rng.standard_normal(ROWS)


def _lags(*coefficients: float) -> World:
    def make(rng: np.random.Generator) -> Rows:
        y = lfilter([1.0], [1.0, *(-c for c in coefficients)], rng.standard_normal(ROWS + 1003))[1000:]
        return np.column_stack([y[2:-1], y[1:-2], y[:-3]]), y[3:]

    return make


def _walk(rng: np.random.Generator) -> Rows:
    y = np.cumsum(rng.standard_normal(ROWS + 1))
    return y[:-1, None], y[1:]


def _levels(rng: np.random.Generator) -> Rows:
    level = np.minimum(rng.zipf(1.6, ROWS) - 1, 29)
    return np.eye(30)[level], 0.3 * level + rng.standard_normal(ROWS)


WORLDS: dict[str, World] = {
    "normal noise (proven)": _linear(_normal),
    "one feature": _linear(_normal, 1),
    "40 features": _linear(_normal, 40),
    "30 levels beside the constant, some of them rare": _levels,
    "Laplace": _linear(lambda rng, X: rng.laplace(size=len(X))),
    "t with 5 degrees of freedom": _linear(lambda rng, X: rng.standard_t(5, len(X))),
    "Cauchy": _linear(lambda rng, X: rng.standard_cauchy(len(X))),
    "1% outliers, 20 times as large": _linear(_outliers),
    "deviation proportional to 1 + abs(x)": _linear(lambda rng, X: (1 + abs(X[:, 0])) * _normal(rng, X)),
    "the same, features with t of 3 degrees of freedom": _long_tails,
    "three times as large from row 10,000 on": _linear(_louder),
    "calm and wild times (GARCH)": _linear(_volatile),
    "skewed (exponential)": _linear(lambda rng, X: rng.exponential(size=len(X))),
    "more so (log-normal)": _linear(lambda rng, X: rng.lognormal(size=len(X))),
    "0/1 targets, logistic": _yes_or_no(0.0),
    "0/1 targets, 1% ones": _yes_or_no(-4.5),
    "counts (Poisson)": _counts,
    "a relation with squares and products": _curved,
    "correlated from row to row, 0.3": _linear(_correlated(0.3)),
    "correlated from row to row, 0.7": _linear(_correlated(0.7)),
    "a time series on three lags": _lags(0.5, 0.2, 0.1),
    "a time series that hardly returns to its mean": _lags(1.2, -0.1, -0.11),
    "a random walk on its lag": _walk,
}


def false_alarms(repeats: int) -> None:
    """Shares of runs in which nothing changes, with an alarm."""
    print(f"False alarms at δ = {DELTA:g} over {ROWS:,} rows, {repeats:,} runs each\n")
    print("| world | runs with an alarm | 95% interval |\n|---|--:|---|")
    for name, make in WORLDS.items():
        alarms = 0
        for repeat in range(repeats):
            X, y = make(_generator(repeat))
            alarms += bool(ChangeAlarm(DELTA).learn(X, y))
        low, high = (float(end) for end in binomial_interval(np.array(float(alarms)), repeats, 0.95))
        print(f"| {name} | {alarms / repeats:.1%} | {low:.1%} to {high:.1%} |", flush=True)


def delays(repeats: int) -> None:
    """How many rows after a jump the alarm comes, and how far off the row is that it names."""
    print(f"\nAlarms after a jump of coefficients at δ = {DELTA:g}, {repeats:,} runs each\n")
    head = ["jump, in deviations of the noise", "features", "at row", "rows until the alarm: median", "of 95% of runs"]
    print(f"| {' | '.join(head)} | within 200 rows | said to be so far off, in 90% of runs |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for jump, d, at in [
        ((1.0, 1.0, 1.0), 5, 5000),
        ((1.0, 1.0, 1.0), 10, 5000),
        ((1.0, 1.0, 1.0), 20, 5000),
        ((1.0, 1.0, 1.0), 10, 300),
        ((1.0,), 10, 5000),
        ((0.3,), 10, 5000),
        ((0.3,), 10, 50_000),
    ]:
        late, off = [], []
        for repeat in range(repeats):
            rng = _generator(repeat)
            X = rng.standard_normal((at + 3000, d))
            y = X @ rng.standard_normal(d) + rng.standard_normal(len(X))
            y[at:] += X[at:, : len(jump)] @ (np.array(jump) * rng.choice([-1.0, 1.0], len(jump)))
            found = [change for change in ChangeAlarm(DELTA).learn(X, y) if change.noticed > at]
            late.append(found[0].noticed - at if found else np.inf)
            off += [found[0].row - at - 1] if found else []
        size = f"{jump[0]:g} in {'three' if len(jump) == 3 else 'one'}"
        within = f"{np.mean(np.array(late) <= 200):.1%}"
        median, most = np.quantile(late, [0.5, 0.95], method="higher")
        low, high = np.quantile(off, [0.05, 0.95])
        print(
            f"| {size} | {d} | {at:,} | {median:.0f} | {most:.0f} | {within} | {low:+.0f} to {high:+.0f} |", flush=True
        )


def costs() -> None:
    """Nanoseconds of a row in batches, beside those of a learner."""
    print("\n| features | a row of the alarm | a row of ridge | times |\n|--:|--:|--:|--:|")
    for d in (1, 2, 5, 10, 20, 50, 100):
        rng = np.random.default_rng(0)
        n = 400_000 // (d + 10)
        X = rng.standard_normal((n, d))
        y, w = X.sum(axis=1) + rng.standard_normal(n), np.ones(n)
        names: list[Hashable] = [f"x{j}" for j in range(d)]
        ours = _least(partial(ChangeAlarm(1e-9).learn_until_change, X, y, w, np.arange(1.0, n + 1.0))) / n
        theirs = _least(partial(RidgeRegressor().learn_block, X, y, w, names)) / n
        print(f"| {d} | {1e9 * ours:.0f} ns | {1e9 * theirs:.0f} ns | {ours / theirs:.1f} |", flush=True)


def _least(run: Callable[[], object], times: int = 15) -> float:
    """Seconds of the quickest of several runs."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def _generator(repeat: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(0, spawn_key=(repeat,)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--only", choices=("false", "delays", "costs"))
    given = parser.parse_args()
    if given.only in (None, "false"):
        false_alarms(given.repeats)
    if given.only in (None, "delays"):
        delays(given.repeats)
    if given.only in (None, "costs"):
        costs()


if __name__ == "__main__":
    main()
