"""The estimates behind verdicts: right on average, and their intervals hold as often as they say."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from onward.experiments.estimates import (
    Estimate,
    excess,
    exponent,
    log_contrast,
    median,
    quotient,
    ratio,
    share,
    spread,
)


def draws(sets: int = 600, n: int = 60, k: int = 4) -> np.ndarray:
    """Positive, skewed repeats whose columns share a factor: means are λ^-0.5 for λ = 1, 10, 100, 1000."""
    rng = np.random.default_rng(5)
    shared = rng.lognormal(-0.125, 0.5, (sets, n, 1))
    return shared * rng.lognormal(-0.02, 0.2, (sets, n, k)) * 10.0 ** (-0.5 * np.arange(k))


def misses(estimates: list[Estimate], truth: float, factor: float = 1.0) -> float:
    """How often the interval, shrunk by a factor, lacks the truth."""
    return float(np.mean([abs(e.value - truth) > factor * (e.upper - e.value) for e in estimates]))


def test_the_interval_of_an_exponent_holds_as_often_as_it_says() -> None:
    found = [exponent(each, 10.0 ** np.arange(4), level=0.9) for each in draws()]
    assert np.mean([e.value for e in found]) == pytest.approx(-0.5, abs=0.005)
    assert 0.06 < misses(found, -0.5) < 0.14 < misses(found, -0.5, factor=0.5)


def test_the_interval_of_a_median_holds_at_least_as_often_as_it_says() -> None:
    found = [median(each[:, 0], level=0.9) for each in draws()]
    truth = math.exp(-0.145)
    outside = np.mean([not (e.lower <= truth <= e.upper) for e in found])
    assert 0.02 < outside < 0.13


def test_a_contrast_of_two_is_the_logarithm_of_their_ratio() -> None:
    each = draws(1)[0]
    expected = ratio(each[:, 0], each[:, 1])
    found = log_contrast(each[:, :2], (1.0, -1.0)).exp()
    assert (found.value, found.lower, found.upper) == pytest.approx((expected.value, expected.lower, expected.upper))


def test_spread_and_excess_compare_the_largest_with_the_smallest() -> None:
    each = np.array([[1.0, 4.0, 2.0], [1.0, 4.0, 2.0]])
    assert spread(each).value == pytest.approx(4.0)
    assert excess(each, each[:, [0, 2]]).value == pytest.approx(2.0)
    assert excess(each[:, [0, 2]], each).value == pytest.approx(0.5)


@pytest.mark.parametrize("columns", [np.array([[1.0, -2.0], [1.0, 1.0]]), np.array([[0.0, 1.0]])])
def test_means_that_are_not_positive_decide_nothing(columns: np.ndarray) -> None:
    found = log_contrast(columns, (1.0, -1.0)).exp()
    assert math.isnan(found.value)
    assert not found.lower > 0
    assert found.upper == math.inf


def test_one_repeat_decides_nothing() -> None:
    for found in (log_contrast(np.ones((1, 2)), (1.0, -1.0)), median([1.0])):
        assert (found.lower, found.upper) == (-math.inf, math.inf)


def test_a_ratio_of_light_tails_covers_as_often_as_it_says_and_is_trusted() -> None:
    rng = np.random.default_rng(11)
    found = [ratio(a, b) for a, b in rng.gamma(4.0, 1.0, (1500, 2, 100))]
    outside = np.mean([not (e.lower <= 1.0 <= e.upper) for e in found])
    assert 0.003 < outside < 0.02  # 1 %, give or take three standard errors and a little for the delta method
    assert np.mean([e.trusted for e in found]) > 0.99


def test_a_ratio_of_heavy_tails_covers_less_often_and_is_flagged() -> None:
    rng = np.random.default_rng(12)
    heavy = 1.0 + rng.pareto(1.3, (400, 100))  # mean 1.3/0.3, no variance
    found = [ratio(a, np.ones(100)) for a in heavy]
    missed = [e for e in found if not (e.lower <= 1.3 / 0.3 <= e.upper)]
    assert len(missed) > 0.1 * len(found)
    assert np.mean([e.trusted for e in found]) < 0.2
    one = found[0]
    assert one.top_share == pytest.approx(heavy[0].max() / heavy[0].sum())
    assert one.record()["top_share"] == one.top_share


def test_what_is_not_trusted_decides_nothing() -> None:
    safe, doubtful = Estimate(2.0, 1.5, 3.0, 100, 0.05), Estimate(2.0, 1.5, 3.0, 100, 0.051)
    assert (safe.above(1.4), safe.below(3.1), safe.within(1.4, 3.1), safe.above(1.6)) == (True, True, True, False)
    assert [doubtful.above(1.4), doubtful.below(3.1), doubtful.within(1.4, 3.1)] == [False] * 3
    assert doubtful.exp().top_share == 0.051
    assert (safe.brief, doubtful.brief) == ("2 [1.5, 3]", "≈ 2 [1.5, 3]")
    assert Estimate(-0.2, -0.3, 0.1, 9).signed == "−0.2 [−0.3, +0.1]"


@pytest.mark.parametrize("build", [exponent, log_contrast])
def test_the_top_share_is_that_of_the_worst_column(build: Callable[..., Estimate]) -> None:
    columns = np.ones((100, 3))
    columns[7, 1] = 11.0  # of a sum of 110
    assert build(columns, (1.0, 2.0, 5.0)).top_share == pytest.approx(0.1)
    assert excess(columns, columns[:, [0, 2]]).top_share == pytest.approx(0.1)
    assert excess(columns[:, [0, 2]], columns[:, [0, 2]]).top_share == pytest.approx(0.01)


def test_a_share_has_an_interval_that_holds_at_least_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    found = [share(rng.random(50) < 0.3, level=0.9) for _ in range(600)]
    assert np.mean([e.value for e in found]) == pytest.approx(0.3, abs=0.01)
    assert 0.02 < np.mean([not (e.lower <= 0.3 <= e.upper) for e in found]) < 0.12
    assert (share([True, True]).upper, share([False]).lower) == (1.0, 0.0)


def test_a_quotient_is_as_wide_as_both() -> None:
    found = quotient(Estimate(6.0, 4.0, 8.0, 50, 0.01), Estimate(2.0, 1.0, 4.0, 20, 0.2))
    assert found == Estimate(3.0, 1.0, 8.0, 20, 0.2)
    assert not quotient(Estimate(6.0, 4.0, 8.0, 50), Estimate(2.0, -1.0, 4.0, 20)).trusted
