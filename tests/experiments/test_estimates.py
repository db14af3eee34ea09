"""The estimates behind verdicts: right on average, and their intervals hold as often as they say."""

import math

import numpy as np
import pytest

from onward.experiments.statistics import Estimate, excess, exponent, log_contrast, median, ratio, spread


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
