"""σ, S and rows at the ends of double precision: one clear error, and nothing has changed."""

from typing import Any

import numpy as np
import pytest

from onward import ForwardRegressor, Known, RidgeRegressor
from onward.bandits import OFUL, DetectingLinUCB

X = np.random.default_rng(0).standard_normal((30, 2))
Y = X[:, 0].copy()


@pytest.mark.parametrize("learner", [RidgeRegressor, ForwardRegressor])
@pytest.mark.parametrize("large", [1e101, 1e300, 10**400])
@pytest.mark.parametrize("name", ["sigma", "theta_bound"])
def test_a_bound_whose_square_overflows_is_refused(learner: Any, large: float, name: str) -> None:
    model = learner().fit(X, Y)
    known: dict[str, Any] = {"sigma": 1.0, "theta_bound": 1.0, name: large}
    for of in ("mean", "observation"):
        with pytest.raises(ValueError, match=rf"^{name} must be a number .*(at most 1e\+100, got|beyond 1e308)"):
            model.interval(X, of=of, **known)
    for made in (OFUL, Known):
        with pytest.raises(ValueError, match=rf"^{name} must be a number .*(at most 1e\+100, got|beyond 1e308)"):
            made(**known)


@pytest.mark.parametrize("learner", [RidgeRegressor, ForwardRegressor])
def test_intervals_of_the_largest_bounds_are_numbers(learner: Any) -> None:
    model = learner().fit(X, Y)
    for known in ({"sigma": 1e100}, {"sigma": 1e100, "theta_bound": 1e100}, {"sigma": 1.0, "theta_bound": 1e100}):
        for of in ("mean", "observation"):
            assert np.isfinite(model.interval(X, of=of, **known)).all()


@pytest.mark.parametrize("told", [{}, {"half_life": 5.0}, {"window": 4}])
@pytest.mark.parametrize("learner", [RidgeRegressor, ForwardRegressor])
def test_a_row_whose_squares_sum_to_infinity_is_refused(learner: Any, told: dict[str, Any]) -> None:
    row = [1.2e154, 1.2e154]  # the square of each is a number
    model = learner(1e-3, **told).fit(X, Y)
    before = model.information_.buffer.copy()
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        model.learn_one(row, 1.0)
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        model.partial_fit([row], [1.0])
    assert np.array_equal(model.information_.buffer, before, equal_nan=True)


def test_a_detector_has_room_for_a_million_failures() -> None:
    with pytest.raises(ValueError, match=r"^window must be a whole number from 1 to 1,000,000, got 1000001"):
        DetectingLinUCB(window=1_000_001, sigma=1.0, theta_bound=1.0)
