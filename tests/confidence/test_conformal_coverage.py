"""Conformal intervals where things change, and on real data: shares of misses over any 1,000 rows, and over all."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from onward import AutoRegressor, RidgeRegressor
from onward.confidence import ConformalIntervals
from onward.core.types import Matrix, Vector
from tests.confidence.drifting_streams import CHANGING, Stream
from tools.interval_widths import measure_one
from tools.own_data_sets import SETS, DataSet

DELTAS = (0.5, 0.2, 0.1, 0.05, 0.01)  # those that a pass keeps, so that each is widened to hold those before it
LEARNERS: dict[str, Callable[[], RidgeRegressor | AutoRegressor]] = {
    "ridge": lambda: RidgeRegressor(lam=1.0),
    "half-life": lambda: RidgeRegressor(lam=1.0, half_life=200),
    "auto": AutoRegressor,
}
AT_MOST = 0.015

Flags = NDArray[np.bool_]


def missed(y: Vector, lower: Matrix, upper: Matrix) -> Flags:
    """Which rows lie outside of their intervals (n, δ)."""
    return (y[:, None] < lower) | (y[:, None] > upper)


def worst_share(misses: Flags) -> Vector:
    """(δ,) by how much the share of misses is off in the worst of all spans of 1,000 rows."""
    sums = np.concatenate([np.zeros((1, misses.shape[1])), np.cumsum(misses[2:], axis=0)])
    off: Vector = np.abs((sums[1000:] - sums[:-1000]) / 1000 - DELTAS).max(axis=0)
    return off


def narrowed(lower: Matrix, upper: Matrix, share: float) -> tuple[Matrix, Matrix]:
    """The same intervals around their middles, so many times as wide."""
    middle, half = (lower + upper) / 2, share * (upper - lower) / 2
    return middle - half, middle + half


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("stream", CHANGING)
def test_over_any_thousand_rows_the_share_of_misses_is_delta(stream: Stream, learner: str) -> None:
    for seed in (8000, 8001):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(CHANGING.index(stream),)))
        X, y = stream(rng, 8000)
        predictions, leverages = LEARNERS[learner]().predict_then_learn(X, y, return_leverage=True)
        lower, upper = ConformalIntervals(DELTAS).track(predictions, leverages, y)
        off = worst_share(missed(y, lower, upper))
        assert (off <= AT_MOST).all(), off
        with np.errstate(invalid="ignore"):
            assert (worst_share(missed(y, *narrowed(lower, upper, 0.5))) > 1.5 * AT_MOST)[:4].all()


@pytest.mark.parametrize("learner", ["auto", "forward"])
@pytest.mark.parametrize("data", SETS, ids=lambda data: data.name)
def test_on_real_data_the_share_of_misses_is_delta(data: DataSet, learner: str, tmp_path: Path) -> None:
    """Within 1.5 points, or where rows are few, within two deviations of a binomial share.

    Of the eleven sets only `inflation` needs the second: 201 quarters, of which the last 18 are those of a crisis.
    """
    if not data.available:
        pytest.skip(f"{data.package} is not installed")
    path = tmp_path / f"{data.name}.csv"
    data.frame().write_csv(path)
    held = measure_one(path, data, learner, "conformal")
    by_chance = 2 * math.sqrt(0.05 * 0.95 / held.rows)
    assert abs(held.inside - 0.95) <= (by_chance if data.name == "inflation" else AT_MOST)
