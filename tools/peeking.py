"""How often an A/A test is ever significant when it is looked at after every row: the table of docs/ab_tests.md.

    python tools/peeking.py            # 2,000 streams of 10,000 rows in each world: half a minute
    python tools/peeking.py 200 1000   # streams, rows

In each stream half of the rows (or as many as is said), at random, are treated, to no effect on the mean; a covariate
explains part of the target. After every row the effect is estimated by least squares on constant, treatment and
covariate. Streams run side by side, as sums; the formulas are those of `onward.confidence.anytime`, and a test compares
a stream with `model.contrast`.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from onward.confidence.anytime import BEST, LEAST_FREEDOM, log_e_values
from onward.confidence.binomial import binomial_interval
from onward.core.inference import TUNED_FOR
from onward.core.types import Vector

DELTA = 0.05
SEED = 16
FIRST_T_TEST = 20  # rows before which nobody would make a t test


class World(NamedTuple):
    """How targets come about."""

    targets: Callable[[np.random.Generator, Vector, Vector], Vector]  # of covariate and treatment
    treated: float = 0.5


def zero_one(share: float, treated: float = 0.5) -> World:
    """Targets that are 1 with a probability that the covariate moves a little."""
    return World(lambda rng, x, t: (rng.random(len(x)) < share * (1 + 0.3 * np.tanh(x))).astype(np.float64), treated)


def noisy(noise: Callable[[np.random.Generator, Vector, Vector], Vector], treated: float = 0.5) -> World:
    """Targets that are the covariate and noise."""
    return World(lambda rng, x, t: x + noise(rng, x, t), treated)


def three_times(rng: np.random.Generator, x: Vector, t: Vector) -> Vector:
    """Normal noise, three times as large among the treated."""
    return (1 + 2 * t) * rng.standard_normal(len(x))


WORLDS: dict[str, World] = {
    "normal noise (proven)": noisy(lambda rng, x, t: rng.standard_normal(len(x))),
    "the same, one in 20 treated": noisy(lambda rng, x, t: rng.standard_normal(len(x)), 0.05),
    "Laplace noise": noisy(lambda rng, x, t: rng.laplace(size=len(x))),
    "log-normal noise, as of amounts of money": noisy(lambda rng, x, t: rng.lognormal(size=len(x))),
    "noise that grows with the covariate": noisy(lambda rng, x, t: np.exp(0.5 * x) * rng.standard_normal(len(x))),
    "noise three times as large among the treated": noisy(three_times),
    "the same, one in 10 treated": noisy(three_times, 0.1),
    "0/1, half of them 1": zero_one(0.5),
    "0/1, one in 20": zero_one(0.05),
    "0/1, one in 100": zero_one(0.01),
    "log-normal noise, one in 20 treated": noisy(lambda rng, x, t: rng.lognormal(size=len(x)), 0.05),
    "0/1, one in 20, one in 10 treated": zero_one(0.05, 0.1),
    "0/1, one in 20, one in 50 treated": zero_one(0.05, 0.02),
}


class Look(NamedTuple):
    """What is known of the effect in all streams after some row."""

    estimate: Vector
    error: Vector  # the standard error
    robust: Vector  # the same, whatever the spread of the noise: no less than that
    information: Vector
    freedom: int


class Sums:
    """Least squares on constant, treatment t and covariate x in many streams at once, row by row."""

    def __init__(self, streams: int) -> None:
        self.rows = 0
        self.mean = np.zeros((3, streams))  # of t, x, y
        self.cross = np.zeros((3, 3, streams))  # sums of products about the means
        self.spread = np.zeros((3, 3, streams))  # Σ ê² of products of (1, t, x)

    def learn(self, t: Vector, x: Vector, y: Vector) -> None:
        """One row of each stream."""
        row = np.stack([t, x, y])
        apart = row - self.mean
        if self.rows:
            b_t, b_x = self._solve(lam=1.0)
            one, error = np.stack([np.ones_like(t), t, x]), apart[2] - b_t * apart[0] - b_x * apart[1]
            self.spread += error**2 * one[:, None] * one[None]
        self.rows += 1
        self.mean += apart / self.rows
        self.cross += apart[:, None] * (row - self.mean)[None]

    def _solve(self, lam: float = 0.0) -> Vector:
        """The coefficients of t and x, regularised by λ."""
        (tt, tx, ty), (_, xx, xy) = self.cross[0], self.cross[1]
        tt, xx = tt + lam, xx + lam
        with np.errstate(all="ignore"):
            return np.asarray(np.stack([xx * ty - tx * xy, tt * xy - tx * ty]) / (tt * xx - tx * tx))

    def look(self) -> Look:
        """The effect of the treatment."""
        (tt, tx, _), (_, xx, xy), (_, _, yy) = self.cross
        b_t, b_x = self._solve()
        with np.errstate(all="ignore"):
            z = tt - tx**2 / xx
            left = np.maximum(yy - b_x * xy - b_t * self.cross[0, 2], 0.0)
            slope = tx / xx
            u = np.stack([-(self.mean[0] - slope * self.mean[1]), np.ones_like(z), -slope]) / z  # A⁻¹v
            robust = np.sqrt(np.einsum("is,ijs,js->s", u, self.spread, u))
            plain = np.sqrt(left / (self.rows - 3) / z)
            return Look(b_t, plain, np.maximum(plain, robust), z, self.rows - 3)


def ever_significant(world: World, streams: int, rows: int, seed: int = SEED, scale: float = 1.0) -> dict[str, Vector]:
    """Whether each stream was ever significant, by each test; `scale` is that of the intervals, to see a test fail."""
    rng = np.random.default_rng(seed)
    sums, anchor = Sums(streams), np.full(streams, np.nan)
    ever = {name: np.zeros(streams, dtype=bool) for name in ("t test", "anytime", "robust")}
    level = np.log(1 / DELTA)
    for row in range(rows):
        covariate, treated = rng.standard_normal(streams), (rng.random(streams) < world.treated).astype(np.float64)
        sums.learn(treated, covariate, world.targets(rng, covariate, treated))
        if row < 3 + LEAST_FREEDOM - 1:
            continue
        look = sums.look()
        known = look.information > 1e-9
        new = known & np.isnan(anchor)
        anchor[new] = look.information[new] / (look.freedom + 1)
        with np.errstate(all="ignore"):
            rho = np.where(known, look.information / (anchor * TUNED_FOR / BEST), 0.0)
            for name, error in (("anytime", look.error), ("robust", look.robust)):
                log_e = log_e_values(look.estimate, scale * error, rho, look.freedom)
                ever[name] |= known & (error > 0) & (log_e >= level)
            if row + 1 >= FIRST_T_TEST:
                ratio = np.abs(look.estimate) / look.error
                ever["t test"] |= known & (look.error > 0) & (ratio > stdtrit(look.freedom, 1 - DELTA / 2))
    return ever


def main() -> None:
    """Print the table."""
    streams, rows = (int(each) for each in (sys.argv[1:] or ["2000", "10000"]))
    print(f"{streams:,} A/A streams of {rows:,} rows in each world, looked at after every row: ever significant\n")
    print("| targets | t test, δ = 0.05 | anytime | robust |\n|---|--:|--:|--:|")
    for name, world in WORLDS.items():
        cells = []
        for found in ever_significant(world, streams, rows).values():
            lower, upper = binomial_interval([int(found.sum())], streams, 0.95)
            cells.append(f"{found.mean():.1%} ({lower[0]:.1%} to {upper[0]:.1%})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
