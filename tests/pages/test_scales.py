"""Axes around data that nobody has looked at yet."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from onward.pages.axis_limits import central_limits, spans_decades
from onward.pages.scales import fit_y_axis, set_log_rows


def test_only_values_over_decades_ask_for_a_logarithmic_axis() -> None:
    assert not spans_decades([np.array([1.0, 15.0])])
    assert spans_decades([np.array([1.0]), np.array([30.0])])
    assert not spans_decades([np.array([0.0, np.nan, np.inf, 3.0])])
    assert not spans_decades([np.zeros(3)])


def test_a_few_wild_values_are_left_out_but_none_that_are_not_wild() -> None:
    values = np.linspace(-1, 1, 1000)
    assert central_limits(values) == pytest.approx((-1.16, 1.16))
    low, high = central_limits(np.append(values, [1e9, -1e9]))
    assert -1.3 < low < -0.98
    assert 0.98 < high < 1.3
    for same in (np.zeros(4), np.full(4, 7.0), np.array([np.nan]), np.array([])):
        low, high = central_limits(same)
        assert low < high


@pytest.mark.parametrize("rows", [[1.0], [1.0, 2.0, 3.0], [7.0, 8.0], [1.0, 1e3, 1e5], [1.0, 1e9]])
def test_rows_are_within_their_axis_and_have_ticks(rows: list[float]) -> None:
    figure = Figure()
    axes = figure.subplots()
    set_log_rows(axes, np.array(rows))
    low, high = axes.get_xlim()
    assert 0 < low < rows[0] <= rows[-1] < high
    figure.draw_without_rendering()
    assert any(low <= tick <= high for tick in axes.get_xticks())


def test_heights_are_around_what_can_be_drawn() -> None:
    axes = Figure().subplots()
    fit_y_axis(axes, [np.array([0.0, 1e-3, np.inf]), np.array([2.0, np.nan])], log=True)
    low, high = axes.get_ylim()
    assert 1e-4 < low < 1e-3
    assert 2 < high < 10
    axes = Figure().subplots()
    fit_y_axis(axes, [np.array([1.0, 4.0])], log=False)
    assert axes.get_ylim()[0] == 0
    fit_y_axis(axes, [np.array([3.0, 4.0])], log=False)
    assert 2.9 < axes.get_ylim()[0] < 3
    fit_y_axis(axes, [np.array([1.0, 4.0])], log=False, from_zero=False)
    assert 0.5 < axes.get_ylim()[0] < 1
    for nothing in (np.array([np.nan]), np.zeros(3)):
        fit_y_axis(axes, [nothing], log=False)
        low, high = axes.get_ylim()
        assert low <= 0 < high
