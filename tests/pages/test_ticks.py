"""Ticks of charts: at round numbers, told apart, and never too many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.pages.ticks import Scale, error_scale, linear_scale, log_scale, row_scale

NUMBERS = st.floats(-1e290, 1e290)


def read(text: str) -> float:
    """The number that a text says."""
    plain = text.replace("−", "-").replace(",", "").removesuffix(" %")
    digits, _, power = plain.partition("×10")
    return float(f"{digits}e{power.translate(str.maketrans('⁻⁰¹²³⁴⁵⁶⁷⁸⁹', '-0123456789')) or 0}")


@given(NUMBERS, NUMBERS, st.integers(3, 12))
def test_ticks_lie_within_and_say_where(one: float, other: float, most: int) -> None:
    low, high = sorted((one, other))
    if high - low > 1e-9 * max(abs(low), abs(high)) > 1e-280:
        ticks = linear_scale(low, high, most).ticks
        assert 1 <= len(ticks.places) <= most + 1
        assert len(set(ticks.texts)) == len(ticks.texts)
        for place, text in zip(ticks.places, ticks.texts, strict=True):
            assert low - 1e-6 * (high - low) <= place <= high + 1e-6 * (high - low)
            assert read(text) == pytest.approx(place, rel=1e-12, abs=1e-9 * (high - low))


def test_ticks_are_at_round_numbers() -> None:
    assert linear_scale(-0.23, 0.31, 5).ticks.texts == ["−0.2", "0", "0.2"]
    assert linear_scale(0.0, 9.0, 4).ticks.texts == ["0", "2.5", "5.0", "7.5"]
    assert linear_scale(0.0, 9.0, 4, whole=True).ticks.texts == ["0", "5"]
    assert linear_scale(0.0, 2.0, whole=True).ticks.texts == ["0", "1", "2"]
    assert linear_scale(0.0, 21_000.0, 5, whole=True).ticks.texts == ["0", "5,000", "10,000", "15,000", "20,000"]
    assert linear_scale(0.035, 0.062, percent=True).ticks.texts == [
        "3.5 %",
        "4.0 %",
        "4.5 %",
        "5.0 %",
        "5.5 %",
        "6.0 %",
    ]
    assert linear_scale(0.0, 3.1e7, 4).ticks.texts == ["0", "1×10⁷", "2×10⁷", "3×10⁷"]
    assert linear_scale(0.0, 2.2e-8, 4).ticks.texts == ["0", "1×10⁻⁸", "2×10⁻⁸"]


def test_limits_that_floats_cannot_tell_apart_are_ticks_themselves() -> None:
    low, high = 1e17, 1e17 + 32
    assert linear_scale(low, high).ticks.places == [low, high]
    assert linear_scale(-1.7e308, 1.7e308).ticks.places == [-1.7e308, 1.7e308]


@pytest.mark.parametrize("rows", [[1.0], [1.0, 2.0, 3.0], [7.0, 8.0], [1.0, 1e3, 1e5], [1.0, 1e9], [90.0, 1e4]])
def test_rows_are_within_their_axis_and_have_ticks(rows: list[float]) -> None:
    scale = row_scale(np.array(rows))
    at = scale.fractions(np.array(rows))
    assert ((at > 0) & (at < 1)).all()
    places = scale.fractions(np.array(scale.ticks.places))
    assert ((places >= 0) & (places <= 1)).any()
    assert len(scale.ticks.written) <= 8


def test_logarithmic_axes_write_out_what_is_short() -> None:
    assert row_scale(np.array([1.0, 2e4])).ticks.texts == ["1", "10", "100", "1,000", "10,000"]
    assert row_scale(np.array([1.0, 2e6])).ticks.texts == ["10⁰", "10²", "10⁴", "10⁶"]
    errors = error_scale(0.015, 1.5)
    assert [text for _, text in sorted(errors.ticks.written)] == ["0.02", "0.05", "0.1", "0.2", "0.5", "1"]
    assert {0.03, 0.9} <= set(errors.ticks.small)
    assert error_scale(1e-9, 1e3).ticks.texts == ["10⁻⁹", "10⁻⁷", "10⁻⁵", "10⁻³", "10⁻¹", "10¹", "10³"]
    assert log_scale(1.0, 1e4, written=True, small=False).ticks.small == []


def test_what_has_no_place_is_nan() -> None:
    scale = Scale(1.0, 100.0, linear_scale(1.0, 100.0).ticks, log=True)
    assert np.array_equal(
        scale.fractions(np.array([1.0, 10.0, 100.0, 0.0, -1.0, np.nan])), [0, 0.5, 1] + [np.nan] * 3, equal_nan=True
    )
    assert linear_scale(2.0, 6.0).fractions(np.array([2.0, 3.0, 6.0])).tolist() == [0, 0.25, 1]
