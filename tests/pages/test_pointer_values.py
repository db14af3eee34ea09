"""What can be read off a drawing lies where its axes put it."""

import math

import numpy as np
import pytest

from onward.pages.axes_values import panel_values
from onward.pages.drawing import Line
from onward.pages.pointer_values import MOST_POINTS
from tests.pages.made_up import drawing_of


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_readings_lie_where_the_axes_put_them(scale: str) -> None:
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    drawing = drawing_of(Line("y", x, x, x - 1, x + 1), xscale=scale, xlim=(1, 1000), yscale=scale, ylim=(0.1, 1000))
    (panel,) = panel_values(drawing, (0.0, 0.0, 360.0, 288.0))
    # Symlog is linear up to 2, with 10/9 of the slope there, and logarithmic beyond.
    bent = np.where(x <= 2, 10 / 9 * x, 2 * (10 / 9 + np.log10(np.maximum(x, 2) / 2)))
    wanted = {"linear": (x - 1) / 999, "log": np.log10(x) / 3, "symlog": (bent - bent[0]) / np.ptp(bent)}[scale]
    assert np.allclose(panel["grids"][0]["at"], wanted, atol=1e-4)
    assert panel["grids"][0]["x"] == x.tolist()
    assert panel["lines"][0]["y"] == x.tolist()
    assert panel["lines"][0]["lower"] == [0, 9, 99, 999]
    assert panel["lines"][0]["upper"] == [2, 11, 101, 1001]
    assert panel["lines"][0]["colour"] == "2a6f97"
    assert panel["box"] == [0.1, 0.15, 0.8, 0.6]  # from the top, as pages count


def test_readings_without_value_or_place() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0, 50.0])
    y = np.array([1.0, math.nan, 0.0, math.inf, 1.0])
    drawing = drawing_of(Line("y", x, y), xlim=(0, 4), yscale="log", ylim=(0.1, 10))
    (line,) = panel_values(drawing, (0.0, 0.0, 360.0, 288.0))[0]["lines"]
    assert line["y"] == [1, None, 0, None]  # what lies beyond the axes cannot be pointed at
    assert line["at"] == [0.5, None, None, None]


def test_readings_of_long_lines_are_thinned_evenly_on_the_axis() -> None:
    x = np.arange(1.0, 100_001.0)
    drawing = drawing_of(Line("y", x, 2 * x), xscale="log", xlim=(1, 1e5), ylim=(0, 2e5))
    (panel,) = panel_values(drawing, (0.0, 0.0, 360.0, 288.0))
    kept, at = np.array(panel["grids"][0]["x"]), np.array(panel["grids"][0]["at"])
    assert MOST_POINTS / 2 < len(kept) <= MOST_POINTS
    assert kept[0] == 1
    assert kept[-1] == 100_000
    assert np.array_equal(panel["lines"][0]["y"], 2 * kept)
    late = np.diff(at[at > 0.5])
    assert late.max() < 2 / MOST_POINTS


def test_open_ends_of_bands_are_kept() -> None:
    x = np.array([1.0, 2.0, 3.0])
    line = Line("y", x, x, np.array([-math.inf, 1.0, math.nan]), np.array([math.inf, 3.0, 4.0]))
    (read,) = panel_values(drawing_of(line), (0.0, 0.0, 360.0, 288.0))[0]["lines"]
    assert read["lower"] == ["−∞", 1, None]
    assert read["upper"] == ["∞", 3, 4]
