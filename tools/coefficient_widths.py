"""Intervals for coefficients beside those of others: tables of docs/guarantees.md and docs/ab_tests.md.

    python tools/coefficient_widths.py    # half a minute; with statsmodels and savvi, if they are installed

The first table is of the diabetes data of scikit-learn (442 rows, 10 features and the constant): how many standard
errors an interval reaches to each side. The second says how often the interval of a slope ever missed it in streams
that were looked at after every row, by how the column came about. avlm is an R package; its formula is written out. The
third says how the width depends on the rows that intervals are tuned for.
"""

import math
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit
from sklearn.datasets import load_diabetes

from onward import ForwardRegressor, RidgeRegressor
from onward.confidence.anytime import BEST, LEAST_FREEDOM, log_e_values, standard_errors
from onward.core.inference import TUNED_FOR
from onward.core.types import Matrix, Vector

DELTA = 0.05
NUMBERS, COEFFICIENTS = (50, 100, 200, 400, 1000, 10_000, 100_000, 1_000_000), 11
STREAMS, ROWS, SEED = 2000, 10_000, 16
DESIGNS: dict[str, Callable[[np.random.Generator, int], Vector]] = {
    "normal": lambda rng, row: rng.standard_normal(STREAMS),
    "0/1, one in 20": lambda rng, row: (rng.random(STREAMS) < 0.05).astype(np.float64),
    "counts time": lambda rng, row: np.full(STREAMS, float(row)),
    "grows by 2% with every row, until row 1,000": lambda rng, row: np.full(STREAMS, 1.02 ** min(row, 1000)),
}


def avlm_reach(rows: int, coefficients: int, delta: float, g: float = 1.0) -> float:
    """How many standard errors an interval of avlm reaches: λ' is g of what a row brings, as of each look."""
    return float(standard_errors(np.array([rows / g]), rows - coefficients, -2 * math.log(delta))[0])


def reaches(X: Matrix, y: Vector) -> dict[str, tuple[float, float]]:
    """Standard errors to each side, the largest of the coefficients': for one, and for all at once."""
    n, d = X.shape[0], X.shape[1] + 1
    model = ForwardRegressor().fit(X, y)
    errors = model.coefficient_table()["standard_error"]

    def widest(lower: Vector, upper: Vector) -> float:
        return float(((upper - lower) / 2 / errors).max())

    ours = [model.coefficient_table(simultaneous=each) for each in (False, True)]
    joint = [RidgeRegressor().fit(X, y).coefficient_table(method="uniform", mixture=mixture) for mixture in (1.0, 1e-3)]
    found = {
        "least squares (t), at one row only": _both(lambda delta: float(stdtrit(n - d, 1 - delta / 2)), d),
        "onward, anytime": (widest(ours[0]["lower"], ours[0]["upper"]), widest(ours[1]["lower"], ours[1]["upper"])),
        "avlm, g = 1 (its default)": _both(lambda delta: avlm_reach(n, d, delta), d),
        f"avlm, g = {n / BEST:.0f}, for these rows": _both(lambda delta: avlm_reach(n, d, delta, n / BEST), d),
        "onward, `uniform`: the joint set, λ' = 1 (its default)": (widest(joint[0]["lower"], joint[0]["upper"]),) * 2,
        "the same, λ' = 0.001, the best of the powers of 10": (widest(joint[1]["lower"], joint[1]["upper"]),) * 2,
    }
    A = np.column_stack([np.ones(n), X])
    if find_spec("statsmodels") is not None:
        linear = import_module("statsmodels.api").OLS(y, A).fit()
        ends = [linear.conf_int(alpha) for alpha in (DELTA, DELTA / d)]
        found["statsmodels OLS, at one row only"] = (widest(*ends[0].T), widest(*ends[1].T))
    if find_spec("savvi") is not None:
        found["savvi, phi = 1 (its default)"] = (_savvi(A, y, DELTA, errors), _savvi(A, y, DELTA / d, errors))
    return found


def _both(reach: Callable[[float], float], d: int) -> tuple[float, float]:
    return reach(DELTA), reach(DELTA / d)


def _savvi(A: Matrix, y: Vector, delta: float, errors: Vector) -> float:
    """savvi's λ' is phi in the units of the data. Its estimate leans on a prior, so its own interval is measured."""
    learner = import_module("savvi.linear_regression").LinearRegression(delta, A.shape[1])
    with np.errstate(all="ignore"):
        for row in np.column_stack([y, A]):
            learner.update(row)
        lower, upper = learner.calculate_conf_int().T
    return float(((upper - lower) / 2 / errors).max())


def ever_missed(design: Callable[[np.random.Generator, int], Vector]) -> dict[str, float]:
    """The share of streams whose interval for a slope ever missed it; a constant stands beside the column."""
    rng = np.random.default_rng(SEED)
    mean, cross = np.zeros((2, STREAMS)), np.zeros((2, 2, STREAMS))
    rate, missed = (
        np.full(STREAMS, np.nan),
        {name: np.zeros(STREAMS, dtype=bool) for name in ("t", "g = 1", "g = 50", "")},
    )
    for row in range(ROWS):
        new = np.stack([design(rng, row), rng.standard_normal(STREAMS)])
        apart = new - mean
        mean += apart / (row + 1)
        cross += apart[:, None] * (new - mean)[None]
        freedom, z = row - 1, cross[0, 0]
        if freedom < LEAST_FREEDOM:
            continue
        with np.errstate(all="ignore"):
            slope = cross[0, 1] / z
            t = np.abs(slope) / np.sqrt(np.maximum(cross[1, 1] - slope * cross[0, 1], 0.0) / freedom / z)
        known = z > 1e-9
        rate = np.where(known & np.isnan(rate), z / (freedom + 1), rate)
        rho = np.where(known, BEST * z / (np.where(known, rate, 1.0) * TUNED_FOR), 0.0)
        missed[""] |= known & (t > standard_errors(rho, freedom, -2 * math.log(DELTA)))
        for g in (1.0, 50.0):
            missed[f"g = {g:g}"] |= known & (t > avlm_reach(row + 1, 2, DELTA, g))
        if row >= 20:
            missed["t"] |= known & (t > stdtrit(freedom, 1 - DELTA / 2))
    return {name: float(each.mean()) for name, each in missed.items()}


def widths_of(tuned: tuple[float, ...]) -> list[float]:
    """Standard errors to each side at each of `NUMBERS` of rows, of a mixture of λ' that are tuned for so many rows.

    Without any, those of the λ' that is best for the rows.
    """
    found = []
    for rows in NUMBERS:
        freedom, error = rows - COEFFICIENTS, np.array([1.0])
        if not tuned:
            ratios = np.exp(np.linspace(-3.0, 8.0, 2000))
            found.append(float(standard_errors(ratios, freedom, -2 * math.log(DELTA)).min()))
            continue

        def evidence(reach: float, freedom: int = freedom, error: Vector = error) -> float:
            parts = [
                log_e_values(np.array([reach]), error, np.array([BEST * (freedom + 1) / each]), freedom)[0]
                for each in tuned
            ]
            return float(np.logaddexp.reduce(parts)) - math.log(len(tuned)) + math.log(DELTA)

        found.append(float(brentq(evidence, 0.1, 1e6)) if evidence(1e6) > 0 else math.inf)
    return found


def main() -> None:
    """Print the tables."""
    print("| intervals, diabetes data | one coefficient | all eleven at once |\n|---|--:|--:|")
    for name, (one, every) in reaches(*load_diabetes(return_X_y=True)).items():
        print(f"| {name} | {one:.2f} | {every:.2f} |")
    print(f"\n| a column that | t | avlm, g = 1 | avlm, g = {TUNED_FOR / BEST:.0f} | onward |\n|---|--:|--:|--:|--:|")
    for name, design in DESIGNS.items():
        print(f"| {name} | " + " | ".join(f"{share:.1%}" for share in ever_missed(design).values()) + " |", flush=True)

    print("\n| rows | " + " | ".join(f"{rows:,}" for rows in NUMBERS) + " |\n|---|" + "--:|" * len(NUMBERS))
    for tuned in ((400.0,), (200.0,), (1000.0,), (10_000.0,), (100.0, 10_000.0), (100.0, 30_000.0), ()):
        name = " and ".join(f"{each:,.0f}" for each in tuned) or "the rows that there are"
        print(f"| tuned for {name} | " + " | ".join(f"{width:.2f}" for width in widths_of(tuned)) + " |")


if __name__ == "__main__":
    main()
