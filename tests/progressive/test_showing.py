"""Results show themselves: in a terminal, in a notebook, as a frame, as a picture."""

import math
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

import onward
from onward import AutoRegressor, Comparison, Fit, ForwardRegressor, Known, Table, compare, fit
from onward.core.words import counted
from onward.pages.numbers import format_number
from onward.pages.plain_tables import html_table, text_table
from onward.progressive.coefficient_table import FEW, CoefficientTable

AWKWARD = '<script>alert("x")</script> & \x1b[31m red\n$x_1$'


def made_up(n: int, features: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, features))
    columns = {f"x{j}": X[:, j] for j in range(features)}
    return pl.DataFrame({"y": X.sum(axis=1) + rng.normal(size=n), AWKWARD: rng.normal(size=n)} | columns)


class Texts(HTMLParser):
    """The tags and the texts of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check_screen(text: str) -> None:
    assert len(text.splitlines()) <= 45
    assert "\x1b" not in text
    assert all(len(line) <= 130 for line in text.splitlines())


def check_html(html: str) -> Texts:
    read = Texts(html)
    assert "script" not in read.tags
    assert {"table", "caption", "th", "td"} <= set(read.tags)
    return read


def test_a_fit_shows_what_was_learned() -> None:
    data = made_up(200).with_columns(y=pl.when(pl.int_range(200) < 3).then(None).otherwise(pl.col("y")))
    result = fit(data, Table("y", missing="skip"), ForwardRegressor())
    assert isinstance(result, Fit)
    for text in (str(result), repr(result)):
        check_screen(text)
        assert "Forward, λ = 1, 3 features: y of data frame 1. Learned 197 of 200 rows" in text
        assert "Skipped 3 rows: 3 where y is missing." in text
        for word in ("RMSE", "running mean", "(intercept)", "x1", "probability 0.95"):
            assert word in text
    read = check_html(result._repr_html_())
    assert AWKWARD in read.texts
    assert "x1" in read.texts
    table = result.coefficients()
    expected = pl.DataFrame({"feature": ["(intercept)", AWKWARD, "x0", "x1"]} | {c: table[c] for c in list(table)[1:]})
    assert table.to_frame().equals(expected)
    assert result.to_frame().equals(expected)
    assert list(table) == [
        *("feature", "coefficient", "estimate", "standard_error", "lower", "upper"),
        *("e_value", "log_e_value", "p_value"),
    ]
    assert list(fit(made_up(200), "y", ForwardRegressor(), known=Known(sigma=1.0)).coefficients()) == [
        *("feature", "estimate", "lower", "upper")
    ]


def test_a_fit_of_auto_says_whom_it_leans_on_and_has_intervals() -> None:
    result = fit(made_up(200), "y")
    check_screen(str(result))
    assert isinstance(result.model, AutoRegressor)
    assert "Auto, 3 features: y of data frame 1. Learned 200 of 200 rows" in str(result)
    leaning = f"It leans on {result.model.leaning_}."
    assert leaning in str(result).splitlines()
    assert leaning in check_html(result._repr_html_()).texts
    assert "with probability 0.95, if the target is linear in the columns, noise is Gaussian" in " ".join(
        str(result).split()
    )
    assert result.to_frame()["coefficient"].to_list() == [result.model.intercept_, *result.model.coef_]
    assert np.isfinite(result.to_frame()["upper"].to_numpy()).all()


def test_a_fit_without_scores_shows_none() -> None:
    result = fit(made_up(5), "y")
    bare = onward.progressive.results.Scores(5, 0.0, 0.0, 0.0, 0.0, 0.0)
    from dataclasses import replace

    assert "RMSE" in str(result)
    assert "RMSE" not in str(replace(result, scores=bare))
    assert "RMSE" not in replace(result, scores=bare)._repr_html_()


def test_many_coefficients_take_one_screen() -> None:
    result = fit(made_up(80, 60), "y")
    check_screen(str(result))
    assert f"and {62 - FEW} more; to_frame() has them all" in str(result)
    assert len(result.to_frame()) == 62
    assert result._repr_html_().count("<tr>") == 3 + 1 + FEW
    shown = result.coefficients().plot()
    assert "40 of 62" in shown.axes[0].get_title()


def test_a_comparison_shows_the_errors_and_what_they_mean() -> None:
    data = made_up(100)
    result = compare(data, "y", lams=[0.0, 0.01, 1.0])
    assert isinstance(result, Comparison)
    text = str(result)
    check_screen(text)
    assert "y of data frame 1: 100 of 100 rows, 3 features, 3 λ" in text
    assert text.count("→") == 1 + 2
    assert "no value" in text  # ridge at λ = 0
    assert "At its best λ" in text
    read = check_html(result._repr_html_())
    assert any("At its best λ" in each for each in read.texts)
    frame = result.to_frame()
    assert frame.columns == ["learner", "lam", "rmse", "mae", "r2"]
    assert frame["learner"].to_list() == ["ridge"] * 3 + ["forward"] * 3 + ["auto"]
    assert frame["lam"].to_list() == [0.0, 0.01, 1.0] * 2 + [None]
    by_lam = [None if math.isnan(v) else v for v in [*result.rmse("ridge"), *result.rmse("forward")]]
    auto = fit(data, "y").scores.rmse
    assert frame["rmse"].to_list() == [*by_lam, auto]
    for said in (text, " ".join(read.texts)):
        assert f"auto, without a λ: {format_number(auto)}" in said


def test_pictures_are_figures() -> None:
    from matplotlib.figure import Figure

    data = made_up(60)
    with_history = fit(data, "y", history=True)
    assert with_history.plot().axes[0].get_xlabel() == "rows learned"
    without = fit(data, "y").plot()
    assert without.axes[0].get_xlabel() == "coefficient"
    assert "lam" in str(compare(data, "y", lams=[0.1, 1.0]).plot().axes[0].get_xlabel()).replace("λ", "lam")
    assert isinstance(without, Figure)
    without.canvas.draw()
    open_ends = CoefficientTable(
        {"feature": ["a", "b"], "estimate": [1.0, -2.0], "lower": [-np.inf, -3.0], "upper": [np.inf, -1.0]}, 0.05
    ).plot()
    open_ends.canvas.draw()
    low, high = open_ends.axes[0].get_xlim()
    ends = open_ends.axes[0].collections[0].get_segments()  # type: ignore[attr-defined]
    assert ends[0][0][0] < low < -3.0
    assert 1.0 < high < ends[0][1][0]


def test_open_ends_are_explained() -> None:
    table = CoefficientTable({"feature": ["a"], "estimate": [1.0], "lower": [-np.inf], "upper": [np.inf]}, 0.05)
    assert "∞: too little is known" in str(table)
    closed = CoefficientTable({"feature": ["a"], "estimate": [1.0], "lower": [0.0], "upper": [2.0]}, 0.05)
    assert "∞" not in str(closed)
    assert str(closed).splitlines()[1:] == ["feature  estimate  lower  upper", "a               1      0      2"]


def test_tables_stand_in_columns_whatever_the_letters() -> None:
    text = text_table(["", "n"], [["名前", "1"], ["é", "22"], ["a\nb\tc", "3"], ["x" * 90, "4"]])
    lines = text.splitlines()
    assert len(lines) == 5
    assert lines[3].startswith("a b c")
    assert lines[4].count("x") == 47
    assert [len(line) for line in lines] == [52, 50, 52, 52, 52]  # two letters of two columns each
    assert [line[-2:] for line in lines] == [" n", " 1", "22", " 3", " 4"]
    assert html_table("<i>", ["<b>"], [["<u>"]]).count("&lt;") == 3


@pytest.mark.parametrize(("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12345, "12,345 rows")])
def test_counting(number: int, text: str) -> None:
    assert counted(number, "row") == text


def test_one_of_a_thing_is_singular() -> None:
    result = fit(made_up(1)[["y", "x0"]], "y")
    assert "1 feature:" in str(result)
    assert "1 of 1 row " in str(result)
    assert "1 rows" not in str(result)
    compared = str(compare(made_up(1)[["y", "x0"]], "y", lams=[1.0]))
    assert "1 of 1 row, 1 feature, 1 λ" in compared


def test_what_is_at_the_top() -> None:
    for name in ("Comparison", "Fit", "Known", "Table"):
        assert name in onward.__all__
        assert getattr(onward, name).__name__ == name
