"""Families of simulated streams on which defaults are chosen, so that real data stay for testing them.

    from benchmarks.streams import FAMILIES
    X, y = FAMILIES["jumps"](seed)          # the same rows everywhere

Each family is written down with its ranges before any learner is tried on it; a seed draws the number of rows (200 to
2,000), of features (1 to 30, most often few), the noise and everything else. X has no constant column. Seed i of a
family draws from `SeedSequence(i, spawn_key=(crc32(name),))`, so another family more changes none of the others.
`benchmarks/stream_scores.py` scores learners on them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
Stream = tuple[Matrix, Vector]

ROWS = 200, 2000
MOST_FEATURES = 30
NOISE = 0.1, 3.0  # deviations of the noise beside the signal's, where a family has no range of its own


@dataclass(frozen=True)
class Family:
    """Streams of one kind, by seed."""

    name: str
    about: str
    draw: Callable[[Generator], Stream]

    def __call__(self, seed: int) -> Stream:
        """Rows and targets of a seed."""
        X, y = self.draw(default_rng(SeedSequence(seed, spawn_key=(crc32(self.name.encode()),))))
        return np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(y, dtype=np.float64)


# What several families draw


def log_uniform(rng: Generator, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def shape(rng: Generator, fewest: int = 1, most: int = MOST_FEATURES) -> tuple[int, int]:
    """Rows and features: few features are likelier than many."""
    return round(log_uniform(rng, *ROWS)), round(log_uniform(rng, fewest, most))


def gaussian(rng: Generator) -> Matrix:
    return rng.standard_normal(shape(rng))


def with_noise(rng: Generator, signal: Vector, low: float = NOISE[0], high: float = NOISE[1]) -> Vector:
    """The signal, a constant, and Gaussian noise of a share of the signal's spread between the two."""
    spread = float(np.std(signal)) or 1.0
    return signal + spread * (rng.standard_normal() + log_uniform(rng, low, high) * rng.standard_normal(len(signal)))


def dense(rng: Generator, X: Matrix) -> Vector:
    return X @ rng.standard_normal(X.shape[1])


# The relation stays as it is


def _plain(rng: Generator) -> Stream:
    X = gaussian(rng)
    return X, with_noise(rng, dense(rng, X))


def _little_noise(rng: Generator) -> Stream:
    X = gaussian(rng)
    return X, with_noise(rng, dense(rng, X), 1e-4, 0.03)


def _much_noise(rng: Generator) -> Stream:
    X = gaussian(rng)
    return X, with_noise(rng, dense(rng, X), 3.0, 30.0)


def _correlated(rng: Generator) -> Stream:
    n, d = shape(rng, fewest=2)
    factors = rng.standard_normal((n, 1 + d // 5)) @ rng.standard_normal((1 + d // 5, d))
    X = factors + log_uniform(rng, 0.003, 0.3) * rng.standard_normal((n, d))
    return X, with_noise(rng, dense(rng, X))


def _units(rng: Generator) -> Stream:
    X = gaussian(rng)
    y = log_uniform(rng, 1e-3, 1e4) * with_noise(rng, dense(rng, X))
    d = X.shape[1]
    return (X + rng.uniform(-5, 5, d)) * 10.0 ** rng.uniform(-4, 4, d), y


def _levels(rng: Generator) -> Stream:
    """One to three categories, some levels rare, beside numbers. A column for each level that ever comes."""
    n, d = shape(rng, most=5)
    parts = [rng.standard_normal((n, d))]
    for _ in range(rng.integers(1, 4)):
        share = 1.0 / np.arange(1, rng.integers(3, 10)) ** rng.uniform(0.0, 2.0)
        drawn = rng.choice(len(share), n, p=share / share.sum())
        parts.append(np.eye(len(share))[:, np.unique(drawn)][drawn])
    X = np.hstack(parts)
    return X, with_noise(rng, dense(rng, X))


def _sparse(rng: Generator) -> Stream:
    n, d = shape(rng, fewest=5)
    X = rng.standard_normal((n, d))
    used = rng.choice(d, int(rng.integers(1, 4)), replace=False)
    return X, with_noise(rng, dense(rng, X[:, used]))


def _unrelated(rng: Generator) -> Stream:
    X = gaussian(rng)
    return X, rng.standard_normal(len(X)) + rng.normal(scale=3.0)


def _heavy_tails(rng: Generator) -> Stream:
    n, d = shape(rng)
    X = rng.standard_t(rng.uniform(3.0, 6.0), (n, d))
    signal = dense(rng, X)
    noise = rng.standard_t(rng.uniform(2.1, 4.0), n)
    return X, signal + np.std(signal) * (rng.standard_normal() + log_uniform(rng, *NOISE) * noise)


def _far_targets(rng: Generator) -> Stream:
    X = gaussian(rng)
    y = with_noise(rng, dense(rng, X))
    return X, y + rng.choice([-1.0, 1.0]) * log_uniform(rng, 10, 1e4) * np.std(y)


def _growing_variance(rng: Generator) -> Stream:
    """The noise grows up to fifty times; in half of the streams the signal grows with it."""
    X = gaussian(rng)
    growth = np.exp(rng.uniform(1.0, 4.0) * np.linspace(-1.0, 0.0, len(X)))
    y = with_noise(rng, dense(rng, X))
    signal = y if rng.random() < 0.5 else growth * y
    return X, signal + growth * np.std(y) * log_uniform(rng, *NOISE) * rng.standard_normal(len(X))


def _counts(rng: Generator) -> Stream:
    """Counts, most of them small, from the logarithm of their mean: not linear, and skewed."""
    n, d = shape(rng, most=15)
    X = rng.standard_normal((n, d))
    size = dense(rng, X) * rng.uniform(0.3, 1.2) / math.sqrt(d)
    mean = np.minimum(np.exp(size + rng.uniform(-1.0, 2.0)), 1e3)
    return X, (rng.random(n) < rng.uniform(0.5, 1.0)) * rng.poisson(mean * rng.gamma(1.0, 1.0, n)).astype(float)


def _curved(rng: Generator) -> Stream:
    """A relation that is not linear: a wave, a square or a step of one direction, beside a linear part."""
    n, d = shape(rng)
    X = rng.uniform(-1.0, 1.0, (n, d)) + rng.uniform(-1.0, 1.0, d)
    along = dense(rng, X)
    bent = [np.sin(3 * along), along**2, np.sign(along - np.median(along))][int(rng.integers(3))]
    return X, with_noise(rng, bent / np.std(bent) + rng.uniform(0.0, 2.0) * along / np.std(along))


# The relation changes


def moving(rng: Generator, X: Matrix, theta: Matrix, level: Vector) -> Stream:
    """Targets of coefficients that have a value for each row."""
    return X, with_noise(rng, np.einsum("ij,ij->i", X, theta) + level, 0.03, 1.0)


def _jumps(rng: Generator) -> Stream:
    """One to five sudden changes at random rows, of some of the coefficients and of the constant."""
    X = gaussian(rng)
    n, d = X.shape
    theta = np.tile(rng.standard_normal(d + 1), (n, 1))
    for row in np.sort(rng.integers(n // 20, n, rng.integers(1, 6))):
        changed = rng.random(d + 1) < rng.uniform(0.2, 1.0)
        theta[row:, changed] = rng.standard_normal(int(changed.sum()))
    return moving(rng, X, theta[:, :d], theta[:, d])


def _drift(rng: Generator) -> Stream:
    """Coefficients walk at random, as far as a third to ten times their size over the stream."""
    X = gaussian(rng)
    n, d = X.shape
    steps = rng.standard_normal((n, d + 1)) * log_uniform(rng, 0.3, 10.0) / math.sqrt(n)
    theta = rng.standard_normal(d + 1) + np.cumsum(steps, axis=0)
    return moving(rng, X, theta[:, :d], theta[:, d])


def _seasonal(rng: Generator) -> Stream:
    """Coefficients go round with a period that no feature tells."""
    X = gaussian(rng)
    n, d = X.shape
    wave = np.arange(n)[:, None] * 2 * math.pi / log_uniform(rng, 20, n) + rng.uniform(0, 2 * math.pi, d + 1)
    theta = rng.standard_normal(d + 1) + rng.standard_normal(d + 1) * np.sin(wave) * log_uniform(rng, 0.1, 3.0)
    return moving(rng, X, theta[:, :d], theta[:, d])


def _clock(rng: Generator) -> Stream:
    """A column counts days from a far origin, and the target's trend over it bends one to six times."""
    n, d = shape(rng, most=MOST_FEATURES - 1)
    X = rng.standard_normal((n, d))
    bends = np.sort(rng.integers(0, n, rng.integers(1, 7)))
    slope = np.repeat(rng.standard_normal(len(bends) + 1), np.diff([0, *bends, n]))
    trend = np.cumsum(slope) * log_uniform(rng, 0.3, 10.0) / n
    days = log_uniform(rng, 1e2, 1e6) + np.arange(n)
    return np.column_stack([days, X]), with_noise(rng, dense(rng, X) / math.sqrt(d) + trend, 0.03, 1.0)


def _panel(rng: Generator) -> Stream:
    """The rows of a subject stand together; each has its own level, and features of which some stay the same."""
    X = gaussian(rng)
    n, d = X.shape
    subject = np.repeat(np.arange(n), rng.integers(1, 20, n))[:n]
    still = rng.random(d) < 0.5
    X[:, still] = rng.standard_normal((n, d))[subject][:, still]
    level = rng.uniform(0.2, 2.0) * rng.standard_normal((n,))[subject]
    return X, with_noise(rng, dense(rng, X) / math.sqrt(d) + level, 0.1, 1.0)


def _sorted(rng: Generator) -> Stream:
    """Rows that were sorted, wholly or nearly, by a feature or by the target."""
    X = gaussian(rng)
    y = with_noise(rng, dense(rng, X))
    by = y if rng.random() < 0.5 else X[:, 0]
    order = np.argsort(by / np.std(by) + rng.choice([0.0, 0.3, 1.0]) * rng.standard_normal(len(y)))
    return X[order], y[order]


# Series, from their own past


def lagged(series: Vector, lags: list[int]) -> Stream:
    """Earlier values as features; rows before the longest lag are left out."""
    longest = max(lags)
    return np.column_stack([series[longest - lag : len(series) - lag] for lag in lags]), series[longest:]


def _lags(rng: Generator, period: int) -> list[int]:
    return sorted({*range(1, int(rng.integers(2, 6))), period})


def _unit_root(rng: Generator) -> Stream:
    """A series that wanders, with a trend and a season; every other one grows by shares, not by amounts."""
    n, period = round(log_uniform(rng, *ROWS)), int(rng.integers(4, 53))
    change, carried = rng.standard_normal(n + period), rng.uniform(-0.5, 0.8)
    for row in range(1, len(change)):
        change[row] += carried * change[row - 1]
    season = rng.uniform(0.0, 5.0) * np.sin(2 * math.pi * np.arange(n + period) / period)
    series = np.cumsum(change + rng.uniform(-0.2, 0.2)) + season
    if rng.random() < 0.5:
        series = np.exp(log_uniform(rng, 0.3, 2.0) * (series - series.mean()) / series.std())
    return lagged(log_uniform(rng, 0.1, 100) * series + rng.uniform(-50, 50), _lags(rng, period))


def _series(rng: Generator) -> Stream:
    """A series that returns to its mean, with a season."""
    n, period = round(log_uniform(rng, *ROWS)), int(rng.integers(4, 53))
    modulus, angle = rng.uniform(0.5, 0.99), rng.uniform(0.0, math.pi)
    a, b = 2 * modulus * math.cos(angle), -(modulus**2)
    noise = rng.standard_normal(n + period + 100)
    series = np.zeros(len(noise))
    for row in range(2, len(noise)):
        series[row] = a * series[row - 1] + b * series[row - 2] + noise[row]
    season = rng.uniform(0.0, 3.0) * np.sin(2 * math.pi * np.arange(n + period) / period)
    whole = series[100:] / series.std() + season + rng.uniform(-20, 20)
    return lagged(log_uniform(rng, 0.1, 100) * whole, _lags(rng, period))


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("plain", "Gaussian features, all of which count.", _plain),
        Family("little-noise", "Noise of at most 3% of the signal.", _little_noise),
        Family("much-noise", "Noise of 3 to 30 times the signal.", _much_noise),
        Family("correlated", "A few factors make all features.", _correlated),
        Family("units", "Columns and targets in units from 10⁻⁴ to 10⁴, shifted.", _units),
        Family("levels", "Categories with rare levels beside numbers.", _levels),
        Family("sparse", "One to three of up to 30 features count.", _sparse),
        Family("unrelated", "No feature counts.", _unrelated),
        Family("heavy-tails", "Student's t in features and noise.", _heavy_tails),
        Family("far-targets", "Targets 10 to 10⁴ deviations from 0.", _far_targets),
        Family("growing-variance", "The noise grows by the row.", _growing_variance),
        Family("counts", "Counts, skewed, many of them 0.", _counts),
        Family("curved", "The relation is not linear.", _curved),
        Family("jumps", "Coefficients jump one to five times.", _jumps),
        Family("drift", "Coefficients walk at random.", _drift),
        Family("seasonal", "Coefficients go round with an unknown period.", _seasonal),
        Family("clock", "A column counts days; the trend over it bends.", _clock),
        Family("panel", "Rows of a subject stand together.", _panel),
        Family("sorted", "Rows sorted by a feature or by the target.", _sorted),
        Family("unit-root", "A series that wanders, from its lags.", _unit_root),
        Family("series", "A series that returns to its mean, from its lags.", _series),
    )
}
