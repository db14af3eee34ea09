"""Forward's bound over the minimax lower bound, for the λ that the paper speaks of."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from onward import bounds
from onward.bounds.common import Schedule
from onward.bounds.minimax_ratio import SCHEDULES

KNOWN: dict[str, Any] = {"d": 2, "feature_bound": float(np.sqrt(2.0)), "smallest_eigenvalue": 0.5}


def test_ratios_are_bounds_over_the_lower_bound() -> None:
    T = 10**6
    lower = bounds.minimax_regret(T, d=2, target_bound=3.0)
    lams: dict[Schedule, float] = {"1/T": 1e-6, "log T/T": float(np.log(1e6)) * 1e-6, "1": 1.0}
    for schedule, lam in lams.items():
        upper = bounds.forward_regret_to_best(T, lam=lam, target_bound=3.0, **KNOWN)
        assert_allclose(bounds.forward_to_minimax_ratio(T, schedule=schedule, **KNOWN), upper / lower)
    upper = bounds.unregularized_forward_regret_to_best(T, target_bound=3.0, **KNOWN)
    assert_allclose(bounds.forward_to_minimax_ratio(T, schedule="0", **KNOWN), upper / lower)


def test_limits() -> None:
    table = bounds.forward_to_minimax_ratios(np.array([1e3, 1e6, 1e12, 1e150]), **KNOWN)
    assert list(table.ratios) == list(SCHEDULES) == list(table.limits)
    assert table.limits == {"1/T": 2.0, "log T/T": 3.0, "1": np.inf, "0": 1.0}
    for schedule in SCHEDULES:
        if schedule == "1":
            continue
        ratio = table.ratios[schedule]
        assert (np.diff(ratio) < 0).all()
        assert_allclose(ratio[-1], table.limits[schedule], rtol=0.05)
    assert table.ratios["1"][-1] > 1e140


def test_limits_where_the_rows_spread() -> None:
    """λ⁺ = T/10: then λ = 1 is as good as none, and 1/T still pays twice."""
    T = np.array([1e4, 1e150])
    known = {**KNOWN, "smallest_eigenvalue": T / 10.0}
    one = bounds.forward_to_minimax_ratio(T, schedule="1", **known)
    assert_allclose(one[-1], 1.0, rtol=0.05)
    assert_allclose(bounds.forward_to_minimax_ratio(T, schedule="1/T", **known)[-1], 2.0, rtol=0.05)


def test_table_as_text() -> None:
    text = str(bounds.forward_to_minimax_ratios([8, 10**6], **KNOWN)).splitlines()
    assert [line.split() for line in text[1:]] == [
        ["8", "inf", "inf", "inf", "inf"],  # where the lower bound says nothing yet
        ["1e+06", "3.819", "5.178", "1.334e+05", "2.069"],
        ["limit", "2", "3", "inf", "1"],
    ]


@pytest.mark.parametrize("name", ["feature_bound", "smallest_eigenvalue"])
def test_table_needs_rows(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a number > 0, got 0.0"):
        bounds.forward_to_minimax_ratios(100, **{**KNOWN, name: 0.0})
    with pytest.raises(ValueError, match="whole number >= 8"):
        bounds.forward_to_minimax_ratios([7, 100], **KNOWN)
