"""Names from data, fit for figures."""

import warnings

import pytest
from matplotlib.figure import Figure

from onward.pages.labels import make_drawable, make_labels


def test_labels_are_short_and_told_apart() -> None:
    long = "a" * 30 + "b" * 30
    made = make_labels([long, long + "b", "short", " two\n lines ", "", "short"])
    assert made == [
        f"{'a' * 18}…{'b' * 9} (1)",
        f"{'a' * 18}…{'b' * 9} (2)",
        "short (1)",
        "two lines",
        "(no name)",
        "short (2)",
    ]
    assert make_labels(["a" * 28, "a" * 29]) == ["a" * 28, f"{'a' * 18}…{'a' * 9}"]


def test_any_text_can_be_drawn() -> None:
    awkward = "$\\frac$ 日本 λ $x"
    assert make_drawable(awkward) == "\\$\\frac\\$ ?? λ \\$x"
    for text, fine in ((make_drawable(awkward), True), (awkward, False)):
        figure = Figure()
        figure.text(0.5, 0.5, text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if fine:
                figure.draw_without_rendering()
            else:
                with pytest.raises((ValueError, UserWarning)):
                    figure.draw_without_rendering()
